"""A real HTTP server on loopback that answers as a test tells it to, and misbehaves on demand.

    with ScriptedServer([Answer(status=503), said("Answer: B")]) as server:
        model = EndpointModel("m", server.url, "m")
        ...
    server.received[0].body["messages"]

A script is a sequence, used one after the other, or a function from what was received to the answer. A
sequence that is asked for more than it holds fails the test at the end of the `with`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    raw: bytes
    at: float
    """time.monotonic() when it was whole."""

    @property
    def body(self) -> dict[str, Any]:
        found = json.loads(self.raw)
        assert isinstance(found, dict)
        return found

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Answer:
    """What is sent back, and how."""

    body: Any = b""
    """Bytes and text as they are, anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    """Before the status line."""
    stall_s: float = 0.0
    """Between headers and body."""
    drip_s: float = 0.0
    """Before each byte of the body."""
    drop: str = ""
    """'before' the status line, after the 'headers', or in the middle of the 'body': the connection is reset."""
    length: int | None = None
    """Content-Length, where it is to differ from the body's."""

    @property
    def raw(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode("utf-8", "surrogatepass")


Script = Sequence[Answer] | Callable[[Received], Answer]


def completion(content: Any = "Answer: A", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion as the API documents it; `message` are further fields of its message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def said(content: Any = "Answer: A", finish: Any = "stop", **message: Any) -> Answer:
    """A good answer with that content."""
    return Answer(completion(content, finish, **message))


def refused(status: int, message: str = "", **error: Any) -> Answer:
    """An error in the API's own shape; `error` are its further fields: code, type, param."""
    return Answer({"error": {"message": message, **error}}, status=status)


class ScriptedServer:
    """The server while its `with` lasts. `url` is a base URL, `received` all requests, `peak` most at once."""

    def __init__(self, script: Script) -> None:
        self.received: list[Received] = []
        self.peak = 0
        self.unscripted = 0
        self.faults: list[BaseException] = []
        self._script = script
        self._lock = threading.Lock()
        self._now = 0
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)
        if error is None:
            assert not self.faults, self.faults
            assert not self.unscripted, f"{self.unscripted} requests more than the script holds"

    def answer(self, request: Received) -> Answer:
        """What the script says; noted in `received` and counted as in flight until `finished`."""
        with self._lock:
            index = len(self.received)
            self.received.append(request)
            self._now += 1
            self.peak = max(self.peak, self._now)
        if callable(self._script):
            return self._script(request)
        if index < len(self._script):
            return self._script[index]
        self.unscripted += 1
        return refused(418, "the script is over")

    def finished(self) -> None:
        with self._lock:
            self._now -= 1

    def wait(self, seconds: float) -> None:
        """None, after that time or when the server is to close."""
        if seconds > 0:
            self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is no fault; anything else fails the test."""
        import sys

        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, (ConnectionError, TimeoutError)):
            self.owner.faults.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement
    server: _Server
    timeout = 30.0

    def log_message(self, format: str, *args: Any) -> None:
        """None; nothing is written."""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, raw, time.monotonic())
        try:
            self._send(self.server.owner.answer(request))
        finally:
            self.server.owner.finished()

    def _send(self, answer: Answer) -> None:
        wait, raw = self.server.owner.wait, answer.raw
        wait(answer.delay_s)
        if answer.drop == "before":
            return self._reset()
        self.send_response(answer.status)
        named = {name.lower() for name in answer.headers}
        if "content-type" not in named:
            self.send_header("Content-Type", "application/json")
        if "content-length" not in named:
            size = len(raw) if answer.length is None else answer.length
            self.send_header("Content-Length", str(size))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if answer.drop == "headers":
            return self._reset()
        wait(answer.stall_s)
        if answer.drip_s:
            for i in range(len(raw)):
                wait(answer.drip_s)
                self.wfile.write(raw[i : i + 1])
        else:
            self.wfile.write(raw[: len(raw) // 2] if answer.drop == "body" else raw)
        if answer.drop == "body":
            self._reset()
        elif answer.length is not None and answer.length != len(raw):
            self.close_connection = True
        return None

    def _reset(self) -> None:
        """None; the other side sees a reset, not an end."""
        self.close_connection = True
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        os.close(self.connection.detach())
