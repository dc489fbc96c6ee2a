import numpy as np
import pytest

from viz import glow, theme


def test_each_doubling_is_the_same_step_from_even_to_the_most():
    shares = glow.shares_of(np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 9.0, np.nan]), 0.1, 16.0)
    np.testing.assert_allclose(shares, [0, 0, 0.25, 0.5, 0.75, 1, 1, 0], atol=1e-6)


def test_without_colours_the_picture_is_itself():
    picture = np.random.default_rng(0).integers(0, 256, (3, 4, 3), np.uint8)
    np.testing.assert_array_equal(glow.over(picture, np.ones((3, 4), np.float32), opacity=0), picture)


def test_more_weight_is_lighter_also_on_grey_paper():
    grey = np.full((1, 256, 3), 120, np.uint8)
    light = theme.luminance(glow.over(grey, np.linspace(0.3, 1, 256)[np.newaxis], opacity=1)[0])
    assert (np.diff(light) > -2e-3).all() and light[-1] > light[0] + 0.5


def test_what_became_less_has_other_colours():
    grey = np.full((1, 2, 3), 120, np.uint8)
    more, less = glow.over(grey, np.array([[0.8, -0.8]], np.float32))[0].astype(int)
    assert more[0] > more[2] and less[2] > less[0]


def test_numbers_are_spread_over_their_patches_alone():
    boxes = np.array([[np.nan] * 4, [0, 0, 0.5, 1], [0.5, 0, 0.75, 1]])
    drawn = glow.spread(np.array([9, 0.25, 0.5]), boxes, (2, 8))
    np.testing.assert_array_equal(drawn, np.tile([0.25] * 4 + [0.5] * 2 + [0] * 2, (2, 1)))


@pytest.mark.parametrize(("keys", "most"), [(257, 16), (10, 10), (1, 2)])
def test_the_colours_end_where_all_of_the_weight_is(keys, most):
    assert glow.most_times(keys) == most and glow.ticks(most)[-1] == (1.0, f"{most}×") and glow.ticks(most)[0][0] == 0
