"""The section of *From kernels to attention* in which three scores learn to look something up, side by side."""
import numpy as np
import streamlit as st

from model.lessons import scores
from viz.figures.lines import Line, lines
from viz.format import format_share
from viz.page import PageContext
from viz.pages.kernels.copying import shipped_runs
from viz.widgets.control_widgets import button_setting, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

SMOOTH = 10     # steps that a point of the curves is the mean of
COLOURS = {"additive": 2, "scaled": 0, "plain": 1}


def scores_section(page: PageContext, lesson: Lesson, widths: tuple[int, ...], seeds: int) -> None:
    """The runs in assets/lessons over d_k, and beside them a training of one's own at the chosen d_k."""
    words, turned = lesson.prose["scores"], page.controls
    shipped = shipped_runs()
    with lesson.section("scores"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=320):
                slider_for(page, "dk", words["dk"], widths)
            toggle_for(page, "train", words["train"])
            button_setting(page, words["again"], "another-start", seed=(turned["seed"] + 1) % seeds)
        left, right = st.columns(2, gap="medium")
        with left:
            _over_widths(lesson, shipped, turned["dk"])
        with right:
            if turned["train"]:
                trained = page.ask(scores.ScoresQuery(turned["dk"], turned["seed"]))
                _live(lesson, trained, turned["dk"])
            else:
                with st.container(border=True, height=360, horizontal_alignment="center", vertical_alignment="center"):
                    st.caption(words["off"], width="content")
        if turned["train"]:
            st.markdown(_table(words, trained))
            st.caption(words["table_about"].format(timed=scores.TIMED))
        counts = {f"{short}_{what}": number for short, kind in (("add", "additive"), ("dot", "scaled"))
                  for what, number in scores.operations(kind, turned["dk"]).items()}
        ends = {kind: _means(shipped, kind, 0)[-1] for kind in scores.KINDS}
        starts = np.array(shipped["scores"]["additive"])[-1, :, 0]
        lesson.explanation("scores", starts=len(starts), learnt=int((starts < 0.01).sum()), worst=starts.max(),
                           date=shipped["date"], command=shipped["command"], machine=shipped["machine"],
                           seeds=len(starts),
                           shown=(scores.score, scores.train),
                           shapes={"W_q": f"float32 ({scores.SYMBOLS}, {turned['dk']})"}, widest=shipped["widths"][-1],
                           chance=np.log(scores.CLASSES), steps=scores.STEPS, d_k=turned["dk"], **ends, **counts)


def _means(shipped: dict, kind: str, which: int) -> np.ndarray:
    """Mean over the seeds (d_k) of the final loss (0) or accuracy (1)."""
    return np.array(shipped["scores"][kind])[..., which].mean(1)


def _over_widths(lesson: Lesson, shipped: dict, d_k: int) -> None:
    words, drawn = lesson.prose["scores"], []
    for kind in scores.KINDS:
        runs = np.maximum(np.array(shipped["scores"][kind])[..., 0], 1e-4)
        drawn.append(Line(words["names"][kind], runs.mean(1), COLOURS[kind], band=(runs.min(1), runs.max(1))))
    widths = np.array(shipped["widths"])
    figure(lambda theme: lines(theme, widths, drawn, axes=("d_k", words["loss"]), log="x",
                               marks=[(d_k, f"d_k = {d_k}")], height=360,
                               bounds=[(float(np.log(scores.CLASSES)), words["guessing"])]),
           key="kernels-widths",
           alt=lesson.alt("scores", **{kind: _means(shipped, kind, 0)[-1] for kind in scores.KINDS}, widest=widths[-1]))


def _live(lesson: Lesson, trained: scores.Scores, d_k: int) -> None:
    words = lesson.prose["scores"]
    steps = np.arange(SMOOTH, scores.STEPS + 1, SMOOTH)
    drawn = [Line(words["names"][kind], trained.loss[kind].reshape(-1, SMOOTH).mean(1), COLOURS[kind])
             for kind in scores.KINDS]
    figure(lambda theme: lines(theme, steps, drawn, axes=(words["step"], words["loss"]), height=360,
                               bounds=[(float(np.log(scores.CLASSES)), words["guessing"])]),
           key="kernels-training",
           alt=words["alt_live"].format(d_k=d_k, **{kind: trained.loss[kind][-SMOOTH:].mean()
                                                    for kind in scores.KINDS}))


def _table(words: dict, trained: scores.Scores) -> str:
    rows = [words["table_head"], "|---|---:|---:|---:|---:|"]
    for kind in scores.KINDS:
        cells = [words["names"][kind], format_share(trained.accuracy[kind][-SMOOTH:].mean(), 0),
                 f"{trained.entropy[kind]:z.2f}", f"{trained.seconds[kind]:z.2f}",
                 f"{trained.scoring[kind] * 1e6:,.0f}"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)
