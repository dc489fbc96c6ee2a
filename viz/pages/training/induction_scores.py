"""The scores of the induction circuit for any decoder, on random tokens; for the page How heads form."""
import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.studies.induction import InductionMeanQuery, InductionScores
from viz.figures.heads import induction_scatter as drawn
from viz.format import head_label
from viz.page import PageContext
from viz.pages.training.claims import habit_claims
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for
from viz.widgets.figure import figure
from viz.widgets.head_table import plain_table

NAMED = 2   # heads with the highest score of either kind that have their name in the picture
OURS = "induction"


def induction_section(page: PageContext) -> None:
    """The section: which decoder, every head by both scores, what to notice, the numbers."""
    words = strings("training")["habits"]
    st.markdown(f"### {words['title']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    titles = {offer.id: offer.title for offer in sources.catalogue()
              if offer.id in (OURS, "smollm2") or offer.id == page.state.model}
    options = {"": words["none"]} | {model: titles.get(model, model)
                                     for model in dict.fromkeys((OURS, "smollm2", page.state.model))}
    if page.controls["decoder"] not in options:
        options[page.controls["decoder"]] = page.controls["decoder"]
    choice_for(page, "decoder", words["which"], options)
    chosen = page.controls["decoder"]
    if not chosen:
        return
    try:
        scores: InductionScores = page.ask(InductionMeanQuery(chosen, sources.revision(chosen)))
    except UserError as error:
        st.info(escape_markdown(str(error)))
        return
    left, right = st.columns([6, 5], gap="large")
    with left:
        _picture(scores)
    with right:
        _notice(scores, options[chosen])


def _names(scores: InductionScores) -> list[str]:
    return [head_label(layer, head) for layer, head in scores.heads]


def _picture(scores: InductionScores) -> None:
    words, names = strings("training")["habits"], _names(scores)
    loud = list(dict.fromkeys(int(place) for score in (scores.previous, scores.prefix)
                              for place in np.argsort(-score)[:NAMED]))
    most = int(scores.prefix.argmax())
    figure(lambda theme: drawn(theme, names, scores.previous, scores.prefix, loud,
                               axes=(words["previous"], words["prefix"])), key="training-habits",
           alt=words["alt"].format(heads=len(names), head=names[most], prefix=scores.prefix[most],
                                   previous=scores.previous.max()))


def _notice(scores: InductionScores, title: str) -> None:
    words, names = strings("training")["habits"], _names(scores)
    st.markdown("\n\n".join(habit_claims(scores, title)))
    title = words["table"].format(heads=len(names))
    with st.expander(title):
        plain_table(scores.frame().sort_values("prefix", ascending=False, kind="stable").round(3),
                    {name: words[name] for name in ("head", "prefix", "previous", "copying")},
                    key="training-habits-table", alt=title)
