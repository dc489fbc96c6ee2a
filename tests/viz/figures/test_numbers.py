"""Numbers in the cells of a heatmap: each can be read on its very cell, and says what is there."""
import numpy as np
import pytest

from viz import theme as colours
from viz.figures.drawing import FigureSpec, figure_rows
from viz.figures.matrix import CellStyle, importance, matrix

SHADES = np.linspace(0, 1, 144).reshape(12, 12)
NAMES = [str(place) for place in range(12)]


def figures(theme: str) -> dict[str, FigureSpec]:
    return {"weights": matrix(theme, SHADES, NAMES, NAMES),
            "signed": matrix(theme, 2 * SHADES - 1, NAMES, NAMES, style=CellStyle("signed")),
            "importance": importance(theme, [[(name, row) for name, row in zip(NAMES, SHADES)]], NAMES, [False] * 12,
                                     title="token", apart_title="")}


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    lighter, darker = sorted([float(colours.luminance(one)), float(colours.luminance(other))], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def cell_colour(trace, row: int, column: int) -> np.ndarray:
    share = (float(np.asarray(trace.z, float)[row, column]) - trace.zmin) / (trace.zmax - trace.zmin)
    places, stops = zip(*trace.colorscale)
    return np.array([np.interp(share, places, channel) for channel in zip(*map(colours.rgb, stops))])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["weights", "signed", "importance"])
def test_every_number_is_written_once_and_stands_out_from_its_cell(theme, name):
    cells, over = figures(theme)[name].data
    found = {(trace.textfont.color, row, column) for trace in (cells, over)
             for row, texts in enumerate(trace.text) for column, text in enumerate(texts) if text.strip()}
    assert len({place[1:] for place in found}) == len(found) > 100
    assert min(contrast(np.array(colours.rgb(ink)), cell_colour(cells, row, column))
               for ink, row, column in found) >= 4.5
    assert over.hoverinfo == "skip" and {stop for _, stop in over.colorscale} == {"rgba(0,0,0,0)"}


def test_both_colours_come_to_one_size_of_letters():
    """plotly finds it from the longest word and from neighbours, so both heatmaps have a word in the corner, beside it
    and below it."""
    for trace in figures("light")["signed"].data:
        corner = [trace.text[row][column] for row, column in ((0, 0), (0, 1), (1, 0))]
        assert all(corner) and max(len(text) for texts in trace.text for text in texts) == len("−1.00")


def test_the_table_has_every_cell_once():
    assert len(figure_rows(figures("light")["weights"])) == 1 + 144
