"""What is kept of many texts, against all of them at once."""
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.core.query import Kind
from model.studies.atlas.measured import numbers_of, rows_of
from model.studies.atlas.summary import KEPT, SAMPLE, Text, merge, summarise
from tests.model.studies.atlas.made import read, summary

TEXTS = 14


def all_values(count: int = TEXTS):
    """float64 (text, number, head)"""
    return np.stack([read(number).measured.numbers for number in range(count)])[:, :len(numbers_of(Kind.SELF))]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, TEXTS - 1), min_size=1, max_size=5, unique=True))
def test_parts_merge_into_the_summary_of_the_whole_however_they_are_cut(cuts):
    ends = [0, *sorted(cuts), TEXTS]
    parts = [summarise(Kind.SELF, [read(number) for number in range(*pair)]) for pair in itertools.pairwise(ends)]
    total = parts[0]
    for part in parts[1:]:
        total = merge(total, part)
    whole = summarise(Kind.SELF, [read(number) for number in range(TEXTS)])
    for name in ("low", "high", "histogram"):
        assert (getattr(total, name) == getattr(whole, name)).all()
    for name in ("strongest", "sample"):
        one, other = getattr(total, name), getattr(whole, name)
        assert all(np.array_equal(getattr(one, each), getattr(other, each), equal_nan=each == "value")
                   for each in one.__dataclass_fields__)
    assert np.allclose(total.averages.means, whole.averages.means, equal_nan=True)
    assert total.texts == whole.texts and (total.averages.texts, total.averages.cut) == (TEXTS, 5)


def test_averages_histograms_and_ends_are_those_of_numpy():
    found, values = summary(range(TEXTS)), all_values()
    for at, number in enumerate(numbers_of(Kind.SELF)):
        for head in (0, 7):
            column = values[:, at, head][np.isfinite(values[:, at, head])]
            row = found.averages.names.index(number.name)
            assert found.averages.count[row, head] == len(column)
            assert found.histogram[at, head].sum() == len(column)
            if len(column) > 1:
                assert found.averages.means[row, head] == pytest.approx(column.mean())
                assert found.averages.spread[row, head] == pytest.approx(column.std(ddof=1))
                assert (found.low[at, head], found.high[at, head]) == (column.min(), column.max())
    assert found.averages.names == rows_of(Kind.SELF)


def test_the_strongest_are_the_largest_values_with_their_texts():
    found, values = summary(range(TEXTS)).strongest, all_values()
    for at in range(values.shape[1]):
        column = values[:, at, 3]
        order = [text for text in np.argsort(-column, kind="stable") if np.isfinite(column[text])][:KEPT]
        assert found.text[:len(order), at, 3].tolist() == order
        assert (found.text[len(order):, at, 3] == -1).all()


def test_a_text_that_stands_twice_is_one_example_and_counts_twice():
    parts = [summarise(Kind.SELF, [read(number, text="the same") for number in (begin, begin + 1)])
             for begin in (0, 2)]
    found = merge(*parts)
    assert found.averages.texts == 4 and [text.number for text in found.texts] == [0]
    assert found.sample.text.tolist() == [0] and sorted(np.unique(found.strongest.text)) == [-1, 0]
    assert (found.strongest.text[1:] == -1).all()


def test_sample_has_smallest_hashes_and_only_example_texts_are_kept(monkeypatch):
    monkeypatch.setattr("model.studies.atlas.summary.SAMPLE", 5)
    found = summary(range(TEXTS))
    digests = sorted(read(number).text.digest for number in range(TEXTS))
    assert found.sample.digest.tolist() == digests[:5] and SAMPLE == 200
    used = {*found.strongest.text.ravel().tolist(), *found.sample.text.tolist()} - {-1}
    assert {text.number for text in found.texts} == used and all(isinstance(text, Text) for text in found.texts)


