"""The sidebar: model, verification, text and examples."""
from typing import Any

import streamlit as st

from clearhead.model import sources
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.model.sources import Offer
from clearhead.viz.app.examples import examples
from clearhead.viz.app.link import left_out
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.session import Kept, session
from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import bind, most_megabytes, shown
from clearhead.viz.widgets.fragment import FETCHING, errors_as_sentences, reads, show_fetching
from clearhead.viz.widgets.picture import answers_about, picture_widgets, what_it_reads
from clearhead.viz.widgets.upload import take

WORDS = strings("frame")

_IMPORT_ERROR = Kept("")   # the error of the last dropped file
_WANTED = Kept(("", ""))   # (field, model): a typed model that is not yet on this disk


def _from_widget(page: PageContext, field: str) -> None:
    page.set(**{field: st.session_state[f"ask_{field}"]})


def want_model(page: PageContext, model: str, field: str = "model") -> None:
    """Open a typed model in a callback. Until it is on this disk, the page keeps its own, and `add_model` draws why."""
    _WANTED.value = field, model
    if reads(model) is not None:
        changes: dict[str, Any] = {field: model}
        page.set(**changes)
        _WANTED.value = "", ""


def _import(page: PageContext) -> None:
    """Open a dropped file, or show an error below the field."""
    if st.session_state["ask_npz"] is None:
        _IMPORT_ERROR.value = ""
    try:
        dropped = take("ask_npz")
        if dropped is None:
            return
        model, text = sources.import_file(*dropped, session().id)
    except UserError as error:
        _IMPORT_ERROR.value = str(error)
        return
    _IMPORT_ERROR.value = ""
    page.set(model=model, text=text, text_b=None, target=None)


def _more(page: PageContext, asked: dict[str, str]) -> None:
    """Draw the folded part: the second text and the target, a model outside the catalogue, and attention saved by
    another tool."""
    texts = [field for field in ("text_b", "target") if field in asked]
    if not texts and sources.catalogue_only():
        return
    with st.expander(WORDS["more"], expanded=any(map(asked.__getitem__, texts)) or _WANTED.value[0] == "model"):
        for field in texts:
            st.text_area(WORDS[field], on_change=_from_widget, args=(page, field), height=70,
                         help=WORDS[f"{field}_help"], **shown(f"ask_{field}", asked[field]))
            if asked[field] and not _reads(page.model, field):
                st.caption(WORDS("not_read", field=WORDS[field]))
        add_model(page, "model")
        if texts:
            st.file_uploader(WORDS["import_title"], type=["npz", "safetensors"], key="ask_npz",
                             help=WORDS["import_help"], max_upload_size=most_megabytes(LIMITS.file_bytes),
                             on_change=_import, args=(page,))
            if _IMPORT_ERROR.value:
                st.error(escape_markdown(_IMPORT_ERROR.value))


def ask_widgets(page: PageContext) -> DeltaGenerator:
    """Draw the question's widgets and return the placeholder for the verification badge.

    In a session's first run the widgets adopt the values shown in the browser: a page that outlived its server sends
    what was typed meanwhile, without a callback.
    """
    state, first = page.state, "ask_model" not in st.session_state
    typing = "text" in what_it_reads(state.model) and not page.about.own_texts
    fields = ("model", *(("text",) if typing else ()), *(("text_b", "target") if typing and not state.image else ()))
    asked = {field: getattr(state, field) or "" for field in fields}
    with st.sidebar:
        badge = _model_widgets(page, first)
        if state.image is not None:
            picture_widgets(page)
        if typing:
            _text_widgets(page, asked["text"])
        _more(page, asked)
        if left_out(state, page.name, page.about.controls):
            st.caption(WORDS["too_long"])
    typed = {field: st.session_state[f"ask_{field}"] for field, value in asked.items()
             if st.session_state[f"ask_{field}"] != value}
    if first and typed:
        page.set(**typed)
        st.rerun()
    return badge


def _text_widgets(page: PageContext, text: str) -> None:
    """Draw the text with examples; for a picture, the question or the texts to compare it with."""
    beside = page.state.image is not None
    asks = beside and answers_about(page.model)
    st.text_area(WORDS["question" if asks else "texts_beside" if beside else "text"], on_change=_from_widget,
                 args=(page, "text"), height=110, help=WORDS["texts_help"] if beside and not asks else None,
                 **shown("ask_text", text))
    if _reads(page.model, "chat", False) and (asks or not beside):
        st.toggle(WORDS["chat"], help=WORDS["chat_help"], **bind(page.set, "chat", page.state.chat, "ask_chat"))
    if beside:
        return
    known = {example.name: example for example in examples()}
    st.selectbox(WORDS["examples"], list(known), placeholder=WORDS["examples_pick"],
                 format_func=lambda name: known[name].title, **bind(
                     lambda example: page.set(text=known[example].text, text_b=known[example].text_b), "example", None,
                     "ask_example", ""))


def _reads(model: str, field: str, unknown: bool = True) -> bool:
    """Return whether a model also reads this field. unknown: the result for a missing model, whose error the page
    shows."""
    fields = reads(model)
    return unknown if fields is None else field in fields


def _model_widgets(page: PageContext, first: bool) -> DeltaGenerator:
    """Draw the choice of model and return the badge's placeholder."""
    model = page.model
    offers = sources.catalogue()
    names = [name for name, offer in offers.items() if name not in page.about.without
             and (page.about.pictures or not offer.pictures)]
    if not first:
        st.session_state["ask_model"] = model
    names += [] if model in names else [model]
    choose_model(page, "model", WORDS["model"], names, offers, **({"index": names.index(model)} if first else {}))
    with st.container(key="badge"):   # as high as the badge, so that nothing moves while there is none
        badge = st.empty()
    if model in offers:
        st.caption(offers[model].good_for)
    return badge


def choose_model(page: PageContext, field: str, label: str, names: list[str], offers: dict[str, sources.Offer],
                 **options: Any) -> None:
    """Draw the choice of a model by id, and pass the chosen one to page.set(field=…). offers: the catalogue by id,
    which explains every other model in the list."""
    chosen = st.session_state.get(f"ask_{field}", names[options.get("index", 0)])

    def line(name: str) -> str:
        about = "" if name == chosen or name not in offers else offers[name].good_for
        return " · ".join(filter(None, [_label(name, offers.get(name)), about]))

    st.selectbox(label, names, key=f"ask_{field}", on_change=_from_widget, args=(page, field), format_func=line,
                 **options)


def add_model(page: PageContext, field: str) -> None:
    """Draw the field for a hub id or folder if this server accepts models outside the catalogue."""
    if not sources.catalogue_only():
        st.text_input(WORDS["add"], placeholder=WORDS["add_example"], help=WORDS["add_help"], **bind(
            lambda model: want_model(page, model.strip(), field), "model", "", f"ask_add_{field}"))
        wanted = _WANTED.value[1] if _WANTED.value[0] == field else ""
        if not wanted:
            return
        with errors_as_sentences(page, field, wanted):
            if wanted in FETCHING.value:
                show_fetching(FETCHING.value[0])
            sources.locate(wanted)   # raises the reason, unless it was fetched
            want_model(page, wanted, field)
            st.rerun()


def _label(name: str, offer: Offer | None) -> str:
    """Return a model's label in the menu, with the download's size if it is not on disk."""
    if offer is None:
        imported = sources.imported_name(name)
        return name if imported is None else WORDS("import_label", name=imported)
    return offer.title if offer.on_disk else WORDS("fetch_size", model=offer.title, size=offer.size / 1e6)


def fetch_model(page: PageContext) -> None:
    """Draw the progress of the page's model download, if any, with a stop button. Reruns the page when the model is on
    disk; raises UserError if the download failed."""
    model, needed_by = FETCHING.value
    if not model or page.model not in (model, needed_by):
        return
    show_fetching(model)


def require_texts(page: PageContext) -> None:
    """Draw a button to continue without the linked text and raise UserError if the link names a text that is
    missing."""
    absent = page.state.absent
    if not absent:
        return
    st.button(WORDS["absent_go_on"], key="absent-go-on", on_click=page.correct, kwargs={"absent_texts": frozenset()})
    which = " and ".join(WORDS["absent_fields"][field] for field in absent)
    raise UserError(WORDS("absent" if all(absent.values()) else "absent_damaged", texts=which))
