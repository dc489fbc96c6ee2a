"""What a page stores between runs: the question, the view, and which parts of the view the user chose."""
from dataclasses import fields, replace
from typing import Any

import numpy as np

from clearhead.model.core import heads, pictures
from clearhead.model.core.query import HeadId, Kind, frozen
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import SCALES, View, links_from, telling_token
from clearhead.viz.app.examples import Example, example_for, examples, token_of
from clearhead.viz.style import glow
from clearhead.viz.style.theme import strength

WORKED_OUT = ("kind", "head", "pair", "token", "scale", "lens")   # derived from the record unless chosen by the user
TEXTS = ("text", "text_b", "target")                      # fields that the user types
QUESTION = {"model", "image", "chat", "continuation", *TEXTS}
VIEW = {each.name for each in fields(View)}
PRESENTING = {"present", "screen", "entry", "show", "guest"}


@frozen
class State:
    """The question, the view of its answer, and the pages' controls."""

    model: str = "minilm"                    # model id
    text: str = examples()[0].text           # the model's input
    text_b: str | None = None                # the second text, for models that read pairs
    target: str | None = None                # the target, for an encoder–decoder
    image: str | None = None                 # the input picture's sha256; None for text
    chat: bool = False                       # whether the text is a turn in the model's chat template
    continuation: tuple[int, ...] = ()       # ids of the tokens that a decoder wrote after the text
    view: View = View()                      # how the answer is shown
    user_set: frozenset[str] = frozenset()   # members of WORKED_OUT that the user chose
    # (page, control, value) of every control that differs from its default; kept when the page is left
    control_values: frozenset[tuple[str, str, Any]] = frozenset()
    show: bool = False                       # whether all covered answers are revealed, on all pages
    present: bool = False                    # whether the page is presented
    screen: str = ""                         # the current screen of a lesson while presenting; "" for the first
    entry: int = 0                           # position in the presented list, from 1; 0 if there is none
    guest: bool = False                      # whether the visitor came by a class link, which hides the teacher's tools
    # (field, short name) of every text that a link names but does not contain; the name is "" for a damaged link
    absent_texts: frozenset[tuple[str, str]] = frozenset()

    @property
    def absent(self) -> dict[str, str]:
        """{field: short name} of the texts that a link names but does not contain, and that have not been typed
        since."""
        return {field: name for field, name in sorted(self.absent_texts) if not getattr(self, field)}

    def with_control_values(self, page: str, **changes: object) -> "State":
        """Return the state with some of a page's controls changed; None resets one to its default."""
        others = {entry for entry in self.control_values if entry[0] != page or entry[1] not in changes}
        return replace(self,
                       control_values=frozenset(others | {(page, name, value) for name, value in changes.items()
                                                          if value is not None}))

    def controls_of(self, page: str) -> dict[str, Any]:
        """Return {control: value} for the page's controls that differ from their defaults."""
        return {name: value for owner, name, value in self.control_values if owner == page}

    def with_view(self, **changes: Any) -> "State":
        """Return the state with a choice in the view; `head` takes (layer, head)."""
        if "head" in changes:
            changes["layer"], changes["head"] = changes["head"]
        names = {"head" if name == "layer" else name for name in changes} & set(WORKED_OUT)
        return replace(self, view=replace(self.view, **changes), user_set=self.user_set | names)

    def with_question(self, **changes: Any) -> "State":
        """Return the state with another question. A new model or example (text and second text) resets the head. An
        edited text keeps the open head, another picture also the patch, and every change keeps a scale and a lens
        chosen by the user. What a decoder wrote belongs to its model and text. A model with its own pictures starts
        with one of them."""
        absent = frozenset(entry for entry in self.absent_texts if entry[0] not in changes)
        asked = replace(self, absent_texts=absent, **{"continuation": ()} | changes)
        if asked.model != self.model:
            image = changes["image"] if "image" in changes else self.image and pictures.fitting(asked.model, self.image)
            asked = replace(asked, image=image)
        elif not {"text", "text_b"} <= changes.keys():
            kept = {"kind", "head", "scale", "lens"} | ({"token"} if set(changes) == {"image"} else set())
            return replace(asked, user_set=self.user_set & kept, view=replace(self.view, quadrant=""))
        return replace(asked, user_set=self.user_set & {"scale", "lens"},
                       view=replace(self.view, overlay=(), quadrant="", order="layer"))


def complete_view(state: State, record: AttentionRecord) -> View:
    """Return the view with everything that the user did not choose derived from the record. Choices that the record
    lacks are dropped."""
    view, chosen = state.view, state.user_set
    example = None if record.picture is not None or state.continuation else example_for(state.text, state.text_b)
    own = next((each.kind for each in record.maps if each.keys.of_picture and each.kind.base is not Kind.SELF), None)
    kind = view.kind if "kind" in chosen and view.kind in record.kinds else own or record.kinds[0]
    attention_map = record[kind]
    pair = view.pair if "pair" in chosen else _example_pair(example, state, attention_map)
    if pair is not None and not (pair[0] < len(attention_map.queries) and pair[1] < len(attention_map.keys)):
        pair = None
    token = view.token if "token" in chosen else None
    if token is None or token >= len(attention_map.queries):
        last = len(attention_map.queries) - 1   # the row that produces the next token, or the first one of an answer
        last -= len(state.continuation) * bool(attention_map.keys.of_picture)
        token = pair[0] if pair else max(last, 0) if state.continuation else first_token(attention_map.queries)
    layer, head = view.head_id
    if "head" not in chosen or not attention_map.has(layer, head):
        layer, head = _first_head(attention_map, pair, token)
    overlay = tuple(other for other in view.overlay if attention_map.has(*other) and other != (layer, head))
    lens = _fitting_lens(view.lens if "lens" in chosen else "", record.picture is not None
                         and bool(attention_map.keys.patches))
    view = replace(view, kind=kind, pair=pair, token=token, layer=layer, head=head, overlay=overlay, lens=lens)
    return view if "scale" in chosen else replace(view, scale=readable_scale(tenth_weight(attention_map, view)))


def _fitting_lens(lens: str, pictured: bool) -> str:
    """Return the lens, or a substitute that suits patches of a picture or tokens of a text."""
    if pictured:
        return "picture" if lens in ("", "text") else lens
    return "matrix" if lens in ("", "picture") else lens


def first_token(tokens: Tokens) -> int:
    """Return the default token in focus: for a text the most informative one, for a picture [CLS], which represents the
    whole picture, or the centre patch if there is no [CLS]."""
    if tokens.grid is None:
        return telling_token(tokens)
    first = next((token for token in range(len(tokens)) if tokens.place(token) is None), None)
    middle = tokens.patch_at(tokens.grid[0] // 2, tokens.grid[1] // 2)
    return first if first is not None else middle or 0


def _first_head(attention_map: AttentionMap, pair: tuple[int, int] | None, token: int) -> HeadId:
    """Return the head with the largest weight for the pair, or from the token to another. For a picture, return the
    head with the most coloured patches: one that attends to a single patch, or to all equally, would be a poor first
    example."""
    patches = list(attention_map.keys.patches)
    if pair is None and patches:
        even, most = 1 / len(attention_map.keys), glow.most_times(len(attention_map.keys))
        coloured = {(layer.index, head): float(glow.shares_of(row[patches], even, most).sum())
                    for layer in attention_map.layers for head, row in enumerate(heads.row_weights(layer, token))}
        return heads.largest_first(coloured)[0][:2]
    if pair is None and (links := links_from(attention_map, token)):
        return links[0].layer, links[0].head
    return heads.rank_heads_for_pair(attention_map, *(pair or (token, min(token, len(attention_map.keys) - 1))))[0][:2]


def _example_pair(example: Example | None, state: State, attention_map: AttentionMap) -> tuple[int, int] | None:
    if example is None or attention_map.kind.base is Kind.CROSS:
        return None
    texts = (state.text, state.text_b)
    query = token_of(attention_map.queries, texts, example.pair[0])
    meant = example.rival if example.rival and state.text == example.twin else example.pair[1]
    key = token_of(attention_map.keys, texts, meant)
    if attention_map.kind.base is Kind.CAUSAL and query is not None and key is not None and key > query:
        query, key = key, query
    return None if query is None or key is None or query == key else (query, key)


LONG = 32       # most columns of a short row, in which a few large weights are most of the row
NUMBER = 10     # rank, from the largest, of the weight that should be visible
SEEN = 0.1      # position on the ramp from which a cell differs visibly from an empty one
ROWS = 256      # most rows examined, in the middle of the text


def tenth_weight(attention_map: AttentionMap, view: View) -> float | None:
    """Return the median of the tenth largest weight in the open head's rows, over rows in the middle of the text.
    Return None if the text is too short for the scale to matter, if no row has ten weights, or for lines, which would
    become a cloud."""
    rows, columns = len(attention_map.queries), len(attention_map.keys)
    if columns <= LONG or view.lens == "lines":
        return None
    start = max(0, (rows - ROWS) // 2)
    weights = heads.weights(attention_map.layer(view.layer), view.head, slice(start, min(rows, start + ROWS)))
    tenth = np.partition(weights, -NUMBER, axis=1)[:, -NUMBER]
    return float(np.median(tenth[tenth > 0])) if (tenth > 0).any() else None


def readable_scale(tenth: float | None) -> str:
    """Return the first scale on which a row's tenth largest weight is visible, or the last scale if there is none."""
    if tenth is None:
        return SCALES[0]
    return next((scale for scale in SCALES if strength(np.array(tenth), scale) >= SEEN), SCALES[-1])
