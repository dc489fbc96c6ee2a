"""Pictures: claims about a row, the answer and the layers, and the way out where a link's picture is gone."""
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.core import heads
from model.core.masks import Full
from model.core.query import Kind
from model.core.record import Prediction, Reported
from model.core.view import View
from model.studies.patch_attention import PatchHeads
from tests import fabricate
from tests.lesson_sentences import agrees
from viz.format import format_share
from viz.pages.pictures import answer_claim, half_of, layer_facts, row_claims
from viz.text import strings

MADE = fabricate.pictured()
VIEW = View(layer=1, head=2, token=9)


def answered(**changes) -> str:
    return answer_claim(replace(MADE, prediction=Prediction("label", (0,), **changes)))


def test_the_row_is_said_as_it_is():
    row = heads.weights(MADE[Kind.SELF].layer(1), 2)[9].astype(np.float64)
    most, half, special = row_claims(MADE, VIEW)
    best = int(row[1:].argmax())
    assert f"head 1·2 looks most at patch {best // 6},{best % 6}" in most and f"{row[1:].max():.3f}" in most
    assert f"is on {half_of(row[1:])} patches of 24" in half
    assert special.startswith(format_share(row[0])) and "1 token" in special


def planted(row: list[float]):
    """A record of four patches behind [CLS] in whose one head the second patch has this row."""
    made = fabricate.pictured(rows=2, columns=2)
    weights = np.full((1, 5, 5), 0.2, np.float32)
    weights[0, 2] = row
    return replace(made, maps=(replace(made.maps[0], layers=(Reported(0, weights, Full()),)),))


@pytest.mark.parametrize("row", [[0.2, 0.4, 0.1, 0.2, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2], [1, 0, 0, 0, 0]])
def test_a_row_is_said_with_its_largest_weight_beside_an_even_one(row):
    said = row_claims(planted(row), View(layer=0, head=0, token=2))
    assert agrees(said[0].split("patch 0,0: ")[1], max(row[1:]), 5 * max(row[1:]))
    assert ("Half of the weight on patches" in " ".join(said)) == (row[0] < 1)


@pytest.mark.parametrize("weights, count", [([1, 0, 0, 0], 1), ([1, 1, 1, 1], 2), ([5, 1, 2, 2], 1), ([4, 3, 3], 2)])
def test_half_of_the_weight_is_on_the_fewest_that_have_it(weights, count):
    assert half_of(np.array(weights, float)) == count


def test_classes_are_named_with_their_probability_and_a_vector_is_no_answer():
    said = answered(texts=(("tabby *cat*", "dog", "car", "tree"),), probabilities=((0.6, 0.2, 0.1, 0.1),))
    assert r"tabby \*cat\* (60" in said and "dog (20" in said and "tree" not in said
    assert answer_claim(MADE) == "" == answer_claim(replace(MADE, prediction=Prediction("vector")))


@pytest.mark.parametrize("shares, says", [((0.9, 0.1), "over only these 2"),
                                          ((0.2, 0.01), "its own probability"), ((0.3,), "its own probability")])
def test_typed_texts_are_said_to_be_like_the_picture_and_not_to_be_its_classes(shares, says):
    said = answered(texts=(("a cat", "two dogs")[:len(shares)],), probabilities=(shares,),
                    cosines=((0.281, -0.02)[:len(shares)],))
    assert "a cat (0.281)" in said and says in said and "100" not in said
    assert len(shares) == 1 or "two dogs (−0.020)" in said


@pytest.mark.parametrize("means", [(20, 40, 30), (20, 20.1, 20), (20,)])
def test_the_least_and_the_most_are_those_of_the_heads(means):
    values = np.array([value for mean in means for value in (mean - 1, mean + 1)], float)
    values[0] = np.nan if len(means) > 1 else values[0]   # a head that looks at no patch takes no part
    places = tuple((layer, head) for layer in range(len(means)) for head in range(2))
    even = dict.fromkeys(("distance", "entropy", "special"), 7.5)
    found = layer_facts(PatchHeads(places, values, values, values, even), "distance")
    of_layers = [np.nanmean(values[2 * layer:2 * layer + 2]) for layer in range(len(means))]
    assert [float(found[name]) for name in ("low", "high", "lowest_value", "even")] == pytest.approx(
        [min(of_layers), max(of_layers), np.nanmin(values), 7.5])
    assert (found["low_layer"], found["high_layer"]) == (int(np.argmin(of_layers)), int(np.argmax(of_layers)))


def gone():
    """The page of a link to a picture that nobody has."""
    from dataclasses import replace

    from viz.page import PageContext
    from viz.pages.pictures import PAGE, render
    from viz.session import session

    now = session()
    if now.state.image is None:
        now.state = replace(now.state, model="marked-digit", image="12" * 32)
    render(PageContext("pictures", PAGE, {}))


def test_a_picture_that_is_gone_is_said_to_be_and_a_shipped_one_is_a_click_away():
    app = AppTest.from_function(gone).run(timeout=30)
    assert not app.exception and "no longer in this server" in app.warning[0].value
    offered = [getattr(option, "content", option) for option in app.button_group[0].options]
    assert offered[-1] == strings("pictures")["gone"][:27] + "…" and "dot under" in offered[0]
