"""The page on the next token: which one is likely, and what the heads attend to. Step forward and back by one token,
with a temperature, top-k and top-p."""
import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core import heads
from clearhead.model.core.heads import OverviewQuery
from clearhead.model.core.query import Kind, NoNextWord, NotOnDisk, Query
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.statistics import entropy
from clearhead.model.core.view import View, displayed_head
from clearhead.model.studies.predictions import NextWord, NextWordQuery, distribution
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Number, Steps, counted
from clearhead.viz.components.head_grid import GridState, head_grid
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.figures.bars import bars
from clearhead.viz.style.format import format_weight, token_markdown
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import button_setting, slider_for
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import model_button
from clearhead.viz.widgets.handout_button import picture_button
from clearhead.viz.widgets.layout import flex_row, heading, opening, split
from clearhead.viz.widgets.vocabulary import example_of

WORDS = strings("next_word")

OURS = ("stories", "induction")   # our own decoders
PAGE = Page("record",
            controls=(Steps("wrote", 10**7, 256), Number("t", 1.0, 0.05, 10), counted("top_k", 1001),
                      Number("top_p", 1.0, 0.01, 1)), answers=lambda offer: offer.writes or offer.id in OURS)
# the values of the temperature, top-k and top-p
CUTS = {"t": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0),
        "top_k": (0, 1, 2, 5, 10, 20, 50, 100, 1000), "top_p": (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)}
DRAWN = 16    # number of tokens in the chart
OFFERED = 8   # number of tokens offered as buttons


def render(page: PageContext) -> None:
    """Draw the page. For a model that cannot answer, offer those that can, above the current model's own prediction."""
    words, state = opening("next_word", "stretch"), page.state
    try:
        _next_word(page, sources.open_query(state.model, state.text, continuation=page["wrote"],
                                            chat=page.query().chat))
        return
    except NoNextWord:
        _ways_out(page, words("none", model=escape_markdown(sources.title_of(state.model)),
                              ours=escape_markdown(sources.title_of(OURS[0]))))
    except NotOnDisk as missing:
        if state.model not in sources.catalogue():
            raise
        _ways_out(page, escape_markdown(missing.reason))
    _next_word(page, sources.open_query(OURS[0], example_of(OURS[0]), continuation=page["wrote"]))


def _ways_out(page: PageContext, sentence: str) -> None:
    """Draw why this model cannot answer, and buttons for decoders: those on this disk, our own with a text they can
    read, and one to download."""
    offers = sources.catalogue()
    writers = sorted((offer for offer in offers.values() if offer.writes), key=lambda offer: offer.size)
    absent = sorted((offer for offer in writers if not offer.on_disk), key=lambda offer: offer.id != page.model)
    with st.container(key="aside-ways"):   # hidden while presenting
        st.info(sentence)
        with flex_row():
            for offer in writers:
                if offer.on_disk:
                    model_button(page, offer, wrote=())
            for offer in map(offers.__getitem__, OURS):
                model_button(page, offer, text=example_of(offer.id), text_b=None, target=None, wrote=())
            for offer in absent[:1]:
                model_button(page, offer)


def _next_word(page: PageContext, query: Query) -> None:
    """Draw the distribution, the steps, and the last row of each head. Raises NoNextWord if the model does not predict
    next tokens."""
    answer: NextWord = page.ask(NextWordQuery(query))
    record: AttentionRecord = page.ask(query)
    tokens = record[Kind.CAUSAL].queries
    token_strip(tokens, focus=len(tokens) - 1, pairs=False, key="written")
    left, right = split(3, 8)
    with left:
        for name, options in CUTS.items():
            slider_for(page, name, WORDS[name], options)
    chances = distribution(answer.logits, page["t"], page["top_k"], page["top_p"])
    with right:
        _chart(answer, chances)
    _steps(page, answer, chances, len(tokens) >= record.card.max_tokens)
    st.markdown(WORDS["notice"])
    _row(page, query, record)
    st.latex(WORDS["formula"])
    st.caption(WORDS["source"])


def _chart(answer: NextWord, chances: np.ndarray) -> None:
    """Draw the most probable tokens, whose order does not depend on the temperature."""
    shown = chances[list(answer.ids[:DRAWN])]
    names = answer.texts[:DRAWN]
    figure(bars, names, {WORDS["probability"]: shown}, axes=("", WORDS["probability"]), y_range=(0, 1),
           title=WORDS["chart"], key="next-word",
           alt=WORDS("alt", n=len(names), first=answer.texts[0], p=shown[0]))
    st.caption(WORDS("entropy", entropy=entropy(chances, base=2), kept=np.count_nonzero(chances), n=len(chances),
                     shown=len(names), mass=shown.sum()))


def _steps(page: PageContext, answer: NextWord, chances: np.ndarray, full: bool) -> None:
    """Draw the buttons: forward by the most probable, a random or a clicked token; back by one token or to the
    start."""
    wrote = page["wrote"]
    with flex_row():
        if wrote:
            button_setting(page, WORDS["restart"], "restart", wrote=())
            button_setting(page, WORDS["back"], "back", wrote=wrote[:-1])
        if full:
            st.caption(WORDS["limit"])
            return
        button_setting(page, WORDS["forward"], "forward", wrote=(*wrote, answer.ids[0]))
        st.button(WORDS["sample"], key="sample", on_click=lambda: page.set(
            wrote=(*wrote, int(np.random.default_rng().choice(len(chances), p=chances)))))
    st.caption(WORDS["choose"])
    with flex_row():
        for number, text in list(zip(answer.ids, answer.texts))[:OFFERED]:
            if chances[number] > 0:
                share = format_weight(float(chances[number]))
                button_setting(page, f"{escape_markdown(text)} {share}", f"write-{number}", wrote=(*wrote, number))
    if wrote and wrote[-1] in answer.ends:
        st.caption(WORDS["ended"])


def _row(page: PageContext, query: Query, record: AttentionRecord) -> None:
    """Draw the heads' last rows: the grid, ordered by the weight on tokens other than the first, and one head over the
    text."""
    attention_map = record[Kind.CAUSAL]
    last = len(attention_map.queries) - 1
    order = elsewhere(attention_map, last)
    opened = (page.state.view.layer, page.state.view.head)
    if "head" not in page.state.user_set or not attention_map.has(*opened):
        opened = order[0][:2]
    heading(WORDS["heads"])
    st.markdown(WORDS("heads_lead", token=token_markdown(attention_map.queries.texts[last])))
    left, right = split(5, 6)
    with left:
        shares = {(layer, head): share for layer, head, share in order}
        drawn = head_grid(page.ask(OverviewQuery(query, Kind.CAUSAL)),
                          GridState(opened, order=list(shares), tooltip_values={WORDS["elsewhere"]: shares}),
                          height=340, key="next-grid",
                          on_event=lambda event: page.set(head=event.head))
        picture_button(drawn, (record,))
    with right:
        view = View(Kind.CAUSAL, *opened, token=last, lens="text", scale="root")
        st.markdown(f"**{strings('heads')('head_title', layer=opened[0], head=opened[1])}**")
        picture_button(head_view(displayed_head(record, view), view, height=340, key="next-head"), (record,))


def elsewhere(attention_map: AttentionMap, query: int) -> list[tuple[int, int, float]]:
    """Rank heads by the weight of this token's row on tokens other than the first: (layer, head, weight), largest
    first."""
    shares = [(layer.index, head, 1 - float(weight)) for layer in attention_map.layers
              for head, weight in enumerate(heads.row_weights(layer, query)[:, 0])]
    return sorted(shares, key=lambda each: (-each[2], each[0], each[1]))
