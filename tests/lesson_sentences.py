"""Compare the numbers printed in a lesson's sentences with independently computed numbers."""
import re

import numpy as np
from scipy import special

from clearhead.model.core.record import Layer

# digits in names, such as tensor2tensor, do not count
NUMBER = re.compile(r"(?<![A-Za-z])[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?%?|∞")


def printed(sentence: str) -> list[tuple[float, float]]:
    """Return each number in the sentence with half a unit of its last digit."""
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


def head_rows(layer: Layer, temperature: float = 1.0) -> np.ndarray:
    """Return unmasked attention weights, (head, query, key): scipy's softmax of q · k / √d_k / temperature."""
    query, key = (np.asarray(each, np.float64) for each in (layer.query, layer.key))
    return special.softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]) / temperature, axis=-1)
