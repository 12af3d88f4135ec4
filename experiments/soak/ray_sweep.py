"""A sweep of two jobs by Ray, for real: `python experiments/soak/ray_sweep.py [FOLDER]`, and in `make soak`.

Makes an environment in FOLDER (build/ray unless told) on top of this one, with what requirements/ray.lock
lists, then does the same sweep twice: on a Ray that the launcher starts itself, and on one that is there
already, as a cluster is. Each must end with both jobs done. Writes ray.json beside this file.

Where the package index does not have the lock's packages, the reason is told and nothing fails.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "ray.lock"
RESULT = Path(__file__).parent / "ray.json"
SMALL = ("benchmark.count=12", "benchmark.mix={}", "benchmark.categories={}")
SWEEP = (
    "benchmark_id=1",
    "model=mock",
    "seed=0,1",
    "launcher=ray",
    "launcher.leaves_host=no",
    "-m",
)
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "180",
    "RAY_AUTH_MODE": "disabled",  # of a cluster of one's own on this machine; another has its token
}
PATIENCE_S = 300


def main(folder: Path) -> int:
    """0 where both sweeps were whole, or the environment cannot be made here."""
    python = environment(folder)
    if python is None:
        return 0
    with tempfile.TemporaryDirectory(prefix="ray-") as place:
        workspace = Path(place) / "ws"
        benchgen(python, "create", workspace, *SMALL)
        benchgen(python, "publish", workspace, "benchmark_id=1")
        told = {"started_by_the_launcher": swept(python, workspace, "alone")}
        with cluster(python, Path(place)) as address:
            there = f"launcher.settings.ray.init.address='{address}'"
            told["there_already"] = swept(python, workspace, "cluster", there)
    pins = dict(line.split("==") for line in LOCK.read_text().split() if "==" in line)
    result = {
        **told,
        "ray": pins["ray"],
        "hydra_ray_launcher": pins["hydra-ray-launcher"],
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
    }
    RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    print(json.dumps(result))
    return 0


def environment(folder: Path) -> Path | None:
    """Its Python: this one's packages, with those of ray.lock before them; None where they cannot be had."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    found = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    below = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(found.stdout.strip()) / "below.pth").write_text(below)
    install = [python, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-deps"]
    done = subprocess.run([*install, "-r", LOCK], capture_output=True, text=True, check=False)
    if done.returncode:
        print("no sweep by Ray: its packages cannot be installed here")
        print("\n".join(done.stderr.splitlines()[-3:]))
        return None
    return python


def benchgen(python: Path, verb: str, workspace: Path, *rest: str) -> dict[str, Any]:
    """What a command of that environment said last."""
    line = [python, "-m", "benchgen.cli", verb, f"workspace={workspace}", "output=json", *rest]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT,
                          timeout=PATIENCE_S, env={**os.environ, **SETTINGS})  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{verb} ended with {done.returncode}: {done.stdout} {done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def swept(python: Path, workspace: Path, name: str, *rest: str) -> dict[str, Any]:
    """How a sweep of two jobs went."""
    started = time.monotonic()
    told = benchgen(python, "run", workspace, *SWEEP, f"sweep={name}", *rest)
    if (told["jobs"], told["done"]) != (2, 2):
        raise SystemExit(f"the sweep {name} is not whole: {told}")
    return {"jobs": 2, "done": 2, "wall_s": round(time.monotonic() - started, 1)}


@contextmanager
def cluster(python: Path, folder: Path) -> Iterator[str]:
    """The address of a Ray of one machine, as `ray start --head` makes it; ended afterwards."""
    command = [python.parent / "ray", "start", "--head", "--block", "--port=0", "--num-cpus=2",
               "--include-dashboard=false", f"--temp-dir={folder / 'ray'}"]  # fmt: skip
    log = folder / "cluster.log"
    with log.open("wb") as file:
        head = subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, **SETTINGS})
    try:
        yield _address(head, log)
    finally:
        head.terminate()  # it ends what it started
        head.wait(60)


def _address(head: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and head.poll() is None:
        found = re.search(r"--address='([^']+)'", log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.5)
    raise SystemExit(f"Ray did not start: {log.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "ray"))
