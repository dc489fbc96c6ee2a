"""One attention that a torch module computed, as it was seen, and how near a recomputation must come."""
import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from model.capture.forward_pass import Call, Unsupported
from model.capture.origins import NOTHING, Stream
from model.core.masks import empty_rows

# rows of queries at most whose outputs are all compared; of longer ones as many, evenly chosen
ROWS = 256
# the largest difference that counts as the same, as a share of the largest output: what rounding in a type makes of it
TOLERANCES = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass(eq=False)
class Attention:
    """What a module computed in one call."""

    module: str                  # its name in the network
    call: Call | None            # what torch's attention was given and put out; None where only a softmax was seen
    weights: np.ndarray | None   # float32 (head, query, key): what a softmax put out; None where the call is known
    same_source: bool            # whether queries and keys, if they are as many, come from the same tensor
    batch: int                   # how many texts stood side by side
    dtype: torch.dtype = torch.float32   # that it computed in
    # from the heads' mixed values (head, row, d_v) to what `call.outputs` holds; None where these are the mixed values
    project: Callable[[np.ndarray], np.ndarray] | None = None
    reasons: list[str] = field(default_factory=list)   # clauses on why it is not what it seems
    queries: Stream = NOTHING   # whose positions look
    keys: Stream = NOTHING      # whose positions are looked at
    number: int = -1            # of this attention in the pass
    beside: frozenset[frozenset] = frozenset()   # roots of what was joined with the queries' item, as another item

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, keys)"""
        if self.call is not None:
            return self.call.query.shape[1], self.call.key.shape[1]
        assert self.weights is not None
        return self.weights.shape[1], self.weights.shape[2]

    def is_finite(self) -> bool:
        """Whether neither NaN nor infinity is among what was seen, outputs of rows that may look at nothing aside."""
        call = self.call
        seen = (self.weights,) if call is None else (call.query, call.key, call.value)
        finite = all(part is None or bool(np.isfinite(part).all()) for part in seen)
        if call is None or call.outputs is None:
            return finite
        return finite and bool(np.isfinite(call.outputs[self.compared]).all())

    @functools.cached_property
    def sees_nothing(self) -> np.ndarray:
        """Rows that may look at nothing, bool (head, query)."""
        if self.call is None:
            assert self.weights is not None
            return np.logical_not(self.weights.any(-1))
        return np.broadcast_to(empty_rows(self.call.allowed, *self.shape), (len(self.call.query), self.shape[0]))

    @property
    def compared(self) -> np.ndarray:
        """Which of the call's outputs are compared, bool (head or 1, row). Kernels give 0, NaN or a mean for a row that
        may look at nothing; a projection mixes it with the other heads, so that there whole rows are left out, unless
        none would be left: then those that are finite are compared with a head that adds nothing."""
        assert self.call is not None and self.call.rows is not None and self.call.outputs is not None
        sees = ~self.sees_nothing[:, self.call.rows]
        if self.project is None:
            return sees
        whole = sees.all(0)
        rows = whole if whole.any() else np.isfinite(self.call.outputs[0]).all(-1)
        return np.asarray(rows)[None]

    @property
    def tolerance(self) -> float:
        """The largest difference that counts as the same, as a share of the largest output."""
        return TOLERANCES.get(self.dtype, 1e-4)


def chosen_rows(n_queries: int) -> np.ndarray:
    """The queries whose outputs are compared."""
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, ROWS)).astype(int))


def as_numbers(tensor: Tensor) -> np.ndarray:
    """The tensor as float32 in this computer's memory: a copy, as a module may go on to write into its own."""
    return tensor.detach().to("cpu", torch.float32, copy=True).contiguous().numpy()


def item_of(tensor: Tensor, batch: int) -> Tensor:
    """The part of one text in a tensor (batch, …), or the only one there is. Raises Unsupported where there are
    fewer."""
    if tensor.shape[0] == 1:
        return tensor[0]
    if batch >= tensor.shape[0]:
        raise Unsupported(f"it has {tensor.shape[0]} items side by side and number {batch} was asked for")
    return tensor[batch]
