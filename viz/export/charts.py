"""Charts as files: HTML, CSV and PDF."""
import csv
import io
from collections.abc import Callable

from model.core.heads import ENCODING
from viz.components.chart import CONFIG
from viz.export.tables import guard_cell
from viz.figures.drawing import FigureSpec, figure_rows
from viz.handout.pdf import browser, printed

WIDE = 720   # width of a PDF in pixels


def formats() -> dict[str, tuple[str, Callable[[FigureSpec], bytes]]]:
    """Return {suffix: (media type, function)}; PDF only if a browser that prints is installed."""
    known: dict[str, tuple[str, Callable[[FigureSpec], bytes]]] = {"html": ("text/html", html),
                                                                   "csv": ("text/csv", as_csv)}
    return known | {"pdf": ("application/pdf", as_pdf)} if browser() else known


def html(drawn: FigureSpec) -> bytes:
    """Return the figure as one HTML page that needs no other server."""
    return drawn.plotly().to_html(include_plotlyjs=True, config=CONFIG).encode("utf-8")


def as_pdf(drawn: FigureSpec) -> bytes:
    """Return the figure as a one-page vector PDF of the figure's size. Raises the same UserErrors as `printed`."""
    figure = drawn.plotly().update_layout(width=WIDE)
    page = figure.to_html(include_plotlyjs=True, config={"staticPlot": True})
    style = f"<style>@page {{ size: {WIDE}px {drawn.height}px; margin: 0; }} body {{ margin: 0; }}</style>"
    return printed(page.replace("<head>", "<head>" + style).encode("utf-8"))


def as_csv(drawn: FigureSpec) -> bytes:
    """Return the figure's numbers as CSV (RFC 4180, UTF-8 with a byte order mark) with columns series, x, y and value.
    Strings that a spreadsheet would execute are neutralised."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[guard_cell(cell) if isinstance(cell, str) else cell for cell in row]
                                for row in figure_rows(drawn)])
    return text.getvalue().encode(ENCODING)
