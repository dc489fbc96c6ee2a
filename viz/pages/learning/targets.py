"""The part of *How it is trained* that shows one loss with three targets, on a real student and its teacher."""
import numpy as np
import streamlit as st

from model.ask import sources
from model.lessons import learning
from model.studies.predictions import NextWordQuery, distribution
from viz.figures.bars import bars, stacked_bars
from viz.page import PageContext
from viz.text import escape_markdown
from viz.widgets.control_widgets import slider_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

SHOWN = 7   # signs in the picture


def three_targets(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """Next sign, distillation and fine-tuning on one student: the same loss and the same slope, only the target
    differs."""
    words, known = lesson.prose["targets"], learning.steps()
    step = min(known, key=lambda each: abs(each - page.controls["step"]))
    with lesson.section("targets"):
        first, second, third, fourth = st.columns([4, 4, 3, 2], gap="medium")
        with first:
            st.text_input(words["signs"], max_chars=60, help=words["signs_help"],
                          **bind(page.set, "signs", page.controls["signs"]))
        with second:
            slider_for(page, "step", words["step"], known, say=str, closed=True)
        with third:
            slider_for(page, "soft", words["soft"], (0.5, 1, 2, 4, 10))
        with fourth:
            st.text_input(words["wish"], max_chars=1, help=words["wish_help"],
                          **bind(page.set, "wish", page.controls["wish"]))
        text = page.controls["signs"].replace(" ", "")
        right, wished = learning.number(text[-1:]), learning.number(page.controls["wish"])
        if right is None or wished is None or len(text) < 2:
            st.info(words["unknown"])
            return
        if not revealed:
            lesson.placeholder("targets")
            return
        logits, taught = (page.ask(NextWordQuery(sources.open_query(model, text[:-1]))).logits
                          for model in (learning.student(step), learning.TEACHER))
        _draw(lesson, text, (right, wished), logits, taught, step)


def _draw(lesson: Lesson, text: str, signs: tuple[int, int], logits: np.ndarray, taught: np.ndarray, step: int) -> None:
    words, soft, wish = lesson.prose["targets"], lesson.page.controls["soft"], lesson.page.controls["wish"]
    student = distribution(logits)
    next_sign, wished = (learning.one_hot(sign, len(logits)) for sign in signs)
    chosen = next_sign, learning.soften(taught, soft), wished
    wanted = dict(zip(words["rows"], chosen, strict=True))
    split = {name: learning.parts(target, student) for name, target in wanted.items()}
    names = [*dict.fromkeys([*signs,
                             *(int(sign) for sign in np.argsort(-(student + wanted[words["rows"][1]]),
                                                                kind="stable")[:SHOWN])])][:SHOWN]
    labels = learning.signs(names)
    left, right = st.columns(2, gap="medium")
    with left:
        figure(lambda theme: stacked_bars(theme, list(wanted),
                                          [(words["floor"], 0, np.array([parts[0] for parts in split.values()])),
                                           (words["gap"], 1, np.array([parts[1] for parts in split.values()]))],
                                          axis=words["axis"], height=320),
               key="learning-targets",
               alt=lesson.alt("targets",
                              **{name: split[row][2] for name, row in zip("abc", words["rows"], strict=True)}))
    with right:
        slopes = {name: -learning.slope(target, student)[names] for name, target in wanted.items()}
        figure(lambda theme: bars(theme, labels, slopes, axes=(words["sign"], words["push"]), height=320),
               key="learning-push", alt=words["alt_push"].format(sign=text[-1], push=slopes[words["rows"][0]][0]))
    teacher = wanted[words["rows"][1]]
    lesson.explanation("targets",
                       shown=(learning.parts, learning.slope, learning.one_hot, learning.soften),
                       shapes={"logits": logits, "student": student, "teacher": teacher}, step=step,
                       sign=escape_markdown(text[-1]), before=escape_markdown(text[:-1]), p=student[signs[0]],
                       teacher=teacher[signs[0]], wish=escape_markdown(wish), word=split[words["rows"][0]][2],
                       floor=split[words["rows"][1]][0], distil=split[words["rows"][1]][2],
                       tune=split[words["rows"][2]][2], size=len(logits), guess=np.log(len(logits)), soft=soft)
