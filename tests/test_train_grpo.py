"""GRPO on tiny random llamas: it learns what is rewarded, from evaluation's prompts, and stops when it is hopeless."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from benchgen.benchmark.prompts import render  # noqa: E402
from benchgen.errors import ConfigError, DataError, TrainingError  # noqa: E402
from benchgen.models.chat import encode_prompt  # noqa: E402
from benchgen.models.local import LocalModel  # noqa: E402
from benchgen.train.abort import AbortRules  # noqa: E402
from benchgen.train.grpo import GRPOOutcome, schedule, train_grpo  # noqa: E402
from benchgen.train.grpo_reporting import grpo_reporter, row_of  # noqa: E402
from benchgen.train.grpo_settings import GRPOSettings  # noqa: E402
from benchgen.train.rewards import Rewards, Verdict, zero_variance  # noqa: E402
from benchgen.train.rollouts import STEPS  # noqa: E402
from benchgen.train.settings import SFTSettings  # noqa: E402
from benchgen.train.sft import train_lora  # noqa: E402
from benchgen.types import Evaluation, Question, Request  # noqa: E402
from tests.test_train_faults import small_memory  # noqa: E402
from tests.tiny import save_llama  # noqa: E402

pytestmark = pytest.mark.torch

FAST = SFTSettings(
    max_steps=2, learning_rate=1e-2, batch_size=16, r=4, alpha=8, save_steps=2, max_length=64
)
GROUPS = GRPOSettings(num_generations=4, max_completion_length=12)
ROWS: list[dict[str, Any]] = [
    {"key": f"k{i}", "messages": [{"role": "user", "content": f"w{i} w{i + 1}"}]} for i in range(8)
]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama of 2 layers that knows 24 words, one of which ends its reply."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = ["<end>", "<unk>", "user", "assistant", *(f"w{i}" for i in range(20))]
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(known)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<end>", pad_token="<end>", unk_token="<unk>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <end> {% endfor %}"
        "{% if add_generation_prompt %}assistant {% endif %}"
    )
    folder = tmp_path_factory.mktemp("words")
    save_llama(
        folder,
        vocab_size=len(known),
        hidden_size=32,
        intermediate_size=64,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
        initializer_range=0.2,  # wide enough that its replies can be moved
    )
    tokenizer.save_pretrained(str(folder))
    return folder


def judge(key: str, reply: str, finish_reason: str) -> Verdict:
    """Share of the reply's words that are w7; nothing for a reply that does not end."""
    said = reply.split()
    return Verdict(said.count("w7") / len(said) if said and finish_reason == "stop" else 0.0)


def train(
    base: Path,
    out: Path,
    settings: SFTSettings = FAST,
    grpo: GRPOSettings = GROUPS,
    **options: Any,
) -> tuple[list[dict[str, Any]], GRPOOutcome]:
    seen: list[dict[str, Any]] = []
    out.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"dtype": "float32", "threads": 1, "judge": judge, "rows": ROWS}
    given |= {"settings": settings, "grpo": grpo, "out": out, "on_metrics": seen.append, **options}
    return seen, train_grpo(base, **given)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What trl makes its loss of, at each micro-batch of the test's trainings."""
    from trl import GRPOTrainer

    seen: list[dict[str, Any]] = []
    original = GRPOTrainer._compute_loss

    def record(self: Any, model: Any, inputs: dict[str, Any]) -> Any:
        seen.append({k: v.clone() for k, v in inputs.items() if isinstance(v, torch.Tensor)})
        return original(self, model, inputs)

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", record)
    return seen


class TestTraining:
    def test_it_learns_what_is_rewarded(self, words: Path, tmp_path: Path) -> None:
        """A twentieth of random words is w7. Three seeds were at 0.03 at first and above 0.7 after 24 steps."""
        settings = replace(FAST, max_steps=24, batch_size=64, r=8, alpha=16, save_steps=100)
        grpo = GRPOSettings(
            num_generations=16, max_completion_length=24, mask_truncated_completions=False
        )
        rows = [{**row, "key": f"{row['key']}-{i}"} for row in ROWS for i in range(2)]
        seen, outcome = train(words, tmp_path, settings, grpo, rows=rows)
        rewards = [row["reward"] for row in seen]
        assert statistics.fmean(rewards[:3]) < 0.1
        assert statistics.fmean(rewards[-3:]) > 0.5
        assert (outcome.steps, outcome.completions) == (24, 24 * 64)
        assert (outcome.first_reward, outcome.final_reward) == (rewards[0], rewards[-1])
        said = {}
        for name, adapter in (("base", None), ("trained", Path(outcome.adapter_path))):
            model = LocalModel(words, name=name, adapter=adapter, dtype="float32", threads=1)
            requests = [
                Request(tuple(row["messages"]), max_new_tokens=24, temperature=1.0) for row in ROWS
            ]
            told = [judge("", r.text, r.finish_reason).value for _, r in model.generate(requests)]
            said[name] = statistics.fmean(v for v in told if v is not None)
        assert said["base"] < 0.2
        assert said["trained"] > 0.5

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
    def test_two_steps_on_a_model_with_a_real_tokenizer(
        self, tiny_model: Path, tmp_path: Path, dtype: str
    ) -> None:
        settings = replace(FAST, batch_size=4, gradient_accumulation=2, max_length=128)
        seen, outcome = train(tiny_model, tmp_path, settings, dtype=dtype, base_id="org/name")
        assert [row["step"] for row in seen] == [1, 2]
        wanted = {"loss", "reward", "zero_variance", "clipped", "unmeasured", "length", "entropy"}
        assert wanted | {"grad_norm", "learning_rate", "seconds", "steps"} <= set(seen[0])
        assert "kl" not in seen[0]
        assert outcome.dtype == dtype
        assert (outcome.steps, outcome.prompts_used, outcome.completions) == (2, 8, 16)
        config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
        assert config["base_model_name_or_path"] == "org/name"
        assert {p.name for p in tmp_path.iterdir()} == {"adapter", "outcome.json", "samples.jsonl"}
        samples = [
            json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()
        ]
        assert [s["step"] for s in samples] == [1, 1, 2, 2]  # two groups a step
        assert {"key", "reply", "finish_reason", "reward"} <= set(samples[0])

    def test_it_goes_on_from_an_adapter_and_samples_what_that_one_says(
        self, words: Path, tmp_path: Path
    ) -> None:
        """The adapter's own rank, its replies at the first step, no divergence from it yet; more at the second."""
        taught = [{**row, "completion": "w7 w7 w7"} for row in ROWS]
        sft = replace(FAST, max_steps=12, batch_size=4, r=2, alpha=4)
        first = train_lora(words, taught, sft, tmp_path / "sft", dtype="float32", threads=1)
        adapter = Path(first.adapter_path)
        grpo = replace(GROUPS, beta=0.1)
        seen, outcome = train(words, tmp_path / "grpo", FAST, grpo, adapter=adapter)
        config = json.loads((tmp_path / "grpo/adapter/adapter_config.json").read_text())
        assert (config["r"], config["lora_alpha"]) == (2, 4)
        assert seen[0]["kl"] == pytest.approx(0, abs=1e-6)
        assert seen[1]["kl"] > 1e-6
        assert {p.name for p in (tmp_path / "grpo/adapter").iterdir()} == {
            "adapter_config.json",
            "adapter_model.safetensors",
        }  # not the frozen copy that the divergence was measured from
        assert outcome.adapter_sha256 != first.adapter_sha256

        model = LocalModel(words, name="sft", adapter=adapter, dtype="float32", threads=1)
        key = json.loads((tmp_path / "grpo/samples.jsonl").read_text().splitlines()[0])
        [row] = [row for row in ROWS if row["key"] == key["key"]]
        asked = Request(
            tuple(row["messages"]), max_new_tokens=12, temperature=1.0, seed=FAST.seed * STEPS
        )
        [(_, reply)] = model.generate([asked])
        assert reply.text == key["reply"]

    def test_epochs_count_unless_max_steps_is_given(self, words: Path, tmp_path: Path) -> None:
        _, outcome = train(words, tmp_path, replace(FAST, max_steps=-1, epochs=1.5))
        assert outcome.steps == 3  # 8 prompts, 4 a step, one and a half times


class TestPrompts:
    def test_they_are_the_ids_that_evaluation_asks_with(
        self, tiny_model: Path, tmp_path: Path, steps: list[dict[str, Any]]
    ) -> None:
        from transformers import AutoTokenizer

        evaluation = Evaluation(
            system="Answer shortly.", options="names", instruct_in="system", max_new_tokens=8
        )
        questions = [
            Question("mcq", f"Which is number {i}, “ä”?", "A", choices=("Mars", f"Moon {i}"))
            for i in range(4)
        ]
        rows = [{"key": q.key, "messages": list(render(q, evaluation))} for q in questions]
        settings = replace(FAST, max_steps=1, max_length=200)
        train(tiny_model, tmp_path, settings, rows=rows)
        tokenizer = AutoTokenizer.from_pretrained(str(tiny_model))
        asked = {tuple(encode_prompt(tokenizer, render(q, evaluation))) for q in questions}
        trained = {
            tuple(ids[mask.bool()].tolist())
            for ids, mask in zip(steps[0]["prompt_ids"], steps[0]["prompt_mask"], strict=True)
        }
        assert trained == asked

    def test_one_too_long_is_left_out_and_counted(self, words: Path, tmp_path: Path) -> None:
        long = {"key": "long", "messages": [{"role": "user", "content": "w1 " * 60}]}
        _, outcome = train(words, tmp_path, replace(FAST, max_steps=1), rows=[*ROWS, long])
        assert (outcome.prompts_used, outcome.prompts_dropped) == (8, 1)

    @given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 12), st.integers(0, 5))
    def test_no_prompt_twice_in_a_step_and_none_again_before_all_were_in(
        self, count: int, num_steps: int, a_step: int, seed: int
    ) -> None:
        a_step = min(a_step, count)
        keys = [str(i) for i in range(count)]
        order = schedule(keys, num_steps, a_step, seed)
        assert len(order) == num_steps * a_step
        for at in range(0, len(order), a_step):
            assert len(set(order[at : at + a_step])) == a_step
        for at in range(0, len(order) - count + 1, count):
            assert set(order[at : at + count]) == set(keys)


class TestRewards:
    def test_what_was_not_measured_gives_no_advantage_and_is_in_no_mean(
        self, words: Path, tmp_path: Path, steps: list[dict[str, Any]]
    ) -> None:
        """Counted as 0 it would lower its group's mean and lift the others."""
        told: list[float | None] = []

        def some(key: str, reply: str, end: str) -> Verdict:
            value = None if len(told) % 4 == 3 else [1.0, 0.0, 0.0][len(told) % 4]
            told.append(value)
            return Verdict(value)

        once = replace(FAST, max_steps=1)
        seen, outcome = train(words, tmp_path, once, judge=some)
        mean, std = 1 / 3, math.sqrt(1 / 3)  # of 1, 0, 0; sample deviation
        right, wrong = (1 - mean) / (std + 1e-4), -mean / (std + 1e-4)
        found = sorted(steps[0]["advantages"].tolist())
        assert found == pytest.approx(sorted([right, wrong, wrong, 0.0] * 4), abs=1e-4)
        assert seen[0]["reward"] == pytest.approx(mean)
        assert (seen[0]["unmeasured"], outcome.unmeasured) == (0.25, 4)

    def test_a_step_without_any_verdict_moves_nothing_and_is_said_to_teach_nothing(
        self, words: Path, tmp_path: Path, steps: list[dict[str, Any]]
    ) -> None:
        once = replace(FAST, max_steps=1)
        seen, _ = train(words, tmp_path, once, judge=lambda *asked: Verdict(None))
        assert steps[0]["advantages"].tolist() == [0.0] * 16
        assert (seen[0]["zero_variance"], seen[0]["unmeasured"]) == (1.0, 1.0)
        assert seen[0]["reward"] is None
        assert seen[0]["grad_norm"] == 0

    def test_a_cut_completion_is_left_out_of_the_loss(
        self, words: Path, tmp_path: Path, steps: list[dict[str, Any]]
    ) -> None:
        once = replace(FAST, max_steps=1)
        seen, _ = train(words, tmp_path / "masked", once)
        train(words, tmp_path / "kept", once, replace(GROUPS, mask_truncated_completions=False))
        masked, kept = (s["completion_mask"] * s["tool_mask"] for s in steps)
        assert 0 < seen[0]["clipped"] < 1
        assert (masked.sum(1) == 0).float().mean() == pytest.approx(seen[0]["clipped"])
        assert (kept.sum(1) > 0).all()

    @pytest.mark.parametrize(
        ("verdict", "reward"),
        [
            (Verdict(1.0, True), 1.1),
            (Verdict(1.0, False), 1.0),
            (Verdict(1.0, None), 1.0),  # a program of version 1 knows no strict form
            (Verdict(0.0, False), 0.0),  # form alone earns nothing
            (Verdict(0.5, False), 0.5),
            (Verdict(None, None), None),
        ],
    )
    def test_form_adds_a_little_to_what_is_right(
        self, tmp_path: Path, verdict: Verdict, reward: float | None
    ) -> None:
        rewards = Rewards(judge, 0.1, 4, frozenset({0}), tmp_path / "samples.jsonl")
        assert rewards.reward(verdict) == (None if reward is None else pytest.approx(reward))

    def test_groups_that_teach_nothing(self) -> None:
        groups = [1.0, 0.0], [0.0, 0.0], [1.0, None], [None, None], [0.5, 1.0]
        assert zero_variance([r for group in groups for r in group], 2) == pytest.approx(3 / 5)


def fine(**changes: Any) -> dict[str, Any]:
    row = {"step": 1, "reward": 0.4, "zero_variance": 0.2, "clipped": 0.1, "unmeasured": 0.0}
    return {**row, "grad_norm": 0.3, **changes}


def last_step(rows: list[dict[str, Any]], completions: int = 8) -> tuple[int, str]:
    """(number of the row at which the watch stopped, what it said); (0, "") if it never did."""
    watch = AbortRules(completions)
    for number, row in enumerate(rows, 1):
        try:
            watch.look({**row, "step": number})
        except TrainingError as error:
            return number, error.message
    return 0, ""


class TestWatch:
    @pytest.mark.parametrize(
        ("row", "stops", "words"),
        [
            (fine(zero_variance=0.81), 20, "one reward for all"),
            (fine(clipped=0.81), 5, "max_completion_length"),
            (fine(reward=0.0), 20, "mean reward was 0"),
            (fine(grad_norm=None), 3, "learning_rate"),
            (fine(grad_norm=math.inf), 3, "learning_rate"),
            (fine(unmeasured=0.125), 7, "scorer could not measure"),  # 7 of the first 56
        ],
    )
    def test_each_rule_stops_when_it_is_broken_and_says_what_to_do(
        self, row: dict[str, Any], stops: int, words: str
    ) -> None:
        number, said = last_step([row] * 40)
        assert number == stops
        assert words in said
        assert f"step {stops}" in said
        assert "Next: " in said
        assert "\n" not in said

    @pytest.mark.parametrize(
        "rows",
        [
            [fine()] * 60,
            [fine(zero_variance=0.8)] * 60,  # at the threshold
            [fine(clipped=0.8)] * 60,
            [*[fine(reward=0.0)] * 19, fine()] * 3,
            [fine(grad_norm=None), fine(grad_norm=None), fine()] * 9,
            [*[fine(reward=None)] * 30],  # not measured is not 0
            [*[fine()] * 9, fine(unmeasured=0.125)] * 6,  # 1 of 80: within 2 %
            [fine(zero_variance=1.0)] * 19,
        ],
    )
    def test_what_is_within_bounds_goes_on(self, rows: list[dict[str, Any]]) -> None:
        assert last_step(rows) == (0, "")

    def test_a_training_ends_by_it_and_leaves_its_rows(self, words: Path, tmp_path: Path) -> None:
        never = replace(FAST, max_steps=30)
        rows: list[dict[str, Any]] = []
        with pytest.raises(TrainingError, match=r"step 5.*were cut"):
            train(
                words,
                tmp_path,
                never,
                replace(GROUPS, max_completion_length=1),
                on_metrics=rows.append,
            )
        assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
        assert not (tmp_path / "adapter").exists()

    def test_steps_before_a_resumption_count(self) -> None:
        """Else a hopeless training that is resumed again and again would never end."""
        reporter = grpo_reporter(None, 8)
        before = [{**fine(reward=0.0), "loss": 0.0, "step": i} for i in range(1, 20)]
        state = SimpleNamespace(log_history=before, global_step=20, max_steps=50)
        reporter.on_train_begin(None, state, None)
        reporter.on_step_begin(None, state, None)
        with pytest.raises(TrainingError, match="step 20: the mean reward was 0"):
            reporter.on_log(None, state, None, logs=fine(reward=0.0))

    def test_a_row_holds_no_figure_that_is_no_number(self) -> None:
        row = row_of({"reward": math.nan, "loss": 0.1, "grad_norm": math.inf, "entropy": 2.0}, 3)
        assert (row["reward"], row["grad_norm"], row["loss"], row["step"]) == (None, None, 0.1, 3)
        json.dumps(row, allow_nan=False)


SCRIPT = """
import json, sys, time
from pathlib import Path
from benchgen.train.grpo import train_grpo
from benchgen.train.grpo_settings import GRPOSettings
from benchgen.train.rewards import Verdict
from benchgen.train.settings import SFTSettings

base, out, log, rows, settings, grpo, trainer = sys.argv[1:]

def judge(key, reply, end):
    said = reply.split()
    return Verdict(said.count("w7") / len(said) if said and end == "stop" else 0.0)

def write(row):
    print(json.dumps(row), file=open(log, "a"), flush=True)
    if row["step"] == 5:
        time.sleep(600)

if trainer == "unsloth":
    import unsloth
Path(out).mkdir(parents=True, exist_ok=True)
done = train_grpo(base, json.loads(rows), judge, SFTSettings(**json.loads(settings)),
                  GRPOSettings(**json.loads(grpo)), Path(out), trainer=trainer, dtype="float32", threads=1,
                  on_metrics=write)
print(json.dumps(done.to_dict()))
"""


def command(base: Path, out: Path, log: Path, settings: SFTSettings, trainer: str) -> list[str]:
    told = [json.dumps(x) for x in (ROWS, settings.to_dict(), GROUPS.to_dict())]
    return [sys.executable, "-c", SCRIPT, str(base), str(out), str(log), *told, trainer]


class TestResuming:
    def test_killed_in_the_middle_it_ends_in_the_same_bytes(
        self, words: Path, tmp_path: Path
    ) -> None:
        settings = replace(FAST, max_steps=8, save_steps=2)
        straight, whole = train(words, tmp_path / "straight", settings)
        out, log = tmp_path / "killed", tmp_path / "metrics.jsonl"
        process = subprocess.Popen(command(words, out, log, settings, "trl"))
        deadline = time.monotonic() + 240
        while not (log.exists() and log.read_text().count("\n") >= 5):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not (out / "adapter").exists()
        first = [json.loads(line) for line in log.read_text().splitlines()]

        rest, resumed = train(words, out, settings, resume=True)
        assert [row["step"] for row in rest] == [5, 6, 7, 8]
        rewards = [row["reward"] for row in first[:4] + rest]
        assert rewards == [row["reward"] for row in straight]
        assert resumed.adapter_sha256 == whole.adapter_sha256
        assert (resumed.steps, resumed.resumed_at) == (8, 4)
        assert (resumed.tokens_seen, resumed.first_reward) == (
            whole.tokens_seen,
            whole.first_reward,
        )
        again, same = train(words, out, settings, resume=True)
        assert (again, same) == ([], resumed)

    def test_with_a_divergence_it_is_still_measured_from_where_it_began(
        self, words: Path, tmp_path: Path
    ) -> None:
        settings, grpo = replace(FAST, max_steps=4), replace(GROUPS, beta=0.5)
        straight, whole = train(words, tmp_path / "straight", settings, grpo)

        def broken(row: dict[str, Any]) -> None:
            if row["step"] == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(words, tmp_path / "broken", settings, grpo, on_metrics=broken)
        rest, resumed = train(words, tmp_path / "broken", settings, grpo, resume=True)
        assert [row["kl"] for row in rest] == [row["kl"] for row in straight[2:]]
        assert resumed.adapter_sha256 == whole.adapter_sha256


@pytest.mark.slow
class TestMemory:
    def test_it_goes_on_with_fewer_completions_at_once_and_the_same_steps(
        self, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """4 of the 16 fit: half, and half again; what is sampled and compared stays the same."""
        whole, _ = train(words, tmp_path / "whole")
        small_memory(monkeypatch, most=4)
        seen, outcome = train(words, tmp_path / "small")
        assert (outcome.batch_size, outcome.gradient_accumulation) == (4, 4)
        assert [note.split(": ")[1] for note in outcome.notes] == [
            "on with 8 rows at once, 2 added up",
            "on with 4 rows at once, 4 added up",
        ]
        assert (outcome.steps, outcome.completions) == (2, 32)
        assert [row["reward"] for row in seen] == pytest.approx([r["reward"] for r in whole])
        assert [row["loss"] for row in seen] == pytest.approx([r["loss"] for r in whole], abs=1e-3)

    def test_later_on_it_keeps_the_steps_that_are_saved(
        self, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings = replace(FAST, max_steps=3, save_steps=1)
        whole, _ = train(words, tmp_path / "whole", settings)
        small_memory(monkeypatch, most=8, after=2)
        seen, outcome = train(words, tmp_path / "late", settings)
        assert outcome.resumed_at == 2
        assert [row["step"] for row in seen] == [1, 2, 3]
        assert [row["reward"] for row in seen] == pytest.approx([r["reward"] for r in whole])

    def test_memory_that_holds_no_completion_is_said(
        self, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small_memory(monkeypatch, most=0)
        with pytest.raises(TrainingError, match="does not hold a training step of 2 rows"):
            train(words, tmp_path)
        assert not (tmp_path / "adapter").exists()


class TestRefusals:
    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"num_generations": 1}, "num_generations"),
            ({"num_generations": 5}, "does not divide"),
            ({"temperature": 0.0}, "temperature"),
            ({"loss_type": "sapo"}, "loss_type"),
            ({"format_weight": 0.2}, "format_weight"),
            ({"beta": math.nan}, "beta"),
        ],
    )
    def test_a_setting_that_cannot_train(
        self, tmp_path: Path, wrong: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ConfigError, match=words):
            train(Path("nowhere"), tmp_path, FAST, replace(GROUPS, **wrong))
        assert list(tmp_path.iterdir()) == []

    def test_fewer_prompts_than_a_step_compares(self, words: Path, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="of 4 prompts"):
            train(words, tmp_path, rows=ROWS[:3])


@pytest.mark.slow
def test_unsloth_trains_too(words: Path, tmp_path: Path) -> None:
    """Where unsloth samples, the prompts are still ours. On a machine without a GPU its CPU mode."""
    if importlib.util.find_spec("unsloth") is None:
        pytest.skip("waits for unsloth")
    done = subprocess.run(
        command(words, tmp_path / "out", tmp_path / "log", FAST, "unsloth"),
        capture_output=True,
        check=False,
        text=True,
        timeout=400,
        cwd=tmp_path,
        env={**os.environ, "UNSLOTH_FORCE_CPU": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["trainer"], told["steps"]) == ("unsloth", 2)
    assert (tmp_path / "out" / "adapter" / "adapter_model.safetensors").is_file()
