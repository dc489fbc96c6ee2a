"""What is true of the rows on screen, chosen by their numbers.

Where random rows are drawn, `typical` are those of the draw that the page opens with: they choose the sentences, and
the rows on screen fill them in, so that another draw changes numbers and no sentence. Where the two disagree on which
gradient is larger (components of −1 and 1 have few different scores, so medians jump), the width is near the crossing.
"""
from collections.abc import Mapping, Sequence

import numpy as np

from model.lessons.sqrt_dk.draws import Reasons, Survey
from viz.claims import first_true, lead
from viz.format import format_share
from viz.text import strings

TYPICAL = 0          # seed of the draw that the page opens with
# Each bound leaves what another draw moves: a sentence that is chosen near it is true a little beyond it as well.
ALIKE = 1.4          # medians within this factor of each other are called similar
ONE_KEY = 0.6        # bits; a row that has fewer is nearly a single key
MEAN = 2.3           # a mean so many times its median is explained
NEAR = 1.25          # widths within this factor of the crossing are near it
SETTLED, HALF = 0.9, 0.5   # largest weights of rows that have settled, and of those half on the way
AROUND = 0.03        # what largest weights may be off one half to be called about that
HUNDREDS = 150       # from this factor on it is called over a hundred
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


def standing_claims(found: Survey, d_k: int, crossing: float | None,
                    typical: tuple[Survey, float | None] | None = None) -> dict[str, str]:
    """Sentences in Markdown about what reaches the query at this width, and on which side of the crossing it lies.
    typical: (that draw at this width, where its curves cross)."""
    words, numbers = strings("lessons/scale")["see"]["claims"], medians(found)
    usual, usual_crossing = (medians(typical[0]), typical[1]) if typical else (numbers, crossing)
    ahead, here = (lead(each["gradient_plain"], each["gradient_scaled"], two_digits) for each in (usual, numbers))
    near = near_crossing(d_k, usual_crossing) or here != ahead
    cases = {"stands": first_true([(ahead == here == 0, "same"), (near, "near"), (ahead > 0, "more"), (True, "less")]),
             "crosses": "never" if crossing is None else "at",
             "means": first_true([(usual["mean"] > MEAN * usual["gradient_plain"], "ties"), (True, "alike")])}
    times = words["times" if _factor(usual) < HUNDREDS else "hundreds"].format(factor=_factor(numbers))
    said = numbers | {"d_k": d_k, "crossing": crossing or 0.0, "times": times}
    return {name: words[f"{name}_{case}"].format(**said) for name, case in cases.items()}


def _factor(numbers: Mapping[str, float]) -> float:
    """How many times as large the larger of both gradients is."""
    small, large = sorted((numbers["gradient_plain"], numbers["gradient_scaled"]))
    return large / small if small else np.inf


def softmax_claims(found: Survey, d_k: int, n_keys: int, typical: Survey | None = None) -> dict[str, str]:
    """Sentences in Markdown about entropy and slope at this width, with the division and without."""
    words, numbers = strings("lessons/scale")["softmax"]["claims"], medians(found)
    said, usual = numbers | {"d_k": d_k, "bits": np.log2(n_keys)}, medians(typical or found)
    cases = {"entropy_says": _entropy_case(usual["entropy_plain"], usual["entropy_scaled"]),
             "slope_says": f"slope_{_compare(usual['slope_plain'], usual['slope_scaled'])}"}
    return {name: words[case].format(**said) for name, case in cases.items()}


def _entropy_case(plain: float, scaled: float) -> str:
    if f"{plain:z.2f}" == f"{scaled:z.2f}":
        return "entropy_same"
    return "entropy_one" if plain < ONE_KEY else "entropy_fewer"


def _compare(plain: float, scaled: float) -> str:
    if plain > ALIKE * scaled:
        return "larger"
    return "smaller" if plain * ALIKE < scaled else "same"


def verdicts(reasons: Reasons, near: bool, typical: Reasons | None = None) -> dict[str, str]:
    """What is true of each reason at this width, in Markdown by the reason. near: whether the crossing is."""
    words, usual = strings("lessons/scale")["reasons"]["verdicts"], typical or reasons
    ahead, here = (lead(each.gradient["plain"], each.gradient["scaled"], two_digits) for each in (usual, reasons))
    same, largest = f"{usual.spread['plain']:.2g}" == f"{usual.spread['scaled']:.2g}", usual.largest["plain"]
    cases = {"gradient": first_true([(same, "same"), (near or ahead == 0 or here != ahead, "near"), (ahead > 0, "more"),
                                     (True, "less")]),
             "values": "same" if same else "scores",
             "saturates": first_true([(same, "same"), (largest >= SETTLED, "settled"),
                                      (largest >= HALF + AROUND, "half"), (largest >= HALF - AROUND, "around"),
                                      (True, "not")]),
             "overflow": "some" if usual.overflow["plain"] > RARE else "rare"}
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
