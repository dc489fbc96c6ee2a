"""The page Why divide by √d_k, compared with scipy, and its three trainings with explicit derivatives."""
import numpy as np
import pytest
from scipy import special, stats

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind
from clearhead.model.lessons import sqrt_dk
from clearhead.viz.app.state import State
from tests.lesson_pages import shown
from tests.lesson_sentences import head_rows


@pytest.mark.parametrize(("dk", "keys", "seed"), [(1, 8, 0), (64, 32, 50), (1024, 64, 99)])
def test_medians_of_random_rows_equal_scipy(dk, keys, seed):
    found = shown("scale", guess="a", dk=dk, keys=keys, seed=seed).numbers
    vectors, dots = sqrt_dk.rows_of(dk, keys, seed)[1:]
    assert found["variance"]["measured"] == pytest.approx(dots.var()) and found["variance"]["spread"] ** 2 / dk < 1.3
    for which, divisor in (("plain", 1.0), ("scaled", dk**0.5)):
        p = special.softmax(dots / divisor, -1)
        away = ((vectors[:, None] - (p @ vectors)[:, :, None]) ** 2).sum(-1)
        gradient = np.sqrt((p**2 * away).sum(-1)) / divisor
        told = sqrt_dk.numbers_at(dk, keys, seed)
        assert told[f"entropy_{which}"] == pytest.approx(np.median(stats.entropy(p, base=2, axis=-1)))
        assert told[f"gradient_{which}"] == pytest.approx(np.median(gradient), rel=0.02, abs=1e-9)
        assert told[f"gradient_mean_{which}"] == pytest.approx(gradient.mean(), rel=0.02)
        assert told[f"largest_{which}"] == pytest.approx(np.median(p.max(-1)))
        assert told[f"spread_{which}"] == pytest.approx(dots.std() / divisor)


def test_trained_head_without_its_division_equals_scipy():
    found = shown("scale", guess="a", real=True).numbers["real"]
    layers = desk.ask(sources.open_query(State().model, State().text)).result(120)[Kind.SELF].layers
    means = np.array([stats.entropy(head_rows(layer), base=2, axis=-1).mean(-1) for layer in layers])
    undone = np.array([stats.entropy(head_rows(layer, layer.query.shape[-1] ** -0.5), base=2, axis=-1).mean(-1)
                       for layer in layers])
    at = np.unravel_index(np.abs(means - found["means"]["own"]).argmin(), means.shape)
    assert means[at] == pytest.approx(found["means"]["own"], abs=1e-5)
    assert undone[at] == pytest.approx(found["means"]["undone"], abs=1e-5)
    assert found["scale"].divisor == pytest.approx(found["root"]) and found["scale"].absorbed < 1e-6
