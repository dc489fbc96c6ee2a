"""How alike a patch's vector is to the others', in words of the numbers."""
import numpy as np

from model.core.tokens import patch_tokens
from model.studies.patch_attention import similarities
from viz.pages.pictures.vectors import similar_claim


def test_the_nearest_patch_is_named_and_the_token_itself_is_not_among_them():
    vectors = np.random.default_rng(4).normal(size=(7, 5)).astype(np.float32)
    vectors[5] = 3 * vectors[2] + 0.01
    cosines = similarities(vectors, 2)
    said = similar_claim(cosines, patch_tokens(2, 3), 2)
    others = np.delete(cosines, [0, 2])
    assert said.startswith("After the last layer the vector of patch 0,1 ")
    assert "with patch 1,1, with no other more" in said
    assert f"{others.min():.2f}".replace("-", "−") + " with the least alike" in said and " 1.00 with patch" in said
