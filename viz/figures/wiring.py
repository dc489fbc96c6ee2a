"""Figure 1 of the paper with real shapes: what goes from the encoder into the decoder, and what the decoder brings
itself."""
from collections.abc import Mapping, Sequence
from itertools import pairwise

from viz.figures.base import ACCENT, FADED, MONO, chart, series_colours
from viz.figures.drawing import FigureSpec

# middles of encoder and decoder, and the size of a box, in units of the drawing
ENCODER_MIDDLE, DECODER_MIDDLE, BOX_WIDTH, BOX_HEIGHT = 2.2, 7.8, 4.25, 1.05
MARGIN = 4                                           # pixels round the whole
ENCODER, DECODER = ("source", "encoder", "memory"), ("target", "masked", "cross", "forward", "answer")
LEVELS = {"source": 0.7, "encoder": 4.1, "memory": 7.1, "target": 0.7, "masked": 3.0, "cross": 5.2, "forward": 7.1,
          "answer": 9.3}


def wiring(theme: str, words: Mapping[str, str], arrows: Sequence[str], *, height: int = 460) -> FigureSpec:
    """words: what stands in each box of ENCODER and DECODER. arrows: the words at the three arrows into
    cross-attention, from the encoder the upper and the lower one, and from below. """
    figure = chart(theme, height=height)
    places = {name: (ENCODER_MIDDLE if name in ENCODER else DECODER_MIDDLE, LEVELS[name]) for name in (*ENCODER, *DECODER)}
    colours = dict(zip(places, (None, 0, 0, None, 1, 2, 1, None), strict=True))
    shapes = [_box(*places[name], FADED[theme] if number is None else series_colours(theme)[number])
              for name, number in colours.items()]
    shapes.append({"type": "rect", "x0": DECODER_MIDDLE - 2.2, "x1": DECODER_MIDDLE + 2.2, "y0": 2.2, "y1": 7.85,
                   "line": {"color": FADED[theme], "dash": "dot"}})
    notes = [{"x": x, "y": y, "text": words[name], "showarrow": False, "font": {"size": 12}}
             for name, (x, y) in places.items()]
    notes += [_arrow((x, LEVELS[low] + BOX_HEIGHT / 2), (x, LEVELS[high] - BOX_HEIGHT / 2), theme)
              for x, column in ((ENCODER_MIDDLE, ENCODER), (DECODER_MIDDLE, DECODER)) for low, high in pairwise(column)]
    loud = ACCENT[theme]
    for place, text in ((5.45, arrows[0]), (4.95, arrows[1])):
        notes.append(_arrow((ENCODER_MIDDLE + BOX_WIDTH / 2 + 0.35, place), (DECODER_MIDDLE - BOX_WIDTH / 2, place), theme, loud))
        notes.append({"x": (ENCODER_MIDDLE + DECODER_MIDDLE) / 2 + 0.17, "y": place + (0.24 if place > 5.2 else -0.24), "text": text,
                      "showarrow": False, "font": {"size": 13, "color": loud, "family": MONO}})
    notes.append({"x": DECODER_MIDDLE + 0.15, "y": 4.1, "text": arrows[2], "showarrow": False, "xanchor": "left",
                  "font": {"size": 13, "color": loud, "family": MONO}})
    side = ENCODER_MIDDLE + BOX_WIDTH / 2 + 0.35
    shapes += [{"type": "line", "x0": ENCODER_MIDDLE + BOX_WIDTH / 2, "y0": 7.1, "x1": side, "y1": 7.1,
                "line": {"color": loud, "width": 2}},
               {"type": "line", "x0": side, "y0": 7.1, "x1": side, "y1": 4.95, "line": {"color": loud, "width": 2}}]
    figure.add_scatter(x=[x for x, _ in places.values()], y=[y for _, y in places.values()], mode="markers",
                       marker_opacity=0, name="boxes", hovertext=[words[name] for name in places],
                       hovertemplate="%{hovertext}<extra></extra>", showlegend=False)
    figure.update_layout(shapes=shapes, annotations=notes, xaxis={"range": [-0.05, 10.05], "visible": False},
                         yaxis={"range": [0, 10], "visible": False},
                         margin={"l": MARGIN, "r": MARGIN, "t": MARGIN, "b": MARGIN})
    return figure


def _box(x: float, y: float, colour: str) -> dict:
    return {"type": "rect", "x0": x - BOX_WIDTH / 2, "x1": x + BOX_WIDTH / 2, "y0": y - BOX_HEIGHT / 2, "y1": y + BOX_HEIGHT / 2,
            "line": {"color": colour, "width": 2}}


def _arrow(start: tuple[float, float], end: tuple[float, float], theme: str, colour: str | None = None) -> dict:
    return {"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], "xref": "x", "yref": "y", "axref": "x",
            "ayref": "y", "showarrow": True,
            "text": "", "arrowhead": 2, "arrowwidth": 2 if colour else 1.2, "arrowcolor": colour or FADED[theme]}
