"""What is true of all heads of a model together, in words computed from their table."""
from typing import TYPE_CHECKING

import numpy as np

from model.core.statistics import spearman
from model.studies.patterns import TITLES
from viz.claims import as_printed, first_true, lead
from viz.format import head_label
from viz.text import escape_markdown, strings

if TYPE_CHECKING:
    from pandas import DataFrame

POOR = 0.6     # a fit below which the best pattern says little
FIT, CHANGE = "{:z.2f}".format, "{:z.4g}".format   # how a fit is printed, and a change of the answer


def pattern_claims(best: "DataFrame") -> list[str]:
    """How many heads fit which pattern best, and how well. best: a row a head, with pattern and fit."""
    words, counts = strings("measures"), best["pattern"].value_counts()
    top, poor = best["fit"].idxmax(), sum(as_printed(fit, FIT) < POOR for fit in best["fit"])
    alike = sum(lead(fit, best["fit"][top], FIT) == 0 for fit in best["fit"])
    sentences = [words["counts"].format(counts=", ".join(words["count"].format(title=TITLES[pattern], count=count)
                                                         for pattern, count in counts.items()), n=len(best)),
                 words["top" if alike == 1 else "top_shared"].format(
                     head=head_label(*top), title=TITLES[best["pattern"][top]], fit=best["fit"][top],
                     others=alike - 1)]
    sentences += [words["poor"].format(count=poor, limit=POOR)] if poor else []
    return sentences + ([words["even"].format(title=TITLES["even"])] if "even" in counts else [])


def effect_claims(effects: "DataFrame") -> list[str]:
    """What silencing each head did. effects: a row a head, with pattern, fit and silenced, how much the answer
    changed."""
    words, changes = strings("measures"), effects["silenced"]
    place = changes.idxmax()
    alike = sum(lead(change, changes[place], CHANGE) == 0 for change in changes)
    name = first_true([(as_printed(changes[place], CHANGE) <= 0, "effects_none"), (alike > 1, "effects_shared"),
                       (True, "effects_most")])
    sentences = [words[name].format(head=head_label(*place), most=changes[place], others=alike - 1,
                                    title=escape_markdown(TITLES[effects["pattern"][place]]),
                                    fit=effects["fit"][place])]
    rho = spearman(effects["fit"].to_numpy(), changes.to_numpy())
    sentences += [words["effects_rank"].format(n=len(changes), rho=rho)] if np.isfinite(rho) else []
    return [*sentences, words["effects_quiet"].format(median=changes.median())]
