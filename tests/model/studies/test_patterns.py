"""Fits compared with divergences of whole distributions (scipy), and their null distribution."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from clearhead.model.core.attention import Causal, Dense, Full
from clearhead.model.core.query import Kind
from clearhead.model.core.record import AttentionMap, Reported
from clearhead.model.studies.patterns import PATTERNS, KeyInfo, divergences, fit, pattern_chance
from tests import fabricate


def reported(weights: np.ndarray, kind: Kind = Kind.SELF, special=()) -> AttentionMap:
    """One head with these rows."""
    tokens = fabricate.tokens(len(weights), special)
    return AttentionMap(kind, tokens, tokens,
                        (Reported(0, weights[None].astype(np.float32), Causal() if kind is Kind.CAUSAL else Full()),))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 999), st.booleans())
def test_shortcut_equals_the_divergence(rows, keys, seed, sink):
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


# which keys j of a query i the patterns contain, by definition; the first and the last token are special
DEFINED = {"previous": lambda i, j, ids: j == i - 1, "next": lambda i, j, ids: j == i + 1,
           "same": lambda i, j, ids: j == i, "first": lambda i, j, ids: j == 0,
           "end": lambda i, j, ids: j == len(ids) - 1, "near": lambda i, j, ids: j in range(i - 2, i + 3),
           "equal": lambda i, j, ids: j != i and ids[j] == ids[i],
           "after": lambda i, j, ids: j and j - 1 != i and ids[j - 1] == ids[i], "even": lambda i, j, ids: True}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_pattern_fits_itself_best(pattern):
    n = 12
    tokens = fabricate.tokens(n, (0, n - 1))
    # repeats, so that equal tokens have room
    ids = np.array([100, 101, 102, 103, 101, 102, 103, 101, 102, 103, 101, 105])
    tokens = type(tokens)(**{**{name: getattr(tokens, name) for name in tokens.__dataclass_fields__},
                             "ids": tuple(map(int, ids))})
    cells = pattern.keys(np.arange(n)[:, None], np.arange(n)[None, :], KeyInfo(np.array(tokens.special), ids))
    assert cells.tolist() == [[bool(DEFINED[pattern.name](i, j, ids)) for j in range(n)] for i in range(n)]
    rows = np.where(cells.any(1, keepdims=True), cells / np.maximum(cells.sum(1, keepdims=True), 1), np.eye(n)[:, ::-1])
    attention_map = AttentionMap(Kind.SELF, tokens, tokens, (Reported(3, rows[None].astype(np.float32), Full()),))
    found = fit(attention_map)
    assert found.frame()[pattern.name][3, 0] == pytest.approx(1, abs=1e-6)
    assert found.best().loc[(3, 0)].tolist() == [pattern.name, found.frame()[pattern.name][3, 0]]


def test_pattern_that_does_not_fit_is_omitted():
    n = 6
    causal = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    found = fit(reported(causal, Kind.CAUSAL))
    # looking ahead is forbidden; one token of six occurs twice
    assert "next" not in found.fits and "equal" not in found.fits
    assert found.best().loc[(0, 0)].tolist() == ["even", pytest.approx(1, abs=1e-6)]
    alone = fit(reported(np.ones((1, 1))))
    assert alone.best().loc[(0, 0)].tolist() == [next(iter(alone.fits)), 1]   # of equals the first pattern


def test_cross_attention_has_only_patterns_that_cross():
    layer = fabricate.layer()
    found = fit(AttentionMap(Kind.CROSS, fabricate.tokens(fabricate.QUERIES), fabricate.tokens(fabricate.KEYS), (layer,
                             )))
    assert set(found.fits) == {"first", "even"}   # no special token stands at the end


def test_even_rows_fit_as_defined():
    attention_map = fabricate.record(9, Kind.SELF, seed=1)[Kind.SELF]
    chance, row, previous = pattern_chance(attention_map, 20), np.full(9, 1 / 9), np.eye(9)
    wanted = 1 - np.mean([jensenshannon(row, previous[place - 1], base=2) ** 2 for place in range(1, 9)])
    assert chance.even["previous"] == pytest.approx(wanted, abs=1e-6)
    assert chance.even["even"] == pytest.approx(1, abs=1e-6) and chance.tokens == 9


def test_chance_leaves_out_a_row_that_sees_nothing():
    mask = np.ones((9, 9), bool)
    mask[4] = False
    record = fabricate.record(9, Kind.SELF, seed=1)[Kind.SELF]
    blind = replace(record, layers=(replace(record.layers[0], allowed=Dense(mask)),))
    chance = pattern_chance(blind, 20)
    assert chance.even["even"] == pytest.approx(1, abs=1e-6) and 0 < chance.luck < 1


def test_null_distribution_equals_other_draws():
    attention_map = fabricate.record(9, Kind.SELF, seed=1)[Kind.SELF]
    few, many = pattern_chance(attention_map, 200).luck, pattern_chance(attention_map, 1000).luck
    assert abs(few - many) < 0.03 and 0 < pattern_chance(attention_map, 1).luck < 1
    # other draws of the same rows: no single one of the simple patterns is fitted better, and one about as well
    random, keys = np.random.default_rng(7).dirichlet(np.ones(9), (300, 9)), np.arange(9)
    near = (np.abs(keys[:, None] - keys) <= 2).astype(float)
    patterns = [near / near.sum(1, keepdims=True), np.eye(9), np.tile(np.eye(9)[0], (9, 1))]
    fits = np.array([[1 - np.mean([jensenshannon(row, pattern[place], base=2) ** 2 for place, row in enumerate(head)])
                      for pattern in patterns] for head in random])
    assert np.quantile(fits.max(1), 0.95) == pytest.approx(many, abs=0.04)
