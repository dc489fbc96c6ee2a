"""Which heads turn the answer when they are taken from the other sentence: the picture of all heads, and of whole
layers."""
from collections.abc import Callable

import numpy as np
import streamlit as st

from model.core.heads import Overview
from model.core.measures import largest_first
from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.patching import PatchEffects
from viz.components.head_grid import HeadValues
from viz.figures.bars import bars
from viz.format import format_change, format_share, head_label, token_markdown, true_minus
from viz.pages.compare.difference import SHOWN, coloured_grid
from viz.pages.compare.sides import EQUAL
from viz.text import escape_markdown, strings
from viz.theme import READABLE_WIDE
from viz.widgets.fields import pills
from viz.widgets.figure import figure

HIGH = 260   # pixels of the bars
# share of the whole way that has the full colour at least, so that effects of nothing stay pale
FAINT = 0.05


def patching_section(records: tuple[AttentionRecord, ...], overview: Overview, view: View, patches: PatchEffects,
                     choose: Callable[..., None]) -> None:
    """Draws the section. records: of the first text, as it stands and edited. choose(head=…) takes another head."""
    words, effects = strings("compare")["patches"], patches.frame()["effect"]
    strongest = effects[largest_first(effects.abs()).index[:SHOWN]]
    st.markdown(f"##### {words['title']}")
    st.markdown(_lead(records[0], patches), width=READABLE_WIDE)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(words["grid"].format(unit=words["logits_unit"] if patches.words else words["cosine_unit"]))
        bound = max(FAINT * abs(patches.other - patches.plain), effects.abs().max(), EQUAL)
        colours = HeadValues(effects.to_dict(), words["effect"], signed=True, bound=bound, ranked=True)
        coloured_grid(overview, view, colours, strongest.index, key="compare-patched", records=records, choose=choose)
        pills(words["open"], [(head, f"{head_label(*head)}  {format_change(effect)}")
                              for head, effect in strongest.items()], choose, "head", None, "rank_patched")
    with right:
        _layers(patches)
    st.markdown("\n".join(f"- {claim}" for claim in patching_claims(patches)), width=READABLE_WIDE)


def _lead(record: AttentionRecord, patches: PatchEffects) -> str:
    """What is read, and what it is in the two texts."""
    words = strings("compare")["patches"]
    if patches.words is None or patches.place is None:
        return words["lead_cosine"].format(plain=patches.plain)
    own, other = map(escape_markdown, patches.words)
    tokens = next(each.queries for each in reversed(record.maps) if patches.place < len(each.queries))
    sentence = words["lead"].format(own=own, other=other, token=token_markdown(tokens.texts[patches.place]),
                                    plain=patches.plain, twin=patches.other)
    return sentence + (" " + words["same"].format(own=own, other=other) if patches.same else "")


def patching_claims(patches: PatchEffects) -> list[str]:
    """How far the heads come alone, how many of them and which layers turn the answer, and what that does not mean."""
    words, shares = strings("compare")["patches"], np.array([patches.share(number) for number in patches.patched])
    facts = {"n": len(patches.heads), "turned": sum(map(patches.turns, patches.patched)), "heads": ", ".join(
        f"**{head_label(*patches.heads[head])}** ({format_share(float(shares[head]), 0)})"
        for head in np.argsort(-shares, kind="stable")[:SHOWN])}
    sentences = [words["ways" if np.isfinite(shares).all() else "no_way"].format(**facts)]
    if patches.words is not None:
        layers = [str(layer) for layer, number in patches.layers.items() if patches.turns(number)]
        sentences.append(words["turned"].format(other=escape_markdown(patches.words[1]), layers=", ".join(layers),
                                                count=len(layers), **facts))
    return [*sentences, words["caution"]]


def _layers(patches: PatchEffects) -> None:
    """How far the answer goes with all heads of one layer patched."""
    words = strings("compare")["patches"]
    names = [*map(str, patches.layers), words["all"]]
    shares = np.array([patches.share(number) for number in (*patches.layers.values(), patches.whole)])
    st.caption(words["layers"])
    figure(lambda theme: bars(theme, names, {words["share"]: shares}, axes=(words["layer"], words["share"]),
                              height=HIGH), key="compare-layers",
           alt=words["layers_alt"].format(numbers=", ".join(f"{name} {true_minus(f'{share:z.2f}')}"
                                                            for name, share in zip(names, shares, strict=True))))
