"""Column names to roles: which column is the question, the answer, an option, and how that was told."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchgen.author.files import words
from benchgen.author.files.source import Source, Table, trimmed

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BRACKETED = re.compile(r"\s*[(\[{][^()\[\]{}]*[)\]}]\s*")
_HINT = re.compile(
    r"\s+[-–—:]\s+(?=(?:max|min|up to|at least|at most|optional|required|choose|select|pick|e\.?g|for example)\b).*",
    re.IGNORECASE | re.DOTALL,
)
"""What a form tells whoever fills it in: 'Question - max 120 characters'."""
_NO_WORD = re.compile(r"[\W_]+")
_OPTION = re.compile(
    rf"(?:(?P<prefix>{'|'.join((*words.OPTION_PREFIXES, *words.FOREIGN_PREFIXES))})_?)?"
    r"(?P<label>[a-j]|[абвгдежз]|\d{1,2})"
)
_WRONG = re.compile(
    r"(?:distractor|(?:incorrect|wrong|false)(?:_(?:answer|option|choice))?)_?(?:\d{1,2}|[a-j])"
)
_STRONG = {name: role for role, names in words.STRONG.items() for name in names}
_FOREIGN = {name: role for role, names in words.FOREIGN.items() for name in names}
_WEAK = {name for names in words.WEAK.values() for name in names}
_FIRST = {"digits": {"0", "1"}, "latin": {"a"}, "cyrillic": {"а"}}
_ROLE_NAMES = {"choices": "options", "key_points": "points", "explanation": "rationale"}
SINGLE = frozenset(("question", "answer"))
"""Roles without which there is no question."""


@dataclass(frozen=True)
class Layout:
    """Which column plays which role. `options` are (label, column), labels as letters or digits."""

    roles: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    """Every column that says the answer; they must agree."""
    options: tuple[tuple[str, str], ...] = ()
    wrong: tuple[str, ...] = ()
    """Columns of wrong options only."""
    unused: tuple[str, ...] = ()

    def get(self, role: str) -> str | None:
        return self.roles.get(role)

    @property
    def first_answer(self) -> str:
        """The column of the answer to show first; one that lists all of them only where there is no other."""
        single = [column for column in self.answers if plain_name(column) not in words.SEVERAL]
        return (*single, *self.answers, "")[0]

    @property
    def has_options(self) -> bool:
        return bool(self.options or self.wrong or "options" in self.roles or "wrong" in self.roles)


def plain_name(header: str) -> str:
    """'Correct Answer (A-D):' and 'correctAnswer' both as 'correct_answer'; other scripts stay as they are."""
    header = _HINT.sub("", unicodedata.normalize("NFKC", trimmed(header)))
    header = header.replace("#", " no ") if len(header) > 1 else header.replace("#", "no")
    without = _BRACKETED.sub(" ", header).strip()
    header = _CAMEL.sub("_", without or header)
    return _NO_WORD.sub("_", header.casefold()).strip("_")


def known(header: str) -> bool:
    """Whether the name says what its column holds; a single letter or digit alone does not."""
    name = plain_name(header)
    if len(name) < 2 and name.isascii():
        return False
    named = name in _STRONG or name in _WEAK or name in _FOREIGN or name in words.OTHER
    return named or bool(_OPTION.fullmatch(name) or _WRONG.fullmatch(name))


def plays_a_part(header: str) -> bool:
    """Whether a column of that name may be a part of a question: any but those of `words.OTHER` alone."""
    name = plain_name(header)
    return known(header) and (name in _STRONG or name in _WEAK or name not in words.OTHER)


def is_header(cells: Sequence[str], told: Mapping[str, str]) -> bool:
    """Whether a line of cells names columns: by the person's word, or by two names that are known."""
    names = [trimmed(cell) for cell in cells]
    if told and set(told.values()) & set(names):
        return True
    filled = [name for name in names if name]
    number = sum(known(name) for name in filled)
    letters = sum(len(name) == 1 for name in filled)
    return number >= 2 or (number == 1 and number + letters == len(filled))


def layout_of(table: Table, source: Source, told: Mapping[str, str]) -> Layout:
    """The roles of the table's columns, those that `told` names first. What is missing is left out."""
    names = {column: plain_name(column) for column in table.columns}
    given = _given(table, source, told)
    taken = set(given.values())
    free = {c: n for c, n in names.items() if c not in taken and table.filled(c)}
    open_ones = {c: n for c, n in names.items() if c not in taken}
    options = _told_options(given) or _option_columns(open_ones, words.OPTION_PREFIXES)
    foreign = not options and _option_columns(open_ones, words.FOREIGN_PREFIXES)
    options = options or foreign or ()
    taken |= {column for _, column in options}
    free = {c: n for c, n in free.items() if c not in taken}
    roles = {role: column for role, column in given.items() if not _is_label(role)}
    wrong = tuple(c for c, n in free.items() if _WRONG.fullmatch(n)) if not options else ()
    answers = (roles["answer"],) if "answer" in roles else _answers(free)
    _fill(roles, free, source)
    empty = {c: n for c, n in names.items() if c not in free and c not in taken}
    answers = answers or _answers(empty)
    if "question" not in roles:
        roles |= {n: c for c, n in empty.items() if n == "question"}
    if answers:
        roles.setdefault("answer", answers[0])
    for role in ("question", "answer"):
        if role not in given and names.get(roles.get(role, "")) in words.WEAK[role]:
            source.decide(f"column '{roles[role]}' is read as the {role}")
    _translate(roles, {c: n for c, n in free.items() if c not in roles.values()}, source)
    answers = answers or ((roles["answer"],) if "answer" in roles else ())
    used = {*roles.values(), *answers, *wrong, *(column for _, column in options)}
    unused = tuple(c for c in table.columns if c not in used and table.filled(c))
    return Layout(roles, answers, tuple(options), wrong, unused)


def _is_label(role: str) -> bool:
    return len(role) == 1 and role.isalnum()


def _given(table: Table, source: Source, told: Mapping[str, str]) -> dict[str, str]:
    """{role: column} as the person said it; an error for a role or a column that is not there."""
    given = {}
    for role, column in told.items():
        role = _ROLE_NAMES.get(role, role)
        option = re.fullmatch(r"(?:option|choice)_?([A-Za-z])", role)
        role = option[1] if option else role
        if role not in words.STRONG and not _is_label(role):
            raise source.wrong(
                f"author.columns.{role} is no role of a column", got=role, allowed=list(words.ROLES)
            )
        near = [c for c in table.columns if c == column] or [
            c for c in table.columns if plain_name(c) == plain_name(column)
        ]
        if len(near) != 1:
            raise source.wrong(
                f"author.columns.{role}={column} names no column of the file",
                got=column,
                allowed=list(table.columns),
            )
        given[role] = near[0]
    return given


def _told_options(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (role.upper(), column) for role, column in sorted(given.items()) if _is_label(role)
    )


def _option_columns(
    names: Mapping[str, str], prefixes: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The largest group of columns that are one name with a, b, c … or 1, 2, 3 … (or from 0)."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for column, name in names.items():
        found = _OPTION.fullmatch(name)
        if found is None or (found["prefix"] or prefixes[0]) not in prefixes:
            continue
        label = found["label"]
        script = "digits" if label.isdigit() else "latin" if label.isascii() else "cyrillic"
        groups.setdefault((found["prefix"] or "", script), {})[label] = column
    fitting = [
        group
        for (_, script), group in groups.items()
        if len(group) > 1 and _FIRST[script] & set(group)
    ]
    largest = max(fitting, key=len, default={})
    order = sorted(largest.items(), key=lambda item: (len(item[0]), item[0]))
    return tuple((label.upper(), column) for label, column in order)


def _answers(free: Mapping[str, str]) -> tuple[str, ...]:
    """Every column with a strong name for the answer, else the first with a weak one."""
    strong = [c for name in words.STRONG["answer"] for c, n in free.items() if n == name]
    if strong:
        return tuple(strong)
    weak = [c for name in words.WEAK["answer"] for c, n in free.items() if n == name]
    return tuple(weak[:1])


def _fill(roles: dict[str, str], free: Mapping[str, str], source: Source) -> None:
    """Adds the roles that the names say; the answer is chosen elsewhere."""
    for role, names in words.STRONG.items():
        if role in roles or role == "answer":
            continue
        found = [c for name in names for c, n in free.items() if n == name]
        if not found and role == "question":
            found = [c for name in words.WEAK["question"] for c, n in free.items() if n == name][:1]
        if role == "question" and len(found) > 1:
            raise source.wrong(
                f"the columns {_quoted(found)} can each be the question: ambiguous",
                got=found,
                next=f"say which with author.columns.question={found[0]}",
            )
        if found:
            roles[role] = found[0]
    if "rationale" not in roles:
        used = {*roles.values(), *_answers(free)[:1]}
        for column, name in free.items():
            if name in words.WEAK["rationale"] and column not in used:
                roles["rationale"] = column


def _translate(roles: dict[str, str], free: Mapping[str, str], source: Source) -> None:
    """Adds roles told by words of another language, if a question or answer was not found otherwise."""
    if SINGLE <= set(roles):
        return
    found = {_FOREIGN[name]: column for column, name in free.items() if name in _FOREIGN}
    number = sum(name in _FOREIGN for name in free.values())
    sure = number == len(found) and not set(found) & set(roles)
    others = [c for c, n in free.items() if n not in _FOREIGN and n not in words.OTHER]
    if SINGLE <= {*found, *roles} and sure and not others:
        roles.update(found)
        told = ", ".join(f"'{column}' is the {role}" for role, column in found.items())
        source.decide(f"column names read by their meaning: {told}; author.columns.… changes that")


def stray_options(layout: Layout) -> list[str]:
    """Columns that look like options and are not used, since the first of them is not there."""
    single = [
        c for c in layout.unused if (f := _OPTION.fullmatch(plain_name(c))) and f["label"].isalpha()
    ]
    return single if len(single) > 1 else []


def require(layout: Layout, table: Table, source: Source, roles: Sequence[str]) -> None:
    """Nothing; an error that lists the columns that are missing and those that are there."""
    lacking = [role for role in roles if not layout.get(role)]
    if not lacking:
        return
    found = [column for column in table.columns if column] or ["none"]
    free = [c for c in table.columns if c and c in layout.unused]
    head = "there is no header line, and " if table.headerless else ""
    raise source.wrong(
        f"{head}no column was found for {' and '.join(lacking)}",
        got=found,
        next="name the columns, for instance "
        + " ".join(f"author.columns.{role}={_example(free, i)}" for i, role in enumerate(lacking)),
    )


def _example(free: Sequence[str], index: int) -> str:
    """A column that plays no part yet, so that it may be the one."""
    if not free:
        return "COLUMN"
    name = free[0 if index == 0 else -1]
    return f"'{name}'" if re.search(r"[\s=,(){}\[\]]", name) else name


def _quoted(columns: Sequence[str]) -> str:
    return " and ".join(f"'{column}'" for column in columns)
