"""The row in focus over two pictures and their difference is what the heads' weights are."""
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from model.core import heads
from model.core.query import Kind
from model.core.view import View
from model.studies.comparison import AlignmentQuery, align_texts, difference_views
from tests import fabricate
from viz.export.comparison import SavedComparison, comparison_picture
from viz.pages.compare.difference import over_pictures, rows_over_pictures, with_patch_names

FIRST, SECOND = fabricate.pictured(), fabricate.pictured(hidden=6)
VIEW = View(layer=1, head=2, token=9)
TEXT = "{http://www.w3.org/2000/svg}text"
PLACE = (Kind.SELF, 1, 2)


@pytest.fixture(scope="module")
def compared():
    aligned = align_texts(AlignmentQuery(FIRST.query, SECOND.query, (Kind.SELF, Kind.SELF)), FIRST, SECOND)
    shown = difference_views(FIRST, SECOND, (PLACE, PLACE), aligned)
    return shown, *rows_over_pictures((FIRST, SECOND), VIEW, shown, aligned, 9)


def test_each_patch_has_its_weight_in_both_and_the_change(compared):
    _, focus, (one, other, change) = compared
    rows = [heads.weights(made[Kind.SELF].layer(1), 2)[9] for made in (FIRST, SECOND)]
    assert focus == 9 and change.kind == "signed" and np.isnan(other.numbers[6]) and other.even == 1 / 24
    np.testing.assert_allclose(one.numbers, rows[0], rtol=1e-6)
    np.testing.assert_allclose(np.delete(other.numbers, 6), np.delete(rows[1], 6), rtol=1e-6)
    np.testing.assert_allclose(change.numbers, rows[1] - rows[0], atol=1e-7)
    assert change.high == pytest.approx(np.abs(rows[1] - rows[0]).max())


def test_a_patch_is_called_as_on_every_page_and_a_word_stays_as_it_is():
    aligned = align_texts(AlignmentQuery(FIRST.query, SECOND.query, (Kind.SELF, Kind.SELF)), FIRST, SECOND)
    named = with_patch_names(aligned, (FIRST, SECOND), VIEW)
    assert named.rows[next(place for place, group in enumerate(aligned.rows) if 9 in group.first)].text == "patch 1,2"
    assert named.columns[0].text == "[CLS]" and named.columns[-1].first == aligned.columns[-1].first
    assert with_patch_names(aligned, (FIRST, fabricate.record()), VIEW) is aligned


def test_they_are_drawn_over_pictures_where_both_are_cut_alike():
    assert over_pictures((FIRST, SECOND)) and not over_pictures((FIRST, fabricate.pictured(rows=3)))
    assert not over_pictures((FIRST, fabricate.record()))


def test_the_saved_file_shows_the_pictures_as_the_page_does(compared):
    shown, focus, values = compared
    saved = SavedComparison(shown, replace(VIEW, token=focus), 0.1, ("as it is", "hidden", "change"), (FIRST, SECOND),
                            values=values)
    said = " ".join("".join(each.itertext()) for each in ET.fromstring(comparison_picture(saved, "svg")).iter(TEXT))
    assert "how much patch 1,2 looks at each patch" in said and said.count("multiple of uniform") == 2
    assert f"+{values[2].high:.3g}" in said and f"−{values[2].high:.3g}" in said and "hidden" in said
