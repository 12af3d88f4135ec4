"""What a message says to what waits: the only way to confirm anything in a chat, read before any brain.

Pure: `judge` tells what a message means, it does nothing. A plan or merge is confirmed by the word `yes`
alone (`benchgen.plan.gate.says_yes`), and any other message cancels it. A preview is created by `Create it`,
a writing goes on with `continue`, a question is answered by an option's number or text; those three wait on
until they are answered. Of several things that wait, a message answers the newest that it fits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchgen.agent.situation import Waiting
from benchgen.plan.gate import says_yes

CREATE, CONTINUE = "create it", "continue"
GOING_ON = frozenset(
    (
        "go on",
        "carry on",
        "keep going",
        "keep writing",
        "proceed",
        "resume",
        "weiter",
        "mach weiter",
        "weitermachen",
    )
    + (
        "fortsetzen",
        "continúa",
        "continua",
        "sigue",
        "continuar",
        "continue stp",
        "continuez",
        "продолжай",
        "продолжи",
    )
    + ("继续", "繼續", "続けて", "続ける", "prosegui", "prossiga")
)
"""Other words for `continue`: they go on with a batch where no plan or merge waits, which they would cancel."""
COSTLY = ("plan", "merge")
"""What only a yes starts, and anything else cancels."""
ALONE = ("publish it", "leave it as a draft")
"""Options whose text is a request of its own: it is read as one, by the brain."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


AGREEING = _set(
    """yes y ye yep yeah yup ok okay k sure fine alright right good great perfect agreed confirm confirmed
    approve approved go start submit proceed please pls do absolutely definitely certainly
    ja jo klar oui si sí sim da да hai はい 是 好 好的 可以 确认 네 evet tak"""
)
DECLINING = _set(
    """no n nope nah not never cancel stop abort later wait hold forget discard drop dont
    nein nicht non não нет いいえ 不 不要 取消 아니요 hayır nie"""
)
FILLING = _set(
    """it that this now thanks thank you ahead on mind then so well hmm um uh the plan merge job one training
    i we with and lets let's go be done danke bitte gracias merci"""
)
"""Words that say nothing beside an answer."""
NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "one first 1st eins erste erstes ersten uno primero primera un une première premier 一 第一",
            "two second 2nd zwei zweite zweites zweiten dos segundo segunda deux deuxième 二 两 第二",
            "three third 3rd drei dritte drittes dritten tres tercero tercera trois troisième 三 第三",
            "four fourth 4th vier vierte viertes vierten cuatro cuarto cuarta quatre quatrième 四 第四",
            "five fifth 5th fünf fünfte cinco quinto quinta cinq cinquième 五 第五",
            "six sixth 6th sechs sechste seis sexto six sixième 六 第六",
            "seven seventh 7th sieben siebte siete séptimo sept septième 七 第七",
            "eight eighth 8th acht achte ocho octavo huit huitième 八 第八",
            "nine ninth 9th neun neunte nueve noveno neuf neuvième 九 第九",
            "ten tenth 10th zehn zehnte diez décimo dix dixième 十 第十",
        ),
        1,
    )
    for word in words.split()
}
_NUMBER = re.compile(
    r"(?:(?:(?:i(?:'d| would)? (?:take|choose|pick|want|like)|option|number|choice|no|nr|nummer|opción|numéro|"
    r"let's go with|take|pick|choose|go with|the|die|der|das|la|el|le)\b\.?|#|\()\s*)*"
    r"(?P<word>-?\d+|[^\W\d_]+?(?:-[^\W\d_]+)?|\d(?:st|nd|rd|th))"
    r"(?:\s+(?:one|option|choice)|个)?\s*[.)!]?(?:\s*,?\s*(?:please|pls|bitte|por favor))?\s*[.!]?"
    r"(?:\s*(?:,|;|\band\b)\s*(?:and\s+)?then\s+(?P<rest>\S.*))?",
    re.IGNORECASE | re.DOTALL,
)
NUMBER_CHARS = 400
"""A longer message is no answer to a numbered question."""


@dataclass(frozen=True)
class Held:
    """What a chat's gate remembers: what waits, since when, and how the last decisions ended."""

    waiting: tuple[Waiting, ...] = ()
    """Oldest first."""
    since: Mapping[str, float] = field(default_factory=dict)
    """{label: seconds since the epoch}"""
    submitted: Mapping[str, Any] = field(default_factory=dict)
    """{"plan": label, "job": id} of the last plan or merge that was confirmed."""
    created: int | None = None
    """The benchmark of the last preview that was created."""
    ended: str = ""
    """How the last plan or merge ended: submitted, cancelled, or empty while a newer thing waits."""
    ended_label: str = ""

    def add(self, waiting: Waiting, now: float) -> Held:
        """With one more; it takes the place of an older one of its kind (plan and merge are one kind)."""
        kinds = COSTLY if waiting.kind in COSTLY else (waiting.kind,)
        kept = tuple(
            w
            for w in self.waiting
            if not (w.kind in kinds and w.kind != "batch") and w.label != waiting.label
        )
        created = None if waiting.kind == "preview" else self.created
        since = {**{w.label: self.since.get(w.label, now) for w in kept}, waiting.label: now}
        return replace(self, waiting=(*kept, waiting), since=since, created=created, ended="")

    def drop(self, *gone: Waiting) -> Held:
        """Without these."""
        kept = tuple(w for w in self.waiting if w not in gone)
        return replace(
            self, waiting=kept, since={w.label: self.since.get(w.label, 0.0) for w in kept}
        )

    def cancel(self, *gone: Waiting) -> Held:
        """Without these plans and merges, none of which was started."""
        if not gone:
            return self
        return replace(self.drop(*gone), ended="cancelled", ended_label=gone[-1].label)

    def submit(self, item: Waiting, job: Any) -> Held:
        """Without the plan or merge that became this job."""
        told = {item.kind: item.label, "job": job}
        return replace(self.drop(item), submitted=told, ended="submitted", ended_label=item.label)

    def create(self, item: Waiting, benchmark: int) -> Held:
        """Without any preview: this one is the benchmark now, the others can no longer be created."""
        previews = [w for w in self.waiting if w.kind == "preview"]
        return replace(self.drop(item, *previews), created=benchmark)

    def newest(self, *kinds: str) -> Waiting | None:
        """The newest that waits, of these kinds where some are named."""
        found = [w for w in self.waiting if not kinds or w.kind in kinds]
        return found[-1] if found else None


@dataclass(frozen=True)
class Verdict:
    """What a message means to what waits."""

    intent: str = ""
    """Empty where the brain is to read the message."""
    item: Waiting | None = None
    """What it is about."""
    arguments: dict[str, Any] = field(default_factory=dict)
    cancelled: tuple[Waiting, ...] = ()
    """Plans and merges that the message cancels, or that a confirmation leaves behind."""
    why: str = ""
    rest: str = ""
    """What a numbered answer asks for after it."""
    agreed: bool = False
    """The message begins as an agreement: it may ask and change, but starts nothing more."""


Changed = Callable[[Waiting], str]
"""What changed since a plan or merge was shown, in words; empty where nothing did."""


def judge(
    text: str, held: Held, *, now: float, expires_s: float, changed: Changed = lambda _: ""
) -> Verdict:
    """What the message says to what waits; an empty intent where it is for the brain."""
    costly = tuple(w for w in held.waiting if w.kind in COSTLY)
    if says_yes(text):
        return _yes(held, costly, now=now, expires_s=expires_s, changed=changed)
    if not text.strip():
        return Verdict("ignore_or_cancel", cancelled=costly)
    found = _phrase(text, held) or _choice(text, held)
    if found is not None and (found.item is not None or not costly):
        return replace(found, cancelled=costly)
    if costly and (found is not None or _only_answers(text)):
        return Verdict("cancel_plan", costly[-1], labels(costly), cancelled=costly)
    agreed = bool(costly) and _words(text)[:1] != [] and _words(text)[0] in AGREEING
    return Verdict(cancelled=costly, agreed=agreed)


def _yes(
    held: Held, costly: tuple[Waiting, ...], *, now: float, expires_s: float, changed: Changed
) -> Verdict:
    if not costly:
        return _yes_to_nothing(held)
    item = costly[-1]
    label = {item.kind: item.label}
    if now - held.since.get(item.label, now) > expires_s:
        why = f"it was shown more than {expires_s / 60:g} minutes ago"
        return Verdict("replan", item, {**label, "reason": why}, costly, why)
    why = _shas_differ(item) or changed(item)
    if why:
        return Verdict("replan", item, {**label, "reason": why}, costly, why)
    return Verdict(f"confirm_{item.kind}", item, label, costly[:-1])


def _yes_to_nothing(held: Held) -> Verdict:
    if held.ended == "submitted":
        return Verdict("already_done", arguments=dict(held.submitted))
    if held.waiting:
        return _ask_again(held.waiting[-1])
    return Verdict("nothing_pending", arguments=_ended(held))


def _phrase(text: str, held: Held) -> Verdict | None:
    """`Create it` and `continue`, whatever waits."""
    said = _said(text)
    if said == CREATE:
        item = held.newest("preview")
        if item is not None:
            return Verdict("confirm_create", item, {"preview": item.label})
        if held.created is not None:
            return Verdict("already_done", arguments={"benchmark": held.created})
        return Verdict("nothing_pending", arguments=_ended(held))
    if said == CONTINUE or _goes_on(said, held):
        item = held.newest("batch")
        if item is not None:
            numbers: dict[str, Any] = {
                k: item.told[k] for k in ("written", "total") if k in item.told
            }
            return Verdict("continue_batch", item, numbers)
        return Verdict("nothing_pending", arguments=_ended(held))
    return None


def _goes_on(said: str, held: Held) -> bool:
    """Whether a batch waits and no plan does, and the message only says to go on, in other words."""
    words = re.sub(r"[\s,]*\b(?:please|pls|bitte|por favor|now|then)\b[\s,]*", " ", said).strip()
    waits = held.newest("batch") is not None and held.newest(*COSTLY) is None
    return waits and (words in GOING_ON or words == CONTINUE)


def _choice(text: str, held: Held) -> Verdict | None:
    """An answer to the newest question that waits, by number or by the option's text."""
    question = held.newest("question")
    if question is None:
        return None
    options = [str(option) for option in question.told.get("options", ())]
    said = _said(text)
    if said not in ALONE:
        for place, option in enumerate(options, 1):
            if said == _said(option):
                return Verdict("choose_option", question, {"option": place})
    number, rest = _number(text, len(options))
    if number is None:
        return None
    if not 1 <= number <= len(options):
        told = {"option": number, "options": len(options), "missing": ["option"]}
        return Verdict("clarify", question, told)
    return Verdict("choose_option", question, {"option": number}, rest=rest)


def _number(text: str, last: int) -> tuple[int | None, str]:
    """(the number that the whole message is, what it asks for after that); None where it is none."""
    if len(text) > NUMBER_CHARS:
        return None, ""
    found = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if not found:
        return None, ""
    word = found["word"].lower()
    rest = (found["rest"] or "").strip()
    if word in ("last", "letzte", "último", "dernier"):
        return last, rest
    if re.fullmatch(r"-?\d{1,9}", word):
        return int(word), rest
    return NUMBERS.get(word), rest


def _ask_again(item: Waiting) -> Verdict:
    """A yes to what no yes answers."""
    wanted = {"preview": "Create it", "batch": "continue", "question": "option"}[item.kind]
    return Verdict("clarify", item, {item.kind: item.label, "missing": [wanted]})


def _only_answers(text: str) -> bool:
    """Whether the message is an answer and nothing else: `ok`, `yes please`, `no thanks`, an emoji."""
    words = _words(text)
    answers = AGREEING | DECLINING
    if words and not answers & set(words):
        return False
    return len(words) <= 8 and set(words) <= answers | FILLING


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text[:2000]).casefold().replace("’", "'")
    return [w.replace("'", "") if w == "don't" else w for w in re.findall(r"[\w']+", folded)]


def _said(text: str) -> str:
    """The message folded: case, spaces, quotes around and the sign at its end do not count."""
    plain = " ".join(text.split()).casefold().strip("`'\"“”‘’")
    return plain.rstrip(".!").strip("`'\"“”‘’ ")


def _shas_differ(item: Waiting) -> str:
    """Words where what was shown holds two different hashes of its data."""
    hashes = {value for key, value in item.told.items() if key.startswith("dataset_sha")}
    return "the dataset file changed after the plan was shown" if len(hashes) > 1 else ""


def labels(items: tuple[Waiting, ...]) -> dict[str, Any]:
    """{plan or merge: its label}, as arguments name them."""
    return {item.kind: item.label for item in items}


def _ended(held: Held) -> dict[str, Any]:
    return {"cancelled": held.ended_label} if held.ended == "cancelled" else {}
