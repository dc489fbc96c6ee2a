"""What is true of an attribution and of a set of them, in words computed from the numbers."""
import numpy as np

from model.core.statistics import MeanInterval
from model.studies.attribution import METHODS, NULLS, Attribution, agreement, ceiling, first_token, rank_agreement
from model.studies.faithfulness.report import Report
from viz.format import head_label
from viz.text import escape_markdown, strings

POSITION = 0.9   # a measure whose order agrees this far with that of a model that looks evenly is told as one


def label(name: str, layer: int, head: int) -> str:
    """A measure as the figures name it."""
    return strings("explain")["picture"]["names"][name].format(head=head_label(layer, head), layer=layer)


def sentence_label(name: str, layer: int, head: int) -> str:
    """A measure as a sentence names it, where no row above says what it belongs to."""
    return strings("explain")["picture"]["told"].get(name) or label(name, layer, head)


def format_interval(mean: MeanInterval) -> str:
    """A mean with its interval."""
    return strings("explain")["set"]["interval"].format(value=mean.value, low=mean.low, high=mean.high)


def answer_claims(attribution: Attribution, layer: int, head: int) -> list[str]:
    """What to notice about one answer. Sentences in Markdown; none where nothing can be correlated."""
    words, top = strings("explain")["sentence"], float(ceiling(attribution).mean())
    means = {name: float(rhos.mean()) for name, rhos in agreement(attribution, layer, head).items()
             if np.isfinite(rhos).all()}
    proposed = {name: mean for name, mean in means.items() if name in METHODS}
    if not proposed or not np.isfinite(top):
        return []
    best = max(proposed, key=lambda name: proposed[name])
    sentences = [words["ceiling_said"].format(ceiling=top),
                 words["best"].format(best=sentence_label(best, layer, head), best_value=proposed[best],
                                      **{name: f"{means[f'weight_{name}']:.2f}" if f"weight_{name}" in means else "–"
                                         for name in ("head", "layer")})]
    sentences += [line for name in ("rollout", "flow") if (line := _position(attribution, name))]
    outside = float(attribution.by_method(layer, head)["weight_head"][~attribution.ranked].sum())
    return [*sentences, words["sink"].format(share=outside), *_first(attribution, layer, head)]


def _first(attribution: Attribution, layer: int, head: int) -> list[str]:
    """What leaving the first token out does to the comparison, and what putting it in would do."""
    words, first = strings("explain")["sentence"], first_token(attribution, layer, head)
    if first is None or not np.isfinite([first.apart, first.ranked]).all():
        return []
    better = "flatters" if first.ranked > first.apart else "flatters_not"
    return [words["first"].format(token=escape_markdown(attribution.tokens.texts[0]), head=first.head,
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
    return words["position" if rho >= POSITION else "position_not"].format(name=sentence_label(name, 0, 0), rho=rho)


def set_claims(report: Report, layer: int, head: int, heads: int) -> list[str]:
    """What to notice over many texts."""
    words = strings("explain")["set"]
    proposed = {name: means[-1] for name, means in report.methods.items() if name in METHODS and means[-1].texts}
    if not proposed:
        return [words["few"]]
    best = max(proposed, key=lambda name: proposed[name].value)
    lines = [words["said"].format(texts=report.texts, words=report.words, used=report.ceiling[-1].texts),
             words["ceiling"].format(value=format_interval(report.ceiling[-1])),
             words["best"].format(name=sentence_label(best, layer, head), value=format_interval(proposed[best]))]
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
        chosen = " and ".join(dict.fromkeys(head_label(*each) for each in report.chosen))
        lines.append(words["held_out"].format(chosen=chosen, value=format_interval(report.best), count=heads))
    return lines


def value_claim(attribution: Attribution) -> str:
    """The number that is explained."""
    words, answer = strings("explain")["value"], attribution.answer
    form = "rival" if answer.rival and answer.kind != "vector" else answer.kind
    before = "" if attribution.place is None else escape_markdown(attribution.tokens.texts[attribution.place])
    return words[form].format(word=f"*{escape_markdown(answer.word)}*", rival=f"*{escape_markdown(answer.rival)}*",
                              value=answer.value, rank=answer.rank,
                              chance=np.exp(min(answer.value, 0)), before=f"“{before}”")
