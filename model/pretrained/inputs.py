"""Convert a query's texts to the model's input and to readable tokens."""
import functools
import inspect
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.models import ModelInput
from clearhead.model.core.query import Progress, Query, Span, UserError, with_arrays
from clearhead.model.core.record import Omission
from clearhead.model.core.tokens import special_ids
from clearhead.model.pretrained.files import in_one_line, is_fault
from clearhead.model.pretrained.tokens import Piece, align, continuation, readable

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import BatchEncoding

    from clearhead.model.pretrained import Config, Network, Tokenizer

TURN = "clearhead-turn"   # placeholder text that no chat template contains or changes
HALVES = ("encoder", "decoder")   # the two configurations in a model that combines two models
LARGEST = 2**31   # above any id
OTHER_TOKENIZER = "the tokenizer and the weights do not match, so use the tokenizer that the model was trained with"
GREEDY = 128  # maximum number of tokens that an encoder–decoder generates if no target is given

# truncation and source or target mode are settings of the tokenizer, not arguments of a call
_tokenizing = threading.Lock()


@with_arrays
class Encoding:
    """A tokenizer's output for one side."""

    pieces: list[Piece]
    arguments: dict[str, list[int]]   # arguments of the network's forward
    omitted: Omission | None          # the part that did not fit


def tokenize_query(network: "Network", tokenizer: "Tokenizer", query: Query, limit: int) -> ModelInput:
    """Tokenize the query's texts, truncated to `limit` tokens per side. Does not include an encoder–decoder's target,
    which `with_target` adds. Raises UserError for a text that this network cannot read."""
    typed = (query.text,) if query.text_b is None else (query.text, query.text_b)
    if query.text_b is not None and network.config.is_encoder_decoder:
        raise UserError("This model reads one text, not a pair; leave the second text empty, or choose an encoder such "
                        "as BERT.")
    if query.target is not None and not network.config.is_encoder_decoder:
        raise UserError("This model has no target side; leave the target empty, or choose an encoder–decoder such as "
                        "T5.")
    room = limit if network.config.is_encoder_decoder else limit - len(query.continuation)
    check_ids(network, query.ids)
    if query.ids:
        encoding, typed = _encode_ids(tokenizer, query.ids, room), (query.text,)
    else:
        encoding = encode_turn(tokenizer, query.text, room) if query.chat else encode(tokenizer, typed, room)
    pieces, shown = encoding.pieces, typed
    if query.continuation and not network.config.is_encoder_decoder:
        check_ids(network, query.continuation)
        more, written = numbered(tokenizer, encoding.arguments["input_ids"], query.continuation, len(typed[-1]))
        pieces, shown = pieces + more, (*typed[:-1], typed[-1] + written)
        encoding.arguments.update({name: values + [values[-1]] * len(query.continuation)
                                   for name, values in encoding.arguments.items()})
        encoding.arguments["input_ids"][-len(query.continuation):] = query.continuation
    check_ids(network, encoding.arguments["input_ids"], OTHER_TOKENIZER)
    return ModelInput(readable(pieces, shown), None, as_tensors(network, encoding.arguments), encoding.omitted, ())


@contextmanager
def reading() -> Iterator[None]:
    """Hold the tokenizer's lock within the block, and convert errors of the tokenizer or processor to UserError."""
    try:
        with _tokenizing:
            yield
    except MemoryError:
        raise
    except BaseException as error:
        if not is_fault(error):
            raise
        raise UserError(f"The model's tokenizer cannot read that text ({in_one_line(error)}); try another text, or "
                        f"replace the tokenizer if it reads none.") from error


def encode_turn(tokenizer: "Tokenizer", text: str, limit: int) -> Encoding:
    """Tokenize a text as a user's turn in the tokenizer's chat template, up to the start of the answer. The template's
    own tokens are special and belong to no text. Raises UserError if the template alters the text."""
    write = functools.partial(tokenizer.apply_chat_template, tokenize=False, add_generation_prompt=True)
    with reading():
        whole, empty = (write([{"role": "user", "content": each}]) for each in (text, TURN))
    before, _, after = empty.partition(TURN)
    kept = whole[len(before):len(whole) - len(after)]
    if whole != before + kept + after or kept not in text or not kept.strip():
        raise UserError("The model's chat template changes this text, so its tokens cannot be aligned with it; turn "
                        "chat off.")
    found = encode(tokenizer, (whole,), limit, special=False)
    frame = slice(len(before), len(before) + len(kept))
    return replace(found, pieces=framed(found.pieces, whole, frame, text, text.index(kept)))


def framed(pieces: list[Piece], whole: str, inside: slice, text: str, start: int) -> list[Piece]:
    """Return the pieces of a whole text with a typed one inside, whose character `start` is the first one there. Those
    around it are special and belong to no text."""
    moved = start - inside.start
    return [replace(each, span=(max(each.span[0] + moved, 0), min(each.span[1] + moved, len(text))))
            if each.span[0] < inside.stop and each.span[1] > inside.start
            else replace(each, raw=whole[slice(*each.span)].removeprefix(" ") or each.raw, span=(0, 0), text=-1,
                         special=True, unknown=False) for each in pieces]


def templated(tokenizer: "Tokenizer", messages: "list[Mapping[str, str]]") -> tuple[int, ...]:
    """Return the ids of messages in the tokenizer's chat template, up to the start of the answer. Raises UserError if
    the template refuses them."""
    with reading():
        return tuple(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))


def encode(tokenizer: "Tokenizer", texts: tuple[str, ...], limit: int, as_target: bool = False,
           special: bool = True) -> Encoding:
    """Tokenize a text or a pair; `special`: whether to add the tokenizer's special tokens, which a chat template
    already includes. Raises UserError if there are no tokens."""
    asked = {"text_target": texts[0]} if as_target else dict(zip(("text", "text_pair"), texts, strict=False))
    options = {"return_special_tokens_mask": True, "add_special_tokens": special}
    options |= {"return_offsets_mapping": True} if tokenizer.is_fast else {}
    with reading():
        encoded = tokenizer(**asked, **options)
        total = len(encoded["input_ids"])
        if total > limit:
            encoded = tokenizer(**asked, **options, truncation=True, max_length=max(limit, 1))
    pieces = _encoded_pieces(tokenizer, encoded, texts)
    if not any(piece.text >= 0 for piece in pieces):
        raise UserError("This model reads nothing in that text (its tokenizer leaves every character out); type a "
                        "word.")
    omitted = Omission(total - len(pieces), _omitted_text(pieces, texts), limit) if total > limit else None
    arguments = {name: list(encoded[name]) for name in ("input_ids", "attention_mask", "token_type_ids")
                 if name in encoded}
    return Encoding(pieces, arguments, omitted)


def _encode_ids(tokenizer: "Tokenizer", ids: tuple[int, ...], limit: int) -> Encoding:
    """Return token ids as they are."""
    pieces, text = numbered(tokenizer, (), ids, 0)
    read = [*ids[:limit]]
    omitted = Omission(len(ids) - limit, text[pieces[limit].span[0]:], limit) if len(ids) > limit else None
    return Encoding(pieces[:limit], {"input_ids": read, "attention_mask": [1] * len(read)}, omitted)


def check_ids(network: "Network", ids: Sequence[int], way_out: str = "give ids that it has") -> None:
    """Raise UserError if there are no embeddings for an id."""
    rows = None
    with suppress(NotImplementedError, AttributeError):   # CANINE has no embedding table for characters
        rows = network.get_input_embeddings().num_embeddings
    wrong = next((number for number in ids if not 0 <= number < (rows or LARGEST)), None)
    if wrong is not None:
        raise UserError(f"The model has no token {wrong:,} (it has {rows or LARGEST:,}, from 0 on); {way_out}.")


def plain_ids(tokenizer: "Tokenizer", text: str) -> list[int]:
    """Return the ids of a text without special tokens."""
    with reading():
        return tokenizer.encode(text, add_special_tokens=False)


def as_tensors(network: "Network", arguments: dict[str, list[int]]) -> "dict[str, Tensor]":
    """Return the arguments that the network's forward accepts, each (1, token)."""
    import torch

    known = parameters_of(network.__class__)
    return {name: torch.from_numpy(np.array([values], np.int64)).to(network.device)
            for name, values in arguments.items() if name in known}


@functools.cache
def parameters_of(kind: "type[Network]") -> frozenset[str]:
    """Return the names of a network class's forward arguments, and those of its parent if it passes on any."""
    known = inspect.signature(kind.forward).parameters
    passed_on = any(each.kind is each.VAR_KEYWORD for each in known.values())
    own = not kind.__module__.startswith("transformers.")   # written by the program that gives the model
    return frozenset(known) | (parameters_of(kind.__bases__[0]) if own and passed_on else frozenset())


@functools.cache
def _without_vocabulary() -> "Tokenizer":
    """Return a tokenizer with an empty vocabulary, for a decoder whose tokenizer is in none of the model's files."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({}, "")))


def target_tokenizer(network: "Network", tokenizer: "Tokenizer") -> "Tokenizer":
    """Return the tokenizer of the network's output. Its vocabulary is empty if encoder and decoder have vocabularies of
    different sizes, because the folder's tokenizer is the encoder's."""
    encoder, decoder = (getattr(getattr(network.config, half, None), "vocab_size", None) for half in HALVES)
    return tokenizer if encoder is None or decoder in (None, encoder) else _without_vocabulary()


def with_target(network: "Network", tokenizer: "Tokenizer", query: Query, question: ModelInput, limit: int,
                report: Progress) -> ModelInput:
    """Add an encoder–decoder's target side: the query's target, shifted right by the start token, or by default the
    text that the model generates.

    Generation is greedy and ignores the query's edits, so the tokens are the same before and after an edit.
    """
    own, tokenizer = tokenizer, target_tokenizer(network, tokenizer)
    left_out: tuple[str, ...] = ()
    if tokenizer is not own:
        encoder, decoder = (getattr(network.config, half).vocab_size for half in HALVES)
        if abs(len(own) - decoder) < abs(len(own) - encoder):
            raise UserError(f"The folder's tokenizer, with {len(own):,} pieces, is the decoder's, but the text is "
                            f"read by the encoder; save the encoder's tokenizer into the folder.")
        left_out = (f"The decoder has a vocabulary of its own, of {decoder:,} tokens, and the folder no "
                    f"tokenizer for it, so the target's tokens are numbers.",)
        if query.target is not None:
            raise UserError("The decoder has its own vocabulary and the folder has no tokenizer for it, so no target "
                            "can be read; leave the target empty to let the model write one.")
    if query.target is None:
        start, ends = _start_token(network, tokenizer), ends_of(network, tokenizer)
        written = query.continuation or generate(network, tokenizer, question, min(limit, GREEDY) - 1, report)
        stop = -1 if written and written[-1] in ends and not query.continuation else None
        check_ids(network.get_decoder(), written)
        text, pieces = _generated_pieces(tokenizer, [start, *written][:stop])
    else:
        text = query.target
        encoding = encode(tokenizer, (text,), limit, as_target=True)
        check_ids(network, encoding.arguments["input_ids"], OTHER_TOKENIZER)
        start = _start_token(network, tokenizer)
        pieces = [*_pieces_of(tokenizer, [start], [(0, 0)], [-1]), *encoding.pieces]
        pieces = pieces[:-1] if pieces[-1].text < 0 else pieces
        if encoding.omitted is not None:
            left_out = (f"{encoding.omitted.count:,} tokens at the end of the target did not fit and were left out.",)
    tensors = {**question.tensors, **as_tensors(network, {"decoder_input_ids": [piece.id for piece in pieces]})}
    return replace(question, target=readable(pieces, (text,)), tensors=tensors, notes=question.notes + left_out)


def _generated_pieces(tokenizer: "Tokenizer", ids: list[int]) -> tuple[str, list[Piece]]:
    """Return the text of some ids, and the piece of each id."""
    special = set(tokenizer.all_special_ids)
    words = [number for number in ids if number not in special]
    text = tokenizer.decode(words, clean_up_tokenization_spaces=False)
    spans = iter(align(text, _vocabulary_strings(tokenizer, words)))
    return text, _pieces_of(tokenizer, ids, [(0, 0) if number in special else next(spans) for number in ids],
                            [-1 if number in special else 0 for number in ids])


def _start_token(network: "Network", tokenizer: "Tokenizer") -> int:
    """Return the target's start id according to the configurations, including that of a separate decoder."""
    configs = (getattr(network, "generation_config", None), network.config, network.config.get_text_config())
    named = [getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id") for config in configs]
    named += [tokenizer.cls_token_id, tokenizer.bos_token_id]
    named += [getattr(config, "pad_token_id", None) for config in configs]
    return next((number for number in named if isinstance(number, int)), 0)


def ends_of(network: "Network", tokenizer: "Tokenizer") -> list[int]:
    """Return the ids at which the network's own generation stops."""
    known = network.generation_config.eos_token_id if network.can_generate() else None
    if known is None and network.config.is_encoder_decoder:
        known = tokenizer.sep_token_id
    return known if isinstance(known, list) else [] if known is None else [known]


def generate(network: "Network", tokenizer: "Tokenizer", question: ModelInput, most: int,
             report: Progress) -> list[int]:
    """Return at most this many ids that the network writes greedily after a decoder's text or an encoder–decoder's
    start token, with the end token if it gets there; none if it cannot generate. Its own generation settings apply,
    such as a penalty for repetitions."""
    import torch
    from transformers import StoppingCriteria, StoppingCriteriaList

    class WritingProgress(StoppingCriteria):   # it stops nothing
        def __call__(self, input_ids: "Tensor", scores: "Tensor", **options: object) -> "Tensor":
            report(0.05, f"writing: {input_ids.shape[1]} tokens")
            return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    if not network.can_generate() or most < 1:
        return []
    ends, after = ends_of(network, tokenizer), question.tensors["input_ids"].shape[1]
    greedy: dict[str, object] = {"do_sample": False, "num_beams": 1, "max_new_tokens": most, "max_length": None,
                                 "return_dict_in_generate": False, "use_cache": _same_depth(network.config),
                                 "tokenizer": tokenizer}
    if ends:
        greedy["eos_token_id"] = ends
    if network.config.is_encoder_decoder:
        greedy, after = greedy | {"decoder_start_token_id": _start_token(network, tokenizer)}, 1
    try:
        with torch.no_grad():
            made = network.generate(**question.tensors, **greedy,
                                    stopping_criteria=StoppingCriteriaList([WritingProgress()]))[0]
    except ValueError as error:
        raise UserError(f"transformers does not generate with the settings of this model's generation_config "
                        f"({in_one_line(error)}); change them.") from error
    written = made.tolist()   # by some networks of pictures and texts, without the prompt
    repeats = network.config.is_encoder_decoder or written[:after] == question.tensors["input_ids"][0].tolist()
    return written[after:] if repeats else written


def _same_depth(config: "Config") -> bool:
    """Return whether encoder and decoder are equally deep. transformers 5.23 sizes T5's cache by its encoder, which
    fails for a deeper decoder."""
    return getattr(config, "num_decoder_layers", None) in (None, getattr(config, "num_hidden_layers", None))


def _vocabulary_strings(tokenizer: "Tokenizer", ids: list[int]) -> list[str]:
    """Return the vocabulary's strings for these ids, or ∅id, since a model may have more ids than its tokenizer."""
    return [f"∅{number}" if raw is None else raw
            for number, raw in zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True)]


def _pieces_of(tokenizer: "Tokenizer", ids: Sequence[int], spans: Iterable[Span],
               sides: Sequence[int]) -> list[Piece]:
    """Return the pieces of these ids. sides: the text of each, -1 for those that a tokenizer or template adds."""
    marks, raws = special_ids(tokenizer), _vocabulary_strings(tokenizer, [*ids])
    special = [side < 0 or number in marks for number, side in zip(ids, sides, strict=True)]
    return [Piece(number, raw, span, side, added, number == tokenizer.unk_token_id and not added)
            for number, raw, span, side, added in zip(ids, raws, spans, sides, special, strict=True)]


def _encoded_pieces(tokenizer: "Tokenizer", encoded: "BatchEncoding", texts: tuple[str, ...]) -> list[Piece]:
    """Return the pieces of an encoded text or pair. Those of a Python tokenizer, which reports no offsets, are found in
    the text in order."""
    ids, added = encoded["input_ids"], encoded["special_tokens_mask"]
    if tokenizer.is_fast:
        sides = [-1 if special or side is None else side
                 for special, side in zip(added, encoded.sequence_ids(), strict=True)]
        return _pieces_of(tokenizer, ids, map(tuple, encoded["offset_mapping"]), sides)
    raws, own = _vocabulary_strings(tokenizer, ids), [i for i, special in enumerate(added) if not special]
    first = min(len(tokenizer.tokenize(texts[0])), len(own)) if len(texts) > 1 else len(own)
    sides, spans = [-1] * len(ids), [(0, 0)] * len(ids)
    for side, members in enumerate((own[:first], own[first:])[:len(texts)]):
        for i, span in zip(members, align(texts[side], [raws[i] for i in members]), strict=True):
            sides[i], spans[i] = side, span
    return _pieces_of(tokenizer, ids, spans, sides)


def numbered(tokenizer: "Tokenizer", before: Sequence[int], ids: tuple[int, ...],
              begin: int) -> tuple[list[Piece], str]:
    """Return the pieces of ids that follow others, in a text from the character `begin` on, and what they add to it."""
    written, spans = continuation(tokenizer, before, ids)
    marks = special_ids(tokenizer)
    return _pieces_of(tokenizer, ids, [(begin + start, begin + end) for start, end in spans],
                      [-1 if number in marks else 0 for number in ids]), written


def _omitted_text(pieces: list[Piece], texts: tuple[str, ...]) -> str:
    """Return the rest of each text after its last piece or, if the tokenizer truncates on the left, before its first
    one."""
    spans = [[piece.span for piece in pieces if piece.text == side] or [(0, 0)] for side in range(len(texts))]
    rests = (text[max(own)[1]:].strip() or text[:min(own)[0]].strip() for text, own in zip(texts, spans, strict=True))
    return " … ".join(filter(None, rests))
