"""Small pictures beside one another, each a matrix of pixels from −1 to 1 with a name below it."""
from collections.abc import Sequence

import numpy as np

from viz.figures.base import chart, scale
from viz.figures.drawing import Drawing


def tiles(theme: str, rows: Sequence[Sequence[tuple[str, np.ndarray]]], *, height: int = 300) -> Drawing:
    """rows of (name, pixels (y, x)), all pictures of one size. What is −1 has the colour of the page, what is 1 the darkest of the ramp."""
    high, wide = rows[0][0][1].shape
    columns = max(map(len, rows))
    whole = np.full((len(rows) * (high + 2), columns * (wide + 1) - 1), np.nan)
    words = []
    for down, row in enumerate(rows):
        for across, (name, pixels) in enumerate(row):
            top, left = down * (high + 2), across * (wide + 1)
            whole[top:top + high, left:left + wide] = pixels
            words.append({"x": left + (wide - 1) / 2, "y": top + high + 0.2, "text": name, "showarrow": False, "font": {"size": 12.5}})
    figure = chart(theme, height=height)
    figure.add_heatmap(z=whole, zmin=-1, zmax=1, colorscale=scale(theme), showscale=False, name="pixels", hoverongaps=False,
                       hovertemplate="%{z:.3f}<extra></extra>")
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain")
    figure.update_layout(annotations=words, margin={"l": 0, "r": 0, "t": 4, "b": 4})
    return figure
