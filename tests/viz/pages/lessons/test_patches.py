"""The page Images as patches, compared with the trained model's own parts."""
import numpy as np
import pytest
import torch

from clearhead.model.lessons import digit_patches
from clearhead.model.scratch.source import network_of
from tests.lesson_pages import shown


@pytest.mark.parametrize("turned", [{"moved": 0, "side": 1}, {"picture": 7, "moved": 3, "side": 40}])
def test_sizes_and_positions_are_recounted(turned):
    found = shown("patches", guess="a", **turned).numbers
    assert found["cut"]["tokens"] == (40 // turned["side"]) ** 2 + 1
    assert found["cut"]["weights"] == found["cut"]["tokens"] ** 2
    assert found["shuffle"]["difference"] < 1e-4
    assert turned["moved"] or found["shuffle"]["p_first"] == pytest.approx(found["shuffle"]["p_second"])
    table = network_of(digit_patches.MODEL).embedding.positions.table[1:].detach().double()
    cosines = torch.nn.functional.cosine_similarity(table[:, None], table[None], dim=-1).numpy()
    places = [divmod(each, 5) for each in range(25)]
    apart = np.array([[abs(a - c) + abs(b - d) for c, d in places] for a, b in places])
    assert [found["places"]["near"], found["places"]["far"]] == pytest.approx(
        [cosines[apart == 1].mean(), cosines[apart > 1].mean()])
