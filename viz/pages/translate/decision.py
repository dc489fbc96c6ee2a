"""Where il or elle is decided: heads silenced live, words exchanged with the twin, and the same over many sentences."""
from typing import Any

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import Kind, UserError
from model.core.types import KindHeadId
from model.lessons.pronoun_choice import Decision, DecisionQuery, DecisionSet, DecisionSetQuery
from model.studies.predictions import PRONOUNS
from viz.figures.bars import bars
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_share, head_label
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for, toggle_for
from viz.widgets.figure import figure

PAIRS = 100      # of twins in the set


def decision_section(page: PageContext, model: str, text: str, twin: str) -> None:
    """The section; for a model or a sentence without such a decision it says so."""
    words = strings("translate")["decide"]
    st.markdown(f"### {words['title']}")
    revision = sources.revision(model)
    try:
        decision: Decision = page.ask(DecisionQuery(model, revision, text, twin))
    except UserError as error:
        st.info(escape_markdown(str(error)))
        return
    st.markdown(words["lead"].format(said=decision.said), width=READABLE_WIDE)
    left, right = st.columns(2, gap="large")
    with left:
        _silenced(page, decision)
    with right:
        if len(decision.patched):
            _patched(decision)
    st.markdown("\n".join(f"- {claim}" for claim in decision_claims(decision, page.controls["mode"])),
                width=READABLE_WIDE)
    toggle_for(page, "set", words["set"].format(n=2 * PAIRS))
    if page.controls["set"]:
        _set(page.ask(DecisionSetQuery(model, revision, PAIRS)))


def _silenced(page: PageContext, decision: Decision) -> None:
    """The change of P by layer and head, with a column for all heads of the layer."""
    words, mode = strings("translate")["decide"], page.controls["mode"]
    change = (decision.zero if mode == "zero" else decision.mean).reshape(len(decision.layers), -1) - decision.share
    numbers = np.column_stack([change, decision.whole - decision.share])
    columns = [*map(str, range(change.shape[1])), words["all"]]
    most = int(np.abs(change).argmax())
    choice_for(page, "mode", words["mode"], words["modes"])
    st.markdown(f"##### {words['change'].format(said=decision.said)}")
    figure(lambda theme: matrix(theme, numbers, [layer_name(layer) for layer in decision.layers], columns,
                                axes=(words["axis"], ""), height=330,
                                style=CellStyle("signed", bound=1.0, square=False)),
           key="translate-silenced",
           alt=words["change_alt"].format(said=decision.said, heads=change.size, change=change.flat[most],
                                          head=head_name(decision.heads[most])))


def _patched(decision: Decision) -> None:
    """What the pronoun becomes when the encoder's output at one word is the twin's."""
    words, other = strings("translate")["decide"], other_pronoun(decision)
    moved, most = 1 - decision.patched, int((1 - decision.patched).argmax())
    st.markdown(f"##### {words['patch']}", help=words["patch_lead"])
    st.caption(words["patch_lead"])
    axis = words["patch_axis"].format(other=other)
    figure(lambda theme: bars(theme, decision.source, {axis: moved}, axes=("", axis),
                              y_range=(0, 1), height=330),
           key="translate-exchanged",
           alt=words["patch_alt"].format(other=other, share=moved[most], word=decision.source[most]))


def _set(decisions: DecisionSet) -> None:
    words = strings("translate")["decide"]
    names = [words["set_words"][name] for name in decisions.moved]
    numbers = ", ".join(f"{name} {format_share(share, 0)}" for name, share in zip(names, decisions.moved.values()))
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"##### {words['set_title']}")
        figure(lambda theme: bars(theme, names, {words["set_axis"]: np.array(list(decisions.moved.values()))},
                                  axes=("", words["set_axis"]), y_range=(0, 1.02), height=330),
               key="translate-set", alt=words["set_alt"].format(numbers=numbers))
    right.markdown("\n\n".join(set_claims(decisions)))


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
    """Sentences in Markdown: the answer, the head, the layer and the word that change it most."""
    words, alone = strings("translate")["decide"], decision.zero if mode == "zero" else decision.mean
    head, layer = (int(np.abs(shares - decision.share).argmax()) for shares in (alone, decision.whole))
    facts = {"said": decision.said, "share": decision.share, "other": other_pronoun(decision), "twin": decision.twin,
             "head": head_name(decision.heads[head]), "by_head": float(alone[head]),
             "layer": layer_name(decision.layers[layer]), "by_layer": float(decision.whole[layer])}
    names = ["plain", *(["plain_twin"] if decision.twin is not None else []), "most", "layer"]
    if len(decision.patched):
        moved = 1 - decision.patched
        most, it = int(moved.argmax()), [place for place, text in enumerate(decision.source) if text.lower() == "it"]
        facts |= {"word": escape_markdown(decision.source[most]), "by_word": float(moved[most]),
                  "unmoved": 1 - decision.share, "by_it": float(moved[it[-1]]) if it else 0.0}
        names += ["moved", *(["at_it"] if it and it[-1] != most else [])]
    return [words[name].format(**facts) for name in names]


def set_claims(decisions: DecisionSet) -> list[str]:
    """Sentences in Markdown about many test sentences, the contrast to the resolver last."""
    words = strings("translate")["decide"]
    facts: dict[str, Any] = {}
    for kind, (head, share, mass) in decisions.points.items():
        facts |= {kind.value: share, f"{kind.value}_head": head_label(*head[1:]), f"{kind.value}_mass": mass}
    alone = {name: share for name, share in decisions.moved.items() if name not in ("it", "both nouns", "everything")}
    most = max(alone, key=lambda name: alone[name])
    return [words["set_points"].format(**facts),
            words["set_moved"].format(it=decisions.moved["it"], most=words["set_words"][most], share=alone[most]),
            words["contrast"]]
