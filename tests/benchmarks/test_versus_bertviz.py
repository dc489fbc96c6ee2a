"""The table beside BertViz: what was stopped is said, and counts as two minutes."""
from benchmarks.versus_table import Row, bars, middle, page_text

ROWS = [Row("all heads", 128, 0.1, 0.1, 0.1, 0.1, 400_000, 5000, 300.0),
        Row("model_view", 128, 0.2, 1.0, 0.8, 2.0, 50_000_000, 1_200_000, 900.0),
        Row("all heads", 256, 0.2, 0.2, 0.1, 0.1, 500_000, 5000, 300.0),
        Row("model_view", 256, 0.3, 4.0, note="stopped after 120 s")]
EXTRAS = {"overview_bytes_a_head_over_20_kB": 4096.0, "head_bytes_a_cell": 4.5,
          "open_another_head_s": [(0.06, 0.04)] * 19 + [(0.1, 0.05)],
          "smollm2": {"plain_s": [2.0, 1.0, 3.0], "pictures": [{"seconds": 3.0}] * 3}}


def test_every_bar_has_its_value_and_its_side():
    found = {bar["bar"]: bar for bar in bars(ROWS, EXTRAS, {"matrix": 2.0, "lines": 9.0})}
    values = [(round(bar["value"], 2), bar["met"]) for bar in found.values()]
    assert values == [(10.0, False), (200.0, True), (4096.0, True), (4.5, False), (9.0, False), (0.15, True),
                      (1.5, True)]


def test_a_page_says_what_was_stopped_and_the_median_is_a_measured_row():
    page = page_text(ROWS, bars(ROWS, EXTRAS | {"smollm2": None, "open_another_head_s": []}, {"matrix": 2.0}))
    assert "| model_view | 256 | stopped after 120 s | 0.30 | 4.00 | – | – | – | – | – |" in page
    assert "| model_view | 128 | 4.00 | 0.20 | 1.00 | 0.80 | 2.00 | 50.00 | 1,200,000 | 900 |" in page
    assert "MISSED    10.00 (at least 20)" in page and "SmolLM2" not in page
    assert middle([ROWS[1], ROWS[0], ROWS[2]]) == ROWS[2]
