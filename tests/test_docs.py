"""The documentation: it builds without a warning, leads nowhere that is not there, and what it says is so.

The site is built once, strictly, as `make docs` does. Every command on a page goes through the config; the
shell blocks of the how-tos are done for real, as a person would paste them.
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from benchgen import Workspace, config
from benchgen.compare import inference
from benchgen.errors import BenchgenError
from benchgen.run import statistics
from benchgen.verbs.line import parse
from benchgen.verbs.sweep import _combinations
from benchgen.verbs.words import VERBS
from tests.postgres import binaries, new_database, server
from tests.servers import ScriptedServer, said

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TREE = ("README.md", "CHANGELOG.md", *(str(page.relative_to(ROOT)) for page in PAGES))
FOLDERS = ("benchgen", "conf", "docs", "experiments", "notebooks", "requirements", "tests")
TOLD = ("conf/model/office.yaml", "conf/experiment/mine.yaml", "conf/local/default.yaml")
"""Files that how-tos tell a person to write."""

sys.path.insert(0, str(ROOT))
build = importlib.import_module("docs.build")

# --- the site -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning of Sphinx, or a word on the error stream, fails it."""
    folder = tmp_path_factory.mktemp("docs")
    done = subprocess.run(
        [sys.executable, str(DOCS / "build.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def soups(site: Path) -> dict[Path, BeautifulSoup]:
    """{page: its tree} of the whole site."""
    found = {
        path.resolve(): BeautifulSoup(path.read_bytes(), "html.parser")
        for path in site.rglob("*.html")
    }
    assert len(found) > 60
    return found


def _is_elsewhere(link: str) -> bool:
    return bool(urlsplit(link).scheme) or link.startswith("//")


def test_every_internal_link_and_anchor_leads_somewhere(
    site: Path, soups: dict[Path, BeautifulSoup]
) -> None:
    """Sphinx looks at those of Markdown; this looks at all that stand in the HTML, themes and code included."""
    ids = {page: {str(tag["id"]) for tag in soup.find_all(id=True)} for page, soup in soups.items()}
    lost = []
    for page, soup in soups.items():
        for tag in soup.find_all(["a", "img", "link", "script"]):
            link = str(tag.get("href") or tag.get("src") or "")
            if not link or _is_elsewhere(link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
            if not target.is_file() or (
                anchor and target in ids and unquote(anchor) not in ids[target]
            ):
                lost.append(f"{page.relative_to(site.resolve())}: {link}")
    assert not lost


def test_no_page_asks_anybody_outside(site: Path, soups: dict[Path, BeautifulSoup]) -> None:
    """Links may lead out; nothing is loaded from there."""
    for page, soup in soups.items():
        for tag in soup.find_all(
            ["img", "script", "iframe", "source", "video", "audio", "object", "link"]
        ):
            rel = list(tag.get("rel") or [])
            if tag.name == "link" and not {
                "stylesheet",
                "icon",
                "preload",
                "preconnect",
                "prefetch",
            } & set(rel):
                continue
            link = str(tag.get("src") or tag.get("data") or tag.get("href") or "")
            assert not _is_elsewhere(link) or link.startswith("data:"), f"{page.name}: {link}"
        for style in soup.find_all("style"):
            assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", style.get_text()), page.name
    for sheet in site.rglob("*.css"):
        text = sheet.read_text()
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text), sheet.name


def test_no_page_names_a_machine(soups: dict[Path, BeautifulSoup]) -> None:
    """Signatures and outputs can carry the paths of whoever built the site."""
    paths = {str(ROOT), str(Path.home()), sys.prefix} - {"/"}
    for page, soup in soups.items():
        text = soup.get_text()
        assert not [path for path in paths if path in text], page.name


def test_the_site_has_every_verb_group_notebook_and_page(
    soups: dict[Path, BeautifulSoup], site: Path
) -> None:
    texts = {str(page.relative_to(site.resolve())): soup.get_text() for page, soup in soups.items()}
    for verb in VERBS.values():
        assert verb.about[1:] in texts["reference/commands.html"]
    for group in (
        path.parent.name for path in config.root().glob("*/*.yaml") if path.parent.name != "local"
    ):
        page = texts[f"reference/config/{group}.html"]
        for path in (config.root() / group).glob("*.yaml"):
            assert path.read_text().strip() in page
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"tutorial/{notebook.stem}.html" in texts
    for path in PAGES:
        assert str(path.relative_to(DOCS).with_suffix(".html")) in texts


# --- the tree -------------------------------------------------------------------------------------------------


def _without_code(text: str) -> str:
    text = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


@pytest.mark.parametrize("name", TREE)
def test_links_and_paths_of_a_page_are_in_the_tree(name: str) -> None:
    """As they are read on GitHub: links relative to the page, and files named in `code` from the checkout's top."""
    page = ROOT / name
    text = page.read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)", _without_code(text)):
        if not _is_elsewhere(link) and not link.startswith("#"):
            assert (page.parent / link.partition("#")[0]).exists(), link
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[^`\s]*)`", text)
    for path in named:
        if not re.search(r"[*…A-Z{]", path.replace("README", "").replace("LOG", "")):
            assert (ROOT / path).exists() or path in TOLD, path


def test_the_drawing_shows_the_path_of_the_loop_and_loads_nothing() -> None:
    text = (DOCS / "drawings" / "data-path.svg").read_text()
    words = [tag.get_text() for tag in BeautifulSoup(text, "html.parser").find_all("text")]
    line = re.search(
        r"^author -> .*$", importlib.import_module("benchgen.loop").__doc__ or "", re.MULTILINE
    )
    assert line
    stages = set(line[0].split(" -> ")) - {"publish"}  # an arrow, between draft and benchmark
    assert stages <= set(words)
    assert not re.search(r"href|url\((?!#)|<image|<script", text)


def test_the_architecture_page_has_the_layers_that_are_held() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    held = [re.findall(r"\w+", layer) for layer in layers["contracts"][0]["layers"]]
    (line,) = re.findall(
        r"^`cli` > .*?\.$", (DOCS / "architecture.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert [re.findall(r"`(\w+)`", part) for part in line.split(">")] == held


# --- commands -------------------------------------------------------------------------------------------------


def _lines_of_code(text: str) -> Iterator[str]:
    """The lines of fenced and indented blocks."""
    fence = ""
    for line in text.splitlines():
        if re.match(r"`{3,}", line):
            fence = "" if fence and line.startswith(fence) else fence or re.match(r"`+", line)[0]  # type: ignore[index]
        elif fence:
            yield line
        elif line.startswith("    "):
            yield line.strip()


FILLED = re.compile(r"(\w+_id|sibling_of)=(?:N|…)")
"""An id as prose writes it."""


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of each `benchgen` command on a page, in blocks and in `code`; remarks beside it are cut off."""
    lines = [line.removeprefix("$ ") for line in _lines_of_code(text)]
    spans = re.findall(
        r"`(benchgen [^`]+)`", re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    )
    for line in (*lines, *spans):
        if not line.startswith("benchgen "):
            continue
        typed = re.split(r"\s{2,}|\s#\s", line.replace(r"\|", "|"))[0]
        argv = [FILLED.sub(r"\1=1", word) for word in shlex.split(typed)[1:]]
        flags = {word for word in argv if word.startswith("-")} - {"-m"}
        if argv and not flags and not {"VERB", "…", "experiment=…"} & set(argv):
            yield argv


@cache
def compose(argv: tuple[str, ...]) -> None:
    """The command's config, composed as the command line does; of a sweep its first and last job."""
    verb, overrides, multirun = parse([*argv])
    whole, jobs = _combinations(verb, overrides) if multirun else (overrides, [[]])
    for job in {tuple(job) for job in (*jobs[:1], *jobs[-1:], *([] if jobs else [[]]))}:
        config.load(f"verb={verb.name}", *whole, *job)


@pytest.mark.parametrize("name", TREE)
def test_every_command_of_a_page_composes(name: str, new_files: None) -> None:
    for argv in commands((ROOT / name).read_text()):
        if len(argv) == 1 and argv[0] in VERBS:  # the verb's name in a sentence
            continue
        try:
            compose(tuple(argv))
        except BenchgenError as error:
            pytest.fail(f"benchgen {shlex.join(argv)}: {error.message}")


def test_commands_are_found() -> None:
    text = "`benchgen runs`, `benchgen plan -h`\n\n    benchgen run a=1     # x\n\n```sh\nbenchgen stop run_id=N\n```\n"
    assert [*commands(text)] == [["run", "a=1"], ["stop", "run_id=1"], ["runs"]]
    assert sum(len([*commands(page.read_text())]) for page in PAGES) > 100


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """{file of conf/: its text} that how-tos tell a person to write."""
    blocks = {
        name: re.findall(
            r"^```yaml\n(.*?)^```",
            (DOCS / "howto" / f"{name}.md").read_text(),
            re.DOTALL | re.MULTILINE,
        )
        for name in ("own-endpoint", "sweep-and-report", "postgres")
    }
    assert all(len(found) == 1 for found in blocks.values())
    return {
        "model/office.yaml": blocks["own-endpoint"][0],
        "experiment/mine.yaml": blocks["sweep-and-report"][0],
        "local/default.yaml": blocks["postgres"][0],
    }


@pytest.fixture(scope="module")
def new_files(shown: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """`conf/` with the files that how-tos show, but for the one of a deployment."""
    with pytest.MonkeyPatch.context() as patch:
        files = {k: v for k, v in shown.items() if not k.startswith("local/")}
        _with_files(files, tmp_path_factory.mktemp("conf"), patch)
        yield


def _with_files(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "conf"
    shutil.copytree(config.root(), folder)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for module in ("composing", "settings"):
        monkeypatch.setattr(f"benchgen.config.{module}.root", lambda: folder)


def test_the_files_that_pages_show_do_what_they_say(
    shown: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_files(shown, tmp_path, monkeypatch)
    office = config.load("model=office").model
    assert (office.concurrency, office.extra, office.price_in) == (16, {"top_p": 0.95}, 0.15)
    mine = config.load("experiment=mine")
    assert (mine.loop.title, mine.recipe.name, mine.recipe.max_steps) == (
        "What twice as many steps bring",
        "from_run",
        160,
    )
    assert (mine.permissions.train, mine.permissions.push, mine.permissions.endpoint) == (
        False,
        False,
        True,
    )


# --- how-tos, done ----------------------------------------------------------------------------------------------


def shell_of(name: str) -> str:
    """The ```sh blocks of a how-to, one after the other."""
    text = (DOCS / "howto" / f"{name}.md").read_text()
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def do(script: str, folder: Path) -> str:
    """Standard output of a script in a folder; it has to end well."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout


def test_own_csv(tmp_path: Path) -> None:
    do(shell_of("own-csv"), tmp_path)
    runs = Workspace(tmp_path / "workspace").runs()
    reference, mock = runs.sort("id").to_dicts()
    assert (reference["model"], reference["right"], reference["scored"]) == ("reference", 6, 6)
    assert (mock["model"], mock["scored"]) == ("mock", 6)
    assert [*(tmp_path / "workspace" / "reports").rglob("report.html")]


def test_sweep_and_report(tmp_path: Path) -> None:
    do(shell_of("sweep-and-report"), tmp_path)
    place = tmp_path / "workspace"
    assert (place / "reports" / "sweep-first" / "report.html").is_file()
    assert Workspace(place).runs()["state"].to_list() == ["finished"] * 4


def test_chat(tmp_path: Path) -> None:
    told = do(shell_of("chat"), tmp_path)
    assert '"intent"' in told.splitlines()[-1]
    assert (tmp_path / "workspace" / "chats" / "first").is_dir()


def test_own_endpoint(tmp_path: Path) -> None:
    with ScriptedServer(lambda got: said("Answer: Mars")) as endpoint:
        do(shell_of("own-endpoint").replace("http://127.0.0.1:8000/v1", endpoint.url), tmp_path)
    runs = Workspace(tmp_path / "workspace").runs().sort("id")
    assert runs["scored"].to_list() == [5, 30]
    assert runs["model"].to_list() == ["my-model"] * 2


@pytest.mark.skipif(binaries() is None, reason="no PostgreSQL server is installed here")
def test_postgres(tmp_path: Path) -> None:
    with server() as url:
        script = shell_of("postgres").replace(
            "postgresql://ada@db.example/benchgen", new_database(url)
        )
        do(script, tmp_path)
        assert Workspace(tmp_path / "lab").benchmarks()["state"].to_list() == ["published"]
    assert not (tmp_path / "lab" / "benchgen.db").exists()


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "howto").glob("*.md")))
def test_every_shell_block_is_done_by_a_test(name: str) -> None:
    """A ```sh block is one that needs no model and no other machine; other commands stand indented."""
    done: dict[str, Callable[..., None]] = {
        "own-csv": test_own_csv,
        "sweep-and-report": test_sweep_and_report,
        "chat": test_chat,
        "own-endpoint": test_own_endpoint,
        "postgres": test_postgres,
    }
    assert bool(shell_of(name)) == (name in done)


def test_the_scoring_lines_of_the_grpo_page_run() -> None:
    text = (DOCS / "howto" / "grpo.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    *lines, graded = ast.parse(code).body
    for line in lines:
        if isinstance(line, ast.Expr):
            verdict = eval(compile(ast.Expression(line.value), "grpo.md", "eval"), names)
            assert verdict.correct
        else:
            exec(compile(ast.Module([line], []), "grpo.md", "exec"), names)
    assert isinstance(graded, ast.Expr)
    assert eval(compile(ast.Expression(graded.value), "grpo.md", "eval"), names) == [0.5]


# --- messages and figures -------------------------------------------------------------------------------------


@cache
def templates() -> tuple[str, ...]:
    """Every text of the package's code, `…` where something is filled in, white space as one blank."""
    found = set()
    for _, tree in build.sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr | ast.Constant | ast.BinOp):
                text = " ".join(build.template(node).split())
                if len(text) > 2:
                    found.add(text)
    return tuple(found)


def quoted() -> list[str]:
    """The first cell of every row of the troubleshooting tables."""
    text = (DOCS / "troubleshooting.md").read_text()
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def stands_in_the_code(stem: str) -> bool:
    """Whether one text of the code has the stem's words, in their order, `…` for anything between."""
    pattern = ".*".join(re.escape(part.strip()) for part in stem.split(build.HOLE))
    return any(re.search(pattern, text) for text in templates())


def test_every_quoted_message_stands_in_the_code() -> None:
    assert len(quoted()) > 150
    assert not [stem for stem in quoted() if not stands_in_the_code(stem)]


def test_no_message_is_explained_twice() -> None:
    assert len(set(quoted())) == len(quoted())


@pytest.mark.parametrize(
    "stem",
    ["there is no verb that sings", "plan … is finished: only the word yes", "the hub is … asleep"],
)
def test_a_message_that_nobody_says_is_seen(stem: str) -> None:
    assert not stands_in_the_code(stem)


def test_the_list_of_messages_has_them_all() -> None:
    """Each error class of the tree is raised somewhere, and the list holds hundreds."""
    found = [*build.raised()]
    assert len(found) > 400
    assert {message.kind for message in found} == set(build.ERRORS)


def test_the_statistics_page_names_code_and_figures_as_they_are() -> None:
    text = (DOCS / "statistics.md").read_text()
    for name in re.findall(r"`(benchgen\.[\w.]+)`", text):
        assert pkgutil.resolve_name(name)
    assert f"{statistics.DRAWS:,} samples" in text
    assert statistics.FEWEST == 10
    assert "fewer than ten groups" in text
    assert f"up to m = {inference.EXACT}" in text
    assert f"{inference.SHUFFLES:,}" in text
    assert f"{statistics.Z95:.2f}" in text
    assert f"{inference.Z80:.2f}" in text
    for word in (inference.IMPROVED, inference.WORSE, inference.UNCLEAR):
        assert f'"{word}"' in text
