"""What an attention is added to is what the model's own norms have read, in the encoder and in both of a decoder's."""
from types import SimpleNamespace

import numpy as np
import pytest

from model.core.models import TraceQuery
from model.core.query import Kind
from tests import headline
from viz.pages.inside.stream import addition, normalised, stream_before


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL, Kind.CROSS])
def test_stream_and_addition_are_what_a_norm_reads(kind):
    from model.ask import sources

    trace = sources.ask(TraceQuery(sources.open_query("translator", headline.TIRED))).result()
    block, around = trace.block(kind, 0), trace.attention(kind, 0)
    total = stream_before(block, around) + addition(block, around)
    assert min(np.abs(norm.input - total).max() for norm in block.norms) < 1e-5
    assert normalised(block, around) is None


def test_a_norm_of_the_output_itself_is_what_is_added():
    output = np.ones((2, 3), np.float32)
    around = SimpleNamespace(output=output)
    block = SimpleNamespace(norms=[SimpleNamespace(input=output.copy(), output=output / 2)], attentions=[around],
                            before=output)
    assert (addition(block, around) == 0.5).all()
