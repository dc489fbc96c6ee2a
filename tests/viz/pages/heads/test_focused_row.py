"""The sentence on the row in focus: each of its forms, planted, and held against a second reading of the numbers."""
import re
from dataclasses import replace

import numpy as np
import pytest

from model.core import heads
from model.core.masks import Causal, Full
from model.core.query import Kind
from model.core.record import Reported
from model.core.view import View
from tests.fabricate import SENTENCE, record
from viz.pages.heads.focused_row import row_claim


def planted(row, kind=Kind.SELF, token=0):
    """A record in whose one head the token has this row, and that head's view."""
    count = len(row)
    weights = np.full((1, count, count), 1 / count, np.float32)
    if kind is Kind.CAUSAL:
        weights[0] = np.tril(np.ones((count, count))) / np.arange(1, count + 1)[:, None]
    weights[0, token] = row
    answer = record(["a", "b", "c", "d", "e"][:count], kind)
    layer = Reported(0, weights, Causal() if kind is Kind.CAUSAL else Full())
    return replace(answer, maps=(replace(answer.maps[0], layers=(layer,)),)), View(kind, token=token)


@pytest.mark.parametrize(("row", "wanted"), [
    ((0.1, 0.6, 0.3, 0, 0), "**0·0**: *a* looks most at *b*, **0.600**, then at *c*, 0.300; a uniform row would give "
                            "0.200."),
    ((0.6, 0.2, 0.2, 0, 0), "**0·0**: *a* looks most at *a*, **0.600**; a uniform row would give 0.200."),
    ((0, 1, 0, 0, 0), "**0·0**: *a* looks most at *b*, **1.000**; a uniform row would give 0.200."),
    # what prints the same is the same
    ((0.40004, 0.39996, 0.2, 0, 0), "**0·0**: *a* looks most at *a* and *b*, **0.400** each; a uniform row would give "
                                    "0.200."),
    ((0.2, 0.2, 0.2, 0.2, 0.2), "**0·0**: *a* looks most at *a*, *b*, *c* and 2 more, **0.200** each; a uniform row "
                                "would give 0.200."),
])
def test_what_is_most_and_what_comes_next(row, wanted):
    assert row_claim(*planted(row)) == wanted


def test_a_token_that_may_look_at_one_alone():
    assert row_claim(*planted((1, 0, 0), Kind.CAUSAL)) == "**0·0**: *a* may look at *a* alone, **1.000**."
    assert "a uniform row would give 0.500" in row_claim(*planted((0.9, 0.1, 0), Kind.CAUSAL, token=1))


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
def test_every_head_and_row_of_a_record_is_read_right(kind):
    answer = record(SENTENCE, kind)
    for layer in answer[kind].layers:
        for head in range(layer.heads):
            weights = heads.weights(layer, head)
            for token in range(len(SENTENCE)):
                said = row_claim(answer, View(kind, layer.index, head, token=token))
                order = np.argsort(-weights[token], kind="stable")
                first, second = (weights[token, order[place]] for place in (0, 1))
                assert re.search(r"\*\*(\d\.\d{3}|\d\.\de-\d+)\*\*", said)[1] == f"{first:.3f}"
                if round(float(first), 3) > round(float(second), 3) >= 0.001:
                    name = re.escape(SENTENCE[order[0]].strip("[]"))
                    assert re.search(rf"looks most at \*[^*]*{name}", said.replace("\\", "")), said
