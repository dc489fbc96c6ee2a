"""What is true of the rows on screen, chosen by their numbers."""
from collections.abc import Mapping, Sequence

import numpy as np

from model.lessons.sqrt_dk.draws import Reasons, Survey
from viz.claims import first_true, lead
from viz.format import format_share
from viz.text import strings

# Each bound lies between what two neighbouring steps of the slider give, so that another seed changes no sentence.
ALIKE = 1.4          # medians within this factor of each other are called similar
ONE_KEY = 0.6        # bits; a row that has fewer is nearly a single key
MEAN = 2.3           # a mean so many times its median is explained
NEAR = 2**0.25       # widths within this factor of the crossing are near it
SETTLED, HALF = 0.9, 0.5   # largest weights of rows that have settled, and of those half on the way
RARE = 0.025         # share of rows that overflow up to which hardly any does


def two_digits(number: float) -> str:
    """As the lesson prints slopes and gradients."""
    return f"{number:.2g}"


def medians(found: Survey) -> dict[str, float]:
    """{name_which: median} of entropy, slope and gradient at one width, and the mean of the undivided gradient."""
    numbers = {f"{name}_{which}": float(np.median(getattr(found, name)[which]))
               for name in ("entropy", "slope", "gradient") for which in ("plain", "scaled")}
    return numbers | {"mean": float(found.gradient["plain"].mean())}


def near_crossing(d_k: int, crossing: float | None) -> bool:
    """Whether a width is so near to the crossing that another seed may put it on the other side."""
    return crossing is not None and max(d_k / crossing, crossing / d_k) < NEAR


def standing_claims(found: Survey, d_k: int, crossing: float | None) -> dict[str, str]:
    """Sentences in Markdown about what reaches the query at this width, and on which side of the crossing it lies."""
    words, numbers = strings("lessons/scale")["see"]["claims"], medians(found)
    plain, scaled, mean = (numbers[name] for name in ("gradient_plain", "gradient_scaled", "mean"))
    ahead = lead(plain, scaled, two_digits)
    near = near_crossing(d_k, crossing)
    factor = max(plain, scaled) / min(plain, scaled) if min(plain, scaled) else np.inf
    cases = {"stands": first_true([(ahead == 0, "same"), (near, "near"), (ahead > 0, "more"), (True, "less")]),
             "crosses": "never" if crossing is None else "at",
             "means": first_true([(mean > MEAN * plain, "ties"), (True, "alike")])}
    said = numbers | {"d_k": d_k, "crossing": crossing or 0.0, "factor": factor,
                      "times": words["times" if factor < 100 else "hundreds"].format(factor=factor)}
    return {name: words[f"{name}_{case}"].format(**said) for name, case in cases.items()}


def softmax_claims(found: Survey, d_k: int, n_keys: int) -> dict[str, str]:
    """Sentences in Markdown about entropy and slope at this width, with the division and without."""
    words, numbers = strings("lessons/scale")["softmax"]["claims"], medians(found)
    said = numbers | {"d_k": d_k, "bits": np.log2(n_keys)}
    cases = {"entropy_says": _entropy_case(numbers["entropy_plain"], numbers["entropy_scaled"]),
             "slope_says": f"slope_{_compare(numbers['slope_plain'], numbers['slope_scaled'])}"}
    return {name: words[case].format(**said) for name, case in cases.items()}


def _entropy_case(plain: float, scaled: float) -> str:
    if f"{plain:z.2f}" == f"{scaled:z.2f}":
        return "entropy_same"
    return "entropy_one" if plain < ONE_KEY else "entropy_fewer"


def _compare(plain: float, scaled: float) -> str:
    if plain > ALIKE * scaled:
        return "larger"
    return "smaller" if plain * ALIKE < scaled else "same"


def verdicts(reasons: Reasons, near: bool) -> dict[str, str]:
    """What is true of each reason at this width, in Markdown by the reason. near: whether the crossing is."""
    words = strings("lessons/scale")["reasons"]["verdicts"]
    plain, scaled = reasons.gradient["plain"], reasons.gradient["scaled"]
    ahead, largest = lead(plain, scaled, two_digits), reasons.largest["plain"]
    same = f"{reasons.spread['plain']:.2g}" == f"{reasons.spread['scaled']:.2g}"
    cases = {"gradient": first_true([(same, "same"), (near or ahead == 0, "near"), (ahead > 0, "more"),
                                     (True, "less")]),
             "values": "same" if same else "scores",
             "saturates": first_true([(same, "same"), (largest >= SETTLED, "settled"), (largest >= HALF, "half"),
                                      (True, "not")]),
             "overflow": "some" if reasons.overflow["plain"] > RARE else "rare"}
    numbers = {"mean": reasons.gradient_mean["plain"], "overflow": reasons.overflow["plain"],
               "output_plain": reasons.output["plain"], "output_scaled": reasons.output["scaled"]}
    return {name: words[f"{name}_{case}"].format(**numbers) for name, case in cases.items()}


def training_claims(ends: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Sentences in Markdown about the starts of three trainings: ends is {divisor: share right at the end (start)}."""
    words, starts = strings("lessons/scale")["training"]["claims"], len(ends["root"])
    said = {}
    for name in ("none", "width"):
        leads = [lead(one, other, lambda share: format_share(share, 0))
                 for one, other in zip(ends[name], ends["root"], strict=True)]
        lower, higher = leads.count(-1), leads.count(1)
        case = first_true([(lower == starts, "all"), (not lower and not higher, "equal"), (not higher, "lower"),
                           (not lower, "higher"), (True, "both")])
        said[name] = words[case].format(what=words[name], starts=starts, lower=lower, higher=higher,
                                        equal=starts - lower - higher)
    return said
