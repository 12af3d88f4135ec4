"""The redactor: no later decoding of a text that it let out gives the key back."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.models.plainly import view
from benchgen.models.redact import HIDDEN, Redactor, Secret

KEY = "sk-canary-Zq7/w+3XkT9=e2Vb5"
REDACTOR = Redactor(Secret(KEY))


def every(form: str) -> Callable[[str], str]:
    """Each character of the text as `form` writes its code."""
    return lambda text: "".join(form.format(ord(c)) for c in text)


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in capitals": str.upper,
    "JSON escapes": every("\\u{:04x}"),
    "JSON escapes in JSON": lambda text: json.dumps(every("\\u{:04X}")(text))[1:-1],
    "some JSON escapes": lambda text: text.replace("a", "\\u0061").replace("/", "\\/"),
    "Python escapes": every("\\x{:02x}"),
    "JavaScript escapes": every("\\u{{{:x}}}"),
    "percent": every("%{:02X}"),
    "percent of percent": lambda text: quote(every("%{:02x}")(text)),
    "some percent": lambda text: quote(text, safe="").replace("c", "%63"),
    "HTML, decimal": every("&#{};"),
    "HTML, hexadecimal": every("&#x{:X};"),
    "HTML of HTML": lambda text: html.escape(every("&#{};")(text)),
    "full width": wide,
    "full width in JSON": lambda text: json.dumps(wide(text))[1:-1],
    "spaces without width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "marks of direction": "\u202e".join,
    "signs above": "\u0301".join,
    "no width in JSON": lambda text: json.dumps("\u200d".join(text))[1:-1],
    "JSON in a URL": lambda text: quote(every("\\u{:04x}")(text), safe=""),
}


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("take", [REDACTOR.text, REDACTOR.line], ids=["answer", "line"])
def test_the_key_goes_in_every_spelling(name: str, take: Callable[[str], str]) -> None:
    spelled = SPELLINGS[name](KEY)
    out = take(f'{{"error": "no such key: {spelled}", "code": 7}}')
    assert out == f'{{"error": "no such key: {HIDDEN}", "code": 7}}'


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_error_line_holds_no_half_of_the_key_in_any_spelling(name: str) -> None:
    half = SPELLINGS[name](KEY[10:20])
    assert view(half).text not in view(REDACTOR.line(f"key …{half}… is not valid")).text


@given(st.text(), st.text(), st.lists(st.sampled_from(list(SPELLINGS)), min_size=1, max_size=2))
def test_no_text_around_it_and_no_two_spellings_hide_the_key(
    before: str, after: str, names: list[str]
) -> None:
    spelled = KEY
    for name in names:
        spelled = SPELLINGS[name](spelled)
    out = REDACTOR.text(f"{before} {spelled} {after}")
    assert view(KEY).text not in view(out).text


@given(st.text(st.sampled_from("ab\\u0061%25&#;x{}🙂é\u200b")))
def test_what_holds_no_key_stays_to_the_letter(text: str) -> None:
    assert REDACTOR.text(text) == text


@given(st.text())
def test_a_view_knows_where_each_character_stood(text: str) -> None:
    seen = view(text)
    assert len(seen.text) == len(seen.starts) == len(seen.ends)
    assert all(
        0 <= start < end <= len(text) for start, end in zip(seen.starts, seen.ends, strict=True)
    )
    assert list(seen.starts) == sorted(seen.starts)


def test_a_text_around_the_key_is_kept_to_the_letter() -> None:
    text = f"Caf\u00e9 \\u00e9 %41 &amp; {quote(KEY, safe='')} ％ \u200b."
    assert REDACTOR.text(text) == f"Caf\u00e9 \\u00e9 %41 &amp; {HIDDEN} ％ \u200b."
    assert unquote(quote(KEY, safe="")) == KEY


@pytest.mark.parametrize(
    "name", ["hf-internal-testing/tiny-random-LlamaForCausalLM", "xai-org/grok", "npm-run-build"]
)
def test_names_of_owners_stay_in_an_error(name: str) -> None:
    assert REDACTOR.line(f"no model {name} here") == f"no model {name} here"


@pytest.mark.parametrize("key", ["hf_abcdefghij", "hf-a1B2c3D4e5F6g7H8", "xai-Zq7wXkT9e2Vb5Zq7w"])
def test_what_begins_as_a_key_and_reads_as_no_words_is_masked(key: str) -> None:
    assert key not in REDACTOR.line(f"the key {key} was refused")
