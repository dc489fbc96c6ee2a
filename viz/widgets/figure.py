"""Figures with their downloads, and vectors as coloured strips."""
import uuid
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st

from clearhead.model.core.files import name_for
from clearhead.model.core.query import isolated
from clearhead.model.core.tokens import Tokens
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept
from clearhead.viz.components.chart import chart
from clearhead.viz.export.handout.files import Item
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.text import Texts, strings
from clearhead.viz.widgets.fields import toggle
from clearhead.viz.widgets.handout_button import offer
from clearhead.viz.widgets.layout import flex_row

WORDS = strings("lesson")

_SAVING = Kept[frozenset[str]](frozenset())   # keys of the figures whose *Save* panel is open


def page_theme() -> str:
    """Return the page's theme, light or dark."""
    return "dark" if st.context.theme.type == "dark" else "light"


def figure(draw: Callable[..., FigureSpec], *given: object, key: str, alt: str, name: str = "",
           on_pick: Callable[[list[int]], None] | None = None, **options: object) -> None:
    """Draw `draw(*given, **options)` as a fragment, so that its tools work without rerunning the page.

    key: identifies the figure on the page, and names its files unless `name` is given. Figures that replace one another
    share a key, because browsers update a chart faster than they build one. alt: one sentence that describes the figure
    with its numbers. on_pick: as in `viz.components.chart.chart`; the page reruns afterwards.
    """
    drawn, name = partial(draw, *given, **options), f"clearhead-{name_for(name or key, 'figure')}"
    picked, image = False, None   # what the reader did since the figure was drawn

    def pick(points: list[int]) -> None:
        nonlocal picked
        picked = True
        if on_pick is not None:
            on_pick(points)

    def save(kind: str, scale: int) -> None:
        nonlocal image
        image = {"format": kind, "filename": name, "scale": scale, "id": uuid.uuid4().hex}

    @st.fragment
    def part() -> None:
        nonlocal image
        if picked:
            st.rerun()
        saving, now, image = _SAVING.value, image, None
        chart(drawn().to_plotly_json(page_theme()), key=f"chart-{key}", alt=alt,
              saving=key in saving, image=now, on_save=lambda: _SAVING.put(saving ^ {key}),
              on_pick=None if on_pick is None else pick)
        if key in saving:
            _save(drawn, key, name, save)
        offer(f"chart-{key}", alt, lambda where, link: _kept(drawn(), alt, where, link))

    part()


def _kept(drawn: FigureSpec, alt: str, where: str, link: str) -> Item:
    from clearhead.viz.export.handout.build import chart_item

    return chart_item(drawn, alt, where=where, link=link)


def _save(drawn: Callable[[], FigureSpec], key: str, name: str, save: Callable[[str, int], None]) -> None:
    """Draw the *Save* panel below a figure. save: makes the browser download an image, given its format and scale."""
    from clearhead.viz.export.tables import chart_csv  # imports what would delay the first page

    with flex_row(horizontal_alignment="right", gap="small", key=f"open-save-{key}"):
        for kind, scale in (("png", 2), ("svg", 1)):
            st.button(kind.upper(), key=f"{kind}-{key}", on_click=save, args=(kind, scale))
        st.download_button("CSV", lambda: chart_csv(drawn()), f"{name}.csv", "text/csv", on_click="ignore",
                           key=f"csv-{key}")


STANDING = 520   # height of upright columns in pixels


def columns_switch(page: PageContext, words: Texts) -> bool:
    """Draw the remembered switch for upright columns; return whether it is on."""
    shown = page.view().transpose
    toggle(words["columns"], page.set, "transpose", shown, words["columns_help"])
    return shown


def token_name(tokens: Tokens, place: int) -> str:
    """Return a token's axis label, with its position."""
    return f"{isolated(visible_token(tokens.texts[place]))} {place}"


def vector_strips(vectors: Sequence[tuple[str, np.ndarray]], *, key: str, alt: str, columns: bool = False,
                  bound: float | None = None, name: str = "") -> None:
    """Draw one strip per (name, vector) on a common scale symmetric around 0. All vectors have the same length.
    columns: draw the strips upright. key, alt, name: as in `figure`."""
    names, numbers = zip(*vectors, strict=True)
    drawn, axes = np.stack(numbers), ("dimension", "")
    figure(matrix, drawn.T if columns else drawn, **{"columns" if columns else "rows": names},
           axes=axes[::-1] if columns else axes, height=STANDING if columns else 112 + 25 * len(vectors),
           style=CellStyle("signed", bound=bound, square=False), key=key, alt=alt, name=name)
