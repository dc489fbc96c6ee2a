"""Sections on why the open head attends to a token and on what it writes, computed when opened."""
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model.core.query import Kind, head_label, isolated
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.view import View
from clearhead.model.studies.circuits import Why, WhyQuery
from clearhead.model.studies.contributions import AddsQuery, CosineQuery, Lens, LensQuery, Writes, WritesQuery
from clearhead.viz.app.examples import comparison_text
from clearhead.viz.app.page import PageContext
from clearhead.viz.components.picture import HeadValues
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import markdown_table, token_label, token_markdown, visible_token
from clearhead.viz.style.numbers import format_change
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import pills
from clearhead.viz.widgets.handout_button import data_table
from clearhead.viz.widgets.head_table import coloured_grid
from clearhead.viz.widgets.layout import flex_row, heading, note, prose, split
from clearhead.viz.widgets.part import Part

WORDS = strings("circuits")

WRITERS = 8     # most writers per side of the matrix
LARGEST = 10    # rows of the table of the largest products
Writer = tuple[Kind, int, int]


def why(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the pair's score as a sum over the components that wrote its query and its key."""
    words, attention_map = WORDS["why"], record[view.kind]
    if view.pair is None:
        st.caption(words["pair"])
        return
    asked = WhyQuery(page.query(), view.kind, view.layer, view.head, *view.pair)
    found = page.ask(asked, height=0)
    if found.minus is not None:
        prose(words("signed", factor=found.factor))
    for number, each in enumerate(filter(None, (found, found.minus))):
        _score(page, attention_map, view, each, words["softmaxes"][number] if found.minus else "", number)


def _score(page: PageContext, attention_map: AttentionMap, view: View, found: Why, where: str, number: int) -> None:
    """Draw the score of the pair in one softmax."""
    assert view.pair is not None
    sides = attention_map.queries, attention_map.keys
    query, key = (visible_token(tokens.texts[place]) for tokens, place in zip(sides, view.pair, strict=True))
    a, b = map(token_label, sides, view.pair)
    table = found.frame().head(LARGEST)
    words = Part(page, WORDS["why"], head=view.head_id, found=found, query=query, key=key, first=table.iloc[0])
    claims = [words("claim", a=a, b=b, where=where, count=found.parts.size, error=abs(found.total - found.score))]
    claims += [words("term", name=words["terms"][name], value=value) for name, value in found.terms]
    prose(" ".join(claims))
    shown = found.grouped(WRITERS)
    numbers = np.block([[shown.parts, shown.parts.sum(1, keepdims=True)],
                        [shown.parts.sum(0, keepdims=True), np.array([[shown.parts.sum()]])]])
    left, right = split(8, 5)
    with left:
        heading(words["heading"])
        words.figure(matrix, numbers, (*shown.query_writers, words["sum"]), (*shown.key_writers, words["sum"]),
                     height=430, style=CellStyle("signed", square=False, ruler=False),
                     key=f"heads-why-matrix{number or ''}")
        if not number:
            note(words("about", most=WRITERS))
    with right:
        heading(words["largest"])
        st.markdown(markdown_table(words["table"], [
            [row.query_from, row.key_from, format_change(row.value)] for row in table.itertuples()]))
        writers = {writer: _writer_label(writer)
                   for names, memory in ((shown.query_writers, False), (shown.key_writers, True))
                   for name in names if (writer := _writer(name, view.kind, memory)) is not None}
        if writers:
            st.caption(words["open"])
            pills(words["open"], writers.items(), lambda writer: page.set(kind=writer[0], head=writer[1:]), "writer",
                  None, f"why-writer{number or ''}")
        if not number:
            st.caption(words["frozen"])


def _writer(name: str, kind: Kind, memory: bool) -> Writer | None:
    """Return the head with this name among a side's writers, or None for other writers. memory: whether this is the key
    side, which cross-attention reads from the encoder."""
    layer, dot, head = name.removeprefix("cross ").partition("·")
    if not dot:
        return None
    if name.startswith("cross "):
        return Kind.CROSS, int(layer), int(head)
    own = kind if kind is not Kind.CROSS else Kind.SELF if memory else Kind.CAUSAL
    return own, int(layer), int(head)


def _writer_label(writer: Writer) -> str:
    return ("cross " if writer[0] is Kind.CROSS else "") + head_label(*writer[1:])


def writes(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the head's contribution at the token in focus, and its effect on the predicted token or on the sentence
    vector."""
    from pandas import DataFrame

    words, token = WORDS["writes"], view.token or 0
    found = page.ask(AddsQuery(page.query(), view.kind, view.layer, view.head, token), height=0)
    label = token_label(record[view.kind].queries, token)
    prose(words("claim", token=label, head=view.head_id, found=found))
    if not found.promoted and record.query.image is None and getattr(record.prediction, "vector", None) is not None:
        _cosine(page, view)
        return
    if not found.promoted:
        st.caption(words("no_words", model=escape_markdown(record.card.title)))
        return
    lines = [f"**{words[name]}** " + ", ".join(f"{token_markdown(text)} ({format_change(value)})"
                                               for text, value in getattr(found, name))
             for name in ("promoted", "demoted")]
    prose(f"{words['moves']}:\n\n" + "\n\n".join(lines))
    lens = page.ask(LensQuery(page.query(), token), height=0)
    classes = record.prediction is not None and record.prediction.kind == "label"
    _split(page, view, None if classes else label, lens)
    heading(words["lens"])
    note(words["lens_about"])
    table = DataFrame({
        "layer": [words["embedding"] if layer < 0 else str(layer) for layer in lens.layers],
        "tokens": [" ".join(isolated(visible_token(text)) for text in each) for each in lens.tokens],
        "probability": [each[0] for each in lens.probabilities], "entropy": lens.entropy,
        "divergence": lens.divergence})
    data_table(table, words["lens"], words["lens_columns"], key="lens-table",
               formats=dict.fromkeys(("probability", "entropy", "divergence"), "%.3f"))


def _split(page: PageContext, view: View, label: str | None, lens: Lens) -> None:
    """Draw the logit difference between an answer and a rival (by default the model's top two), split by head and
    layer, in the grid. label: the token at which they are predicted, or None for the classes of the whole text."""
    words, query = WORDS["writes"], page.query()
    if len(lens.tokens[-1]) < 2:   # a classifier of one number has no rival
        return
    heading(words["split"])
    with flex_row():
        typed = [st.text_input(words[name], width=180, help=words["answer_help"], key=f"writes-{name}",
                               placeholder=visible_token(text)).rstrip()
                 for name, text in zip(("answer", "rival"), lens.tokens[-1], strict=False)]
    found = page.ask(WritesQuery(query, view.token or 0, *(word or number for word, number in zip(
        typed, lens.ids[-1], strict=False))), height=0)
    answer, rival = found.tokens
    _attribution(page, view, found, words("grid", answer=visible_token(answer), rival=visible_token(rival)),
                 words["value_axis"], words("split_claim" if label else "split_classes", token=label, found=found,
                                            answer=token_markdown(answer), rival=token_markdown(rival)))


def _cosine(page: PageContext, view: View) -> None:
    """Draw the cosine of this text's vector with another text's, split by head and layer."""
    words = WORDS["writes"]
    heading(words["cosine"])
    default = comparison_text(page.text, page.state.text_b)
    other = st.text_input(words["other"], key="writes-other", placeholder=default).strip() or default
    if not other:
        st.caption(words["other_needed"])
        return
    compared = page.query(text=other)
    page.ask(compared, height=0)   # notes what the model cannot read of it
    found = page.ask(CosineQuery(page.query(), compared), height=0)
    _attribution(page, view, found, words["cosine_axis"], words["cosine_axis"], words(
        "cosine_claim", other=escape_markdown(other), found=found))


def _attribution(page: PageContext, view: View, found: Writes, label: str, axis: str, claim: str) -> None:
    """Draw the parts of a logit difference or cosine as the grid's colours and as bars per layer."""
    words = Part(page, WORDS["writes"], found=found, axis=axis)
    prose(f"{claim} {words('sums', error=abs(found.total - found.difference))}")
    left, right = split(11, 13)
    with left:
        kind = Kind.CAUSAL if view.kind is Kind.CROSS else view.kind
        record = page.record()
        layers = [layer.index for layer in record[kind].layers]
        values = {(layer, head): float(found.heads[place, head]) for place, layer in enumerate(layers)
                  for head in range(found.heads.shape[1])}
        coloured_grid(page, (record,), replace(view, kind=kind), HeadValues(values, label, signed=True),
                      key="writes-grid", height=430, choose=lambda head: page.set(kind=kind, head=head))
    with right:
        heads = found.heads.sum(1) + (found.cross.sum(1) if found.cross.size else 0)
        words.tell(heads=heads.sum(), feed_forward=found.feed_forward.sum())
        words.figure(bars, layers, {words["heads"]: heads, words["feed_forward"]: found.feed_forward}, height=400,
                     key="writes-layers", kind="layers")
        st.caption(words("rest") + (words("others") if found.others else ""))
