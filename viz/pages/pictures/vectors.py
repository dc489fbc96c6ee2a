"""What the patches' vectors say: which positions are alike before anything was read, and which vectors are of unusual
length afterwards."""
import numpy as np
import streamlit as st

from model.core.models import TraceQuery
from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.tokens import Tokens
from model.core.trace import Trace
from model.core.view import View
from model.studies.patch_attention import OUTLIER, lengths, outliers, similarities
from viz.components.picture_view import PatchEvent, PatchState, PatchValues, picture_view
from viz.components.picture_view.rows import patch_name, patches_of
from viz.components.slider import slider
from viz.format import format_number, format_signed
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.widgets.handout_button import picture_button
from viz.widgets.pictures.choice import picture_name

HIGH = 340   # pixels


def _trace(page: PageContext, record: AttentionRecord) -> Trace:
    """The trace of the question without its edits, which no trace takes."""
    return page.ask(TraceQuery(page.query()), height=HIGH)


def positions_section(page: PageContext, record: AttentionRecord, view: View) -> None:
    """The cosine of the focused patch's position with every other's."""
    words, tokens = strings("pictures")["positions"], record[view.kind].keys
    table = position_vectors(_trace(page, record), len(tokens))
    if table is None:
        st.markdown(words["none"])
        return
    middle = tokens.patch_at((tokens.grid or (1, 1))[0] // 2, (tokens.grid or (1, 1))[1] // 2) or 0
    chosen = page.controls["place"] if page.controls["place"] in tokens.patches else view.token
    token = chosen if chosen is not None and tokens.place(chosen) is not None else middle
    cosines = similarities(table, token)
    cosines[[place for place in range(len(tokens)) if tokens.place(place) is None]] = np.nan
    name = patch_name(tokens, token)
    values = PatchValues(cosines.astype(np.float32), words["name"].format(name=name), words["what"], kind="signed")
    left, right = st.columns([5, 7], gap="medium")
    with left:
        drawn = picture_view(patches_of(record, view.kind, picture_name(record.query.image)), values,
                             PatchState(token, page.controls["look"], page.controls["opacity"]), height=HIGH,
                             key="picture-positions", on_event=lambda event: _place(page, event))
        picture_button(drawn, (record,))
    with right:
        st.markdown(_nearest_claim(cosines, tokens.patches, token, name))
        st.caption(words["about"])


def _place(page: PageContext, event: PatchEvent) -> None:
    if event.token is not None:
        page.set(place=event.token)


def position_vectors(trace: Trace, count: int) -> np.ndarray | None:
    """The vectors that the model adds for the places of its tokens, float32 (token, d_model); None where it adds
    none."""
    parts = dict(trace.start(Kind.SELF).parts)
    found = [vectors for name, vectors in parts.items() if "position" in name and len(vectors) == count]
    return found[0] if found else None


def _nearest_claim(cosines: np.ndarray, patches: tuple[int, ...], token: int, name: str) -> str:
    words, others = strings("pictures")["positions"], [patch for patch in patches if patch != token]
    found = {name: format_signed(float(of(cosines[others])), ".2f")
             for name, of in (("mean", np.nanmean), ("most", np.nanmax), ("least", np.nanmin))}
    return words["claim"].format(name=escape_markdown(name), **found)


def similar_section(page: PageContext, record: AttentionRecord, view: View) -> None:
    """The cosine of the focused token's vector after the last layer with every patch's, of a model that answers with
    vectors."""
    words, tokens, token = strings("pictures")["similar"], record[view.kind].keys, view.token or 0
    if record.prediction is None or record.prediction.vectors is None:   # the page does not offer it then
        return
    cosines, name = similarities(record.prediction.vectors, token), patch_name(tokens, token)
    cosines[[place for place in range(len(tokens)) if tokens.place(place) is None]] = np.nan
    others = np.delete(cosines, token)   # its own, 1, would take the colours from the rest
    values = PatchValues(cosines.astype(np.float32), words["name"].format(name=name), words["what"], kind="plain",
                         low=float(np.nanmin(others)), high=float(np.nanmax(others)) + 1e-6)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        drawn = picture_view(patches_of(record, view.kind, picture_name(record.query.image)), values,
                             PatchState(token, page.controls["look"], page.controls["opacity"]), height=HIGH,
                             key="picture-similar", on_event=lambda event: page.set(token=event.token))
        picture_button(drawn, (record,))
    with right:
        st.markdown(similar_claim(cosines, tokens, token))
        st.caption(words["about"])


def similar_claim(cosines: np.ndarray, tokens: Tokens, token: int) -> str:
    """How alike the vector of a token is to the patches', in words. cosines (token)."""
    others = np.array([patch for patch in tokens.patches if patch != token])
    of = cosines[others]
    found = {name: format_signed(float(value), ".2f")
             for name, value in (("mean", np.nanmean(of)), ("most", np.nanmax(of)), ("least", np.nanmin(of)))}
    nearest = patch_name(tokens, int(others[np.nanargmax(of)]))
    return strings("pictures")["similar"]["claim"].format(name=escape_markdown(patch_name(tokens, token)),
                                                          nearest=escape_markdown(nearest), **found)


def norms_section(page: PageContext, record: AttentionRecord, view: View) -> None:
    """The length of every patch's vector after a layer, outliers marked."""
    words, tokens = strings("pictures")["norms"], record[view.kind].keys
    blocks = [block for block in _trace(page, record).blocks if len(block.after) == len(tokens)]
    layers = [block.index for block in blocks]
    chosen = page.controls["after"] if page.controls["after"] in layers else layers[-1]
    slider(words["after"], layers, chosen, say=str, key="slider-after",
           turn=lambda layer: page.set(after=layer))
    norms = lengths(blocks[layers.index(chosen)].after)
    of_patches = norms[list(tokens.patches)]
    marked = outliers(norms, tokens.patches)
    values = PatchValues(norms.astype(np.float32), words["name"].format(layer=chosen), words["what"], kind="plain",
                         low=float(of_patches.min()), high=float(of_patches.max()) + 1e-6)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        drawn = picture_view(patches_of(record, view.kind, picture_name(record.query.image)), values,
                             PatchState(None, page.controls["look"], page.controls["opacity"], outlined=marked),
                             height=HIGH, key="picture-norms", frozen=True)
        picture_button(drawn, (record,))
    with right:
        st.markdown(norms_claim(of_patches, chosen))
        st.caption(words["about"])


def norms_claim(lengths_of: np.ndarray, layer: int) -> str:
    """How many patches' vectors are outliers after a layer. lengths_of (patch)."""
    median, most = float(np.median(lengths_of)), float(lengths_of.max())
    beyond = int((lengths_of > OUTLIER * median).sum())
    return strings("pictures")["norms"]["outliers"].format(layer=layer, median=format_number(median), count=beyond,
                                                           most=format_number(most), times=f"{OUTLIER:g}")
