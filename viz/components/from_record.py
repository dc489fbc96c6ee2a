"""Make the values that are drawn (picture.py) from a record and a view."""
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.heads import BY_NAME, HeadMeasures, Overview, measure
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.memory import ByteCache
from clearhead.model.core.query import Hide, Kind, UserError, isolated
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import View, allowed_keys, displayed_head, displayed_rows, overlaid_heads
from clearhead.viz.components.picture import SMALL, Grid, GridPicture, Head, Image, Patches, PatchValues
from clearhead.viz.style import glow
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.text import strings

WORDS, PAPER = strings("components")["picture"], strings("export")
NO_PICTURE = "The picture lens is for vision models; choose the matrix."
MARKED = 6   # number of heads marked for the pair
_HEADS, _LOCK = ByteCache(LIMITS.measure_bytes // 8), threading.Lock()   # not counting the messages, half as large


def picture_of(record: AttentionRecord, view: View, grid: bool = False) -> Head | Grid | Image:
    """Return the open head in its lens, or all heads of its kind. Raises UserError if the view cannot be shown."""
    if grid:
        return grid_of(record, view)
    return image_of(record, view) if view.lens == "picture" else head_of(record, view)


def head_of(record: AttentionRecord, view: View) -> Head:
    """Return the open head and those laid over it. They are kept while tokens are chosen, which changes nothing in
    them: at 2,000 tokens they are 32 MB. Raises UserError if the view cannot be shown."""
    chosen = replace(view, token=None, pair=None)
    key = record.query, chosen
    with _LOCK:
        known = _HEADS.get(key)
    if known is None or known[0]() is not record:
        known = weakref.ref(record), (displayed_head(record, chosen), *overlaid_heads(record, chosen))
        with _LOCK:
            _HEADS[key] = known
    return Head(known[1], view)


def grid_of(record: AttentionRecord, view: View, overview: Overview | None = None,
            measures: HeadMeasures | None = None) -> Grid:
    """Return all heads of the view's kind in the view's order, with those marked that have the largest weights for the
    pair. overview, measures: of these heads, if they are known. Raises UserError if the record has none."""
    attention_map = record[view.kind]
    pairs = heads.rank_heads_for_pair(attention_map, *view.pair) if view.pair else []
    ranking: Sequence[tuple[int, int, float]] = pairs if view.order == "pair" else ()
    title = PAPER["by_pair"]
    if view.order in BY_NAME and view.order in (measured := measures or measure(attention_map)).values:
        ranking, title = measured.ranked(view.order), f"{BY_NAME[view.order].title} ({BY_NAME[view.order].unit})"
    badges = [(layer, head, rank) for rank, (layer, head, _) in enumerate(pairs[:MARKED], 1)]
    pair = " → ".join(visible_token(tokens.texts[token]) for tokens, token in zip(
        (attention_map.queries, attention_map.keys), view.pair or ()))
    return Grid(overview or heads.overview(attention_map), view.head_id, tuple(ranking), badges,
                sorted_by=title if ranking else "", pair=pair)


def image_of(record: AttentionRecord, view: View) -> Image:
    """Return the open head's row for the token in focus over the model's picture. Raises UserError for a record of text
    or if no token is in focus."""
    if record.picture is None:
        raise UserError(NO_PICTURE)
    if view.token is None:
        raise UserError("The picture lens shows the weights of one token, but none is in focus; choose a token.")
    patches, values = patches_of(record, view.kind), row_of(record, view)
    beside = ", ".join(f"{isolated(text)} {weight:z.3f}"
                       for text, weight, box in zip(patches.texts, values.numbers, patches.boxes, strict=True)
                       if np.isnan(box[0]) and np.isfinite(weight))
    notes = [PAPER("beside", list=beside)] if beside else []
    notes += [PAPER("kept", share=view.keep)] if view.keep < 1 else []
    return Image(patches, values, view.token, hidden=hidden_tokens(record), notes=tuple(notes))


def patch_name(tokens: Tokens, token: int) -> str:
    """Return a patch's name (row and column), or the text of any other token."""
    place = tokens.place(token)
    return visible_token(tokens.texts[token]) if place is None else WORDS("patch", row=place[0], column=place[1])


def patches_of(record: AttentionRecord, kind: Kind, label: str = "") -> Patches:
    """Return a record's picture and its tokens. Raises ValueError for a record of text."""
    tokens = record[kind].keys
    if record.picture is None or tokens.grid is None:
        raise ValueError("expected a record of a picture, got one of text; draw it in another lens")
    columns, numbers = tokens.grid[1], range(len(tokens))
    places = [-1 if (place := tokens.place(token)) is None else place[0] * columns + place[1] for token in numbers]
    boxes = np.array([(np.nan,) * 4 if box is None else box for box in tokens.boxes], np.float32)
    return Patches(record.picture, tuple(patch_name(tokens, token) for token in numbers), boxes, tuple(places),
                   tokens.grid, label)


def hidden_tokens(record: AttentionRecord) -> tuple[int, ...]:
    """Return the source tokens that the record's query hides."""
    return tuple(sorted(edit.token for edit in record.asked.edits if isinstance(edit, Hide) and edit.side == "source"))


def scale_of(attention_map: AttentionMap, token: int) -> tuple[float, float]:
    """Return (uniform weight of the token's row, the multiple of it that is drawn at full colour)."""
    allowed = allowed_keys(attention_map.layers[0], token)
    return glow.even_weight(allowed), glow.most_times(int(allowed[0].sum()))


def row_of(record: AttentionRecord, view: View) -> PatchValues:
    """Return the open head's row for the token in focus, after the view's filters."""
    attention_map = record[view.kind]
    rows = displayed_rows(attention_map, view)
    at = [layer.index for layer in attention_map.layers].index(view.layer)
    even, most = scale_of(attention_map, view.token or 0)
    return PatchValues(rows[at][view.head], WORDS("head", layer=view.layer, head=view.head), WORDS["weight"],
                       even=even, high=most)


def rows_overview(attention_map: AttentionMap, view: View) -> Overview:
    """Return each head's row for the token in focus as a thumbnail: the patches' colours in their grid."""
    tokens = attention_map.keys
    even, most = scale_of(attention_map, view.token or 0)
    grid, patches = tokens.grid or (1, 1), np.array(tokens.patches)
    places = np.array([tokens.place(token) for token in patches])
    cells = []
    for rows in displayed_rows(attention_map, view):
        drawn = np.zeros((len(rows), *grid), np.uint8)
        drawn[:, places[:, 0], places[:, 1]] = np.round(255 * glow.shares_of(rows[:, patches], even, most))
        cells.append(drawn)
    return Overview(attention_map.kind, tuple(layer.index for layer in attention_map.layers), tuple(cells), (1, 1),
                    others=attention_map.others)


def picture_behind(record: AttentionRecord, view: View, opacity: float) -> GridPicture:
    """Return the record's picture to draw behind the thumbnails. Raises ValueError for a record of text."""
    tokens = record[view.kind].keys
    if record.picture is None:
        raise ValueError("expected a record of a picture, got one of text; draw its overview instead")
    boxes = [box for box in tokens.boxes if box is not None]
    covered = (max(box.right for box in boxes), max(box.bottom for box in boxes))
    return GridPicture(smaller(record.picture), scale_of(record[view.kind], view.token or 0)[1], covered, opacity)


def smaller(picture: np.ndarray, side: int = SMALL) -> np.ndarray:
    """Shrink the picture to at most `side` pixels per side by averaging squares; uint8 (height, width, 3)."""
    step = -(-max(picture.shape[:2]) // side)
    if step == 1:
        return picture
    rows, columns = (range(0, size, step) for size in picture.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(picture.astype(np.int64), list(rows), axis=0), list(columns), axis=1)
    high, wide = (np.diff([*starts, size]) for starts, size in zip((rows, columns), picture.shape[:2], strict=True))
    return np.round(sums / (high[:, None] * wide)[..., None]).astype(np.uint8)
