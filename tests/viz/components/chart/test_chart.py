"""A chart for a lecture room."""
from viz.components.chart import with_larger_letters
from viz.theme import LARGER


def test_letters_and_their_room_grow_and_numbers_do_not():
    spec = {"data": [{"marker": {"size": 4}, "y": [1, 2], "colorbar": {"tickfont": {"size": 10}}}],
            "layout": {"height": 300, "margin": {"l": 40}, "font": {"size": 12},
                       "annotations": [{"font": {"size": 8}, "text": "x", "yshift": 18}]}}
    assert with_larger_letters({"spec": spec}) == {"spec": spec
                                       | {"data": [spec["data"][0] | {"colorbar": {"tickfont": {"size": 10 * LARGER}}}],
                                         "layout": {"height": 300 * LARGER, "margin": {"l": 40 * LARGER},
                                                    "font": {"size": 12 * LARGER},
                                                    "annotations": [{"font": {"size": 8 * LARGER}, "text": "x",
                                                                     "yshift": 18 * LARGER}]}}}
