"""The lesson's sentences at the ends and the middle of its controls, and for both kinds of normalisation, against
numbers computed by another way."""
import re

import numpy as np
import pytest
import torch
from torch.nn import functional

from model.ask import sources
from model.core.models import TraceQuery
from model.core.trace import Norm
from model.lessons import block
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences
from tests.lesson_sentences import wrong as unheld
from viz.page import pages
from viz.pages.block import BOXES, outlier_count
from viz.pages.block.feed_forward import TARGET, X, left_over
from viz.pages.block.norm import _both, norm_numbers
from viz.state import State
from viz.text import strings

PROSE = strings("lessons/block")
RNG = np.random.default_rng(3)
PLACES = [{"block": 0, "word": 0, "units": 0, "drop": 0.0, "depth": 2, "which": "first", "box": "in"},
          {"block": 3, "word": 7, "units": 16, "drop": 0.45, "depth": 12, "which": "last", "box": "feed_forward"},
          {"block": 5, "word": 15, "units": 32, "drop": 0.9, "depth": 24, "which": "last", "box": "add2"}]


def numbers(said: str) -> list[float]:
    found = re.findall(r"−?\d[\d,.]*(?:e-?\d+)?", said)
    return [float(each.replace(",", "").replace("−", "-").rstrip(".")) for each in found]


@pytest.fixture(scope="module")
def trace():
    state = State()
    return sources.ask(TraceQuery(sources.open_query(state.model, state.text))).result(120)


def wrong(said: dict[str, list[str]], trace, place: dict) -> list[str]:
    """Sections of which a sentence does not agree with the trace, the controls, or the stored runs."""
    this = trace.blocks[place["block"]]
    found = []
    length = [float(torch.tensor(rows).double().norm(dim=-1).mean())
              for rows in (this.before, this.attentions[0].output, this.feed_forward.output, this.after)]
    lengths = [f"{length[0]:.3g} in", f"out {length[1]:.3g},", f"forward {length[2]:.3g};", f"{length[3]:.3g} out"]
    rows = f"{len(this.before)} rows of 384"
    if not all(each in said["parts"][2] for each in lengths) or rows not in said["parts"][1]:
        found.append("parts")
    if ("post-LN" in said["parts"][0]) == this.norm_first or f"Block {this.index} of" not in said["parts"][0]:
        found.append("parts")
    if "norm" in said:
        norm, word = this.norms[0 if place["which"] == "first" else -1], place["word"]
        x = torch.tensor(norm.input[word]).double()
        wanted = [float(x.mean()), float(x.var(unbiased=False))]
        bare = functional.rms_norm(x, x.shape, torch.tensor(norm.gain).double(), norm.epsilon)
        own = functional.layer_norm(x, x.shape, *(torch.tensor(each).double() for each in (norm.gain, norm.bias)),
                                    norm.epsilon)
        differs = [float((bare - own).norm() / own.norm())]
        own_numbers = f"mean {wanted[0]:.4g}, variance {wanted[1]:.4g};".replace("-", "−")
        if own_numbers not in said["norm"][0] or "16 means" not in said["norm"][1]:
            found.append("norm")
        if [f"{each:.1%}" for each in differs] != re.findall(r"[\d.]+%", said["norm"][2]):
            found.append("norm")
    before = torch.tensor(this.feed_forward.before)
    active = functional.gelu(before)
    shares = [(active == 0), active.abs() < 0.01 * active.abs().max(), before <= 0]
    percent = [float(each) for each in re.findall(r"\*\*([\d.]+)%", said["feed_forward"][1])]
    if percent != pytest.approx([100 * float(each.float().mean()) for each in shares], abs=0.11):
        found.append("feed_forward")
    residual = [np.var(TARGET - fit) / np.var(TARGET) for fit in (block.bent_fit(TARGET, X, place["units"]),
                                                                  np.polyval(np.polyfit(X, TARGET, 1), X))]
    wanted = ([f"**{residual[0]:.1%}**", f"alone leave {residual[1]:.0%}."] if place["units"]
              else ["W₁ W₂ is one matrix", f"leaves **{residual[1]:.0%}**"])
    if not all(each in said["bend"][0] for each in wanted):
        found.append("bend")
    row = this.attentions[0].output[place["word"]].astype(float)
    drawn = block.drop(row, place["drop"], place.get("draw", 0))[0]
    kept = drawn != 0
    same = drawn[kept] == pytest.approx(row[kept] / (1 - place["drop"]))
    if not same or numbers(said["dropout"][0])[:2] != [float((~kept).sum()), 384.0]:
        found.append("dropout")
    if f"{np.linalg.norm(row):.3g} whole, {np.linalg.norm(drawn):.3g} in" not in said["dropout"][1]:
        found.append("dropout")
    runs, _ = block.depth_runs()
    post, pre = runs["post"][place["depth"]], runs["pre"][place["depth"]]
    if numbers(said["depth"][0])[-2:] != pytest.approx([pre.stream[0], pre.stream[-1]], rel=0.005):
        found.append("depth")
    if numbers(said["depth"][1])[:2] != pytest.approx([each.gradient[-1] / each.gradient[0] for each in (post, pre)],
                                                      abs=0.0051) or "√64 = 8" not in said["depth"][0]:
        found.append("depth")
    return sorted(set(found))


def other_rules(said: dict[str, str], place: dict) -> Rules:
    """Of the folded sentences and what stands in for the pictures; `wrong` has read the notices."""
    runs, _ = block.depth_runs()
    post, pre = (runs[kind][place["depth"]] for kind in ("post", "pre"))
    deep = [runs[kind][24].gradient[-1] for kind in ("post", "pre")]
    fit = block.bent_fit(TARGET, X, place["units"])
    of_the_trace = {each: bool for each in said if each.startswith(("notice", "more parts"))}
    return of_the_trace | {
        "more norm 0": lambda line: agrees(line, 384, 1, (384 / 383) ** 0.5),
        "more norm 1": lambda line: agrees(line, 1e-12, 0),
        "more feed_forward 1": lambda line: "exact 0 only at 0 itself" in line and functional.gelu(
            torch.tensor([0.0, -1e-3, -3.0, -20.0])).eq(0).tolist() == [True, False, False, True],
        "more dropout 1": lambda line: agrees(line, 0.1, 5.4, 2022, 5),
        "more depth 0": lambda line: agrees(line, place["depth"], post.gradient[-1] / pre.gradient[-1]),
        "more depth 1": lambda line: agrees(line, 30, post.low[-1], post.high[-1], pre.low[-1], pre.high[-1],
                                            place["depth"]),
        "more depth 2": lambda line: agrees(line, 2020, 2022), "more depth 3": lambda line: "benchmarks.depth" in line,
        "alt block-box": bool, "alt block-norm": bool,
        "alt block-means": lambda line: agrees(line, 16),
        "alt block-activations": lambda line: agrees(line, place["block"]),
        "alt block-bend": lambda line: agrees(line, place["units"], np.var(TARGET - fit) / np.var(TARGET)),
        "alt block-dropout": lambda line: printed(line)[-1][0] == pytest.approx(place["drop"], abs=0.0051),
        "alt block-stream": lambda line: agrees(line, place["depth"], post.stream[-1], pre.stream[-1]),
        "alt block-gradient": lambda line: agrees(line, place["depth"], post.gradient[-1], pre.gradient[-1]),
        "alt block-last": lambda line: agrees(line, 24, *deep)}


@pytest.mark.parametrize("place", PLACES, ids=["low", "middle", "high"])
def test_every_sentence_is_true_at_the_ends_and_in_the_middle(trace, place):
    page = shown("block", guess="b", **place)
    assert wrong(page.notices, trace, place) == []
    said = sentences(page)
    assert unheld(said, other_rules(said, place)) == []
    planted = {each: re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 5) % 10), said[each])
               for each in ("more norm 0", "more depth 1", "alt block-bend", "alt block-last")}
    assert len(unheld(said | planted, other_rules(said, place))) == 4
    swapped = PLACES[PLACES.index(place) - 1]   # the sentences of another place are wrong here, in each section
    assert wrong(page.notices, trace, swapped) == ["bend", "depth", "dropout", "feed_forward", "norm", "parts"]
    assert page.numbers["depth"]["top"] > 1 and "largest" not in page.alts["block-gradient"]


@pytest.mark.parametrize(("box", "block", "word", "draw"), [
    ("attention", 999, 99_999, 99), ("add1", 2, 5, 50), *((box, 1, 9, 7) for box in BOXES if box[:-1] in (
        "norm", "behind") or box in ("cross", "add3"))])
def test_every_box_that_is_opened_is_told_by_its_tensors(trace, box, block, word, draw):
    turned = {"box": box, "block": block, "word": word, "draw": draw}
    page = shown("block", guess="b", drop=0.45, **turned)
    place = turned | {"block": min(block, 5), "word": min(word, 15), "units": 8, "drop": 0.45, "depth": 12,
                      "which": "first"}
    assert wrong(page.notices, trace, place) == []
    this = trace.blocks[place["block"]]
    left, title = this.attentions[0].output, "multi-head attention"   # which opens where a block has no such box
    if box == "add1":
        left, title = this.norms[0].output, "add & norm"
    length, largest = np.linalg.norm(left.astype(float), axis=1).mean(), np.abs(left).max()
    assert page.alts["block-box"] == f"What leaves the box {title} as a picture, shape 16 × 384."
    assert f"mean length of a row {length:.3g}, largest {largest:.3g}" in page.more["parts"][1].splitlines()[1]


def test_a_planted_sentence_is_caught(trace):
    place = PLACES[1]
    said = shown("block", guess="b", **place).notices
    for section, line, old, new in (("norm", 0, "variance ", "variance 1"), ("norm", 2, "by ", "by 9"),
                                    ("parts", 2, "out ", "out 1"), ("feed_forward", 1, "**", "**9"),
                                    ("bend", 0, "alone leave ", "alone leave 1"), ("dropout", 0, "sets ", "sets 9"),
                                    ("depth", 0, "from ", "from 9"), ("depth", 1, "becomes ", "becomes 9")):
        planted = list(said[section])
        assert old in planted[line]
        planted[line] = planted[line].replace(old, new)
        assert wrong(said | {section: planted}, trace, place) == [section]


@pytest.mark.parametrize("kind", ["layer", "layer_bare", "rms"])
def test_what_the_other_normalisation_would_do_is_torchs(kind):
    width, bias = 24, RNG.normal(size=24).astype(np.float32) if kind == "layer" else None
    x, gain = RNG.normal(0.4, 1, size=(3, width)).astype(np.float32), RNG.normal(1, 0.2, width).astype(np.float32)
    one, b = torch.tensor(gain), None if bias is None else torch.tensor(bias)
    own = (functional.rms_norm(torch.tensor(x), (width,), one, 1e-5) if kind == "rms"
           else functional.layer_norm(torch.tensor(x), (width,), one, b, 1e-5))
    other = (functional.layer_norm(torch.tensor(x), (width,), one, None, 1e-5) if kind == "rms"
             else functional.rms_norm(torch.tensor(x), (width,), one, 1e-5))
    norm = Norm("norm", kind.removesuffix("_bare"), x, own.numpy(), gain, bias, 1e-5)
    said = norm_numbers(PROSE["norm"], norm, 1, *_both(norm, 1))
    assert said["differs"] == pytest.approx(float((other[1] - own[1]).norm() / own[1].norm()), rel=1e-4)
    assert said["error"] < 1e-5 and said["unbiased"] == pytest.approx((24 / 23) ** 0.5)


def test_outliers_are_counted():
    stream = np.ones((3, 20), np.float32)
    assert outlier_count(stream) == 0
    stream[:, 4] = 9
    assert outlier_count(stream) == 1


def test_more_units_leave_less_at_the_ends():
    assert left_over(32) < 0.01 < left_over(8) < left_over(0)


def test_before_the_answer_nothing_says_over_what_the_mean_is_taken():
    page = shown("block", box="add1")
    words = " ".join([*page.words, *page.alts.values(), *(line for part in (page.notices, page.more)
                                                          for lines in part.values() for line in lines)])
    assert "norm" not in page.notices and "block-means" not in page.charts and "block-norm" not in page.charts
    for leak in ("per token, over", "16 means", "one mean", "each token is centred"):
        assert leak not in words.lower()


def test_the_controls_of_old_links_are_there():
    names = [each.name for each in pages()["block"][0].controls]
    assert {"guess", "box", "block", "word", "which", "depth"} <= set(names) and "attention" in BOXES
