"""Serve a test page with app.py's files and Streamlit patches. CLEARHEAD_TEST_PAGE is the path of its script."""
import os

import streamlit as st

from clearhead.viz.app.streamlit_patch import hear_out, keep_order, take_turns
from clearhead.viz.components.files import routes

keep_order()
hear_out()
take_turns()
app = st.App(os.environ["CLEARHEAD_TEST_PAGE"], routes=routes())
