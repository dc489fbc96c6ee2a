"""A lesson on the information that heads carry and share: mutual information, a map of heads by divergence, and a
bound that training raises."""
from contextlib import nullcontext

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core.query import head_label
from clearhead.model.core.statistics import entropy, x_log_x
from clearhead.model.lessons import information
from clearhead.model.lessons.information import Information
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Words, stepped
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.heads import by_layer, head_map
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.numbers import format_signed
from clearhead.viz.style.text import escape_markdown
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import heading, split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, lesson_page, section

SHARES = np.linspace(0, 3, 61)   # x axis of the bound: how much the model has learned
NEAREST = 5
ROUNDING = 1e-6    # bits
LEAST = 3          # fewest heads on a map
MOST_TEXTS = 50
PAGE = Page("head", controls=(
    *QUESTIONS, Choice("toy", "causal", information.TOYS), stepped("size", 8, (2, 4, 8, 16, 32, 64)),
    stepped("sharp", 1.0, np.linspace(0, 1, 11).round(1)), Choice("texts", "one", ("one", "set", "own")),
    Words("own", "", 1200),
    stepped("bond", 1.5, np.linspace(0, 4, 9)), stepped("learnt", 0.5, SHARES[::5].round(2))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    _toy(page, lesson)
    lesson.fragment(_heads)
    if lesson.open():
        lesson.fragment(_bound)
        with lesson.section("said") as words:
            words.table(words["rows"], numbers=False)
            words.explain()
    else:
        lesson.covered("rest")


@section
def _toy(page: PageContext, words: Section) -> None:
    """Draw a toy head with a single function, its three numbers and the question."""
    name, n = page["toy", "size"]
    weights = information.toy(name, n, page["sharp"])
    of_mean, of_rows = entropy(weights.mean(0), base=2), entropy(weights, base=2).mean()
    numbers = {"mean": of_mean, "rows": of_rows, "mutual": of_mean - of_rows}
    words.tell(name=words["names"][name], most=np.log2(n), **numbers,
               sharp={toy: information.mutual(information.toy(toy, n)) for toy in ("first", "causal")})
    left, right = words.beside(2, 3)
    with left:
        if words.open():
            words.slider("size")
            if name not in ("uniform", "causal"):
                words.slider("sharp")
        revealed = words.predict()
    with right:
        words.choice("toy", "names")
        shown, beside = split() if revealed else (st.container(), st.container())
        # while presenting, hidden once the question is answered
        with shown, st.container(key="aside-toy") if revealed else nullcontext():
            words.figure(matrix, np.where(weights > 0, weights, np.nan), height=310,
                         style=CellStyle(ruler=False))
        if revealed:
            with beside:
                words.figure(bars, words["bars"], {"bits": list(numbers.values())}, angle=0, height=310,
                             y_range=(0, 1.1 * np.log2(n)), kind="bits")
            words.explain(x_log_x, entropy, information.mutual, information.toy)


def _heads(page: PageContext, lesson: Lesson) -> None:
    """Draw the sections on the model's heads. The layer section is drawn only once the question is answered, because
    its middle figure reveals the answer."""
    pool = _measured(page, lesson)
    if pool is None:
        return
    if lesson.open():
        _layers(page, lesson, pool)
    lesson.fragment(_map, pool)


def _measured(page: PageContext, lesson: Lesson) -> Information | None:
    """Return the measures on the sidebar's text, a set of sentences, or the reader's texts. Each text is one query, so
    that a click can stop the run and other visitors are served in between."""
    words = Section(lesson, "texts")
    with st.container(key="idle-texts"):
        heading(words["heading"], 3)
        words.choice("texts", "names")
        _, view = real_head(page, token=False)
        which, wrong = page["texts"], list[str]()
        if which == "own":
            words.text("own", st.text_area)
        texts = {"one": [], "set": words["set"], "own": page["own"].splitlines()[:MOST_TEXTS]}[which]
        queries = [sources.open_query(page.model, text) for text in texts if text.strip()] or [page.query()]
        answers = page.ask_each([information.InformationQuery(query, view.kind) for query in queries],
                                say=lambda number, text: words("progress", number=number + 1, all=len(queries)),
                                on_error=lambda number, error: wrong.append(f"{queries[number].text[:60]}: {error}"))
        answered = [answer for answer in answers if answer is not None]
        if wrong:
            st.warning(words("left_out", count=len(wrong), all=len(queries), first=escape_markdown(wrong[0])))
        if not answered:
            return None
        pool = information.mean_over_texts(answered)
        st.caption(words("said", pool=pool, heads=len(pool.places),
                         model=escape_markdown(sources.title_of(page.model))))
        return pool


@section
def _layers(page: PageContext, words: Section, pool: Information) -> None:
    view, mutual, blank_mutual = page.view(), pool.values["mutual"], pool.blank["mutual"]
    most, least = mutual.argmax(), mutual.argmin()
    names = [name for name in ("entropy", "mutual", "distance") if np.isfinite(pool.values[name]).all()]
    for column, name in zip(st.columns(len(names), gap="small"), names, strict=True):
        with column:
            words.figure(by_layer, pool.places, pool.values[name], height=360, names=(words["heads"], words["means"]),
                         line=(words["lines"][name], pool.blank[name]), marked=view.head_id, kind=name)
    words.explain(information.measure_text, information.mutual, information.mean_over_texts,
                  below=(pool.values["entropy"] < pool.blank["entropy"] / 2).sum(), heads=len(pool.places),
                  mean=mutual.mean(), most=pool.places[most], most_bits=mutual[most],
                  least=pool.places[least], least_bits=mutual[least],
                  blank=blank_mutual.mean(), under=(mutual < blank_mutual - ROUNDING).sum())


@section
def _map(page: PageContext, words: Section, pool: Information) -> None:
    view = page.view()
    if len(pool.places) < LEAST:
        st.info(words["few"])
        return
    wanted = np.sqrt(pool.divergence)
    points = information.least_stress(wanted)
    here, labels = pool.places.index(view.head_id), [head_label(*head) for head in pool.places]
    near = [int(place) for place in np.argsort(wanted[here]) if place != here][:NEAREST]
    drawn, (same, other) = information.between(points), information.within_and_between(pool, wanted)
    words.tell(heads=len(labels), stress=information.stress(points, wanted), head=labels[here], count=len(near),
               closest=labels[near[0]], distance=wanted[here, near[0]], same=format_signed(same, ".3f") or "–",
               other=format_signed(other, ".3f") or "–")
    left, right = split(3, 2)
    with left:
        words.figure(head_map, pool.places, points, marked=pool.places[here], near=near, layer_word=words["layer"],
                     others=not page.present)
    with right:
        pairs = np.triu_indices(len(wanted), 1)
        order = wanted[pairs].argsort()
        words.figure(lines, wanted[pairs][order], [Line(words["kept"], drawn[pairs][order], 0, "dots"),
                                                   Line(words["equal"], wanted[pairs][order], None, "dash")],
                     height=300, kind="kept")
        if not page.present:   # the map needs the room
            words.table([[labels[each], f"{wanted[here, each]:z.3f}", f"{drawn[here, each]:z.3f}"] for each in near])
    words.explain(information.divergences, information.classical, information.least_stress, information.stress)


@section
def _bound(page: PageContext, words: Section) -> None:
    """Draw H(Y) minus the cross-entropy, which stays below I(X;Y), over how much a model has learned."""
    learnt, bond = page["learnt", "bond"]
    bound, here = information.bound(bond, SHARES), information.bound(bond, np.array([learnt])).cross_entropy[0]
    proved = bound.entropy - bound.cross_entropy
    left, right = split()
    with left:
        words.slider("learnt")
    with right:
        words.slider("bond")
    drawn = [Line(words["cross_entropy"], bound.cross_entropy, 1, "dash"),
             Line(f"H(Y) = {bound.entropy:z.3f}", np.full_like(SHARES, bound.entropy), 1, "dot"),
             Line(words["bound"], proved, 0),
             Line(f"I(X;Y) = {bound.information:z.3f}", np.full_like(SHARES, bound.information), 0, "dot")]
    words.tell(bound=bound, last=proved[-1], best=proved.max(), here=here, proved=bound.entropy - here)
    words.figure(lines, SHARES, drawn, marks=[(learnt, f"s = {learnt:g}")], height=360)
    words.explain(information.bound)
