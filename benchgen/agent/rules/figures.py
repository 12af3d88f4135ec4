"""Questions how much a figure says: is 73 % good, is that more than guessing, could it be luck."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules.numbers import fold, parse
from benchgen.agent.rules.reading import NUM, Reading
from benchgen.agent.rules.references import a_run, run_ids
from benchgen.agent.situation import Wish

_PERCENT = re.compile(
    r"(?<![\w.,-])(?P<value>-?\d{1,6}(?:[.,]\d{1,4})?) ?(?:%|％|percent\b|per ?cent\b|pct\b|prozent\b|por ?cien(?:to)?\b|por ?cento\b|"
    r"pour ?cents?\b|per ?cento\b|процент\w*|パーセント)",
    re.IGNORECASE,
)
_JUDGED = re.compile(
    r"\b(?:good|bad|great|decent|okay|ok|fine|poor|high|low|acceptable|enough|impressive|normal|usual|meaningful|mean|means|say|says|"
    r"gut|schlecht|viel|wenig|ordentlich|bueno|buena|malo|mala|suficiente|bon|bonne|mauvais|suffisant|bom|boa|ruim|buono|buona|"
    r"male|sufficiente)\b|хорош|плох|много|мало|好|高吗|低吗|够|良い|いい|高い|低い",
)
_SURE = re.compile(
    r"\b(?:guess\w*|chance|luck\w*|random\w*|coincidence|fluke|coin ?flip|significan\w*|reliab\w*|trust\w*|certain\w*|sure|"
    r"confident|confidence|error bars?|margin of error|uncertain\w*|raten|geraten|zufall|zufallig|gluck|signifikant|azar|suerte|casualidad|"
    r"significativ\w*|hasard|chanceux|significatif|sorte|acaso|caso|fortuna|угад\w*|случайн\w*|значим\w*)\b|猜|运气|显著|偶然|まぐれ|有意"
)
_GOOD = re.compile(
    r"\b(?:is|are|was)\b(?: [\w.%]+){0,6} (?:good|bad|okay|decent)\b|\bgood (?:score|result|enough)\b|"
    r"\bhow good\b|\bgut(?:es ergebnis)?\b|\bbuen (?:resultado|puntaje)\b|\bbon (?:score|resultat)\b|\bbom resultado\b|\bbuon (?:punteggio|risultato)\b"
)
_QUESTION = re.compile(
    r"[?？؟]|^\W*(?:is|are|was|how|what|does|do|could|can|would|should|ist|es|est|e)\b"
)
_DOING = r"\b(?:CREATE|EVAL|RERUN|TRAIN|LORA|GRPO|PLAN|MERGE|PUBLISH|IMPORT|SHOW|DELETE|STOP|LOGS|WHY|DATASET|CHANGE|MAKE|CONTINUE|ROW|MODE)\b"


def asked(reading: Reading) -> Wish | None:
    """What a score says, of the run named or the last one; None where no figure is doubted or judged."""
    text = fold(reading.text[:400])
    if reading.has(_DOING) or not _QUESTION.search(text) or len(run_ids(reading)) > 1:
        return None
    percent = _percent(text)
    sure = _SURE.search(text) is not None
    about_run = bool(run_ids(reading)) or reading.has(r"\bSCORE\b|\bRUN\b|\bit\b")
    if percent is not None:
        judged = _JUDGED.search(text) and not reading.has(r"\bIMPROVED\b|\bCOMPARE\b")
        if not (sure or judged):
            return None
    elif not about_run or not (sure or _GOOD.search(text)):
        return None
    told: dict[str, Any] = {"topic": "score"}
    if percent is not None:
        told["percent"] = percent
    run = run_ids(reading)[0] if run_ids(reading) else a_run(reading) if percent is None else None
    if run is not None:
        told["run"] = run
    elif percent is None:
        return Wish("clarify", {"missing": ["run"], "wish": "explain", "topic": "score"})
    return Wish("explain", {**told, **_size(reading)})


def _percent(text: str) -> int | float | None:
    found = _PERCENT.search(text)
    return parse(found["value"]) if found else None


def _size(reading: Reading) -> dict[str, int]:
    """Numbers of questions and of options, where they are said."""
    found: dict[str, int] = {}
    for name, thing in (("n", "QUESTION"), ("n_options", "OPTION")):
        match = reading.find(rf"{NUM}(?: \S+)? {thing}\b")
        if match and "." not in match[1] and "e" not in match[1]:
            found[name] = int(match[1])
    return found
