"""How alike a patch's vector is to the others', in words of the numbers."""
import numpy as np

from model.core.tokens import patch_tokens
from model.studies.patch_attention import similarities
from tests.lesson_sentences import agrees
from viz.pages.pictures.vectors import norms_claim, similar_claim


def test_the_nearest_patch_is_named_and_the_token_itself_is_not_among_them():
    vectors = np.random.default_rng(4).normal(size=(7, 5)).astype(np.float32)
    vectors[5] = 3 * vectors[2] + 0.01
    cosines = similarities(vectors, 2)
    said = similar_claim(cosines, patch_tokens(2, 3), 2)
    others = np.delete(cosines, [0, 2])
    assert said.startswith("After the last layer the vector of patch 0,1 ")
    assert "1.00 with patch 1,1, the most alike" in said
    assert f"{others.min():.2f}".replace("-", "−") + " with the least alike" in said


def test_outliers_are_counted_beyond_a_multiple_of_the_median():
    for lengths in np.random.default_rng(1).exponential(size=(5, 9)):
        beyond = int((lengths > 3 * np.median(lengths)).sum())
        assert agrees(norms_claim(lengths, 3), 3, *[beyond] * (beyond > 0), 3, np.median(lengths), lengths.max())
