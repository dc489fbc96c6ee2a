"""A page that shows hostile texts, escaped by `escape_markdown`, in elements that render Markdown."""
import json
import os
from pathlib import Path

import streamlit as st

from clearhead.viz.style.format import visible_token
from clearhead.viz.style.text import escape_markdown

TEXTS = json.loads(Path(os.environ["HOSTILE_TEXTS"]).read_text(encoding="utf-8"))
SHOWN = {"markdown": st.markdown, "caption": st.caption, "error": st.error,
         "heading": lambda text: st.markdown(f"**x** {text} x"),
         "button": lambda text: st.button(text, key=f"b{number}"), "bold": lambda text: st.markdown(f"*{text}*")}

names = list(SHOWN)
for number, text in enumerate(TEXTS):
    with st.container(key=f"place-{number}"):
        SHOWN[names[number % len(names)]](escape_markdown(text))
st.download_button("done", visible_token("x"), key="done")
