"""A page of hostile texts in every place of Streamlit that reads Markdown, each through `literal`, for a browser to look at."""
import json
import os
from pathlib import Path

import streamlit as st

from viz.components.labels import label
from viz.text import literal

TEXTS = json.loads(Path(os.environ["HOSTILE_TEXTS"]).read_text(encoding="utf-8"))
SHOWN = {"markdown": st.markdown, "caption": st.caption, "error": st.error, "heading": lambda text: st.markdown(f"**x** {text} x"),
         "button": lambda text: st.button(text, key=f"b{number}"), "bold": lambda text: st.markdown(f"*{text}*")}

names = list(SHOWN)
for number, text in enumerate(TEXTS):
    with st.container(key=f"place-{number}"):
        SHOWN[names[number % len(names)]](literal(text))
st.download_button("done", label("x"), key="done")
