"""An agent that follows a script, for panels: the events of the real one, at times that a test decides."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchgen.agent.situation import Waiting
from benchgen.plan.gate import says_yes
from benchgen.workspace import Workspace

Step = Mapping[str, Any]
Event = dict[str, Any]


class Talker:
    """Answers a message with the steps of its script: events to tell, {"pause": seconds}, {"fail": words}.

    What it does not know is answered with its own words. A `yes` confirms the plan that waits, in the
    workspace where there is one; anything else cancels it.
    """

    def __init__(
        self, folder: Path, script: Mapping[str, Sequence[Step]], ws: Workspace | None = None
    ) -> None:
        self.folder, self.script, self.ws = folder, script, ws
        self.state = "idle"
        self.confirmed: list[str] = []
        self._log = folder / "events.jsonl"
        self._callbacks: list[Callable[[Event], None]] = []
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._turn = threading.Lock()
        self.waiting: tuple[Waiting, ...] = ()
        self._pool = ThreadPoolExecutor(1)
        folder.mkdir(parents=True, exist_ok=True)
        self._events: list[Event] = [json.loads(x) for x in self._log.read_text().splitlines()] if self._log.exists() else []  # fmt: skip

    def on_event(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def events(self, after: int = 0) -> list[Event]:
        with self._lock:
            return [event for event in self._events if event["n"] > after]

    def tell(self, type: str, **told: Any) -> None:
        with self._lock:
            event = {
                "n": len(self._events) + 1,
                "time": datetime.now(UTC).isoformat(),
                "type": type,
                **told,
            }
            self._events.append(event)
            with self._log.open("a") as file:
                file.write(json.dumps(event) + "\n")
            if type == "state":
                self.state = told["state"]
            for callback in self._callbacks:
                callback(event)

    def submit(self, text: str) -> Future[None]:
        return self._pool.submit(self.send, text)

    def send(self, text: str) -> None:
        with self._turn:
            self._stopped.clear()
            self.state = "working"
            self.tell("user", text=text)
            self.tell("state", state="working")
            self._answer(text)

    def stop(self) -> None:
        self._stopped.set()
        if self.state != "working" and self.waiting:
            self._gate("stop")
            self.tell("state", state="idle")

    def _answer(self, text: str) -> None:
        try:
            if not self.waiting or self._gate(text):
                self._play(self.script.get(text, [{"type": "agent", "text": f"I heard: {text}"}]))
        except Exception as error:  # noqa: BLE001 - as the real one does
            self.tell("error", message=str(error), next="try again")
        finally:
            self.tell("state", state="awaiting" if self.waiting else "idle")

    def _gate(self, text: str) -> bool:
        """Whether the message is still to be answered."""
        (item,), self.waiting = self.waiting, ()
        told = {"kind": item.kind, "label": item.label}
        if item.kind != "plan":
            self.tell("decided", **told, decision="answered")
            return True
        if not says_yes(text):
            self.tell("decided", **told, decision="cancelled")
            self.tell("agent", text="The plan is cancelled; nothing has started.")
            return False
        self.confirmed.append(item.label)
        job = self.ws.confirm(int(item.label), "yes").id if self.ws else 0
        self.tell("decided", **told, decision="confirmed")
        self.tell("agent", text=f"Job {job} has started.")
        return False

    def _play(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if "pause" in step and self._stopped.wait(step["pause"]):
                self.tell("error", message="(stopped by you)", next="send the next message")
                return
            if "fail" in step:
                raise ValueError(step["fail"])
            if step.get("type") == "waiting":
                self.waiting = (Waiting(step["kind"], step["label"], dict(step.get("told") or {})),)
            if "type" in step:
                self.tell(**step)
