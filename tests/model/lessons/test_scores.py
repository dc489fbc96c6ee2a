"""The three scores against torch's own modules, and the training that compares them."""
import numpy as np
import pytest
import torch

from model.core.threads import one_thread
from model.lessons import scores


def test_scores_are_torchs():
    draw = torch.Generator().manual_seed(0)
    query, key, v = (torch.randn(*shape, generator=draw) for shape in ((2, 3, 7), (2, 5, 7), (7,)))
    plain = torch.einsum("bqd,bkd->bqk", query, key)
    assert torch.allclose(scores.score("plain", query, key, v), plain, atol=1e-6)
    assert torch.allclose(scores.score("scaled", query, key, v), plain / 7**0.5, atol=1e-6)
    additive = torch.stack([torch.stack([torch.dot(v, torch.tanh(query[0, i] + key[0, j])) for j in range(5)])
                            for i in range(3)])
    assert torch.allclose(scores.score("additive", query, key, v)[0], additive, atol=1e-6)


def test_rows_ask_for_a_symbol_that_is_there_once_and_for_its_class():
    for symbols, classes, asked, answer in scores.rows(3, 4):
        place = symbols == asked[:, None]
        assert (place.sum(1) == 1).all() and torch.equal(classes[place], answer)


def test_all_three_start_from_the_same_vectors_of_unit_variance():
    one, other = scores.start(256, 5), scores.start(256, 5)
    assert all(torch.equal(one[name], other[name]) for name in one)
    with torch.no_grad():
        assert float(one["query"].var()) == pytest.approx(1, abs=0.05)
        assert float(one["v"].norm()) == pytest.approx(1, abs=0.15)


def test_side_by_side_all_learn_at_small_d_k_and_the_unscaled_one_falls_behind_at_large_d_k():
    told = []
    with one_thread():
        narrow, wide = (scores.side_by_side(scores.ScoresQuery(d_k, 1), lambda fraction, text: told.append(fraction))
                        for d_k in (8, 128))
    end = {kind: narrow.loss[kind][-20:].mean() for kind in scores.KINDS}
    assert max(end.values()) < 0.6
    assert wide.loss["plain"][-20:].mean() > 0.3
    assert max(wide.loss[kind][-20:].mean() for kind in ("additive", "scaled")) < 0.3
    assert wide.entropy["plain"] < 0.6 and wide.entropy["scaled"] > 1.5
    assert min(told) >= 0 and max(told) <= 1 and narrow.loss["scaled"].shape == (scores.STEPS,)
    assert all(np.isfinite(seconds) and seconds > 0 for seconds in wide.scoring.values())


@pytest.mark.parametrize("kind", scores.KINDS)
def test_operations_are_counted_as_the_formula_has_them(kind):
    found = scores.operations(kind, 64)
    assert found == {"multiplications": 64, "additions": 63 + 64 * (kind == "additive"),
                     "tanh": 64 * (kind == "additive")}
