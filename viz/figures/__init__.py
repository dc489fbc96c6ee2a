"""Arrays → plotly figure: pure, one figure a file, colours and fonts from viz.theme. plotly is imported when the first one is drawn."""
