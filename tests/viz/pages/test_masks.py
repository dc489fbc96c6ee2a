"""Who may look where: the page's numbers by exponentials and by walks over a graph."""
import re

import numpy as np
import pytest

from model.ask import sources
from model.core.query import Kind
from model.lessons import masking
from tests.lesson_pages import array, shown
from tests.lesson_sentences import head_rows
from viz.pages.masks import MOVED, N
from viz.state import State
from viz.text import strings


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
    assert found["least_after"] == pytest.approx(sums[allowed.any(1)].min())
    assert found["difference_renormalised"] < 1e-12
    row = turned["row"]
    if allowed[row].all():
        assert "masks-leak" not in page.charts
        return
    hidden, seen = np.flatnonzero(~allowed[row])[0], np.argmax(np.where(allowed[row], raised[row], 0))
    ends = [raised[row, seen] / (raised[row].sum() + raised[row, hidden] * (np.exp(step) - 1))
            for step in (MOVED[0], MOVED[-1])]
    drawn = next(array(each["y"]) for each in page.charts["masks-leak"]["data"] if each["name"] == "0 after")
    assert [drawn[0], drawn[-1]] == pytest.approx(ends)


def layers(allowed: np.ndarray, causal: bool) -> int:
    """After how many layers each token has heard of all that it may hear of, by walking from every token; 0 for
    never."""
    heard_by = [set(np.flatnonzero(row)) for row in allowed]
    wanted, seen = [set(range(place + 1 if causal else len(allowed))) for place in range(len(allowed))], heard_by
    for count in range(1, 2 * len(allowed)):
        if all(want <= have for want, have in zip(wanted, seen, strict=True)):
            return count
        seen = [set().union(*(heard_by[each] for each in have)) for have in seen]
    return 0


@pytest.mark.parametrize("turned", [
    {"pattern": "random", "random": 8}, {"pattern": "window", "window": 16, "n": 16, "causal": True},
    {"pattern": "dilated", "dilation": 2, "window": 1, "global": 0, "draw": 99},
    {"pattern": "bigbird", "causal": True, "n": 64, "random": 0}], ids=str)
def test_layers_until_all_connect_are_those_of_a_walk(turned):
    page = shown("masks", guess="a", **turned)
    found, n, causal, window = page.numbers["patterns"], turned.get("n", 32), turned.get("causal", False), turned.get(
        "window", 2)
    shape = masking.Shape(window, turned.get("dilation", 2), turned.get("global", 1), turned.get("random", 2),
                          turned.get("draw", 0))
    chosen, random = (masking.pattern(name, n, shape, causal) for name in (turned["pattern"], "random"))
    places = np.arange(n)
    near = np.abs(places[:, None] - places) <= window
    cut = np.tril(np.ones((n, n), bool)) if causal else True
    names = strings("lessons/masks")["patterns"]["names"]
    for name, allowed in ((turned["pattern"], chosen), ("random", random), ("window", near & cut)):
        assert any(re.match(rf"\| {re.escape(names[name])} \| [^|]+ \| {layers(allowed, causal) or 'never'} \|", line)
                   for line in "\n".join(page.words).splitlines()), name
    others = random & ~np.eye(n, dtype=bool)
    assert found["open"] == chosen.sum() and found["unheard"] == sum(not each.any()
                                                                     for each in others.T[:n - causal])


def test_real_heads_lose_what_lies_outside_the_band():
    found = shown("masks", guess="a", real=True, pattern="window", window=4).numbers["real"]
    answer = sources.ask(sources.open_query(State().model, State().text)).result(120)[Kind.SELF].layers
    n = answer[0].shape[-1]
    band = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 4
    lost = np.array([[1 - rows[band].sum() / n for rows in head_rows(layer)] for layer in answer])
    assert found["lost"] == pytest.approx(lost[found["layer"], found["head"]], abs=1e-5)
    assert [found["little"], found["much"]] == pytest.approx([lost.min(), lost.max()], abs=1e-5)
