"""Heads over a picture: statements about a row and the layers."""

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.model.studies.patch_attention import PatchHeads
from clearhead.viz.pages.heads.explorer import picture_claims
from clearhead.viz.pages.heads.pictures import layer_facts
from clearhead.viz.style.numbers import format_share
from tests import fabricate

MADE = fabricate.pictured()
VIEW = View(layer=1, head=2, token=9)


def test_row_is_stated_exactly():
    row = heads.weights(MADE[Kind.SELF].layer(1), 2)[9].astype(np.float64)
    most, half, special, *_ = picture_claims(MADE, VIEW)
    best = int(row[1:].argmax())
    assert f"head 1·2 looks most at patch {best // 6},{best % 6}" in most and f"{row[1:].max():.3f}" in most
    halves = next(count for count in range(1, 25) if np.sort(row[1:])[-count:].sum() >= row[1:].sum() / 2)
    assert f"is on {halves} patches of 24" in half
    assert special.startswith(format_share(row[0])) and "1 token" in special


@pytest.mark.parametrize("means", [(20, 40, 30), (20, 20.1, 20), (20,)])
def test_least_and_most_equal_those_of_the_heads(means):
    values = np.array([value for mean in means for value in (mean - 1, mean + 1)], float)
    values[0] = np.nan if len(means) > 1 else values[0]   # a head that looks at no patch takes no part
    places = tuple((layer, head) for layer in range(len(means)) for head in range(2))
    even = dict.fromkeys(("distance", "entropy", "special"), 7.5)
    found = layer_facts(PatchHeads(places, values, values, values, even), "distance")
    of_layers = [np.nanmean(values[2 * layer:2 * layer + 2]) for layer in range(len(means))]
    assert [float(found[name]) for name in ("low", "high", "lowest_value", "even")] == pytest.approx(
        [min(of_layers), max(of_layers), np.nanmin(values), 7.5])
    assert (found["low_layer"], found["high_layer"]) == (int(np.argmin(of_layers)), int(np.argmax(of_layers)))
