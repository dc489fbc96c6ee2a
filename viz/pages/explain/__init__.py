"""Does attention explain the answer? One answer, what each token was worth to it, and what the ways of reading
attention say."""
import streamlit as st

from model.core.query import UserError
from model.studies.attribution import Attribution, AttributionQuery
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch, Words
from viz.pages.explain.many_answers import corpus_section, head_shares, literature, permuted_weights
from viz.pages.explain.one_answer import (
    agreement_section,
    answer_kind,
    comparison_sentence,
    importance_section,
    matching_view,
    question_controls,
)
from viz.text import escape_markdown, strings
from viz.theme import READABLE
from viz.widgets.fragment import folded
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import source_listing

PAGE = Page("Does attention explain?", "Test", 2, "record", controls=(
    Number("at", -1, -1, 99_999, whole=True), Words("word", "", 40), Words("rival", "", 40), Words("other", "", 300),
    Switch("flow"),
    Choice("set", "sentences", ("sentences", "agreement")), Switch("run"), Switch("swap"), Switch("share")))


def render(page: PageContext) -> None:
    """Draws the page."""
    words = strings("explain")
    st.markdown(f"## {words['question']}")
    with st.container(width=READABLE):
        st.markdown(words["lead"])
    record, chosen = real_head(page, token=False)
    view = matching_view(record, chosen)
    if view.kind is not chosen.kind:
        st.caption(words["cross"].format(layer=view.layer, head=view.head), width=READABLE)
    question_controls(page, record)
    question = _question(page, answer_kind(record))
    try:
        attribution: Attribution = page.ask(question)
    except UserError as error:
        st.error(escape_markdown(str(error)))
    else:
        importance_section(page, attribution, view)
        agreement_section(attribution, view)
        corpus_section(page, record, view, attribution.answer.kind)
        permuted_weights(page, question, attribution, view)
    head_shares(page, record[view.kind], view)
    literature()
    _formulas()


def _question(page: PageContext, way: str) -> AttributionQuery:
    """What the controls ask; those that a model does not read are left out, so that equal questions share an answer."""
    controls, query = page.controls, page.query()
    if way == "vector":
        return AttributionQuery(query, other=comparison_sentence(page), long_flow=controls["flow"])
    at = None if controls["at"] < 0 else controls["at"]
    if at is not None and way != "target":
        at = min(at, len(page.state.text))
    return AttributionQuery(query, at, controls["word"], controls["rival"], long_flow=controls["flow"])


def _formulas() -> None:
    """The measures and the functions that computed them."""
    from model.core import heads, statistics
    from model.studies import rollout
    from model.studies.attribution import rank_agreement
    from model.studies.weight_swap import permute_rows

    words = strings("explain")["formulas"]

    def inside() -> None:
        st.markdown(words["text"])
        st.code(source_listing((rollout.with_residual, rollout.rollout, rollout.flow, rollout.transformed_values,
                         rollout.contributions, rollout.apply_norm, rollout.by_stage,
                         statistics.rank_correlations, rank_agreement, permute_rows, heads.share_among_heads), {}),
                language="python")
        st.markdown(words["sources"])

    folded(words["title"], inside, key="explain-formula")
