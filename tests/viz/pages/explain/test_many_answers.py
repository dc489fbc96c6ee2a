"""What is said over many texts is read a second time: of every head, from ranks, means and a bootstrap of their own."""
import re
from dataclasses import replace

import numpy as np
import pytest

from model.core.query import Kind
from model.studies.attribution import REMOVALS, Attribution
from model.studies.faithfulness.report import report
from tests.conftest import LONG
from tests.model.studies.faithfulness.test_report import made
from tests.readings import MODELS, matrices, printed, record_of
from tests.viz.pages.explain.test_one_answer import _rolled, attributions, orders, standardised, texts
from viz.pages.explain.claims import set_claims

DRAWS = np.random.default_rng(2019).integers(0, 5, (2000, 5))   # of five pairs of texts
INTERVAL = r"(−?\d\.\d\d) \((−?\d\.\d\d) to (−?\d\.\d\d)\)"


def even(found: Attribution, layers: int) -> float:
    """What rollout agrees with the effects where a model that reads left to right looks evenly."""
    count = len(found.tokens)
    use = np.array([not special and at != found.place and all(np.isfinite(found.removed[name][at]) for name in REMOVALS)
                    for at, special in enumerate(found.tokens.special)])
    looks = np.tri(count)
    flat = _rolled([looks / looks.sum(1, keepdims=True)] * layers)[found.place][use]
    effects = standardised(np.array([found.removed[name][use] for name in REMOVALS]))
    return float((standardised(flat[None]) @ effects.T).mean())


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """The mean of ten texts, and the middle 95 % of the means of five pairs that are drawn again and again."""
    means = values.reshape(5, 2)[DRAWS].reshape(2000, 10).mean(1)
    return (float(values.mean()), *map(float, np.quantile(means, (0.025, 0.975))))


def said_so(numbers: tuple[str, ...], values: np.ndarray) -> bool:
    return all(number in printed(value, ".2f") for number, value in zip(numbers, interval(values), strict=True))


@pytest.mark.parametrize("model", [*MODELS[1:], "induction", *(["minilm"] if LONG else [])])
def test_over_ten_texts_is_said_of_every_head_what_numbers_computed_anew_show(model):
    found = attributions(model)
    readings = [orders(each, matrices(record_of(model, text)))
                for each, (text, _) in zip(found, texts(model), strict=True)]
    measured = {name: np.array([each[name] for each, _ in readings]) for name in readings[0][0]}
    top = np.array([each for _, each in readings])
    flat = np.array([even(each, len(each.layers)) for each in found]) if found[0].kind is Kind.CAUSAL else None
    rows = [(layer, head) for layer, heads in zip(found[0].layers, found[0].by_head["weight"], strict=True)
            for head in range(len(heads))]
    ranked = np.mean([sum(not special and at != each.place and all(np.isfinite(each.removed[name][at])
                                                                   for name in REMOVALS)
                          for at, special in enumerate(each.tokens.special)) for each in found])
    for layer, head in rows:
        said = set_claims(report(found, [str(text // 2) for text in range(10)], layer, head), layer, head, len(rows))
        assert said[0] == f"10 texts, {ranked:.1f} ranked tokens each; 10 have the five that a correlation needs."
        assert said_so(re.search(rf"agree at {INTERVAL}", said[1]).groups(), top)
        _checked_closest(said[2], measured, layer, head)
        own, mean = re.findall(INTERVAL, said[3])
        assert said_so(own, measured[f"attention {layer}·{head}"]) and f"open head {layer}·{head}:" in said[3]
        assert said_so(mean, measured[f"attention, layer {layer}"])
        assert len(said) == 5 + (flat is not None)
        if flat is not None:
            rollout, looks_evenly = re.findall(INTERVAL, said[4])
            assert said[4].startswith("*rollout*") and said_so(rollout, measured["rollout"])
            assert said_so(looks_evenly, flat)
        _checked_held_out(said[-1], measured, rows)


def _checked_closest(claim: str, measured: dict[str, np.ndarray], layer: int, head: int) -> None:
    """All measures with the largest printed mean are named, each with its interval, and no other."""
    own = {f"attention {layer}·{head}", f"attention, layer {layer}", f"‖αf(x)‖ {layer}·{head}",
           f"‖αf(x)‖, layer {layer}", f"{layer} with residual", f"{layer} with residual and norm", "rollout",
           "gradient × input"}
    there = {name: values for name, values in measured.items() if name in own and np.isfinite(values).all()}
    if any(len(printed(values.mean(), ".2f")) > 1 for values in there.values()):
        return
    best = max(float(f"{values.mean():z.2f}") for values in there.values())
    names = [name for name, values in there.items() if float(f"{values.mean():z.2f}") == best]
    told = claim.split(", ρ = ")[0]
    assert set(re.findall(r"\*(.+?)\*", told)) == {name.replace(f"{layer} with", "‖αf(x)‖ with") for name in names}
    assert ("alike in these digits" in claim) == (len(names) > 1)
    intervals = re.findall(INTERVAL, claim)
    assert len(intervals) == len(names)
    assert all(any(said_so(each, there[name]) for name in names) for each in intervals), claim


def _checked_held_out(claim: str, measured: dict[str, np.ndarray], rows: list[tuple[int, int]]) -> None:
    """The best head of either half of the pairs, and what it has on the other half."""
    values = np.array([measured[f"attention {layer}·{head}"] for layer, head in rows])
    half = np.arange(10) // 2 % 2
    best = [int(values[:, half == side].mean(1).argmax()) for side in (0, 1)]
    names = list(dict.fromkeys("{}·{}".format(*rows[at]) for at in best))
    assert f"({' and '.join(names)}) has, on the other half" in claim and f"best of {len(rows)} heads" in claim
    held = np.where(half == 1, values[best[0]], values[best[1]])
    assert said_so(re.search(INTERVAL, claim).groups(), held)


@pytest.mark.parametrize("value, words", [
    ((0.5, 0.4), "worth: *attention 3·1*, ρ = **0.50"), ((0.4, 0.5), "worth: *attention, layer 3*, ρ = **0.50"),
    ((0.5, 0.496), "alike in these digits: *attention 3·1* and *attention, layer 3*, ρ = **0.50"),
    ((0.5, 0.494), "worth: *attention 3·1*, ρ = **0.50"), ((-0.2, -0.1), "worth: *attention, layer 3*, ρ = **−0.10")])
def test_a_measure_is_closest_only_where_none_prints_the_same(value, words):
    whole = report([made(seed) for seed in range(8)], [str(seed) for seed in range(8)], 3, 1)
    means = {name: tuple(replace(mean, value=number) for mean in whole.methods[name])
             for name, number in zip(("weight_head", "weight_layer"), value, strict=True)}
    assert words in " ".join(set_claims(replace(whole, methods=means), 3, 1, 4))


@pytest.mark.parametrize("absent, count, gone, there", [
    ((), 4, (), ("open head", "looks evenly", "on the other half")),
    (("rollout_even",), 4, ("looks evenly",), ("open head", "on the other half")),
    (("rollout",), 4, ("looks evenly",), ("open head",)),
    (("weight_layer",), 4, ("open head",), ("looks evenly",)),
    ((), 1, ("on the other half",), ("open head", "looks evenly"))])
def test_what_has_no_numbers_is_not_told(absent, count, gone, there):
    whole = report([made(seed) for seed in range(8)], [str(seed) for seed in range(8)], 3, 1)
    means = {name: tuple(replace(mean, texts=0) for mean in each) if name in absent else each
             for name, each in whole.methods.items()}
    said = " ".join(set_claims(replace(whole, methods=means), 3, 1, count))
    assert all(words in said for words in there) and not any(words in said for words in gone)
