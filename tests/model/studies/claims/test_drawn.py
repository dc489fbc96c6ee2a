"""Drawn figures are where their masks say, before pieces of photographs, and a model can be asked about them."""
import io

import numpy as np
import pytest
from PIL import Image

from model.core import pictures
from model.studies.claims import measured as figures

SHOWN = figures.drawn()


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: one.sha256[:8])
def test_a_mask_is_the_figure_and_a_file_shows_it(one):
    pixels = pictures.find(one.sha256).pixels()
    assert pixels.shape == (figures.SIDE + 2 * figures.MARGIN,) * 2 + (3,)
    assert (pixels[figures.MARGIN:-figures.MARGIN, figures.MARGIN:-figures.MARGIN] == one.inner).all()
    coarse, fine = one.mask(16, 16), one.mask(figures.SIDE, figures.SIDE)
    assert 0.05 < coarse.mean() < 0.5 and (fine == one.figure).all()
    assert not (fine[[0, -1]].any() or fine[:, [0, -1]].any())   # the whole figure is seen


def test_a_plain_rectangle_is_drawn_where_it_is_told():
    name = "camera"
    box = [0.0, 0.0, 1.0, 1.0]
    encoded, inner, figure = figures._render([name, 0, 0, 64], [0.25, 0.5, 0.25], [["rectangle", "#ff0000", box]])
    expected = np.zeros((figures.SIDE, figures.SIDE), bool)
    expected[112:168, 56:112] = True
    assert (figure == expected).mean() > 0.995 and (inner[115:165, 60:108] == (255, 0, 0)).all()
    assert Image.open(io.BytesIO(encoded)).size == (256, 256)


def test_the_drawings_are_all_different():
    assert len({one.sha256 for one in SHOWN}) == len(SHOWN) == 12
