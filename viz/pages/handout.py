"""My lesson: the user's list of screens, figures, texts and questions with captions, which can be presented or exported
as a link, HTML, PDF or a file."""
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

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
from clearhead.viz.components.component import component_value, registered, show
from clearhead.viz.components.hands import hands
from clearhead.viz.components.picture import HEAD, Grid, Head, Image
from clearhead.viz.export.handout import pdf
from clearhead.viz.export.handout.entries import packed, ready, target, unpacked
from clearhead.viz.export.handout.files import MOST_MINUTES, WRITTEN, Handout, Item, load, make_words, new_id, save
from clearhead.viz.export.handout.page import Photographs, markdown_html, page
from clearhead.viz.export.handout.photograph import Photograph, Screen
from clearhead.viz.export.handout.store import HandoutStore, Stored
from clearhead.viz.export.handout.values import MOST_CHOICES, SPOKEN, Chart, Table
from clearhead.viz.export.provenance import opens_elsewhere
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.cards import PICTURES, shrunk
from clearhead.viz.widgets.fields import bind, most_megabytes, shown
from clearhead.viz.widgets.figure import page_theme
from clearhead.viz.widgets.handout_button import handout, stored, undo, update
from clearhead.viz.widgets.layout import close_menu, flex_row, heading, menu, split
from clearhead.viz.widgets.my_lesson import draw_again, entry_title, present
from clearhead.viz.widgets.photographs import begin, photographs, take_missing
from clearhead.viz.widgets.sheets import page_buttons
from clearhead.viz.widgets.upload import take
from clearhead.viz.widgets.worksheet import worksheet_maker

WORDS = strings("handout")

PAGE = Page("nothing", controls=(Words("list", longest=MOST_PACKED),))
# this session's list that was brought and not yet taken
_BROUGHT = HandoutStore(LIMITS.handouts_bytes // 4)
_ERROR = Kept("")   # error of the last dropped handout file
_REVEALED = Kept("")   # the question whose answer is revealed while presenting
SMALL = 300       # the same in the list, where it is drawn at a fraction of its size (viz/style/page.css)
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
        if count := len(stored().before):
            st.button(WORDS["undo"], key="handout-undo", icon=":material/undo:", on_click=undo,
                      help=WORDS("undo_help", count=count))
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
        _card(frame, place, item, taken.get(item.id))
    ids = [item.id for item in figures.items]   # as they are on the page
    registered("my_lesson", "js/my_lesson.js", "module.myLesson")(
        key="entries-order", data=[_link(figures), *ids], on_event_change=partial(_reorder, ids))


def _say_how_much(figures: Handout) -> None:
    minutes = sum(item.minutes for item in figures.items)
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
    st.info(WORDS("brought", count=len(given.items), title=escape_markdown(given.title or WORDS["untitled"])))
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
        _changes(how)
    if not _ERROR.value:
        _BROUGHT.change(session().id, lambda known: Handout())


def _joined(known: Handout, given: Handout) -> Handout:
    """Return a list with another's entries at its end, with new ids where both have the same entry."""
    ids = {item.id for item in known.items}
    added = (replace(item, id=new_id()) if item.id in ids else item for item in given.items)
    return replace(known, title=known.title or given.title, items=(*known.items, *added))


def _write() -> None:
    """Draw the fields for the user's own text or question."""
    for kind in ("text", "question"):
        with menu(WORDS[f"{kind}_add"], f"write-{kind}"), st.form(f"form-{kind}", clear_on_submit=True, border=False):
            st.text_area(WORDS[kind], max_chars=LIMITS.handout_caption, key=f"new-{kind}", help=WORDS["markdown"],
                         height=68, placeholder=WORDS["text_hint"] if kind == "text" else None)
            if kind == "question":
                st.text_area(WORDS["choices"], max_chars=LIMITS.handout_text, key="new-choices", height=68)
                st.text_input(WORDS["answer"], max_chars=LIMITS.handout_text, key="new-answer",
                              help=WORDS["answer_help"])
            st.form_submit_button(WORDS["put"], on_click=_add_written, args=(kind,))


def _add_written(kind: str) -> None:
    """Add what was written as an entry, and close its popover, in a callback."""
    given = st.session_state
    if not given[f"new-{kind}"].strip():
        return
    said = {"answer": given["new-answer"], "choices": _choices(given["new-choices"])} if kind == "question" else {}
    entry = make_words(kind, given[f"new-{kind}"].strip(), **said)
    _changes(partial(_joined, given=Handout("", (entry,))))
    close_menu(f"write-{kind}")


def _choices(lines: str) -> tuple[str, ...]:
    """Return a question's choices, which are written one a line, in a callback. Choices without a digit key are left
    out, which the page says."""
    found = tuple(filter(None, map(str.strip, lines.splitlines())))
    if left_out := ", ".join(found[MOST_CHOICES:]):
        _ERROR.value = WORDS("most_choices", count=MOST_CHOICES, left_out=left_out)
    return found[:MOST_CHOICES]


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
    link = _link(figures)
    st.button(WORDS["link"], key="handout-link", disabled=not link, on_click=st.toast, args=(WORDS["copied"],),
              help=WORDS["link_about" if link else "link_long"])
    if missing:
        for kind in ("pdf", "html") if pdf.browser() else ("html",):
            st.button(WORDS[kind], key=f"take-{kind}", on_click=begin)
    else:
        page_buttons(WORDS, name, partial(page, figures, taken))
    st.download_button(WORDS["save"], lambda: save(figures), f"{name}.handout.json", "application/json",
                       on_click="ignore", key="handout-save", help=WORDS["save_help"])
    with st.popover(WORDS["clear"], key="handout-empty"):
        st.button(WORDS["clear_sure"], key="handout-clear", on_click=_changes, args=(lambda known: Handout(),))


def _link(figures: Handout) -> str:
    """Return a link that opens the list elsewhere, which the browser copies; "" if it would be too long."""
    try:
        return f"{base_address()}handout?list={packed(figures)}"
    except UserError:
        return ""


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
            close_menu("handout-load")

    with menu(WORDS["load"], "handout-load", help=WORDS["load_help"]):
        st.file_uploader(WORDS["load_label"], type="json", key="handout-file", on_change=read,
                         max_upload_size=most_megabytes(int(LIMITS.handout_bytes * WRITTEN)))


def _card(frame: PageContext, place: int, item: Item, taken: Photograph | str | None) -> None:
    """Draw an entry: its handle, a small picture, what it shows, and fields for its texts and minutes. taken: its
    photograph, if there is one."""
    with st.container(border=True, key=f"item-{item.id}"), flex_row("top", gap="small"):
        st.button(f"{place + 1}", key=f"drag-{item.id}", type="tertiary", icon=":material/drag_indicator:",
                  help=WORDS["drag"])
        _thumbnail(frame, item, taken)
        with st.container(gap="xsmall"):
            with flex_row("center", gap="small"):
                st.markdown(entry_title(item), width="stretch")
                if item.link:
                    st.link_button(WORDS["back"], item.link, type="tertiary")
                st.button(WORDS["remove"], key=f"remove-{item.id}", type="tertiary", on_click=_changes, args=(
                    lambda known: replace(known, items=tuple(each for each in known.items if each.id != item.id)),))
            _text(item, "caption", item.caption, WORDS("caption", number=place + 1), longest=LIMITS.handout_caption)
            if item.kind == "question":
                with flex_row():
                    _text(item, "choices", "\n".join(item.said["choices"]), WORDS["choices"])
                    _text(item, "answer", item.said["answer"], WORDS["answer"])
            elif item.about:
                st.caption(escape_markdown(item.about))
        st.number_input(WORDS["minutes"], 0, MOST_MINUTES, step=1, width=120,
                        **bind(partial(_edit, item.id), "minutes", item.minutes, f"minutes-{item.id}"))


def _text(item: Item, field: str, text: str, label: str, longest: int = LIMITS.handout_text) -> None:
    """Draw a field for one of an entry's texts."""
    key = f"{field}-{item.id}"

    def edit() -> None:
        written = st.session_state[key]
        _edit(item.id, **{field: _choices(written) if field == "choices" else written})

    st.text_area(label, **shown(key, text), max_chars=longest, height=68, on_change=edit,
                 placeholder=WORDS["caption_hint"] if field == "caption" else None,
                 label_visibility="collapsed" if field == "caption" else "visible")


def _thumbnail(frame: PageContext, item: Item, taken: Photograph | str | None) -> None:
    """Draw an entry's figure, its photograph or its page's picture at a small size; nothing for texts."""
    if item.kind in ("text", "question"):
        return
    name, drawn = target(item.link)[0], item if item.kind != "screen" else None
    card = PICTURES / f"{name}-{page_theme()}.webp"
    with st.container(width=150, key=f"small-{item.id}"):
        if isinstance(taken, Photograph):
            st.image(shrunk(taken.steps[-1][0]), width="stretch", alt="")
        elif drawn := drawn or (draw_again(frame, "head_view", item.link, "", known=True) if name == "heads" else None):
            _draw(replace(drawn, id=item.id), SMALL)
        elif card.exists():
            st.image(shrunk(card.read_bytes()), width="stretch", alt="")


def _edit(which: str, **fields: Any) -> None:
    """Change an entry's fields, in a callback."""
    _changes(lambda known: replace(known, items=tuple(item.changed(**fields) if item.id == which else item
                                                      for item in known.items)))


def _reorder(ids: list[str]) -> None:
    """Move the entry that was dragged, in a callback. ids: the entries on the page."""
    event, places = component_value("entries-order"), range(len(ids))
    if isinstance(event, list) and len(event) == 2 and all(type(at) is int and at in places for at in event):
        _changes(_moved(ids[event[0]], event[1]))


def _moved(which: str, to: int) -> Callable[[Handout], Handout]:
    def how(known: Handout) -> Handout:
        items = [item for item in known.items if item.id != which]
        return replace(known, items=(*items[:to], *(item for item in known.items if item.id == which), *items[to:]))
    return how


def _present(frame: PageContext, figures: Handout) -> None:
    """Draw one figure as large as fits on the screen."""
    item = figures.items[min(max(frame.state.entry, 1), len(figures.items)) - 1]
    if item.kind not in SPOKEN:
        _draw(item, PRESENTED)
        st.markdown(escape_markdown(item.caption))
        return
    said, told = item.said, _REVEALED.value == item.id
    answer = said["answer"].strip()
    with st.container(key="presented-words"):
        if item.kind == "screen":   # a screen of a page that does not exist here
            st.markdown(WORDS("missing", title=escape_markdown(said["title"])))
        _own_words(item.caption)
        for place, choice in enumerate(said["choices"]):
            text, count = split(4, 1, gap="small", vertical_alignment="center")
            right = told and choice == answer
            text.markdown(f"{'✓' if right else f'**{place + 1}**'}  {escape_markdown(choice)}")
            with count:
                hands(item.id, key=f"hands-{item.id}-{place}", place=place, answers=len(said["choices"]), told=told,
                      right=right)
        if told and answer not in said["choices"]:
            _own_words(answer)
        if answer and not told:
            st.button(WORDS["answer_show"], key="reveal-answer", on_click=_REVEALED.put, args=(item.id,))


def _own_words(text: str) -> None:
    """Draw the user's own text, if there is any."""
    if text.strip():
        st.html(markdown_html(text))
