"""The section in which the key–value cache grows, token by token."""
import numpy as np
import streamlit as st

from model.lessons import since
from model.lessons.since import MODELS, RealModel, model_cache_bytes
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_number
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

LENGTHS = (*range(1, since.TOKENS + 1), *(2**power for power in range(5, 18)))
SPAN = np.array([2**power for power in range(18)])


def cache_section(page: PageContext, lesson: Lesson, this: since.Design) -> None:
    """This page's block on the left, published models on the right."""
    words = lesson.prose["cache"]
    with lesson.section("cache"):
        slider_for(page, "tokens", words["tokens"], LENGTHS, say=lambda count: f"{count:,}")
        tokens = page.controls["tokens"]
        left, right = st.columns([2, 3], gap="medium")
        with left:
            _own(lesson, this, tokens)
        with right:
            drawn = [Line(" = ".join(model.name for model in MODELS if model.bytes_per_token == each),
                          SPAN * each / 1e9, place)
                     for place, each in enumerate(dict.fromkeys(model.bytes_per_token for model in MODELS))]
            llama = _named("Llama 3 8B")
            held = said_bytes(float(model_cache_bytes(llama, tokens)))
            figure(lambda theme: lines(theme, SPAN, drawn, axes=(words["length"], words["bytes"]), log="xy",
                                       marks=[(tokens, f"{tokens:,}")], height=340),
                   key="since-cache", alt=words["alt_real"].format(tokens=tokens, held=held))
        lesson.explanation("cache", shown=(RealModel.parts, model_cache_bytes, since.attention),
                           shapes={"keys": since.run(this).keys}, tokens=tokens, held=held,
                           own=said_bytes(tokens * since.cache_bytes(this)),
                           paper=said_bytes(tokens * since.cache_bytes(since.PAPER)),
                           ungrouped=said_bytes(tokens * llama.ungrouped), weights=said_bytes(2 * llama.parameters),
                           table=_table(words))


def _named(name: str) -> RealModel:
    return next(model for model in MODELS if model.name == name)


def _own(lesson: Lesson, this: since.Design, tokens: int) -> None:
    """The keys and values of this page's block, one row per token."""
    words, made = lesson.prose["cache"], since.run(this)
    rows = min(tokens, since.TOKENS)
    kept = np.concatenate([made.keys, made.values]).transpose(1, 0, 2).reshape(since.TOKENS, -1)[:rows]
    names = [str(place + 1) for place in range(rows)]
    figure(lambda theme: matrix(theme, kept, names, [str(place) for place in range(kept.shape[1])],
                                axes=(words["columns"], words["token"]), height=340,
                                style=CellStyle("signed", bound=3.0, square=False, ruler=False)),
           key="since-own", alt=lesson.alt("cache", rows=rows, columns=kept.shape[1]))


def _table(words: dict) -> str:
    """Published models, one line each."""
    return "".join("\n  - " + words["line"].format(
        name=model.name, year=model.year, parameters=model.parameters, heads=model.heads, groups=model.groups,
        each=model.bytes_per_token, share=model.parts()["feed_forward"] / model.parameters) for model in MODELS)


def said_bytes(count: float) -> str:
    """Bytes in the unit in which people read them, with three digits that count."""
    power = min(3, max(0, int(np.log10(max(count, 1)) // 3)))
    return f"{format_number(count / 1000**power)} {('bytes', 'kB', 'MB', 'GB')[power]}"
