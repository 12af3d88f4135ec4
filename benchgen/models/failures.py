"""Why an endpoint gave no answer: one short kind each, one line for people, and whether to ask again.

| kinds | asked again |
| --- | --- |
| rate_limited, server_error, request_timeout, conflict, connection_*, dns_failure, tls_failure, timeout_* | up to max_retries |
| not_json, empty_body, bad_encoding, no_choices, no_message, bad_content, duplicate_fields, error_in_body, generation_failed | twice at most |
| quota_exceeded | never, nor is any other question asked after it |
| unauthorized, forbidden, model_not_found, not_found, redirected, bad_request, context_too_long, body_too_large, unexpected | never |

`not_asked` is a question that was left out after such a failure; `content_filter` is no failure of the
endpoint but a refusal by its filter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlsplit

from benchgen.models.waits import asked_wait

TRANSIENT = frozenset(
    {
        *("rate_limited", "server_error", "request_timeout", "conflict"),
        *("connection_refused", "connection_reset", "connection_failed", "dns_failure"),
        *("tls_failure", "timeout_connect", "timeout_first_byte", "timeout_whole"),
    }
)
ODD = frozenset(
    {
        *("not_json", "empty_body", "bad_encoding", "no_choices", "no_message", "bad_content"),
        *("duplicate_fields", "error_in_body", "generation_failed"),
    }
)
ODD_RETRIES = 2
UNREACHABLE = frozenset({"connection_refused", "dns_failure", "tls_failure", "timeout_connect"})
FUTILE = UNREACHABLE | {"unauthorized", "forbidden", "model_not_found", "not_found", "redirected"}
"""What the next question is likely to meet, too."""


@dataclass(frozen=True)
class Failure:
    """One failed try."""

    kind: str
    line: str
    wait_s: float | None = None
    """What the endpoint asks to wait before the next try."""
    final: bool = False
    """The endpoint itself says that asking again is in vain."""

    def retries(self, most: int) -> int:
        """How often it is asked again."""
        if self.final:
            return 0
        if self.kind in TRANSIENT:
            return most
        return min(ODD_RETRIES, most) if self.kind in ODD else 0


class Failed(Exception):
    """A try that gave no answer."""

    def __init__(self, kind: str, line: str) -> None:
        self.failure = Failure(kind, line)
        super().__init__(kind)

    @classmethod
    def of(cls, failure: Failure) -> Self:
        found = cls(failure.kind, failure.line)
        found.failure = failure
        return found


@dataclass(frozen=True)
class Answer:
    """What came over the wire; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Told:
    """What an error's body says, in any of the shapes that servers use."""

    message: str = ""
    code: str = ""
    param: str = ""

    @property
    def all(self) -> str:
        return f"{self.code} {self.message}".lower()


def told(body: bytes | Mapping[str, Any]) -> Told:
    """The message, code and parameter of an error body; the text itself where it is no JSON."""
    if isinstance(body, bytes):
        text = body.decode("utf-8", "replace")
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            return Told("" if text.lstrip().startswith("<") else text)
    else:
        value = body
    if isinstance(value, list):
        value = value[0] if value else {}
    if isinstance(value, Mapping):
        inner = value.get("error") or value.get("detail") or value
        value = {"message": inner} if not isinstance(inner, Mapping) else inner
        nested = value.get("innererror")
        codes = [value.get("code"), value.get("type"), value.get("status")]
        codes += [nested.get("code")] if isinstance(nested, Mapping) else []
        return Told(
            _plain(value.get("message") or value.get("detail")),
            " ".join(str(code) for code in codes if isinstance(code, (str, int))),
            str(value.get("param") or ""),
        )
    return Told(_plain(value))


def _plain(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


_FILTERED = re.compile(
    r"content_filter|content_policy|content management policy|responsibleai|flagged|moderation"
)
_NO_MONEY = re.compile(
    r"insufficient_quota|insufficient[ _](?:balance|credits?|funds)|billing[ _]hard[ _]limit"
    r"|exceeded your current quota|credit balance is too low|payment required"
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context (?:window|size|length)|prompt is too long"
    r"|too many (?:input )?tokens"
)
_MODEL = re.compile(r"\bmodels?\b|deployment")


def of_answer(answer: Answer, key: str) -> Failure:
    """The failure that a status other than 2xx means. `key` names the key that was sent, by where it comes from."""
    body = told(answer.body)
    wait = asked_wait(answer.headers, answer.body[:20_000].decode("utf-8", "replace"))
    if 300 <= answer.status < 400:
        line = _redirected(answer.headers.get("location", ""), answer.status)
        return Failure("redirected", line)
    failure = _of_status(answer.status, body, key, wait)
    final = answer.headers.get("x-should-retry", "").strip().lower() == "false"
    return replace(failure, wait_s=wait, final=final)


def of_error(error: Any, key: str) -> Failure:
    """The failure that an error object inside an answer with status 200 means."""
    body, wait = told({"error": error}), asked_wait({}, _plain(error))
    status = re.search(r"\b([45]\d\d)\b", body.code)
    if status:
        failure = _of_status(int(status[1]), body, key, wait)
    elif _FILTERED.search(body.all):
        return Failure("content_filter", body.message)
    elif re.search(r"rate_?limit|too many requests", body.all):
        failure = _of_status(429, body, key, wait)
    elif _NO_MONEY.search(body.all):
        failure = _of_status(402, body, key, wait)
    else:
        failure = Failure("error_in_body", _line("an error instead of an answer", 200, body))
    return replace(failure, wait_s=wait)


_BY_STATUS = {
    402: ("quota_exceeded", "the account's quota or credit is used up"),
    405: ("not_found", "nothing answers there; model.base_url usually ends in /v1"),
    408: ("request_timeout", "the endpoint's own time limit was over"),
    409: ("conflict", "the endpoint was in conflict with another request"),
    413: ("context_too_long", "the prompt is too large for the endpoint"),
    425: ("conflict", "too early for the endpoint"),
    429: ("rate_limited", "too many requests or tokens for the endpoint's limit"),
    501: ("bad_request", "the endpoint cannot do that"),
}


def _of_status(status: int, body: Told, key: str, wait: float | None) -> Failure:
    if status == 401:
        return Failure("unauthorized", f"the endpoint does not accept {key} (HTTP 401)")
    if status in (400, 403, 422) and _FILTERED.search(body.all):
        return Failure("content_filter", body.message)
    # Some servers call a limit per minute a quota, too; they say how long it lasts.
    passes = wait is not None and "insufficient_quota" not in body.code
    if status in (400, 403, 429) and _NO_MONEY.search(body.all) and not passes:
        found = _BY_STATUS[402]
    elif status == 403:
        found = ("forbidden", f"the endpoint does not allow this with {key}")
    elif status == 404:
        found = _not_found(body)
    elif status in _BY_STATUS:
        found = _BY_STATUS[status]
    elif status >= 500:
        found = ("server_error", "the endpoint failed")
    elif _TOO_LONG.search(body.all):
        found = ("context_too_long", "the prompt is longer than the model takes")
    else:
        found = ("bad_request", "the endpoint does not take this request")
    return Failure(found[0], _line(found[1], status, body))


def _not_found(body: Told) -> tuple[str, str]:
    if _MODEL.search(body.all):
        return "model_not_found", "the endpoint has no such model; check model.name"
    return "not_found", "nothing answers there; model.base_url usually ends in /v1"


def _redirected(location: str, status: int) -> str:
    try:
        parts = urlsplit(location)
        # neither user, password nor query of it: this line is kept in records
        where = f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path
    except ValueError:
        where = ""
    to = f" to {where}" if where else ""
    return f"the endpoint points{to} (HTTP {status}) and is not followed; put it in model.base_url"


def _line(text: str, status: int, body: Told) -> str:
    said = f": {body.message}" if body.message else ""
    return f"{text} (HTTP {status}){said}"
