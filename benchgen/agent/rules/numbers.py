"""Numbers as people write them: words of nine languages, 1,000 and 1.000, 0,0002 and 2e-4, 二十五."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "de": "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve",
    "fr": "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
    "pt": "zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete dezoito dezenove",
    "it": "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove",
    "ru": "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "fr": "vingt trente quarante cinquante soixante septante huitante nonante",
    "pt": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "it": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "ru": "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
}
_OTHERS = {
    "en": {
        "hundred": 100,
        "thousand": 1000,
        "dozen": 12,
        "dozens": 12,
        "score": 0,
        "fourty": 40,
        "fivty": 50,
        "ninty": 90,
        "twelv": 12,
        "fiveteen": 15,
        "couple": 2,
        "twent": 20,
    },
    "de": {
        "hundert": 100,
        "tausend": 1000,
        "dutzend": 12,
        "ein": 1,
        "eine": 1,
        "zwo": 2,
        "dreißig": 30,
    },
    "es": {
        "cien": 100,
        "ciento": 100,
        "mil": 1000,
        "docena": 12,
        "un": 1,
        "una": 1,
        "veinti": 20,
        "doscientos": 200,
        "doscientas": 200,
        "trescientos": 300,
        "trescientas": 300,
        "cuatrocientos": 400,
        "quinientos": 500,
        "quinientas": 500,
        "dos mil": 2000,
        "veintena": 20,
        "treintena": 30,
    },
    "fr": {
        "cent": 100,
        "cents": 100,
        "mille": 1000,
        "douzaine": 12,
        "vingts": 20,
        "une": 1,
        "dizaine": 10,
        "quinzaine": 15,
        "vingtaine": 20,
        "trentaine": 30,
        "cinquantaine": 50,
        "centaine": 100,
    },
    "pt": {
        "cem": 100,
        "cento": 100,
        "mil": 1000,
        "duzia": 12,
        "uma": 1,
        "duas": 2,
        "catorze": 14,
        "duzentos": 200,
        "duzentas": 200,
        "trezentos": 300,
        "trezentas": 300,
        "quinhentos": 500,
        "quinhentas": 500,
        "dezena": 10,
        "dezasseis": 16,
        "dezassete": 17,
    },
    "it": {
        "cento": 100,
        "mille": 1000,
        "mila": 1000,
        "dozzina": 12,
        "un": 1,
        "una": 1,
        "vent": 20,
        "trent": 30,
        "quarant": 40,
        "cinquant": 50,
        "sessant": 60,
        "settant": 70,
        "ottant": 80,
        "novant": 90,
        "decina": 10,
        "ventina": 20,
        "trentina": 30,
        "quindicina": 15,
    },
    "ru": {
        "сто": 100,
        "двести": 200,
        "триста": 300,
        "пятьсот": 500,
        "тысяча": 1000,
        "тысячи": 1000,
        "тысяч": 1000,
        "дюжина": 12,
        "дюжину": 12,
        "две": 2,
        "одна": 1,
        "одну": 1,
        "десятка": 10,
        "десяток": 10,
        "двадцати": 20,
        "тридцати": 30,
        "пяти": 5,
        "десяти": 10,
        "трех": 3,
        "четырех": 4,
        "двух": 2,
        "пятнадцати": 15,
        "сорока": 40,
        "пятидесяти": 50,
        "шести": 6,
        "семи": 7,
        "восьми": 8,
    },
}
_JOINS = {"en": "and a", "de": "und", "es": "y", "fr": "et", "pt": "e", "it": "e", "ru": "и"}
_ORDINALS = {
    "en": "first second third fourth fifth sixth seventh eighth ninth tenth",
    "de": "erste zweite dritte vierte funfte sechste siebte achte neunte zehnte",
    "es": "primera segunda tercera cuarta quinta sexta septima octava novena decima",
    "fr": "premiere deuxieme troisieme quatrieme cinquieme sixieme septieme huitieme neuvieme dixieme",
    "pt": "primeira segunda terceira quarta quinta sexta setima oitava nona decima",
    "it": "prima seconda terza quarta quinta sesta settima ottava nona decima",
    "ru": "перв втор трет четверт пят шест седьм восьм девят десят",
}
_COMPOUNDING = ("de", "it", "es")
"""Languages that write a number as one word."""
ARTICLES = frozenset(
    ["one", "ein", "eine", "eins", "un", "una", "uno", "une", "um", "uma", "один", "одна", "одну"]
)
"""Words that are a number only before a unit: `one epoch`."""

_CJK_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CJK_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10000, "萬": 10000}
CJK_NUMERAL = "".join([*_CJK_DIGITS, *_CJK_UNITS])
NUMBER = re.compile(
    r"\d+(?:[.,'\u2019]\d+)*(?:\s?[x×*·]\s?10\s?\^\s?-?\d+|e[+-]?\d+)?", re.IGNORECASE
)
_GROUPED = re.compile(r"\d{1,3}(?:([.,'\u2019])\d{3})(?:\1\d{3})*")


def fold(word: str) -> str:
    """The word without case, width and accents of European scripts."""
    word = unicodedata.normalize("NFKC", word).casefold()
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    kept = (c for c in parts if not ("\u0300" <= c <= "\u036f"))
    return unicodedata.normalize("NFC", "".join(kept)).replace("’", "'")


def _table(language: str) -> dict[str, int]:
    found = {fold(w): i for i, w in enumerate(_ONES[language].split())}
    found |= {fold(w): 20 + 10 * i for i, w in enumerate(_TENS[language].split())}
    return found | {fold(w): n for w, n in _OTHERS[language].items()}


WORDS = {language: _table(language) for language in _ONES}
_FOLDED_ORDINALS = {
    language: [fold(word) for word in words.split()] for language, words in _ORDINALS.items()
}


def sequence(words: Sequence[str], language: str) -> tuple[int, int] | None:
    """(value, words used) of the number that the folded words begin with; None if they begin with none."""
    total = current = used = 0
    last = 0
    for at, word in enumerate(words[:12]):
        if used and word in _JOINS.get(language, "").split():
            continue
        values = _values(word, language) or (_values(word, "en") if language != "en" else ())
        if not values:
            break
        if at > used and len(values) == 1 and values[0] >= 100 and language == "en":
            break
        joined = _join(total, current, last, values, language)
        if joined is None:
            break
        total, current, last = joined
        used = at + 1
    return (total + current, used) if used else None


def _join(
    total: int, current: int, last: int, values: Sequence[int], language: str
) -> tuple[int, int, int] | None:
    """(total, current, last value) with the values added; None where they are no part of the number."""
    for value in values:
        if value >= 1000:
            total, current = total + max(current, 1) * value, 0
        elif value in (100, 12) and 0 < current < 20 and last != 12:
            current *= value
        elif value == 20 and current == 4 and language == "fr":
            current = 80
        elif current and not _room(current, value, language):
            return None
        else:
            current += value
        last = value
    return total, current, last


def _room(current: int, value: int, language: str) -> bool:
    """Whether a smaller number follows a larger one, or units their tens as in German."""
    if language == "de" and current % 100 < 10 and 20 <= value < 100 and value % 10 == 0:
        return True
    if language == "fr" and current % 100 in (60, 80) and value < 20:
        return True
    size = 10 if value < 10 else 100 if value < 100 else 1000
    return current % size == 0 and current > value


@lru_cache(maxsize=4096)
def _values(word: str, language: str) -> tuple[int, ...]:
    """The numbers that a word consists of, in order; none if it is no number word."""
    table = WORDS.get(language)
    if table is None:
        return ()
    if word in table:
        return (table[word],) if table[word] or word.startswith(("zero", "null", "cero")) else ()
    return _compound(word, language) if language in _COMPOUNDING and 6 < len(word) < 60 else ()


def _compound(word: str, language: str) -> tuple[int, ...]:
    """The numbers in a word such as funfundzwanzig, longest pieces first."""
    table, join, values = WORDS[language], _JOINS[language], []
    at = 0
    while at < len(word):
        for end in range(len(word), at, -1):
            if word[at:end] in table:
                values.append(table[word[at:end]])
                at = end
                break
        else:
            if not (values and word.startswith(join, at)):
                return ()
            at += len(join)
    return tuple(values)


def cjk(text: str) -> int | None:
    """The value of a Chinese numeral such as 二十五 or 两千; None if it is none."""
    text = text.replace("個", "")
    if not text:
        return None
    if not any(c in _CJK_UNITS for c in text):
        return int("".join(str(_CJK_DIGITS[c]) for c in text)) if len(text) < 10 else None
    total = section = digit = 0
    for c in text[:20]:
        if c in _CJK_DIGITS:
            digit = _CJK_DIGITS[c]
        elif c in "万萬":
            total, section, digit = (total + section + digit) * 10000, 0, 0
        else:
            section, digit = section + max(digit, 1) * _CJK_UNITS[c], 0
    return total + section + digit


def parse(text: str) -> int | float | None:
    """A written number: 1,000 and 1.000 are thousands, 0,0002 has a decimal comma, 2e-4 and 2x10^-4 are powers."""
    text = unicodedata.normalize("NFKC", text).replace("×", "x").replace("·", "x").replace(" ", "")
    text = re.sub(r"[x*]10\^", "e", text.lower())
    mantissa = re.split("e", text)[0]
    if _GROUPED.fullmatch(mantissa) and not mantissa.startswith("0"):
        text = re.sub(r"[.,'\u2019]", "", text)
    text = text.replace("'", "").replace("\u2019", "")
    if text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        value = float(text[:40])
    except ValueError:
        return None
    if value != value or value in (float("inf"), float("-inf")):
        return None
    return int(value) if value == int(value) and "e-" not in text else value


@lru_cache(maxsize=4096)
def ordinal(word: str) -> int | None:
    """1 for first, erste, primera, 1st, 第一; None if the folded word is no ordinal."""
    if found := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|\.|º|ª|er|e|ere|eme|-я|-й)", word):
        return int(found[1])
    for language, words in _FOLDED_ORDINALS.items():
        for number, stem in enumerate(words, 1):
            if word == stem or _inflected(word, stem, language):
                return number
    return None


def _inflected(word: str, stem: str, language: str) -> bool:
    """Whether the word is the ordinal with another ending: ersten, primero, вторая."""
    if language == "de":
        return word[: len(stem)] == stem and word[len(stem) :] in ("n", "r", "s", "ns")
    if language == "ru":
        endings = ("ыи", "ая", "ое", "ои", "ую", "ого", "ии", "ья", "ье", "ью", "ьего")
        return word[: len(stem)] == stem and word[len(stem) :] in endings
    if language in ("es", "pt", "it"):
        return len(word) > 3 and word in (stem[:-1] + "o", stem[:-1] + "os", stem[:-1] + "as")
    if language == "fr":
        return word in ("premier", "second", "seconde")[: 3 if stem == "deuxieme" else 1] and (
            (stem == "premiere") == (word == "premier")
        )
    return False
