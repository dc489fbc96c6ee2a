"""Two pictures, or one with a patch hidden: what is asked, and the row in focus over both and their difference."""
from dataclasses import replace

import numpy as np
import streamlit as st

from model.core.query import Hide, Query
from model.core.record import AttentionRecord
from model.core.view import DisplayedHead, View
from model.studies.alignment import Group
from model.studies.comparison import Alignment
from viz.components.picture_view import PatchEvent, PatchState, PatchValues, picture_view
from viz.components.picture_view.rows import hidden_tokens, patch_name, patches_of, scale_of
from viz.page import PageContext
from viz.pages.compare.sides import EQUAL
from viz.text import escape_markdown, strings
from viz.widgets.fields import bind
from viz.widgets.handout_button import picture_button
from viz.widgets.pictures.choice import picture_name, picture_options
from viz.widgets.pictures.strip import patch_strip

EDITS = ("zero", "mean", "temper", "hide")   # what can be done to a head, or to a patch, of a picture
HIGH = 360   # pixels of each of three


def other_picture(page: PageContext, asked: Query) -> Query:
    """The same question of another picture, which is chosen here."""
    options = {sha256: name for sha256, name in picture_options().items() if sha256 != asked.image}
    wanted = page.controls["picture"]
    chosen = wanted if wanted in options else next(iter(options))
    st.selectbox(strings("compare")["other_picture"], list(options), format_func=options.__getitem__, width=320,
                 **bind(page.set, "picture", chosen))
    return replace(asked, image=chosen)


def hidden_patch(page: PageContext, record: AttentionRecord, view: View) -> Hide:
    """The patch that nobody may look at, which is clicked here."""
    tokens, wanted = record[view.kind].keys, page.controls["hidden"]
    middle = tokens.patch_at((tokens.grid or (1, 1))[0] // 2, (tokens.grid or (1, 1))[1] // 2)
    token = wanted if wanted in tokens.patches else middle if middle is not None else tokens.patches[0]

    def take(event: PatchEvent) -> None:
        if event.token is not None and tokens.place(event.token) is not None:
            page.set(hidden=event.token)

    patch_strip(record, replace(view, token=token), key="compare-hide", says=strings("compare")["hide_which"],
                on_event=take)
    return Hide("source", token)


def over_pictures(records: tuple[AttentionRecord, AttentionRecord]) -> bool:
    """Whether the two can be drawn over their pictures, patch beside patch."""
    grids = [record.maps[0].keys.grid for record in records]
    return all(record.picture is not None for record in records) and grids[0] == grids[1]


def with_patch_names(aligned: Alignment, records: tuple[AttentionRecord, AttentionRecord], view: View) -> Alignment:
    """The alignment with its patches called as everywhere on the pages, by row and column; of texts it stays."""
    def named(groups: tuple[Group, ...], side: str) -> tuple[Group, ...]:
        first, second = (getattr(record[view.kind], side) for record in records)
        return tuple(replace(group, text=patch_name(first, group.first[0]) if group.first else
                             patch_name(second, group.second[0])) for group in groups)

    if any(record.picture is None for record in records):
        return aligned
    return Alignment(named(aligned.rows, "queries"), named(aligned.columns, "keys"))


def rows_over_pictures(records: tuple[AttentionRecord, AttentionRecord], view: View, shown: tuple[DisplayedHead, ...],
                       aligned: Alignment) -> tuple[int, tuple[PatchValues, ...]]:
    """The token in focus, and what it looks at in the first, in the second, and how much more in the second, each by
    the tokens of its own side; what is hidden has no number."""
    row = next((place for place, group in enumerate(aligned.rows) if view.token in group.first), 0)
    focus, changes = aligned.rows[row].first[0] if aligned.rows[row].first else 0, shown[2].weights[row]
    bound, found = max(float(np.abs(np.nan_to_num(changes)).max()), EQUAL), []
    for place, head in enumerate(shown):
        record = records[min(place, 1)]
        numbers = np.full(len(record[view.kind].keys), np.nan, np.float32)
        for group, weight in zip(aligned.columns, head.weights[row], strict=True):
            numbers[list(group.second if place else group.first)] = weight
        even, most = scale_of(record[view.kind], focus)
        numbers[list(hidden_tokens(record)) if place < 2 else []] = np.nan
        found.append(PatchValues(numbers, _name(head), even=even, high=most) if place < 2 else
                     PatchValues(numbers, _name(head), strings("compare")["change"], "signed", high=bound))
    return focus, tuple(found)


def three_over_pictures(page: PageContext, records: tuple[AttentionRecord, AttentionRecord], view: View, focus: int,
                        values: tuple[PatchValues, ...], titles: list[list[str]]) -> None:
    """The row in focus over the first picture, over the second, and what changed; a patch that is chosen in one of them
    is in focus in all."""
    def take(event: PatchEvent) -> None:
        if event.token is not None:
            page.set(token=event.token)

    columns = st.columns(3, gap="small")
    for place, (column, name) in enumerate(zip(columns, ("first", "second", "difference"), strict=True)):
        record, (title, *parts) = records[min(place, 1)], titles[place]
        with column:
            said = [f"**{escape_markdown(title)}**", *(map(escape_markdown, parts) if place < 2 else ())]
            st.markdown(" · ".join(said))
            drawn = picture_view(patches_of(record, view.kind, picture_name(record.query.image)),
                                 values[place], PatchState(focus, hidden=hidden_tokens(record)), height=HIGH,
                                 key=f"compare-over-{name}", on_event=take)
            picture_button(drawn, records[place:place + 1] or records)


def _name(shown: DisplayedHead) -> str:
    return strings("components")["picture"]["head"].format(layer=shown.layer, head=shown.head)
