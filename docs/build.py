"""The documentation as a site: `make docs`, or `python docs/build.py [FOLDER]` (by default build/docs).

Pages lie in `docs/`; what code says better is written at build time beside copies of them: the tutorial from
the committed notebooks, the reference from `conf/`, the verbs' own help, docstrings and every message. Then
Sphinx, strict: a warning, such as one of a link that leads nowhere, is an error. Nothing needs a network.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COPIED = ("*.md", "*.svg", "*.css", "*.png")
HOLE = "…"
"""Stands in a message for what is filled in when it is said."""


def main(arguments: list[str]) -> int:
    """Sphinx's exit code: 0 for a site without a warning."""
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "docs"
    source = folder / "source"
    lay_out(source)
    return sphinx(source, folder / "html")


def lay_out(source: Path) -> None:
    """Every page of the site in `source`, which is made anew."""
    shutil.rmtree(source, ignore_errors=True)
    for pattern in COPIED:
        for path in sorted(DOCS.rglob(pattern)):
            _write(source / path.relative_to(DOCS), path.read_bytes())
    _write(source / "conf.py", (DOCS / "conf.py").read_bytes())
    for name, text in pages().items():
        _write(source / name, text.encode())


def pages() -> dict[str, str]:
    """{path in the site: Markdown} of the pages that are written from code, config and notebooks."""
    return {
        **tutorial(),
        "reference/commands.md": commands(),
        **groups(),
        "reference/messages.md": messages(),
    }


def sphinx(source: Path, site: Path) -> int:
    """Build the site; Sphinx's exit code."""
    from sphinx.cmd.build import main as build

    os.environ["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH", "0")
    shutil.rmtree(site, ignore_errors=True)
    code = build(
        [
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            "-d",
            str(site.with_name("doctrees")),
            str(source),
            str(site),
        ]
    )
    if code == 0:
        sys.stdout.write(f"{site / 'index.html'}\n")
    return code


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


# --- the tutorial ---------------------------------------------------------------------------------------------


def tutorial() -> dict[str, str]:
    """One page a notebook, and the page that lists them; outputs as text, as they were committed."""
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    found = {f"tutorial/{path.stem}.md": _notebook(path) for path in paths}
    names = "\n".join(path.stem for path in paths)
    found["tutorial/index.md"] = (
        "# Tutorial\n\nEight notebooks, shown here with the outputs that were committed with them. `make lab` opens "
        "them to be run; each stands alone and takes minutes on a plain CPU.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    )
    return found


def _notebook(path: Path) -> str:
    import nbformat
    from nbconvert import MarkdownExporter
    from traitlets.config import Config

    shown = ["image/svg+xml", "image/png", "text/plain"]
    settings = Config({"NbConvertBase": {"display_data_priority": shown}})
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    exporter = MarkdownExporter(config=settings)  # type: ignore[no-untyped-call]
    text, _ = exporter.from_notebook_node(notebook)
    linked = re.sub(r"`(0\d_\w+)`", r"[\1](\1.md)", text)
    return f"{linked}\n\n*This page is `notebooks/{path.name}`.*\n"


# --- the verbs ------------------------------------------------------------------------------------------------


def commands() -> str:
    """What `--help` prints, of all verbs and of each."""
    from benchgen.verbs import help_text
    from benchgen.verbs.words import VERBS

    parts = ["# Commands", "As `benchgen --help` prints it:", _block(help_text(""))]
    for verb in VERBS.values():
        parts += [
            f"## {verb.name}",
            f"{verb.about[0].upper()}{verb.about[1:]}.",
            _block(help_text(verb.name)),
        ]
    return "\n\n".join(parts) + "\n"


def _block(text: str, language: str = "text") -> str:
    return f"````{language}\n{text.rstrip()}\n````"


# --- the config groups ----------------------------------------------------------------------------------------


def groups() -> dict[str, str]:
    """One page a folder of `conf/`: settings with their meaning, and every file as it is, comments and all."""
    from benchgen import config

    names = sorted(
        path.name
        for path in config.root().iterdir()
        if path.is_dir() and path.name not in ("hydra", "local") and config.options(path.name)
    )
    found = {f"reference/config/{name}.md": _group(name) for name in names}
    listed = "\n".join(names)
    top = (config.root() / "config.yaml").read_text()
    found["reference/config/index.md"] = (
        "# Config groups\n\nEvery option is a file of `conf/GROUP/`; `GROUP=NAME` picks one, `GROUP.SETTING=VALUE` "
        "changes what it says. A file of your own beside them is an option like any other.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n\n## What is composed\n\n`conf/config.yaml`:\n\n"
        f"{_block(top, 'yaml')}\n\n## Settings of no group\n\n{_settings('', _fields()['Config'])}\n"
    )
    return found


def _group(name: str) -> str:
    from benchgen import config
    from benchgen.verbs.words import VERB_GROUPS

    section = type(getattr(config.Config(), name, None)).__name__
    readers = [verb for verb, read in VERB_GROUPS.items() if name in read.split()]
    parts = [f"# {name}", f"`{name}={'|'.join(config.options(name))}`"]
    if readers:
        parts.append(f"Read by {', '.join(f'`benchgen {verb}`' for verb in readers)}.")
    if section in _fields():
        parts += ["## Settings", _settings(f"{name}.", _fields()[section])]
    parts.append("## Options")
    for option in config.options(name):
        text = (config.root() / name / f"{option}.yaml").read_text()
        parts += [f"### {name}={option}", _block(text, "yaml")]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True)
class Field:
    """One setting of the schema, as its source says it."""

    name: str
    kind: str
    default: str
    about: str


def _fields() -> dict[str, list[Field]]:
    """{dataclass: its settings} of the schema, with the sentence that stands under each in the source."""
    tree = ast.parse((ROOT / "benchgen" / "config" / "schema.py").read_text())
    return {node.name: [*_of_class(node)] for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> Iterator[Field]:
    for place, line in enumerate(node.body):
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        after = node.body[place + 1] if place + 1 < len(node.body) else None
        about = (
            after.value.value
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            else ""
        )
        default = ast.unparse(line.value) if line.value else ""
        made = re.fullmatch(r"field\(default_factory=(\w+)\)", default)
        if made:
            default = {"list": "[]", "dict": "{}"}.get(made[1], made[1])
        yield Field(
            line.target.id, ast.unparse(line.annotation), default, " ".join(str(about).split())
        )


def _settings(prefix: str, fields: list[Field]) -> str:
    """The settings as a table; what is a group of its own has a page of its own."""
    schema = _fields()
    rows = ["| setting | type | default | |", "| --- | --- | --- | --- |"]
    for field in fields:
        if field.kind in schema and not prefix:
            continue
        if field.kind in schema:
            rows += [
                _row(f"{prefix}{field.name}.{one.name}", one)
                for one in schema[field.kind]
                if one.kind not in schema
            ]
        else:
            rows.append(_row(f"{prefix}{field.name}", field))
    return "\n".join(rows)


def _row(name: str, field: Field) -> str:
    cells = [
        f"`{name}`",
        f"`{_cell(field.kind)}`",
        f"`{_cell(field.default)}`",
        _cell(field.about, prose=True),
    ]
    return f"| {' | '.join(cells)} |"


def _cell(text: str, *, prose: bool = False) -> str:
    """Text that a table's cell can hold."""
    text = text.replace("|", r"\|")
    return re.sub(r"([*_<>\[\]{}])", r"\\\1", text) if prose else text


# --- the messages ---------------------------------------------------------------------------------------------

ERRORS = (
    *(
        "BenchgenError",
        "InputError",
        "ConfigError",
        "NotFound",
        "StateError",
        "DataError",
        "NotAllowed",
    ),
    *("ModelError", "TrainingError", "StoreError"),
)


@dataclass(frozen=True)
class Message:
    """One error as the code raises it; `…` stands for what is filled in."""

    module: str
    kind: str
    what: str
    next: str


def messages() -> str:
    """Every error that is raised on purpose, by module: what it says, and what it offers to do."""
    parts = [
        "# Every message",
        "Written from the code: each error that is raised on purpose, the module that raises it, and the line that it "
        f"gives as the next step. `{HOLE}` stands for what is filled in. [Troubleshooting](../troubleshooting.md) "
        "explains those that are met most.",
    ]
    for module, told in _by_module(raised()).items():
        rows = ["| message | next | error |", "| --- | --- | --- |"]
        rows += [f"| {_text(m.what)} | {_text(m.next)} | `{m.kind}` |" for m in told]
        parts += [f"## {module}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _text(text: str) -> str:
    return _cell(" ".join(text.split()), prose=True).replace("`", r"\`")


def _by_module(found: Iterator[Message]) -> dict[str, list[Message]]:
    told: dict[str, list[Message]] = {}
    for message in found:
        if message not in told.setdefault(message.module, []):
            told[message.module].append(message)
    return told


def raised() -> Iterator[Message]:
    """Every error with words of its own, in the order of the files."""
    for path, tree in sources():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(tree):
            kind = _kind(node)
            if kind and isinstance(node, ast.Call) and node.args:
                what = template(node.args[0])
                after = [template(word.value) for word in node.keywords if word.arg == "next"]
                if re.search(r"\w", what):
                    yield Message(module, kind, what, after[0] if after else "")


def _kind(node: ast.AST) -> str:
    """The class of error that a call makes; "" for any other node."""
    if not isinstance(node, ast.Call):
        return ""
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr == "wrong":
        return "DataError"
    name = called.id if isinstance(called, ast.Name) else ""
    return name if name in ERRORS else ""


def sources() -> Iterator[tuple[Path, ast.Module]]:
    """(path, tree) of every module of the package."""
    for path in sorted((ROOT / "benchgen").rglob("*.py")):
        yield path, ast.parse(path.read_text())


def template(node: ast.expr) -> str:
    """The text that an expression makes, with HOLE for what is only known when it runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [str(one.value) if isinstance(one, ast.Constant) else HOLE for one in node.values]
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return HOLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
