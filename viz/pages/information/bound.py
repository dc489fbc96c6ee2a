"""The section on what training raises a bound on."""
import numpy as np
import streamlit as st

from model.lessons import information
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

SHARES = np.linspace(0, 3, 61)


def bound_section(page: PageContext, lesson: Lesson) -> None:
    """H(Y) minus cross-entropy over how much a model has learnt, under I(X;Y)."""
    words, learnt, bond = lesson.prose["bound"], page.controls["learnt"], page.controls["bond"]
    bound, here = information.bound(bond, SHARES), information.bound(bond, np.array([learnt]))
    shown, proved = bound.entropy - bound.cross_entropy, here.entropy - float(here.cross_entropy[0])
    with lesson.section("bound"):
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "learnt", words["learnt"], SHARES[::5].round(2))
        with right:
            slider_for(page, "bond", words["bond"], np.linspace(0, 4, 9))
        drawn = [Line(words["cross_entropy"], bound.cross_entropy, 1, "dash"),
                 Line(f"H(Y) = {bound.entropy:z.3f}", np.full_like(SHARES, bound.entropy), 1, "dot"),
                 Line(words["bound"], shown, 0),
                 Line(f"I(X;Y) = {bound.information:z.3f}", np.full_like(SHARES, bound.information), 0, "dot")]
        figure(lambda theme: lines(theme, SHARES, drawn, axes=(words["share"], "bits"),
                                   marks=[(learnt, f"s = {learnt:g}")], height=360),
               key="information-bound",
               alt=lesson.alt("bound", information=bound.information, best=float(shown.max()), last=float(shown[-1])))
        lesson.explanation("bound", shown=(information.bound,), shapes={"cross_entropy": bound.cross_entropy},
                           last=float(shown[-1]), learnt=learnt, here=float(here.cross_entropy[0]), proved=proved,
                           information=bound.information)
