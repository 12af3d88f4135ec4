"""Side by side with lm-evaluation-harness: same weights, same prompts, A-B-A-B. Writes result.json.

    experiments/speed/side_by_side/setup.sh               # once: the other side's environment
    .venv/bin/python experiments/speed/side_by_side/run.py [quick] [WORKLOAD …]

With workloads named, only those are measured anew in the result that is there.

Each side has one process a setting, its model loaded and warmed by two rows before the clock starts.
The other side takes the best of its batch sizes, found before; ours takes what it ships with. A figure
is the median of ROUNDS on all cores. In bfloat16 one round on half of the rows is done with one thread too:
the number of threads with which a side does more rows a second counts.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import workloads

from benchgen.models.device import detect
from benchgen.models.embedded import embedded_model

HERE = Path(__file__).parent
ROUNDS = {"float32": 1, "bfloat16": 3}
"""float32 is there for parity: what is computed must be the same."""
LONGEST = 64
SIZES = {
    "float32": {"letters": 24, "sentences": 6, "few_shot": 8, "mixed": 100},
    "bfloat16": {"letters": 40, "sentences": 10, "few_shot": 48, "mixed": 64},
}
BATCHES = {"score": (4, 8, 16), "write": (8, 16, 32, 64)}


class Side:
    """A process that answers commands."""

    def __init__(self, python: Path | str, script: str, dtype: str, threads: int) -> None:
        command = [str(python), str(HERE / script), str(embedded_model()), dtype, str(threads)]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._read()

    def ask(self, what: str, rows: list[Any], **settings: Any) -> dict[str, Any]:
        """{"results", "wall_s", "cpu_s", "peak_mb"}."""
        assert self.process.stdin is not None
        asked = {"what": what, "rows": rows, "settings": {"longest": LONGEST, **settings}}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a side ended: {self.process.args}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """Close its input and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def best_batch(rival: Side, what: str, rows: list[Any]) -> int:
    """The batch size that is fastest for it, on half of the rows."""
    half = rows[: max(8, len(rows) // 2)]
    return min(BATCHES[what], key=lambda size: rival.ask(what, half, batch=size)["wall_s"])


def compare(
    ours: Side, rival: Side, what: str, rows: list[Any], rounds: int, batch: int | None = None
) -> dict[str, Any]:
    """Both sides' figures on these rows, and how far their results agree; `batch` None = its best one."""
    batch = batch or best_batch(rival, what, rows)
    for side in (ours, rival):
        side.ask(what, rows[:2], batch=batch)
    times: dict[str, list[dict[str, Any]]] = {"ours": [], "rival": []}
    for _ in range(rounds):
        times["ours"].append(ours.ask(what, rows))
        times["rival"].append(rival.ask(what, rows, batch=batch))
    last = {name: found[-1]["results"] for name, found in times.items()}
    agree = scores_agree(**last) if what == "score" else texts_agree(**last)
    told = {
        name: {
            key: round(statistics.median(f[key] for f in found), 3)
            for key in ("wall_s", "cpu_s", "peak_mb")
        }
        for name, found in times.items()
    }
    least = {n: round(min(f["wall_s"] for f in found), 3) for n, found in times.items()}
    return {
        "batch": batch,
        "n": len(rows),
        "rounds": rounds,
        **told,
        "least_s": least,
        "agree": agree,
    }


def scores_agree(ours: list[Any], rival: list[Any]) -> dict[str, Any]:
    """Largest difference of a log-likelihood, equal picks, equal token ids."""
    pairs = list(zip(ours, rival, strict=True))
    gaps = [abs(a - b) for o, r in pairs for a, b in zip(o["logprob"], r["logprob"], strict=True)]
    picks = [
        o["logprob"].index(max(o["logprob"])) == r["logprob"].index(max(r["logprob"]))
        for o, r in pairs
    ]
    return {
        "largest_gap": max(gaps),
        "same_pick": sum(picks),
        "same_ids": sum(o["ids"] == r["ids"] for o, r in pairs),
    }


def texts_agree(ours: list[Any], rival: list[Any]) -> dict[str, Any]:
    """Equal texts, and how long ours were."""
    lengths = sorted(o["tokens"] for o in ours)
    same = sum(o["text"].strip() == r["text"].strip() for o, r in zip(ours, rival, strict=True))
    return {"same_text": same, "tokens": lengths}


def main(quick: bool, only: Sequence[str]) -> None:
    """Every dtype that is fast here, every number of threads, every workload, or those named."""
    wanted = only or (*workloads.MAKERS, "mixed")
    here = detect()
    cores = len(os.sched_getaffinity(0))
    dtypes = [*(["bfloat16"] if here.dtype == "bfloat16" else []), "float32"]
    most = 8 if quick else max(s["mixed"] for s in SIZES.values())
    chosen = mixed_messages(here.dtype, cores, most) if "mixed" in wanted else []
    rows: dict[str, Any] = json.loads((HERE / "result.json").read_text())["rows"] if only else {}
    for dtype in dtypes:
        batches: dict[str, int] = {}
        for threads in threads_of(dtype, cores):
            whole = threads == cores
            ours = Side(sys.executable, "ours.py", dtype, threads)
            rival = Side(HERE / ".venv/bin/python", "lm_eval_side.py", dtype, threads)
            sizes = {k: max(4, v // (8 if quick else 1)) for k, v in SIZES[dtype].items()}
            work = {name: ("score", maker(sizes[name])) for name, maker in workloads.MAKERS.items()}
            work["mixed"] = ("write", chosen[: sizes["mixed"]])
            for name, (what, all_rows) in ((name, work[name]) for name in wanted):
                part = all_rows if whole else all_rows[::2]
                rounds = ROUNDS[dtype] if whole else 1
                found = compare(ours, rival, what, part, rounds, batches.get(name))
                batches[name] = found["batch"]
                rows[f"{dtype} {threads} {name}"] = found
                print(dtype, threads, name, json.dumps(found), file=sys.stderr, flush=True)
            ours.end()
            rival.end()
    result = {
        "machine": {"cpu": here.name, "cores": cores, "python": platform.python_version()},
        "rounds": ROUNDS,
        "rows": rows,
        "ratios": ratios(rows, dtypes, cores),
    }
    text = json.dumps(result, indent=1) + "\n"
    if quick:
        print(json.dumps(result["ratios"], indent=1))
    else:
        (HERE / "result.json").write_text(text)
    for name, ratio in result["ratios"].items():
        print(f"{name:28} {ratio:6.2f}")


def mixed_messages(dtype: str, threads: int, n: int) -> list[str]:
    """Messages whose answers' lengths are spread 1 to 8, in an order that mixes them."""
    side = Side(sys.executable, "ours.py", dtype, threads)
    messages = sorted(set(workloads.candidates(n * 6)))
    lengths = [row["tokens"] for row in side.ask("write", messages)["results"]]
    side.end()
    return workloads.mixed(dict(zip(messages, lengths, strict=True)), n, LONGEST)


def threads_of(dtype: str, cores: int) -> list[int]:
    """The numbers of threads that are tried, all cores first: of float32 only those, since it takes so long."""
    return [cores] if dtype == "float32" else sorted({1, cores}, reverse=True)


def ratios(rows: dict[str, Any], dtypes: list[str], cores: int) -> dict[str, float]:
    """Their time over ours, each at its better number of threads."""
    found = {}
    for dtype in dtypes:
        for name in (*workloads.MAKERS, "mixed"):
            runs = [rows[f"{dtype} {n} {name}"] for n in threads_of(dtype, cores)]
            least = {s: min(r[s]["wall_s"] / r["n"] for r in runs) for s in ("ours", "rival")}
            found[f"{dtype} {name}"] = round(least["rival"] / least["ours"], 3)
    return found


if __name__ == "__main__":
    main("quick" in sys.argv[1:], [name for name in sys.argv[1:] if name != "quick"])
