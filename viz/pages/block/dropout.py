"""The section in which dropout is drawn over what attention puts out for one token."""
import numpy as np
import streamlit as st

from model.core.record import Tokens
from model.core.trace import Block
from model.lessons import block
from viz.page import PageContext
from viz.widgets.control_widgets import button_setting, slider_for
from viz.widgets.lesson import Lesson
from viz.widgets.vector_heatmap import token_name, vector_strips

RATES = tuple(round(0.05 * step, 2) for step in range(19))
DRAWS, MANY = 100, 200      # seeds of a draw, and draws that the mean is over


def dropout_section(page: PageContext, lesson: Lesson, this_block: Block, tokens: Tokens) -> None:
    """The row, one draw, and the mean of many."""
    words, rate, seed = lesson.prose["dropout"], page.controls["drop"], page.controls["draw"]
    with lesson.section("dropout"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            slider_for(page, "drop", words["rate"], RATES)
            button_setting(page, words["again"], "draw-again", draw=(seed + 1) % DRAWS)
        output = this_block.attentions[0].output
        word = min(page.controls["word"], len(output) - 1)
        row = output[word].astype(np.float64)
        drawn, mean = block.drop(row, rate, seed)[0], block.drop(row, rate, seed, MANY).mean(0)
        rows = [(words["row"], row), (words["draw"], drawn), (words["mean"].format(draws=MANY), mean)]
        vector_strips(rows, key="block-dropout", bound=float(np.quantile(np.abs(row), 0.995)) or 1.0,
                      alt=lesson.alt("dropout", token=token_name(tokens, word), rate=rate))
        lesson.explanation("dropout", shown=(block.drop,), shapes={"row": row}, rate=rate, draws=MANY,
                           token=token_name(tokens, word), **dropout_numbers(row, drawn, mean, rate))


def dropout_numbers(row: np.ndarray, drawn: np.ndarray, mean: np.ndarray, rate: float) -> dict[str, float]:
    """What one draw does to a row (d), and how far the mean over many draws is from it."""
    zeros, length = int(((drawn == 0) & (row != 0)).sum()), float(np.linalg.norm(row))
    return {"zeros": zeros, "d": len(row), "share": zeros / len(row), "factor": 1 / (1 - rate), "before": length,
            "after": float(np.linalg.norm(drawn)), "apart": float(np.linalg.norm(mean - row)) / length}
