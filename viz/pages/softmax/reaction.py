"""How much the weights react to a logit, which one draws by hand first; and both ends of the temperature."""
import numpy as np
import streamlit as st

from model.lessons import softmax
from viz.components.sketch import Axes
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import true_minus
from viz.page import PageContext
from viz.pages.softmax.row import GRID, Row
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson, draw_first, drawn_control, drawn_line

LARGEST = 12    # weights of the Jacobian that are drawn
ROOM = 1.1      # of the axis over the curve's highest point


def slope_section(page: PageContext, lesson: Lesson, row: Row) -> None:
    """The curve by hand; then the real one, and the whole matrix at this temperature."""
    words = lesson.prose["slope"]
    with lesson.section("slope"):
        left, right = st.columns(2, gap="medium")
        decades = [(place / 4, f"{10.0 ** (place - 2):g}") for place in range(5)]
        with left:
            drawn = draw_first(page, drawn_control(), Axes((words["temperature"], words["norm"]), decades,
                                                           [(0, "0"), (1 / ROOM, words["highest"])]))
        if not drawn:
            return
        norms = softmax.jacobian_norm(softmax.softmax_rows(row.logits, GRID, row.allowed), GRID)
        with right:
            _real(page, lesson, row, norms)
        square = _matrix(page, lesson, row)
        lesson.explanation("slope", shown=(softmax.jacobian, softmax.jacobian_norm), shapes={"jacobian": square},
                           **slope_numbers(row, norms))


def slope_numbers(row: Row, norms: np.ndarray) -> dict[str, float]:
    """What is said of the slope. norms: of the Jacobian at the temperatures of GRID."""
    hot = softmax.softmax_rows(row.logits, GRID[-1:], row.allowed)[0, row.allowed]
    largest = np.sort(row.logits[row.allowed])[-2:]
    return {"gap": float(largest[-1] - largest[0]), "most": float(norms.max()), "rivals": int(row.allowed.sum()) - 1,
            "steepest": float(GRID[norms.argmax()]), "cold": float(norms[0]), "hot": float(norms[-1]),
            "low": float(hot.min()), "high": float(hot.max())}


def _real(page: PageContext, lesson: Lesson, row: Row, norms: np.ndarray) -> None:
    words, temperature, steepest = lesson.prose["slope"], page.controls["t"], float(GRID[norms.argmax()])
    highest = (0.0, ROOM * max(float(norms.max()), 1e-3))
    curves = [Line("‖J‖", norms, 2), drawn_line(page.controls["drawn"], GRID, highest, "x")]
    marks = [(temperature, f"T = {temperature:g}"), (steepest, words["at_steepest"].format(steepest=steepest))]
    figure(lambda theme: lines(theme, GRID, curves, axes=(words["temperature"], words["norm"]), log="x", marks=marks,
                               y_range=highest, height=340),
           key="softmax-slope", alt=lesson.alt("slope", t=temperature, steepest=steepest, most=norms.max()))


def _matrix(page: PageContext, lesson: Lesson, row: Row) -> np.ndarray:
    """The Jacobian at this temperature between the largest weights; gives it."""
    words, temperature = lesson.prose["slope"], page.controls["t"]
    here = softmax.softmax_rows(row.logits, [temperature], row.allowed)[0]
    shown = [place for place in np.argsort(-here, kind="stable")[:LARGEST] if row.allowed[place]]
    square = softmax.jacobian(here, temperature)[np.ix_(shown, shown)]
    names = [row.named(place) for place in shown]
    figure(lambda theme: matrix(theme, square, names, names, axes=(words["moves"], words["reacts"]), height=320,
                                style=CellStyle("signed", digits=3)),
           key="softmax-jacobian",
           alt=words["alt_matrix"].format(t=temperature, most=float(np.abs(square).max())))
    return square


def ends_section(page: PageContext, lesson: Lesson, row: Row) -> None:
    """The two limits, and the formula as written against ours, in the precision of both."""
    cold, hot = softmax.limits(np.where(row.allowed, row.logits, -np.inf), row.allowed)
    words, temperature, logits = lesson.prose["ends"], page.controls["t"], row.logits[row.allowed]
    with lesson.section("ends"):
        rows = [words["table_head"], "|---|---|---|"]
        for dtype in (np.float32, np.float64):
            result = softmax.naive_softmax(logits, temperature, dtype)
            how = words["written"].format(dtype=dtype.__name__)
            power = true_minus(f"{logits.max() / temperature:.4g}")
            rows.append(f"| {how} | exp({power}) | {_outcome(words, result, logits)} |")
        ours = softmax.softmax_rows(logits, [temperature])[0]
        rows.append(f"| {words['ours']} | exp(0) = 1 | {words['fine'].format(top=float(ours.max()))} |")
        st.markdown("\n".join(rows))
        lesson.explanation("ends", shown=(softmax.limits, softmax.naive_softmax), shapes={"logits": logits},
                           best=row.best_names(), share=float(cold.max()), uniform=float(hot.max()),
                           keys=int(row.allowed.sum()))


def _outcome(words: dict, result: np.ndarray, logits: np.ndarray) -> str:
    """What the formula as written gives: all exponentials of very negative logits are 0, too."""
    if np.isnan(result).any():
        return words["overflow"] if logits.max() > 0 else words["underflow"]
    return words["fine"].format(top=float(result.max()))
