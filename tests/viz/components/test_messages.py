import json

import numpy as np
import pytest

from viz.components.messages import NAN_CODE, pack, range_codes, root_codes, unpack


def test_what_was_packed_comes_back():
    rng = np.random.default_rng(0)
    arrays = {"a": rng.integers(0, 256, (3, 5, 7)).astype(np.uint8),
              "b": rng.integers(0, 65536, (11, 13)).astype(np.uint16),
              "c": rng.normal(size=17).astype(np.float32), "none": np.zeros((0, 2), np.uint16)}
    header, back = unpack(pack({"text": "漢字 \ud83d <b>", "n": 3}, arrays))
    assert header == {"text": "漢字 \ud83d <b>", "n": 3}
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


@pytest.mark.parametrize("text", ["", "a", "ab", "abc", "abcd"])
def test_every_section_stands_at_a_multiple_of_four(text):
    message = pack({"text": text},
                   {"a": np.zeros(3, np.uint8), "b": np.zeros(5, np.uint16), "c": np.ones(2, np.float32)})
    start = 4 + int.from_bytes(message[:4], "little")
    assert start % 4 == 0
    assert all(offset % 4 == 0 for _, _, offset, _ in json.loads(message[4:start])["sections"])
    assert len(message) == start + 4 + 12 + 8


def test_a_transposed_array_is_packed_in_its_own_order():
    array = np.arange(35, dtype=np.uint16).reshape(5, 7).T
    np.testing.assert_array_equal(unpack(pack({}, {"a": array}))[1]["a"], array)


def test_what_javascript_does_not_know_is_refused():
    with pytest.raises(ValueError, match="float64"):
        pack({}, {"a": np.zeros(3)})
    with pytest.raises(ValueError):
        pack({"a": float("nan")}, {})


def test_root_codes_are_within_their_promise():
    weights = np.concatenate([[0, 1], np.geomspace(1e-8, 1, 1000), np.linspace(0, 1, 1001)]).astype(np.float32)
    back = (root_codes(weights) / 65535) ** 2
    assert (np.abs(back - weights) <= 4.7e-5 * np.sqrt(weights) + 1e-9).all()
    moved = root_codes(weights) - np.floor(65535 * np.sqrt(weights) + np.float32(0.5))
    assert np.abs(moved).max() <= 1 and np.count_nonzero(moved) < 0.02 * len(weights)


def test_a_code_is_printed_with_the_digits_of_its_weight():
    middles = np.arange(1, 1000) / 1000 - 0.0005   # 0.0005, 0.0015, … and what is a hair beside them
    weights = np.concatenate([middles + by for by in (0, 1e-7, -1e-7, 4e-6, -4e-6, 1.4e-5, -1.4e-5)] + [
        [0.9225011, 0.0625, 0.1875, 0, 1], np.random.default_rng(0).random(100_000)]).astype(np.float32)
    weights = weights[(weights == 0) | (weights >= 0.0005)]
    back = (root_codes(weights) / 65535) ** 2
    assert [f"{each:.3f}" for each in back] == [f"{each:.3f}" for each in weights.tolist()]


def test_range_codes_are_within_half_a_step():
    numbers = np.random.default_rng(1).normal(0, 30, (7, 11)).astype(np.float32)
    numbers[2, 3] = np.nan
    codes, low, high = range_codes(numbers)
    back = low + codes.astype(float) * (high - low) / (NAN_CODE - 1)
    assert codes[2, 3] == NAN_CODE and (codes == NAN_CODE).sum() == 1
    seen = np.isfinite(numbers)
    assert (low, high) == (numbers[seen].min(), numbers[seen].max())
    assert np.abs(back - numbers)[seen].max() <= 0.51 * (high - low) / (NAN_CODE - 1)


@pytest.mark.parametrize("numbers, codes",
                         [([5, 5], [0, 0]), ([np.nan, np.nan], [NAN_CODE, NAN_CODE]), ([np.nan, 2], [NAN_CODE, 0]),
                          ([-np.inf, 1], [NAN_CODE, 0])])
def test_range_codes_of_hardly_any_numbers(numbers, codes):
    assert range_codes(np.array(numbers, np.float32))[0].tolist() == codes
