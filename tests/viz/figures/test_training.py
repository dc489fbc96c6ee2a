"""The three panels of a training: what is written into them fits and covers nothing."""
import numpy as np
import pytest

from viz.figures.training import training

STEPS = np.arange(0, 101, 10)


@pytest.mark.parametrize(("start", "side"), [(20, "left"), (60, "right")])
def test_what_happened_stands_beside_its_band_on_two_lines_and_the_snapshot_above_the_first_panels_title(start, side):
    figure = training("dark", (STEPS, STEPS / 50, STEPS / 100), (STEPS, {"0·0": STEPS / 100}, ["0·0"]),
                      titles=("loss", "right", "heads {names}"),
                      at=(50, "step 50"), formed=(start, start + 10, "the induction head appears"), last=100)
    words = {each.text: each for each in figure.layout.annotations}
    assert words["the induction head<br>appears"].xanchor == side
    assert words["step 50"].yshift >= 18 > words["loss"].yshift and figure.layout.margin.t >= 46
