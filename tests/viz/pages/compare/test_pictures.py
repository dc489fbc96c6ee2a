"""Comparison of two pictures: each patch has the heads' weights, and sides are named by their difference."""
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.model.studies.comparison import align_texts, difference_views
from clearhead.viz.components.picture import Head
from clearhead.viz.pages.compare import difference
from clearhead.viz.pages.compare.difference import (
    draw_sides,
    of_sentences,
    over_pictures,
    rows_over_pictures,
    with_patch_names,
)
from clearhead.viz.widgets import handout_button
from tests import fabricate

FIRST, SECOND = fabricate.pictured(), fabricate.pictured(hidden=6)
VIEW = View(layer=1, head=2, token=9)
PLACE = (Kind.SELF, 1, 2)


def test_patches_have_both_weights_their_change_and_their_name():
    aligned = align_texts(FIRST, SECOND, (Kind.SELF, Kind.SELF))
    shown = difference_views(FIRST, SECOND, (PLACE, PLACE), aligned)
    images = rows_over_pictures((FIRST, SECOND), VIEW, shown, aligned)
    one, other, change = (image.values for image in images)
    rows = [heads.weights(made[Kind.SELF].layer(1), 2)[9] for made in (FIRST, SECOND)]
    assert images[2].focus == 9 and change.kind == "signed" and np.isnan(other.numbers[6]) and other.even == 1 / 24
    np.testing.assert_allclose(one.numbers, rows[0], rtol=1e-6)
    np.testing.assert_allclose(np.delete(other.numbers, 6), np.delete(rows[1], 6), rtol=1e-6)
    np.testing.assert_allclose(change.numbers, rows[1] - rows[0], atol=1e-7)
    assert change.high == pytest.approx(np.abs(rows[1] - rows[0]).max())
    named = with_patch_names(aligned, (FIRST, SECOND), VIEW)
    assert named.rows[next(place for place, group in enumerate(aligned.rows) if 9 in group.first)].text == "patch 1,2"


def test_sides_have_different_names_in_the_menu(monkeypatch):
    offered = SimpleNamespace(value={})
    monkeypatch.setattr(difference, "st", MagicMock(columns=lambda count, **look: [MagicMock()] * count))
    monkeypatch.setattr(difference, "head_view", lambda *given, **look: None)
    monkeypatch.setattr(handout_button, "OFFERED", offered)
    aligned = align_texts(FIRST, SECOND, (Kind.SELF, Kind.SELF))
    sides = [Head((shown,), VIEW) for shown in difference_views(FIRST, SECOND, (PLACE, PLACE), aligned)[:2]]
    found = MagicMock(aligned=aligned, titles=[["one", "1·2"], ["other", "1·2"]])
    draw_sides(MagicMock(), (FIRST, SECOND), found, sides, (0, 1))
    assert len({label for label, _ in offered.value.values()}) == 2


def test_only_pictures_cut_alike_are_drawn_over():
    assert over_pictures((FIRST, SECOND)) and not over_pictures((FIRST, fabricate.pictured(rows=3)))
    assert not over_pictures((FIRST, fabricate.record()))


@pytest.mark.parametrize(("one", "other", "short"), [
    ("it was too tired.", "it was too wide.", ("tired", "wide")), ("a b c.", "a d e", ("b c", "d e")),
    ("same", "same", ("this sentence", "the other sentence"))])
def test_sentences_are_called_by_the_words_that_differ(one, other, short):
    assert of_sentences(one, other) == short
