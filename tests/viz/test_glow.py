import numpy as np

from viz import glow, theme


def test_each_doubling_is_the_same_step_from_even_to_the_most():
    shares = glow.shares_of(np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 9.0, np.nan]), 0.1, 16.0)
    np.testing.assert_allclose(shares, [0, 0, 0.25, 0.5, 0.75, 1, 1, 0], atol=1e-6)


def test_more_weight_is_lighter_even_in_greyscale():
    grey = np.full((1, 256, 3), 120, np.uint8)
    light = theme.luminance(glow.over(grey, np.linspace(0.3, 1, 256)[np.newaxis], opacity=1)[0])
    assert (np.diff(light) > -2e-3).all() and light[-1] > light[0] + 0.5


def test_numbers_fill_only_their_patches():
    boxes = np.array([[np.nan] * 4, [0, 0, 0.5, 1], [0.5, 0, 0.75, 1]])
    drawn = glow.spread(np.array([9, 0.25, 0.5]), boxes, (2, 8))
    np.testing.assert_array_equal(drawn, np.tile([0.25] * 4 + [0.5] * 2 + [0] * 2, (2, 1)))
