"""The parts of the page Compare: the open head in both and their difference, which heads changed most, and what the two answer."""
import html
import math

import numpy as np
import streamlit as st

from model import sources
from model.comparison import Comparison, answers, cosine, difference, head_of
from model.lessons.effects import by_layer
from model.query import Kind
from model.record import AttentionRecord
from model.view import View
from viz.components.controls import buttons
from viz.components.figure import figure
from viz.figures.matrix import matrix
from viz.page import Frame
from viz.text import literal, strings

SHOWN, EQUAL, HIGH = 6, 1e-6, 430     # heads that are offered; weights that differ less are equal; pixels of a matrix


def alternatives(model: str) -> dict[str, str]:
    """{id: title} of every other model that is here."""
    return {each.id: each.title for each in sources.offers() if each.on_disk and each.id != model}


def _label(text: str) -> str:
    return html.escape(text if len(text) <= 18 else text[:17] + "…")


def pictures(first: AttentionRecord, second: AttentionRecord, view: View, other: tuple[Kind, tuple[int, int]], found: Comparison) -> None:
    """The open head in both, their difference, and beside it what is true of it and what the two answer."""
    words, (kind, head) = strings("compare"), other
    drawn = difference(head_of(first[view.kind], view.layer, view.head), head_of(second[kind], *head), found.rows, found.columns)
    names = [f"{words[name]} · {each.card.title} · {place[0]}·{place[1]}"
             for name, each, place in (("first", first, (view.layer, view.head)), ("second", second, head))]
    rows, columns = ([_label(group.text) for group in side] for side in (found.rows, found.columns))
    axes = (words["key"], words["query"])
    st.markdown(f"##### {words['picture']}")
    for column, name, numbers, key in zip(st.columns(2, gap="medium"), names, drawn, ("first", "second"), strict=False):
        with column:
            st.markdown(f"**{literal(name)}**")
            figure(lambda theme, numbers=numbers: matrix(theme, numbers, rows, columns, axes=axes, height=HIGH, ruler=False),
                   key=f"compare-{key}", alt=words["alt"].format(name=name, rows=len(rows), columns=len(columns)))
    changes = np.nan_to_num(drawn[2])
    most = np.unravel_index(np.abs(changes).argmax(), changes.shape)
    bound = max(float(np.abs(changes).max()), EQUAL)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**{words['difference']}**")
        alt = words["alt_difference"].format(most=changes[most], row=found.rows[most[0]].text, column=found.columns[most[1]].text)
        figure(lambda theme: matrix(theme, drawn[2], rows, columns, kind="signed", axes=axes, height=HIGH, bound=bound), key="compare-difference",
               alt=alt)
    with right:
        st.caption(words["picture_about"].format(bound=bound))
        st.markdown(words["unchanged"] if bound <= EQUAL else words["most"].format(
            row=literal(found.rows[most[0]].text), column=literal(found.columns[most[1]].text), one=drawn[0][most], other=drawn[1][most]))
        alone = sum(not each.both for each in found.rows)
        if alone or not all(each.both for each in found.columns):
            st.caption(words["alone"].format(count=alone, total=len(found.rows)))
        _said(first, second)


def grid(frame: Frame, found: Comparison, counterpart: bool) -> None:
    """Every head of the first by how much it changed, or by how far it is from the second's open head."""
    words, ranked = strings("compare"), found.ranked
    square, layers = by_layer(found.changed)
    st.markdown(f"##### {words['grid']}" if counterpart else f"##### {words['grid_alike']}")
    st.caption(words["grid_about"] + ("" if counterpart else " " + words["grid_against"]))
    figure(lambda theme: matrix(theme, square, [str(layer) for layer in layers], [str(head) for head in range(square.shape[1])], kind="plain",
                                axes=(words["grid_head"], words["grid_layer"]), height=140 + 28 * min(len(layers), 20), square=False, digits=3,
                                bound=max(float(np.nanmax(square)), EQUAL)),
           key="compare-grid", alt=words["grid_alt"].format(n=len(ranked), layer=ranked[0][0], head=ranked[0][1], most=ranked[0][2]))
    offered = ranked[:SHOWN] if counterpart else ranked[:-SHOWN - 1:-1]
    buttons(words["open"], [((layer, head), f"{layer}·{head}  {value:.4f}") for layer, head, value in offered], frame.choose, "head", None,
            "rank_changed")


def _said(first: AttentionRecord, second: AttentionRecord) -> None:
    """Both answers: probabilities beside each other, the texts that were written, or the angle between sentence vectors."""
    words, kinds = strings("compare"), [getattr(each.prediction, "kind", "none") for each in (first, second)]
    st.markdown(f"##### {words['answers']}")
    angle = cosine(first, second)
    if angle is not None:
        st.markdown(words["cosine"].format(cosine=angle))
    elif kinds == ["target", "target"]:
        texts = [" ".join(literal(best[0]) for best in each.prediction.texts) for each in (first, second)]
        st.markdown(words["answers_text"].format(first=texts[0], second=texts[1]))
    elif not answers(first, second):
        st.markdown(words["answers_none"].format(first=words["kinds"][kinds[0]], second=words["kinds"][kinds[1]]))
    else:
        rows = [f"| {literal(token)} | {_share(one)} | {_share(other)} | {_share(other - one, '+')} |"
                for token, one, other in answers(first, second)]
        st.caption(words["answers_place"])
        st.markdown("\n".join([f"| {' | '.join(words['answers_head'])} |", "|---|---|---|---|", *rows]))


def _share(number: float, sign: str = "") -> str:
    return strings("compare")["answers_unlisted"] if math.isnan(number) and not sign else "" if math.isnan(number) else f"{number:{sign}.4f}"
