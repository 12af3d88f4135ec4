"""Making a benchmark: described in words, from a file, from a pasted table, from a document."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules import paths
from benchgen.agent.rules.marks import FILE, QUOTE, TABLE
from benchgen.agent.rules.reading import NUM, Reading
from benchgen.agent.rules.references import benchmark_ids, meant_benchmark
from benchgen.agent.situation import BenchmarkSeen, Situation, Wish

LIMIT = 2000
"""Questions that a benchmark may hold."""
_KINDS = (
    ("KEYPOINTS", "keypoints"),
    ("TOOL", "tool"),
    ("NUMERIC", "numeric"),
    ("MCQ", "mcq"),
    ("QA", "qa"),
)
_COUNTED = r"(?:QUESTION|MCQ|QA|NUMERIC|MATH|TOOL|KEYPOINTS|FRESH|ROW)"
_NOUN = r"(?:BENCHMARK|QUESTION|MCQ|QA|NUMERIC|MATH|TOOL|KEYPOINTS|DRAFT)"
_LANG = (
    r"LANG_\w+\b(?! (?!(?:with|and|about|on|of|for|in|into|from|that|then|a|or|at|to|so|but|only|language|version|it|you|please)\b)"
    r"[a-z\u0400-\u04ff])"
)
"""A language that is asked for; before another word it belongs to the topic: french revolution."""
_STOP = (
    rf"(?= ?(?:[,.;:?!()\n]|$)| (?:with|into|in|from|that|which|where|using|and|of|for|a) (?:(?:a|about|of|exactly|at|LIMIT|all|it|only|ALL) )*"
    rf"(?:\d|@|{_NOUN}|OPTION|{_LANG}|NAME|HARD|EASY|MEDIUM|MIXED|GROUPS|ANSWER|correct|exactly|level|style|format|it\b)"
    rf"| (?:NAME|please|{_LANG}|then|PUBLISH|GROUPS|EASY|HARD|MEDIUM|MIXED|it ABOUTED|MAKE|CREATE)\b| {_NOUN}| \d+ (?:\S+ )?(?:{_NOUN}|OPTION)| each\b| in {_LANG})"
)
_FILLER = re.compile(
    r"^(?:the|a|an|der|die|das|el|la|los|las|les|le|l'|o|os|il|i|gli|and|or|like|e\.g\.|mostly|mainly|only|just|please|the|some|basically|all|of|about|on|to|a|an|uh|um|well|ones?|all about|topic|subject|theme|is|:|-)\s+"
    r"|\s+(?:mostly|mainly|only|please|pls|plz|basically|and such|etc|in general|stuff|or so|too|instead|each|ones|thanks|again|for me|right now)$",
    re.IGNORECASE,
)


_AFTER_NAME = re.compile(
    r"(?:\s+(?:instead|please|pls|now|then|too|rather|thanks|bitte|stattdessen))+$", re.IGNORECASE
)
"""Words behind a name that do not belong to it."""


def create(reading: Reading) -> Wish | None:
    """A benchmark to write; None if the message asks for none."""
    if only := reading.find(
        r"^(?:(?:SHOW|please|you|a|me|OPEN|my) )*BENCHMARK (?:# |number )?(\d+)(?: [.?!])*$"
    ):
        return Wish("explain", {"topic": "benchmark", "benchmark": int(only[1])})
    if not _asks(reading):
        return None
    parent = _parent(reading)
    own = reading.find(
        rf"(?:BENCHMARK|of|into|as|SAME|from|in) (?:# )?{parent}(?! ?(?:{_COUNTED}))\b"
    )
    arguments = described(reading.without(own.span()) if parent is not None and own else reading)
    if parent is not None:
        arguments = _sibling(arguments, parent, reading.situation)
    elif "topic" not in arguments and "groups" in arguments:
        arguments["topic"] = ", ".join(group["topic"] for group in arguments["groups"])
    elif "topic" not in arguments and (sums := reading.find(r"\bMATH\b")):
        arguments["topic"] = reading.group(sums, 0)
    if "based_on" not in arguments:
        arguments.setdefault("kind", "mcq")
    if refused := limited(arguments):
        return refused
    missing = [
        name for name in ("topic", "n") if name not in arguments and "based_on" not in arguments
    ]
    if missing:
        return Wish("clarify", {"missing": missing, "wish": "create_benchmark", **arguments})
    return Wish("create_benchmark", arguments)


def limited(arguments: dict[str, Any]) -> Wish | None:
    """The refusal of more questions than a benchmark holds, or of none."""
    n = arguments.get("n")
    if isinstance(n, int) and n > LIMIT:
        return Wish("refuse_limit", {**arguments, "limit": LIMIT})
    if isinstance(n, int) and n < 1:
        return Wish("error", {**arguments, "reason": f"a benchmark holds 1 to {LIMIT} questions"})
    return None


def _asks(reading: Reading) -> bool:
    """Whether questions are to be written."""
    if reading.has(r"\bEVAL\b") and reading.has("@model") and not reading.has(r"CREATE|MAKE|WANT"):
        return False
    if (run := reading.find(r"\bEVAL\b|\bPLAN\b|\bCOMPARE\b")) and not reading.part(
        0, reading.index(run.start())
    ).has(rf"{_NOUN}|CREATE|MAKE|WANT"):
        return False
    if reading.has(rf"\b(?:CREATE|MAKE|WANT)\b(?: \S+){{0,14}}? {_NOUN}\b"):
        return True
    if reading.has(rf"{_NOUN}(?: \S+){{0,8}}? (?:CREATE|WANT|MAKE)\b"):
        return True
    if reading.has(r"^(?:(?:you|please|a|WANT) )*BENCHMARK(?: (?:please|[.!?]))*$"):
        return True
    if reading.has(
        rf"^(?:(?:you|please|a|another|SAME|MORE|\d+|,|ORD\d) )*{_NOUN}"
    ) and reading.has(rf"{_COUNTED}|BENCHMARK"):
        return reading.has(r"\d|about|ABOUT|TOPIC")
    if reading.has(rf"^(?:\S+ ){{0,9}}{_NOUN}") and reading.has(rf"\d (?:\S+ ){{0,3}}?{_COUNTED}"):
        return True
    return (
        reading.has(r"SAME|another|MORE|ORD2") and reading.has(r"FRESH|new QUESTION")
    ) or reading.has(r"\bCREATE\b.*\b(?:about|ABOUT|ABOUTED)\b")


def described(reading: Reading) -> dict[str, Any]:
    """What the message says of a benchmark: kind, n, n_options, name, language, difficulty, groups, topic."""
    found: dict[str, Any] = {}
    name, span = named(reading)
    rest = reading.without(span) if span else reading
    if name:
        found["name"] = name
    if groups := _groups(rest):
        found["groups"] = groups
    topic, span = _topic(rest)
    outside = rest.without(span) if span else rest
    n = count(outside)
    if groups and (n is None or len({group["n"] for group in groups}) > 1):
        n = sum(group["n"] for group in groups)
    options = n_options(rest)
    kind = kind_of(outside) or kind_of(rest) or ("mcq" if options is not None else None)
    said = {
        "topic": None if groups else topic or _leftover(outside) or None,
        "kind": kind,
        "n": n,
        "n_options": options,
        "language": language(outside),
        "difficulty": difficulty(outside),
    }
    return found | {name: value for name, value in said.items() if value is not None}


def kind_of(reading: Reading) -> str | None:
    """The kind of questions that the words name."""
    for concept, kind in _KINDS:
        if reading.has(rf"\b{concept}\b"):
            return kind
    if reading.has(r"\bMATH\b"):
        return "numeric"
    return None


def count(reading: Reading) -> int | None:
    """How many questions are asked for."""
    whole = r"(?<![\w.@])(\d+)(?![\w.@])"
    for pattern in (
        rf"{whole}(?: (?!OPTION|GROUPS|of\b|STEP|EPOCH)[^\s\d,.;]+){{0,6}}? {_COUNTED}\b",
        rf"{whole} (?:a )?of(?: \S+){{0,2}}? {_COUNTED}\b",
        rf"(?:QUESTION|BENCHMARK)(?: (?:of|with|:|=|a|x|about))* {whole}(?! ?(?:OPTION|GROUPS))",
        rf"{whole}(?: \S+){{0,2}}? BENCHMARK\b",
    ):
        if match := reading.find(pattern):
            return -int(match[1]) if reading.below_zero(match.start(1)) else int(match[1])
    loose = [
        m
        for m in reading.all(whole)
        if not re.match(r" (?:\S+ )?(?:OPTION|GROUPS)", reading.plain[m.end() :])
    ]
    loose = [
        m
        for m in loose
        if not re.search(
            r"(?:OPTION|GROUPS|BENCHMARK|instead|than)(?: (?:of|:|=|a|#))? $",
            reading.plain[: m.start()][-24:],
        )
    ]
    return int(loose[0][1]) if len(loose) == 1 else None


def n_options(reading: Reading) -> int | None:
    """How many options a question is to have."""
    whole = r"(?<![\w.@])(\d+)(?![\w.@])"
    for pattern in (
        rf"{whole}(?: (?!QUESTION|MCQ)[^\s\d,.;]+){{0,2}}? OPTION\b",
        rf"OPTION(?: (?:each|of|a|:|=|per|is|are))* {whole}(?! (?:\S+ )?(?:QUESTION|MCQ))",
        rf"{whole} (?:possible |per )?(?:ANSWER|answers|antworten|respuestas|reponses|risposte|respostas|ответа)\b",
    ):
        if match := reading.find(pattern):
            return int(match[1])
    if match := reading.find(r"\ba (?:-|–|into|you) ([b-h])\b"):
        return ord(match[1]) - ord("a") + 1
    if re.search(r"true\s*(?:/|or|-)\s*false|yes\s*(?:/|or)\s*no", reading.text, re.IGNORECASE):
        return 2
    return None


def language(reading: Reading) -> str | None:
    """The language asked for; that of a message that is not in English."""
    match = reading.find(_LANG)
    if match:
        return match[0].removeprefix("LANG_")
    return None if reading.language == "en" else reading.language


def difficulty(reading: Reading) -> str | None:
    """easy, medium, hard or mixed."""
    found = set(levels(reading.plain, reading.language))
    if "mixed" in found or len(found) > 1:
        return "mixed"
    return found.pop() if found else None


def levels(plain: str, language: str = "en") -> list[str]:
    """The difficulties that are wanted: too easy wants harder ones, not too hard medium ones."""
    too = rf"(?:too|demasiado|trop|troppo|слишком|太{'|ABOUT' if language == 'de' else ''})"
    not_so = (
        r"\bnot (?:(?:too|so|very|that|really|a|you|it|zu|trop|troppo|tan|muy) )*(?:EASY|HARD)\b"
    )
    plain = re.sub(not_so, "MEDIUM", plain)
    turned = {"EASY": "HARD", "HARD": "EASY"}
    plain = re.sub(rf"{too} (EASY|HARD)\b", lambda found: turned[found[1]], plain)
    return [one.lower() for one in re.findall(r"\b(?:EASY|MEDIUM|HARD|MIXED)\b", plain)]


def named(reading: Reading) -> tuple[str, tuple[int, int] | None]:
    """(name given to a new record, where it stands); a quoted one, or the words after `called`."""
    quotes = {gloss: mark.value for gloss, mark in reading.marks.items() if mark.kind == QUOTE}
    if match := reading.find(
        r"(?:NAME|RENAME)(?: (?:it|of|:|=|should|is|a|be|into|BENCHMARK|MODEL|as))* (@quote\d+)"
    ):
        return str(quotes[match[1]]), match.span()
    if match := reading.find(r"(@quote\d+)(?: (?:as|a|of|is|into))* NAME\b"):
        return str(quotes[match[1]]), match.span()
    if match := reading.find(
        r"(?:NAME|RENAME)(?: (?:it|of|:|=|should|is|be|into|BENCHMARK))* (@(?:model|bench|hub)\d+)"
    ):
        mark = reading.marks[match[1]]
        return reading.text[mark.start : mark.end].strip("\"'“”„«»「」"), match.span()
    if match := reading.find(r"\b(?:NAME|RENAME)(?: (?:it|:|=|should|is|be|into))* (?!@|,|\.)(.+)"):
        end = _name_end(reading, match.start(1), match.end(1))
        name = reading.written(match.start(1), end).strip(" \"'.,;:!")
        name = _AFTER_NAME.sub("", name).strip(" \"'.,;:!")
        if name and not name.isdigit():
            return name, (match.start(), end)
    used = list(
        reading.all(r"(?:(?P<pre>ABOUT|about|on|TOPIC|ANSWER|of) )?(?:: )?(?P<q>@quote\d+)")
    )
    plain = [m for m in used if not m["pre"]]
    if len(plain) == 1 and reading.has(r"BENCHMARK|QUESTION|MCQ|@file|@table"):
        return str(quotes[plain[0]["q"]]), plain[0].span("q")
    return "", None


def _name_end(reading: Reading, start: int, end: int) -> int:
    """Where an unquoted name stops: at a sign, or at a word that goes on with the request."""
    at = start
    for match in re.finditer(r"\S+|\n", reading.plain[start:end]):
        gloss, place = match[0], start + match.start()
        written = reading.written(place, place + len(gloss))
        if gloss in ",.;:!?\n()" or gloss.startswith("@") or gloss == "please":
            break
        if place > start and not written[:1].isupper() and not written[:1].isdigit():
            following = reading.plain[place:]
            if gloss in (
                "with",
                "and",
                "then",
                "about",
                "ABOUT",
                "from",
                "on",
                "in",
                "into",
                "using",
                "that",
                "which",
                "WANT",
                "CREATE",
                "MAKE",
                "PUBLISH",
                "it",
                "EVAL",
                "a",
            ) or re.match(r"of \d", following):
                break
        if gloss.isdigit() and re.match(
            rf"\d+ (?:(?!with|in|and|from)\S+ ){{0,3}}?(?:{_NOUN}|OPTION)", reading.plain[place:]
        ):
            break
        at = place + len(gloss)
    return at


def _groups(reading: Reading) -> list[dict[str, Any]]:
    """Topics with their counts: `4 groups of 25: planets, moons …`, or `10 on rivers and 5 on lakes`."""
    match = reading.find(
        rf"{NUM} GROUPS(?: \S+){{0,2}}? {NUM}(?: \S+){{0,2}}?(?: each)?(?: \S+){{0,2}}? : ?([^.;\n]+)"
    )
    if match:
        items = _items(reading, *match.span(3), int(float(match[1])))
        return [{"topic": item, "n": int(float(match[2]))} for item in items]
    match = reading.find(
        rf"{NUM}(?: QUESTION)? (?:each|per TOPIC)(?: (?:about|ABOUT|on|of|for|in|GROUPS|:))+ ?([^.;\n]+)"
    )
    if match:
        return [
            {"topic": item, "n": int(float(match[1]))}
            for item in _items(reading, *match.span(2), 0)
        ]
    if halves := _halves(reading):
        return halves
    pairs = list(
        reading.all(
            r"(?<![\w.@])(\d+)(?: QUESTION| of them)?(?: (?:about|ABOUT|on|of))+ ((?!OPTION|QUESTION|MCQ|GROUPS)[^\d,.;:\n]+?)(?= ?(?:,|\.|;|\n|$|and \d))"
        )
    )
    if len(pairs) > 1:
        return [{"topic": _trim(reading.group(m, 2)), "n": int(m[1])} for m in pairs]
    return []


def _halves(reading: Reading) -> list[dict[str, Any]]:
    """Two topics that share the questions: half about rivers and half about lakes."""
    found = list(
        reading.all(
            r"\bhalf (?:(?:of|it|ROW) )*(?:about|ABOUT|on) (\S.*?)(?= (?:,|and|\.)(?: (?:,|and|a|other))* half\b| ?(?:[,.;:\n]|$))"
        )
    )
    n = count(reading.without(*(match.span() for match in found))) if len(found) == 2 else None
    if n is None or n < len(found):
        return []
    sizes = (n - n // 2, n // 2)
    return [
        {"topic": _trim(reading.group(match)), "n": size}
        for match, size in zip(found, sizes, strict=True)
    ]


def _items(reading: Reading, start: int, end: int, wanted: int) -> list[str]:
    """The entries of a list with commas; the last `x and y` is two if so many are wanted."""
    items, at = [], start
    for part in reading.plain[start:end].split(" , "):
        if text := _trim(reading.written(at, at + len(part))):
            items.append(text)
        at += len(part) + 3
    if (wanted and len(items) < wanted) or (not wanted and len(items) == 2) or len(items) == 1:
        split = re.split(r"\s+(?:and|und|y|et|e|и|&)\s+", items[-1]) if items else []
        if not wanted or len(items) - 1 + len(split) == wanted:
            items[-1:] = split
    if items:
        items[-1] = re.sub(r"^(?:and|und|y|et|e|и)\s+", "", items[-1])
    return items


def _topic(reading: Reading) -> tuple[str, tuple[int, int] | None]:
    """(what the questions are about, where it stands)."""
    if reading.language == "ja" and (
        match := reading.find(r"(?:^|[,.\n] ?)((?:(?![,.\n])\S+ )+?)ABOUTED")
    ):
        return _trim(reading.group(match)), match.span()
    patterns = (
        rf"TOPIC(?: (?:of|is|:|=|a|should|be|ABOUT|about))+ ((?!ABOUT)\S.*?){_STOP}",
        rf"(?:\babout\b|ABOUT)(?: (?:about|ABOUT|TOPIC|:|of|the TOPIC))* (\S.*?){_STOP}",
        rf"(?:something|anything|stuff|QUESTION|MCQ|QA|BENCHMARK|MATH|OPTION|NUMERIC|KEYPOINTS|TOOL|ROW|DATASET|FRESH|LANG_\w+|HARD|EASY|MIXED|MEDIUM)(?: \))?(?: ,)? (?:on|of|for|from|in|ABOUT)(?: (?:a|TOPIC|of|:)(?= ))* ((?!\d|@file|@bench|{_LANG}|in {_LANG}|it\b|GROUPS|OPTION|NUMERIC|MCQ|QA|TOOL|KEYPOINTS|BENCHMARK|QUESTION|ROW|mixed|MIXED)\S.*?){_STOP}",
    )
    for pattern in patterns:
        for match in reading.all(pattern):
            topic = _trim(_with_lists(reading, match))
            if len(topic) > 1 and not topic.isdigit():
                return topic, match.span()
    return "", None


def _with_lists(reading: Reading, match: re.Match[str]) -> str:
    """The topic, with the rest of its list where it is one: ropes, cranes, tides and life jackets."""
    end = match.end(1)
    rest = re.match(
        r"((?: , (?!MCQ|QA|LANG|ALL|EASY|HARD|MIXED|MEDIUM|exactly|please|OPTION|NUMERIC)(?![,.;:\n]|\d+ |NAME|OPTION|QUESTION|MCQ|each)\S+(?: (?![,.;:\n]|\d+ |NAME|OPTION|QUESTION|MCQ|each)\S+){0,3}(?= ,| \.|$| \n| ;))+)",
        reading.plain[end:],
    )
    listed = reading.plain[end : end + rest.end()] if rest else ""
    if listed and (" and " in listed or listed.count(",") > 1):
        end += len(listed)
    return reading.written(match.start(1), end)


def _leftover(reading: Reading) -> str:
    """A part between signs that says nothing else: `new quiz: 20 questions, roman emperors`; or `a bike repair quiz`."""
    at = 0
    for part in re.split(r"( [,;:.\n(] | [.\n]$|\n)", reading.plain):
        tokens = part.split()
        useful = [
            t
            for t in tokens
            if t
            not in ("please", "a", "SAME", "and", "you", "of", "mostly", "mainly", "only", "ALL")
        ]
        if useful and not any(re.search(r"[A-Z@\d]", t) for t in useful) and not part.isspace():
            text = _trim(
                reading.written(at + len(part) - len(part.lstrip()), at + len(part.rstrip()))
            )
            if _telling(text):
                return text
        at += len(part)
    match = reading.find(
        r"(?:CREATE|MAKE|WANT|\ba|\d) ((?:(?!a |and |you |please |for |of |with |in |on |into |new |one |to )[a-z\u0400-\u9fff][^\s@,.:;]* ){1,4})(?:MCQ|QA|TOOL|NUMERIC|BENCHMARK|QUESTION)"
    )
    text = _trim(reading.group(match).strip()) if match else ""
    return text if _telling(text) else ""


def _telling(text: str) -> bool:
    """Whether a text can be a topic."""
    plain = (
        "short",
        "long",
        "good",
        "nice",
        "quick",
        "new",
        "different",
        "exactly one",
        "exactly one correct",
        "one correct",
        "one correct answer",
    )
    return (
        len(text) > 2
        and text.lower() not in plain
        and not re.search(
            r"\b(?:exactly|correct|each|one right|answers?|if possible|for now|asap|this|that|it)\b",
            text,
            re.IGNORECASE,
        )
    )


def _trim(text: str) -> str:
    """The text without fillers and signs at its ends."""
    text = " ".join(text.split()).strip(" \"'“”.,;:!?-–")
    for _ in range(4):
        shorter = _FILLER.sub("", text).strip(" .,;:!?-–")
        if shorter == text or not shorter:
            break
        text = shorter
    return text[:300]


# ------------------------------------------------------------------------------------ siblings


def _parent(reading: Reading) -> int | None:
    """The benchmark whose topic is taken up with new questions."""
    if not reading.has(r"SAME|FRESH|another|MORE|ORD2|new QUESTION|different"):
        return None
    ids = benchmark_ids(reading)
    if ids and reading.has(r"SAME|FRESH|not (?:\S+ )?(?:of|in|from)|different|MORE|another"):
        return ids[0]
    if (
        not ids
        and reading.has(r"SAME (?:TOPIC|BENCHMARK|QUESTION|thing|kind)|FRESH")
        and reading.has(r"SAME")
    ):
        return meant_benchmark(reading.situation)
    return None


def _sibling(arguments: dict[str, Any], parent: int, situation: Situation) -> dict[str, Any]:
    """The arguments of a benchmark on the same topic that shares no question."""
    seen: BenchmarkSeen | None = next((b for b in situation.benchmarks if b.id == parent), None)
    kept = {k: v for k, v in arguments.items() if k not in ("topic", "groups", "kind", "n")}
    kept |= {"based_on": parent, "no_overlap_with": parent}
    if seen:
        kept["kind"] = seen.kind
        kept["n"] = arguments.get("n", seen.questions)
        kept.setdefault("language", seen.language)
    elif "n" in arguments:
        kept["n"] = arguments["n"]
    return kept


# ------------------------------------------------------------------------- files and documents


def from_file(reading: Reading) -> Wish | None:
    """A file, document or pasted table to make a benchmark of; None without one."""
    if tables := reading.of_kind(TABLE):
        return _pasted(reading, tables[0].value)
    files = reading.of_kind(FILE)
    if not files:
        return _which_file(reading)
    path = files[0].value
    if _is_document(reading, path):
        return _document(reading, path)
    found = described(reading)
    kept: dict[str, Any] = {
        k: found[k] for k in ("name", "kind", "language", "n_options") if k in found
    }
    if kept.get("language") == reading.language != "en" and not reading.has(r"LANG_"):
        del kept["language"]
    return Wish("import_file", {"path": path, **kept})


def _which_file(reading: Reading) -> Wish | None:
    """The question for a path, where a file is spoken of that is not named."""
    spoken = reading.has(
        r"\bIMPORT (?:\S+ ){0,4}?(?:FILE|DATASET)\b|\b(?:from|of|into) (?:\S+ ){0,2}?FILE\b|^(?:\S+ )?IMPORT$"
    )
    if not spoken or reading.has(r"\b(?:TRAIN|LORA|RUN|SHOW|DELETE|PLAN)\b"):
        return None
    found = described(reading)
    kept: dict[str, Any] = {k: found[k] for k in ("name", "kind") if k in found}
    return Wish("clarify", {"missing": ["path"], "wish": "import_file", **kept})


def _is_document(reading: Reading, path: str) -> bool:
    ending = paths.suffix(path)
    if ending in paths.TABLES:
        return False
    if ending in paths.DOCUMENTS:
        return True
    return reading.has(r"DOCUMENT|GROUNDED") and reading.has(r"QUESTION|MCQ|QA")


def _document(reading: Reading, path: str) -> Wish:
    """Questions to write from a document."""
    found = described(reading)
    found.pop("topic", None)
    arguments = {"path": path, **found, "grounded": True}
    if refused := limited(arguments):
        return refused
    if "n" not in arguments:
        return Wish("clarify", {"missing": ["n"], "wish": "create_from_document", **arguments})
    return Wish("create_from_document", arguments)


def _pasted(reading: Reading, table: Any) -> Wish:
    """The pasted table as a benchmark."""
    name, _ = named(reading)
    arguments: dict[str, Any] = {"table": table.text, "n": table.rows}
    if kind := kind_of(reading) or table.kind:
        arguments["kind"] = kind
    if name:
        arguments["name"] = name
    return Wish("import_inline", arguments)
