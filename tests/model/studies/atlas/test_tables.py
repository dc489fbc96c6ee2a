"""The tables say what the summary holds; deciles are right within the error that stands beside them."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.core.query import Kind
from model.studies.atlas.measured import SHARE, TOKENS, numbers_of
from model.studies.atlas.summary import as_csv, atlas_of, deciles, merge, tables_of
from tests.model.studies.atlas.made import COUNTS, SAID, read, summary

TEXTS = 30


@pytest.fixture(scope="module")
def atlas():
    return atlas_of(summary(range(TEXTS)), SAID)


def values_of(layer, head, measure, count=TEXTS):
    at = [number.name for number in numbers_of(Kind.SELF)].index(measure)
    values = [read(number).measured for number in range(count)]
    return np.array([each.numbers[at, each.heads.index((layer, head))] for each in values])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.sampled_from([SHARE, TOKENS]))
def test_a_decile_is_off_by_no_more_than_is_said(numbers, bins):
    values = np.array(numbers) * (1 if bins is SHARE else 500)
    histogram = np.bincount(bins.of(values), minlength=bins.count)[None]
    found, error = deciles(bins, histogram, values[None].min(1), values[None].max(1))
    exact = np.quantile(values, np.arange(1, 10) / 10, method="inverted_cdf")
    assert (np.abs(found[0] - exact) <= error[0] + 1e-12).all() and (np.diff(found[0]) >= 0).all()


def test_a_row_of_a_head_is_what_numpy_makes_of_its_texts(atlas):
    row, values = atlas.of_head(1, 4).loc["entropy"], values_of(1, 4, "entropy")
    assert (row["n"], row["min"], row["max"]) == (TEXTS, values.min(), values.max())
    assert row["mean"] == pytest.approx(values.mean()) and row["sd"] == pytest.approx(values.std(ddof=1))
    assert abs(row["d5"] - np.quantile(values, 0.5, method="inverted_cdf")) <= row["error"]
    assert atlas.wide()["entropy"][1, 4] == row["mean"] and atlas.wide("uniform")["entropy"][1, 4] == row["uniform"]
    assert atlas.wide("uniform")["confidence"].isna().all()
    histogram = atlas.histogram(1, 4, "entropy")
    assert histogram["count"].sum() == TEXTS and (histogram["low"] < histogram["high"]).all()
    assert len(atlas.heads) == 12 and atlas.measures == tuple(atlas.tables["measures"]["measure"])
    assert atlas.kind is Kind.SELF and atlas.nbytes > 10_000


def test_every_decile_has_examples_that_lie_in_it_and_open_at_their_cell(atlas):
    examples, values = atlas.examples(0, 2, "previous"), values_of(0, 2, "previous")
    strongest = examples[examples["sample"] == "strongest"]
    assert strongest["number"].tolist() == np.argsort(-values)[:4].tolist()
    place = np.argsort(np.argsort(values))
    for decile in range(1, 11):
        rows = examples[examples["decile"] == decile]
        tenth = [number for number in range(TEXTS) if 10 * place[number] // TEXTS == decile - 1]
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


def test_a_file_of_averages_has_the_numbers_of_every_head():
    found = summary(range(TEXTS)).averages.choose(["entropy", "fit_even", "fit_equal"])
    frame = found.frame()
    assert (frame["entropy_n"] == TEXTS).all() and (frame["fit_equal_n"] < TEXTS).any()
    assert frame["entropy_mean"][0, 1] == pytest.approx(values_of(0, 1, "entropy").mean())
    assert as_csv(found, {"model": "fake"}).startswith("layer,head,texts,pattern,fit,")
    with pytest.raises(ValueError, match="same heads"):
        found.merge(summary(range(4), Kind.CAUSAL).averages)
