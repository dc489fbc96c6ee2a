"""The page of studies: a card for each page that asks about many heads, sentences or models, and for each kind of model
that Heads shows in its own way."""
from urllib.parse import parse_qsl

import streamlit as st

from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.components.files import MOVED
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.cards import card_row, page_cards
from clearhead.viz.widgets.layout import opening

PAGE = Page("nothing")


def render(page: PageContext) -> None:
    """Draw the page."""
    words, models = opening("research"), strings("research")["models"]

    def facts(name: str) -> str:
        return strings("lesson")("minutes", minutes=words["minutes"][name])

    def end(name: str) -> None:
        st.button(words["open"], key=f"open-{name}", on_click=_open, args=(page, name))

    page_cards(page, {name: strings(name) for name in words["minutes"] if name not in models["cards"]}, facts, end)
    card_row(models["title"], {name: (card["title"], card["question"]) for name, card in models["cards"].items()},
             facts, end)


def _open(page: PageContext, name: str) -> None:
    """Open a study, or Heads with a model of this kind, in a callback."""
    if name not in strings("research")["models"]["cards"]:
        page.open_next(name)
        return
    target, params = MOVED[name]
    page.open_state(target, page.linked(target, dict(parse_qsl(params)), {}))
