"""Detectors, sinks and positions compared with loops over matrices; components and neighbours with numpy."""
import math

import numpy as np
import pytest
from pandas import DataFrame, MultiIndex

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.studies.atlas import measured
from clearhead.model.studies.atlas.measured import CELLS, POSITIONS, measure_text, neighbours, rows_of
from tests import fabricate

REPEATING = ["[CLS]", "a", "b", "c", "a", "b", "d", "a", "[SEP]"]


def matrices(attention_map):
    """{(layer, head): weights as lists of Python floats}."""
    return {(layer.index, head): heads.weights(layer, head).tolist()
            for layer in attention_map.layers for head in range(layer.heads)}


def marked(tokens, kind, name):
    """The cells of a pattern, and those of rows that have a choice, by loops."""
    n, cells = len(tokens), set()
    for i in range(n):
        for j in range(n if kind is not Kind.CAUSAL else i + 1):
            same = i != j and tokens.ids[i] == tokens.ids[j] and not tokens.special[i]
            after = j > 0 and j - 1 != i and tokens.ids[i] == tokens.ids[j - 1] and not tokens.special[i]
            if {"previous": j == i - 1, "equal": same, "after": after}[name]:
                cells.add((i, j))
    return cells


@pytest.fixture(params=[Kind.SELF, Kind.CAUSAL])
def both(request):
    tokens = fabricate.tokens(REPEATING)
    kind = request.param
    record = fabricate.record(REPEATING, kind, seed=3)
    # the fabricated ids are all different; a text repeats its words
    ids = tuple(100 + REPEATING.index(text) for text in tokens.texts)
    attention_map = record[kind]
    object.__setattr__(attention_map.queries, "ids", ids)
    object.__setattr__(attention_map.keys, "ids", ids)
    return attention_map, measure_text(attention_map)


def row(found, kind, name):
    return dict(zip(found.heads, found.numbers[rows_of(kind).index(name)].tolist(), strict=True))


@pytest.mark.parametrize(("name", "pattern"), [("detect_previous", "previous"), ("detect_duplicate", "equal"),
                                               ("detect_induction", "after")])
def test_detector_is_a_share_of_weight(both, name, pattern):
    attention_map, found = both
    cells = marked(attention_map.queries, attention_map.kind, pattern)
    assert cells
    for head, weights in matrices(attention_map).items():
        wanted = sum(weights[i][j] for i, j in cells) / sum(map(sum, weights))
        assert row(found, attention_map.kind, name)[head] == pytest.approx(wanted, abs=1e-6)
        best = max((weights[i][j], (i, j)) for i, j in cells if attention_map.kind is Kind.SELF or i > 0)
        at = found.heads.index(head)
        assert tuple(found.cells[CELLS.index(pattern), at]) == best[1]
        assert found.weights[CELLS.index(pattern), at] == pytest.approx(best[0])


def test_uniform_rows_are_measured_too(both):
    attention_map, found = both
    kind, n = attention_map.kind, len(attention_map.queries)
    allowed = [[1.0] * n if kind is Kind.SELF else [1.0] * (i + 1) + [0.0] * (n - i - 1) for i in range(n)]
    even = [[cell / sum(line) for cell in line] for line in allowed]
    cells = marked(attention_map.queries, kind, "equal")
    assert row(found, kind, "uniform_detect_duplicate")[0, 0] == pytest.approx(sum(even[i][j] for i, j in cells) / n)
    for position in (0, 3, -1):
        key = position % n
        lookers = [i for i in range(n) if allowed[i][key]]
        assert row(found, kind, f"uniform_sink_{position}")[0, 0] == pytest.approx(
            sum(even[i][key] for i in lookers) / len(lookers))
        for head, weights in matrices(attention_map).items():
            assert row(found, kind, f"sink_{position}")[head] == pytest.approx(
                sum(weights[i][key] for i in lookers) / len(lookers), abs=1e-6)
    assert all(math.isnan(number) for number in row(found, kind, f"sink_{max(POSITIONS)}").values())


def test_cells_are_where_measures_are_largest(both):
    attention_map, found = both
    for at, (_, weights) in enumerate(matrices(attention_map).items()):
        numbers = np.array(weights)
        rows = np.arange(len(numbers)) >= (attention_map.kind is Kind.CAUSAL)   # a first row has no choice
        free = np.where(rows[:, None], numbers, -1)
        apart = np.abs(np.subtract.outer(np.arange(len(numbers)), np.arange(len(numbers))))
        bits = np.where(rows, -(numbers * np.log2(np.maximum(numbers, 1e-30))).sum(1), -1)
        assert tuple(found.cells[CELLS.index("largest"), at]) == np.unravel_index(free.argmax(), free.shape)
        assert tuple(found.cells[CELLS.index("farthest"), at]) == np.unravel_index((free * apart).argmax(), free.shape)
        widest = int(bits.argmax())
        assert tuple(found.cells[CELLS.index("widest"), at]) == (widest, numbers[widest].argmax())
        assert row(found, attention_map.kind, "confidence")[found.heads[at]] == pytest.approx(numbers.max(1).mean())


def test_cross_attention_has_the_numbers_that_compare_no_positions():
    names = [number.name for number in measured.numbers_of(Kind.CROSS)]
    assert set(names) == {"entropy", "first", "special", "fit_first", "fit_end", "fit_even", "confidence"}
    assert set(names) < {number.name for number in measured.numbers_of(Kind.SELF)} >= {"distance", "detect_previous"}
    cross = fabricate.record(4, Kind.CROSS, list("abcdef"))[Kind.CROSS]
    whole = heads.measure(cross)
    for name in names[:3]:
        assert row(measure_text(cross), Kind.CROSS, name) == pytest.approx(dict(whole.by_head(name)), rel=1e-5)


@pytest.mark.parametrize("bins", [measured.SHARE, measured.BITS, measured.TOKENS, measured.Bins(0, 8, 4)])
def test_every_value_is_within_its_bin(bins):
    values = np.concatenate([np.linspace(bins.low, bins.high, 999), [bins.low, bins.high]])
    place = bins.of(values)
    assert (bins.edges[place] <= values).all() and (values <= bins.edges[place + 1]).all()
    assert bins.of(np.array([bins.low - 1, bins.high + 1])).tolist() == [0, bins.count - 1]


HEADS = [(layer, head) for layer in range(3) for head in range(4)]


def table(values: np.ndarray) -> DataFrame:
    return DataFrame(values, index=MultiIndex.from_tuples(HEADS, names=["layer", "head"]),
                     columns=[f"m{number}" for number in range(values.shape[1])])


@pytest.fixture
def made() -> DataFrame:
    random = np.random.default_rng(0)
    return table(random.normal(size=(12, 5)) @ random.normal(size=(5, 5)) * [1, 100, 0.01, 5, 1] + 7)


def test_components_are_eigenvectors(made):
    places, shares = measured.principal_components(made)
    values, vectors = np.linalg.eigh(np.corrcoef(made.to_numpy().T))
    assert shares == pytest.approx(values[::-1][:2] / values.sum())
    scaled = (made.to_numpy() - made.to_numpy().mean(0)) / made.to_numpy().std(0)
    wanted = scaled @ vectors[:, ::-1][:, :2]
    assert np.abs(places) == pytest.approx(np.abs(wanted))


def test_constant_and_missing_measures_are_left_out(made):
    made["same"], made["missing"] = 3.3, [np.nan, *range(11)]
    assert list(measured.standardised(made)) == [f"m{number}" for number in range(5)]
    flat = table(np.ones((12, 3)))
    assert measured.principal_components(flat)[0].tolist() == [[0, 0]] * 12 and neighbours(flat, (0, 0), 3) == []


def test_neighbours_are_the_nearest(made):
    scaled = (made.to_numpy() - made.to_numpy().mean(0)) / made.to_numpy().std(0)
    here = HEADS.index((1, 2))
    apart = {HEADS[place]: float(np.sqrt(((row - scaled[here]) ** 2).mean())) for place, row in enumerate(scaled)}
    wanted = sorted((far, head) for head, far in apart.items() if head != (1, 2))[:4]
    found = neighbours(made, (1, 2), 4)
    assert [head for head, _ in found] == [head for _, head in wanted]
    assert [far for _, far in found] == pytest.approx([far for far, _ in wanted])
