"""Who may look where? Masks built cell by cell, before or after the softmax, and the sparse patterns that replace
n²."""
import numpy as np
import streamlit as st

from model.lessons import edit_effects, masking, sparse_masks
from viz.components.mask_editor import mask_editor
from viz.figures.bars import bars
from viz.figures.base import ASLANT
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_share, head_label
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Places, Switch
from viz.widgets.control_widgets import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import GUESS, Lesson, computing

N = 8                                    # tokens of the small matrix
LENGTHS = (16, 32, 64, 128)              # tokens of the patterns
WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16)
MOVED = np.linspace(-4, 4, 41)           # how far the forbidden score is moved
SEEDS = 100
PAGE = Page("Who may look where: masks", "Learn", 7, "head", asks_at=(("real", True),),
            controls=(
    GUESS, Number("pad", 2, 0, 4, whole=True), Switch("ahead", True), Places("flips", N * N, N * N),
    Number("row", 3, 0, N - 1, whole=True), Number("seed", 0, 0, SEEDS - 1, whole=True),
    Choice("method", "before", masking.METHODS), Choice("pattern", "bigbird", sparse_masks.NAMES),
    Number("n", 32, min(LENGTHS), max(LENGTHS), whole=True), Switch("causal"), Number("window", 2, 1, 16, whole=True),
    Number("dilation", 2, 1, 8, whole=True), Number("global", 1, 0, 8, whole=True),
    Number("random", 2, 0, 8, whole=True), Number("draw", 0, 0, SEEDS - 1, whole=True), Switch("real")))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "masks")
    lesson.header()
    revealed = lesson.predict()
    lesson.fragment(_squares, revealed)
    _blind(lesson)
    lesson.fragment(_sparse)


def _squares(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """The two sections about one small matrix."""
    turned = page.controls
    texts = [*lesson.prose["widgets"]["tokens"][:N - turned["pad"]], *["[PAD]"] * turned["pad"]]
    rule = masking.padding_mask(N, turned["pad"]) & (masking.look_ahead_mask(N) if turned["ahead"] else True)
    allowed = rule.copy()
    allowed.ravel()[list(turned["flips"])] ^= True
    scores = masking.toy_scores(N, turned["seed"])
    _build(page, lesson, texts, rule, allowed, scores)
    _before_or_after(page, lesson, texts, allowed, scores, revealed)


def _build(page: PageContext, lesson: Lesson, texts: list[str], rule: np.ndarray, allowed: np.ndarray,
           scores: np.ndarray) -> None:
    words = lesson.prose["widgets"]
    with lesson.section("build"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=220):
                slider_for(page, "pad", words["pad"], range(5))
            toggle_for(page, "ahead", words["ahead"])
            button_setting(page, words["clear"], "clear-cells", flips=())
            button_setting(page, words["again"], "draw-again", seed=(page.controls["seed"] + 1) % SEEDS)
        left, right = st.columns(2, gap="medium")
        with left:
            picture_button(mask_editor(allowed, texts, marked=page.controls["row"], key="mask",
                                       on_paint=lambda painted: page.set_controls(
                flips=tuple(int(cell) for cell in np.flatnonzero((painted ^ rule).ravel())))))
        with right, computing():
            weights = masking.masked_weights(scores, allowed, "before")
            figure(lambda theme: matrix(theme, np.where(allowed, weights, np.nan), texts, texts, height=400,
                                        axes=("key", "query")),
                   key="masks-weights", alt=lesson.alt("build", n=N, open=int(allowed.sum())))
        blind = int((~allowed.any(1)).sum())
        shapes = {"scores": scores, "allowed": allowed, "weights": weights}
        lesson.explanation("build", shown=(masking.padding_mask, masking.look_ahead_mask, masking.masked_weights),
                           shapes=shapes, open=int(allowed.sum()), cells=N * N, share=allowed.mean(),
                           blind=lesson.prose["build"]["blind" if blind else "seeing"].format(count=blind))


def _before_or_after(page: PageContext, lesson: Lesson, texts: list[str], allowed: np.ndarray, scores: np.ndarray,
                     revealed: bool) -> None:
    words, method, row = lesson.prose["methods"], page.controls["method"], page.controls["row"]
    by_method = {name: masking.masked_weights(scores, allowed, name) for name in masking.METHODS}
    with lesson.section("methods"):
        choice_for(page, "method", words["method"], words["names"])
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: matrix(theme, by_method[method], texts, texts, height=400), key="masks-method",
                   alt=lesson.alt("methods", name=words["names"][method],
                                  least=float(np.nan_to_num(by_method[method].sum(1)).min())))
        with right:
            slider_for(page, "row", words["row"], range(N), say=lambda place: f"{place}: {texts[place]}")
            _leak(lesson, texts, allowed, scores, row, revealed)
        st.markdown(_table(words, by_method, allowed))
        shapes = {"scores": scores, "allowed": allowed}
        lesson.explanation("methods", shown=(masking.masked_weights, masking.leak), shapes=shapes, row=texts[row],
                           **_figures(by_method, allowed))


def _leak(lesson: Lesson, texts: list[str], allowed: np.ndarray, scores: np.ndarray, row: int, revealed: bool) -> None:
    """The largest allowed weight of the row while a score that it must not see is moved."""
    words = lesson.prose["methods"]
    answers = {method: weights for method in masking.METHODS
               if (weights := masking.leak(scores, allowed, row, MOVED, method)) is not None}
    if len(answers) < len(masking.METHODS):
        st.info(words["no_leak"])
        return
    if not revealed:
        lesson.placeholder("leak", height=320)
        return
    seen = np.flatnonzero(allowed[row])
    best = int(seen[scores[row, seen].argmax()])
    hidden = int(np.flatnonzero(~allowed[row])[0])
    style = {"before": ("solid", 0), "finite": ("dot", 2), "after": ("solid", 1), "renormalised": ("dash", 4)}
    drawn = [Line(words["names"][method], weights[:, int(np.searchsorted(seen, best))], style[method][1],
                  style[method][0])
             for method, weights in answers.items()]
    figure(lambda theme: lines(theme, MOVED, drawn,
                               axes=(words["moved"].format(token=f"{texts[hidden]} ({hidden})"),
                                     words["answer"].format(row=texts[row], token=f"{texts[best]} " f"({best})")),
                               y_range=(0, 1.02), height=320),
           key="masks-leak",
           alt=words["alt_leak"].format(low=float(answers["after"].min()), high=float(answers["after"].max())))


def _figures(by_method: dict[str, np.ndarray], allowed: np.ndarray) -> dict[str, float]:
    """Sums and differences over the rows that may look at something."""
    seeing = allowed.any(1)
    before = by_method["before"][seeing]
    return {f"{name}_{method}": value for method, weights in by_method.items()
            for name, value in (("least", float(weights[seeing].sum(1).min())),
                                ("difference", float(np.abs(weights[seeing] - before).max())))}


def _table(words: dict, by_method: dict[str, np.ndarray], allowed: np.ndarray) -> str:
    numbers = _figures(by_method, allowed)
    rows = [words["table_head"], "|---|---|---|---|"]
    for method in masking.METHODS:
        least, difference = numbers[f"least_{method}"], numbers[f"difference_{method}"]
        rows.append(f"| {words['names'][method]} | {least:z.4f} | {difference:.2g} | {words['leaks'][method]} |")
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


def _shape(page: PageContext) -> sparse_masks.Shape:
    turned = page.controls
    return sparse_masks.Shape(turned["window"], turned["dilation"], turned["global"], turned["random"], turned["draw"])


def _sparse(page: PageContext, lesson: Lesson) -> None:
    """The two sections about one pattern; the real head's own controls leave the pattern's pictures alone."""
    _patterns(page, lesson)
    lesson.fragment(_real)


def _patterns(page: PageContext, lesson: Lesson) -> None:
    words, turned, shape = lesson.prose["patterns"], page.controls, _shape(page)
    n, causal, name = turned["n"], turned["causal"], turned["pattern"]
    with lesson.section("patterns"):
        choice_for(page, "pattern", words["pattern"], words["names"])
        left, right = st.columns([2, 3], gap="medium")
        with left:
            _pattern_controls(page, words, name)
        chosen = sparse_masks.pattern(name, n, shape, causal)
        shares = {kind: sparse_masks.reach(sparse_masks.pattern(kind, n, shape, causal), causal)
                  for kind in sparse_masks.NAMES}
        with right:
            figure(lambda theme: matrix(theme, chosen.astype(float), [str(place) for place in range(n)],
                                        [str(place) for place in range(n)], height=420, style=CellStyle(ruler=False)),
                   key="masks-pattern", alt=lesson.alt("patterns", name=words["names"][name], share=chosen.mean(), n=n))
        with left:
            st.markdown(_pattern_table(words, n, shape, causal, shares))
        layers = np.arange(1, 1 + max(map(len, shares.values())))
        drawn = [Line(words["names"][kind], np.pad(reached, (0, len(layers) - len(reached)), mode="edge"), place)
                 for place, (kind, reached) in enumerate(shares.items())]
        figure(lambda theme: lines(theme, layers, drawn, axes=(words["layers"], words["connected"]), y_range=(0, 1.03),
                                   log="x" if len(layers) > 8 else "", height=340),
               key="masks-reach", alt=words["alt_reach"].format(layers=len(shares[name]), name=words["names"][name]))
        needed = sparse_masks.layers_needed(shares[name])
        lesson.explanation("patterns",
                           shown=(sparse_masks.window, sparse_masks.dilated_window, sparse_masks.global_tokens,
                                  sparse_masks.random_keys, sparse_masks.reach),
                           shapes={"allowed": chosen}, name=words["names"][name], share=chosen.mean(), n=n,
                           open=int(chosen.sum()), all=n * n,
                           needed=words["never"] if needed is None else words["after"].format(count=needed),
                           window=turned["window"], straight=-(-(n - 1) // turned["window"]))


def _pattern_controls(page: PageContext, words: dict, name: str) -> None:
    """Only what the chosen pattern has."""
    slider_for(page, "n", words["n"], LENGTHS)
    if name in ("window", "dilated", "global", "bigbird"):
        slider_for(page, "window", words["window"], WINDOWS)
    if name == "dilated":
        slider_for(page, "dilation", words["dilation"], range(1, 9))
    if name in ("global", "bigbird"):
        slider_for(page, "global", words["global"], range(9))
    if name in ("random", "bigbird"):
        slider_for(page, "random", words["random"], range(9))
        button_setting(page, words["again"], "keys-again", draw=(page.controls["draw"] + 1) % SEEDS)
    toggle_for(page, "causal", words["causal"])


def _pattern_table(words: dict, n: int, shape: sparse_masks.Shape, causal: bool, shares: dict[str, np.ndarray]) -> str:
    rows = [words["table_head"], "|---|---:|---:|"]
    for name in sparse_masks.NAMES:
        needed = sparse_masks.layers_needed(shares[name])
        rows.append(f"| {words['names'][name]} | "
                    f"{format_share(sparse_masks.computed_share(sparse_masks.pattern(name, n, shape, causal)))} | "
                    f"{words['never_short'] if needed is None else needed} |")
    return "\n".join(rows)


def _real(page: PageContext, lesson: Lesson) -> None:
    words, shape, name = lesson.prose["real"], _shape(page), page.controls["pattern"]
    with lesson.section("real"):
        toggle_for(page, "real", words["switch"])
        if not page.controls["real"]:
            return
        record, view = real_head(page, token=False)
        attention_map = record[view.kind]
        if not sparse_masks.applies_to(attention_map):
            st.info(words["cross"])
            return
        n = len(attention_map.queries)
        lost = {kind: sparse_masks.lost_weight(attention_map, sparse_masks.pattern(kind, n, shape))
                for kind in sparse_masks.NAMES}
        grid, layers = edit_effects.by_layer(lost[name])
        place, titles = (view.layer, view.head), lesson.prose["patterns"]["names"]
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: bars(theme, [titles[kind] for kind in lost],
                                      {words["lost"]: np.array([lost[kind][place] for kind in lost])},
                                      axes=("", words["lost"]), y_range=(0, 1), height=390, angle=ASLANT),
                   key="masks-lost",
                   alt=lesson.alt("real", layer=view.layer, head=view.head, name=titles[name], lost=lost[name][place]))
        with right:
            heads = [str(head) for head in range(grid.shape[1])]
            figure(lambda theme: matrix(theme, grid, [str(layer) for layer in layers], heads, axes=("head", "layer"),
                                        height=390, title=words["lost_by"].format(name=titles[name]),
                                        style=CellStyle(square=False)),
                   key="masks-heads", alt=words["alt_heads"].format(name=titles[name]))
        ranked = sorted(lost[name].items(), key=lambda item: item[1])
        (least, least_lost), (most, most_lost) = ranked[0], ranked[-1]
        lesson.explanation("real", shown=(sparse_masks.lost_weight,), shapes={"lost": grid}, layer=view.layer,
                           head=view.head, name=titles[name], n=n, lost=lost[name][place], least=head_label(*least),
                           least_lost=least_lost, most=head_label(*most), most_lost=most_lost,
                           share=sparse_masks.pattern(name, n, shape).mean())
