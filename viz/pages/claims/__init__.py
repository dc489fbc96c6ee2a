"""Which claims about attention heads hold here? What was published, measured again, one row a claim and model."""
import inspect
from collections import Counter
from itertools import groupby

import streamlit as st

from model.ask import sources
from model.studies.claims import rule
from model.studies.claims.catalogue import Row, rows
from viz.page import Page, PageContext
from viz.page_controls import Switch
from viz.pages.claims.row import Place, Result, draw_claim, question, result_of, wait_for
from viz.streamlit_patch import DeltaGenerator
from viz.text import strings
from viz.theme import READABLE_WIDE
from viz.widgets.fragment import folded

# measured when the page opens, in a second once the model is open; all others when somebody asks
OPENING = (("special", "minilm"),)
ASKED = "claims-asked"   # in the session: the rows that somebody asked for
PAGE = Page("Claims", "Test", 4, "nothing", controls=(Switch("all"),))


def render(page: PageContext) -> None:
    """Draws the page."""
    words = strings("claims")
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    on_disk = {offer.id for offer in sources.catalogue() if offer.on_disk}
    table = list(rows(on_disk))
    counted = st.empty()
    waiting = _controls(page, table)
    st.caption(words["legend"], width=READABLE_WIDE)
    results = {row: result_of(row) for row in table}
    titles, places = {offer.id: offer.title for offer in sources.catalogue()}, dict[Row, Place]()
    for _, group in groupby(table, key=lambda row: row.claim.name):
        places |= draw_claim(page, {row: results[row] for row in group}, waiting, _ask, titles)
    folded(words["rule_title"], _rule, key="claims-rule")
    _count(counted, list(results.values()))
    for row in table:   # one after the other, each in its place; a click ends it and what is done stays
        if row in waiting and results[row].open:
            wait_for(page, row, places[row], titles)
            _count(counted, [result_of(each) for each in table])


def _controls(page: PageContext, table: list[Row]) -> set[Row]:
    """The buttons, and the rows that are to be measured."""
    words, asked = strings("claims"), st.session_state.setdefault(ASKED, set())
    there = [row for row in table if row.model]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(words["measure_all"], type="primary", key="claims-all", disabled=page.controls["all"],
                  help=words["measure_all_help"].format(count=len(there)), on_click=page.set,
                  kwargs={"all": True})
        if page.controls["all"] or asked:
            st.button(words["stop"], key="claims-stop", on_click=_stop, args=(page,))
    chosen = {row for row in there if page.controls["all"] or question(row) in asked}
    stopped = st.session_state.get(f"{ASKED}-stopped", False)
    return chosen | {row for row in there if (row.claim.name, row.model) in OPENING and not stopped}


def _ask(row: Row) -> None:
    st.session_state[ASKED].add(question(row))


def _stop(page: PageContext) -> None:
    st.session_state[ASKED], st.session_state[f"{ASKED}-stopped"] = set(), True
    page.set(all=False)


def _count(place: DeltaGenerator, results: list[Result]) -> None:
    """How many rows have which verdict so far."""
    words, count = strings("claims"), Counter(result.verdict for result in results)
    said = [words["counts"].format(verdict=words["verdicts"][verdict], count=count[verdict])
            for verdict in rule.Verdict if count[verdict]]
    if count[None]:
        said.append(words["counts"].format(verdict=words["not_yet"], count=count[None]))
    place.markdown(" · ".join(said))


def _rule() -> None:
    words = strings("claims")
    st.markdown(words["rule"].format(fewest=rule.FEWEST), width=READABLE_WIDE)
    st.markdown(f"**{words['rule_code']}**")
    st.code(inspect.getsource(rule), language="python")
