"""What Heads shows of a decoder, besides its heads: which token comes next, and writing it. Step forward and back by
one token, with a temperature, top-k and top-p."""
import numpy as np
import streamlit as st

from clearhead.model.core import heads
from clearhead.model.core.query import head_label
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.statistics import entropy
from clearhead.model.core.view import View
from clearhead.model.studies.predictions import NextWord, NextWordQuery, distribution
from clearhead.viz.app.page import PageContext
from clearhead.viz.figures.bars import bars
from clearhead.viz.style.format import token_markdown
from clearhead.viz.style.numbers import format_weight
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import button_setting, pills, slider_for
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.layout import flex_row, split

WORDS = strings("next_word")

# the values of the temperature, top-k and top-p
CUTS = {"t": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0),
        "top_k": (0, 1, 2, 5, 10, 20, 50, 100, 1000), "top_p": (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)}
DRAWN = 16    # number of tokens in the chart
OFFERED = 8   # number of tokens, and of heads, offered as buttons


def next_word(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the distribution, the steps, and the heads whose last row is elsewhere than on the first token."""
    answer = page.ask(NextWordQuery(page.query()), height=0)
    st.markdown(WORDS["lead"])
    left, right = split(3, 8)
    with left:
        for name, options in CUTS.items():
            slider_for(page, name, WORDS[name], options)
    chances = distribution(answer.logits, page["t"], page["top_k"], page["top_p"])
    with right:
        _chart(answer, chances)
    tokens = record[view.kind].queries
    _steps(page, answer, chances, len(tokens) >= record.card.max_tokens)
    st.markdown(WORDS("heads", token=token_markdown(tokens.texts[-1])))
    ranked = elsewhere(record[view.kind], len(tokens) - 1)[:OFFERED]
    pills(WORDS["elsewhere"], [((layer, head), f"{head_label(layer, head)}  {format_weight(share)}")
                               for layer, head, share in ranked],
          lambda head: page.set(head=head, token=len(tokens) - 1), "head", view.head_id, "rank_elsewhere")
    st.latex(WORDS["formula"])
    st.caption(WORDS["source"])


def _chart(answer: NextWord, chances: np.ndarray) -> None:
    """Draw the most probable tokens, whose order does not depend on the temperature."""
    shown = chances[list(answer.ids[:DRAWN])]
    names = answer.texts[:DRAWN]
    figure(bars, names, {WORDS["probability"]: shown}, axes=("", WORDS["probability"]), y_range=(0, 1),
           title=WORDS["chart"], key="next-word",
           alt=WORDS("alt", n=len(names), first=answer.texts[0], p=shown[0]))
    kept = np.count_nonzero(chances)
    said = [WORDS("entropy", entropy=entropy(chances, base=2), shown=len(names), mass=shown.sum()),
            *([WORDS("cut", kept=kept, n=len(chances))] if kept < len(chances) else []),
            *([WORDS["bytes"]] if "‹" in "".join(names) else [])]
    st.caption(" ".join(said))


def _steps(page: PageContext, answer: NextWord, chances: np.ndarray, full: bool) -> None:
    """Draw the buttons: forward by the most probable, a random or a clicked token; back by one token or to the
    start."""
    wrote = page.state.continuation
    with flex_row():
        if wrote:
            button_setting(page, WORDS["restart"], "restart", continuation=())
            button_setting(page, WORDS["back"], "back", continuation=wrote[:-1])
        if full:
            st.caption(WORDS["limit"])
            return
        button_setting(page, WORDS["forward"], "forward", continuation=(*wrote, answer.ids[0]))
        st.button(WORDS["sample"], key="sample", on_click=lambda: page.set(
            continuation=(*wrote, int(np.random.default_rng().choice(len(chances), p=chances)))))
    st.caption(WORDS["choose"])
    with flex_row():
        for number, text in list(zip(answer.ids, answer.texts))[:OFFERED]:
            if chances[number] > 0:
                share = format_weight(chances[number])
                button_setting(page, f"{escape_markdown(text)} {share}", f"write-{number}",
                               continuation=(*wrote, number))
    if wrote and wrote[-1] in answer.ends:
        st.caption(WORDS["ended"])


def elsewhere(attention_map: AttentionMap, query: int) -> list[tuple[int, int, float]]:
    """Rank heads by the weight of this token's row on tokens other than the first: (layer, head, weight), largest
    first."""
    shares = [(layer.index, head, 1 - float(weight)) for layer in attention_map.layers
              for head, weight in enumerate(heads.row_weights(layer, query)[:, 0])]
    return sorted(shares, key=lambda each: (-each[2], each[0], each[1]))
