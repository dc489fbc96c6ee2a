"""plotly knows every property of a drawing, and the browser gets the same numbers."""
import base64

import numpy as np
import pytest

from tests.viz.figures.test_drawing_in_browser import FIGURES
from viz.figures.drawing import FigureSpec


def unpacked(value):
    """Return plotly's typed arrays as float32 lists, and everything else unchanged."""
    if isinstance(value, dict) and "bdata" in value:
        shape = [int(each) for each in str(value["shape"]).split(",")] if "shape" in value else [-1]
        return np.frombuffer(base64.b64decode(value["bdata"]),
                             value["dtype"]).astype(np.float32).reshape(shape).tolist()
    if isinstance(value, dict):
        return {name: unpacked(each) for name, each in value.items() if name != "template"}
    if isinstance(value, (list, tuple)):
        return [unpacked(each) for each in value]
    return float(np.float32(value)) if isinstance(value, (float, np.floating)) else value


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.__name__)
def test_plotly_knows_every_property_and_reads_what_is_sent(figure):
    made = FIGURES[figure]()
    sent, read = unpacked(made.to_plotly_json()), unpacked(made.plotly().to_dict())
    sent["layout"] = {name: each for name, each in sent["layout"].items() if each != []}
    np.testing.assert_equal(sent, read)


def test_plotly_refuses_what_it_does_not_know():
    figure = FigureSpec(height=300)
    figure.add_scatter(y=np.arange(3), lien_width=2)
    with pytest.raises(ValueError, match="lien"):
        figure.plotly()
