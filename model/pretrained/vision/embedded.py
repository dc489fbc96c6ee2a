"""How a model of pictures makes its first vectors: one linear map of each patch, and a vector for its place."""
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from model.core.record import AttentionRecord
from model.core.trace import CLOSE, Embedded


def with_patch_parts(start: Embedded, calls: Mapping[str, Any], record: AttentionRecord) -> Embedded:
    """The start of a stack over patches in its two parts, "patch" and "position", whose sum it is; as it is for a text,
    and where no map of patches was met, or nothing is added to what it gives.

    What is added to a patch is the difference, so that positions that the model puts in between those that it learned
    are those of this very pass. Of a token that is no patch all of it counts as its place. calls: of every module, by
    its name, with the module and its output (rows of numbers, in the order of the tensor)."""
    patches = list(record[start.kind].queries.patches)
    stream = start.output if start.norm is None else start.norm.input
    if record.picture is None or start.parts or not patches:
        return start
    for call in calls.values():
        weight = call.module.weight
        if weight.ndim == 4 and call.output.size == len(patches) * weight.shape[0] == len(patches) * stream.shape[1]:
            mapped = np.zeros_like(stream)
            mapped[patches] = call.output.reshape(weight.shape[0], len(patches)).T
            added = stream - mapped
            if np.abs(added[patches]).max() > CLOSE * np.abs(stream).max():
                return replace(start, parts=(("patch", mapped), ("position", added)))
    return start
