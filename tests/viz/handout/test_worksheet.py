"""A worksheet: its answers follow from the record and have their own page."""
import io
import re
import unicodedata

import numpy as np
import pypdf
import pytest

from model.core.view import View
from tests import fabricate
from viz.handout import pdf
from viz.handout.worksheet import questions, worksheet

RECORD = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
VIEW = View(kind=RECORD.kinds[0], layer=0, head=3, token=10)


def test_answers_come_from_the_record():
    shown = fabricate.shown(RECORD, layer=0, head=3)
    row, received = shown.weights[10], shown.weights.sum(0)
    asked = questions(RECORD, VIEW, grid=False)
    assert f"“{fabricate.SENTENCE[int(np.argmax(row))]}”, weight {row.max():.2f}" in asked["largest"][1]
    assert asked["rest"][1].startswith(f"{1 - row.max():.2f}:")
    most = fabricate.SENTENCE[int(received.argmax())]
    assert f"“{most}”: its column sums to {received.max():.2f}" in asked["received"][1]


def test_worksheet_names_the_head_of_a_pattern():
    answer = questions(RECORD, VIEW, grid=True)["previous"][1]
    layer, head = map(int, re.match(r"(\d+)·(\d+)", answer).groups())
    shares = {(one, two): np.trace(fabricate.shown(RECORD, layer=one, head=two).weights, offset=-1)
              for one in range(6) for two in range(12)}
    assert shares[layer, head] == pytest.approx(max(shares.values()), abs=1e-6)


@pytest.mark.parametrize(("grid", "count"), [(False, 5), (True, 3)])
def test_worksheet_has_a_page_for_class_and_for_teacher(grid, count):
    asked = list(questions(RECORD, VIEW, grid).values())[:count]
    pages = [each.extract_text() for each in pypdf.PdfReader(io.BytesIO(pdf.printed(
        worksheet(RECORD, VIEW, asked, grid=grid)))).pages]
    assert len(pages) == 2 and "Name:" in pages[0] and "Answers" in pages[1]
    first, second = (re.sub(r"\s+", " ", unicodedata.normalize("NFKC", page)) for page in pages)
    for ask, answer in asked:
        assert ask[:30] in first and answer[:30] in second and answer[:30] not in first
