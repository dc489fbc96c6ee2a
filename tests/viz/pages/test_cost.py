"""What the lesson on cost says, at the ends and in the middle of its controls, against numbers computed anew."""
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import optimize, stats

from model.ask import sources
from model.core.limits import LIMITS
from model.lessons import cost
from tests.conftest import LONG
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.pages.cost import PRESETS, SCORES, TILES, _orders
from viz.text import strings

WORDS = strings("lessons/cost")
ORDERS = WORDS["types"]["orders"]
# (width, scores, keys in a tile, tiles read, n, d, k, r, column, from, to)
NAMES = ("width", "s", "tile", "step", "n", "d", "k", "r", "column", "from", "to")
DRAWN = [place / 16 for place in range(17)]   # a curve by hand, upwards
POSITIONS = [
    (64, PRESETS["rising"], 1, 0, 2, 1, 2, 1, "complexity", 1, 1),
    (256, PRESETS["falling"], 4, 3, 1024, 256, 8, 64, "steps", 8, 1),
    (512, PRESETS["equal"], 12, 12, 65_536, 4096, 64, 4096, "path", 4, 8),
    (512, SCORES.start, 3, 2, 512, 512, 4, 64, "complexity", 2, 7),
    *([(512, SCORES.start, tile, 2, n, d, 4, r, "path", one, 5)
       for tile, n, d, r, one in zip(TILES, (16, 64, 512, 512, 4096, 65_536), (16, 4096, 512, 256, 64, 1024),
                                     (4, 64, 4096, 8, 32, 4096), range(1, 7), strict=True)] if LONG else [])]


@pytest.mark.parametrize(("kind", "at", "wanted"), [
    ("restricted", (64, 8, 3, 16), ["r n d", "1", "n / r"]), ("restricted", (64, 8, 3, 65), ["n² d", "1", "1"]),
    ("convolution", (64, 8, 3, 16), ["k n d²", "1", "log_k n"]), ("convolution", (4, 8, 7, 2), ["k n d²", "1", "1"]),
    ("recurrent", (4, 8, 7, 9), ["n d²", "n", "n"])])
def test_a_number_is_called_what_it_is(kind, at, wanted):
    assert _orders(ORDERS, kind, at) == wanted


def bytes_of(n: int, d: int) -> dict[str, int]:
    """What the three ways hold, float32: two matrices of n × n per head of 64, one number per row, a band of 129."""
    heads = d // 64
    return {"plain": 4 * (2 * heads * n * n + n * d), "fused": 4 * (heads * n + n * d),
            "window": 4 * (2 * heads * n * min(n, 129) + n * d)}


def apart(one: int, other: int) -> dict[str, int]:
    """Layers or steps until something of both is in one unit: two sets that grow by one place to each side per layer,
    a state handed on place by place, one look."""
    grown, layers = ({one}, {other}), 0
    while not grown[0] & grown[1]:
        grown = tuple({place + by for place in side for by in (-1, 0, 1)} for side in grown)
        layers += 1
    return {"convolution": layers, "recurrent": len(range(min(one, other), max(one, other))),
            "attention": int(one != other)}


def about_tiles(controls: dict) -> tuple[int, int, float]:
    """(later tiles with a larger score, later tiles, mean place looked at)."""
    scores, tile = np.array(controls["s"]), controls["tile"]
    parts = [scores[start:start + tile] for start in range(0, 12, tile)]
    larger = sum(part.max() > np.concatenate(parts[:place]).max() for place, part in enumerate(parts) if place)
    weights = np.exp(scores) / np.exp(scores).sum()
    return larger, len(parts) - 1, float(weights @ np.arange(12))


def cheapest(n: int, d: int, k: int, r: int) -> str:
    """The names of the least product, as they are printed."""
    cost = {"attention": n * n * d, "recurrent": n * d * d, "convolution": k * n * d * d,
            "restricted": min(r, n) * n * d}
    return "** and **".join(WORDS["types"]["names"][kind] for kind in cost if cost[kind] == min(cost.values()))


def rules_at(controls: dict) -> Rules:
    """What must be true at this position."""
    width, one, other = controls["width"], controls["from"], controls["to"]
    n, d, k, r = (controls[name] for name in "ndkr")
    end, half = bytes_of(131_072, width), bytes_of(65_536, width)
    grows = {way: end[way] / half[way] for way in end}
    share = {tokens: tokens / (tokens + 6 * width) for tokens in (64, 131_072)}
    larger, later, place = about_tiles(controls)
    ways = apart(one, other)
    paths = {f"alt cost-path-{kind}": lambda line, kind=kind, extra=extra: agrees(line, *extra, one, other, 8,
                                                                                  ways[kind])
             for kind, extra in (("convolution", (3,)), ("recurrent", ()), ("attention", ()))}
    return paths | {
        "notice held 0": lambda line: agrees(line, 2, 1, 65_536, 131_072, grows["plain"], grows["fused"]),
        "notice held 1": lambda line: agrees(line, 131_072, width, end["plain"] / 1e9, end["fused"] / 1e9),
        "notice held 2": lambda line: agrees(line, 1024, 64, 64, 1024**2, 64**2),
        "alt cost-held": lambda line: agrees(line, width, 65_536, 131_072, grows["plain"], grows["fused"],
                                             grows["window"]),
        "notice counted 0": lambda line: agrees(line, 6, 6 * width, 64, share[64], 131_072, share[131_072]),
        "more counted 0": lambda line: agrees(line, 512, 6, 6 * 512, 768, 6 * 768, 512),
        "more counted 1": lambda line: agrees(line, 64),
        "alt cost-counted": lambda line: agrees(line, width, 64, 131_072, 6 * width),
        "notice tiles 1": lambda line: agrees(line, *([larger] if larger else []), later),
        "notice tiles 2": lambda line: float(line.split("**")[1]) < 1e-12,
        "more tiles 0": lambda line: agrees(line, place),
        "more tiles 1": lambda line: all(number < 2e-6 for number, _ in printed(line) if number < 1),
        "alt cost-tiles": lambda line: agrees(line, *(min(controls["step"], later + 1), later + 1),
                                              min(12, controls["step"] * controls["tile"]), 12),
        "notice paths 0": lambda line: (agrees(line, abs(one - other), *ways.values()) if one != other
                                        else "no distance" in line),
        "notice types 0": lambda line: agrees(line, n, d) and f"that of **{cheapest(n, d, k, r)}**." in line,
        "more types 0": lambda line: agrees(line, 0.76, 1.04, 1.09, 5),
        "alt cost-types": lambda line: agrees(line, n, d, k, r) and line.startswith(
            WORDS["types"]["columns"][controls["column"]])}


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: f"width {position[0]}")
def test_every_sentence_is_true_where_it_stands(position):
    controls = dict(zip(NAMES, position, strict=True))
    page = shown("cost", guess="b", again=50, drawn=DRAWN, **controls)
    assert wrong(sentences(page), rules_at(controls)) == []
    assert len(page.charts["cost-held"]["data"]) == 4, "three ways and the curve by hand"


def test_a_wrong_sentence_is_caught_and_nothing_is_said_before_the_answer():
    controls = dict(zip(NAMES, POSITIONS[1], strict=True))
    covered = shown("cost", **controls)
    assert not {"cost-held", "cost-seconds"} & set(covered.charts) and "held" not in covered.notices
    assert not any("fourfold, memory" in line and "Predict" not in line for line in covered.words)
    said, rules = sentences(covered), rules_at(controls)
    planted = {"notice counted 0": said["notice counted 0"].replace("1,536", "1,537"),
               "notice tiles 1": "Here 2 later tiles bring a larger score, of 2.",
               "notice paths 0": said["notice paths 0"].replace("7 steps", "6 steps"),
               "more counted 9": "A sentence of 7 words that nothing holds."}
    for place, line in planted.items():
        assert len(wrong(said | {place: line}, rules)) == 1, place


def test_paths_join_what_they_should():
    from model.lessons import cost

    for kind in ("convolution", "recurrent", "attention"):
        for one in range(8):
            for other in range(8):
                lit, joined = cost.path(kind, one, other), set(cost.units(kind, 8, one, other))
                assert set(lit) <= joined and cost.path_length(kind, one, other) == apart(one, other)[kind]


def measured(width: int, again: int) -> dict[str, dict[int, cost.Cost]]:
    """What this process measured, by way and length."""
    answers = {way: {n: sources.cached(cost.CostQuery(way, n, width, again)) for n in 64 * 2 ** np.arange(12)}
               for way in ("plain", "fused", "window", "linear")}
    return {way: {int(n): each for n, each in found.items() if each is not None} for way, found in answers.items()}


def steepness(found: dict[int, float]) -> float:
    """The slope of the logarithms over the four longest lengths, by scipy's regression."""
    return stats.linregress(np.log(list(found)[-4:]), np.log(list(found.values())[-4:])).slope


def passes(one: dict[int, float], other: dict[int, float]) -> float | None:
    """Where the first takes longer than the second from then on: the last root between the measured points."""
    lengths = sorted(one.keys() & other.keys())
    gap = np.log([one[n] / other[n] for n in lengths])
    if gap[-1] <= 0 or (gap > 0).all():
        return None
    last = max(place for place in range(len(gap)) if gap[place] <= 0)
    return float(np.exp(optimize.brentq(lambda log: np.interp(log, np.log(lengths), gap), np.log(lengths[last]),
                                        np.log(lengths[last + 1]))))


def measured_rules(width: int, again: int) -> Rules:
    """Of the measurement, from its own answers."""
    found = measured(width, again)
    seconds, peak = ({way: {n: getattr(each, field) for n, each in of.items()} for way, of in found.items()}
                     for field in ("seconds", "peak"))
    shared = max(seconds["plain"].keys() & seconds["fused"].keys())
    roots = [root for way in ("plain", "fused") if (root := passes(seconds[way], seconds["linear"])) is not None]
    slopes = [[steepness(of[way]) for way in found] for of in (seconds, peak)]
    longest = max(seconds["plain"])
    return {
        "notice measured 0": lambda line: agrees(line, *slopes[0], 4, 2, 2, 1, 1, shared,
                                                 seconds["plain"][shared] / seconds["fused"][shared]),
        "notice measured 1": lambda line: agrees(line, *slopes[1][:2], shared, peak["plain"][shared] / 2**20,
                                                 peak["fused"][shared] / 2**20),
        "notice measured 2": lambda line: agrees(line, 6, 6 * width, *roots) and (
            line.count("no such") == 2 - len(roots)),
        "more measured 1": lambda line: agrees(line, 4 * 256 * 640 / 2**20),
        "more measured 3": lambda line: torch.__version__ in line and "more than 16 MB" in line and "0.05 s." in line,
        "alt cost-seconds": lambda line: agrees(line, width, 64, longest),
        "alt cost-peak": lambda line: agrees(line, width, longest)}


def test_what_is_said_of_a_measurement_is_true_of_what_was_measured(monkeypatch):
    """The real one, as far as a twentieth of a second and 16 MB go."""
    monkeypatch.setattr(cost, "LIMITS", replace(LIMITS, measure_bytes=2**24))
    monkeypatch.setattr(cost, "LONGEST", 0.05)
    controls = dict(zip(NAMES, POSITIONS[0], strict=True)) | {"again": 99}
    page = shown("cost", guess="b", run=True, **controls)
    rules = rules_at(controls) | measured_rules(64, 99)
    said = sentences(page)
    assert wrong(said, rules) == []
    found = measured(64, 99)
    assert {way: list(of) for way, of in found.items()}["plain"] == [64, 128, 256, 512, 1024]
    table = next(each for each in page.words if each.startswith(WORDS["measured"]["table_head"])).splitlines()[2:]
    assert len(table) == len(found)
    for row, of in zip(table, found.values(), strict=True):
        n, last = list(of.items())[-1]
        assert f"| {n:,} | {last.seconds:.2g} s, n^{steepness({n: each.seconds for n, each in of.items()}):.2f}" in row
        assert f"| {last.peak / 2**20:,.1f} MB, n^{steepness({n: each.peak for n, each in of.items()}):.2f} |" in row
    planted = {place: said[place].replace(*change) for place, change in {
        "notice measured 0": ("n^", "n^1"), "notice measured 1": ("they held ", "they held 1"),
        "notice measured 2": ("384", "385"), "more measured 3": ("16 MB", "17 MB")}.items()}
    assert {each.split(":")[0] for each in wrong(said | planted, rules)} == set(planted)
