"""Turn arrays into figures by pure functions, with colours and fonts from viz/style/theme.py. A figure is plotly's, as
plain dictionaries (drawing.py)."""
