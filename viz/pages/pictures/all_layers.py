"""All layers multiplied together: rollout as it is defined, and beside it the much-copied program whose rows do not
sum to 1."""
import numpy as np
import streamlit as st

from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.patch_attention import PatchRollout, PatchRolloutQuery
from viz import glow
from viz.components.picture_view import PatchState, PatchValues, picture_view
from viz.components.picture_view.rows import hidden_tokens, patch_name, patches_of
from viz.components.slider import slider
from viz.format import format_number, format_share
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.handout_button import picture_button
from viz.widgets.pictures.choice import picture_name

HIGH = 340                              # pixels of each picture
DISCARDS = (0.0, 0.25, 0.5, 0.75, 0.9)  # shares of the cells that are left out; 0.9 is what the program begins with


def rollout_section(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Both from the token in focus, and by how much their rows differ."""
    words, discard, token = strings("pictures")["rollout"], page.controls["discard"], view.token or 0
    slider(words["discard"], sorted({*DISCARDS, discard}), discard, say=lambda share: format_share(share, 0),
           key="slider-discard", turn=lambda share: page.set(discard=share))
    found: PatchRollout = page.ask(PatchRolloutQuery(record.query, view.kind, discard))
    tokens = record[view.kind].keys
    for place, (name, matrix) in zip(st.columns(2, gap="medium"), (("right", found.right), ("copied", found.copied)),
                                     strict=True):
        with place:
            st.markdown(f"**{words[name]}**")
            values = PatchValues(matrix[token].astype(np.float32), words[f"{name}_name"], words["what"],
                                 even=1 / len(tokens), high=glow.most_times(len(tokens)))
            drawn = picture_view(patches_of(record, view.kind, picture_name(record.query.image)), values,
                                 PatchState(token, page.controls["look"], page.controls["opacity"],
                                            hidden_tokens(record)),
                                 height=HIGH, key=f"rollout-{name}", frozen=True)
            picture_button(drawn, (record,))
    st.markdown(rollout_claim(found, token, escape_markdown(patch_name(tokens, token))), width=READABLE_WIDE)
    st.caption(words["about"], width=READABLE_WIDE)


def rollout_claim(found: PatchRollout, token: int, name: str) -> str:
    """What the copied program's rows sum to and how far it is from rollout in the row of a token. name: the token's, in
    Markdown."""
    words, sums = strings("pictures")["rollout"], found.copied.sum(1)
    apart = np.abs(found.copied - found.right)[token].max()
    return words["differ"].format(name=name, own=format_number(float(sums[token])), apart=format_number(float(apart)),
                                  low=format_number(float(sums.min())), high=format_number(float(sums.max())))
