"""Fits against divergences written out with whole distributions (scipy), and against heads made to have a pattern."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from model.core import heads
from model.core.masks import Causal, Full
from model.core.query import Kind
from model.core.record import AttentionMap, Reported
from model.studies.patterns import PATTERNS, KeyInfo, divergences, fit
from tests import fabricate


def reported(weights: np.ndarray, kind: Kind = Kind.SELF, special=()) -> AttentionMap:
    """One head with these rows."""
    tokens = fabricate.tokens(len(weights), special)
    return AttentionMap(kind, tokens, tokens,
                        (Reported(0, weights[None].astype(np.float32), Causal() if kind is Kind.CAUSAL else Full()),))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 999), st.booleans())
def test_the_shortcut_equals_the_divergence_of_whole_rows(rows, keys, seed, sink):
    rng = np.random.default_rng(seed)
    # the last key stands for a sink's share, which no pattern names
    block = rng.dirichlet(np.full(keys + 1, 0.3), (2, rows))
    if not sink:
        block[..., -1] = 0
        block /= block.sum(-1, keepdims=True)
    cells = rng.random((rows, keys)) < 0.5
    found, count = divergences(block[..., :-1], cells)
    pattern = np.concatenate([cells, np.zeros((rows, 1), bool)], 1)
    wanted = [sum(jensenshannon(block[head, row], pattern[row] / pattern[row].sum(), base=2)**2 for row in range(rows)
                  if pattern[row].any())
              for head in range(2)]
    assert count == cells.any(1).sum() and np.allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_a_head_made_to_have_a_pattern_fits_it_exactly_and_best(pattern):
    n = 12
    tokens = fabricate.tokens(n, (0, n - 1))
    # repeats, so that equal tokens have room
    ids = np.array([100, 101, 102, 103, 101, 102, 103, 101, 102, 103, 101, 105])
    tokens = type(tokens)(**{**{name: getattr(tokens, name) for name in tokens.__dataclass_fields__},
                             "ids": tuple(map(int, ids))})
    cells = pattern.keys(np.arange(n)[:, None], np.arange(n)[None, :], KeyInfo(np.array(tokens.special), ids))
    rows = np.where(cells.any(1, keepdims=True), cells / np.maximum(cells.sum(1, keepdims=True), 1), np.eye(n)[:, ::-1])
    attention_map = AttentionMap(Kind.SELF, tokens, tokens, (Reported(3, rows[None].astype(np.float32), Full()),))
    found = fit(attention_map)
    assert found.frame()[pattern.name][3, 0] == pytest.approx(1, abs=1e-6)
    assert found.best().loc[(3, 0)].tolist() == [pattern.name, found.frame()[pattern.name][3, 0]]


def test_a_pattern_without_room_is_left_out():
    n = 6
    causal = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    found = fit(reported(causal, Kind.CAUSAL))
    # looking ahead is forbidden; one token of six occurs twice
    assert "next" not in found.fits and "equal" not in found.fits
    assert found.best().loc[(0, 0)].tolist() == ["even", pytest.approx(1, abs=1e-6)]
    alone = fit(reported(np.ones((1, 1))))
    assert alone.best().loc[(0, 0)].tolist() == [next(iter(alone.fits)), 1]   # of equals the first pattern


def test_blocks_of_rows_add_up(monkeypatch):
    record = fabricate.record(7)
    whole = fit(record[Kind.SELF]).fits
    blocks = heads.weight_blocks
    monkeypatch.setattr(heads, "weight_blocks", lambda layer: blocks(layer, size=3))
    assert {name: pytest.approx(each) for name, each in fit(record[Kind.SELF]).fits.items()} == whole


def test_cross_attention_has_only_patterns_that_cross():
    layer = fabricate.layer()
    found = fit(AttentionMap(Kind.CROSS, fabricate.tokens(fabricate.QUERIES), fabricate.tokens(fabricate.KEYS), (layer,
                             )))
    assert set(found.fits) == {"first", "even"}   # no special token stands at the end
