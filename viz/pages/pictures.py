"""The page Pictures: what each head attends to in a picture. The picture with its patches, all heads, and measures of
the heads by layer."""
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core import heads, pictures
from clearhead.model.core.models import Trace, TraceQuery
from clearhead.model.core.query import Kind, NotOnDisk, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import cosines
from clearhead.model.core.view import View, allowed_keys
from clearhead.model.studies.patch_attention import (
    MEASURES,
    OUTLIER,
    PatchHeads,
    PatchHeadsQuery,
    PatchRollout,
    PatchRolloutQuery,
    lengths,
    outliers,
)
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, position
from clearhead.viz.components.component import Picture, Selection
from clearhead.viz.components.head_grid import GridState, head_grid
from clearhead.viz.components.picture_view import PatchState, PatchValues, picture_view
from clearhead.viz.components.picture_view.rows import hidden_tokens, patch_name, picture_behind, rows_overview
from clearhead.viz.components.slider import slider
from clearhead.viz.figures.heads import by_layer
from clearhead.viz.style import glow
from clearhead.viz.style.format import format_number, format_share, format_signed, format_weight, head_label
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.export_menu import export_menu
from clearhead.viz.widgets.fields import choice_for, toggle
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import errors_as_sentences, folded, folded_formula, fragment, model_button
from clearhead.viz.widgets.handout_button import add_to_handout, item_maker, picture_button
from clearhead.viz.widgets.head_picker import kind_choice
from clearhead.viz.widgets.layout import bullets, flex_row, heading, note, opening, prose, split
from clearhead.viz.widgets.picture import (
    FETCHED,
    is_unknown,
    named_patches,
    open_picture,
    picture_models,
    picture_pills,
)

WORDS = strings("pictures")

PAGE = Page("record", reads="picture", controls=(
    Number("opacity", glow.OPACITY, 0, 1),
    Choice("measure", MEASURES[0], MEASURES), position("place", 9_999),
    position("after", 999), Number("discard", 0.9, 0, 0.99)))
LARGE, HIGH = 400, 340    # height in pixels of the open head, and of the other maps
KEEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)   # shares of a row's weight that can be kept; Caron et al. 2021 keep 0.6
OPACITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DISCARDS = (0.0, 0.25, 0.5, 0.75, 0.9)   # shares of cells rollout can discard; the original default is 0.9
NAMED = 3    # most classes or texts named in a sentence
SUM = 1e-4   # tolerance for probabilities that should sum to 1


def render(page: PageContext) -> None:
    """Draw the page, or the offer to download a vision model if there is none."""
    words = opening("pictures")
    if not is_unknown(page.model):
        try:
            pictures.find(page.state.image or "")
        except UserError as error:
            picture_pills(page)
            st.warning(words("gone_here", reason=escape_markdown(error)))
            return
    try:
        record = page.record()
    except NotOnDisk as missing:
        if is_unknown(page.model):   # the frame offers to download a model that the user named
            raise
        _ways_out(page, missing.reason)
        return
    picture_pills(page)
    offer = sources.catalogue().get(FETCHED)
    if offer is not None and not offer.on_disk and page.model != FETCHED:
        model_button(page, offer)
    fragment(page, _picture, record)
    folded_formula(words["formula"], _proof, key="pictures-formula")


def _ways_out(page: PageContext, sentence: str) -> None:
    """Draw the offers if no vision model is on this disk: models to download, and models available."""
    offers = sources.catalogue()
    offer = offers.get(page.model) or offers.get(FETCHED)
    st.info(escape_markdown(sentence) if offer is None else WORDS("none", model=escape_markdown(offer.title),
                                                                  good_for=escape_markdown(offer.good_for)))
    with flex_row():
        for each in dict.fromkeys([*([offer] if offer else []), *map(offers.__getitem__, picture_models())]):
            model_button(page, each)


def _picture(page: PageContext, record: AttentionRecord) -> None:
    """Draw the open head enlarged with all heads beside it, and sentences on the row in focus."""
    page.follow()
    view = replace(page.view(), lens="picture")
    left, right = split(5, 7)
    with left:
        drawn = _open_head(page, record, view)
        with flex_row(gap="small"):
            export_menu(page, record, view)
            add_to_handout("picture", item_maker(drawn, (record,)))
            # opens the page Compare with the patch in focus hidden
            hides = view.token is not None and record[view.kind].keys.place(view.token) is not None
            if view.kind.base is Kind.SELF and hides and st.button(WORDS["hide"], key="picture-hide", type="tertiary",
                                                                   help=WORDS["hide_help"]):
                page.open_page("compare", versus="edit", edit="hide", hidden=view.token)
    with right:
        _every_head(page, record, view)
        st.markdown(bullets(row_claims(record, view)))
        if answer := answer_claim(record):
            st.markdown(answer)
    # within this fragment, because they depend on the token and head in focus
    sections: dict[str, Callable[[PageContext, AttentionRecord, View], None]] = {
        "layers": _layers, "positions": _positions, "similar": _similar, "norms": _norms, "rollout": _rollout}
    for name, section in sections.items():
        if name != "similar" or (record.prediction is not None and record.prediction.vectors is not None):
            def inside(name: str = name, section: Callable = section) -> None:
                with errors_as_sentences(page, name):
                    section(page, record, page.view())

            folded(WORDS[name]["title"], inside, key=f"pictures-{name}")


def _open_head(page: PageContext, record: AttentionRecord, view: View) -> Picture:
    """Draw the open head with its display options, none of which changes the model's numbers."""
    with flex_row("center", horizontal_alignment="distribute"):
        heading(strings("heads")("head_title", layer=view.layer, head=view.head), width="content")
        with st.popover(WORDS["show"]):
            for name, options, value in (("opacity", OPACITIES, page["opacity"]), ("keep", KEEPS, view.keep)):
                _shares_slider(page, name, WORDS[name], options, value, help=WORDS.get(f"{name}_help"))
            toggle(WORDS["hide_special"], page.set, "hide_special", view.hide_special)
            toggle(WORDS["renormalise"], page.set, "renormalise", view.renormalise)
    return open_picture(record, view, key="picture", height=LARGE,
                        opacity=page["opacity"],
                        on_event=lambda event: page.set(token=event.token))


def _shares_slider(page: PageContext, name: str, label: str, options: tuple[float, ...], value: float,
                   help: str | None = None) -> None:
    slider(label, sorted({*options, value}), value, say=lambda share: format_share(share, 0), key=f"slider-{name}",
           turn=lambda share: page.set(**{name: share}), help=help)


def _every_head(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the focused token's row in every head, over the picture."""
    with flex_row("center", horizontal_alignment="distribute"):
        heading(WORDS["every_head"], width="content", help=WORDS["every_head_help"])
        kind_choice(page, record, view)
    drawn = head_grid(rows_overview(record[view.kind], view), GridState(view.head_id),
                      behind=picture_behind(record, view, page["opacity"]),
                      height=LARGE + 60, key="picture-grid",
                      on_event=lambda event: page.set(head=event.head))
    picture_button(drawn, (record,))


def _proof() -> tuple[Callable, ...]:
    """Return the functions that map weights to colours."""
    from clearhead.model.core import attention, view

    return attention.scores, attention.softmax, heads.row_weights, view.displayed_rows, glow.shares_of


def row_claims(record: AttentionRecord, view: View) -> list[str]:
    """Return Markdown sentences on the focused token's weights in the open head."""
    words, attention_map, token = WORDS["claims"], record[view.kind], view.token or 0
    layer, tokens = attention_map.layer(view.layer), attention_map.keys
    weights = heads.row_weights(layer, token)[view.head].astype(np.float64)
    patches, special = np.array(tokens.patches), len(tokens) - len(tokens.patches)
    on_patches = weights[patches]
    facts = {"from": escape_markdown(patch_name(attention_map.queries, token)),
             "head": head_label(*view.head_id),
             "to": escape_markdown(patch_name(tokens, int(patches[on_patches.argmax()]))),
             "weight": format_weight(on_patches.max()), "half": half_of(on_patches), "size": len(patches),
             "times": format_number(on_patches.max() / glow.even_weight(allowed_keys(layer, token)), 2),
             "even_half": -(-len(patches) // 2), "share": 1 - on_patches.sum() / weights.sum(), "count": special,
             "even": special / len(tokens)}
    names = ["most", *(["half"] if on_patches.any() else []), *(["special"] if special else [])]
    return [words(name, **facts) for name in names]


def half_of(weights: np.ndarray) -> int:
    """Return how many of the largest weights add up to at least half of the sum."""
    ordered = np.sort(weights)[::-1]
    return int(np.searchsorted(np.cumsum(ordered), ordered.sum() / 2) + 1)


def answer_claim(record: AttentionRecord) -> str:
    """Describe the model's answer about the picture: the best classes with probabilities, or the typed texts with
    cosines; "" if the model only returns vectors."""
    prediction, words = record.prediction, WORDS["claims"]
    if prediction is None or not prediction.texts:
        return ""
    names, shares = [escape_markdown(name) for name in prediction.texts[0][:NAMED]], prediction.probabilities[0]
    if not prediction.cosines:
        return words("answer", names=", ".join(
            f"{name} ({format_share(share)})" for name, share in zip(names, shares)))
    said = ", ".join(f"{name} ({format_signed(cosine, '.3f')})" for name, cosine in zip(names, prediction.cosines[0]))
    # a softmax over all texts (CLIP) sums to 1, sigmoids (SigLIP) do not
    ends = words["shared" if abs(sum(shares) - 1) < SUM else "by_itself"]
    return words("texts", names=said) + " " + ends.format(share=format_share(shares[0]), count=len(shares))


def _layers(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the chosen measure by layer, one dot per head, with a uniform row's value."""
    words, name = WORDS["layers"], page["measure"]
    found: PatchHeads = page.ask(PatchHeadsQuery(record.query, view.kind))
    choice_for(page, "measure", words["measure"], {name: words["names"][name] for name in MEASURES})
    values, even = getattr(found, name), found.even[name]
    if not np.isfinite(values).any():
        st.markdown(words["none"])
        return
    found_range = words("range", **layer_facts(found, name), unit=words["units"][name])
    figure(by_layer, found.heads, values, axes=(words["layer"], words["axes"][name]),
           names=(words["heads"], words["mean"]), line=(words["even"], values * 0 + even),
           marked=view.head_id, key=f"pictures-{name}", alt=f"{words['axes'][name]}. {found_range}")
    prose(found_range)
    note(words["about"][name])


def layer_facts(found: PatchHeads, name: str) -> dict[str, Any]:
    """Return the numbers of a measure for its sentence: the layers with the smallest and the largest mean, and the head
    with the smallest value."""
    values, of_layer = getattr(found, name), found.frame().groupby("layer")[name].mean()
    return {"even": format_number(found.even[name]), "low_layer": int(of_layer.idxmin()),
            "low": format_number(of_layer.min()), "high_layer": int(of_layer.idxmax()),
            "high": format_number(of_layer.max()), "lowest": head_label(*found.heads[int(np.nanargmin(values))]),
            "lowest_value": format_number(float(np.nanmin(values)))}


def _map(page: PageContext, record: AttentionRecord, view: View, key: str, values: PatchValues, token: int | None,
         choose: str = "", **state: Any) -> None:
    """Draw numbers over the picture's patches. choose: the control that a click on a patch sets; "" for none."""
    def choose_token(event: Selection) -> None:
        changes: dict[str, Any] = {choose: event.token}
        page.set(**changes)

    drawn = picture_view(named_patches(record, view), values, PatchState(token, page["opacity"], **state), height=HIGH,
                         key=key, frozen=not choose, on_event=choose_token if choose else None)
    picture_button(drawn, (record,))


def _beside(page: PageContext, record: AttentionRecord, view: View, name: str, values: PatchValues, token: int | None,
            claim: str, choose: str = "", **state: Any) -> None:
    """Draw a map with a sentence to its right."""
    left, right = split(5, 7)
    with left:
        _map(page, record, view, f"picture-{name}", values, token, choose, **state)
    with right:
        st.markdown(claim)
        st.caption(WORDS[name]["about"])


def _trace(page: PageContext) -> Trace:
    """Wait for the trace and return it."""
    return page.ask(TraceQuery(page.query()), height=HIGH)


def _cosines(vectors: np.ndarray, record: AttentionRecord, view: View, token: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a token's cosine with every patch (NaN for other tokens), and the numbers for its sentence."""
    tokens = record[view.kind].keys
    found = cosines(vectors, vectors[[token]])[:, 0]
    found[[place for place in range(len(tokens)) if tokens.place(place) is None]] = np.nan
    others = np.array([patch for patch in tokens.patches if patch != token])
    of = found[others]
    return found, {"name": escape_markdown(patch_name(tokens, token)), "mean": of.mean(), "most": of.max(),
                   "least": of.min(), "nearest": escape_markdown(patch_name(tokens, int(others[of.argmax()])))}


def _positions(page: PageContext, record: AttentionRecord, view: View) -> None:
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


def _similar(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the cosine of the focused token's final vector with each patch's, for models that return vectors."""
    words, tokens, token = WORDS["similar"], record[view.kind].keys, view.token or 0
    # the page offers this section only for such models
    assert record.prediction is not None and record.prediction.vectors is not None
    cosines, facts = _cosines(record.prediction.vectors, record, view, token)
    # its cosine of 1 with itself is not on the scale, where it would compress the other colours
    values = PatchValues(cosines.astype(np.float32), words("name", name=patch_name(tokens, token)),
                         words["what"], kind="plain", low=float(facts["least"]), high=float(facts["most"]) + 1e-6)
    _beside(page, record, view, "similar", values, token, words("claim", **facts), "token")


def _norms(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw the length of each patch's vector after a layer, with outliers marked."""
    words, tokens = WORDS["norms"], record[view.kind].keys
    blocks = {block.index: block for block in _trace(page).blocks if len(block.after) == len(tokens)}
    chosen = page["after"] if page["after"] in blocks else max(blocks)
    slider(words["after"], list(blocks), chosen, say=str, key="slider-after", turn=lambda layer: page.set(after=layer))
    norms = lengths(blocks[chosen].after)
    of_patches, marked = norms[list(tokens.patches)], outliers(norms, tokens.patches)
    values = PatchValues(norms.astype(np.float32), words("name", layer=chosen), words["what"], kind="plain",
                         low=float(of_patches.min()), high=float(of_patches.max()) + 1e-6)
    claim = words("outliers", layer=chosen, median=format_number(np.median(of_patches)), count=len(marked),
                  most=format_number(of_patches.max()), times=f"{OUTLIER:g}")
    _beside(page, record, view, "norms", values, None, claim, outlined=marked)


def _rollout(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw rollout from the token in focus, as defined and as computed by a widely copied program, whose rows do not
    sum to 1."""
    words, token, tokens = WORDS["rollout"], view.token or 0, record[view.kind].keys
    discard = page["discard"]
    _shares_slider(page, "discard", words["discard"], DISCARDS, discard)
    found: PatchRollout = page.ask(PatchRolloutQuery(record.query, view.kind, discard))
    for place, name in zip(split(), ("right", "copied"), strict=True):
        with place:
            st.markdown(f"**{words[name]}**")
            values = PatchValues(getattr(found, name)[token].astype(np.float32), words[f"{name}_name"], words["what"],
                                 even=1 / len(tokens), high=glow.most_times(len(tokens)))
            _map(page, record, view, f"rollout-{name}", values, token, hidden=hidden_tokens(record))
    sums = found.copied.sum(1)
    prose(words("differ", name=escape_markdown(patch_name(tokens, token)), own=format_number(sums[token]),
                apart=format_number(np.abs(found.copied - found.right)[token].max()),
                low=format_number(sums.min()), high=format_number(sums.max())))
    note(words["about"])
