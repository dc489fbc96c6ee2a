"""What the lesson on kernels says, at the ends and in the middle of its controls, against numbers computed anew."""
import json
import math

import numpy as np
import pytest

from model.core.files import ASSETS
from model.core.types import quiet
from model.lessons import kernels, scores
from model.lessons import kernels as memory
from tests.conftest import LONG
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.pages.kernels import DAMAGE, POINTS

RUNS = json.loads((ASSETS / "lessons" / "kernels.json").read_text(encoding="utf-8"))
NAMES = ("p", "kernel", "h", "k", "q", "keys", "dk", "pairs", "noise", "t", "asked", "draw", "drawn")
ALIKE = (1.0, -1.0) * 9
DRAWN = tuple(np.round(np.linspace(1, 0, 17), 2).tolist())   # a curve that one drew first
FAR = (-3.0, 1.0) * 8 + (3.0, 2.0)   # one point with no other near it
POSITIONS = [
    (POINTS.start, "gaussian", 0.1, 1, -3, "line", 4, 2, 0.02, 0.1, 0, 0, ()),
    (FAR, "boxcar", 0.1, 3, 0, "line", 512, 8, 0.45, 100, 7, 99, DRAWN),
    (ALIKE, "epanechnikov", 5, 9, 0, "line", 64, 5, 0.25, 6.3, 2, 0, ()),
    (POINTS.start, "boxcar", 5, 9, 3, "circle", 64, 8, 0.3, 1.8, 2, 0, ()),
    (POINTS.start, "triangular", 0.7, 5, 1.3, "circle", 8, 3, 0.1, 2, 1, 50, DRAWN),
    *([(POINTS.start, kernel, h, k, q, keys, dk, pairs, noise, t, 1, 7, ())
       for kernel, h, k, q, keys, dk, pairs, noise, t in zip(
           ("triangular", "gaussian", "boxcar", "gaussian"), (0.5, 5, 0.7, 0.3), (2, 5, 8, 4), (1.3, -0.7, 2.1, 0.1),
           ("line", "circle") * 2, (8, 16, 128, 256), (3, 4, 6, 7), DAMAGE[1::2], (0.5, 2, 10, 30), strict=False)]
      if LONG else [])]


def kernel_rows(controls: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(weights by the kernel, by the nearest, by the plain Gaussian and by the dot product of the lifted keys)."""
    x, q, h = np.array(controls["p"][::2]), controls["q"], controls["h"]
    u = np.abs(x - q) / h
    raised = {"gaussian": np.exp(-u**2 / 2), "boxcar": (u < 1) * 1.0, "epanechnikov": np.maximum(0, 1 - u**2),
              "triangular": np.maximum(0, 1 - u)}[controls["kernel"]]
    if controls["kernel"] == "gaussian":
        raised = np.exp(-(u**2 - (u**2).min()) / 2)
    near = np.zeros(len(x))
    near[sorted(range(len(x)), key=lambda place: abs(x[place] - q))[:controls["k"]]] = 1 / controls["k"]
    lift = (lambda at: np.stack([np.cos(at), np.sin(at)], -1)) if controls["keys"] == "circle" else (
        lambda at: np.asarray(at, float)[..., None])
    keys, query = lift(x), lift(q)
    distance, score = -((keys - query)**2).sum(-1) / (2 * h * h), keys @ query / h**2
    soft = [np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in (distance, score)]
    return raised / raised.sum() if raised.sum() else raised * np.nan, near, *soft


def largest(line: str, weights: np.ndarray, y: np.ndarray) -> bool:
    """Whether it names the point that has most, and how many others print as much."""
    if np.isnan(weights).any():
        return "no point is within reach" in line
    shares = [f"{weight:.0%}" for weight in weights]
    tied = shares.count(shares[int(weights.argmax())]) - 1
    return agrees(line.split("ŷ", 1)[1], weights @ y, int(weights.argmax()), weights.max(), *[tied] * (tied > 0))


def copied(kind: str, length: int) -> float:
    """The mean over the seeds of the shipped runs."""
    return float(np.mean([run[(1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24).index(length)]
                          for run in RUNS["copying"]["right"][kind]]))


def fixed_rules() -> Rules:
    """Of the runs that come with the program; nothing turns them."""
    ends = {kind: np.array(runs)[-1, :, 0] for kind, runs in RUNS["scores"].items()}
    size = RUNS["copying"]["parameters"]
    off = np.abs(np.array(RUNS["copying"]["alignment"]).argmax(1) - np.arange(12)).mean()
    four, twelve, twenty = ([copied(kind, length) for kind in ("fixed", "attention")] for length in (4, 12, 20))
    additive = ends["additive"]
    return {
        "notice copying 0": lambda line: agrees(line, *four, 4, *twelve, 12, *twenty, 20),
        "notice copying 1": lambda line: agrees(line, size["wide"], size["fixed"], size["attention"],
                                                copied("wide", 12), 12),
        "notice copying 2": lambda line: agrees(line, off),
        "more copying 1": lambda line: agrees(line, 2014, 2017),
        "alt kernels-alignment": lambda line: agrees(line, 1) and np.allclose(
            np.array(RUNS["copying"]["alignment"]).sum(1), 1, atol=1e-3),
        "alt kernels-copying": lambda line: agrees(line, 24, copied("fixed", 24), copied("attention", 24)),
        "notice scores 0": lambda line: agrees(line, 512, ends["plain"].mean(), math.log(8), ends["scaled"].mean()),
        "notice scores 1": lambda line: agrees(line, additive.mean(), len(additive), (additive < 0.01).sum(), 0.01,
                                               additive.max()),
        "more scores 0": lambda line: str(len(RUNS["score_seeds"])) in line and RUNS["date"] in line,
        "more scores 1": lambda line: agrees(line, 6, math.log2(6)),
        "alt kernels-widths": lambda line: agrees(line, 512, *(ends[kind].mean()
                                                               for kind in ("additive", "scaled", "plain")))}


def memory_rules(controls: dict) -> Rules:
    """Of the memory: its weights, its answer, and the best temperature on damaged digits of this test's own drawing."""
    pairs, t, share = (controls[name] for name in ("pairs", "t", "noise"))
    asked = min(controls["asked"], pairs - 1)
    keys, values = memory.stored_pairs(pairs)
    query = memory.damage(keys[asked], share, controls["draw"])[0]
    turned = int((query != keys[asked]).sum())
    weights = np.exp((keys @ query - (keys @ query).max()) / t)
    weights /= weights.sum()
    error = ((weights @ values - values[asked])**2).mean()
    best = 2 / math.log((1 - share) / share)
    errors = memory_error(keys, values, share, best)
    first, names = int(weights.argmax()), [f"{a} → {b}" for a, b in zip(memory.KEYS, memory.VALUES, strict=True)]

    def weighs(line: str) -> bool:
        found = [number for number, _ in printed(line)]
        return (found[:3] == [turned, 35, t] and abs(found[4] - weights[asked]) < 6e-4 and names[asked] in line
                and names[first] in line and abs(found[-1] - weights[first]) < 6e-4)

    def sharpest(line: str) -> bool:
        there, least = (number for number, _ in printed(line)[-2:])
        spread = 4 * errors[1] / math.sqrt(200 * pairs) + 0.0011
        return (agrees(line.split("**")[1], best) and f"{200 * pairs:,} damaged" in line
                and abs(there - errors[0]) < spread and there < least + 0.005)

    return {"notice memory 0": weighs, "notice memory 1": sharpest,
            "more memory 0": lambda line: agrees(line, 0, math.inf), "more memory 1": lambda line: agrees(line, 1),
            "more memory 3": lambda line: agrees(line, 0),
            "alt kernels-pictures": lambda line: agrees(line, asked, error),
            "alt kernels-sharpness": lambda line: agrees(line, share, best)}


def memory_error(keys: np.ndarray, values: np.ndarray, share: float, t: float) -> tuple[float, float]:
    """(mean, standard deviation) of the squared error of a recalled digit's pixels at this temperature, over 500
    damaged copies of each digit."""
    rng, errors = np.random.default_rng(5), []
    for place, key in enumerate(keys):
        damaged = np.where(rng.random((500, key.size)) < share, -key, key)
        raised = np.exp((damaged @ keys.T - key.size) / t)
        recalled = raised / raised.sum(-1, keepdims=True) @ values
        errors.append(((recalled - values[place]) ** 2).mean(1))
    return float(np.mean(errors)), float(np.std(errors))


def rules_at(controls: dict) -> Rules:
    """What must be true at this position."""
    x, y = np.array(controls["p"]).reshape(-1, 2).T
    weights, near, gauss, dot = kernel_rows(controls)
    q, h, k, dk = (controls[name] for name in ("q", "h", "k", "dk"))
    lengths = np.abs(x) if controls["keys"] == "line" else np.ones(len(x))
    moved = np.abs(gauss - dot).sum() / 2

    def most(line: str) -> bool:
        tied = [f"{weight:.3f}" for weight in dot].count(f"{dot.max():.3f}") - 1
        found = [int(number) for number, _ in printed(line)]
        return dot[found[0]] == pytest.approx(dot.max()) and found[1:] == [tied] * (tied > 0)

    undefined = np.isnan(weights).any()
    return fixed_rules() | memory_rules(controls) | {
        "notice regression 0": lambda line: (largest(line, weights, y)
                                             and f"x = {q:g} with h = {h:g}".replace("-", "−") in line),
        "notice regression 1": lambda line: agrees(line, k, near @ y, q, 1, k) and ("jumps" in line) == (k < len(x)),
        "more regression 1": lambda line: agrees(line, 0),
        "alt kernels-regression": lambda line: agrees(line, h, q, *([] if undefined else [weights @ y]), k, near @ y),
        "alt kernels-bandwidth": lambda line: agrees(line, h),
        "notice relabel 0": lambda line: agrees(line, lengths.min(), lengths.max(), moved), "notice relabel 1": most,
        "notice relabel 2": lambda line: float(line.split("is ")[1].split(":")[0]) < 1e-14,
        "alt kernels-weights": lambda line: agrees(line, moved),
        "alt kernels-relabelled": lambda line: agrees(line, gauss @ y, dot @ y),
        "more scores 2": lambda line: agrees(line, dk, dk, dk - 1, dk, 2 * dk - 1, dk)}


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: f"{position[1]} {position[5]}")
def test_every_sentence_is_true_where_it_stands(position):
    controls = dict(zip(NAMES, position, strict=True))
    assert wrong(sentences(shown("kernels", guess="b", guess_copy="b", **controls)), rules_at(controls)) == []


@pytest.mark.parametrize(("d_k", "seed"), [(4, 99), (64, 50)])
def test_a_training_of_ones_own_is_told_by_its_own_numbers(monkeypatch, d_k, seed):
    monkeypatch.setattr(scores, "STEPS", 20)
    monkeypatch.setattr(kernels, "SHORT", 3)
    page = shown("kernels", guess="b", guess_copy="b", train=True, dk=d_k, seed=seed, copy=True, again=seed)
    copied = kernels.run(kernels.LIVE, 3, seed, quiet)
    assert agrees(page.alts["kernels-training"], d_k, *(scores.train(kind, d_k, seed)[0][-10:].mean()
                                                        for kind in ("additive", "scaled", "plain")))
    right = [copied.right[kind][list(kernels.LENGTHS).index(length)] for length in (4, 12, 20)
             for kind in ("fixed", "attention")]
    assert agrees(page.notices["copying"][0], *right[:2], 4, *right[2:4], 12, *right[4:], 20)
    off = np.abs(copied.alignment.argmax(1) - np.arange(len(copied.alignment))).mean()
    assert agrees(page.notices["copying"][2], off)


def test_a_wrong_sentence_is_caught_and_nothing_is_said_before_the_answer():
    controls = dict(zip(NAMES, POSITIONS[3], strict=True))
    covered = shown("kernels", **controls)
    assert not {"kernels-copying", "kernels-alignment", "kernels-weights", "kernels-relabelled"} & set(covered.charts)
    assert {"copying", "relabel"}.isdisjoint(covered.notices)
    said, rules = sentences(covered), rules_at(controls)
    planted = {"notice regression 0": said["notice regression 0"].replace("largest weight, **", "largest weight, **1"),
               "notice regression 1": said["notice regression 1"].replace("1/9", "1/8"),
               "notice scores 1": said["notice scores 1"].replace("of the 5", "all of the 5").replace("4 end", "5 end"),
               "notice memory 1": said["notice memory 1"].replace("**", "**1", 1)}
    assert wrong(said, rules) == []
    for place, line in planted.items():
        assert line != said[place] and len(wrong(said | {place: line}, rules)) == 1, place
