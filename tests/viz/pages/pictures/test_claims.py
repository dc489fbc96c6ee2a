"""The sentences on a row over a picture and on the answer say what the numbers say, and the sort of answer it is."""
from dataclasses import replace

import numpy as np
import pytest

from model.core import heads
from model.core.masks import Full
from model.core.query import Kind
from model.core.record import Prediction, Reported
from model.core.view import View
from tests import fabricate
from tests.lesson_sentences import agrees
from viz.format import format_share
from viz.pages.pictures.claims import answer_claim, half_of, row_claims

MADE = fabricate.pictured()
VIEW = View(layer=1, head=2, token=9)


def answered(**changes) -> str | None:
    return answer_claim(replace(MADE, prediction=Prediction("label", (0,), **changes)))


def test_the_row_is_said_as_it_is():
    row = heads.weights(MADE[Kind.SELF].layer(1), 2)[9].astype(np.float64)
    most, half, special = row_claims(MADE, VIEW)
    best = int(row[1:].argmax())
    assert f"head 1·2 looks most at patch {best // 6},{best % 6}" in most and f"{row[1:].max():.3f}" in most
    assert f"is on {half_of(row[1:])} patches of 24" in half
    assert special.startswith(format_share(row[0])) and "the token that is" in special


def planted(row: list[float]):
    """A record of four patches behind [CLS] in whose one head the second patch has this row."""
    made = fabricate.pictured(rows=2, columns=2)
    weights = np.full((1, 5, 5), 0.2, np.float32)
    weights[0, 2] = row
    return replace(made, maps=(replace(made.maps[0], layers=(Reported(0, weights, Full()),)),))


@pytest.mark.parametrize("row, tied", [([0.2, 0.4, 0.1, 0.2, 0.1], 0), ([0.2, 0.3004, 0.3001, 0.1, 0.0995], 1),
                                       ([0.2, 0.2, 0.2, 0.2, 0.2], 3), ([1, 0, 0, 0, 0], 3)])
def test_the_largest_weight_says_how_many_patches_it_is_tied_with(row, tied):
    said = row_claims(planted(row), View(layer=0, head=0, token=2))
    assert agrees(said[0].split("patch 0,0: ")[1], max(row[1:]), 5 * max(row[1:]), *[tied] * (tied > 0))
    assert ("Half of what goes to patches" in " ".join(said)) == (row[0] < 1)


@pytest.mark.parametrize("weights, count", [([1, 0, 0, 0], 1), ([1, 1, 1, 1], 2), ([5, 1, 2, 2], 1), ([4, 3, 3], 2)])
def test_half_of_the_weight_is_on_the_fewest_that_have_it(weights, count):
    assert half_of(np.array(weights, float)) == count


def test_classes_are_named_with_their_probability_and_a_vector_is_no_answer():
    said = answered(texts=(("tabby *cat*", "dog", "car", "tree"),), probabilities=((0.6, 0.2, 0.1, 0.1),))
    assert said is not None and r"tabby \*cat\* (60" in said and "dog (20" in said and "tree" not in said
    assert answer_claim(MADE) is None and answer_claim(replace(MADE, prediction=Prediction("vector"))) is None


@pytest.mark.parametrize("shares, says", [((0.9, 0.1), "among these 2"), ((1.0,), "nothing to choose from"),
                                          ((0.2, 0.01), "need not sum to 1"), ((0.3,), "need not sum to 1")])
def test_typed_texts_are_said_to_be_like_the_picture_and_not_to_be_its_classes(shares, says):
    said = answered(texts=(("a cat", "two dogs")[:len(shares)],), probabilities=(shares,),
                    cosines=((0.281, -0.02)[:len(shares)],))
    assert said is not None and "a cat (0.281)" in said and says in said and "100" not in said
    assert len(shares) == 1 or "two dogs (−0.020)" in said
