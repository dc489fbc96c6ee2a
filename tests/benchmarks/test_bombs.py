"""Tests of benchmarks.bombs: the cost of a few malicious small files, each opened in its own process."""
from dataclasses import replace

import pytest

from benchmarks import bombs
from benchmarks.bomb_files import FILES


@pytest.mark.rest
def test_small_file_takes_little_memory():
    names = ("good", "8,000,000 heads", "deep header")
    good, heads, deep = (replace(bombs.cost("npz", name), seconds=0.0) for name in names)
    assert good.answer == "opened" and "8,000,000 heads and the limit" in heads.answer
    assert "can be read" in deep.answer
    assert heads.packed < 32_000 and 10 < heads.memory < good.memory + bombs.MEMORY
    assert bombs.missed([good, heads, deep]) == []
    assert bombs.missed([good, replace(heads, memory=good.memory + 201)]) == ["npz: 8,000,000 heads"]
    assert bombs.missed([good, replace(heads, seconds=5.1)]) == ["npz: 8,000,000 heads"]
    assert f"| npz | 8,000,000 heads | {heads.packed / 1e3:,.1f} |" in bombs.page([good, heads, deep])


@pytest.mark.rest
def test_record_that_declares_much_takes_little_memory():
    good, layers = (replace(bombs.cost("safetensors", name), seconds=0.0) for name in
                    ("good", "512 layers of 4,096 tokens"))
    assert good.answer == "opened" and "weights and the limit" in layers.answer
    assert bombs.missed([good, layers]) == []


def test_every_kind_has_a_good_file_first():
    assert all(next(iter(files)) == "good" for files in FILES.values())
