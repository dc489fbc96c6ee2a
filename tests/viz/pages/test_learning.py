"""What the lesson on learning says, at the ends and in the middle of its controls, against numbers computed anew."""
import cmath
import math

import numpy as np
import pytest
from scipy import stats

from model.lessons import learning
from model.lessons.learning import TEACHER, student
from tests.conftest import LONG
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.page import pages
from viz.pages.learning import PRESETS
from viz.pages.learning import short_run as page_of_runs

NAMES = ("p", "q", "step", "soft", "eps", "size", "where", "signal", "b2", "ae", "rate", "warm", "decay", "start",
         "limit")
P = (0.5, 0.25, 0.15, 0.1)
POSITIONS = [
    (P, PRESETS["same"], 0, 0.5, 0, 2, "others", "steady", 0.5, 1e-12, 1e-4, 0, True, (0.0, 0.0), 0),
    (P, PRESETS["never"], 408, 2, 0.9, 10, "others", "spike", 0.9999, 1.0, 0.1, 300, False, (1.0, 1.0), 3.0),
    ((1, 0, 0, 0), PRESETS["wrong"], 10**6, 10, 0.1, 37_000, "all", "noisy", 0.98, 1e-9, 0.01, 30, True, (0.56, 0.54),
     0.3),
    (P, PRESETS["even"], 408, 4, 0.9, 2, "others", "fading", 0.999, 1e-8, 0.02, 10, True, (0.5, 0.5), 100),
    *([(P, P, 408, 2, eps, size, where, signal, b2, ae, 0.05, warm, decay, (x, 1 - x), limit)
       for eps, size, where, signal, b2, ae, warm, decay, x, limit in (
           (0.01, 2, "all", "spike", 0.5, 1e-2, 5, True, 0.1, 0.1), (0.5, 2, "others", "steady", 0.9, 1.0, 60, False,
                                                                      0.9, 1.0),
           (0.3, 66, "all", "fading", 0.98, 1e-2, 100, True, 0.4, 0.3), (0.2, 184, "others", "noisy", 0.5, 1.0, 15,
                                                                          False, 0.6, 3.0))] if LONG else [])]


def moments(gradients: np.ndarray, beta2: float, epsilon: float) -> np.ndarray:
    """Adam's steps by the weighted sums that its means are, not by their recursion."""
    steps = np.arange(len(gradients))
    def mean(values: np.ndarray, beta: float) -> np.ndarray:
        weights = np.where(steps[:, None] >= steps, beta ** np.maximum(steps[:, None] - steps, 0.0), 0.0)
        return weights @ values / weights.sum(1)
    return mean(gradients, 0.9) / (np.sqrt(mean(gradients**2, beta2)) + epsilon)


def walk(start: tuple[float, float], limit: float) -> tuple[np.ndarray, float, float]:
    """(lengths of the gradients, loss at the beginning, loss at the end) of 60 steps, slopes by imaginary steps."""
    def loss(place: np.ndarray) -> complex:
        h = 0.5 + 0j
        for _ in range(learning.UNFOLDED):
            h = place[0] / (1 + cmath.exp(-h)) + place[1]
        return (1 / (1 + cmath.exp(-h)) - learning.WANTED) ** 2
    place = np.array([low + share * (high - low)
                      for low, high, share in zip(learning.LOW, learning.HIGH, start, strict=True)])
    begin, lengths = loss(place).real, []
    for _ in range(60):
        slope = np.array([loss(place + by).imag / 1e-20 for by in 1e-20j * np.eye(2)])
        lengths.append(float(np.hypot(*slope)))
        place = place - 0.3 * slope * min(1.0, limit / lengths[-1] if limit and lengths[-1] else 1.0)
    return np.array(lengths), begin, loss(place).real


def near(line: str, *wanted: float) -> bool:
    """As agrees, for numbers that a cliff or a difference of losses made: to 2 % or the printed digit."""
    found = printed(line)
    return len(found) == len(wanted) and all(abs(number - value) <= half + 0.02 * abs(value)
                                             for (number, half), value in zip(found, wanted, strict=True))


def smoothing_rules(controls: dict) -> Rules:
    """Of label smoothing, from the target itself."""
    eps, size = controls["eps"], controls["size"]
    targets = {"others": np.r_[1 - eps, np.full(size - 1, eps / (size - 1))],
               "all": np.r_[1 - eps, np.zeros(size - 1)] + eps / size}
    floors = {where: float(stats.entropy(target)) for where, target in targets.items()}
    top, rest = targets[controls["where"]][:2]
    gap = math.log(top / rest) if rest else math.inf
    other = floors["all" if controls["where"] == "others" else "others"]
    numbers = [top, floors[controls["where"]], gap]
    paper = float(stats.entropy(np.r_[0.9, np.full(36_999, 0.1 / 36_999)]))
    return {"notice smoothing 0": lambda line: (near(line, *numbers) if eps
                                                else "Without smoothing" in line and agrees(line, 0, 0, 1)),
            "more smoothing 1": lambda line: agrees(line, other, 37_000),
            "more smoothing 2": lambda line: agrees(line, 0.1, 37_000, paper),
            "alt learning-smooth": lambda line: agrees(line, eps, floors[controls["where"]], top),
            "alt learning-floor": lambda line: agrees(line, size, eps, floors[controls["where"]])}


def adam_rules(controls: dict) -> Rules:
    """Of Adam, from its sums."""
    kind, beta2 = controls["signal"], controls["b2"]
    gradients = learning.signal(kind)
    own, paper = moments(gradients, beta2, controls["ae"]), moments(gradients, 0.98, 1e-9)

    ends = {"steady": [own[-1], 1], "spike": [paper[-1], own[-1]], "fading": [1e-10, paper[-1], own[-1]],
            "noisy": [np.abs(paper).mean(), np.abs(own).mean()]}[kind]
    return {"notice adam 0": lambda line: agrees(line, own[0], 1),
            "notice adam 1": lambda line: agrees(line, beta2, 1 / (1 - beta2), 0.98, 50, *ends),
            "alt learning-gradient": lambda line: bool(line),
            "alt learning-adam": lambda line: agrees(line, 121, paper[120], own[120])}


def cliff_rules(controls: dict) -> Rules:
    """Of the cliff, by differences of the loss."""
    lengths, begin, free = walk(controls["start"], 0.0)
    tame, limit = walk(controls["start"], controls["limit"])[2], controls["limit"]
    return {"notice cliff 0": lambda line: near(line, lengths.max(), np.median(lengths), 60, begin, free),
            "notice cliff 1": lambda line: near(line, limit, tame) if limit else "Choose a limit" in line,
            "more cliff 0": lambda line: agrees(line, 60),
            "alt learning-cliff": lambda line: near(line, lengths.max(), free, *([limit, tame] if limit else []))}


def rules_at(controls: dict, numbers: dict) -> Rules:
    """What must be true at this position; numbers: of the section on targets, whose two networks are asked anew in
    `test_the_student_and_its_teacher`."""
    p, q = (np.array(controls[name], float) / sum(controls[name]) for name in "pq")
    floor, gap, back = float(stats.entropy(p)), float(stats.entropy(p, q)), float(stats.entropy(q, p))
    warm, peak, decay = controls["warm"], controls["rate"], controls["decay"]
    rates = [peak * (min(1, t / warm) if warm else 1) * (min(1, math.sqrt(max(warm, 1) / t)) if decay else 1)
             for t in range(1, 301)]
    stated = [max(rates), rates[-1], 300]
    highest, end = 1 / math.sqrt(512 * 4000), 1 / math.sqrt(512 * 100_000)
    chance = numbers["p"]
    return smoothing_rules(controls) | adam_rules(controls) | cliff_rules(controls) | {
        "notice lengths 0": lambda line: agrees(line, floor + gap, floor, gap),
        "notice lengths 1": lambda line: agrees(line, back),
        "more lengths 0": lambda line: agrees(line, 0, 0),
        "alt learning-lengths": lambda line: agrees(line, floor, gap, floor + gap),
        "notice targets 0": lambda line: near(line.split("student")[1], int(numbers["step"]), chance, chance,
                                              -math.log(chance), 66, math.log(66)),
        "notice targets 1": lambda line: near(line, numbers["teacher"], controls["soft"], numbers["floor"], 0),
        "more targets 0": lambda line: near(line, numbers["tune"]),
        "alt learning-targets": lambda line: near(line, numbers["word"], numbers["distil"], numbers["tune"]),
        "alt learning-push": lambda line: near(line, 1 - chance),
        "notice rate 0": lambda line: agrees(line, -1, highest, 4000, 100_000, end) if "−½" not in line else agrees(
            line.replace("^−½", ""), highest, 4000, 100_000, end),
        "notice rate 1": lambda line: (agrees(line, 32, warm, 1 / math.sqrt(32 * warm), *stated) if warm
                                       else agrees(line, 3, *stated)),
        "more rate 1": lambda line: agrees(line, 3, 2000, 16_000),
        "alt learning-rate-paper": lambda line: agrees(line, 100_000, highest, 4000),
        "alt learning-rate": lambda line: agrees(line, peak, warm, rates[-1])}


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position[7])
def test_every_sentence_is_true_where_it_stands(position):
    controls = dict(zip(NAMES, position, strict=True))
    found = shown("learning", guess="b", **controls)
    assert wrong(sentences(found), rules_at(controls, found.numbers["targets"])) == []


@pytest.mark.parametrize("turned", [{}, {"signs": "Ab3Cd9Ab3C", "wish": "q"}])
def test_the_student_and_its_teacher_say_what_is_printed(turned):
    from model.ask import sources
    from model.studies.predictions import NextWordQuery

    found = shown("learning", guess="b", **turned).numbers["targets"]
    text = turned.get("signs", "k7Qx2bVk7Qx")[:-1]
    asked = [NextWordQuery(sources.open_query(model, text)) for model in (student(found["step"]), TEACHER)]
    logits = [sources.ask(each, "test").result(120).logits.astype(float) for each in asked]
    said, taught = np.exp(logits[0]) / np.exp(logits[0]).sum(), np.exp(logits[1] / 2) / np.exp(logits[1] / 2).sum()
    place = int(np.abs(said - found["p"]).argmin())
    assert taught[place] == pytest.approx(found["teacher"], rel=1e-4) and found["size"] == len(said)
    assert stats.entropy(taught) == pytest.approx(found["floor"], rel=1e-4)
    assert -(taught * np.log(said)).sum() == pytest.approx(found["distil"], rel=1e-4)


@pytest.mark.parametrize("turned", [
    {"goal": "word", "b2": 0.98, "ae": 1e-9}, {"goal": "smooth", "clip": 100, "seed": 20, "eps": 0.3},
    {"goal": "teacher", "clip": 0.3, "seed": 7, "warm": 0}, {"goal": "other", "seed": 2}],
    ids=lambda each: each["goal"])
def test_a_run_is_told_by_its_own_numbers(monkeypatch, turned):
    monkeypatch.setattr(learning, "STEPS", 30)
    page = shown("learning", guess="b", run=True, **turned)
    where = {each.name: each.start for each in pages()["learning"][0].controls} | turned
    question = page_of_runs.run_question(where)
    other = page_of_runs.reference_question(question)
    own, reference = (learning.run(each) for each in (question, other))
    alone, floor, clip = own if question == other else reference, own.floor.mean(), turned.get("clip", 0)
    beside = [] if alone is own else [reference.right[-1], reference.nats[-1]]
    first, second, _ = page.notices["run"]
    assert agrees(first, own.right[-1], own.nats[-1], 200, *beside, math.log(2))
    assert agrees(second, 20, own.loss[-20:].mean(), *([floor] if floor else []), own.gradient.max(),
                  *([(own.gradient > clip).mean()] if clip else []))
    assert agrees(page.more["run"][0], own.nats[0], *([] if alone is own else [reference.nats[0]]))
    for field in ("right", "nats", "loss", "gradient"):
        assert agrees(page.alts[f"learning-run-{field}"], *(getattr(each, field)[-1] for each in (own, reference)))


def test_a_wrong_sentence_is_caught_and_nothing_is_said_before_the_answer():
    controls = dict(zip(NAMES, POSITIONS[1], strict=True))
    covered = shown("learning", **controls)
    assert not {"learning-lengths", "learning-targets", "learning-smooth", "learning-floor"} & set(covered.charts)
    assert sum("1.208" in line for line in covered.words) == 0 and "lengths" not in covered.notices
    said = sentences(shown("learning", guess="a", **controls))
    rules = rules_at(controls, shown("learning", guess="a", **controls).numbers["targets"])
    planted = {"notice smoothing 0": said["notice smoothing 0"].replace("logit is ", "logit is 9"),
               "notice adam 0": said["notice adam 0"].replace("step is +", "step is +9"),
               "notice lengths 1": said["notice lengths 1"].replace(" = ", " = 9"),
               "notice cliff 1": "Clipped at 3 the direction is the same and the step short: the loss ends at 0.999."}
    assert wrong(said, rules) == []
    for place, line in planted.items():
        assert line != said[place] and len(wrong(said | {place: line}, rules)) == 1, place
