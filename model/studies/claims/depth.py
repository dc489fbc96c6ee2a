"""What changes from the lower layers to the upper ones: special tokens, breadth and distance."""
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
    return _change("special", "share", asked, models, report)


def breadth(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Do the lower half of the layers look more broadly? Of the entropy of rows, lower half less upper half."""
    return _change("entropy", "bits", asked, models, report, upwards=False)


def distance(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Do the upper half of the layers look farther?"""
    return _change("distance", "tokens", asked, models, report)


def _change(measure: str, unit: str, asked: NamesModel, models: Models, report: Progress,
            upwards: bool = True) -> Measurement:
    """Of a measure the mean over heads of the upper half of the layers less that of the lower half, or the other way
    round where it is to fall upwards; of an odd number of layers the middle one counts in neither."""
    changes = []
    for _, _, record in records(asked, models.open(asked, report), report):
        attention_map = map_of(record)
        lower, upper = halves(attention_map)
        values = measures.measure(attention_map).values[measure]
        change = values[upper].mean() - values[lower].mean()
        changes.append(change if upwards else -change)
    found = finding(measure, mean_intervals(np.array(changes)[:, None])[0], 0.0, "texts", unit)
    return Measurement((found,), Picture("heads", asked.model, sentences()[0], attention_map.kind,
                                         settings=(("colour", measure),)))


def halves(attention_map: AttentionMap) -> tuple[np.ndarray, np.ndarray]:
    """Which heads belong to the lower half of the layers and which to the upper, bool (head) each."""
    place = np.concatenate([np.full(layer.heads, number) for number, layer in enumerate(attention_map.layers)])
    half = len(attention_map.layers) // 2
    return place < half, place >= len(attention_map.layers) - half
