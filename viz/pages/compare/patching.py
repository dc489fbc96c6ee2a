"""Which heads turn the answer when they are taken from the other sentence: the picture of all heads, and of whole
layers."""
from collections.abc import Callable

import numpy as np
import streamlit as st

from model.core.heads import Overview
from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.patching import Patched
from viz.components.head_grid import HeadValues
from viz.figures.bars import bars
from viz.format import format_share, head_label
from viz.pages.compare.difference import EQUAL, SHOWN, coloured_grid
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.fields import pills
from viz.widgets.figure import figure

HIGH = 260   # pixels of the bars
# share of the whole way that has the full colour at least, so that effects of nothing stay pale
FAINT = 0.05


def patching_section(records: tuple[AttentionRecord, ...], overview: Overview, view: View, found: Patched,
                     choose: Callable[..., None]) -> None:
    """Draws the section. records: of the first text, as it stands and edited. choose(head=…) takes another head."""
    words, ranked = strings("compare")["patches"], found.ranked
    st.markdown(f"##### {words['title']}")
    st.markdown(_lead(records[0], found), width=READABLE_WIDE)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(words["grid"].format(unit=words["logits_unit"] if found.words else words["cosine_unit"]))
        bound = max(FAINT * abs(found.other - found.plain), abs(ranked[0][2]), EQUAL)
        effects = HeadValues(found.effects, words["effect"], signed=True, bound=bound, ranked=True)
        coloured_grid(overview, view, effects, ranked[:SHOWN], key="compare-patched", records=records, choose=choose)
        pills(words["open"], [((layer, head), f"{head_label(layer, head)}  {effect:+.3g}".replace("-", "−"))
                                for layer, head, effect in ranked[:SHOWN]], choose, "head", None, "rank_patched")
    with right:
        _layers(found)
    st.markdown("\n".join(f"- {each}" for each in patching_claims(found)), width=READABLE_WIDE)


def _lead(record: AttentionRecord, found: Patched) -> str:
    """What is read, and what it is in the two texts."""
    words = strings("compare")["patches"]
    if found.words is None or found.place is None:
        return words["lead_cosine"].format(plain=found.plain)
    own, other = map(escape_markdown, found.words)
    tokens = next(each.queries for each in reversed(record.maps) if found.place < len(each.queries))
    said = words["lead"].format(own=own, other=other, token=escape_markdown(tokens.texts[found.place]),
                                plain=found.plain, twin=found.other)
    return said + (" " + words["same"].format(own=own, other=other) if found.same else "")


def _layers(found: Patched) -> None:
    """How far the answer goes with all heads of one layer patched."""
    words = strings("compare")["patches"]
    names, shares = [*map(str, found.layers),
                     words["all"]], np.array([found.share(number) for number in (*found.layers.values(), found.whole)])
    st.caption(words["layers"])
    figure(lambda theme: bars(theme, names, {words["share"]: shares}, axes=(words["layer"], words["share"]),
                              height=HIGH), key="compare-layers",
           alt=words["layers_alt"].format(numbers=", ".join(f"{name} {share:.2f}"
                                                            for name, share in zip(names, shares, strict=True))))


def patching_claims(found: Patched) -> list[str]:
    """What the numbers say: which heads turn the answer alone, which layers, and what that does not mean."""
    words = strings("compare")["patches"]
    alone = [(place, number) for place, number in sorted(found.heads.items(), key=lambda each: -each[1])
             if found.turns(number)]
    layers = [str(layer) for layer, number in found.layers.items() if found.turns(number)]
    best = max(found.effects, key=lambda place: found.effects[place])
    share = found.share(found.heads[best])
    if found.words is None:
        said = [words["best"].format(head=head_label(*best), share=share, n=len(found.heads))]
    elif alone:
        turning = ", ".join(f"**{head_label(*place)}** ({format_share(found.share(number), 0)})"
                            for place, number in alone[:SHOWN])
        said = [words["turned"].format(heads=turning, count=len(alone), n=len(found.heads),
                                       other=escape_markdown(found.words[1]))]
    else:
        said = [words["none"].format(n=len(found.heads), head=head_label(*best), share=share)]
    if found.words is not None:
        said.append(words["whole"].format(layers=", ".join(layers)) if layers else words["no_layer"])
    return [*said, words["caution"]]
