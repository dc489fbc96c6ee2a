"""The answers on the sheet "softmax and heads" are what the pages behind its links show."""
import numpy as np
import pytest
from scipy import special

from model.ask import sources
from model.core import heads
from model.core.query import Kind
from model.lessons import masking, softmax, sqrt_dk
from viz.examples import examples
from viz.pages.softmax import GRID, LOGITS
from viz.text import FOLDER

SHEET = (FOLDER / "sheets" / "softmax-and-heads.md").read_text(encoding="utf-8")


def test_the_slope_is_steepest_near_the_temperature_that_the_sheet_says():
    logits = np.array(LOGITS.start)
    norms = softmax.jacobian_norm(softmax.softmax_rows(logits, GRID), GRID)
    assert "Near T = 0.6" in SHEET and GRID[norms.argmax()] == pytest.approx(0.6, abs=0.05)
    assert special.softmax(logits / 0.6)[1] > 0.1      # two keys in competition


@pytest.mark.parametrize(("d_k", "said"), [(512, 23), (128, 11)])
def test_the_histograms_are_as_wide_as_the_sheet_says(d_k, said):
    assert f"± {said}" in SHEET and sqrt_dk.rows_of(d_k, 64, 0,
                                                    "normal")[2].std() == pytest.approx(said, abs=1) == pytest.approx(
                                                        d_k**0.5, abs=1)


def test_the_median_slope_without_the_division_is_about_a_fiftieth():
    found = [sqrt_dk.numbers_at(512, 64, seed, "normal") for seed in range(3)]
    assert "about a fiftieth" in SHEET
    assert all(0.01 < each["slope_plain"] / each["slope_scaled"] < 0.04 for each in found)


def test_the_real_rows_say_what_the_sheet_asks():
    record = sources.ask(sources.open_query("minilm", examples()[0].text)).result(120)
    texts = record[Kind.SELF].queries.texts
    it, because = heads.weights(record[Kind.SELF].layer(3), 1)[[10, 9]].astype(float)
    assert (texts[10], texts[9], texts[it.argmax()]) == ("it", "because", "animal") and it.max() > 0.5
    assert softmax.effective_tokens(it) < softmax.effective_tokens(because)


def test_the_exit_question_has_the_answer_that_is_printed():
    scores, allowed = np.array([[4.0, 2.0, 2.0]]) / 2, np.array([[True, True, False]])
    for method, wanted in (("after", "0.576, 0.212"), ("before", "0.731, 0.269")):
        row = masking.masked_weights(scores, allowed, method)[0][:2]
        assert ", ".join(f"{each:.3f}" for each in row) == wanted and wanted in SHEET
    assert special.softmax(scores[0])[:2] == pytest.approx([0.576, 0.212], abs=5e-4)
