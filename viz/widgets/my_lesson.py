"""My lesson: a list of screens from several pages, presented in order, and the buttons that add screens to it.

The list is the handout (viz/handout/files.py). Its figures, texts and questions are presented on the list's own page,
its screens on their original pages. The session stores the current entry and the state before the presentation.
"""
from dataclasses import replace

import streamlit as st

from model.core.query import UserError
from model.core.view import View
from viz.handout.entries import target, without_answers
from viz.handout.files import Item, make_words
from viz.link import from_params
from viz.page import PageContext, lessons, pages, with_controls
from viz.session import Kept
from viz.state import State, complete_view
from viz.text import strings
from viz.widgets.handout_button import add_item, handout, show_result

WORDS = strings("handout")

HOME = "handout"                        # the list's page
_PLACE = Kept(0)                        # position in the presented list, from 1; 0 if no list is presented
_BEFORE = Kept[State | None](None)      # the state before the presentation


def present(page: PageContext, on: bool) -> None:
    """Begin or end a presentation in a callback: of the list if on its own page, otherwise of the current page. When a
    list's presentation ends, return to where it began."""
    if on and page.name == HOME and handout().items:
        _BEFORE.value = page.state
        _show(page, 1)
    elif not on and place_of(page)[0]:
        state, _BEFORE.value, _PLACE.value = _BEFORE.value or page.state, None, 0
        page.open_state(HOME, replace(state, present=False, screen=""))
    else:
        page.set(present=on, screen="")


def step(page: PageContext, by: int) -> None:
    """Show the next or previous entry of the list, in a callback."""
    if _PLACE.value and 1 <= _PLACE.value + by <= len(handout().items):
        _show(page, _PLACE.value + by)


def place_of(page: PageContext) -> tuple[str, str]:
    """Return the position in the presented list, in words, and the screen of this page to show; both are "" if no list
    is presented."""
    items = handout().items if page.present and (_PLACE.value or page.name == HOME) else ()
    if not items:
        return "", ""
    if page.name == HOME:
        _PLACE.value = min(page["figure"], len(items))
    at = min(_PLACE.value, len(items))
    name, params = target(items[at - 1].link) if items[at - 1].kind == "screen" else (HOME, {})
    if page.name not in (name, HOME):
        return "", ""
    return WORDS("place", at=at, of=len(items)), params.get("screen", "")


def _show(page: PageContext, at: int) -> None:
    _PLACE.value, item = at, handout().items[at - 1]
    name, params = target(item.link) if item.kind == "screen" else (HOME, {})
    if name == HOME or name not in pages():
        state = with_controls(_BEFORE.value or page.state, HOME, pages()[HOME][0], {"figure": at})
        page.open_state(HOME, replace(state, present=True))
        return
    read, others = from_params(params, name, pages()[name][0].controls), page.state.control_values
    kept = {each for each in others if each[0] != name}
    page.open_state(name, replace(read, control_values=read.control_values | kept, present=True))


def draw_again(page: PageContext, kind: str, link: str, caption: str) -> Item | None:
    """Return the figure for a state of the page Heads, or None if it cannot be drawn here."""
    from viz.handout.build import grid_item, head_item

    name, params = target(link)
    try:
        read = from_params(params)
        record = page.ask(page.query(**{field: getattr(read, field)
                                        for field in ("model", "text", "text_b", "target", "image", "chat")}))
        view: View = complete_view(read, record)
        item = (head_item if kind == "head_view" else grid_item)(record, view, link=link, where=pages()[name][0].title)
    except (UserError, KeyError):
        return None
    return item.with_caption(caption) if caption else item


def add_screens(page: PageContext) -> None:
    """Draw the buttons that add this page, or one of its screens, to the list."""
    title = page.about.title
    offered = {"": WORDS["add_page"]}
    if page.name in lessons():
        from viz.widgets.lesson import screens  # imports what would delay the first page

        offered |= screens(page.name)
    for screen, name in offered.items():
        said = f"{title} · {name}" if screen else title
        more = {"screen": screen} if screen else {}
        st.button(name, key=f"add-screen-{screen}", type="tertiary", icon=":material/playlist_add:", on_click=add_item,
                  args=(lambda where, link, said=said, more=more: make_words(
                      "screen", "", link=without_answers(link, **more), title=said),))
    show_result()
