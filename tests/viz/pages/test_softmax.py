"""Every sentence of *Softmax and temperature*, read again at the ends and in the middle of its controls and held
against scipy, by another route than the page's."""
import itertools
import re

import numpy as np
import pytest
from scipy import special, stats
from scipy.spatial import distance

from model.ask import sources
from model.core.query import Kind, Temper
from tests.conftest import LONG
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import Rules, agrees, head_rows, printed, sentences, wrong
from viz.pages.softmax import PRESETS
from viz.pages.softmax.row import GRID
from viz.state import State

CURVE = tuple(np.round(np.linspace(1, 0, 17), 2))
NEGATIVE = (-10.0,) * 5
ROWS = [*PRESETS.values(), NEGATIVE, (0.0, 0.01, -3.0, 0.0, 0.0)]
MASKS = [(), (0,), (1, 2, 3, 4)]
PLACES = list(itertools.product(ROWS, MASKS, (0.01, 0.3, 1.0, 100.0))) if LONG else [
    (PRESETS["tie"], (3,), 1.0), (PRESETS["far"], (), 0.01), (NEGATIVE, (), 0.01), (ROWS[-1], (3, 4), 1.0),
    (PRESETS["equal"], (1, 2, 3, 4), 100.0)]


@pytest.fixture(scope="module")
def opened() -> Shown:
    """The page as it opens, answered and drawn."""
    return shown("softmax", guess="a", drawn=CURVE)


def numbers(sentence: str) -> list[float]:
    """Those of a sentence as a reader has them."""
    return [float(each.replace("−", "-")) for each in re.findall(r"(?<![\w.^])[-−]?\d+\.?\d*(?:e[-+]\d+)?", sentence)]


def norm(z: np.ndarray, t: float) -> float:
    """Of the whole Jacobian, by the differences of scipy's logarithms, which cancel nothing."""
    log = special.log_softmax(np.asarray(z) / t)
    p = np.exp(log)
    rest = np.array([np.exp(special.logsumexp(np.delete(log, place))) if len(p) > 1 else 0.0
                     for place in range(len(p))])
    square = -np.outer(p, p)
    np.fill_diagonal(square, p * rest)
    return float(np.sqrt((square / t * (square / t)).sum())) if square.any() else 0.0


@pytest.mark.parametrize(("z", "masked", "t"), PLACES)
def test_what_is_said_of_a_row_is_true_of_it(z, masked, t):
    page = shown("softmax", guess="a", z=z, masked=masked, t=t, drawn=CURVE)
    assert says_of_a_row(page, np.delete(np.array(z), masked), t) == []


def says_of_a_row(page: Shown, row: np.ndarray, t: float) -> list[str]:
    """The sentences that are not true of the allowed logits of a row, which the page shows at T = t."""
    here = special.softmax(row / t)
    says_of_curves(page.notices["curves"][0], row, here, t, page.alts["softmax-curves"])
    worth, most = page.notices["spread"][:2]
    assert numbers(worth)[:3] == pytest.approx([t, 2 ** stats.entropy(here, base=2), len(row)], abs=5e-3)
    assert numbers(most)[1:3] == pytest.approx([np.log2(len(row)), np.log(len(row))], abs=5e-3)
    assert f"{2 ** stats.entropy(here, base=2):.2f} of {len(row)}." in page.alts["softmax-effective"]
    assert numbers(page.alts["softmax-weights"])[-1] == pytest.approx(here.max(), abs=5e-4)
    says_of_the_slope(page.notices["slope"], row)
    says_of_the_ends(page.notices["ends"], row, t, "\n".join(page.words))
    return wrong({place: line for place, line in sentences(page).items() if "inside" not in place},
                 other_rules(page, row, t))


@pytest.mark.parametrize(("scope", "t"), [("head", 0.3), ("layer", 100.0), ("all", 0.01), ("all", 1.0)])
def test_what_is_said_of_a_real_head_and_of_t_inside_the_model_is_true_of_them(scope, t):
    page = shown("softmax", guess="a", row="head", inside=True, scope=scope, t=t, drawn=CURVE)
    model, text = State().model, State().text
    before = sources.ask(sources.open_query(model, text)).result(120)
    layer, head = (int(number) for number, _ in printed(page.alts["softmax-inside"])[:2])
    layers = before[Kind.SELF].layers
    edited = [(place, each) for place in ([layer] if scope != "all" else range(len(layers)))
              for each in ([head] if scope == "head" else range(layers[place].heads))] if t != 1 else []
    after = sources.ask(sources.open_query(model, text, edits=[Temper(Kind.SELF, *place, t) for place in edited])
                        ).result(120)
    moved = np.array([[np.abs(head_rows(new, t if (old.index, place) in edited else 1.0)[place]
                              - head_rows(old)[place]).sum(-1).mean() / 2 for place in range(old.heads)]
                      for old, new in zip(layers, after[Kind.SELF].layers, strict=True)])
    own, answer = page.notices["inside"]
    later = [0, moved[layer + 1:].max()] if scope != "all" else []
    assert agrees(own, t, layer, head, moved[layer, head], *([1] if t == 1 else later))
    assert agrees(answer.replace("1 − ", ""), distance.cosine(before.prediction.vector, after.prediction.vector)) or (
        t == 1 and printed(answer)[-1][0] < 1e-12)
    assert scope == "all" or moved[:layer].max() == 0


def other_rules(page: Shown, row: np.ndarray, t: float) -> Rules:
    """Of the sentences that no other function here reads."""
    p = special.softmax(row / t)
    matrix, norms = (np.diag(p) - np.outer(p, p)) / t, [norm(row, each) for each in GRID]

    def steep(line: str) -> bool:
        (most, half), (steepest, _), (here, _) = printed(line)
        return abs(most - max(norms)) <= half and norm(row, steepest) >= 0.97 * max(norms) and here == t

    held = {place: bool for place in sentences(page) if place.startswith("notice")}
    return held | {
        "alt softmax-curves": lambda line: agrees(line, len(row), 0.01, 100, t, p.max()) if "key " not in line.split(
            "largest is")[1] else printed(line)[-1][0] == pytest.approx(p.max(), abs=6e-4),
        "alt softmax-effective": lambda line: agrees(line, t, 2 ** stats.entropy(p, base=2), len(row)),
        "alt softmax-weights": lambda line: agrees(line, t, len(row), p.max()),
        "alt softmax-jacobian": lambda line: agrees(line, t, abs(matrix).max()),
        "alt softmax-slope": steep,
        "more curves 1": lambda line: agrees(line, 0),
        "more slope 0": lambda line: norm(row, 1e4) == pytest.approx(np.sqrt(len(row) - 1) / len(row) / 1e4, rel=0.01),
        "more slope 1": lambda line: agrees(line, 0, 1) and abs(matrix.sum(1)).max() < 1e-12}


def says_of_curves(sentence: str, row: np.ndarray, here: np.ndarray, t: float, alt: str) -> None:
    told, tied = numbers(sentence.replace("key ", "key_")), int((row == row.max()).sum())
    assert told[:2] == pytest.approx([t, here.max()], abs=5e-4)
    assert f"{here.max():.3f}" in alt
    assert (f"the {tied} tied keys" in sentence) == (tied > 1)
    assert told[-1] == pytest.approx(special.softmax(row / 1e9)[0], abs=5e-4)
    assert special.softmax(row / 1e-6)[row == row.max()].sum() > 0.999


def says_of_the_slope(notices: list[str], row: np.ndarray) -> None:
    norms = np.array([norm(row, t) for t in GRID])
    most, steepest, at, cold = numbers(notices[0])[:4]
    assert most == pytest.approx(norms.max(), rel=5e-3, abs=1e-300) and at == 0.01
    assert norm(row, steepest) >= 0.97 * norms.max() and cold == pytest.approx(norms[0], rel=0.06, abs=1e-300)
    gap = numbers(notices[0])[4:]
    assert gap == pytest.approx([np.diff(np.sort(row)[-2:])[0]] if len(row) > 1 else [], rel=0.06)
    hot = special.softmax(row / 100)
    assert numbers(notices[1])[1:] == pytest.approx([hot.min(), hot.max(), norms[-1]], abs=5e-4)


def says_of_the_ends(notices: list[str], row: np.ndarray, t: float, page: str) -> None:
    largest, limits = row.max() / t, {"float32": (88.72, -103.98), "float64": (709.78, -745.2)}
    broken = {name: largest > high or largest < low for name, (high, low) in limits.items()}
    assert ("overflow**: ∞" in page) == (broken["float32"] and largest > 0)
    assert ("underflow" in page) == (broken["float32"] and largest < 0)
    share, uniform = 1 / (row == row.max()).sum(), 1 / len(row)
    assert numbers(notices[1].split("here ")[1])[0] == pytest.approx(share, rel=5e-3)
    assert numbers(notices[1].split("gives ")[1])[0] == pytest.approx(uniform, rel=5e-3)


@pytest.mark.parametrize(("planted", "caught"), [
    (("largest weight is **0.", "largest weight is **1."), "curves"),
    (("at T = 0.01 it is ", "at T = 0.01 it is 9"), "slope"),
    (("gives 0.", "gives 0.9"), "ends")])
def test_a_wrong_sentence_is_caught(planted, caught, opened):
    page, row = opened, np.array(PRESETS["apart"])
    wrong = [sentence.replace(*planted) for sentence in page.notices[caught]]
    assert wrong != page.notices[caught]
    with pytest.raises(AssertionError):
        if caught == "curves":
            says_of_curves(wrong[0], row, special.softmax(row), 1.0, page.alts["softmax-curves"])
        elif caught == "slope":
            says_of_the_slope(wrong, row)
        else:
            says_of_the_ends(wrong, row, 1.0, "\n".join(page.words))


def test_the_answers_are_true_of_the_row_that_is_asked_about():
    row = np.array(PRESETS["apart"])
    hot = special.softmax(row / 100)
    assert abs(hot - 0.2).max() < 0.006 and (np.argsort(hot) == np.argsort(special.softmax(row))).all()
    assert special.softmax(row + 7) == pytest.approx(special.softmax(row))
    two = np.log([0.8, 0.2])
    assert special.softmax(2 * two) == pytest.approx([16 / 17, 1 / 17])
    assert special.softmax(two / 2) == pytest.approx([2 / 3, 1 / 3])


def test_before_the_answer_only_the_row_at_one_is_there():
    page = shown("softmax", t=100, z=PRESETS["far"], drawn=CURVE)
    assert set(page.charts) == {"softmax-asked"} and not page.notices
    wanted = special.softmax(np.array(PRESETS["apart"]))
    assert numbers(page.alts["softmax-asked"])[1:] == pytest.approx(wanted, abs=5e-4)


def test_the_slope_is_drawn_by_hand_before_it_is_shown():
    page = shown("softmax", guess="c", drawn=())
    assert "softmax-curves" in page.charts and "softmax-slope" not in page.charts and "slope" not in page.notices
