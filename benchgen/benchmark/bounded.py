"""Work on bytes that nobody vouches for, in a process of its own that may use so much memory and time.

A file of a few kilobytes can unpack to any size or nest to any depth, and only the library that reads it
sees how far. So that library runs in a child process: what it uses up is taken from the child alone.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from benchgen import errors
from benchgen.errors import BenchgenError, DataError, InputError

Work = Callable[[Mapping[str, Any], bytes], bytes]
"""What a child does: (what it is told, the bytes given) -> the bytes found."""


@dataclass(frozen=True)
class Limits:
    """What a child may use."""

    memory: int = 2 * 2**30
    """Bytes of address space."""
    seconds: int = 60
    """Of the processor; on the clock twice as long, since other work may hold it up."""
    output: int = 256 * 2**20
    """Bytes that it hands back."""


_CHILD = "from benchgen.benchmark.bounded import serve; serve()"
_ONE_THREAD = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Each thread of these libraries would take address space of its own, whatever the file."""
_OK, _TOLD = b"ok\n", b"error\n"


def call(
    work: str, told: Mapping[str, Any], given: BinaryIO, name: str, limits: Limits | None = None
) -> bytes:
    """The bytes that `work`, as `module:function`, makes of `given`, an open file read from its place on.

    An InputError of the function is raised here as it was there. DataError, which names `name`, where it
    used more than its limits or broke on what was given; BenchgenError where the child could not begin.
    """
    limits = limits or Limits()
    telling = json.dumps([work, dict(told), [limits.memory, limits.seconds, limits.output]])
    with tempfile.TemporaryFile() as found, tempfile.TemporaryFile() as said:
        try:
            code = subprocess.run(
                [sys.executable, "-P", "-c", _CHILD, telling],
                stdin=given,
                stdout=found,
                stderr=said,
                env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
                timeout=2 * limits.seconds,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = -signal.SIGXCPU
        found.seek(0)
        status, body = found.readline(10), found.read()
        said.seek(0)
        last = said.read(2**20).decode(errors="replace").strip().rpartition("\n")[2][:300]
    if code == 0 and status == _OK:
        return body
    if code == 0 and status == _TOLD:
        raise _error(json.loads(body), name)
    why = _why(code, limits)
    if not why:
        raise BenchgenError(f"{name}: the process that reads it could not begin: {last}")
    raise DataError(
        f"{name}: {why}",
        next=_NEXT,
    )


def serve() -> None:
    """The child: limits itself, does the work, and writes what it found or the error."""
    work, told, (memory, seconds, output) = json.loads(sys.argv[1])
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, output),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    module, _, function = work.partition(":")
    do: Work = getattr(importlib.import_module(module), function)
    try:
        answer = _OK + do(told, sys.stdin.buffer.read())
    except InputError as error:
        fields = [type(error).__name__, error.what, error.got, error.allowed, error.next]
        answer = _TOLD + json.dumps(fields, default=str).encode()
    except MemoryError:
        os._exit(_NO_MEMORY)
    except RecursionError:
        os._exit(_NESTED)
    except Exception as error:  # noqa: BLE001 - whatever a library raises on bytes that are not as it thinks
        answer = _TOLD + json.dumps(["", f"{type(error).__name__}: {error}"[:200]]).encode()
    if len(answer) > output:
        os._exit(_TOO_LONG)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


_NEXT = "save it anew in a simpler form, such as CSV, JSONL or plain text, or split it"
_NO_MEMORY, _NESTED, _TOO_LONG = 3, 4, 5
"""Exit codes of a child."""


def _why(code: int, limits: Limits) -> str:
    """What a child used up; "" where it did not even begin."""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"reading it takes more than {limits.seconds} seconds"
    if code in (_NO_MEMORY, -signal.SIGABRT, -signal.SIGSEGV):
        return f"reading it takes more than {limits.memory >> 20} MiB of memory"
    if code == _TOO_LONG:
        return f"it unpacks to more than {limits.output >> 20} MiB"
    return "it is nested too deeply" if code == _NESTED else ""


def _error(fields: list[Any], shown: str) -> InputError:
    name, what, *rest = fields
    if not name:
        return DataError(f"{shown}: it is damaged and cannot be read: {what}", next=_NEXT)
    got, allowed, next_step = rest
    kind = getattr(errors, name, DataError)
    found: InputError = kind(what, got=got, allowed=allowed, next=next_step)
    return found
