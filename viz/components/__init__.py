"""What plotly cannot draw, and the widgets that several pages share. Streamlit is allowed here."""
