"""The computing half: questions go in, frozen records come out. Never imports viz, streamlit or plotly."""
