"""The page Training, compared with scipy, explicit sums and the runs themselves."""
import math

import numpy as np
import pytest
from scipy import optimize, stats

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.lessons import learning
from clearhead.model.studies.predictions import NextWordQuery
from clearhead.viz.pages.lessons.learning import PRESETS
from tests.lesson_pages import array, shown


def moments(gradients: np.ndarray, beta2: float, epsilon: float) -> np.ndarray:
    """Compute Adam's steps from weighted sums instead of recursively."""
    steps = np.arange(len(gradients))

    def mean(values: np.ndarray, beta: float) -> np.ndarray:
        weights = np.where(steps[:, None] >= steps, beta ** np.maximum(steps[:, None] - steps, 0.0), 0.0)
        return weights @ values / weights.sum(1)

    return mean(gradients, 0.9) / (np.sqrt(mean(gradients**2, beta2)) + epsilon)


@pytest.mark.parametrize("place", [
    ("same", 0, 2, "steady", 0.5, 1e-12, 0, True, 0), ("never", 0.9, 10, "spike", 0.9999, 1.0, 300, False, 3.0),
    ("wrong", 0.1, 37_000, "noisy", 0.98, 1e-9, 30, True, 0.3)], ids=str)
def test_numbers_of_every_section_are_recomputed(place):
    q, eps, size, signal, b2, ae, warm, decay, limit = place
    page = shown("learning", guess="b", q=PRESETS[q], eps=eps, size=size, signal=signal, b2=b2, ae=ae,
                 warm=warm, decay=decay, limit=limit)
    found, p, own = page.numbers, np.array(PRESETS["same"]), np.array(PRESETS[q])

    def said(number: float) -> str:
        return f"{number:z.3f}" if np.isfinite(number) else "∞"

    assert [found["lengths"][name] for name in ("gap", "back")] == [
        said(float(stats.entropy(p, own))), said(float(stats.entropy(own, p)))]
    target = np.r_[1 - eps, np.full(size - 1, eps / (size - 1))]
    assert found["smoothing"]["floor"] == pytest.approx(stats.entropy(target), abs=1e-9)
    assert found["smoothing"]["gap"] == said(math.log(target[0] / target[1]) if eps else math.inf)
    assert found["adam"]["first"] == pytest.approx(moments(learning.signal(signal), b2, ae)[0])
    drawn = array(page.charts["learning-adam"]["data"][-1]["y"])
    assert drawn == pytest.approx(moments(learning.signal(signal), b2, ae), rel=1e-6, abs=1e-9)
    rates = [0.01 * (min(1, t / warm) if warm else 1) * (min(1, math.sqrt(max(warm, 1) / t)) if decay else 1)
             for t in range(1, 301)]
    assert [found["rate"]["peak"], found["rate"]["last"]] == pytest.approx([max(rates), rates[-1]])
    place = np.array([low + share * (high - low)
                      for low, high, share in zip(learning.LOW, learning.HIGH, (0.56, 0.54), strict=True)])
    for _ in range(60):
        slope = optimize.approx_fprime(place, lambda at: float(learning.cliff(*at)[0]), 1e-7)
        place = place - 0.3 * slope * (min(1, limit / np.linalg.norm(slope)) if limit else 1)
    assert found["cliff"]["tame"] == pytest.approx(float(learning.cliff(*place)[0]), abs=0.02)


@pytest.mark.parametrize("turned", [{}, {"signs": "Ab3Cd9Ab3C", "wish": "q"}])
def test_student_and_teacher_predict_the_next_character(turned):
    found = shown("learning", guess="b", **turned).numbers["targets"]
    text, vocabulary = turned.get("signs", "k7Qx2bVk7Qx"), learning.vocabulary()
    asked = [NextWordQuery(sources.open_query(model, text[:-1])) for model in (learning.student(408), learning.TEACHER)]
    logits = [desk.ask(each, "test").result(120).logits.astype(float) for each in asked]
    said, taught = np.exp(logits[0]) / np.exp(logits[0]).sum(), np.exp(logits[1] / 2) / np.exp(logits[1] / 2).sum()
    right, wish = vocabulary.index(text[-1]), vocabulary.index(turned.get("wish", "Z"))
    assert [found["p"], found["teacher"]] == pytest.approx([said[right], taught[right]], rel=1e-4)
    assert [found["floor"], *found["losses"][1:]] == pytest.approx(
        [stats.entropy(taught), -(taught * np.log(said)).sum(), -np.log(said[wish])], rel=1e-4)
