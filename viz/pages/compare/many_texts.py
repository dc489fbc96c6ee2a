"""Comparison of two models of one architecture over many texts: each head's mean difference with its interval."""
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from clearhead.model.core.record import AttentionRecord, unread
from clearhead.model.core.statistics import FEWEST
from clearhead.model.core.view import View
from clearhead.model.studies.comparison import Divergences, ModelsQuery
from clearhead.viz.app.page import PageContext
from clearhead.viz.components.picture import HeadValues
from clearhead.viz.pages.compare.difference import EQUAL, SHOWN
from clearhead.viz.style.numbers import format_number
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.head_table import coloured_grid, plain_table
from clearhead.viz.widgets.layout import heading, prose, split
from clearhead.viz.widgets.upload import answers_over_texts

if TYPE_CHECKING:
    from pandas import DataFrame


@functools.lru_cache(maxsize=16)
def table_over(answers: tuple[Divergences, ...]) -> "DataFrame":
    """Return the table over all answers' texts, the most different head first. Its bootstrap takes a second."""
    return Divergences.joined(answers).frame().sort_values("divergence", ascending=False, kind="stable")


def many_section(page: PageContext, records: tuple[AttentionRecord, AttentionRecord], view: View,
                 choose: Callable[..., None]) -> None:
    """Draw the fields for texts, and the grid and table of every head's difference over them. choose(head=…) opens a
    head on both sides."""
    words = strings("compare")["many"]
    heading(words["title"])
    prose(words["lead"])
    one, other = [(each.query.model, each.query.revision) for each in records]
    found = answers_over_texts("compare-many", lambda name, texts: ModelsQuery(
        one, other, tuple(text for _, text in texts), view.kind))
    if found is None or not found[2]:
        return
    name, _, answers = found
    table, whole = table_over(tuple(answers)), Divergences.joined(answers)
    said = unread(" or ".join(dict.fromkeys(record.card.title for record in records)),
                  sum(answer.unread for answer in answers), sum(len(answer.changed) for answer in answers), "texts")
    if said:
        st.warning(escape_markdown(said))
    first = table.iloc[0]
    prose(words("most" if np.isfinite(first["low"]) else "one", texts=len(whole.texts), whole=whole, fewest=FEWEST,
                name=escape_markdown(name), head=table.index[0], median=table["divergence"].median(), first=first))
    left, right = split(gap="large")
    with left:
        colours = HeadValues(table["divergence"].to_dict(), strings("compare")["grid_value"],
                             bound=max(first["divergence"], EQUAL), ranked=True)
        coloured_grid(page, records, view, colours, table["divergence"][:SHOWN].map(format_number).items(),
                      key="compare-many", choose=choose)
    with right:
        alt = words("table", one=records[0].card.title, other=records[1].card.title, name=name)
        plain_table(table, alt, words["columns"], key="compare-many-table", formats=dict.fromkeys(table, "%.4f"))
