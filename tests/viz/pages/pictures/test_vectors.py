"""How alike a patch's vector is to the others', in words of the numbers."""
import numpy as np
import pytest

from model.core.tokens import patch_tokens
from model.studies.patch_attention import similarities
from viz.pages.pictures.vectors import norms_claim, similar_claim


def test_the_nearest_patch_is_named_and_the_token_itself_is_not_among_them():
    vectors = np.random.default_rng(4).normal(size=(7, 5)).astype(np.float32)
    vectors[5] = 3 * vectors[2] + 0.01
    cosines = similarities(vectors, 2)
    said = similar_claim(cosines, patch_tokens(2, 3), 2)
    others = np.delete(cosines, [0, 2])
    assert said.startswith("After the last layer the vector of patch 0,1 ")
    assert "with patch 1,1, with no other more" in said
    assert f"{others.min():.2f}".replace("-", "−") + " with the least alike" in said and " 1.00 with patch" in said


@pytest.mark.parametrize("lengths, words", [
    ([2, 2, 2, 6.5], "After layer 3, 1 patch is longer than 3 × the median of 2 (dashed frames); the longest has 6.5."),
    ([2, 2, 2, 2, 6.5, 7], "2 patches are longer than 3 × the median of 2 (dashed frames); the longest has 7."),
    ([2, 2, 2, 6], "no patch is longer than 3 × the median of 2: the longest has 6."),
    ([2, 2, 2, 6.0004], "1 patch is longer than 3 × the median of 2 (dashed frames); the longest has 6.0004."),
    ([2.0004, 2.0004, 2.0004, 6.0008], "no patch is longer than 3 × the median of 2: the longest has 6."),
    ([1.9996, 1.9996, 1.9996, 5.9998], "1 patch is longer than 3 × the median of 1.9996 (dashed frames); the longest "
                                       "has 5.9998.")])
def test_an_outlier_is_one_by_the_digits_that_are_printed(lengths, words):
    assert words in norms_claim(np.array(lengths, float), 3)
