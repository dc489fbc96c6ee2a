import numpy as np

from viz.figures.matrix import tiles


def test_the_name_of_a_tile_breaks_where_its_neighbours_begins_and_the_next_row_makes_room():
    pixels = np.zeros((7, 5))
    many, few = (tiles("light", [[("asked with", pixels)] * count, [("key 0", pixels)]]) for count in (8, 3))
    assert [many.layout.annotations[0].text, few.layout.annotations[0].text] == ["asked<br>with", "asked with"]
    assert np.shape(many.data[0].z)[0] == np.shape(few.data[0].z)[0] + 4
    assert {each.yanchor for each in many.layout.annotations} == {"top"}


def test_a_free_place_stays_empty():
    pixels = np.ones((7, 5))
    spec = tiles("light", [[("A", pixels), None, ("B", pixels)]])
    assert [each.text for each in spec.layout.annotations] == ["A", "B"]
    filled = np.isfinite(np.array(spec.data[0].z, float)).any(0)
    assert filled.tolist() == [True] * 5 + [False] * 7 + [True] * 5
