"""What is true of a decision between il and elle, in words, computed from its numbers."""
from typing import Any

import numpy as np

from model.core.query import Kind
from model.core.types import KindHeadId
from model.studies.pronoun_choice import PRONOUNS, Decision, DecisionSet
from viz.claims import first_true, lead
from viz.format import format_share, head_label
from viz.text import escape_markdown, strings

HALF = 0.5                # the share of two pronouns at which neither leads; of sentences, half of them
SHARE = "{:z.2f}".format   # how a share of the two pronouns is printed


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
    words = strings("translate")["decide"]
    sentence = words["plain"].format(said=decision.said, share=decision.share)
    if decision.twin is not None:
        sentence += " " + words["plain_twin"].format(said=decision.said, twin=decision.twin)
    changes = decision.whole - decision.share
    layer = int(np.abs(changes).argmax())
    lines = [sentence, _one_head(decision, decision.zero if mode == "zero" else decision.mean),
             words["layer"].format(layer=layer_name(decision.layers[layer]), said=decision.said,
                                   change=float(changes[layer]), share=float(decision.whole[layer]))]
    return [*lines, *_one_word(decision)]


def _one_head(decision: Decision, alone: np.ndarray) -> str:
    """What silencing one head does: of the head that turns the pronoun furthest if there is one, else of the largest
    change. alone: the share with each head silenced (head)."""
    words, lowest = strings("translate")["decide"], int(alone.argmin())
    turned = lead(decision.share, HALF, SHARE) > 0 > lead(float(alone[lowest]), HALF, SHARE)
    most = lowest if turned else int(np.abs(alone - decision.share).argmax())
    name = first_true([(turned, "most"), (lead(float(alone[most]), decision.share, SHARE) == 0, "unmoved"),
                       (True, "little")])
    return words[name].format(head=head_name(decision.heads[most]), before=decision.share, after=float(alone[most]),
                              said=decision.said, other=other_pronoun(decision))


def _one_word(decision: Decision) -> list[str]:
    """What exchanging the encoder's output at one word with the twin's does, at the word that matters most and at it.
    Nothing without a twin."""
    if not len(decision.patched):
        return []
    words, moved = strings("translate")["decide"], 1 - decision.patched
    most = int(moved.argmax())
    name = first_true([(lead(float(moved[most]), HALF, SHARE) > 0, "moved"),
                       (lead(float(moved[most]), 1 - decision.share, SHARE) > 0, "moved_little"),
                       (True, "unmoved_words")])
    facts = {"word": escape_markdown(decision.source[most]), "other": other_pronoun(decision),
             "share": float(moved[most])}
    places = [place for place, text in enumerate(decision.source) if text.lower() == "it" and place != most]
    at_it = [words["at_it"].format(it=float(moved[places[-1]]))] if places else []
    return [" ".join([words[name].format(**facts), *at_it])]


def set_claims(decisions: DecisionSet) -> list[str]:
    """Sentences in Markdown about many test sentences, the contrast to the resolver last."""
    words = strings("translate")["decide"]
    facts: dict[str, Any] = {}
    for kind, (head, share, mass) in decisions.points.items():
        facts |= {kind.value: share, f"{kind.value}_head": head_label(*head[1:]), f"{kind.value}_mass": mass}
    alone = {name: share for name, share in decisions.moved.items() if name not in ("it", "both nouns", "everything")}
    most = max(alone, key=lambda name: alone[name])
    at_it = decisions.moved["it"]
    name = first_true([(lead(at_it, HALF, whole_share) >= 0, "set_encoder"),
                       (lead(alone[most], HALF, whole_share) >= 0, "set_decoder"), (True, "set_spread")])
    return [words["set_points"].format(**facts),
            words[name].format(it=at_it, most=words["set_words"][most], share=alone[most]), words["contrast"]]


def whole_share(share: float) -> str:
    """A share of sentences in whole per cent, as it is printed."""
    return format_share(share, 0)
