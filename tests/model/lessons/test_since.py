"""Decoding compared with transformers, the block with torch, and scaling laws with a search."""
import functools
import math
from itertools import cycle, product

import numpy as np
import pytest
import torch
import transformers
from scipy.optimize import minimize_scalar
from torch.nn import functional

from clearhead.model.lessons import since
from clearhead.model.lessons.since import HEAD, HEADS, INNER, WIDTH, Design

CHINCHILLA = (70e9, 1.4e12)   # parameters and tokens that the model was given
CHINCHILLAS = 6 * CHINCHILLA[0] * CHINCHILLA[1]
PROMPT, STEPS = (3, 1), 4
DRAWN = np.random.default_rng(5).dirichlet(np.ones(12) * 0.4, size=20)


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(2)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=9, n_positions=16, n_embd=16, n_layer=1, n_head=2, initializer_range=0.6, bos_token_id=None,
        eos_token_id=None, pad_token_id=0)).eval()


@pytest.fixture(scope="module")
def next_words(tiny):
    @functools.cache
    def asked(prefix):
        with torch.no_grad():
            return tiny(torch.tensor([prefix])).logits[0, -1].double().log_softmax(-1).numpy()
    return asked


def generated(tiny, **how) -> tuple[int, ...]:
    with torch.no_grad():
        found = tiny.generate(torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT)), do_sample=False,
                              min_new_tokens=STEPS, max_new_tokens=STEPS, **how)
    return tuple(found[0, len(PROMPT):].tolist())


def test_greedy_equals_transformers(tiny, next_words):
    assert since.greedy(next_words, PROMPT, STEPS) == generated(tiny)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_beam_equals_transformers(tiny, next_words, width):
    found = since.beam(next_words, PROMPT, STEPS, width)[-1]
    assert found[0][0] == generated(tiny, num_beams=width, length_penalty=0.0) and len(found) == width


def test_best_path_is_best_of_all(next_words):
    wanted = max(product(range(9), repeat=3), key=lambda path: sum(
        next_words(PROMPT + path[:place])[word] for place, word in enumerate(path)))
    found, share = since.best(next_words, PROMPT, 3)
    assert found == wanted and 0 < share < 1


@pytest.mark.parametrize("k", [1, 3, 12])
def test_top_k_equals_transformers(k):
    wanted = transformers.TopKLogitsWarper(k)(None, torch.tensor(DRAWN).log()).softmax(-1).numpy()
    assert np.array([since.top_k(row, k) for row in DRAWN]) == pytest.approx(wanted)


DESIGNS = [Design(*switches, groups) for switches, groups in zip(product((False, True), repeat=5), cycle((1, 3, 8)))]


def linear(this: Design, matrix: torch.Tensor, bias: torch.Tensor):
    return lambda x: functional.linear(x, matrix.T, None if this.bare else bias)


@functools.cache
def torchs(this: Design, start: int = 0) -> torch.Tensor:
    """The same block by torch's linear maps, norms, attention and activations."""
    w = {name: torch.tensor(each) for name, each in since.weights().items()}
    x, places = w["text"], torch.arange(since.TOKENS, dtype=torch.float64) + start

    def norm(rows):
        kind = functional.rms_norm if this.rms else functional.layer_norm
        return kind(rows, (WIDTH,), eps=1e-6)

    def rates(width):
        return places[:, None] * torch.exp(-np.log(10_000) * torch.arange(0, width, 2, dtype=torch.float64) / width)

    if not this.rotary:
        x = x + torch.stack([rates(WIDTH).sin(), rates(WIDTH).cos()], -1).flatten(1)
    sizes = [len(part) for part in np.array_split(range(HEADS), this.groups)]

    def heads(name, count):
        def pooled(all_heads):
            return torch.stack([part.mean(0) for part in all_heads.split(sizes)]) if count != HEADS else all_heads
        return torch.stack([linear(this, m, b)(read) for m, b in zip(pooled(w[name]), pooled(w[f"b_{name}"]),
                                                                      strict=True)])

    read = norm(x) if this.pre else x
    query, key, value = heads("q", HEADS), heads("k", this.groups), heads("v", this.groups)
    if this.rotary:
        turn = torch.polar(torch.ones_like(rates(HEAD)), rates(HEAD))
        query, key = (torch.view_as_real(torch.view_as_complex(each.unflatten(-1, (-1, 2))) * turn).flatten(-2)
                      for each in (query, key))
    repeats = torch.tensor(sizes)
    mixed = functional.scaled_dot_product_attention(query, key.repeat_interleave(repeats, 0),
                                                    value.repeat_interleave(repeats, 0), is_causal=True)
    added = linear(this, w["o"], w["b_o"])(mixed.transpose(0, 1).flatten(1))
    x = x + added if this.pre else norm(x + added)
    read = norm(x) if this.pre else x
    if this.swiglu:
        inner = functional.silu(linear(this, w["gate"], w["b_gate"])(read)) * linear(this, w["wide"], w["b_wide"])(read)
        x = x + linear(this, w["narrow"], w["b_narrow"])(inner)
    else:
        x = x + linear(this, w["down"], w["b_down"])(linear(this, w["up"], w["b_up"])(read).relu())
    return x if this.pre else norm(x)


@pytest.mark.parametrize("this", DESIGNS)
def test_block_equals_torch(this):
    assert since.run(this).output == pytest.approx(torchs(this).numpy(), abs=1e-9)


@pytest.mark.parametrize("this", DESIGNS)
def test_parameters_are_those_of_torchs_modules(this):
    bias, kept, inner = not this.bare, this.groups * HEAD, INNER * 2 // 3 if this.swiglu else INNER
    modules = {"attention": [(WIDTH, WIDTH), (WIDTH, kept), (WIDTH, kept), (WIDTH, WIDTH)],
               "feed_forward": [(WIDTH, inner)] * (2 if this.swiglu else 1) + [(inner, WIDTH)]}
    wanted = {part: sum(each.numel() for shape in shapes for each in torch.nn.Linear(*shape, bias=bias).parameters())
              for part, shapes in modules.items()}
    norm = torch.nn.RMSNorm(WIDTH) if this.rms else torch.nn.LayerNorm(WIDTH, bias=bias)
    wanted["norms"] = 2 * sum(each.numel() for each in norm.parameters())
    assert since.parameters(this) == wanted


def by_hand(weights: since.ExpertWeights, ids: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return (ln P of the next word, each token's expert) by loops; only the chosen expert is computed."""
    w = {name: each.double().numpy() for name, each in weights.items()}

    def norm(row):
        return row / math.sqrt((row @ row) / len(row) + 1e-6)

    x = [w["words"][word] + w["places"][place] for place, word in enumerate(ids)]
    read, size = [norm(row) for row in x], since.EXPERT_WIDTH // since.EXPERT_HEADS
    chosen, outputs = [], []
    for place, row in enumerate(x):
        heads = []
        for head in range(since.EXPERT_HEADS):
            part = slice(head * size, (head + 1) * size)
            query, keys, values = ((read[place] @ w["attention"][0])[part],
                                   [(each @ w["attention"][1])[part] for each in read[:place + 1]],
                                   [(each @ w["attention"][2])[part] for each in read[:place + 1]])
            shares = np.exp([query @ key / math.sqrt(size) for key in keys])
            heads.append(shares / shares.sum() @ np.array(values))
        row = row + np.concatenate(heads) @ w["attention"][3]
        gates = np.exp(norm(row) @ w["router"])
        chosen.append(int(gates.argmax()))
        inner = np.maximum(0, norm(row) @ w["up"][chosen[-1]])
        outputs.append(norm(row + gates.max() / gates.sum() * inner @ w["down"][chosen[-1]]) @ w["output"])
    return outputs[-1] - np.log(np.exp(outputs[-1]).sum()), chosen


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("text", ["<start> the old king", "<start> two plus five is", "<start> le chat dort"])
def test_decoder_and_router_equal_a_loop(text, balanced):
    logs, chosen = by_hand(since.shipped()[balanced], since.encode(text.split()))
    assert since.next_words(tuple(since.encode(text.split())), balanced) == pytest.approx(logs, abs=1e-4)
    assert since.route(text.split(), balanced).argmax(-1).tolist() == chosen


TINY = since.RealModel("tiny", 2024, 2, 6, 2, 4, 1000, 0.5)


@pytest.mark.parametrize("tokens", [1, 5])
def test_cache_size_equals_transformers(tokens):
    built = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(
        vocab_size=50, hidden_size=24, num_hidden_layers=TINY.layers, num_attention_heads=TINY.heads,
        num_key_value_heads=TINY.groups, head_dim=TINY.head, intermediate_size=40)).to(torch.bfloat16)
    cache = transformers.DynamicCache(config=built.config)
    for token in range(tokens):     # one after another, as it is written
        built(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
    held = sum(each.nbytes for layer in cache.layers for each in (layer.keys, layer.values))
    assert held == tokens * TINY.bytes_per_token


@pytest.mark.parametrize("law", [since.HOFFMANN, since.BESIROGLU])
@pytest.mark.parametrize("compute", [1e18, CHINCHILLAS, 1e27])
def test_best_size_equals_a_search(law, compute):
    found = minimize_scalar(lambda log: law.loss(np.exp(log), compute / 6 / np.exp(log)), bounds=(10, 40),
                            method="bounded", options={"xatol": 1e-9})
    parameters, tokens = law.best(compute)
    assert parameters == pytest.approx(np.exp(found.x), rel=1e-3) and 6 * parameters * tokens == pytest.approx(compute)


def test_balancing_loss_ranges_from_one_to_the_number_of_experts():
    even = torch.eye(4)[None] * 0.97 + 0.0075
    there = torch.ones(1, 4, dtype=torch.bool)
    assert float(since.balancing(even, there)) == pytest.approx(1)
    assert float(since.balancing(torch.eye(4)[[0, 0, 0, 0]][None], there)) == pytest.approx(4)


def test_kaplans_size():
    assert since.kaplan(1e15 * 86_400)[0] == pytest.approx(1.3e9)
    assert since.kaplan(1e24)[0] / since.kaplan(1e23)[0] == pytest.approx(10**0.73)
