"""Figures of boxes and of tiles: what stands in them has room on a phone."""
import re

import numpy as np
import pytest

from viz.figures.labels import NARROW
from viz.figures.tiles import tiles
from viz.figures.wiring import WIDE, wiring
from viz.text import strings

SIGN = 6.5   # pixels of a sign in letters of 12
BOXES = {name: text.format(n=12, m=16, d=64, layers=2, said="[BOS] l' animal …")
         for name, text in strings("lessons/families")["inputs"]["boxes"].items()}


@pytest.mark.parametrize("name", list(BOXES))
def test_the_words_of_a_box_stay_in_it(name):
    layout = wiring("light", BOXES, ["K", "V", "Q"]).layout
    low, high = layout.xaxis.range
    pixels = WIDE / (high - low) * (NARROW - layout.margin.l - layout.margin.r)
    said = [re.sub("<b>|</b>", "", line).replace("&lt;", "<") for line in BOXES[name].split("<br>")]
    assert max(map(len, said)) * SIGN <= pixels


def test_the_name_of_a_tile_breaks_where_its_neighbours_begins_and_the_next_row_makes_room():
    pixels = np.zeros((7, 5))
    many, few = (tiles("light", [[("asked with", pixels)] * count, [("key 0", pixels)]]) for count in (8, 3))
    assert [many.layout.annotations[0].text, few.layout.annotations[0].text] == ["asked<br>with", "asked with"]
    assert np.shape(many.data[0].z)[0] == np.shape(few.data[0].z)[0] + 4
    assert {each.yanchor for each in many.layout.annotations} == {"top"}


@pytest.mark.parametrize(("file", "part", "name"),
                         [("lessons/vectors", "merges", "candidates"), ("coreference", "scatter", "x"),
                          ("coreference", "scatter", "y"), ("lessons/positions", "alibi", "factor")])
def test_the_names_of_axes_fit_a_phone(file, part, name):
    said = strings(file)[part][name].format(a="animal", b="street")
    assert len(said) * 7 <= NARROW - 70
