"""The cards of a page that lists others: a picture, a title, a question and how long it takes."""
import base64
import functools
import io
from collections.abc import Callable, Mapping

import streamlit as st

from clearhead.model.core.files import ASSETS
from clearhead.viz.app.page import PageContext
from clearhead.viz.style.text import Texts, menu
from clearhead.viz.widgets.figure import page_theme
from clearhead.viz.widgets.layout import flex_row, heading

PICTURES = ASSETS / "images" / "cards"   # NAME-light.webp and NAME-dark.webp, taken by `python -m tools.cards`
WIDTH = 310   # of a card, in pixels
THUMBNAIL = 300   # largest width and height of a thumbnail, in pixels


@functools.lru_cache(256)
def shrunk(picture: bytes) -> str:
    """Return a picture at the width of a thumbnail, as a data: URL."""
    from PIL import Image

    small, out = Image.open(io.BytesIO(picture)), io.BytesIO()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    small.save(out, "webp")
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"


def page_cards(page: PageContext, texts: Mapping[str, Texts], facts: Callable[[str], str],
               end: Callable[[str], None]) -> None:
    """Draw a card for each page that this page's word of the menu leads to, under their headings. texts: the pages'
    texts by name, with the question. facts: returns how long a page takes. end: draws a card's buttons."""
    for title, group in list(menu()[page.name].items())[1:]:   # the first is the page itself
        card_row(title, {name: (group[name], texts[name]["question"]) for name in group if name in texts}, facts, end)


def card_row(title: str, cards: Mapping[str, tuple[str, str]], facts: Callable[[str], str],
             end: Callable[[str], None]) -> None:
    """Draw cards under a heading. cards: {name: (title, question)}. facts and end: as in `page_cards`."""
    heading(title, 3)
    with flex_row(gap="small"):
        for name, (called, question) in cards.items():
            with st.container(border=True, width=WIDTH, height="stretch", key=f"card-{name}", gap="small"):
                # in the page: Streamlit serves a file only while the page that shows it is open
                picture = base64.b64encode((PICTURES / f"{name}-{page_theme()}.webp").read_bytes()).decode()
                st.image(f"data:image/webp;base64,{picture}", width="stretch", alt="")
                st.markdown(f"**{called}**  \n{question}")
                st.caption(facts(name))
                with flex_row("center"):
                    end(name)
