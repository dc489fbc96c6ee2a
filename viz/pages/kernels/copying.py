"""The section of *From kernels to attention* in which recurrent encoder–decoders copy; and the runs that come with the
program."""
import functools
import json

import numpy as np
import streamlit as st

from model.core.assets import ASSETS
from model.lessons import copying
from viz.figures.lines import Line, lines
from viz.figures.matrix import matrix
from viz.page import PageContext
from viz.widgets.control_widgets import button_setting, toggle_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

RUNS = ASSETS / "lessons" / "kernels.json"   # made by python -m benchmarks.kernels
COLOURS = {"fixed": 1, "wide": 4, "attention": 0}
STYLES = {"fixed": "solid", "wide": "dash", "attention": "solid"}


@functools.cache
def shipped_runs() -> dict:
    """The runs of benchmarks.kernels as they come with the program."""
    return json.loads(RUNS.read_text(encoding="utf-8"))


def copying_section(page: PageContext, lesson: Lesson, seeds: int) -> None:
    """Accuracy by length of the runs in assets/lessons or of one's own, and where attention looked while it copied."""
    from model.lessons.recurrent import Copier

    words, turned, shipped = lesson.prose["copying"], page.controls, shipped_runs()
    with lesson.section("copying"):
        revealed = lesson.predict("copying", "guess_copy")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            toggle_for(page, "copy", words["switch"].format(steps=copying.SHORT), help=words["switch_help"])
            button_setting(page, words["again"], "copy-again", again=(turned["again"] + 1) % seeds)
        if not revealed:
            lesson.placeholder("copying", height=380)
            return
        left, right = st.columns([3, 2], gap="medium")
        with left:
            own = page.ask(copying.CopyQuery(turned["again"])) if turned["copy"] else None
            right_of = {kind: np.array(runs) for kind, runs in shipped["copying"]["right"].items()}
            if own is not None:
                right_of = {kind: runs[None] for kind, runs in own.right.items()}
            _by_length(lesson, right_of)
        shown = own or _first(shipped)
        with right:
            _alignment(lesson, shown)
        numbers = {"date": shipped["date"], "command": shipped["command"], "machine": shipped["machine"],
                   "seeds": len(shipped["copy_seeds"]), "steps": shipped["copy_steps"]}
        st.caption(words["from"].format(**numbers) if own is None else
                   words["own"].format(steps=copying.SHORT,
                                        seconds=", ".join(f"{words['names'][kind]} {second:z.1f} s"
                                                          for kind, second in own.seconds.items())))
        long = list(copying.LENGTHS).index(20)
        short, trained = list(copying.LENGTHS).index(4), list(copying.LENGTHS).index(copying.TRAINED)
        at = {f"{kind}_{name}": right_of[kind].mean(0)[place] for kind in copying.LIVE
              for name, place in (("short", short), ("trained", trained), ("long", long))}
        lesson.explanation("copying", shown=(Copier.forward, Copier.weights), shapes={"alignment": shown.alignment},
                           trained=copying.TRAINED, **at, **shipped["copying"]["parameters"],
                           wide_trained=np.array(shipped["copying"]["right"]["wide"]).mean(0)[trained])


def _first(shipped: dict) -> copying.Copying:
    """The first seed's alignment among the shipped runs, as an answer."""
    part = shipped["copying"]
    return copying.Copying({}, {}, {}, np.array(part["alignment"]), tuple(part["text"]), tuple(part["written"]))


def _by_length(lesson: Lesson, right_of: dict[str, np.ndarray]) -> None:
    words, lengths = lesson.prose["copying"], np.array(copying.LENGTHS)
    drawn = [Line(words["names"][kind], runs.mean(0), COLOURS[kind], STYLES[kind],
                  (runs.min(0), runs.max(0)) if len(runs) > 1 else None)
             for kind, runs in right_of.items()]
    figure(lambda theme: lines(theme, lengths, drawn, axes=(words["length"], words["share"]), y_range=(0, 1.03),
                               height=380, marks=[(copying.TRAINED, words["trained"].format(longest=copying.TRAINED))],
                               bounds=[(1 / 12, words["guessing"])]),
           key="kernels-copying",
           alt=words["alt"].format(fixed=right_of["fixed"].mean(0)[-1], attention=right_of["attention"].mean(0)[-1],
                                   longest=lengths[-1]))


def _alignment(lesson: Lesson, shown: copying.Copying) -> None:
    words = lesson.prose["copying"]
    read, written = ([chr(ord("a") + number) for number in side] for side in (shown.text, shown.written))
    figure(lambda theme: matrix(theme, shown.alignment, written, read, axes=(words["read"], words["written"]),
                                height=380),
           key="kernels-alignment", alt=words["alt_alignment"].format(text=" ".join(read), written=" ".join(written)))
