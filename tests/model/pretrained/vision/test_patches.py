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
from clearhead.model.pretrained.build import Probe
from clearhead.model.pretrained.vision.patches import cut_of, embedded_parts, patch_order, patch_size
from tests.model import tiny_vision


def probe_of(network, height=32, width=32):
    draw = torch.Generator().manual_seed(0)
    return Probe(partial(nullcontext, network), {"pixel_values": torch.rand(1, 3, height, width, generator=draw)})


@pytest.fixture(scope="module")
def network():
    return tiny_vision.network("dinov2_registers")


def order_of(network, probe):
    return patch_order(network, probe, probe.tensors["pixel_values"], patch_size(network)).tolist()


def test_each_patch_is_found(network):
    probe = probe_of(network)
    before = probe.tensors["pixel_values"].clone()
    assert order_of(network, probe) == [-1, -1, -1, -1, *range(16)]
    assert torch.equal(before, probe.tensors["pixel_values"])
    cut = cut_of(network, probe, probe.tensors["pixel_values"])
    assert (cut.height, cut.width, cut.before, cut.after) == (8, 8, ("[CLS]", "[REG0]", "[REG1]", "[REG2]"), ())


@pytest.mark.parametrize("shuffle", [lambda patches: patches.reshape(1, 4, 4, -1).transpose(1, 2).reshape(1, 16, -1),
                                     lambda patches: patches.flip(1),
                                     lambda patches: patches + patches.mean(1, keepdim=True)],
                         ids=["columns first", "backwards", "mixed"])
def test_shuffled_patches_are_refused(shuffle):
    network = tiny_vision.network("dinov2")

    def planted(_module, _arguments, states):
        return torch.cat([states[:, :1], shuffle(states[:, 1:])], 1)

    network.embeddings.register_forward_hook(planted)
    probe = probe_of(network)
    with pytest.raises(Unsupported, match="are not its 4 × 4 patches row by row"):
        cut_of(network, probe, probe.tensors["pixel_values"])


def planted(network):
    """(network, a pass over its probe) of a network that is a sequence."""
    probe = probe_of(network)
    return network, probe, probe.tensors["pixel_values"]


def a_map(reshape):
    """Build a convolution, and layers that read its reshaped output."""
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 8, stride=8), torch.nn.ModuleList([torch.nn.Identity()]))
    network.forward = lambda pixel_values: network[1][0](reshape(network[0](pixel_values)))
    return network


def at_random():
    network = tiny_vision.network("dinov2")
    network.embeddings.register_forward_hook(lambda _module, _arguments, states: states[:, torch.randperm(17)[:5]])
    return network


@pytest.mark.parametrize(("network", "named"), [
    (at_random, r"its 5 tokens are not its 4 × 4 patches row by row, as where .* hidden at random"),
    (lambda: torch.nn.Sequential(torch.nn.Conv2d(3, 8, 16, stride=10)), "are 16 × 16 pixels large and 10 × 10 apart"),
    (lambda: torch.nn.Sequential(torch.nn.Conv2d(3, 8, 8, stride=8, padding=2)), r"padded by \(2, 2\)"),
    (lambda: torch.nn.Sequential(torch.nn.Linear(3, 3)), "no convolution over red, green and blue"),
    (lambda: a_map(lambda states: states), r"do not read one sequence of tokens but numbers of shape \(1, 8, 4, 4\)"),
    (lambda: a_map(lambda states: states.reshape(4, 4, 8)), r"numbers of shape \(4, 4, 8\), as with window attention")])
def test_models_without_adjacent_patches_are_named(network, named):
    with pytest.raises(Unsupported, match=named):
        cut_of(*planted(network()))


PIXELS = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


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
