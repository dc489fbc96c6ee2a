"""The Transformer compared with torch.nn and BERT with copied weights, and positions with closed forms."""
import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from clearhead.model.scratch import transformer
from clearhead.model.scratch.transformer import Config, DecoderLayer, EncoderLayer, Stack, Transformer

TOLERANCE = 1e-5
BATCH, HEADS, QUERIES, KEYS, D_MODEL, D_FF, LAYERS = 2, 3, 5, 7, 33, 13, 2
SMALL = Config(vocabulary=17, d_model=D_MODEL, heads=HEADS, d_ff=D_FF, encoder_layers=LAYERS, decoder_layers=LAYERS,
               dropout=0.0, positions="none")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(11)


def shake(module: nn.Module) -> nn.Module:
    """Move biases and gains away from 0 and 1, so that omitting one is noticed."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.2)
    return module.eval()


def copy_linear(ours: nn.Module, weight: torch.Tensor, bias: torch.Tensor):
    ours.weight.data.copy_(weight)
    ours.bias.data.copy_(bias)


def copy_attention(ours: transformer.MultiHeadAttention, theirs: nn.MultiheadAttention):
    ours_in = ours.w_query, ours.w_key, ours.w_value
    for linear, weight, bias in zip(ours_in, theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True):
        copy_linear(linear, weight, bias)
    copy_linear(ours.w_output, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_layer(ours: EncoderLayer | DecoderLayer, theirs: nn.Module):
    copy_attention(ours.attention, theirs.self_attn)
    norms = [ours.after_attention, ours.after_feed_forward]
    if isinstance(ours, DecoderLayer):
        copy_attention(ours.cross, theirs.multihead_attn)
        norms.insert(1, ours.after_cross)
    copy_linear(ours.feed_forward.w_1, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.w_2, theirs.linear2.weight, theirs.linear2.bias)
    for number, each in enumerate(norms, start=1):
        norm = getattr(theirs, f"norm{number}")
        copy_linear(each.norm, norm.weight, norm.bias)


def padded(batch: int, length: int) -> torch.Tensor:
    """True where a key counts; the texts of the batch differ in length."""
    keep = torch.ones(batch, length, dtype=torch.bool)
    keep[0, -2:] = False
    return keep


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return (ours - theirs).detach().abs().max().item()


@pytest.mark.parametrize(("padding", "causal", "norm_first", "final"), list(itertools.product([False, True], repeat=4)))
def test_encoder_equals_torch(padding, causal, norm_first, final):
    layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm_first)
    theirs = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(D_MODEL) if final else None,
                                   enable_nested_tensor=False)
    shake(theirs)
    ours = Stack(replace(SMALL, norm_first=norm_first, final_norm=final), EncoderLayer, LAYERS).eval()
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(mine, other)
    if final:
        copy_linear(ours.norm, theirs.norm.weight, theirs.norm.bias)
    x = torch.randn(BATCH, KEYS, D_MODEL)
    keep = padded(BATCH, KEYS) if padding else torch.ones(BATCH, KEYS, dtype=torch.bool)
    look = transformer.look_ahead_mask(KEYS) if causal else torch.ones(KEYS, KEYS, dtype=torch.bool)
    expected = theirs(x, mask=~look, src_key_padding_mask=~keep)
    assert difference(ours(x, keep[:, None, None, :] & look)[keep], expected[keep]) < TOLERANCE


@pytest.mark.parametrize(("target_padding", "causal", "memory_padding", "norm_first"),
                         list(itertools.product([False, True], repeat=4)))
def test_decoder_equals_torch(target_padding, causal, memory_padding, norm_first):
    layer = nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm_first)
    theirs = shake(nn.TransformerDecoder(layer, LAYERS))
    ours = Stack(replace(SMALL, norm_first=norm_first), DecoderLayer, LAYERS).eval()
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(mine, other)
    x, memory = torch.randn(BATCH, QUERIES, D_MODEL), torch.randn(BATCH, KEYS, D_MODEL)
    keep = padded(BATCH, QUERIES) if target_padding else torch.ones(BATCH, QUERIES, dtype=torch.bool)
    memory_keep = padded(BATCH, KEYS) if memory_padding else torch.ones(BATCH, KEYS, dtype=torch.bool)
    look = transformer.look_ahead_mask(QUERIES) if causal else torch.ones(QUERIES, QUERIES, dtype=torch.bool)
    expected = theirs(x, memory, tgt_mask=~look, tgt_key_padding_mask=~keep, memory_key_padding_mask=~memory_keep)
    mine = ours(x, keep[:, None, None, :] & look, memory, memory_keep[:, None, None, :])
    assert difference(mine[keep], expected[keep]) < TOLERANCE


def test_base_model_has_the_papers_parameters():
    with torch.device("meta"):
        base = Transformer(Config(vocabulary=37_000))
    assert sum(each.numel() for each in base.parameters()) == 63_082_496


@pytest.mark.parametrize("scheme", transformer.POSITIONS)
def test_future_and_padding_change_nothing(scheme):
    """A later token or padding at the end changes nothing before it; the source's padding changes nothing at all."""
    model = shake(Transformer(replace(SMALL, d_model=30, positions=scheme, max_length=23)))
    source, target = torch.randint(1, 17, (1, KEYS)), torch.randint(1, 17, (1, QUERIES))
    whole = model(source, target)
    changed = target.clone()
    changed[0, -1] = target[0, -1] % 16 + 1
    assert difference(model(source, changed)[:, :-1], whole[:, :-1]) < TOLERANCE
    longer_source, longer_target = (nn.functional.pad(ids, (0, 3)) for ids in (source, target))
    assert difference(model(longer_source, longer_target)[:, :QUERIES], whole) < TOLERANCE * 10
    assert difference(model(source, changed)[:, -1], whole[:, -1]) > TOLERANCE


@pytest.mark.parametrize(("change", "word"), [
    ({"heads": 5}, "multiple of heads"), ({"positions": "none such"}, "positions to be one of"),
    ({"positions": "rotary"}, "pairs of dimensions"),
    ({"encoder_layers": 0, "decoder_layers": 0}, "at least one layer")])
def test_impossible_configuration_says_why(change, word):
    with pytest.raises(ValueError, match=word):
        replace(SMALL, **change)


PICTURES = Config(vocabulary=7, d_model=12, heads=3, d_ff=5, encoder_layers=2, decoder_layers=0, positions="learned",
                max_length=7, dropout=0.0, norm_first=True, final_norm=True, tie=False, patch=4)


@pytest.fixture(scope="module")
def pictures() -> torch.Tensor:
    return torch.rand(3, 8, 12, generator=torch.Generator().manual_seed(1))


def test_patch_embedding_is_a_convolution(pictures):
    embedding = transformer.PatchEmbedding(PICTURES)
    kernel = embedding.linear.weight.reshape(12, 1, 4, 4)
    expected = nn.functional.conv2d(pictures[:, None], kernel, embedding.linear.bias, stride=4).flatten(2).mT
    found = embedding(pictures)
    torch.testing.assert_close(found[:, 1:], expected + embedding.positions.table[1:])
    torch.testing.assert_close(found[:, 0], (embedding.start + embedding.positions.table[:1]).expand(3, -1))


def test_pictures_without_positions_have_no_order(pictures):
    torch.manual_seed(2)
    model, blind = Transformer(PICTURES).eval(), Transformer(Config(**{**vars(PICTURES), "positions": "none"})).eval()
    order = torch.randperm(6)
    patches = nn.functional.unfold(pictures[:, None], 4, stride=4).mT[:, order]
    shuffled = patches.reshape(3, 2, 3, 4, 4).transpose(2, 3).reshape(3, 8, 12)
    assert model(pictures).shape == (3, 1, 7)
    torch.testing.assert_close(blind(shuffled), blind(pictures), atol=1e-5, rtol=1e-5)
    assert (model(shuffled) - model(pictures)).abs().max() > 1e-3


def test_sinusoidal_equals_the_papers_formula():
    table = transformer.sinusoidal(11, 7)
    for t in range(11):
        for i in range(7):
            angle = t / 10000 ** (2 * (i // 2) / 7)
            assert table[t, i] == pytest.approx(math.sin(angle) if i % 2 == 0 else math.cos(angle), abs=1e-6)


def test_rotary_turns_each_pair_by_its_angle():
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(3, 4)
    t2 = transformer.rotate(x)[2]
    torch.testing.assert_close(t2, torch.tensor([math.cos(2), math.sin(2), math.cos(0.02), math.sin(0.02)]))
