import numpy as np

from viz.pages.positions import accuracy_by_length


def test_accuracies_are_split_at_the_trained_length_and_at_twice_that():
    found = {"trained": 32, "back": 3, "tested": 128}
    places = np.arange(3, 128)
    runs = {"a": np.stack([places < 32, (places < 32) | (places >= 64)]).astype(float)}
    assert accuracy_by_length(runs, found) == {"a_in": 1.0, "a_out": 0.5}
