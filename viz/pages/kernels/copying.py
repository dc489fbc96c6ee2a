"""The section of *From kernels to attention* in which recurrent encoder–decoders copy; and the runs that come with the
program."""
import functools
import json

import numpy as np
import streamlit as st

from model.core.files import ASSETS
from model.lessons import kernels
from viz.components.sketch import Axes
from viz.figures.lines import Line, lines
from viz.figures.matrix import matrix
from viz.page import PageContext
from viz.streamlit_patch import DeltaGenerator
from viz.widgets.control_widgets import button_setting, toggle_for
from viz.widgets.figure import figure
from viz.widgets.lesson import PLACES, Lesson, draw_first, drawn_control, drawn_line

DRAWN = drawn_control()
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
        left, right = _places(page)
        with left:
            revealed = lesson.predict("guess_copy")
        if not revealed:
            with right:
                draw_first(page, DRAWN, _sketch_axes(words))
            return
        with left, st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            toggle_for(page, "copy", words["switch"].format(steps=kernels.SHORT), help=words["switch_help"])
            button_setting(page, words["again"], "copy-again", again=(turned["again"] + 1) % seeds)
        with right:
            own = page.ask(kernels.CopyQuery(turned["again"])) if turned["copy"] else None
            right_of = {kind: np.array(runs) for kind, runs in shipped["copying"]["right"].items()}
            if own is not None:
                right_of = {kind: runs[None] for kind, runs in own.right.items()}
            shown, (lengths, alignment) = own or _first(shipped), st.columns([5, 4], gap="small")
            _by_length(lesson, right_of, lengths)
            with alignment:
                _alignment(lesson, shown)
        numbers = {"date": shipped["date"], "command": shipped["command"], "machine": shipped["machine"],
                   "seeds": len(shipped["copy_seeds"]), "steps": shipped["copy_steps"]}
        st.caption(words["from"].format(**numbers) if own is None else
                   words["own"].format(steps=kernels.SHORT,
                                        seconds=", ".join(f"{words['names'][kind]} {second:z.1f} s"
                                                          for kind, second in own.seconds.items())))
        places = {name: list(kernels.LENGTHS).index(length)
                  for name, length in (("short", 4), ("trained", kernels.TRAINED), ("long", 20))}
        at = {f"{kind}_{name}": right_of[kind].mean(0)[place] for kind in kernels.LIVE
              for name, place in places.items()}
        off = np.abs(shown.alignment.argmax(1) - np.arange(len(shown.alignment))).mean()
        lesson.explanation("copying", shown=(Copier.forward, Copier.weights), notices_in=right,
                           shapes={"alignment": shown.alignment},
                           trained=kernels.TRAINED, **at, **shipped["copying"]["parameters"], off=off,
                           wide_trained=np.array(shipped["copying"]["right"]["wide"]).mean(0)[places["trained"]])


def _sketch_axes(words: dict) -> Axes:
    """The axes of the figure with the answer; its lengths from edge to edge."""
    first, last = kernels.LENGTHS[0], kernels.LENGTHS[-1]
    return Axes((words["sketch_axes"][0], words["sketch_axes"][1]),
                [((length - first) / (last - first), str(length)) for length in (1, 4, 8, 12, 16, 20, 24)],
                [(share, f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)], 340)


def _first(shipped: dict) -> kernels.Copying:
    """The first seed's alignment among the shipped runs, as an answer."""
    part = shipped["copying"]
    return kernels.Copying({}, {}, {}, np.array(part["alignment"]), tuple(part["text"]), tuple(part["written"]))


def _places(page: PageContext) -> list[DeltaGenerator]:
    """Of question with controls, and of pictures: side by side; before a hall, where the question is a screen of its
    own, the pictures below."""
    return [st.container(), st.container()] if page.state.present else st.columns([2, 3], gap="medium")


def _by_length(lesson: Lesson, right_of: dict[str, np.ndarray], place: DeltaGenerator) -> None:
    words, lengths = lesson.prose["copying"], np.array(kernels.LENGTHS)
    drawn = [Line(words["names"][kind], runs.mean(0), COLOURS[kind], STYLES[kind],
                  (runs.min(0), runs.max(0)) if len(runs) > 1 else None)
             for kind, runs in right_of.items()]
    if len(lesson.page.controls["drawn"]) == PLACES:
        drawn.append(drawn_line(lesson.page.controls["drawn"], lengths, (0, 1)))
    with place:
        figure(lambda theme: lines(theme, lengths, drawn, axes=(words["length"], words["share"]), y_range=(0, 1.03),
                                   height=340,
                                   marks=[(kernels.TRAINED, words["trained"].format(longest=kernels.TRAINED))],
                                   bounds=[(1 / 12, words["guessing"])]),
               key="kernels-copying",
               alt=words["alt"].format(fixed=right_of["fixed"].mean(0)[-1], attention=right_of["attention"].mean(0)[-1],
                                       longest=lengths[-1]))


def _alignment(lesson: Lesson, shown: kernels.Copying) -> None:
    words = lesson.prose["copying"]
    read, written = ([chr(ord("a") + number) for number in side] for side in (shown.text, shown.written))
    figure(lambda theme: matrix(theme, shown.alignment, written, read, axes=(words["read"], words["written"]),
                                height=360),
           key="kernels-alignment", alt=words["alt_alignment"].format(text=" ".join(read), written=" ".join(written)))
