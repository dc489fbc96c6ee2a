"""Tables of heads: the clickable one on the page Every head measured (fits, measures, silencing), and plain ones."""
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from clearhead.model.core.heads import BY_NAME, HeadMeasures, OverviewQuery
from clearhead.model.core.query import HeadId, head_label, paper_head_label
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.model.studies.patterns import PATTERNS, TITLES, named
from clearhead.viz.app.page import PageContext
from clearhead.viz.components.head_grid import head_grid
from clearhead.viz.components.picture import Grid, HeadValues
from clearhead.viz.export import provenance
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.export_menu import save_table
from clearhead.viz.widgets.fields import pills
from clearhead.viz.widgets.handout_button import TABLE_HEIGHT, data_table, offer_picture, offer_table
from clearhead.viz.widgets.layout import flex_row, heading

if TYPE_CHECKING:   # not imported at the start, which would delay the first page
    from pandas import DataFrame

    from clearhead.model.studies.patterns import HeadFits
    from clearhead.model.studies.silencing import Silencing

WORDS = strings("measures")


def measures_table(page: PageContext, measures: HeadMeasures, fits: "HeadFits", silencing: "Silencing | None") -> None:
    """Draw one text's measures and their download."""
    from clearhead.viz.export.tables import head_table, head_table_csv

    heading(WORDS["table"])
    st.caption(WORDS["table_about"])
    if measures.left_out.any():
        st.caption(WORDS("left_out", count=int(measures.left_out.max())))
    table = head_table(measures, fits, silencing)
    record, view, link = page.record(), page.view(), page.link()
    clickable_table(page, table, column_config(table, silencing), key="head-table",
                    alt=f"{WORDS['table']}. {WORDS['kept_about']}")
    with flex_row(gap="small"):
        save_table(WORDS["csv"], "head-table", "clearhead-heads",
                   partial(head_table_csv, measures, fits, silencing), partial(provenance.dumps, record, view, link))


def column_config(table: "DataFrame", silencing: "Silencing | None" = None) -> dict[str, Any]:
    """Return the name, format and help of each column of a table of heads, and of its index."""
    titles = ", ".join(pattern.title for pattern in PATTERNS)
    columns = {"layer": st.column_config.NumberColumn(WORDS["columns"]["layer"], width=60),
               "head": st.column_config.NumberColumn(WORDS["columns"]["head"], width=60),
               "pattern": st.column_config.TextColumn(WORDS["columns"]["pattern"],
                                                      help=WORDS("pattern_help", titles=titles)),
               "fit": st.column_config.ProgressColumn(WORDS["columns"]["fit"], help=WORDS["fit_help"], min_value=0,
                                                      max_value=1, format="%.3f", color="gray")}
    if silencing is not None:
        columns["silenced"] = st.column_config.NumberColumn(WORDS["columns"]["silenced"],
                                                            help=WORDS[f"silenced_{silencing.measure}"], format="%.5f")
    for name in table:
        if name in BY_NAME:
            measure = BY_NAME[name]
            columns[name] = st.column_config.NumberColumn(WORDS["measure_names"].get(name, name), format="%.3f",
                                                          help=WORDS("measure_help", title=measure.title,
                                                                     unit=measure.unit, paper=measure.paper))
    return columns


def clickable_table(page: PageContext, table: "DataFrame", columns: Mapping[str, Any], *, key: str,
                    alt: str) -> None:
    """Draw a table indexed by (layer, head) with a column of patterns; a click on a cell opens its head on the page
    Heads. alt: the table in words."""
    heads = table.index.tolist()

    def clicked() -> None:
        place = clicked_head(st.session_state[key], heads)
        if place is not None:
            page.open_head(head=place)

    named_patterns = {"pattern": named(table)["pattern"].map(TITLES)} if "pattern" in table else {}
    shown = table.assign(**named_patterns).reset_index()
    st.dataframe(shown, hide_index=True, column_config=dict(columns), key=key, on_select=clicked,
                 selection_mode=("single-row", "single-cell"), height=min(38 + 35 * len(shown), TABLE_HEIGHT))
    offer_table(key, shown.rename(columns={name: column["label"] or name for name, column in columns.items()}), alt)


def clicked_head(event: Any, heads: Sequence[HeadId]) -> HeadId | None:
    """Return the head whose row was clicked, or None for an invalid event."""
    try:
        picked = [*event["selection"]["rows"], *(cell[0] for cell in event["selection"]["cells"])]
    except (KeyError, TypeError, IndexError):
        return None
    return heads[picked[-1]] if picked and type(picked[-1]) is int and 0 <= picked[-1] < len(heads) else None


def plain_table(table: "DataFrame", alt: str, titles: Mapping[str, str], **options: Any) -> None:
    """Draw a table indexed by (layer, head), and its button: see `data_table`. The columns head and paper are the index
    in words."""
    data_table(table.assign(head=[head_label(*head) for head in table.index],
                            paper=[paper_head_label(*head) for head in table.index]), alt, titles, **options)


def coloured_grid(page: PageContext, records: tuple[AttentionRecord, ...], view: View, values: HeadValues,
                  offered: Iterable[tuple[HeadId, str]] = (), *, key: str, choose: Callable[..., None],
                  height: int = 300, tooltips: Mapping[str, Mapping[HeadId, float]] | None = None) -> None:
    """Draw the heads of the view's kind coloured by `values`, with ranks on the offered heads and a button for each of
    them, with its value in words. records: what the values are about; the heads are those of the first. A click calls
    choose(head=…). height: pixels. tooltips: as in `head_grid`."""
    offered = list(offered)
    badges = [(*head, place) for place, (head, _) in enumerate(offered, 1)]
    overview = page.ask(OverviewQuery(records[0].query, view.kind), height=0)
    grid = Grid(overview, view.head_id, rank_badges=badges, values=values)
    head_grid(grid, tooltips=tooltips, height=height, key=key, on_event=lambda event: choose(head=event.head))
    offer_picture(key, grid, records, view)
    if offered:
        pills(WORDS["open"], [(head, f"{head_label(*head)}  {value}") for head, value in offered],
              choose, "head", None, f"rank_{key}")
