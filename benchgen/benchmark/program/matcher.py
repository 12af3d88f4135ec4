"""Is one point stated by one sentence? Deterministic; a miss is preferred to a false credit.

A point's words must stand in the sentence in the point's order (inflection free), with little between
them and no clause boundary. Further orders are the passive, `breaking down of X`, a moved adverbial, a
rearranged noun phrase before `is` or `becomes`, and one displaced word of five or more. What is denied,
supposed, doubted or reported is not stated; a negative point is stated by a negative sentence only.

In order: words and their forms; what casts doubt on words; points and their orders; one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from . import spelling

# --- words -------------------------------------------------------------------------------------


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(text: str) -> dict[str, str]:
    """`base: form form; …` as {form: base}."""
    pairs = (entry.split(":") for entry in text.split(";"))
    return {form: base.strip() for base, forms in pairs for form in forms.split()}


IRREGULAR = _table(
    """be: is are was were am been being; have: has had having; do: does did done; go: goes went gone;
    break: broke broken; eat: ate eaten; give: gave given; hold: held; keep: kept; make: made; lose: lost;
    grow: grew grown; rise: rose risen; fall: fell fallen; become: became; begin: began begun;
    take: took taken; run: ran; lead: led; leave: left leaving; feel: felt; find: found; send: sent;
    build: built; bring: brought; buy: bought; think: thought; catch: caught; teach: taught; tell: told;
    say: said; sell: sold; stand: stood; write: wrote written; drive: drove driven; choose: chose chosen;
    freeze: froze frozen; speak: spoke spoken; wear: wore worn; tear: tore torn; shine: shone; shrink: shrank shrunk;
    sink: sank sunk; swim: swam swum; drink: drank drunk; bind: bound; wind: wound; fly: flew flown flies;
    know: knew known; throw: threw thrown; draw: drew drawn; blow: blew blown; see: saw seen; meet: met;
    mean: meant; spend: spent; bend: bent; sleep: slept; sweep: swept; deal: dealt; feed: fed; flee: fled;
    bleed: bled; breed: bred; slide: slid; hide: hid hidden; bite: bitten; light: lit; sit: sat; win: won;
    hang: hung; stick: stuck; strike: struck; spin: spun; dig: dug; shoot: shot; get: got gotten; pay: paid;
    lay: laid; die: dying; lie: lying; tie: tying; show: shown; melt: molten; absorb: absorption;
    man: men; woman: women; child: children; mouse: mice; foot: feet; tooth: teeth; goose: geese; leaf: leaves;
    bacterium: bacteria; fungus: fungi; nucleus: nuclei; mitochondrion: mitochondria; phenomenon: phenomena;
    criterion: criteria; larva: larvae; alga: algae; vertebra: vertebrae; formula: formulae; stimulus: stimuli;
    analysis: analyses; hypothesis: hypotheses; crisis: crises; axis: axes; matrix: matrices; index: indices;
    vertex: vertices; datum: data; medium: media; ovum: ova; spectrum: spectra; thief: thieves"""
)
PARTICIPLES = frozenset(
    form
    for form, base in IRREGULAR.items()
    if form
    not in ("was", "were", "did", "went", "ate", "gave", "grew", "rose", "became", "took", "wrote")
    and base not in ("man", "woman", "child", "mouse", "foot", "tooth", "goose", "leaf")
)
_NUMBERS = _table(
    "1: one; 2: two; 3: three; 4: four; 5: five; 6: six; 7: seven; 8: eight; 9: nine; 10: ten; 11: eleven; 12: twelve"
)
_OPPOSITES = (
    "increase decrease|rise fall|rise drop|grow shrink|more less|more fewer|most least|high low|higher lower"
    "|before after|up down|hot cold|hotter colder|warm cool|warmer cooler|gain lose|absorb release|absorb emit"
    "|absorb reflect|expand contract|open close|left right|north south|east west|positive negative|attract repel"
    "|fast slow|faster slower|large small|larger smaller|big small|bigger smaller|long short|longer shorter"
    "|strong weak|stronger weaker|thick thin|heavy light|in out|on off|from to|into from|above below|over under"
    "|with without|inside outside|first last|early late|earlier later|same different|add remove|buy sell"
    "|give take|push pull|start end|win lose|accept reject|allow prevent|import export|old new|wet dry|rich poor"
    "|always never|increase reduce|raise lower|raise reduce|maximum minimum|acid base|acidic alkaline|day night"
)
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES.split("|"):
    _a, _b = _pair.split()
    OPPOSITES[_a] = OPPOSITES.get(_a, frozenset()) | {_b}
    OPPOSITES[_b] = OPPOSITES.get(_b, frozenset()) | {_a}

_FORMULAS = {"co2": "carbon dioxide", "o2": "oxygen", "h2o": "water"}
FORMULA_OF = {"carbon": "co2", "dioxide": "co2", "oxygen": "o2", "water": "h2o"}
"""Words that a reply may write as a formula."""

_PREFIX = re.compile(
    r"\b(non|semi|anti|pre|post|sub|super|multi|inter|intra|de|re|un|bi|tri|counter|co|ultra|micro|macro)-(?=[a-z])"
)
_COMPOUND = re.compile(
    r"\b(break|build|slow|melt|shut|warm|cool|wash|speed|start|turn|run|burn)(down|up|off|out|away)\b"
)
_NOT_ONLY = re.compile(
    r"\bnot (?:only|just|merely|simply|solely)\b|\b(?:no|without(?: an?y?)?) doubt\b|\bof course\b"
)
_NOT_BUT = re.compile(r"\bnot\b[^,.;:!?]{1,80}?,? but (?!also\b|not\b)")
_MAY = re.compile(r"(?<=\b[Ii]n )May\b|(?<=\b[Oo]f )May\b|(?<=\d )May\b|\bMay(?= \d)")
_MONTHS = _set(
    "january february march april maymonth june july august september october november december"
)
_CALL = re.compile(r"(?<=\w)\(([^()\n]{0,30})\)")
_FORMULA = re.compile(r"\b(?:co2|o2|h2o)\b")
_DEGREES = re.compile(r"\s?(?:°|\bdegrees?\b)\s?(celsius|centigrade|fahrenheit|kelvin|c|f|k)\b")
_TOKEN = re.compile(
    r"(?<![\w)])-\d+(?:[.,]\d+)*|\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*"
    r"|(?<=\s)-{1,3}(?=\s)|[,;:()!?/%°=<>+&→$€£¥¶]"
)
LINE_BREAK = "¶"
"""Between lines that may be one sentence or two: it ends an object, and is looked over otherwise."""
_MARKS = {"-": "--", "---": "--", "/": "or", "&": "and", "→": ":", "?": ";", "!": ";"}


def words(sentence: str, *, turned: bool = True) -> list[str]:
    """Lower-case words, numbers, units and clause marks of one normalised sentence, in order.

    `not` stands alone (isn't -> is not), `not only` is gone, and so is what `not X but Y` denies if
    `turned`. Numbers have one spelling; a sign belongs to its number.
    """
    low = _MAY.sub("maymonth", sentence).casefold() if "May" in sentence else sentence.casefold()
    if "rather than" in low or "instead of" in low:
        low = low.replace("rather than", "insteadof").replace("instead of", "insteadof")
    if "n't" in low or "cannot" in low:
        low = low.replace("cannot", "can not").replace("n't", " not")
    if "not" in low or "doubt" in low or "of course" in low:
        low = _NOT_ONLY.sub(" also ", low)
        if turned and " but " in low:
            low = _NOT_BUT.sub(" ", low)
    if "-" in low:
        low = _PREFIX.sub(r"\1", low)
    if "2o" in low or "o2" in low:
        low = _FORMULA.sub(lambda m: _FORMULAS[m[0]], low)
    if "°" in low or "degree" in low:
        low = _DEGREES.sub(lambda m: f" °{m[1][0]} ", low)
    if "(" in low:
        low = _CALL.sub(r" \1 ", low.replace("(s)", ""))
    low = _COMPOUND.sub(r"\1 \2", low)
    return [_spelt(token) for token in _TOKEN.findall(low)]


def _spelt(token: str) -> str:
    if token in _MARKS:
        return _MARKS[token]
    if token[-1].isdigit():
        parts = token.split(",")
        if len(parts) > 1 and all(len(part.partition(".")[0]) == 3 for part in parts[1:]):
            token = "".join(parts)
        return token.rstrip("0").rstrip(".") if "." in token else token
    if "'" in token:
        token = token.partition("'")[0]
    return "%" if token in ("percent", "pct") else _NUMBERS.get(token, token)


_SPELLING = (
    ("isation", "ization"),
    ("ising", "izing"),
    ("ised", "ized"),
    ("ises", "izes"),
    ("ise", "ize"),
    ("yse", "yze"),
    ("ysed", "yzed"),
    ("our", "or"),
    ("ours", "ors"),
    ("oured", "ored"),
    ("tre", "ter"),
    ("tres", "ters"),
    ("bre", "ber"),
    ("bres", "bers"),
)


@lru_cache(maxsize=16384)
def forms(word: str) -> frozenset[str]:
    """The word and every base it may be an inflection of; two words agree if these meet.

    `breaks` and `broken` meet in `break`; `rate` and `rat` do not meet.
    """
    found = {word}
    if 3 < len(word) <= 40 and word.isalpha():
        ending = next((pair for pair in _SPELLING if word.endswith(pair[0])), ("", ""))
        for spelt in {word, word.removesuffix(ending[0]) + ending[1] if len(word) > 4 else word}:
            found.update((spelt, *_without_s(spelt), *_without_ending(spelt)))
    elif len(word) == 3 and word[-1] == "s":
        found.add(word[:-1])
    if word in IRREGULAR:
        found.add(IRREGULAR[word])
    return frozenset(found)


def _without_ending(word: str) -> tuple[str, ...]:
    if word.endswith("ied"):
        return (word[:-3] + "y",)
    if word.endswith("ed"):
        return _bare(word[:-2])
    if word.endswith("ing") and len(word) > 5:
        return _bare(word[:-3])
    if word.endswith("ation") and len(word) > 7:
        return (word[:-5], word[:-5] + "e", word[:-3] + "e")
    if word.endswith("ion") and len(word) > 6:
        return (word[:-3], word[:-3] + "e")
    return ()


def _without_s(word: str) -> tuple[str, ...]:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return ()
    if word.endswith("ies") and len(word) > 4:
        return (word[:-3] + "y", word[:-1])
    if word.endswith("ves"):
        return (word[:-3] + "f", word[:-3] + "fe", word[:-1])
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return (word[:-2], word[:-1])
    return (word[:-1],)


def _bare(stem: str) -> tuple[str, ...]:
    if len(stem) < 2:
        return ()
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        return (stem, stem[:-1], stem + "e")
    return (stem, stem + "e")


# --- denied, supposed, reported --------------------------------------------------------------

NEGATORS = _set(
    "not no never neither nor none without nobody nothing nowhere nicht kein keine keinen nie niemals pas jamais"
    " nunca não не нет niet geen ikke inte"
)
_SOFT = _set(
    "fail fails failed failing stop stops stopped stopping prevent prevents prevented preventing avoid avoids avoided"
    " avoiding unable refuse refuses refused insteadof unlikely impossible false untrue"
    " incorrect wrong wrongly halt halts inhibit inhibits block blocks blocking cease ceases"
)
_NEAR = _set(
    "lack lacks lacking absence opposite reverse hardly barely rarely seldom scarcely almost nearly few fewer little less"
)
"""They deny or weaken only the words right after them."""
_WEAKENING = _SOFT | _NEAR

CONJUNCTIONS = _set(
    "but so while whereas when whenever since as although though then therefore thus hence which where after before"
    " once until because and yet"
)
MARKS = frozenset((",", ";", ":", "(", ")", "--"))
_UNSAID = MARKS | {LINE_BREAK}
_BOUNDARIES = CONJUNCTIONS | MARKS
_SUPPOSING = _set(
    "if unless whether suppose supposing imagine assume assuming hypothetically wonder lest maybe perhaps possibly"
    " may might could would should"
)

# Words before the point that deny or distance the whole of what follows, across commas.
_FRAME = re.compile(
    r"\b(?:not|never|no|nobody|nor)\b(?: \w+){0,4}? (?:true|case|think|believe|mean|say|evidence|sure|certain|suggest"
    r"|imply|know|proof|proven|correct|right|accurate|claim|show|agree|follow|circumstances|way|point)\b"
    r"|\b(?:false|untrue|wrong|incorrect|incorrectly|wrongly|mistakenly|mistaken|falsely|myths?|misconceptions?|mistake"
    r"|a lie|far from|doubt|deny|denies|denied|disagree|unlikely|impossible|disproved|refuted?|neither|none of)\b"
)
_OTHERS = re.compile(
    r"\b(?:some|many|most|others?|people|students?|pupils|children|kids|critics|opponents|someone|somebody|everyone"
    r"|everybody|you|one|they|he|she|friends?|teachers?|textbooks?|legend)\b"
    r"(?:(?! (?:scientist|researcher|expert|biologist|chemist|physicist|historian|economist|doctor)s?\b) \w+){0,4}?"
    r" (?:say|says|said|think|thinks|thought|believe|believes|believed|claim|claims|claimed|assume|assumes|assumed"
    r"|argue|argues|argued|guess|expect|insist|insists|wrote|told|ask|asks|asked)\b"
    r"|\b(?:often|commonly|sometimes|popularly|widely|formerly|once|previously|traditionally)\b"
    r" (?:\w+ )?(?:said|thought|believed|claimed|assumed|supposed|told|taught)\b"
    r"|\baccording to (?:some|many|a|the|popular|critics|opponents) ?(?:myth|legend|belief|people|question|prompt|critics)?\b"
    r"|\b(?:question|user|prompt|task|rubric|candidate|reference)\b(?: \w+){0,3}?"
    r" (?:say|says|ask|asks|asked|state|states|stated|claim|claims|claimed|assumes|wants?|mentions?|expects?)\b"
    r"|\b(?:they|you|he|she|people|somebody|someone) (?:want|wants|wanted|expect|expects|expected) (?:me|us|to)\b"
)
_FIRST_PERSON = (["i"], ["we"])
"""`I would say that X` states X."""
_RESETS = ("but", "actually", "reality", "instead")


def before(tokens: Sequence[str], start: int, said: Collection[str]) -> int | None:
    """How many words before `start` deny it; None if it is supposed, doubted or somebody else's."""
    first = _after_reset(tokens, start)
    lead = " ".join(word for word in tokens[first:start] if word != LINE_BREAK)
    frame = next((m for m in _FRAME.finditer(lead) if m[0].split()[-1] not in said), None)
    other = next((m for m in _OTHERS.finditer(lead) if m[0].split()[-1] not in said), None)
    if other:
        return None
    scope, denials = _scope(tokens, first, start)
    clause = tokens[scope:start]
    for at, word in enumerate(clause):
        if (
            word in _SUPPOSING
            and word not in said
            and [*clause[max(0, at - 1) : at]] not in _FIRST_PERSON
        ):
            return None
    if clause and clause[0] in ("why", "how") and (scope == 0 or tokens[scope - 1] == ":"):
        return None
    denials += sum(word in NEGATORS for word in clause)
    near = [word for word in clause if word not in _SKIPPED]
    denials += sum(word in _SOFT and word not in said for word in near[-3:])
    denials += sum(word in _NEAR and word not in said for word in near[-1:])
    return denials + (frame is not None)


def _after_reset(tokens: Sequence[str], start: int) -> int:
    """Where the words begin that still bear on `start`: after the last `but`, `actually` or the like."""
    for at in range(start - 1, -1, -1):
        following = [word for word in tokens[at + 1 : at + 3] if word != ","][:1]
        if tokens[at] in _RESETS and following not in (["that"], ["of"]):
            return at + 1
    return 0


def _scope(tokens: Sequence[str], first: int, start: int) -> tuple[int, int]:
    """(where the clause of `start` begins, denials of its conjunction: `not because X`)."""
    at = start
    while at > first and tokens[at - 1] not in _BOUNDARIES and not _breaks_off(tokens, at - 1):
        at -= 1
    if at == first or tokens[at - 1] in _UNSAID:
        return at, 0
    if at - 2 >= first and tokens[at - 2] in NEGATORS:
        return at, 1
    if tokens[at - 1] != "because":
        return at, 0
    # `It does not turn yellow because X` may deny X; `it can not live …` and `no longer` do not.
    head = at - 1
    while head > first and tokens[head - 1] not in _BOUNDARIES:
        head -= 1
    denied = any(
        tokens[k] in ("not", "never") and tokens[k - 1 : k] not in (["can"], ["could"])
        for k in range(head, at - 1)
    )
    return at, int(denied)


def _breaks_off(tokens: Sequence[str], at: int) -> bool:
    """Whether a line ends there that may be whole: not after `that`, `no` or `prevents`."""
    if tokens[at] != LINE_BREAK or not at:
        return False
    return tokens[at - 1] not in _FILLING | _PREPOSITIONS | _BLOCKING


# --- between the words of a point ---------------------------------------------------------------

_BLOCKING = (CONJUNCTIONS - {"and", "as", "then", "therefore", "thus", "hence"}) | _set(
    "if unless whether than or may might could would should make makes made making let lets letting help helps helped"
    " helping cause causes caused causing allow allows allowed enable enables force forces lead leads led trigger"
    " triggers that who why how"
)
_FREE = _set(
    "a an the this these those its their his her our your also very just simply really both each all such own do does did"
    " can will shall must to as then therefore thus hence so have has had having be is are was were been being get gets"
    " got begin begins began begun start starts started continue continues tend tends soon now again finally first"
    " eventually usually often always more most even still already only there it they thereby too once"
)
_FILLING = _FREE | NEGATORS | _SOFT | _NEAR | {"and", "by"}
_PREPOSITIONS = _set(
    "of in on at for with about upon into from to by during through between inside within under over after before"
    " around across against along among near per via"
)
_BOUNDING = _set("over under above below nearly almost least most than exceeding")
_RELATIVE = ([":"], [",", "which"], ["which"], ["that"], ["who"], [",", "who"], [",", "that"])


def in_gap(gap: list[str], following: str, point: Pattern) -> int | None:
    """How many words between two words of a point deny the second, `following`; None if they part the two."""
    gap = [word for word in gap if word != LINE_BREAK]
    if not gap or gap in _RELATIVE:
        return 0
    rest = _without_asides(gap)
    if rest is None or len(rest) > 12 or not _joins(rest, len(rest) < len(gap), point.said):
        return None
    shared = rest[-1:] == ["and"]  # `S does this and V`: what denies `this` need not deny V
    if _IS_ONE_THAT.fullmatch(" ".join(rest)):
        rest.pop()
    relative = rest[:1] in (["that"], ["which"], ["who"]) and len(rest) < 9
    if relative:
        del rest[0]
    numbered = point.numbered and not (shared and following.isalpha())
    while rest and rest[-1] in ("to", "help", "helps", "helped"):  # `S helps (to) V`
        rest.pop()
    dated = _MONTHS.intersection(rest)  # `on 8 May 1945` for `in 1945`
    if any(_breaks(word, point, numbered and not dated) for word in rest) or _by_last(rest):
        return None
    if _room(rest, 4 if shared or relative else 2, point.said) < 0:
        return None
    strict = sum(word in NEGATORS for word in rest) * (not shared or following[-1:] != "s")
    return strict + (not shared) * sum(
        word in _WEAKENING and word not in point.said for word in rest
    )


_IS_ONE_THAT = re.compile(
    r"(?:is|are|was|were) (?:an?|the|one of the|those) (?:\w+ ){1,4}(?:that|which|who)"
)


def _joins(rest: Sequence[str], aside: bool, said: Collection[str]) -> bool:
    """`and` joins what is around it to the same statement: first (`S and others V`) or last (`S does this and V`)."""
    places = [at for at, word in enumerate(rest) if word == "and"]
    if not places or "and" in said:
        return True
    return not aside and len(places) == 1 < len(rest) and places[0] in (0, len(rest) - 1)


def _room(rest: Sequence[str], room: int, said: Collection[str]) -> int:
    """How many more words of its own a gap might hold; below 0 it holds another statement."""
    for word in rest:
        if word in _PREPOSITIONS:
            room = max(room, 3)
        elif not (word in _FILLING or word in said or word.endswith("ly")):
            room -= 1
            if room < 0:
                break
    return room


def _breaks(word: str, point: Pattern, numbered: bool) -> bool:
    if word in point.said:
        return False
    if word in _BLOCKING or word in point.opposed or IRREGULAR.get(word) in point.opposed:
        return True
    return numbered and (word[-1].isdigit() or word in _BOUNDING)


def _by_last(rest: Sequence[str]) -> bool:
    """Nothing but articles after `by`: what follows does it, where the point says that it suffers it."""
    left = [word for word in rest if word not in ("a", "an", "the", "its", "their")]
    return left[-1:] == ["by"]


def _without_asides(gap: Sequence[str]) -> list[str] | None:
    """The gap without what stands in brackets or between a pair of commas or dashes; None if unpaired."""
    kept: list[str] = []
    closing = ""
    for word in gap:
        if closing:
            closing = "" if word == closing else closing
        elif word in ("(", ",", "--"):
            closing = ")" if word == "(" else word
        elif word in (")", ":", ";"):
            return None
        else:
            kept.append(word)
    return None if closing else kept


# --- after the words of a point -----------------------------------------------------------------

_WRONG = r"(?:false|wrong|incorrect|untrue|myths?|misconceptions?|mistaken|a mistake|nonsense|impossible|unlikely|disproved|disproven|refuted|debunked|discredited)"
_DENIED_NEXT = re.compile(
    rf"(?:(?:[,:;()]|--|is|are|was|were|has|have|had|been|now|long|since|this|that|which|it|simply|just|also|completely|an?|the|common|popular) ?){{0,8}}"
    rf"(?:{_WRONG}|not (?:\w+ )?(?:true|correct|right|accurate|the case)|never|rarely|seldom|hardly|not at all)\b"
    r"|(?:in|under|at|for|with) no\b|or not\b"
)
_REFUTED = re.compile(
    rf"\b(?:this|that|which|it|they|both|these|claims?|statements?|ideas?|opposite)\b(?: \w+){{0,4}}? {_WRONG}\b(?! (?:that|to)\b)"
    r"|\b(?:is|are|was|were) not (?:\w+ ){0,2}(?:true|correct|right|the case|accurate|so)\b(?! (?:that|for|of|in)\b)"
    r"|\b(?:is|are) (?:the opposite|only a myth)\b"
    r"|\b(?:is|was) (?:just |only )?what (?:the |an? |my )?(?:question|rubric|prompt|grader|others|people|some|they|you|user)\b"
)
_REFUTING_NEXT = re.compile(
    r"\W*(?:(?:no|nope|false|wrong|incorrect)(?=\s{0,3}(?:[.,!;:]|\Z))|not (?:true|really|quite)\b|nonsense|just kidding)"
)


def after(tokens: Sequence[str], end: int, said: Collection[str]) -> bool:
    """Whether the rest of the sentence takes back what stands up to `end` (exclusive)."""
    rest = " ".join(word for word in tokens[end : end + 40] if word != LINE_BREAK)
    if not rest:
        return False
    found = _DENIED_NEXT.match(rest) or _REFUTED.search(rest)
    return found is not None and found[0].split()[-1] not in said


def taken_back(following: str) -> bool:
    """Whether a sentence, in lower case, refutes the one before it: `No.`, `That is not true.`"""
    head = following[:160].replace("n't", " not")
    if _REFUTING_NEXT.match(head):
        return True
    found = _REFUTED.search(head)
    return found is not None and found.start() < 20


# --- points --------------------------------------------------------------------------------

Need = frozenset[str]
MAX_STARTS, MAX_REACH, MAX_REORDERED = 16, 20, 12
STATED, DENIED = "stated", "denied"

_SKIPPED = _set(
    "a an the this that these those it its they their them he his she her we our we you your there also then thus"
    " therefore hence very just simply really too such own and both each etc do does did can could will would may"
    " might shall should must of in on at for with as about upon to so which who ¶"
)
"""Of a point, not asked of a reply. `from`, `by`, `before`, `than` and the like are asked."""
_PARTICLES = _set("down up off out away apart over back together")
_LINKING = _set("be become turn remain stay get appear seem grow")
_ALONE = _set(
    "break open close change convert turn increase decrease melt freeze boil evaporate condense dissolve expand"
    " contract grow shrink stop start begin end burn decay rust cool warm heat dry rise fall sink float move spin"
)
"""Verbs that say with and without an agent what happens to their subject."""
_MOVABLE = _set("in during at on within after before when under through between inside for")
_BY, _OF = frozenset(("by",)), frozenset(("of",))
_BE = frozenset(("be", "=", ":", "--"))


@dataclass(frozen=True)
class Order:
    """The needs in an order in which a sentence may give them."""

    needs: tuple[Need, ...]
    participle: int = -1
    """Which need must be met by a participle: the verb of a passive."""
    helped: bool = False
    """With a form of `be` before it, or a comma."""
    alone: bool = False
    """The verb may also be one that says the same without `be`: `breaks down`, `is broken down`."""
    aside: tuple[str, ...] = ()
    """Words that stand elsewhere in the sentence, as they stand in the point."""
    joints: frozenset[int] = frozenset()
    """Needs that a comma may stand before."""
    closed: bool = False
    """No noun or verb may follow."""


@dataclass(frozen=True)
class Pattern:
    """A point prepared for matching."""

    needs: tuple[Need, ...]
    said: frozenset[str]
    """All words of the point, with their forms: none of them casts doubt on it."""
    opposed: frozenset[str]
    """Opposites of its words: one of them between its words says something else."""
    anchors: tuple[tuple[str, ...], ...]
    """A sentence in lower case without one of each of these cannot state the point."""
    negated: bool = False
    numbered: bool = False
    passive: int = -1
    free: bool = False
    """No preposition and no pair of opposites makes the order of its words say who or what is which."""
    tokens: tuple[str, ...] = ()
    """All its words: a sentence of just these states it."""
    solid: str = ""
    """The point in a script without spaces, compared as a piece of text."""
    orders: tuple[Order, ...] = ()


@lru_cache(maxsize=2048)
def prepared(point: str) -> Pattern | None:
    """The pattern of a normalised point; None if it says nothing that can be looked for."""
    if _SOLID.search(point):
        solid = _solid(point)
        return Pattern((), frozenset(), frozenset(), (), solid=solid) if solid else None
    found = [word for word in words(point, turned=False) if word not in MARKS - {","}]
    asked = _asked(found)
    kept, passive, joints = asked.words, asked.passive, asked.joints
    if not kept:
        return None
    needs = _needs(kept)
    said = frozenset(found).union(*map(forms, found))
    opposites = frozenset().union(*(OPPOSITES.get(word, frozenset()) for word in said))
    opposed = opposites - said
    free = _DIRECTED.isdisjoint(said) and opposites.isdisjoint(said - _SKIPPED)
    numbered = any(word[-1].isdigit() for word in kept)
    negated = not NEGATORS.isdisjoint(found)
    tokens = tuple(word for word in found if word != ",")
    pattern = Pattern(
        needs, said, opposed, _anchors(kept), negated, numbered, passive, free, tokens
    )
    orders = [Order(needs, passive, helped=True, alone=True, joints=joints | {passive})]
    if 1 < len(needs) <= MAX_REORDERED:
        plain = [word for word in found if word != ","]
        orders += _voices(needs, asked, subject=plain[0] not in _PRONOUNS)
        orders += [*_moved(needs, plain), *_clauses(kept, needs, joints), *_genitives(point)]
        orders += _paired(needs, asked) if free else ()
    return replace(pattern, orders=tuple(orders))


def _paired(needs: tuple[Need, ...], asked: Asked) -> Iterator[Order]:
    """`glucose and oxygen` for `oxygen and glucose`."""
    for at in asked.pairs:
        if 0 < at < len(needs):
            yield Order((*needs[: at - 1], needs[at], needs[at - 1], *needs[at + 1 :]))


@dataclass(frozen=True)
class Asked:
    """The words of a point that a reply is asked for, and places among them."""

    words: list[str]
    passive: int
    """The verb of a passive, or -1."""
    joints: frozenset[int]
    """After a comma."""
    phrases: frozenset[int]
    """With a preposition before them, or themselves one."""
    pairs: frozenset[int]
    """After `and`."""


def _needs(kept: Sequence[str]) -> tuple[Need, ...]:
    return tuple(_BE if IRREGULAR.get(word, word) == "be" else forms(word) for word in kept)


def _asked(found: list[str]) -> Asked:
    """The words of a point that a reply is asked for."""
    kept: list[str] = []
    joints: set[int] = set()
    phrases: set[int] = set()
    pairs: set[int] = set()
    passive, helped = -1, False
    for at, word in enumerate(found):
        if word in _PREPOSITIONS:
            phrases.add(len(kept))
        if word in (",", "and"):
            (joints if word == "," else pairs).add(len(kept))
        if word in _SKIPPED or word in NEGATORS or word == ",":
            continue
        base = IRREGULAR.get(word, word)
        if base in ("be", "have") and _helps(found, at):
            helped = helped or base == "be"
            continue
        if helped and passive < 0 and not word.endswith("ly"):
            passive = len(kept) if _participle(word) else -2
        kept.append(word)
    kept = kept or [word for word in found if word.isalnum()][:1]
    return Asked(kept, max(passive, -1), frozenset(joints), frozenset(phrases), frozenset(pairs))


def _helps(found: list[str], at: int) -> bool:
    """The form of `be` or `have` is an auxiliary: a participle follows."""
    following = [word for word in found[at + 1 : at + 5] if word not in _SKIPPED | NEGATORS]
    verb = next((word for word in following if not word.endswith("ly")), "")
    return (
        _participle(verb) or IRREGULAR.get(verb) == "be" or (verb.endswith("ing") and len(verb) > 5)
    )


def _participle(word: str) -> bool:
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 4)


_BASES = frozenset(IRREGULAR.values()) | IRREGULAR.keys()
_ENDING = re.compile(r"(?:ies|ied|ying|ation|ion|ing|ves|fe|ed|es|s|y|e|f)\Z")
_SPELT_TWO_WAYS = re.compile("our|or|tre|ter|bre|ber|ae|oe")


def _anchors(kept: list[str]) -> tuple[tuple[str, ...], ...]:
    """For each regular word its beginning, common to its inflections, or the formula in its place."""
    found = []
    for word in kept:
        stem = _ENDING.sub("", word)
        if len(stem) < 3 or not word.isalpha() or not _BASES.isdisjoint(forms(word)):
            continue
        start = stem[: 3 if _SPELT_TWO_WAYS.search(word) else 5]
        start = start[:-1] if start[-1] == start[-2] else start
        found.append((start, FORMULA_OF[word]) if word in FORMULA_OF else (start,))
    return tuple(sorted(found, key=lambda starts: -len(starts[0])))


def may_state(pattern: Pattern, low: str) -> bool:
    """The cheap test before a sentence, in lower case, is taken apart."""
    low = low.replace("-", "") if "-" in low else low
    for starts in pattern.anchors:  # noqa: SIM110 - a generator costs more than the search
        if not spelling.any_of(starts, low):
            return False
    return True


# --- orders ----------------------------------------------------------------------------------


def _voices(needs: tuple[Need, ...], asked: Asked, *, subject: bool) -> Iterator[Order]:
    """The passive of an active point and the reverse, `V-ing of S` for `S V`, a particle after its object.

    `subject` False: the point's subject is a pronoun, so that the first need is its verb.
    """
    by = next((at for at, need in enumerate(needs) if need == _BY), 0)
    for at in range(int(subject), len(needs)):
        end = at + 1
        if end < len(needs) and needs[end] & _PARTICLES:
            end += 1
        agent, verb, thing = needs[:at], needs[at:end], needs[end:]
        if verb[0] & (_LINKING | _PARTICLES) or verb[0] == _BE or _BY in verb:
            continue
        if by:
            if end == by and by + 1 < len(needs):
                yield Order((*needs[by + 1 :], *verb, *agent))
        elif thing:
            first = next(
                (k - end for k in range(end, len(needs)) if k in asked.phrases), len(thing)
            )
            yield from _passives(agent, verb, thing[:first], thing[first:])
        elif asked.passive == at:
            yield Order((*verb, *agent))
        elif _BE not in needs and agent:
            yield Order((*verb, _OF, *agent))
            if verb[0] & _ALONE:
                yield Order((*verb, *agent), closed=True)


def _passives(
    agent: tuple[Need, ...],
    verb: tuple[Need, ...],
    patient: tuple[Need, ...],
    rest: tuple[Need, ...],
) -> Iterator[Order]:
    """`amylase breaks down starch into sugars`: `starch is broken down (by amylase) into sugars (by amylase)`."""
    if not patient:
        return
    count = len(patient)
    if not agent:
        yield Order((*patient, *verb, *rest), count, helped=True, joints=frozenset((count,)))
        return
    yield Order((*patient, *verb, *rest, _BY, *agent), count, joints=frozenset((count,)))
    if rest:
        yield Order((*patient, *verb, _BY, *agent, *rest), count)
    if len(verb) == 2:
        yield Order((*agent, verb[0], *patient, verb[1], *rest))


_PRONOUNS = _set("it they he she this that these we you there")


def _clauses(
    kept: Sequence[str], needs: tuple[Need, ...], joints: frozenset[int]
) -> Iterator[Order]:
    """`the price rises when supply falls` for `when supply falls, the price rises` and the reverse."""
    at = next((k for k, word in enumerate(kept) if word in _SUBORDINATING), -1)
    if at == 0:
        at = min(joints, default=0)
    if at > 0:
        yield Order((*needs[at:], *needs[:at]), joints=frozenset((len(needs) - at,)))
        yield Order(needs, joints=joints | {at})


_SUBORDINATING = _set("when whenever if because while once before after until unless since")
_GENITIVE = re.compile(r"(\w{2,30})'s (\w{2,30})")
_OF_GENITIVE = re.compile(r"(\w{2,30}) of (?:the |an? )?(\w{2,30})")


def _genitives(point: str) -> Iterator[Order]:
    """`the axis of the Earth` for `Earth's axis` and the reverse."""
    for turned in (_GENITIVE.sub(r"\2 of \1", point), _OF_GENITIVE.sub(r"\2 \1", point)):
        if turned != point:
            found = [word for word in words(turned, turned=False) if word not in MARKS - {","}]
            asked = _asked(found)
            yield Order(
                _needs(asked.words), asked.passive, helped=True, alone=True, joints=asked.joints
            )


def _moved(needs: tuple[Need, ...], found: list[str]) -> Iterator[Order]:
    """The point without its last adverbial (`in autumn`), which then stands elsewhere."""
    places = [at for at, word in enumerate(found) if word in _MOVABLE and at > 1]
    if not places:
        return
    aside = tuple(found[places[-1] :])
    count = sum(word not in _SKIPPED for word in aside)
    if 0 < count <= 4 and len(needs) - count > 1:
        yield Order(needs[: len(needs) - count], aside=aside)


# --- one sentence ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence:
    """A sentence's tokens and their forms."""

    tokens: list[str]
    forms: list[frozenset[str]]


@lru_cache(maxsize=64)
def _taken_apart(text: str, turned: bool) -> Sentence:
    tokens = words(text, turned=turned)
    return Sentence(tokens, [forms(token) for token in tokens])


def find(pattern: Pattern, text: str) -> str:
    """STATED, DENIED, or "" if the normalised sentence does not speak of the point."""
    if pattern.solid:
        return _find_solid(pattern.solid, text)
    sentence = _taken_apart(text, not pattern.negated)
    if pattern.tokens == tuple(word for word in sentence.tokens if word not in _UNSAID):
        return STATED
    known = frozenset().union(*sentence.forms, ("=",))
    if any(need.isdisjoint(known) for need in pattern.needs if need not in (_BE, _BY)):
        return ""
    verdict = ""
    for start, end, denials in _spans(pattern, sentence):
        outer = before(sentence.tokens, start, pattern.said)
        if outer is None or (
            _goes_on(pattern, sentence.tokens, start, end) or _acts(pattern, sentence, start, end)
        ):
            continue
        denials += outer + after(sentence.tokens, end, pattern.said)
        if denials == pattern.negated:
            return STATED
        verdict = DENIED
    return verdict


Span = tuple[int, int, int]
"""(first token, after the last token, denials between them)"""


def _spans(pattern: Pattern, sentence: Sentence) -> Iterator[Span]:
    for order in pattern.orders:
        for start in _places(order.needs[0], sentence)[:MAX_STARTS]:
            walked = _walk(order.needs, start, pattern, sentence, order.joints)
            if walked and _voiced(order, walked[0], sentence):
                places, denials = walked
                aside = _stands(order.aside, sentence.tokens) if order.aside else 0
                closed = not order.closed or _closed(sentence.tokens, places[-1] + 1)
                if aside >= 0 and closed:
                    yield places[0], max(places[-1] + 1, aside), denials
    if pattern.free:
        yield from _arranged(pattern, sentence)
    if 5 <= len(pattern.needs) <= MAX_REORDERED and pattern.free:
        yield from _displaced(pattern, sentence)


def _places(need: Need, sentence: Sentence) -> list[int]:
    return [at for at, form in enumerate(sentence.forms) if not need.isdisjoint(form)]


def _walk(
    needs: Sequence[Need],
    start: int,
    pattern: Pattern,
    sentence: Sentence,
    joints: Collection[int] = (),
) -> tuple[list[int], int] | None:
    """(where each need is met, denials between) from a token that meets the first; None if they are not."""
    places, denials = [start], 0
    for number, need in enumerate(needs[1:], start=1):
        first = places[-1] + 1
        reach = range(first, min(first + MAX_REACH, len(sentence.tokens)))
        at = next((k for k in reach if not need.isdisjoint(sentence.forms[k])), None)
        if at is None:
            return None
        gap = sentence.tokens[first:at]
        if number in joints and gap[:1] == [","]:
            del gap[0]
        found = in_gap(gap, sentence.tokens[at], pattern)
        if found is None:
            return None
        places.append(at)
        denials += found
    return places, denials


def _voiced(order: Order, places: list[int], sentence: Sentence) -> bool:
    """Whether the verb of a passive is one here too."""
    if order.participle < 0:
        return True
    at = places[order.participle]
    if order.alone and not _ALONE.isdisjoint(sentence.forms[at]):
        return True
    helpers = sentence.tokens[max(0, at - 4) : at]
    helped = any(IRREGULAR.get(word, word) in ("be", "get") for word in helpers)
    helped = helped or helpers[-1:] == [","]  # `the treaty, signed in 1648, …`
    return _participle(sentence.tokens[at]) and (helped or not order.helped)


def _stands(aside: tuple[str, ...], tokens: Sequence[str]) -> int:
    """Where the moved words end, after their preposition or one of the same sense and not denied; or -1."""
    prepositions = _DURING if aside[0] in _DURING else frozenset(aside[:1])
    wanted = [forms(word) for word in aside[1:] if word not in _SKIPPED]
    for at, token in enumerate(tokens):
        lead = tokens[at - 1] if at else ""
        if token not in prepositions or lead in NEGATORS or lead == "than":
            continue
        following = [
            k for k in range(at + 1, min(at + 8, len(tokens))) if tokens[k] not in _SKIPPED
        ]
        if len(following) >= len(wanted) and all(
            not need.isdisjoint(forms(tokens[k]))
            for need, k in zip(wanted, following, strict=False)
        ):
            return following[len(wanted) - 1] + 1
    return -1


_DURING = frozenset(("in", "during", "at", "on", "within"))
_NAMING = _set("which are is called known named as")
_STRONG = _set("of in from to by for with than between against into")
_DIRECTED = _set("from to into by than between before after against over under")
"""With these the order of the words around tells who does what: none may be displaced."""


def _arranged(pattern: Pattern, sentence: Sentence) -> Iterator[Span]:
    """`Pigments called carotenoids, which are yellow, become visible`: the words before a linking verb in any order."""
    needs = pattern.needs
    link = next((at for at, need in enumerate(needs) if need & _LINKING), 0)
    if link < 2 or pattern.passive >= 0 or not _STRONG.isdisjoint(pattern.said):
        return
    for place in _places(needs[link], sentence):
        walked = _walk(needs[link:], place, pattern, sentence)
        first = _noun_phrase(needs[:link], place, sentence)
        if walked and first >= 0:
            yield first, walked[0][-1] + 1, walked[1]


def _noun_phrase(needs: Sequence[Need], end: int, sentence: Sentence) -> int:
    """Where the phrase of exactly these words begins that ends before `end`; -1 if none does."""
    left = list(needs)
    first, spare, commas = end, 1, 0
    for at in range(end - 1, max(-1, end - 3 * len(needs) - 6), -1):
        word, form = sentence.tokens[at], sentence.forms[at]
        met = next((need for need in left if not need.isdisjoint(form)), None)
        if met is not None:
            left.remove(met)
            first = at
        elif word == ",":
            commas += 1
        elif word not in _NAMING and word not in ("a", "an", "the", "these", "those"):
            spare -= 1
            if spare < 0 or word in NEGATORS or word in CONJUNCTIONS or word in _STRONG:
                return -1
        if not left:
            return first if commas % 2 == 0 else -1
    return -1


def _displaced(pattern: Pattern, sentence: Sentence) -> Iterator[Span]:
    """All words but one in order, and that one beside them in the same clause."""
    for out, need in enumerate(pattern.needs):
        if need & (_PARTICLES | _STRONG | _LINKING) or need == _BE or out == pattern.passive:
            continue
        if any(word[-1].isdigit() for word in need):
            continue
        needs = pattern.needs[:out] + pattern.needs[out + 1 :]
        for start in _places(needs[0], sentence)[:MAX_STARTS]:
            walked = _walk(needs, start, pattern, sentence)
            if walked is None:
                continue
            (first, *_, last), denials = walked
            for at in _places(need, sentence):
                more = _beside(at, walked[0], pattern, sentence)
                if more is not None:
                    yield min(at, first), max(at, last) + 1, denials + more
                    break


def _beside(at: int, places: list[int], pattern: Pattern, sentence: Sentence) -> int | None:
    """How many words deny the displaced one at a place, None if that is too far or taken."""
    if places[0] < at < places[-1]:
        return None if at in places else 0
    between = (
        sentence.tokens[at + 1 : places[0]]
        if at < places[0]
        else sentence.tokens[places[-1] + 1 : at]
    )
    if at in places or len(between) > 3 or "," in between:
        return None
    return in_gap(between, "", pattern)


_UNITS_ON = _set("% ° million billion thousand hundred times")
_BOUNDS = _set("-- over under above below nearly almost than least most")
_NO_OBJECT = _set(
    "again first too each every more less most faster slower soon early late later earlier away today now here there fast"
    " well also over under up down after before during in on at for with without by to from into as when while because if"
    " since until unless and but or so then that which who whereas although though than through between within upon due"
    " is are was were be has have had will can may does do did not of about around against along per once where"
)
_DETERMINERS = _set("the a an its their this these those our your his her")
_TIMES = _set(
    "year time way autumn fall day night moment more faster slower same next following winter spring summer season month"
    " week process end"
)


def _goes_on(pattern: Pattern, tokens: Sequence[str], start: int, end: int) -> bool:
    """Whether a longer number or quantity stands around: 100 of `90 to 100`, of `100 million`, of `over 100`."""
    if not pattern.numbered:
        return False
    following = [*tokens[end : end + 2], "", ""]
    if tokens[end - 1][-1].isdigit():
        ranged = following[0] == "to" and following[1][-1:].isdigit()
        if following[0] in _UNITS_ON or following[0][-1:].isdigit() or ranged:
            return True
    before = tokens[start - 1] if start else ""
    return tokens[start][-1].isdigit() and (before in _BOUNDS or before[-1:].isdigit())


def _acts(pattern: Pattern, sentence: Sentence, start: int, end: int) -> bool:
    """Whether an object follows `S breaks down`, so that S does it rather than suffers it."""
    last = pattern.needs[-1]
    if len(pattern.needs) < 2 or not last & (_PARTICLES | _ALONE):
        return False
    tokens = sentence.tokens
    if last.isdisjoint(sentence.forms[end - 1]) or _closed(tokens, end):
        return False
    # `As S breaks down the others appear`: what follows begins the main clause.
    opening = [word for word in tokens[:start] if word not in _DETERMINERS | MARKS | {"answer"}]
    return not (len(opening) == 1 and opening[0] in _OPENING and "," not in tokens[end:])


_OPENING = _set("as when whenever once while because after since if")


def _closed(tokens: Sequence[str], end: int) -> bool:
    """Whether no object begins there: `breaks down (the starch)`, but `breaks down (every autumn)`."""
    word, following = [*tokens[end : end + 2], "", ""][:2]
    if word in _DETERMINERS:
        return following in _TIMES
    return not word.isalpha() or word in _NO_OBJECT or word.endswith(("ly", "ing"))


# --- scripts without spaces --------------------------------------------------------------------

_SOLID = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_SOLID_CLAUSE = re.compile(r"[,.;:!?()\n]")
_SOLID_NOT = re.compile(
    r"不(?!仅|僅|但|只|光|断|斷|同|管|论|論|过|過)|[没沒](?!错|錯)|未(?!来|來)|无(?!论|数)|無(?!論|数)|非(?!常)|别|勿|並非|ない(?!と)|なかっ|ません"
    r"|아니|않|못|없|ไม่"
)
_SOLID_DOUBT = re.compile(
    r"(?i:\b(?:not|no|never|\w{2,6}n't|nobody|false|wrong|myth|if|whether|some|doubt|suppose|claim)\b)|如果|假如|若|要是|もし|たら|만약|吗|嗎|ですか|ますか|でしょうか|有人|误以为|誤以為|误解|誤解|错误|錯誤|错的|錯的|誤り|間違|迷信|谣言|거짓|틀린|잘못"
)


def _solid(text: str) -> str:
    return spelling.folded(text).replace(" ", "").replace("-", "")


def _find_solid(point: str, text: str) -> str:
    """The clause that holds the point is neither denied more than the point is, nor asked or supposed."""
    doubted = text.rstrip().endswith("?") or _SOLID_DOUBT.search(text)
    for clause in _SOLID_CLAUSE.split(text):
        folded = _solid(clause)
        if point not in folded:
            continue
        more = len(_SOLID_NOT.findall(folded)) - len(_SOLID_NOT.findall(point))
        if more == 0:
            return "" if doubted and not _SOLID_DOUBT.search(point) else STATED
        return DENIED
    folded = _solid(text)
    if point in folded and len(_SOLID_NOT.findall(folded)) == len(_SOLID_NOT.findall(point)):
        return "" if doubted else STATED
    return ""
