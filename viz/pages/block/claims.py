"""Sentences of the lesson *One block* that are chosen by the numbers beside them."""
from collections.abc import Iterable
from typing import Any

import numpy as np

from model.core.trace import Block, Norm
from model.lessons import block
from viz.claims import first_true

OUTLIER = 5   # times the average dimension


def parts_claims(words: dict, this: Block, order: Iterable[str], model: str, number: str) -> dict[str, str]:
    """What stands where, how long the rows are, and which dimensions stand out."""
    def length(rows: np.ndarray) -> float:
        return float(np.linalg.norm(rows, axis=-1).mean())

    given = {"before": length(this.before), "attention": length(this.attentions[0].output), "after": length(this.after),
             "inner": length(this.feed_forward.output) if this.feed_forward else np.nan}
    outliers = outlier_count(this.before)
    says = words["says"]
    return {"order": says["pre" if this.norm_first else "post"].format(number=number, model=model,
                                                                     order=", ".join(order)),
            "lengths": says["lengths" if this.feed_forward else "no_inner"].format(**given),
            "outliers": says["outliers" if outliers else "no_outliers"].format(
                count=outliers, d=this.before.shape[1], times=OUTLIER)}


def outlier_count(stream: np.ndarray) -> int:
    """How many dimensions of (t, d) have more than OUTLIER times the mean size of all."""
    sizes = np.abs(stream.astype(np.float64)).mean(0)
    return int((sizes > OUTLIER * sizes.mean()).sum())


def norm_claims(words: dict, norm: Norm, word: int, steps: block.Steps, other: block.Steps) -> dict[str, Any]:
    """One token through a normalisation, what the other kind would make of it, and what is divided by what."""
    says, layer, d = words["says"], norm.kind == "layer", len(norm.gain)
    bias = np.zeros(d) if norm.bias is None else norm.bias
    length = np.linalg.norm(steps.output)
    given = {"mean": steps.mean, "variance": steps.variance, "scale": norm.scales[word], "d": d,
             "error": float(np.abs(steps.output - norm.output[word]).max()), "epsilon": norm.epsilon,
             "unbiased": float(np.sqrt(d / (d - 1))), "kind": words["kinds"][norm.kind],
             "differs": float(np.linalg.norm(other.output - steps.output) / length),
             "same_bias": float(np.linalg.norm(other.output + bias - steps.output) / length)}
    case = first_true([(not layer, "rms"), (norm.bias is None, "layer_bare"), (True, "layer")])
    kind = "layer" if layer else "rms"
    return {"token_says": says[f"token_{kind}"].format(**given), "other_says": says[f"other_{case}"].format(**given),
            "count_says": says[f"count_{kind}"].format(count=len(norm.input)),
            "divided_says": says[f"divided_{kind}"].format(**given), "epsilon": norm.epsilon}


def dropout_claims(words: dict, row: np.ndarray, drawn: np.ndarray, mean: np.ndarray, rate: float) -> dict[str, str]:
    """What one draw does to a row (d) and what the mean over many draws is."""
    says, zeros = words["says"], int(((drawn == 0) & (row != 0)).sum())
    length = float(np.linalg.norm(row))
    return {"draw_says": says["draw" if rate else "none"].format(
                zeros=zeros, d=len(row), share=zeros / len(row), rate=rate, factor=1 / (1 - rate)),
            "length_says": says["length"].format(before=length, after=float(np.linalg.norm(drawn)),
                                                 apart=float(np.linalg.norm(mean - row)) / length)}
