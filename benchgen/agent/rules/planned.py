"""Questions about the plan that waits: what of it they ask for. The plan is given up by them, and still answers."""

from __future__ import annotations

import re

from benchgen.agent.rules.marks import BENCH, FILE, HUB, MODEL
from benchgen.agent.rules.numbers import fold
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.references import job_ids, run_ids
from benchgen.agent.situation import Waiting, Wish

_GLOSSES = (
    (r"\bDURATION\b|\bHOWMANY time\b", "time"),
    (r"\bBASE\b|\b(?:which|WHAT) MODEL\b", "base"),
    (r"\bDATASET\b|\bROW\b|\bQUESTION\b", "data"),
    (r"\bEPOCH\b|\bSTEP\b", "steps"),
    (r"\bLR\b", "learning_rate"),
    (r"\bRANK\b", "r"),
    (r"\bALPHA\b", "alpha"),
    (r"\bBATCH\b", "batch_size"),
    (r"\bLENGTH\b", "max_length"),
    (r"\bWARMUP\b", "warmup"),
    (r"\bDECAY\b", "weight_decay"),
    (r"\bDROPOUT\b", "dropout"),
    (r"\bACCUMULATION\b", "gradient_accumulation"),
    (r"\bQUANT\b", "quantization"),
    (r"\bNAME\b|\bPUBLISH\b", "name"),
)
"""(concepts, topic of a plan as `tools.planned` knows it)"""
_WORDS = (
    (
        r"\b(?:gpus?|cpus?|cuda|graphics? card|hardware|device|machine|grafikkarte|tarjeta|carte graphique|placa|"
        r"scheda)\b|видеокарт|显卡",
        "device",
    ),
    (
        r"\b(?:memory|v?ram|gigabytes?|gb|disk|space|(?:arbeits)?speicher\w*|memoria|memoire|how big)\b|памят|内存|显存|メモリ",
        "memory",
    ),
    (
        r"\b(?:costs?|credits?|price|expensive|money|pay|kostet|kosten|cuesta|coute|custa|costa|free)\b|стоит|花费|多少钱|費用",
        "cost",
    ),
    (r"\b(?:minutes?|hours?|eta|duration|finish(?:ed)?|done by|dauert|dauer)\b|分钟|小时", "time"),
    (r"\b(?:overwrite|overwrites|replaces?|lose|destroy|where)\b", "name"),
    (r"\b(?:settings|hyper ?-?parameters?|exactly|everything|details?|parameter)\b", "settings"),
    (r"\b(?:happens?|if i say yes|confirm|safe|start|run)\b|passiert|que pasa|что будет", "start"),
)
_ASKS = (
    r"^(?:(?:and|so|but|wait|you|a|,|\.|!|not) )*(?:WHAT|WHY|HOW|HOWMANY|DURATION|which|where|when|who|is|are|was|does|do|did|"
    r"will|would|can|could|should)\b|\? ?$"
)
_AGAIN = r"^(?:(?:you|please|can|a|me) )*SHOW\b.*\bPLAN\b|^PLAN again\b"
"""The plan is to be seen once more."""
_FEWEST = 3
"""Words of a question: `yes?` and `ok?` are none."""


def asked(reading: Reading, waiting: Waiting | None) -> Wish | None:
    """The plan given up, with what of it is asked for; None where nothing is, or something else too."""
    if waiting is None or not asks(reading) or _of_others(reading):
        return None
    topics = topics_of(reading)
    return Wish("cancel_plan", {"plan": waiting.label, "about": topics}) if topics else None


def asks(reading: Reading) -> bool:
    """Whether the message is a question."""
    if reading.has(_AGAIN):
        return True
    return reading.has(_ASKS) and len(re.findall(r"\w+", reading.text)) >= _FEWEST - _dense(reading)


def _dense(reading: Reading) -> int:
    """Words fewer that a question needs: two in scripts that write none apart."""
    return 2 if reading.language in ("zh", "ja") else 1 if "?" in reading.text else 0


def topics_of(reading: Reading) -> list[str]:
    """What of a plan the message names, most telling first."""
    if reading.has(_AGAIN):
        return ["base", "data", "device", "settings", "time", "memory"]
    text = fold(reading.text)
    found = [topic for pattern, topic in _GLOSSES if reading.has(pattern)]
    found += [topic for words, topic in _WORDS if re.search(words, text)]
    few = [topic for topic in dict.fromkeys(found) if topic not in ("settings", "start")]
    return few or list(dict.fromkeys(found))


def _of_others(reading: Reading) -> bool:
    """Whether it is about a record, a score or a word rather than about the plan."""
    if run_ids(reading) or job_ids(reading) or reading.of_kind(MODEL, BENCH, FILE, HUB):
        return True
    if reading.has(_AGAIN):
        return False
    return reading.has(
        r"\b(?:RUN|BENCHMARK|SCORE|STATUS|LOGS|COMPARE|CREATE|EXPLAIN|MODE|FAILURES|SHOW|HELP|DELETE|STOP|TRAIN STATUS|LETTERS)\b"
    ) or bool(re.search(r"\b(?:what is|what's|whats) an?\b", reading.text, re.IGNORECASE))
