"""The page Heads: what each attention head attends to. The sentence, all heads, and one head open."""
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.heads import BY_NAME, HeadMeasures, MeasuresQuery, OverviewQuery, head_ids
from clearhead.model.core.query import HeadId, Kind, UserError
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer, Tokens
from clearhead.model.core.view import (
    LENSES,
    QUADRANTS,
    SCALES,
    Link,
    TokenRankingQuery,
    View,
    links_from,
)
from clearhead.viz.app.examples import Example, example_for, other_twin, token_of, word_at
from clearhead.viz.app.glossary import term_link, terms
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice
from clearhead.viz.app.state import tenth_weight
from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.components.component import Picture
from clearhead.viz.components.head_grid import GridEvent, GridState, HeadValues, head_grid
from clearhead.viz.components.head_view import head_view, packed
from clearhead.viz.components.slider import slider
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.pages.heads.introduction import introduce, tour_button, tour_card
from clearhead.viz.pages.heads.prediction import (
    PREDICT,
    covered_head,
    is_covered,
    marked_cells,
    score_panel,
    start_button,
)
from clearhead.viz.style.format import format_share, format_weight, head_label, rank, token_label, token_markdown
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.export_menu import export_menu
from clearhead.viz.widgets.fields import bind, pills, segments, select, toggle
from clearhead.viz.widgets.fragment import folded, folded_formula, fragment, model_button
from clearhead.viz.widgets.handout_button import OFFERED, item_maker, offer
from clearhead.viz.widgets.head_picker import kind_choice
from clearhead.viz.widgets.head_table import AVERAGES, FROM_FILE, saved_corpus
from clearhead.viz.widgets.layout import flex_row, heading, split
from clearhead.viz.widgets.picture import open_picture, patch_strip

WORDS = strings("heads")

COLOUR = Choice("colour", "", (*BY_NAME, *(FROM_FILE + name for name in AVERAGES)))   # colours of the grid
PAGE = Page("record", controls=(COLOUR, *PREDICT), reads="both")
PICTURE = 465   # height in pixels that fits below the sentence, with its text, on a screen of 900
SHOWN = 6       # number of heads in a ranking
EACH = 3        # number of heads from a token, and to it
ICONS = {"silenced": ":material/volume_off:", "swapped": ":material/swap_horiz:", "patched": ":material/move_down:"}
BLIND = 1e-5    # smaller differences count as none: the row cannot depend on the other word
NAMED = 3       # most keys of a row named in a sentence
MOST_TOGETHER = 7   # most heads in a joint figure, besides the open one
KEEPS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)   # shares of a row's weight that can be kept


def render(page: PageContext) -> None:
    """Draw the page."""
    _title(page, tour=not introduce(page))
    record = page.record()
    _warnings(page, record)
    fragment(page, _picture, record)
    folded_formula(WORDS["formula"], _proof, key="heads-formula")


def _proof() -> tuple[Callable, ...]:
    from clearhead.model.core import attention

    return attention.scores, attention.softmax, heads.weights


def _example(page: PageContext) -> Example | None:
    """Return the example that contains the text; None if there is none, or for a picture."""
    return None if page.state.image is not None else example_for(page.text, page.state.text_b)


def _title(page: PageContext, tour: bool) -> None:
    """Draw the question, the button that starts the tour if `tour`, and the button tired ⇄ wide, which exchanges the
    word in the example sentence."""
    example = _example(page)

    def swapped() -> None:
        page.set(text=st.session_state["twin"] or next(text for text in texts if text != page.text))

    with flex_row("center", gap="small"):
        heading(WORDS["question"], 4, width="content")
        if tour and not page.present:
            tour_button()
        if example is not None and example.twin and example.swap:
            texts = {example.text: example.swap[0], example.twin: example.swap[1]}
            st.session_state["twin"] = page.text
            st.caption(WORDS["swap"], width="content")
            st.segmented_control(WORDS["swap"], list(texts), format_func=texts.__getitem__, key="twin",
                                 on_change=swapped, label_visibility="collapsed")


def _warnings(page: PageContext, record: AttentionRecord) -> None:
    """Draw what is to be known before the picture: omitted tokens, and a model that reads what this one cannot."""
    words = strings("frame")
    if record.omitted is not None:
        st.warning(words("omitted", total=record.omitted.count + record.omitted.limit, limit=record.omitted.limit,
                         count=record.omitted.count, model=escape_markdown(record.card.title),
                         text=escape_markdown(record.omitted.text[:40])))
    if record.unread:
        # empty if downloads are disabled
        readers = [offer for offer in sources.catalogue().values() if offer.every_byte]
        if readers:
            model_button(page, max(readers, key=lambda offer: offer.on_disk))
    for note in record.notes:
        st.caption(escape_markdown(note))


def _picture(page: PageContext, record: AttentionRecord) -> None:
    """Draw the sentence, all heads and the open head, or the covered head to predict."""
    page.follow()
    OFFERED.value = {}
    view = page.view()
    covered = is_covered(page, record, view)
    _sentence(page, record, view, covered)
    if covered:
        covered_head(page, record)
        return
    question = MeasuresQuery(page.query(), view.kind)
    measures, claims = desk.cached(question), head_claims(record, view, *_twin(page)) or [row_claim(record, view)]
    if not page.present:   # presenting leaves more room for the picture
        with flex_row("center", gap="small", key="heads-lead"):
            st.markdown(claims.pop(0), width="content")
            _offer(page, record[view.kind], view)
    left, right = split(11, 13)
    # the open head is drawn first, because it is what a click requests
    with right, st.container(key="heads-open"):
        offer("head", WORDS["add_head"], item_maker(_open_head(page, record, view, measures), (record,)))
        _gate(record, view)
        if page["predict"] == "shown":
            score_panel(page, record, view)
    with left:
        _grid(page, record, view, measures)
        st.markdown(" ".join(claims[:2] if page.present else claims))
        # no buttons while presenting
        of_token = None if page.present else _look_here_first(record[view.kind], view, measures, page.set)
    if not page.present:
        _what_if(page, record, view)
        for name in ("why", "writes"):
            folded(strings("circuits")[name]["title"], partial(_circuit, name, page, record, view), key=f"heads-{name}")
        tour_card()
    if of_token is not None:   # drawn after the picture, because it takes longer for a long text
        with of_token:
            _look_from_and_at(page, record[view.kind], view)
    if measures is None:   # computed after the picture is drawn, because they take longer for a long text
        page.ask(question, height=0)
        st.rerun()


def _circuit(name: str, page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw an opened section on why the open head attends to a token, or on what it writes."""
    from clearhead.viz.pages.heads.circuits import draw_section  # imports studies that would delay the first page

    draw_section(name, page, record, view)


def _offer(page: PageContext, attention_map: AttentionMap, view: View) -> None:
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
        st.button(WORDS("offer", head=head_label(best.layer, best.head), a=a, b=b, weight=format_weight(best.weight)),
                  key="offer", help=None if view.pair else WORDS["first_help"],
                  on_click=page.set, kwargs={"head": (best.layer, best.head)})


def _sentence(page: PageContext, record: AttentionRecord, view: View, hidden: bool) -> None:
    """Draw the tokens; for cross-attention both queries and keys. The pair of a covered head is not shown, because it
    would reveal the answer."""
    attention_map = record[view.kind]
    kind_choice(page, record, view)
    if record.picture is not None and attention_map.queries.grid is not None:
        patch_strip(record, view, key="strip-picture", on_event=lambda event: page.set(token=event.token))
        return
    cross = view.kind.base is Kind.CROSS
    chosen = "token" in page.state.user_set and page.state.view.token is not None
    token_strip(attention_map.queries, focus=view.token, pair=None if cross or hidden else view.pair,
                pairs=not (cross or hidden), chosen=bool(chosen or view.pair or hidden), key="strip",
                on_event=lambda event: page.set(token=event.token,
                                                pair=view.pair if cross or hidden else event.pair))
    if cross and not hidden:
        token_strip(attention_map.keys, focus=view.pair[1] if view.pair else None, pairs=False, key="strip_keys",
                    on_event=lambda event: page.set(pair=None if event.token is None
                                                    else (view.token, event.token)))


def _grid(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None) -> None:
    """Draw all heads of this kind, in the chosen order and colour. The tooltip shows the pair's weight, if any,
    and the head's measures."""
    attention_map = record[view.kind]
    overview = page.ask(OverviewQuery(page.query(), view.kind))
    ranked: list[tuple[int, int, float]] = []
    said, (orders, order) = dict[str, dict[HeadId, float]](), _orders(view, measures)
    if view.pair:
        ranked = heads.rank_heads_for_pair(attention_map, *view.pair)
        said[WORDS["sorts"]["pair"]] = heads.pair_weights(attention_map, *view.pair)
    if measures is not None:
        said |= {name: measures.by_head(name) for name in measures.values}
    with flex_row("center", gap="small"):
        heading(WORDS["grid"], width="content")
        st.caption(WORDS["grid_click"] if order == "layer" else WORDS("grid_sorted", by=orders[order]), width="content")
    ordered = None if order == "layer" else ranked if order == "pair" or measures is None else measures.ranked(order)
    sizes = {layer.heads // layer.key.shape[0] for layer in attention_map.layers if isinstance(layer, Layer)}
    shown = GridState(view.head_id, [(layer, head) for layer, head, _ in ordered] if ordered else None,
                      [(layer, head, place) for place, (layer, head, _) in enumerate(ranked[:SHOWN], 1)],
                      said, _colours(page, view.kind, measures)[1], view.overlay)
    grid = head_grid(overview, shown, heads_per_kv=sizes.pop() if len(sizes) == 1 else 1,
                     silence=record.verification.status in ("verified", "computed"), key="grid",
                     on_event=lambda event: _take(page, event, view))
    offer("grid", WORDS["add_grid"], item_maker(grid, (record,)))


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
        page.open_next("compare", **_edited("zero"))


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
        options |= {FROM_FILE + name: WORDS("colour_file", title=WORDS["sorts"].get(name, AVERAGES[name]),
                                            name=result.name) for name in result.averages.names}
    if not chosen or chosen not in options:
        return options, None
    if result is not None and chosen.startswith(FROM_FILE):
        name = chosen.removeprefix(FROM_FILE)
        return options, HeadValues(result.averages.by_head(name), f"{AVERAGES[name]}, {result.name}")
    return options, None if measures is None else HeadValues(measures.by_head(chosen), BY_NAME[chosen].title)


def _look_here_first(attention_map: AttentionMap, view: View, measures: HeadMeasures | None,
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
            a, b = token_label(attention_map.queries, view.pair[0]), token_label(attention_map.keys, view.pair[1])
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
    number, values = measures.heads.index(here), measures.values[name].tolist()
    place, tied = rank(values[number], values)
    return WORDS("measure_line", title=title, here=head_label(*here), value=format_weight(values[number]),
                 unit=BY_NAME[name].unit, rank=place, tied=tied, n=len(values),
                 uniform=format_weight(measures.uniform[name][number]))


def _look_from_and_at(page: PageContext, attention_map: AttentionMap, view: View) -> None:
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
                f"{side}_link", head=head_label(link.layer, link.head), weight=format_weight(link.weight),
                other=token_markdown(others.texts[link.other]))) for link in links[:EACH]], page.set, "head",
                  view.head_id, f"rank_{side}")


def _open_head(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None) -> Picture:
    """Draw the name of the open head, the menus *Display* and *Export*, and the head as a matrix, as lines, or over its
    text or picture."""
    other = "picture" if record.picture is None else "text"
    # the reason for this scale of a long matrix; "" if the user chose the scale or it makes no difference
    tenth = None if "scale" in page.state.user_set else tenth_weight(record[view.kind], view)
    why = "" if tenth is None else WORDS("scale_chosen", weight=format_weight(tenth))
    with flex_row("center", gap="small"):
        heading(WORDS("head_title", layer=view.layer, head=view.head))
        segments(WORDS["lens"], {lens: WORDS["lenses"][lens] for lens in LENSES if lens != other}, page.set, "lens",
                 view.lens)
        _display(page, record, view, measures, why)
        export_menu(page, record, view)
    if view.lens == "picture":
        return open_picture(record, view, key="head-picture", height=PICTURE,
                            on_event=lambda event: page.set(token=event.token))
    guess = marked_cells(page, record, view)
    shown, body = packed(record, view, PICTURE, "head")
    return head_view(shown, replace(view, pair=None) if guess else view, packed=body, guess=guess,
                     why_scale=why, key="head", on_event=lambda event: page.set(token=event.token, pair=event.pair))


def _gate(record: AttentionRecord, view: View) -> None:
    """Say how much of the open head's output passes the gate behind it, if there is one."""
    layer, token = record[view.kind].layer(view.layer), view.token or 0
    if isinstance(layer, Layer) and layer.gate is not None:
        passes = layer.gate[view.head]
        st.caption(WORDS("gate", token=token_label(record[view.kind].queries, token),
                         share=format_share(passes[token]), mean=format_share(passes.mean())))


def _display(page: PageContext, record: AttentionRecord, view: View, measures: HeadMeasures | None, why: str) -> None:
    """Draw the display options, once their menu is opened; none changes the model's numbers. why: the reason for the
    scale."""
    choose = page.set
    with st.popover(WORDS["show"], type="tertiary", key="display", on_change="rerun") as opened:
        if not opened.open:
            return
        st.caption(WORDS["grid"])
        select(WORDS["order"], _orders(view, measures)[0], choose, "order", _orders(view, measures)[1])
        colours = _colours(page, view.kind, measures)[0]
        select(WORDS["colour"], colours, choose, "colour", page["colour"] if page["colour"] in colours else "")
        st.caption(WORDS("head_title", layer=view.layer, head=view.head))
        select(WORDS["scale"], {scale: WORDS["scales"][scale] for scale in SCALES}, choose, "scale", view.scale)
        if why:
            st.caption(f"{WORDS['scales'][view.scale]}, {why}")
        for name in ("transpose", "words", "hide_special"):
            toggle(WORDS[name], choose, name, getattr(view, name))
        slider(WORDS["keep"], sorted({*KEEPS, view.keep}), view.keep, say=lambda share: format_share(share, 0),
               key="slider-keep", turn=lambda share: choose(keep=share))
        toggle(WORDS["renormalise"], choose, "renormalise", view.renormalise)
        if 1 in record[view.kind].queries.segments and view.kind.base is not Kind.CROSS:
            segments(WORDS["quadrant"], {quadrant: WORDS["quadrants"][quadrant or "all"] for quadrant in QUADRANTS},
                     choose, "quadrant", view.quadrant)
        others = [head for head in head_ids(record[view.kind]) if head != view.head_id]
        st.multiselect(WORDS["overlay"], others, max_selections=MOST_TOGETHER,
                       format_func=lambda head: head_label(*head),
                       **bind(lambda overlay: choose(overlay=tuple(overlay)), "overlay", list(view.overlay)))


def _twin(page: PageContext) -> tuple[AttentionRecord | None, Example | None]:
    """Return the twin sentence's record and example if the text has a twin."""
    example = _example(page)
    twin = None if example is None or not example.rival else other_twin(example, page.text)
    try:
        return (None, None) if twin is None else (page.ask(page.query(text=twin)), example)
    except UserError:
        return None, None


def _edited(edit: str) -> dict[str, Any]:
    """Return the Compare page's controls for an edit of the open head, replacing any previous edit."""
    return {"versus": "edit", "edit": edit, "edit_layer": -1, "edit_head": -1}


def _what_if(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw one-click actions: predict the head, or repeat the question with this head silenced, with another word, or
    with this head taken from the twin."""
    example = _example(page)
    # an imported file has no model to run again
    asks = record.verification.status not in ("imported", "recorded")
    ways = {"silenced": _edited("zero")} if asks else {}
    if example is not None and example.twin:
        other = {"other": other_twin(example, page.text)}
        ways |= {"swapped": {"versus": "text"} | other, "patched": _edited("patch") | other}
    with flex_row("center", gap="small", key="heads-what-if"):
        heading(WORDS["what_if"], width="content")
        for way, controls in ways.items():
            if st.button(WORDS[f"compare_{way}"], key=f"compare-{way}", icon=ICONS[way],
                         help=WORDS["compare_help"] if way == "silenced" else None):
                page.open_page("compare", **controls)
        start_button(page, record, view)
        if asks:
            _swap(page, record, view)


def _swap(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw a field that replaces the word in focus, and compare as soon as a word is entered."""
    text = page.text
    # otherwise the queries are the target's tokens
    of_text = view.kind.base is Kind.SELF or Kind.CROSS not in record.kinds
    place = word_at(record[view.kind].queries, view.token, text) if of_text else None
    if place is None:
        return
    start, end = place
    label = WORDS("swap_word", word=text[start:end])
    typed = st.text_input(label, key=f"swap-{start}-{end}", max_chars=60, label_visibility="collapsed", width=260,
                          placeholder=label).strip()
    if typed and typed != text[start:end]:
        page.open_page("compare", versus="text", other=text[:start] + typed + text[end:])


def head_claims(record: AttentionRecord, view: View, twin: AttentionRecord | None = None,
                example: Example | None = None) -> list[str]:
    """Return Markdown sentences on the open head's weight for the view's pair, and on the same heads in the twin
    sentence if it contains that pair. Empty without a pair."""
    if view.pair is None:
        return []
    words, attention_map, here = WORDS["claims"], record[view.kind], view.head_id
    weights = heads.pair_weights(attention_map, *view.pair)
    place, tied = rank(weights[here], weights.values())
    b = token_label(attention_map.keys, view.pair[1])
    sentences = [words("pair", head=head_label(*here), weight=format_weight(weights[here]), n=len(weights), rank=place,
                       tied=tied, b=b, a=token_label(attention_map.queries, view.pair[0]),
                       uniform=_uniform(attention_map, view, view.pair[0]))]
    if twin is None or example is None or not example.rival or not example.swap:
        return sentences
    (query, key, rival), (*pair, rival_here) = (
        [token_of(each[view.kind].queries, (each.query.text, each.query.text_b), word)
         for word in (*example.pair, example.rival)] for each in (twin, record))
    if tuple(pair) != view.pair or query is None or key is None or rival is None or rival_here is None:
        return sentences
    to_key, to_rival = (heads.pair_weights(twin[view.kind], query, noun) for noun in (key, rival))
    word = f"*{escape_markdown(example.swap[1 if record.query.text == example.text else 0])}*"
    if view.kind.base is Kind.CAUSAL and all(abs(to_key[head] - weight) < BLIND for head, weight in weights.items()):
        return [*sentences, words("blind", word=word)]
    sentences.append(words("twin", word=word, rival=f"*{escape_markdown(example.rival)}*", b=b,
                           twin=format_weight(to_key[here]),
                           rival_now=format_weight(heads.pair_weights(attention_map, view.pair[0], rival_here)[here]),
                           rival_twin=format_weight(to_rival[here])))
    if others := [head for head in weights if head != here]:
        other = max(others, key=weights.__getitem__)
        sentences.append(words("other", head=head_label(*other), weight=format_weight(weights[other]),
                               twin=format_weight(to_key[other]), word=word))
    return [*sentences, words["caution"]]


def row_claim(record: AttentionRecord, view: View) -> str:
    """Return a Markdown sentence on the open head's row in focus: the keys with the largest weights."""
    attention_map, token, words = record[view.kind], view.token or 0, WORDS["row"]
    layer, keys = attention_map.layer(view.layer), attention_map.keys
    facts = {"head": head_label(*view.head_id), "a": token_label(attention_map.queries, token)}
    if layer.sees_nothing[view.head, token]:
        return words("blind", **facts)
    weights = heads.row_weights(layer, token)[view.head]
    named = ", ".join(words("key", token=token_label(keys, key), weight=format_weight(weights[key]))
                      for key in np.argsort(-weights, kind="stable")[:NAMED] if weights[key] > 0)
    return words("most", keys=named, uniform=_uniform(attention_map, view, token), **facts)


def _uniform(attention_map: AttentionMap, view: View, token: int) -> str:
    """Return each key's weight if this head's row were uniform."""
    allowed = attention_map.layer(view.layer).allowed.block(slice(token, token + 1), slice(0, len(attention_map.keys)))
    rows = allowed.reshape(-1, allowed.shape[-1])
    return format_weight(1 / max(1, int(rows[view.head if len(rows) > 1 else 0].sum())))
