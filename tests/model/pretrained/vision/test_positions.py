"""What a model of pictures adds for places is measured, and is what its parameters say."""
import numpy as np
import pytest
import torch

from model.ask import sources
from model.ask.sources import models
from model.core.models import TraceQuery
from model.core.query import Kind, quiet
from model.pretrained.vision.patches import embedded_parts
from tests.model import tiny_vision

PIXELS = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("name", "special"), [("vit", 1), ("deit", 2), ("clip_vision", 1), ("siglip_vision", 0)])
def test_learned_positions_are_those_of_the_parameters(name, special):
    network = tiny_vision.network(name)
    parts = embedded_parts(network, PIXELS, range(special), 16 + special)
    table = next(parameter for path, parameter in network.named_parameters() if "position_embedding" in path)
    np.testing.assert_allclose(parts.position, table.detach().numpy().reshape(parts.position.shape), atol=1e-5)


def test_positions_between_the_learned_ones_are_as_the_model_interpolates_them():
    network = tiny_vision.network("dinov2_registers")
    parts = embedded_parts(network, PIXELS, range(4), 20)
    assert np.abs(parts.position[1:4]).max() < 1e-6, "registers have no place"
    network = tiny_vision.network("dinov2")   # 7 × 7 learned, 4 × 4 wanted
    parts = embedded_parts(network, PIXELS, range(1), 17)
    with torch.inference_mode():
        wanted = network.embeddings.interpolate_pos_encoding(torch.zeros(1, 17, 24), 32, 32)[0].numpy()
    np.testing.assert_allclose(parts.position, wanted, atol=1e-5)


def test_a_trace_says_what_the_first_layer_reads_is_made_of(tmp_path):
    folder = tiny_vision.save(tmp_path / "clip_vision", "clip_vision")
    query = sources.open_query(str(folder), "", image=tiny_vision.shipped("cat"))
    trace = TraceQuery(query).answer(models, quiet)
    start = trace.start(Kind.SELF)
    assert [name for name, _ in start.parts] == ["content", "position"]
    np.testing.assert_allclose(sum(part for _, part in start.parts), start.norm.input, atol=1e-5)
    assert len(trace.blocks) == 3 and trace.blocks[0].feed_forward.activation == "GELU (sigmoid)"
