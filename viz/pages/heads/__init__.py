"""What does each attention head look at? The sentence, every head at once, one head open."""
import inspect
from dataclasses import replace
from typing import Any

import streamlit as st

from model.ask import sources
from model.core import heads
from model.core.heads import OverviewQuery
from model.core.measures import BY_NAME, HeadMeasures, MeasuresQuery
from model.core.query import Kind, UserError
from model.core.record import AttentionMap, AttentionRecord, Layer
from model.core.view import TokenRankingQuery, View, displayed_head, overlaid_heads
from viz.components.component import Picture
from viz.components.head_grid import GridEvent, GridState, HeadValues, head_grid
from viz.components.head_view import Below, head_view
from viz.examples import Example, example_for, other_twin, word_at
from viz.page import Page, PageContext
from viz.pages.heads.claims import head_claims, row_claim
from viz.pages.heads.colours import COLOUR, grid_colours
from viz.pages.heads.display import filters, lens_bar, why_scale
from viz.pages.heads.prediction import PREDICT, covered_head, is_covered, marked_cells, score_panel, start_button
from viz.pages.heads.ranking import SHOWN, look_from_and_at, look_here_first, tooltip_numbers
from viz.text import escape_markdown, strings
from viz.widgets.export_menu import export_menu
from viz.widgets.fields import segments, select
from viz.widgets.fragment import folded, fragment
from viz.widgets.handout_button import add_to_handout, item_maker, picture_button
from viz.widgets.pictures.strip import open_picture, patch_strip
from viz.widgets.sentence_strip import sentence_strip
from viz.widgets.vocabulary import vocabulary

PAGE = Page("Heads", "Look", 0, "record", controls=(COLOUR, *PREDICT), reads="both")
PICTURE = 430   # pixels: the open head and what is true of it fit under the sentence on a screen of 900
ABOVE = 208     # pixels over the open head in a presentation, where it fills the rest of the screen


def render(page: PageContext) -> None:
    """Draws the page."""
    record = page.record()
    _title(page)
    _warnings(page, record)
    fragment(page, _picture, record)
    _formula()


def _title(page: PageContext) -> None:
    """The question, and beside it tired ⇄ wide: the same sentence with the other word, one click away."""
    texts = _twins(page)

    def swapped() -> None:
        page.set(text=st.session_state["twin"] or next(text for text in texts if text != page.state.text))

    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"#### {strings('heads')['question']}", width="content")
        if texts:
            st.session_state["twin"] = page.state.text
            st.segmented_control(strings("heads")["swap"], list(texts), format_func=texts.__getitem__, key="twin",
                                 on_change=swapped, label_visibility="collapsed")


def _picture(page: PageContext, record: AttentionRecord) -> None:
    """The sentence, every head and the open one, or the covered head that is to be predicted."""
    page.follow()
    view = page.view()
    if is_covered(page, record, view):
        _sentence(page, record, view, True)
        covered_head(page, record)
        return
    _sentence(page, record, view, False)
    question = MeasuresQuery(page.query(), view.kind)
    measures = sources.cached(question)
    left, right = st.columns([11, 13], gap="medium")
    with left:
        _grid(page, record, view, measures)
        # in a presentation its buttons are not drawn
        of_token = None if page.state.present else look_here_first(record[view.kind], view, measures, page.set)
    with right:
        why = why_scale(page, record, view)
        _head_bar(page, record, view, why)
        drawn = _open_picture(page, record, view) if view.lens == "picture" else _open_head(page, record, view, why)
        _what_holds(page, record, view)
        _ways_on(page, record, view, drawn)
    if of_token is not None:   # of a long text it takes longer than the picture too
        with of_token:
            look_from_and_at(record[view.kind], view,
                             page.ask(TokenRankingQuery(page.query(), view.kind, view.token or 0), height=0),
                             page.set)
    if measures is None:   # of a long text they take longer than the picture, which is there before them
        page.ask(question, height=0)
        st.rerun()


def _formula() -> None:
    """The equation of the picture, and the functions that drew it."""
    from model.core import attention

    words = strings("heads")

    def inside() -> None:
        st.latex(words["formula"])
        st.markdown(words["formula_words"])
        st.code("\n\n".join(inspect.getsource(each) for each in (attention.scores, attention.softmax, heads.weights)),
                language="python")

    folded(words["formula_title"], inside, key="heads-formula")


def _warnings(page: PageContext, record: AttentionRecord) -> None:
    """What a reader must know before believing the picture: tokens left out, tokens the vocabulary lacks."""
    words = strings("frame")
    if record.omitted is not None:
        st.warning(words["omitted"].format(total=record.omitted.count + record.omitted.limit,
                                           limit=record.omitted.limit, count=record.omitted.count,
                                           model=escape_markdown(record.card.title),
                                           text=escape_markdown(record.omitted.text[:40])))
    tokens = record.maps[0].queries
    if any(tokens.unknown):
        st.warning(words["unknown_tokens"].format(count=sum(tokens.unknown), total=len(tokens),
                                                  model=escape_markdown(record.card.title)))
        readers = [offer for offer in sources.catalogue() if offer.every_byte]   # none where nothing may be fetched
        if readers:
            reader = max(readers, key=lambda offer: offer.on_disk)
            st.button(words["read_with"].format(model=escape_markdown(reader.title)), key="read_with",
                      on_click=lambda: page.set(model=reader.id))
    for note in record.notes:
        st.caption(escape_markdown(note))
    if any(tokens.unknown):
        vocabulary(record.card.id, record.card.title, lambda text: page.set(text=text))


def _sentence(page: PageContext, record: AttentionRecord, view: View, hidden: bool) -> None:
    """The tokens; with cross-attention those that look and those that are looked at. A covered head's pair would give
    it away."""
    words, attention_map = strings("heads"), record[view.kind]
    if len(record.kinds) > 1:
        segments(words["kind"], {kind: kind.label(words["kinds"]) for kind in record.kinds}, page.set, "kind",
                 view.kind)
    if record.picture is not None and attention_map.queries.grid is not None:
        patch_strip(record, view, key="strip-picture", on_event=lambda event: page.set(token=event.token))
        return
    cross = view.kind.base is Kind.CROSS
    chosen = "token" in page.state.user_set and page.state.view.token is not None
    sentence_strip(attention_map.queries, focus=view.token, pair=None if cross or hidden else view.pair,
                   pairs=not (cross or hidden), chosen=bool(chosen or view.pair or hidden), key="strip",
                   on_event=lambda event: page.set(token=event.token,
                                                        pair=view.pair if cross or hidden else event.pair))
    if cross and not hidden:
        sentence_strip(attention_map.keys, focus=view.pair[1] if view.pair else None, pairs=False, key="strip_keys",
                       on_event=lambda event: page.set(pair=None if event.token is None
                                                            else (view.token, event.token)))


def _example(page: PageContext) -> Example | None:
    """The example that the text is; a picture is none."""
    return None if page.state.image is not None else example_for(page.state.text, page.state.text_b)


def _twins(page: PageContext) -> dict[str, str]:
    """The sentence and its twin, each with the word by which it differs; empty for any other text."""
    example = _example(page)
    if example is None or not example.twin or not example.swap:
        return {}
    return {example.text: example.swap[0], example.twin: example.swap[1]}


def _grid(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None) -> None:
    """Every head of this kind, and how they are ordered."""
    words, attention_map = strings("heads"), record[view.kind]
    overview = page.ask(OverviewQuery(page.query(), view.kind))
    weights = heads.pair_weights(attention_map, *view.pair) if view.pair else {}
    orders = {"layer": words["order_layer"], **({"pair": words["order_pair"]} if view.pair else {}),
              **{name: f"by {BY_NAME[name].title}" for name in (measures.values if measures else ())}}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {words['grid']}", help=words["grid_help"])
        select(words["order"], orders, page.set, "order", view.order if view.order in orders else "layer",
               quiet=True)
        values, label = grid_colours(page, view.kind, measures)
    ranked = heads.rank_heads_for_pair(attention_map, *view.pair) if view.pair else []
    order = {"layer": None, "pair": ranked}.get(view.order, measures.ranked(view.order)
                                                if measures and view.order in measures.values else None)
    silences = bool(st.session_state.get("click-silences")) if record.verification.status == "verified" else None
    shown = GridState((view.layer, view.head), [(layer, head) for layer, head, _ in order] if order else None,
                      [(layer, head, rank) for rank, (layer, head, _) in enumerate(ranked[:SHOWN], 1)],
                      tooltip_numbers(measures, weights), HeadValues(values, label) if values else None, silences)
    drawn = head_grid(overview, shown, heads_per_kv=_heads_per_kv(attention_map), key="grid",
                      on_event=lambda event: _take(page, event))
    picture_button(drawn, (record,), beside=None if silences is None else _silencing_switch)


def _silencing_switch() -> None:
    """What a click on the grid does; it is no part of the state that a link holds."""
    words = strings("heads")
    st.toggle(words["silences"], key="click-silences", help=words["silences_help"])


def _take(page: PageContext, event: GridEvent) -> None:
    """A head that was clicked; one to be silenced is compared as soon as the page runs."""
    page.set(head=(event.layer, event.head))
    if event.silence:
        page.open_next("compare", **_edited("zero"))


def _heads_per_kv(attention_map: AttentionMap) -> int:
    """How many query heads share a key head, where that is the same in every layer."""
    sizes = {layer.heads // layer.key.shape[0] for layer in attention_map.layers if isinstance(layer, Layer)}
    return sizes.pop() if len(sizes) == 1 else 1


def _head_bar(page: PageContext, record: AttentionRecord, view: View, why: str) -> None:
    """Which head is open, and the ways to show it. why: its scale was chosen."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {strings('heads')['head_title'].format(layer=view.layer, head=view.head)}")
        lens_bar(record, view, page.set)
        filters(record, view, page.set, why)


def _open_picture(page: PageContext, record: AttentionRecord, view: View) -> Picture:
    """The open head over the picture that the model reads."""
    return open_picture(record, view, key="head-picture", height=Below(ABOVE) if page.state.present else PICTURE,
                        on_event=lambda event: page.set(token=event.token))


def _open_head(page: PageContext, record: AttentionRecord, view: View, why: str) -> Picture:
    """The open head as a matrix, as lines or over its text. why: its scale was chosen."""
    guess = marked_cells(page, record, view)
    return head_view(displayed_head(record, view), replace(view, pair=None) if guess else view,
                     overlay=overlaid_heads(record, view), height=Below(ABOVE) if page.state.present else PICTURE,
                     guess=guess, why_scale=why, key="head",
                     on_event=lambda event: page.set(token=event.token, pair=event.pair))


def _what_holds(page: PageContext, record: AttentionRecord, view: View) -> None:
    """What is true of the open head: the score of a prediction, and sentences."""
    if page.controls["predict"] == "shown":
        score_panel(page, record, view)
    st.markdown(" ".join(head_claims(record, view, *_twin(page))) or row_claim(record, view))


def _ways_on(page: PageContext, record: AttentionRecord, view: View, picture: Picture) -> None:
    """One action to the same question with this head silenced, with another word, or with this head taken from the
    twin; and to predicting it."""
    words, example = strings("heads"), _example(page)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        start_button(page, record, view)
        export_menu(page, record, view)
        add_to_handout("head", item_maker(picture, (record,)))
        # a file has no model that could be asked anew
        asks = record.verification.status not in ("imported", "recorded")
        if asks and st.button(words["compare_silenced"], key="compare-silenced", type="tertiary",
                              help=words["compare_help"]):
            page.open_page("compare", **_edited("zero"))
        if example is not None and example.twin and st.button(words["compare_swapped"], key="compare-swapped",
                                                              type="tertiary"):
            page.open_page("compare", versus="text", other=other_twin(example, page.state.text))
        if example is not None and example.twin and st.button(words["compare_patched"], key="compare-patched",
                                                              type="tertiary"):
            page.open_page("compare", **_edited("patch"), other=other_twin(example, page.state.text))
        if asks:
            _swap(page, record, view)


def _edited(edit: str) -> dict[str, Any]:
    """The controls of the page Compare two for an edit of the open head, whatever head was edited before."""
    return {"versus": "edit", "edit": edit, "edit_layer": -1, "edit_head": -1}


def _swap(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Another word in the place of the one in focus, compared as soon as it is typed."""
    words, text = strings("heads"), page.state.text
    of_text = view.kind.base is Kind.SELF or Kind.CROSS not in record.kinds   # else the target's tokens look
    place = word_at(record[view.kind].queries, view.token, text) if of_text else None
    if place is None:
        return
    start, end = place
    label = words["swap_word"].format(word=text[start:end])
    typed = st.text_input(label, key=f"swap-{start}-{end}", max_chars=60, label_visibility="collapsed", width=260,
                          placeholder=label).strip()
    if typed and typed != text[start:end]:
        page.open_page("compare", versus="text", other=text[:start] + typed + text[end:])


def _twin(page: PageContext) -> tuple[AttentionRecord | None, Example | None]:
    """The record of the twin sentence and its example, if the text is one of a pair of twins."""
    example = _example(page)
    twin = None if example is None or not example.rival else other_twin(example, page.state.text)
    if twin is None:
        return None, None
    try:
        return page.ask(page.query(text=twin)), example
    except UserError:
        return None, None
