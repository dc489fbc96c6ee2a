"""The section in which one token goes through one normalisation, a strip per step."""
from typing import Any

import numpy as np
import streamlit as st

from model.core.record import Tokens
from model.core.trace import Block, Norm
from model.lessons import block
from viz.figures.bars import bars
from viz.figures.base import UPRIGHT
from viz.page import PageContext
from viz.widgets.control_widgets import choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson
from viz.widgets.vector_heatmap import columns_switch, token_name, vector_strips

ROWS = 40   # tokens whose means are drawn


def norm_section(page: PageContext, lesson: Lesson, this_block: Block, tokens: Tokens, revealed: bool) -> None:
    """Covered until the question is answered: every strip of it shows over what the mean is taken."""
    words = lesson.prose["norm"]
    with lesson.section("norm"):
        if not this_block.norms:
            st.info(words["none"])
            return
        if not revealed:
            lesson.placeholder("norm", 120)
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            choice_for(page, "which", words["which"], words["whiches"])
            columns = columns_switch(page, words)
        norm: Norm = this_block.norms[0 if page.controls["which"] == "first" else -1]
        word = min(page.controls["word"], len(norm.input) - 1)
        slider_for(page, "word", words["word"], range(len(norm.input)), closed=True,
                   say=lambda place: tokens.texts[place] if place < len(tokens) else str(place))
        steps, other = _both(norm, word)
        rows = [("x", norm.input[word]), *([(words["centred"], steps.centred)] if norm.kind == "layer" else []),
                (words["normal"] if norm.kind == "layer" else words["normal_rms"], steps.normal),
                (words["scaled"], steps.scaled),
                *([(words["output"], steps.output)] if norm.bias is not None else [])]
        other_name = words["kinds"]["rms" if norm.kind == "layer" else "layer"]
        rows.append((words["instead"].format(other=other_name), other.output))
        vector_strips(rows, key="block-norm",
                      alt=lesson.alt("norm", token=token_name(tokens, word), kind=words["kinds"][norm.kind]),
                      columns=columns, bound=float(np.quantile(np.abs([row for _, row in rows]), 0.995)))
        _means(lesson, norm, tokens)
        lesson.explanation("norm", shown=(block.layer_norm, block.rms_norm),
                           shapes={"x": norm.input, "gain": norm.gain}, token=token_name(tokens, word),
                           other=other_name,
                           **norm_numbers(words, norm, word, steps, other))


def norm_numbers(words: dict, norm: Norm, word: int, steps: block.Steps, other: block.Steps) -> dict[str, Any]:
    """What is said of one token through a normalisation, and of the other kind in its place."""
    d = len(norm.gain)
    given = {"mean": steps.mean, "variance": steps.variance, "scale": norm.scales[word], "d": d,
             "count": len(norm.input), "unbiased": float(np.sqrt(d / (d - 1)))}
    return given | {
        "measured": words["measured"][norm.kind].format(**given), "counted": words["counts"][norm.kind].format(**given),
        "divided": words["divides"][norm.kind].format(**given), "kind": words["kinds"][norm.kind],
        "error": float(np.abs(steps.output - norm.output[word]).max()), "epsilon": norm.epsilon,
        "differs": float(np.linalg.norm(other.output - steps.output) / np.linalg.norm(steps.output))}


def _both(norm: Norm, word: int) -> tuple[block.Steps, block.Steps]:
    """A token through the normalisation that the model has, and through the other kind with the same gain and no
    bias."""
    x, gain = norm.input[word], norm.gain.astype(np.float64)
    layer = block.layer_norm(x, gain, norm.bias if norm.kind == "layer" else None, norm.epsilon)
    rms = block.rms_norm(x, gain, norm.epsilon)
    return (layer, rms) if norm.kind == "layer" else (rms, layer)


def _means(lesson: Lesson, norm: Norm, tokens: Tokens) -> None:
    """The answer on the picture: one mean and one spread per token."""
    words = lesson.prose["norm"]
    names = [token_name(tokens, place) for place in range(min(ROWS, len(norm.input)))]
    x = norm.input[:ROWS].astype(np.float64)
    figure(lambda theme: bars(theme, names, {words["mean"]: x.mean(-1), words["spread"]: x.std(-1)},
                              axes=("token", words["value"]), height=300, angle=UPRIGHT),
           key="block-means", alt=words["alt_means"].format(count=len(names)))
