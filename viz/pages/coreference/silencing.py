"""The proof of the page What “it” refers to: the model is asked, and asked again with a head silenced."""
from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import Kind, Silence, UserError
from model.core.statistics import accuracy_intervals
from model.core.types import KindHeadId
from model.studies.coreference import Answers, AnswersQuery, Case, Report, correctness, frames_of
from viz.figures.bars import bars
from viz.format import format_share, format_signed, head_label
from viz.page import PageContext
from viz.pages.coreference.case_set import percent
from viz.pages.coreference.twins import Twins
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import toggle_for
from viz.widgets.figure import figure

SILENCED = 8        # heads of the ranking that are silenced one by one


def silencing_section(page: PageContext, case: Case, twins: Twins, set_report: Report | None) -> None:
    """The section. A model that says no words is told so by its own sentence."""
    words = strings("coreference")["proof"]
    st.markdown(f"### {words['title']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    question = AnswersQuery(page.state.model, sources.revision(page.state.model), (case,))
    try:
        plain: Answers = page.ask(question)
    except UserError as error:
        st.info(escape_markdown(str(error)))
        return
    st.caption(words["ways"]["answer" if case.answer else plain.way])
    a, b = (case.answer, case.other) if case.answer else twins.words[:2]
    share = float(plain.share[0])
    st.markdown(words["said"].format(a=f"*{escape_markdown(a)}*", b=f"*{escape_markdown(b)}*",
                                     share=format_share(share)))
    toggle_for(page, "proof", words["switch"].format(n=min(SILENCED, len(twins.heads))))
    if page.controls["proof"]:
        _one_by_one(page, question, twins, (a, b), share)
    if set_report is not None:
        _whole_set(page, set_report)


def _one_by_one(page: PageContext, question: AnswersQuery, twins: Twins, choice: tuple[str, str], share: float) -> None:
    """The first heads of the ranking, each silenced alone."""
    words, (a, b) = strings("coreference")["proof"], choice
    heads = [twins.heads[place] for place in twins.order[:SILENCED]]
    shares = [float(answers.share[0]) for answers in page.ask_each([_silenced(question, head) for head in heads])]
    names = [words["base"], *(head_label(*head[1:]) for head in heads)]
    figure(lambda theme: bars(theme, names, {"P": np.array([share, *shares])},
                              axes=(words["x"], words["y"].format(a=a, b=b)), y_range=(0, 1)),
           key="coref-proof", alt=words["alt"].format(a=a, b=b, n=len(heads)))
    st.markdown(silencing_claim(heads, share, shares))


def silencing_claim(heads: Sequence[KindHeadId], plain: float, shares: Sequence[float]) -> str:
    """The head whose silencing changes the share of the right noun most, and how many turn the answer alone."""
    most = int(np.abs(np.array(shares) - plain).argmax())
    turned = sum((share - 0.5) * (plain - 0.5) < 0 for share in shares)
    return strings("coreference")["proof"]["most"].format(
        head=head_label(*heads[most][1:]), share=format_share(shares[most]), turned=turned, n=len(heads),
        change=format_signed(100 * (shares[most] - plain), "+.1f"))


def _silenced(question: AnswersQuery, head: tuple[Kind, int, int]) -> AnswersQuery:
    return AnswersQuery(question.model, question.revision, question.cases, frozenset({Silence(*head)}))


def _whole_set(page: PageContext, set_report: Report) -> None:
    """The model's own answers to the whole set, with and without the best head."""
    words, cases = strings("coreference")["proof"], set_report.cases
    toggle_for(page, "proof_set", words["set_switch"].format(n=len(cases)))
    if not page.controls["proof_set"]:
        return
    question = AnswersQuery(page.state.model, sources.revision(page.state.model), cases)
    head = (Kind(set_report.best.kind), set_report.best.layer, set_report.best.head)
    accuracies = [percent(accuracy_intervals(correctness(page.ask(each).scores[:, None]), frames_of(cases))[0])
                  for each in (question, _silenced(question, head))]
    st.markdown(words["set_said"].format(plain=accuracies[0], silenced=accuracies[1], head=head_label(*head[1:])))
