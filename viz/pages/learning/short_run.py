"""The part of *How it is trained* that trains: a run of seconds with the settings of the page, beside the same run
under the paper's optimiser."""
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from model.lessons import learning
from model.lessons.learning import RunQuery, ShortRun
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.theme import READABLE
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson


def run_question(controls: Mapping[str, Any]) -> RunQuery:
    """The run that the page's controls mean; what does not matter to a target is at its start, so that equal runs are
    one question."""
    question = RunQuery(controls["goal"], beta2=controls["b2"], adam_epsilon=controls["ae"], rate=controls["rate"],
                        warm_up=controls["warm"], decay=controls["decay"], clip=controls["clip"], seed=controls["seed"])
    return replace(question, epsilon=controls["eps"],
                   definition=controls["where"]) if question.target == "smooth" else question


def reference_question(question: RunQuery) -> RunQuery:
    """What it is compared with: the paper's optimiser scaled to this run; for fine-tuning the same from untrained
    weights."""
    return replace(question, fresh=True) if question.target == "other" else RunQuery(seed=question.seed)


def real_run(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """The section: the settings, the run, and its curves."""
    words, controls = lesson.prose["run"], page.controls
    question = run_question(controls)
    with lesson.section("run"):
        st.markdown(words["about"].format(width=learning.WIDTH, steps=learning.STEPS, size=learning.SIZE),
                    width=READABLE)
        choice_for(page, "goal", words["goal"], words["goals"])
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "clip", words["clip"], (0, 0.1, 0.3, 1.0, 3.0),
                       say=lambda value: f"{value:g}" if value else words["never"])
        with right:
            slider_for(page, "seed", words["seed"], range(1, 6))
        button_setting(page, words["stop" if controls["run"] else "go"], "run-it", run=not controls["run"])
        if not controls["run"]:
            st.caption(words["idle"])
            return
        st.caption(_settings(lesson, question))
        other = reference_question(question)
        own, reference = page.ask_each([question, other], height=420)
        _draw(lesson, question, own, other, reference, revealed)


def _settings(lesson: Lesson, question: RunQuery) -> str:
    """The settings of a run in one line."""
    words = lesson.prose["run"]
    smooth = words["smooth"].format(epsilon=question.epsilon,
                                    where=lesson.prose["smoothing"]["wheres"][question.definition])
    return words["settings"].format(
        goal=words["goals"][question.target], beta2=question.beta2, adam_epsilon=question.adam_epsilon,
        rate=question.rate, warm=question.warm_up, decay=words["decays"][str(question.decay).lower()],
        clip=f"{question.clip:g}" if question.clip else words["never"], seed=question.seed,
        smooth=smooth if question.target == "smooth" else "")


def _draw(lesson: Lesson, question: RunQuery, own: ShortRun, other: RunQuery, reference: ShortRun,
          revealed: bool) -> None:
    words = lesson.prose["run"]
    name = words["fresh"] if other.fresh else words["paper"]
    pair = [(name, reference, 0, "dash"), (words["own"], own, 1, "solid")][other == question:]
    steps, tested = np.arange(1, len(own.loss) + 1), own.tested.astype(int)
    floor = [Line(words["floor"], own.floor, None, "dot")] if revealed and own.floor.any() else []
    pictures = {
        "right": (tested, [Line(label, run.right, colour, style) for label, run, colour, style in pair], ""),
        "nats": (tested, [Line(label, run.nats, colour, style) for label, run, colour, style in pair], ""),
        "loss": (steps, [Line(label, run.loss, colour, style) for label, run, colour, style in pair] + floor, ""),
        "gradient": (steps, [Line(label, run.gradient, colour, style) for label, run, colour, style in pair], "y")}
    for row in (("right", "nats"), ("loss", "gradient")):
        for column, field in zip(st.columns(2, gap="medium"), row, strict=True):
            x, drawn, log = pictures[field]
            with column:
                figure(lambda theme, x=x, drawn=drawn, log=log, field=field: lines(
                    theme, x, drawn, axes=(words["step"], words["axes"][field]), log=log, height=280),
                       key=f"learning-run-{field}",
                       alt=words["alts"][field].format(own=getattr(own, field)[-1],
                                                       other=getattr(reference, field)[-1]))
    alone, cut = other == question, float((own.gradient > question.clip).mean())
    lesson.explanation(
        "run", shown=(learning.targets, learning.train), shapes={"loss": own.loss, "right": own.right},
        right=own.right[-1], nats=own.nats[-1], even=math.log(2), longest=own.gradient.max(), start=own.nats[0],
        loss=float(own.loss[-20:].mean()), tested=learning.TESTED,
        beside="" if alone else words["beside"].format(other=name, right=reference.right[-1], nats=reference.nats[-1]),
        other_start="" if alone else words["other_start"].format(other=name, start=reference.nats[0]),
        floor=words["over"].format(floor=float(own.floor.mean())) if revealed and own.floor.any() else "",
        clipped=words["clipped"].format(cut=cut) if question.clip else "")
