"""Sentences about one row of logits, chosen by its numbers."""
from typing import Any

import numpy as np

from model.lessons import softmax
from viz.claims import first_true
from viz.pages.softmax.row import GRID, Row
from viz.text import escape_markdown

MOST_NAMED = 4   # keys that share the first place
SETTLED = 1e-3   # of the highest norm: what counts as almost nothing


def best_names(row: Row) -> str:
    """The keys with the largest logit, as Markdown; of very many the first few."""
    names = [escape_markdown(row.named(place)) for place in row.best()]
    return ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")


def curves(words: dict, row: Row, here: np.ndarray) -> dict[str, Any]:
    """What is said of the curves. here: the row's weights at the chosen temperature."""
    keys, tied = int(row.allowed.sum()), len(row.best())
    case = first_true([(keys == 1, "alone"), (tied == keys, "even"), (tied > 1, "tied"), (True, "free")])
    return {"name": best_names(row), "top": float(here.max()), "keys": keys, "uniform": 1 / keys,
            "ends": words["ends_of"][case].format(tied=tied, keys=keys, uniform=1 / keys)}


def slope(words: dict, row: Row, norms: np.ndarray) -> dict[str, Any]:
    """What is said of the slope. norms: of the Jacobian at the temperatures of GRID."""
    keys, steepest = int(row.allowed.sum()), int(norms.argmax())
    hot = softmax.softmax_rows(row.logits, GRID[-1:], row.allowed)[0, row.allowed]
    case = first_true([(keys == 1, "alone"), (len(row.best()) > 1, "tied"), (norms[0] < SETTLED * norms.max(), "won"),
                       (True, "close")])
    largest = np.sort(row.logits[row.allowed])[-2:]
    numbers = {"gap": float(largest[-1] - largest[0]), "most": float(norms.max()),
               "steepest": float(GRID[steepest]), "cold": float(norms[0]),
               "hot": float(norms[-1]), "low": float(hot.min()), "high": float(hot.max())}
    matrix = words["matrices"]["alone" if keys == 1 else "more"]
    return numbers | {"at_cold": words["colds"][case].format(**numbers), "matrix": matrix}


def overflow(words: dict, logits: np.ndarray, temperature: float) -> str:
    """Which precisions the formula as written breaks in for these logits. logits: of the allowed keys."""
    broken = [np.isnan(softmax.naive_softmax(logits, temperature, dtype)).any() for dtype in (np.float32, np.float64)]
    return words["breaks"][first_true([(all(broken), "both"), (broken[0], "single"), (True, "none")])]
