"""The means of the layers are those of their heads."""
import numpy as np
import pytest

from model.studies.patch_attention import PatchHeads
from viz.pages.pictures.by_layer import _facts


@pytest.mark.parametrize("means", [(20, 40, 30), (20, 20.1, 20), (20,)])
def test_the_least_and_the_most_are_those_of_the_heads(means):
    values = np.array([value for mean in means for value in (mean - 1, mean + 1)], float)
    values[0] = np.nan if len(means) > 1 else values[0]   # a head that looks at no patch takes no part
    places = tuple((layer, head) for layer in range(len(means)) for head in range(2))
    found = _facts(PatchHeads(places, values, values, values, dict.fromkeys(("distance", "entropy", "special"), 7.5)),
                   "distance")
    of_layers = [np.nanmean(values[2 * layer:2 * layer + 2]) for layer in range(len(means))]
    assert [float(found[name]) for name in ("low", "high", "lowest_value", "even")] == pytest.approx(
        [min(of_layers), max(of_layers), np.nanmin(values), 7.5])
    assert (found["low_layer"], found["high_layer"]) == (int(np.argmin(of_layers)), int(np.argmax(of_layers)))
