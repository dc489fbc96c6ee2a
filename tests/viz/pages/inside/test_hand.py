"""The sentences beside the head by hand, read again and held against numbers of another route, at every end of every
control."""
import re

import numpy as np
import pytest
from scipy.spatial import ConvexHull, QhullError
from scipy.special import softmax

from model.lessons import head_steps
from tests.lesson_pages import shown
from tests.lesson_tally import TALLY
from viz.pages.inside.hand import PLACES, TOKENS, goal_says, looking_says, mix_says
from viz.text import strings

WORDS = strings("lessons/inside")["hand"]
START = {name: control.start for name, control in PLACES.items()}
RNG = np.random.default_rng(11)
LINE = tuple(float(place) for at in range(4) for place in (at - 1, 1 - at))
ENDS = [START, *(dict.fromkeys("qkv", (end,) * 8) for end in (-3.0, 0.0, 3.0)),
        *(START | {name: (end,) * 8} for name in "qkv" for end in (-3.0, 0.0, 3.0)),
        START | {"q": (1.5, 1.5, -1.5, 0.5, 0.0, 2.5, 0.5, -2.0)}, START | {"q": (0.0, 3.0) * 4}, START | {"v": LINE},
        START | {"k": (0.0, 3.0, 0.0, 3.0, 0.0, -3.0, 0.0, -3.0), "q": (0.0, 3.0) * 4},
        *({name: tuple(np.round(RNG.uniform(-3, 3, 8), 2).tolist()) for name in "qkv"} for _ in range(40))]


def row_of(at: dict, looks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(dots, weights, mix, values) by einsum and scipy."""
    q, k, v = (np.array(at[name], np.float64).reshape(4, 2) for name in "qkv")
    dots = np.einsum("kd,d->k", k, q[looks])
    weights = softmax(dots / np.sqrt(2.0))
    return dots, weights, np.einsum("k,kd->d", weights, v), v


def numbers(sentence: str) -> list[float]:
    """All of its numbers."""
    return [float(number.replace("−", "-")) for number in re.findall(r"[-−]?\d+\.\d+(?:e-\d+)?|\b\d+\b", sentence)]


def goal_holds(said: str, at: dict) -> None:
    """Fails unless the sentence is true of the weights of *it*."""
    _, weights, _, _ = row_of(at, TOKENS.index("it"))
    wanted, itself = round(float(weights[0]), 3), round(float(weights[2]), 3)
    assert ("Goal reached" in said) == (wanted >= 0.5 and itself <= 0.1) != ("Not yet" in said)
    assert numbers(said) == pytest.approx([wanted, 0.5, itself, 0.1], abs=6e-4)


def looking_holds(said: str, at: dict, looks: int) -> None:
    """Fails unless the sentence is true of the row of the token that looks."""
    dots, weights, _, _ = row_of(at, looks)
    tied = int((weights.round(3) == weights.max().round(3)).sum()) - 1
    top = TOKENS.index(re.search(r"most to \*(\w+)\*", said)[1])
    assert said.startswith(f"*{TOKENS[looks]}*") and weights[top] == pytest.approx(weights.max())
    assert numbers(said.replace("√2", "")) == pytest.approx(
        [dots[top], dots[top] / 2**0.5, weights[top], *[tied] * (tied > 0)], abs=0.0051)


def mix_holds(said: str, at: dict, looks: int) -> None:
    """Fails unless the sentence is true of the mix and the hull of the values."""
    _, _, mix, values = row_of(at, looks)
    try:
        inside = -float((ConvexHull(values).equations @ [*mix, 1.0]).max())
    except QhullError:
        inside = 0.0
    assert numbers(said) == pytest.approx(
        [inside, np.linalg.norm(mix), np.linalg.norm(values, axis=1).max()], abs=0.0051)


def said_of(at: dict, looks: int) -> list[str]:
    """(of the goal, of the row, of the mix)."""
    q, k, v = (np.array(at[name]).reshape(4, 2) for name in "qkv")
    row = head_steps.attend(q[looks], k, v)
    facts = goal_says(WORDS, head_steps.attend(q[2], k, v)) | looking_says(WORDS, row, looks)
    return [line.format(**facts, mixed=mix_says(WORDS, row, v)) for line in WORDS["notice"]]


def test_every_sentence_is_true_at_both_ends_in_the_middle_and_at_random():
    for at in ENDS:
        for looks in range(4):
            goal, looking, mix = said_of(at, looks)
            TALLY.said("inside", 3)
            goal_holds(goal, at)
            looking_holds(looking, at, looks)
            mix_holds(mix, at, looks)


def test_until_it_is_answered_nothing_on_the_page_says_where_the_mix_lies():
    covered = shown("inside", step="mix", scene="mix")
    prompt = strings("lessons/inside")["predict"]
    words = [each for each in covered.words if each not in (prompt["ask"], *(one["text"] for one in prompt["answers"]))]
    text = " ".join([*words, *(line for lines in covered.notices.values() for line in lines), *covered.alts.values()])
    for leaked in ("hull", "average", "inside the", "cannot leave", "shorter", "shortens", "longest value", "diamond"):
        assert leaked not in text.replace(prompt["ask"], ""), leaked
    assert "inside-hull" not in covered.charts
    answered = shown("inside", guess="a", looks="tired", hq=START["q"])
    goal_holds(answered.notices["hand"][0], START)
    looking_holds(answered.notices["hand"][1], START, 3)
    mix_holds(answered.notices["hand"][2], START, 3)
    assert "inside-hull" in answered.charts and "hull" in " ".join(answered.notices["average"])
