"""The page Softmax, compared with scipy, computed in another way than on the page."""
import numpy as np
import pytest
from scipy import special, stats
from scipy.spatial import distance

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind, Temper
from clearhead.viz.app.state import State
from clearhead.viz.pages.lessons.softmax import GRID, PRESETS
from tests.lesson_pages import array, shown
from tests.lesson_sentences import head_rows

CURVE = tuple(np.round(np.linspace(1, 0, 17), 2))


def norm(z: np.ndarray, t: float) -> float:
    """Return the norm of the whole Jacobian from differences of scipy's logarithms, which avoid cancellation."""
    log = special.log_softmax(np.asarray(z) / t)
    rest = np.array([np.exp(special.logsumexp(np.delete(log, place))) if len(log) > 1 else 0.0
                     for place in range(len(log))])
    square = -np.exp(log[:, None] + log)
    np.fill_diagonal(square, np.exp(log) * rest)
    return float(np.linalg.norm(square / t))


@pytest.mark.parametrize(("z", "masked", "t"), [
    (PRESETS["tie"], (3,), 1.0), (PRESETS["far"], (), 0.01), ((-10.0,) * 5, (), 0.01),
    ((0.0, 0.01, -3.0, 0.0, 0.0), (3, 4), 1.0), (PRESETS["equal"], (1, 2, 3, 4), 100.0)])
def test_row_is_measured_over_its_allowed_keys(z, masked, t):
    page = shown("softmax", guess="a", z=z, masked=masked, t=t, drawn=CURVE)
    row, found = np.delete(np.array(z), masked), page.numbers
    here, norms = special.softmax(row / t), np.array([norm(row, each) for each in GRID])
    assert found["curves"]["top"] == pytest.approx(here.max())
    assert found["curves"]["tied"] == (row == row.max()).sum()
    assert found["spread"]["effective"] == pytest.approx(2 ** stats.entropy(here, base=2))
    assert found["spread"]["bits"] == pytest.approx(np.log2(len(row)))
    assert [found["slope"]["most"], found["slope"]["cold"], found["slope"]["hot"]] == pytest.approx(
        [norms.max(), norms[0], norms[-1]], rel=1e-6, abs=1e-300)
    real, own = page.charts["softmax-slope"]["data"][:2]   # a curve drawn to the top of its axis
    assert array(real["y"]).max() <= array(own["y"]).max() <= max(1.5 * norms.max(), 0.01)
    assert found["ends"]["share"] == pytest.approx(1 / (row == row.max()).sum())
    table = "\n".join(page.words)
    assert ("overflow**: ∞" in table) == (row.max() / t > 88.72) and ("underflow" in table) == (row.max() / t < -103.98)


@pytest.mark.parametrize(("scope", "t"), [("head", 0.3), ("all", 0.01), ("all", 1.0)])
def test_temperature_inside_the_model_moves_weights_as_scipy(scope, t):
    found = shown("softmax", guess="a", row="head", inside=True, scope=scope, t=t, drawn=CURVE).numbers["inside"]
    model, text, layer, head = State().model, State().text, found["view"].layer, found["view"].head
    before = desk.ask(sources.open_query(model, text)).result(120)
    layers = before[Kind.SELF].layers
    edited = [(place, each) for place in ([layer] if scope == "head" else range(len(layers)))
              for each in ([head] if scope == "head" else range(layers[place].heads))] if t != 1 else []
    after = desk.ask(sources.open_query(model, text, edits=[Temper(Kind.SELF, *place, t) for place in edited])
                        ).result(120)
    moved = np.array([[np.abs(head_rows(new, t if (old.index, place) in edited else 1.0)[place]
                              - head_rows(old)[place]).sum(-1).mean() / 2 for place in range(old.heads)]
                      for old, new in zip(layers, after[Kind.SELF].layers, strict=True)])
    assert [found["own"], found["later"]] == pytest.approx([moved[layer, head], moved[layer + 1:].max()], abs=1e-5)
    turned = distance.cosine(before.prediction.vector, after.prediction.vector)
    assert f"{turned:.2e}" in found["answer"] or turned < 1e-6


def test_tempered_translator_reads_the_same_target(monkeypatch):
    """By itself it would write another target, whose rows could not be compared."""
    monkeypatch.setattr("clearhead.viz.app.state.State", lambda **given: State(**given).with_question(
        model="translator", text="the cat is tired because it is wide .").with_view(kind=Kind.CROSS))
    found = shown("softmax", guess="a", row="head", inside=True, scope="all", t=0.05, drawn=CURVE).numbers["inside"]
    assert found["own"] > 0.01
