"""What is true of the measures on screen, chosen by their numbers."""
from collections.abc import Mapping, Sequence

import numpy as np

from model.lessons.information import Information
from model.lessons.subspaces import Subspaces
from viz.claims import as_printed, first_true, lead
from viz.format import format_share, head_label, true_minus
from viz.text import strings

KRUSKAL = (0.05, 0.1, 0.2)   # stress that he called good, fair, poor (1964)


def three_decimals(number: float) -> str:
    """As the lesson prints bits and stress."""
    return true_minus(f"{number:z.3f}")


def two_decimals(number: float) -> str:
    """As the lesson prints the bits of a model's heads."""
    return true_minus(f"{number:z.2f}")


def whole_share(share: float) -> str:
    """As the lesson prints shares."""
    return format_share(share, 0)


def verdict(verdicts: Sequence[str], stress: float) -> str:
    """What Kruskal's names say of this stress as it is printed; verdicts: from the best to the worst."""
    return verdicts[sum(as_printed(stress, three_decimals) > bound for bound in KRUSKAL)]


def layer_claims(pool: Information) -> dict[str, str]:
    """Sentences in Markdown about the heads of a model: I, and the mask's own line."""
    words, mutual, blank = strings("lessons/information")["layers"]["claims"], *_mutual(pool)
    most, least = int(mutual.argmax()), int(mutual.argmin())
    under = sum(lead(one, line, two_decimals) < 0 for one, line in zip(mutual, blank, strict=True))
    masked = as_printed(float(blank.max()), two_decimals) > 0
    said = {"mean": mutual.mean(), "most": head_label(*pool.places[most]), "most_bits": mutual[most],
            "least": head_label(*pool.places[least]), "least_bits": mutual[least], "blank": blank.mean(),
            "under": under, "heads": len(mutual)}
    cases = {"spread": "apart" if lead(mutual[most], mutual[least], two_decimals) else "alike",
             "mask": first_true([(not masked, "none"), (under > 0, "some"), (True, "over")])}
    return {name: words[f"{name}_{case}"].format(**said) for name, case in cases.items()}


def _mutual(pool: Information) -> tuple[np.ndarray, np.ndarray]:
    return pool.values["mutual"], pool.blank["mutual"]


def bound_claims(information: float, bound: float, cross_entropy: float, learnt: float) -> dict[str, str]:
    """Sentences in Markdown about the bound at s = learnt, and where it touches I(X;Y)."""
    words = strings("lessons/information")["bound"]["claims"]
    nothing = as_printed(information, three_decimals) == 0
    said = {"information": information, "bound": bound, "cross_entropy": cross_entropy, "learnt": learnt}
    cases = {"here": first_true([(nothing, "nothing"), (as_printed(bound, three_decimals) < 0, "below"),
                                 (lead(bound, information, three_decimals) == 0, "all"), (True, "some")]),
             "touch": "always" if nothing else "once"}
    return {name: words[f"{name}_{case}"].format(**said) for name, case in cases.items()}


def map_claims(same: float, other: float) -> str:
    """How far heads of one layer and of two are apart, where there are such pairs."""
    words = strings("lessons/information")["map"]["claims"]
    case = first_true([(np.isnan(same) and np.isnan(other), "neither"), (np.isnan(same), "other"),
                       (np.isnan(other), "same"), (True, "both")])
    return words[case].format(same=same, other=other)


def subspace_claims(found: Subspaces, matrix: str, layer: int) -> dict[str, str]:
    """Sentences in Markdown about the ranges of one matrix of a layer's heads, and about slices."""
    words, ranges = strings("lessons/information")["subspaces"]["claims"], found.ranges[matrix]
    most = min(found.d_model, ranges.heads * ranges.width)
    chance = ranges.width / found.d_model
    overlap = float(ranges.overlap.mean()) if len(ranges.overlap) else np.nan
    said: Mapping[str, object] = {
        "layer": layer, "matrix": words[matrix], "overlap": whole_share(overlap) if len(ranges.overlap) else "",
        "chance": whole_share(chance), "together": ranges.together, "d_model": found.d_model, "heads": ranges.heads,
        "width": ranges.width, "most": most, "moved": whole_share(float(found.moved.mean())),
        "same": whole_share(float(found.same.mean()))}
    ahead = 0 if np.isnan(overlap) else lead(overlap, chance, whole_share)
    cases = {"overlap": first_true([(not len(ranges.overlap), "one"), (ahead > 0, "more"), (ahead < 0, "less"),
                                    (True, "alike")]),
             "together": first_true([(ranges.heads == 1, "one"), (ranges.together == most, "most"), (True, "fewer")]),
             "slices": "one" if len(found.moved) == 1 else "cut"}
    return {name: words[f"{name}_{case}"].format(**said) for name, case in cases.items()}
