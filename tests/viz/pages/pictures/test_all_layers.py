"""How far the much-copied program is from rollout."""
import numpy as np

from model.studies.patch_attention import PatchRollout
from tests.lesson_sentences import agrees
from viz.pages.pictures.all_layers import rollout_claim

RIGHT = np.array([[0.6, 0.4], [0.3, 0.7]])


def test_sums_and_the_largest_difference_are_those_of_the_rows():
    for change in np.random.default_rng(2).normal(size=(5, 2, 2)):
        copied = RIGHT + change
        sums = copied.sum(1)
        assert agrees(rollout_claim(PatchRollout(RIGHT, copied), 0, "*a*"), sums.min(), sums.max(), sums[0],
                      np.abs(change[0]).max())
