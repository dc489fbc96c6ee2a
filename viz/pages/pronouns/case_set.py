"""The sentence set of the page What “it” refers to: the choice of sentences, and every head's accuracy with its
significance."""

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import UserError
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
from clearhead.viz.style.format import format_share, format_weight, head_label, paper_head_label, rank
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import choice_for, toggle_for
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import says_why
from clearhead.viz.widgets.head_table import plain_table
from clearhead.viz.widgets.layout import heading, note, prose, split
from clearhead.viz.widgets.measured import is_shipped, measured_line
from clearhead.viz.widgets.upload import uploader

WORDS = strings("pronouns")

ROWS = 5         # number of unusable rows listed
SMALL = 50_000_000   # larger models run on a whole set only on request, since they need more than seconds


def case_set_section(page: PageContext, card: Card, rows: str) -> CoreferenceReport | None:
    """Draw the section. Return the report, or None before the set is answered."""
    words = WORDS["set"]
    heading(words["title"], 3)
    prose(words["lead"])
    choice_for(page, "set", words["which"], words["names"])
    note(words["about"][page["set"]])
    cases = _cases(page["set"])
    if cases is None:
        return None
    question = CasesQuery(page.model, page.revision, cases)
    known = desk.cached(question) is not None or is_shipped(question)
    if not known and card.parameters > SMALL and not page["run"]:
        st.button(words("run", n=len(cases), model=escape_markdown(card.title)),
                  on_click=lambda: page.set(run=True), type="primary")
        return None
    answer = page.ask(question)
    if answer.unknown == len(cases):   # every sentence has an [UNK] word, so nothing is measured
        st.info(words("unknown_all", n=len(cases), model=escape_markdown(card.title)))
        return None
    measured_line(question, "coref-set", "coreference")
    rows = "pronoun" if cases[0].answer else rows
    set_report = report(answer, rows)
    left, right = split(6, 5, gap="large")
    with left:
        _picture(set_report)
    with right:
        if said := unread(card.title, answer.unknown, len(cases), "sentences"):
            st.warning(escape_markdown(said))
        st.markdown("\n\n".join(set_claims(set_report)))
        _untrained(page, cases, rows)
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
            words, rows = WORDS["set"], " ".join(left_out[:ROWS])
            st.warning(escape_markdown(words("left_out", count=len(left_out), rows=rows)))
        return cases
    except UserError as error:
        st.error(escape_markdown(error))
        return None


def _picture(set_report: CoreferenceReport) -> None:
    """Draw all heads' accuracies, with the chance level, the null distribution and the head chosen on other
    sentences."""
    words = WORDS["set"]
    best, luck = set_report.heads.index(set_report.best), set_report.luck.high
    lines = [(set_report.baselines["chance"], words["chance"])]
    if set_report.held_out is not None:
        lines.append((set_report.held_out.accuracy.value,
                      words("held_out", value=format_share(set_report.held_out.accuracy.value))))
    band = None if np.isnan(luck) else (set_report.baselines["chance"], luck, words("luck", high=format_share(luck)))
    interval = set_report.best.accuracy
    shares = np.array([head.accuracy.value for head in set_report.heads])
    masses = np.array([head.mass for head in set_report.heads])
    names = [head_label(head.layer, head.head) for head in set_report.heads]
    figure(accuracies, names, shares, masses, best=best, interval=(interval.low, interval.high),
           band=band, lines=lines, axes=(words["x"], words["y"]), key="coref-set",
           alt=words("alt", n=len(set_report.heads), cases=set_report.n, best=percent(interval)))


@says_why
def _untrained(page: PageContext, cases: tuple[Case, ...], rows: str) -> None:
    """Draw the same set for the same architecture with random weights."""
    words = WORDS["set"]
    if not toggle_for(page, "untrained", words["untrained"], help=words["untrained_help"]):
        return
    twin = sources.untrained(page.model)
    twin_report = report(page.ask(CasesQuery(twin, sources.revision(twin), cases)), rows)
    held_out = "–" if twin_report.held_out is None else percent(twin_report.held_out.accuracy)
    said = [words("untrained_said", best=percent(twin_report.best.accuracy), held_out=held_out)]
    if np.isfinite(twin_report.luck.p_value):
        said.append(words("untrained_p", p=f"{twin_report.luck.p_value:z.3f}"))
    st.markdown(" ".join(said))


def percent(interval: MeanInterval) -> str:
    """Format a share with its interval."""
    words = WORDS["claims"]
    if np.isnan(interval.low):
        return words("share_alone", value=format_share(interval.value), units=interval.units, fewest=FEWEST)
    return words("share", value=format_share(interval.value), low=format_share(interval.low, 0),
                 high=format_share(interval.high, 0))


def set_claims(set_report: CoreferenceReport) -> list[str]:
    """Describe the heads' results on the set, the held-out accuracy first."""
    words, best, held_out = WORDS["claims"], set_report.best, set_report.held_out
    facts = {"head": head_label(best.layer, best.head), "paper": paper_head_label(best.layer, best.head),
             "tied": rank(best.accuracy.value, [head.accuracy.value for head in set_report.heads], format_share)[1],
             "best": percent(best.accuracy), "n": len(set_report.heads), "luck": format_share(set_report.luck.mean),
             "high": format_share(set_report.luck.high), "p": f"{set_report.luck.p_value:z.4f}",
             "frames": set_report.frames, "fewest": FEWEST,
             "mass": format_weight(best.mass), "both": format_share(best.both, 0),
             **{name: format_share(value, 0) for name, value in set_report.baselines.items()}}
    if held_out is not None:
        facts["held_out"] = percent(held_out.accuracy)
        facts["chosen"] = words["and"].join(
            head_label(head.layer, head.head)
            for head in dict.fromkeys(set_report.chosen))
    names = ["set_alone" if held_out is None else "set_held_out", "set_best",
             "set_no_luck" if np.isnan(set_report.luck.p_value) else "set_luck",
             *([] if np.isnan(best.both) else ["set_both"]), "set_baselines"]
    return [words(name, **facts) for name in names]
