"""JSON that a stranger wrote, held against the limits before anything is made of it."""
import json
import sys
from typing import Any

from model.core.limits import LIMITS


def parse_json(content: bytes, whose: str) -> Any:
    """What `json.loads` makes of it. Raises UserError, beginning with `whose`, above the limits of bytes, of values and
    of depth, and ValueError for what is no JSON."""
    smaller = "choose a smaller one"
    LIMITS.refuse_above("json_bytes", len(content), whose, smaller)
    LIMITS.refuse_above("json_values", sum(map(content.count, (b"[", b"{", b","))), whose, smaller)
    try:
        value = json.loads(content)
    except RecursionError:
        value, levels = None, sys.getrecursionlimit()   # at least
    else:
        levels = depth_of(value)
    LIMITS.refuse_above("depth", levels, whose, "choose one that Clearhead or transformers wrote")
    return value


def depth_of(value: Any) -> int:
    """How many lists and objects stand within one another: 0 for a number, 1 for a list of numbers."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        depth += 1
    return depth
