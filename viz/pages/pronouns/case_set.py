"""The sentence set of the page What “it” refers to: the choice of sentences, and every head's accuracy with its
significance."""

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import UserError, head_label
from clearhead.model.core.record import Card, unread
from clearhead.model.core.statistics import FEWEST, MeanInterval
from clearhead.model.studies.coreference import (
    Case,
    CasesQuery,
    CoreferenceReport,
    read_cases,
    report,
    shipped_cases,
)
from clearhead.viz.app.page import PageContext
from clearhead.viz.figures.heads import accuracies
from clearhead.viz.style.numbers import format_share, rank
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fragment import says_why
from clearhead.viz.widgets.head_table import plain_table
from clearhead.viz.widgets.layout import note, split
from clearhead.viz.widgets.measured import is_shipped, measured_line
from clearhead.viz.widgets.part import Part
from clearhead.viz.widgets.upload import uploader

WORDS = strings("pronouns")

ROWS = 5         # number of unusable rows listed
SMALL = 50_000_000   # larger models run on a whole set only on request, since they need more than seconds


def case_set_section(page: PageContext, card: Card, rows: str) -> CoreferenceReport | None:
    """Draw the section. Return the report, or None before the set is answered."""
    words = Part(page, WORDS["set"], model=escape_markdown(card.title))
    words.opening(3)
    note(words["about"][words.choice("set", "names")])
    cases = _cases(page["set"])
    if cases is None:
        return None
    question = CasesQuery(page.model, page.revision, cases)
    known = desk.cached(question) is not None or is_shipped(question)
    if not known and card.parameters > SMALL and not page["run"]:
        st.button(words("run", n=len(cases)), on_click=lambda: page.set(run=True), type="primary")
        return None
    answer = page.ask(question)
    if answer.unknown == len(cases):   # every sentence has an [UNK] word, so nothing is measured
        st.info(words("unknown_all", n=len(cases)))
        return None
    measured_line(question, "coref-set", "coreference")
    rows = "pronoun" if cases[0].answer else rows
    set_report = report(answer, rows)
    left, right = split(6, 5, gap="large")
    with left:
        _picture(words, set_report)
    with right:
        if said := unread(card.title, answer.unknown, len(cases), "sentences"):
            st.warning(escape_markdown(said))
        st.markdown("\n\n".join(set_claims(set_report)))
        _untrained(page, words, cases, rows)
    with st.expander(words["table"]):
        plain_table(set_report.frame().round({"mass": 4}), words["table"], words["columns"], key="coref-set-table",
                    formats=dict.fromkeys({*words["columns"]} - {"head", "paper", "mass"}, "percent"))
    return set_report


def _cases(chosen: str) -> tuple[Case, ...] | None:
    """Return the chosen sentences, or the reader's own from the uploaded file."""
    if chosen != "own":
        return shipped_cases(chosen)
    file = uploader(WORDS["set"]["drop"], "coref_file", type="csv")
    if file is None:
        return None
    try:
        cases, left_out = read_cases(file.getvalue(), file.name)
        if left_out:
            st.warning(escape_markdown(WORDS["set"]("left_out", count=len(left_out), rows=" ".join(left_out[:ROWS]))))
        return cases
    except UserError as error:
        st.error(escape_markdown(error))
        return None


def _picture(words: Part, set_report: CoreferenceReport) -> None:
    """Draw all heads' accuracies, with the chance level, the null distribution and the head chosen on other
    sentences."""
    heads, chance, luck = set_report.heads, set_report.baselines["chance"], set_report.luck.high
    interval, lines = set_report.best.accuracy, [(chance, words["chance"])]
    if set_report.held_out is not None:
        value = set_report.held_out.accuracy.value
        lines.append((value, words("held_out", value=value)))
    words.tell(n=len(heads), cases=set_report.n, best=percent(interval))
    words.figure(accuracies, [head_label(head.layer, head.head) for head in heads],
                 np.array([head.accuracy.value for head in heads]), np.array([head.mass for head in heads]),
                 best=heads.index(set_report.best), interval=(interval.low, interval.high), lines=lines,
                 band=None if np.isnan(luck) else (chance, luck, words("luck", high=luck)), key="coref-set")


@says_why
def _untrained(page: PageContext, words: Part, cases: tuple[Case, ...], rows: str) -> None:
    """Draw the same set for the same architecture with random weights."""
    if not words.toggle("untrained"):
        return
    twin = sources.untrained(page.model)
    found = report(page.ask(CasesQuery(twin, sources.revision(twin), cases)), rows)
    held_out = "–" if found.held_out is None else percent(found.held_out.accuracy)
    p = words("untrained_p", p=found.luck.p_value) if np.isfinite(found.luck.p_value) else ""
    st.markdown(f"{words('untrained_said', best=percent(found.best.accuracy), held_out=held_out)} {p}".strip())


def percent(interval: MeanInterval) -> str:
    """Format a share with its interval."""
    return WORDS["claims"]("share_alone" if np.isnan(interval.low) else "share", interval=interval, fewest=FEWEST)


def set_claims(set_report: CoreferenceReport) -> list[str]:
    """Describe the heads' results on the set, the held-out accuracy first."""
    words, best, held_out = WORDS["claims"], set_report.best, set_report.held_out
    facts = {"head": (best.layer, best.head), "best": percent(best.accuracy), "n": len(set_report.heads),
             "tied": rank(best.accuracy.value, [head.accuracy.value for head in set_report.heads], format_share)[1],
             "found": set_report, "fewest": FEWEST, "mass": best.mass,
             "both": best.both, **set_report.baselines}
    if held_out is not None:
        facts["held_out"] = percent(held_out.accuracy)
        facts["chosen"] = words["and"].join(
            head_label(head.layer, head.head)
            for head in dict.fromkeys(set_report.chosen))
    names = ["set_alone" if held_out is None else "set_held_out", "set_best",
             "set_no_luck" if np.isnan(set_report.luck.p_value) else "set_luck",
             *([] if np.isnan(best.both) else ["set_both"]), "set_baselines"]
    return [words(name, **facts) for name in names]
