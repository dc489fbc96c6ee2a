"""The sections of the page Compare: the heads that changed most, or that change the answer when patched; both answers;
and the open head on both sides with the difference, as matrices or over pictures."""
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from clearhead.model.core.query import Edit, HeadId, Hide, Kind, Patch, Silence, Window, head_label, with_arrays
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import SCALES, DisplayedHead, View
from clearhead.model.studies.alignment import Group
from clearhead.model.studies.comparison import (
    Alignment,
    Comparison,
    cosine,
    difference_views,
    prediction_table,
    target_texts,
)
from clearhead.model.studies.patching import PatchEffects
from clearhead.viz.app.page import PageContext
from clearhead.viz.components.component import Selection
from clearhead.viz.components.from_record import hidden_tokens, patch_name, scale_of
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.picture import Head, HeadValues, Image, PatchValues
from clearhead.viz.components.picture_view import picture_view
from clearhead.viz.export.formats import FORMATS, comparison, formats_of
from clearhead.viz.export.tables import SIDES, comparison_csv
from clearhead.viz.figures.bars import bars
from clearhead.viz.style.format import markdown_table, token_markdown
from clearhead.viz.style.numbers import format_change, format_number, format_share, format_weight, true_minus
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.export_menu import choose_file, save_button
from clearhead.viz.widgets.fields import segments
from clearhead.viz.widgets.handout_button import offer_picture
from clearhead.viz.widgets.head_table import coloured_grid
from clearhead.viz.widgets.layout import bullets, flex_row, heading, prose, split
from clearhead.viz.widgets.part import Part
from clearhead.viz.widgets.picture import named_patches, picture_name

WORDS = strings("compare")

Pair = tuple[AttentionRecord, AttentionRecord]   # the two records
Names = tuple[str, str]                          # the sides' names, as plain text
SHOWN = 6          # number of heads offered as buttons
MOST_ANSWERS = 4   # words listed of each answer
FEW = 16           # most groups of tokens with legible labels in three columns
HIGH = (360, 520, 760)        # height in pixels of one of three pictures, one of two, and a single one
BARS_HIGH = 260
EQUAL = 1e-6                  # weight differences up to this count as 0
# full colour means at least this share of the two texts' difference, so that tiny effects stay pale
FAINT = 0.05
LONGEST = 40           # most characters of a side's name
MARKS = ".,;:!?"


def of_sentences(one: str, other: str) -> Names:
    """Name two sentences by the words found in only one of them."""
    texts = one.split(), other.split()
    own = [" ".join(word for word in words if word not in others).strip(MARKS)
           for words, others in (texts, texts[::-1])]
    return (own[0], own[1]) if all(own) and own[0] != own[1] else tuple(WORDS["sentences"])


def names_of(page: PageContext, records: Pair, heads: tuple[HeadId, HeadId]) -> Names:
    """Return the names of both sides: their sentences, pictures, models or heads, or the edit. The name of an edit
    includes its head unless that is the open one."""
    way = page["versus"]
    names = head_label(*heads[0]), head_label(*heads[1])
    if way == "text" and records[0].picture is not None:
        one, other = (picture_name(record.query.image) or strings("pictures")["gone"] for record in records)
        names = one, other
    elif way == "text":
        names = of_sentences(records[0].query.text, records[1].query.text)
    elif way == "model" and records[0].card.title != records[1].card.title:
        names = records[0].card.title, records[1].card.title
    elif way == "edit":
        done = WORDS["edits"][page["edit"]]
        for edit in records[1].query.edits:
            if isinstance(edit, Hide):
                done = WORDS("hide_done", token=patch_name(records[1].maps[0].keys, edit.token))
            elif not isinstance(edit, Window) and (edit.layer, edit.head) != heads[1]:
                done = f"{head_label(edit.layer, edit.head)} {done}"
        names = WORDS["as_it_stands"], done
    one, other = (name if len(name) <= LONGEST else name[:LONGEST - 1].rstrip() + "…" for name in names)
    return one, other


@with_arrays
class OpenHead:
    """The open head in both records, ready to draw: both heads and their difference, the largest change, the sides'
    names, and the parts of the three titles."""

    shown: tuple[DisplayedHead, ...]
    bound: float
    names: Names
    titles: list[list[str]]
    aligned: Alignment
    head: HeadId   # the head in the second record

    @property
    def changed(self) -> bool:
        """Whether any weight differs."""
        return self.bound > EQUAL


def open_head(page: PageContext, records: Pair, view: View, other: tuple[Kind, HeadId],
              aligned: Alignment) -> OpenHead:
    """Compare the open head on both sides. other: kind and head in the second record."""
    (kind, head), here = other, view.head_id
    shown = difference_views(*records, ((view.kind, *here), (kind, *head)), aligned)
    bound = max(float(np.abs(np.nan_to_num(shown[2].weights)).max()), EQUAL)
    names = names_of(page, records, (here, head))
    titles = [list(dict.fromkeys([name, head_label(*each)]))
              for name, each in zip(names, (here, head), strict=True)]
    titles.append([WORDS("difference", names=names),
                   *([WORDS("bound", bound=bound)] if bound > EQUAL else [])])
    return OpenHead(shown, bound, names, titles, aligned, head)


def change_section(records: Pair, view: View, found: OpenHead) -> None:
    """Draw both answers and the open head's change as a sentence."""
    _answers(*records, tuple(map(escape_markdown, found.names)))
    row = _row_in_focus(found.aligned, view) if over_pictures(records) else None
    st.markdown(change_claim(found.shown[0].weights, found.shown[1].weights,
                             with_patch_names(found.aligned, records, view), row))
    if not found.changed and (why := unchanged_why(records[1].query.edits, found.head)):
        st.markdown(why)


def _row_in_focus(aligned: Alignment, view: View) -> int:
    """Return the index of the group with the token in focus."""
    return next((place for place, group in enumerate(aligned.rows) if view.token in group.first), 0)


def map_beside_grid(records: Pair, found: OpenHead) -> bool:
    """Return whether the map of the change is drawn beside the grid: it fits there and is not empty."""
    few = max(len(found.aligned.rows), len(found.aligned.columns)) <= FEW
    return found.changed and few and not over_pictures(records)


def both_section(page: PageContext, records: Pair, view: View, found: OpenHead, places: tuple[int, ...]) -> None:
    """Draw the open head on both sides and the change: over pictures, or `places` of the three matrices."""
    scales, over = strings("heads"), over_pictures(records)
    with flex_row("center"):
        heading(WORDS["picture"])
        if not over:   # one setting for both matrices
            segments(scales["scale"], {scale: scales["scales"][scale] for scale in SCALES}, page.set, "scale",
                     view.scale)
    shown: tuple[Head, ...] | tuple[Image, ...] = ()
    token: int | None = _row_in_focus(found.aligned, view)
    if over:
        shown = images = rows_over_pictures(records, view, found.shown, found.aligned)
        token = images[2].focus
        found.titles[2][1:] = [WORDS("bound", bound=images[2].values.high)]   # the largest change in this row
    else:
        shown = as_matrices(view, found)
    draw_sides(page, records, found, shown, places)
    st.caption(WORDS["over_about" if over else "picture_about"])
    if alone := alone_claim(found.aligned):
        st.caption(alone)
    saved = [" · ".join(title) for title in found.titles]
    looked = replace(view, token=token, pair=None)
    with st.popover(WORDS["save"], type="tertiary", key="compare-save", on_change="rerun") as opened:
        if opened.open:
            forms = {form.name: form for form in (*formats_of("comparison"), FORMATS[".csv"], FORMATS[".json"])}
            form = forms[choose_file("compare-file", forms)]
            make = partial(comparison_csv, found.shown) if form.suffix == ".csv" else partial(
                comparison, form.suffix, shown, looked, saved, records, page.link())
            save_button("compare-file", make, f"clearhead-compare{form.suffix}", form.mime)


def as_matrices(view: View, found: OpenHead) -> tuple[Head, ...]:
    """Return the first head, the second and their difference as matrices, with the view's row in focus."""
    looked = replace(view, lens="matrix", token=_row_in_focus(found.aligned, view), pair=None)
    return tuple(Head((head,), looked, None if place < 2 else found.bound if found.changed else 1.0)
                 for place, head in enumerate(found.shown))


def draw_sides(page: PageContext, records: Pair, found: OpenHead, shown: tuple[Head, ...] | tuple[Image, ...],
               places: Sequence[int] = (0, 1, 2)) -> None:
    """Draw some of the three (two heads and their difference): side by side over pictures and for short texts, with a
    larger difference below for longer ones. Choosing a row in one focuses it in all of them, and on the page Heads."""
    aligned, over = found.aligned, isinstance(shown[0], Image)
    in_a_row = over or (max(len(aligned.rows), len(aligned.columns)) <= FEW and not page.present)
    columns = [*st.columns(len(places) if in_a_row else min(len(places), 2), gap="small", vertical_alignment="bottom"),
               None]
    height = HIGH[0] if in_a_row else HIGH[1]

    def take(event: Selection) -> None:
        if event.token is not None and (first := (event.token,) if over else aligned.rows[event.token].first):
            page.set(token=first[0])

    for column, place in zip(columns, places):
        with column or st.container():
            _title(found.titles[place])
            key, value, high = f"compare-{SIDES[place]}", shown[place], height if column else HIGH[2]
            if isinstance(value, Image):
                picture_view(value, height=high, key=key, on_event=take)
            else:
                head_view(value, height=high, key=key, on_event=take)
            offer_picture(key, value, records[place:place + 1] or records, label=" · ".join(found.titles[place]))


def over_pictures(records: Pair) -> bool:
    """Return whether both records can be drawn over their pictures, patch by patch."""
    names = [[each.texts[patch] for patch in each.patches] for each in (record.maps[0].keys for record in records)]
    return all(record.picture is not None for record in records) and names[0] == names[1] != []


def with_patch_names(aligned: Alignment, records: Pair, view: View) -> Alignment:
    """Return the alignment with patches named by row and column, as on other pages; unchanged for texts."""
    def renamed(groups: tuple[Group, ...], side: str) -> tuple[Group, ...]:
        first, second = (getattr(record[view.kind], side) for record in records)
        return tuple(replace(group, text=patch_name(first, group.first[0]) if group.first else
                             patch_name(second, group.second[0])) for group in groups)

    if any(record.picture is None for record in records):
        return aligned
    return Alignment(renamed(aligned.rows, "queries"), renamed(aligned.columns, "keys"))


def rows_over_pictures(records: Pair, view: View, shown: tuple[DisplayedHead, ...],
                       aligned: Alignment) -> tuple[Image, ...]:
    """Return the weights of the token in focus on the first side, on the second side, and their difference, each over
    the tokens and the picture of its side. Hidden tokens are NaN."""
    row = _row_in_focus(aligned, view)
    focus = aligned.rows[row].first[0] if aligned.rows[row].first else 0
    bound, images = max(float(np.abs(np.nan_to_num(shown[2].weights[row])).max()), EQUAL), []
    for place, head in enumerate(shown):
        record, name = records[min(place, 1)], strings("components")["picture"](
            "head", layer=head.layer, head=head.head)
        numbers = np.full(len(record[view.kind].keys), np.nan, np.float32)
        for group, weight in zip(aligned.columns, head.weights[row], strict=True):
            numbers[list(group.second if place else group.first)] = weight
        if place == 2:
            values = PatchValues(numbers, name, WORDS["change"], "signed", high=bound)
        else:
            even, most = scale_of(record[view.kind], focus)
            numbers[list(hidden_tokens(record))] = np.nan
            values = PatchValues(numbers, name, even=even, high=most)
        images.append(Image(named_patches(record, view), values, focus, hidden=hidden_tokens(record)))
    return tuple(images)


def _title(title: list[str]) -> None:
    """Draw a picture's title, its first part bold."""
    first, *parts = map(escape_markdown, title)
    st.markdown(" · ".join([f"**{first}**", *parts]))


def change_claim(first: np.ndarray, second: np.ndarray, aligned: Alignment, only: int | None = None) -> str:
    """Describe the open head's largest change. first, second: weights (row, column), NaN where a side has none. only:
    restricts it to this row."""
    changes = np.abs(np.nan_to_num(second - first))
    if only is not None:
        changes = np.where(np.arange(len(changes))[:, None] == only, changes, 0)
    row, column = at = np.unravel_index(changes.argmax(), changes.shape)
    return WORDS("unchanged" if changes.max() <= EQUAL else "most", row=escape_markdown(aligned.rows[row].text),
                 column=escape_markdown(aligned.columns[column].text), one=first[at], other=second[at],
                 change=second[at] - first[at])


def unchanged_why(edits: frozenset[Edit], here: HeadId) -> str:
    """Return why an edit leaves the open head unchanged, or "" if the reason is unknown."""
    for edit in edits:
        if isinstance(edit, Silence | Patch) and here[0] <= edit.layer:
            return WORDS("edited", layer=edit.layer)
    return ""


def alone_claim(aligned: Alignment) -> str:
    """Say how many rows and columns only one side has; "" if there are none."""
    rows, columns = (sum(not group.both for group in groups) for groups in (aligned.rows, aligned.columns))
    return WORDS("alone", rows=rows, columns=columns, of_rows=len(aligned.rows),
                 of_columns=len(aligned.columns)) if rows or columns else ""


def grid_section(page: PageContext, view: View, compared: Comparison, records: Pair, names: Names,
                 choose: Callable[..., None] | None) -> None:
    """Draw the grid of the first record's heads, coloured by their change, or by their similarity to the second's open
    head. choose(head=…) opens a head together with its counterpart; None if heads have no counterparts."""
    counterpart = choose is not None
    ranked = compared.frame()["divergence"]
    about = [WORDS["grid_about"]] + ([] if counterpart else [
        WORDS("grid_against", names=list(map(escape_markdown, names)))])
    heading(WORDS["grid" if counterpart else "grid_alike"], help=" ".join(about))
    if counterpart and ranked.iloc[0] <= EQUAL:
        st.markdown(WORDS["grid_none"])
        return
    # the title refers to the dark heads
    values = ranked if counterpart else 1 - ranked[::-1]
    offered = (ranked[ranked > EQUAL] if counterpart else values)[:SHOWN]
    colours = HeadValues(values.clip(lower=0).to_dict(), WORDS["grid_value" if counterpart else "grid_likeness"],
                         bound=max(values.abs().max(), EQUAL), ranked=True)
    coloured_grid(page, records, view, colours, offered.map(format_number).items(), key="compare-grid",
                  choose=choose or page.set)


def _answers(first: AttentionRecord, second: AttentionRecord, names: tuple[str, ...]) -> None:
    """Draw both answers: probabilities side by side, generated texts, or the angle between vectors. names: the sides'
    names in Markdown."""
    kinds = ["none" if each.prediction is None else each.prediction.kind for each in (first, second)]
    with st.container(key="aside-answers"):   # hidden while presenting
        heading(WORDS["answers"])
    angle, table = cosine(first, second), prediction_table(first, second, MOST_ANSWERS)
    if angle is not None:
        st.markdown(WORDS("cosine", cosine=angle))
    elif kinds == ["target", "target"]:
        texts = [" ".join(map(escape_markdown, each)) for each in target_texts(first, second)]
        st.markdown(WORDS("answers_text", texts=texts, names=names))
    elif not table:
        st.markdown(WORDS("answers_none", kinds=list(map(WORDS["kinds"].get, kinds)), names=names))
    else:
        st.caption(WORDS["answers_place"])
        st.markdown(markdown_table(WORDS("answers_head", names=names), [
            [escape_markdown(token), _share(one), _share(other), _share(other - one, format_change)]
            for token, one, other in table]))


def _share(number: float, written: Callable[[float], str] = format_weight) -> str:
    return "–" if math.isnan(number) else written(number)


def patching_section(page: PageContext, records: Pair, view: View, patches: PatchEffects,
                     choose: Callable[..., None]) -> None:
    """Draw the heads that change the answer when patched from the other sentence: all heads as a grid, and whole
    layers. records: of the first text, unedited and edited. choose(head=…) selects another head."""
    words, effects = Part(page, WORDS["patches"]), patches.frame()["effect"]
    strongest = effects[effects.abs().sort_values(ascending=False, kind="stable").index[:SHOWN]]
    heading(words["title"])
    prose(_lead(records[0], patches))
    left, right = split()
    with left:
        st.caption(words("grid", unit=words["logits_unit"] if patches.words else words["cosine_unit"]))
        bound = max(FAINT * abs(patches.other - patches.plain), effects.abs().max(), EQUAL)
        colours = HeadValues(effects.to_dict(), words["effect"], signed=True, bound=bound, ranked=True)
        coloured_grid(page, records, view, colours, strongest.map(format_change).items(), key="compare-patched",
                      choose=choose)
    with right:
        names = [*patches.layers, words["all"]]
        shares = np.array([patches.share(number) for number in (*patches.layers.values(), patches.whole)])
        words.tell(numbers=", ".join(f"{name} {true_minus(f'{share:z.2f}')}"
                                     for name, share in zip(names, shares, strict=True)))
        st.caption(words["layers"])
        words.figure(bars, names, {words["share"]: shares}, height=BARS_HIGH, key="compare-layers", kind="layers")
    prose(bullets(patching_claims(patches)))


def _lead(record: AttentionRecord, patches: PatchEffects) -> str:
    """Describe the patched quantity and its value for both texts."""
    words = WORDS["patches"]
    if patches.words is None or patches.place is None:
        return words("lead_cosine", patches=patches)
    own, other = map(escape_markdown, patches.words)
    tokens = next(each.queries for each in reversed(record.maps) if patches.place < len(each.queries))
    sentence = words("lead", own=own, other=other, token=token_markdown(tokens.texts[patches.place]),
                     patches=patches)
    return sentence + (" " + words("same", own=own, other=other) if patches.same else "")


def patching_claims(patches: PatchEffects) -> list[str]:
    """Describe how much single heads contribute, how many heads and which layers change the answer, and what this does
    not imply."""
    words, shares = WORDS["patches"], np.array([patches.share(number) for number in patches.patched])
    facts = {"n": len(patches.heads), "turned": sum(map(patches.turns, patches.patched)), "heads": ", ".join(
        f"**{head_label(*patches.heads[head])}** ({format_share(shares[head], 0)})"
        for head in np.argsort(-shares, kind="stable")[:SHOWN])}
    sentences = [words("ways" if np.isfinite(shares).all() else "no_way", **facts)]
    if patches.words is not None:
        layers = [str(layer) for layer, number in patches.layers.items() if patches.turns(number)]
        sentences.append(words("turned", other=escape_markdown(patches.words[1]), layers=", ".join(layers),
                               count=len(layers), **facts))
    return [*sentences, words["caution"]]
