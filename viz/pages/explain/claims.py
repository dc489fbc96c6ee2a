"""What is true of an attribution and of a set of them, in words computed from the numbers."""
from collections.abc import Sequence

import numpy as np

from model.core.statistics import MeanInterval
from model.studies.attribution import (
    FEWEST,
    METHODS,
    NULLS,
    Attribution,
    agreement,
    ceiling,
    first_token,
    rank_agreement,
)
from model.studies.faithfulness.report import Report
from viz.claims import as_printed, first_true, lead
from viz.format import head_label, token_markdown, true_minus
from viz.text import escape_markdown, strings

POSITION = 0.9   # a measure whose order agrees this far with that of a model that looks evenly is told as one
FAINT = 0.05     # a weight that nobody would point at


def spell(value: float) -> str:
    """A rank correlation as it is printed."""
    return true_minus(f"{value:z.2f}")


def label(name: str, layer: int, head: int) -> str:
    """A measure as the figures name it."""
    return strings("explain")["picture"]["names"][name].format(head=head_label(layer, head), layer=layer)


def sentence_label(name: str, layer: int, head: int) -> str:
    """A measure as a sentence names it, where no row above says what it belongs to."""
    return strings("explain")["picture"]["told"].get(name) or label(name, layer, head)


def format_interval(mean: MeanInterval) -> str:
    """A mean with its interval."""
    return strings("explain")["set"]["interval"].format(value=mean.value, low=mean.low, high=mean.high)


def apart_claim(attribution: Attribution) -> str:
    """Which tokens stand apart and why; nothing where all are ranked."""
    words, tokens = strings("explain")["picture"], attribution.tokens
    there = {"special": any(tokens.special), "place": attribution.place is not None,
             "first": not tokens.special[0] and np.isnan(attribution.removed["hidden"][0]) and attribution.place != 0}
    apart = "; ".join(words["apart_what"][name] for name, holds in there.items() if holds)
    return words["apart_said"].format(what=apart) if apart else ""


def no_order(attribution: Attribution) -> str:
    """Why nothing can be correlated: too few tokens, or effects that do not differ; nothing where it can."""
    words, count = strings("explain")["sentence"], int(attribution.ranked.sum())
    name = first_true([(count < FEWEST, "few"), (not np.isfinite(ceiling(attribution).mean()), "flat"), (True, "")])
    return words[name].format(count=count) if name else ""


def answer_claims(attribution: Attribution, layer: int, head: int) -> list[str]:
    """What to notice about one answer. Sentences in Markdown; none where nothing can be correlated."""
    words, top = strings("explain")["sentence"], float(ceiling(attribution).mean())
    means = {name: float(rhos.mean()) for name, rhos in agreement(attribution, layer, head).items()
             if np.isfinite(rhos).all()}
    proposed = {name: mean for name, mean in means.items() if name in METHODS}
    if not proposed or not np.isfinite(top):
        return []
    best = closest(proposed)
    value = proposed[best[0]]
    name = first_true([(as_printed(value, spell) <= 0, "best_none"), (len(best) > 1, "best_shared"), (True, "best")])
    sentences = [words["ceiling_said"].format(ceiling=top),
                 words[name].format(best=_names(best, layer, head), best_value=value,
                                    **{name: spell(means[f"weight_{name}"]) if f"weight_{name}" in means else "–"
                                       for name in ("head", "layer")})]
    sentences += [line for name in ("rollout", "flow") if (line := _position(attribution, name))]
    outside = float(attribution.by_method(layer, head)["weight_head"][~attribution.ranked].sum())
    return [*sentences, words["sink"].format(share=outside), *_first(attribution, layer, head)]


def closest(means: dict[str, float]) -> list[str]:
    """The measures with the largest mean rank correlation; several where the printed digits are the same."""
    most = max(means.values())
    return [name for name, mean in means.items() if lead(mean, most, spell) == 0]


def _names(measures: list[str], layer: int, head: int) -> str:
    """Measures as a sentence lists them, in italics."""
    return strings("explain")["picture"]["and"].join(f"*{sentence_label(name, layer, head)}*" for name in measures)


def _first(attribution: Attribution, layer: int, head: int) -> list[str]:
    """What leaving the first token out does to the comparison, and what putting it in would do."""
    words, first = strings("explain")["sentence"], first_token(attribution, layer, head)
    if first is None or not np.isfinite([first.apart, first.ranked]).all():
        return []
    better = {1: "flatters", -1: "flatters_not", 0: "flatters_even"}[lead(first.ranked, first.apart, spell)]
    return [words["first"].format(token=token_markdown(attribution.tokens.texts[0]), head=first.head,
                                  layer=first.layer, effect=first.effect, rank=first.rank,
                                  count=first.count, apart=first.apart, ranked=first.ranked) + " " + words[better]]


def _position(attribution: Attribution, name: str) -> str:
    """Whether a measure over all layers says more than where the words stand; nothing where the null is flat."""
    words, chosen, null = strings("explain")["sentence"], attribution.ranked, f"{name}_even"
    if name not in attribution.scores or null not in attribution.scores:
        return ""
    rho = rank_agreement(attribution.scores[name][chosen], attribution.scores[null][chosen])
    if not np.isfinite(rho):
        return ""
    agrees = as_printed(rho, spell)
    form = first_true([(agrees == 1, "position_same"), (agrees >= POSITION, "position"), (True, "position_not")])
    return words[form].format(name=sentence_label(name, 0, 0), rho=rho)


def set_claims(report: Report, layer: int, head: int, heads: int) -> list[str]:
    """What to notice over many texts."""
    words = strings("explain")["set"]
    proposed = {name: means[-1] for name, means in report.methods.items() if name in METHODS and means[-1].texts}
    if not proposed:
        return [words["few"]]
    best = closest({name: mean.value for name, mean in proposed.items()})
    values = [format_interval(proposed[name]) for name in best]
    lines = [words["said"].format(texts=report.texts, words=report.words, used=report.ceiling[-1].texts),
             words["ceiling"].format(value=format_interval(report.ceiling[-1])),
             words["best" if len(best) == 1 else "best_shared"].format(name=_names(best, layer, head),
                                                                       value=words["and"].join(values))]
    if {"weight_head", "weight_layer"} <= set(proposed):
        lines.append(words["raw"].format(head=head_label(layer, head), value=format_interval(proposed["weight_head"]),
                                         layer=format_interval(proposed["weight_layer"])))
    for null in NULLS:
        name = null.removesuffix("_even")
        if name in proposed and null in report.methods and report.methods[null][-1].texts:
            lines.append(words["null"].format(name=sentence_label(name, layer, head),
                                              value=format_interval(proposed[name]),
                                              null=format_interval(report.methods[null][-1])))
    if heads > 1 and report.best.texts:
        chosen = words["and"].join(dict.fromkeys(head_label(*chosen) for chosen in report.chosen))
        lines.append(words["held_out"].format(chosen=chosen, value=format_interval(report.best), count=heads))
    return lines


def value_claim(attribution: Attribution) -> str:
    """The number that is explained."""
    words, answer = strings("explain")["value"], attribution.answer
    form = "rival" if answer.rival and answer.kind != "vector" else answer.kind
    before = "" if attribution.place is None else token_markdown(attribution.tokens.texts[attribution.place])
    return words[form].format(word=f"*{escape_markdown(answer.word)}*", rival=f"*{escape_markdown(answer.rival)}*",
                              value=answer.value, rank=answer.rank,
                              chance=np.exp(min(answer.value, 0)), before=f"“{before}”")


def share_claim(weights: np.ndarray, share: np.ndarray, names: tuple[Sequence[str], Sequence[str]],
                heads: int) -> str:
    """What a head's shares among the heads of its layer say, and what they hide. weights and share: (query, key);
    names: of both."""
    words, sums = strings("explain")["share"], share.sum(1)
    if heads == 1:
        return str(words["one"])
    row, column = map(int, np.unravel_index(share.argmax(), share.shape))
    loud, cells = int(((share > 2 / heads) & (weights < FAINT)).sum()), int((weights > 0).sum())
    alike = as_printed(float(sums.min()), spell) == as_printed(float(sums.max()), spell) == 1
    return " ".join(words[name].format(low=sums.min(), high=sums.max(), row=escape_markdown(names[0][row]),
                                       column=escape_markdown(names[1][column]), share=share[row, column],
                                       weight=weights[row, column], loud=loud, cells=cells, average=1 / heads,
                                       faint=FAINT)
                    for name in ("sums_even" if alike else "sums", "darkest", "loud" if loud else "quiet"))
