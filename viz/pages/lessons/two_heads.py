"""A lesson on how two heads implement a rule: a sequence to break, what each head looks for, and the residual stream
that they share."""
import numpy as np

from clearhead.model import sources
from clearhead.model.core.query import Kind
from clearhead.model.core.record import Layer
from clearhead.model.lessons import two_heads
from clearhead.model.lessons.two_heads import (
    BROKEN,
    CHARACTERS,
    INDUCTION,
    MODEL,
    SEQUENCES,
    TwoHeads,
    TwoHeadsQuery,
    sequence,
    silenced,
)
from clearhead.model.studies import circuits
from clearhead.model.studies.circuits import WhyQuery
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, lesson_page, section

SEEDS = 100
PAGE = Page("nothing", controls=(*QUESTIONS, Choice("broken", "none", tuple(BROKEN)),
                                 Number("seed", 1, 1, SEEDS, whole=True)))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    lesson.fragment(_break)
    if lesson.open():
        lesson.fragment(_questions)
        lesson.fragment(_board)


def _asked(page: PageContext) -> TwoHeads:
    return page.ask(TwoHeadsQuery(MODEL, sources.revision(MODEL)))


def _weights(page: PageContext, broken: str) -> tuple[list[str], np.ndarray]:
    """Return the tokens, and the first induction head's weights, (query, key), with the heads of `broken` silenced."""
    text, _ = sequence(page["seed"])
    record = page.ask(sources.open_query(MODEL, text, edits=silenced(broken)))
    layer, head = INDUCTION[0]
    causal = record[Kind.CAUSAL]
    found = causal.layer(layer)
    assert isinstance(found, Layer)   # our own models expose queries and keys
    size = len(causal.queries)
    return list(causal.queries.texts), found.weights(slice(head, head + 1), slice(0, size), slice(0, size))[0]


@section
def _break(page: PageContext, words: Section) -> None:
    """Draw the induction head on a sequence; once the question is answered, also with either head silenced."""
    turned, (_, copy) = page.controls, sequence(page["seed"])
    left, middle, right = split(5, 4, 5)
    with right:
        revealed = words.predict()
    broken = turned["broken"] if revealed else "none"
    tokens, weights = _weights(page, broken)
    words.tell(answer=tokens[copy + 1], last=tokens[-1], weight=weights[-1, copy + 1], case=words["cases"][broken])
    with left:
        words.figure(matrix, np.where(np.tri(len(tokens), dtype=bool), weights, np.nan), tokens, tokens, height=310,
                     angle=-90, title=words("matrix"))
    with middle:
        if revealed:
            found = _asked(page)
            words.choice("broken", "cases")
        words.button("another", seed=turned["seed"] % SEEDS + 1)
    if words.hidden():
        return
    words.tell(sequences=SEQUENCES, **found.chances)
    with middle:
        words.figure(bars, [words["cases"][name] for name in BROKEN],
                     {words["chance"]: [found.chances[name] for name in BROKEN]},
                     axes=("", words["chance"]), y_range=(0, 1), height=220, kind="chances")
    words.explain(two_heads.sequence, two_heads.silenced)


@section
def _questions(page: PageContext, words: Section) -> None:
    """Draw which symbol the induction head looks for, directly and through the first head, and which it then writes."""
    found = _asked(page)
    for column, name in zip(split(1, 1, 1), ("direct", "through", "copies"), strict=True):
        cells = getattr(found, name)
        same, other = np.diag(cells).mean(), cells[~np.eye(len(cells), dtype=bool)].mean()
        words.tell(name=words["titles"][name], same=same, other=other, **{name: (same, other)})
        with column:
            words.figure(matrix, cells, CHARACTERS, CHARACTERS, height=330, angle=0, title=words["titles"][name],
                         style=CellStyle("signed", ruler=False, digits=1), axes=words["axes_of"][name], kind="one",
                         key=f"two-heads-{name}")
    words.explain(two_heads.question, two_heads.written)


@section
def _board(page: PageContext, words: Section) -> None:
    """Draw the induction head's score, split by the components that wrote its query and its key to the residual
    stream."""
    text, copy = sequence(page["seed"])
    why = page.ask(WhyQuery(sources.open_query(MODEL, text), Kind.CAUSAL, *INDUCTION[0], len(text.split()), copy + 1))
    characters = text.split()
    words.tell(why=why, largest=why.frame().iloc[0], last=characters[-1], after=characters[copy])
    words.figure(matrix, why.parts, why.query_writers, why.key_writers, height=330,
                 axes=(words("key", token=characters[copy]), words("query", token=characters[-1])),
                 style=CellStyle("signed", square=False))
    words.explain(circuits.WhyQuery.answer)
