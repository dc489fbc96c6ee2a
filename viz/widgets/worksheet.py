"""The worksheet that a teacher makes from a sentence: its options and files."""
from dataclasses import replace

import streamlit as st

from clearhead.model import sources
from clearhead.model.core.heads import head_ids
from clearhead.model.core.query import UserError, head_label
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.state import State, complete_view
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fragment import folded
from clearhead.viz.widgets.handout_button import handout
from clearhead.viz.widgets.layout import flex_row
from clearhead.viz.widgets.sheets import page_buttons

WORDS = strings("worksheet")

FEWEST, MOST = 3, 5   # number of questions on a worksheet


def worksheet_maker(page: PageContext) -> None:
    """Draw the worksheet's options and downloads in an expander."""
    folded(WORDS["open"], lambda: _maker(page), key="worksheet")


def _maker(page: PageContext) -> None:
    from clearhead.viz.export.handout.worksheet import questions, telling_head, worksheet

    st.markdown(WORDS["about"], width=READABLE)
    text = st.text_area(WORDS["sentence"], page.text, key="worksheet-sentence", height=68, width=READABLE)
    grid = st.segmented_control(WORDS["figure_choice"], ["head", "grid"], default="head", required=True,
                                format_func=WORDS["figures"].__getitem__, key="worksheet-figure") == "grid"
    model = page.model if "text" in sources.locate(page.model).reads else State().model
    try:
        state = replace(page.state, model=model)
        state = state if text == state.text else state.with_question(text=text)
        record = page.ask(page.query(model=model, text=text, image=None))
        view = complete_view(state, record)
        if view.pair is None and ("head" not in state.user_set or text != page.text):   # else the open head
            layer, head = telling_head(record[view.kind], view.token or 0)
            view = replace(view, layer=layer, head=head)
        if not grid:
            every = head_ids(record[view.kind])
            layer, head = st.selectbox(WORDS["head_choice"], every, every.index(view.head_id),
                                       format_func=lambda each: head_label(*each), key=f"worksheet-head-{text}",
                                       width=160)
            view = replace(view, layer=layer, head=head)
        offered = questions(record, view, grid)
    except UserError as error:
        st.warning(escape_markdown(error))
        return
    own = {item.id: (item.caption, item.said["answer"]) for item in handout().items if item.kind == "question"}
    offered |= own
    said = {name: WORDS("own", ask=ask) if name in own else ask for name, (ask, _) in offered.items()}
    chosen = st.multiselect(WORDS["questions"], list(offered), list(offered)[:FEWEST + 1], max_selections=MOST,
                            format_func=said.__getitem__, key=f"worksheet-questions-{grid}-{view.head_id}-{text}")
    if len(chosen) < FEWEST:
        st.caption(WORDS["few"])
        return

    with flex_row(gap="small"):
        page_buttons(WORDS, "worksheet", lambda: worksheet(record, view, [offered[name] for name in chosen], grid=grid))
