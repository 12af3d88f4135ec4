"""What this machine can compute with, without loading torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchgen.models import device

PROBE = """
import json, sys
from benchgen.models.device import detect
print(json.dumps({**detect().to_dict(), "torch": "torch" in sys.modules}))
"""


def machine(folder: Path, says: str, code: int = 0, cuda: bool = True, **environment: str) -> dict[str, object]:  # fmt: skip
    """What a process finds on a machine whose `nvidia-smi` prints that, with a torch built for CUDA or not."""
    tool = folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat <<'EOF'\n{says}\nEOF\nexit {code}\n")
    tool.chmod(0o755)
    library = folder / "site" / "torch" / "lib"
    library.mkdir(parents=True)
    (library.parent / "__init__.py").write_text("raise ImportError('torch is not to be loaded')\n")
    (library / ("libtorch_cuda.so" if cuda else "libtorch_cpu.so")).touch()
    told = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={
            **{k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"},
            "PATH": f"{tool.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(folder / "site"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(told.stdout)
    assert found.pop("torch") is False
    return found


@pytest.mark.parametrize(
    ("says", "name", "dtype", "mib"),
    [
        ("NVIDIA H200, 9.0, 143771", "NVIDIA H200", "bfloat16", 143771),
        ("Tesla T4, 7.5, 15360\nTesla T4, 7.5, 15360", "Tesla T4", "float16", 15360),
    ],
)
def test_the_first_gpu_and_its_fastest_safe_type(
    tmp_path: Path, says: str, name: str, dtype: str, mib: int
) -> None:
    """bf16 from compute capability 8.0 on."""
    found = machine(tmp_path, says)
    assert (found["kind"], found["name"], found["dtype"]) == ("cuda", name, dtype)
    assert found["memory_bytes"] == mib * 2**20


@pytest.mark.parametrize(
    ("says", "code"),
    [("NVIDIA-SMI has failed", 9), ("No devices were found", 0), ("A GPU, [N/A], [N/A]", 0), ("", 0)],
)  # fmt: skip
def test_a_gpu_that_does_not_answer_leaves_the_cpu(tmp_path: Path, says: str, code: int) -> None:
    assert machine(tmp_path, says, code)["kind"] == "cpu"


def test_a_gpu_that_torch_cannot_use_leaves_the_cpu(tmp_path: Path) -> None:
    """A plan for it would fail only when the job starts."""
    assert machine(tmp_path, "NVIDIA H200, 9.0, 143771", cuda=False)["kind"] == "cpu"


def test_a_hidden_gpu_leaves_the_cpu(tmp_path: Path) -> None:
    found = machine(tmp_path, "NVIDIA H200, 9.0, 143771", CUDA_VISIBLE_DEVICES="")
    assert found["kind"] == "cpu"


def test_omp_num_threads_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that every numerical library knows; more than there are cores is no use."""
    cores = len(os.sched_getaffinity(0))
    for told, threads in (("1", 1), ("0", 1), (str(cores + 7), cores), ("x", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        device.processor.cache_clear()
        assert device.processor().threads == threads


def test_the_cpu_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    device.processor.cache_clear()
    found = device.processor()
    assert found.kind == "cpu"
    assert found.threads == len(os.sched_getaffinity(0))
    assert found.memory_bytes > 2**28
    has_units = any(flag in Path("/proc/cpuinfo").read_text() for flag in device.BF16_FLAGS)
    assert found.dtype == ("bfloat16" if has_units else "float32")
    assert device.Device.from_dict(found.to_dict()) == found


# ------------------------------------------------------------------------------------------ memory


def test_the_machines_memory_names_who_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        def __init__(self, pid: int, gib: float) -> None:
            self.info = {
                "pid": pid,
                "name": f"p{pid}",
                "memory_info": SimpleNamespace(rss=int(gib * device.GIB)),
            }

    seen = [Process(1, 0.5), Process(2, 3.0), Process(3, 2.0), Process(4, 9.0), Process(5, 1.5)]
    monkeypatch.setattr(psutil, "process_iter", lambda attributes: seen)
    found = device.memory("cpu")
    assert 0 < found.free <= found.total
    assert found.holders == ("p4 (pid 4) 9.0 GiB", "p2 (pid 2) 3.0 GiB", "p3 (pid 3) 2.0 GiB")


def test_a_gpus_memory_is_what_its_tool_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "*query-gpu*) echo '1024, 8192';;\n"
        "*) echo '6144, /usr/bin/python3, 77'; echo '[N/A], x, 78';;\nesac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = device.memory("cuda")
    assert (found.free, found.total) == (1024 * 2**20, 8192 * 2**20)
    assert found.holders == ("python3 (pid 77) 6.0 GiB",)
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert device.memory("cuda") == device.Memory(0, 0, ())
