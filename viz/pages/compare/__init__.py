"""The page Compare: two sentences, two models, a record before and after an edit, or two heads."""
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from clearhead.model import sources
from clearhead.model.core.query import Edit, Hide, Kind, Patch, Query, Silence, Temper, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.model.studies.comparison import AlignmentQuery, ComparisonQuery, same_heads
from clearhead.model.studies.contributions import AddsQuery
from clearhead.model.studies.patching import PatchQuery
from clearhead.viz.app.examples import example_for, other_twin
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Words, position
from clearhead.viz.components.component import Selection
from clearhead.viz.pages.compare.difference import (
    EQUAL,
    as_matrices,
    both_section,
    change_section,
    draw_sides,
    grid_section,
    map_beside_grid,
    open_head,
    patching_section,
)
from clearhead.viz.pages.compare.many_texts import many_section
from clearhead.viz.style.format import token_label, token_markdown
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import choice_for, log_steps, select, slider_for, text_field
from clearhead.viz.widgets.fragment import folded_formula, says_why
from clearhead.viz.widgets.head_picker import head_choice, real_head, verdict
from clearhead.viz.widgets.layout import flex_row, opening, split
from clearhead.viz.widgets.picture import patch_strip, picture_options
from clearhead.viz.widgets.sidebar import add_model, choose_model

WORDS = strings("compare")

WAYS, EDITS = ("text", "model", "edit", "head"), ("zero", "mean", "temper", "patch", "hide")
OF_A_TEXT, OF_A_PICTURE = EDITS[:-1], ("zero", "mean", "temper", "hide")   # edits offered for texts and for pictures
NAMED = 3        # most words that a silenced head promoted
LONGEST = 1500   # most characters of the other sentence
PAGE = Page("record", controls=(
    Choice("versus", "text", WAYS), Words("other", "", LONGEST), Words("against", "", 300),
    Choice("edit", "zero", EDITS),
    Number("t", 2.0, 0.01, 100), position("edit_layer", 999), position("edit_head", 999),
    position("layer_b", 999), position("head_b", 999),
    Words("picture", "", 64), position("hidden", 9_999)), pictures=True)


@frozen
class Other:
    """The second question, the kind and head it shows, and whether its heads correspond to the first's."""

    query: Query
    kind: Kind
    head: tuple[int, int]
    counterpart: bool


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("compare", READABLE)
    left, right = (st.container(), st.container()) if page.present else st.columns(
        [5, 6], gap="medium", vertical_alignment="bottom")
    with left:
        record, view = real_head(page, token=False)
    with right:
        choice_for(page, "versus", words["versus"], words["ways" if record.picture is None else "ways_of_pictures"])
    other = _other(page, record, view)
    if other is None:
        st.info(words["same"])
        return
    second, kinds = page.ask(other.query), (view.kind, other.kind)
    records = record, second
    found = open_head(page, records, view, (other.kind, other.head),
                      page.ask(AlignmentQuery(record.query, other.query, kinds)))
    edited = _edited(page, record, view) if page["versus"] == "edit" else None
    compared = page.ask(ComparisonQuery(record.query, other.query, kinds, None if other.counterpart else other.head))
    heard = [edit for edit in other.query.edits if isinstance(edit, Silence | Patch) and page["edit_layer"] < 0]
    if heard and (change := compared.frame()["divergence"]).iloc[0] > EQUAL:
        # the edited head's own weights cannot change: open the head whose weights changed most
        layer, number = map(int, change.index[0])
        page.set(edit_layer=heard[0].layer, edit_head=heard[0].head, head=(layer, number), passing=True)
        st.rerun()
    left, right = split(gap="large")
    with left:
        grid_section(page, view, compared, records, found.names,
                     _taker(page, edited) if other.counterpart else None)
        if page["versus"] == "model":
            st.caption(words["same_heads" if same_heads(*records, kinds) else "other_heads"], width=READABLE)
    beside = map_beside_grid(records, found)
    with left if beside and page.present else right:   # while presenting the map needs the whole height
        change_section(records, view, found)
        for edit in other.query.edits:
            if isinstance(edit, Silence) and edit.mode == "zero":
                _gone(page, record, view, edit)
    if beside:
        with right:
            draw_sides(page, records, found, as_matrices(view, found), (2,))
    for edit in other.query.edits:
        if isinstance(edit, Patch):
            patching_section(page, records, view, page.ask(PatchQuery(record.query, edit.from_query, edit.kind)),
                             _taker(page, None))
    both_section(page, records, view, found, (0, 1) if beside else (0, 1, 2))
    if page["versus"] == "model" and record.picture is None and same_heads(*records, kinds):
        many_section(page, records, view, _taker(page, None))
    folded_formula(words["formula"], _proof, key="compare-formula")


@says_why
def _gone(page: PageContext, record: AttentionRecord, view: View, edit: Silence) -> None:
    """Say what the silenced head wrote at the token in focus, which the residual stream now lacks."""
    found = page.ask(AddsQuery(record.query, edit.kind, edit.layer, edit.head, view.token or 0), height=0)
    words = {name: ", ".join(f"*{token_markdown(text)}*" for text, _ in getattr(found, name)[:NAMED])
             for name in ("promoted", "demoted")}
    st.markdown(WORDS("gone", head=(edit.layer, edit.head), found=found,
                      token=token_label(record[edit.kind].queries, view.token or 0))
                + (WORDS("gone_words", **words) if found.promoted else ""))


def _other(page: PageContext, record: AttentionRecord, view: View) -> Other | None:
    """Return the second question according to the page's controls, or None if it is incomplete."""
    asked, here, way = record.query, view.head_id, page["versus"]
    if way == "text" and record.picture is not None:
        options = {sha256: name for sha256, name in picture_options().items() if sha256 != asked.image}
        wanted = page["picture"]
        chosen = wanted if wanted in options else next(iter(options))
        select(WORDS["other_picture"], options, page.set, "picture", chosen, width=320)
        return Other(replace(asked, image=chosen), view.kind, here, True)
    if way == "text":
        text = _text(page, WORDS["other"])
        return Other(_with_text(asked, text), view.kind, here, True) if text else None
    if way == "edit":
        edit = _edit(page, record, view)
        return None if edit is None else Other(replace(asked, edits=frozenset([edit])), view.kind, here, True)
    query = sources.open_query(_model(page), asked.text, image=asked.image) if way == "model" else asked
    second = page.ask(query)
    kind = view.kind if view.kind in second.kinds else second.kinds[0]
    head = next((place for place in ((page["layer_b"], page["head_b"]), here) if second[kind].has(*place)),
                (second[kind].layers[0].index, 0))
    with flex_row("bottom"):
        head_choice(WORDS["second_head"], second[kind], head,
                    lambda second: page.set(layer_b=second[0], head_b=second[1]), "second")
        if way == "model":
            st.caption(f"{escape_markdown(second.card.title)} · {verdict(second)}", width="content")
    return Other(query, kind, head, way == "model" and head == here and same_heads(record, second, (view.kind, kind)))


def _with_text(asked: Query, text: str) -> Query:
    """Return the same query with another text."""
    return sources.open_query(asked.model, text, asked.text_b, asked.target, chat=asked.chat)


def _text(page: PageContext, label: str, shorter: bool = True) -> str:
    """Return the other sentence. Before one is typed, it is the twin or (if `shorter`) the sentence without its last
    word."""
    text = page.text
    example = example_for(text, page.state.text_b)
    start = (example and other_twin(example, text)) or (" ".join(text.split()[:-1]) if shorter else "")
    shown: str = page["other"].strip() or start
    text_field(label, shown, lambda other: page.set(other="" if other.strip() == start else other), "view_other",
               max(LONGEST, len(start)), needed=True, help=None if shorter else WORDS["donor_help"])
    return shown


def _model(page: PageContext) -> str:
    """Return the other model, which is chosen like in the sidebar: from the catalogue, or by hub id or folder."""
    wanted, mine = page["against"], page.model
    offers = sources.catalogue()
    names = [offer.id for offer in offers.values()
             if offer.id != mine and offer.pictures == (page.state.image is not None)]
    chosen = wanted if wanted not in ("", mine) else names[0]
    st.session_state["ask_against"] = chosen
    with flex_row():
        listed = names if chosen in names else [*names, chosen]
        choose_model(page, "against", WORDS["model"], listed, offers)
        add_model(page, "against")
    return chosen


def _edited(page: PageContext, record: AttentionRecord, view: View) -> tuple[int, int]:
    """Return the edited head: the open one, unless the reader opened another to see the edit's effect on it."""
    wanted = (page["edit_layer"], page["edit_head"])
    return wanted if record[view.kind].has(*wanted) else view.head_id


def _taker(page: PageContext, edited: tuple[int, int] | None) -> Callable[..., None]:
    """Return choose(head=…), which opens the head on both sides. The edit stays at the head `edited`, or moves to the
    newly opened head if that is None."""
    def choose(head: tuple[int, int]) -> None:
        layer, number = edited or (head if page["versus"] == "edit" else (-1, -1))
        page.set(edit_layer=layer, edit_head=number, layer_b=-1, head_b=-1, head=head)

    return choose


def _edit(page: PageContext, record: AttentionRecord, view: View) -> Edit | None:
    edited = _edited(page, record, view)
    offered = OF_A_PICTURE if record[view.kind].keys.patches else OF_A_TEXT
    if page["edit"] not in offered:
        page.set(edit="zero")
    edit, place = page["edit"], (view.kind, *edited)
    if edited != view.head_id and edit != "hide":
        head_choice(WORDS["edited_head"], record[view.kind], edited,
                    lambda edited: page.set(edit_layer=edited[0], edit_head=edited[1]), "edited")
    choice_for(page, "edit", WORDS("edit_all" if edit == "hide" else "edit", layer=edited[0], head=edited[1]),
               {name: WORDS["edits"][name] for name in offered})
    if edit == "hide":
        return _hidden_patch(page, record, view)
    if edit == "patch":
        text = _text(page, WORDS["donor"], shorter=False)
        return Patch(*place, _with_text(record.query, text)) if text else None
    if edit != "temper":
        return Silence(*place, edit)
    slider_for(page, "t", WORDS["temperature"], log_steps(0.01, 100, 5))
    return Temper(*place, page["t"])


def _hidden_patch(page: PageContext, record: AttentionRecord, view: View) -> Hide:
    """Let the reader click the patch to hide (the centre one by default), and return its edit."""
    tokens, wanted, grid = record[view.kind].keys, page["hidden"], record[view.kind].keys.grid or (1, 1)
    middle = tokens.patch_at(grid[0] // 2, grid[1] // 2)
    token = wanted if wanted in tokens.patches else middle if middle is not None else tokens.patches[0]

    def take(event: Selection) -> None:
        if event.token is not None and event.token in tokens.patches:
            page.set(hidden=event.token)

    patch_strip(record, replace(view, token=token), key="compare-hide", says=WORDS["hide_which"],
                on_event=take)
    return Hide("source", token)


def _proof() -> tuple[Callable, ...]:
    from clearhead.model.core import statistics
    from clearhead.model.studies import comparison
    from clearhead.model.studies.patching import measure_of

    return (statistics.x_log_x, statistics.entropy, statistics.jensen_shannon, comparison.pool_weights,
            comparison.difference, measure_of)
