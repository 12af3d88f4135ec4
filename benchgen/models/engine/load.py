"""A model's weights on a device: what the device is, what is loaded, and why it could not be."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchgen.errors import BenchgenError, ConfigError, ModelError, NotFound
from benchgen.models import quiet_libraries
from benchgen.models.device import Device, detect
from benchgen.models.engine.threads import probed
from benchgen.types import DTYPES

quiet_libraries()

import torch  # noqa: E402 - telemetry and log switches must be set before the libraries load
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402


def pick_device(device: str = "auto", dtype: str = "auto", threads: int | None = None) -> Device:
    """The device asked for, its dtype chosen by what the hardware has units for.

    bfloat16 only with matrix units for it (CPU flags amx_bf16 or avx512_bf16, CUDA capability >= 8.0),
    else float32 on a CPU and float16 on a GPU. Threads where none are given: what a probe found fastest
    on this machine. Raises ConfigError for what is not usable here.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ConfigError("unknown device", got=device, allowed=["auto", "cpu", "cuda"])
    if dtype not in ("auto", *DTYPES):
        raise ConfigError("unknown dtype", got=dtype, allowed=["auto", *DTYPES])
    if threads is not None and threads < 1:
        raise ConfigError("threads must be at least 1", got=threads)
    found = detect()
    if device == "cuda" or (device == "auto" and found.kind == "cuda"):
        if _cuda_works():
            found = _cuda_device()
        elif device == "cuda":
            raise ConfigError("no usable CUDA device", got=device, allowed=["auto", "cpu"])
        else:
            found = _cpu_device(found)
    elif found.kind != "cpu":
        found = _cpu_device(found)
    found = found if dtype == "auto" else replace(found, dtype=dtype)
    if threads is None and found.kind == "cpu":
        threads = probed(found)
    return found if threads is None else replace(found, threads=threads)


def _cuda_works() -> bool:
    try:
        return torch.cuda.is_available() and bool((torch.zeros(1, device="cuda") + 1).item() == 1)
    except (RuntimeError, AssertionError):
        return False


def _cuda_device() -> Device:
    properties = torch.cuda.get_device_properties(0)
    dtype = "bfloat16" if torch.cuda.get_device_capability(0) >= (8, 0) else "float16"
    return Device("cuda", properties.name, dtype, 1, properties.total_memory)


def _cpu_device(found: Device) -> Device:
    has = torch.cpu.get_capabilities()
    fast = has.get("amx_bf16") or has.get("avx512_bf16")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    threads = len(os.sched_getaffinity(0))
    return Device(
        "cpu", str(has.get("cpu_name", "cpu")), "bfloat16" if fast else "float32", threads, memory
    )


def load_base(
    source: Path | str, device: Device, revision: str | None = None, quantization: str = "none"
) -> tuple[Any, Any, Path]:
    """(model in evaluation mode on its device, tokenizer, folder of its files).

    `source` is a folder or a Hugging Face id; `quantization` nf4 loads its linear maps in 4 bits, through
    bitsandbytes. Raises NotFound or ModelError with the line that mends it.
    """
    quiet_libraries()
    name = str(source)
    if isinstance(source, Path) or name.startswith((".", "/", "~")):
        folder = Path(name).expanduser()
        if not (folder / "config.json").is_file():
            raise NotFound(
                "There is no model in that folder (no config.json)",
                got=name,
                next="give the folder that holds config.json, or a Hugging Face id",
            )
        name, revision = str(folder), None
    torch.set_num_threads(device.threads)
    torch.set_flush_denormal(True)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
        model, info = AutoModelForCausalLM.from_pretrained(
            name,
            revision=revision,
            dtype=getattr(torch, device.dtype),
            output_loading_info=True,
            **_quantized(quantization, device),
        )
        folder = _folder(name, revision)
    except Exception as error:  # the libraries raise kinds of their own for broken files
        raise _load_error(name, error) from error
    if missing := sorted(info["missing_keys"]):  # transformers filled them with random numbers
        raise ModelError(
            f"The weights of that model are not whole: {len(missing)} of its tensors are missing",
            got=missing[0],
            next="download or save it whole; its config.json must be that of its weights",
        )
    # What bitsandbytes has loaded is on its device already and cannot be moved.
    model = model if quantization != "none" else model.to(device.kind)
    return model.eval(), tokenizer, folder


def _quantized(quantization: str, device: Device) -> dict[str, Any]:
    """transformers' arguments for it; {} for none."""
    if quantization == "none":
        return {}
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=getattr(torch, device.dtype),
    )
    return {"quantization_config": config, "device_map": {"": 0}}


def load_adapter(model: Any, adapter: Path, *, trainable: bool = False) -> Any:
    """The model with a LoRA adapter in front of its frozen weights, not merged; `trainable` to train it on."""
    if not (adapter / "adapter_config.json").is_file():
        raise NotFound(
            "There is no adapter in that folder (no adapter_config.json)",
            got=str(adapter),
            next="train one (plan, confirm), or give a folder written by peft",
        )
    from peft import PeftModel

    try:
        loaded = PeftModel.from_pretrained(model, str(adapter), is_trainable=trainable)
    except Exception as error:  # the libraries raise kinds of their own for broken files
        raise ModelError(
            f"The adapter does not fit its base model: {error}", got=str(adapter)
        ) from error
    return loaded if trainable else loaded.eval()


def _folder(name: str, revision: str | None) -> Path:
    if Path(name).is_dir():
        return Path(name)
    from transformers.utils import cached_file

    return Path(str(cached_file(name, "config.json", revision=revision))).parent


def _load_error(name: str, error: Exception) -> BenchgenError:
    kinds, cause = set[str](), error
    while cause is not None:
        kinds.add(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
    if Path(name).is_dir():
        return ModelError(f"The model in that folder cannot be loaded: {error}", got=name)
    if "GatedRepoError" in kinds:
        return ModelError(
            "That model asks for its licence to be accepted first",
            got=name,
            next=f"accept it at https://huggingface.co/{name}, then export HF_TOKEN",
        )
    if kinds & {"RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"}:
        return NotFound(
            "There is no such model on the Hugging Face hub",
            got=name,
            next="check the id, or give a local folder; model=smollm2_135m needs no network",
        )
    if isinstance(error, OSError):
        return NotFound(
            "That model is not on this machine and the Hugging Face hub cannot be reached",
            got=name,
            next="download it with a network (hf download ID), or use model=smollm2_135m",
        )
    return ModelError(f"That model cannot be loaded: {error}", got=name)
