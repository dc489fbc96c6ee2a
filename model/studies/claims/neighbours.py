"""Heads that look one token back, or one ahead (Clark et al. 2019, section 3.1)."""
import numpy as np

from model.core import measures
from model.core.models import Models, NamesModel
from model.core.tables import head_ids
from model.core.types import Progress
from model.studies.claims.claim import Measurement, Picture
from model.studies.claims.definitions import MOST
from model.studies.claims.selection import best_head_finding, shuffled
from model.studies.claims.texts import records, sentences
from model.studies.coreference.heads import map_of


def previous_token(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Does some head put most of its attention on the previous token?"""
    return _neighbour("previous", -1, asked, models, report)


def next_token(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Does some head put most of its attention on the next token?"""
    return _neighbour("next", 1, asked, models, report)


def _neighbour(measure: str, offset: int, asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """The mean weight on the neighbour, over the tokens that have one, of the head that is best on the other half of
    the sentences."""
    shares, lucky = [], []
    for number, _, record in records(asked, models.open(asked, report), report):
        attention_map = map_of(record)
        count = len(attention_map.queries)
        shares.append(measures.measure(attention_map).values[measure])
        lucky.append(shuffled(attention_map, np.arange(max(0, -offset), count - max(0, offset)), number))
    ids = head_ids(attention_map)
    found = best_head_finding(measure, np.array(shares), MOST, np.mean(lucky, axis=0), ids)
    picture = Picture("heads", asked.model, sentences()[0], attention_map.kind, found.heads[0])
    return Measurement((found,), picture)
