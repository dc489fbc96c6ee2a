"""What is said of an atlas in sentences: each is chosen by the numbers that are printed."""
from typing import TYPE_CHECKING

from model.core.types import HeadId
from model.studies.atlas.plane import principal_components
from model.studies.atlas.tables import Atlas
from model.studies.pattern_chance import PatternChance
from model.studies.patterns import TITLES
from viz.format import format_share, head_label
from viz.text import escape_markdown, strings

if TYPE_CHECKING:
    from pandas import Series

FIT = "fit_"


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
    """The pattern that the head fits best, beside what even rows and luck reach; the printed digits decide."""
    words, best = strings("atlas")["behaviour"], best_fit(atlas, head)
    if best is None:
        return words["none"].format(head=head_label(*head))
    name, row = best
    fit = round(float(row["mean"]), 2)
    said = {"head": head_label(*head), "title": TITLES[name], "fit": fit, "sd": row["sd"], "n": int(row["n"])}
    if chance is None:
        return words["alone"].format(**said)
    even, luck = round(chance.even.get(name, float("nan")), 2), round(chance.luck, 2)
    said |= {"even": even, "luck": luck, "tokens": chance.tokens}
    if name == "even":
        return words["even"].format(**said)
    if fit > max(even, luck):
        return words["above"].format(**said)
    return words["luck" if fit <= luck else "baseline"].format(**said)
