"""My lesson: the user's list of screens, figures, texts and questions with captions, which can be presented or exported
as a link, HTML, PDF or a file."""
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.files import name_for
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.viz.app.link import MOST_PACKED
from clearhead.viz.app.page import Page, PageContext, base_address
from clearhead.viz.app.page_controls import Words
from clearhead.viz.app.session import Kept, session
from clearhead.viz.components.chart import draw_saved
from clearhead.viz.components.component import show
from clearhead.viz.components.picture import HEAD, Grid, Head, Image
from clearhead.viz.export.handout import pdf
from clearhead.viz.export.handout.entries import packed, ready, unpacked
from clearhead.viz.export.handout.files import WRITTEN, Handout, Item, load, make_words, new_id, save
from clearhead.viz.export.handout.page import Photographs, page
from clearhead.viz.export.handout.photograph import Screen
from clearhead.viz.export.handout.store import HandoutStore, Stored
from clearhead.viz.export.handout.values import SPOKEN, Chart, Table
from clearhead.viz.export.provenance import opens_elsewhere
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import bind, most_megabytes, text_value
from clearhead.viz.widgets.handout_button import handout, stored, update
from clearhead.viz.widgets.layout import flex_row, heading
from clearhead.viz.widgets.my_lesson import draw_again, present
from clearhead.viz.widgets.photographs import begin, photographs, take_missing
from clearhead.viz.widgets.upload import take
from clearhead.viz.widgets.worksheet import worksheet_maker

WORDS = strings("handout")

PAGE = Page("nothing", controls=(Words("list", longest=MOST_PACKED),))
# this session's list that was brought and not yet taken, and its own list before entries were last removed
_BROUGHT, _BEFORE = (HandoutStore(LIMITS.handouts_bytes // 4) for _ in range(2))
_AFTER = Kept(frozenset[str]())   # the ids of the list after that removal
_ERROR = Kept("")   # error of the last dropped handout file
_REVEALED = Kept("")   # the question whose answer is revealed while presenting
PRESENTED = 390   # height of an unscaled picture in pixels; enlarged with its caption it fits a 900-pixel projector


def _draw(item: Item, height: int | None = None) -> None:
    """Draw a figure of the handout. height: maximum in pixels."""
    key, value = f"picture-{item.id}", item.value
    if isinstance(value, Chart):
        draw_saved(value.spec, key=key, height=height)
    elif isinstance(value, Table):
        table = value.frame()
        st.dataframe(table, hide_index=True, height=min(38 + 35 * len(table), height or 460), key=key)
    elif isinstance(value, (Head, Grid)):
        show(value.component, key, *value.messages(key, height or HEAD))
    elif isinstance(value, Image):
        show(value.component, key, *value.messages(key))


def render(frame: PageContext) -> None:
    """Draw the page."""
    figures = handout()
    if frame.state.present and figures.items:
        _present(frame, figures)
        return
    heading(WORDS["title"], 2)
    links = any(opens_elsewhere(item.link) for item in figures.items if item.link)
    st.markdown(f"{WORDS['lead']} {WORDS['lead_links'] * links}", width=READABLE)
    _brought(frame, figures)
    if figures.items:
        _title(figures)
    taken, missing = photographs(figures)
    with flex_row("center", gap="small"):
        if figures.items:
            _out(frame, figures, taken, missing)
        _in(figures)
    with flex_row("center", gap="small"):
        _write()
        st.button(WORDS["ninety"], key="handout-ninety", help=WORDS["ninety_help"],
                  on_click=lambda: _bring(ready(base_address(), partial(draw_again, frame))))
        if before := _BEFORE.get(session().id).items:
            st.button(WORDS["undo"], key="handout-undo", icon=":material/undo:", on_click=_undo,
                      help=WORDS("undo_help", count=len(before)))
    if _ERROR.value:
        st.error(escape_markdown(_ERROR.value))
        _ERROR.value = ""
    take_missing(taken, missing)
    if not figures.items:
        st.info(WORDS["how"])
    else:
        _say_how_much(figures)
    _say_what_is_wrong(stored())
    worksheet_maker(frame)
    for place, item in enumerate(figures.items):
        _card(place, item, len(figures.items))


def _say_how_much(figures: Handout) -> None:
    minutes = sum(item.said.get("minutes", 0) for item in figures.items)
    much = WORDS("total" if minutes else "count", count=len(figures.items), minutes=minutes)
    kept = "" if stored().unsaved else WORDS["memory" if desk.handout_folder() is None else "disk"]
    st.caption(f"{much}. {kept}")


def _brought(frame: PageContext, figures: Handout) -> None:
    """Take the list in a link, and ask what to do with a list that cannot simply be taken."""
    if frame["list"]:
        try:
            _bring(unpacked(frame["list"], base_address(), partial(draw_again, frame)))
        except UserError as error:
            st.error(escape_markdown(error))
            return
        frame.set(list="", passing=True)
        st.rerun()
    given = _BROUGHT.get(session().id)
    if not given.items:
        return
    st.info(WORDS("brought", count=len(given.items), title=given.title or WORDS["untitled"]))
    ways = {"append": partial(_joined, given=given), "replace": lambda known: given, "leave": None}
    with flex_row():
        for name, how in ways.items():
            st.button(WORDS[name], key=f"brought-{name}", on_click=_answer, args=(how,))


def _bring(given: Handout) -> None:
    """Take a list if the session has none, else offer it."""
    _BROUGHT.change(session().id, lambda known: given)
    if not handout().items:
        _answer(lambda known: given)


def _answer(how: Callable[[Handout], Handout] | None) -> None:
    if how is not None:
        _replaces(how)
    if not _ERROR.value:
        _BROUGHT.change(session().id, lambda known: Handout())


def _joined(known: Handout, given: Handout) -> Handout:
    """Return a list with another's entries at its end, with new ids where both have the same entry."""
    ids = {item.id for item in known.items}
    added = (replace(item, id=new_id()) if item.id in ids else item for item in given.items)
    return replace(known, title=known.title or given.title, items=(*known.items, *added))


def _replaces(how: Callable[[Handout], Handout]) -> None:
    """Change the handout in a way that can be undone once."""
    before = handout()
    _changes(how)
    if before.items and (after := handout()) != before:
        _BEFORE.change(session().id, lambda known: before)
        _AFTER.value = frozenset(item.id for item in after.items)


def _undo() -> None:
    """Bring back the list before the last removal, with what was added since."""
    before = _BEFORE.get(session().id)
    old = _AFTER.value | {item.id for item in before.items}
    _changes(lambda known: replace(before, items=(*before.items,
                                                  *(item for item in known.items if item.id not in old))))
    _BEFORE.change(session().id, lambda known: Handout())


def _write() -> None:
    """Draw the fields for the user's own text or question."""
    for kind in ("text", "question"):
        with st.popover(WORDS[f"{kind}_add"], key=f"write-{kind}"), \
                st.form(f"form-{kind}", clear_on_submit=True, border=False):
            caption = st.text_area(WORDS[kind], max_chars=LIMITS.handout_caption, key=f"new-{kind}",
                                   placeholder=WORDS["text_hint"] if kind == "text" else None)
            said = {}
            if kind == "question":
                said["answer"] = st.text_input(WORDS["answer"], max_chars=LIMITS.handout_text)
            if st.form_submit_button(WORDS["put"]) and caption.strip():
                _changes(partial(_joined, given=Handout("", (make_words(kind, caption.strip(), **said),))))
                st.rerun()


def _say_what_is_wrong(known: Stored) -> None:
    """Warn if the handout could not be saved, or if an unreadable file was set aside."""
    for name, reason in (("unsaved", known.unsaved), ("aside", known.aside)):
        if reason:
            st.warning(escape_markdown(WORDS(name, reason=reason)))


def _changes(how: Callable[[Handout], Handout]) -> None:
    """Update the handout; an error is shown on the page."""
    try:
        update(how)
    except UserError as error:
        _ERROR.value = str(error)


def _title(figures: Handout) -> None:
    st.text_input(WORDS["name"], max_chars=LIMITS.handout_title, placeholder=WORDS["name_hint"], width=READABLE,
                  **bind(lambda title: _changes(lambda known: replace(known, title=title)), "title", figures.title,
                         "handout-title"))


def _out(frame: PageContext, figures: Handout, taken: Photographs, missing: list[Screen]) -> None:
    """Draw the exports; each file is created on click, once no photograph is missing."""
    name = name_for(figures.title, "handout")
    st.button(WORDS["present"], key="handout-present", type="primary", help=WORDS["present_help"], on_click=present,
              args=(frame, True))
    with st.popover(WORDS["link"], key="handout-link", on_change="rerun") as opened:
        if opened.open:
            st.markdown(WORDS["link_about"], width=READABLE)
            try:
                st.code(f"{base_address()}handout?list={packed(figures)}",
                        language=None, wrap_lines=True)
            except UserError as error:
                st.warning(str(error))
    formats = [("html", page, "text/html")] + [("pdf", pdf.pdf, "application/pdf")] * bool(pdf.browser())
    for suffix, make, mime in formats:
        if missing:
            st.button(WORDS[suffix], key=f"handout-{suffix}", on_click=begin)
        else:
            st.download_button(WORDS[suffix], partial(make, figures, taken), f"{name}.{suffix}", mime,
                               on_click="ignore", key=f"handout-{suffix}")
    st.download_button(WORDS["save"], lambda: save(figures), f"{name}.handout.json", "application/json",
                       on_click="ignore", key="handout-save", help=WORDS["save_help"])
    with st.popover(WORDS["clear"], key="handout-empty"):
        st.button(WORDS["clear_sure"], key="handout-clear", on_click=lambda: _replaces(lambda known: Handout()))


def _in(figures: Handout) -> None:
    def read() -> None:
        try:
            given = take("handout-file")
            if given is None:
                return
            loaded = load(given[0])   # loaded before the update, which would block others
        except UserError as error:
            _ERROR.value = str(error)
        else:
            _bring(loaded)

    with st.popover(WORDS["load"], key="handout-load", help=WORDS["load_help"]):
        st.file_uploader(WORDS["load_label"], type="json", key="handout-file", on_change=read,
                         max_upload_size=most_megabytes(int(LIMITS.handout_bytes * WRITTEN)))


def _card(place: int, item: Item, count: int) -> None:
    """Draw one figure as it will be exported, with fields for its caption and position."""
    with st.container(border=True, key=f"item-{item.id}"):
        with flex_row("center", gap="small"):
            st.markdown(f"**{place + 1}**", width="content")
            for name, to in (("up", place - 1), ("down", place + 1)):
                st.button(WORDS[name], key=f"{name}-{item.id}", type="tertiary", disabled=not 0 <= to < count,
                          on_click=_changes, args=(_moved(item.id, to),))
            st.button(WORDS["remove"], key=f"remove-{item.id}", type="tertiary", on_click=_replaces,
                      args=(_swapped(item.id),))
            if item.link:
                st.link_button(WORDS["back"], item.link, type="tertiary")
        said = item.said
        if item.kind not in SPOKEN:
            _draw(item)
        elif said["title"]:
            minutes = f" · {WORDS('minutes', count=said['minutes'])}" if said["minutes"] else ""
            st.markdown(f"**{escape_markdown(said['title'])}**{minutes}")
        key = f"caption-{item.id}"
        st.text_area(WORDS("caption", number=place + 1), **text_value(key, item.caption),
                     max_chars=LIMITS.handout_caption, height=68, label_visibility="collapsed",
                     on_change=lambda: _changes(_swapped(item.id, item.with_caption(st.session_state[key]))))
        if item.kind == "question":
            answer = f"answer-{item.id}"
            st.text_input(WORDS["answer"], **text_value(answer, said["answer"]), max_chars=LIMITS.handout_text,
                          on_change=lambda: _changes(_swapped(item.id, make_words(
                              item.kind, item.caption, link=item.link, id=item.id,
                              **said | {"answer": st.session_state[answer]}))))
        if item.about:
            st.caption(escape_markdown(item.about))


def _moved(which: str, to: int) -> Callable[[Handout], Handout]:
    def how(known: Handout) -> Handout:
        items = [item for item in known.items if item.id != which]
        return replace(known, items=(*items[:to], *(item for item in known.items if item.id == which), *items[to:]))
    return how


def _swapped(which: str, *new: Item) -> Callable[[Handout], Handout]:
    """Put an item in place of an entry, or none."""
    return lambda known: replace(known, items=tuple(each for item in known.items
                                                    for each in (new if item.id == which else (item,))))


def _present(frame: PageContext, figures: Handout) -> None:
    """Draw one figure as large as fits on the screen."""
    item = figures.items[min(max(frame.state.entry, 1), len(figures.items)) - 1]
    if item.kind not in SPOKEN:
        _draw(item, PRESENTED)
        st.markdown(escape_markdown(item.caption))
        return
    said = item.said
    with st.container(key="presented-words"):
        if item.kind == "screen":   # a screen of a page that does not exist here
            st.markdown(WORDS("missing", title=escape_markdown(said["title"])))
        st.markdown(_lines(item.caption))
        if said["answer"] and _REVEALED.value == item.id:
            st.markdown(_lines(said["answer"]))
        elif said["answer"]:
            st.button(WORDS["answer_show"], key="reveal-answer", on_click=_REVEALED.put, args=(item.id,))


def _lines(text: str) -> str:
    """Return the text as Markdown with its line breaks preserved."""
    return "  \n".join(map(escape_markdown, text.splitlines()))
