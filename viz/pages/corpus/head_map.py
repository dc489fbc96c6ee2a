"""A map of all heads measured over many sentences, one dot per head, with a card for the open head."""
from collections.abc import Sequence

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core.query import HeadId, head_label, with_arrays
from clearhead.model.studies.atlas.build import AtlasQuery
from clearhead.model.studies.atlas.files import atlas_folder
from clearhead.model.studies.atlas.measured import principal_components
from clearhead.model.studies.atlas.summary import Atlas
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.page_controls import Places, Words
from clearhead.viz.figures.base import chart, name_sides, number_range, placed_points, weight_scale
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.pages.corpus.card import head_card
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import ACCENT, PAPER, QUIET
from clearhead.viz.widgets.fields import select, shown
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import folded, folded_formula
from clearhead.viz.widgets.head_table import plain_table
from clearhead.viz.widgets.layout import flex_row, heading, prose
from clearhead.viz.widgets.measured import measured_line

WORDS = strings("atlas")

COMPONENTS = ("pc1", "pc2")
AXES = {"across": "entropy", "up": "distance", "colour": "special"}   # the controls with their defaults
SIZE = "confidence"
MOST_HEADS = 10_000
CONTROLS = (*(Words(name, start, 40) for name, start in AXES.items()), Words("folder", "", 300),
            Places("heads", MOST_HEADS, 600))
SMALL, LARGE, LETTERS = 8, 18, 12   # smallest and largest dot, and font size of names, in pixels
BAR = 76                             # room for the colour bar above the map in pixels
OPEN = 4                            # pixels by which the open head's ring exceeds its dot


@with_arrays
class HeadDots:
    """The dots of n heads."""

    names: Sequence[str]        # (n)
    x: np.ndarray               # float (n)
    y: np.ndarray               # float (n)
    colour: np.ndarray          # float (n)
    size: np.ndarray            # float (n), from 0 to 1
    chosen: Sequence[int]       # indices of the selected heads; empty emphasises all
    open_head: int | None       # index of the head whose card is open


def draw_map(page: PageContext) -> None:
    """Draw the map, the open head's card, and the links to other corpora."""
    with st.container(key="aside-map"):   # hidden while presenting
        prose(WORDS["lead"])
    atlas = _atlas(page, page["folder"])
    axes, head = _axes(page, atlas), open_head(page, atlas)
    left, right = st.columns([7, 5], gap="large")
    with left:
        _map(page, atlas, axes, head)
    with right:
        head_card(page, atlas, head, axes["across"])
    _chosen(page, atlas)
    folded(WORDS["more"], lambda: _sources(page), key="atlas-sources")
    folded_formula({"title": WORDS["code"], "text": ""}, lambda: (principal_components,), key="atlas-code")


def _atlas(page: PageContext, named: str) -> Atlas:
    """Return the atlas in a folder, or of a model over the shipped sentences; "" means the sidebar's model."""
    model = named or page.model
    if model == page.model or model in sources.catalogue():
        question = AtlasQuery(model, sources.revision(model))
        atlas = page.ask(question)
        measured_line(question, f"atlas-{named}", "atlas")
        return atlas
    return page.ask(atlas_folder(named, local=not sources.catalogue_only()))


def open_head(page: PageContext, atlas: Atlas) -> HeadId:
    """Return the head of the card: the one open on the page Heads if the atlas has it."""
    view, heads = page.view(), atlas.heads
    return view.head_id if view.head_id in heads else heads[0]


def _axes(page: PageContext, atlas: Atlas) -> dict[str, str]:
    """Draw the choice of x, y and colour, and return it. Measures that the atlas lacks are replaced by the defaults."""
    titles = titles_of(atlas)
    chosen = {}
    with flex_row("bottom"):
        for control, start in AXES.items():
            options = {name: title for name, title in titles.items() if control != "colour" or name not in COMPONENTS}
            value = page[control]
            chosen[control] = value if value in options else start if start in options else next(iter(options))
            select(WORDS["axes"][control], options, page.set, control, chosen[control], width=330)
    return chosen


def titles_of(atlas: Atlas) -> dict[str, str]:
    """Return {measure: title} of all possible axes."""
    table = atlas.tables["measures"]
    groups = WORDS["groups"]
    titles = {row.measure: groups(row.group, title=row.title, unit=row.unit) for row in table.itertuples()}
    return titles | {name: WORDS["components"][name] for name in COMPONENTS}


def dots_of(atlas: Atlas, axes: dict[str, str], chosen: tuple[int, ...], head: HeadId) -> HeadDots:
    """Return the dots of an atlas's heads."""
    wide, heads = atlas.wide(), atlas.heads
    places, _ = principal_components(wide)

    def column(name: str) -> np.ndarray:
        return places[:, COMPONENTS.index(name)] if name in COMPONENTS else wide[name].to_numpy(float)

    size = column(SIZE) if SIZE in wide else np.full(len(heads), 0.5)
    return HeadDots([head_label(*each) for each in heads], column(axes["across"]), column(axes["up"]),
                    column(axes["colour"]), size, [place for place in chosen if place < len(heads)],
                    heads.index(head))


def _map(page: PageContext, atlas: Atlas, axes: dict[str, str], head: HeadId) -> None:
    titles = titles_of(atlas)
    dots = dots_of(atlas, axes, page["heads"], head)
    heading(escape_markdown(atlas.about["title"]))
    st.caption(corpus_sentence(atlas))

    def pick(points: list[int]) -> None:
        heads = atlas.heads
        known = [point for point in points if point < len(heads)]
        if len(known) == 1:
            page.set(head=heads[known[0]])
        if known:
            page.set(heads=tuple(known) if len(known) > 1 else ())

    figure(atlas_scatter, dots, axes=(titles[axes["across"]], titles[axes["up"]]),
           colour=titles[axes["colour"]], key="atlas-map", on_pick=pick,
           alt=WORDS("alt", n=len(dots.names), across=titles[axes["across"]], up=titles[axes["up"]],
                     head=head))
    st.caption(WORDS["how"])
    if set(COMPONENTS) & {axes["across"], axes["up"]}:
        _, shares = principal_components(atlas.wide())
        st.caption(WORDS("plane", first=shares[0], second=shares[1]))


def _chosen(page: PageContext, atlas: Atlas) -> None:
    """Draw a table of the selected heads."""
    heads = atlas.heads
    chosen = [heads[place] for place in page["heads"] if place < len(heads)]
    if not chosen:
        return
    heading(WORDS("chosen", n=len(chosen)))
    names = {row.measure: row.measure.replace("_", " ") for row in atlas.tables["measures"].itertuples()}
    plain_table(atlas.wide().loc[chosen].round(3), WORDS("chosen", n=len(chosen)), {"head": WORDS["head"]} | names,
                key="atlas-chosen")
    st.button(WORDS["clear"], key="atlas-clear", on_click=lambda: page.set(heads=()))


def _sources(page: PageContext) -> None:
    """Draw the choice of another corpus for the map."""
    prose(WORDS["sources"])
    if not sources.catalogue_only():
        st.text_input(WORDS["folder"], on_change=_take, args=(page, "folder"), placeholder=WORDS["folder_example"],
                      **shown("atlas-folder", page["folder"]))


def _take(page: PageContext, control: str) -> None:
    page.set(**{control: st.session_state[f"atlas-{control}"].strip()})


def corpus_sentence(atlas: Atlas) -> str:
    """Describe the measured corpus."""
    about = atlas.about
    files = ", ".join(file["name"] for file in about["files"])
    sentence = WORDS("corpus", about=about, heads=len(atlas.heads), files=escape_markdown(files))
    return sentence + (" " + WORDS("cut", about=about) if about["cut"] else "")


def atlas_scatter(dots: HeadDots, *, axes: tuple[str, str], colour: str) -> FigureSpec:
    """Draw the map. axes: titles of x and y. colour: title of the colour bar. Dragging a frame selects the dots
    inside."""
    figure = chart(*axes, height=640)
    figure.update_layout(dragmode="select", margin={"t": BAR})
    for update, values in ((figure.update_xaxes, dots.x), (figure.update_yaxes, dots.y)):
        update(range=span(values))
    sizes = SMALL + (LARGE - SMALL) * np.nan_to_num(dots.size)
    faded = [bool(dots.chosen) and place not in dots.chosen for place in range(len(dots.names))]
    least, most = number_range(dots.colour)
    figure.add_scatter(
        x=dots.x, y=dots.y, mode="markers", customdata=list(dots.names), name="heads",
        hovertemplate="<b>%{customdata}</b><br>%{x:.3f}<br>%{y:.3f}<br>%{marker.color:.3f}<extra></extra>",
        marker={"color": dots.colour, "colorscale": weight_scale(2), "cmin": least, "cmax": most, "size": sizes,
                "opacity": [0.25 if each else 0.95 for each in faded],
                "line": {"color": QUIET, "width": 1},
                # above the map, whose width a phone needs
                "colorbar": {"title": {"text": colour, "side": "top", "font": {"size": 13}}, "thickness": 10,
                             "outlinewidth": 0, "orientation": "h", "x": 0, "xanchor": "left", "y": 1,
                             "yanchor": "bottom"}})
    if dots.open_head is not None:
        _mark(figure, dots, sizes, dots.open_head)
    figure.update_layout(showlegend=False)
    return figure


def span(values: np.ndarray) -> list[float]:
    """Return an axis range that contains all numbers with some margin."""
    low, high = number_range(values)
    room = 0.07 * (high - low)
    return [low - room, high + room]


def _mark(figure: FigureSpec, dots: HeadDots, sizes: np.ndarray, here: int) -> None:
    """Draw a ring around the open head, with its name."""
    at, room = placed_points(figure, dots.x, dots.y)
    halo = ", ".join([f"0 0 2px {PAPER}"] * 3)   # keeps the name legible over other dots
    side = name_sides(at, room, sizes / 2, [(here, dots.names[here], LETTERS)], always=1)[0]
    figure.add_scatter(x=dots.x[[here]], y=dots.y[[here]], mode="markers+text", hoverinfo="skip",
                       text=[dots.names[here]], textposition=side, name=dots.names[here],
                       textfont={"color": ACCENT, "size": LETTERS + 1, "shadow": halo},
                       marker={"size": float(sizes[here]) + OPEN, "color": "rgba(0,0,0,0)",
                               "line": {"color": ACCENT, "width": 2.5}})
