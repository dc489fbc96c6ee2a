"""Arrays → drawing: pure, one figure a file, colours and fonts from viz.theme. A drawing is plotly's figure in plain
dictionaries (drawing.py)."""
