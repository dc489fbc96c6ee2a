"""A page of the tests with the files that app.py gives a browser; CLEARHEAD_TEST_PAGE names its script."""
import os

import streamlit as st

from viz.components.files import routes

app = st.App(os.environ["CLEARHEAD_TEST_PAGE"], routes=routes())
