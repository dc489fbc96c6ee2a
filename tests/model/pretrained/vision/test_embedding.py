"""The token of each patch and its position vector are measured."""
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch

from clearhead.model import sources
from clearhead.model.ask.desk import models
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind, quiet
from clearhead.model.pretrained.vision.embedding import embedded_parts, picture_tokens
from tests.model import tiny_vision

PIXELS = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def tokens_of(network, pixels=PIXELS):
    return picture_tokens(partial(nullcontext, network), pixels)


def test_each_patch_is_found():
    before = PIXELS.clone()
    tokens = tokens_of(tiny_vision.network("dinov2_registers"))
    assert torch.equal(before, PIXELS)
    places = [f"{row},{column}" for row in range(4) for column in range(4)]
    assert tokens.texts == ("[CLS]", "[REG0]", "[REG1]", "[REG2]", *places)


def planted(change):
    """A vision model whose embeddings (1, token, d) are changed before its first layer."""
    network = tiny_vision.network("dinov2")
    network.embeddings.register_forward_hook(lambda _module, _arguments, states: change(states))
    return network


def moved(order):
    return lambda: planted(lambda states: torch.cat([states[:, :1], order(states[:, 1:])], 1))


def read_by(cut, rows):
    """A network whose attention reads the rows made of a picture's convolution."""
    network = torch.nn.Module()
    network.cut, network.attention = cut, torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(pixel_values):
        states = rows(cut(pixel_values))
        return network.attention(states, states, states)

    network.forward = forward
    return network


@pytest.mark.parametrize(("cut", "grid", "covered"), [
    (torch.nn.Conv2d(3, 8, 16, stride=10), (2, 2), 30 / 32),
    (torch.nn.Conv2d(3, 8, 8, stride=8, padding=2), (4, 4), 1),
    (torch.nn.Sequential(torch.nn.Conv2d(3, 8, 4, stride=4), torch.nn.AvgPool2d(2)), (4, 4), 1)],
    ids=["overlapping", "padded", "pooled"])
def test_overlapping_padded_and_pooled_patches_are_a_grid(cut, grid, covered):
    tokens = tokens_of(read_by(cut, lambda states: states.flatten(2).mT))
    assert tokens.grid == grid and tokens.boxes[-1].bottom == pytest.approx(covered)


NOT_ROW_BY_ROW = r"rows of its first attention are not one token for each patch"


@pytest.mark.parametrize(("network", "named"), [
    (moved(lambda patches: patches.reshape(1, 4, 4, -1).transpose(1, 2).reshape(1, 16, -1)), NOT_ROW_BY_ROW),
    (moved(lambda patches: patches.flip(1)), NOT_ROW_BY_ROW),
    (moved(lambda patches: patches + patches.mean(1, keepdim=True)), NOT_ROW_BY_ROW),
    (lambda: planted(lambda states: states[:, torch.randperm(17)[:5]]), f"the 5 {NOT_ROW_BY_ROW}.* hidden at random"),
    (lambda: read_by(torch.nn.Conv2d(3, 8, 8, stride=8), lambda states: states.permute(0, 2, 3, 1).flatten(0, 1)),
     NOT_ROW_BY_ROW),
    (lambda: torch.nn.Sequential(torch.nn.Identity()), "no attention over parts of its picture was seen")],
    ids=["columns first", "backwards", "mixed", "hidden", "windows", "no attention"])
def test_rows_that_are_no_patches_are_named(network, named):
    network = network()
    if isinstance(network, torch.nn.Sequential):
        network.forward = lambda pixel_values: pixel_values
    with pytest.raises(Unsupported, match=named):
        tokens_of(network)


@pytest.mark.parametrize(("name", "special"), [("vit", 1), ("deit", 2), ("clip_vision", 1), ("siglip_vision", 0)])
def test_learned_positions_are_those_of_the_parameters(name, special):
    network = tiny_vision.network(name)
    parts = embedded_parts(network, PIXELS, range(special), 16 + special)
    table = next(parameter for path, parameter in network.named_parameters() if "position_embedding" in path)
    np.testing.assert_allclose(parts.position, table.detach().numpy().reshape(parts.position.shape), atol=1e-5)


def test_interpolated_positions_are_measured():
    network = tiny_vision.network("dinov2_registers")
    parts = embedded_parts(network, PIXELS, range(4), 20)
    assert np.abs(parts.position[1:4]).max() < 1e-6, "registers have no place"
    network = tiny_vision.network("dinov2")   # 7 × 7 learned, 4 × 4 wanted
    parts = embedded_parts(network, PIXELS, range(1), 17)
    with torch.inference_mode():
        wanted = network.embeddings.interpolate_pos_encoding(torch.zeros(1, 17, 24), 32, 32)[0].numpy()
    np.testing.assert_allclose(parts.position, wanted, atol=1e-5)


def test_trace_has_the_parts_of_its_start(tmp_path):
    folder = tiny_vision.save(tmp_path / "clip_vision", "clip_vision")
    query = sources.open_query(str(folder), "", image=tiny_vision.shipped("cat"))
    trace = TraceQuery(query).answer(models, quiet)
    start = trace.start(Kind.SELF)
    assert [name for name, _ in start.parts] == ["content", "position"]
    np.testing.assert_allclose(sum(part for _, part in start.parts), start.norm.input, atol=1e-5)
    assert len(trace.blocks) == 3 and trace.blocks[0].feed_forward.activation == "GELU (sigmoid)"
