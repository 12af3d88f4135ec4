"""A table pasted into a message: CSV, TSV, Markdown or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field

from benchgen.agent.rules.marks import TABLE, Mark
from benchgen.agent.rules.numbers import fold, parse

_QUESTION = [
    "question",
    "questions",
    "prompt",
    "q",
    "frage",
    "pregunta",
    "domanda",
    "pergunta",
    "问题",
    "題目",
    "题目",
    "問題",
    "質問",
    "вопрос",
    "input",
    "query",
]
_ANSWER = [
    "answer",
    "answers",
    "a",
    "key",
    "target",
    "solution",
    "correct",
    "label",
    "antwort",
    "losung",
    "respuesta",
    "reponse",
    "resposta",
    "risposta",
    "答案",
    "答え",
    "正解",
    "ответ",
    "output",
    "points",
    "keypoints",
    "rubric",
    "completion",
    "expected",
]
_OPTION = re.compile(
    r"(?:option|choice|opcion|opcao|choix|opzione|选项|選択肢|вариант)?[\s_]*[a-h1-8]",
    re.IGNORECASE,
)
_LINES = 5000


@dataclass(frozen=True)
class Pasted:
    """A table as it was pasted."""

    text: str
    rows: int
    kind: str = ""
    """Of its questions, where the columns show it."""
    columns: tuple[str, ...] = field(default=())


def find(text: str) -> Mark | None:
    """The first pasted table of a message."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for first, line in enumerate(lines[:_LINES]):
        if line.lstrip()[:1] == "{":
            found = _json_lines(lines, starts, first)
        else:
            found = _delimited(text, lines, starts, first)
        if found:
            return found
    return None


def _json_lines(lines: list[str], starts: list[int], first: int) -> Mark | None:
    last, keys = first, []
    for line in lines[first:]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(row, dict):
            break
        keys.append({fold(str(key)) for key in row})
        last += 1
    if not keys or not (keys[0] & set(_QUESTION)):
        return None
    text = "".join(lines[first:last])
    kind = "mcq" if keys[0] & {"choices", "options"} else "keypoints" if "points" in keys[0] else ""
    return _mark(Pasted(text, len(keys), kind, tuple(sorted(keys[0]))), starts[first], text)


def _delimited(text: str, lines: list[str], starts: list[int], first: int) -> Mark | None:
    """A table whose header is on this line."""
    line = lines[first]
    for sign in ("\t", ";", "|", ","):
        if line.count(sign) and first + 1 < len(lines):
            lead = _lead(line, sign)
            header = _cells(line[lead:], sign)
            if _is_header(header):
                return _table(text, lines, starts, first, lead, sign)
    return None


def _lead(line: str, sign: str) -> int:
    """How much of the line is talk before the table: `make this a benchmark: question,A,B`."""
    head = line.split(sign, maxsplit=1)[0]
    return max(head.rfind(": "), head.rfind("： ")) + 2 if ": " in head else 0


def _cells(line: str, sign: str) -> list[str]:
    """The fields of one line; none where its quotes are broken."""
    try:
        cells = next(csv.reader([line.strip("\r\n")], delimiter=sign), [])
    except csv.Error:
        return []
    if sign == "|":
        cells = line.strip().strip("|").split("|")
    return [cell.strip() for cell in cells]


def _is_header(cells: list[str]) -> bool:
    """Whether the fields name the columns of a set of questions."""
    names = [fold(cell).strip("\"'*: ") for cell in cells]
    if len(names) < 2 or len(set(names)) < len(names) or max(map(len, names)) > 40:
        return False
    return bool(set(names) & set(_QUESTION)) and (
        bool(set(names[1:]) & set(_ANSWER)) or sum(bool(_OPTION.fullmatch(n)) for n in names) > 1
    )


def _table(
    text: str, lines: list[str], starts: list[int], first: int, lead: int, sign: str
) -> Mark | None:
    header = _cells(lines[first][lead:], sign)
    start = starts[first] + lead
    if sign == "|":
        under = _while_has(lines[first + 1 :], "|")
        last = first + 1 + len(under)
        under = [line for line in under if not _is_rule(_cells(line, sign))]
        rows = [_cells(line, sign) for line in under]
        told = "".join([lines[first][lead:], *under])
    else:
        rows, last = _csv_rows(lines, first, sign, len(header))
        told = text[start : starts[last]]
    if not rows:
        return None
    pasted = Pasted(told, len(rows), _kind(header, rows), tuple(header))
    return _mark(pasted, start, text[start : starts[last]])


def _is_rule(cells: list[str]) -> bool:
    """Whether a line only parts the header from the rows: |---|---|."""
    return all(re.fullmatch(r":?-+:?", cell) for cell in cells)


def _while_has(lines: list[str], sign: str) -> list[str]:
    for at, line in enumerate(lines):
        if sign not in line:
            return lines[:at]
    return lines


def _csv_rows(lines: list[str], first: int, sign: str, width: int) -> tuple[list[list[str]], int]:
    """(rows as wide as the header, number of the line after the last); a quoted field may span lines."""
    reader = csv.reader(io.StringIO("".join(lines[first + 1 :]), newline=""), delimiter=sign)
    rows, last = [], first + 1
    try:
        for row in reader:
            if len(row) != width or not any(cell.strip() for cell in row):
                break
            rows.append(row)
            last = min(first + 1 + reader.line_num, len(lines))
    except csv.Error:
        pass
    return rows, last


def _kind(header: list[str], rows: list[list[str]]) -> str:
    """What the columns show: options make it mcq, points keypoints, words as answers qa."""
    names = [fold(name).strip("\"'*: ") for name in header]
    if "answer" in names or "question" in names[:1]:
        names = [n for n in names if n != "a"] if sum(map(_is_letter, names)) == 1 else names
    if sum(bool(_OPTION.fullmatch(name)) for name in names) > 1 or {"choices", "options"} & set(
        names
    ):
        return "mcq"
    if {"points", "keypoints", "rubric"} & set(names):
        return "keypoints"
    answers = [row[-1].strip() for row in rows]
    return "" if all(parse(answer) is not None for answer in answers) else "qa"


def _is_letter(name: str) -> bool:
    return len(name) == 1


def _mark(pasted: Pasted, start: int, text: str) -> Mark:
    return Mark(TABLE, pasted, start, start + len(text.rstrip("\r\n")))
