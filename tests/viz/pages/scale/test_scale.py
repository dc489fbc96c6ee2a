"""The whole lesson without a browser: what it says before and after its question is answered, at the ends of its
controls, and whether its training is told as its table has it."""
import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy import special, stats

from model.ask import sources
from model.lessons import scores, sqrt_dk
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.state import State
from viz.text import strings

PROSE = strings("lessons/scale")


@dataclass(frozen=True)
class Rows:
    """What the rows of one position have, by scipy and by sums over the keys themselves."""

    dots: np.ndarray      # q · k (row, key)
    weights: dict[str, np.ndarray]
    median: dict[str, float]
    mean: float           # of the gradient of undivided rows


def rows_at(dk: int, keys: int, seed: int, kind: str) -> Rows:
    """Those that the page sqrt_dk, their numbers by another route."""
    vectors, dots = sqrt_dk.rows_of(dk, keys, seed, kind)[1:]
    weights = {which: special.softmax(dots / divisor, -1) for which, divisor in (("plain", 1.0), ("scaled", dk**0.5))}
    median, gradients = {}, {}
    for which, p in weights.items():
        median[f"entropy_{which}"] = np.median(stats.entropy(p, base=2, axis=-1))
        squares = (p**2).sum(-1)
        median[f"slope_{which}"] = np.median(np.sqrt(np.maximum(squares - 2 * (p**3).sum(-1) + squares**2, 0)))
        away = ((vectors[:, None] - (p @ vectors)[:, :, None]) ** 2).sum(-1)
        gradients[which] = np.sqrt((p**2 * away).sum(-1)) / (1 if which == "plain" else dk**0.5)
        median[f"gradient_{which}"] = np.median(gradients[which])
        median[f"largest_{which}"] = np.median(p.max(-1))
    return Rows(dots.reshape(-1, keys), weights, median, gradients["plain"].mean())


def near(line: str, *wanted: float) -> bool:
    """As agrees, or within 2 % where float32 and float64 part."""
    found = printed(line)
    return len(found) == len(wanted) and all(abs(number - value) <= half + 0.02 * abs(value)
                                             for (number, half), value in zip(found, wanted, strict=True))


def rules_at(where: dict) -> Rules:
    """What must be true at this position, of rows drawn at random."""
    dk, keys = where["dk"], where["keys"]
    here = rows_at(dk, keys, where["seed"], where["draw"])
    m, spread, bits, root = here.median, here.dots.std(), np.log2(keys), dk**0.5
    pair = [m["gradient_plain"], m["gradient_scaled"]]
    over = [np.mean((rows.max(-1) > sqrt_dk.FLOAT32_END) | (rows.max(-1) < -103.97))
            for rows in (here.dots, sqrt_dk.GROWN * here.dots / root)]
    entropies, slopes = ([m[f"{name}_{which}"] for which in ("plain", "scaled")] for name in ("entropy", "slope"))
    faint = min(slopes) < 1e-5   # where the difference of squares cancels

    return {
        "notice see 0": lambda line: near(line, dk, *pair),
        "notice see 1": lambda line: 30 < printed(line)[0][0] < 900 if printed(line) else True,
        "notice see 2": lambda line: near(line, pair[0], here.mean),
        "more see 0": lambda line: agrees(line, len(here.dots), keys, 5, 95),
        "alt scale-see": lambda line: near(line, *pair, dk),
        "notice variance 0": lambda line: near(line, dk, dk, len(here.dots), spread**2, spread**2 / dk),
        "notice variance 1": lambda line: near(line, spread, root),
        "more variance 0": lambda line: agrees(line, 5, 95), "more variance 1": lambda line: agrees(line, -1, 1),
        "more variance 2": lambda line: agrees(line, 1) and 0.6 < np.median(sqrt_dk.t5_variance()) < 1.4,
        "alt scale-variance": lambda line: near(line, 1, 4096, dk, spread**2, 1),
        "alt scale-histogram-plain": lambda line: near(line, spread),
        "alt scale-histogram-scaled": lambda line: near(line, spread / root),
        "notice softmax 0": lambda line: near(line, dk, entropies[1], bits, entropies[0]),
        "notice softmax 1": lambda line: faint or near(line, *slopes[::-1]),
        "alt scale-entropy": lambda line: near(line, dk, *entropies),
        "alt scale-slope": lambda line: faint or near(line, *slopes, dk),
        "notice reasons 0": lambda line: near(line.removeprefix("float32"), 88.7, *over, sqrt_dk.GROWN),
        "more reasons 0": bool,   # test_what_overflows_with_64_keys_is_as_the_lesson_says
        "more reasons 1": lambda line: near(line, dk, m["largest_plain"], m["largest_scaled"], *pair),
        "notice temperature 0": lambda line: near(line, root, 1, *entropies),
        "more temperature 0": lambda line: agrees(line, 1, 64, 5.7, 1, 5.35, 64),
        "alt scale-temperature": lambda line: near(line, dk, entropies[0], 1, entropies[1])}


def head_rules(page: Shown) -> Rules:
    """Of the head that was trained: its rows by scipy from its queries and keys."""
    state = State()
    record = sources.ask(sources.open_query(state.model, state.text)).result(120)
    layer_place, head = (int(number) for number, _ in printed(page.alts["scale-real"])[:2])
    layer = record[record.kinds[0]].layer(layer_place)
    q, k = (np.array(each[head], np.float64) for each in (layer.query, layer.key))
    dots, root = q @ k.T, q.shape[-1] ** 0.5
    own, undone = (stats.entropy(special.softmax(dots / divisor, -1), base=2, axis=-1).mean() for divisor in (root, 1))
    sizes = [(each**2).mean() for each in (q, k)]
    return {"notice real 0": lambda line: agrees(line.replace(f"√{len(q[0])}", ""), root, undone, own),
            "notice real 2": lambda line: printed(line)[0][0] == pytest.approx(root, abs=1e-3)
            and printed(line)[1][0] < 1e-6,
            "more real 0": lambda line: agrees(line, *sizes, np.sqrt(sizes[0] * sizes[1] * len(q[0])), dots.std()),
            "alt scale-real": lambda line: agrees(line, layer_place, head, own, undone)}


@cache
def trained_by_hand(width: int, seed: int, divisor: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """(share right by step; weights of every symbol over all, before the first step and after each tenth): the same
    task, start and rows with derivatives and Adam's steps written out, float64."""
    part = {name: np.float64(each.detach()) for name, each in scores.start(width, seed).items() if name != "v"}
    mean, square = ({name: np.zeros_like(each) for name, each in part.items()} for _ in range(2))
    film, right = [special.softmax(part["query"] @ part["key"].T / divisor, -1)], []
    for step, row in enumerate(scores.rows(seed, scores.STEPS), 1):
        symbols, classes, asked, answer = (each.numpy() for each in row)
        q, k, v, names = part["query"][asked], part["key"][symbols], part["value"][classes], np.eye(12)
        p = special.softmax((k @ q[..., None])[..., 0] / divisor, -1)
        mix = (p[:, None] @ v)[:, 0]
        guess = mix @ part["out"]
        right.append((guess.argmax(-1) == answer).mean())
        by_guess = (special.softmax(guess, -1) - np.eye(8)[answer]) / len(answer)
        by_mix = by_guess @ part["out"].T
        by_p = (v @ by_mix[..., None])[..., 0]
        by_z = p * (by_p - (p * by_p).sum(-1, keepdims=True)) / divisor
        by = {"query": names[asked].T @ (by_z[:, None] @ k)[:, 0],
              "key": names[symbols.ravel()].T @ (by_z[..., None] * q[:, None]).reshape(-1, width),
              "value": np.eye(8)[classes.ravel()].T @ (p[..., None] * by_mix[:, None]).reshape(-1, v.shape[-1]),
              "out": mix.T @ by_guess}
        for name, change in by.items():
            mean[name] = 0.9 * mean[name] + 0.1 * change
            square[name] = 0.999 * square[name] + 0.001 * change**2
            part[name] = part[name] - 0.01 * mean[name] / (1 - 0.9**step) / (
                np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
        if step % 10 == 0:
            film.append(special.softmax(part["query"] @ part["key"].T / divisor, -1))
    return np.array(right), film


def trainings(width: int, start: int, starts: int) -> dict[str, list[tuple[np.ndarray, list[np.ndarray]]]]:
    """What each model does from each start, by hand; one start after another, the hundredth before the first. Where
    undivided rows are wide, their gradients are so small that the last digit decides where a training ends: there it
    is the page's own curve, and the one by hand has to end far below the others as well."""
    seeds = [(start + number) % 100 for number in range(starts)]
    own = {which: [trained_by_hand(width, seed, divisor) for seed in seeds]
           for which, divisor in (("none", 1.0), ("root", width**0.5), ("width", float(width)))}
    if width > 64:
        assert max(right[-20:].mean() for right, _ in own["none"]) < 0.6 < 0.9 < min(
            right[-20:].mean() for right, _ in own["root"])
        found = [sources.cached(sqrt_dk.TrainingQuery(width, seed)) for seed in seeds]
        own["none"] = [(each.right["none"], list(each.film["none"])) for each in found]
    return own


SLACK = 0.003   # what two roundings of one training may differ by at its end


def counts_right(line: str, own: list[float], root: list[float]) -> bool:
    """Whether a sentence counts the starts that end lower and higher than those divided by √d_k."""
    (lower, _), (starts, _), (higher, _) = printed(line)
    told, ahead = {"lower": lower, "higher": higher}, np.subtract(own, root)
    clear = {"lower": ahead < -SLACK, "higher": ahead > SLACK}
    able = {"lower": ahead < SLACK, "higher": ahead > -SLACK}
    return starts == len(own) and all(clear[side].sum() <= told[side] <= able[side].sum() for side in told)


def training_rules(page: Shown, width: int, start: int, step: int, starts: int) -> Rules:
    """Of the three trainings, and of the table beside them."""
    own = trainings(width, start, starts)
    ends = {which: [float(right[-20:].mean()) for right, _ in each] for which, each in own.items()}
    for row in table(page, "q · k is"):
        which = next(name for name, title in PROSE["training"]["names"].items() if title == row[0])
        told = [number for cell in row[1:3] for number, _ in printed(cell.replace("–", " "))]
        assert told == pytest.approx([np.mean(ends[which]), min(ends[which]), max(ends[which])], abs=0.005 + SLACK)
        bits = np.mean([stats.entropy(film[0], base=2, axis=-1).mean() for _, film in own[which]])
        assert float(row[3]) == pytest.approx(bits, abs=0.0051)

    def close(line: str, *wanted: float) -> bool:
        found = [number for number, _ in printed(line)]
        return found == pytest.approx(wanted, abs=0.005 + SLACK)

    films = {f"alt scale-film-{which}": lambda line, which=which: close(
        line.split(", step ")[1], step, np.diag(own[which][0][1][step // 10]).mean()) for which in own}
    return films | {
        "notice training 0": lambda line: "Not divided" in line and counts_right(line, ends["none"], ends["root"]),
        "notice training 1": lambda line: "Divided by d_k" in line and counts_right(line, ends["width"], ends["root"]),
        "notice training 2": lambda line: agrees(line, starts, 200),
        "more training 1": lambda line: agrees(line, 20, np.log2(12)),
        "alt scale-training": lambda line: close(line, starts, *(np.mean(ends[which]) for which in (
            "none", "root", "width")))}


def test_before_an_answer_the_page_has_the_question_and_its_premise_only():
    page = shown("scale", dk=512)
    assert set(page.notices) == {"variance"} and set(page.charts) == {
        "scale-see", "scale-variance", "scale-histogram-plain", "scale-histogram-scaled"}
    assert [trace.get("name") for trace in page.charts["scale-see"]["data"]
            if trace.get("name", "").startswith("not divided")] == []


def table(page, first: str) -> list[list[str]]:
    """The rows of the table on the page whose head begins so."""
    found = next(each for each in page.words if each.startswith(f"| {first}"))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found.splitlines()[2:]]


@pytest.mark.parametrize(("dk", "keys", "kind", "train", "seed"), [
    (1, 8, "sign", False, 0), (64, 32, "uniform", False, 50), (4096, 64, "normal", True, 99)])
def test_what_is_said_once_answered_fits_the_numbers_of_the_page(dk, keys, kind, train, seed, monkeypatch):
    monkeypatch.setattr("viz.pages.scale.training.STARTS", 2)
    page = shown("scale", guess="a", dk=dk, keys=keys, draw=kind, train=train, width=64, real=train, seed=seed, step=0)
    rules = rules_at({"dk": dk, "keys": keys, "seed": seed, "draw": kind})
    rules |= head_rules(page) | training_rules(page, 64, 0, 0, 2) if train else {}
    assert wrong(sentences(page), rules) == []
    assert all(len(lines) <= 3 for lines in page.notices.values())
    said, variance = " ".join(page.notices["see"]), page.numbers["variance"]
    assert variance["measured"] == pytest.approx(dk, rel=0.2) and f"{variance['measured']:,.1f}" in said + " ".join(
        page.notices["variance"])
    reasons = table(page, "What is said")
    weights = [float(re.findall(r"[\d.]+", cell)[-1]) for cell in reasons[2][1:3]]
    assert weights == pytest.approx([page.numbers["reasons"]["largest_plain"],
                                     page.numbers["reasons"]["largest_scaled"]], abs=6e-4)
    assert (weights[0] == weights[1]) == (dk == 1)
    if train:
        rows = {row[0]: row for row in table(page, "q · k is")}
        names = PROSE["training"]["names"]
        lower = float(rows[names["none"]][1].rstrip("%")) < float(rows[names["root"]][1].rstrip("%"))
        assert lower and page.numbers["real"]["undone"] < page.numbers["real"]["own"]
        assert float(rows[names["width"]][3]) > float(rows[names["root"]][3]) > float(rows[names["none"]][3])


@pytest.mark.parametrize(("width", "start", "step"), [(4, 99, 100), (1024, 50, 200)])
def test_what_is_said_of_the_trainings_is_true_of_trainings_by_hand(width, start, step, monkeypatch):
    starts = 2 if width < 64 else 1
    monkeypatch.setattr("viz.pages.scale.training.STARTS", starts)
    page = shown("scale", guess="a", dk=1, keys=8, train=True, width=width, start=start, step=step)
    rules = rules_at({"dk": 1, "keys": 8, "seed": 0, "draw": "normal"})
    rules |= training_rules(page, width, start, step, starts)
    said = sentences(page)
    assert wrong(said, rules) == []
    planted = {"notice training 2": said["notice training 2"].replace("200", "201"),
               "alt scale-film-root": said["alt scale-film-root"].replace(", step ", ", step 1"),
               "alt scale-training": said["alt scale-training"].replace("undivided, ", "undivided, 1")}
    planted["notice training 0"] = said["notice training 0"].replace(f" of {starts} ", " of 3 ")
    assert {each.split(":")[0] for each in wrong(said | planted, rules)} == set(planted)


@pytest.mark.parametrize(("place", "old", "new"), [
    ("notice see 0", "**", "**1"), ("notice variance 1", "about", "9"),
    ("notice temperature 0", "**", "**1"),
    ("notice reasons 0", "60-fold", "70-fold"), ("alt scale-entropy", "median ", "median 1"),
    ("more see 0", "95th", "96th")])
def test_a_wrong_sentence_is_caught(place, old, new, opened):
    said = sentences(opened)
    rules = rules_at({"dk": 64, "keys": 64, "seed": 0, "draw": "normal"})
    assert wrong(said, rules) == [] and old in said[place]
    assert len(wrong(said | {place: said[place].replace(old, new, 1)}, rules)) == 1


@pytest.fixture(scope="module")
def opened() -> Shown:
    """The page as it opens, answered."""
    return shown("scale", guess="a")
