"""Two models of one architecture over many texts: how much every head differs, with its interval."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from model.core.heads import Overview
from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.comparison import Divergences, ModelsQuery
from viz.components.head_grid import HeadValues
from viz.format import format_number, head_label
from viz.page import PageContext
from viz.pages.compare.difference import EQUAL, SHOWN
from viz.session import Kept
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.head_table import coloured_grid, plain_table
from viz.widgets.upload import BATCH, answers_in_batches, given_texts, texts_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured last."""

    asked: tuple[object, ...]   # models and kind
    name: str                   # of the texts
    texts: int                  # that were read
    table: "DataFrame"          # (layer, head): divergence, low, high


_MEASURED = Kept[Measured | None](None)


def many_section(page: PageContext, records: tuple[AttentionRecord, AttentionRecord], overview: Overview, view: View,
                 choose: Callable[..., None]) -> None:
    """Draw the place for texts, and what was measured over them: the grid and the table of every head. choose(head=…)
    opens a head on both sides."""
    words, asked = strings("compare")["many"], (*(_named(record) for record in records), view.kind)
    st.markdown(f"##### {words['title']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    given = given_texts("compare-many")
    found = None if given is None else texts_of(given, "compare-many")
    if given is not None and found is not None:
        texts = [text for _, text in found]
        batches = [tuple(texts[start:start + BATCH]) for start in range(0, len(texts), BATCH)]
        answers: list[Divergences] = answers_in_batches("compare-many", [
            (ModelsQuery(_named(records[0]), _named(records[1]), batch, view.kind), len(batch)) for batch in batches])
        read, last = sum(len(answer.changed) for answer in answers), _MEASURED.value
        if read and (last is None or (last.asked, last.name, last.texts) != (asked, given[1], read)):
            _MEASURED.value = Measured(asked, given[1], read, Divergences.joined(answers).frame())
    shown = _MEASURED.value
    if shown is not None and shown.asked == asked:
        _shown(shown, records, overview, view, choose)


def _named(record: AttentionRecord) -> tuple[str, str]:
    return record.query.model, record.query.revision


def _shown(measured: Measured, records: tuple[AttentionRecord, AttentionRecord], overview: Overview, view: View,
           choose: Callable[..., None]) -> None:
    words, name = strings("compare")["many"], escape_markdown(measured.name)
    table = measured.table.sort_values("divergence", ascending=False, kind="stable")
    first = table.iloc[0]
    st.markdown(words["most" if np.isfinite(first["low"]) else "one"].format(
        texts=measured.texts, name=name, head=head_label(*table.index[0]), median=format_number(
            table["divergence"].median()), **{column: format_number(first[column]) for column in table}),
        width=READABLE_WIDE)
    left, right = st.columns(2, gap="large")
    with left:
        colours = HeadValues(table["divergence"].to_dict(), strings("compare")["grid_value"],
                             bound=max(first["divergence"], EQUAL), ranked=True)
        coloured_grid(overview, view, colours, table["divergence"][:SHOWN].items(), format_number, key="compare-many",
                      records=records, choose=choose)
    with right:
        config = {words["columns"][name]: st.column_config.NumberColumn(format="%.4f")
                  for name in ("divergence", "low", "high")}
        plain_table(table, words["columns"], key="compare-many-table", config=config, alt=words["table"].format(
            one=records[0].card.title, other=records[1].card.title, name=measured.name))
