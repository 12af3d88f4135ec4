"""What only a CUDA device can show, as one script: `python tests/gpu/check.py OUT.json [--small]`.

Training through unsloth and plain trl on a randomly initialised model of Qwen2.5-0.5B's shape, one step on
a base in 4 bits, GRPO, the merge, and peak memory against the plan's formula. Imports of benchgen nothing
but `train/` and what that needs. Ends in under 8 minutes; each check is tried whatever became of the one
before. `--small` is a miniature on any device, so that the script itself is tested without a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROWS: list[dict[str, Any]] = [
    {
        "key": str(i),
        "messages": [{"role": "user", "content": f"Say which number follows {i} in words. " * 4}],
        "completion": f"After {i} comes the number {i + 1}.\nAnswer: {i + 1}",
    }
    for i in range(64)
]


def make_base(folder: Path, small: bool) -> Path:
    """A random model and a byte-level tokenizer with a chat template."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator([str(row) for row in ROWS], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    shape: dict[str, Any] = (
        {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
        | {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1024}
        if small
        else {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24}
        | {"num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936}
    )
    config = Qwen2Config(
        **shape,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    return folder


class Checks:
    """The checks, on one base."""

    def __init__(self, base: Path, work: Path, device: str, small: bool) -> None:
        from benchgen.train.settings import SFTSettings

        self.base, self.work, self.device, self.small = base, work, device, small
        self.dtype = "float32" if device == "cpu" else "bfloat16"
        self.settings = SFTSettings(
            max_steps=2 if small else 12, batch_size=4 if small else 16, r=16, max_length=256
        )
        self.adapter: Path | None = None

    def _train(self, name: str, trainer: str, **changes: Any) -> tuple[Any, dict[str, Any]]:
        from benchgen.train.sft import train_lora

        seen: list[dict[str, Any]] = []
        outcome = train_lora(
            self.base,
            ROWS,
            replace(self.settings, **changes),
            self.work / name,
            trainer=trainer,
            device=self.device,
            dtype=self.dtype,
            on_metrics=seen.append,
        )
        late = seen[2:] or seen  # the first steps compile and allocate
        rows = self.settings.batch_size * len(late)
        tokens = outcome.tokens / len(ROWS) * rows
        return outcome, {
            "losses": [round(row["loss"], 4) for row in seen],
            "tokens_per_s": round(tokens / sum(row["seconds"] for row in late)),
            "peak_gib": round(outcome.peak_cuda_bytes / 2**30, 3),
        }

    def sft(self, trainer: str) -> dict[str, Any]:
        """A LoRA training; its losses fall from the random model's."""
        outcome, told = self._train(f"sft-{trainer}", trainer)
        self.adapter = Path(outcome.adapter_path)
        assert all(0 < loss < 20 for loss in told["losses"]), told
        return told

    def memory(self) -> dict[str, Any]:
        """The peak of a training against the plan's formula, which says plus or minus 25 %."""
        from benchgen.plan.memory import MemorySettings, ModelShape, estimate_memory

        outcome, told = self._train("memory", "trl")
        shape = ModelShape.from_config(json.loads((self.base / "config.json").read_text()))
        longest = round(outcome.tokens / len(ROWS))
        asked = MemorySettings(
            rank=16, batch_rows=self.settings.batch_size, tokens=longest, dtype=self.dtype
        )
        estimate = estimate_memory(shape, asked, self.device)
        return {"estimated_gib": estimate.value, "measured_gib": told["peak_gib"]}

    def four_bits(self) -> dict[str, Any]:
        """One step on a base whose linear maps bitsandbytes holds in 4 bits."""
        _, told = self._train("nf4", "trl", quantization="nf4", max_steps=2)
        return told

    def grpo(self, trainer: str) -> dict[str, Any]:
        """Steps with a reward that random replies get now and then: an even number of characters."""
        from benchgen.train.grpo import train_grpo
        from benchgen.train.grpo_settings import GRPOSettings
        from benchgen.train.rewards import Verdict

        def judge(key: str, completion: str, finish_reason: str) -> Verdict:
            return Verdict(float(len(completion) % 2 == 0))

        seen: list[dict[str, Any]] = []
        outcome = train_grpo(
            self.base,
            [{"key": row["key"], "messages": row["messages"]} for row in ROWS],
            judge,
            replace(self.settings, max_steps=2 if self.small else 4, batch_size=8),
            GRPOSettings(num_generations=4, max_completion_length=8 if self.small else 32),
            self.work / f"grpo-{trainer}",
            trainer=trainer,
            device=self.device,
            dtype=self.dtype,
            on_metrics=seen.append,
        )
        return {"steps": outcome.steps, "rewards": [row["reward"] for row in seen]}

    def merge(self) -> dict[str, Any]:
        """The merged weights' logits beside those of the adapter in front of its base."""
        from benchgen.models.engine.load import pick_device
        from benchgen.models.local import LocalModel
        from benchgen.train.merge import agreement, base_logits, last_logits, write_merged

        assert self.adapter is not None, "no adapter was trained"
        place = pick_device(self.device, self.dtype)
        out = self.work / "merged"
        out.mkdir()
        write_merged(self.base, self.adapter, out, place, self.dtype, None)
        options: dict[str, Any] = {"device": self.device, "dtype": self.dtype}
        prompts = [row["messages"] for row in ROWS[:8]]
        served = LocalModel(self.base, name="served", adapter=self.adapter, **options)
        apart, alone = last_logits(served, prompts), base_logits(served, prompts)
        merged = last_logits(LocalModel(out, name="merged", **options), prompts)
        found: dict[str, Any] = agreement(apart, merged, alone, 0.1).to_dict()
        return found

    def all(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """{name: check} in the order they are made."""
        found: dict[str, Callable[[], dict[str, Any]]] = {"sft trl": lambda: self.sft("trl")}
        found |= {"merge": self.merge, "memory": self.memory, "grpo trl": lambda: self.grpo("trl")}
        if self.device == "cuda":
            found["four bits"] = self.four_bits
        return found


def unsloth(base: Path, work: Path, device: str, small: bool) -> dict[str, Any]:
    """The trainings through unsloth, in this process: it must be imported before the others."""
    import unsloth  # noqa: F401

    checks = Checks(base, work, device, small)
    return {"sft": checks.sft("unsloth"), "grpo": checks.grpo("unsloth")}


def tried(check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What it told, with its seconds; the error where it failed."""
    began = time.monotonic()
    try:
        told = {"ok": True, **check()}
    except Exception as error:  # noqa: BLE001 - the next check is tried all the same
        traceback.print_exc()
        told = {"ok": False, "error": f"{type(error).__name__}: {error}"[:500]}
    return {**told, "seconds": round(time.monotonic() - began, 1)}


def _in_its_own_process(base: Path, device: str, small: bool) -> dict[str, Any]:
    import subprocess

    command = [sys.executable, __file__, "-", "--unsloth", str(base), "--device", device]
    done = subprocess.run(
        [*command, *(["--small"] if small else [])],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "ended")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(argv: Sequence[str]) -> int:
    """0 when every check held; the figures go to OUT."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", default="")
    parser.add_argument("--unsloth", default="", help="folder of the base; this process only")
    parser.add_argument("--without-unsloth", action="store_true")
    told = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if told.unsloth:
            found = unsloth(Path(told.unsloth), work, told.device, told.small)
            print(json.dumps(found))
            return 0
        import torch

        device = told.device or ("cuda" if torch.cuda.is_available() else "cpu")
        base = make_base(work / "base", told.small)
        result: dict[str, Any] = {"device": device, "torch": torch.__version__}
        if device == "cuda":
            result["name"] = torch.cuda.get_device_name(0)
        checks = Checks(base, work, device, told.small).all()
        if not told.without_unsloth:
            checks["unsloth"] = lambda: _in_its_own_process(base, device, told.small)
        held = {name: tried(check) for name, check in checks.items()}
    Path(told.out).write_text(json.dumps({**result, "checks": held}, indent=1) + "\n")
    return 0 if all(check["ok"] for check in held.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
