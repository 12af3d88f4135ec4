"""Asking many questions of one endpoint at once: slots, tries, waits, and when to stop asking.

The event loop runs in a thread of its own, so that it works where one already runs, as in a notebook.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchgen.errors import ModelError
from benchgen.models import wire
from benchgen.models.failures import FUTILE, UNREACHABLE, Failed, Failure, of_answer
from benchgen.models.redact import Redactor, Secret
from benchgen.types import Reply, Request

if TYPE_CHECKING:
    from benchgen.models.transport import Connection

MAX_BACKOFF_S = 30.0
LEAST_FUTILE = 3
"""After so many failures of that sort in a row, or as many as are asked at once, the rest is left out."""

_log = logging.getLogger(__name__)
_chance = random.Random()
"""Its own, so that waiting changes nobody's seeded numbers."""


@dataclass(frozen=True)
class Terms:
    """How an endpoint is asked."""

    name: str
    model: str
    concurrency: int
    timeout_first_s: float
    timeout_s: float
    max_retries: int
    backoff_s: float
    extra: dict[str, Any]
    learned: set[str] = field(repr=False)
    """Request fields that the model was found not to take; grows while asking."""


class Asking:
    """One call of `EndpointModel.generate`. `key_words` is how an error line names the key."""

    def __init__(self, terms: Terms, connection: Connection, key: Secret, key_words: str):
        self.terms = terms
        self.connection = connection
        self.redact = Redactor(key)
        self.key_words = key_words
        self.done: queue.SimpleQueue[tuple[int, Reply] | ModelError] = queue.SimpleQueue()
        self.slots = asyncio.Semaphore(terms.concurrency)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.work: asyncio.Task[None] | None = None
        self.closed = False
        self.resume_at = 0.0
        self.futile = 0
        self.answered = False
        self.stopped: Failure | None = None

    def replies(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """Each reply; a slot is free again when its reply was taken and the next one is wanted."""
        thread = threading.Thread(target=self._run, args=(requests,), name="endpoint", daemon=True)
        thread.start()
        try:
            for _ in requests:
                got = self.done.get()
                if isinstance(got, ModelError):
                    raise got
                yield got
                self._in_loop(self.slots.release)
        finally:
            self.closed = True
            if self.work is not None:
                self._in_loop(self.work.cancel)
            if thread is not threading.current_thread():  # where the collector may close this
                thread.join(timeout=10)

    def _in_loop(self, function: Callable[[], object]) -> None:
        assert self.loop is not None
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(function)

    def _run(self, requests: Sequence[Request]) -> None:
        broken = ""
        try:
            asyncio.run(self._main(requests))
        except Exception as error:  # noqa: BLE001 - it crosses to the thread that waits for replies
            broken = self.redact.line(f"{type(error).__name__}: {error}")
        if broken:
            self.done.put(ModelError(f"The endpoint could not be asked: {broken}"))

    async def _main(self, requests: Sequence[Request]) -> None:
        """None. Only the work may be cancelled: the connection must close in peace."""
        self.loop = asyncio.get_running_loop()
        async with self.connection:
            self.work = asyncio.create_task(self._ask_all(requests))
            if self.closed:
                self.work.cancel()
            await asyncio.wait([self.work])
        if not self.work.cancelled():
            self.work.result()

    async def _ask_all(self, requests: Sequence[Request]) -> None:
        async with asyncio.TaskGroup() as group:
            for index, request in enumerate(requests):
                await self.slots.acquire()
                group.create_task(self._answer(index, request))

    async def _answer(self, index: int, request: Request) -> None:
        began = self._now()
        try:
            reply = await self._measured(request)
            self.answered, self.futile = True, 0
        except Failed as error:
            reply = self._unmeasured(error.failure, self._now() - began)
        except Exception as error:  # noqa: BLE001 - whatever it is, the question gets its reason
            failure = Failure("unexpected", f"{type(error).__name__}: {error}")
            reply = self._unmeasured(failure, self._now() - began)
        self.done.put((index, replace(reply, text=self.redact.text(reply.text))))

    def _unmeasured(self, failure: Failure, seconds: float) -> Reply:
        self.futile = self.futile + 1 if failure.kind in FUTILE else 0
        many = self.futile >= max(LEAST_FUTILE, self.terms.concurrency)
        in_vain = many and (failure.kind in UNREACHABLE or not self.answered)
        if failure.kind == "quota_exceeded" or in_vain:
            self.stopped = self.stopped or failure
        if failure.kind == "content_filter":
            return Reply("", finish_reason="content_filter", seconds=seconds)
        line = self.redact.line(f"{failure.kind}: {failure.line}")
        return Reply("", "error", seconds=seconds, error=line)

    async def _measured(self, request: Request) -> Reply:
        """The reply to one question; Failed when no further try is worth it or its time is over."""
        deadline = self._now() + self.terms.timeout_s
        tries, last = 0, None
        while True:
            if self.stopped:
                raise Failed.of(last or _not_asked(self.stopped))
            await self._pause(deadline, last)
            began = self._now()
            try:
                reply = await self._once(request, deadline)
            except Failed as error:
                last = error.failure
            else:
                if reply is not None:
                    return replace(reply, seconds=self._now() - began)
                continue  # a field was left out: asked again at once, and not counted
            tries += 1
            wait = self._wait(last, tries)
            if tries > last.retries(self.terms.max_retries) or self._now() + wait >= deadline:
                raise Failed.of(_with_tries(last, tries))
            await asyncio.sleep(wait)

    async def _once(self, request: Request, deadline: float) -> Reply | None:
        """The reply of one try; None if the model was found not to take a field that was sent."""
        terms = self.terms
        body = wire.body_for(terms.model, request, frozenset(terms.learned), terms.extra)
        answer = await self.connection.ask(body, terms.timeout_first_s, deadline)
        if answer.status < 300:
            return wire.reply_from(answer, request, self.key_words)
        unknown = wire.rejected_field(answer, body)
        if unknown is None:
            raise Failed.of(of_answer(answer, self.key_words))
        if unknown not in terms.learned:
            terms.learned.add(unknown)
            _log.warning("%s does not take %s as sent; asked without it", terms.name, unknown)
        return None

    def _wait(self, failure: Failure, tries: int) -> float:
        """Seconds until the next try, with some chance in it, so that not all come back at once."""
        if failure.wait_s is None:
            most = min(MAX_BACKOFF_S, self.terms.backoff_s * 2.0 ** min(tries - 1, 30))
            return most * _chance.uniform(0.5, 1.0)
        if failure.kind == "rate_limited":
            self.resume_at = max(self.resume_at, self._now() + failure.wait_s)
        return failure.wait_s * _chance.uniform(1.0, 1.1)

    async def _pause(self, deadline: float, last: Failure | None) -> None:
        """None, once the wait that the endpoint asked of one question is over: it holds for all."""
        while (left := self.resume_at - self._now()) > 0:
            if self.resume_at >= deadline:
                line = "the endpoint asks to wait longer than model.timeout_s"
                raise Failed.of(last or Failure("rate_limited", line))
            await asyncio.sleep(left * _chance.uniform(1.0, 1.1))

    def _now(self) -> float:
        assert self.loop is not None
        return self.loop.time()


def _not_asked(why: Failure) -> Failure:
    return Failure("not_asked", f"after {why.kind}: {why.line}")


def _with_tries(failure: Failure, tries: int) -> Failure:
    if tries == 1:
        return failure
    return replace(failure, line=f"{failure.line.rstrip('.')} ({tries} tries)")
