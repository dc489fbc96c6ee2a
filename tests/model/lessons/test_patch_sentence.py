"""A picture as a sentence: shuffles, cuts and counts by another way, and readings beside the model's own."""
import numpy as np
import pytest
import torch

from model.lessons import digit_patches as lesson
from model.scratch import canvas
from model.scratch.canvas import SIDE
from model.scratch.tasks import marked_digit


def test_the_grid_is_that_of_the_canvases():
    assert (lesson.ROWS, lesson.COLUMNS, lesson.SIDE) == (canvas.ROWS, canvas.COLUMNS, SIDE)
    assert len(lesson.canvases()) == lesson.PICTURES and {each.split for each in lesson.canvases()} == {"test"}


@pytest.mark.parametrize("moved", [0, 1, 2, 7, 25])
def test_as_many_patches_move_as_are_asked_for(moved):
    order = lesson.swapped(25, moved, 3)
    assert sorted(order) == list(range(25)) and (order != np.arange(25)).sum() == (moved if moved > 1 else 0)


@pytest.mark.parametrize("side", [1, 4, 8])
def test_what_was_cut_can_be_laid_again(side):
    picture = lesson.canvases()[0].pixels()
    patches = lesson.cut(picture, side)
    assert (lesson.laid(patches, 40 // side) == picture).all()
    assert (patches[1] == picture[:side, side:2 * side]).all()


def test_with_places_it_is_the_model_and_without_them_it_knows_no_order():
    picture = lesson.canvases()[1].pixels()
    with torch.inference_mode():
        own = lesson.patch_network()(marked_digit.ink(picture)[None])[0, 0].numpy()
    found = lesson.read(picture, True)
    np.testing.assert_allclose(found, own, atol=1e-5)
    assert found.argmax() == lesson.canvases()[1].answer
    shuffled = lesson.laid(lesson.cut(picture, 8)[lesson.swapped(25, 25, 0)], 5)
    straight, other = (lesson.read(each, False) for each in (picture, shuffled))
    np.testing.assert_allclose(straight, other, atol=1e-4)


def test_counts_are_those_of_the_model():
    model = lesson.patch_network()
    counted = lesson.numbers(40, 40, 8, 64)
    assert counted["tokens"] == model.config.max_length == 26 and counted["weights"] == 676
    assert counted["map"] == sum(each.numel() for each in model.embedding.linear.parameters())
    assert counted["places"] == model.embedding.positions.table.numel() and counted["pixels"] == 64
    others = counted["map"] + counted["places"] + model.embedding.start.numel() + sum(
        each.numel() for each in model.output.parameters())
    assert lesson.blocks() == sum(each.numel() for each in model.parameters()) - others
