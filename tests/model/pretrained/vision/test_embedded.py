import numpy as np

from model.ask import sources
from model.core import pictures
from model.core.models import TraceQuery
from tests.model import tiny_vision


def test_a_patch_is_its_linear_map_and_its_place(tmp_path):
    import torch

    query = sources.open_query(str(tiny_vision.save(tmp_path, "dinov2")), "", image=pictures.shipped()[0].sha256)
    start = sources.ask(TraceQuery(query)).result().embedded[0]
    parts = dict(start.parts)
    np.testing.assert_allclose(parts["patch"] + parts["position"], start.output, atol=1e-5)
    network = tiny_vision.network("dinov2")
    record = sources.ask(query).result()
    tokens = record[start.kind].queries
    table = network.embeddings.interpolate_pos_encoding(torch.zeros(1, len(tokens), 24), *record.picture.shape[:2])
    np.testing.assert_allclose(parts["position"][list(tokens.patches)],
                               table[0].detach().numpy()[list(tokens.patches)], atol=1e-4)
