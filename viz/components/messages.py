"""Pack and unpack binary messages: a 4-byte little-endian header length, a JSON header in UTF-8, then arrays.
`messages.js` is the browser's reader.

The header's `sections` lists each array's name, type, offset (bytes from the end of the header) and shape. Header and
sections are padded to multiples of 4 bytes, so that JavaScript can view all arrays of an aligned message without
copying.
"""
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

ALIGN = 4
TYPES = ("uint8", "uint16", "float32")
MIDDLE = 0.02    # in thousandths: this close to a rounding boundary, a code may round the other way
NAN_CODE = 65535   # the code of NaN: masked or missing


def _padding(size: int) -> int:
    return -size % ALIGN


def pack(header: Mapping[str, object], sections: Mapping[str, np.ndarray]) -> bytes:
    """Return header and arrays as a message. Raises ValueError for an array type that messages.js does not support or a
    number that JSON cannot represent."""
    entries, parts, offset = [], [], 0
    for name, array in sections.items():
        if array.dtype.name not in TYPES:
            raise ValueError(
                f"section {name}: expected one of {', '.join(TYPES)}, got {array.dtype}; convert it first.")
        entries.append([name, array.dtype.name, offset, list(array.shape)])
        parts += [np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes(),
                  bytes(_padding(array.nbytes))]
        offset += array.nbytes + _padding(array.nbytes)
    text = json.dumps({**header, "sections": entries}, ensure_ascii=True, allow_nan=False,
                      separators=(",", ":")).encode()
    text += b" " * _padding(len(text))
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return (header, arrays) of a message, like messages.js. Used by tests and benchmarks."""
    start = 4 + int.from_bytes(message[:4], "little")
    header = json.loads(message[4:start])
    arrays = {}
    for name, kind, offset, shape in header.pop("sections"):
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(message, np.dtype(kind).newbyteorder("<"), count, start + offset).reshape(shape)
    return header, arrays


def root_codes(weights: np.ndarray) -> np.ndarray:
    """Encode weights from 0 to 1 as uint16 round(65535 · √w), accurate to 0.00002 at 1 and finer below. A code is
    adjusted by 1 if the decoded weight would otherwise round to a different third decimal."""
    codes = np.clip(weights, 0, 1)
    np.sqrt(codes, out=codes)
    codes *= 65535
    codes += np.float32(0.5)
    rounded = codes.astype(np.uint16)
    near = np.flatnonzero(np.abs(weights * np.float32(1000) % 1 - np.float32(0.5)) < MIDDLE)
    exact, found = weights.flat[near].astype(np.float64).clip(0, 1), rounded.flat[near].astype(np.int32)
    printed = np.rint(exact * 1000)
    rounded.flat[near] = found + np.sign(printed - np.rint((found / 65535) ** 2 * 1000)).astype(np.int32)
    return rounded


def signed_codes(numbers: np.ndarray, bound: float) -> np.ndarray:
    """Encode numbers from −bound to bound as uint16 1 + 2 · round(32766 · |x| / bound) + (x > 0), so that larger codes
    mean larger changes. NaN becomes 0."""
    sizes = np.rint(np.clip(np.nan_to_num(np.abs(numbers)) / bound, 0, 1) * 32766).astype(np.uint16)
    return np.where(np.isnan(numbers), np.uint16(0), 2 * sizes + 1 + (np.nan_to_num(numbers) > 0)).astype(np.uint16)


def range_codes(numbers: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Encode numbers as uint16 in equal steps from minimum to maximum, and non-finite ones as NAN_CODE. Return (codes,
    minimum, maximum)."""
    finite = np.isfinite(numbers)
    if not finite.any():
        return np.full(numbers.shape, NAN_CODE, np.uint16), 0.0, 0.0
    low, high = (float(bound(numbers, where=finite, initial=start))
                 for bound, start in ((np.min, np.inf), (np.max, -np.inf)))
    steps = np.where(finite, numbers, np.float32(low)) - np.float32(low)
    steps *= (NAN_CODE - 1) / (high - low) if high > low else 0
    steps += np.float32(0.5)
    steps[~finite] = NAN_CODE
    return steps.astype(np.uint16), low, high
