"""A tree of words from left to right, each branch with its probability: what is kept is drawn in colour, what is cut
off is pale."""
from collections.abc import Sequence
from dataclasses import dataclass

from viz.figures.base import FADED, LETTER, MUTED, chart, series_colours
from viz.figures.drawing import FigureSpec, Markup, plain
from viz.theme import INK

LEAF, ABOVE, BEYOND_LAST = 27, 30, 0.85     # pixels per leaf, above and below; depths right of the last word
SHELF, RAISED = 0.6, 0.12          # depths of the line below a word, where its branches begin; rows above it


@dataclass(frozen=True)
class Branch:
    """One word of the tree."""

    path: tuple[int, ...]   # names it: the path of its parent with one number more
    word: str
    given: str              # its probability in digits
    kept: float             # 0 for cut off; the share of what is written that goes this way
    said: str               # what one reads when pointing at it


def word_tree(theme: str, root: str, branches: Sequence[Branch], *, least: int = 300) -> FigureSpec:
    """The tree; branches in any order, each after its parent. Children stand in the order given. least: pixels of
    height."""
    places = _tree_places([branch.path for branch in branches])
    leaves = 1 + max(-y for _, y in places.values())
    deepest = max(x for x, _ in places.values())
    parents = {branch.path[:-1] for branch in branches}
    figure = chart(theme, height=int(max(least, 2 * ABOVE + LEAF * leaves)))
    colour, faded = series_colours(theme)[0], FADED[theme]
    for branch in branches:
        (x0, y0), (x1, y1) = places[branch.path[:-1]], places[branch.path]
        start, end = x0 + SHELF, x1 + SHELF * (branch.path in parents)
        figure.add_scatter(x=[start, x1, end], y=[y0, y1, y1], mode="lines", hoverinfo="skip",
                           name=branch.word, line={"color": colour if branch.kept else faded, "shape": "linear",
                                                   "width": 1.5 + 4 * branch.kept**0.5 if branch.kept else 1})
    for shown, ink in ((True, INK[theme]), (False, MUTED[theme])):
        chosen = [branch for branch in branches if bool(branch.kept) is shown]
        names = [f"<b>{plain(branch.word)}</b>" if shown else plain(branch.word) for branch in chosen]
        figure.add_scatter(x=[places[branch.path][0] for branch in chosen], name="kept" if shown else "cut off",
                           y=[places[branch.path][1] + RAISED * (branch.path in parents) for branch in chosen],
                           mode="text",
                           text=[Markup(f" {name} {branch.given}") for name, branch in zip(names, chosen, strict=True)],
                           textposition=["top right" if branch.path in parents else "middle right"
                                         for branch in chosen], textfont={"size": LETTER, "color": ink},
                           customdata=[branch.said for branch in chosen],
                           hovertemplate="%{customdata}<extra></extra>")
    figure.add_scatter(x=[0.05, SHELF], y=[places[()][1]] * 2, mode="lines+text", name="prompt",
                       text=[Markup(f"<b>{plain(root)}</b>"), ""],
                       line={"color": colour, "width": 2}, textposition="top right",
                       textfont={"size": LETTER, "color": INK[theme]}, hoverinfo="skip")
    figure.update_xaxes(visible=False, range=[0, deepest + BEYOND_LAST])
    figure.update_yaxes(visible=False, range=[-leaves + 0.4, 0.6])
    figure.update_layout(showlegend=False, margin={"l": 4, "r": 4, "t": 6, "b": 6})
    return figure


def _tree_places(paths: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[float, float]]:
    """(depth, height) of the root and of every path: leaves one below another, each parent in the middle of its
    children."""
    children: dict[tuple[int, ...], list[tuple[int, ...]]] = {(): []}
    for path in paths:
        children[path] = []
        children[path[:-1]].append(path)
    places: dict[tuple[int, ...], tuple[float, float]] = {}
    rows = iter(range(len(paths) + 1))

    def put(path: tuple[int, ...]) -> float:
        heights = [put(child) for child in children[path]]
        places[path] = float(len(path)), (heights[0] + heights[-1]) / 2 if heights else -float(next(rows))
        return places[path][1]

    put(())
    return places
