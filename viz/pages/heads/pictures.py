"""What Heads shows of a model that reads pictures, besides its heads: measures of the heads by layer, positions,
vectors, and rollout."""
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import cosines
from clearhead.model.core.traces import Trace
from clearhead.model.core.view import View
from clearhead.model.studies.patch_attention import (
    MEASURES,
    OUTLIER,
    PatchHeads,
    PatchHeadsQuery,
    PatchRolloutQuery,
    lengths,
    outliers,
)
from clearhead.viz.app.page import PageContext
from clearhead.viz.components.from_record import hidden_tokens, patch_name
from clearhead.viz.components.picture import Image, PatchValues
from clearhead.viz.components.picture_view import picture_view
from clearhead.viz.components.slider import slider
from clearhead.viz.figures.heads import by_layer
from clearhead.viz.style import glow
from clearhead.viz.style.numbers import format_share
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import choice_for, slider_for
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.handout_button import offer_picture
from clearhead.viz.widgets.layout import note, prose, split
from clearhead.viz.widgets.picture import named_patches

WORDS = strings("pictures")

HIGH = 340   # height of a map in pixels
DISCARDS = (0.0, 0.25, 0.5, 0.75, 0.9)   # shares of cells rollout can discard; the original default is 0.9


def layers(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the chosen measure by layer, one dot per head, with a uniform row's value."""
    words, name = WORDS["layers"], page["measure"]
    found = page.ask(PatchHeadsQuery(record.query, view.kind))
    choice_for(page, "measure", words["measure"], {name: words["names"][name] for name in MEASURES})
    values = getattr(found, name)
    if not np.isfinite(values).any():
        st.markdown(words["none"])
        return
    found_range = words("range", **layer_facts(found, name), unit=words["units"][name])
    figure(by_layer, found.heads, values, axes=(words["layer"], words["axes"][name]),
           names=(words["heads"], words["mean"]), line=(words["even"], values * 0 + found.even[name]),
           marked=view.head_id, key=f"pictures-{name}", alt=f"{words['axes'][name]}. {found_range}")
    prose(found_range)
    note(words["about"][name])


def layer_facts(found: PatchHeads, name: str) -> dict[str, object]:
    """Return the numbers of a measure for its sentence: the layers with the smallest and the largest mean, and the head
    with the smallest value."""
    values, of_layer = getattr(found, name), found.frame().groupby("layer")[name].mean()
    return {"even": found.even[name], "low_layer": of_layer.idxmin(),
            "low": of_layer.min(), "high_layer": of_layer.idxmax(),
            "high": of_layer.max(), "lowest": found.heads[np.nanargmin(values)],
            "lowest_value": np.nanmin(values)}


def _map(page: PageContext, record: AttentionRecord, view: View, name: str, values: PatchValues, token: int | None,
         choose: str = "", **state: Any) -> None:
    """Draw numbers over the picture's patches. choose: what a click on a patch sets; "" for nothing."""
    shown, key = Image(named_patches(record, view), values, token, page["opacity"], **state), f"picture-{name}"
    picture_view(shown, height=HIGH, key=key, frozen=not choose,
                 on_event=(lambda event: page.set(**dict[str, Any]({choose: event.token}))) if choose else None)
    offer_picture(key, shown, (record,), view)


def _beside(page: PageContext, record: AttentionRecord, view: View, name: str, values: PatchValues, token: int | None,
            claim: str, choose: str = "", **state: Any) -> None:
    """Draw a map with a sentence to its right."""
    left, right = split(5, 7)
    with left:
        _map(page, record, view, name, values, token, choose, **state)
    with right:
        st.markdown(claim)
        st.caption(WORDS[name]["about"])


def _cosines(vectors: np.ndarray, record: AttentionRecord, view: View, token: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a token's cosine with every patch (NaN for other tokens), and the numbers for its sentence."""
    tokens = record[view.kind].keys
    found = cosines(vectors, vectors[[token]])[:, 0]
    found[[place for place in range(len(tokens)) if tokens.place(place) is None]] = np.nan
    others = np.array([patch for patch in tokens.patches if patch != token])
    of = found[others]
    return found, {"name": escape_markdown(patch_name(tokens, token)), "mean": of.mean(), "most": of.max(),
                   "least": of.min(), "nearest": escape_markdown(patch_name(tokens, int(others[of.argmax()])))}


def _trace(page: PageContext) -> Trace:
    """Wait for the trace and return it."""
    return page.ask(TraceQuery(page.query()), height=HIGH)


def positions(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the cosine of the focused patch's position embedding with all others."""
    words, tokens = WORDS["positions"], record[view.kind].keys
    # position embeddings added to the tokens, (token, d_model)
    tables = [vectors for name, vectors in _trace(page).start(Kind.SELF).parts
              if "position" in name and len(vectors) == len(tokens)]
    if not tables:
        st.markdown(words["none"])
        return
    rows, columns = tokens.grid or (1, 1)
    chosen = page["place"] if page["place"] in tokens.patches else view.token
    token = chosen if chosen is not None and tokens.place(chosen) is not None else (
        tokens.patch_at(rows // 2, columns // 2) or 0)
    cosines, facts = _cosines(tables[0], record, view, token)
    values = PatchValues(cosines.astype(np.float32), words("name", name=patch_name(tokens, token)),
                         words["what"], kind="signed")
    _beside(page, record, view, "positions", values, token, words("claim", **facts), "place")


def similar(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the cosine of the focused token's final vector with each patch's, for models that return vectors."""
    words, token = WORDS["similar"], view.token or 0
    if record.prediction is None or record.prediction.vectors is None:
        st.markdown(words["none"])
        return
    cosines, facts = _cosines(record.prediction.vectors, record, view, token)
    # its cosine of 1 with itself is not on the scale, where it would compress the other colours
    values = PatchValues(cosines.astype(np.float32), words("name", name=patch_name(record[view.kind].keys, token)),
                         words["what"], kind="plain", low=float(facts["least"]), high=float(facts["most"]) + 1e-6)
    _beside(page, record, view, "similar", values, token, words("claim", **facts), "token")


def norms(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the length of each patch's vector after a layer, with outliers marked."""
    words, tokens = WORDS["norms"], record[view.kind].keys
    blocks = {block.index: block for block in _trace(page).blocks if len(block.after) == len(tokens)}
    chosen = page["after"] if page["after"] in blocks else max(blocks)
    slider(words["after"], list(blocks), chosen, say=str, key="slider-after", turn=lambda layer: page.set(after=layer))
    norms = lengths(blocks[chosen].after)
    of_patches, marked = norms[list(tokens.patches)], outliers(norms, tokens.patches)
    values = PatchValues(norms.astype(np.float32), words("name", layer=chosen), words["what"], kind="plain",
                         low=float(of_patches.min()), high=float(of_patches.max()) + 1e-6)
    claim = words("outliers", layer=chosen, median=np.median(of_patches), count=len(marked),
                  most=of_patches.max(), times=f"{OUTLIER:g}")
    _beside(page, record, view, "norms", values, None, claim, outlined=marked)


def rollout(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw rollout from the token in focus, as defined and as computed by a widely copied program, whose rows do not
    sum to 1."""
    words, token, tokens = WORDS["rollout"], view.token or 0, record[view.kind].keys
    slider_for(page, "discard", words["discard"], DISCARDS, say=lambda share: format_share(share, 0))
    found = page.ask(PatchRolloutQuery(record.query, view.kind, page["discard"]))
    for place, name in zip(split(), ("right", "copied"), strict=True):
        with place:
            st.markdown(f"**{words[name]}**")
            values = PatchValues(getattr(found, name)[token].astype(np.float32), words[f"{name}_name"], words["what"],
                                 even=1 / len(tokens), high=glow.most_times(len(tokens)))
            _map(page, record, view, f"rollout-{name}", values, token, hidden=hidden_tokens(record))
    sums = found.copied.sum(1)
    prose(words("differ", name=escape_markdown(patch_name(tokens, token)), own=sums[token],
                apart=np.abs(found.copied - found.right)[token].max(),
                low=sums.min(), high=sums.max()))
    note(words["about"])
