"""The explorer: the sentence or picture, all heads, and one head open, with the menu of how they are displayed and
sentences on what they show. The model decides what they look like."""
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model.core import heads
from clearhead.model.core.heads import BY_NAME, HeadMeasures, OverviewQuery, head_ids
from clearhead.model.core.query import HeadId, Kind, head_label
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import (
    LENSES,
    QUADRANTS,
    SCALES,
    Link,
    TokenRankingQuery,
    View,
    allowed_keys,
    links_from,
)
from clearhead.viz.app.examples import Example, token_of
from clearhead.viz.app.glossary import term_link, terms
from clearhead.viz.app.page import PageContext
from clearhead.viz.app.page_controls import Number, Switch, Words
from clearhead.viz.app.state import complete_view, tenth_weight
from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.components.from_record import grid_of, head_of, image_of, patch_name, rows_over_picture
from clearhead.viz.components.head_grid import GridEvent, head_grid
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.lenses import words_of
from clearhead.viz.components.picture import Head, HeadValues, Image
from clearhead.viz.components.picture_view import picture_view
from clearhead.viz.components.slider import slider
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.pages.heads import answers
from clearhead.viz.pages.heads.prediction import marked_cells
from clearhead.viz.style import glow
from clearhead.viz.style.format import token_label, token_markdown
from clearhead.viz.style.numbers import format_number, format_share, format_signed, format_weight, rank
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.export_menu import export_menu
from clearhead.viz.widgets.fields import bind, pills, segments, select, slider_for, toggle, toggle_for
from clearhead.viz.widgets.handout_button import offer_picture
from clearhead.viz.widgets.head_picker import kind_choice
from clearhead.viz.widgets.layout import flex_row, heading
from clearhead.viz.widgets.measured import FROM_FILE, saved_corpus
from clearhead.viz.widgets.picture import patch_strip, picture_name

WORDS = strings("heads")

CONTROLS = (Words("colour", "", 40),     # of the grid: a measure of this text, or its average over a file
            Number("opacity", glow.OPACITY, 0, 1),     # of the colours over a picture
            Switch("written"), Switch("stepping"))     # of a translation: rows by the word they write, up to the focus
PICTURE = 465   # height in pixels that fits below the sentence, with its text, on a screen of 900
SHOWN = 6       # number of heads in a ranking
TOLD, MOST_TOLD = ("special", "previous", "distance"), 3   # measures in a head's tooltip, and most numbers there
EACH = 3        # number of heads from a token, and to it
NAMED = 3       # most keys, classes or texts named in a sentence
BLIND = 1e-5    # smaller differences count as none: the row cannot depend on the other word
SUM = 1e-4      # tolerance for probabilities that should sum to 1
MOST_TOGETHER = 7   # most heads in a joint figure, besides the open one
KEEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)   # shares of a row's weight that can be kept
OPACITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def displayed(page: PageContext) -> tuple[AttentionRecord, View]:
    """Return the page's record and the complete view. With the control `written`, the rows of a translator are named by
    the word that they write, and the pronoun is in focus."""
    record = page.record()
    if page["written"] and Kind.CROSS in record.kinds:
        from clearhead.model.studies.predictions import rows_by_produced_token

        record = replace(record, maps=tuple(each if each.kind is Kind.SELF else rows_by_produced_token(
            record, each.kind) for each in record.maps))
    return record, view_of(page, record)


def view_of(page: PageContext, record: AttentionRecord) -> View:
    """Return the complete view of a displayed record. In a callback it includes clicks after the record was drawn."""
    state, view = page.state, complete_view(page.state, record)
    if page["written"] and Kind.CROSS in record.kinds and "token" not in state.user_set and view.kind is not Kind.SELF:
        from clearhead.model.studies.predictions import pronoun_of

        return complete_view(state.with_view(token=pronoun_of(record[view.kind].queries)), record)
    return view


def of_picture(record: AttentionRecord, view: View) -> bool:
    """Return whether this kind looks at patches of a picture."""
    return record.picture is not None and bool(record[view.kind].keys.patches)


def offer_head(page: PageContext, attention_map: AttentionMap, view: View) -> None:
    """Draw a button that opens the head with the largest weight for the pair; without a pair, from the token to one
    other than its neighbours. Draws nothing if that head is open or the token is a patch."""
    token = view.token or 0
    if view.pair:
        layer, head, weight = heads.rank_heads_for_pair(attention_map, *view.pair)[0]
        best: Link | None = Link(layer, head, view.pair[1], weight)
    else:
        best = None if attention_map.queries.patches else next(iter(links_from(attention_map, token)), None)
    if best is not None and (best.layer, best.head) != view.head_id:
        a, b = token_label(attention_map.queries, token), token_label(attention_map.keys, best.other)
        st.button(WORDS("offer", head=(best.layer, best.head), a=a, b=b, weight=best.weight),
                  key="offer", help=None if view.pair else WORDS["first_help"],
                  on_click=page.set, kwargs={"head": (best.layer, best.head)})


def sentence(page: PageContext, record: AttentionRecord, view: View, hidden: bool) -> None:
    """Draw the tokens; for cross-attention both queries and keys. The pair of a covered head is not shown, because it
    would reveal the answer."""
    attention_map = record[view.kind]
    kind_choice(page, record, view)
    if attention_map.keys.of_picture:
        answers.words(page, record, view)
        return
    if of_picture(record, view):
        if view.lens != "picture":   # otherwise the open head is one
            patch_strip(record, view, key="strip-picture", on_event=lambda event: page.set(token=event.token))
        return
    cross, queries = view.kind.base is Kind.CROSS, attention_map.queries
    if page["stepping"]:
        queries = queries.only(range((view.token or 0) + 1))
    chosen = "token" in page.state.user_set and page.state.view.token is not None
    token_strip(queries, focus=view.token, pair=None if cross or hidden else view.pair, pairs=not (cross or hidden),
                chosen=bool(chosen or view.pair or hidden), key="strip",
                on_event=lambda event: page.set(head=(now := view_of(page, record)).head_id, token=event.token,
                                                pair=now.pair if cross or hidden else event.pair))
    if cross and not hidden:
        token_strip(attention_map.keys, focus=view.pair[1] if view.pair else None, pairs=False, key="strip_keys",
                    on_event=lambda event: page.set(pair=None if event.token is None
                                                    else (view_of(page, record).token, event.token)))


def grid(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None) -> None:
    """Draw all heads of this kind, in the chosen order and colour; over a picture, each head's row of the token in
    focus. The tooltip shows the pair's weight, if any, and measures of the head."""
    attention_map, behind = record[view.kind], None
    said, (orders, order) = dict[str, dict[HeadId, float]](), _orders(view, measures)
    if view.pair:
        said[WORDS["sorts"]["pair"]] = heads.pair_weights(attention_map, *view.pair)
    if measures is not None:
        names = dict.fromkeys(name for name in (order, *TOLD) if name in measures.values)
        said |= {WORDS["sorts"][name]: measures.by_head(name) for name in [*names][:MOST_TOLD - len(said)]}
    with flex_row("center", gap="small", key="grid-title"):
        heading(WORDS["grid"], width="content")
        if view.lens == "picture":
            overview, behind = rows_over_picture(record, view, page["opacity"])
        else:   # a wait is drawn in this row, so that it moves no figure
            overview = page.ask(OverviewQuery(page.query(), view.kind), height=0)
        st.caption(WORDS["grid_click"] if order == "layer" else WORDS("grid_sorted", by=orders[order]), width="content")
    sizes = {layer.heads // layer.key.shape[0] for layer in attention_map.layers if isinstance(layer, Layer)}
    shown = replace(grid_of(record, replace(view, order=order), overview, measures),
                    values=_colours(page, view.kind, measures)[1], behind=behind)
    head_grid(shown, heads_per_kv=sizes.pop() if len(sizes) == 1 else 1, tooltips=said, figure=view.overlay,
              silence=record.verification.status in ("verified", "computed") and not attention_map.signed, key="grid",
              on_event=lambda event: _take(page, event, view))
    offer_picture("grid", shown, (record,), view)


def _take(page: PageContext, event: GridEvent, view: View) -> None:
    """Handle a click on a head: open it, silence it (compared on the next run), or add it to or remove it from the
    joint figure."""
    head = event.head
    if event.way == "figure":
        others = [other for other in view.overlay if other != head]
        page.set(overlay=tuple(others if head in view.overlay else [*others, head][-MOST_TOGETHER:]))
        return
    page.set(head=head)
    if event.way == "silence":
        page.open_next("compare", **edited("zero"))


def edited(edit: str) -> dict[str, object]:
    """Return the Compare page's controls for an edit of the open head, replacing any previous edit."""
    return {"versus": "edit", "edit": edit, "edit_layer": -1, "edit_head": -1}


def _orders(view: View, measures: HeadMeasures | None) -> tuple[dict[str, str], str]:
    """Return {name: label} of what the grid can be sorted by, and the chosen name."""
    names = ("layer", *(("pair",) if view.pair else ()), *(measures.values if measures else ()))
    return {name: WORDS["sorts"][name] for name in names}, view.order if view.order in names else "layer"


def _colours(page: PageContext, kind: Kind, measures: HeadMeasures | None) -> tuple[dict[str, str], HeadValues | None]:
    """Return {name: label} of what can colour the grid (the weights, measures of this text, and their averages over a
    file of texts), and the values of the chosen one, or None for weights. A link to averages shows weights if the file
    is gone."""
    query, chosen = page.query(), page["colour"]
    options = {"": WORDS["sorts"][""]} | {name: WORDS["sorts"][name] for name in (measures.values if measures else ())}
    result = saved_corpus(query.model, query.revision, kind)
    if result is not None:
        options |= {FROM_FILE + name: WORDS("colour_file", title=WORDS["sorts"].get(name, result.titles[name]),
                                            name=result.name) for name in result.averages.names}
    if not chosen or chosen not in options:
        return options, None
    if result is not None and chosen.startswith(FROM_FILE):
        name = chosen.removeprefix(FROM_FILE)
        return options, HeadValues(result.averages.by_head(name), f"{result.titles[name]}, {result.name}")
    return options, None if measures is None else HeadValues(measures.by_head(chosen), BY_NAME[chosen].title)


def open_head(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None) -> Head | Image:
    """Draw the name of the open head, the menus *Display* and *Export*, and the head as a matrix, as lines, or over its
    text or picture. Return it for My lesson."""
    other = "text" if of_picture(record, view) else "picture"
    # the reason for this scale of a long matrix; "" if the user chose the scale or it makes no difference
    tenth = None if "scale" in page.state.user_set else tenth_weight(record[view.kind], view)
    why = "" if tenth is None else WORDS("scale_chosen", weight=tenth)
    with flex_row("center", gap="small"):
        heading(WORDS("head_title", layer=view.layer, head=view.head))
        lenses = ("matrix",) if record[view.kind].signed else [lens for lens in LENSES if lens != other]
        segments(WORDS["lens"], {lens: words_of(lens)["name"] for lens in lenses}, page.set, "lens",
                 view.lens if view.lens in lenses else "matrix")
        _display(page, record, view, measures, why)
        export_menu(page, record, view)
    if view.lens == "picture":
        image = replace(image_of(record, view, picture_name(record.query.image)), opacity=page["opacity"])
        choose = answers.chosen(page, record)
        picture_view(image, height=PICTURE, key="head-picture", on_event=lambda event: choose(
            patch=event.token) if record[view.kind].keys.of_picture else page.set(token=event.token))
        return image
    guess = marked_cells(page, record, view)
    shown = head_of(record, replace(view, pair=None) if guess else view)
    head_view(shown, height=PICTURE, guess=guess, why_scale=why, key="head",
              on_event=lambda event: page.set(head=view_of(page, record).head_id, token=event.token, pair=event.pair))
    return shown


def around(record: AttentionRecord, view: View) -> None:
    """Say how much of the open head's output passes the gate behind it, and how much attention contributes beside a
    Mamba path, if there are any."""
    layer, token = record[view.kind].layer(view.layer), view.token or 0
    for name, shares in (("gate", _gate(record, view)), ("beside", layer.beside)):
        if shares is not None:
            st.caption(WORDS(name, layer=view.layer, token=token_label(record[view.kind].queries, token),
                             share=shares[token], mean=shares.mean()))


def _gate(record: AttentionRecord, view: View) -> np.ndarray | None:
    """Return how much of the open head's output passes what follows it, (query), or None if nothing follows it."""
    gate = record[view.kind].layer(view.layer).gate
    return None if gate is None else gate[view.head]


def _display(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None, why: str) -> None:
    """Draw the display options, once their menu is opened; none changes the model's numbers. why: the reason for the
    scale."""
    choose = page.set
    with st.popover(WORDS["show"], type="tertiary", key="display", on_change="rerun") as opened:
        if not opened.open:
            return
        st.caption(WORDS["grid"])
        orders, order = _orders(view, measures)
        select(WORDS["order"], orders, choose, "order", order)
        colours = _colours(page, view.kind, measures)[0]
        select(WORDS["colour"], colours, choose, "colour", page["colour"] if page["colour"] in colours else "")
        st.caption(WORDS("head_title", layer=view.layer, head=view.head))
        select(WORDS["scale"], {scale: WORDS["scales"][scale] for scale in SCALES}, choose, "scale", view.scale)
        if why:
            st.caption(f"{WORDS['scales'][view.scale]}, {why}")
        for name in ("transpose", "words", "hide_special", *(["gated"] if _gate(record, view) is not None else [])):
            toggle(WORDS[name], choose, name, getattr(view, name))
        slider(WORDS["keep"], sorted({*KEEPS, view.keep}), view.keep, say=lambda share: format_share(share, 0),
               key="slider-keep", turn=lambda share: choose(keep=share))
        if view.lens == "picture":
            if record[view.kind].keys.of_picture:
                toggle(WORDS["hide_sinks"], choose, "hide_sinks", view.hide_sinks)
            slider_for(page, "opacity", WORDS["opacity"], OPACITIES, say=lambda share: format_share(share, 0))
        toggle(WORDS["renormalise"], choose, "renormalise", view.renormalise)
        if Kind.CROSS in record.kinds:
            toggle_for(page, "written", WORDS["written"])
        if 1 in record[view.kind].queries.segments and view.kind.base is not Kind.CROSS:
            segments(WORDS["quadrant"], {quadrant: WORDS["quadrants"][quadrant or "all"] for quadrant in QUADRANTS},
                     choose, "quadrant", view.quadrant)
        others = [head for head in head_ids(record[view.kind]) if head != view.head_id]
        st.multiselect(WORDS["overlay"], others, max_selections=MOST_TOGETHER,
                       format_func=lambda head: head_label(*head),
                       **bind(lambda overlay: choose(overlay=tuple(overlay)), "overlay", list(view.overlay),
                              initial=""))


def look_here_first(attention_map: AttentionMap, view: View, measures: HeadMeasures | None,
                     choose: Callable[..., None]) -> DeltaGenerator | None:
    """Draw, once opened, buttons for the top-ranked heads of the pair, then the open head's measures and the top heads
    of each measure. Without a pair, return the placeholder for the ranking of the token in focus."""
    place = None
    with st.expander(WORDS["first"], key="look-first", on_change="rerun") as opened:
        if not opened.open:
            return None
        if view.pair is None:
            place = st.container()
        else:
            a, b = map(token_label, (attention_map.queries, attention_map.keys), view.pair)
            st.markdown(WORDS("first_pair", a=a, b=b))
            pills(WORDS["first"], map(_ranked, heads.rank_heads_for_pair(attention_map, *view.pair)[:SHOWN]), choose,
                  "head", view.head_id, "rank_pair")
        if measures is None:
            return place
        for name in measures.values:
            left, right = st.columns([5, 6], vertical_alignment="center")
            title = f"[{BY_NAME[name].title}]({term_link(terms()[name])})"
            left.markdown(measure_claim(measures, name, view.head_id, title))
            with right:
                pills(BY_NAME[name].title, map(_ranked, measures.ranked(name)[:2]), choose, "head",
                      view.head_id, f"rank_{name}")
    return place


def _ranked(entry: tuple[int, int, float]) -> tuple[HeadId, str]:
    """Return a head and its label, for `pills`."""
    layer, head, value = entry
    return (layer, head), f"{head_label(layer, head)}  {format_weight(value)}"


def measure_claim(measures: HeadMeasures, name: str, here: HeadId, title: str) -> str:
    """Describe a head's value of a measure, its rank among all heads, and a uniform row's value. title: the measure's
    title in Markdown."""
    values, even = measures.by_head(name), measures.uniform[name][measures.heads.index(here)]
    if here not in values:
        return WORDS("measure_none", title=title, here=here)
    place, tied = rank(values[here], values.values())
    return WORDS("measure_line", title=title, here=here, value=values[here],
                 unit=BY_NAME[name].unit, rank=place, tied=tied, n=len(values)) + (
                     "" if np.isnan(even) else WORDS("measure_even", uniform=even))


def look_from_and_at(page: PageContext, attention_map: AttentionMap, view: View) -> None:
    """Draw the heads with the largest weights from the token in focus and to it; a click opens a head."""
    token = token_label(attention_map.queries, view.token or 0)
    ranking = page.ask(TokenRankingQuery(page.query(), view.kind, view.token or 0), height=0)
    sides: tuple[tuple[str, tuple[Link, ...], Tokens], ...] = (
        ("first_from", ranking.from_token, attention_map.keys), ("first_at", ranking.at_token, attention_map.queries))
    for side, links, others in sides:
        if links:
            title = WORDS(side, token=token)
            st.markdown(title, help=WORDS["first_help"])
            pills(title, [((link.layer, link.head), WORDS(
                f"{side}_link", head=(link.layer, link.head), weight=link.weight,
                other=token_markdown(others.texts[link.other]))) for link in links[:EACH]], page.set, "head",
                  view.head_id, f"rank_{side}")


def pair_claim(attention_map: AttentionMap, view: View, pair: tuple[int, int]) -> str:
    """Return a Markdown sentence on the open head's weight for a pair."""
    weights = heads.pair_weights(attention_map, *pair)
    place, tied = rank(weights[view.head_id], weights.values())
    return WORDS["claims"]("pair", head=view.head_id, weight=weights[view.head_id],
                           n=len(weights), rank=place, tied=tied, b=token_label(attention_map.keys, pair[1]),
                           a=token_label(attention_map.queries, pair[0]),
                           uniform=_uniform(attention_map, view, pair[0]))


def twin_claims(record: AttentionRecord, twin: AttentionRecord, view: View, example: Example) -> list[str]:
    """Return in Markdown what the open head gives both nouns of an example in its sentence and in the twin, and, if one
    of them is the view's pair, sentences on the strongest other head. Empty if a token is missing."""
    texts, words = [(each.query.text, each.query.text_b) for each in (record, twin)], WORDS["claims"]
    places = [[token for word in (*example.pair, example.rival or "")
               if (token := token_of(each[view.kind].queries, said, word)) is not None]
              for each, said in zip((record, twin), texts)]
    if not example.swap or view.kind.base is Kind.CROSS or any(len(found) < 3 for found in places):
        return []
    word = f"*{escape_markdown(example.swap[1 if record.query.text == example.text else 0])}*"
    weights = [heads.pair_weights(each[view.kind], query, noun)
               for each, (query, *nouns) in zip((record, twin), places) for noun in nouns]
    if view.kind.base is Kind.CAUSAL and all(abs(weights[2][head] - weight) < BLIND
                                             for head, weight in weights[0].items()):
        return [words("blind", word=word)]
    (query, *nouns), others = places[0], [head for head in weights[0] if head != view.head_id]
    key, rival = (token_label(record[view.kind].keys, noun) for noun in nouns)
    here, rival_here, there, rival_there = (format_weight(found[view.head_id]) for found in weights)
    sentences = [words("twin", b=key, here=here, rival=rival, rival_here=rival_here, word=word, there=there,
                       rival_there=rival_there)]
    if view.pair is not None and view.pair[0] == query and view.pair[1] in nouns and others:
        now, then = weights[nouns.index(view.pair[1])::2]
        other = max(others, key=now.__getitem__)
        sentences += [words("other", head=other, weight=now[other], twin=then[other], word=word), words["caution"]]
    return sentences


def row_claim(record: AttentionRecord, view: View) -> str:
    """Return a Markdown sentence on the open head's row in focus: the keys with the largest weights."""
    attention_map, token, words = record[view.kind], view.token or 0, WORDS["row"]
    layer, keys = attention_map.layer(view.layer), attention_map.keys
    facts = {"head": view.head_id, "a": token_label(attention_map.queries, token)}
    if layer.sees_nothing[view.head, token]:
        return words("blind", **facts)
    weights = heads.row_weights(layer, token)[view.head]
    named = ", ".join(words("key", token=token_label(keys, key), weight=weights[key])
                      for key in np.argsort(-np.abs(weights), kind="stable")[:NAMED] if weights[key])
    return words("most", keys=named, uniform=_uniform(attention_map, view, token), **facts)


def _uniform(attention_map: AttentionMap, view: View, token: int) -> str:
    """Return each key's weight if this head's row were uniform."""
    layer = attention_map.layer(view.layer)
    allowed = layer.allowed.block(slice(token, token + 1), slice(0, len(attention_map.keys)))
    rows, total = allowed.reshape(-1, allowed.shape[-1]), 1.0 if layer.minus is None else 1 - layer.minus_factor
    return format_weight(total / max(1, int(rows[view.head if len(rows) > 1 else 0].sum())))


def picture_claims(record: AttentionRecord, view: View) -> list[str]:
    """Return Markdown sentences on the open head's row in focus over a picture."""
    words, attention_map, token = strings("pictures")["claims"], record[view.kind], view.token or 0
    layer, tokens = attention_map.layer(view.layer), attention_map.keys
    weights = heads.row_weights(layer, token)[view.head].astype(np.float64)
    patches, special = np.array(tokens.patches), len(tokens) - len(tokens.patches)
    on_patches = weights[patches]
    facts = {"from": escape_markdown(patch_name(attention_map.queries, token)),
             "head": view.head_id,
             "to": escape_markdown(patch_name(tokens, int(patches[on_patches.argmax()]))),
             "weight": on_patches.max(), "size": len(patches),
             "half": len(answers.looked_at(tokens, weights)),
             "times": format_number(on_patches.max() / glow.even_weight(allowed_keys(layer, token)), 2),
             "even_half": -(-len(patches) // 2), "share": 1 - on_patches.sum() / weights.sum(), "count": special,
             "even": special / len(tokens)}
    names = ["most", *(["half"] if on_patches.any() else []), *(["special"] if special else [])]
    return [*(words(name, **facts) for name in names), *answer_claim(record)]


def answer_claim(record: AttentionRecord) -> list[str]:
    """Return a sentence on the model's answer about the picture: the best classes with probabilities, or the typed
    texts with cosines; none if the model only returns vectors."""
    prediction, words = record.prediction, strings("pictures")["claims"]
    if prediction is None or not prediction.texts:
        return []
    names, shares = [escape_markdown(name) for name in prediction.texts[0][:NAMED]], prediction.probabilities[0]
    if not prediction.cosines:
        return [words("answer", names=", ".join(f"{name} ({format_share(share)})" for name, share in zip(
            names, shares))), *([words["digits"]] if all(map(str.isdigit, names)) else [])]
    said = ", ".join(f"{name} ({format_signed(cosine, '.3f')})" for name, cosine in zip(names, prediction.cosines[0]))
    # a softmax over all texts (CLIP) sums to 1, sigmoids (SigLIP) do not
    ends = words["shared" if abs(sum(shares) - 1) < SUM else "by_itself"]
    return [words("texts", names=said), ends.format(share=shares[0], count=len(shares))]
