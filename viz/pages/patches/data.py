"""The last section of *Pictures as sentences*: a convolution and a Vision Transformer learn beside each other."""
from contextlib import closing

import numpy as np
import streamlit as st

from model.lessons import digit_patches
from model.lessons.digit_patches import COUNTS, KINDS, DigitRun, DigitRunQuery
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

TESTED = 250    # held-out digits (model/scratch/canvas.py)
SMOOTH = 10     # steps whose mean loss is drawn


def data_section(page: PageContext, lesson: Lesson) -> None:
    """The runs, one curve after the other as they are there."""
    words, turned = lesson.prose["data"], page.controls
    with lesson.section("data"):
        choice_for(page, "count", words["count"], {str(count): f"{count:,}" for count in COUNTS})
        with st.container(width=260):
            slider_for(page, "seed", words["seed"], range(1, digit_patches.SEEDS + 1))
        button_setting(page, words["stop" if turned["run"] else "go"], "train-both", run=not turned["run"])
        if not turned["run"]:
            st.caption(words["idle"])
            return
        questions = [DigitRunQuery(kind, int(turned["count"]), turned["seed"]) for kind in KINDS]
        runs: dict[str, DigitRun] = {}
        place = st.empty()
        with closing(page.ask_each(questions, height=300)) as answers:
            for kind, run in zip(KINDS, answers, strict=True):
                runs[kind] = run
                with place.container():
                    _curves(lesson, runs, int(turned["count"]))
        lesson.explanation("data", shown=(digit_patches.network, digit_patches.run), shapes={"right": run.right},
                           count=int(turned["count"]), tested=TESTED,
                           learned=runs["transformer"].learned, known=runs["convolution"].learned,
                           **{kind: float(run.right[-1]) for kind, run in runs.items()},
                           **{f"parameters_{kind}": run.parameters for kind, run in runs.items()})


def _curves(lesson: Lesson, runs: dict[str, DigitRun], count: int) -> None:
    """What the networks read of held-out digits, and their losses, over the steps."""
    words, step = lesson.prose["data"], f"-{len(runs)}" if len(runs) < len(KINDS) else ""
    tested = next(iter(runs.values())).tested.astype(int)
    names = {kind: words["names"][kind] for kind in runs}
    ends = ", ".join(words["alt_end"].format(name=names[kind], right=run.right[-1]) for kind, run in runs.items())
    steps = np.arange(SMOOTH, digit_patches.STEPS + 1)
    left, right = st.columns(2, gap="medium")
    with left:
        figure(lambda theme: lines(theme, tested, [Line(words["names"][kind], run.right, KINDS.index(kind))
                                                   for kind, run in runs.items()],
                                   axes=(words["step"], words["right"]), y_range=(0, 1), height=300),
               key=f"patches-right{step}", alt=lesson.alt("data", tested=TESTED, count=count, ends=ends))
    with right:
        figure(lambda theme: lines(theme, steps, [Line(words["names"][kind], np.convolve(
            run.loss, np.ones(SMOOTH) / SMOOTH, "valid"), KINDS.index(kind)) for kind, run in runs.items()],
                                   axes=(words["step"], words["loss"]), height=300),
               key=f"patches-loss{step}", alt=words["alt_loss"].format(names=", ".join(names.values())))
