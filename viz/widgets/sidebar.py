"""The frame's sidebar: model, verification, text, examples."""
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.ask import sources
from model.ask.jobs import Job
from model.ask.sources import Entry
from model.core.query import UserError
from model.core.record import AttentionRecord
from model.core.view import View
from viz.examples import examples
from viz.link import too_long
from viz.state import State
from viz.text import escape_markdown, strings
from viz.widgets.fields import text_value
from viz.widgets.waiting import session


def set_question(**changes: Any) -> None:
    """Another question; the state keeps what still makes sense, and an edited text keeps the head that is open."""
    state: State = st.session_state["state"]
    if "opened" in st.session_state and changes.get("model", state.model) == state.model:
        state = state.with_view(head=st.session_state["opened"])
    st.session_state["state"] = state.with_question(**changes)


def _from_widget(field: str) -> None:
    set_question(**{field: st.session_state[f"ask_{field}"]})


def _from_example() -> None:
    chosen = next((each for each in examples() if each.name == st.session_state["ask_example"]), None)
    if chosen is not None:
        state: State = st.session_state["state"]
        view = View(lens=state.view.lens, scale=state.view.scale, transpose=state.view.transpose,
                    words=state.view.words)
        st.session_state["state"] = replace(state, text=chosen.text, text_b=chosen.text_b, view=view,
                                            user_set=frozenset())
    st.session_state["ask_example"] = None


def _add() -> None:
    if st.session_state["ask_add"].strip():
        set_question(model=st.session_state["ask_add"].strip())


def _import() -> None:
    """Opens the file that was dropped; what is wrong with it is said under its place."""
    file = st.session_state["ask_npz"]
    st.session_state["npz_error"] = ""
    if file is not None:
        try:
            model, text = sources.import_file(file.getvalue(), file.name)
        except UserError as error:
            st.session_state["npz_error"] = str(error)
            return
        set_question(model=model, text=text, text_b=None, target=None)


def _import_widget() -> None:
    """The place for attention that another tool saved."""
    words = strings("frame")
    with st.expander(words["import_title"]):
        st.file_uploader(words["import_file"], type="npz", key="ask_npz", help=words["import_help"], on_change=_import)
        if st.session_state.get("npz_error"):
            st.error(escape_markdown(st.session_state["npz_error"]))


def ask_widgets(state: State, offers: Mapping[str, Entry], catalogue_only: bool) -> DeltaGenerator:
    """Draws the question's widgets. offers: the catalogue by model id; a server for strangers shows nothing else.

    Returns the place where the badge goes once the record is there. In a session's first run the widgets say what the
    browser holds: a page that outlived its server brings what was typed meanwhile, and no callback would tell of it.
    """
    words, fields = strings("frame"), ("model", "text", "text_b", "target")
    asked = {field: getattr(state, field) or "" for field in fields}
    first = "ask_text" not in st.session_state
    with st.sidebar:
        badge = _model_widgets(state, offers, catalogue_only, first)
        st.text_area(words["text"], on_change=_from_widget, args=("text",), height=110, help=words["text_help"],
                     **text_value("ask_text", asked["text"]))
        st.session_state["ask_example"] = None
        st.selectbox(words["examples"], [each.name for each in examples()], key="ask_example", on_change=_from_example,
                     placeholder=words["examples_pick"],
                     format_func=lambda name: next(each.title for each in examples() if each.name == name))
        with st.expander(words["more"], expanded=bool(state.text_b or state.target)):
            for field in ("text_b", "target"):
                st.text_area(words[field], on_change=_from_widget, args=(field,), height=70,
                             help=words[f"{field}_help"], **text_value(f"ask_{field}", asked[field]))
        _import_widget()
        if too_long(state):
            st.caption(words["too_long"])
    typed = {field: st.session_state[f"ask_{field}"] for field, value in asked.items()
             if st.session_state[f"ask_{field}"] != value}
    if first and typed:
        set_question(**typed)
        st.rerun()
    return badge


def _model_widgets(state: State, offers: Mapping[str, Entry], catalogue_only: bool, first: bool) -> DeltaGenerator:
    """The choice of the model, and the field that adds one; returns the badge's place."""
    words = strings("frame")
    if not first:
        st.session_state["ask_model"] = state.model
    names = list(offers) if state.model in offers else [*offers, state.model]
    st.selectbox(words["model"], names, key="ask_model", on_change=_from_widget, args=("model",),
                 format_func=lambda name: _label(name, offers.get(name)),
                 **({"index": names.index(state.model)} if first else {}))
    badge = st.empty()
    if state.model in offers:
        st.caption(offers[state.model].good_for)
    if not catalogue_only:
        st.session_state["ask_add"] = ""
        st.text_input(words["add"], key="ask_add", placeholder=words["add_example"], help=words["add_help"],
                      on_change=_add)
    return badge


def _label(name: str, offer: Entry | None) -> str:
    """A model in the menu; one that is not on disk says how much it would fetch."""
    if offer is None:
        imported = sources.imported_name(name)
        return name if imported is None else strings("frame")["import_label"].format(name=imported)
    return offer.title if offer.on_disk else f"↓ {offer.title} ({offer.size / 1e6:,.0f} MB)"


def offer_to_fetch(model: str, offer: Entry | None, sentence: str) -> None:
    """A model that is not on this disk: what happened, its size, and a button that fetches it."""
    words = strings("frame")
    if not sources.may_fetch():
        st.info(words["no_fetch"].format(model=escape_markdown(model)))
        return
    st.info(escape_markdown(sentence))
    if offer is not None:
        st.markdown(f"{escape_markdown(offer.title)}: {offer.size / 1e6:,.0f} MB, {escape_markdown(offer.licence)}. "
                    f"{escape_markdown(offer.good_for)}")
    st.button(words["fetch"].format(model=escape_markdown(model)), key="fetch", type="primary",
              on_click=lambda: st.session_state.update(fetching=model))


def fetching(job: Job) -> None:
    """A download under way: how far it is, and a button that stops it. Comes back once it is there; raises UserError if
    it failed."""
    words = strings("frame")
    bar = st.progress(0.0, text=words["fetching"])
    st.button(words["stop"], key="stop", on_click=lambda: st.session_state.pop("fetching", None))
    try:
        while not job.wait(0.1):
            bar.progress(min(1.0, job.fraction), text=escape_markdown(job.text))
        job.result()
    except UserError:
        st.session_state.pop("fetching", None)
        raise
    finally:
        job.withdraw(session())
    st.session_state.pop("fetching", None)


def show_badge(badge: DeltaGenerator, record: AttentionRecord) -> None:
    """The verification and its figures, under the model's name."""
    words, found = strings("frame"), record.verification
    mark = {"verified": "✓", "reported": "○", "imported": "○"}.get(found.status, "✗")
    with badge.popover(f"{mark} {words[found.status]} · {found.max_error:.0e}" if found.status == "verified"
                       else f"{mark} {words[found.status]}"):
        card = record.card
        if found.status == "imported":
            st.markdown(f"**{escape_markdown(card.title)}**  \n{card.layers} × {card.heads}  \n`{card.revision[:16]}`")
        else:
            st.markdown(f"**{escape_markdown(card.title)}**  \n{card.architecture} · {card.layers} × {card.heads} · "
                        f"d_model {card.d_model} · "
                    f"d_head {card.d_head} · {card.parameters:,} parameters · positions: "
                    f"{escape_markdown(card.positions)} · {escape_markdown(card.licence)}  \n"
                    f"`{card.revision[:16]}`")
        if card.note:
            st.markdown(escape_markdown(card.note))
        rows = {"load": found.load_error, "pass": found.max_error, "row_sum": found.row_sum_error,
                "tolerance": found.tolerance}
        st.markdown("\n".join(f"- {words['badge'][name]}: **{value:.1e}**" for name, value in rows.items()
                              if value == value)
                    + f"\n- {words['badge']['rows']}: **{found.rows_checked}**")
        for reason in found.reasons:
            st.markdown(f"- {escape_markdown(reason)}")
