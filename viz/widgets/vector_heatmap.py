"""Vectors as coloured strips, lying or standing: rows as in the paper (x · W), or columns as in 3Blue1Brown (W x). The
choice is the view's `transpose`, so that one switch holds for all pages."""
from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.core.record import Tokens
from viz.figures.matrix import CellStyle, matrix
from viz.format import visible_token
from viz.page import PageContext
from viz.widgets.fields import bind
from viz.widgets.figure import figure

STANDING = 520   # pixels: how tall columns stand


def columns_switch(page: PageContext, words: dict) -> bool:
    """The remembered switch; True for columns."""
    shown = page.view().transpose
    st.toggle(words["columns"], help=words["columns_help"], **bind(page.set, "transpose", shown))
    return shown


def token_name(tokens: Tokens, place: int) -> str:
    """A token and its place, for an axis."""
    return f"{visible_token(tokens.texts[place])} {place}"


def vector_strips(vectors: Sequence[tuple[str, np.ndarray]], *, key: str, alt: str, columns: bool = False,
                  axis: str = "dimension", bound: float | None = None, name: str = "") -> None:
    """One strip for each (name, vector); all of one length, on one scale symmetric about 0. key, alt, name: as of a
    figure."""
    names, numbers = [name for name, _ in vectors], np.stack([vector for _, vector in vectors])
    places = [str(place) for place in range(numbers.shape[1])]
    if columns:
        figure(lambda theme: matrix(theme, numbers.T, places, names, axes=("", axis), height=STANDING,
                                    style=CellStyle("signed", bound=bound, square=False)),
               key=key, alt=alt, name=name)
    else:
        figure(lambda theme: matrix(theme, numbers, names, places, axes=(axis, ""), height=112 + 25 * len(names),
                                    style=CellStyle("signed", bound=bound, square=False)),
               key=key, alt=alt, name=name)
