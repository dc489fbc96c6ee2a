"""Clearhead on your own machine: `streamlit run app.py`.

Streamlit reads this file twice: as a module for the server, which should respond before the pages are loaded, and as a
script in every run of a page, whose frame is viz/app/frame.py.
"""
import streamlit as st

if __name__ == "__main__":
    from clearhead.viz.app.frame import main

    main()
else:
    from clearhead.viz.app.startup import local_lifespan
    from clearhead.viz.components.files import routes

    # no compression, because it takes longer than a local browser needs to read uncompressed data
    app = st.App(__file__, lifespan=local_lifespan, routes=routes())
