"""What is said of an atlas in sentences: each is chosen by the numbers that are printed."""
import math
from typing import TYPE_CHECKING

from model.core.types import HeadId
from model.studies.atlas.plane import principal_components
from model.studies.atlas.tables import Atlas
from model.studies.pattern_chance import PatternChance
from model.studies.patterns import TITLES
from viz.claims import as_printed, first_true, lead
from viz.format import format_share, head_label
from viz.text import escape_markdown, strings

if TYPE_CHECKING:
    from pandas import Series

FIT = "fit_"
FITS = "{:z.2f}".format   # how a fit is printed


def corpus_sentence(atlas: Atlas) -> str:
    """Over what it was measured."""
    words, about = strings("atlas"), atlas.about
    files = ", ".join(file["name"] for file in about["files"])
    sentence = words["corpus"].format(texts=about["texts"], tokens=about["tokens"], heads=len(atlas.heads),
                                      files=escape_markdown(files))
    return sentence + (" " + words["cut"].format(n=about["cut"]) if about["cut"] else "")


def plane_sentence(atlas: Atlas) -> str:
    """How much of the differences between heads the two components hold."""
    _, shares = principal_components(atlas.wide())
    return strings("atlas")["plane"].format(first=format_share(shares[0], 0), second=format_share(shares[1], 0))


def best_fit(atlas: Atlas, head: HeadId) -> tuple[str, "Series"] | None:
    """The pattern that a head fits best on average, and its row; None where it fits none."""
    rows = atlas.of_head(*head)
    fits = rows[rows.index.str.startswith(FIT)].dropna(subset=["mean"])
    if not len(fits):
        return None
    name = fits["mean"].idxmax()
    return str(name).removeprefix(FIT), fits.loc[name]


def behaviour_sentence(atlas: Atlas, head: HeadId, chance: PatternChance | None) -> str:
    """The pattern that the head fits best, beside what even rows and luck reach, and which others it fits as well; the
    printed digits decide."""
    words, best = strings("atlas")["behaviour"], best_fit(atlas, head)
    if best is None:
        return words["none"].format(head=head_label(*head))
    name, row = best
    fit, even, luck = as_printed(row["mean"], FITS), math.nan, math.nan
    if chance is not None:
        even, luck = as_printed(chance.even.get(name, math.nan), FITS), as_printed(chance.luck, FITS)
    form = first_true([(chance is None, "alone"), (name == "even", "even"), (fit <= luck, "luck"),
                       (math.isnan(even), "above_luck"), (fit <= even, "baseline"), (True, "above")])
    sentence = words[form].format(head=head_label(*head), title=TITLES[name], fit=fit, sd=row["sd"], n=int(row["n"]),
                                  even=even, luck=luck, tokens=chance.tokens if chance is not None else 0)
    others = [TITLES[other] for other in _as_good(atlas, head, row["mean"]) if other != name]
    return " ".join([sentence, *([words["shared"].format(titles=", ".join(f"*{title}*" for title in others))]
                                 if others else [])])


def _as_good(atlas: Atlas, head: HeadId, most: float) -> list[str]:
    """The patterns that a head fits as well as its best one, in the digits that are printed."""
    fits = atlas.of_head(*head)["mean"]
    return [str(name).removeprefix(FIT) for name, fit in fits[fits.index.str.startswith(FIT)].items()
            if lead(fit, most, FITS) == 0 and not math.isnan(fit)]
