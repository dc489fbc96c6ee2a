"""The section that asks whether heads split the space into subspaces."""
import numpy as np
import streamlit as st

from model.core.query import UserError
from model.lessons import information
from model.lessons.information import Subspaces
from viz.figures.lines import Line, lines
from viz.format import format_share
from viz.page import PageContext
from viz.widgets.control_widgets import choice_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson


def subspaces_section(page: PageContext, lesson: Lesson) -> None:
    """Principal angles between the ranges of the heads of the layer that is chosen, and slices in their place."""
    words = lesson.prose["subspaces"]
    with lesson.section("subspaces"):
        view = page.view()
        choice_for(page, "matrix", words["matrix"], words["matrices"])
        try:
            found = page.ask(information.SubspacesQuery(page.query(), view.kind, view.layer))
        except UserError as error:
            st.info(str(error))
            return
        name = page.controls["matrix"]
        ranges = found.ranges[name]
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _angles(lesson, ranges, view.layer, name)
        with right:
            st.markdown(_table(words, found))
        overlap = words["overlaps" if len(ranges.overlap) else "shared"].format(
            layer=view.layer, matrix=words["matrices"][name], chance=ranges.width / found.d_model,
            overlap=float(ranges.overlap.mean()) if len(ranges.overlap) else 0.0)
        lesson.explanation("subspaces", shown=(information.bases, information.principal_angles, information.sliced),
                           shapes={"angles": ranges.angles}, heads=len(found.moved), d_model=found.d_model,
                           draws=information.DRAWS, inside=found.inside[name], chance=1 / ranges.heads,
                           overlap=overlap, together=ranges.together,
                           most=min(found.d_model, ranges.heads * ranges.width), moved=float(found.moved.mean()),
                           same=float(found.same.mean()), **found.own)


def _angles(lesson: Lesson, ranges: information.Ranges, layer: int, name: str) -> None:
    words, places = lesson.prose["subspaces"], np.arange(1, ranges.width + 1)
    drawn = [Line(words["slices"], np.full(ranges.width, 90.0), None, "dot"), _line(words["random"], ranges.random, 1)]
    if len(ranges.angles):
        drawn.append(_line(words["heads"], ranges.angles, 0))
    figure(lambda theme: lines(theme, places, drawn, axes=(words["axes"][0], words["axes"][1]), y_range=(0, 95),
                               height=360),
           key="information-subspaces",
           alt=lesson.alt("subspaces", layer=layer, matrix=words["matrices"][name],
                          heads=float(np.degrees(ranges.angles).mean()) if len(ranges.angles) else 0.0,
                          random=float(np.degrees(ranges.random).mean())))


def _line(name: str, angles: np.ndarray, colour: int) -> Line:
    degrees = np.degrees(angles)
    return Line(name, degrees.mean(0), colour, "solid" if colour == 0 else "dash", (degrees.min(0), degrees.max(0)))


def _table(words: dict, found: Subspaces) -> str:
    rows = [words["table_head"], "|---|---:|---:|---:|"]
    for name, ranges in found.ranges.items():
        overlap = format_share(float(ranges.overlap.mean()), 0) if len(ranges.overlap) else "–"
        rows.append(f"| {words['matrices'][name]} | {overlap} | {format_share(ranges.width / found.d_model, 0)} | 0% |")
    return "\n".join(rows)
