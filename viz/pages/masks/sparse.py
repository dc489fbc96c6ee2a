"""The last sections of *Who may look where*: the sparse patterns that replace n², and what a real head would lose to
one."""
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from model.core.types import HeadId
from model.lessons import masking, softmax
from viz.figures.bars import bars
from viz.figures.base import ASLANT
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_share, head_label
from viz.page import PageContext
from viz.widgets.control_widgets import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import Lesson

SEEDS = 100                              # draws of random keys
LENGTHS = (16, 32, 64, 128)              # tokens of the patterns
WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16)


def _shape(page: PageContext) -> masking.Shape:
    turned = page.controls
    return masking.Shape(turned["window"], turned["dilation"], turned["global"], turned["random"], turned["draw"])


def sparse_sections(page: PageContext, lesson: Lesson) -> None:
    """The real head's own controls leave the pattern's pictures alone."""
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
        chosen = masking.pattern(name, n, shape, causal)
        shares = {kind: masking.reach(masking.pattern(kind, n, shape, causal), causal)
                  for kind in masking.NAMES}
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
                                   log="x" if len(layers) > 8 else "", height=300),
               key="masks-reach", alt=words["alt_reach"].format(layers=len(shares[name]), name=words["names"][name]))
        lesson.explanation("patterns",
                           shown=(masking.window, masking.dilated_window, masking.global_tokens,
                                  masking.random_keys, masking.reach),
                           shapes={"allowed": chosen}, name=words["names"][name], share=chosen.mean(), n=n,
                           open=int(chosen.sum()), all=n * n,
                           **pattern_numbers(words, n, shape, causal, shares[name], shares["random"]))


def pattern_numbers(words: dict, n: int, shape: masking.Shape, causal: bool, chosen: np.ndarray,
                    random: np.ndarray) -> dict[str, Any]:
    """What is said of the patterns for n tokens. chosen, random: the reach of the chosen pattern and of random keys."""
    walk, helped = (masking.layers_needed(masking.reach(masking.pattern(
        name, n, masking.Shape(window=shape.window), causal), causal)) for name in ("window", "global"))
    drawn = masking.pattern("random", n, shape, causal) & ~np.eye(n, dtype=bool)
    whom = "causal" if causal else "all"
    return {"needed": masking.layers_needed(chosen) or 0, "whom": words["whoms"][whom], "random": shape.random,
            "window": words["windows"][whom].format(window=shape.window, n=n, walk=walk, helped=helped),
            "drawn": masking.layers_needed(random) or 0, "reached": format_share(random[-1]),
            "dilation": shape.dilation,   # of a causal text no token follows the last
            "unheard": int((~np.asarray(drawn.any(0)))[:n - 1 if causal else n].sum())}


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


def _pattern_table(words: dict, n: int, shape: masking.Shape, causal: bool, shares: dict[str, np.ndarray]) -> str:
    rows = [words["table_head"], "|---|---:|---:|"]
    for name in masking.NAMES:
        needed = masking.layers_needed(shares[name])
        rows.append(f"| {words['names'][name]} | "
                    f"{format_share(masking.computed_share(masking.pattern(name, n, shape, causal)))} | "
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
        if not masking.applies_to(attention_map):
            st.info(words["cross"])
            return
        n = len(attention_map.queries)
        lost = {kind: masking.lost_weight(attention_map, masking.pattern(kind, n, shape))
                for kind in masking.NAMES}
        grid, layers = softmax.by_layer(lost[name])
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
        lesson.explanation("real", shown=(masking.lost_weight,), shapes={"lost": grid}, layer=view.layer,
                           head=view.head, name=titles[name], n=n, lost=lost[name][place],
                           share=masking.pattern(name, n, shape).mean(),
                           **_lost(lost[name]))


def _lost(by_head: Mapping[HeadId, float]) -> dict[str, str]:
    """The heads of a model that lose least and most."""
    least, most = min(by_head, key=by_head.__getitem__), max(by_head, key=by_head.__getitem__)
    return {"least": head_label(*least), "little": format_share(by_head[least]), "most": head_label(*most),
            "much": format_share(by_head[most])}
