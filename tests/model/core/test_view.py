"""A head after filters, and the heads that look most from a token."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Dense, Full, SlidingWindow
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.core.view import (
    TokenRankingQuery,
    View,
    displayed_head,
    displayed_rows,
    keep_mass,
    overlaid_heads,
    telling_token,
)
from tests.fabricate import SENTENCE, record

N = 7
PLAIN = View(layer=1, head=4)


def whole() -> np.ndarray:
    return heads.weights(record(N).maps[0].layer(1), 4)


def test_lines_are_drawn_over_the_open_head():
    view = View(lens="lines", overlay=((0, 1), (1, 2)))
    for found, (layer, head) in zip(overlaid_heads(record(N), view), view.overlay, strict=True):
        assert (found.weights == heads.weights(record(N).maps[0].layer(layer), head)).all()
    assert overlaid_heads(record(N), replace(view, lens="matrix")) == []


def test_words_sum_keys_and_average_queries():
    shown = displayed_head(record(N), replace(PLAIN, words=True))
    columns = np.concatenate([whole()[:, :2], whole()[:, 2:4].sum(1, keepdims=True), whole()[:, 4:]], axis=1)
    expected = np.concatenate([columns[:2], columns[2:4].mean(0, keepdims=True), columns[4:]])
    assert np.allclose(shown.weights, expected, atol=1e-7) and shown.scores is None
    assert np.allclose(shown.weights.sum(1), 1, atol=1e-6) and shown.rows[2].tokens == (2, 3)
    assert shown.row_of(3) == 2 and shown.row_of(5) == 4


def test_hidden_special_tokens_are_not_renormalised():
    shown = displayed_head(record(N), replace(PLAIN, hide_special=True))
    assert (shown.weights == whole()[1:, 1:]).all()
    assert shown.notes == ("special tokens hidden; rows no longer sum to 1",)
    assert shown.row_of(0) is None and displayed_head(record(N), PLAIN).notes == ()
    again = displayed_head(record(N), replace(PLAIN, hide_special=True, renormalise=True))
    assert np.allclose(again.weights, whole()[1:, 1:] / whole()[1:, 1:].sum(1, keepdims=True))
    assert "renormalised" in again.notes[0]


@pytest.mark.parametrize(("blind", "said"), [
    ((), ()), ((2, 5), ("sees nothing, as the mask allows no key: t2 (2), t5 (5)",)),
    (range(N), ("masked out: the mask lets no token of this head look at anything",))])
def test_rows_that_see_nothing_are_named(blind, said):
    mask = np.ones((N, N), bool)
    mask[list(blind)] = False
    assert displayed_head(record(N, allowed=Dense(mask)), PLAIN).notes == said


def test_keeping_mass_keeps_the_largest_weights():
    kept = keep_mass(whole(), 0.7)
    for before, after in zip(whole(), kept):
        shown = after[after > 0]
        assert shown.sum() >= 0.7 - 1e-6 and shown.sum() - shown.min() < 0.7
        assert set(shown) == set(sorted(before)[-len(shown):])
    assert (keep_mass(whole(), 1.0) == whole()).all()


def test_quadrants_cut_by_segment():
    pair = record(N)
    two = replace(pair.maps[0].queries, segments=(-1, 0, 0, 0, 1, 1, 1))
    pair = replace(pair, maps=(replace(pair.maps[0], queries=two, keys=two),))
    assert (displayed_head(pair, replace(PLAIN, quadrant="AB")).weights == whole()[1:4, 4:]).all()
    with pytest.raises(UserError, match="nothing to show"):
        displayed_head(record(N), replace(PLAIN, quadrant="BB"))


@pytest.mark.parametrize("allowed", [Causal(), SlidingWindow(2), Full()], ids=str)
@pytest.mark.parametrize("filters", [{}, {"hide_special": True}, {"keep": 0.6}, {"keep": 0.6, "renormalise": True},
                                     {"hide_special": True, "renormalise": True}], ids=str)
def test_row_of_every_head_equals_the_displayed_head(allowed, filters):
    answer = record(N, allowed=allowed)
    for token in (1, 4, N - 1):
        found = displayed_rows(answer.maps[0], View(token=token, **filters))
        assert [rows.shape for rows in found] == [(layer.heads, N) for layer in answer.maps[0].layers]
        for layer, rows in zip(answer.maps[0].layers, found):
            seen = allowed.block(slice(0, N), slice(0, N))[token] & (np.arange(N) >= bool(filters.get("hide_special")))
            for head, row in enumerate(rows):
                shown = displayed_head(answer, View(layer=layer.index, head=head, **filters))
                wanted = shown.weights[shown.row_of(token)]
                np.testing.assert_allclose(np.nan_to_num(row)[-len(wanted):], wanted, atol=1e-6)
                assert ((seen if "keep" not in filters else row > 0) == np.isfinite(row)).all()


@pytest.mark.parametrize("allowed", [Causal(), SlidingWindow(300), Full()], ids=str)
def test_long_head_is_max_pooled_without_full_matrix(allowed, monkeypatch):
    monkeypatch.setattr("clearhead.model.core.view.MAX_UNPOOLED", 50)
    answer = record(233, special=(), allowed=allowed)
    expected = np.zeros((235, 235))
    expected[:233, :233] = heads.weights(answer.maps[0].layer(1), 4)
    monkeypatch.setattr("clearhead.model.core.heads.weights", None)
    shown = displayed_head(answer, PLAIN)
    assert np.allclose(shown.weights, expected.reshape(47, 5, 47, 5).max((1, 3)), atol=1e-6)
    assert shown.row_of(14) == 2 and "5 × 5 tokens" in shown.notes[0]
    tall = record(["q"] * 120, Kind.CROSS, ["k"] * 7)   # only the queries are too many
    assert displayed_head(tall, replace(PLAIN, kind=Kind.CROSS)).weights.shape == (40, 3)


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
@pytest.mark.parametrize("token", [0, 1, 8, 10, 15])
def test_each_head_has_its_largest_weight_beyond_neighbours(kind, token):
    attention_map = record(SENTENCE, kind)[kind]
    others = [place for place in range(1, 15) if abs(place - token) > 1]
    found = TokenRankingQuery(None, kind, token).answer(SimpleNamespace(record=lambda *_: {kind: attention_map}), quiet)
    for links, line in ((found.from_token, lambda weights: weights[token]),
                        (found.at_token, lambda weights: weights[:, token])):
        wanted = {(layer.index, head): line(heads.weights(layer, head))[others] for layer in attention_map.layers
                  for head in range(layer.heads)}
        assert {(link.layer, link.head): link.weight for link in links} == pytest.approx(
            {head: numbers.max() for head, numbers in wanted.items() if numbers.max() > 0}, abs=1e-6)
        assert all(others[int(wanted[link.layer, link.head].argmax())] == link.other for link in links)
        assert [link.weight for link in links] == sorted((link.weight for link in links), reverse=True)


@pytest.mark.parametrize("text, wanted", [
    ("The students failed because it was hard .", "it"), ("The doctor told her that she should take her break", "she"),
    ("Mary gave him a book .", "him"), ("The cat sat on the mat .", "mat"), ("It rained on the river , too .", "river"),
    ("Le chat dort sur le lit rouge .", "rouge"), ("我 喜欢 苹果 。", "苹果"), ("因为 它 累 了 。", "它"),
    ("to be", "be"), ("! ?", "?")])
def test_text_opens_on_a_content_word(text, wanted):
    tokens = record(["[CLS]", *text.split(), "[SEP]"])[Kind.SELF].queries
    assert tokens.texts[telling_token(tokens)] == wanted
