"""Bytes to text: byte order marks, UTF-8, else the one other encoding that the bytes can be.

Old encodings cannot be told apart by rule alone, so one is taken only where the outcome looks like
words of its script; the report shows some of them, and everything else is refused.
"""

from __future__ import annotations

import codecs
import re

from benchgen.author.files.source import Source, brief

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SIGNATURES = (
    (b"PK\x03\x04", "a zip archive (as Excel and Word files are)"),
    (b"%PDF", "a PDF"),
    (b"PAR1", "Parquet"),
    (b"\x1f\x8b", "gzip: unpack it first"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file, or an encrypted one"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "an SQLite database"),
)
SAMPLE = 65_536
"""Bytes around the unusual ones that the guess looks at."""

_WESTERN = "àâäáãåæçéèêëíìîïñóòôöõøœúùûüýÿß"
_WESTERN_SIGNS = "«»„“”‘’–—…€§°²³½¼¾¿¡£·•©®™×÷±µ\u00a0ºª´"
_LETTERS = frozenset(_WESTERN + _WESTERN.upper().replace("SS", ""))
_INSIDE_WORD = re.compile(r"[^\W\d_][²³½¼¾°§¿¡£±×÷€][^\W\d_]")
_CYRILLIC_WORD = re.compile(r"[А-ЯЁІЇЄҐЎЂЈЉЊЋЏ]?[а-яёіїєґўђјљњћџ]+|[А-ЯЁІЇЄҐ]+")
_SCRIPTS = {
    "japanese": re.compile(r"[\u3041-\u30ff\u4e00-\u9fff\u3000-\u303f\uff01-\uff5e]"),
    "chinese": re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff01-\uff5e]"),
    "korean": re.compile(r"[\uac00-\ud7a3\u3000-\u303f\uff01-\uff5e]"),
}
_COMMON = {
    "japanese": frozenset("のにはをたがでてとしれさいるなもかすりらこま？。、"),
    "chinese": frozenset(
        "的一是不了在人有我他这個个们中来上大为為和国國地到以说時时要就出会可也你对生能哪下列什么"
    ),
    "korean": frozenset("이다는의가을에은로한고하지를도기어아시리사나자대스인그라무엇것수있"),
    "cyrillic": frozenset("оеаинтсрвлкм"),
}
"""Characters that texts of a script are full of; in a wrong reading they are rare."""
_EAST = {"cp932": "japanese", "euc_jp": "japanese", "gb18030": "chinese", "big5": "chinese"}
_EAST |= {"cp949": "korean"}
_CYRILLIC = ("cp1251", "koi8-r", "cp866", "iso8859-5")


def refuse_binary(raw: bytes, source: Source) -> None:
    """Nothing; an error where the first bytes are those of another format."""
    for signature, what in SIGNATURES:
        if raw.startswith(signature):
            raise source.wrong(
                f"it is no text: its content is {what}",
                next="give the file the ending that its content has, or save it as text",
            )


def decoded(raw: bytes, source: Source, declared: str | None = None) -> str:
    """The text of the file; an error names the line that cannot be read. `declared`: an HTML page's word."""
    refuse_binary(raw, source)
    for mark, encoding in BOMS:
        if raw.startswith(mark):
            if encoding != "utf-8":
                source.decide(f"read as {encoding.upper()}: the byte order mark says so")
            return _strict(raw[len(mark) :], encoding, source)
    wide = _wide(raw)
    if wide:
        source.decide(f"read as {wide.upper()}: every other byte is zero")
        return _strict(raw, wide, source)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _other(raw, error, source, declared)


def _strict(raw: bytes, encoding: str, source: Source) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].decode(encoding, "ignore").count("\n") + 1
        raise source.wrong(
            f"line {line} is no valid {encoding.upper()}: the file was cut or mixes encodings",
            next="save the file as UTF-8",
        ) from error


def _wide(raw: bytes) -> str:
    """UTF-16 without a mark, "" for anything else."""
    head = raw[:4096]
    if len(head) < 4 or b"\0" not in head:
        return ""
    half = len(head) // 2
    if head[1::2].count(0) > 0.6 * half and head[0::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if head[0::2].count(0) > 0.6 * half and head[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    return ""


def _other(raw: bytes, error: UnicodeDecodeError, source: Source, declared: str | None) -> str:
    line = raw[: error.start].count(b"\n") + 1
    lines = [part for part in raw.split(b"\n") if not part.isascii()]
    if not declared and any(_is_utf8(part) for part in lines):
        raise source.wrong(
            f"line {line} holds byte 0x{raw[error.start]:02X}, which is no UTF-8, while other lines "
            "are: the file mixes encodings or was cut inside a character",
            next="save the whole file as UTF-8",
        )
    encoding = _known(declared) or _guess(b"\n".join(lines)[:SAMPLE])
    try:
        text = raw.decode(encoding) if encoding else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise source.wrong(
            f"line {line} holds byte 0x{raw[error.start]:02X}: the text is not UTF-8, and its encoding "
            "cannot be told for certain",
            next="open it in the program that wrote it and save it as UTF-8",
        )
    words = list(dict.fromkeys(w for w in re.findall(r"\w+", text) if not w.isascii()))[:5]
    source.warn(
        f"the file is not UTF-8; read as {encoding}, with words such as "
        f"{', '.join(brief(word, 20) for word in words) or 'none'}: if they look wrong, save it as UTF-8"
    )
    return text


def _is_utf8(part: bytes) -> bool:
    try:
        part.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _known(declared: str | None) -> str:
    try:
        return codecs.lookup(declared).name if declared else ""
    except LookupError:
        return ""


def _guess(sample: bytes) -> str:
    """The encoding whose outcome looks like words of its script; "" if none or several do."""
    high = sum(byte > 127 for byte in sample)
    plain = sum(65 <= byte <= 122 for byte in sample)
    if high < plain and _western(sample):
        return "cp1252"
    fitting = {e: script for e, script in _EAST.items() if _eastern(sample, e, script)}
    fitting |= {e: "cyrillic" for e in _CYRILLIC if _cyrillic(sample, e)}
    shares = sorted(
        ((_common(sample, e, script), e) for e, script in fitting.items()), reverse=True
    )
    share, best = shares[0] if shares else (0.0, "")
    rival = shares[1][0] if len(shares) > 1 else 0.0
    return best if share > max(0.05, 1.5 * rival) else ""


def _common(sample: bytes, encoding: str, script: str) -> float:
    """The share of a script's common characters among those that are not ASCII."""
    odd = [c for c in sample.decode(encoding, "ignore").casefold() if not c.isascii()]
    return sum(c in _COMMON[script] for c in odd) / max(1, len(odd))


def _western(sample: bytes) -> bool:
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    odd = {c for c in text if not c.isascii()}
    return odd <= _LETTERS | set(_WESTERN_SIGNS) and not _INSIDE_WORD.search(text)


def _eastern(sample: bytes, encoding: str, script: str) -> bool:
    """Whether nearly all that is not ASCII is in the script."""
    odd = [c for c in sample.decode(encoding, "ignore") if not c.isascii()]
    fine = sum(map(bool, map(_SCRIPTS[script].match, odd)))
    return bool(odd) and _decodes(sample, encoding) and fine > 0.9 * len(odd)


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(
            sample
        )  # the sample may end within a character
    except UnicodeDecodeError:
        return False
    return True


def _cyrillic(sample: bytes, encoding: str) -> bool:
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    odd = [c for c in text if not c.isascii()]
    words = [word for word in re.findall(r"\w+", text) if not word.isascii()]
    fine = sum(bool(_CYRILLIC_WORD.fullmatch(word)) for word in words)
    return bool(words) and fine > 0.9 * len(words) and sum(map(len, words)) > 0.8 * len(odd)
