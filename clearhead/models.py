"""Open a model and run it on a text, with or without edits."""
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.model import sources
from clearhead.model.core import pictures
from clearhead.model.core.models import Located, OpenModel, query_of
from clearhead.model.core.query import (
    Edit,
    HeadId,
    Hide,
    Kind,
    Patch,
    Query,
    Silence,
    Temper,
    UserError,
    Window,
    quoted,
)
from clearhead.model.core.record import Card
from clearhead.model.core.tokens import is_whole
from clearhead.model.look import look as module
from clearhead.model.pretrained.inputs import templated
from clearhead.model.studies.mechanisms import Mechanisms, MechanismsQuery
from clearhead.model.studies.predictions import ContinuationQuery
from clearhead.record import MODELS, Record, Token, ask, head_of, items, listed

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image
    from torch import nn


Ids = Iterable[int]
Chat = Iterable[Mapping[str, str]]
CHAT = '[{"role": "user", "content": "Hi"}]'
FORMS = ("give silence=[(3, 1)] or silence={(3, 1): \"mean\"}, temper={(3, 1): 2}, hide=[\"it\"], window=(8, 1) or "
         "patch=[((3, 1), record)]")


class Model:
    """An open model. Call it with a text to get a `Record`."""

    def __init__(self, place: Located, loops: bool = False) -> None:
        self.name, self._place = place.id, place
        self._behind = MODELS.opened(place)
        self._loops = loops   # whether to skip the search for changes of a model in memory, as in a loop over texts

    @property
    def revision(self) -> str:
        """The fingerprint of weights, configuration and tokenizer; for a model in memory, of its current state, which
        takes a short pass."""
        return self._current(run=True).card.revision

    @property
    def opened(self) -> OpenModel:
        """The open model. A model in memory is built again if its owner has changed it."""
        return self._current()

    def _current(self, run: bool = False) -> OpenModel:
        if not self._loops and (place := self._place.current(run)) != self._place:
            self._place, self._behind = place, MODELS.opened(place)
        return self._behind

    def __repr__(self) -> str:
        card = self.card
        return (f"<Model {card.title}: {card.layers} layers × {card.heads} heads, d_model {card.d_model}, "
                f"{card.parameters:,} parameters>")

    @property
    def card(self) -> Card:
        """The model's card: title, architecture, sizes, licence and revision."""
        return self.opened.card

    def tokens(self, text: str, text_b: str | None = None, *, target: str | None = None) -> tuple[str, ...]:
        """Return the tokens that the model reads for a text."""
        return self.opened.tokens(self._asked(text, text_b, target)).source.texts

    def _asked(self, text: str, text_b: str | None = None, target: str | None = None, image: str | None = None,
               ids: Ids | None = None, chat: Chat | None = None) -> Query:
        """Return the question for a text, or for token ids or messages in its place."""
        if ids is None and chat is None:
            return sources.checked(Query(self.name, self.revision, text, text_b, target, image=image), self._place)
        if text or text_b or (image and "prompt" not in self._place.reads) or (ids is not None and chat is not None):
            raise UserError("A model reads a text, ids= or chat=; give one of them.")
        if image and chat is not None:
            opened: Any = self.opened
            asked = Query(self.name, self.revision, opened.templated(self._messages(chat)))
        else:
            read = tuple(map(_number, ids)) if chat is None and ids is not None else templated(
                self._behind.tokenizer, self._messages(chat))
            if not read:
                raise UserError("ids= is empty; give the id of at least one token.")
            asked = query_of(self.opened, read)
        return sources.checked(replace(asked, target=target, image=image), self._place)

    def _messages(self, chat: Chat | None) -> list[Mapping[str, str]]:
        """Return the messages of a chat. Raises UserError for a model without a chat template."""
        if "chat" not in self._place.reads:
            raise UserError(f"{self.card.title} has no chat template, so it cannot read messages; give a text.")
        messages: list[Mapping[str, str]] = listed("chat", chat or (), CHAT)
        if not messages or not all(isinstance(each, Mapping) and {"role", "content"} <= {*each} for each in messages):
            raise UserError(f"Each message has a role and a content; give chat={CHAT}.")
        return messages

    def generate(self, text: str = "", *, tokens: int = 40, ids: Ids | None = None, chat: Chat | None = None,
                 image: "str | Path | bytes | Image | None" = None) -> Record:
        """Generate up to `tokens` tokens greedily, and return the record of the prompt and these tokens, an end token
        included. For an encoder–decoder, it is the record of the text and the generated target.

        The ids are those of transformers' own `generate(do_sample=False, num_beams=1)` with the model's generation
        settings. The record uses exactly these ids; the answer is not tokenized again. `Record.answer` is the answer as
        a string. A model writes without edits; to edit, read the same tokens again: m(ids=record.ids, silence=…), or
        for an encoder–decoder m(text, target=record, silence=…). image: a picture, for vision–language models.
        """
        if not is_whole(tokens) or tokens < 1:
            raise UserError(f"tokens is {tokens!r} but must be a whole number from 1; choose how many to write.")
        query = self._asked(text, image=None if image is None else _kept(image), ids=ids, chat=chat)
        return Record(ask(replace(query, continuation=ask(ContinuationQuery(query, index(tokens))))), self)

    def __call__(self, text: str = "", text_b: str | None = None, *, target: str | Record | None = None,  # noqa: PLR0913
                 image: "str | Path | bytes | Image | None" = None, ids: Ids | None = None, chat: Chat | None = None,
                 silence: Iterable[HeadId] | Mapping[HeadId, str] = (), temper: Mapping[HeadId, float] | None = None,
                 hide: Iterable[Token] | Token = (), window: tuple[int, int] | None = None,
                 patch: Iterable[tuple[HeadId, Record]] = (), map: str | None = None) -> Record:
        """Return the record of a text, of a pair of texts, of a text and a decoder's target, or of a picture.

        ids: token ids in place of a text, read exactly as they are, without further special tokens. chat: messages in
        place of a text, such as [{"role": "user", "content": "Hi"}], in the model's chat template up to the start of
        the answer. target: also a record from `generate`, for exactly the tokens that were written there. image: a
        picture, for models that read pictures: its path, the bytes of its file, or a PIL image. A vision–language model
        reads it in front of the text, or in the first message of the user.

        silence: heads whose output is set to 0, or {head: "mean"} for its mean over all positions. temper: {head: T},
        temperatures that divide the head's scores before the softmax. hide: source tokens to mask for all queries.
        window: (width, first); each token of a decoder then attends only to the last `width` keys and the first
        `first` keys of the text. patch: heads whose output is taken from another record of this model with the same
        number of tokens. map: the kind of attention of these heads, required if the model has several. Raises Error for
        anything the model cannot do.
        """
        picture = None if image is None else _kept(image)
        written: tuple[int, ...] = ()
        if isinstance(target, Record):
            written, target = target.data.asked.continuation, target.data.asked.target
        plain = replace(self._asked(text, text_b, target, picture, ids, chat), continuation=written)
        try:   # only around the arguments, so that an error of the model is not reported as theirs
            modes = silence if isinstance(silence, Mapping) else {}
            silenced = [(*head_of(head), modes.get(head, "zero")) for head in silence]
            tempered = [(head_of(head), float(value)) for head, value in dict(temper or {}).items()]
            patched = [(head_of(head), record.data.query) for head, record in patch]
            hidden = [*hide] if isinstance(hide, Iterable) and not isinstance(hide, str | bytes) else [hide]
            edits: set[Edit] = set() if window is None else {Window(*(index(each) for each in window))}
        except (TypeError, ValueError, AttributeError) as error:
            raise UserError(f"An edit is not in the expected form ({error}); {FORMS}.") from error
        if silenced or tempered or patched or map is not None:
            kind = self._kind(plain, map)
            edits |= {Silence(kind, *head) for head in silenced}
            edits |= {Temper(kind, *head, value) for head, value in tempered}
            edits |= {Patch(kind, *head, query) for head, query in patched}
        if hidden:
            source = self._behind.tokens(plain).source
            edits |= {Hide("source", source.index(token)) for token in hidden}
        return Record(ask(replace(plain, edits=frozenset(edits))), self)

    def _kind(self, plain: Query, map: str | None) -> Kind:
        """Return the kind of attention that the edits change. A pass of a model with several kinds may have only some
        of them, so such a model reads the text first."""
        kinds = self._behind.kinds
        if len(kinds) == 1 and map in (None, *kinds):
            return next(iter(kinds))
        return Record(ask(plain)).map_named(map).kind

    def each(self, texts: Iterable[str], **options: Any) -> Iterator[Record]:
        """Yield the record of each text, one at a time. When the loop continues, the answers to that text leave the
        cache. A model in memory must not change until the loop ends. options: those of a call, such as silence=. Raises
        Error like a call."""
        return self._each(items("texts", texts, '["One text.", "Another."]'), options)

    def _each(self, texts: Iterable[str], options: dict[str, Any]) -> Iterator[Record]:
        # every text needs what a generator gives once
        options = {name: [*each] if isinstance(each, Iterator) else each for name, each in options.items()}
        self._current(run=True)
        loop = Model(self._place, loops=True)
        for text in texts:
            try:
                yield Record(loop(text, **options).data, self)
            finally:
                MODELS.cache.forget(self.name, text)

    def circuits(self) -> Mechanisms:
        """Measure what every head does according to its weights alone. frame() has the columns copying, matching and,
        for a decoder, previous, duplicate and induction. pairs() lists the pairs of heads that compose more than all
        but 1% of the pairs in the impossible order, in which an earlier head would read a later one, and gives the
        share of such pairs."""
        return ask(MechanismsQuery(self.name, self.revision))


def _number(given: object) -> int:
    """Return a token id. Raises UserError for anything but a whole number."""
    if not is_whole(given):
        raise UserError(f"ids= takes the ids of one text, such as [15496, 995], not {quoted(repr(given))[1:-1]}.")
    return index(given)


def _kept(image: "str | Path | bytes | Image") -> str:
    """Store a picture in this process and return its sha256. Raises UserError if it is not a picture."""
    if isinstance(image, str | Path):
        return pictures.keep(_content(image), Path(image).name).sha256
    if isinstance(image, bytes):
        return pictures.keep(image, "the picture").sha256
    if not hasattr(image, "save"):
        raise UserError(f"image= takes a path, the bytes of a file or a PIL image, not {type(image).__name__}.")
    file = io.BytesIO()
    image.save(file, "PNG")
    return pictures.keep(file.getvalue(), "the picture").sha256


def _content(path: str | Path) -> bytes:
    place = Path(path).expanduser()
    try:
        return place.read_bytes()
    except (OSError, ValueError) as error:
        raise UserError(f"{place} cannot be read ({getattr(error, 'strerror', error)}); give the path of a "
                        f"file.") from error


def load(path: str | Path) -> Record:
    """Load a record written by `Record.save`, or attention weights that another tool saved as .npz. Raises Error for
    any other file."""
    return Record(ask(sources.open_query(*sources.import_file(_content(path), Path(path).name))))


def open(model: "str | Path | nn.Module", tokenizer: object = None, *, title: str | None = None,
         revision: str | None = None, dtype: "str | torch.dtype | None" = None,
         device: "str | torch.device | None" = None) -> Model:
    """Open a model. It is given by its name in the catalogue, its folder, its hub id (if already downloaded), or as a
    transformers model in memory with its tokenizer. Models that read pictures take an image processor instead.

    Clearhead runs a model in memory with its own hooks, adapters, dtype and tokenizer. It copies and saves nothing, and
    restores the model after each answer. Captions state `title` (by default the class), *in memory* and a fingerprint.
    If you change the model, the next answer is that of the changed model and has a new fingerprint.

    revision: a branch or a commit of a hub id in the local Hugging Face cache. dtype: the type in which the network is
    loaded and computes, "float32" (default), "float64", "bfloat16" or "float16", also as a torch.dtype. device: where
    it computes, such as "cuda"; records are arrays on the CPU. Raises Error if the model is not on this disk (the error
    says how to download it), or if its attention cannot be shown correctly.
    """
    options = {name: str(each) for name, each in (("revision", revision), ("dtype", dtype), ("device", device))
               if each is not None}
    if isinstance(model, str | Path):
        return Model(sources.locate(str(model), **options))
    if options:
        raise UserError("A model in memory runs as it is; leave revision=, dtype= and device= out, and change its "
                        "dtype or device before you open it.")
    from clearhead.model.pretrained.memory import Given

    return Model(Given(model, tokenizer, title).located())


def look(network: "nn.Module", inputs: object, *, tokens: module.Names | None = None, batch: int = 0) -> Record:
    """Return the record of one forward pass of any torch module. Each layer is verified against the module's own
    output, but the weights of a softmax written by hand are only reported.

    inputs: a tensor, a tuple of tensors or a dictionary of keyword arguments, such as a tokenizer's output. tokens: a
    name for each position, or (source, target) names. batch: index of the item in the batch. Raises Error if it finds
    no attention, or can verify none of it.
    """
    return Record(module.look(network, inputs, tokens=tokens, batch=batch))
