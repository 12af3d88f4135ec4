"""The local model: rendering, the batched decoding loop against transformers' own, errors, fingerprints."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchgen.errors import BenchgenError, ConfigError, ModelError, NotFound  # noqa: E402
from benchgen.models.chat import (  # noqa: E402
    IGNORE,
    continuations,
    encode_prompt,
    encode_row,
    end_of_turn,
    notes,
)
from benchgen.models.device import Device  # noqa: E402
from benchgen.models.engine import decode, threads  # noqa: E402
from benchgen.models.engine.batch import Row  # noqa: E402
from benchgen.models.engine.groups import Group, group  # noqa: E402
from benchgen.models.engine.load import pick_device  # noqa: E402
from benchgen.models.fingerprint import weights_fingerprint  # noqa: E402
from benchgen.models.local import LocalModel  # noqa: E402
from benchgen.types import Reply, Request  # noqa: E402
from tests.tiny import WORDS, tiny_llama, tiny_tokenizer  # noqa: E402

pytestmark = pytest.mark.torch

ASK = [
    "Which planet is the largest?",
    "Name a moon of Mars.",
    "Which of these is a star? Choose from: Sirius, Io, Titan, Rhea. End with a line 'Answer: NAME'.",
    "How many moons has Earth?",
    "Hi",
    "Which mission first flew past Pluto in 2015, and in which year was it launched?",
    "Name the hottest planet, and say in one sentence why it is hotter than Mercury is.",
]


def user(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": text},)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama with weights so large that what it says differs."""
    folder = tmp_path_factory.mktemp("tiny")
    return tiny_llama(folder, max_position_embeddings=256, initializer_range=0.5)


@pytest.fixture
def model(tiny: Path) -> LocalModel:
    return LocalModel(tiny, name="tiny", dtype="float32", threads=1)


def replies(model: LocalModel, requests: Sequence[Request]) -> list[Reply]:
    found = dict(model.generate(requests))
    assert sorted(found) == list(range(len(requests)))
    return [found[i] for i in range(len(requests))]


def plain_greedy(model: LocalModel, request: Request) -> list[int]:
    """transformers' own greedy decoding of one prompt: the yardstick."""
    ids = torch.tensor([encode_prompt(model.tokenizer, request.messages)])
    out = model.model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=request.max_new_tokens,
        do_sample=False,
        eos_token_id=sorted(model.decoder.stops),
        pad_token_id=2,
    )
    tokens: list[int] = out[0, ids.shape[1] :].tolist()
    return tokens


class TestRendering:
    def test_the_prompt_is_the_template_with_one_bos(self, model: LocalModel) -> None:
        ids = encode_prompt(model.tokenizer, user("Hi"))
        text = model.tokenizer.decode(ids)
        assert text.startswith("<|im_start|>system\n")
        assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
        assert ids[:2] != [1, 1]

    def test_a_row_is_the_prompt_then_the_answer_then_the_end(self, model: LocalModel) -> None:
        prompt = encode_prompt(model.tokenizer, user("Hi"))
        ids, labels = encode_row(model.tokenizer, user("Hi"), "Hello.\nAnswer: Mars")
        assert ids[: len(prompt)] == prompt
        assert labels == [IGNORE] * len(prompt) + ids[len(prompt) :]
        assert ids[-1] == 2
        assert ids[-2] != 2
        assert model.tokenizer.decode(ids[len(prompt) : -1]) == "Hello.\nAnswer: Mars"

    def test_an_end_token_in_the_completion_is_not_doubled(self, model: LocalModel) -> None:
        once, _ = encode_row(model.tokenizer, user("Hi"), "Hello")
        twice, _ = encode_row(model.tokenizer, user("Hi"), "Hello<|im_end|>")
        assert once == twice

    def test_the_end_of_turn_is_the_templates_own(self, model: LocalModel) -> None:
        assert end_of_turn(model.tokenizer) == model.tokenizer.convert_tokens_to_ids("<|im_end|>")
        assert 2 in model.decoder.stops

    def test_a_tokenizer_that_adds_bos_gets_it_once(self, model: LocalModel) -> None:
        # A template that writes the BOS and one that leaves it to the tokenizer must come out alike.
        from tokenizers.processors import TemplateProcessing

        tokenizer = model.tokenizer
        tokenizer.bos_token = "<|endoftext|>"
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
        )
        body = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
        found = []
        for template in (body, "{{ bos_token }}" + body, "{{ bos_token }}{{ bos_token }}" + body):
            tokenizer.chat_template = template
            found.append(encode_prompt(tokenizer, user("Mars")))
        assert found[0] == found[1] == found[2]
        assert found[0].count(0) == 1
        assert found[0][0] == 0

    def test_a_template_without_system_turns_gets_the_text_in_the_first_user_turn(
        self, model: LocalModel
    ) -> None:
        model.tokenizer.chat_template = (
            "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
            "{% for m in messages %}{{ m['role'] + ':' + m['content'] }}{% endfor %}"
        )
        both = ({"role": "system", "content": "Be brief."}, *user("Hi"))
        assert model.tokenizer.decode(encode_prompt(model.tokenizer, both)) == (
            "user:Be brief.\n\nHi"
        )

    def test_a_broken_template_is_a_model_error(self, model: LocalModel) -> None:
        model.tokenizer.chat_template = "{{ raise_exception('never') }}"
        with pytest.raises(ModelError, match="chat template failed"):
            encode_prompt(model.tokenizer, user("Hi"))

    def test_a_base_model_without_a_template_ends_with_eos(self, model: LocalModel) -> None:
        model.tokenizer.chat_template = None
        ids, labels = encode_row(model.tokenizer, user("Hi"), "Hello")
        assert model.tokenizer.decode(ids) == "Hi\n\nHello<|im_end|>"
        assert labels[-1] == 2


class TestDecoding:
    @pytest.mark.parametrize("rows", [1, 2, 3, 64])
    def test_greedy_text_is_that_of_transformers_at_any_batch(
        self, model: LocalModel, rows: int
    ) -> None:
        # Stop ids that this random model does produce, so that rows end at different times and
        # freed places are filled again.
        free = [plain_greedy(model, Request(user(a), 24)) for a in ASK]
        model.decoder.stops = frozenset(
            {free[0][3], free[1][7], free[2][1], free[3][2], free[5][15]}
        )
        requests = [
            Request(user(a), n) for a, n in zip(ASK, itertools.cycle([24, 5, 1]), strict=False)
        ]
        expected = [plain_greedy(model, r) for r in requests]
        assert len({len(e) for e in expected}) > 3
        model.decoder.batch_rows = rows
        for reply, tokens in zip(replies(model, requests), expected, strict=True):
            ended = tokens[-1] in model.decoder.stops
            kept = tokens[:-1] if ended else tokens
            assert reply.text == model.tokenizer.decode(kept, skip_special_tokens=True)
            assert reply.finish_reason == ("stop" if ended else "length")
            assert reply.tokens_out == len(tokens)

    def test_the_shared_beginning_changes_no_text(
        self, model: LocalModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        requests = [Request(user(a), 16) for a in ASK]
        prompts = [encode_prompt(model.tokenizer, r.messages) for r in requests]
        assert group(prompts)[0].shared > 8
        shared = [r.text for r in replies(model, requests)]
        apart = [Group(0, (i,)) for i in range(len(ASK))]
        monkeypatch.setattr(decode, "group", lambda prompts: apart)
        assert [r.text for r in replies(model, requests)] == shared

    def test_counts_are_the_rows_own_without_padding(self, model: LocalModel) -> None:
        found = replies(model, [Request(user(a), 6) for a in ASK])
        for ask, reply in zip(ASK, found, strict=True):
            assert reply.tokens_in == len(encode_prompt(model.tokenizer, user(ask)))
            assert reply.tokens_out == 6
            assert reply.seconds > 0

    def test_a_stop_string_ends_the_reply_before_it(self, model: LocalModel) -> None:
        whole = replies(model, [Request(user("Hi"), 12)])[0]
        stop = whole.text[3:6]
        cut = replies(model, [Request(user("Hi"), 12, stop=(stop,))])[0]
        assert cut.text == whole.text[: whole.text.index(stop)]
        assert cut.finish_reason == "stop"
        assert cut.tokens_out < whole.tokens_out

    def test_sampling_depends_on_the_seed_and_not_on_batch_mates(self, model: LocalModel) -> None:
        # A random model's words are nearly equally likely: float rounding alone would then choose another.
        requests = [Request(user(a), 10, temperature=0.3, seed=3) for a in ASK]
        together = [r.text for r in replies(model, requests)]
        alone = [replies(model, [r])[0].text for r in requests]
        assert together == alone
        other = replies(model, [Request(user(ASK[0]), 10, temperature=0.3, seed=4)])[0].text
        assert other != together[0]

    def test_a_prompt_beyond_the_context_is_not_measured(self, model: LocalModel) -> None:
        found = replies(model, [Request(user("word " * 300), 4), Request(user("Hi"), 4)])
        assert found[0].finish_reason == "error"
        assert "256" in str(found[0].error)
        assert found[1].error is None

    @pytest.mark.parametrize(
        ("template", "said"),
        [
            ("{% if 'Ho' in messages[0]['content'] %}{{ raise_exception('no') }}{% endif %}x", "template"),
            ("{{ messages[0]['content'] | replace('Ho', '') }}", "no token"),
        ],
        ids=["the template refuses it", "nothing is left of it"],
    )  # fmt: skip
    def test_what_cannot_be_asked_is_not_measured_and_the_others_are(
        self, model: LocalModel, template: str, said: str
    ) -> None:
        model.tokenizer.chat_template = template
        asked = [Request(user("Hi"), 2), Request(user("Ho"), 2)]
        asked += [replace(asked[1], choices=(" A", " B")), replace(asked[0], choices=("", "!"))]
        found = replies(model, asked)
        assert [r.error is None for r in found] == [True, False, False, False]
        assert all(said in str(r.error) for r in found[1:3])
        assert "option 1 of 2" in str(found[3].error)

    def test_a_token_that_the_model_does_not_know_is_not_measured(self, model: LocalModel) -> None:
        model.tokenizer.add_tokens(["<new>"])
        found = replies(model, [Request(user("a <new> one"), 2), Request(user("Hi"), 2)])
        assert f"token {WORDS} is unknown" in str(found[0].error)
        assert found[1].error is None

    def test_a_special_token_as_stop_string_ends_the_reply(self, model: LocalModel) -> None:
        whole = plain_greedy(model, Request(user("Hi"), 8))
        special = {"<mark>": whole[4]}
        model.decoder.special = special
        found = replies(model, [Request(user("Hi"), 8, stop=("<mark>",)), Request(user("Hi"), 8)])
        assert [r.tokens_out for r in found] == [5, 8]
        assert found[0].finish_reason == "stop"
        assert found[0].text == model.tokenizer.decode(whole[:4])

    def test_special_tokens_are_those_of_the_tokenizer(self, model: LocalModel) -> None:
        assert model.decoder.special["<|im_start|>"] == 1
        assert "Hi" not in model.decoder.special

    def test_without_an_end_token_only_the_limit_ends_a_reply(self, model: LocalModel) -> None:
        model.tokenizer.eos_token = None
        model.tokenizer.chat_template = None
        model.model.generation_config.eos_token_id = None
        bare = LocalModel.of(model.model, model.tokenizer, model.device, name="bare")
        assert "no end token" in bare.notes[-1]
        assert [r.tokens_out for r in replies(bare, [Request(user(a), 3) for a in ASK])] == [3] * 7

    @pytest.mark.parametrize("told", [-1, 10**8, "x", [-1, 2]], ids=str)
    def test_an_end_token_that_is_none_harms_nothing(self, model: LocalModel, told: Any) -> None:
        """Some configurations hold -1; rows of different lengths are padded all the same."""
        expected = [r.text for r in replies(model, [Request(user(a), 3) for a in ASK])]
        model.model.generation_config.eos_token_id = told
        odd = LocalModel.of(model.model, model.tokenizer, model.device, name="odd")
        assert [r.text for r in replies(odd, [Request(user(a), 3) for a in ASK])] == expected

    def test_nothing_asked_gives_nothing(self, model: LocalModel) -> None:
        assert list(model.generate([])) == []

    def test_out_of_memory_halves_the_batch_and_loses_nothing(
        self, model: LocalModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        requests = [Request(user(a), 5) for a in ASK]
        expected = [r.text for r in replies(model, requests)]
        forward = model.decoder.network.forward

        def small(ids: Any, *rest: Any) -> object:
            if len(ids) > 2:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return forward(ids, *rest)

        monkeypatch.setattr(model.decoder.network, "forward", small)
        assert [r.text for r in replies(model, requests)] == expected
        assert model.decoder.batch_rows == 2

    def test_memory_too_small_for_one_row_is_said(
        self, model: LocalModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def never(*rest: object) -> object:
            raise torch.OutOfMemoryError("CUDA out of memory")

        monkeypatch.setattr(model.decoder.network, "forward", never)
        with pytest.raises(ModelError, match="does not hold one question"):
            replies(model, [Request(user("Hi"), 5)])


def plain_logprob(model: LocalModel, prompt: list[int], choice: list[int]) -> tuple[float, bool]:
    """One continuation's likelihood by one forward pass over it all: the yardstick."""
    with torch.inference_mode():
        logits = model.model(input_ids=torch.tensor([prompt + choice])).logits[0].double()
    table = logits.log_softmax(-1)
    places = range(len(prompt) - 1, len(prompt) + len(choice) - 1)
    total = sum(float(table[at, token]) for at, token in zip(places, choice, strict=True))
    return total, all(int(table[at].argmax()) == t for at, t in zip(places, choice, strict=True))


CHOICES = [
    (" A", " B", " C", " D"),
    (" Jupiter is the largest of them", " Mars", " the planet that was named after a god"),
    (" Phobos", " Deimos and Phobos"),
]


def choosing() -> list[Request]:
    mixed = zip(ASK * 3, itertools.cycle(CHOICES), strict=False)
    return [Request(user(a), opening="Answer:", choices=c) for a, c in mixed]


class TestLikelihood:
    @pytest.mark.parametrize("tokens", [1, 150, 4096])
    def test_it_is_that_of_one_pass_over_each_choice(self, model: LocalModel, tokens: int) -> None:
        model.scorer.tokens = tokens  # alone, a few together, all together
        requests = choosing()
        for request, reply in zip(requests, replies(model, requests), strict=True):
            prompt, choices = continuations(model.tokenizer, request)
            assert reply.likelihood is not None
            assert reply.text == ""
            assert reply.tokens_in == len(prompt)
            assert reply.likelihood.tokens == tuple(map(len, choices))
            for found, greedy, choice in zip(
                reply.likelihood.logprob, reply.likelihood.greedy, choices, strict=True
            ):
                expected, best = plain_logprob(model, prompt, choice)
                assert found == pytest.approx(expected, abs=1e-4)
                assert greedy == best

    def test_a_choice_that_greedy_decoding_writes_is_known(self, model: LocalModel) -> None:
        written = replies(model, [Request(user("Hi"), 3)])[0].text
        asked = Request(user("Hi"), choices=(written, " something else"))
        found = replies(model, [asked])[0].likelihood
        assert found is not None
        assert found.greedy == (True, False)
        assert found.logprob[0] > found.logprob[1]

    def test_choices_are_tokenised_as_running_text(self, model: LocalModel) -> None:
        asked = Request(user("Hi"), opening="Answer: ", choices=("A", "B"))
        spaced = Request(user("Hi"), opening="Answer:", choices=(" A", " B"))
        assert continuations(model.tokenizer, asked) == continuations(model.tokenizer, spaced)

    @pytest.mark.parametrize("kind", ["sliding window", "state space"])
    def test_models_that_share_nothing_score_alike(self, tmp_path: Path, kind: str) -> None:
        from transformers import (
            MambaConfig,
            MambaForCausalLM,
            MistralConfig,
            MistralForCausalLM,
        )

        torch.manual_seed(0)
        common = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "bos_token_id": 1}
        made = (
            MistralForCausalLM(
                MistralConfig(
                    **common,
                    intermediate_size=64,
                    num_attention_heads=4,
                    num_key_value_heads=2,
                    sliding_window=8,
                    eos_token_id=2,
                )
            )
            if kind == "sliding window"
            else MambaForCausalLM(MambaConfig(**common, state_size=4, eos_token_id=2))
        )
        made.save_pretrained(tmp_path)
        tiny_tokenizer(tmp_path)
        other = LocalModel(tmp_path, name="other", dtype="float32", threads=1)
        assert not other.scorer.network.plain
        requests = choosing()[:4]
        for request, reply in zip(requests, replies(other, requests), strict=True):
            prompt, choices = continuations(other.tokenizer, request)
            assert reply.likelihood is not None
            for found, choice in zip(reply.likelihood.logprob, choices, strict=True):
                assert found == pytest.approx(plain_logprob(other, prompt, choice)[0], abs=1e-4)

    def test_written_and_scored_requests_keep_their_places(self, model: LocalModel) -> None:
        mixed = [choosing()[0], Request(user("Hi"), 2), choosing()[1], Request(user("a"), 2)]
        found = replies(model, mixed)
        assert [r.likelihood is not None for r in found] == [True, False, True, False]

    def test_a_choice_beyond_the_context_is_not_measured(self, model: LocalModel) -> None:
        asked = Request(user("word " * 200), choices=(" A", " word" * 90))
        assert "256" in str(replies(model, [asked])[0].error)

    def test_out_of_memory_scores_fewer_at_once(
        self, model: LocalModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        requests = choosing()
        expected = [r.likelihood for r in replies(model, requests)]
        forward = model.scorer.network.model.forward

        def small(input_ids: object, **rest: object) -> object:
            if len(input_ids) > 2:  # type: ignore[arg-type]
                raise torch.OutOfMemoryError("CUDA out of memory")
            return forward(input_ids=input_ids, **rest)

        monkeypatch.setattr(model.scorer.network.model, "forward", small)
        for reply, other in zip(replies(model, requests), expected, strict=True):
            assert reply.likelihood is not None
            assert other is not None
            assert reply.likelihood.logprob == pytest.approx(other.logprob, abs=1e-4)


class TestSampling:
    def test_the_nucleus_and_the_likeliest_are_all_that_is_drawn(self) -> None:
        logits = torch.log(torch.tensor([0.05, 0.5, 0.25, 0.15, 0.05]))

        def drawn(**settings: float) -> set[int]:
            found = set()
            for seed in range(200):
                request = Request(user("x"), temperature=1.0, seed=seed, **settings)  # type: ignore[arg-type]
                row = Row(0, request, [1])
                row.generator = decode._generator(row)
                found.add(decode.draw(logits, row))
            return found

        assert drawn() == {0, 1, 2, 3, 4}
        assert drawn(top_k=2) == {1, 2}
        assert drawn(top_p=0.7) == {1, 2}
        assert drawn(top_p=0.76) == {1, 2, 3}
        assert drawn(top_p=0.01) == {1}
        assert drawn(top_k=3, top_p=0.99) == {1, 2, 3}

    @pytest.mark.parametrize(
        "settings",
        [
            {"temperature": 5.0, "top_k": 1},
            {"temperature": 5.0, "top_p": 1e-300},
            {"temperature": 1e-9},
            {"temperature": 5e-324},
        ],
        ids=str,
    )
    def test_drawing_the_likeliest_alone_is_greedy(
        self, model: LocalModel, settings: dict[str, Any]
    ) -> None:
        greedy = [r.text for r in replies(model, [Request(user(a), 8) for a in ASK])]
        asked = [Request(user(a), 8, **settings) for a in ASK]
        assert [r.text for r in replies(model, asked)] == greedy

    def test_repeats_of_one_question_differ(self, model: LocalModel) -> None:
        asked = [Request(user("Hi"), 10, temperature=1.0, repeat=i) for i in range(3)]
        assert len({r.text for r in replies(model, asked)}) == 3


class TestNotes:
    def test_a_model_with_system_turns_needs_none(self, model: LocalModel) -> None:
        assert model.notes == ()

    @pytest.mark.parametrize(
        ("template", "said"),
        [
            (None, "no chat template"),
            ("{{ raise_exception('no') if messages[0]['role'] == 'system' }}", "no system turn"),
            (
                "{% for m in messages if m['role'] == 'user' %}{{ m['content'] }}{% endfor %}",
                "no system turn",
            ),
        ],
        ids=["none", "refuses", "drops it silently"],
    )
    def test_what_is_done_instead_is_said_and_nothing_is_dropped(
        self, model: LocalModel, template: str | None, said: str
    ) -> None:
        model.tokenizer.chat_template = template
        found = notes(model.tokenizer)
        assert len(found) == 1
        assert said in found[0]
        if template is None or "content" in template:
            both = ({"role": "system", "content": "Be brief."}, *user("Hi"))
            assert "Be brief." in model.tokenizer.decode(encode_prompt(model.tokenizer, both))

    def test_thinking_needs_a_template_with_the_switch(self, tiny: Path, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no switch for thinking"):
            LocalModel(tiny, name="tiny", thinking=True)
        shutil.copytree(tiny, tmp_path / "switch")
        (tmp_path / "switch" / "chat_template.jinja").write_text(
            "{% for m in messages %}{{ m['content'] }}{% endfor %}"
            "{% if enable_thinking %}<think>{% else %}<think></think>{% endif %}"
        )
        found = {}
        for thinking in (False, True):
            made = LocalModel(tmp_path / "switch", name="t", dtype="float32", thinking=thinking)
            prompt = encode_prompt(made.tokenizer, user("Hi"), thinking)
            found[made.fingerprint] = made.tokenizer.decode(prompt)
        assert list(found.values()) == ["Hi<think></think>", "Hi<think>"]


class TestThreads:
    def test_the_probe_is_made_once_and_given_threads_win(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "cache_folder", lambda: tmp_path / "cache")
        timed: list[int] = []

        def seconds(n: int, dtype: object) -> float:
            timed.append(n)
            return 1.0 / n

        monkeypatch.setattr(threads, "_seconds", seconds)
        here = Device("cpu", "a processor", "float32", 8, 1)
        assert threads.probed(here) == 8
        assert timed == [1, 4, 8]
        assert threads.probed(here) == 8
        assert len(timed) == 3
        monkeypatch.setattr(threads, "_seconds", lambda n, dtype: float(n))
        assert threads.probed(replace(here, dtype="bfloat16")) == 1
        (tmp_path / "cache" / "threads.json").write_text("{broken")
        assert threads.probed(here) == 1
        for poison in ("true", "1.0", "[]", '"1"'):
            known = (tmp_path / "cache" / "threads.json").read_text()
            (tmp_path / "cache" / "threads.json").write_text(known.replace(": 1", f": {poison}"))
            assert type(threads.probed(here)) is int
        (tmp_path / "cache" / "threads.json").write_text("[" * 100_000)
        assert threads.probed(here) == 1
        assert pick_device("cpu", threads=3).threads == 3


class TestLoading:
    @pytest.mark.parametrize(
        ("source", "kind"),
        [
            (Path("/nonexistent"), NotFound),
            ("./nonexistent", NotFound),
            ("nobody-here/no-such-model", NotFound),
            ("not a model id", NotFound),
        ],
        ids=["path", "relative", "hub id offline", "not an id"],
    )
    def test_a_model_that_is_not_there_is_one_line(
        self, source: Path | str, kind: type[BenchgenError]
    ) -> None:
        with pytest.raises(kind) as caught:
            LocalModel(source, name="x")
        assert "\n" not in str(caught.value)
        assert "Next:" in str(caught.value)

    def test_a_folder_with_another_kind_of_content_is_a_model_error(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"model_type": "no-such-architecture"}')
        with pytest.raises(ModelError, match="cannot be loaded") as caught:
            LocalModel(tmp_path, name="x")
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("model.safetensors", "cut short"),
            ("config.json", "[]"),
            ("tokenizer_config.json", "[]"),
            ("tokenizer.json", "{}"),
        ],
    )
    def test_a_broken_file_is_a_model_error(
        self, tiny: Path, tmp_path: Path, file: str, content: str
    ) -> None:
        shutil.copytree(tiny, tmp_path / "broken")
        (tmp_path / "broken" / file).write_text(content)
        with pytest.raises(ModelError, match="cannot be loaded") as caught:
            LocalModel(tmp_path / "broken", name="x", dtype="float32", threads=1)
        assert "\n" not in str(caught.value)

    def test_weights_that_are_not_whole_are_refused(self, tiny: Path, tmp_path: Path) -> None:
        """transformers fills what is missing with random numbers, and a score of those means nothing."""
        shutil.copytree(tiny, tmp_path / "part")
        config = json.loads((tiny / "config.json").read_text())
        config["num_hidden_layers"] = 3
        (tmp_path / "part" / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match="not whole: 9 of its tensors"):
            LocalModel(tmp_path / "part", name="x", dtype="float32", threads=1)

    def test_a_broken_adapter_is_a_model_error(self, tiny: Path, tmp_path: Path) -> None:
        (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 8}')
        (tmp_path / "adapter_model.safetensors").write_bytes(b"cut short")
        with pytest.raises(ModelError, match="adapter"):
            LocalModel(tiny, name="x", adapter=tmp_path, dtype="float32", threads=1)

    def test_an_adapter_that_is_not_there(self, tiny: Path, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="adapter"):
            LocalModel(tiny, name="x", adapter=tmp_path)

    @pytest.mark.parametrize(
        "wrong",
        [{"device": "tpu"}, {"dtype": "int4"}, {"threads": 0}],
        ids=["device", "dtype", "threads"],
    )
    def test_settings_outside_the_allowed_are_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(ConfigError):
            pick_device(**wrong)  # type: ignore[arg-type]

    def test_cuda_is_refused_where_there_is_none(self) -> None:
        if torch.cuda.is_available():
            pytest.skip("waits for a machine without a GPU")
        with pytest.raises(ConfigError, match="no usable CUDA"):
            pick_device("cuda")

    def test_bfloat16_only_where_the_cpu_has_units_for_it(self) -> None:
        flags = set(Path("/proc/cpuinfo").read_text().split())
        expected = "bfloat16" if flags & {"amx_bf16", "avx512_bf16"} else "float32"
        assert pick_device("cpu").dtype == expected


class TestFingerprint:
    def test_a_copy_has_the_same_one(self, tiny: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy"
        shutil.copytree(tiny, copy)
        assert weights_fingerprint(copy) == weights_fingerprint(tiny)

    def test_weights_template_dtype_and_adapter_change_it(self, tiny: Path, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        found = {weights_fingerprint(tiny), weights_fingerprint(tiny, dtype="float32")}
        copy = tmp_path / "copy"
        shutil.copytree(tiny, copy)
        weights = load_file(copy / "model.safetensors")
        trained = {name: tensor * 1.001 for name, tensor in weights.items()}
        save_file(trained, copy / "model.safetensors", metadata={"format": "pt"})
        found.add(weights_fingerprint(copy))
        settings = json.loads((copy / "tokenizer_config.json").read_text())
        settings["chat_template"] += " "
        (copy / "tokenizer_config.json").write_text(json.dumps(settings))
        found.add(weights_fingerprint(copy))
        adapter = tmp_path / "adapter"
        adapter.mkdir()
        (adapter / "adapter_config.json").write_text('{"r": 8}')
        found.add(weights_fingerprint(tiny, adapter))
        assert len(found) == 5

    def test_where_an_adapters_base_lay_does_not(self, tiny: Path, tmp_path: Path) -> None:
        found = set()
        for place in ("/a", "/b"):
            config = {"r": 8, "base_model_name_or_path": place}
            (tmp_path / "adapter_config.json").write_text(json.dumps(config))
            found.add(weights_fingerprint(tiny, tmp_path))
        assert len(found) == 1

    def test_the_model_reports_it(self, model: LocalModel, tiny: Path) -> None:
        assert model.fingerprint == weights_fingerprint(tiny, None, "float32")
