"""What is true of a decision between il and elle, in words, computed from its numbers."""
from typing import Any

import numpy as np

from model.core.query import Kind
from model.core.types import KindHeadId
from model.studies.pronoun_choice import PRONOUNS, Decision, DecisionSet
from viz.format import head_label
from viz.text import escape_markdown, strings

LITTLE = 0.5    # a change of P by less leaves the same word ahead, if it was sure before


def layer_name(place: tuple[Kind, int]) -> str:
    """A layer as the page names it."""
    return strings("translate")["decide"]["rows"][place[0].value].format(layer=place[1])


def other_pronoun(decision: Decision) -> str:
    """The pronoun that was not said."""
    return next(pronoun for pronoun in PRONOUNS if pronoun != decision.said)


def head_name(head: KindHeadId) -> str:
    """Its layer as the page names it, and its number in it."""
    kind, layer, number = head
    return strings("translate")["decide"]["rows"][kind.value].format(layer=head_label(layer, number))


def decision_claims(decision: Decision, mode: str) -> list[str]:
    """Sentences in Markdown: the answer, what silencing costs, which word carries it."""
    words, other = strings("translate")["decide"], other_pronoun(decision)
    sentence = words["plain"].format(said=decision.said, share=decision.share)
    if decision.twin is not None:
        sentence += " " + words["plain_twin"].format(said=decision.said, twin=decision.twin)
    change = (decision.zero if mode == "zero" else decision.mean) - decision.share
    most, layer = int(np.abs(change).argmax()), int(np.abs(decision.whole - decision.share).argmax())
    lines = [sentence, words["most" if abs(change[most]) >= LITTLE
                             else "little"].format(head=head_name(decision.heads[most]), change=float(change[most])),
             words["layer"].format(layer=layer_name(decision.layers[layer]),
                                   change=float(decision.whole[layer] - decision.share))]
    if len(decision.patched):
        moved = 1 - decision.patched
        places = [place for place, text in enumerate(decision.source) if text.lower() == "it"]
        lines.append(words["moved"].format(word=escape_markdown(decision.source[int(moved.argmax())]), other=other,
                                           share=float(moved.max()),
                                           it=float(moved[places[-1]]) if places else float("nan")))
    return lines


def set_claims(decisions: DecisionSet) -> list[str]:
    """Sentences in Markdown about many test sentences, the contrast to the resolver last."""
    words = strings("translate")["decide"]
    facts: dict[str, Any] = {}
    for kind, (head, share, mass) in decisions.points.items():
        facts |= {kind.value: share, f"{kind.value}_head": head_label(*head[1:]), f"{kind.value}_mass": mass}
    alone = {name: share for name, share in decisions.moved.items() if name not in ("it", "both nouns", "everything")}
    most = max(alone, key=lambda name: alone[name])
    at_it = decisions.moved["it"]
    return [words["set_points"].format(**facts),
            words["set_decoder" if at_it < 0.5 else "set_encoder"].format(it=at_it, most=words["set_words"][most],
                                                                          share=alone[most]),
            words["contrast"]]
