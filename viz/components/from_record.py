"""Make the values that are drawn (picture.py) from a record and a view."""
import threading
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.heads import BY_NAME, HeadMeasures, Overview, measure
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.memory import ByteCache
from clearhead.model.core.picture_rows import answer_start, row_parts, visual_sinks
from clearhead.model.core.query import Hide, Kind, UserError, isolated
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import View, allowed_keys, displayed_head, displayed_rows, overlaid_heads
from clearhead.viz.components.picture import SMALL, Grid, GridPicture, Head, Image, Patches, PatchValues
from clearhead.viz.style import glow
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.numbers import format_share
from clearhead.viz.style.text import strings

WORDS, PAPER = strings("components")["picture"], strings("export")
NO_PICTURE = "The picture lens is for vision models; choose the matrix."
LEAST = 0.005   # smallest share of a row that is drawn
MARKED = 6   # number of heads marked for the pair
LARGE, CELLS = 1024, 48   # most pixels per side of a photograph, and most cells per side of a thumbnail over it
EDGE, BETWEEN = 0.005, 128   # distance from the edge that is none; the grey between two copies of a picture
_HEADS: ByteCache[Hashable, tuple] = ByteCache(LIMITS.measure_bytes // 8)   # not counting the messages, half as large
_LOCK = threading.Lock()


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


def image_of(record: AttentionRecord, view: View, label: str = "") -> Image:
    """Return the open head's row for the token in focus over the model's picture. label: describes the picture. Raises
    UserError for a record of text or if no token is in focus."""
    if record.picture is None:
        raise UserError(NO_PICTURE)
    if view.token is None:
        raise UserError("The picture lens shows the weights of one token, but none is in focus; choose a token.")
    attention_map, values = record[view.kind], row_of(record, view)
    patches, notes = patches_of(record, view.kind, label), [PAPER("kept", share=view.keep)] if view.keep < 1 else []
    shown = Image(patches, values, view.token, hidden=hidden_tokens(record))
    if patches.alone:
        beside = ", ".join(f"{isolated(text)} {weight:z.3f}"
                           for text, weight, box in zip(patches.texts, values.numbers, patches.boxes, strict=True)
                           if np.isnan(box[0]) and np.isfinite(weight))
        return replace(shown, notes=(*([PAPER("beside", list=beside)] if beside else []), *notes))
    sinks = np.flatnonzero(visual_sinks(attention_map, attention_map.layer(view.layer), view.head)).tolist()
    parts = {WORDS["parts"][part]: share for part, share in row_parts(
        record, attention_map, view.layer, view.head, view.token).items() if share >= LEAST}
    notes.append(PAPER("parts", list=", ".join(f"{part} {format_share(share, 0)}" for part, share in parts.items())))
    if view.hide_sinks and sinks:
        notes.append(PAPER("sinks_left_out", list=", ".join(patches.texts[sink] for sink in sinks)))
    texts, boxes, numbers, row = [*patches.texts], patches.boxes, values.numbers, view.token
    if attention_map.kind.base is Kind.CROSS:   # its rows are not among the keys
        boxes, numbers = (np.concatenate([each, np.full_like(each[:1], np.nan)]) for each in (boxes, numbers))
        row = len(texts)
    texts[row:row + 1] = [row_name(record, attention_map, view.token)]
    return Image(replace(patches, texts=tuple(texts), boxes=boxes), replace(values, numbers=numbers), row,
                 hidden=shown.hidden, outlined=() if view.hide_sinks else sinks, chosen=view.pair and view.pair[1],
                 parts=parts, notes=tuple(notes))


def row_name(record: AttentionRecord, attention_map: AttentionMap, token: int) -> str:
    """Return the name of a row: its token, and the word of an answer that it writes."""
    tokens, name = attention_map.queries, lambda token: isolated(patch_name(attention_map.queries, token))
    writes = answer_start(record, attention_map) <= token + 1 < len(tokens)
    return WORDS("writes", token=name(token), word=name(token + 1)) if writes else name(token)


def patch_name(tokens: Tokens, token: int) -> str:
    """Return a patch's name (row and column), or the text of any other token."""
    place = tokens.place(token)
    return visible_token(tokens.texts[token]) if place is None else WORDS("patch", row=place[0], column=place[1])


def patches_of(record: AttentionRecord, kind: Kind, label: str = "") -> Patches:
    """Return a record's picture and its tokens: a copy of the picture for each layer of patches, below or beside each
    other, hatched where no patch lies."""
    tokens = record[kind].keys
    assert record.picture is not None, "a record of text has no patches"
    boxes = np.array([(np.nan,) * 4 if box is None else box for box in tokens.boxes], np.float32)
    picture = smaller(record.picture, LARGE)
    first = int(picture.shape[0] >= picture.shape[1])   # the axis along which the copies lie: 0 down, 1 across
    gap, side = max(picture.shape) // 40 + 1, picture.shape[first]
    whole, copies = len(tokens.layers) * (side + gap) - gap, list[np.ndarray]()
    for number, layer in enumerate(map(list, tokens.layers)):
        copies += [hatched(picture, boxes[layer]), np.full_like(picture.take([0] * gap, first), BETWEEN)]
        along = np.ix_(layer, (0, 2) if first else (1, 3))
        boxes[along] = (boxes[along] * side + number * (side + gap)) / whole
    return Patches(np.concatenate(copies[:-1], first), tuple(patch_name(tokens, token) for token in range(len(tokens))),
                   boxes, label, alone=not tokens.of_picture)


def hatched(picture: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the picture, uint8 (height, width, 3), hatched where no box lies, which is what the model does not see.
    boxes: (patch, 4), as shares."""
    high, wide = picture.shape[:2]
    # a box this close to the edge reaches it
    snapped = np.where(boxes < EDGE, 0, np.where(boxes > 1 - EDGE, 1, boxes))
    unseen = glow.spread(np.ones(len(boxes)), snapped, (high, wide)) == 0
    stripes = np.add.outer(np.arange(high), np.arange(wide)) // max(3, max(high, wide) // 60) % 3 == 0
    return np.where(unseen[..., None], picture // 3 + np.where(stripes, 140, 40)[..., None], picture).astype(np.uint8)


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


def rows_over_picture(record: AttentionRecord, view: View, opacity: float) -> tuple[Overview, GridPicture]:
    """Return each head's row for the token in focus as a thumbnail, the patches' colours in cells as large as the
    smallest patch; and the picture behind the thumbnails."""
    attention_map, patches = record[view.kind], patches_of(record, view.kind)
    even, most = scale_of(attention_map, view.token or 0)
    of, (right, bottom) = list(attention_map.keys.patches), np.nanmax(patches.boxes[:, 2:], axis=0).tolist()
    boxes = patches.boxes[of] / np.array((right, bottom, right, bottom), np.float32)
    across, down = (min(CELLS, round(1 / float((boxes[:, side + 2] - boxes[:, side]).min()))) for side in (0, 1))
    # the patch in each cell, from 1; 0 for none
    patch = glow.spread(np.arange(1, len(of) + 1, dtype=np.float32), boxes, (down, across)).astype(int)
    cells = []
    for rows in displayed_rows(attention_map, view):
        shares = np.round(255 * glow.shares_of(rows[:, of], even, most)).astype(np.uint8)
        cells.append(np.pad(shares, ((0, 0), (1, 0)))[:, patch])
    return (Overview(attention_map.kind, tuple(layer.index for layer in attention_map.layers), tuple(cells), (1, 1),
                     others=attention_map.others),
            GridPicture(smaller(patches.picture), most, (right, bottom), opacity))


def smaller(picture: np.ndarray, side: int = SMALL) -> np.ndarray:
    """Shrink the picture to at most `side` pixels per side by averaging squares; uint8 (height, width, 3)."""
    from PIL import Image as Pixels

    step = -(-max(picture.shape[:2]) // side)
    return picture if step == 1 else np.asarray(Pixels.fromarray(picture).reduce(step))
