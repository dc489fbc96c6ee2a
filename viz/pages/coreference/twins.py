"""A sentence and its twin: which noun every head prefers, and what is said of it."""
from dataclasses import dataclass

import numpy as np

from model.core.types import KindHeadId
from viz.format import format_weight, head_label, paper_head_label
from viz.text import escape_markdown, strings

# (the sign of weight A − weight B in this sentence, in the twin): of a head that looks at the nouns
OUTCOMES = {(1, -1): "flips", (1, 1): "a", (-1, -1): "b", (-1, 1): "against"}


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

    def verdicts(self) -> list[str]:
        """flips (A here, B in the twin), a or b (always the same noun), against (wrong in both), even (equal weights in
        one sentence at least), faint (less on both nouns than a uniform row), for every head. None without a twin."""
        if self.there is None:
            return []
        signs = zip(np.sign(self.preference), np.sign(self.there[:, 0] - self.there[:, 1]), strict=True)
        mass = np.minimum(self.here.sum(1), self.there.sum(1))
        return ["faint" if both < self.uniform else OUTCOMES.get((int(here), int(there)), "even")
                for both, (here, there) in zip(mass, signs, strict=True)]


def sentence_claims(twins: Twins) -> tuple[list[str], list[str]]:
    """The largest weight to a noun here and in the twin; how many heads have each verdict, and the clearest change."""
    words, (a, b, it) = strings("coreference")["claims"], (f"*{escape_markdown(word)}*" for word in twins.words)
    top, heads = int(np.argmax(twins.here.max(1))), [head_label(*head[1:]) for head in twins.heads]
    facts = {"a": a, "b": b, "it": it, "head": heads[top], "paper": paper_head_label(*twins.heads[top][1:]),
             "weight": format_weight(float(twins.here[top].max())), "noun": (a, b)[int(twins.here[top].argmax())]}
    sentences = [words["largest"].format(**facts)]
    if twins.there is None:
        return sentences, []
    there_a, there_b = (format_weight(float(weight)) for weight in twins.there[top])
    sentences.append(words["largest_twin"].format(there_a=there_a, there_b=there_b, **facts))
    verdicts = twins.verdicts()
    numbers = {f"n_{outcome}": verdicts.count(outcome) for outcome in (*OUTCOMES.values(), "even", "faint")}
    counts = [words["counts"].format(**facts, **numbers, n=len(verdicts), uniform=format_weight(twins.uniform))]
    if flips := [head for head, verdict in enumerate(verdicts) if verdict == "flips"]:
        change = np.minimum(twins.preference, twins.there[:, 1] - twins.there[:, 0])
        first = max(flips, key=change.__getitem__)
        mass, twin = (format_weight(float(weights[first].sum())) for weights in (twins.here, twins.there))
        counts.append(words["flipper"].format(head=heads[first], mass=mass, twin=twin))
    return sentences, counts
