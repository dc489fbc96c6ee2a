"""The scores of the induction circuit for any decoder, on random tokens; for the page Learning."""
import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.studies.induction import InductionMeanQuery, InductionScores
from viz.figures.induction_scatter import induction_scatter as drawn
from viz.format import head_label
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import table_button

NAMED = 2   # heads with the highest score of either kind that have their name in the picture
OURS = "induction"


def induction_section(page: PageContext) -> None:
    """The section: which decoder, every head by both scores, what to notice, the numbers."""
    words = strings("training")["habits"]
    st.markdown(f"### {words['title']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    titles = {offer.id: offer.title for offer in sources.catalogue()
              if offer.id in (OURS, "smollm2") or offer.id == page.state.model}
    options = {"": words["none"]} | {each: titles.get(each, each)
                                     for each in dict.fromkeys((OURS, "smollm2", page.state.model))}
    if page.controls["decoder"] not in options:
        options[page.controls["decoder"]] = page.controls["decoder"]
    choice_for(page, "decoder", words["which"], options)
    chosen = page.controls["decoder"]
    if not chosen:
        return
    try:
        found: InductionScores = page.ask(InductionMeanQuery(chosen, sources.revision(chosen)))
    except UserError as error:
        st.info(escape_markdown(str(error)))
        return
    left, right = st.columns([6, 5], gap="large")
    with left:
        _picture(found)
    with right:
        _notice(found, options[chosen])


def _names(found: InductionScores) -> list[str]:
    return [head_label(layer, head) for layer, head in found.heads]


def _picture(found: InductionScores) -> None:
    words, names = strings("training")["habits"], _names(found)
    loud = list(dict.fromkeys(int(place) for score in (found.previous, found.prefix)
                              for place in np.argsort(-score)[:NAMED]))
    most = int(found.prefix.argmax())
    figure(lambda theme: drawn(theme, names, found.previous, found.prefix, loud,
                               axes=(words["previous"], words["prefix"])), key="training-habits",
           alt=words["alt"].format(heads=len(names), head=names[most], prefix=found.prefix[most],
                                   previous=found.previous.max()))


def _notice(found: InductionScores, title: str) -> None:
    words, names = strings("training")["habits"], _names(found)
    back, match = int(found.previous.argmax()), int(found.prefix.argmax())
    facts = {"model": escape_markdown(title), "match": names[match], "prefix": found.prefix[match], "back": names[back],
             "previous": found.previous[back], "uniform": found.uniform}
    st.markdown(words["best"].format(**facts))
    if found.copying is not None:
        st.markdown(words["copies"].format(head=names[match], copying=found.copying[match]))
    scores = {words["prefix"]: found.prefix,
              words["previous"]: found.previous} | ({} if found.copying is None else {words["copying"]: found.copying})
    rows = [{words["head"]: names[place]} | {name: round(float(score[place]), 3) for name, score in scores.items()}
            for place in np.argsort(-found.prefix)]
    with st.expander(words["table"].format(heads=len(names))):
        st.dataframe(rows, hide_index=True)
        table_button("training-habits-table", rows, words["table"].format(heads=len(names)))
