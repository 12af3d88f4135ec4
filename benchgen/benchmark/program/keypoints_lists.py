"""The words that the matching of key points knows: irregular forms, opposites, and words by what they do."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
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
SPELLINGS = _table(
    "ization: isation; izing: ising; ized: ised; izes: ises; ize: ise; yze: yse; yzed: ysed; or: our; ors: ours;"
    "ored: oured; ter: tre; ters: tres; ber: bre; bers: bres"
)
"""{British ending: American ending}, the first that fits."""
NUMBERS = _table(
    "1: one; 2: two; 3: three; 4: four; 5: five; 6: six; 7: seven; 8: eight; 9: nine; 10: ten; 11: eleven; 12: twelve"
)
_PAIRS = (
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
for _pair in _PAIRS.split("|"):
    _a, _b = _pair.split()
    OPPOSITES[_a] = OPPOSITES.get(_a, frozenset()) | {_b}
    OPPOSITES[_b] = OPPOSITES.get(_b, frozenset()) | {_a}

FORMULAS = {"co2": "carbon dioxide", "o2": "oxygen", "h2o": "water"}
FORMULA_OF = {"carbon": "co2", "dioxide": "co2", "oxygen": "o2", "water": "h2o"}
"""Words that a reply may write as a formula."""
LINE_BREAK = "¶"
"""Between lines that may be one sentence or two: it ends an object, and is looked over otherwise."""

MARKS = frozenset((",", ";", ":", "(", ")", "--"))
"""Of clauses."""
SEPARATORS = MARKS | {LINE_BREAK}

NEGATORS = word_set(
    "not no never neither nor none without nobody nothing nowhere nicht kein keine keinen nie niemals pas jamais"
    " nunca não не нет niet geen ikke inte"
)
SOFT = word_set(
    "fail fails failed failing stop stops stopped stopping prevent prevents prevented preventing avoid avoids avoided"
    " avoiding unable refuse refuses refused insteadof unlikely impossible false untrue"
    " incorrect wrong wrongly halt halts inhibit inhibits block blocks blocking cease ceases"
)
NEAR = word_set(
    "lack lacks lacking absence opposite reverse hardly barely rarely seldom scarcely almost nearly few fewer little less"
)
"""They deny or weaken only the words right after them."""
WEAKENING = SOFT | NEAR
CONJUNCTIONS = word_set(
    "but so while whereas when whenever since as although though then therefore thus hence which where after before"
    " once until because and yet"
)
BLOCKING = (CONJUNCTIONS - {"and", "as", "then", "therefore", "thus", "hence"}) | word_set(
    "if unless whether than or may might could would should make makes made making let lets letting help helps helped"
    " helping cause causes caused causing allow allows allowed enable enables force forces lead leads led trigger"
    " triggers that who why how"
)

PREPOSITIONS = word_set(
    "of in on at for with about upon into from to by during through between inside within under over after before"
    " around across against along among near per via"
)
SKIPPED = word_set(
    "a an the this that these those it its they their them he his she her we our we you your there also then thus"
    " therefore hence very just simply really too such own and both each etc do does did can could will would may"
    " might shall should must of in on at for with as about upon to so which who ¶"
)
"""Of a point, not asked of a reply. `from`, `by`, `before`, `than` and the like are asked."""
PARTICLES = word_set("down up off out away apart over back together")
LINKING = word_set("be become turn remain stay get appear seem grow")
BOUNDING = word_set("over under above below nearly almost least most than exceeding --")
"""Before a number, they make another quantity of it."""
SCALES = word_set("hundred thousand million billion trillion times")
"""Behind a number, they do."""
ALONE = word_set(
    "break open close change convert turn increase decrease melt freeze boil evaporate condense dissolve expand"
    " contract grow shrink stop start begin end burn decay rust cool warm heat dry rise fall sink float move spin"
)
"""Verbs that say with and without an agent what happens to their subject."""
_IDLE = word_set(
    "a an the this these those its their his her our your also very just simply really both each all such own do does did"
    " can will shall must to as then therefore thus hence so have has had having be is are was were been being get gets"
    " got begin begins began begun start starts started continue continues tend tends soon now again finally first"
    " eventually usually often always more most even still already only there it they thereby too once and by"
)
FILLING = NEGATORS | SOFT | NEAR | _IDLE
"""They may stand between the words of a point."""
