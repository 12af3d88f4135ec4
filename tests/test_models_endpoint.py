"""A model behind an endpoint: asked over real HTTP on loopback, by a server that fails in every way it can."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from email.utils import formatdate
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchgen import scoring
from benchgen.errors import ConfigError, ModelError
from benchgen.models import asking, failures, wire
from benchgen.models.endpoint import EndpointModel, checked_url
from benchgen.models.failures import Answer as Raw
from benchgen.models.failures import Failed, of_answer
from benchgen.models.redact import HIDDEN, LINE_CHARS, Redactor, Secret
from benchgen.models.waits import MAX_WAIT_S, asked_wait
from benchgen.run.runner import Task, trace_of
from benchgen.types import Evaluation, Question, Reply, Request
from tests.servers import Answer, Received, ScriptedServer, completion, refused, said

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

KEY = "sk-canary-Zq7/w+3XkT9=e2Vb5"
VARIABLE = "BENCHGEN_TEST_KEY"


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """The client's import takes a second; here it counts for no test."""
    import openai  # noqa: F401


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)


def model(url: str, **settings: Any) -> EndpointModel:
    """A model that loses no time when it has to ask again."""
    settings = {"api_key_env": VARIABLE, "backoff_s": 0.005, "timeout_s": 20.0, **settings}
    return EndpointModel("mine", url, "served", **settings)


def ask(text: str = "question", **fields: Any) -> Request:
    return Request(({"role": "user", "content": text},), **fields)


def asks(number: int) -> list[Request]:
    return [ask(f"question {i}") for i in range(number)]


def one(script: Sequence[Answer], request: Request | None = None, **settings: Any) -> Reply:
    """The reply to one question; every answer of the script is used."""
    with ScriptedServer(script) as server:
        [(_, reply)] = model(server.url, **settings).generate([request or ask()])
        assert len(server.received) == len(script)
    return reply


def kind(reply: Reply) -> str:
    assert (reply.text, reply.finish_reason) == ("", "error")
    assert reply.error is not None
    return reply.error.partition(":")[0]


# --- a good answer ---------------------------------------------------------------------------


def test_an_answer_has_its_text_its_tokens_and_its_time() -> None:
    reply = one([said("Answer: B")])
    assert (reply.text, reply.finish_reason, reply.error) == ("Answer: B", "stop", None)
    assert (reply.tokens_in, reply.tokens_out) == (7, 3)
    assert reply.seconds > 0


def test_the_request_says_what_is_asked_and_nothing_else() -> None:
    with ScriptedServer([said()]) as server:
        asked = ask("what?", max_new_tokens=9, stop=("\n\n",), temperature=0.0, seed=3)
        list(model(server.url, extra={"top_p": 0.5}).generate([asked]))
    [received] = server.received
    assert received.path == "/v1/chat/completions"
    assert received.body == {
        "model": "served",
        "messages": [{"role": "user", "content": "what?"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "stop": ["\n\n"],
        "top_p": 0.5,
    }


def test_repeats_have_seeds_of_their_own_and_sampling_goes_along() -> None:
    bodies = [
        wire.body_for(
            "m", ask(temperature=0.7, seed=3, repeat=r, top_p=0.9, top_k=5), frozenset(), {}
        )
        for r in range(3)
    ]
    assert len({body["seed"] for body in bodies}) == 3
    assert {(body["top_p"], body["top_k"]) for body in bodies} == {(0.9, 5)}
    assert "top_k" not in wire.body_for("m", ask(temperature=0.7), frozenset(), {})


def test_a_seed_goes_along_where_something_is_drawn() -> None:
    body = wire.body_for("m", ask(temperature=0.7, seed=3), frozenset(), {})
    assert (body["temperature"], body["seed"]) == (0.7, 3)


def test_no_header_tells_of_this_machine_or_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-another-one-12345678",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "OPENAI_ORG_ID": "org-1",
        "OPENAI_PROJECT_ID": "proj-1",
        "OPENAI_CUSTOM_HEADERS": "X-Mine: 1\nAuthorization: Bearer other",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    with ScriptedServer([said()]) as server:
        [(_, reply)] = model(server.url).generate([ask()])
    assert reply.error is None
    headers = dict(server.received[0].headers)
    assert headers.pop("authorization") == f"Bearer {KEY}"
    assert headers.pop("user-agent") == "benchgen"
    assert set(headers) == {
        *("host", "connection", "accept", "accept-encoding", "content-type", "content-length"),
        "x-stainless-raw-response",
    }


@pytest.mark.parametrize("variable", [None, "BENCHGEN_TEST_UNSET"])
def test_without_a_key_none_is_sent(variable: str | None) -> None:
    with ScriptedServer([said()]) as server:
        [(_, reply)] = model(server.url, api_key_env=variable).generate([ask()])
    assert reply.error is None
    assert "authorization" not in server.received[0].headers


def test_no_question_no_request() -> None:
    assert list(model("http://127.0.0.1:1/v1").generate([])) == []


# --- many at once ----------------------------------------------------------------------------


def test_replies_come_in_the_order_they_finish() -> None:
    def slow_first(received: Received) -> Answer:
        return Answer(completion(received.prompt), delay_s=0.15 * received.prompt.endswith("0"))

    with ScriptedServer(slow_first) as server:
        replies = list(model(server.url, concurrency=2).generate(asks(3)))
    assert [index for index, _ in replies] == [1, 2, 0]
    assert all(reply.text == f"question {index}" for index, reply in replies)


def test_no_more_are_asked_at_once_than_allowed() -> None:
    with ScriptedServer(lambda r: Answer(completion(r.prompt), delay_s=0.02)) as server:
        replies = dict(model(server.url, concurrency=3).generate(asks(12)))
    assert server.peak == 3
    assert sorted(r.prompt for r in server.received) == sorted(f"question {i}" for i in range(12))
    assert {i: reply.text for i, reply in replies.items()} == {
        i: f"question {i}" for i in range(12)
    }


def test_what_was_not_taken_holds_its_place() -> None:
    """A killed run then repeats no more than `concurrency` calls."""
    with ScriptedServer(lambda _: said()) as server:
        replies = iter(model(server.url, concurrency=2).generate(asks(10)))
        next(replies)
        time.sleep(0.1)
        del replies  # which closes the generator
    assert len(server.received) <= 2


@pytest.mark.slow
def test_two_hundred_questions_are_all_answered() -> None:
    with ScriptedServer(lambda r: said(r.prompt)) as server:
        replies = dict(model(server.url, concurrency=16).generate(asks(200)))
    assert {i: reply.text for i, reply in replies.items()} == {
        i: f"question {i}" for i in range(200)
    }
    assert server.peak <= 16


def test_it_works_where_an_event_loop_is_running() -> None:
    async def notebook(url: str) -> list[tuple[int, Reply]]:
        return list(model(url).generate(asks(2)))

    with ScriptedServer(lambda _: said()) as server:
        assert len(asyncio.run(notebook(server.url))) == 2


def test_asking_ends_with_the_one_who_listens() -> None:
    """A generator that is left early leaves no thread and no call behind."""
    with ScriptedServer(lambda _: Answer(completion(), delay_s=0.05)) as server:
        for _ in model(server.url, concurrency=2).generate(asks(50)):
            break
        assert "endpoint" not in {thread.name for thread in threading.enumerate()}
    assert len(server.received) <= 4


# --- what is asked again ---------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_asked_again(status: int) -> None:
    assert one([refused(status, "later"), said("B")]).text == "B"


@pytest.mark.parametrize("drop", ["before", "headers", "body"])
def test_a_reset_is_asked_again(drop: str) -> None:
    assert one([Answer(completion(), drop=drop), said("B")]).text == "B"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (refused(429, "slow down"), "rate_limited"),
        (refused(503, "overloaded"), "server_error"),
        (refused(408), "request_timeout"),
        (refused(409), "conflict"),
        (Answer(completion(), drop="before"), "connection_reset"),
        (Answer(completion(), drop="body"), "connection_reset"),
        (Answer(completion(), length=10_000), "connection_reset"),
    ],
)
def test_what_does_not_pass_is_given_up(answer: Answer, expected: str) -> None:
    reply = one([answer] * 3, max_retries=2)
    assert kind(reply) == expected
    assert "(3 tries)" in str(reply.error)


@pytest.mark.parametrize(
    ("answer", "expected", "says"),
    [
        (refused(400, "bad"), "bad_request", "bad"),
        (refused(401, "bad key"), "unauthorized", f"the key in {VARIABLE}"),
        (refused(403, "no access"), "forbidden", f"the key in {VARIABLE}"),
        (refused(404, "The model `x` does not exist"), "model_not_found", "model.name"),
        (Answer("<html>404</html>", 404), "not_found", "/v1"),
        (Answer({"detail": "Not Found"}, 404), "not_found", "/v1"),
        (refused(405, "no"), "not_found", "/v1"),
        (refused(402, "Insufficient credits"), "quota_exceeded", "credit"),
        (refused(413, "large"), "context_too_long", "large"),
        (
            refused(400, "maximum context length is 8", code="context_length_exceeded"),
            "context_too_long",
            "8",
        ),
        (refused(422, "nope"), "bad_request", "nope"),
        (Answer({"detail": [{"loc": ["body"], "msg": "odd"}]}, 422), "bad_request", "odd"),
        (Answer([{"error": {"code": 400, "message": "listed"}}], 400), "bad_request", "listed"),
        (Answer({"object": "error", "message": "old vLLM"}, 400), "bad_request", "old vLLM"),
        (Answer("plain words", 400), "bad_request", "plain words"),
        (refused(429, "none left", code="insufficient_quota"), "quota_exceeded", "none left"),
        (refused(429, "You exceeded your current quota"), "quota_exceeded", "current quota"),
        (Answer(b"\xff\xfe", 418), "bad_request", "418"),
        (
            Answer(refused(500, "no").body, 500, {"X-Should-Retry": "false"}),
            "server_error",
            "no",
        ),
        (Answer(b"x" * (9 * 2**20)), "body_too_large", "8388608"),
    ],
)
def test_what_would_fail_again_is_asked_once(answer: Answer, expected: str, says: str) -> None:
    reply = one([answer])
    assert kind(reply) == expected
    assert says in str(reply.error)


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    assert f"{VARIABLE} is not set" in str(one([refused(401, "who?")]).error)
    assert "model.api_key_env" in str(one([refused(401, "who?")], api_key_env=None).error)


def test_a_huge_error_is_not_read_to_its_end() -> None:
    assert one([Answer(b"x" * 9_000_000, 500), said("B")]).text == "B"


# --- time ------------------------------------------------------------------------------------


def test_no_first_byte_in_time() -> None:
    late = [Answer(completion(), delay_s=9), Answer(completion(), stall_s=9)]
    reply = one(late, timeout_first_s=0.15, max_retries=1)
    assert kind(reply) == "timeout_first_byte"
    assert reply.seconds > 0.29


def test_an_answer_that_never_ends() -> None:
    reply = one([Answer(completion(), drip_s=0.03)], timeout_first_s=0.2, timeout_s=0.3)
    assert kind(reply) == "timeout_whole"


def test_a_late_answer_is_asked_for_again() -> None:
    assert one([Answer(completion(), delay_s=9), said("B")], timeout_first_s=0.15).text == "B"


def test_all_tries_together_have_one_limit() -> None:
    with ScriptedServer(lambda _: refused(503, "later")) as server:
        patient = model(server.url, timeout_s=0.3, max_retries=10**6, backoff_s=0.05)
        [(_, reply)] = patient.generate([ask()])
    assert kind(reply) in (
        "server_error",
        "timeout_whole",
    )  # a slow machine is in the midst of a try


# --- waiting as asked ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        Answer({}, 429, {"Retry-After": "0.2"}),
        Answer({}, 503, {"Retry-After": "0.2"}),
        Answer({}, 429, {"Retry-After-Ms": "200", "Retry-After": "9"}),
        Answer({}, 429, {"X-RateLimit-Reset-Requests": "200ms"}),
        refused(429, "Limit reached. Please try again in 200ms."),
    ],
)
def test_the_wait_that_is_asked_for_is_kept(answer: Answer) -> None:
    with ScriptedServer([answer, said()]) as server:
        [(_, reply)] = model(server.url).generate([ask()])
    assert reply.error is None
    first, second = server.received
    assert second.at - first.at >= 0.2


@pytest.mark.slow
def test_a_wait_holds_for_every_question() -> None:
    """One question hears of the limit; the others do not run into it, one after the other."""

    def limited(received: Received) -> Answer:
        first = received is server.received[0]
        return Answer({}, 429, {"Retry-After": "0.3"}) if first else said()

    with ScriptedServer(limited) as server:
        list(model(server.url, concurrency=1).generate(asks(2)))
        server.received.clear()
        list(model(server.url, concurrency=2).generate(asks(8)))
    began = server.received[0].at
    early = [r for r in server.received[1:] if r.at - began < 0.3]
    assert len(early) <= 2  # what was in flight already
    assert len(server.received) == 9


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "100000"}, MAX_WAIT_S),
        ({"retry-after": formatdate(NOW + 12, usegmt=True)}, 12),
        ({"retry-after": formatdate(NOW - 12, usegmt=True)}, 0),
        (
            # the endpoint's clock is five minutes ahead
            {
                "retry-after": formatdate(NOW + 312, usegmt=True),
                "date": formatdate(NOW + 300, usegmt=True),
            },
            12,
        ),
        ({"retry-after": str(int(NOW) + 9)}, 9),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "99999999999999999999999"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"x-ratelimit-reset-requests": "1s"}, 1),
        ({"x-ratelimit-reset-tokens": "0m30s"}, 30),
        ({"x-ratelimit-reset-tokens": "1h"}, MAX_WAIT_S),
        (
            {
                "x-ratelimit-remaining-requests": "12",
                "x-ratelimit-reset-requests": "50s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "20ms",
            },
            0.02,
        ),
        ({"x-ratelimit-reset": str(int((NOW + 8) * 1000))}, 8),
        ({"x-ratelimit-reset": str(int(NOW + 8))}, 8),
        ({"ratelimit-reset": "5"}, 5),
        ({"ratelimit": '"default";r=0;t=30'}, 30),
        ({"ratelimit": "limit=10, remaining=0, reset=30"}, 30),
        ({"anthropic-ratelimit-requests-reset": "2023-11-14T22:13:30Z"}, 10),
        ({"x-ratelimit-limit-requests": "5"}, None),
        ({}, None),
    ],
)
def test_every_form_of_a_wait_is_read(headers: dict[str, str], expected: float | None) -> None:
    assert asked_wait(headers, now=NOW) == (
        expected if expected is None else pytest.approx(expected)
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Rate limit reached. Please try again in 1.242s.", 1.242),
        ("Please try again in 6m0s", MAX_WAIT_S),
        ("try again in 20 ms", 0.02),
        ("Please retry after 12 seconds.", 12),
        ('{"details": [{"retryDelay": "34.5s"}]}', 34.5),
        ("You have 3 requests left", None),
    ],
)
def test_a_wait_in_words_is_read(body: str, expected: float | None) -> None:
    assert asked_wait({}, body) == expected


@given(
    st.dictionaries(st.sampled_from(["retry-after", "ratelimit", "x-ratelimit-reset"]), st.text())
)
def test_no_header_breaks_the_reading_of_waits(headers: dict[str, str]) -> None:
    found = asked_wait(headers, " ".join(headers.values()))
    assert found is None or 0 <= found <= MAX_WAIT_S


def test_waits_grow_and_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubling, up to a limit, and never the same for all."""
    monkeypatch.setattr(asking, "_chance", random.Random(1))
    terms = asking.Terms("m", "m", 1, 1, 1, 1, 0.5, {}, set())
    waiting = asking.Asking(terms, None, Secret(), "")  # type: ignore[arg-type]
    failure = failures.Failure("server_error", "")
    waits = [waiting._wait(failure, tries) for tries in (1, 2, 3, 4, 30, 5000)]
    bounds = [0.5, 1, 2, 4, asking.MAX_BACKOFF_S, asking.MAX_BACKOFF_S]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, bounds, strict=True))
    assert len({waiting._wait(failure, 1) for _ in range(9)}) == 9


# --- when the rest is not asked --------------------------------------------------------------


def test_nothing_is_asked_after_the_quota_is_used_up() -> None:
    script = [said(), refused(429, "none left", code="insufficient_quota")]
    with ScriptedServer(script) as server:
        replies = dict(model(server.url, concurrency=1).generate(asks(50)))
    assert replies[0].error is None
    assert kind(replies[1]) == "quota_exceeded"
    assert {kind(replies[i]) for i in range(2, 50)} == {"not_asked"}
    assert "quota_exceeded" in str(replies[49].error)


def test_a_key_that_is_never_accepted_is_not_tried_for_every_question() -> None:
    with ScriptedServer(lambda _: refused(401, "no")) as server:
        replies = dict(model(server.url, concurrency=2).generate(asks(30)))
    assert len(server.received) <= 5
    assert kind(replies[0]) == "unauthorized"
    assert kind(replies[29]) == "not_asked"
    assert VARIABLE in str(replies[29].error)


def test_questions_that_are_forbidden_now_and_then_stop_nothing() -> None:
    def script(received: Received) -> Answer:
        return said() if received.prompt.endswith(("0", "5")) else refused(403, "not this one")

    with ScriptedServer(script) as server:
        replies = dict(model(server.url, concurrency=5).generate(asks(20)))
    assert len(server.received) == 20
    assert {i for i, reply in replies.items() if reply.error is None} == {0, 5, 10, 15}


def closed_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_is_not_there() -> None:
    gone = model(f"http://127.0.0.1:{closed_port()}/v1", max_retries=1, concurrency=2)
    replies = dict(gone.generate(asks(12)))
    assert kind(replies[0]) == "connection_refused"
    assert kind(replies[11]) == "not_asked"


def test_a_host_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    [(_, reply)] = model("http://nowhere.invalid/v1", max_retries=1).generate([ask()])
    assert kind(reply) == "dns_failure"


def test_https_where_plain_http_answers() -> None:
    with ScriptedServer(lambda _: said()) as server:
        secure = model(server.url.replace("http:", "https:"), max_retries=0)
        [(_, reply)] = secure.generate([ask()])
        server.faults.clear()  # it saw no HTTP
    assert kind(reply) == "tls_failure"


def test_a_redirect_is_named_and_not_followed() -> None:
    """The other host sees neither the key nor the question."""
    with ScriptedServer([]) as other:
        there = f"{other.url}/chat/completions?key={quote(KEY)}"
        with ScriptedServer([Answer(b"", 307, {"Location": there})]) as server:
            [(_, reply)] = model(server.url).generate([ask()])
    assert kind(reply) == "redirected"
    assert "127.0.0.1/v1" in str(reply.error)
    assert other.received == []


# --- fields that a model does not take -------------------------------------------------------


def picky(received: Received) -> Answer:
    """A reasoning model of the API: newer name of the limit, no temperature, no stop, no seed, no system."""
    body = received.body
    if "max_tokens" in body:
        return refused(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    for name in ("temperature", "stop", "seed"):
        if name in body:
            return refused(400, f"Unsupported value: '{name}' does not support this", param=name)
    if body["messages"][0]["role"] == "system":
        return refused(400, "System role not supported")
    return said("Answer: B\n\nNext: C")


def test_fields_that_are_not_taken_are_left_out_once_and_for_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"})
    asked = Request(messages, max_new_tokens=9, temperature=0.5, stop=("\n\n",), seed=1)
    with ScriptedServer(picky) as server:
        picked = model(server.url, concurrency=4, max_retries=0)
        replies = [reply for _, reply in picked.generate([asked] * 4)]
        server.received.clear()
        replies += [reply for _, reply in picked.generate([asked] * 2)]
    assert [reply.text for reply in replies] == ["Answer: B"] * 6  # cut here, as no stop went along
    assert len(server.received) == 2
    assert server.received[0].body == {
        "model": "served",
        "messages": [{"role": "user", "content": "Be brief.\n\nWhich?"}],
        "max_completion_tokens": 9,
    }
    assert picked.left_out == ("max_tokens", "seed", "stop", "system", "temperature")
    assert len([r for r in caplog.records if "does not take" in r.message]) == 5


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Unrecognized request argument supplied: seed", "seed"),
        ('[{"loc": ["body", "stop"], "msg": "Extra inputs are not permitted"}]', "stop"),
        ("max_tokens is too large: 99999", None),
        ("temperature must be at most 2", None),
        ("max_completion_tokens is not supported", None),
        ("something else is not supported", None),
    ],
)
def test_only_a_rejected_field_is_left_out(message: str, expected: str | None) -> None:
    sent = wire.body_for("m", ask(temperature=1.0, stop=("x",)), frozenset(), {})
    body = json.dumps({"error": {"message": message}}).encode()
    assert wire.rejected_field(Raw(400, {}, body), sent) == expected
    assert wire.rejected_field(Raw(500, {}, body), sent) is None


# --- odd answers -----------------------------------------------------------------------------


def read(answer: Answer | bytes, **request: Any) -> Reply | str:
    """The reply, or the kind of the failure."""
    raw = answer if isinstance(answer, bytes) else answer.raw
    try:
        return wire.reply_from(Raw(200, {}, raw), ask(**request), "the key in X")
    except Failed as error:
        return error.failure.kind


def with_choice(**choice: Any) -> Answer:
    return Answer({"choices": [choice]})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer("<!doctype html><title>hi</title>"), "not_json"),
        (Answer("Service temporarily down"), "not_json"),
        (Answer('data: {"choices": []}\n\n'), "not_json"),
        (Answer('{"choices": [{"message": {"content": "cut'), "not_json"),
        (Answer("[" * 100_000), "not_json"),
        (Answer('{"n": ' + "9" * 5000 + "}"), "not_json"),
        (Answer(b""), "empty_body"),
        (Answer(b" \n"), "empty_body"),
        (Answer(b'{"choices": [{"message": {"content": "caf\xe9"}}]}'), "bad_encoding"),
        (Answer("null"), "no_choices"),
        (Answer("[]"), "no_choices"),
        (Answer("{}"), "no_choices"),
        (Answer({"choices": None}), "no_choices"),
        (Answer({"choices": []}), "no_choices"),
        (Answer({"choices": {}}), "no_choices"),
        (Answer({"choices": ["text"]}), "no_choices"),
        (with_choice(finish_reason="stop"), "no_message"),
        (with_choice(message="text"), "no_message"),
        (with_choice(message={}), "no_message"),
        (with_choice(message={"role": "assistant"}), "no_message"),
        (said(7), "bad_content"),
        (said(True), "bad_content"),
        (said({"text": "A"}), "bad_content"),
        (said([3]), "bad_content"),
        (Answer('{"choices": [{"message": {"content": NaN}}]}'), "bad_content"),
        (said("half", "error"), "generation_failed"),
        (said("half", "abort"), "generation_failed"),
        (said("half", "insufficient_system_resource"), "generation_failed"),
        (
            Answer('{"choices": [{"message": {"content": "A", "content": "B"}}]}'),
            "duplicate_fields",
        ),
        (Answer({"error": {"message": "no", "code": 429}}), "rate_limited"),
        (Answer({"error": {"message": "no", "code": 502}}), "server_error"),
        (Answer({"error": {"message": "no", "type": "rate_limit_error"}}), "rate_limited"),
        (Answer({"error": {"message": "no", "type": "insufficient_quota"}}), "quota_exceeded"),
        (Answer({"error": {"message": "odd"}}), "error_in_body"),
        (Answer({"error": "odd", "choices": []}), "error_in_body"),
        (Answer({"error": ["odd"]}), "error_in_body"),
        (with_choice(error={"code": 503, "message": "upstream"}), "server_error"),
    ],
)
def test_an_answer_that_cannot_be_read_is_not_measured(answer: Answer, expected: str) -> None:
    assert read(answer) == expected


THOUGHT = "<think>\nfirst, second\n</think>\n"


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (said(None), "", "stop"),
        (said(""), "", "stop"),
        (said(None, "length"), "", "length"),
        (said("half an ans", "length"), "half an ans", "length"),
        (said("half", "max_tokens"), "half", "length"),
        (said("A", None), "A", "stop"),
        (said("A", "eos"), "A", "stop"),
        (said("A", 7), "A", "stop"),
        (said(None, "content_filter"), "", "content_filter"),
        (said("half", "content_filter: PROHIBITED_CONTENT"), "half", "content_filter"),
        (said("half", "SAFETY"), "half", "content_filter"),
        (with_choice(message={"role": "assistant"}, finish_reason="length"), "", "length"),
        (with_choice(text="A", finish_reason="stop"), "A", "stop"),
        (said(None, refusal="I cannot help."), "I cannot help.", "stop"),
        (said([{"type": "refusal", "refusal": "I cannot."}]), "I cannot.", "stop"),
        (said([{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]), "AB", "stop"),
        (said(["A", {"text": "B"}, {"type": "image"}]), "AB", "stop"),
        (said("A", reasoning_content="first, second"), f"{THOUGHT}A", "stop"),
        (said("A", reasoning="first, second"), f"{THOUGHT}A", "stop"),
        (said("<think>x</think>A", reasoning="x"), "<think>x</think>A", "stop"),
        (said(None, reasoning_content="first, second"), THOUGHT, "stop"),
        (said(None, "length", reasoning_content="first"), "<think>\nfirst", "length"),
        (said("A", reasoning_content="</think>B"), "<think>\n‹/think>B\n</think>\nA", "stop"),
        (
            said(
                [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "first, second"}]},
                    {"type": "text", "text": "A"},
                ]
            ),
            f"{THOUGHT}A",
            "stop",
        ),
        (
            Answer('{"choices": [{"message": {"content": "a\\ud83d"}}]}'),
            "a\N{REPLACEMENT CHARACTER}",
            "stop",
        ),
        (Answer('{"choices": [{"message": {"content": "\\ud83d\\ude00"}}]}'), "😀", "stop"),
        (Answer("\ufeff" + json.dumps(completion("A"))), "A", "stop"),
        (Answer({**completion("A"), "error": None}), "A", "stop"),
        (Answer('{"id": 1, "id": 2, "choices": [{"message": {"content": "A"}}]}'), "A", "stop"),
    ],
)
def test_what_an_answer_holds(answer: Answer, text: str, finish: str) -> None:
    reply = read(answer)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.error) == (text, finish, None)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 4, "completion_tokens": 2}, (4, 2)),
        ({"input_tokens": 4, "output_tokens": 2}, (4, 2)),
        ({"prompt_tokens": 4.0}, (4, 0)),
        ({"prompt_tokens": -4, "completion_tokens": True}, (0, 0)),
        ({"prompt_tokens": "4", "completion_tokens": None}, (0, 0)),
        ({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, (0, 0)),
        (None, (0, 0)),
        ([], (0, 0)),
    ],
)
def test_tokens_are_counted_where_they_are_given(usage: Any, tokens: tuple[int, int]) -> None:
    reply = read(Answer({**completion(), "usage": usage}))
    assert isinstance(reply, Reply)
    assert (reply.tokens_in, reply.tokens_out) == tokens


def test_stop_strings_end_an_answer_that_ran_on() -> None:
    reply = read(said("Answer: B\nQ: next", "length"), stop=("\nQ:", "never"))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("Answer: B", "stop")


def called(arguments: Any, name: Any = "add") -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_tool_calls_stand_behind_the_text() -> None:
    reply = read(said("Sure.", "tool_calls", tool_calls=[called('{"a": 1}'), called({"a": 2})]))
    assert isinstance(reply, Reply)
    assert reply.text.splitlines() == [
        "Sure.",
        '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
        '<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>',
    ]


RIGHT, WRONG, MALFORMED = ("ok", True), ("ok", False), ("no_answer", False)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"tool_calls": [called('{"a": 1}')]}, RIGHT),
        ({"tool_calls": [called({"a": 1})]}, RIGHT),
        ({"function_call": {"name": "add", "arguments": '{"a": 1}'}}, RIGHT),
        ({"tool_calls": [{"type": "custom", "custom": {"name": "add", "input": "x"}}]}, MALFORMED),
        ({"tool_calls": [called('{"a": 2}')]}, WRONG),
        ({"tool_calls": [called('{"a": 1}'), called('{"a": 1}')]}, WRONG),
        ({"tool_calls": [called('{"a": 1')]}, MALFORMED),
        ({"tool_calls": [called('{"a": 1}, "x": 2')]}, MALFORMED),
        ({"tool_calls": [called('{"a": 1}</tool_call>')]}, MALFORMED),
        ({"tool_calls": [called("[1]")]}, MALFORMED),
        ({"tool_calls": [called(None)]}, MALFORMED),
        ({"tool_calls": [called('{"a": 1}', name=None)]}, MALFORMED),
        ({"tool_calls": [{"function": "add"}]}, MALFORMED),
        ({"tool_calls": ["add"]}, MALFORMED),
        ({"tool_calls": "add"}, MALFORMED),
        (
            {"tool_calls": [called('{"a": 1}')], "reasoning_content": "<tool_call>{}</tool_call>"},
            RIGHT,
        ),
    ],
)
def test_calls_are_scored_as_written(message: dict[str, Any], expected: tuple[str, bool]) -> None:
    """Broken arguments stay broken: no repair, and no other call than the model's."""
    reply = read(said(None, "tool_calls", **message))
    assert isinstance(reply, Reply)
    target = [{"name": "add", "arguments": {"a": 1}}]
    score = scoring.score(
        "tool", reply=reply.text, target=target, finish_reason=reply.finish_reason
    )
    assert (score.status, score.correct) == expected


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "error", "finish_reason", "tool_calls", "usage"]
                + ["function", "name", "arguments", "text", "type", "refusal", "reasoning", "code"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.binary()
    | _json.map(lambda v: json.dumps(v).encode())
    | _json.map(lambda v: json.dumps({"choices": [{"message": v}]}).encode())
)
def test_any_answer_is_a_reply_or_a_failure(raw: bytes) -> None:
    found = read(raw)
    if isinstance(found, Reply):
        assert found.finish_reason in ("stop", "length", "content_filter")
        found.text.encode()
    for status in (307, 400, 401, 403, 404, 429, 500):
        failure = of_answer(Raw(status, {}, raw), "the key in X")
        assert failure.kind == failure.kind.lower()
        assert wire.rejected_field(Raw(status, {}, raw), {"messages": []}) is None or status == 400


def test_a_filter_is_no_error_and_no_wrong_answer() -> None:
    """Azure refuses a prompt with status 400, OpenRouter with 403; both mean the same."""
    azure = refused(400, "filtered", innererror={"code": "ResponsibleAIPolicyViolation"})
    for answer in (
        azure,
        refused(403, "Input was flagged"),
        Answer(refused(400, code="content_filter").body),
    ):
        reply = one([answer])
        assert (reply.text, reply.finish_reason, reply.error) == ("", "content_filter", None)


def test_traces_tell_what_was_not_measured() -> None:
    """The seam to scoring: an outage and a filter are null, an empty or cut answer is wrong."""
    question = Question("mcq", "Which?", "B", ("x", "y"))
    expected = {
        "error": refused(500, "down"),
        "refused": said(None, "content_filter"),
        "empty": said(None),
        "truncated": said("Let me th", "length"),
        "ok": said("Answer: B"),
        "no_answer": said(None, reasoning_content="It may be B"),
    }
    for status, answer in expected.items():
        reply = one([answer], max_retries=0)
        trace = trace_of(question, ask(), reply, Task([question], Evaluation(), scoring.score))
        assert trace.status == status
        assert trace.correct is {"error": None, "refused": None, "ok": True}.get(status, False)
        assert trace.reason or status == "ok"


def test_odd_answers_are_asked_for_twice_more() -> None:
    assert kind(one([Answer("<html>")] * 3, max_retries=6)) == "not_json"
    assert one([Answer("<html>"), Answer({"choices": []}), said("B")]).text == "B"


# --- the key ---------------------------------------------------------------------------------


def spellings(key: str) -> list[str]:
    """The key as it might come back."""
    encoded = [
        base64.b64encode(text.encode()).decode()
        for text in (key, f"Bearer {key}", f"user:{key}", f"a:{key}")
    ]
    return [key, quote(key), quote(key, safe=""), json.dumps(key), key.encode().hex(), *encoded]


LEAKS = [KEY, quote(KEY, safe=""), KEY.encode().hex(), KEY[:10], KEY[-9:]] + [
    base64.b64encode(b"\0" * k + KEY.encode()).decode()[4:-8] for k in range(3)
]


def echoes() -> Iterator[tuple[str, Answer]]:
    """Answers of a server that gives the key back, wherever it can."""
    for text in spellings(KEY):
        yield "content", said(f"You sent {text}!")
        yield "reasoning", said("A", reasoning_content=text)
        yield "call", said(None, tool_calls=[called(json.dumps({"key": text}), name=text)])
        yield "error", refused(400, f"Incorrect key: {text}")
        yield "denied", refused(401, f"Incorrect key: {text}")
        yield "forbidden", refused(403, f"Bearer {text} may not")
        yield "text", Answer(f"{text} is not JSON")
        yield "page", Answer(f"<p>{text}</p>", 500)
        yield "odd", Answer({"choices": [text]})
        yield "finish", said("A", f"content_filter:{text}")
        yield "moved", Answer(b"", 302, {"Location": f"http://127.0.0.1:1/{text}"})
        yield "header", Answer({}, 429, {"Retry-After": text, "X-Echo": f"Bearer {text}"})
    yield "part", refused(400, f"Incorrect API key provided: {KEY[:12]}****{KEY[-9:]}")


@pytest.mark.slow
def test_the_key_comes_out_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    script = [answer for _, answer in echoes()]
    with ScriptedServer(script) as server:
        asked = model(server.url, concurrency=1, max_retries=0)
        replies = [reply for _, reply in asked.generate([ask()] * len(script))]
        assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
    out = "\n".join(
        [
            *(json.dumps(reply.to_dict(), ensure_ascii=False) for reply in replies),
            *(f"{r.getMessage()} {r.args} {vars(r)}" for r in caplog.records),
            *(repr(asked), str(vars(asked)), asked.fingerprint, repr(Redactor(Secret(KEY)))),
        ]
    )
    assert [leak for leak in LEAKS if leak in out] == []
    assert out.count(HIDDEN) >= len(script) // 2
    assert not any(reply.error and reply.error.startswith("not_asked") for reply in replies)


def test_the_key_is_read_when_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([said(), said()]) as server:
        asked = model(server.url)
        list(asked.generate([ask()]))
        monkeypatch.setenv(VARIABLE, "sk-the-next-one-42\n")
        list(asked.generate([ask()]))
    assert [r.headers["authorization"] for r in server.received] == [
        f"Bearer {KEY}",
        "Bearer sk-the-next-one-42",
    ]


@pytest.mark.parametrize("key", ["two words", "sk-ü-12345678", "sk-12\n345678"])
def test_a_key_that_cannot_be_sent_is_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, key)
    with pytest.raises(ConfigError, match=VARIABLE) as caught:
        list(model("http://127.0.0.1:1/v1").generate([ask()]))
    assert key not in str(caught.value)


def test_a_traceback_with_local_variables_does_not_show_the_key() -> None:
    with ScriptedServer([said()]) as server:
        replies = model(server.url).generate([ask()])
        next(iter(replies))
        frame = replies.gi_frame  # type: ignore[attr-defined]
        assert KEY not in repr(frame.f_locals)
        list(replies)
    assert (repr(Secret(KEY)), bool(Secret())) == ("Secret(…)", False)


def test_short_stand_ins_cut_nothing_out_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "EMPTY")
    assert one([said("The set is EMPTY")]).text == "The set is EMPTY"
    assert "EMPTY" not in str(one([refused(400, "wrong key EMPTY")]).error)


def test_an_error_is_one_line_of_bounded_length() -> None:
    line = Redactor(Secret(KEY)).line("a\n\tb\x1b[31m\u2028" + "x" * 10_000 + KEY)
    assert line.startswith("a b")
    assert len(line) == LINE_CHARS
    assert line.isprintable()


@given(st.text(), st.integers(0, 5), st.text(min_size=8, max_size=30))
def test_no_text_hides_the_key_from_the_redactor(text: str, times: int, key: str) -> None:
    mixed = text.join([key] * times)
    assume(key not in HIDDEN)
    assert key not in Redactor(Secret(key)).text(mixed)


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ("http://Localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://API.example.com:443/v1", "https://api.example.com/v1"),
        ("http://h:80/v1/chat/completions", "http://h/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_an_address_is_recorded_in_one_form(given: str, recorded: str) -> None:
    assert checked_url(given) == recorded
    assert model(given).base_url == recorded


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8000/v1", "localhost:8000", "ftp://h/v1", "file:///etc/passwd", "http://"),
        *("http://user:hunter22@h/v1", "http://hunter22@h/v1", "https://h/v1?key=hunter22"),
        *("https://h/v1#hunter22", "http://h:99999/v1", "http://h:x/v1", "http://[::1/v1"),
    ],
)
def test_other_addresses_are_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model(url)
    assert "hunter22" not in json.dumps(caught.value.as_dict())


@pytest.mark.parametrize(
    "name", ["", "sk-abc", "MY KEY", "1A", "a" * 20 + "1", "gsk_abcdefgh12345678"]
)
def test_a_key_in_place_of_a_variables_name_is_not_shown(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model("http://h/v1", api_key_env=name)
    assert not name or name not in json.dumps(caught.value.as_dict())


@pytest.mark.parametrize(
    "settings",
    [
        {"concurrency": 0},
        {"max_retries": -1},
        {"timeout_s": 0},
        {"timeout_first_s": float("nan")},
        {"extra": {"temperature": 1}},
        {"extra": {"stream": True}},
        {"extra": {"api_key": "hunter22"}},
        {"extra": {"x": object()}},
        {"extra": {"x": float("nan")}},
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        model("http://h/v1", **settings)
    assert "hunter22" not in str(caught.value)


def test_the_fingerprint_is_of_what_decides_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://h/v1"
    before = model(url).fingerprint
    monkeypatch.setenv(VARIABLE, "another")
    assert model(url, concurrency=2, timeout_s=5, api_key_env=None).fingerprint == before
    assert EndpointModel("other name", url, "served").fingerprint == before
    others: list[Callable[[], EndpointModel]] = [
        lambda: EndpointModel("mine", url, "other"),
        lambda: model("http://h/v2"),
        lambda: model(url, extra={"top_p": 0.9}),
    ]
    assert len({make().fingerprint for make in others} | {before}) == 4


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "benchgen.models.transport", raising=False)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelError, match="pip install openai"):
        list(model("http://127.0.0.1:1/v1").generate([ask()]))


def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://user:hunter22@h")
    with pytest.raises(ModelError, match="HTTP_PROXY") as caught:
        list(model("http://nowhere.invalid/v1").generate([ask()]))
    assert "hunter22" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["endpoint", "transport"])
def test_no_torch_is_loaded(module: str) -> None:
    """And the client itself only where something is asked."""
    probe = (
        f"import sys, benchgen.models.{module};"
        f"sys.exit('torch' in sys.modules or ('openai' in sys.modules) != {module == 'transport'})"
    )
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


# --- all of it at once -----------------------------------------------------------------------


def chaos() -> list[Answer]:
    """Every way to fail, and some good answers."""
    bad = [
        *(refused(status, "no") for status in (400, 403, 404, 408, 409, 422, 429, 500, 503)),
        *(Answer(completion(), drop=drop) for drop in ("before", "headers", "body")),
        *(Answer(completion(), length=9999), Answer(completion(), delay_s=9)),
        *(Answer(completion(), stall_s=9), Answer(completion(), drip_s=0.5)),
        *(Answer("<html>"), Answer(b""), Answer(b"\xff"), Answer({"choices": []})),
        *(Answer({}, 429, {"Retry-After": "0.05"}), Answer(b"", 302, {"Location": "/x"})),
        *(said(None), said("x", "length"), said(None, "content_filter"), said(None, refusal="no")),
        *(said(None, tool_calls=["?"]), said(None, reasoning="hm"), said("\ud800"), said(3)),
        Answer({"error": {"code": 500, "message": KEY}}),
    ]
    return bad + [said("Answer: B")] * len(bad)


@pytest.mark.slow
def test_fifty_at_once_all_end_measured_or_with_a_reason() -> None:
    chance = random.Random(7)
    wild, lock = chaos(), threading.Lock()

    def any_of(_: Received) -> Answer:
        with lock:
            return chance.choice(wild)

    with ScriptedServer(any_of) as server:
        asked = model(server.url, concurrency=50, timeout_first_s=0.4, timeout_s=3.0, max_retries=3)
        replies = dict(asked.generate(asks(150)))
    assert set(replies) == set(range(150))
    for reply in replies.values():
        assert (reply.error is not None) == (reply.finish_reason == "error")
        assert KEY not in json.dumps(reply.to_dict())
        assert reply.seconds < 6
    assert sum(reply.text == "Answer: B" for reply in replies.values()) > 40
    assert not [r.error for r in replies.values() if str(r.error).startswith("unexpected")]
