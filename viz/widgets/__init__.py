"""Streamlit pieces that several pages use."""
