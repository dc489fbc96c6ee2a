"""The scores of the induction circuit for any decoder, on random tokens; for the page Learning."""
import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.studies.induction import HabitsQuery, Repeats
from viz.figures.induction_scatter import habits as drawn
from viz.format import head_label
from viz.page import Frame
from viz.text import literal, strings
from viz.widgets.control_widgets import pick
from viz.widgets.figure import figure
from viz.widgets.handout_button import keep_table

NAMED = 2   # heads with the highest score of either kind that have their name in the picture
OURS = "induction"


def habits(frame: Frame) -> None:
    """The section: which decoder, every head by both scores, what to notice, the numbers."""
    words = strings("training")["habits"]
    st.markdown(f"### {words['title']}")
    st.markdown(words["lead"], width=860)
    titles = {offer.id: offer.title for offer in sources.offers() if offer.id in (OURS, "smollm2") or offer.id == frame.state.model}
    options = {"": words["none"]} | {each: titles.get(each, each) for each in dict.fromkeys((OURS, "smollm2", frame.state.model))}
    if frame.controls["decoder"] not in options:
        options[frame.controls["decoder"]] = frame.controls["decoder"]
    pick(frame, "decoder", words["which"], options)
    chosen = frame.controls["decoder"]
    if not chosen:
        return
    try:
        found: Repeats = frame.ask(HabitsQuery(chosen, sources.revision(chosen)))
    except UserError as error:
        st.info(literal(str(error)))
        return
    left, right = st.columns([6, 5], gap="large")
    with left:
        _picture(found)
    with right:
        _notice(found, options[chosen])


def _names(found: Repeats) -> list[str]:
    return [head_label(layer, head) for layer, head in found.heads]


def _picture(found: Repeats) -> None:
    words, names = strings("training")["habits"], _names(found)
    loud = list(dict.fromkeys(int(place) for score in (found.previous, found.prefix) for place in np.argsort(-score)[:NAMED]))
    most = int(found.prefix.argmax())
    figure(lambda theme: drawn(theme, names, found.previous, found.prefix, loud, axes=(words["previous"], words["prefix"])), key="training-habits",
           alt=words["alt"].format(heads=len(names), head=names[most], prefix=found.prefix[most], previous=found.previous.max()))


def _notice(found: Repeats, title: str) -> None:
    words, names = strings("training")["habits"], _names(found)
    back, match = int(found.previous.argmax()), int(found.prefix.argmax())
    facts = {"model": literal(title), "match": names[match], "prefix": found.prefix[match], "back": names[back], "previous": found.previous[back],
             "uniform": found.uniform}
    st.markdown(words["best"].format(**facts))
    if found.copying is not None:
        st.markdown(words["copies"].format(head=names[match], copying=found.copying[match]))
    scores = {words["prefix"]: found.prefix, words["previous"]: found.previous} | ({} if found.copying is None else {words["copying"]: found.copying})
    rows = [{words["head"]: names[place]} | {name: round(float(score[place]), 3) for name, score in scores.items()}
            for place in np.argsort(-found.prefix)]
    with st.expander(words["table"].format(heads=len(names))):
        st.dataframe(rows, hide_index=True)
        keep_table("training-habits-table", rows, words["table"].format(heads=len(names)))
