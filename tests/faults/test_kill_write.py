"""SIGKILL at any moment of a writing by a model: no question is lost, none is written twice."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchgen.store import read_jsonl
from benchgen.workspace import Workspace
from tests.servers import Answer, Received, ScriptedServer, said

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("BENCHGEN_KILLS", "3"))
"""20 in `make soak`."""
COUNT = 40 * KILLS
_TURN = itertools.count()


def writer(request: Received) -> Answer:
    """What a model says that writes as many questions as it is asked for, a little broken now and then."""
    asked = re.search(r"(?:Write|Give) (\d+) (?:exam )?questions", request.prompt)
    if asked is None:  # the blind solve
        return said("Answer: something else", "stop")
    rng = random.Random(f"{request.prompt} {next(_TURN)}")  # asked again it says something else
    items: list[Any] = []
    for _ in range(int(asked[1])):
        words = ["".join(rng.choices("bdfgklmnprstv", k=3)) + rng.choice("aeiou") for _ in range(8)]
        items.append({"prompt": " ".join(words) + "?", "answers": [words[0] + words[1]]})
    if rng.random() < 0.3:
        items[0] = {"prompt": "too bare"}
    answer = said(json.dumps({"questions": items}), "stop")
    return Answer(answer.body, delay_s=0.05)


def command(ws: Path, *argv: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "benchgen.cli", *argv, f"workspace={ws}", "output=json"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_at_random_moments_it_writes_every_question_once(tmp_path: Path, soak: Any) -> None:
    rng = random.Random(7)
    ws = tmp_path / "ws"
    log = ws / "writes" / "1" / "parts.jsonl"
    with ScriptedServer(writer) as server:
        begin = [
            "create", "author=llm", "author.topic=words", "kind=qa", f"count={COUNT}", "name=words",
            "author.per_turn=2000", "author.checker=none", "model=endpoint", "model.name=far",
            f"model.base_url={server.url}", "model.api_key_env=null",
        ]  # fmt: skip
        kept, kills = b"", 0
        for kill in range(KILLS):
            process = command(ws, *(begin if not log.exists() else ["resume", "write_id=1"]))
            before = len(kept)
            end = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < end:
                if log.exists() and log.stat().st_size > before:
                    time.sleep(rng.uniform(0, 0.1))
                    break
                time.sleep(0.01)
            finished = process.poll() is not None
            process.kill()
            process.communicate()
            kills += not finished
            whole = log.read_bytes()
            whole = whole[: whole.rfind(b"\n") + 1]
            assert whole.startswith(kept)  # what was written stays as it was
            kept = whole
            if finished:
                break
            assert kill < KILLS
        process = command(ws, "resume", "write_id=1")
        out, err = process.communicate()
        assert process.returncode == 0, out.decode()[-1000:] + err.decode()[-1000:]
    told = json.loads(out.splitlines()[-1])
    assert (told["state"], told["written"]) == ("draft", COUNT)
    bench = Workspace(ws).benchmark(told["benchmark"])
    assert len({q.key for q in bench.questions}) == COUNT
    lines = read_jsonl(log)
    assert sum(len(line["accepted"]) for line in lines) == COUNT
    assert kills > 0
    soak("killed_writes", kills=kills, questions=COUNT, lost=0, twice=0)


def test_in_the_background_all_is_written_and_the_benchmark_made(tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    with ScriptedServer(writer) as server:
        out, err = command(
            ws, "create", "author=llm", "author.topic=words", "kind=qa", "count=60", "name=words",
            "background=yes", "author.per_turn=25", "model=endpoint", "model.name=far",
            f"model.base_url={server.url}",
        ).communicate()  # fmt: skip
        assert json.loads(out.splitlines()[-1])["next"] == "benchgen status write_id=1", err
        write = Workspace(ws).get_write(1)
        end = time.monotonic() + 120
        while write.logs(1) != ["benchmark 1 is a draft"] and time.monotonic() < end:
            time.sleep(0.1)
    assert write.logs(1) == ["benchmark 1 is a draft"]
    assert write.status()["written"] == 60
    assert len(Workspace(ws).benchmark(1).row.spec["report"]["doubtful"]) == 60
