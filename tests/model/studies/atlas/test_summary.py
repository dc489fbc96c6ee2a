"""Summaries of many texts and their tables, compared with numpy over all texts at once."""
import itertools
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearhead.model.core.query import Kind
from clearhead.model.studies.atlas.measured import SHARE, TOKENS, numbers_of, rows_of
from clearhead.model.studies.atlas.summary import KEPT, atlas_of, deciles, merge, summarise, tables_of
from tests.model.studies.atlas.made import COUNTS, SAID, read, summary

TEXTS = 14


def holed(number):
    """A text for which a third of the numbers are undefined; the first number of the first head always is."""
    made = read(number)
    lost = np.random.default_rng(number).random(made.measured.numbers.shape) < 0.3
    lost[0, 0] = True
    return replace(made, measured=replace(made.measured, numbers=np.where(lost, np.nan, made.measured.numbers)))


def parts_of(*ends):
    return [summarise(Kind.SELF, [holed(number) for number in range(*pair)]) for pair in itertools.pairwise(ends)]


def all_values():
    """float64 (text, number, head)"""
    return np.stack([holed(number).measured.numbers for number in range(TEXTS)])[:, :len(numbers_of(Kind.SELF))]


@settings(max_examples=5, deadline=None)
@given(st.lists(st.integers(1, TEXTS - 1), min_size=1, max_size=5, unique=True))
def test_parts_merge_however_they_are_cut(cuts):
    total = reduce(merge, parts_of(0, *sorted(cuts), TEXTS))
    whole, = parts_of(0, TEXTS)
    for name in ("low", "high", "histogram"):
        assert (getattr(total, name) == getattr(whole, name)).all()
    for name in ("strongest", "sample"):
        one, other = getattr(total, name), getattr(whole, name)
        assert all(np.array_equal(getattr(one, each), getattr(other, each), equal_nan=each == "value")
                   for each in one.__dataclass_fields__)
    for name in ("means", "spread"):
        assert np.allclose(getattr(total.averages, name), getattr(whole.averages, name), equal_nan=True)
    assert total.texts == whole.texts and (total.averages.texts, total.averages.cut) == (TEXTS, 5)


def test_averages_and_histograms_equal_numpy():
    (found,), values = parts_of(0, TEXTS), all_values()
    for at, number in enumerate(numbers_of(Kind.SELF)):
        for head in (0, 7):
            column = values[:, at, head][np.isfinite(values[:, at, head])]
            row = found.averages.names.index(number.name)
            assert found.averages.count[row, head] == len(column)
            assert (found.histogram[at, head] == np.bincount(number.bins.of(column),
                                                             minlength=number.bins.count)).all()
            if len(column) > 1:
                assert found.averages.means[row, head] == pytest.approx(column.mean())
                assert found.averages.spread[row, head] == pytest.approx(column.std(ddof=1))
                assert (found.low[at, head], found.high[at, head]) == (column.min(), column.max())
    assert found.averages.names == rows_of(Kind.SELF)


def test_strongest_are_the_largest_values():
    (whole,), values = parts_of(0, TEXTS), all_values()
    found = whole.strongest
    for at in range(values.shape[1]):
        column = values[:, at, 3]
        order = [text for text in np.argsort(-column, kind="stable") if np.isfinite(column[text])][:KEPT]
        assert found.text[:len(order), at, 3].tolist() == order
        assert (found.text[len(order):, at, 3] == -1).all()
    assert np.isfinite(tables_of(whole)["examples"]["value"]).all()


MANY = 30


@pytest.fixture(scope="module")
def atlas():
    return atlas_of(summary(range(MANY)), SAID)


def values_of(layer, head, measure, count=MANY):
    at = [number.name for number in numbers_of(Kind.SELF)].index(measure)
    values = [read(number).measured for number in range(count)]
    return np.array([each.numbers[at, each.heads.index((layer, head))] for each in values])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.sampled_from([SHARE, TOKENS]))
@example([0.0, 1.0], SHARE)
def test_decile_error_is_within_its_bound(numbers, bins):
    values = np.array(numbers) * (1 if bins is SHARE else 500)
    histogram = np.bincount(bins.of(values), minlength=bins.count)[None]
    found, error = deciles(bins, histogram, values[None].min(1), values[None].max(1))
    exact = np.quantile(values, np.arange(1, 10) / 10, method="inverted_cdf")
    assert (np.abs(found[0] - exact) <= error[0] + 1e-12).all() and (np.diff(found[0]) >= 0).all()
    assert error[0] <= np.diff(bins.edges).max() / 2
    none = deciles(bins, histogram * 0, np.array([np.inf]), np.array([-np.inf]))
    assert all(np.isnan(each).all() for each in none)


def test_row_of_a_head_equals_numpy(atlas):
    row, values = atlas.of_head(1, 4).loc["entropy"], values_of(1, 4, "entropy")
    assert (row["n"], row["min"], row["max"]) == (MANY, values.min(), values.max())
    assert row["mean"] == pytest.approx(values.mean()) and row["sd"] == pytest.approx(values.std(ddof=1))
    assert abs(row["d5"] - np.quantile(values, 0.5, method="inverted_cdf")) <= row["error"]
    alone = atlas_of(summary(range(1)), SAID).of_head(1, 4).loc["entropy"]
    assert alone["min"] == alone["max"] == values[0]
    assert atlas.wide()["entropy"][1, 4] == row["mean"] and atlas.wide("uniform")["entropy"][1, 4] == row["uniform"]
    assert atlas.wide("uniform")["confidence"].isna().all()
    histogram = atlas.histogram(1, 4, "entropy")
    assert histogram["count"].sum() == MANY and (histogram["low"] < histogram["high"]).all()
    assert len(atlas.heads) == 12 and atlas.measures == tuple(atlas.tables["measures"]["measure"])
    assert atlas.kind is Kind.SELF and atlas.nbytes > 10_000


def test_deciles_have_their_examples(atlas):
    examples, values = atlas.examples(0, 2, "previous"), values_of(0, 2, "previous")
    strongest = examples[examples["sample"] == "strongest"]
    assert strongest["number"].tolist() == np.argsort(-values)[:4].tolist()
    place = np.argsort(np.argsort(values))
    for decile in range(1, 11):
        rows = examples[examples["decile"] == decile]
        tenth = [number for number in range(MANY) if 10 * place[number] // MANY == decile - 1]
        smallest = sorted(tenth, key=lambda number: read(number).text.digest)[:2]
        assert rows["number"].tolist() == smallest and rows["rank"].tolist() == [0, 1]
        assert np.allclose(rows["value"], values[smallest])
    for _, row in examples.iterrows():
        text = read(row["number"])
        assert (row["text"], row["tokens"], row["key"]) == (text.text.text, text.text.tokens, row["query"] - 1)
        assert row["weight"] == text.measured.weights[0, 2]   # the cells of the previous token come first


def test_counts_of_trees_stand_in_the_tables_by_halves():
    part = replace(summary(range(4)), syntax=COUNTS)
    tables = tables_of(merge(part, part))
    syntax, offsets, at = tables["syntax"], tables["offsets"], COUNTS.names.index("obj")
    row = syntax[(syntax["relation"] == "obj") & (syntax["looks"] == "head") & (syntax["layer"] == 1)
                 & (syntax["head"] == 4)].iloc[0]
    assert (row["n"], row["n_even"], row["n_odd"]) == (6, 0, 6) and row["possible"] == 6
    assert row["right"] == row["right_odd"] == 2 * COUNTS.right[at, :, 1, 6 + 4].sum()
    near = offsets[(offsets["relation"] == "obj") & (offsets["offset"] == 1)].iloc[0]   # aa: its head follows
    assert (near["right"], near["n"], near["right_odd"]) == (2, 6, 2)
