"""What is true of the rows on screen, chosen by their numbers."""
import numpy as np

from model.lessons.sqrt_dk import WIDTHS, Survey
from viz.text import strings

ALIKE = 1.25      # medians within this factor of each other are called about the same: another seed moves them so far
ONE_KEY = 0.5     # bits; a row that has fewer is nearly a single key
MEAN = 3.0        # a mean so many times its median is told


def softmax_claims(survey: Survey, d_k: int, n_keys: int) -> dict[str, str]:
    """Sentences in Markdown about entropy, slope and gradient at the width nearest to d_k, with the division and
    without."""
    words, here = strings("lessons/scale")["softmax"]["claims"], int(np.abs(np.log(np.array(WIDTHS) / d_k)).argmin())
    medians = {f"{name}_{which}": float(np.median(getattr(survey, name)[which][here]))
               for name in ("entropy", "slope", "gradient") for which in ("plain", "scaled")}
    mean = float(survey.gradient["plain"][here].mean())
    numbers = medians | {"d_k": WIDTHS[here], "bits": np.log2(n_keys), "mean": mean, "crossing": crossing(survey)}
    cases = {"entropy_says": _entropy_case(medians["entropy_plain"], medians["entropy_scaled"])}
    for name in ("slope", "gradient"):
        cases[f"{name}_says"] = f"{name}_{_compare(medians[f'{name}_plain'], medians[f'{name}_scaled'])}"
    sentences = {name: words[case].format(**numbers) for name, case in cases.items()}
    if mean > MEAN * medians["gradient_plain"]:
        sentences["gradient_says"] += " " + words["gradient_mean"].format(**numbers)
    return sentences


def crossing(survey: Survey) -> float:
    """The d_k from which on the median gradient is smaller without the division than with it, interpolated between the
    widths on logarithms; the widest where it never is."""
    plain, scaled = (np.log(np.maximum(np.median(survey.gradient[which], axis=1), 1e-300))
                     for which in ("plain", "scaled"))
    ahead, widths = plain - scaled, np.log(np.array(WIDTHS))
    below = np.flatnonzero((ahead[1:] < 0) & (ahead[:-1] >= 0))
    if not len(below):
        return float(WIDTHS[-1])
    place = int(below[-1])
    share = ahead[place] / (ahead[place] - ahead[place + 1])
    return float(np.exp(widths[place] + share * (widths[place + 1] - widths[place])))


def _entropy_case(plain: float, scaled: float) -> str:
    if f"{plain:z.2f}" == f"{scaled:z.2f}":
        return "entropy_same"
    return "entropy_one" if plain < ONE_KEY else "entropy_fewer"


def _compare(plain: float, scaled: float) -> str:
    if plain > ALIKE * scaled:
        return "larger"
    return "smaller" if plain * ALIKE < scaled else "same"
