"""A lesson on a small vision–language model: patches become tokens, the question looks for a digit and its neighbour,
and the answer changes if the right patch is hidden."""
import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.query import HeadId, Kind, head_label
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import MeanInterval
from clearhead.model.core.view import View
from clearhead.model.lessons import picture_answers
from clearhead.model.lessons.picture_answers import (
    EDITED,
    FIRST,
    MODEL,
    PICTURES,
    ROLES,
    SCENES,
    SIDES,
    PictureHeads,
    PictureHeadsQuery,
)
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, counted
from clearhead.viz.components.from_record import image_of
from clearhead.viz.components.picture_view import picture_view
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, controls_row, lesson_page, section
from clearhead.viz.widgets.measured import measured_line
from clearhead.viz.widgets.picture import patch_strip

HIGH = {False: 325, True: 230}   # height of a picture in pixels, by whether the page is presented
PAGE = Page("nothing", controls=(*QUESTIONS, counted("picture", SCENES), Choice("side", SIDES[0], SIDES),
                                 Choice("hide", ROLES[0], (*ROLES, "other", "nothing"))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    lesson.fragment(_hide)
    if lesson.open():
        for draw in (_tokens, _look, _heads, _kinds):
            lesson.fragment(draw)


def _measured(page: PageContext) -> PictureHeads:
    return page.ask(PictureHeadsQuery(MODEL, sources.revision(MODEL)))


def _record(page: PageContext, hide: str = "nothing") -> AttentionRecord:
    """Return the record of the chosen question, with the patch of a digit hidden."""
    asked = picture_answers.question(*page["picture", "side"])
    cells = {"asked": [asked.cell], "found": [asked.found], "other": [asked.other], "nothing": []}[hide]
    return page.ask(picture_answers.query(page["picture"], page["side"], cells))


def _last(record: AttentionRecord) -> int:
    """Return the position of the question's last token."""
    return len(record[Kind.CAUSAL].queries) - 1


def _picture(page: PageContext, record: AttentionRecord, head: HeadId, key: str) -> None:
    """Draw the row of the question's last token in one head over the picture."""
    view = View(Kind.CAUSAL, *head, token=_last(record), lens="picture")
    picture_view(image_of(record, view), height=HIGH[page.present], key=key, frozen=True)


def _chances(record: AttentionRecord) -> np.ndarray:
    """Return the probability of each digit as the next word, (10)."""
    assert record.prediction is not None   # the model writes
    known = dict(zip(record.prediction.texts[-1], record.prediction.probabilities[-1], strict=True))
    return np.array([known.get(str(digit), 0) for digit in range(10)])


@section
def _hide(page: PageContext, words: Section) -> None:
    """Draw a picture, a question and the answer; once the reader has guessed, also with a patch hidden."""
    found = _measured(page)
    left, middle, right = split(1, 1, 1)
    with right:
        hide = page["hide"] if words.predict("guess", **found.hidden) else "nothing"
    record = _record(page, hide)
    plain, hidden = _chances(_record(page)), _chances(record)
    words.tell(question=record.query.text, case=words["cases"][hide], said=plain.argmax(), p=plain.max(),
               other=hidden.argmax(), p_other=hidden.max(), pictures=EDITED, found=found)
    with left:
        _picture(page, record, found.best("found"), "seeing-hide")
        with controls_row():
            words.again("picture")
    with middle:
        words.choice("side", "sides")
        if words.open():
            words.choice("hide", "cases")
        st.markdown(f"**{record.query.text}**")
        words.figure(bars, [str(digit) for digit in range(10)], {words["cases"][each]: chances for each, chances in (
            ("nothing", plain), (hide, hidden))}, angle=0, y_range=(0, 1), height=240)
    if not words.hidden():
        words.explain(picture_answers.hide)


@section
def _tokens(page: PageContext, words: Section) -> None:
    """Draw how near each patch, as the decoder reads it, is to each word for a digit."""
    scene, record = picture_answers.scenes()[page["picture"]], _record(page)
    near = picture_answers.nearness(scene)
    words.tell(patches=len(near), digits=len(scene.labels),
               right=sum(near[cell].argmax() == label for cell, label in scene.labels.items()))
    left, right = split(5, 7)
    with left:
        patch_strip(record, View(Kind.CAUSAL), key="seeing-tokens", says=words["cut"], height=HIGH[page.present])
    with right:
        words.figure(matrix, near, record[Kind.CAUSAL].queries.texts[1:1 + len(near)], picture_answers.WORDS,
                     height=430, style=CellStyle("signed", bound=1, square=False, digits=2))
    words.explain(picture_answers.nearness)


@section
def _look(page: PageContext, words: Section) -> None:
    """Draw the row of the question's last token in the heads that look for the digit and for its neighbour."""
    found, record, asked = _measured(page), _record(page), picture_answers.question(*page["picture", "side"])
    best = {role: found.best(role) for role in ROLES}
    weights = {role: heads.pair_weights(record[Kind.CAUSAL], _last(record), FIRST + cell)[best[role]]
               for role, cell in zip(ROLES, (asked.cell, asked.found), strict=True)}
    names = {role: head_label(*head) for role, head in best.items()}
    words.tell(question=asked.question, digit=asked.scene.labels[asked.cell], answer=asked.answer, heads=names,
               weights=weights, means={role: max(each.weights) for role, each in found.roles.items()})
    for column, (role, head) in zip(split(), best.items(), strict=True):
        with column:
            st.markdown(words("looks", head=names[role], what=words["roles"][role]))
            _picture(page, record, head, f"seeing-{role}")
    words.explain(picture_answers.patch_weights)


@section
def _heads(page: PageContext, words: Section) -> None:
    """Draw where each head looks over held-out pictures, and what the model answers without it."""
    measured_line(PictureHeadsQuery(MODEL, sources.revision(MODEL)), "seeing", "seeing")
    found = _measured(page)
    names, without = [head_label(*head) for head in found.heads], np.array(found.silenced)
    words.tell(found=found, pictures=PICTURES, edited=EDITED, worst=names[without.argmin()], without=without.min())
    left, right = split()
    with left:
        words.figure(bars, names, {words["roles"][role]: each.heads for role, each in found.roles.items()},
                     y_range=(0, 1), height=300)
    with right:
        words.figure(bars, names, {words["silenced"]: without}, y_range=(0, 1), height=300, kind="silenced")
    words.table([[words["roles"][role], _interval(each.best.accuracy), _interval(each.fixed), f"{found.chance:.1%}",
                  ", ".join(sorted({names[head] for head in each.best.chosen}))] for role, each in found.roles.items()])
    words.explain(PictureHeadsQuery.answer)


def _interval(found: MeanInterval) -> str:
    return f"{found.value:.1%} ({found.low:.1%}–{found.high:.1%})"


@section
def _kinds(page: PageContext, words: Section) -> None:
    """Draw the accuracy of each kind of question, with and without the picture."""
    found = picture_answers.accuracies(desk.scores(MODEL))
    words.table([[words["names"][kind], _interval(seen), f"{blind:.1%}"] for kind, (seen, blind) in found.items()])
    words.explain(picture_answers.accuracies, lowest=min(seen.value for seen, _ in found.values()),
                  highest=max(blind for _, blind in found.values()), pictures=found["where"][0].texts)
