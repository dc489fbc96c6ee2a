"""The benchmark of patched heads: its tables, on few twins of the trained models."""
import pytest

from benchmarks import patching as benchmark
from model.core.query import Kind


def test_the_narrow_resolver_turns_by_either_of_its_heads_and_the_page_says_so():
    found = benchmark.look_at("resolver-narrow", Kind.SELF, 6)
    assert found["twins"] + found["left out"] == 6 and found["words"] == ("animal", "street")
    rows = {row["patched"]: row for row in found["rows"]}
    assert list(rows) == ["0·0", "1·0", "layer 0", "layer 1", "all"]
    assert rows["all"]["turned"] == 1 and rows["all"]["way"] == pytest.approx(1, abs=1e-3)
    assert rows["layer 0"] == {**rows["0·0"], "patched": "layer 0"}   # a layer of one head
    page = benchmark.page({"versions": {"torch": "x"}, "models": {"resolver-narrow": {"self": found}}})
    assert "| 0·0 |" in page and f"| all | {rows['all']['turned']:.3f} | 1.000 |" in page
