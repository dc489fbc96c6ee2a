import numpy as np
import pytest

from viz.components.messages import pack, root_codes, unpack


def test_packed_values_are_restored():
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


def test_values_unknown_to_javascript_are_refused():
    with pytest.raises(ValueError, match="float64"):
        pack({}, {"a": np.zeros(3)})
    with pytest.raises(ValueError):
        pack({"a": float("nan")}, {})


def test_root_codes_are_within_their_stated_error():
    weights = np.concatenate([[0, 1], np.geomspace(1e-8, 1, 1000), np.linspace(0, 1, 1001)]).astype(np.float32)
    back = (root_codes(weights) / 65535) ** 2
    assert (np.abs(back - weights) <= 4.7e-5 * np.sqrt(weights) + 1e-9).all()
    moved = root_codes(weights) - np.floor(65535 * np.sqrt(weights) + np.float32(0.5))
    assert np.abs(moved).max() <= 1 and np.count_nonzero(moved) < 0.02 * len(weights)


def test_code_prints_with_its_weights_digits():
    middles = np.arange(1, 1000) / 1000 - 0.0005   # 0.0005, 0.0015, … and what is a hair beside them
    weights = np.concatenate([middles + by for by in (0, 1e-7, -1e-7, 4e-6, -4e-6, 1.4e-5, -1.4e-5)] + [
        [0.9225011, 0.0625, 0.1875, 0, 1], np.random.default_rng(0).random(100_000)]).astype(np.float32)
    weights = weights[(weights == 0) | (weights >= 0.0005)]
    back = (root_codes(weights) / 65535) ** 2
    assert [f"{each:.3f}" for each in back] == [f"{each:.3f}" for each in weights.tolist()]
