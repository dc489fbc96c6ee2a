"""The set of the page Coreference: which sentences, every head over them, and what that is worth."""
import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.core.record import Card
from model.studies.coreference.cases import Case, CasesQuery, read_bytes, shipped_cases
from model.studies.coreference.heads import SetAnswer
from model.studies.coreference.report import Report, report
from viz.figures.accuracies import accuracies
from viz.format import format_share, head_label, paper_head_label
from viz.page import PageContext
from viz.pages.coreference.claims import percent, set_claims
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import table_button

SMALL = 50_000_000   # parameters: a model of at most so many is put to a whole set without being asked to, in seconds


def case_set_section(page: PageContext, card: Card, rows: str) -> Report | None:
    """The section. Returns the report once the set was answered."""
    words = strings("coreference")["set"]
    st.markdown(f"### {words['title']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    choice_for(page, "set", words["which"], words["names"])
    st.caption(words["about"][page.controls["set"]], width=READABLE_WIDE)
    cases = _cases(page.controls["set"])
    if cases is None:
        return None
    question = CasesQuery(page.state.model, sources.revision(page.state.model), cases)
    if sources.cached(question) is None and card.parameters > SMALL and not page.controls["run"]:
        st.button(words["run"].format(n=len(cases), model=escape_markdown(card.title)),
                  on_click=lambda: page.set_controls(run=True), type="primary")
        return None
    answer: SetAnswer = page.ask(question)
    rows = "pronoun" if cases[0].answer else rows
    found = report(answer, rows)
    left, right = st.columns([6, 5], gap="large")
    with left:
        _picture(found)
    with right:
        if answer.unknown:
            st.warning(words["unknown"].format(count=answer.unknown, n=len(cases)))
        st.markdown("\n\n".join(set_claims(found)))
        _untrained(page, cases, rows)
    with st.expander(words["table"]):
        st.dataframe(_table(found), hide_index=True, column_config={
            name: st.column_config.NumberColumn(format="percent") for key, name in words["columns"].items()
            if key not in ("head", "paper", "mass")})
        table_button("coref-set-table", _table(found), words["table"])
    return found


def _cases(chosen: str) -> tuple[Case, ...] | None:
    """The sentences that are chosen; those of one's own from the file that is dropped here."""
    if chosen != "own":
        return shipped_cases(chosen)
    file = st.file_uploader(strings("coreference")["set"]["drop"], type="csv", key="coref_file")
    try:
        return None if file is None else read_bytes(file.getvalue(), file.name)
    except UserError as error:
        st.error(escape_markdown(str(error)))
        return None


def _names(found: Report) -> list[str]:
    return [head_label(each.layer, each.head) for each in found.heads]


def _picture(found: Report) -> None:
    """All heads, with chance, luck and the head that was chosen elsewhere."""
    words = strings("coreference")["set"]
    best, high = found.heads.index(found.best), format_share(found.luck.high)
    lines = [(found.baselines["chance"], words["chance"])]
    if found.held_out is not None:
        lines.append((found.held_out.accuracy.value,
                      words["held_out"].format(value=format_share(found.held_out.accuracy.value))))
    band = (found.baselines["chance"], found.luck.high, words["luck"].format(high=high))
    interval = found.best.accuracy
    shares, masses = (np.array(each)
                      for each in ([head.accuracy.value for head in found.heads], [head.mass for head in found.heads]))
    figure(lambda theme: accuracies(theme, _names(found), shares, masses, best=best,
                                    interval=(interval.low, interval.high), bands=[band],
                                    lines=lines, axes=(words["x"], words["y"])),
           key="coref-set",
           alt=words["alt"].format(n=len(found.heads), cases=found.n, best=percent(interval), high=high))


def _table(found: Report) -> list[dict]:
    """One row a head, the most accurate first."""
    columns = strings("coreference")["set"]["columns"]
    order = sorted(found.heads, key=lambda each: (-each.accuracy.value, -each.mass))
    rows = [{"head": head_label(each.layer, each.head), "paper": paper_head_label(each.layer, each.head),
             "accuracy": each.accuracy.value, "low": each.accuracy.low, "high": each.accuracy.high,
             "mass": round(each.mass, 4), "both": each.both, "received": each.received}
            for each in order]
    return [{columns[key]: value for key, value in row.items()} for row in rows]


def _untrained(page: PageContext, cases: tuple[Case, ...], rows: str) -> None:
    """The same set put to the same architecture with random weights."""
    words = strings("coreference")["set"]
    toggle_for(page, "untrained", words["untrained"], help=words["untrained_help"])
    if not page.controls["untrained"]:
        return
    try:
        twin = sources.untrained(page.state.model)
        found = report(page.ask(CasesQuery(twin, sources.revision(twin), cases)), rows)
    except UserError as error:
        st.info(escape_markdown(str(error)))
        return
    held_out = "–" if found.held_out is None else percent(found.held_out.accuracy)
    st.markdown(words["untrained_said"].format(best=percent(found.best.accuracy), p=f"{found.luck.p_value:.3f}",
                                               held_out=held_out))
