"""What waits for a person's word, as a table with two buttons: bound to its hash, decided once.

The buttons say no more than a person may write: Confirm is the word `yes`, and it goes to the same gate.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from benchgen import config
from benchgen.agent.situation import Waiting
from benchgen.compare import tables
from benchgen.errors import StateError
from benchgen.plan.gate import WORD
from benchgen.records import Job, PlanRecord, plan_settings
from benchgen.stages import planning
from benchgen.types import Plan
from benchgen.ui import parts, render

RECIPES = {"lora": "lora", "from-run": "from_run", "grpo": "grpo", "continue": "continue"}
"""{job type: the recipe whose values are the usual ones}"""
WORDS = {"plan": WORD, "merge": WORD, "preview": "Create it", "batch": "continue"}
"""What confirms each kind of thing that waits; a question is answered by its options."""
BUTTONS = {"plan": "Confirm", "merge": "Confirm", "preview": "Create it", "batch": "Continue"}
UNTOLD = ("asked", "record", "write")
"""What only the agent needs of what waits."""
CANCEL = "cancel"
"""Any word but `yes` cancels a plan; this one says what is meant."""


@dataclass(frozen=True)
class Setting:
    """One line of the table; `usual` is what the recipe says where this is another value."""

    name: str
    value: str
    usual: str = ""


@dataclass(frozen=True)
class Shown:
    """What waits, as far as a person sees it before the decision."""

    kind: str
    label: str
    title: str
    hash: str = ""
    settings: tuple[Setting, ...] = ()
    estimates: tuple[tuple[str, str, str], ...] = ()
    """(name, figure, basis)"""
    warnings: tuple[str, ...] = ()

    @property
    def cancels(self) -> bool:
        """Whether it has a Cancel of its own; a preview or a batch just waits on."""
        return WORDS.get(self.kind) == WORD


def of_plan(record: PlanRecord, kind: str = "plan", label: str = "") -> Shown:
    """A recorded plan in full, under its number or the label that a chat gave it; StateError if it was changed since it was made."""
    plan = record.plan
    usual = changes(plan)
    settings = [
        Setting(name, tables.plain(value), usual.get(name, ""))
        for name, value in plan_settings(plan)
    ]
    settings.sort(key=_rank)
    estimates = [(name, e.words, e.basis) for name, e in plan.estimates.items()]
    label = label or str(record.id)
    title = f"{kind.capitalize()} {label}: {plan.job_type} of {plan.base_model}"
    return Shown(kind, label, title, record.hash, tuple(settings), tuple(estimates), plan.warnings)


def of_waiting(item: Waiting, record: PlanRecord | None = None) -> Shown:
    """What waits in a chat: the plan in full where this is its record, else what was told of it."""
    told = dict(item.told)
    mind = tuple(map(str, told.pop("warnings", None) or ()))
    hash = str(told.pop("hash", "") or "")
    if record is not None:
        try:
            shown = of_plan(record, item.kind, item.label)
        except StateError as error:  # changed since: the gate refuses it, too
            mind = (error.message, *mind)
        else:
            if hash in ("", shown.hash):
                return shown
            mind = (f"plan {record.id} is another one now, with hash {shown.hash}", *mind)
    rows = tables.flat({k: v for k, v in told.items() if k not in UNTOLD})
    settings = tuple(Setting(name, tables.plain(value)) for name, value in rows.items())
    return Shown(
        item.kind,
        item.label,
        f"{item.kind.capitalize()} {item.label}",
        hash,
        settings,
        warnings=mind,
    )


def changes(plan: Plan) -> dict[str, str]:
    """{setting: the recipe's own value} of every hyperparameter that is not what its recipe says."""
    name = (
        "qlora" if plan.hyperparameters.get("quantization") == "nf4" else RECIPES.get(plan.job_type)
    )
    if name is None:
        return {}
    usual = tables.flat(asdict(config.load_recipe(name)))
    return {
        f"hyperparameters: {key}": tables.plain(usual[key])
        for key, value in plan.hyperparameters.items()
        if key in usual and usual[key] != value
    }


def _rank(one: Setting) -> int:
    """What the plan is comes first, then what was changed: it must not have to be looked for."""
    return 1 if one.usual else 0 if ":" not in one.name else 2


def html(shown: Shown, decision: str = "") -> Markup:
    """The table: warnings first, then every setting with what was changed, then estimates with their basis."""
    parts_ = [
        Markup('<p class="title"><b>{}</b>{}</p>').format(
            render.line(shown.title),
            Markup(", hash <code>{}</code>").format(render.line(shown.hash, 64)) if shown.hash else "",
        ),
        *(Markup('<p class="warning" role="note"><b>Mind:</b> {}</p>').format(render.text(w, 2_000)) for w in shown.warnings),
        _table("What would run" if shown.cancels else "What waits", ("setting", "value"), map(_setting, shown.settings)),
        _table("Estimates", ("estimate", "figure", "basis"), map(_estimate, shown.estimates)),
        Markup('<p class="state">{}</p>').format(render.line(decision or _waits(shown))),
    ]  # fmt: skip
    return render.styled(Markup("\n").join(parts_))


def plain(shown: Shown, decision: str = "") -> str:
    """The same as text."""
    head = render.plain_line(shown.title) + (f", hash {shown.hash}" if shown.hash else "")
    lines = [head, *(f"Mind: {w}" for w in shown.warnings)]
    for one in shown.settings:
        usual = f" (changed: the recipe says {one.usual})" if one.usual else ""
        lines.append(f"  {one.name}: {one.value}{usual}")
    lines += [f"  estimated {name}: {figure} ({basis})" for name, figure, basis in shown.estimates]
    lines.append(decision or _waits(shown))
    return "\n".join(render.plain_line(one, 2_000) for one in lines)


def _waits(shown: Shown) -> str:
    if shown.cancels:
        return "Nothing has started. Confirm, or write yes, starts exactly this; anything else cancels it."
    word = WORDS.get(shown.kind, "")
    return f"Waits for the words: {word}. Or write what should be different." if word else ""


def _setting(one: Setting) -> tuple[Markup, ...]:
    name, value = one.name.replace("hyperparameters: ", ""), render.text(one.value, 500)
    if one.usual:
        mark = Markup('<b class="changed">{} (changed: the recipe says {})</b>')
        value = mark.format(value, render.line(one.usual, 100))
    return render.line(name), value


def _estimate(told: tuple[str, str, str]) -> tuple[Markup, ...]:
    return tuple(render.text(part, 500) for part in told)


def _table(caption: str, head: tuple[str, ...], rows: Any) -> Markup:
    """A captioned table whose rows have their first cell as head; empty where there are no rows."""
    lines = [
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            cells[0], Markup().join(Markup("<td>{}</td>").format(cell) for cell in cells[1:])
        )
        for cells in rows
    ]
    if not lines:
        return Markup()
    names = Markup().join(Markup('<th scope="col">{}</th>').format(name) for name in head)
    return Markup(
        '<div class="scroll asked" role="region" tabindex="0" aria-label="{0}"><table><caption>{0}</caption>'
        "<thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>"
    ).format(caption, names, Markup("\n").join(lines))


class ConfirmBox:
    """The table with its buttons; whatever is pressed first is the decision, and the only one."""

    def __init__(
        self,
        made: parts.Parts,
        shown: Shown,
        decide: Callable[[Shown, str], None],
        report: parts.Report,
    ) -> None:
        """`decide(shown, word)` is told the word of the button, at most once."""
        self.shown = shown
        self._decide = decide
        self._made = made
        self._lock = threading.Lock()
        self._decided = False
        table = made.html(str(html(shown)))
        name, tip = BUTTONS[shown.kind], f"{BUTTONS[shown.kind]} {shown.title} {shown.hash}".strip()
        self.buttons = [self._button(name, "go", tip, WORDS[shown.kind], report)]
        if shown.cancels:
            tip = f"Cancel {shown.title}"
            self.buttons.append(self._button("Cancel", "plain", tip, CANCEL, report))
        self.widget = made.column(table, made.row(*self.buttons))

    def _button(self, name: str, look: str, tip: str, word: str, report: parts.Report) -> Any:
        button = self._made.button(name, look, render.plain_line(tip, 200))
        button.on_click(parts.guarded(report, lambda _: self.press(word)))
        return button

    def press(self, word: str) -> None:
        """Decide by this word; nothing the second time."""
        with self._lock:
            if self._decided:
                return
            self._decided = True
        for button in self.buttons:
            button.disabled = True
        self._decide(self.shown, word)

    def close(self) -> None:
        """Take it away."""
        with self._lock:
            self._decided = True
        self._made.drop(self.widget)


class ConfirmPanel:
    """A plan to confirm without a chat: shown as an output that is saved, decided by button or `decide`."""

    def __init__(self, plan: PlanRecord) -> None:
        self.plan = plan
        self.shown = of_plan(plan)
        self.job: Job | None = None
        """What the confirmation started."""
        self.error = ""
        self._handle: Any = None
        self._box: ConfirmBox | None = None
        self._made: parts.Parts | None = None

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self.close()
        self._handle = display(self._bundle(), raw=True, display_id=True)  # type: ignore[no-untyped-call]
        if self.plan.row.state == "pending" and parts.widgets_shown():
            self._made = parts.Parts()
            self._box = ConfirmBox(self._made, self.shown, self._pressed, self._told)
            # the output above holds the table, and stays in the notebook
            self._made.drop(self._box.widget.children[0])
            self._box.widget.children = self._box.widget.children[1:]
            display(self._box.widget)  # type: ignore[no-untyped-call]

    def decide(self, answer: str, hash: str) -> Job | None:
        """The job that `yes` starts; None for any other answer, which cancels. StateError for another hash."""
        if hash != self.shown.hash:
            raise StateError(
                f"that is not the plan shown here, {self.shown.label}",
                got=hash,
                allowed=[self.shown.hash],
            )
        try:
            self.job = planning.confirm(self.plan.place, self.plan, answer)
        except StateError as error:
            self.error = error.message
            if self.plan.row.state != "cancelled":
                raise
        finally:
            self._refresh()
        return self.job

    def close(self) -> None:
        """Take the buttons away; the table stays."""
        if self._made is not None:
            self._made.close()
        self._made = self._box = None

    def _pressed(self, shown: Shown, word: str) -> None:
        self.decide(word, shown.hash)

    def _told(self, what: str, after: str) -> None:
        self.error = f"{what}. Next: {after}" if after else what
        self._refresh()

    def _decision(self) -> str:
        row = self.plan.row
        if row.state == "pending":
            return self.error
        said = f"{row.state.capitalize()} {render.clock(row.decided)} by {row.decided_by}, plan {row.id}, hash {row.hash}"
        return said + (f": job {self.job.id}" if self.job else "")

    def _bundle(self) -> dict[str, str]:
        decision = self._decision()
        return {
            "text/html": str(html(self.shown, decision)),
            "text/plain": plain(self.shown, decision),
        }

    def _refresh(self) -> None:
        if self._handle is not None:
            self._handle.update(self._bundle(), raw=True)
        if self._made is not None and self.plan.row.state != "pending":
            self.close()
