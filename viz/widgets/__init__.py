"""Streamlit widgets shared by several pages."""
