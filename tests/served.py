"""A page of the tests with the files that app.py gives a browser, and with what is mended in what Streamlit sends it;
CLEARHEAD_TEST_PAGE names its script."""
import os

import streamlit as st

from viz.components.files import routes
from viz.streamlit_patch import hear_out, keep_order, take_turns

keep_order()
hear_out()
take_turns()
app = st.App(os.environ["CLEARHEAD_TEST_PAGE"], routes=routes())
