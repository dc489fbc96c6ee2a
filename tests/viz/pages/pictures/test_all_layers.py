"""How far the much-copied program is from rollout, in words of the printed numbers."""
import numpy as np
import pytest

from model.studies.patch_attention import PatchRollout
from viz.pages.pictures.all_layers import rollout_claim

RIGHT = np.array([[0.6, 0.4], [0.3, 0.7]])


@pytest.mark.parametrize("change, words", [
    ([[0, 0], [0, 0]], "the two are the same: all rows sum to 1"),
    ([[1e-9, 0], [0, 0]], "the two are the same"),
    ([[0.2, -0.2], [0, 0]], "In these digits all rows of the copied program sum to 1 here, too; from *a* its numbers "
                            "differ from rollout's by up to 0.2."),
    ([[0.004, 0], [0, 0]], "In these digits all rows"),
    ([[0.006, 0], [0, 0]], "rows sum to 1 to 1.01, the one from *a* to 1.01; from there its numbers differ from "
                           "rollout's by up to 0.006."),
    ([[0, 0], [-0.5, 0]], "rows sum to 0.5 to 1, the one from *a* to 1; from there its numbers differ from rollout's "
                          "by up to 0.")])
def test_the_copied_program_is_called_other_only_where_its_digits_are(change, words):
    assert words in rollout_claim(PatchRollout(RIGHT, RIGHT + np.array(change)), 0, "*a*")
