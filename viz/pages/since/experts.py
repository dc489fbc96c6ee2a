"""The section in which a router sends each token to one of four experts."""
import numpy as np
import streamlit as st

from model.lessons import since
from viz.figures.bars import bars
from viz.figures.matrix import matrix
from viz.page import PageContext
from viz.widgets.control_widgets import choice_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson, computing

TEXTS = {"english": "<start> the old king sings in the garden .",
         "french": "<start> le vieux homme dort dans la maison .",
         "sum": "<start> two plus five is seven ."}


def experts_section(page: PageContext, lesson: Lesson) -> None:
    """One sentence through the router, and how many tokens of many sentences each expert gets."""
    words, balanced = lesson.prose["experts"], page.controls["balance"]
    with lesson.section("experts"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            choice_for(page, "routed", words["text"], words["texts"])
            toggle_for(page, "balance", words["balance"])
        text = TEXTS[page.controls["routed"]].split()
        with computing():
            gates = since.route(text, balanced)
            loads = {kind: since.load(kind) for kind in (True, False)}
        names = [words["expert"].format(number=number + 1) for number in range(since.EXPERTS)]
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: matrix(theme, gates, [word.strip("<>") for word in text], names,
                                        axes=("", words["word"]), height=330), key="since-router",
                   alt=lesson.alt("experts", words=len(text), experts=since.EXPERTS))
        with right:
            shares = {words["loads"][str(kind).lower()]: loads[kind].shares for kind in (True, False)}
            figure(lambda theme: bars(theme, names, shares, axes=("", words["share"]), y_range=(0, 0.7), height=330),
                   key="since-load", alt=words["alt_load"].format(on=loads[True].shares.max(),
                                                                  off=loads[False].shares.max()))
        _explain(lesson, text, gates, loads, balanced)


def _explain(lesson: Lesson, text: list[str], gates: np.ndarray, loads: dict[bool, since.Load],
             balanced: bool) -> None:
    busiest, chosen = since.busiest_by_seed(), gates.argmax(-1)
    surest = int(gates.max(-1).argmax())
    sizes = since.shipped()[balanced]
    each = sizes["up"][0].numel() + sizes["down"][0].numel()
    lesson.explanation("experts", shown=(since.forward, since.balancing), shapes={"gates": gates},
                       word=text[surest].strip("<>"), expert=chosen[surest] + 1, share=gates[surest].max(),
                       used=len(set(chosen.tolist())), count=since.EXPERTS, one=each, all=since.EXPERTS * each,
                       on=loads[True].shares.max(), off=loads[False].shares.max(), nats_on=loads[True].nats,
                       nats_off=loads[False].nats, held_out=since.HELD_OUT, seeds=len(busiest["free"]),
                       mean_on=float(np.mean(busiest["balanced"])), mean_off=float(np.mean(busiest["free"])),
                       low_off=min(busiest["free"]), high_off=max(busiest["free"]),
                       low_on=min(busiest["balanced"]), high_on=max(busiest["balanced"]))
