"""The first token is a sink, and a window that loses it costs (Xiao et al. 2024)."""
import numpy as np

from model.core import heads
from model.core.models import Models, NamesModel
from model.core.query import Query, Window
from model.core.record import AttentionMap
from model.core.statistics import DRAWS, LEVEL, SEED, MeanInterval, mean_intervals
from model.core.types import Progress, quiet
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.claims.definitions import LOWEST, MOST, SINKS, WIDTH
from model.studies.claims.texts import passages, records, sentences
from model.studies.coreference.heads import map_of


def first_token(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Does the first token get most of the attention above the lowest layers? The mean over heads and over the tokens
    behind it."""
    shares = [first_share(map_of(record))[LOWEST:].mean()
              for _, _, record in records(asked, models.open(asked, report), report)]
    found = finding("first", mean_intervals(np.array(shares)[:, None])[0], MOST, "texts", "share")
    return Measurement((found,), Picture("heads", asked.model, sentences()[0], settings=(("colour", "first"),)))


def first_share(attention_map: AttentionMap) -> np.ndarray:
    """The share of the first token in the rows of all others, float64 (layer): the mean over heads and rows."""
    found = []
    for layer in attention_map.layers:
        total = 0.0
        for rows, keys, block in heads.weight_blocks(layer):
            behind = slice(1 if rows.start == 0 else 0, None)   # the first token can see nothing else
            total += float(block[:, behind, 0].sum(dtype=np.float64)) if keys.start == 0 else 0.0
        found.append(total / (layer.heads * (len(attention_map.queries) - 1)))
    return np.array(found)


def received(attention_map: AttentionMap) -> np.ndarray:
    """The mean weight that each token gets, over heads and over the tokens that may look at it, float64 (token)."""
    total, looked = np.zeros((2, len(attention_map.keys)))
    for layer in attention_map.layers:
        for rows, keys, block in heads.weight_blocks(layer):
            total[keys] += block.sum((0, 1))
            allowed = layer.allowed.block(rows, keys)
            looked[keys] += allowed.sum((0, 1)) if allowed.ndim == 3 else layer.heads * allowed.sum(0)
    return total / np.maximum(looked, 1)


def window(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """What a window costs that loses the first tokens, and how much of it a window of as many keys with them gives
    back, in nats a token behind the first WIDTH + SINKS."""
    opened, losses = models.open(asked, report), []
    texts = passages()
    views = (frozenset[Window](), frozenset([Window(WIDTH + SINKS)]), frozenset([Window(WIDTH, SINKS)]))
    for number, text in enumerate(texts):
        rows = []
        for step, edits in enumerate(views):
            report((number + step / len(views)) / len(texts), f"passage {number + 1} of {len(texts)}")
            found = opened.sequence_likelihood(Query(asked.model, asked.revision, text, edits=frozenset(edits)), quiet)
            rows.append(-found.log_probabilities[WIDTH + SINKS:].mean())
        losses.append(rows)
    whole, without, with_sinks = np.array(losses).T
    cost = finding("window_cost", mean_intervals((without - whole)[:, None])[0], 0.0, "passages", "nats")
    sinks = finding("window_sinks", mean_intervals((without - with_sinks)[:, None])[0], 0.0, "passages", "nats")
    back = restored(whole, without, with_sinks)
    settings = (("versus", "edit"), ("edit", "window"), ("width", WIDTH), ("first", SINKS))
    return Measurement((cost, sinks, finding("window_restored", back, MOST, "passages", "share")),
                       Picture("compare", asked.model, texts[0], settings=settings))


def restored(whole: np.ndarray, without: np.ndarray, with_sinks: np.ndarray) -> MeanInterval:
    """The share of the cost that the sinks give back: a ratio of means, with the interval of both resampled together;
    losses (passage) each."""
    drawn = np.random.default_rng(SEED).integers(0, len(whole), (DRAWS, len(whole)))
    with np.errstate(invalid="ignore", divide="ignore"):   # a window that costs nothing has nothing to be given back
        ratios = (without - with_sinks)[drawn].sum(1) / (without - whole)[drawn].sum(1)
        low, high = np.quantile(ratios, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        value = np.divide((without - with_sinks).sum(), (without - whole).sum())
    return MeanInterval(float(value), float(low), float(high), len(whole))
