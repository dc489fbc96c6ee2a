"""The page of studies: a card for each page that asks about many heads, sentences or models."""
import streamlit as st

from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.cards import page_cards
from clearhead.viz.widgets.layout import opening

PAGE = Page("nothing")


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("research")
    page_cards(page, {name: strings(name) for name in words["minutes"]},
               lambda name: strings("lesson")("minutes", minutes=words["minutes"][name]),
               lambda name: st.button(words["open"], key=f"open-{name}", on_click=page.open_next, args=(name,)))
