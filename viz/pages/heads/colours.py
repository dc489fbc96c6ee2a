"""What the grid of heads is coloured by: the weights themselves, a measure of this text, or one averaged over a file of
texts."""
import streamlit as st

from model.core.measures import BY_NAME, HeadMeasures
from model.core.query import Kind
from viz.page import PageContext
from viz.page_controls import Choice
from viz.text import strings
from viz.widgets.corpus_result import AVERAGES, FROM_FILE, saved_corpus
from viz.widgets.fields import bind

COLOUR = Choice("colour", "", (*BY_NAME, *(FROM_FILE + name for name in AVERAGES)))


def grid_colours(page: PageContext, kind: Kind, measures: HeadMeasures
                 | None) -> tuple[dict[tuple[int, int], float] | None, str]:
    """Draws the choice; {(layer, head): number} and what the numbers are, or None for the weights.
    A link to a file's averages shows the weights where no file is."""
    words, query = strings("heads"), page.query()
    result = saved_corpus(query.model, query.revision, kind)
    options = {"": words["colour_none"],
               **{name: words["colour_text"].format(title=BY_NAME[name].title)
                  for name in (measures.values if measures else ())}}
    if result is not None:
        options |= {FROM_FILE + name: words["colour_file"].format(title=AVERAGES[name], name=result.name)
                    for name in result.averages.names}
    wanted = page.controls["colour"]
    chosen = wanted if wanted in options else ""
    st.selectbox(words["colour"], list(options), format_func=lambda name: options[name], label_visibility="collapsed",
                 **bind(page.set, "colour", chosen))
    if chosen.startswith(FROM_FILE) and result is not None:
        name = chosen.removeprefix(FROM_FILE)
        return result.averages.by_head(name), f"{AVERAGES[name]}, {result.name}"
    if measures is not None and chosen:
        return measures.by_head(chosen), BY_NAME[chosen].title
    return None, ""
