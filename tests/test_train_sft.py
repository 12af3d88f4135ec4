"""LoRA training on a tiny random llama: it learns, packs exactly, resumes exactly, and refuses bad input."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchgen.errors import ConfigError, DataError, TrainingError  # noqa: E402
from benchgen.models.chat import IGNORE  # noqa: E402
from benchgen.models.embedded import file_sha256  # noqa: E402
from benchgen.models.local import LocalModel  # noqa: E402
from benchgen.train import encoding  # noqa: E402
from benchgen.train.batches import Collator, pack, pad  # noqa: E402
from benchgen.train.checkpoints import last_checkpoint, mark_whole  # noqa: E402
from benchgen.train.job import TrainOutcome  # noqa: E402
from benchgen.train.reporting import reporter  # noqa: E402
from benchgen.train.settings import SFTSettings  # noqa: E402
from benchgen.train.sft import train_lora  # noqa: E402
from benchgen.types import Request  # noqa: E402
from tests.tiny import tiny_llama  # noqa: E402

pytestmark = pytest.mark.torch

FAST = SFTSettings(
    max_steps=4, learning_rate=5e-3, batch_size=4, r=4, alpha=8, save_steps=2, warmup=0.0
)
LOSSES = Path(__file__).parent / "golden" / "sft_losses.json"
"""The loss of each step. To renew it, look at the difference first: RENEW_GOLDEN=1 pytest tests/test_train_sft.py."""
NAMES = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]
ROWS: list[dict[str, Any]] = [
    {
        "key": str(i),
        "messages": [
            {"role": "user", "content": f"Which planet is number {i}{', please' * (i % 3)}?"}
        ],
        "completion": f"It is {name}.\nAnswer: {name}",
    }
    for i, name in enumerate(NAMES, start=1)
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama with weights so large that what it says differs."""
    folder = tmp_path_factory.mktemp("tiny")
    return tiny_llama(folder, max_position_embeddings=256, initializer_range=0.2)


def losses(
    tiny: Path, out: Path, settings: SFTSettings = FAST, **options: Any
) -> tuple[list[float], TrainOutcome]:
    seen: list[dict[str, Any]] = []
    options = {"dtype": "float32", "threads": 1, **options}
    outcome = train_lora(tiny, ROWS, settings, out, on_metrics=seen.append, **options)
    return [m["loss"] for m in seen if "loss" in m], outcome


class TestTraining:
    def test_it_learns_and_the_adapter_changes_what_the_model_says(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        settings = replace(FAST, max_steps=40, learning_rate=2e-2, r=16, alpha=32)
        curve, outcome = losses(tiny, tmp_path, settings)
        assert curve[-1] < curve[0] / 3
        assert outcome.steps == len(curve) == 40
        assert outcome.final_loss == curve[-1]
        request = Request(tuple(ROWS[0]["messages"]), max_new_tokens=24)
        said = {}
        for name, adapter in (("base", None), ("trained", Path(outcome.adapter_path))):
            model = LocalModel(tiny, name=name, adapter=adapter, dtype="float32", threads=1)
            [(_, said[name])] = model.generate([request])
        assert "Answer:" in said["trained"].text
        assert said["trained"].finish_reason == "stop"
        assert "Answer:" not in said["base"].text

    def test_packed_and_padded_batches_train_alike(self, tiny: Path, tmp_path: Path) -> None:
        packed, one = losses(tiny, tmp_path / "packed", replace(FAST, batching="packed"))
        padded, two = losses(tiny, tmp_path / "padded", replace(FAST, batching="padded"))
        assert (one.batching, two.batching) == ("packed", "padded")
        assert packed == pytest.approx(padded, abs=1e-3)
        assert packed[0] != packed[-1]

    def test_same_seed_same_adapter_other_seed_another(self, tiny: Path, tmp_path: Path) -> None:
        shas = [
            losses(tiny, tmp_path / str(i), replace(FAST, seed=seed, max_steps=2))[1].adapter_sha256
            for i, seed in enumerate([0, 0, 1])
        ]
        assert shas[0] == shas[1] != shas[2]

    def test_epochs_count_unless_max_steps_is_given(self, tiny: Path, tmp_path: Path) -> None:
        _, outcome = losses(tiny, tmp_path, replace(FAST, max_steps=-1, epochs=1.5))
        assert outcome.steps == 3  # 8 rows in batches of 4, one and a half times

    def test_twenty_steps_lose_what_they_lost_when_they_were_written_down(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        """What a library's new version changes shows here before it shows in anybody's scores."""
        settings = replace(FAST, max_steps=20, save_steps=100)
        curve, _ = losses(tiny, tmp_path, settings)
        if os.environ.get("RENEW_GOLDEN"):
            LOSSES.write_text(json.dumps([round(loss, 4) for loss in curve]) + "\n")
        golden = json.loads(LOSSES.read_text())
        assert len(golden) == 20
        assert golden[-1] < golden[0] - 0.5
        assert curve == pytest.approx(golden, abs=1e-2)

    @pytest.mark.parametrize("batching", ["packed", "padded"])
    def test_eight_rows_at_once_equal_eight_one_by_one(
        self, tiny: Path, tmp_path: Path, batching: str
    ) -> None:
        """Rows of other lengths weigh by their tokens, whatever they are batched with."""
        settings = replace(FAST, max_steps=4, batching=batching, dropout=0.0, save_steps=100)
        large, one = losses(tiny, tmp_path / "large", replace(settings, batch_size=8))
        small, other = losses(
            tiny, tmp_path / "small", replace(settings, batch_size=1, gradient_accumulation=8)
        )
        assert small == pytest.approx(large, abs=1e-4)
        assert large[0] - large[-1] > 0.01
        assert one.tokens == other.tokens

    def test_a_share_of_the_layers_trains_the_upper_ones(self, tiny: Path, tmp_path: Path) -> None:
        from safetensors.torch import load_file

        _, outcome = losses(tiny, tmp_path, replace(FAST, max_steps=1, layers=0.5))
        names = load_file(Path(outcome.adapter_path) / "adapter_model.safetensors")
        assert names
        assert all(".layers.1." in name for name in names)

    def test_bfloat16_trains_too(self, tiny: Path, tmp_path: Path) -> None:
        curve, outcome = losses(tiny, tmp_path, dtype="bfloat16")
        assert outcome.dtype == "bfloat16"
        assert all(map(math.isfinite, curve))
        assert curve[-1] < curve[0]

    def test_the_outcome_says_what_happened(self, tiny: Path, tmp_path: Path) -> None:
        _, outcome = losses(tiny, tmp_path, base_id="org/name")
        adapter = Path(outcome.adapter_path)
        assert file_sha256(adapter / "adapter_model.safetensors") == outcome.adapter_sha256
        config = json.loads((adapter / "adapter_config.json").read_text())
        assert config["base_model_name_or_path"] == "org/name"
        assert (outcome.rows_used, outcome.rows_dropped, outcome.rows_truncated) == (8, 0, 0)
        assert 0.1 < outcome.supervised_share < 0.5
        assert outcome.tokens > 8 * 20
        assert outcome.peak_rss_bytes > 1e8
        left = {p.name for p in tmp_path.iterdir()}
        assert left == {"adapter", "outcome.json"}


class TestPacking:
    def test_a_packed_batch_holds_each_row_behind_the_shared_start(self) -> None:
        rows = [
            {"input_ids": [7, 8, 1, 2, 3], "labels": [IGNORE, IGNORE, IGNORE, 2, 3]},
            {"input_ids": [7, 8, 4, 5], "labels": [IGNORE, IGNORE, IGNORE, 5]},
        ]
        batch = pack(rows, 2)
        assert batch["input_ids"].tolist() == [[7, 8, 1, 2, 3, 4, 5]]
        assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 4, 2, 3]]
        assert batch["logits_to_keep"].tolist() == [2, 3, 5]  # the places before 2, 3 and 5
        assert batch["labels"].tolist() == [[2, 3, 5]]
        looks = batch["attention_mask"][0, 0].int().tolist()
        assert looks[4] == [1, 1, 1, 1, 1, 0, 0]
        assert looks[6] == [1, 1, 0, 0, 0, 1, 1]  # the second row does not see the first

    def test_the_shared_start_never_reaches_an_answer(self) -> None:
        # Two equal prompts: the token before the first answer token must stay in each row.
        row = {"input_ids": [7, 8, 9, 4], "labels": [IGNORE, IGNORE, IGNORE, 4]}
        collator = Collator.sharing(0, [row, row])
        assert collator.shared == 2
        assert collator([row, row])["logits_to_keep"].tolist() == [2, 4]

    def test_a_batch_too_long_to_pack_is_padded(self) -> None:
        row = {"input_ids": [7] * 1500 + [4], "labels": [IGNORE] * 1500 + [4]}
        other = {"input_ids": [8] * 1500 + [4], "labels": [IGNORE] * 1500 + [4]}
        batch = Collator.sharing(0, [row, other])([row, other])
        assert batch["input_ids"].shape == (2, 1501)

    def test_padding_is_masked_and_unlabelled(self) -> None:
        batch = pad(
            [{"input_ids": [1, 2], "labels": [IGNORE, 2]}, {"input_ids": [3], "labels": [3]}], 9
        )
        assert batch["input_ids"].tolist() == [[1, 2], [3, 9]]
        assert batch["labels"].tolist() == [[IGNORE, 2], [3, IGNORE]]
        assert batch["attention_mask"].tolist() == [[1, 1], [1, 0]]


class TestResuming:
    def test_killed_in_the_middle_it_ends_in_the_same_bytes(
        self, tiny: Path, tmp_path: Path
    ) -> None:
        settings = replace(FAST, max_steps=8, save_steps=2)
        straight, whole = losses(tiny, tmp_path / "straight", settings)
        out, log = tmp_path / "killed", tmp_path / "metrics.jsonl"
        script = (
            "import json, sys, time\n"
            "from pathlib import Path\n"
            "from benchgen.train.settings import SFTSettings\n"
            "from benchgen.train.sft import train_lora\n"
            "base, out, log, rows, settings = sys.argv[1:]\n"
            "def write(row):\n"
            "    print(json.dumps(row), file=open(log, 'a'), flush=True)\n"
            "    if row['step'] == 5: time.sleep(600)\n"
            "train_lora(base, json.loads(rows), SFTSettings(**json.loads(settings)), Path(out),\n"
            "           dtype='float32', threads=1, on_metrics=write)\n"
        )
        arguments = [
            str(tiny),
            str(out),
            str(log),
            json.dumps(ROWS),
            json.dumps(settings.to_dict()),
        ]
        process = subprocess.Popen([sys.executable, "-c", script, *arguments])
        deadline = time.monotonic() + 240
        while not (log.exists() and log.read_text().count("\n") >= 5):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        first = [json.loads(line) for line in log.read_text().splitlines()]
        assert not (out / "adapter").exists()

        rest, resumed = losses(tiny, out, settings, resume=True)
        assert [m["loss"] for m in first][:4] + rest == straight  # from step 5 on again
        assert resumed.adapter_sha256 == whole.adapter_sha256
        assert resumed.steps == 8

    def test_a_half_written_checkpoint_is_ignored(self, tmp_path: Path) -> None:
        for number, whole in ((2, True), (4, True), (6, False)):
            folder = tmp_path / f"checkpoint-{number}"
            folder.mkdir()
            (folder / "adapter_model.safetensors").write_bytes(b"x" * 10)
            if whole:
                mark_whole(folder)
        (tmp_path / "checkpoint-4" / "adapter_model.safetensors").write_bytes(b"x" * 3)
        found = last_checkpoint(tmp_path)
        assert found == tmp_path / "checkpoint-2"
        assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-2"]

    def test_a_finished_training_is_not_run_again(self, tiny: Path, tmp_path: Path) -> None:
        _, outcome = losses(tiny, tmp_path, replace(FAST, max_steps=1))
        again, same = losses(tiny, tmp_path, replace(FAST, max_steps=1), resume=True)
        assert again == []
        assert same == outcome


class TestRefusals:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"learning_rate": 0.0},
            {"batch_size": 0},
            {"scheduler": "magic"},
            {"targets": "lm_head"},
            {"epochs": 0.0, "max_steps": -1},
            {"layers": 0.0},
            {"batching": "loose"},
        ],
        ids=lambda wrong: next(iter(wrong)),
    )
    def test_a_setting_out_of_range(self, tmp_path: Path, wrong: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            train_lora("nowhere", ROWS, replace(FAST, **wrong), tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_an_unknown_trainer(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="trainer"):
            train_lora("nowhere", ROWS, FAST, tmp_path, trainer="magic")

    def test_rows_without_answers(self, tiny: Path, tmp_path: Path) -> None:
        empty = [{**row, "completion": "  "} for row in ROWS]
        with pytest.raises(DataError, match="no row"):
            train_lora(tiny, empty, FAST, tmp_path, dtype="float32", threads=1)
        assert list(tmp_path.iterdir()) == []

    def test_too_long_rows_lose_prompt_but_never_answer(self, tiny: Path) -> None:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(tiny)
        long = {**ROWS[0], "messages": [{"role": "user", "content": "word " * 200}]}
        overlong = {**ROWS[0], "completion": "word " * 200}
        encoded = encoding.encode_rows(tokenizer, [ROWS[0], long, overlong], 80)
        assert (len(encoded.rows), encoded.dropped, encoded.truncated) == (2, 1, 1)
        assert len(encoded.rows[1]["input_ids"]) == 80
        assert encoded.rows[1]["labels"][-1] == 2

    def test_rows_that_do_not_stop_or_hardly_teach(self) -> None:
        stops = frozenset({2})
        endless = encoding.EncodedRows([{"input_ids": [1, 5], "labels": [IGNORE, 5]}], 0, 0)
        with pytest.raises(DataError, match="stops"):
            encoding.check_rows(endless, stops)
        thin = encoding.EncodedRows(
            [{"input_ids": [1] * 999 + [2], "labels": [IGNORE] * 999 + [2]}], 0, 0
        )
        with pytest.raises(DataError, match="supervised"):
            encoding.check_rows(thin, stops)

    def test_a_loss_that_is_not_a_number_stops_the_training(self) -> None:
        from types import SimpleNamespace

        with pytest.raises(TrainingError, match="step 7"):
            reporter(None).on_log(
                None, SimpleNamespace(global_step=7), None, logs={"loss": math.nan}
            )


BATCHES = """
import json, sys
from benchgen.models import quiet_libraries
quiet_libraries()
base, out, rows, settings, trainer = sys.argv[1:]
if trainer == "unsloth":
    import unsloth
import trl
from pathlib import Path
from benchgen.train.settings import SFTSettings
from benchgen.train.sft import train_lora

seen, batches = [], []
compute = trl.SFTTrainer.compute_loss

def record(self, model, inputs, *args, **kwargs):
    batches.append([inputs[name].tolist() for name in ("input_ids", "labels")])
    return compute(self, model, inputs, *args, **kwargs)

trl.SFTTrainer.compute_loss = record
outcome = train_lora(base, json.loads(rows), SFTSettings(**json.loads(settings)), Path(out),
                     trainer=trainer, dtype="float32", threads=1, on_metrics=seen.append)
print(json.dumps([outcome.trainer, [m["loss"] for m in seen], batches]))
"""


def batches(tiny: Path, out: Path, settings: SFTSettings, trainer: str) -> tuple[Any, Any]:
    """(losses, [ids, labels] of each batch as the loss is taken of it) of a training in its own process."""
    told = [str(tiny), str(out), json.dumps(ROWS), json.dumps(settings.to_dict()), trainer]
    done = subprocess.run(  # its stderr is shown below
        [sys.executable, "-c", BATCHES, *told],
        capture_output=True,
        check=False,
        text=True,
        timeout=400,
        cwd=tiny,
        env={**os.environ, "UNSLOTH_FORCE_CPU": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    name, found, fed = json.loads(done.stdout.splitlines()[-1])
    assert name == trainer
    return found, fed


@pytest.mark.slow
def test_unsloth_is_fed_the_same_labels_and_gives_the_same_losses(
    tiny: Path, tmp_path: Path
) -> None:
    """Each in its own process, since unsloth must come before trl; without a GPU its CPU mode."""
    if importlib.util.find_spec("unsloth") is None:
        pytest.skip("waits for unsloth")
    settings = replace(FAST, max_steps=3, batching="padded")
    expected, plain = batches(tiny, tmp_path / "trl", settings, "trl")
    found, fed = batches(tiny, tmp_path / "unsloth", settings, "unsloth")
    assert len(plain) == 3
    assert fed == plain
    assert found == pytest.approx(expected, abs=0.01)
    assert (tmp_path / "unsloth" / "adapter" / "adapter_model.safetensors").is_file()
