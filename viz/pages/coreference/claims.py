"""What is true of the heads in a sentence, in its twin and over a set, in words computed from the numbers."""
from dataclasses import dataclass

import numpy as np

from model.core.statistics import MeanInterval
from model.core.types import KindHeadId
from model.studies.coreference.report import Report
from viz.format import format_share, format_weight, head_label, paper_head_label
from viz.text import escape_markdown, strings

SURE = 0.01          # the p-value under which the page calls a head better than luck
USEFUL = 0.75        # the held-out accuracy under which it does not call it a resolver


@dataclass(frozen=True, eq=False)
class Twins:
    """The weights of every head to the nouns A and B in a sentence and in its twin. A is right here, B in the twin."""

    heads: tuple[KindHeadId, ...] # (kind, layer, head)
    here: np.ndarray              # float32 (head, 2), the weights to A and B in this sentence
    there: np.ndarray | None      # the same in the twin; None without one
    uniform: float                # what a row of equal weights puts on both nouns together
    words: tuple[str, str, str]   # the text of A, of B, and of the pronoun

    @property
    def preference(self) -> np.ndarray:
        """The weight to A minus the weight to B, (head)."""
        return self.here[:, 0] - self.here[:, 1]

    @property
    def order(self) -> np.ndarray:
        """The heads' numbers, the strongest preference for A first."""
        return np.argsort(-self.preference, kind="stable")

    def looks(self) -> np.ndarray:
        """Whether a head puts as much on the two nouns as a uniform row would, in each sentence, bool (head)."""
        there = self.here if self.there is None else self.there
        return (self.here.sum(1) >= self.uniform) & (there.sum(1) >= self.uniform)

    def verdicts(self) -> list[str]:
        """flips (A here, B in the twin), a or b (always the same noun), against (wrong in both), faint; for every
        head."""
        if self.there is None:
            return []
        here, there = self.preference > 0, self.there[:, 0] > self.there[:, 1]
        named = {(True, False): "flips", (True, True): "a", (False, False): "b", (False, True): "against"}
        return [named[bool(one), bool(other)] if seen else "faint"
                for one, other, seen in zip(here, there, self.looks())]


def sentence_claims(twins: Twins) -> tuple[list[str], list[str]]:
    """What the largest weight seems to say and what the twin says to it; and how many heads change their mind."""
    words, (a, b, it) = strings("coreference")["claims"], (f"*{escape_markdown(word)}*" for word in twins.words)
    top = int(np.argmax(twins.here.max(1)))
    noun = (a, b)[int(twins.here[top].argmax())]
    facts = {"a": a, "b": b, "it": it, "head": head_label(*twins.heads[top][1:]),
             "paper": paper_head_label(*twins.heads[top][1:]),
             "weight": format_weight(float(twins.here[top].max())), "noun": noun}
    sentences = [words["largest_right" if noun == a else "largest_wrong"].format(**facts)]
    if twins.there is None:
        return sentences, []
    verdicts = twins.verdicts()
    held = "fails" if noun == a else "wrong_twin"
    if verdicts[top] == "flips":
        held = "holds"
    sentences.append(words[held].format(**facts, there_a=format_weight(float(twins.there[top, 0])),
                                        there_b=format_weight(float(twins.there[top, 1]))))
    numbers = {f"n_{outcome}": verdicts.count(outcome) for outcome in ("flips", "a", "b", "against", "faint")}
    counts = words["counts"].format(**facts, **numbers, n=len(verdicts), uniform=format_weight(twins.uniform))
    return sentences, [counts, *_flipper(twins, verdicts)]


def _flipper(twins: Twins, verdicts: list[str]) -> list[str]:
    """The head that changes sides most clearly, if one does."""
    there, flips = twins.there, [place for place, verdict in enumerate(verdicts) if verdict == "flips"]
    if there is None or not flips:
        return []
    first = max(flips, key=np.minimum(twins.preference, there[:, 1] - there[:, 0]).__getitem__)
    here, twin = (format_weight(float(weights[first].sum())) for weights in (twins.here, there))
    return [strings("coreference")["claims"]["flipper"].format(head=head_label(*twins.heads[first][1:]), mass=here,
                                                               twin=twin)]


def percent(interval: MeanInterval) -> str:
    """A share with its interval."""
    words = strings("coreference")["claims"]
    if np.isnan(interval.low):
        return words["share_alone"].format(value=format_share(interval.value))
    return words["share"].format(value=format_share(interval.value), low=format_share(interval.low, 0),
                                 high=format_share(interval.high, 0))


def verdict(report: Report) -> str:
    """luck: the best head may be a lucky one of as many that know nothing. chance: on other sentences it is no better
    than chance.

    weak: better, but not by much. resolves: it knows.
    """
    held_out = report.best.accuracy if report.held_out is None else report.held_out.accuracy
    if report.held_out is not None and held_out.low <= report.baselines["chance"]:
        return "chance"
    if report.luck.p_value >= SURE:
        return "luck"
    return "resolves" if held_out.value >= USEFUL else "weak"


def set_claims(report: Report) -> list[str]:
    """What a set says about the heads, the verdict first."""
    words, best = strings("coreference")["claims"], report.best
    facts = {"head": head_label(best.layer, best.head), "paper": paper_head_label(best.layer, best.head),
             "best": percent(best.accuracy), "n": len(report.heads), "luck": format_share(report.luck.mean),
             "high": format_share(report.luck.high), "p": f"{report.luck.p_value:.4f}",
             "mass": format_weight(best.mass), "both": "" if np.isnan(best.both) else format_share(best.both, 0),
             **{name: format_share(value, 0) for name, value in report.baselines.items()}}
    held_out = report.best.accuracy if report.held_out is None else report.held_out.accuracy
    sentences = [words[f"set_{verdict(report)}"].format(**facts, held_out=percent(held_out)),
                 words["set_best"].format(**facts)]
    if report.held_out is not None:
        chosen = " and ".join(head_label(report.named(number).layer, report.named(number).head)
                              for number in dict.fromkeys(report.held_out.chosen))
        sentences.append(words["set_held_out"].format(chosen=chosen, held_out=percent(report.held_out.accuracy)))
    if facts["both"]:
        sentences.append(words["set_both"].format(**facts))
    return [*sentences, words["set_baselines"].format(**facts)]
