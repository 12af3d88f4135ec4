"""The command line: `benchgen VERB [key=value …] [-m]`, one Hydra config for every verb.

Verbs that make something run as Hydra jobs with a folder of their own and work under `-m`; look-ups
compose the same config and leave nothing behind. Results go to standard output, progress and logs to
the error stream; with `output=json` the last line of standard output is one JSON object.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen import __version__, config
from benchgen.errors import BenchgenError, ConfigError, InputError
from benchgen.types import plain_line
from benchgen.verbs import Verb, asking, chatting, help_text, making, training, verifying
from benchgen.verbs.given import Result
from benchgen.verbs.jobs import as_job, in_one_line
from benchgen.verbs.line import check_subject, parse

if TYPE_CHECKING:
    from benchgen.records.base import Convert
    from benchgen.records.trail import Trail
    from benchgen.workspace import Workspace

ACTS = {
    **making.ACTS,
    **asking.ACTS,
    **training.ACTS,
    **chatting.ACTS,
    **verifying.ACTS,
}
"""{verb: what it does}."""
INTERRUPTED = 130


def main(argv: list[str] | None = None) -> None:
    """Exit 0 done, 2 for input or config that the person can mend, 1 for anything else."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    told = [a.lstrip("+").partition("=")[2] for a in argv if a.lstrip("+").startswith("output=")]
    as_json = bool(told) and told[-1].strip("'\"") == "json"
    try:
        code = _do(argv)
        if sys.stdout is not None:  # closed before we began
            sys.stdout.flush()
        return code
    except BenchgenError as error:
        return _fail(error, as_json)
    except BrokenPipeError:  # the reader of our output has gone: nothing left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stop:
        return _interrupted(str(stop), argv, as_json)
    except Exception as error:  # noqa: BLE001 - the last line of defence of a command
        return _fail_unexpected(error, as_json)


def _do(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help") or {"-h", "--help"} & set(argv):
        asked = [a for a in argv if a not in ("-h", "--help", "help")]
        print(help_text(asked[0] if asked else ""))
        return 0
    if argv[0] in ("-V", "--version", "version"):
        print(__version__)
        return 0
    verb, overrides, multirun = parse(argv)
    _check_here()
    if multirun:
        return _sweep(verb, overrides, argv)
    # composed first, so that bad config is refused before any folder is made
    cfg = config.load(f"verb={verb.name}", *overrides)
    if verb.name == "create":
        check_subject(argv[1:])
    if verb.makes and not cfg.dry:
        return _code(verb, as_job(verb, overrides, _show))
    with in_one_line():
        return _code(verb, _show(verb, cfg))


def _code(verb: Verb, told: Result) -> int:
    """1 where something differs from what was recorded, or where a run ended and no answer was measured."""
    if verb.name == "verify":
        return 0 if told["ok"] else 1
    unmeasured = "run" in told and told.get("state") == "finished" and not told["scored"]
    return 1 if unmeasured and verb.name in ("run", "resume") else 0


def _sweep(verb: Verb, overrides: list[str], argv: list[str]) -> int:
    """1 where a job has failed: told at the end, in one object for the whole sweep, with the report."""
    from benchgen.sweeps.report import build_sweep_report
    from benchgen.ui.plain import Screen
    from benchgen.verbs.sweep import as_sweep

    told, cfg = as_sweep(verb, overrides, argv, _show)
    told["report"] = str(build_sweep_report(_workspace(cfg).place, told["sweep"]))
    if cfg.output == "json":
        _print_json(told)
    else:
        Screen().result("sweep", told)
    return 0 if told["done"] == told["jobs"] else 1


def _check_here() -> None:
    """Nothing; InputError where the current folder was removed: relative paths mean nothing there."""
    try:
        Path.cwd()
    except OSError as error:
        raise InputError(
            "the current folder is gone",
            allowed="a folder that exists",
            next="cd to another folder",
        ) from error


def _show(verb: Verb, cfg: config.Config, trail: Trail | None = None) -> dict[str, Any]:
    """Do what the verb says, print its result and give it back; `trail` is that of a sweep's job."""
    from benchgen.models import without_gpu_libraries
    from benchgen.ui.plain import Screen

    without_gpu_libraries()
    if cfg.output not in ("text", "json"):
        raise ConfigError(f"output={cfg.output}", got=cfg.output, allowed=["text", "json"])
    screen = Screen(cfg.output == "json")
    ws = _workspace(cfg, screen.convert)
    ws.place = dataclasses.replace(ws.place, trail=trail)
    result = ACTS[verb.name](ws, cfg, screen)
    if result and cfg.output == "json":
        _print_json(result)
    elif result:  # a chat has shown its answers as they came
        screen.result(verb.name, result)
    return result


def _workspace(cfg: config.Config, on_convert: Convert | None = None) -> Workspace:
    from benchgen.workspace import Workspace

    return Workspace(
        cfg.workspace,
        user=cfg.user,
        on_convert=on_convert,
        permissions=cfg.permissions,
        database=cfg.database,
    )


def _fail(error: BenchgenError, as_json: bool) -> int:
    if as_json:
        told = {key: _plain(value) for key, value in error.as_dict().items()}
        _print_json({"error": told})
    else:
        print(f"benchgen: {_plain(error.message)}", file=sys.stderr)
    return error.exit_code


def _print_json(result: Any) -> None:
    """One line, for readers too that split lines at U+2028."""
    print(plain_line(json.dumps(result, ensure_ascii=False, allow_nan=False)), flush=True)


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: no NaN, no text that UTF-8 cannot write, no foreign type."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value).encode("utf-8", "replace").decode()


def _interrupted(line: str, argv: list[str], as_json: bool) -> int:
    """130, as shells have it for Ctrl-C, after one line that says how to go on."""
    where = [shlex.quote(a) for a in argv if a.startswith("workspace=")] if line else []
    _fail(BenchgenError("stopped by the keyboard", next=" ".join([line, *where])), as_json)
    return INTERRUPTED


def _fail_unexpected(error: Exception, as_json: bool) -> int:
    import traceback

    traceback.print_exception(error, file=sys.stderr)
    told = BenchgenError(f"unexpected {type(error).__name__}: {error}")
    return _fail(told, as_json)


if __name__ == "__main__":
    main()
