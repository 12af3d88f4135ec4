"""The engine against plain passes over the whole text, for tiny random models of many architectures."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

torch = pytest.importorskip("torch")

import transformers  # noqa: E402

from benchgen.errors import ModelError  # noqa: E402
from benchgen.models.engine import attention, batch  # noqa: E402
from benchgen.models.engine.batch import Network  # noqa: E402
from benchgen.models.engine.decode import Decoder  # noqa: E402
from benchgen.models.engine.likelihood import Scored, Scorer  # noqa: E402
from benchgen.models.engine.packing import Packed, pack_weights  # noqa: E402
from benchgen.types import Reply, Request  # noqa: E402

pytestmark = pytest.mark.torch

WORDS = 97


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Models this small are computed faster by one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


LLAMA = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.5,
}
SOFT = {"final_logit_softcapping": 5.0, "attn_logit_softcapping": 10.0}
SMALL = {"hidden_size": 32, "n_layer": 2, "n_head": 4, "initializer_range": 0.5}
NEO = {
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 4,
    "attention_types": [[["global", "local"], 1]],
    "window_size": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.5,
}
MPT = {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 256, "initializer_range": 0.5}
FALCON = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True}
STATE = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "initializer_range": 0.5}

MODELS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "grouped queries": ("Llama", LLAMA, True),
    "tied, a head each": ("Llama", {**LLAMA, "num_key_value_heads": 4, "tie_word_embeddings": True}, True),
    "qwen3": ("Qwen3", {**LLAMA, "head_dim": 16}, True),
    "softcapped, sliding": ("Gemma2", {**LLAMA, **SOFT, "head_dim": 8, "sliding_window": 16}, False),
    "sliding": ("Mistral", {**LLAMA, "sliding_window": 8}, False),
    "bias by distance": ("Bloom", SMALL, False),
    "bias by distance, no positions": ("Mpt", MPT, False),
    "bias by distance, told": ("Falcon", FALCON, False),
    "local layers": ("GPTNeo", NEO, False),
    "state space": ("Mamba", STATE, False),
}  # fmt: skip
"""{what is special: (name, settings, whether rows may share a beginning)}"""


def network(kind: str) -> Network:
    name, settings, _ = MODELS[kind]
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=WORDS, bos_token_id=1, eos_token_id=2, pad_token_id=2, **settings
    )
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    return Network(model.eval().float().requires_grad_(False), "cpu")


@contextmanager
def unpacked(net: Network) -> Iterator[Any]:
    """The model as transformers made it: nothing packed."""
    held = [m for m in net.model.modules() if isinstance(m, Packed)]
    for one in held:
        one.__class__ = torch.nn.Linear
    yield net.model
    for one in held:
        one.__class__ = Packed


def tokens(chance: random.Random, *lengths: int) -> list[int]:
    return [chance.randrange(3, WORDS) for _ in range(chance.choice(lengths))]


def prompts(chance: random.Random, n: int) -> list[list[int]]:
    """Some begin alike, some are the beginning of another, some are equal, some are one token."""
    begun = [tokens(chance, 0, 5, 30, 70) for _ in range(3)]
    found: list[list[int]] = []
    for _ in range(n):
        start = chance.choice(begun)
        if found and chance.random() < 0.4:
            start = chance.choice(found)[: chance.randrange(1, 70)]
        found.append((start + tokens(chance, 0, 1, 2, 9, 25))[:110] or [3])
    return found


def written(net: Network, prompt: Sequence[int], most: int, stops: frozenset[int]) -> list[int]:
    """Greedy decoding without a cache: the whole text anew for each token."""
    ids = list(prompt)
    with torch.inference_mode(), unpacked(net) as model:
        while len(ids) < len(prompt) + most and (len(ids) == len(prompt) or ids[-1] not in stops):
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits
            ids.append(int(logits[0, -1].argmax()))
    return ids[len(prompt) :]


def logprob(net: Network, prompt: list[int], choice: list[int]) -> float:
    with torch.inference_mode(), unpacked(net) as model:
        ids = torch.tensor([prompt + choice[:-1]])
        logits = model(input_ids=ids, use_cache=False).logits[0, -len(choice) :]
    table = logits.double().log_softmax(-1)
    return sum(float(table[at, token]) for at, token in enumerate(choice))


def likely(reply: Reply) -> tuple[float, ...]:
    assert reply.likelihood is not None
    return reply.likelihood.logprob


@pytest.mark.parametrize("kind", MODELS)
def test_greedy_tokens_are_those_of_plain_passes(kind: str) -> None:
    chance, net = random.Random(kind), network(kind)
    assert net.plain == MODELS[kind][2]
    stops = frozenset(chance.sample(range(3, WORDS), 5))
    asked = [(Request((), chance.choice([1, 2, 8])), prompt) for prompt in prompts(chance, 12)]
    expected = [written(net, prompt, r.max_new_tokens, stops) for r, prompt in asked]
    for rows in (1, 5, 64):
        found = Decoder(net, stops, str, rows).finished(asked)
        assert {row.index: row.tokens for row, _ in found} == dict(enumerate(expected))


@pytest.mark.parametrize("kind", MODELS)
def test_likelihoods_are_those_of_plain_passes(kind: str) -> None:
    """Of up to 26 choices, some of which are the beginning of another."""
    chance, net = random.Random(kind), network(kind)
    asked = []
    for prompt in prompts(chance, 12):
        one = tokens(chance, 1, 2, 6)
        more = [one[: chance.randrange(len(one) + 1)] + tokens(chance, 1, 2, 5) for _ in range(25)]
        asked.append((prompt, [one, *more[: chance.choice([1, 3, 25])]]))
    for most in (1, 4096):
        scorer = Scorer(net)
        scorer.tokens = most
        for index, reply in scorer.replies(asked):
            assert reply.likelihood is not None
            prompt, choices = asked[index]
            expected = [logprob(net, prompt, choice) for choice in choices[:4]]
            assert reply.likelihood.logprob[:4] == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_single_tokens_need_no_mask(
    kind: str, in_parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After prompts with nothing in common, and behind a beginning where attention knows of it."""
    monkeypatch.setattr(attention, "PART", 7)
    net, chance = network(kind), random.Random(1)
    if in_parts:
        attention.attend_in_parts(net.model)
    unmasked: list[int] = []
    score = Scorer._score_unmasked

    def noted(self: Scorer, rows: list[Scored], done: int, start: Any) -> Any:
        unmasked.append(done)
        return score(self, rows, done, start)

    monkeypatch.setattr(Scorer, "_score_unmasked", noted)
    begun = tokens(chance, 90)
    alone = [[i + 3, *tokens(chance, n)] for i, n in enumerate(range(9, 30))]
    behind = [begun + tokens(chance, n) for n in (1, 2, 9, 9, 20, 31)]
    asked = [(prompt, [[5], [6], [7]]) for prompt in alone + behind]
    found = dict(Scorer(net).replies(asked))
    for i, (prompt, choices) in enumerate(asked):
        expected = [logprob(net, prompt, choice) for choice in choices]
        assert likely(found[i]) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    if net.plain:
        assert (max(unmasked) >= 90) == attention.attends_in_parts(net.model)
        assert 0 in unmasked


@pytest.mark.parametrize("kind", MODELS)
def test_attention_in_parts_is_attention(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole passes, passes behind a cache and padded batches alike, of every kind of mask."""
    monkeypatch.setattr(attention, "PART", 7)
    whole, parts = network(kind), network(kind)
    attention.attend_in_parts(parts.model)
    used = parts.model.config._attn_implementation == attention.NAME
    assert used or kind not in ("grouped queries", "tied, a head each", "qwen3", "sliding")
    ids = torch.randint(3, WORDS, (3, 45))
    for mask in (None, torch.ones(3, 45).tril(0).flip(1)[:, :45].bool() | (torch.arange(45) > 20)):
        taken = {} if mask is None else {"attention_mask": mask.long()}
        with torch.inference_mode():
            expected = whole.model(input_ids=ids, use_cache=False, **taken).logits
            found = parts.model(input_ids=ids, use_cache=False, **taken).logits
        kept = slice(None) if mask is None else mask
        assert torch.allclose(found[kept], expected[kept], atol=1e-4)
    asked = [(prompt, [[5, 6], [7]]) for prompt in prompts(random.Random(kind), 6)]
    for (_, a), (_, b) in zip(
        Scorer(parts).replies(asked), Scorer(whole).replies(asked), strict=True
    ):
        assert likely(a) == pytest.approx(likely(b), abs=1e-4)


def linear(dtype: Any = None, bias: bool = True) -> Any:
    torch.manual_seed(1)
    return torch.nn.Linear(24, 40, bias=bias, dtype=dtype or torch.float32).requires_grad_(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [True, False])
def test_packed_weights_give_the_same_products(dtype: Any, bias: bool) -> None:
    model = torch.nn.Sequential(linear(dtype, bias))
    ids = torch.randn(2, 7, 24, dtype=dtype)
    rows = (ids, ids[0, 0], ids[:, ::2], ids[:, :1], ids[:, :0])
    expected = [model(x) for x in rows]
    pack_weights(model)
    if dtype is torch.float32:
        assert type(model[0]) is Packed
    for x, right in zip(rows, expected, strict=True):
        found = model(x)
        assert found.shape == right.shape
        assert torch.allclose(found, right, atol=1e-5 if dtype is torch.float32 else 2e-2)


def test_packed_weights_let_gradients_through_and_are_left_where_they_changed() -> None:
    model = torch.nn.Sequential(linear(), linear().requires_grad_(True))
    pack_weights(model)
    assert [type(m) for m in model] == [Packed, torch.nn.Linear]  # one that learns changes
    x = torch.randn(3, 24, requires_grad=True)
    model[0](x).sum().backward()
    assert torch.allclose(x.grad, model[0].weight.sum(0).expand(3, 24), atol=1e-5)
    rows = torch.randn(3, 24)
    with torch.no_grad():
        model[0].weight.mul_(2)  # as a merge does
    assert torch.allclose(
        model[0](rows), torch.nn.functional.linear(rows, model[0].weight, model[0].bias)
    )
    before = model[0](rows)
    model[0].weight = torch.nn.Parameter(model[0].weight * 3, requires_grad=False)
    assert not torch.allclose(model[0](rows), before)


def test_weights_are_packed_only_where_memory_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    model = torch.nn.Sequential(linear())
    pack_weights(model)
    assert type(model[0]) is torch.nn.Linear


def test_a_model_that_keeps_nothing_of_the_tokens_before_is_refused() -> None:
    """Its replies would be made of one token each, without an error."""
    config = transformers.OpenAIGPTConfig(vocab_size=WORDS, n_embd=32, n_layer=1, n_head=2)
    with pytest.raises(ModelError, match="openai-gpt"):
        Network(transformers.OpenAIGPTLMHeadModel(config), "cpu")


@pytest.mark.parametrize("columns", [0, 150, 100_000])
def test_what_is_scored_at_once_fits_the_free_memory(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """The beginning that rows share is held once for each of them."""
    net = network("grouped queries")
    free = columns * net.column_bytes / batch.MEMORY
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    rows: list[tuple[int, int]] = []
    forward = net.model.forward

    def noted(input_ids: Any, **rest: Any) -> Any:
        out = forward(input_ids=input_ids, **rest)
        rows.append((len(input_ids), out.past_key_values.layers[0].keys.shape[2]))
        return out

    monkeypatch.setattr(net.model, "forward", noted)
    start = [5] * 80
    asked = [([*start, i], [[3], [4, 5]]) for i in range(3, 40)]
    assert len(list(Scorer(net).replies(asked))) == len(asked)
    assert all(n == 1 or n * width <= columns for n, width in rows)
    assert max(n for n, _ in rows) == {0: 1, 150: 1, 100_000: len(asked)}[columns]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_not_a_reply(temperature: float) -> None:
    """And only of the row that has them."""
    net = network("grouped queries")
    with torch.no_grad():
        net.model.get_input_embeddings().weight[7] = float("nan")
    asked = [(Request((), 3, temperature), prompt) for prompt in ([3, 4], [3, 7], [5])]
    found = dict(Decoder(net, frozenset(), str, 64).replies(asked))
    assert [found[i].error is None for i in range(3)] == [True, False, True]
    assert "no finite numbers" in str(found[1].error)
