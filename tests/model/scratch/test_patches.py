"""Patches: the linear map of patches is a convolution of their size, and [CLS] and places stand where they should."""
import pytest
import torch
from torch import nn

from model.scratch import positions
from model.scratch.patches import PatchEmbedding, cut
from model.scratch.transformer import Config, Transformer

CONFIG = Config(vocabulary=7, d_model=12, heads=3, d_ff=5, encoder_layers=2, decoder_layers=0, positions="learned",
                max_length=7, dropout=0.0, norm_first=True, final_norm=True, tie=False, patch=4)


@pytest.fixture(scope="module")
def pictures() -> torch.Tensor:
    return torch.rand(3, 8, 12, generator=torch.Generator().manual_seed(1))


def test_patches_are_cut_row_by_row(pictures):
    found = cut(pictures, 4)
    assert found.shape == (3, 6, 16)
    assert torch.equal(found[1, 4], pictures[1, 4:8, 4:8].flatten())


def test_the_linear_map_is_a_convolution_of_a_patchs_size(pictures):
    embedding = PatchEmbedding(4, 12, 7, positions.Learned)
    kernel = embedding.linear.weight.reshape(12, 1, 4, 4)
    expected = nn.functional.conv2d(pictures[:, None], kernel, embedding.linear.bias, stride=4).flatten(2).mT
    found = embedding(pictures)
    torch.testing.assert_close(found[:, 1:], expected + embedding.positions.table[1:])
    torch.testing.assert_close(found[:, 0], (embedding.start + embedding.positions.table[:1]).expand(3, -1))


def test_a_model_of_pictures_answers_at_cls_and_without_places_knows_no_order(pictures):
    torch.manual_seed(2)
    model, blind = Transformer(CONFIG).eval(), Transformer(Config(**{**vars(CONFIG), "positions": "none"})).eval()
    order = torch.randperm(6)
    shuffled = cut(pictures, 4)[:, order].reshape(3, 2, 3, 4, 4).transpose(2, 3).reshape(3, 8, 12)
    assert model(pictures).shape == (3, 1, 7)
    torch.testing.assert_close(blind(shuffled), blind(pictures), atol=1e-5, rtol=1e-5)
    assert (model(shuffled) - model(pictures)).abs().max() > 1e-3


def test_patches_and_places_begin_equally_wide():
    torch.manual_seed(3)
    embedding = Transformer(Config(**{**vars(CONFIG), "d_model": 96})).embedding
    inked = torch.where(torch.rand(200, 4, 4) < 0.25, 1.0, 0.0)   # squares add up to a quarter of the patch
    assert embedding.linear(inked.flatten(1)).std().item() == pytest.approx(1, abs=0.15)
    assert embedding.positions.table.std().item() == pytest.approx(1, abs=0.15)


def test_a_decoder_of_pictures_and_a_tied_table_are_refused():
    for wrong in ({"decoder_layers": 1}, {"tie": True}):
        with pytest.raises(ValueError, match="reads pictures"):
            Config(**{**vars(CONFIG), **wrong})
