"""What is inside an outline, and heads that look at the figure or at the ground."""
from dataclasses import replace

import numpy as np
import pytest

from model.core import pictures
from model.core.masks import Full
from model.core.query import UserError, quiet
from model.core.record import AttentionMap, Reported, patch_tokens
from model.studies.claims import measured as figures
from model.studies.claims.claim import Reason, judge, reason
from tests.fabricate import record
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, planted

ROWS = COLUMNS = 16


def test_the_middle_of_a_patch_decides():
    square = np.array([[0.25, 0.5], [0.75, 0.5], [0.75, 1], [0.25, 1]])
    expected = np.zeros((4, 8), bool)
    expected[2:, 2:6] = True
    assert (figures.inside(square, 4, 8) == expected).all()


@pytest.mark.parametrize("key", figures.shipped())
def test_an_outline_belongs_to_a_picture_and_leaves_a_ground(key):
    assert key in {picture.key for picture in pictures.shipped()}
    assert 0.02 < figures.inside(figures.shipped()[key], ROWS, COLUMNS).mean() < 0.9


def seeing(figure: bool, fitting: bool = True):
    """A model with an even head and one whose [CLS] looks at the figure alone, and another that looks at the ground;
    not fitting: it gets other parts of the pictures than expected."""
    known = {sha256: rest for sha256, *rest in figures.with_figures()}

    def answer(query):
        mask, expected = known[query.image]
        mask, side = mask(ROWS, COLUMNS), patch_tokens(ROWS, COLUMNS)
        weights = np.full((3, len(side), len(side)), 1 / len(side), np.float32)
        for head, part in ((1, mask), (2, ~mask)) if figure else ():
            weights[head, 0] = 0
            weights[head, 0, list(side.patches)] = part.ravel() / part.sum()
        layers = (AttentionMap(planted_kind(), side, side, (Reported(0, weights, Full()),)),)
        got = expected if fitting or expected is None else expected[::-1]
        return replace(record(4), maps=layers, picture=got)

    return FakeModels(answer)


def planted_kind():
    return planted([[looking(4, lambda row: row)]]).maps[0].kind


def test_heads_that_tell_figure_and_ground_apart_are_found_and_even_ones_are_not():
    found = figures.figure_and_ground(ASKED, seeing(True), quiet).findings
    assert judge(found).reason is Reason.ABOVE and [one.heads for one in found] == [((0, 1),) * 2, ((0, 2),) * 2]
    assert {one.n for one in found} == {16}
    even = figures.figure_and_ground(ASKED, seeing(False), quiet).findings
    assert all(reason(one) is not Reason.ABOVE for one in even)
    assert reason(replace(found[0], n=4)) is Reason.FEW   # the photographs alone decide nothing


def test_a_model_that_gets_another_part_of_a_picture_is_refused():
    with pytest.raises(UserError, match="a different part"):
        figures.figure_and_ground(ASKED, seeing(True, fitting=False), quiet)


def test_a_model_without_patches_is_refused():
    with pytest.raises(UserError, match="DINOv2"):
        figures.figure_and_ground(ASKED, FakeModels(lambda query: planted([[looking(9, lambda row: 0)]])), quiet)
