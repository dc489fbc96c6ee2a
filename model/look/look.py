"""Capture the attention of any torch module and verify each layer against the module's real output."""
import hashlib
import itertools
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.capture.signature import signature
from clearhead.model.core.memory import count_parameters
from clearhead.model.core.query import Query, UserError, first_line
from clearhead.model.core.record import ROW_SUM_TOLERANCE, AttentionRecord, Card, Layer, Verification
from clearhead.model.core.tokens import Tokens, tokens_of_texts
from clearhead.model.look.arrange import Arranged, arrange
from clearhead.model.look.inputs import Inputs, given

if TYPE_CHECKING:
    from torch import nn

    from clearhead.model.look.module_pass import Observation
    from clearhead.model.look.torch_attention import Attention

PREFIX = "module:"
SURROGATE = re.compile("[\ud800-\udfff]")   # which no file can hold
Names = Sequence[str] | tuple[Sequence[str], Sequence[str]]   # one list for all positions, or (source, target)


def look(network: "nn.Module", inputs: object, *, tokens: Names | None = None, batch: int = 0) -> AttentionRecord:
    """Return the record of one pass of a torch module. Each layer is verified against the module's real output. The
    inputs and the module's attributes and buffers are restored bit for bit, with the tensors, arrays, lists,
    dictionaries, sets and objects in them; a parameter that the pass changes in place is named in a note.

    inputs: a tensor, a tuple of tensors or a dictionary of keyword arguments. tokens: a name for each
    position, or (source, target) for a module with two sides, which are the keys and queries of cross-attention, or
    else the first and second input in the order given. Rows that are not proved to be these positions are numbered,
    and a note says so.
    batch: the batch item to show. Raises UserError if the module has no attention that can be observed and verified,
    does not accept the inputs, or generates step by step.
    """
    from clearhead.model.look.module_pass import observe

    network = getattr(network, "_orig_mod", network)   # torch.compile's original module, uncompiled
    _check(network, batch)
    called = given(network, inputs)
    source, target = _names(tokens)
    name, before = name_of(network), _versions(network)
    try:
        seen = observe(network, called.args, called.kwargs, batch)
    except Exception as error:
        raise UserError(f"{name} could not run on these inputs ({first_line(error, 300)}); give them in the form that "
                        f"the module accepts.") from error
    _refuse_steps(name, seen.found)
    found, unread = _readable(seen, called, batch)
    proved = _proved(name, found, unread)
    try:
        arranged = arrange(proved, source, target, seen.rows)
    except ValueError as error:
        raise UserError(f"{name} is not shown because {first_line(error, 300)}") from error
    notes = arranged.notes + _circumstances(network, [each for each, _ in arranged.shown], batch)
    changed = [name for name, version in _versions(network).items() if version != before.get(name, version)]
    if changed:
        notes += (f"The pass changes parameters in place, which look does not undo: {', '.join(changed[:5])}"
                  f"{' …' if len(changed) > 5 else ''}.",)
    if unread:
        notes += (f"Not shown: {'; '.join(unread[:5])}{' …' if len(unread) > 5 else ''}.",)
    return _record(network, arranged, _verification(arranged, seen), notes)


def _versions(network: "nn.Module") -> dict[str, int]:
    """Return how often each parameter was changed in place."""
    from torch.nn.parameter import is_lazy

    return {name: each._version for name, each in network.named_parameters()   # noqa: SLF001
            if not (is_lazy(each) or each.is_inference())}


def name_of(network: "nn.Module") -> str:
    """Return the name of the network's class."""
    return type(network).__name__


def _check(network: object, batch: int) -> None:
    import torch

    if not isinstance(network, torch.nn.Module) or isinstance(network, torch.jit.ScriptModule):
        raise UserError(f"look needs a torch module that is not compiled by TorchScript, but this is a "
                        f"{type(network).__name__}; give the model object itself.")
    if isinstance(batch, bool) or not isinstance(batch, int | np.integer) or batch < 0:
        raise UserError(f"batch is {batch!r} but must be the number of an item, from 0.")


def _names(tokens: Names | None) -> tuple[Tokens | None, Tokens | None]:
    """Return the names of source and target positions."""
    if isinstance(tokens, tuple) and len(tokens) == 2 and not any(isinstance(side, str) for side in tokens):
        return _named(tokens[0]), _named(tokens[1])
    return None if tokens is None else _named(tokens), None


def _named(texts: object) -> Tokens:
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise UserError("tokens must be a list of strings, one per position, or a pair of lists (source, target); "
                        "write tokens=[\"a\", \"b\"].")
    return tokens_of_texts([SURROGATE.sub(lambda found: f"U+{ord(found[0]):04X}", text) for text in texts])


def _readable(seen: "Observation", called: Inputs, batch: int) -> "tuple[list[Attention], list[str]]":
    """Return the attention calls that can be shown, and sentences on the others, such as windows folded into the batch,
    which are not separate texts."""
    sizes, found, unread = called.sizes(), [], list(seen.unread)
    for each in seen.found:
        if not {each.queries.item, each.keys.item} & {-1, batch}:
            unread.append(f"{each.module} (it attends within {each.batch} pieces at once, and piece {batch} is of item "
                          f"{each.queries.item}; give one text)")
        elif each.batch in sizes or each.queries.inputs:   # batch items, or pieces whose rows are known
            found.append(each)
        else:
            unread.append(f"{each.module} (it attends within {each.batch} pieces at once, which are not the items of "
                          f"the inputs)")
    return found, unread


def _refuse_steps(name: str, found: "list[Attention]") -> None:
    """Raise UserError if a decoder is called again with its own output, with a cache or without."""
    for module in dict.fromkeys(each.module for each in found):
        calls = [each for each in found if each.module == module]
        for one, other in itertools.pairwise(calls):
            (rows, keys), more = other.shape, other.shape[1] - one.shape[1]
            alone = rows == more or rows == 1 < one.shape[0]   # new tokens only, with a cache
            # no step has more queries than keys
            grown = more > 0 and one.shape[0] <= one.shape[1] and (
                other.keys.inputs <= one.keys.inputs and other.queries.inputs <= one.queries.inputs)
            if grown and (alone or (more == 1 and rows == keys)):
                counts = ", ".join(str(each.shape[1]) for each in calls[:3]) + " …" * (len(calls) > 3)
                raise UserError(f"{name} runs {module} {len(calls)} times, over {counts} keys, as generate() does step "
                                f"by step; look shows one pass, so give it the model that is called in each step, with "
                                f"all tokens at once.")


def _proved(name: str, found: "list[Attention]", unread: list[str]) -> "list[Attention]":
    """Verify each attention call. Calls whose output differs are left out and listed in `unread`. Raises UserError if
    none remain."""
    proved = []
    for each in found:
        why = _why_not_shown(each)
        if why:
            unread.append(f"{each.module} ({why})")
        else:
            proved.append(each)
    if not proved and unread:
        raise UserError(f"{name} is not shown because its attention could not be verified: {'; '.join(unread[:3])}.")
    if not proved:
        raise UserError(f"{name} does not call torch's attention, and no softmax over (batch, head, query, key) was "
                        f"seen in it; look reads nothing else.")
    return proved


def _why_not_shown(attention: "Attention") -> str:
    """Compare an attention call with the module's real output, keep the proof in the call, and return why the call is
    not shown, or ""."""
    from clearhead.model.look.module_pass import prove

    if not attention.is_finite():
        return "NaN or infinity is among its numbers"
    try:
        attention.proof = prove(attention)
    except (UserError, ValueError) as error:
        return (attention.reasons or [first_line(error, 200).rstrip(".")])[0]
    if attention.reasons:
        return attention.reasons[0]
    if not attention.proof.error <= attention.tolerance:
        return (f"its output differs by {attention.proof.error:.2g} of its size from what its queries, keys and "
                f"values give")
    most = max(attention.tolerance, ROW_SUM_TOLERANCE) if attention.call is None else 1e-4
    return "" if attention.proof.row_error <= most else "its rows do not sum to 1"


def _verification(arranged: Arranged, seen: "Observation") -> Verification:
    """Return the verification: "verified" if every shown layer was verified and observing the module does not change
    its output, else "reported"."""
    members = [attention for attention, _ in arranged.shown]
    tolerance = max(each.tolerance for each in members)
    by_hand = [*dict.fromkeys(each.module for each in members if each.call is None)]
    reasons = []
    if by_hand:
        reasons.append(f"The softmax of {', '.join(by_hand[:3])}{' …' if len(by_hand) > 3 else ''} was seen, and what "
                       f"is done with it was not: these weights are as the module computed them{_rounded(members)}.")
    if not seen.agrees:
        how = "no numbers that could be compared" if seen.difference is None else (
            "NaN or infinity, which cannot be compared" if math.isnan(seen.difference) else
            f"something else, by {seen.difference:.2g} of the largest number")
        reasons.append(f"In an unobserved pass the module returned {how}, so these weights describe only the observed "
                       f"pass.")
    proofs = [each.proof for each in members]
    unproved = [each.module for each in members if each.call is not None and not each.proof.rows]
    if unproved:
        reasons.append(f"No row of {', '.join(unproved[:3])}{' …' if len(unproved) > 3 else ''} could be compared with "
                       f"the module's output there, which is NaN because some head may look at nothing.")
    error = math.nan if all(each.call is None for each in members) else max(each.error for each in proofs)
    return Verification("reported" if reasons else "verified", error, max(each.row_error for each in proofs), math.nan,
                        tolerance, sum(each.rows for each in proofs), tuple(reasons))


def _rounded(members: "list[Attention]") -> str:
    types = {str(each.dtype).removeprefix("torch.") for each in members if each.call is None and each.tolerance > 1e-4}
    return f", in {' and '.join(sorted(types))}, their rows brought to a sum of 1 again" if types else ""


def _circumstances(network: "nn.Module", shown: "list[Attention]", batch: int) -> tuple[str, ...]:
    """Return sentences about the batch item shown and the module's mode."""
    notes, count = [], max(each.batch for each in shown)
    if count > 1:
        other = "the other" if count == 2 else "another"
        notes.append(f"Item {batch} of {count} is shown; batch={(batch + 1) % count} shows {other}.")
    if network.training and "eval" not in vars(network):   # exported modules have no mode
        notes.append("The module was in training mode; dropout was off while looking.")
    return tuple(notes)


def _record(network: "nn.Module", arranged: Arranged, verification: Verification,
            notes: tuple[str, ...]) -> AttentionRecord:
    name = name_of(network)
    revision = hashlib.sha256(repr(sorted(signature(network).items())).encode()).hexdigest()[:40]
    first = arranged.maps[0]
    crossed = next((each for each in arranged.maps if each.kind == "cross"), None)
    source = first.keys if crossed is None else crossed.keys
    target = None if crossed is None else " ".join(crossed.queries.texts)
    query = Query(PREFIX + name, revision, " ".join(source.texts), None, target)
    return AttentionRecord(query, _card(network, query, arranged), arranged.maps, verification, notes=notes)


def _card(network: "nn.Module", query: Query, arranged: Arranged) -> Card:
    name, layers = name_of(network), [layer for _, layer in arranged.shown]
    largest = max(layers, key=lambda layer: layer.heads)
    d_head = largest.query.shape[2] if isinstance(largest, Layer) else 0
    kv_heads = largest.key.shape[0] if isinstance(largest, Layer) else largest.heads
    dtype = next((str(each.dtype).removeprefix("torch.") for each in network.parameters()), "float32")
    return Card(query.model, name, query.revision, f"{type(network).__module__}.{name}",
                count_parameters(network), largest.heads * d_head, d_head,
                max(len(each.layers) for each in arranged.maps), largest.heads, kv_heads, "not stated", "not stated",
                "not stated", max(len(each.queries) for each in arranged.maps), dtype,
                note="A torch module of one's own, looked at in a program.")
