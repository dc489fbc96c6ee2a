"""What is true of the heads in a sentence, in its twin and over a set, in words computed from the numbers."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.core.statistics import MeanInterval
from model.core.types import KindHeadId
from model.studies.coreference.report import Report
from viz.claims import as_printed, first_true, lead
from viz.format import format_share, format_signed, format_weight, head_label, paper_head_label
from viz.text import escape_markdown, strings

SURE = 0.01          # the p-value under which the page calls a head better than luck
USEFUL = 0.75        # the held-out accuracy under which it does not call it a resolver
LITTLE = 2.0         # points of a hundred: a change of the model's answer of at most so many is called little
P_VALUE = "{:.4f}".format
# (who leads in this sentence, who in the twin; 1 A, -1 B, 0 both print the same): of a head that looks at the nouns
OUTCOMES = {(1, -1): "flips", (1, 1): "a", (-1, -1): "b", (-1, 1): "against"}
# the same: what becomes of the inference that the largest weight invites
INFERENCES = {(1, -1): "holds", (1, 1): "fails", (-1, -1): "wrong_twin", (-1, 1): "against", (1, 0): "fails_even",
              (-1, 0): "even_twin", (0, 1): "even_twin", (0, -1): "even_twin", (0, 0): "even_twin"}


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

    def leads(self, head: int) -> tuple[int, int]:
        """Who gets more weight from a head in this sentence and in the twin, in the digits that are printed: 1 A, -1 B,
        0 neither. Without a twin that of this sentence twice."""
        here, there = (lead(float(weights[head, 0]), float(weights[head, 1]))
                       for weights in (self.here, self.here if self.there is None else self.there))
        return here, there

    def looks(self, head: int) -> bool:
        """Whether a head puts as much on the two nouns as a uniform row would, in each sentence, as they are printed.
        """
        sides = (self.here,) if self.there is None else (self.here, self.there)
        return all(lead(float(weights[head].sum()), self.uniform) >= 0 for weights in sides)

    def verdicts(self) -> list[str]:
        """flips (A here, B in the twin), a or b (always the same noun), against (wrong in both), even (no difference in
        the digits of one sentence at least), faint; for every head. None without a twin."""
        if self.there is None:
            return []
        return [first_true([(not self.looks(head), "faint"), (True, OUTCOMES.get(self.leads(head), "even"))])
                for head in range(len(self.heads))]


def sentence_claims(twins: Twins) -> tuple[list[str], list[str]]:
    """What the largest weight seems to say and what the twin says to it; and how many heads change their mind."""
    words, (a, b, it) = strings("coreference")["claims"], (f"*{escape_markdown(word)}*" for word in twins.words)
    top = int(np.argmax(twins.here.max(1)))
    leads, noun = twins.leads(top), (a, b)[int(twins.here[top].argmax())]
    facts = {"a": a, "b": b, "it": it, "head": head_label(*twins.heads[top][1:]),
             "paper": paper_head_label(*twins.heads[top][1:]),
             "weight": format_weight(float(twins.here[top].max())), "noun": noun}
    name = {1: "largest_right", -1: "largest_wrong", 0: "largest_even"}[leads[0]]
    sentences = [words[name].format(**facts)]
    if twins.there is None:
        return sentences, []
    verdicts = twins.verdicts()
    sentences.append(words[INFERENCES[leads]].format(**facts, there_a=format_weight(float(twins.there[top, 0])),
                                                     there_b=format_weight(float(twins.there[top, 1]))))
    numbers = {f"n_{outcome}": verdicts.count(outcome) for outcome in (*OUTCOMES.values(), "even", "faint")}
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
    """How the verdict on a set begins. chance: on other sentences no better than chance can be told from it. luck: the
    best head may be a lucky one of as many that know nothing. alone: it beats luck, and there are no other sentences.
    weak: it holds on others, but not by much. resolves: it knows.

    Told from the digits that are printed.
    """
    luck = as_printed(report.luck.p_value, P_VALUE) >= SURE
    if report.held_out is None or np.isnan(report.held_out.accuracy.low):
        return "luck" if luck else "alone"
    accuracy, chance = report.held_out.accuracy, report.baselines["chance"]
    return first_true([(lead(accuracy.low, chance, whole_share) <= 0, "chance"), (luck, "luck"),
                       (lead(accuracy.value, USEFUL, format_share) >= 0, "resolves"), (True, "weak")])


def whole_share(share: float) -> str:
    """A share in whole per cent, as an interval's ends are printed."""
    return format_share(share, 0)


def set_claims(report: Report) -> list[str]:
    """What a set says about the heads, the verdict first."""
    words, best = strings("coreference")["claims"], report.best
    alike = sum(lead(head.accuracy.value, best.accuracy.value, format_share) == 0 for head in report.heads)
    facts = {"head": head_label(best.layer, best.head), "paper": paper_head_label(best.layer, best.head),
             "best": percent(best.accuracy), "n": len(report.heads), "luck": format_share(report.luck.mean),
             "high": format_share(report.luck.high), "p": P_VALUE(report.luck.p_value), "others": alike - 1,
             "mass": format_weight(best.mass), "both": "" if np.isnan(best.both) else whole_share(best.both),
             **{name: whole_share(value) for name, value in report.baselines.items()}}
    sentences = [words[f"set_{verdict(report)}"].format(
        **facts, held_out="" if report.held_out is None else percent(report.held_out.accuracy)),
        words["set_best" if alike == 1 else "set_best_shared"].format(**facts)]
    if report.held_out is not None:
        chosen = words["and"].join(head_label(report.named(number).layer, report.named(number).head)
                                   for number in dict.fromkeys(report.held_out.chosen))
        sentences.append(words["set_held_out"].format(chosen=chosen, held_out=percent(report.held_out.accuracy)))
    if facts["both"]:
        sentences.append(words["set_both"].format(**facts))
    return [*sentences, words["set_baselines"].format(**facts)]


def answer_claim(share: float, a: str, b: str) -> str:
    """The model's own answer. share: of the right noun A against B, both in Markdown."""
    words = strings("coreference")["proof"]
    name = {1: "right", -1: "wrong", 0: "undecided"}[lead(share, 0.5, format_share)]
    return words["said"].format(a=a, b=b, share=format_share(share), right_word=words[name])


def silencing_claim(heads: Sequence[KindHeadId], plain: float, shares: Sequence[float]) -> str:
    """What silencing each head alone does to the share of the right noun: of one that turns the answer if there is one,
    else of the largest change. Told from the digits that are printed."""
    words, before = strings("coreference")["proof"], as_printed(plain, format_share)
    changes = [round(as_printed(share, format_share) - before, 1) for share in shares]
    sides = [lead(share, 0.5, format_share) for share in shares]
    side = lead(plain, 0.5, format_share)
    turning = [place for place, now in enumerate(sides) if side * now < 0]
    most = max(turning or range(len(shares)), key=lambda place: abs(changes[place]))
    stays = all(now == side for now in sides)
    name = first_true([(bool(turning), "turned"), (changes[most] == 0, "unmoved"),
                       (stays and abs(changes[most]) <= LITTLE, "little"), (stays, "most"), (True, "moved")])
    return words[name].format(head=head_label(*heads[most][1:]), share=format_share(shares[most]),
                              change=format_signed(changes[most], "+.1f"), count=len(turning))
