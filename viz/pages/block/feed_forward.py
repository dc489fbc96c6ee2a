"""The sections about the feed-forward layer: how much of it is silent, and what its nonlinearity is good for."""
from collections.abc import Callable

import numpy as np
import streamlit as st

from model.core.trace import Block, Trace
from model.lessons import block
from viz.figures.bars import bars, histogram
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

X = np.linspace(-1, 1, 201)
TARGET = np.sin(5 * X) + 0.5 * np.cos(11 * X)      # any function with bends would do


def feed_forward_section(lesson: Lesson, trace: Trace, this_block: Block, title: str,
                         said: Callable[[int, Trace, dict], str]) -> None:
    """Values before and after the activation in this block, and the silent ones block by block. said: a block's
    name."""
    words, parts = lesson.prose["feed_forward"], lesson.prose["parts"]
    with lesson.section("feed_forward"):
        inner = this_block.feed_forward
        if inner is None:
            st.info(words["unknown"])
            return
        left, right = st.columns(2, gap="medium")
        span = float(np.quantile(np.abs(inner.before), 0.999))
        edges = np.linspace(-span, span, 61)
        shares = {words[name]: np.histogram(getattr(inner, name), edges)[0] / inner.before.size
                  for name in ("before", "active")}
        with left:
            figure(lambda theme: histogram(theme, edges, shares, axes=(words["value"], words["share"]),
                                           marks=[(0, "0")], height=320),
                   key="block-activations",
                   alt=lesson.alt("feed_forward", activation=inner.activation, block=this_block.index))
        known = {place: one.feed_forward for place, one in enumerate(trace.blocks) if one.feed_forward is not None}
        inactive = np.array([block.inactive_shares(each.before, each.active) for each in known.values()])
        names = [said(place, trace, parts) for place in known]
        with right:
            figure(lambda theme: bars(theme, names, dict(zip(words["groups"], inactive.T, strict=True)),
                                      axes=(words["layer"], words["share"]), y_range=(0, 1), height=320),
                   key="block-silent", alt=words["alt_silent"].format(activation=inner.activation))
        zero, near, relu = block.inactive_shares(inner.before, inner.active)
        lesson.explanation("feed_forward", shown=(block.inactive_shares,),
                           shapes={"before": inner.before, "active": inner.active}, activation=inner.activation,
                           d_ff=inner.before.shape[1], d_model=inner.output.shape[1],
                           wide=inner.before.shape[1] / inner.output.shape[1], zero=zero, near=near, relu=relu,
                           model=title, number=said(trace.blocks.index(this_block), trace, parts),
                           gated=words["gated" if inner.gated else "plain"],
                           exact=words["relu" if inner.activation.lower() == "relu" else "smooth"].format(
                               activation=inner.activation))


def left_over(units: int) -> float:
    """The share of the target's variance that a fit with so many units leaves."""
    return float(np.var(TARGET - block.bent_fit(TARGET, X, units)) / np.var(TARGET))


def bend_section(page: PageContext, lesson: Lesson) -> None:
    """One feature in, one out: what ReLU units can do that matrices alone cannot."""
    words, units = lesson.prose["bend"], page.controls["units"]
    with lesson.section("bend"):
        slider_for(page, "units", words["units"], range(33), say=str)
        fit = block.bent_fit(TARGET, X, units)
        drawn = [Line(words["target"], TARGET, None, "dash"),
                 Line(words["line"], block.bent_fit(TARGET, X, 0), 1, "dot"),
                 Line(words["fit"].format(units=units), fit, 0, "solid")]
        left, straight = left_over(units), left_over(0)
        figure(lambda theme: lines(theme, X, drawn, axes=(words["x"], words["y"]), height=320), key="block-bend",
               alt=lesson.alt("bend", units=units, left=left))
        lesson.explanation("bend", shown=(block.bent_fit,), shapes={"fit": fit}, straight=straight,
                           says=words["says"]["bent" if units else "straight"].format(units=units, left=left,
                                                                                     straight=straight))
