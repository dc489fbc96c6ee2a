"""Cross-attention compared with torch."""
import numpy as np
import pytest
import torch
from torch.nn import functional

from clearhead.model import sources
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind
from clearhead.model.lessons import families
from tests.headline import TIRED
from tests.model.only import ask


@pytest.fixture(scope="module")
def translated():
    query = sources.open_query("translator", TIRED)
    return ask(query), ask(TraceQuery(query))


def test_cross_attention_reads_one_memory(translated):
    record, trace = translated
    found = families.wiring(trace, record)
    assert found.apart < 1e-5 and found.layers == len(record[Kind.CROSS].layers) > 1
    n, m = len(record[Kind.SELF].queries.ids), len(record[Kind.CAUSAL].queries.ids)
    assert found.memory.shape == (n, record.card.d_model) and found.stream.shape == (m, record.card.d_model)
    assert found.query[1] == m and found.key[1] == found.value[1] == n
    for each in (one for block in trace.blocks for one in block.attentions if one.kind is Kind.CROSS):
        parts = ((each.query, each.x), (each.key, found.memory), (each.value, found.memory))
        q, k, v = (torch.tensor(np.stack([part.apply(given, head) for head in range(len(part.weight))]))
                   for part, given in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v).numpy()
        np.testing.assert_allclose(record[Kind.CROSS].layer(each.index).head_outputs(np.arange(m)), mixed, atol=1e-5)
