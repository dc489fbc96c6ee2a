"""Where il or elle is decided: heads silenced live, words exchanged with the twin, and the same over many sentences."""

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import UserError
from model.studies.pronoun_choice import Decision, DecisionQuery, DecisionSet, DecisionSetQuery
from viz.figures.bars import bars
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_share
from viz.page import PageContext
from viz.pages.translate.claims import decision_claims, head_name, layer_name, other_pronoun, set_claims
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
