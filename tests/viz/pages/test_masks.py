"""Every sentence of *Who may look where*, read again at the ends and in the middle of its controls and held against
whole sums of exponentials and walks over a graph, by another route than the page's."""
import itertools
import re

import numpy as np
import pytest
import torch
from torch.nn import functional

from model.ask import sources
from model.core.query import Kind
from model.lessons import masking
from tests.conftest import LONG
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import Rules, agrees, head_rows, printed, sentences, wrong
from viz.pages.masks import LENGTHS, MOVED, N
from viz.state import State

ALL = tuple(range(N * N))
SQUARES = [{}, {"pad": 4, "row": 7, "method": "after", "seed": 40},
           {"pad": 0, "ahead": False, "row": 0, "method": "finite"},
           {"pad": 0, "ahead": False, "flips": ALL, "method": "renormalised"},
           {"pad": 4, "ahead": True, "flips": (0, 1, 9), "row": 1, "seed": 99}]
PATTERNS = [{"pattern": "random", "random": 8, "n": 32}, {"pattern": "window", "window": 16, "n": 16, "causal": True},
            {"pattern": "dilated", "dilation": 1, "window": 1, "n": 64, "global": 0, "draw": 99},
            {"pattern": "global", "global": 8, "causal": True, "n": 128, "random": 0},
            {"pattern": "full", "dilation": 8, "draw": 50}]
PLACES = [one | other for one, other in (itertools.product(SQUARES, PATTERNS) if LONG
                                         else zip(SQUARES, PATTERNS, strict=True))]
OPEN = {"pad": 2, "ahead": True, "flips": (), "row": 3, "seed": 0, "method": "before", "pattern": "bigbird", "n": 32,
        "causal": False, "window": 2, "dilation": 2, "global": 1, "random": 2, "draw": 0}


def numbers(sentence: str) -> list[float]:
    """Those of a sentence as a reader has them."""
    return [float(each.replace(",", "")) for each in re.findall(r"(?<![\w^])\d[\d,]*\.?\d*(?:e[-+]\d+)?", sentence)]


def cells_of(turned: dict) -> np.ndarray:
    """The mask on screen, cell by cell."""
    return np.array([[(column < N - turned["pad"] and not (turned["ahead"] and column > row))
                      != (row * N + column in turned["flips"]) for column in range(N)] for row in range(N)])


def share(scores: np.ndarray, allowed: np.ndarray, method: str) -> np.ndarray:
    """A row's weights from its exponentials."""
    raised = np.exp(scores)
    if method == "after":
        return np.where(allowed, raised / raised.sum(), 0)
    return np.where(allowed, raised, 0) / (raised * allowed).sum()


@pytest.mark.parametrize("turned", PLACES, ids=str)
def test_what_is_said_of_masks_is_true_of_them(turned):
    page, where = shown("masks", guess="a", **turned), OPEN | turned
    says_of_cells(page, cells_of(where))
    says_of_methods(page, where)
    says_of_patterns(page, where)
    assert wrong(sentences(page), other_rules(page, where)) == []


def other_rules(page: Shown, where: dict) -> Rules:
    """Of the sentences that no other function here reads."""
    allowed, scores = cells_of(where), masking.toy_scores(N, where["seed"])
    method = "after" if where["method"] == "after" else "before"   # the other two give what −∞ gives
    sums = [share(scores[row], allowed[row], method).sum() for row in range(N) if allowed[row].any()]
    shape = masking.Shape(where["window"], where["dilation"], where["global"], where["random"], where["draw"])
    far = masking.pattern("dilated", where["n"], shape, where["causal"])
    steps = np.subtract(*np.nonzero(far))
    held = {place: bool for place in sentences(page) if place.startswith("notice")}
    return held | {
        "alt masks-weights": lambda line: agrees(line, N, N, allowed.sum(), 1),
        "alt masks-leak": bool, "alt masks-pattern": bool,
        "alt masks-method": lambda line: not sums or printed(line)[-1][0] == pytest.approx(min(sums), abs=6e-4),
        "alt masks-reach": lambda line: printed(line)[-1][0] == grown(masking.pattern(
            where["pattern"], where["n"], shape, where["causal"])),
        "more blind 0": lambda line: agrees(line, 0) and functional.scaled_dot_product_attention(
            *torch.ones(3, 1, 2, 2), torch.zeros(2, 2, dtype=torch.bool)).abs().max() == 0,
        "more methods 0": lambda line: "at most" not in line or float(
            line.split("at most ")[1].split(":")[0]) < 1e-12,
        "more methods 1": bool,
        "more patterns 0": lambda line: printed(line)[0][0] == where["dilation"] and (
            steps % where["dilation"] == 0).all()}


@pytest.mark.parametrize("window", [1, 4, 16])
def test_what_real_heads_would_lose_is_what_lies_outside_the_band(window):
    page = shown("masks", guess="a", real=True, pattern="window", window=window)
    layers = sources.ask(sources.open_query(State().model, State().text)).result(120)[Kind.SELF].layers
    n = layers[0].shape[-1]
    band = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= window
    lost = np.array([[1 - rows[band].sum() / n for rows in head_rows(layer)] for layer in layers])
    layer, head = (int(number) for number, _ in printed(page.alts["masks-lost"])[:2])
    one, all_heads = page.notices["real"]
    assert agrees(one, layer, head, lost[layer, head], band.mean(), n)
    assert agrees(page.alts["masks-lost"], layer, head, lost[layer, head])
    assert page.alts["masks-heads"] == "Share of weight outside sliding window for every head of every layer."
    mildest = np.array([head_rows(each) for each in layers])[np.unravel_index(lost.argmin(), lost.shape)]
    assert "do not notice a window" in page.more["real"][0] and (mildest * band).sum() / n > 0.99
    named = [(int(place), int(number)) for place, number in re.findall(r"(\d+)·(\d+)", all_heads)]
    shares = [float(share) / 100 for share in re.findall(r"([\d.]+)%", all_heads)]
    assert shares == pytest.approx([lost.min(), lost.max()], abs=5.1e-4)
    assert [lost[place] for place in named] == pytest.approx([lost.min(), lost.max()], abs=1e-6)


def grown(allowed: np.ndarray) -> int:
    """After how many layers no further pair is connected."""
    seen = allowed.astype(float)
    for count in range(1, 2 * len(allowed)):
        further = (seen @ allowed > 0).astype(float)
        if (further == seen).all():
            return count
        seen = further
    raise AssertionError("it grows for ever")


def says_of_cells(page: Shown, allowed: np.ndarray) -> None:
    told, first, _ = page.notices["build"]
    blind, seen = int((allowed.sum(1) == 0).sum()), int(allowed[0].sum())
    assert numbers(told)[:3] == [allowed.sum(), N * N, round(100 * allowed.mean())]
    assert numbers(told)[3:] == [blind] * (blind > 0)
    assert numbers(first) == [seen] * (seen > 0) + [1]
    assert f"{allowed.sum()} cells are open" in page.alts["masks-weights"]


def says_of_methods(page: Shown, where: dict) -> None:
    allowed, scores = cells_of(where), masking.toy_scores(N, where["seed"])
    seeing = [row for row in range(N) if allowed[row].any()]
    if not seeing:
        assert "methods" not in page.notices
        return
    sums, leak, same = page.notices["methods"]
    table, row = "\n".join(page.words), where["row"]
    assert ("**yes**" in table) == any(not allowed[each].all() for each in seeing)
    least = min(share(scores[each], allowed[each], "after").sum() for each in seeing)
    assert numbers(sums)[0] == pytest.approx(least, abs=5e-4) and numbers(same)[-1] < 1e-12
    if allowed[row].all() or not allowed[row].any():
        assert "masks-leak" not in page.charts and not numbers(leak)
        return
    hidden, ends = int(np.flatnonzero(~allowed[row])[0]), []
    best = int(np.argmax(np.where(allowed[row], scores[row], -np.inf)))
    for step in (MOVED[0], MOVED[-1]):
        moved = scores[row] + step * (np.arange(N) == hidden)
        ends.append(share(moved, allowed[row], "after")[best])
        assert share(moved, allowed[row], "before")[best] == pytest.approx(share(scores[row], allowed[row],
                                                                                 "before")[best])
    assert numbers(leak)[-2:] == pytest.approx(sorted(ends), abs=5e-4)
    assert numbers(page.alts["masks-leak"]) == pytest.approx(sorted(ends), abs=5e-4)


def layers(allowed: np.ndarray, causal: bool) -> int | None:
    """After how many layers each token has heard of all that it may hear of, by walking from every token; None for
    never."""
    heard_by = [set(np.flatnonzero(row)) | {place} for place, row in enumerate(allowed)]
    wanted = [set(range(place + 1 if causal else len(allowed))) for place in range(len(allowed))]
    seen = [set(np.flatnonzero(row)) for row in allowed]
    for count in range(1, 2 * len(allowed)):
        if all(want <= have for want, have in zip(wanted, seen, strict=True)):
            return count
        further = [set().union(*(heard_by[each] for each in have)) for have in seen]
        if further == seen:
            return None
        seen = further
    return None


def reached_share(allowed: np.ndarray, causal: bool) -> float:
    """The share of pairs, of a causal text those with an earlier key, that any number of layers connects."""
    first, step = allowed.astype(float), allowed.astype(float)
    for _ in range(len(allowed)):
        first = (first @ step > 0).astype(float)
    wanted = np.tril(np.ones(allowed.shape)) if causal else np.ones(allowed.shape)
    return float((np.maximum(first, step) * wanted > 0).sum() / wanted.sum())


def says_of_patterns(page: Shown, where: dict) -> None:
    n, causal = where["n"], where["causal"]
    kept, window, random = page.notices["patterns"]
    shape = masking.Shape(where["window"], where["dilation"], where["global"], where["random"], where["draw"])
    chosen = masking.pattern(where["pattern"], n, shape, causal)
    needed = layers(chosen, causal)
    assert numbers(kept)[:3] == [chosen.sum(), n * n, pytest.approx(100 * chosen.mean(), abs=0.05)]
    assert ("never" in kept) == (needed is None) and (needed is None or f"**{needed} layer" in kept)
    places = np.arange(n)
    near = abs(places[:, None] - places) <= where["window"]
    star = near | (places[:, None] == 0) | (places == 0)
    cut = np.tril(np.ones((n, n), bool)) if causal else True
    wanted = [n, where["window"], layers(near & cut, causal), where["window"], layers(star & cut, causal)]
    assert wanted[2] == -(-(n - 1) // where["window"])
    assert numbers(window) == wanted
    drawn = masking.pattern("random", n, shape, causal)
    unheard = sum(not drawn[np.arange(n) != place, place].any() for place in range(n - 1 if causal else n))
    reached = layers(drawn, causal)
    assert numbers(random)[:2] == [where["random"], pytest.approx(100 * reached_share(drawn, causal), abs=0.06)]
    assert numbers(random)[2:] == [reached] * (reached is not None) + [unheard] * (unheard > 0)
    assert f"{chosen.mean():.1%} of the cells" in page.alts["masks-pattern"]


def test_a_wrong_sentence_is_caught():
    page = shown("masks", guess="a")
    for section, planted, check in (("build", ("33 of", "34 of"), lambda: says_of_cells(page, cells_of(OPEN))),
                                  ("methods", ("0.121", "1.000"), lambda: says_of_methods(page, OPEN)),
                                  ("patterns", ("draw) connect", "draw) connect 1"),
                                   lambda: says_of_patterns(page, OPEN))):
        check()
        page.notices[section] = [sentence.replace(*planted) for sentence in page.notices[section]]
        with pytest.raises(AssertionError):
            check()


def test_before_the_answer_nothing_tells_what_zeroing_does():
    page = shown("masks", method="after")
    assert not {"build", "methods", "blind"} & set(page.notices)
    assert not {"masks-method", "masks-leak"} & set(page.charts)


def test_the_check_questions_count_rightly():
    assert masking.look_ahead_mask(8).sum() == 36 and LENGTHS[0] == 16
    assert layers(masking.pattern("window", 65, masking.Shape(window=4)), False) == 16
