"""What a person's own words allow: which effects, how many runs, which files and models.

A model reads data that others wrote, and may do what that data says. So an effect needs a word of the person
for it, in this very message; what is read or loaded by name needs its name in what the person wrote, or among
the workspace's own records. The rules' reading of the message decides; where they understood nothing clear,
single words do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.agent.situation import Situation, Wish
from benchgen.errors import InputError

EFFECTS: Mapping[str, frozenset[str]] = {
    "run_benchmark": frozenset(("run",)),
    "multi_run": frozenset(("run",)),
    "resume_run": frozenset(("run",)),
    "publish": frozenset(("publish",)),
    "publish_and_run": frozenset(("publish", "run")),
    "plan_training": frozenset(("train",)),
    "revise_plan": frozenset(("train",)),
    "plan_merge": frozenset(("merge",)),
    "create_benchmark": frozenset(("create",)),
    "import_file": frozenset(("create",)),
    "import_inline": frozenset(("create",)),
    "create_from_document": frozenset(("create",)),
    "revise_preview": frozenset(("create",)),
}
"""What each tool does that a person must have asked for; a tool that is not here only looks."""
LOOKS = frozenset(
    (
        *("run_status", "compare_runs", "show_dataset", "explain_low_score"),
        *("training_status", "training_logs", "leave_draft", "refuse_secret", "refuse_unsupported"),
    )
)
"""Readings of the rules that are clear, and ask for no effect."""
MAX_RUNS = 8
"""Runs that one message can start, unless there are more models here and it means them all."""
MAX_ARGUMENT = 300
NAMED = ("path", "dataset", "model", "models", "base_model", "model_candidates")
"""Arguments that make something be read or loaded."""
COUNTS = ("n", "limit", "repeats", "max_steps", "epochs")
"""What decides how much a wish costs: as the rules read it, in words too."""
LITERAL = (
    *("benchmark", "run", "job", "seed", "rows", "lines", "n_options", "learning_rate", "rank"),
    *("alpha", "batch_size", "num_generations", "temperature", "max_tokens", "max_length"),
)
"""Numbers that are taken as they stand where the message has them in digits."""
RUN = ("benchmark", "model")
"""What costs: a run of another than the rules read is asked for, not begun."""

_WORDS = {
    # A run: as a verb only, since `run 1081` and `the last run` are things.
    "run": r"(?:^|[.,;:!?]\s*|\b(?:please|pls|then|and|to|now|can you|could you|go|just|let'?s|also)\s+)(?:re-?)?"
    r"(?:run|evaluate|eval|test|measure|benchmark|try|launch|start|score|resume|retry)\b(?!\s+#?\d+\s*$)"
    r"|\b(?:evaluate|re-?run|launch|resume)\b"
    r"|\b(?:starte|führe|teste|bewerte|evaluiere|miss|lass)\b|\blaufen\b"
    r"|\b(?:ejecuta|corre|evalúa|prueba|lanza|mide)\b|\b(?:lance|exécute|évalue|teste|mesure)[rz]?\b"
    r"|\b(?:execute|rode|avalie)\b|\b(?:запусти|прогони|оцени)\w*|运行|评测|跑一|测试|実行|評価|실행",
    "publish": r"(?<!un)\bpublish\b|veröffentlich|\bpublica|\bpublie|\bpublique|опублик|发布|公開",
    "train": r"\b(?:re)?train\b|\btraining\b|fine-?\s?tun|\blora\b|\bgrpo\b|\bdistil|\bqlora\b|\bfrom-run\b"
    r"|\btrainier|\btraining|\bentren|\bentraîn|\btrein|обуч|训练|微调|学習",
    "merge": r"\bmerg|zusammenführ|verschmelz|\bfusion|\bcombina|объедин|合并|マージ",
    "create": r"\b(?:create|make|write|build|generate|import|turn|convert|draft|author|compose)\b|\bquiz"
    r"|\bi (?:need|want|would like) an?\b|\b\w*(?:erstell|schreib|importier|mach)\w*"
    r"|\bcrea|\bhaz\b|\bgenera|\bimporta|\bcrée|\bécri|\bfais\b|\bgénèr|\bcri[ae]|созда|сделай"
    r"|做一|创建|生成|导入|出题|作成|만들",
}
_CHANGE = re.compile(
    r"\d|\b(?:but|instead|change|with|without|only|more|less|fewer|use|set|replace|remove|drop|add|fix)\b"
    r"|\b(?:aber|statt|ändere|mit|ohne|mehr|weniger)\b|\b(?:pero|cambia|con|sin|más|menos)\b"
    r"|\b(?:mais|change|avec|sans|plus|moins)\b|改|换|但",
    re.IGNORECASE,
)
_FAMILIES = {word: re.compile(found, re.IGNORECASE) for word, found in _WORDS.items()}


class Meant:
    """What one message allows; it counts what was done of it."""

    def __init__(self, text: str, said: Sequence[str], reading: Wish, situation: Situation) -> None:
        """`said` are the person's messages of this chat, this one among them; `reading` is the rules'."""
        self._situation = situation
        self._said = "\n".join(said)
        self._text = text
        self._reading = reading
        self.effects = _effects(text, reading, situation)
        self.runs = _runs(text, reading, situation)
        """Runs that may still be started."""
        self._begun = 0

    def check(self, wish: Wish) -> None:
        """None; InputError, in words for the model and the person, where the message does not ask for that."""
        needs = EFFECTS.get(wish.intent, frozenset())
        if missing := sorted(needs - self.effects):
            raise InputError(
                f"the person's message does not ask for {wish.intent}, so nothing was done",
                next=f"ask the person to say it in so many words ({', '.join(missing)})",
            )
        if "run" in needs and self._begun + _size(wish) > self.runs:
            raise InputError(
                "the person's message means no more runs than were started",
                got=self._begun + _size(wish),
                allowed=f"at most {self.runs}",
                next="answer now",
            )
        for name in NAMED:
            for value in _texts(wish.arguments.get(name)):
                self._check_named(name, value)
        _check_name(wish.arguments.get("name"))
        table = wish.arguments.get("table")
        if isinstance(table, str) and _squeezed(table) not in _squeezed(self._said):
            raise InputError(
                "that table is not what the person pasted",
                next="copy it unchanged, all of its lines and no other",
            )

    def literal(self, wish: Wish) -> Wish:
        """The wish with the counts and ids that the person gave; InputError where it has others."""
        if wish.intent != self._reading.intent:
            return wish
        given = self._reading.arguments
        said = {
            name: given[name]
            for name in (*COUNTS, *LITERAL)
            if name in given and (name in COUNTS or _in_digits(given[name], self._text))
        }
        runs = "run" in EFFECTS.get(wish.intent, ())
        held = {**({name: given[name] for name in RUN if name in given} if runs else {}), **said}
        for name, value in held.items():
            got = wish.arguments.get(name)
            vague = name == "model" and not {got, value} <= self._known(name)  # parts of names
            if got is not None and got != value and not vague:
                raise InputError(
                    f"the person's message says {name}={value}",
                    got=str(got)[:MAX_ARGUMENT],
                    next="use what the person said, or ask",
                )
        return Wish(wish.intent, {**wish.arguments, **said})

    def count(self, wish: Wish) -> None:
        """None. The wish was carried out: its runs are begun."""
        if "run" in EFFECTS.get(wish.intent, ()):
            self._begun += _size(wish)

    def _check_named(self, name: str, value: str) -> None:
        if value.removeprefix("files/") in self._known(name) or stands_in(value, self._said):
            return
        raise InputError(
            f"the person named no such {'file' if name == 'path' else name}",
            got=value[:MAX_ARGUMENT],
            next="write it exactly as the person did, or ask which one is meant",
        )

    def _known(self, name: str) -> frozenset[str]:
        """Names that stand in the workspace's own records; a file is not known, its name must be said."""
        said = self._said.casefold()
        files = frozenset(file for file in self._situation.files if _hinted(file, said))
        if name == "path":
            return files
        if name == "dataset":
            return files | set(self._situation.datasets)
        return frozenset(model.name for model in self._situation.models)


def stands_in(value: str, text: str) -> bool:
    """Whether the value stands in the text as a word or path of its own, whatever its case."""
    if not any(map(str.isalnum, value)):
        return False
    edge = r"[^A-Za-z0-9_./\\~-]"
    found = rf"(?:^|{edge}){re.escape(value)}(?=$|{edge}|[.,;:!?](?:\s|$))"
    return re.search(found, text, re.IGNORECASE) is not None


def _hinted(file: str, said: str) -> bool:
    """Whether a part of the file's name was said: `the semicolon csv` for mcq_semicolon.csv."""
    name = file.replace("\\", "/").rpartition("/")[2].casefold()
    parts = [part for part in re.split(r"[\W_]+", name.rpartition(".")[0] or name) if len(part) > 3]
    return any(part in said for part in parts)


def _effects(text: str, reading: Wish, situation: Situation) -> frozenset[str]:
    """The effects that the message can mean."""
    intents = [reading.intent, *(one.intent for one in reading.later)]
    told = reading.arguments
    intents += [str(told.get(name)) for name in ("wish", "then") if told.get(name)]
    intents += [str(one) for one in told.get("later") or ()]
    found = frozenset[str]().union(*(EFFECTS.get(intent, frozenset()) for intent in intents))
    if found or reading.intent in LOOKS:
        return found
    words = {word for word, regex in _FAMILIES.items() if regex.search(text)}
    waits = {one.kind for one in situation.waiting}
    if _CHANGE.search(text):
        words |= {"create"} if "preview" in waits else set()
        words |= {"train"} if "plan" in waits else set()
    return frozenset(words)


def _runs(text: str, reading: Wish, situation: Situation) -> int:
    """How many runs the message can mean: those that the rules read, else one a model that is named."""
    read = [one for one in (reading, *reading.later) if "run" in EFFECTS.get(one.intent, ())]
    if read:
        return min(max(MAX_RUNS, len(situation.models)), sum(map(_size, read)))
    named = sum(stands_in(model.name, text) for model in situation.models)
    return min(MAX_RUNS, max(1, named))


def _size(wish: Wish) -> int:
    """Runs that a wish would start."""
    return max(1, len(_texts(wish.arguments.get("models"))))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return (
        [one for one in value if isinstance(one, str)] if isinstance(value, (list, tuple)) else []
    )


def _in_digits(value: Any, text: str) -> bool:
    """Whether a number stands in the text as one of its own."""
    numbers = (float(found) for found in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])", text))
    return isinstance(value, (int, float)) and float(value) in numbers


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _check_name(name: Any) -> None:
    """None; InputError for a name that could be a path."""
    if isinstance(name, str) and (re.search(r"[/\\\x00-\x1f]", name) or name.startswith(".")):
        raise InputError("a name may not hold a path", got=name[:MAX_ARGUMENT])
