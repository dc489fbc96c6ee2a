"""The last sections of *From text to vectors*: rows of a real table, a word's neighbours in it, and one word in two
contexts."""
from typing import Any

import numpy as np
import streamlit as st

from model.ask import sources
from model.core import statistics
from model.core.query import UserError
from model.lessons import vectors as contexts
from model.lessons import vectors as pieces
from viz.figures.bars import bars, histogram
from viz.figures.base import ASLANT
from viz.figures.drawing import FigureSpec, Markup
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.page import PageContext
from viz.pages.vectors.tokenization import field
from viz.text import escape_markdown
from viz.widgets.control_widgets import choice_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

ROWS = 14                           # of the table, for the text's first pieces
LAYERS = 12                         # up to which each has its name on the axis
BINS = np.linspace(-0.5, 1, 61)     # of cosines
RULED = 96                          # dimensions from one written number to the next
BEYOND = 99.5                       # per cent of the rows' numbers that the colours reach


def _table_query(page: PageContext, model: str) -> contexts.TableQuery:
    return contexts.TableQuery(model, sources.revision(model), page.controls["word"].strip(),
                               pieces.cut(page.controls["typed"], model).ids[:ROWS])


def table(page: PageContext, lesson: Lesson) -> None:
    """Rows of the table for the text above, and what lies near a word."""
    words, model = lesson.prose["table"], page.controls["table"]
    with lesson.section("table"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            choice_for(page, "table", words["model"], words["models"])
            toggle_for(page, "open", words["switch"])
        if not pieces.on_disk(model):
            st.info(words["absent"])
            return
        if not page.controls["open"]:
            _closed(words["closed"])
            return
        cut = pieces.cut(page.controls["typed"], model)
        word = field(page, "word", words["word"], 40).strip()
        try:
            vectors = page.ask(_table_query(page, model))
        except UserError as error:
            st.info(escape_markdown(str(error)))
            return
        _rows(lesson, cut, vectors)
        _near(lesson, word, vectors)


def _closed(words: str) -> None:
    with st.container(border=True, height=120, horizontal_alignment="center", vertical_alignment="center"):
        st.caption(words, width="content")


def _rows(lesson: Lesson, cut: pieces.Cut, vectors: contexts.Table) -> None:
    words = lesson.prose["table"]
    shown, d_model = vectors.rows.shape
    names = [f"{label} {id}" for label, id in zip(cut.labels[:shown], cut.ids, strict=False)]
    columns = [str(place) if place % RULED == 0 else Markup("") for place in range(d_model)]
    st.markdown(words["rows"].format(shown=shown, d_model=d_model))
    if shown:
        bound = float(np.percentile(np.abs(vectors.rows), BEYOND))
        figure(lambda theme: matrix(theme, vectors.rows, names, columns, axes=(words["dimension"], ""),
                                    height=112 + 25 * shown, style=CellStyle("signed", bound=bound, square=False)),
               key="vectors-rows", alt=words["alt_rows"].format(shown=shown, d_model=d_model))


def _near(lesson: Lesson, word: str, vectors: contexts.Table) -> None:
    words, (vocabulary, d_model) = lesson.prose["table"], (len(vectors.cosines) + 1, vectors.rows.shape[1])
    names = [name for name, _ in vectors.nearest]
    left, right = st.columns(2, gap="medium")
    with left:
        near = np.array([cosine for _, cosine in vectors.nearest])
        axes = words["near"].format(word=word), words["cosine"]
        figure(lambda theme: bars(theme, names, {words["cosine"]: near}, axes=axes, y_range=(0, 1), height=360,
                                  angle=ASLANT),
               key="vectors-nearest", alt=lesson.alt("table", word=word, nearest=vectors.nearest[0][0], cosine=near[0]))
    with right:
        drawn = {words["word_to_all"].format(word=word): vectors.cosines, words["pairs"]: vectors.pairs}
        shares = {name: np.histogram(cosines, BINS)[0] / len(cosines) for name, cosines in drawn.items()}
        figure(lambda theme: histogram(theme, BINS, shares, axes=(words["cosine"], words["share"]), height=360,
                                       marks=[(vectors.luck, words["luck"].format(luck=vectors.luck))]),
               key="vectors-baseline", alt=words["alt_baseline"].format(mean=vectors.pairs.mean(), luck=vectors.luck))
    lesson.explanation("table", shown=(contexts.to_all, contexts.neighbours, contexts.luck), word=escape_markdown(word),
                       nearest=escape_markdown(vectors.nearest[0][0]),
                       shapes={"table": f"float32 ({vocabulary}, {d_model})", "rows": vectors.rows,
                               "cosines": vectors.cosines},
                       cosine=near[0], mean=vectors.pairs.mean(), high=np.percentile(vectors.pairs, 99),
                       luck=vectors.luck, vocabulary=vocabulary, d_model=d_model,
                       above=int((vectors.cosines > vectors.luck).sum()))


def drift(page: PageContext, lesson: Lesson) -> None:
    """One word in two contexts, layer by layer, against the same sense and against unrelated words."""
    words, model, pair = lesson.prose["contexts"], page.controls["table"], page.controls["case"]
    with lesson.section("contexts"):
        choice_for(page, "case", words["pair"], words["pairs"])
        if pair == "own":
            word = field(page, "shared", words["shared"], 40).strip()
            texts = [field(page, name, words[name], 200) for name in ("first", "second", "third")]
        else:
            word, *texts = words["texts"][pair]
            st.markdown("\n".join(f"{number}. {escape_markdown(text)}" for number, text in enumerate(texts, 1)))
        if not (page.controls["open"] and pieces.on_disk(model)):
            _closed(words["closed"] if pieces.on_disk(model) else lesson.prose["table"]["absent"])
            return
        others = words["others_chinese" if any(sign > "\u2e80" for sign in word) else "others"]
        try:
            first, second, third, unrelated = (sources.open_query(model, text) for text in (*texts, others))
            senses = page.ask(contexts.ContextsQuery(first, second, third, unrelated, word))
        except UserError as error:
            st.info(escape_markdown(str(error)))
            return
        if senses.unknown:
            st.info(words["unknown"].format(word=escape_markdown(word), model=lesson.prose["table"]["models"][model]))
            return
        if senses.leads and model == "smollm2":
            st.caption(words["leads"])
        _layers(lesson, senses, word, lesson.prose["table"]["models"][model])


def _layers(lesson: Lesson, senses: contexts.Contexts, word: str, title: str) -> None:
    words, places = lesson.prose["contexts"], np.arange(len(senses.apart))
    names = [*words["before"], *(str(layer) for layer in range(len(places) - 2))]
    drawn = [Line(words["alike"], senses.alike, 2), Line(words["apart"], senses.apart, 1),
             Line(words["unrelated"], senses.unrelated, 0, band=(senses.low, senses.high))]

    def draw(theme: str) -> FigureSpec:
        drawing = lines(theme, places, drawn, axes=(words["layer"], words["cosine"]), height=420)
        every = -(-len(names) // LAYERS)
        shown = [place for place in places if place == 0 or (place == 1 and every == 1)
                 or (place > 1 and (place - 2) % every == 0)]
        drawing.update_xaxes(tickmode="array", tickvals=shown, ticktext=[names[place] for place in shown])
        return drawing

    figure(draw, key="vectors-contexts",
           alt=lesson.alt("contexts", word=word, first=senses.apart[0], apart=senses.apart[-1], alike=senses.alike[-1],
                          base=senses.unrelated[-1]))
    lesson.explanation("contexts", shown=(contexts.layers, contexts.compare, statistics.unit_rows, statistics.cosines),
                       shapes={"apart": senses.apart, "unrelated": senses.unrelated}, word=escape_markdown(word),
                       model=title, **_numbers(senses, names))


def _numbers(senses: contexts.Contexts, names: list[str]) -> dict[str, Any]:
    """What is said of one word in two contexts. names: of the layers."""
    low, high = int(senses.apart.argmin()), int(senses.unrelated.argmax())
    return {"first": senses.apart[0], "alike_first": senses.alike[0], "last": senses.apart[-1],
            "least": senses.apart[low], "at": names[low], "alike": senses.alike[-1], "pairs": senses.pairs,
            "base": senses.unrelated[high], "base_at": names[high], "base_first": senses.unrelated[0],
            "base_last": senses.unrelated[-1], "left": senses.apart[-1] - senses.unrelated[-1],
            "left_alike": senses.alike[-1] - senses.unrelated[-1],
            "pieces": " · ".join(map(escape_markdown, senses.pieces))}

