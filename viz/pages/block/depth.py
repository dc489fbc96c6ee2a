"""The section about depth: encoders with random weights, the norm behind or in front, as the mean of many seeds."""
from typing import Any

import numpy as np
import streamlit as st

from model.lessons import block
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

COLOURS, DASHES = {"post": 0, "pre": 1}, {"post": "solid", "pre": "dash"}


def depth_section(page: PageContext, lesson: Lesson) -> None:
    """The stream and the gradient by layer at one depth, and the last layer's gradient at every depth."""
    words = lesson.prose["depth"]
    with lesson.section("depth"):
        slider_for(page, "depth", words["layers"], block.DEPTHS, say=str, closed=True)
        runs, about = block.depth_runs()
        layers = min(block.DEPTHS, key=lambda depth: abs(depth - page.controls["depth"]))
        first, second, third = st.columns(3, gap="small")
        for column, name in ((first, "stream"), (second, "gradient")):
            with column:
                _by_layer(lesson, {kind: found[layers] for kind, found in runs.items()}, name, layers)
        with third:
            _last(lesson, runs, layers)
        lesson.explanation("depth", shown=(block.depth, block.depth_runs),
                           shapes={"stream": runs["post"][layers].stream, "gradient": runs["post"][layers].gradient},
                           seeds=len(about["seeds"]), command=about["command"], date=about["date"],
                           **depth_numbers(runs, layers))


def depth_numbers(runs: dict[str, dict[int, block.DepthRuns]], layers: int) -> dict[str, Any]:
    """The numbers of the sentences."""
    post, pre = runs["post"], runs["pre"]
    last = {kind: {depth: found[depth].gradient[-1] for depth in (6, 24)} for kind, found in runs.items()}
    spread = {f"{kind}_{end}": getattr(found[layers], end)[-1] for kind, found in runs.items()
              for end in ("low", "high")}
    return spread | {"layers": layers, "root": float(np.sqrt(block.WIDTH)), "first": pre[layers].stream[0],
                     "last": pre[layers].stream[-1],
                     "post_ratio": post[layers].gradient[-1] / post[layers].gradient[0],
                     "pre_ratio": pre[layers].gradient[-1] / pre[layers].gradient[0],
                     "top": post[layers].gradient[-1] / pre[layers].gradient[-1],
                     "post_six": last["post"][24] / last["post"][6], "pre_six": last["pre"][24] / last["pre"][6]}


def _by_layer(lesson: Lesson, runs: dict[str, block.DepthRuns], name: str, layers: int) -> None:
    words = lesson.prose["depth"]
    drawn = [Line(words["names"][kind], getattr(found, name), COLOURS[kind], DASHES[kind],
                  (found.low, found.high) if name == "gradient" else None) for kind, found in runs.items()]
    ends = {kind: getattr(found, name)[-1] for kind, found in runs.items()}
    figure(lambda theme: lines(theme, np.arange(1, layers + 1), drawn, axes=(words["layer"], words[name]),
                               log="y" if name == "gradient" else "", height=340),
           key=f"block-{name}", alt=words[f"alt_{name}"].format(layers=layers, **ends))


def _last(lesson: Lesson, runs: dict[str, dict[int, block.DepthRuns]], layers: int) -> None:
    """The last layer's gradient over the depth, with what theory says of pre-LN, drawn through the deepest one."""
    words, depths = lesson.prose["depth"], np.array(block.DEPTHS)
    last = {kind: np.array([found[depth].gradient[-1] for depth in block.DEPTHS]) for kind, found in runs.items()}
    drawn = [Line(words["names"][kind], gradients, COLOURS[kind], "dots") for kind, gradients in last.items()]
    drawn.append(Line("∝ 1/√N", last["pre"][-1] * np.sqrt(depths[-1] / depths), None, "dash"))
    figure(lambda theme: lines(theme, depths, drawn, axes=(words["layers_n"], words["last"]),
                               y_range=(0, 1.15 * float(last["post"].max())),
                               marks=[(layers, f"N = {layers}")], height=340), key="block-last",
           alt=words["alt_last"].format(post=last["post"][-1], pre=last["pre"][-1]))
