"""The whole lesson without a browser, at the ends of its controls: what stands beside the numbers fits them."""
import re
from functools import cache

import numpy as np
import pytest
from scipy import linalg, special, stats

from model.ask import sources
from model.core.models import TraceQuery
from model.core.query import Kind
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.state import State
from viz.text import strings

PROSE = strings("lessons/information")


def by_hand(toy: str, n: int) -> float:
    """I of a head that does one thing, from its joint distribution."""
    rows = {"causal": np.tril(np.ones((n, n))), "itself": np.eye(n), "first": np.eye(n)[np.zeros(n, int)]}[toy]
    joint = rows / rows.sum(1, keepdims=True) / n
    return float(stats.entropy(joint.ravel(), np.outer(joint.sum(1), joint.sum(0)).ravel(), base=2))


def rows_of(toy: str, n: int) -> np.ndarray:
    """The rows of a fully sharp head that does one thing."""
    made = {"uniform": np.ones((n, n)), "causal": np.tril(np.ones((n, n))), "itself": np.eye(n),
            "first": np.eye(n)[np.zeros(n, int)], "previous": np.eye(n)[np.maximum(np.arange(n) - 1, 0)]}[toy]
    return made / made.sum(1, keepdims=True)


def bits_of(rows: np.ndarray) -> list[float]:
    """(entropy of the mean row, mean entropy of the rows, their difference), by scipy."""
    whole, each = stats.entropy(rows.mean(0), base=2), stats.entropy(rows, base=2, axis=-1).mean()
    return [float(whole), float(each), float(whole - each)]


@cache
def minilm(texts: tuple[str, ...] = ()) -> tuple[list[list[np.ndarray]], dict[str, np.ndarray]]:
    """(for each text the rows of every head, layer by layer; the matrices of layer 3) of the model that the page opens
    with; without texts, of the text that it opens with."""
    state = State()
    queries = [sources.open_query(state.model, text) for text in texts or (state.text,)]
    trace = sources.ask(TraceQuery(queries[0])).result(120)
    heads = [[special.softmax(np.float64(q) @ np.float64(k).T / np.sqrt(q.shape[-1]), -1)
              for layer in sources.ask(query).result(120)[Kind.SELF].layers
              for q, k in zip(layer.query, layer.key, strict=True)] for query in queries]
    three = trace.attention(Kind.SELF, 3)
    return heads, {name: np.float64(getattr(three, name).weight) for name in ("query", "key", "value")}


def toy_rules(toy: str, n: int, sharp: float) -> Rules:
    """Of the head that does one thing with a share of its weight, and else looks at all evenly."""
    rows = rows_of(toy, n)
    own = bits_of(rows if toy in ("uniform", "causal") else sharp * rows + (1 - sharp) / n)
    of = {name: bits_of(rows_of(name, n))[2] for name in PROSE["toy"]["names"]}
    return {"notice toy 0": lambda line: agrees(line, *own),
            "notice toy 1": lambda line: agrees(line, 0, 0, n, np.log2(n)),
            "notice toy 2": lambda line: agrees(line, of["causal"]),
            "more toy 0": lambda line: agrees(line, *(of[name] for name in (
                "uniform", "causal", "first", "itself", "previous"))),
            "alt information-toy": lambda line: agrees(line, n, 1), "alt information-bits": lambda line: agrees(
                line, *own)}


def numbers_of(heads: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one text: entropy, I and distance of each head (head, 3), those of even attention (3), and the divergence of
    every two heads (head, head); by scipy."""
    n = len(heads[0])
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    found = np.array([[bits_of(rows)[1], bits_of(rows)[2], (rows * apart).sum(1).mean()] for rows in heads])
    stacked = np.array(heads)
    far = np.array([bits_of_pair(one, stacked).mean(-1) for one in heads])
    return found, np.array([np.log2(n), 0, apart.mean()]), far


@cache
def numbers_at(text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of one text of MiniLM's."""
    return numbers_of(minilm((text,))[0][0])


def head_rules(texts: tuple[str, ...] = ()) -> Rules:
    """Of MiniLM's 72 heads: scipy's entropies, divergences and distances of their rows, means over the texts."""
    each = [numbers_at(text) for text in texts or (State().text,)]
    found, even, far = (np.mean([one[place] for one in each], axis=0) for place in range(3))
    far = np.sqrt(far)
    ends = [(column.min(), column.max(), blank) for column, blank in zip(found.T, even, strict=True)]
    layer = np.arange(72) // 12
    same = (layer[:, None] == layer) & ~np.eye(72, dtype=bool)
    most, least = (f"{place // 12}·{place % 12}" for place in (found[:, 1].argmax(), found[:, 1].argmin()))

    def closest(line: str) -> bool:
        own, other = (int(a) * 12 + int(b) for a, b in re.findall(r"(\d+)·(\d+)", line))
        row = np.where(np.arange(72) == own, np.inf, far[own])
        return int(row.argmin()) == other and f"at {row.min():.3f}," in line

    return {"notice layers 0": lambda line: agrees(line, (found[:, 0] < even[0] / 2).sum(), 72),
            "notice layers 1": lambda line: f"most in **{most}**" in line and f"least in {least} " in line and agrees(
                re.sub(r"\d+·\d+", "", line), found[:, 1].mean(), found[:, 1].max(), found[:, 1].min()),
            "notice layers 2": lambda line: agrees(line, 0, 0, 72),
            "notice map 0": lambda line: printed(line)[0][0] > 0.2 and agrees(line.split("called")[1], 0.05, 0.1, 0.2),
            "notice map 1": lambda line: agrees(line, far[same].mean(), far[layer[:, None] != layer].mean()),
            "more map 0": lambda line: printed(line)[0][0] < printed(line)[1][0], "more map 1": closest,
            "alt information-map": lambda line: printed(line)[0][0] == 72, "alt information-kept": bool,
            **{f"alt information-{name}": lambda line, end=end: agrees(line, *end)
               for name, end in zip(("entropy", "mutual", "distance"), ends, strict=True)}}


def bits_of_pair(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Jensen–Shannon divergence in bits of each row, by two relative entropies."""
    middle = (one + other) / 2
    return (special.rel_entr(one, middle) + special.rel_entr(other, middle)).sum(-1) / 2 / np.log(2)


def subspace_rules(matrix: str) -> Rules:
    """Of layer 3's matrices: scipy's angles."""
    parts = minilm()[1]
    chosen, (count, width, d_k) = parts[matrix], parts[matrix].shape
    angles = np.array([linalg.subspace_angles(chosen[a], chosen[b]) for a in range(count) for b in range(a)])
    shared = {pair: np.mean([(np.cos(linalg.subspace_angles(parts[pair[0]][head], parts[pair[1]][head])) ** 2).mean()
                             for head in range(count)])
              for pair in (("query", "key"), ("query", "value"), ("key", "value"))}
    own = np.mean([(chosen[h][h * d_k:(h + 1) * d_k] ** 2).sum() / (chosen[h] ** 2).sum() for h in range(count)])
    return {"notice subspaces 0": lambda line: agrees(line, 3, (np.cos(angles) ** 2).mean(), d_k / width, 0),
            "notice subspaces 1": lambda line: agrees(line, count, np.linalg.matrix_rank(np.concatenate(chosen, 1)),
                                                      width, min(width, count * d_k)),
            "notice subspaces 2": lambda line: len(printed(line)) == 2,   # by with_vectors, whose own test it has
            "more subspaces 0": lambda line: agrees(line, *shared.values()),
            "more subspaces 1": lambda line: agrees(line, d_k / width, own),
            "more subspaces 2": lambda line: agrees(line, count, 1, count),
            "more subspaces 4": lambda line: printed(line)[0][0] >= 30,
            "alt information-subspaces": lambda line: printed(line)[0][0] == 3 and agrees(
                line.split("mean")[1].split(";")[0], np.degrees(angles).mean()) and line.endswith("slices 90.")}


def bound_rules(bond: float, learnt: float) -> Rules:
    """Of the bound, as I less the divergence of the model."""
    joint = np.exp(bond * np.random.default_rng(0).standard_normal((6, 6)))
    joint /= joint.sum()
    alone, given = joint.sum(0), joint / joint.sum(1, keepdims=True)
    i = special.rel_entr(joint, np.outer(joint.sum(1), alone)).sum() / np.log(2)

    def proved(s: float) -> tuple[float, float]:
        model = alone ** (1 - s) * given**s
        bound = i - (joint * np.log2(given / (model / model.sum(1, keepdims=True)))).sum()
        return float(stats.entropy(alone, base=2) - bound), float(bound)

    cross, bound = proved(learnt)
    return {"notice bound 0": lambda line: agrees(line, learnt, cross, bound, i),
            "notice bound 1": lambda line: agrees(line, 1) and bound < i + 1e-9,
            "more bound 1": lambda line: agrees(line, 3, proved(3)[1]),
            "alt information-bound": lambda line: agrees(line, i, i, proved(3)[1])}


@pytest.mark.parametrize(("toy", "sharp", "size", "matrix", "bond", "learnt"), [
    ("causal", 1.0, 2, "query", 0.0, 0.0), ("first", 0.0, 64, "value", 4.0, 3.0), ("previous", 0.5, 8, "key", 1.5, 1.0),
    ("uniform", 0.3, 64, "query", 1.5, 0.5), ("itself", 0.9, 2, "key", 4.0, 0.0)])
def test_every_sentence_is_true_where_it_stands(toy, sharp, size, matrix, bond, learnt):
    page = shown("information", guess="b", toy=toy, sharp=sharp, size=size, matrix=matrix, bond=bond, learnt=learnt)
    rules = toy_rules(toy, size, sharp) | head_rules() | subspace_rules(matrix) | bound_rules(bond, learnt)
    said = sentences(page)
    assert wrong(said, rules) == []
    planted = {place: re.sub(r"\d", lambda digit: str((int(digit[0]) + 5) % 10), said[place]) for place in (
        "notice toy 0", "notice layers 0", "notice map 1", "more subspaces 0", "alt information-bound")}
    assert {each.split(":")[0] for each in wrong(said | planted, rules)} == set(planted)


@pytest.mark.parametrize(("toy", "size", "matrix", "bond", "learnt"), [
    ("causal", 2, "query", 0.0, 0.0), ("first", 64, "value", 4.0, 3.0)])
def test_what_is_said_once_answered_fits_the_numbers_of_the_page(toy, size, matrix, bond, learnt):
    page = shown("information", guess="b", toy=toy, size=size, matrix=matrix, bond=bond, learnt=learnt)
    assert all(len(lines) <= 3 for lines in page.notices.values())
    said = page.notices["toy"]
    bits = re.search(r"\*\*([−\d.]+) bits", said[0])[1].replace("−", "-")
    assert float(bits) == pytest.approx(by_hand(toy, size), abs=6e-4)
    assert f"still has {by_hand('causal', size):.3f}" in said[2] and f"= {np.log2(size):.3f}, the most there" in said[1]
    own = re.search(r"\*\*(\d+)%\*\* of one head's (\S+) range .* random subspaces (\d+)%",
                    page.notices["subspaces"][0])
    table = next(each for each in page.words if each.startswith(PROSE["subspaces"]["table_head"])).splitlines()
    row = next(each for each in table if each.startswith(f"| {own[2]} "))
    assert own[2] == PROSE["subspaces"]["matrices"][matrix] and int(own[1]) > int(own[3]) == 8
    assert row == f"| {own[2]} | {own[1]}% | {own[3]}% | 0% |"


OWN = ("The cat sat on the mat.", "Yesterday it rained, and nobody went out.")


@pytest.mark.parametrize("texts", ["set", "own"])
def test_what_is_said_of_several_texts_is_true_of_their_means(texts):
    chosen = tuple(PROSE["texts"]["set"]) if texts == "set" else OWN
    page = shown("information", guess="b", texts=texts, own="\n\n".join(OWN))
    rules = toy_rules("causal", 8, 1.0) | head_rules(chosen) | subspace_rules("query") | bound_rules(1.5, 0.5)
    said = sentences(page)
    assert wrong(said, rules) == []
    lengths = [len(heads[0]) for heads in minilm(chosen)[0]]
    assert any("72 heads" in each and f"{len(chosen)} texts with {np.mean(lengths):.1f} tokens each" in each
               for each in page.words)
    other = head_rules(chosen[1:])   # with one text fewer some sentences are false
    assert "more map 1" in {each.split(":")[0] for each in wrong(said, rules | other)}


def test_the_classical_map_has_a_verdict_on_itself():
    page = shown("information", guess="b", method="classical")
    assert page.numbers["map"]["stress"] == page.numbers["map"]["stress_classical"]
    assert f"Stress **{page.numbers['map']['stress_classical']:.3f}**" in page.notices["map"][0]
