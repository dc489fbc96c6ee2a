import numpy as np
import pytest

from viz.figures.lines import training

STEPS = np.arange(0, 101, 10)


@pytest.mark.parametrize(("start", "side"), [(20, "left"), (60, "right")])
def test_what_happened_stands_on_the_side_of_its_band_where_there_is_room(start, side):
    happened = "the induction head appears"
    figure = training("dark", (STEPS, STEPS / 50, STEPS / 100), (STEPS, {"0·0": STEPS / 100}, ["0·0"]),
                      titles=("loss", "right", "heads {names}"), at=(50, "step 50"),
                      formed=(start, start + 10, happened), last=100)
    anchors = {each.text.replace("<br>", " "): each.xanchor for each in figure.layout.annotations}
    assert anchors[happened] == side and "step 50" in anchors
