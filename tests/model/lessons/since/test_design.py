"""The block with switches against torch's own layers, at every position of every switch."""
import functools
from itertools import product

import numpy as np
import pytest
import torch
from torch.nn import functional

from model.lessons import since
from model.lessons.since import HEAD, HEADS, INNER, WIDTH, Design

DESIGNS = [Design(*switches, groups) for switches in product((False, True), repeat=5) for groups in (1, 3, 8)]


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
        x = x + torch.cat([rates(WIDTH).sin(), rates(WIDTH).cos()], -1)
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
        query, key = (torch.view_as_real(torch.complex(*each.chunk(2, -1)) * turn).unbind(-1) for each in (query, key))
        query, key = torch.cat(query, -1), torch.cat(key, -1)
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
def test_the_block_is_torchs(this):
    assert since.run(this).output == pytest.approx(torchs(this).numpy(), abs=1e-9)


def test_another_gate_or_another_order_is_noticed():
    assert np.abs(since.run(Design(pre=True)).output - torchs(Design()).numpy()).max() > 0.1
    assert np.abs(since.run(Design(swiglu=True)).output - torchs(Design()).numpy()).max() > 0.1


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


@pytest.mark.parametrize("this", [since.PAPER, since.TODAY, Design(groups=3)])
def test_what_was_kept_is_what_a_longer_text_would_compute_and_as_large_as_said(this):
    """Keys and values of earlier tokens do not change when later ones come: that is why they can be kept."""
    x, places = since.run(this).output, np.arange(since.TOKENS)
    whole = since.attention(this, x, places)
    for tokens in (1, 7):
        shorter = since.attention(this, x[:tokens], places[:tokens])
        assert shorter[2] == pytest.approx(whole[2][:, :tokens]) and shorter[0] == pytest.approx(whole[0][:tokens])
    kept = np.concatenate([whole[2], whole[3]])[:, 0].astype(np.float16)
    assert kept.nbytes == since.cache_bytes(this)


def test_merging_one_head_fewer_merges_the_first_two():
    heads = np.arange(8.0)[:, None]
    assert since.merge(heads, 8).tolist() == heads.tolist()
    assert since.merge(heads, 7)[:, 0].tolist() == [0.5, 2, 3, 4, 5, 6, 7]
    assert since.merge(heads, 1)[:, 0].tolist() == [3.5] and since.group_of(7).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
