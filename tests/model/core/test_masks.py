import numpy as np
import pytest

from clearhead.model.core import attention
from clearhead.model.core.attention import Causal, Chunk, Full, Hidden, Narrowed, SlidingWindow
from clearhead.model.core.query import Hide, Kind, Window

RULES = [Full(), Causal(), SlidingWindow(3), SlidingWindow(2, 4), Chunk(4), Hidden(Causal(), (2,)),
         Narrowed(Causal(), 3, 0), Narrowed(Causal(), 2, 4), Narrowed(SlidingWindow(4), 3, 1),
         Hidden(Narrowed(Causal(), 2, 4), (3,))]
N = 13


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_blocks_tile_the_mask(rule):
    whole = rule.block(slice(0, N), slice(0, N))
    for start in range(0, N, 5):
        rows = slice(start, min(start + 5, N))
        keys = rule.reach(rows, N)
        assert (rule.block(rows, keys) == whole[rows, keys]).all()
        outside = whole[rows].copy()
        outside[:, keys] = False
        assert not outside.any()


@pytest.mark.parametrize("rule", [Full(), Causal(), SlidingWindow(3), SlidingWindow(2, 4), Chunk(4)], ids=str)
def test_rule_is_recognised_from_its_mask(rule):
    assert attention.recognise_mask(rule.block(slice(0, N), slice(0, N))) == rule


def test_mask_without_a_rule_is_unchanged():
    odd = np.tri(N, dtype=bool)
    odd[5, 2] = False
    found = attention.recognise_mask(odd)
    assert isinstance(found, attention.Dense) and (found.values == odd).all()


def test_only_shared_masks_lose_the_head_axis():
    same = np.broadcast_to(np.tri(N, dtype=bool), (3, N, N))
    assert attention.recognise_mask(same) == Causal()
    differs = same.copy()
    differs[1] = True
    assert attention.recognise_mask(differs).block(slice(0, 2), slice(0, N)).shape == (3, 2, N)


def test_bias_by_distance_is_recognised():
    slopes = np.array([0.5, 0.25, 0.125], np.float32)[:, None, None]
    i, j = np.ogrid[:7, :11]
    bias = (-slopes * np.abs(i - j)).astype(np.float32)
    found = attention.recognise_bias(bias)
    assert isinstance(found, attention.Relative) and found.by_offset.shape == (3, 17)
    assert (found.block(slice(2, 5), slice(1, 9)) == bias[:, 2:5, 1:9]).all()
    bias[0, 3, 4] += 1
    assert isinstance(attention.recognise_bias(bias), attention.Dense)
    assert attention.recognise_bias(np.zeros((3, 7, 11), np.float32)) is None


def test_window_and_hidden_tokens_hold_together():
    edits = {Window(2, 1), Hide("source", 3), Hide("source", 0), Hide("target", 5)}
    assert attention.edited_mask(Causal(), edits, Kind.CAUSAL, "source") == Hidden(Narrowed(Causal(), 2, 1), (0, 3))
