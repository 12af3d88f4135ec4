"""Scoring of tool calls: how calls are found, compared, and explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.benchmark.program import call_values, calls, tool
from benchgen.benchmark.program.verdict import Score, unmeasured
from tests.bounded import bounded

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "scoring_own" / "tool.jsonl")
    .read_text("utf-8")
    .splitlines()
]
OSLO = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
JSON = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
PYTHON = 'get_weather(city="Oslo")'
TAGGED = f"<tool_call>\n{JSON}\n</tool_call>"
XML = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"


def scored(reply: str | None, target: object, **options: Any) -> Score:
    return tool.score(reply, target, **options)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_collected_cases_are_read_as_a_person_reads_them(case: dict[str, Any]) -> None:
    params = dict(case.get("params", {}))
    cut = params.pop("finish_reason", "stop") == "length"
    messages = case.get("messages")
    verdict = scored(case["output"], case["target"], truncated=cut, messages=messages, **params)
    assert verdict.correct is case["expected"], (case["why"], verdict)
    assert verdict.value == (None if verdict.correct is None else float(verdict.correct))
    for field in ("status", "reason"):
        assert getattr(verdict, field) == case.get(field, getattr(verdict, field)), case["why"]


@pytest.mark.parametrize(
    "wrap",
    [
        *("**{}**", "`{}`", '"{}"', "({})", "${}$", "\\boxed{{{}}}", "\\[ {} \\]", "“{}”", "- {}"),
        *("> {}", "Answer: {}", "<answer>{}</answer>", "\ufeff\u200b{}\u200b", "{}<|im_end|>"),
        *("{}\n\nHope this helps!", "{} Hope this helps!", "Sure, one moment.\n\n{}"),
        *("<think>Maybe f(x=1)?</think>\n{}", 'So {{"a": 1}}.\n</think>{}', "<s>{}</s>"),
        f"<think>First {TAGGED.replace('{', '{{').replace('}', '}}')}</think>{{}}",
    ],
)
@pytest.mark.parametrize("call", [TAGGED, XML, JSON, PYTHON], ids=["tag", "xml", "json", "python"])
def test_wrapping_changes_no_verdict(call: str, wrap: str) -> None:
    reply = wrap.format(call)
    for text in (reply, reply.replace("\n", "\r\n")):
        assert scored(text, OSLO).correct is True
        other = [{"name": "get_weather", "arguments": {"city": "Rome"}}]
        assert scored(text, other).reason == "wrong_argument: city"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ([], "call_not_expected"),
        ([*OSLO, *OSLO], "missing_call"),
        ([{"name": "get_time", "arguments": {"city": "Oslo"}}], "wrong_tool"),
        ([{"name": "get_weather"}], "extra_argument: city"),
        ([{"name": "get_weather", "arguments": {"city": "Rome"}}], "wrong_argument: city"),
        ([{"name": "get_weather", "arguments": {"city": "Oslo", "n": 1}}], "missing_argument: n"),
    ],
)
def test_the_reason_names_what_is_wrong(target: list[dict[str, Any]], reason: str) -> None:
    verdict = scored(TAGGED, target)
    assert (verdict.correct, verdict.status, verdict.reason) == (False, "ok", reason)


def test_what_was_read_is_canonical_json_of_bounded_length() -> None:
    assert scored(TAGGED, OSLO).extracted == (
        '[{"name":"get_weather","arguments":{"city":"Oslo"}}]'
    )
    long = json.dumps({"name": "f", "arguments": {"b": "\ud800" + "x" * 5000, "a": 1}})
    extracted = scored(long, OSLO).extracted
    assert extracted is not None
    assert extracted.startswith('[{"name":"f","arguments":{"a":1,"b":"?xx')
    assert len(extracted.encode()) == tool.MAX_SHOWN


def test_a_message_with_calls_needs_no_text() -> None:
    call = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert scored(None, OSLO, messages=[message]).correct is True
    assert scored("I call it.", OSLO, messages=[message]).correct is True
    written = {"role": "assistant", "content": TAGGED, "tool_calls": []}
    assert scored(None, OSLO, messages=[written]).correct is True
    assert scored(None, OSLO).status == "empty"


@pytest.mark.parametrize(
    "broken",
    [
        None,
        3,
        [],
        {},
        "x",
        [None],
        [{}],
        {"function": {}},
        {"arguments": {}},
        {"name": 3},
        float("nan"),
    ],
)
def test_an_unreadable_field_of_a_message_is_a_broken_call(broken: object) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [broken]}
    assert scored("", OSLO, messages=[message]).correct is False


@pytest.mark.parametrize("target", [None, 3, "", "get_weather", [None], [[3]], {"arguments": {}}])
def test_an_unreadable_target_is_not_the_models_fault(target: object) -> None:
    assert scored(TAGGED, target) == unmeasured("error", "unreadable_target")


@pytest.mark.parametrize(
    "schema",
    [
        {"unit": {"type": "string", "default": "C"}},
        {"properties": {"unit": {"default": "C"}}},
        {"get_weather": {"unit": {"default": "C"}}},
        {"name": "get_weather", "parameters": {"properties": {"unit": {"default": "C"}}}},
    ],
)
def test_a_schema_may_have_any_of_its_shapes(schema: dict[str, Any]) -> None:
    reply = TAGGED.replace("}}", ', "unit": "C"}}')
    assert scored(reply, OSLO, schema=schema).correct is True
    assert scored(reply, OSLO).correct is False


@pytest.mark.parametrize(
    ("python", "arguments"),
    [
        ("f()", {}),
        ("f(a=1, b=-2.5, c=1e3,)", {"a": 1, "b": -2.5, "c": 1000.0}),
        ("f(a=True, b=false, c=None)", {"a": True, "b": False, "c": None}),
        ("""f(a="it's", b='"', c="a, b) c")""", {"a": "it's", "b": '"', "c": "a, b) c"}),
        (r"f(a='it\'s\n', b='\u00e9\x41\d')", {"a": "it's\n", "b": "éA\\d"}),
        ('f(a="""two\n"lines" """)', {"a": 'two\n"lines" '}),
        (
            "f(a=[1, [2], (3, 4)], b={'k': {'n': []}})",
            {"a": [1, [2], [3, 4]], "b": {"k": {"n": []}}},
        ),
        ('f({"a": 1})', {"a": 1}),
    ],
)
def test_pythons_literals_are_read(python: str, arguments: dict[str, Any]) -> None:
    assert calls.in_text(python).calls == [call_values.Call("f", arguments)]


@pytest.mark.parametrize(
    "python",
    [
        *("f(1)", "f(a=b)", "f(a=1+1)", "f(a=g(b=1))", "f(a=[i for i in x])", "f(a=1", "f(a='x)"),
        *("f(a=__import__('os'))", "f(**{'a': 1})", "f(a=f'x')", "f(a=1)(b=2)", "lambda: 0"),
    ],
)
def test_what_python_would_have_to_run_is_no_call(python: str) -> None:
    assert calls.in_text(python).calls == []
    assert scored(python, [{"name": "f", "arguments": {"a": 2}}]).correct is False


@pytest.mark.parametrize(
    ("text", "value", "equal"),
    [
        *(("9007199254740993.0", 2**53 + 1, True), ("9007199254740993.0", 2**53, False)),
        *(("9007199254740993", 2**53, False), ("1e2", 100, True), ("0.10", 0.1, True)),
        *(("1e-400", 1e-300, False), ("0e9999999999", 0, True), ("-0.0", 0, True)),
        *(("0.1", 0.1000000000000001, False), ("1.0", True, False)),
    ],
)
def test_numbers_are_compared_exactly(text: str, value: object, equal: bool) -> None:
    target = [{"name": "f", "arguments": {"x": value}}]
    reply = f'<tool_call>{{"name": "f", "arguments": {{"x": {text}}}}}</tool_call>'
    assert scored(reply, target).correct is equal
    schema = {"x": {"default": value}}
    assert scored(reply, [{"name": "f"}], schema=schema).correct is equal


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "1e9" + "9" * 30])
def test_what_is_no_double_is_no_number(text: str) -> None:
    reply = f'<tool_call>{{"name": "f", "arguments": {{"x": {text}}}}}</tool_call>'
    assert scored(reply, [{"name": "f"}]).reason == "malformed_arguments"


@pytest.mark.parametrize("turned", [False, True])
def test_many_calls_are_compared_by_table(monkeypatch: pytest.MonkeyPatch, turned: bool) -> None:
    """Three thousand of each, in whatever order: each is compared once or twice, not with every other."""
    target = [{"name": "f", "arguments": {"x": i}} for i in range(3000)]
    made = [{"function": call} for call in (reversed(target) if turned else target)]
    difference = mock.Mock(side_effect=tool._difference)
    monkeypatch.setattr(tool, "_difference", difference)
    message = {"role": "assistant", "tool_calls": made}
    assert scored(None, target, messages=[message]).correct is True
    assert difference.call_count <= 6000


def test_more_calls_than_can_be_compared_are_no_answer() -> None:
    target = [{"name": "f", "arguments": {"x": str(i)}} for i in range(3000)]
    made = [{"function": {"name": "f", "arguments": {"x": f"{i} "}}} for i in range(3000)]
    verdict = scored(None, target, messages=[{"role": "assistant", "tool_calls": made}])
    assert (verdict.correct, verdict.reason) == (False, "too_many_calls")
    few = scored(None, target[:99], messages=[{"role": "assistant", "tool_calls": made[98::-1]}])
    assert (few.correct, few.reason) == (True, tool.NOT_EXACT)


# --- for any text -----------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<think>", "</think>", "{", "}", "[", "]", "(", ")", '"'),
        *(":", ",", "\n", "```json\n", "```", '{"name": "f", "arguments": {}}', "f(x=1)", "f(x="),
        *("<function=f>", "<parameter=x>", "</parameter>", "</function>", "[TOOL_CALLS]", "[ARGS]"),
        *("<|message|>", "<|channel|>commentary to=f", "<|call|>", "Action: f\nAction Input: "),
        *(
            "<｜tool▁call▁begin｜>f<｜tool▁sep｜>",
            "<tool_response>",
            "User: x\n",
            "\\",
            "1e999",
            "NaN",
        ),
        *("\ud800", "\x00", "²", "\u200b", "<arg_key>", "</arg_key><arg_value>", '"arguments"'),
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=20).map("".join))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
            "arguments": st.dictionaries(st.text(), VALUES, max_size=3),
        }
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=150)
@given(reply=TEXTS, cut=st.booleans(), none_expected=st.booleans())
def test_reading_never_fails_and_junk_makes_no_expected_call(
    reply: str, cut: bool, none_expected: bool
) -> None:
    target = [] if none_expected else [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
    verdict = scored(reply, target, truncated=cut, schema={"city": "string"})
    assert verdict.correct is not True or (none_expected and not cut)
    (verdict.extracted or "").encode()


@settings(max_examples=50)
@given(target=CALLS)
def test_the_expected_calls_are_right_in_any_order_and_one_less_is_not(
    target: list[dict[str, Any]],
) -> None:
    texts = [f"<tool_call>{json.dumps(call)}</tool_call>" for call in target]
    assert scored(json.dumps(target), target).correct is True
    assert scored("\n".join(texts), target, ordered=True).correct is True
    assert scored("\n".join(reversed(texts)), target).correct is True
    assert scored("\n".join(texts[1:]), target).correct is False
    assert scored("\n".join([*texts, texts[0]]), target).correct is False


@settings(max_examples=50)
@given(
    message=st.dictionaries(
        st.sampled_from(["role", "content", "tool_calls", "type", "name", "arguments"]), VALUES
    )
)
def test_reading_a_message_never_fails(message: dict[str, Any]) -> None:
    assert scored("", OSLO, messages=[message]).correct is False


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<tool_call>",
            "<tool_call>{",
            '{"name":\n',
            '[{"a":\n',
            "[\n",
            "f(x=1)\n",
            "f(x=[",
            '"""',
        ),
        *(
            "<function=f><parameter=x>",
            "<think>",
            "</think>",
            "```json\n",
            "[TOOL_CALLS] []",
            "<",
            "`",
        ),
        *(
            "<|channel|>commentary to=f<|message|>{}<|call|>",
            "Action: f\nAction Input: ",
            "<a:",
            "[[",
        ),
    ],
)
def test_time_is_bounded_in_hostile_text(unit: str) -> None:
    reply = (unit * 100_000)[:100_000]
    with bounded():
        scored(reply, OSLO)
