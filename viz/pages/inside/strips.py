"""Every step of the head in every dimension: strips and bars, folded away."""
from dataclasses import replace

import streamlit as st

from viz.page import PageContext
from viz.pages.inside.steps import STEPS, TRACED, StepContext, chosen_key
from viz.text import escape_markdown
from viz.theme import READABLE
from viz.widgets.control_widgets import choice_for
from viz.widgets.lesson import Lesson, computing
from viz.widgets.sentence_strip import sentence_strip
from viz.widgets.vector_heatmap import columns_switch

NAMES = tuple(STEPS)
COVERED = ("mix",)   # its sentence says where the output lies


def draw_strips(page: PageContext, lesson: Lesson, here: StepContext, revealed: bool, opened: bool) -> None:
    """The ten steps, made only once somebody opens them. opened: whether they are at first, as for a link to a step."""
    words = lesson.prose["widgets"]
    if chosen_key(page, here.path) != here.key:
        st.rerun()   # another key was clicked, which is in the pictures above and below as well
    with st.expander(words["strips"], key="strips", expanded=opened, on_change="rerun") as fold:
        if not fold.open:
            return
        st.caption(words["key"])
        sentence_strip(here.record[here.view.kind].keys, focus=here.key, pairs=False, key="inside_keys",
                       on_event=lambda event: page.set(to=-1 if event.token is None else event.token))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _steps(page, lesson)
            columns = columns_switch(page, words)
        _step(page, lesson, replace(here, columns=columns), revealed)


def _steps(page: PageContext, lesson: Lesson) -> None:
    """Back, the steps by name, forward."""
    words, here = lesson.prose["widgets"], NAMES.index(page.controls["step"])
    st.button("←", key="step-back", help=words["back"], disabled=here == 0,
              on_click=lambda: page.set(step=NAMES[here - 1]))
    choice_for(page, "step", words["step"],
               {name: f"{number + 1} {lesson.prose['steps'][name]['short']}" for number, name in enumerate(NAMES)})
    st.button("→", key="step-on", help=words["on"], disabled=here == len(NAMES) - 1,
              on_click=lambda: page.set(step=NAMES[here + 1]))


def _step(page: PageContext, lesson: Lesson, here: StepContext, revealed: bool) -> None:
    step = page.controls["step"]
    prose = lesson.prose["steps"][step]
    title, lost = f"#### {NAMES.index(step) + 1} · {prose['title']}", here.trace is None and step in TRACED
    st.markdown(title if lost else f"{title}\n\n$$\n{prose['columns' if here.columns else 'rows']}\n$$")
    if lost:
        st.info(here.without)
        return
    if step in COVERED and not revealed:
        lesson.placeholder(f"step-{step}")
        return
    with computing():
        numbers = STEPS[step](here, lesson, prose)
    names = {"token": escape_markdown(here.spoken(query=True)), "key": escape_markdown(here.spoken(here.key)),
             "layer": here.view.layer, "head": here.view.head}
    st.markdown(prose["says"].format(**(names | numbers)), width=READABLE)
