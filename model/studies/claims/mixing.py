"""Attention weights overstate how much tokens are mixed (Kobayashi et al. 2021)."""
import numpy as np

from model.core import heads
from model.core.models import Models, NamesModel
from model.core.query import Query, UserError
from model.core.record import AttentionMap, Layer
from model.core.statistics import mean_intervals
from model.core.trace import Trace
from model.core.types import Progress, quiet
from model.studies.claims.claim import Measurement, Picture, finding
from model.studies.claims.texts import records, sentences
from model.studies.coreference.heads import map_of
from model.studies.value_norms import STAGES, Sublayer, contributions, sublayer, transformed_values


def mixing(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """By how much the mixing ratio falls from the weights alone to the vectors with residual stream and layer norm.
    Raises UserError for a model without a norm over the sum of the two."""
    opened, falls = models.open(asked, report), []
    for _, text, record in records(asked, opened, report):
        attention_map = map_of(record)
        ratios = mixing_ratios(attention_map, opened.trace(Query(asked.model, asked.revision, text), quiet))
        if np.isnan(ratios).any():
            raise UserError(f"{record.card.title} has no normalisation over the sum of stream and attention; choose an "
                            f"encoder such as MiniLM.")
        falls.append(ratios[0] - ratios[1])
    found = finding("mixing", mean_intervals(np.array(falls)[:, None])[0], 0.0, "texts", "share")
    return Measurement((found,), Picture("explain", asked.model, sentences()[0]))


def mixing_ratios(attention_map: AttentionMap, trace: Trace) -> np.ndarray:
    """The mean mixing ratio over layers and tokens: by the weights, and by the vectors after residual stream and norm,
    float64 (2); NaN for the second where a layer has no such norm."""
    weights_alone, with_norm = [], []
    for layer in attention_map.layers:
        weights = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
        attention = trace.attention(attention_map.kind, layer.index)
        around = sublayer(trace.block(attention_map.kind, layer.index), attention)
        values = transformed_values(layer, attention) if isinstance(layer, Layer) else np.zeros(0)
        for token in range(weights.shape[1]):
            weights_alone.append(1 - weights[:, token, token].mean())
            with_norm.append(_ratio(weights, values, around, token))
    return np.array([np.mean(weights_alone), np.mean(with_norm)])


def _ratio(weights: np.ndarray, values: np.ndarray, around: Sublayer, token: int) -> float:
    """‖Σ over the other tokens‖ as a share of that and ‖the token's own vector‖ (Kobayashi et al. 2021, section 3)."""
    parts = around.parts(contributions(weights, values, token), token).get(STAGES[-1])
    if parts is None:
        return float("nan")
    own = float(np.linalg.norm(parts[token]))
    others = float(np.linalg.norm(parts.sum(0) - parts[token]))
    return others / (others + own)
