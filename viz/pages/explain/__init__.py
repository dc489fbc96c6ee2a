"""Does attention explain the answer? One answer, what each token was worth to it, and what the ways of reading attention say."""
import streamlit as st

from model.core.query import UserError
from model.studies.attribution import Attribution, AttributionQuery
from viz.page import Frame, Page
from viz.page_controls import Choice, Number, Switch, Words
from viz.pages.explain.many_answers import many, other_weights, published, shared
from viz.pages.explain.one_answer import agreements, asked, opened, other_of, picture, way_of
from viz.text import literal, strings
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import READABLE, listing

PAGE = Page("Does attention explain?", "Look", 6, "record", controls=(
    Number("at", -1, -1, 99_999, whole=True), Words("word", "", 40), Words("rival", "", 40), Words("other", "", 300), Switch("flow"),
    Choice("set", "sentences", ("sentences", "agreement")), Switch("run"), Switch("swap"), Switch("share")))


def render(frame: Frame) -> None:
    words = strings("explain")
    st.markdown(f"#### {words['question']}")
    with st.container(width=READABLE):
        st.markdown(words["lead"])
    record, chosen = real_head(frame, token=False)
    view = opened(record, chosen)
    if view.kind is not chosen.kind:
        st.caption(words["cross"].format(layer=view.layer, head=view.head), width=READABLE)
    asked(frame, record)
    question = _question(frame, way_of(record))
    try:
        found: Attribution = frame.ask(question)
    except UserError as error:
        st.error(literal(str(error)))
    else:
        picture(frame, found, view)
        agreements(found, view)
        many(frame, record, view, found.answer.kind)
        other_weights(frame, question, found, view)
    shared(frame, record[view.kind], view)
    published()
    _formulas()


def _question(frame: Frame, way: str) -> AttributionQuery:
    """What the controls ask; those that a model does not read are left out, so that equal questions share an answer."""
    controls, query = frame.controls, frame.query()
    at = None if controls["at"] < 0 else controls["at"] if way == "target" else min(controls["at"], len(frame.state.text))
    if way == "vector":
        return AttributionQuery(query, other=other_of(frame), long_flow=controls["flow"])
    return AttributionQuery(query, at, controls["word"], controls["rival"], long_flow=controls["flow"])


def _formulas() -> None:
    """The measures and the functions that computed them."""
    from model.core import heads, statistics
    from model.studies import rollout, value_norms
    from model.studies.attribution import permuted, rank_agreement

    words = strings("explain")["formulas"]
    with st.expander(words["title"]):
        st.markdown(words["text"])
        st.code(listing((rollout.with_residual, rollout.rollout, rollout.flow, value_norms.transformed, value_norms.mixed, value_norms.through, value_norms.by_stage,
                         statistics.rank_correlations, rank_agreement, permuted, heads.shares), {}), language="python")
        st.markdown(words["sources"])
