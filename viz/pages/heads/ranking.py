"""Look here first: which heads rank first for the question at hand, each a button that opens it."""
from collections.abc import Callable

import streamlit as st

from model.core import heads
from model.core.measures import BY_NAME, HeadMeasures
from model.core.record import AttentionMap, Tokens
from model.core.types import HeadId
from model.core.view import Link, TokenRanking, View
from viz.format import format_weight, head_label, rank, token_label, token_markdown
from viz.glossary import term_link, terms
from viz.streamlit_patch import DeltaGenerator
from viz.text import strings
from viz.widgets.fields import pills

SHOWN = 6   # heads in a ranking
EACH = 3    # heads on either side of one token


def look_here_first(attention_map: AttentionMap, view: View, measures: HeadMeasures | None,
                    choose: Callable[..., None]) -> DeltaGenerator | None:
    """The ranking for the pair, or else the place for that of one token; the measures of the open head and who is first
    in each."""
    words = strings("heads")
    st.markdown(f"##### {words['first']}")
    if view.pair is not None:
        a, b = token_label(attention_map.queries, view.pair[0]), token_label(attention_map.keys, view.pair[1])
        st.markdown(words["first_pair"].format(a=a, b=b))
        order = heads.rank_heads_for_pair(attention_map, *view.pair)[:SHOWN]
        pills(words["first"],
              [((layer, head), f"{head_label(layer, head)}  {format_weight(weight)}") for layer, head, weight in order],
                choose, "head", (view.layer, view.head), "rank_pair")
    place = st.container() if view.pair is None else None
    if measures is not None:
        with st.expander(words["measures"]):
            for name in measures.values:
                _one_measure(measures, name, view, choose)
    return place


def look_from_and_at(attention_map: AttentionMap, view: View, ranking: TokenRanking,
                     choose: Callable[..., None]) -> None:
    """The heads that look most from the token in focus, and those that look most at it; a click opens one."""
    words, token = strings("heads"), token_label(attention_map.queries, view.token or 0)
    sides = (("first_from", ranking.from_token, attention_map.keys),
             ("first_at", ranking.at_token, attention_map.queries))
    for side, links, others in sides:
        if links:
            title, label = words[side].format(token=token), words[f"{side}_link"]
            st.markdown(title, help=words["first_help"])
            pills(title, [((link.layer, link.head), _link(link, others, label)) for link in links[:EACH]], choose,
                  "head", (view.layer, view.head), f"rank_{side}")


def _link(link: Link, others: Tokens, words: str) -> str:
    """A head, its weight, and the token at the link's other end."""
    return words.format(head=head_label(link.layer, link.head), weight=format_weight(link.weight),
                        other=token_markdown(others.texts[link.other]))


def _one_measure(measures: HeadMeasures, name: str, view: View, choose: Callable[..., None]) -> None:
    """One measure: the open head's value and rank, what a uniform row gives, and the heads with most of it."""
    measure, here = BY_NAME[name], (view.layer, view.head)
    left, right = st.columns([5, 6], vertical_alignment="center")
    left.markdown(measure_claim(measures, name, here, f"[{measure.title}]({term_link(terms()[name])})"))
    with right:
        pills(measure.title, [((layer, head), f"{head_label(layer, head)}  {format_weight(value)}")
                              for layer, head, value in measures.ranked(name)[:2]],
                choose, "head", here, f"rank_{name}")


def measure_claim(measures: HeadMeasures, name: str, here: HeadId, title: str) -> str:
    """Return a head's value of a measure, its rank among all heads, and what a uniform row gives. title: the
    measure's, in Markdown."""
    number, values = measures.heads.index(here), measures.values[name].tolist()
    place, tied = rank(values[number], values)
    return strings("heads")["measure_line"].format(
        title=title, here=head_label(*here), value=format_weight(values[number]), unit=BY_NAME[name].unit, rank=place,
        tied=tied, n=len(values), uniform=format_weight(measures.uniform[name][number]))


def tooltip_numbers(measures: HeadMeasures | None,
                  pair_weights: dict[tuple[int, int], float]) -> dict[str, dict[tuple[int, int], float]]:
    """What the grid says under the pointer: the weight for the pair, if there is one, and the measures of that head."""
    return ({strings("heads")["pair"]: pair_weights} if pair_weights else {}) | (
        {name: measures.by_head(name) for name in measures.values} if measures else {})
