"""What changes from the lower layers to the upper ones: special tokens, distance, breadth."""
from collections.abc import Callable

import numpy as np

from model.core import measures
from model.core.models import Models, NamesModel
from model.core.record import AttentionMap
from model.core.statistics import mean_intervals
from model.core.types import Progress
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.claims.texts import records, sentences
from model.studies.coreference.heads import map_of


def special_tokens(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Do special tokens get more in the upper half of the layers?"""
    return _change("special", "share", lambda found: found.values["special"], asked, models, report)


def distance(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Do the upper half of the layers look farther?"""
    return _change("distance", "tokens", lambda found: found.values["distance"], asked, models, report)


def breadth(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Do the lower half of the layers spread their attention more? As shares of the entropy of even rows, and so the
    sign is that of the lower half."""
    return _change("breadth", "share", lambda found: -found.values["entropy"] / found.uniform["entropy"], asked, models,
                   report)


def _change(name: str, unit: str, number: Callable[[measures.HeadMeasures], np.ndarray], asked: NamesModel,
            models: Models, report: Progress) -> Measurement:
    """The mean over heads of the upper half of the layers less that of the lower half; of an odd number of layers the
    middle one counts in neither."""
    changes = []
    for _, _, record in records(asked, models.open(asked, report), report):
        attention_map = map_of(record)
        lower, upper = halves(attention_map)
        values = number(measures.measure(attention_map))
        changes.append(values[upper].mean() - values[lower].mean())
    found = finding(name, mean_intervals(np.array(changes)[:, None])[0], 0.0, "texts", unit)
    settings = () if name == "breadth" else (("colour", name),)
    return Measurement((found,), Picture("heads", asked.model, sentences()[0], attention_map.kind, settings=settings))


def halves(attention_map: AttentionMap) -> tuple[np.ndarray, np.ndarray]:
    """Which heads belong to the lower half of the layers and which to the upper, bool (head) each."""
    place = np.concatenate([np.full(layer.heads, number) for number, layer in enumerate(attention_map.layers)])
    half = len(attention_map.layers) // 2
    return place < half, place >= len(attention_map.layers) - half
