"""One request to an endpoint through the official client, bounded in time and size. Imports `openai`.

What goes out is the JSON body and the headers below, no more: none that environment variables add, nothing
about this machine, no cookie. Redirects are not followed. Proxies of the environment are used, but never
for this machine's own addresses.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import openai

from benchgen.models.failures import Answer, Failed
from benchgen.models.redact import Secret

CONNECT_S = 15.0
MAX_BODY_BYTES = 8 * 2**20
"""Of an answer; a longer one is a failure."""
MAX_ERROR_BYTES = 64 * 2**10
"""Of an error's body; the rest of a longer one is not read."""
SENT = frozenset(
    {"host", "content-type", "content-length", "accept", "connection", "x-stainless-raw-response"}
)
"""The last one is how the library itself remembers that it is to hand on the answer unread."""

# At the finer levels they log headers that a server may have copied the key into.
for _name in ("openai", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Connection:
    """A client of one endpoint, to be closed in the event loop that used it."""

    def __init__(self, base_url: str, key: Secret, *, concurrency: int, first_s: float) -> None:
        async def only_ours(request: httpx2.Request) -> None:
            for name in set(request.headers) - SENT:
                del request.headers[name]
            request.headers["user-agent"] = "benchgen"
            request.headers["accept-encoding"] = "identity"
            if key:
                request.headers["authorization"] = f"Bearer {key.reveal()}"

        # Plain http needs no certificates, and reading them takes 50 ms; this context trusts nobody.
        plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        http = httpx2.AsyncClient(
            verify=True if base_url.startswith("https:") else plain,
            timeout=httpx2.Timeout(None, connect=min(first_s, CONNECT_S)),
            limits=httpx2.Limits(max_connections=concurrency, keepalive_expiry=4.0),
            follow_redirects=False,
            trust_env=not is_this_machine(base_url),
            event_hooks={"request": [only_ours], "response": [_bounded]},
        )
        # A word in place of the key: the library wants one, and then cannot show another.
        self._client = openai.AsyncOpenAI(
            api_key="in-the-header", base_url=base_url, max_retries=0, http_client=http
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def ask(self, body: dict[str, Any], first_s: float, whole_at: float) -> Answer:
        """The answer, whatever its status; Failed where none came, or none in time.

        `first_s` is the time to the first byte of its body, `whole_at` the moment (of the loop's clock)
        at which the rest must be here.
        """
        first_at = min(asyncio.get_running_loop().time() + first_s, whole_at)
        limit = asyncio.timeout_at(first_at)
        try:
            async with limit:
                return await self._exchange(body, limit, whole_at)
        except TimeoutError:
            if limit.when() == whole_at:
                raise Failed("timeout_whole", "no whole answer within model.timeout_s") from None
            line = f"no answer began within {first_s:g} s (model.timeout_first_s)"
            raise Failed("timeout_first_byte", line) from None

    async def _exchange(
        self, body: dict[str, Any], limit: asyncio.Timeout, whole_at: float
    ) -> Answer:
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        parts, size = [], 0
        try:
            async with self._client.chat.completions.with_streaming_response.create(
                model=body["model"], messages=body["messages"], extra_body=rest
            ) as response:
                async for part in response.iter_bytes():
                    if not limit.expired():
                        limit.reschedule(whole_at)
                    parts.append(part)
                    size += len(part)
                    if size > MAX_BODY_BYTES:
                        raise Failed("body_too_large", f"an answer of over {MAX_BODY_BYTES} bytes")
        except openai.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            return Answer(error.status_code, headers, error.response.content)
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            raise Failed(*_why(error)) from None
        return Answer(200, {}, b"".join(parts))


def is_this_machine(base_url: str) -> bool:
    """Whether the host is a loopback address."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def _bounded(response: httpx2.Response) -> None:
    """None. An error's body is read up to a limit, and as it stands."""
    if response.status_code >= 300 and isinstance(response.stream, httpx2.AsyncByteStream):
        response.headers.pop("content-encoding", None)
        response.stream = _Head(response.stream)


class _Head(httpx2.AsyncByteStream):
    """The first bytes of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ERROR_BYTES
        async for part in self._stream:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                break

    async def aclose(self) -> None:
        await self._stream.aclose()


def _why(error: BaseException) -> tuple[str, str]:
    """(kind, line) of a connection that could not be made or broke off."""
    causes = list(_causes(error))
    for kinds, kind, line in _CAUSES:
        if any(isinstance(cause, kinds) for cause in causes):
            return kind, line
    names = ", ".join(dict.fromkeys(type(cause).__name__ for cause in causes))
    return "connection_failed", f"the connection failed ({names})"


_CAUSES: tuple[tuple[tuple[type[BaseException], ...], str, str], ...] = (
    (
        (socket.gaierror,),
        "dns_failure",
        "the host name of model.base_url is not known here; offline, or misspelt",
    ),
    (
        (ssl.SSLError,),
        "tls_failure",
        "no secure connection; wrong certificate, or plain http behind https",
    ),
    (
        (ConnectionRefusedError,),
        "connection_refused",
        "nothing listens at model.base_url; is the server up?",
    ),
    ((httpx2.ConnectTimeout,), "timeout_connect", "no connection in time"),
    (
        (httpx2.DecodingError,),
        "bad_encoding",
        "the answer's compression cannot be read",
    ),
    (
        (ConnectionResetError, BrokenPipeError, httpx2.RemoteProtocolError, httpx2.ReadError),
        "connection_reset",
        "the endpoint broke off the connection",
    ),
)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that led to it."""
    waiting, seen = [error], set[int]()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += [cause for cause in (found.__cause__, found.__context__) if cause is not None]
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions
