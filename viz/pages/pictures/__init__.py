"""What does each head look at in a picture? The picture under its patches, every head at once, and what holds of all of
them layer by layer."""
import inspect
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from model.ask import sources
from model.core import pictures
from model.core.query import Kind, NotOnDisk, UserError
from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.patch_attention import MEASURES
from viz import glow
from viz.components.component import Picture
from viz.components.head_grid import GridState, head_grid
from viz.components.head_view import Below
from viz.components.picture_view.rows import picture_behind, rows_overview
from viz.components.slider import slider
from viz.format import format_share
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number
from viz.pages.pictures.all_layers import rollout_section
from viz.pages.pictures.by_layer import layers_section
from viz.pages.pictures.claims import answer_claim, row_claims
from viz.pages.pictures.vectors import norms_section, positions_section, similar_section
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for
from viz.widgets.errors import errors_as_sentences, fetch
from viz.widgets.export_menu import export_menu
from viz.widgets.fields import segments, toggle
from viz.widgets.fragment import folded, fragment
from viz.widgets.handout_button import add_to_handout, item_maker, picture_button
from viz.widgets.pictures.choice import picture_pills
from viz.widgets.pictures.strip import open_picture
from viz.widgets.reading import FETCHED, is_unknown, picture_models

PAGE = Page("Pictures", "Look", 4, "record", reads="picture", controls=(
    Choice("look", "blocky", ("blocky", "smooth")), Number("opacity", glow.OPACITY, 0, 1),
    Choice("measure", MEASURES[0], MEASURES), Number("place", -1, -1, 9_999, whole=True),
    Number("after", -1, -1, 999, whole=True), Number("discard", 0.9, 0, 0.99)))
Section = Callable[[PageContext, AttentionRecord, View], None]
SECTIONS: dict[str, Section] = {"layers": layers_section, "positions": positions_section, "similar": similar_section,
                                "norms": norms_section, "rollout": rollout_section}
LARGE, ABOVE = 400, 180               # pixels of the open head, and over it in a presentation
KEEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)   # shares of a row's mass; 0.6 is what Caron et al. 2021 show
OPACITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def render(page: PageContext) -> None:
    """Draws the page; where no model of pictures is here, the way to one."""
    words = strings("pictures")
    st.markdown(f"## {words['question']}")
    st.markdown(words["lead"], width=READABLE_WIDE)
    if not is_unknown(page.state.model) and (gone := _gone(page)) is not None:
        picture_pills(page)
        st.warning(gone)
        return
    try:
        record = page.record()
    except NotOnDisk as missing:
        if is_unknown(page.state.model):   # the frame offers to fetch what somebody named
            raise
        _ways_out(page, str(missing))
        return
    picture_pills(page)
    _larger_model(page)
    fragment(page, _picture, record)
    _formula()


def _gone(page: PageContext) -> str | None:
    """Why the picture of this address is not here, with what can be done; None where it is."""
    try:
        pictures.find(page.state.image or "")
    except UserError as error:
        return strings("pictures")["gone_here"].format(reason=escape_markdown(str(error)))
    return None


def _section(page: PageContext, record: AttentionRecord, name: str, section: Section) -> None:
    """A part that is folded away until somebody opens it; what goes wrong in it is a sentence in its place."""
    def inside() -> None:
        with errors_as_sentences(page, name):
            section(page, record, page.view())

    folded(strings("pictures")[name]["title"], inside, key=f"pictures-{name}")


def _larger_model(page: PageContext) -> None:
    """The way from a small model to one of photographs, where that is not here yet."""
    words, offer = strings("pictures"), next((each for each in sources.catalogue() if each.id == FETCHED), None)
    if offer is not None and not offer.on_disk and page.state.model != FETCHED and sources.may_fetch():
        st.button(words["fetch"].format(model=escape_markdown(offer.title), size=offer.size / 1e6), help=offer.good_for,
                  key="fetch-larger", type="tertiary", on_click=fetch, args=(page, FETCHED))


def _ways_out(page: PageContext, sentence: str) -> None:
    """A model of pictures is not on this disk: which one to fetch, and those that are here."""
    words, offers = strings("pictures"), {offer.id: offer for offer in sources.catalogue()}
    offer = offers.get(page.state.model) or offers.get(FETCHED)
    st.info(escape_markdown(sentence) if offer is None else words["none"].format(
        model=escape_markdown(offer.title), good_for=escape_markdown(offer.good_for)))
    with st.container(horizontal=True):
        if offer is not None and sources.may_fetch():
            st.button(words["fetch"].format(model=escape_markdown(offer.title), size=offer.size / 1e6),
                      key="fetch-pictures", type="primary", on_click=fetch, args=(page, offer.id))
        for name in picture_models():
            st.button(words["open"].format(model=escape_markdown(offers[name].title)), key=f"open-{name}",
                      on_click=lambda name=name: page.set(model=name))


def _picture(page: PageContext, record: AttentionRecord) -> None:
    """The open head large, every head beside it, and what is true of the row in focus."""
    page.follow()
    view = replace(page.view(), lens="picture")
    left, right = st.columns([5, 7], gap="medium")
    with left:
        drawn = _open_head(page, record, view)
        with st.container(horizontal=True, gap="small"):
            export_menu(page, record, view)
            add_to_handout("picture", item_maker(drawn, (record,)))
            _hide_button(page, record, view)
    with right:
        _every_head(page, record, view)
        st.markdown("\n".join(f"- {claim}" for claim in row_claims(record, view)))
        if (answer := answer_claim(record)) is not None:
            st.markdown(answer)
    for name, section in SECTIONS.items():   # in this fragment, as they are about the token and the head in focus
        if name != "similar" or (record.prediction is not None and record.prediction.vectors is not None):
            _section(page, record, name, section)


def _open_head(page: PageContext, record: AttentionRecord, view: View) -> Picture:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"##### {strings('heads')['head_title'].format(layer=view.layer, head=view.head)}",
                    width="content")
        _display(page, view)
    return open_picture(record, view, key="picture", height=Below(ABOVE) if page.state.present else LARGE,
                        look=page.controls["look"], opacity=page.controls["opacity"],
                        on_event=lambda event: page.set(token=event.token))


def _display(page: PageContext, view: View) -> None:
    """How the weights are drawn, and which of them: nothing here changes a number of the model."""
    words = strings("pictures")
    with st.popover(words["show"]):
        choice_for(page, "look", words["look"], words["looks"])
        slider(words["opacity"], sorted({*OPACITIES, page.controls["opacity"]}), page.controls["opacity"],
               say=lambda share: format_share(share, 0), key="slider-opacity",
               turn=lambda share: page.set(opacity=share))
        slider(words["keep"], sorted({*KEEPS, view.keep}), view.keep, say=lambda share: format_share(share, 0),
               key="slider-keep", turn=lambda share: page.set(keep=share), help=words["keep_help"])
        toggle(words["hide_special"], page.set, "hide_special", view.hide_special)
        toggle(words["renormalise"], page.set, "renormalise", view.renormalise)


def _every_head(page: PageContext, record: AttentionRecord, view: View) -> None:
    """The row of the token in focus in every head, over the picture."""
    words, attention_map = strings("pictures"), record[view.kind]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"##### {words['every_head']}", width="content", help=words["every_head_help"])
        if len(record.kinds) > 1:
            segments(strings("heads")["kind"], {kind: kind.label(strings("heads")["kinds"]) for kind in record.kinds},
                     page.set, "kind", view.kind)
    drawn = head_grid(rows_overview(attention_map, view), GridState((view.layer, view.head)),
                      behind=picture_behind(record, view, page.controls["look"], page.controls["opacity"]),
                      height=LARGE + 60, key="picture-grid",
                      on_event=lambda event: page.set(head=(event.layer, event.head)))
    picture_button(drawn, (record,))


def _hide_button(page: PageContext, record: AttentionRecord, view: View) -> None:
    """One action to the same picture without the patch in focus."""
    tokens = record[view.kind].keys
    hides = view.kind.base is Kind.SELF and view.token is not None and tokens.place(view.token) is not None
    if hides and st.button(strings("pictures")["hide"], key="picture-hide", type="tertiary",
                           help=strings("pictures")["hide_help"]):
        page.open_page("compare", versus="edit", edit="hide", hidden=view.token)


def _formula() -> None:
    """How a weight becomes a colour, and the functions that drew it."""
    from model.core import attention, heads, view

    words = strings("pictures")

    def inside() -> None:
        st.latex(words["formula"])
        st.markdown(words["formula_words"])
        st.code("\n\n".join(inspect.getsource(each) for each in (
            attention.scores, attention.softmax, heads.row_weights, view.displayed_rows, glow.shares_of)),
            language="python")

    folded(words["formula_title"], inside, key="pictures-formula")
