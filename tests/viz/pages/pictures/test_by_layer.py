"""Which layers look far, in words of the printed numbers."""
import numpy as np
import pytest

from model.studies.patch_attention import PatchHeads
from viz.pages.pictures.by_layer import layers_claim


def planted(*means: float) -> PatchHeads:
    """Two heads a layer, which differ by 2 and have this mean."""
    values = np.array([value for mean in means for value in (mean - 1, mean + 1)], float)
    places = tuple((layer, head) for layer in range(len(means)) for head in range(2))
    return PatchHeads(places, values, values, values, dict.fromkeys(("distance", "entropy", "special"), 7.5))


@pytest.mark.parametrize("means, words", [
    ((20, 40, 30), "No layer has a smaller mean than layer 0 (20 pixels), and none a larger one than layer 1 (40"),
    ((20, 20.1, 20), "than layer 0 (20 pixels), and none a larger one than layer 1 (20.1 pixels)"),
    ((20, 20.04, 19.96), "In these digits the mean of each of 3 layers is 20 pixels"),
    ((20,), "The mean of the only layer is 20 pixels; an even row gives 7.5 pixels. No head has less than 0·0, 19")])
def test_the_least_and_the_most_are_told_from_the_printed_digits(means, words):
    said = layers_claim(planted(*means), "distance")
    assert words in said and "No head has less than" in said


def test_a_head_that_looks_at_no_patch_takes_no_part():
    made = planted(20.0, 40.0)
    made.distance[0] = np.nan
    assert "No head has less than 0·1, 21 pixels" in layers_claim(made, "distance")
