"""The last sections of *From text to vectors*: rows of a real table, a word's neighbours in it, and one word in two
contexts."""
import html

import numpy as np
import streamlit as st

from model.ask import sources
from model.core import statistics
from model.core.query import UserError
from model.lessons import contexts
from model.lessons import tokenization as pieces
from viz.figures.bars import bars, histogram
from viz.figures.base import ASLANT
from viz.figures.drawing import FigureSpec
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


def prefetch_tables(page: PageContext) -> None:
    """Once a model may be opened, the other one is opened, too, while nobody waits."""
    found = page.controls["open"] and [each for each in pieces.MODELS
                                       if each != page.controls["table"] and pieces.on_disk(each)]
    page.prefetch("table", [_table_query(page, each) for each in found or ()])


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
            found = page.ask(_table_query(page, model))
        except UserError as error:
            st.info(escape_markdown(str(error)))
            return
        _rows(lesson, cut, found)
        _near(lesson, word, found)


def _closed(words: str) -> None:
    with st.container(border=True, height=120, horizontal_alignment="center", vertical_alignment="center"):
        st.caption(words, width="content")


def _rows(lesson: Lesson, cut: pieces.Cut, found: contexts.Table) -> None:
    words = lesson.prose["table"]
    shown, d_model = found.rows.shape
    names = [f"{html.escape(label)} {id}" for label, id in zip(cut.labels[:shown], cut.ids, strict=False)]
    columns = [str(place) if place % RULED == 0 else "" for place in range(d_model)]
    st.markdown(words["rows"].format(shown=shown, d_model=d_model))
    if shown:
        bound = float(np.percentile(np.abs(found.rows), BEYOND))
        figure(lambda theme: matrix(theme, found.rows, names, columns, axes=(words["dimension"], ""),
                                    height=112 + 25 * shown, style=CellStyle("signed", bound=bound, square=False)),
               key="vectors-rows", alt=words["alt_rows"].format(shown=shown, d_model=d_model))


def _near(lesson: Lesson, word: str, found: contexts.Table) -> None:
    words, (vocabulary, d_model) = lesson.prose["table"], (len(found.cosines) + 1, found.rows.shape[1])
    names = [html.escape(name) for name, _ in found.nearest]
    left, right = st.columns(2, gap="medium")
    with left:
        near = np.array([each for _, each in found.nearest])
        axes = words["near"].format(word=html.escape(word)), words["cosine"]
        figure(lambda theme: bars(theme, names, {words["cosine"]: near}, axes=axes, y_range=(0, 1), height=360,
                                  angle=ASLANT),
               key="vectors-nearest", alt=lesson.alt("table", word=word, nearest=found.nearest[0][0], cosine=near[0]))
    with right:
        drawn = {words["word_to_all"].format(word=html.escape(word)): found.cosines, words["pairs"]: found.pairs}
        shares = {name: np.histogram(each, BINS)[0] / len(each) for name, each in drawn.items()}
        figure(lambda theme: histogram(theme, BINS, shares, axes=(words["cosine"], words["share"]), height=360,
                                       marks=[(found.luck, words["luck"].format(luck=found.luck))]),
               key="vectors-baseline", alt=words["alt_baseline"].format(mean=found.pairs.mean(), luck=found.luck))
    lesson.explanation("table", shown=(contexts.to_all, contexts.neighbours, contexts.luck), word=escape_markdown(word),
                       nearest=escape_markdown(found.nearest[0][0]),
                       shapes={"table": f"float32 ({vocabulary}, {d_model})", "rows": found.rows,
                               "cosines": found.cosines},
                       cosine=near[0], mean=found.pairs.mean(), high=np.percentile(found.pairs, 99), luck=found.luck,
                       vocabulary=vocabulary, d_model=d_model, above=int((found.cosines > found.luck).sum()))


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
            st.markdown("\n".join(f"{number}. {escape_markdown(each)}" for number, each in enumerate(texts, 1)))
        if not (page.controls["open"] and pieces.on_disk(model)):
            _closed(words["closed"] if pieces.on_disk(model) else lesson.prose["table"]["absent"])
            return
        others = words["others_chinese" if any(each > "\u2e80" for each in word) else "others"]
        try:
            first, second, third, unrelated = (sources.open_query(model, each) for each in (*texts, others))
            found = page.ask(contexts.ContextsQuery(first, second, third, unrelated, word))
        except UserError as error:
            st.info(escape_markdown(str(error)))
            return
        if found.unknown:
            st.info(words["unknown"].format(word=escape_markdown(word), model=lesson.prose["table"]["models"][model]))
            return
        if found.leads and model == "smollm2":
            st.caption(words["leads"])
        _layers(lesson, found, word, lesson.prose["table"]["models"][model])


def _layers(lesson: Lesson, found: contexts.Contexts, word: str, title: str) -> None:
    words, places = lesson.prose["contexts"], np.arange(len(found.apart))
    names = [*words["before"], *(str(layer) for layer in range(len(places) - 2))]
    drawn = [Line(words["alike"], found.alike, 2), Line(words["apart"], found.apart, 1),
             Line(words["unrelated"], found.unrelated, 0, band=(found.low, found.high))]

    def draw(theme: str) -> FigureSpec:
        drawing = lines(theme, places, drawn, axes=(words["layer"], words["cosine"]), height=420)
        every = -(-len(names) // LAYERS)
        shown = [place for place in places if place == 0 or (place == 1 and every == 1)
                 or (place > 1 and (place - 2) % every == 0)]
        drawing.update_xaxes(tickmode="array", tickvals=shown, ticktext=[names[place] for place in shown])
        return drawing

    figure(draw, key="vectors-contexts",
           alt=lesson.alt("contexts", word=word, first=found.apart[0], apart=found.apart[-1], alike=found.alike[-1],
                          base=found.unrelated[-1]))
    cut = words["whole"] if len(found.pieces) == 1 else words["several"].format(
        pieces=" · ".join(map(escape_markdown, found.pieces)))
    low, high = int(found.apart.argmin()), int(found.unrelated.argmax())
    lesson.explanation("contexts", shown=(contexts.layers, contexts.compare, statistics.unit_rows, statistics.cosines),
                       shapes={"apart": found.apart, "unrelated": found.unrelated}, word=escape_markdown(word),
                       model=title, cut=cut, first=found.apart[0], last=found.apart[-1], least=found.apart[low],
                       at=names[low], alike=found.alike[-1], pairs=found.pairs, base=found.unrelated[high],
                       base_at=names[high], base_first=found.unrelated[0], base_last=found.unrelated[-1],
                       left=found.apart[-1] - found.unrelated[-1], left_alike=found.alike[-1] - found.unrelated[-1])
