"""What is said of one answer is read a second time: of every head on ten sentences, from weights computed anew."""
import functools
import random
import re
import string

import numpy as np
import pytest
from scipy import stats

from model.ask import sources
from model.core import heads
from model.core.query import Kind
from model.core.statistics import spearman
from model.studies.attribution import REMOVALS, Attribution, AttributionQuery
from tests.readings import MODELS, NUMBER, ask, matrices, near, printed, record_of, sentences
from viz.pages.explain.claims import answer_claims, share_claim, value_claim


def texts(model: str) -> list[tuple[str, str]]:
    """(text, what a vector is compared with) of ten: the sentences of every reading, or random signs that repeat."""
    if model != "induction":
        return [(text, twin if model == "minilm" else "") for text, twin, *_ in sentences(model)]
    drawn = random.Random(model)
    pieces = ["".join(drawn.sample(string.ascii_letters, 12)) for _ in range(10)]
    return [(piece + piece[:7], "") for piece in pieces]


@functools.cache
def attributions(model: str) -> list[Attribution]:
    return [ask(AttributionQuery(sources.open_query(model, text), other=other, without_flow=True))
            for text, other in texts(model)]


def orders(found: Attribution, weights: np.ndarray) -> tuple[dict[str, np.ndarray], float]:
    """({measure, as sentences name it: the mean of its three rank correlations}, the mean of the three with one
    another), computed anew. weights: float64 (layer, head, query, key)."""
    place, count = found.place, len(found.tokens)
    rows = (weights.mean(2) if place is None else weights[:, :, place])[..., :count]
    for at, layer in enumerate(found.by_head["weight"]):
        np.testing.assert_allclose(layer, rows[at], atol=2e-6)
    scores = {}
    for at, layer in enumerate(found.layers):
        for head in range(rows.shape[1]):
            scores[f"attention {layer}·{head}"] = found.by_head["weight"][at][head]
            scores[f"‖αf(x)‖ {layer}·{head}"] = found.by_head["norm"][at][head]
        scores[f"attention, layer {layer}"] = found.by_head["weight"][at].mean(0)
        for name, stage in ((f"‖αf(x)‖, layer {layer}", "norm"), (f"{layer} with residual", "norm_residual"),
                            (f"{layer} with residual and norm", "norm_layernorm")):
            if len(found.by_layer[stage][at]):
                scores[name] = found.by_layer[stage][at]
    scores |= {"rollout": found.scores["rollout"], "gradient × input": found.scores["gradient"]}
    use = np.array([not special and at != place and all(np.isfinite(found.removed[name][at]) for name in REMOVALS)
                    for at, special in enumerate(found.tokens.special)])
    effects = standardised(np.array([found.removed[name][use] for name in REMOVALS]))
    return (dict(zip(scores, (standardised(np.array([each[use] for each in scores.values()])) @ effects.T).mean(1),
                     strict=True)), float((effects @ effects.T)[np.triu_indices(3, 1)].mean()))


def standardised(scores: np.ndarray) -> np.ndarray:
    """The ranks of sizes in rows, with mean 0 and length 1; NaN where all are equal."""
    sizes = np.abs(np.float64(scores))
    ranks = stats.rankdata(np.round(sizes / sizes.max(1, keepdims=True), 10), axis=1)
    ranks -= ranks.mean(1, keepdims=True)
    lengths = np.linalg.norm(ranks, axis=1, keepdims=True)
    return ranks / np.where(lengths > 0, lengths, np.nan)


@pytest.mark.parametrize("model", [*MODELS, "induction"])
def test_of_every_head_is_said_what_ranks_computed_anew_show(model, monkeypatch):
    remember = functools.cache(lambda *rows: spearman(*map(np.array, rows)))   # heads of a layer ask for the same
    monkeypatch.setattr("model.core.statistics.spearman",
                        lambda *rows: remember(*(tuple(row.tolist()) for row in rows)))
    for (text, _), found in zip(texts(model), attributions(model), strict=True):
        weights = matrices(record_of(model, text))
        measured, top = orders(found, weights)
        for at, head in np.ndindex(weights.shape[:2]):
            layer = found.layers[at]
            said = answer_claims(found, layer, head)
            assert re.search(r"ρ = \*\*(.+?)\*\* on average", said[0])[1] in printed(top, ".2f")
            _checked_closest(said[1], measured, layer, head)
            _checked_rest(said[2:], found, weights, at, head)


def _checked_closest(claim: str, measured: dict[str, float], layer: int, head: int) -> None:
    """The measures that are named print the largest mean, and no other does; both attentions have theirs."""
    own = {f"attention {layer}·{head}", f"attention, layer {layer}", f"‖αf(x)‖ {layer}·{head}",
           f"‖αf(x)‖, layer {layer}", f"{layer} with residual", f"{layer} with residual and norm", "rollout",
           "gradient × input"}
    there = {name: rho for name, rho in measured.items() if name in own and np.isfinite(rho)}
    best = max(float(f"{rho:z.2f}") for rho in there.values())
    expected = {name.replace(f"{layer} with", "‖αf(x)‖ with") for name, rho in there.items()
                if float(f"{rho:z.2f}") == best}
    if all(len(printed(rho, ".2f")) == 1 for rho in there.values()):
        assert set(re.findall(r"\*(.+?)\*", claim)) == expected, (claim, there)
        assert ("None orders the tokens" in claim) == (best <= 0)
        assert ("each, are" in claim) == (len(expected) > 1 and best > 0)
        assert f"{best:z.2f}".replace("-", "−") in claim
    for words, name in (("the open head's attention has", f"attention {layer}·{head}"),
                        ("its layer's mean", f"attention, layer {layer}")):
        number = re.search(rf"{words} (–|−?\d\.\d\d)", claim)[1]
        assert number in (printed(there[name], ".2f") if name in there else "–"), claim


def _checked_rest(said: list[str], found: Attribution, weights: np.ndarray, at: int, head: int) -> None:
    """What is position, what the row puts on tokens that are not ranked, and the first token of a decoder."""
    place, count = found.place, len(found.tokens)
    row = (weights[at, head].mean(0) if place is None else weights[at, head, place])[:count]
    outside = [token for token in range(count) if found.tokens.special[token] or token == place
               or not np.isfinite([found.removed[name][token] for name in REMOVALS]).all()]
    assert re.search(r"puts (\d+)% of its row", said[found.kind is Kind.CAUSAL])[1] in printed(
        100 * row[outside].sum(), ".0f")
    assert len(said) == (3 if found.kind is Kind.CAUSAL else 1)
    if found.kind is not Kind.CAUSAL:
        return
    inside, looks = [token for token in range(count) if token not in outside], np.tri(weights.shape[2])
    even = _rolled([looks / looks.sum(1, keepdims=True)] * len(weights))[place, inside]
    rho = stats.spearmanr(_rolled(list(weights.mean(1)))[place, inside], even).statistic
    assert re.search(r"ρ = (.+?)(?: between|\.$)", said[0])[1] in printed(rho, ".2f"), said[0]
    case = "nothing about" if rho > 0.995 else "little about" if rho >= 0.895 else "is not just position"
    assert case in said[0]
    share, mean, rank, of, apart, ranked = re.search(
        r"takes (\d+)% .* and (\d+)% .* rank (\d+) of (\d+)\..* from (.+?) into (.+?)\. So", said[2]).groups()
    layer_row = weights[at, :, place, :count].mean(0)
    assert share in printed(100 * row[0], ".0f") and mean in printed(100 * layer_row[0], ".0f")
    sizes = np.abs(found.removed["deleted"])
    assert (int(rank), int(of)) == (1 + sum(sizes[token] > sizes[0] for token in inside), len(inside) + 1)
    both = [np.mean([stats.spearmanr(layer_row[tokens], np.abs(found.removed[name][tokens])).statistic
                     for name in ("deleted", "replaced")]) for tokens in (inside, [0, *inside])]
    assert apart in printed(both[0], ".2f") and ranked in printed(both[1], ".2f"), (said[2], both)
    apart, ranked = (float(each.replace("−", "-")) for each in (apart, ranked))
    assert ("would flatter" in said[2], "would not flatter" in said[2]) == (ranked > apart, ranked < apart)


def _rolled(layers: list[np.ndarray]) -> np.ndarray:
    """The product of all layers, each half itself and half what stays."""
    product = np.eye(len(layers[0]))
    for weights in layers:
        product = (weights + np.eye(len(weights))) / 2 @ product
    return product


@pytest.mark.parametrize("model", MODELS)
def test_of_every_head_is_said_what_its_shares_computed_anew_show(model):
    for text, *_ in sentences(model):
        record = record_of(model, text)
        weights, names = matrices(record), record.maps[0].queries.texts
        for at, layer in enumerate(record.maps[0].layers):
            shares = weights[at] / weights[at].sum(0)
            for head in range(len(shares) if len(shares) > 1 else 0):
                claim = share_claim(heads.weights(layer, head), heads.share_among_heads(layer, head), (names, names),
                                    len(shares))
                _checked_shares(claim, weights[at, head], shares[head], list(names), len(shares))


def _checked_shares(claim: str, weights: np.ndarray, shares: np.ndarray, names: list[str], count: int) -> None:
    """The cell that is named has no darker one, and as many are loud and faint as are counted."""
    low, high = printed(shares.sum(1).min(), ".2f"), printed(shares.sum(1).max(), ".2f")
    sums = re.search(r"sum to (\S+)(?: up to (\S+) instead of 1|, too)\.", claim)
    assert sums[1] in low and (sums[2] or "1.00") in high, claim
    row, column, share, weight = re.search(
        rf"darker than \*(.+?)\* → \*(.+?)\* with {NUMBER}, whose weight is {NUMBER}\.", claim).groups()
    places = [(at, to) for at, to in np.ndindex(shares.shape) if
              [names[at], names[to]] == [re.sub(r"\\(.)", r"\1", name) for name in (row, column)]]
    assert any(share in printed(shares[place], ".2f") and weight in printed(weights[place], ".4f")
               and shares[place] > shares.max() - 1e-5 for place in places), (claim, shares.max())
    loud = [int(((shares > 2 / count + edge) & (weights < 0.05 - edge)).sum()) for edge in (1e-5, -1e-5)]
    counted = re.search(r"Of (\d+) cells? \*\*(\d+)\*\*", claim)
    assert loud[0] <= (int(counted[2]) if counted else 0) <= loud[1] and ("No cell has" in claim) == (counted is None)
    assert counted is None or int(counted[1]) == weights.size


@pytest.mark.parametrize("model", MODELS)
def test_the_number_that_is_explained_is_the_records(model):
    for (text, other), found in zip(texts(model), attributions(model), strict=True):
        record, claim = record_of(model, text), value_claim(found)
        if other:
            one, twin = (np.float64(each.prediction.vector) for each in (record, record_of(model, other)))
            assert re.search(r"\*\*(.+?)\*\*", claim)[1] in printed(
                float(one @ twin / np.sqrt((one @ one) * (twin @ twin))), ".4f")
            continue
        best, chances = record.prediction.texts[0], record.prediction.probabilities[0]
        assert claim.startswith(f"The model holds *{best[0]}* against *{best[1]}*:") and "has rank 1)" in claim
        assert near(re.search(r"\*\*(.+?)\*\*", claim)[1], float(np.log(chances[0] / chances[1])))
