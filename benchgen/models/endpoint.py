"""A model behind an OpenAI-compatible endpoint: asked in parallel, each question measured or null with its reason.

A failed question is a reply whose `error` is "kind: line" (failures.py has the kinds). Streaming is off:
an answer counts as a whole, so the time to its first byte includes its making. The key is read from its
environment variable when questions are asked, and is in nothing that leaves these modules.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchgen.errors import ConfigError, ModelError
from benchgen.models.asking import Asking, Terms
from benchgen.models.redact import Secret
from benchgen.models.wire import OWN
from benchgen.types import Reply, Request, canonical, sha256

if TYPE_CHECKING:
    from benchgen.models.transport import Connection

LEAST = {"concurrency": 1, "max_retries": 0, "backoff_s": 0}
ADDRESS = "http://HOST:PORT/v1 or https://HOST/v1"


@dataclass(frozen=True, eq=False)
class EndpointModel:
    """Answers through `POST base_url/chat/completions`. ConfigError for settings that cannot be used."""

    name: str
    base_url: str
    model: str
    """The endpoint's own name for it."""
    api_key_env: str | None = "OPENAI_API_KEY"
    """The environment variable of the key; None, or one that is not set, sends no key."""
    concurrency: int = 8
    """Questions asked at once."""
    timeout_first_s: float = 300.0
    """From a request to the first byte of its answer."""
    timeout_s: float = 600.0
    """For a question as a whole, all its tries and waits together."""
    max_retries: int = 6
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body: top_p, reasoning_effort …"""
    backoff_s: float = 0.5
    """The first wait before asking again; it doubles each time."""
    _learned: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", checked_url(self.base_url))
        object.__setattr__(self, "extra", _checked_extra(self.extra))
        _check_variable(self.api_key_env)
        if not self.model:
            raise ConfigError("The endpoint needs the name of a model", next="model.name=…")
        for name, least in LEAST.items():
            if not getattr(self, name) >= least:
                raise ConfigError(
                    f"{name} is too small", got=getattr(self, name), allowed=f"{least} or more"
                )
        for name in ("timeout_first_s", "timeout_s"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is no time", got=getattr(self, name), allowed="over 0")

    @property
    def fingerprint(self) -> str:
        """16 hex digits over the address, the model's name and `extra`; weights are out of sight here."""
        told = {"endpoint": self.base_url, "model": self.model, "extra": self.extra}
        return sha256(told)[:16]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Request fields this model was found not to take: temperature, stop, max_tokens (renamed) …"""
        return tuple(sorted(self._learned))

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index, reply) as they finish; at most `concurrency` questions are asked and not yet taken."""
        if not requests:
            return
        key = self._key()
        terms = Terms(
            name=self.name,
            model=self.model,
            concurrency=self.concurrency,
            timeout_first_s=self.timeout_first_s,
            timeout_s=self.timeout_s,
            max_retries=self.max_retries,
            backoff_s=self.backoff_s,
            extra=dict(self.extra),
            learned=self._learned,
        )
        asking = Asking(terms, self._connection(key), key, _key_words(self.api_key_env, key))
        yield from asking.replies(list(requests))

    def _key(self) -> Secret:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        if not re.fullmatch(r"[\x21-\x7e]*", key):
            raise ConfigError(
                f"The key in {self.api_key_env} holds a character that no key can have",
                next=f"export {self.api_key_env}=… once more, without spaces or quotes",
            )
        return Secret(key)

    def _connection(self, key: Secret) -> Connection:
        try:
            from benchgen.models.transport import Connection  # openai: a second to import

            return Connection(
                self.base_url, key, concurrency=self.concurrency, first_s=self.timeout_first_s
            )
        except ImportError as error:
            raise ModelError(
                f"An endpoint needs a package that is not installed: {error.name or 'socksio'}",
                next=f"pip install {'openai' if error.name else 'socksio'}",
            ) from None
        except Exception as error:  # noqa: BLE001 - its text may hold a proxy's password
            raise ModelError(
                f"No HTTP client for {self.base_url} could be made ({type(error).__name__})",
                next="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE",
            ) from None


def checked_url(base_url: str) -> str:
    """The address as it is recorded: http(s), lower-case host, no user, password, query or fragment.

    ConfigError, without showing it, for any other.
    """
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[\w.:%-]+", host):
        raise ConfigError(
            "model.base_url is no http address", allowed=ADDRESS, next=f"model.base_url={ADDRESS}"
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"model.base_url for {host} holds more than an address: a user, a password or a query",
            allowed=ADDRESS,
            next="put the key in an environment variable and name it: model.api_key_env=NAME",
        )
    host = f"[{host}]" if ":" in host else host
    port = None if port == {"http": 80, "https": 443}[parts.scheme] else port
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}"


def _check_variable(name: str | None) -> None:
    """None; ConfigError, without showing it, for what is no variable's name: perhaps the key itself."""
    if name is None:
        return
    like_a_key = len(name) >= 16 and re.search("[a-z]", name) and re.search("[0-9]", name)
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or like_a_key:
        raise ConfigError(
            "model.api_key_env is the name of an environment variable, not a key",
            allowed="a name such as OPENAI_API_KEY, or null for no key",
            next="export OPENAI_API_KEY=… and model.api_key_env=OPENAI_API_KEY",
        )


def _checked_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    names = sorted(str(name) for name in extra)
    if taken := [name for name in names if name in OWN]:
        raise ConfigError(
            "model.extra sets what follows from the benchmark or the model",
            got=taken,
            next="leave it out; the benchmark's evaluation has the limits and stops",
        )
    if re.search(r"(?i)api_?key|authori[sz]ation|secret|passw", " ".join(names)):
        raise ConfigError(
            "model.extra may hold no key: it is kept in records", next="model.api_key_env=NAME"
        )
    try:
        plain: dict[str, Any] = json.loads(canonical(dict(extra)))
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("model.extra holds what JSON cannot", got=names) from None
    return plain


def _key_words(variable: str | None, key: Secret) -> str:
    """The key as an error line speaks of it."""
    if variable is None:
        return "a request without a key; name its environment variable in model.api_key_env"
    return f"the key in {variable}" if key else f"a request without a key; {variable} is not set"
