"""The page Masks, compared with exponentials and walks on a graph."""

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind
from clearhead.model.lessons import masking
from clearhead.viz.app.state import State
from clearhead.viz.pages.lessons.masks import MOVED, N
from tests.lesson_pages import array, shown
from tests.lesson_sentences import head_rows


@pytest.mark.parametrize("turned", [
    {"pad": 2, "row": 3}, {"pad": 0, "ahead": False, "row": 0},
    {"pad": 0, "ahead": False, "flips": tuple(range(N * N))},
    {"pad": 4, "flips": (0, 1, 9), "row": 1, "seed": 99}], ids=str)
def test_methods_are_measured_on_the_mask_on_screen(turned):
    page = shown("masks", guess="a", **turned)
    pad, ahead, flips = turned["pad"], turned.get("ahead", True), turned.get("flips", ())
    allowed = np.array([[(column < N - pad and not (ahead and column > row)) != (row * N + column in flips)
                         for column in range(N)] for row in range(N)])
    assert page.numbers["build"]["open"] == allowed.sum()
    assert page.numbers["build"]["blind"] == (allowed.sum(1) == 0).sum()
    if not allowed.any():
        assert "methods" not in page.numbers
        return
    raised = np.exp(masking.toy_scores(N, turned.get("seed", 0)))
    sums = (raised * allowed).sum(1) / raised.sum(1)
    found = page.numbers["methods"]
    assert found["sums"]["after"] == pytest.approx(sums[allowed.any(1)].min())
    assert found["apart"]["renormalised"] < 1e-12
    row = turned["row"]
    if allowed[row].all():
        assert "masks-methods-leak" not in page.charts
        return
    hidden, seen = np.flatnonzero(~allowed[row])[0], np.argmax(np.where(allowed[row], raised[row], 0))
    ends = [raised[row, seen] / (raised[row].sum() + raised[row, hidden] * (np.exp(step) - 1))
            for step in (MOVED[0], MOVED[-1])]
    drawn = next(array(each["y"]) for each in page.charts["masks-methods-leak"]["data"] if each["name"] == "0 after")
    assert [drawn[0], drawn[-1]] == pytest.approx(ends)


def test_real_heads_lose_weight_outside_the_band():
    found = shown("masks", guess="a", real=True, pattern="window", window=4).numbers["real"]
    answer = desk.ask(sources.open_query(State().model, State().text)).result(120)[Kind.SELF].layers
    n = answer[0].shape[-1]
    band = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 4
    lost = np.array([[1 - rows[band].sum() / n for rows in head_rows(layer)] for layer in answer])
    assert found["lost"] == pytest.approx(lost[found["view"].layer, found["view"].head], abs=1e-5)
    assert [found["little"], found["much"]] == pytest.approx([lost.min(), lost.max()], abs=1e-5)
