"""One chat: messages in, answers and events out, all of it in a log that a restart reads back.

A turn: the gate reads the message first (`gate.judge`), then, where it is a request, a brain; what either
decides is carried out by the tools. Turns of a chat come one after another, also over several processes.
"""

from __future__ import annotations

import datetime
import queue
import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen import config, jobs
from benchgen.agent import acting, gate, wording
from benchgen.agent.acting import DONE, LOOKING, Brain
from benchgen.agent.brains import brain_of
from benchgen.agent.events import Event, EventLog, plain
from benchgen.agent.export import export
from benchgen.agent.llm.scrub import Scrubber
from benchgen.agent.memory import Memory, learnt
from benchgen.agent.reply import Outcome, Reply
from benchgen.agent.rules import understand
from benchgen.agent.situation import Situation, Waiting, Wish
from benchgen.agent.turn import TimedOut, Turn, TurnEnded
from benchgen.errors import BenchgenError, ConfigError, InputError, ModelError, StateError

if TYPE_CHECKING:
    from benchgen.workspace import Workspace

CHATS = "chats"
ERRORS = "errors.log"
MESSAGE_CHARS = 1_000_000
SUMMARY_CHARS = 300
PROGRESS_PER_S = 10
SPACED_S = 0.125
"""Between two of them; the rest of the ten is for the last one of a record."""
REVISING = frozenset(("plan_training", "revise_plan", "plan_merge", "revise_preview"))
"""What only shows something new, and so may follow an agreement in the same message."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Callback = Callable[[Event], None]


class Agent:
    """A chat with the agent on one workspace; `send` a message, get a Reply."""

    def __init__(
        self,
        ws: Workspace,
        brain: str | config.AgentConfig | Brain | None = None,
        session: str | None = None,
        *,
        limits: config.LimitsConfig | None = None,
        tools: Any = None,
    ) -> None:
        """A new chat, or with `session` the one of that name, as it was left.

        `brain` is rules (the default), an agent config, or a Brain of one's own; `tools` likewise.
        """
        self.ws = ws
        self.limits = _positive(limits or config.LimitsConfig())
        self.session = _new_name(ws.path / CHATS) if session is None else _checked(session)
        self.folder = ws.path / CHATS / self.session
        told = config.AgentConfig() if brain is None else brain
        told = config.AgentConfig(name=told) if isinstance(told, str) else told
        self.tools = tools if tools is not None else _own_tools(ws, told)
        self.brain = (
            brain_of(ws, told, self.tools) if isinstance(told, config.AgentConfig) else told
        )
        self._log = EventLog(self.folder, Scrubber().text)
        self._memory = Memory().after(self._log.read())
        self._serial = threading.Lock()
        self._lock = threading.RLock()
        self._turn: Turn | None = None
        self._callbacks: list[Callback] = []
        self._told: deque[float] = deque(maxlen=PROGRESS_PER_S)
        self._queue: queue.Queue[tuple[str, Future[Reply]]] = queue.Queue()
        self._worker: threading.Thread | None = None
        if self._memory.in_turn and not jobs.held(self.folder):
            self._error(*wording.interrupted())

    # ------------------------------------------------------------------------------ a person's words

    def send(self, text: str) -> Reply:
        """The answer to one message; messages are answered one after another."""
        if not isinstance(text, str):
            raise InputError(
                "a message is text", got=type(text).__name__, next="agent.send('help')"
            )
        if len(text) > MESSAGE_CHARS:
            raise InputError(
                "the message is too long",
                got=f"{len(text):,} characters",
                allowed=f"{MESSAGE_CHARS:,}",
                next="put it into a file, and name that",
            )
        with self._serial, jobs.record_lock(self.folder, wait=True):
            self._catch_up()
            return self._answered(text)

    def submit(self, text: str) -> Future[Reply]:
        """The answer to come, while a thread works on it; several are answered in their order."""
        found: Future[Reply] = Future()
        with self._lock:
            self._queue.put((text, found))
            if self._worker is None:
                self._worker = threading.Thread(
                    target=self._work, name="benchgen-chat", daemon=True
                )
                self._worker.start()
        return found

    def stop(self) -> None:
        """End the turn that is at work, and take back what was submitted after it.

        Without one, what waits for a yes is cancelled.
        """
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()[1].cancel()
        turn = self._turn
        if turn is not None:
            turn.stop()
            return
        with self._serial:
            costly = [w for w in self._memory.held.waiting if w.kind in gate.COSTLY]
            if costly:
                self._cancel(costly, "stop")
                self._emit("state", state=self.state)

    # ------------------------------------------------------------------------------------- what is so

    @property
    def state(self) -> str:
        """idle, working, or awaiting: something waits for the person's word."""
        if self._turn is not None:
            return "working"
        return "awaiting" if self._memory.held.waiting else "idle"

    @property
    def situation(self) -> Situation:
        """The records of the workspace, with what this chat is about."""
        found: Situation = self.tools.situation(**self._memory.for_situation())
        return found

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """What waits for the person's word, oldest first."""
        return self._memory.held.waiting

    def events(self, after: int = 0) -> list[Event]:
        """What has happened, after the event of that number."""
        return self._log.after(after)

    def on_event(self, callback: Callback) -> Callable[[], None]:
        """Call `callback(event)` for every further event, from the thread in which it happens; a call ends that."""
        self._callbacks.append(callback)

        def end() -> None:
            with suppress(ValueError):
                self._callbacks.remove(callback)

        return end

    def export(self, path: str | Path, form: str = "notebook") -> Path:
        """Path of this chat written so that it can be done again: a notebook, or the same in `commands`.

        InputError for a chat that has no message, and where a file is there already.
        """
        events = self._log.after()
        if not events:
            raise InputError(
                f"there is nothing in the chat {self.session}",
                got=self.session,
                next="session=NAME, as the folders in chats/ of the workspace are called",
            )
        return export(self.ws, events, path, form, f"Chat {self.session}")

    def restore(self, waiting: Sequence[Waiting] = (), **facts: Any) -> None:
        """Put the chat into a state: what waits, oldest first, and its facts.

        Facts are last_benchmark, last_run, last_job, last_view (a dict of View's fields), `submitted`
        ({"plan", "job"}), `created` (a benchmark's id), `ended` (submitted or cancelled) and `ended_label`.
        """
        with self._serial:
            for item in waiting:
                self._emit("waiting", kind=item.kind, label=item.label, told=item.told, beside=True)
            self._emit("state", state=self.state, facts=facts)

    # ------------------------------------------------------------------------------------------ a turn

    def _answered(self, text: str) -> Reply:
        """The answer, with all its events."""
        asked = self._memory.open_request
        self._turn = turn = Turn(
            self.limits.turn_s, self.limits.questions_per_turn, self._progress, asked=asked
        )
        try:
            self._emit("user", text=text)
            self._emit("state", state="working")
            return self._guarded(text, turn)
        finally:
            self._turn = None
            with suppress(BenchgenError):  # the log's disk may be full
                self._emit("state", state=self.state)

    def _guarded(self, text: str, turn: Turn) -> Reply:
        """The answer; what goes wrong is one, too. Only the keyboard gets through, after a line in the log."""
        try:
            reply = _Answer(self, text, turn).reply()
        except TurnEnded as error:
            words = (
                wording.timed_out(turn.limit_s)
                if isinstance(error, TimedOut)
                else wording.stopped()
            )
            return self._error(
                *words, reason="time-out" if isinstance(error, TimedOut) else "stopped"
            )
        except ModelError as error:
            return self._error(*wording.offline(error.what), reason="offline")
        except BenchgenError as error:
            line = wording.forbidden(error) or error.message
            return self._error(line, error.next, reason=error.what)
        except KeyboardInterrupt:
            self._error(*wording.stopped(), reason="stopped")
            raise
        except Exception as error:  # noqa: BLE001 - a chat outlives any fault of one turn
            return self._error(
                *wording.broken(error, self._keep(error)), reason=type(error).__name__
            )
        return self._say(reply)

    def _say(self, reply: Reply) -> Reply:
        """The reply as it was logged: without secrets, with the plan that waits."""
        told = {
            "text": reply.text,
            "intent": reply.intent,
            "arguments": reply.arguments,
            "choices": reply.choices,
            "links": reply.links,
        }
        facts = learnt(reply.intent, reply.arguments, self.situation) if reply.arguments else {}
        event = self._emit("agent", **told, facts=facts)
        return Reply(
            event["text"],
            event["intent"],
            event["arguments"],
            self._memory.held.newest(*gate.COSTLY),
            tuple(event["choices"]),
            tuple(event["links"]),
        )

    def _error(self, message: str, next: str = "", *, reason: str = "interrupted") -> Reply:
        """The reply of a turn that ended before its answer."""
        told = {"reason": reason}
        event = self._emit("error", message=message, next=next, intent="error", arguments=told)
        text = event["message"] + (f" Next: {event['next']}." if event["next"] else "")
        if event["next"] and event["next"].rstrip(".") in event["message"]:
            text = event["message"]
        plan = self._memory.held.newest(*gate.COSTLY)
        return Reply(text, "error", event["arguments"], plan)

    def _keep(self, error: BaseException) -> str:
        """Path of the file that holds the traceback."""
        path = self.folder / ERRORS
        lines = "".join(traceback.format_exception(error))
        with suppress(OSError), path.open("a", encoding="utf-8") as file:
            stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            file.write(f"{stamp}\n{plain(lines, self._log.hide)}\n")
        return str(path)

    # ---------------------------------------------------------------------------------------- events

    def _emit(self, type: str, **told: Any) -> Event:
        """Log an event, remember what it says, tell whoever listens."""
        with self._lock:
            event = self._log.append(type, **told)
            self._memory = self._memory.after([event])
            listeners = list(self._callbacks)
        for callback in listeners:
            try:
                callback(event)
            except Exception as error:  # noqa: BLE001 - a front end's fault ends no turn
                self._keep(error)
        return event

    def _progress(self, record: str, id: int, done: int, total: int, words: str) -> None:
        """Tell how far a record is: ten times a second at most."""
        now = time.monotonic()
        with self._lock:
            full = len(self._told) == PROGRESS_PER_S and now - self._told[0] < 1.0
            soon = bool(self._told) and now - self._told[-1] < SPACED_S
            if full or (soon and done < total):
                return
            self._told.append(now)
        self._emit("progress", record=record, id=id, done=done, total=total, words=words)

    def _cancel(self, items: Sequence[Waiting], text: str) -> None:
        """Cancel plans and merges, in the store too."""
        for item in items:
            with suppress(StateError):  # decided before, or elsewhere
                self.tools.cancel_plan(item, text)
            self._emit(
                "decided", kind=item.kind, label=item.label, decision="cancelled", **_hash(item)
            )

    def _catch_up(self) -> None:
        """Read what another process wrote to this chat."""
        new = self._log.read()
        with self._lock:
            self._memory = self._memory.after(new)

    def _work(self) -> None:
        """Answer what was submitted, one after another, as long as the process lives."""
        while True:
            text, found = self._queue.get()
            if not found.set_running_or_notify_cancel():
                continue
            try:
                found.set_result(self.send(text))
            except BaseException as error:  # noqa: BLE001 - it is the future's to tell
                found.set_exception(error)


class _Answer:
    """The answer to one message: what the gate says to it, else what a brain has done."""

    def __init__(self, agent: Agent, text: str, turn: Turn) -> None:
        self.agent = agent
        self.text = text
        self.turn = turn
        self.tools = agent.tools
        self.verdict = gate.judge(
            text,
            agent._memory.held,
            now=time.time(),
            expires_s=agent.limits.plan_s,
            changed=self.tools.changed,
        )
        self.situation = agent.situation  # what a message changes is about what waited when it came

    def reply(self) -> Reply:
        """The reply, and what it says of plans that the message cancelled."""
        verdict, asked = self.verdict, self.agent._memory.asked
        self.agent._cancel(verdict.cancelled, self.text)
        found = self._decided() if verdict.intent else self._brained()
        if not verdict.cancelled or verdict.intent == "replan":
            return found
        now = self.agent._memory.held
        newer = now.newest(*gate.COSTLY) is not None or now.ended == "submitted"
        words = wording.cancelled(verdict.cancelled, asked, again=not newer)
        if newer and all(f"{item.label} is cancelled" in found.text for item in verdict.cancelled):
            words = ""  # the tool has said it
        told = (
            gate.labels(verdict.cancelled)
            if found.intent == "cancel_plan"
            else {**found.arguments, "cancelled": verdict.cancelled[-1].label}
        )
        return replace(found, text="\n\n".join(filter(None, (found.text, words))), arguments=told)

    # ------------------------------------------------------------------------------- what the gate said

    def _decided(self) -> Reply:
        verdict = self.verdict
        item = verdict.item
        if verdict.intent in ("confirm_plan", "confirm_merge"):
            assert item is not None
            return self._confirm(item)
        if verdict.intent == "confirm_create":
            assert item is not None
            return self._create(item)
        if verdict.intent == "continue_batch":
            assert item is not None
            return self._continue(item)
        if verdict.intent == "choose_option":
            assert item is not None
            return self._choose(item, verdict.arguments["option"], verdict.rest)
        return Reply(self._words(), verdict.intent, verdict.arguments)

    def _words(self) -> str:
        """What is said to a message that decides nothing."""
        verdict, item = self.verdict, self.verdict.item
        if verdict.intent == "already_done":
            return wording.already_done(verdict.arguments)
        if verdict.intent == "nothing_pending":
            return wording.nothing_pending(str(verdict.arguments.get("cancelled", "")))
        if verdict.intent == "ignore_or_cancel":
            return wording.empty([w for w in self.agent.waiting if w.kind not in gate.COSTLY])
        if item is not None and verdict.intent == "replan":
            return wording.replan(item, verdict.why)
        if item is not None and verdict.intent == "clarify":
            if "option" in verdict.arguments:
                again = wording.out_of_range(item, verdict.arguments["option"])
                return f"{again}\n{wording.how(item)}"
            return wording.wants(item)
        return ""

    def _confirm(self, item: Waiting) -> Reply:
        """Start what a yes confirms; whatever comes of it, this item waits no longer."""
        confirm = getattr(self.tools, f"confirm_{item.kind}")
        try:
            outcome: Outcome = confirm(item, self.text)
        except BaseException:
            self._decide(item, "failed")
            raise
        job = outcome.arguments.get("job")
        self._decide(item, "confirmed" if job is not None else "failed", job=job)
        return self._outcome(Wish(f"confirm_{item.kind}", dict(self.verdict.arguments)), outcome)

    def _create(self, item: Waiting) -> Reply:
        """Create what was shown; where that fails, the preview waits on."""
        outcome: Outcome = self.tools.confirm_create(item)
        benchmark = outcome.arguments.get("benchmark")
        if benchmark is not None:
            self._decide(item, "created", benchmark=benchmark)
        return self._outcome(Wish("confirm_create", dict(self.verdict.arguments)), outcome)

    def _continue(self, item: Waiting) -> Reply:
        """Write on; where that fails, the writing waits on."""
        outcome: Outcome = self.tools.continue_batch(item, self.turn)
        self._decide(item, "continued")
        return self._outcome(Wish("continue_batch", dict(self.verdict.arguments)), outcome)

    def _choose(self, item: Waiting, number: int, rest: str = "") -> Reply:
        """Do what the option says; what the message asks for after that is told as a next step."""
        option = str(item.told["options"][number - 1])
        self._decide(item, "answered", option=number)
        others = tuple(w for w in self.situation.waiting if w != item)
        wish = _wish_of(item, option) or understand(option, replace(self.situation, waiting=others))
        outcome = self.do(wish)
        told: dict[str, Any] = {**wish.arguments, **outcome.arguments, "option": number}
        told.setdefault("benchmark", self.situation.last_benchmark)
        told = {name: value for name, value in told.items() if value is not None}
        text = f"{number}. {option}\n\n{acting.numbered(outcome.text, outcome.choices)}"
        if rest:
            later = understand(rest, self.situation)
            then = {"then": later.intent.removesuffix("_benchmark")}
            told = {**later.arguments, **told, **then}
            text = f"{text}\n\n{wording.afterwards(Wish('', later=(later,)))}"
        return Reply(text, "choose_option", told, None, outcome.choices, outcome.links)

    def _decide(self, item: Waiting, decision: str, **told: Any) -> None:
        told = {**_hash(item), **told}
        self.agent._emit("decided", kind=item.kind, label=item.label, decision=decision, **told)

    def _outcome(self, wish: Wish, outcome: Outcome) -> Reply:
        self._register(wish, outcome)
        return acting.answer(wish, outcome)

    # ------------------------------------------------------------------------------ what a brain wishes

    def _brained(self) -> Reply:
        brain = self.agent.brain
        text = self.agent._log.hide(self.text) if brain.leaves else self.text
        return brain.reply(text, self.situation, self.do, self.turn)

    def do(self, wish: Wish) -> Outcome:
        """Carry a wish out and log it; an error that the person can mend is an outcome."""
        self.turn.check()
        undone = self._undone(wish)
        if undone is not None:
            return undone
        started = time.monotonic()
        try:
            outcome = acting.carry_out(wish, self.tools, self.situation, self.turn)
        except TurnEnded:
            raise
        except BenchgenError as error:
            outcome = wording.failed(error, wish, self.situation)
        outcome = self._with_preview(wish, outcome)
        if wish.intent in DONE:
            self.agent._emit(
                "tool",
                name=wish.intent,
                arguments=wish.arguments,
                found=outcome.arguments,
                summary=" ".join(outcome.text.split())[:SUMMARY_CHARS],
                seconds=round(time.monotonic() - started, 3),
                ok=outcome.intent != "error",
            )
        self._register(wish, outcome)
        return outcome

    def _with_preview(self, wish: Wish, outcome: Outcome) -> Outcome:
        """The outcome; where it lacks a benchmark and one is only shown yet, with how that is made."""
        preview = self.agent._memory.held.newest("preview")
        missing = outcome.arguments.get("missing") or wish.arguments.get("missing") or ()
        if preview is None or "benchmark" not in missing:
            return outcome
        return replace(outcome, text=f"{outcome.text}\n\n{wording.how(preview)}")

    def _undone(self, wish: Wish) -> Outcome | None:
        """The answer where there is nothing to do, or nothing more may be done; None where there is."""
        cancelled = self.verdict.cancelled
        if cancelled and (wish.intent in ("unclear", "cancel_plan", "ignore_or_cancel")):
            words = self._told_of(cancelled[-1], wish.arguments.get("about"))
            return Outcome(words, gate.labels(cancelled), intent="cancel_plan")
        if self.verdict.agreed and wish.intent not in LOOKING | REVISING:
            words = wording.one_at_a_time(cancelled[-1])
            return Outcome(words, gate.labels(cancelled), intent="cancel_plan")
        if wish.intent in ("cancel_plan", "ignore_or_cancel"):
            waits = self.agent.waiting
            if not waits:
                return Outcome(wording.nothing_pending(""), intent="nothing_pending")
            item = waits[-1]
            words = f"Nothing was created or started. {wording.how(item)}"
            return Outcome(words, {item.kind: item.label}, intent=wish.intent)
        if wish.intent == "continue_batch":  # only the person's own word does
            told = {"missing": ["continue"], **wish.arguments}
            return wording.said(Wish("clarify", told), self.situation, intent="clarify")
        if wish.intent == "choose_option":
            return self._chosen(wish)
        return None

    def _told_of(self, item: Waiting, topics: Any) -> str:
        """The answer to a question about the plan that it cancels; empty where nothing was asked."""
        if not topics:
            return ""
        told: str = self.tools.about_plan(item, [str(topic) for topic in topics])
        return told

    def _chosen(self, wish: Wish) -> Outcome:
        """An option that a brain read in the message."""
        question = self.agent._memory.held.newest("question")
        number = wish.arguments.get("option")
        options = question.told.get("options", ()) if question else ()
        if question is None or not isinstance(number, int) or not 1 <= number <= len(options):
            words = (
                wording.out_of_range(question, number) if question else wording.nothing_pending("")
            )
            return Outcome(words, intent="clarify" if question else "nothing_pending")
        found = self._choose(question, number)
        return Outcome(found.text, found.arguments, found.intent, found.links, found.choices)

    def _register(self, wish: Wish, outcome: Outcome) -> None:
        """What now waits for the person's word, and which question is answered by what was done."""
        done = outcome.intent in ("", wish.intent) and wish.intent in DONE - LOOKING
        open_question = self.agent._memory.held.newest("question")
        if done and open_question is not None:
            self._decide(open_question, "left")
        item = outcome.waiting
        if item is None and outcome.choices:
            item = Waiting("question", "", {"after": wish.intent, "options": list(outcome.choices)})
        if item is None:
            return
        if item.kind == "question":
            item = replace(
                item, label=f"Q{len(self.agent._log) + 1}", told=_slotted(item, wish, outcome)
            )
        asked = self.text if item.kind in gate.COSTLY else ""
        self.agent._emit("waiting", kind=item.kind, label=item.label, told=item.told, asked=asked)


def _slotted(item: Waiting, wish: Wish, outcome: Outcome) -> dict[str, Any]:
    """What was asked, with the wish that the answer completes, where one thing is missing of it."""
    told = {**wish.arguments, **outcome.arguments}
    missing = list(told.get("missing") or [])
    wished = told.get("wish") if wish.intent == "clarify" else wish.intent
    asks = "clarify" in (wish.intent, outcome.intent)
    if not asks or len(missing) != 1 or wished not in DONE:
        return item.told
    return {**item.told, "wish": wished, "given": wish.arguments, "slot": missing[0]}


def _wish_of(question: Waiting, option: str) -> Wish | None:
    """The wish that an option completes; None for an option that is a request of its own."""
    told = question.told
    if not told.get("slot"):
        return None
    slot = str(told["slot"])
    left_out = (slot, f"{slot}_candidates", "missing", "wish")
    given = {name: value for name, value in told["given"].items() if name not in left_out}
    return Wish(str(told["wish"]), {**given, slot: option})


def _hash(item: Waiting) -> dict[str, Any]:
    return {"hash": item.told["hash"]} if item.told.get("hash") else {}


def _positive(limits: config.LimitsConfig) -> config.LimitsConfig:
    """The limits; ConfigError for one that leaves no room for a turn."""
    for name, value in vars(limits).items():
        if not value > 0:
            raise ConfigError(f"limits.{name} is too small", got=value, allowed="more than 0")
    return limits


def _own_tools(ws: Workspace, brain: config.AgentConfig | Brain) -> Any:
    """The tools of the workspace; questions are written by the model that the config names, where the workspace names none."""
    from benchgen.agent.tools import Tools

    if ws.writer is not None or not isinstance(brain, config.AgentConfig):
        return Tools(ws)
    return Tools(ws, brain.writer or (brain.model if brain.name == "llm" else None))


def _checked(name: str) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise InputError(
        "that is no name of a chat",
        got=name,
        allowed="letters, digits, . _ - (64 at most)",
        next="session=NAME, as the folders in chats/ of the workspace are called",
    )


def _new_name(folder: Path) -> str:
    """A name that no chat has: the time, and a number where that is taken."""
    stamp = f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S-%f}"
    name, number = stamp, 1
    while (folder / name).exists():
        number += 1
        name = f"{stamp}-{number}"
    return name
