"""The parts of the page Compare two: the open head in both and their difference, which heads changed most, and what
the two answer."""
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.heads import Overview
from model.core.measures import largest_first
from model.core.query import Edit, Hide, Kind, Patch, Silence, Window
from model.core.record import AttentionRecord
from model.core.types import HeadId
from model.core.view import SCALES, DisplayedHead, View
from model.studies.comparison import Alignment, Comparison, cosine, difference_views, prediction_table
from viz.components.head_grid import GridState, HeadValues, head_grid
from viz.components.head_view import ViewEvent, head_view
from viz.components.picture_view import PatchValues
from viz.components.picture_view.rows import patch_name
from viz.export.comparison import KINDS, NAMES, SavedComparison, as_csv, picture
from viz.format import format_change, format_weight, head_label
from viz.page import PageContext
from viz.pages.compare.pictures import over_pictures, rows_over_pictures, three_over_pictures, with_patch_names
from viz.pages.compare.sides import EQUAL, Sides, of_pictures, sides
from viz.text import escape_markdown, strings
from viz.widgets.fields import pills, segments
from viz.widgets.handout_button import picture_button
from viz.widgets.pictures.choice import picture_name

SHOWN = 6          # heads that are offered
MOST_ANSWERS = 4   # words of each answer
FEW, FEW_PRESENTED = 16, 10   # groups of tokens whose labels have room in a row of three; in a presentation
HIGH = (360, 520, 760)      # pixels of one of three, of one of two, of one alone


def alternatives(model: str) -> dict[str, str]:
    """{id: title} of every other model that is here and looks at the same, text or pictures."""
    offers = sources.catalogue()
    pictures = any(offer.pictures for offer in offers if offer.id == model)
    return {offer.id: offer.title for offer in offers
            if offer.on_disk and offer.id != model and offer.pictures == pictures}


def difference_section(page: PageContext, records: tuple[AttentionRecord, AttentionRecord], view: View,
                       other: tuple[Kind, HeadId], aligned: Alignment) -> Sides:
    """The open head in both and their difference, and below it what is true of it and what the two answer; what
    the two are called."""
    words, (kind, head) = strings("compare"), other
    shown = difference_views(*records, ((view.kind, view.layer, view.head), (kind, *head)), aligned)
    bound = max(float(np.abs(np.nan_to_num(shown[2].weights)).max()), EQUAL)
    names = _sides(page, records, ((view.layer, view.head), head))
    titles = _titles(page, names, ((view.layer, view.head), head), bound)
    scales = strings("heads")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"##### {words['picture']}")
        if not over_pictures(records):   # whose colours have one scale of their own
            segments(scales["scale"], {scale: scales["scales"][scale] for scale in SCALES}, page.set, "scale",
                     view.scale)
    over: tuple[PatchValues, ...] = ()
    focus: int | None = None
    if over_pictures(records):
        focus, over = rows_over_pictures(records, view, shown, aligned)
        three_over_pictures(page, records, view, focus, over, titles)
    else:
        focus = _focus(view, aligned)   # places are groups in matrices
        _three_pictures(page, records, view, shown, titles, aligned, bound)
    left, right = st.columns(2, gap="medium")
    with left:
        _largest(shown, with_patch_names(aligned, records, view), (records[1].query.edits, head),
                 focus if over else None)
        looked = replace(view, token=focus, pair=None)
        if over:   # the colours of a row are of its own largest change
            titles[2][1:] = [words["bound"].format(bound=over[2].high)]
        saved = [" · ".join([name, *title[1:]]) for name, title in zip((*names.short, titles[2][0]), titles)]
        _save_menu(SavedComparison(shown, looked, bound, tuple(saved), records, page.link(), over))
    with right:
        _answers(*records, tuple(map(escape_markdown, names.short)))
    return names


def _three_pictures(page: PageContext, records: tuple[AttentionRecord, AttentionRecord], view: View,
                    shown: tuple[DisplayedHead, ...], titles: list[list[str]], aligned: Alignment,
                    bound: float) -> None:
    """Short texts in a row of three; of longer ones the two heads side by side and their difference below, larger."""
    in_a_row = max(len(aligned.rows), len(aligned.columns)) <= (FEW_PRESENTED if page.state.present else FEW)
    columns = [*st.columns(3 if in_a_row else 2, gap="small", vertical_alignment="bottom"), None]
    heights = (HIGH[0],) * 3 if in_a_row else (HIGH[1], HIGH[1], HIGH[2])
    bounds = (None, None, bound if bound > EQUAL else 1.0)
    for place, name in enumerate(NAMES):
        with columns[place] or st.container():
            title, *parts = titles[place]
            st.markdown(f"**{escape_markdown(title)}**" + "".join(f" · {escape_markdown(part)}" for part in parts))
            _picture(page, view, shown[place], aligned, f"compare-{name}", bounds[place], heights[place],
                     records[place:place + 1] or records)


def _sides(page: PageContext, records: tuple[AttentionRecord, AttentionRecord], heads: tuple[HeadId, HeadId]) -> Sides:
    """What the two are called; an edit of another head than the open one says which."""
    done = strings("compare")["edits"][page.controls["edit"]]
    for edit in records[1].query.edits:
        if isinstance(edit, Window):
            done = strings("compare")["window_done"].format(width=edit.width, first=edit.first)
        elif isinstance(edit, Hide):
            keys = records[1].maps[0].keys
            done = strings("compare")["hide_done"].format(token=patch_name(keys, edit.token))
        elif (edit.layer, edit.head) != heads[1]:
            done = f"{head_label(edit.layer, edit.head)} {done}"
    if page.controls["versus"] == "text" and records[0].picture is not None:
        return of_pictures(*(picture_name(record.query.image) or strings("pictures")["gone"] for record in records))
    return sides(page.controls["versus"], records, heads, done)


def _titles(page: PageContext, names: Sides, heads: tuple[HeadId, HeadId], bound: float) -> list[list[str]]:
    """What stands over each of the three: its name and what it is of, in parts."""
    words = strings("compare")
    titles = [list(dict.fromkeys([name, head_label(*head)])) for name, head in zip(names.long, heads)]
    change = words["difference"].format(one=names.short[0], other=names.short[1])
    return [*titles, [change, *([words["bound"].format(bound=bound)] if bound > EQUAL else [])]]


def _focus(view: View, aligned: Alignment) -> int | None:
    """The group of the token in focus."""
    return next((place for place, group in enumerate(aligned.rows) if view.token in group.first), None)


def _save_menu(comparison: SavedComparison) -> None:
    """The three pictures as one file, and the numbers; each is made when its button is pressed."""
    words = strings("compare")
    with st.popover(words["save"], type="tertiary", key="compare-save", on_change="rerun") as opened:
        if not opened.open:
            return
        with st.container(horizontal=True):
            for kind, mime in KINDS.items():
                st.download_button(kind.upper(), partial(picture, comparison, kind), f"clearhead-compare.{kind}", mime,
                                   on_click="ignore", key=f"compare-{kind}")
            st.download_button("CSV", lambda: as_csv(comparison.shown), "clearhead-compare.csv", "text/csv",
                               on_click="ignore", key="compare-numbers")


def _picture(page: PageContext, view: View, shown: DisplayedHead, aligned: Alignment, key: str, bound: float | None,
             height: int, records: tuple[AttentionRecord, ...]) -> None:
    """One of the three; a row that is chosen in one of them is in focus in all, and on the page Heads."""
    def take(event: ViewEvent) -> None:
        first = aligned.rows[event.token].first if event.token is not None else ()
        if first:
            page.set(token=first[0])

    view = replace(view, lens="matrix", token=_focus(view, aligned), pair=None)
    picture_button(head_view(shown, view, height=height, bound=bound, key=key, on_event=take), records)


def _largest(shown: tuple[DisplayedHead, ...], aligned: Alignment, second: tuple[frozenset[Edit], HeadId],
             token: int | None) -> None:
    """The largest change in words, and what could not be compared. second: its edits, and its open head. token: the one
    whose row alone is shown, over pictures."""
    over = token is not None
    only = next((place for place, group in enumerate(aligned.rows) if token in group.first), 0) if over else None
    st.markdown(change_claim(shown[0].weights, shown[1].weights, aligned, only))
    if float(np.abs(np.nan_to_num(shown[2].weights)).max()) <= EQUAL and (why := unchanged_why(*second)):
        st.markdown(why)
    st.caption(strings("compare")["over_about" if over else "picture_about"])
    if alone := alone_claim(aligned, over):
        st.caption(alone)


def change_claim(first: np.ndarray, second: np.ndarray, aligned: Alignment, only: int | None = None) -> str:
    """The largest change of the open head. first and second: weights (row, column), NaN where a side has none. only:
    of this row alone, where no other is shown."""
    words, changes = strings("compare"), np.abs(np.nan_to_num(second - first))
    if only is not None:
        words = words["of_row"]
        changes = np.where(np.arange(len(changes))[:, None] == only, changes, 0)
    row, column = map(int, np.unravel_index(changes.argmax(), changes.shape))
    one, other = float(first[row, column]), float(second[row, column])
    return words["unchanged" if changes.max() <= EQUAL else "most"].format(
        row=escape_markdown(aligned.rows[row].text), column=escape_markdown(aligned.columns[column].text),
        one=format_weight(one), other=format_weight(other), change=format_change(other - one))


def unchanged_why(edits: frozenset[Edit], here: HeadId) -> str:
    """Why an edit leaves the open head as it was; nothing where no reason is known."""
    words = strings("compare")
    for edit in edits:
        if isinstance(edit, Silence | Patch) and (edit.layer, edit.head) == here:
            return words["edited"]
        if isinstance(edit, Silence | Patch) and here[0] <= edit.layer:
            return words["edited_later"].format(layer=edit.layer)
    return ""


def alone_claim(aligned: Alignment, over_pictures: bool = False) -> str:
    """How many rows and columns only one side has; nothing where none. over_pictures: no matrix is shown."""
    rows, columns = (sum(not group.both for group in groups) for groups in (aligned.rows, aligned.columns))
    if not rows and not columns:
        return ""
    words = strings("compare")["alone_over" if over_pictures else "alone"]
    return words.format(rows=rows, columns=columns, of_rows=len(aligned.rows), of_columns=len(aligned.columns))


def grid_section(page: PageContext, overview: Overview, view: View, compared: Comparison,
                 records: tuple[AttentionRecord, ...], names: Sides, choose: Callable[..., None] | None) -> None:
    """Every head of the first by how much it changed, or by how like the second's open head it is. choose(head=…) opens
    one that has a counterpart; None where the two have none."""
    words, counterpart = strings("compare"), choose is not None
    ranked = largest_first(compared.frame()["changed"])
    st.markdown(f"##### {words['grid']}" if counterpart else f"##### {words['grid_alike']}")
    st.caption(words["grid_about"] + ("" if counterpart else " " + words["grid_against"].format(
        one=escape_markdown(names.short[0]), other=escape_markdown(names.short[1]))))
    if counterpart and ranked.iloc[0] <= EQUAL:
        st.markdown(words["grid_none"])
        return
    # dark is what the title asks for
    values = ranked if counterpart else 1 - ranked[::-1]
    offered = (ranked[ranked > EQUAL] if counterpart else values)[:SHOWN]
    choose = choose or page.set
    colours = HeadValues(values.clip(lower=0).to_dict(), words["grid_value" if counterpart else "grid_likeness"],
                         bound=max(values.abs().max(), EQUAL), ranked=True)
    coloured_grid(overview, view, colours, offered.index, key="compare-grid", records=records, choose=choose)
    pills(words["open"], [(head, f"{head_label(*head)}  {format_weight(value)}") for head, value in offered.items()],
          choose, "head", None, "rank_changed")


def coloured_grid(overview: Overview, view: View, values: HeadValues, offered: Iterable[HeadId], *, key: str,
                  records: tuple[AttentionRecord, ...], choose: Callable[..., None]) -> None:
    """The grid of heads with a number as colour, the offered ones with their rank; a click opens the head here, by
    choose(head=…)."""
    badges = [(layer, head, rank) for rank, (layer, head) in enumerate(offered, 1)]
    drawn = head_grid(overview, GridState((view.layer, view.head), rank_badges=badges, values=values), height=340,
                      key=key, on_event=lambda event: choose(head=(event.layer, event.head)))
    picture_button(drawn, records)


def _answers(first: AttentionRecord, second: AttentionRecord, names: tuple[str, ...]) -> None:
    """Both answers: probabilities beside each other, the texts that were written, or the angle between sentence
    vectors. names: of the two, in Markdown."""
    words, kinds = strings("compare"), [_kind(record) for record in (first, second)]
    st.markdown(f"##### {words['answers']}")
    angle = cosine(first, second)
    if angle is not None:
        said = words["cosine" if first.picture is None else "cosine_of_pictures"]
        st.markdown(said.format(cosine=angle))
    elif kinds == ["target", "target"]:
        texts = [" ".join(escape_markdown(best[0]) for best in prediction.texts)
                 for prediction in (first.prediction, second.prediction) if prediction is not None]
        st.markdown(words["answers_text"].format(one=names[0], other=names[1], first=texts[0], second=texts[1]))
    elif not prediction_table(first, second):
        st.markdown(words["answers_none"].format(one=names[0], other=names[1], first=words["kinds"][kinds[0]],
                                                 second=words["kinds"][kinds[1]]))
    else:
        rows = [f"| {escape_markdown(token)} | {_share(one)} | {_share(other)} | {_share(other - one, format_change)} |"
                for token, one, other in prediction_table(first, second, MOST_ANSWERS)]
        of = "" if first.picture is None else "_of_pictures"
        st.caption(words[f"answers_place{of}"])
        head = " | ".join(words[f"answers_head{of}"]).format(one=names[0], other=names[1])
        st.markdown("\n".join([f"| {head} |", "|---|---|---|---|", *rows]))


def _kind(record: AttentionRecord) -> str:
    """What sort of answer a record has, as the page's words name it."""
    kind = "none" if record.prediction is None else record.prediction.kind
    return "vector_of_picture" if kind == "vector" and record.picture is not None else kind


def _share(number: float, written: Callable[[float], str] = format_weight) -> str:
    return "–" if math.isnan(number) else written(number)
