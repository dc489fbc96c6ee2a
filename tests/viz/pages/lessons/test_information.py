"""The page Information without a browser, compared with scipy, and what is hidden until the answer."""
import numpy as np
import pytest
from scipy import special, stats

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind
from clearhead.viz.app.state import State
from tests.lesson_pages import shown


@pytest.mark.parametrize(("toy", "n"), [("causal", 2), ("itself", 8), ("first", 64), ("previous", 8)])
def test_toy_information_equals_that_of_its_joint_distribution(toy, n):
    rows = {"causal": np.tril(np.ones((n, n))), "itself": np.eye(n), "first": np.eye(n)[np.zeros(n, int)],
            "previous": np.eye(n)[np.maximum(0, np.arange(n) - 1)]}[toy]
    joint = rows / rows.sum(1, keepdims=True) / n
    found = shown("information", guess="a", toy=toy, size=n).numbers["toy"]
    assert found["mutual"] == pytest.approx(
        stats.entropy(joint.ravel(), np.outer(joint.sum(1), joint.sum(0)).ravel(), base=2), abs=1e-9)


def test_heads_of_minilm_equal_scipy():
    found = shown("information", guess="a", learnt=1.0)
    query = sources.open_query(State().model, State().text)
    heads = [special.softmax(np.float64(q) @ np.float64(k).T / np.sqrt(q.shape[-1]), -1)
             for layer in desk.ask(query).result(120)[Kind.SELF].layers
             for q, k in zip(layer.query, layer.key, strict=True)]
    mutual = [stats.entropy(rows.mean(0), base=2) - stats.entropy(rows, base=2, axis=-1).mean() for rows in heads]
    layers = found.numbers["layers"]
    assert layers["mean"] == pytest.approx(np.mean(mutual), rel=1e-4)
    assert layers["most_bits"] == pytest.approx(np.max(mutual), rel=1e-4) and layers["blank"] == pytest.approx(0)
    bound = found.numbers["bound"]
    assert bound["proved"] == pytest.approx(bound["bound"].information, abs=1e-9)   # at s = 1 the model is the truth


@pytest.mark.parametrize(("own", "texts"), [("The cat sat.\n\nDogs bark at night.", "2 texts"), ("", "1 text ")])
def test_own_texts_are_measured_line_by_line(own, texts):
    assert any(f"; {texts}" in each for each in shown("information", texts="own", own=own).words)
