"""Why divide by √d_k: the page's numbers by scipy, and its three trainings with derivatives written out."""
import numpy as np
import pytest
from scipy import special, stats

from model.ask import sources
from model.core.query import Kind
from model.lessons import scores, sqrt_dk
from tests.lesson_pages import shown
from tests.lesson_sentences import head_rows
from viz.pages import scale
from viz.pages.scale import BINS, score_histogram
from viz.state import State


@pytest.mark.parametrize(("dk", "keys", "kind", "seed"), [(1, 8, "sign", 0), (64, 32, "uniform", 50),
                                                          (4096, 64, "normal", 99)])
def test_medians_of_random_rows_are_scipys(dk, keys, kind, seed):
    found = shown("scale", guess="a", dk=dk, keys=keys, draw=kind, seed=seed).numbers
    vectors, dots = sqrt_dk.rows_of(dk, keys, seed, kind)[1:]
    assert found["variance"]["measured"] == pytest.approx(dots.var()) and found["variance"]["spread"] ** 2 / dk < 1.3
    for which, divisor in (("plain", 1.0), ("scaled", dk**0.5)):
        p = special.softmax(dots / divisor, -1)
        away = ((vectors[:, None] - (p @ vectors)[:, :, None]) ** 2).sum(-1)
        gradient = np.sqrt((p**2 * away).sum(-1)) / divisor
        told = found["reasons"]
        assert told[f"entropy_{which}"] == pytest.approx(np.median(stats.entropy(p, base=2, axis=-1)))
        assert told[f"gradient_{which}"] == pytest.approx(np.median(gradient), rel=0.02, abs=1e-9)
        assert told[f"gradient_mean_{which}"] == pytest.approx(gradient.mean(), rel=0.02)
        assert told[f"largest_{which}"] == pytest.approx(np.median(p.max(-1)))
        assert told[f"spread_{which}"] == pytest.approx(dots.std() / divisor)


@pytest.mark.parametrize("deviation", [0.5, 23.0])
def test_the_histograms_theory_is_scipys_normal_distribution(deviation):
    numbers = stats.norm.ppf(np.linspace(0.0005, 0.9995, 20_001)) * deviation
    edges, shares, theory = score_histogram(numbers, deviation)
    wanted = np.diff(stats.norm.cdf(edges / deviation))
    assert len(shares) == BINS and theory == pytest.approx(wanted, abs=1e-3)
    assert shares == pytest.approx(wanted, abs=1e-3)


def by_hand(width: int, seed: int, divisor: float) -> np.ndarray:
    """Share right by step: the same task, start and rows with derivatives and Adam's steps written out, float64."""
    part = {name: np.float64(each.detach()) for name, each in scores.start(width, seed).items() if name != "v"}
    mean, square = ({name: np.zeros_like(each) for name, each in part.items()} for _ in range(2))
    right = []
    for step, row in enumerate(scores.rows(seed, scores.STEPS), 1):
        symbols, classes, asked, answer = (each.numpy() for each in row)
        q, k, v = part["query"][asked], part["key"][symbols], part["value"][classes]
        p = special.softmax((k @ q[..., None])[..., 0] / divisor, -1)
        mix = (p[:, None] @ v)[:, 0]
        guess = mix @ part["out"]
        right.append((guess.argmax(-1) == answer).mean())
        by_guess = (special.softmax(guess, -1) - np.eye(8)[answer]) / len(answer)
        by_mix = by_guess @ part["out"].T
        by_p = (v @ by_mix[..., None])[..., 0]
        by_z = p * (by_p - (p * by_p).sum(-1, keepdims=True)) / divisor
        by = {"query": np.eye(12)[asked].T @ (by_z[:, None] @ k)[:, 0],
              "key": np.eye(12)[symbols.ravel()].T @ (by_z[..., None] * q[:, None]).reshape(-1, width),
              "value": np.eye(8)[classes.ravel()].T @ (p[..., None] * by_mix[:, None]).reshape(-1, v.shape[-1]),
              "out": mix.T @ by_guess}
        for name, change in by.items():
            mean[name] = 0.9 * mean[name] + 0.1 * change
            square[name] = 0.999 * square[name] + 0.001 * change**2
            part[name] = part[name] - 0.01 * mean[name] / (1 - 0.9**step) / (
                np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
    return np.array(right)


def test_three_trainings_end_as_those_by_hand(monkeypatch):
    monkeypatch.setattr(scale, "STARTS", 2)
    page = shown("scale", guess="a", dk=1, keys=8, train=True, width=4, start=99)
    ends = {which: [by_hand(4, seed, divisor)[-20:].mean() for seed in (99, 0)]
            for which, divisor in (("none", 1.0), ("root", 2.0), ("width", 4.0))}
    assert [float(word.rstrip("%")) / 100 for row in next(
        each for each in page.words if each.startswith("| q · k is")).splitlines()[2:] for word in [
            row.split("|")[2].strip()]] == pytest.approx([np.mean(each) for each in ends.values()], abs=0.008)
    found = page.numbers["training"]
    assert found["none_lower"] == sum(a < b for a, b in zip(ends["none"], ends["root"], strict=True))


def test_a_trained_head_without_its_division_is_scipys():
    found = shown("scale", guess="a", real=True).numbers["real"]
    layers = sources.ask(sources.open_query(State().model, State().text)).result(120)[Kind.SELF].layers
    means = np.array([stats.entropy(head_rows(layer), base=2, axis=-1).mean(-1) for layer in layers])
    undone = np.array([stats.entropy(head_rows(layer, layer.query.shape[-1] ** -0.5), base=2, axis=-1).mean(-1)
                       for layer in layers])
    at = np.unravel_index(np.abs(means - found["own"]).argmin(), means.shape)
    assert means[at] == pytest.approx(found["own"], abs=1e-5) and undone[at] == pytest.approx(found["undone"], abs=1e-5)
    assert found["divisor"] == pytest.approx(found["root"]) and found["absorbed"] < 1e-6


def test_before_an_answer_the_page_has_the_question_and_its_premise_only():
    page = shown("scale", dk=512)
    assert set(page.numbers) == {"variance"} and set(page.charts) == {
        "scale-see", "scale-variance", "scale-histogram-plain", "scale-histogram-scaled"}
