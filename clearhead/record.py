"""The record of a forward pass: every head's attention as arrays, a table, an interactive view or a figure."""
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clearhead.model import sources
from clearhead.model.core import heads
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import OpenModel
from clearhead.model.core.query import Box, HeadId, Item, Kind, UserError, frozen, quoted
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer, Prediction, Verification
from clearhead.model.core.tokens import is_whole, number_of
from clearhead.model.core.view import View, checked_view
from clearhead.model.studies import circuits
from clearhead.model.studies.contributions import CosineQuery, Lens, LensQuery, Writes, WritesQuery
from clearhead.model.studies.paths import READS, Paths, PathsQuery

if TYPE_CHECKING:
    from pandas import DataFrame

    from clearhead.models import Model
    from clearhead.viz.export.paper.columns import Layout
    from clearhead.viz.notebook import Figure as LiveFigure

Token = int | str
MODELS = sources.CachedModels(LIMITS.models_bytes, sources.Cache(LIMITS.cache_bytes))   # of this library, not the app's
ask = MODELS.answer
HEADS = "[(3, 1), (5, 11)]"   # an example of heads, for errors


@frozen
class ModelLayer:
    """One layer of a model: its number, what it is ("attention", "mamba", "convolution", …), its number of attention
    heads, and the map that it belongs to."""

    index: int
    kind: str
    heads: int
    map: str


class Record:
    """The attention in one forward pass. `data` is the `AttentionRecord` with all captured data."""

    def __init__(self, data: AttentionRecord, model: "Model | None" = None) -> None:
        self.data, self._model = data, model

    def __repr__(self) -> str:
        sizes = ", ".join(f"{each.kind} {len(each.layers)}×{each.layers[0].heads} heads, "
                          f"{len(each.queries)}×{len(each.keys)} tokens" for each in self.data.maps)
        said = " · ".join(filter(None, (sizes, self.data.verification.status, self.data.unread)))
        return f"<Record of {self.data.card.title}: {said}>"

    def _repr_html_(self) -> str:
        return "".join(self.show(map=each)._repr_html_() for each in self.maps)

    def _repr_png_(self) -> bytes | None:
        """Return a PNG of all heads of the first map, like `Figure` in viz.notebook."""
        from clearhead.viz.notebook import png

        return png(self.data, View(self.data.kinds[0]), ())

    @property
    def text(self) -> str:
        """The input text."""
        return self.data.query.text

    @property
    def answer(self) -> str | None:
        """The text that the model wrote: the continuation from `generate`, or the target that an encoder–decoder
        generated. None if it wrote nothing."""
        return self.data.written

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of `tokens`."""
        return self.data.maps[0].queries.ids

    @property
    def model(self) -> str:
        """The title of the model."""
        return self.data.card.title

    @property
    def maps(self) -> tuple[str, ...]:
        """The kinds of attention: "self", "causal" or "cross"; "self 2" for a second stream of tokens."""
        return tuple(str(kind) for kind in self.data.kinds)

    @property
    def boxes(self) -> tuple[Box | None, ...]:
        """The rectangle of each of `tokens` in the picture (left, top, right and bottom as fractions of the picture's
        width and height), or None if the token has no place in it. If only cross-attention reads the picture, the
        rectangles are those of `keys("cross")`. For a vision–language model, the picture is the one that was given;
        for other models, the cropped and resized one that they read."""
        first = self.data.maps[0].queries
        return next((each.keys.boxes for each in self.data.maps if each.keys.boxes), (None,) * len(first))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The query tokens of the first map. `keys()` returns the key tokens."""
        return self.data.maps[0].queries.texts

    @property
    def layers(self) -> tuple[ModelLayer, ...]:
        """Every layer of the model. `weights()` holds those with attention."""
        return tuple(ModelLayer(*found, str(each.kind)) for each in self.data.maps for found in sorted([
            *((layer.index, layer.described, layer.heads) for layer in each.layers),
            *((*other, 0) for other in each.others)]))

    def queries(self, map: str | None = None) -> tuple[str, ...]:
        """Return the query tokens."""
        return self.map_named(map).queries.texts

    def keys(self, map: str | None = None) -> tuple[str, ...]:
        """Return the key tokens."""
        return self.map_named(map).keys.texts

    @property
    def verified(self) -> bool:
        """Whether the weights were verified against the model's output in the same pass."""
        return self.data.verification.status == "verified"

    @property
    def verification(self) -> Verification:
        """The status of the verification, with the largest errors, the number of rows checked, and reasons."""
        return self.data.verification

    @property
    def prediction(self) -> Prediction | None:
        """The model's best candidates or its sentence vector; None if it predicts nothing."""
        return self.data.prediction

    @cached_property
    def logits(self) -> np.ndarray:
        """Logits from a second pass with the same edits, float32 (token, vocabulary). Raises Error for a model without
        logits, such as one that returns a sentence vector."""
        opened = self._behind("logits")
        if opened.task in ("vector", "none"):
            answer = "has no answer" if self.prediction is None else "answers with record.prediction"
            raise UserError(f"{self.model} predicts no tokens or classes of a text, so it has no logits; it {answer}.")
        done = opened.run(opened.tokens(self.data.query), self.data.query.edits, every=True)
        return np.asarray(done.outputs()[0].detach().float().numpy())

    def weights(self, layer: int | None = None, head: int | None = None, *, map: str | None = None) -> np.ndarray:
        """Return attention weights, float32: (query, key) for a head, (head, query, key) for a layer, or (layer, head,
        query, key) for all layers. Each row sums to 1, to 1 minus the weight of an attention sink, or to 0 if it is
        fully masked.

        Raises Error if the layer or head does not exist, or if all layers are requested but differ in shape.
        """
        chosen = self.map_named(map)
        _refuse_head_without_layer(layer, head)
        if layer is None:
            shapes = {each.shape for each in chosen.layers}
            if len(shapes) > 1:
                said = ", ".join(f"{count} heads of {queries}×{keys}" for count, queries, keys in shapes)
                raise UserError(f"The layers have different shapes ({said}), so they do not fit into one array; give a "
                                f"layer.")
            return np.stack([heads.whole(each) for each in chosen.layers])
        return heads.whole(chosen.layer(layer)) if head is None else heads.weights(chosen.of_head(layer, head), head)

    def scores(self, layer: int, head: int, *, map: str | None = None) -> np.ndarray:
        """Return the scores before the softmax, or before the first of two, float32 (query, key); NaN for masked
        cells."""
        return cast(np.ndarray, heads.scores(self._captured(layer, head, map, "scores"), head))

    def query(self, layer: int, head: int, *, map: str | None = None) -> np.ndarray:
        """Return the queries of a head, float32 (query, d_k), after rotary positions."""
        return self._captured(layer, head, map, "queries").query[head]

    def key(self, layer: int, head: int, *, map: str | None = None) -> np.ndarray:
        """Return the keys of a head, float32 (key, d_k), after rotary positions."""
        captured = self._captured(layer, head, map, "keys")
        return captured.key[captured.group(head)]

    def value(self, layer: int, head: int, *, map: str | None = None) -> np.ndarray:
        """Return the values of a head, float32 (key, d_v)."""
        captured = self._captured(layer, head, map, "values")
        return captured.value[captured.group(head)]

    def output(self, layer: int, head: int, *, map: str | None = None) -> np.ndarray:
        """Return what the head passed on in this pass, before any gate and the output projection, float32 (query, d_v):
        weights · value; zero or its mean for a silenced head, the other record's output for a patched one."""
        return self._captured(layer, head, map, "outputs").output(head)

    def gate(self, layer: int, head: int, *, map: str | None = None) -> np.ndarray:
        """Return how much of the head's output passes the gate or norm that follows it, float32 (query): its length
        after it, relative to that before. Raises Error if nothing follows the head."""
        gate = self._captured(layer, head, map, "gates").gate
        if gate is None:
            raise UserError(f"Nothing between head {layer}·{head} and its output projection changes what it passes on, "
                            f"so it has no gate; see r.output({layer}, {head}).")
        return gate[head]

    def frame(self, query: Token | None = None, key: Token | None = None, *, layer: int | None = None,
              head: int | None = None, map: str | None = None) -> "DataFrame":
        """Return the weights as a pandas DataFrame with the columns layer, head, query, key and weight, and the
        positions query_position and key_position. The arguments select one query, key, layer or head."""
        from pandas import DataFrame

        chosen = self.map_named(map)
        rows, columns = (slice(0, len(side)) if token is None else slice(side.index(token), side.index(token) + 1)
                         for side, token in ((chosen.queries, query), (chosen.keys, key)))
        wanted = [(each.index, number) for each in (chosen.layers if layer is None else [chosen.layer(layer)])
                  for number in (range(each.heads) if head is None else [head])]
        layers, numbers, row, column, weights = cells(wanted, rows, columns, np.stack(
            [heads.weights(chosen.of_head(*each), each[1])[rows, columns] for each in wanted]))
        names = [np.array(side.texts, object) for side in (chosen.queries, chosen.keys)]
        return DataFrame({"layer": layers, "head": numbers, "query": names[0][row], "key": names[1][column],
                          "weight": weights, "query_position": row, "key_position": column})

    def show(self, layer: int | None = None, head: int | None = None, *, query: Token | None = None,
             key: Token | None = None, map: str | None = None, **view: Any) -> "LiveFigure":
        """Return an interactive view for a notebook: all heads, or one head with a selected token or pair of tokens.

        view: further fields of `clearhead.model.core.view.View`, such as lens="lines", words=True or transpose=True.
        """
        from clearhead.viz import notebook

        chosen = self.map_named(map)
        _refuse_head_without_layer(layer, head)
        if layer is not None:
            view |= {"layer": layer, "head": 0 if head is None else head}
        return notebook.show(self.data, kind=chosen.kind, **view | _focus(chosen, query, key, view))

    def figure(self, heads: Sequence[tuple[int, int]] | tuple[int, int] | None = None, *,
               width: str | float = "one-column", query: Token | None = None, key: Token | None = None,
               map: str | None = None, title: bool = False, labels: tuple[str, str] | None = None,
               **view: object) -> "Figure":
        """Return a figure for a paper, with one head, several heads on one colour scale, or by default all heads.

        heads: (layer, head) pairs. width: "one-column" (84 mm), "two-column" (174 mm) or millimetres. The height is at
        most 230 mm where the heads fit; long texts get smaller cells and fewer labels. title: whether the figure names
        its heads and model. labels: titles of the axes, for the queries and the keys, such as ("Query", "Key"). The
        text of the caption is `Figure.caption`.
        """
        chosen = self.map_named(map)
        one = isinstance(heads, tuple) and len(heads) == 2 and not isinstance(heads[0], tuple | list)
        drawn = [head_of(each) for each in ([heads] if one else listed("heads", () if heads is None else heads, HEADS))]
        if heads is not None and not drawn:
            raise UserError(f"heads= names no head; give some, such as {HEADS}, or leave it out to draw all of them.")
        for layer, head in drawn:
            chosen.of_head(layer, head)
        first = drawn[0] if drawn else (chosen.layers[0].index, 0)
        shown = checked_view(self.data, None, dict(kind=chosen.kind, layer=first[0], head=first[1],
                                                     **view | _focus(chosen, query, key, view)))
        from clearhead.viz.export.paper.columns import Layout, millimetres

        axes = () if labels is None else tuple(listed("labels", labels, '("Query", "Key")'))
        if labels is not None and ([type(axis) for axis in axes] != [str, str] or not drawn
                                   or shown.lens not in ("matrix", "lines")):
            raise UserError("labels= takes the titles of a head's two axes, such as (\"Query\", \"Key\"); give two "
                            "strings, and heads drawn as a matrix or as lines.")
        millimetres(width)
        return Figure(self.data, shown, Layout(tuple(drawn), width, title, cast("tuple[()]", axes)))

    def why(self, layer: int, head: int, *, query: Token, key: Token, map: str | None = None) -> circuits.Why:
        """Decompose one score before the softmax into a sum over what wrote its query and what wrote its key.

        The result has score, total (the sum), terms (such as a position bias), and frame() with query_from, key_from
        and value. Of differential attention it has the score in the first softmax; `minus` has that in the second,
        which is subtracted, and `factor` has λ. Writers are the embedding, earlier heads (L·H, cross L·H), all other
        modules of earlier layers (mlp L) and bias.
        """
        self._behind("writers")
        chosen = self.map_named(map)
        chosen.of_head(layer, head)
        return ask(circuits.WhyQuery(self.data.query, chosen.kind, layer, head, chosen.queries.index(query),
                                           chosen.keys.index(key)))

    def writes(self, answer: str | int, rival: str | int | None = None, *, position: Token = -1) -> Writes:
        """Decompose the logit of a token or a class, or its difference from a rival's logit, by what wrote to the
        residual stream (direct logit attribution).

        The scales of norms are frozen as in this pass. So are, as ratios of output to input, a soft cap and the
        activation before the logits of a masked-word model or a classifier (tanh in BERT's pooler). A silenced or
        patched head writes the output that the edit gave it.

        answer, rival: tokens of the vocabulary or labels of a classifier, or their ids. position: ignored by
        classifiers, which pool the text themselves. The result has difference, total, rest (what no part explains),
        embedding, heads (layer, head), cross (layer, head), feed_forward (layer), bias, and frame() with map, layer,
        head and value.
        """
        self._behind("writers")
        return ask(WritesQuery(self.data.query, self._position(position), _named(answer),
                                     None if rival is None else _named(rival)))

    def cosine(self, other: "Record") -> Writes:
        """Decompose the cosine of two sentence vectors, of this text and of another, by what wrote to this text's
        residual stream.

        The other vector and the length of this one are frozen. The result is like that of `writes`; its difference is
        the cosine. Raises Error for a model that does not answer with a sentence vector.
        """
        self._behind("writers")
        return ask(CosineQuery(self.data.query, other.data.query))

    def lens(self, position: Token = -1) -> Lens:
        """Apply the model's unembedding to the residual stream after every layer (logit lens). frame() has layer (-1 is
        the embedding), tokens, probabilities, and entropy and divergence from the final answer in bits."""
        self._behind("lens")
        return ask(LensQuery(self.data.query, self._position(position)))

    def paths(self, twin: "Record", answer: str | int, rival: str | int, *, receiver: HeadId | None = None,
              reads: Sequence[str] = READS, position: Token = -1) -> Paths:
        """Patch each path to the logits, or into the head `receiver`: replace what it carries by what it carries in the
        twin.

        All heads and feed-forward layers between the two ends are frozen, so that paths only run along the residual
        stream; Wang et al. 2022 freeze the heads alone. Layers after the receiver are recomputed. Each text is run with
        its record's edits. frame() has layer, head and the effect on the logit of `answer` minus that of `rival`.
        reads: which of the receiver's query, key and value receive the patched path.
        """
        self._behind("paths")
        return ask(PathsQuery(self.data.query, twin.data.query, self._position(position), _named(answer),
                                    _named(rival), None if receiver is None else head_of(receiver),
                                    (*listed("reads", reads, '("query", "key")'),)))

    def _behind(self, what: str) -> OpenModel:
        """Return the open model of this record. Raises Error if it has none."""
        if self._model is None:
            raise UserError(f"This record of {self.model} has no {what}, because no open model belongs to it; make the "
                            f"record with a model from clearhead.open.")
        then, now = self.data.query.revision, self._model.revision
        if now != then:
            raise UserError(f"{self.model} has changed since this record was made, from {then} to {now}; make the "
                            f"record again.")
        return self._model.opened

    def _position(self, token: Token) -> int:
        """Return the position of a token among the queries of the last map, which are a decoder's; -1 is the last."""
        return self.data.maps[-1].queries.index(token)

    def save(self, path: str | Path) -> Path:
        """Write the record to a .safetensors file, which the app, `clearhead export --record` and `clearhead.load` can
        read."""
        return self.data.save(path)

    def map_named(self, name: str | None) -> AttentionMap:
        """Return the map with this name, by default the only one. Raises Error if there is no such map, or if a name is
        required because there are several."""
        if name is None and len(self.data.maps) == 1:
            return self.data.maps[0]
        if name not in self.maps:
            has = "several maps" if name is None else f"no map {quoted(str(name))}"
            raise UserError(f"This record has {has}; choose one with map=: {', '.join(self.maps)}.")
        return self.data[Kind(name)]

    def _captured(self, layer: int, head: int, map: str | None, what: str) -> Layer:
        chosen = self.map_named(map)
        chosen.of_head(layer, head)
        return chosen.captured(layer, f"there are no {what}")


def cells(wanted: Sequence[HeadId], rows: slice, columns: slice, weights: np.ndarray) -> list[np.ndarray]:
    """Return the layer, head, query, key and weight of each cell in some rows and columns of these heads' weights
    (head, row, column), an array of each."""
    which, row, column = (axis.ravel() for axis in np.indices(weights.shape, np.int32))
    return [*np.array(wanted)[which].T, row + rows.start, column + columns.start, weights.ravel()]


def _named(token: str | int) -> str | int:
    """Return an answer as a question holds it. Raises UserError unless it is a text or a whole number."""
    return token if isinstance(token, str) else cast(int, number_of(token))


def items(name: str, given: Iterable[Item], example: str) -> Iterable[Item]:
    """Return an argument with items. Raises UserError for a string, whose items would be its letters, for a mapping,
    whose items would be its keys, and for anything that is not iterable."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise UserError(f"{name}= takes a list, such as {example}, not {quoted(repr(given))[1:-1]}.")
    return given


def listed(name: str, given: Iterable[Item], example: str) -> list[Item]:
    """Return the items of an argument in a list. Raises UserError like `items`."""
    return [*items(name, given, example)]


def head_of(head: object) -> HeadId:
    """Return a (layer, head) pair of whole numbers. Raises UserError for anything else."""
    if not isinstance(head, tuple | list) or len(head) != 2 or not all(map(is_whole, head)):
        raise UserError(f"{head!r} is not a head; give its layer and number, such as (3, 1).")
    return int(head[0]), int(head[1])


def _refuse_head_without_layer(layer: int | None, head: int | None) -> None:
    if head is not None and layer is None:
        raise UserError(f"A head number needs a layer; add layer=… to head={head!r}.")


def _focus(chosen: AttentionMap, query: Token | None, key: Token | None,
           view: Mapping[str, object]) -> dict[str, int | tuple[int, int]]:
    """Return the fields of a view that select a token, or a pair of tokens."""
    if query is None and key is not None:
        raise UserError(f"A key can only be selected with a query; add query=… to key={key!r}.")
    if query is None:
        return {}
    if {"token", "pair"} & set(view):
        raise UserError("The selected tokens are given twice; use query= and key= without token= and pair=.")
    row = chosen.queries.index(query)
    return {"token": row} | ({} if key is None else {"pair": (row, chosen.keys.index(key))})


class Figure:
    """A figure for a paper. Notebooks display it; `save` writes it to a file, and `caption` is its caption."""

    def __init__(self, data: AttentionRecord, view: View, layout: "Layout") -> None:
        self.data, self.view, self.layout = data, view, layout

    @property
    def caption(self) -> str:
        """A caption with the heads, what rows and columns are, the text, the model and its revision, the verification,
        and the version of Clearhead."""
        from clearhead.viz.export.formats import caption

        return caption(self.data, self.view, self.layout)

    def save(self, path: str | Path, *, zoom: int = 4) -> Path:
        """Write the figure as .pdf, .svg or .png with embedded provenance. zoom: pixels per point, 1 to 8. Raises Error
        for any other format or zoom."""
        from clearhead.model.core import files

        place = Path(path)
        if not 1 <= zoom <= 8:
            raise UserError(f"zoom is {zoom!r} but must be a number from 1 to 8; choose the pixels per point.")
        files.write(place, self.content(place.suffix, zoom))
        return place

    def content(self, suffix: str, zoom: int = 4) -> bytes:
        """Return the bytes of the figure as ".png", ".svg" or ".pdf"."""
        from clearhead.viz.export.formats import Options, export

        return export(suffix, self.data, self.view, Options(zoom=zoom, layout=self.layout))

    def _repr_png_(self) -> bytes:
        return self.content(".png", 3)
