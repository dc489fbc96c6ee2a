"""A lesson on vectors: pieces and ids of the reader's text, merges step by step, neighbours in the embedding table, and
one word in two contexts."""

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core import statistics
from clearhead.model.lessons import vectors
from clearhead.model.lessons.vectors import LARGEST, MODELS
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Switch, Words
from clearhead.viz.figures.bars import bars, histogram
from clearhead.viz.figures.base import ASLANT
from clearhead.viz.figures.drawing import FigureSpec, Markup
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import button_setting
from clearhead.viz.widgets.fragment import offer_smollm2, says_why
from clearhead.viz.widgets.layout import flex_row, split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, controls_row, lesson_page, section

PRESETS = strings("lessons/vectors")["presets"]
SHOWN = 80                              # most pieces drawn
MOST_WORDS = 24                         # most words shown of the training text
PAIRS = 10                              # candidates shown for the next merge
NO_BREAK = "\u00a0"                     # non-breaking space
TELLING = ("chinese",)                  # examples that would reveal the answer to the question
COLOURS = ("blue", "green", "violet")   # colours of consecutive pieces
ROWS = 14                               # rows shown of the embedding table
LAYERS = 12                             # most layers that are all labelled
BINS = np.linspace(-0.5, 1, 61)         # bins of cosines
RULED = 96                              # interval of labelled dimensions
BEYOND = 99.5                           # percentile of the rows' numbers that has full colour
PAGE = Page("nothing", controls=(
    *QUESTIONS, Words("typed", PRESETS["texts"]["english"], 200), Words("book", PRESETS["books"]["low"], 400),
    Number("done", 3, 0, LARGEST, whole=True), Choice("table", "minilm", MODELS), Switch("open"),
    Words("word", "bank", 40),
    Choice("case", "bank", ("bank", "apple", "苹果", "own")),
    *(Words(name, PRESETS["own"][name], 200) for name in ("first", "second", "third")),
    Words("shared", PRESETS["own"]["shared"], 40)))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    _pieces(page, lesson)
    _chinese(page, lesson)
    lesson.fragment(_merges)
    _table(page, lesson)
    lesson.fragment(_contexts)


def cuts(text: str, book: str) -> dict[str, vectors.TokenizedText]:
    """Return the text split by WordPiece and by byte-level BPE. The latter is trained on `book` ("own") if SmolLM2's
    tokenizer is not on disk."""
    if vectors.on_disk("smollm2"):
        return {model: vectors.cut(text, model) for model in MODELS}
    return {"minilm": vectors.cut(text, "minilm"), "own": vectors.cut_by_own(text, book)}


def chips(cut: vectors.TokenizedText, ids: bool = True) -> str:
    """Return pieces and their ids as Markdown on alternating backgrounds; unknown pieces are red, added ones grey."""
    pieces = []
    for place, (label, unknown, special) in enumerate(zip(cut.labels[:SHOWN], cut.unknown, cut.special, strict=False)):
        colour = "red" if unknown else "gray" if special else COLOURS[place % len(COLOURS)]
        number = f"{NO_BREAK}:small[:gray[{cut.ids[place]}]]" if ids else ""
        pieces.append(f":{colour}-background[{escape_markdown(label)}{number}]")
    return " ".join(pieces) + (" …" if len(cut.labels) > SHOWN else "")


@section
def _pieces(page: PageContext, words: Section) -> None:
    """Draw the text as split by WordPiece and by byte-level BPE, and the question beside it."""
    left, right = split(3, 2)
    with right:
        revealed = words.predict()
    with left:
        text = words.text("typed")
        words.presets("typed", {name: preset for name, preset in PRESETS["texts"].items()
                                if revealed or name not in TELLING})
        by_tokenizer = cuts(text, PRESETS["books"]["english"])
        for name, cut in by_tokenizer.items():
            with st.container(border=True, key=f"pieces-{name}"):
                st.markdown(f"**{words['by'][name]}**: {words('count', count=cut.count)}\n\n{chips(cut)}")
    if "own" in by_tokenizer and not page.present:
        st.caption(words["absent"])
        offer_smollm2("pieces")
    if revealed:
        first, second = by_tokenizer.values()
        inside = [place for place, piece in enumerate(first.pieces) if piece.startswith("##")]
        example = first.pieces[inside[0] - 1:inside[0] + 1] if inside else ("token", "##izer")
        by_words, by_bytes = (" · ".join(map(escape_markdown, parts[:SHOWN])) or words["nothing"]
                              for parts in (first.words, list(map(vectors.show_piece, second.words))))
        words.explain(vectors.cut, vectors.cut_by, notices_in=left, first=first, second=second,
                      signs=len(text), unknown=sum(first.unknown), bytes=len(text.encode()),
                      known=" ".join(map(escape_markdown, example)), vocabulary=first.vocabulary - 1,
                      other=second.vocabulary - 1, words=by_words, parts=by_bytes,
                      normalised=f"`{first.normalised.replace('`', ' ')}`" if first.normalised.strip()
                      else words["nothing"])


@section
def _chinese(page: PageContext, words: Section) -> None:
    """Draw the textbook's split of a Chinese sentence, and the tokenizers' splits."""
    if words.hidden():
        return
    sentence = "".join(words["textbook"])
    by_tokenizer = cuts(sentence, PRESETS["books"]["english"])
    textbook = " ".join(f":gray-background[{piece}]" for piece in words["textbook"])
    rows = [[words.prose["pieces"]["by"][name], chips(cut, ids=False), str(cut.count)]
            for name, cut in by_tokenizer.items()]
    words.table([[words["split"], textbook, str(len(words["textbook"]))], *rows], "head", numbers=False)
    minilm, other = by_tokenizer.values()
    words.explain(unknown=sum(minilm.unknown), signs=len(sentence), count=other.count, bytes=len(sentence.encode()))


@section
def _merges(page: PageContext, words: Section) -> None:
    """Draw byte-pair encoding on the reader's text: the split after some merges, the candidates for the next merge (the
    chosen one first), and the text's length after each merge."""
    book = words.text("book")
    with flex_row(gap="small"):
        for name, preset in PRESETS["books"].items():
            if words.open() or name not in TELLING:
                button_setting(page, words["names"][name], f"book-{name}", book=preset, done=3)
    learnt = vectors.merges(book)
    if not learnt.pairs:
        st.info(words["none"])
        return
    every = len(learnt.pairs)
    with controls_row():
        done = words.slider("done", range(every + 1), width=420)
        words.button("back", done=max(0, done - 1))
        words.button("on", done=min(every, done + 1))
    # each distinct word after this many merges, with its count
    shown = [[f":{COLOURS[place % len(COLOURS)]}-background[{escape_markdown(vectors.show_piece(piece))}]"
              for place, piece in enumerate(vectors.apply(word, learnt.pairs[:done]))] + [f":gray[×{times}]"]
             for word, times in learnt.words[:MOST_WORDS]]
    st.markdown(" &emsp; ".join(map(" ".join, shown)))
    counts, following = vectors.pair_counts(learnt.words, learnt.pairs[:done]), learnt.pairs[done:done + 1]
    order = [*following, *(pair for pair, _ in counts.most_common(PAIRS + 1) if pair not in following)][:PAIRS]
    names = list(map(_named, order))
    words.tell(done=done, now=learnt.lengths[done], before=learnt.lengths[0], all=every,
               vocabulary=256 + done, pair=names[0] if names else "",
               times=counts[order[0]] if order else 0,
               last=escape_markdown(_named(learnt.pairs[done - 1])) if done else words["nothing_yet"])
    left, right = split()
    with left:
        if order:
            axes = words["candidates" if following else "finished"], words["times"]
            words.figure(bars, names, {words["times"]: [counts[pair] for pair in order]}, axes=axes,
                         height=320, angle=ASLANT)
        else:
            st.info(words["whole"])
    with right:
        words.figure(lines, np.arange(every + 1), [Line(words["length"], np.array(learnt.lengths, float))],
                     marks=[(done, words("here"))], height=320, kind="length")
    if words.open():
        words.explain(vectors.train_bpe, vectors.merges, vectors.merge_pair, vectors.pair_counts)


def _named(pair: vectors.Pair) -> str:
    """Return a merge's two pieces."""
    return " + ".join(map(vectors.show_piece, pair))


def _closed(words: str) -> None:
    with st.container(border=True, height=120, horizontal_alignment="center", vertical_alignment="center"):
        st.caption(words, width="content")


@section
@says_why
def _table(page: PageContext, words: Section) -> None:
    """Draw the embedding table's rows for the text above, and a word's neighbours."""
    with controls_row():
        model = words.choice("table", "models")
        opened = words.opened("open")
    if not vectors.on_disk(model):
        st.info(words["absent"])
        return
    if not opened:
        _closed(words["closed"])
        return
    cut = vectors.cut(page["typed"], model)
    word = words.text("word").strip()
    found = page.ask(vectors.TableQuery(model, sources.revision(model), word, cut.ids[:ROWS]))
    shown, d_model = found.rows.shape
    words.tell(shown=shown, d_model=d_model)
    st.markdown(words("rows"))
    if shown:
        names = [f"{label} {id}" for label, id in zip(cut.labels[:shown], cut.ids, strict=False)]
        columns = [str(place) if place % RULED == 0 else Markup("") for place in range(d_model)]
        bound = np.percentile(np.abs(found.rows), BEYOND)
        words.figure(matrix, found.rows, names, columns, height=112 + 25 * shown, kind="rows",
                     style=CellStyle("signed", bound=bound, square=False))
    _near(words, word, found)


def _near(words: Section, word: str, found: vectors.Table) -> None:
    """Draw a word's neighbours, and its cosines with all words compared with those of random pairs."""
    names, near = [name for name, _ in found.nearest], np.array([cosine for _, cosine in found.nearest])
    words.tell(word=escape_markdown(word), nearest=escape_markdown(names[0]), cosine=near[0], mean=found.pairs.mean(),
               high=np.percentile(found.pairs, 99), luck=found.luck, vocabulary=len(found.cosines) + 1,
               above=(found.cosines > found.luck).sum())
    left, right = split()
    with left:
        axes = words("near", word=word), words["cosine"]
        words.figure(bars, names, {words["cosine"]: near}, axes=axes, y_range=(0, 1), height=360, angle=ASLANT)
    with right:
        drawn = {words("word_to_all", word=word): found.cosines, words["pairs"]: found.pairs}
        shares = {name: np.histogram(cosines, BINS)[0] / len(cosines) for name, cosines in drawn.items()}
        words.figure(histogram, BINS, shares, height=360, marks=[(found.luck, words("luck"))],
                     kind="baseline")
    words.explain(vectors.neighbours, vectors.luck)


@section
@says_why
def _contexts(page: PageContext, words: Section) -> None:
    """Draw one word in two contexts, layer by layer, compared with two uses of the same meaning and with unrelated
    words."""
    (model, pair), there = page["table", "case"], words.prose["table"]
    words.choice("case", "cases")
    if pair == "own":
        word = words.text("shared").strip()
        texts = [words.text(name) for name in ("first", "second", "third")]
    else:
        word, *texts = words["texts"][pair]
        st.markdown("\n".join(f"{number}. {escape_markdown(text)}" for number, text in enumerate(texts, 1)))
    if not ((page["open"] or page.present) and vectors.on_disk(model)):
        _closed(words["closed"] if vectors.on_disk(model) else there["absent"])
        return
    others = words["others_chinese" if any(sign > "\u2e80" for sign in word) else "others"]
    first, second, third, unrelated = (sources.open_query(model, text) for text in (*texts, others))
    senses = page.ask(vectors.ContextsQuery(first, second, third, unrelated, word))
    if senses.unknown:
        st.info(words("unknown", word=escape_markdown(word), model=there["models"][model]))
        return
    if senses.leads and model == "smollm2":
        st.caption(words["leads"])
    _layers(words, senses, word, there["models"][model])


def _layers(words: Section, senses: vectors.Contexts, word: str, title: str) -> None:
    places = np.arange(len(senses.apart))
    names = [*words["before"], *(str(layer) for layer in range(len(places) - 2))]
    drawn = [Line(words["alike"], senses.alike, 2), Line(words["apart"], senses.apart, 1),
             Line(words["unrelated"], senses.unrelated, 0, band=(senses.low, senses.high))]
    every = -(-len(names) // LAYERS)
    written = [0, *([1] if every == 1 else []), *range(2, len(names), every)]

    def draw(*, axes: tuple[str, str]) -> FigureSpec:
        drawing = lines(places, drawn, axes=axes, height=420)
        drawing.update_xaxes(tickvals=written, ticktext=[names[place] for place in written])
        return drawing

    high = senses.unrelated.argmax()
    words.tell(word=escape_markdown(word), model=title, senses=senses, last=senses.apart[-1], alike=senses.alike[-1],
               base=senses.unrelated[high], base_at=names[high], base_last=senses.unrelated[-1],
               left=senses.apart[-1] - senses.unrelated[-1], left_alike=senses.alike[-1] - senses.unrelated[-1],
               pieces=" · ".join(map(escape_markdown, senses.pieces)))
    words.figure(draw)
    words.explain(vectors.layers, vectors.compare, statistics.unit_rows, statistics.cosines)
