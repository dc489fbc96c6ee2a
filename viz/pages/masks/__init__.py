"""Who may look where? Masks built cell by cell, before or after the softmax, and the sparse patterns that replace
n²."""
import numpy as np
import streamlit as st

from model.lessons import masking
from viz.components.mask_editor import mask_editor
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Places, Switch
from viz.pages.masks.sparse import LENGTHS, SEEDS, sparse_sections
from viz.widgets.control_widgets import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import QUESTIONS, Lesson, computing

N = 8                                    # tokens of the small matrix
MOVED = np.linspace(-4, 4, 41)           # how far the forbidden score is moved
PAGE = Page("Who may look where: masks", "Learn", 7, "head", asks_at=(("real", True),),
            controls=(
    *QUESTIONS, Number("pad", 2, 0, 4, whole=True), Switch("ahead", True), Places("flips", N * N, N * N),
    Number("row", 3, 0, N - 1, whole=True), Number("seed", 0, 0, SEEDS - 1, whole=True),
    Choice("method", "before", masking.METHODS), Choice("pattern", "bigbird", masking.NAMES),
    Number("n", 32, min(LENGTHS), max(LENGTHS), whole=True), Switch("causal"), Number("window", 2, 1, 16, whole=True),
    Number("dilation", 2, 1, 8, whole=True), Number("global", 1, 0, 8, whole=True),
    Number("random", 2, 0, 8, whole=True), Number("draw", 0, 0, SEEDS - 1, whole=True), Switch("real")))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "masks")
    lesson.header()
    lesson.fragment(_squares)
    if lesson.answered:
        _blind(lesson)
    lesson.fragment(sparse_sections)
    lesson.end()


def _squares(page: PageContext, lesson: Lesson) -> None:
    """The two sections about one small matrix."""
    turned = page.controls
    texts = [*lesson.prose["widgets"]["tokens"][:N - turned["pad"]], *["[PAD]"] * turned["pad"]]
    rule = masking.padding_mask(N, turned["pad"]) & (masking.look_ahead_mask(N) if turned["ahead"] else True)
    allowed = rule.copy()
    allowed.ravel()[list(turned["flips"])] ^= True
    scores = masking.toy_scores(N, turned["seed"])
    _build(page, lesson, texts, rule, allowed, scores)
    _before_or_after(page, lesson, texts, allowed, scores)


def _build(page: PageContext, lesson: Lesson, texts: list[str], rule: np.ndarray, allowed: np.ndarray,
           scores: np.ndarray) -> None:
    with lesson.section("build"):
        _rules(page, lesson.prose["widgets"])
        pictures, right = st.columns([9, 5], gap="small")
        left, middle = pictures.columns([5, 4], gap="small")
        with left:
            picture_button(mask_editor(allowed, texts, marked=page.controls["row"], key="mask",
                                       on_paint=lambda painted: page.set(
                flips=tuple(int(cell) for cell in np.flatnonzero((painted ^ rule).ravel())))))
        with middle, computing():
            weights = masking.masked_weights(scores, allowed, "before")
            figure(lambda theme: matrix(theme, np.where(allowed, weights, np.nan), texts, texts, height=360,
                                        axes=("key", "query"), style=CellStyle(ruler=False)),
                   key="masks-weights", alt=lesson.alt("build", n=N, open=int(allowed.sum())))
        with right:
            revealed = lesson.predict()
        if revealed:
            shapes = {"scores": scores, "allowed": allowed, "weights": weights}
            lesson.explanation("build", shown=(masking.padding_mask, masking.look_ahead_mask, masking.masked_weights),
                               shapes=shapes, notices_in=pictures, open=int(allowed.sum()), cells=allowed.size,
                               share=float(allowed.mean()), blind=int((~allowed.any(1)).sum()),
                               first=int(allowed[0].sum()))


def _rules(page: PageContext, words: dict) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=220):
            slider_for(page, "pad", words["pad"], range(5))
        toggle_for(page, "ahead", words["ahead"])
        button_setting(page, words["clear"], "clear-cells", flips=())
        button_setting(page, words["again"], "draw-again", seed=(page.controls["seed"] + 1) % SEEDS)


def _before_or_after(page: PageContext, lesson: Lesson, texts: list[str], allowed: np.ndarray,
                     scores: np.ndarray) -> None:
    words, method, row = lesson.prose["methods"], page.controls["method"], page.controls["row"]
    by_method = {name: masking.masked_weights(scores, allowed, name) for name in masking.METHODS}
    with lesson.section("methods"):
        if not page.controls["guess"]:
            lesson.placeholder("methods", height=90)
            return
        choice_for(page, "method", words["method"], words["names"])
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: matrix(theme, by_method[method], texts, texts, height=400), key="masks-method",
                   alt=lesson.alt("methods", name=words["names"][method],
                                  least=float(np.nan_to_num(by_method[method].sum(1)).min())))
        with right:
            slider_for(page, "row", words["row"], range(N), say=lambda place: f"{place}: {texts[place]}")
            leaked = _leak(lesson, texts, allowed, scores, row)
        if not allowed.any():
            st.info(words["all_blind"])
            return
        found = method_numbers(by_method, allowed)
        st.markdown(_table(words, found, allowed))
        low, high = leaked or (0.0, 0.0)
        lesson.explanation("methods", shown=(masking.masked_weights, masking.leak),
                           shapes={"scores": scores, "allowed": allowed},
                           leak=words["sealed" if leaked is None else "leak"].format(
                               row=f"{texts[row]} ({row})", low=low, high=high), **found)


def method_numbers(by_method: dict[str, np.ndarray], allowed: np.ndarray) -> dict[str, float]:
    """The least row sum and the largest difference from −∞ of each method, over the rows that may look at something."""
    seeing = allowed.any(1)
    before = by_method["before"][seeing]
    return {f"{name}_{method}": value for method, weights in by_method.items()
            for name, value in (("least", float(weights[seeing].sum(1).min())),
                                ("difference", float(np.abs(weights[seeing] - before).max())))}


def _leak(lesson: Lesson, texts: list[str], allowed: np.ndarray, scores: np.ndarray,
          row: int) -> tuple[float, float] | None:
    """The largest allowed weight of the row while a score that it must not see is moved; gives the least and the most
    that it becomes where it is zeroed only."""
    words = lesson.prose["methods"]
    answers = {method: weights for method in masking.METHODS
               if (weights := masking.leak(scores, allowed, row, MOVED, method)) is not None}
    if len(answers) < len(masking.METHODS):
        st.info(words["no_leak"])
        return None
    seen = np.flatnonzero(allowed[row])
    best = int(scores[row, seen].argmax())
    hidden = int(np.flatnonzero(~allowed[row])[0])
    style = {"before": ("solid", 0), "finite": ("dot", 2), "after": ("solid", 1), "renormalised": ("dash", 4)}
    best_name = f"{texts[seen[best]]} ({seen[best]})"
    drawn = [Line(words["names"][method], weights[:, best], style[method][1], style[method][0])
             for method, weights in answers.items()]
    low, high = float(answers["after"][:, best].min()), float(answers["after"][:, best].max())
    figure(lambda theme: lines(theme, MOVED, drawn,
                               axes=(words["moved"].format(token=f"{texts[hidden]} ({hidden})"),
                                     words["answer"].format(row=texts[row], token=best_name)),
                               y_range=(0, 1.02), height=320),
           key="masks-leak", alt=words["alt_leak"].format(low=low, high=high))
    return low, high


def _table(words: dict, found: dict[str, float], allowed: np.ndarray) -> str:
    rows = [words["table_head"], "|---|---|---|---|"]
    leaks = words["leaks"] if not allowed[allowed.any(1)].all() else dict.fromkeys(masking.METHODS, words["nothing"])
    for method in masking.METHODS:
        rows.append(f"| {words['names'][method]} | {found[f'least_{method}']:z.4f} | "
                    f"{found[f'difference_{method}']:.2g} | {leaks[method]} |")
    return "\n".join(rows)


def _blind(lesson: Lesson) -> None:
    with lesson.section("blind"):
        words = lesson.prose["blind"]
        results = masking.blind_row(N)
        rows = [words["table_head"], "|---|---|"]
        rows += [f"| {lesson.prose['methods']['names'].get(name, f'`{name}`')} | {result} |"
                 for name, result in results.items()]
        st.markdown("\n".join(rows))
        lesson.explanation("blind", shown=(masking.blind_row,), shapes={"row": f"({N},)"})
