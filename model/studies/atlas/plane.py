"""Heads as points: what each head does on average over a corpus, in one scale for all measures."""
from typing import TYPE_CHECKING

import numpy as np

from model.core.types import HeadId

if TYPE_CHECKING:
    from pandas import DataFrame


def standardised(table: "DataFrame") -> "DataFrame":
    """A table of heads by measures, each measure with mean 0 and standard deviation 1 over the heads; measures that
    some head lacks, or that are equal for all heads, are left out."""
    complete = table.dropna(axis="columns")
    spread = complete.std(ddof=0)
    varied = complete.loc[:, spread > 1e-9 * complete.abs().max().clip(lower=1e-300)]
    return (varied - varied.mean()) / varied.std(ddof=0)


def principal_components(table: "DataFrame") -> tuple[np.ndarray, np.ndarray]:
    """The first two principal components of the standardised measures (Pearson 1901): where each head lies, float64
    (head, 2), and the shares of the variance that each explains, float64 (2). A component's sign is arbitrary: here its
    largest loading is positive. Zeros where there is nothing to tell heads apart."""
    values = standardised(table).to_numpy(np.float64)
    if not values.size:
        return np.zeros((len(table), 2)), np.zeros(2)
    left, sizes, right = np.linalg.svd(values, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(1)])
    places, shares = np.zeros((len(values), 2)), np.zeros(2)
    count = min(2, len(sizes))
    places[:, :count] = (left * sizes * signs)[:, :count]
    shares[:count] = (sizes**2 / (sizes**2).sum())[:count]
    return places, shares


def neighbours(table: "DataFrame", head: HeadId, count: int) -> list[tuple[HeadId, float]]:
    """The heads that do most alike: nearest first, each with its distance from `head` in the space of the standardised
    measures (root mean square over the measures, in standard deviations between heads)."""
    values = standardised(table)
    if not values.shape[1]:
        return []
    differences = values - values.loc[head]
    distance = np.sqrt((differences**2).mean(axis=1)).drop(head)
    return [((int(layer), int(number)), float(far)) for (layer, number), far in
            distance.sort_values(kind="stable").head(count).items()]
