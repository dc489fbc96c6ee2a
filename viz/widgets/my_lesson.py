"""My lesson: a list of screens from several pages, presented in order, and the buttons that add screens to it.

The list is the handout (viz/export/handout/files.py). Its figures, texts and questions are presented on the list's own
page, its screens on their original pages. The session stores the current entry and the state before the presentation.
"""
from dataclasses import replace

import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core.query import UserError, head_label
from clearhead.model.core.view import View
from clearhead.model.sources import title_of
from clearhead.viz.app.link import from_params
from clearhead.viz.app.page import PageContext, controls_in, lessons, pages, state_of
from clearhead.viz.app.session import Kept
from clearhead.viz.app.state import QUESTION, State, complete_view
from clearhead.viz.export.handout.entries import target, without_answers
from clearhead.viz.export.handout.files import Item
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.handout_button import OFFERED, add_item, add_offered, handout
from clearhead.viz.widgets.photographs import bring_picture, screen_item

WORDS = strings("handout")

HOME = "handout"                        # the list's page
WORDS_SHOWN = 8                         # of an entry's sentence
_BEFORE = Kept[State | None](None)      # the state before the presentation


def present(page: PageContext, on: bool) -> None:
    """Begin or end a presentation in a callback: of the list if on its own page, otherwise of the current page. When a
    list's presentation ends, return to where it began."""
    if on and page.name == HOME and handout().items:
        _BEFORE.value = page.state
        _show(page, 1)
    elif not on and place_of(page)[0]:
        state, _BEFORE.value = _BEFORE.value or page.state, None
        page.open_state(HOME, replace(state, present=False, screen="", entry=0))
    else:
        page.set(present=on, screen="", entry=0, show=page.state.show and not on)


def step(page: PageContext, by: int) -> None:
    """Show the next or previous entry of the list, in a callback."""
    if by in beside(page):
        _show(page, _entry(page) + by)


def beside(page: PageContext) -> list[int]:
    """Return the steps that lead to another entry of the presented list: −1, 1 or both."""
    at = _entry(page)
    return [by for by in (-1, 1) if at and 1 <= at + by <= len(handout().items)]


def _entry(page: PageContext) -> int:
    """Return the position in the presented list, from 1; 0 if no list is presented."""
    return min(max(page.state.entry, int(page.name == HOME)), len(handout().items)) if page.present else 0


def place_of(page: PageContext) -> tuple[str, str]:
    """Return the position in the presented list, in words, and the screen of this page to show; both are "" if no list
    is presented."""
    at, items = _entry(page), handout().items
    if not at:
        return "", ""
    name, params = _shown_on(items[at - 1])
    if page.name not in (name, HOME):
        return "", ""
    return WORDS("place", at=at, of=len(items)), params.get("screen", "")


def planned(page: PageContext) -> int:
    """Return the minutes planned until the end of the presented entry; 0 if no list with minutes is presented."""
    return sum(item.minutes for item in handout().items[:_entry(page)])


def passing(page: PageContext) -> bool:
    """Return whether this is the list's page on the way to the page that presents the entry."""
    return page.name == HOME and bool(at := _entry(page)) and _shown_on(handout().items[at - 1])[0] != HOME


def _shown_on(item: Item) -> tuple[str, dict[str, str]]:
    """Return the page that presents an entry, and the parameters of its address."""
    name, params = target(item.link) if item.kind == "screen" else (HOME, {})
    return (name, params) if name in pages() else (HOME, {})


def _show(page: PageContext, at: int) -> None:
    item = handout().items[at - 1]
    name, params = _shown_on(item)
    if name == HOME:
        page.open_state(HOME, replace(_BEFORE.value or page.state, present=True, screen="", entry=at))
        return
    bring_picture(item)
    page.open_state(name, replace(page.linked(name, params, dict(item.said["texts"])), present=True, entry=at))


def draw_again(page: PageContext, kind: str, link: str, caption: str, known: bool = False) -> Item | None:
    """Return the figure for a state of the page Heads, or None if it cannot be drawn here. known: only if its record is
    at hand, instead of waiting for it."""
    from clearhead.viz.export.handout.build import record_item

    name, params = target(link)
    try:
        read = from_params(params)
        query = page.query(**{field: getattr(read, field) for field in QUESTION})
        record = desk.cached(query) if known else page.ask(query)
        if record is None:
            return None
        view: View = complete_view(read, record)
        item = record_item(record, view, grid=kind == "head_grid", link=link, where=pages()[name][0].title)
    except (UserError, KeyError):
        return None
    return item.changed(caption=caption) if caption else item


def entry_title(item: Item) -> str:
    """Return what an entry shows, as Markdown: its title, page, model, head and sentence."""
    title, (name, params) = item.said.get("title", ""), target(item.link)
    parts = [f"**{escape_markdown(title or WORDS[item.kind])}**"] if title or item.kind in ("text", "question") else []
    if not item.link or name not in pages():
        return " · ".join(parts)
    about, state = pages()[name][0], state_of(name, params, dict(item.said.get("texts", ())))
    parts += [] if title.startswith(about.title) else [about.title if parts else f"**{about.title}**"]
    if about.asks_with(controls_in(state, name, about)):
        parts += [escape_markdown(title_of(state.model))]
        parts += [head_label(*state.view.head_id)] if "head" in state.user_set and item.kind != "head_grid" else []
        words = state.text.split()
        parts += [f"*{escape_markdown(' '.join(words[:WORDS_SHOWN]))}*" + " …" * (len(words) > WORDS_SHOWN)]
    return " · ".join(parts)


def add_screens(page: PageContext) -> None:
    """Draw the buttons that add this page, one of its screens, or a figure that it offers to the list."""
    title = page.about.title
    offered = {"": WORDS["add_page"]}
    if page.name in lessons():
        from clearhead.viz.widgets.lesson import screens  # imports what would delay the first page

        offered |= screens(page.name)
    for screen, name in offered.items():
        said = f"{title} · {name}" if screen else title
        more = {"screen": screen} if screen else {}
        st.button(name, key=f"add-screen-{screen}", type="tertiary", icon=":material/playlist_add:", on_click=add_item,
                  args=(lambda where, link, said=said, more=more: screen_item(
                      page, without_answers(link, **more), said),))
    for key, (label, make) in OFFERED.value.items():
        st.button(label, key=f"add-screen-{key}", type="tertiary", icon=":material/playlist_add:",
                  on_click=add_offered, args=(key, make))
