"""Small pictures beside one another, each a matrix of pixels from −1 to 1 with a name below it."""
import textwrap
from collections.abc import Sequence

import numpy as np

from viz.figures.base import LETTER, SIGN, chart, weight_scale
from viz.figures.drawing import FigureSpec, Markup, plain
from viz.figures.labels import NARROWEST

NAME_SIZE = 11   # pixels of the letters


def tiles(theme: str, rows: Sequence[Sequence[tuple[str, np.ndarray] | None]], *, height: int = 300) -> FigureSpec:
    """rows of (name, pixels (y, x)), all pictures of one size; None leaves a place free. What is −1 has the colour of
    the page, what is 1 the darkest of the ramp."""
    high, wide = next(tile[1].shape for row in rows for tile in row if tile is not None)
    columns = max(map(len, rows))
    # of a name that a phone has room for below a picture
    signs = max(1, int(NARROWEST / columns / (SIGN * NAME_SIZE / LETTER)))
    named = [[textwrap.wrap(tile[0], signs) if tile else [] for tile in row] for row in rows]
    step = high + 2 * max(len(lines) for row in named for lines in row)
    whole = np.full((len(rows) * step, columns * (wide + 1) - 1), np.nan)
    words = []
    for down, row in enumerate(rows):
        for across, (tile, lines) in enumerate(zip(row, named[down], strict=True)):
            if tile is None:
                continue
            top, left = down * step, across * (wide + 1)
            whole[top:top + high, left:left + wide] = tile[1]
            words.append({"x": left + (wide - 1) / 2, "y": top + high - 0.5, "yanchor": "top",
                          "text": Markup("<br>".join(map(plain, lines))), "showarrow": False, "font": {"size": NAME_SIZE}})
    figure = chart(theme, height=height)
    figure.add_heatmap(z=whole, zmin=-1, zmax=1, colorscale=weight_scale(theme), showscale=False, name="pixels",
                       hoverongaps=False, hovertemplate="%{z:.3f}<extra></extra>")
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain", constraintoward="top")
    figure.update_layout(annotations=words, margin={"l": 0, "r": 0, "t": 4, "b": 4})
    return figure
