"""A few activations are a thousand times larger than the others, and they sit where the sink is (Sun et al. 2024)."""
import numpy as np

from model.core.models import Models, NamesModel
from model.core.query import Query
from model.core.record import AttentionMap
from model.core.statistics import accuracy_intervals
from model.core.trace import Trace
from model.core.types import Progress, quiet
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.claims.definitions import MASSIVE, MOST, TIMES
from model.studies.claims.sinks import received
from model.studies.claims.texts import records, sentences
from model.studies.coreference.heads import map_of


def massive(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """In how many texts some hidden state has a massive activation, and in how many the token with the largest
    activation is the one that gets the most attention; the baseline of the second is a token drawn at random."""
    opened, there, at_sink, chance = models.open(asked, report), [], [], []
    for _, text, record in records(asked, opened, report):
        attention_map = map_of(record)
        trace = opened.trace(Query(asked.model, asked.revision, text), quiet)
        token, is_massive = largest(trace, attention_map)
        there.append(float(is_massive))
        at_sink.append(float(token == int(received(attention_map).argmax())))
        chance.append(1 / len(attention_map.queries))
    each = np.arange(len(there))
    exists, sits = accuracy_intervals(np.array([there, at_sink]).T, each)
    return Measurement((finding("massive", exists, MOST, "texts", "share"),
                        finding("massive_sink", sits, float(np.mean(chance)), "texts", "share")),
                       Picture("heads", asked.model, sentences()[0], settings=(("colour", "first"),)))


def largest(trace: Trace, attention_map: AttentionMap) -> tuple[int, bool]:
    """The token with the largest activation of all hidden states between blocks, and whether it is massive: above
    MASSIVE, and above TIMES the median size of its layer's."""
    sizes = [np.abs(block.after) for block in trace.blocks if block.kind is attention_map.kind]
    tops = [float(size.max()) for size in sizes]
    size = sizes[int(np.argmax(tops))]
    massive_here = any(top > MASSIVE and top > TIMES * float(np.median(each)) for top, each in zip(tops, sizes))
    return int(np.unravel_index(size.argmax(), size.shape)[0]), massive_here
