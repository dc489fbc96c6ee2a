"""The table of heads on the page Measures: what fits, what it measures, what silencing does; a click on a row opens the
head."""
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from model.core.measures import BY_NAME, HeadMeasures
from model.core.query import UserError
from model.studies.patterns import PATTERNS, TITLES, HeadFits
from model.studies.silencing import Silencing, SilencingQuery
from viz import provenance
from viz.export import head_table
from viz.page import PageContext
from viz.text import strings
from viz.widgets.handout_button import table_button
from viz.widgets.waiting import ask


def measures_table(page: PageContext, measures: HeadMeasures, fits: HeadFits, silencing: Silencing | None) -> None:
    """The numbers of one text, and the file of them."""
    words = strings("measures")
    st.markdown(f"##### {words['table']}")
    st.caption(words["table_about"])
    rows = head_table.rows(measures, fits, silencing)
    record, view, link = page.record(), page.view(), page.link(page.state)
    clickable_table(page, [row | {"pattern": TITLES[row["pattern"]]} for row in rows],
                    column_config(rows[0], silencing), key="head-table", alt=f"{words['table']}. {words['kept_about']}",
                    beside=lambda: st.download_button(
        words["csv"], lambda: head_table.as_csv(measures, fits, silencing, provenance.dumps(record, view, link)),
        "clearhead-heads.csv", "text/csv", on_click="ignore", key="head-table-csv"))


def column_config(row: Mapping[str, Any], silencing: Silencing | None = None) -> dict[str, Any]:
    """How each column is named, written and explained."""
    words = strings("measures")
    titles = ", ".join(each.title for each in PATTERNS)
    told = {"layer": st.column_config.NumberColumn(words["columns"]["layer"], width=60),
            "head": st.column_config.NumberColumn(words["columns"]["head"], width=60),
            "pattern": st.column_config.TextColumn(words["columns"]["pattern"],
                                                   help=words["pattern_help"].format(titles=titles)),
            "fit": st.column_config.ProgressColumn(words["columns"]["fit"], help=words["fit_help"], min_value=0,
                                                   max_value=1, format="%.3f", color="gray")}
    if silencing is not None:
        told["silenced"] = st.column_config.NumberColumn(words["columns"]["silenced"],
                                                         help=words[f"silenced_{silencing.measure}"], format="%.5f")
    for name in row:
        if name in BY_NAME:
            each = BY_NAME[name]
            told[name] = st.column_config.NumberColumn(words["measure_names"][name], format="%.3f",
                                                       help=words["measure_help"].format(
                title=each.title, unit=each.unit, paper=each.paper))
    return told


def clickable_table(page: PageContext, rows: Sequence[Mapping[str, Any]], told: Mapping[str, Any], *, key: str,
                    alt: str, beside: Callable[[], Any] | None = None) -> None:
    """Rows with a layer and a head each; a click on any cell opens that head on the page Heads. alt: the table in
    words. beside: draws what stands beside "Add to handout"."""
    def clicked() -> None:
        place = clicked_head(st.session_state[key], rows)
        if place is not None:
            page.set_view(head=place)
            st.session_state["opening"] = key

    st.dataframe(list(rows), hide_index=True, column_config=dict(told), key=key, on_select=clicked,
                 selection_mode=("single-row", "single-cell"), height=min(38 + 35 * len(rows), 460))
    table_button(key, rows, alt, {name: column["label"] or name for name, column in told.items()}, beside)
    if st.session_state.pop("opening", None) == key:
        page.open_page("heads")


def clicked_head(event: Any, rows: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    """(layer, head) of the row that was clicked; None for whatever else a browser sends."""
    try:
        picked = [*event["selection"]["rows"], *(cell[0] for cell in event["selection"]["cells"])]
    except (KeyError, TypeError, IndexError):
        return None
    if not picked or type(picked[-1]) is not int or not 0 <= picked[-1] < len(rows):
        return None
    return rows[picked[-1]]["layer"], rows[picked[-1]]["head"]


def silence_all(page: PageContext, question: SilencingQuery, heads: int) -> None:
    """The button that asks for the column, and the wait for it, which another button ends."""
    words = strings("measures")
    if st.session_state.get("silencing") != question:
        st.button(words["silence"], key="silence-all", on_click=lambda: st.session_state.update(silencing=question))
        st.caption(words["silence_about"].format(n=heads))
        return
    st.button(words["silence_stop"], key="silence-stop", on_click=lambda: st.session_state.pop("silencing", None))
    try:
        ask(question, height=0)
    except UserError:
        st.session_state.pop("silencing", None)
        raise
    st.session_state.pop("silencing", None)
    st.rerun()
