"""A lesson's sentences read again: the numbers that are printed in them, held against numbers computed anew."""
import re

import numpy as np
from scipy import special

from model.core.record import Layer

# a digit in a name (tensor2tensor) is no number
NUMBER = re.compile(r"(?<![A-Za-z])[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?%?|∞")


def printed(sentence: str) -> list[tuple[float, float]]:
    """Each number as it is printed, and half of its last digit."""
    found = []
    for text in NUMBER.findall(sentence):
        if text == "∞":
            found.append((float("inf"), 0.0))
            continue
        digits, scale = text.replace(",", "").replace("−", "-").rstrip("%"), 0.01 if text.endswith("%") else 1.0
        mantissa, _, exponent = digits.partition("e")
        decimals = len(mantissa.partition(".")[2])
        found.append((float(digits) * scale, 0.501 * 10.0 ** (int(exponent or 0) - decimals) * scale))
    return found


def agrees(sentence: str, *wanted: float) -> bool:
    """Whether its numbers are these, in this order, to the digits that are printed."""
    found = printed(sentence)
    return len(found) == len(wanted) and all(number == value or abs(number - value) <= half
                                             for (number, half), value in zip(found, wanted, strict=True))


def head_rows(layer: Layer, temperature: float = 1.0) -> np.ndarray:
    """What the heads of a layer look at, (head, query, key), where there is neither mask nor bias: scipy's softmax of
    q · k / √d_k in float64, once more divided by a temperature."""
    query, key = (np.asarray(each, np.float64) for each in (layer.query, layer.key))
    return special.softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]) / temperature, axis=-1)
