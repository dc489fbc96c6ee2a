import numpy as np
import pytest

from clearhead.model.core.heads import Overview
from clearhead.model.core.query import Kind
from clearhead.viz.components.messages import unpack
from clearhead.viz.components.picture import Grid, HeadValues, head_ids
from tests import fabricate

HEADS = (3, 5, 2)


@pytest.mark.parametrize("layers, heads, cells", [(6, 12, 64), (30, 9, 64), (6, 12, 13)])
def test_grid_sends_little(layers, heads, cells):
    overview = Overview(Kind.CAUSAL, tuple(range(layers)), (np.zeros((heads, cells, cells), "u1"),) * layers, (2, 2))
    every = head_ids(overview)
    hover = {f"a measure with quite a name {number}": dict.fromkeys(every, number / 7) for number in range(8)}
    shown = Grid(overview, (0, 0), [(*head, 0.0) for head in every[::-1]], [(0, head, head + 1) for head in range(8)])
    sent = sum(map(len, shown.messages("heads", tooltips=hover)))
    assert sent <= layers * heads * min(4100, cells * cells + 4) + 20_000
    assert sent - layers * heads * cells * cells < 21_000


def test_state_numbers_heads_as_the_body_does():
    overview = fabricate.overview_of(fabricate.patterned(fabricate.repeating(7), heads=HEADS))
    shown = Grid(overview, (1, 4), [(2, 1, 0.0), (0, 0, 0.0)], [(1, 0, 1), (2, 0, 2)], HeadValues({(2, 1): -3.5}))
    header, arrays = unpack(shown.messages(tooltips={"share": {(1, 4): 0.25, (0, 0): 0.75}})[1])
    assert (header["open"], header["order"], header["marks"]) == (7, [9, 0], [[3, 1], [8, 2]])
    assert [name for name, _ in header["hover"]] == ["share"]
    assert [header["hover"][0][1][at] for at in (7, 0, 1)] == ["0.250", "0.750", ""]
    assert arrays["values"][9] == -3.5 and np.isnan(arrays["values"][:9]).all()
