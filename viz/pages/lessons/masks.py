"""A lesson on masks: built cell by cell, applied before or after the softmax, and the sparse patterns that replace
n²."""
import numpy as np
import streamlit as st

from clearhead.model.core.query import Kind
from clearhead.model.lessons import masking, softmax
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Places, Switch, counted, stepped
from clearhead.viz.components.mask_editor import mask_editor
from clearhead.viz.figures.bars import stacked_bars
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.numbers import format_share
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, computing, controls_row, lesson_page, section

N = 8                                    # number of tokens in the small matrix
MOVED = np.linspace(-4, 4, 41)           # shifts of a masked score
LOOKS = {"before": (0, "solid"), "finite": (2, "dot"), "after": (1, "solid"), "renormalised": (4, "dash")}
SEEDS = 100                              # seeds for random keys
# {slider: the patterns that use it}
SLIDERS = {"window": ("window", "dilated", "global", "bigbird"), "dilation": ("dilated",),
           "global": ("global", "bigbird"), "random": ("random", "bigbird")}
PAGE = Page("head", asks_at=(("real", True),),
            controls=(
    *QUESTIONS, stepped("pad", 2, range(5)), Switch("ahead", True), Places("flips", N * N, N * N),
    stepped("row", 3, range(N)), counted("seed", SEEDS),
    Choice("method", "before", masking.METHODS), Choice("pattern", "bigbird", masking.NAMES),
    stepped("n", 32, (16, 32, 64, 128)), Switch("causal"), stepped("window", 2, (1, 2, 3, 4, 6, 8, 12, 16)),
    stepped("dilation", 2, range(1, 9)), stepped("global", 1, range(9)),
    stepped("random", 2, range(9)), counted("draw", SEEDS), Switch("real")))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    lesson.fragment(_squares)
    if lesson.open():
        lesson.further(_blind)
    lesson.fragment(_sparse)


def _squares(page: PageContext, lesson: Lesson) -> None:
    """Draw the two sections on a single small matrix."""
    turned = page.controls
    texts = [*lesson.prose["build"]["tokens"][:N - turned["pad"]], *["[PAD]"] * turned["pad"]]
    rule = masking.padding_mask(N, turned["pad"]) & (masking.look_ahead_mask(N) if turned["ahead"] else True)
    allowed = rule.copy()
    allowed.ravel()[list(turned["flips"])] ^= True
    scores = masking.toy_scores(N, turned["seed"])
    _build(page, lesson, texts, rule, allowed, scores)
    _methods(page, lesson, texts, allowed, scores)


@section
def _build(page: PageContext, words: Section, texts: list[str], rule: np.ndarray, allowed: np.ndarray,
           scores: np.ndarray) -> None:
    with controls_row():
        words.slider("pad", width=220)
        words.toggle("ahead")
        words.button("clear", flips=())
        words.again("seed")
    figures, right = split(9, 5)
    left, middle = figures.columns([5, 4], gap="small")
    words.tell(n=N, open=allowed.sum(), cells=allowed.size, share=allowed.mean(),
               blind=(~allowed.any(1)).sum(), first=allowed[0].sum())
    with left:
        mask_editor(allowed, texts, marked=page["row"], key="mask", on_paint=lambda painted: page.set(
            flips=tuple(np.flatnonzero((painted ^ rule).ravel()).tolist())))
    with middle, computing():
        weights = masking.masked_weights(scores, allowed, "before")
        words.figure(matrix, np.where(allowed, weights, np.nan), texts, texts, height=360,
                     style=CellStyle(ruler=False))
    with right:
        revealed = words.predict()
    if revealed:
        words.explain(masking.padding_mask, masking.look_ahead_mask, masking.masked_weights, notices_in=figures)


@section
def _methods(page: PageContext, words: Section, texts: list[str], allowed: np.ndarray,
                     scores: np.ndarray) -> None:
    method, row = page["method", "row"]
    by_method = {name: masking.masked_weights(scores, allowed, name) for name in masking.METHODS}
    if words.hidden():
        return
    with controls_row():
        words.choice("method", "names")
        words.slider("row", say=lambda place: f"{place}: {texts[place]}")
    words.tell(name=words["names"][method], least=np.nan_to_num(by_method[method].sum(1)).min())
    left, right = split(7, 8)
    with left, st.container(key="aside-methods"):
        words.figure(matrix, by_method[method], texts, texts, height=400)
    with right:
        _leak(words, texts, allowed, scores, row)
    if not allowed.any():
        st.info(words["all_blind"])
        return
    found = method_numbers(by_method, allowed)
    words.table([
        [words["names"][name], f"{found['sums'][name]:z.4f}", f"{found['apart'][name]:.2g}",
         words["leaks"][name]] for name in masking.METHODS], numbers=False)
    words.explain(masking.masked_weights, masking.leak, **found)


def method_numbers(by_method: dict[str, np.ndarray], allowed: np.ndarray) -> dict[str, dict[str, float]]:
    """Return each method's smallest row sum ("sums"), and its largest difference from masking with −∞ ("apart"), over
    rows with an allowed key."""
    seeing = allowed.any(1)
    return {"sums": {method: weights[seeing].sum(1).min() for method, weights in by_method.items()},
            "apart": {method: np.abs(weights - by_method["before"])[seeing].max()
                      for method, weights in by_method.items()}}


def _leak(words: Section, texts: list[str], allowed: np.ndarray, scores: np.ndarray, row: int) -> None:
    """Draw the largest allowed weight of a row while a masked score is shifted."""
    seen, hidden = np.flatnonzero(allowed[row]), np.flatnonzero(~allowed[row])
    if not len(seen) or not len(hidden):
        st.info(words["no_leak"])
        return
    best = scores[row, seen].argmax()
    answers = {method: masking.leak(scores, allowed, row, MOVED, method)[:, best] for method in masking.METHODS}
    drawn = [Line(words["names"][method], weights, *LOOKS[method]) for method, weights in answers.items()]
    axes = (words("moved", token=f"{texts[hidden[0]]} ({hidden[0]})"),
            words("answer", row=texts[row], token=f"{texts[seen[best]]} ({seen[best]})"))
    words.figure(lines, MOVED, drawn, axes=axes, y_range=(0, 1.02), height=320, kind="leak")


@section
def _blind(page: PageContext, words: Section) -> None:
    names = words.prose["methods"]["names"]
    rows = [[names.get(name, f"`{name}`"), result] for name, result in masking.blind_row(N).items()]
    words.table(rows, numbers=False)
    words.explain(masking.blind_row)


def _shape(page: PageContext) -> masking.PatternShape:
    return masking.PatternShape(*page["window", "dilation", "global", "random", "draw"])


def _sparse(page: PageContext, lesson: Lesson) -> None:
    """Draw the sparse patterns. The real head's controls do not affect these figures."""
    _patterns(page, lesson)
    lesson.fragment(_real)


@section
def _patterns(page: PageContext, words: Section) -> None:
    shape = _shape(page)
    n, causal, name = page["n", "causal", "pattern"]
    words.choice("pattern", "names")
    turning = [control for control, patterns in SLIDERS.items() if name in patterns]
    with controls_row():
        for control in ("n", *turning):
            words.slider(control, width=200)
        if "random" in turning:
            words.again("draw")
        words.toggle("causal")
    masks = {kind: masking.pattern(kind, n, shape, causal) for kind in masking.NAMES}
    shares = {kind: masking.reach(mask, causal) for kind, mask in masks.items()}
    chosen = masks[name]
    words.tell(name=words["names"][name], share=chosen.mean(), open=chosen.sum(), all=n * n)
    left, right = split(2, 3)
    with left:
        words.figure(matrix, chosen.astype(float), height=380, style=CellStyle(ruler=False))
    layers = np.arange(1, 1 + max(map(len, shares.values())))
    drawn = [Line(words["names"][kind], np.pad(reached, (0, len(layers) - len(reached)), mode="edge"), place)
             for place, (kind, reached) in enumerate(shares.items())]
    with right:
        words.figure(lines, layers, drawn, y_range=(0, 1.03), log="x" if len(layers) > 8 else "", height=380,
                     kind="reach")
    words.table([
        [words["names"][kind], format_share(mask.mean()),
         str(masking.layers_needed(shares[kind]) or words["never_short"])] for kind, mask in masks.items()])
    words.explain(masking.window, masking.dilated_window, masking.global_tokens, masking.random_keys, masking.reach)


@section
def _real(page: PageContext, words: Section) -> None:
    """Draw how much weight a model's heads would lose to a sparse pattern."""
    shape, name = _shape(page), page["pattern"]
    if not words.opened("real"):
        return
    record, view = real_head(page, token=False)
    attention_map, place = record[view.kind], view.head_id
    if attention_map.kind.base is Kind.CROSS:
        st.info(words["cross"])
        return
    n, titles = len(attention_map.queries), words.prose["patterns"]["names"]
    lost = {kind: masking.lost_weight(attention_map, masking.pattern(kind, n, shape)) for kind in masking.NAMES}
    grid, layers = softmax.by_layer(lost[name])
    least, most = min(lost[name], key=lost[name].__getitem__), max(lost[name], key=lost[name].__getitem__)
    words.tell(view=view, name=titles[name], n=n, lost=lost[name][place],
               share=masking.pattern(name, n, shape).mean(), least=least, little=lost[name][least],
               most=most, much=lost[name][most])
    left, right = split()
    with left:
        words.figure(stacked_bars, [titles[kind] for kind in lost],
                     [(words["lost"], 0, np.array([each[place] for each in lost.values()]))], axis=words["lost"],
                     height=390)
    with right:
        words.figure(matrix, grid, layers, height=390,
                     title=words("lost_by"), style=CellStyle(square=False), kind="heads")
    words.explain(masking.lost_weight)
