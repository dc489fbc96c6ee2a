"""One map per stream of tokens, with words only where their positions are proved."""
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from clearhead.model.core import heads as heads_
from clearhead.model.core.npz import write_npz
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.imported.reading import read_attention
from clearhead.model.imported.record_file import read_record
from clearhead.model.look.look import look
from clearhead.model.look.sources import Sources

FIRST, SECOND, NUMBERS = tuple("abcde"), tuple("VWXYZ"), tuple("01234")
SELF_2 = Kind("self 2")
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")   # torch's own remark


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def x(tokens: int = 5, batch: int = 1) -> torch.Tensor:
    return torch.randn(batch, tokens, 16)


def encoder() -> nn.TransformerEncoder:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, enable_nested_tensor=False)


def whole(**options) -> nn.Transformer:
    return nn.Transformer(16, 2, 2, 2, 32, **{"batch_first": True} | options)


class Module(nn.Module):
    """A module whose forward is a function of its parts and its inputs."""

    def __init__(self, forward, **parts) -> None:
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs, **named):
        return self.run(self, *inputs, **named)


def streams(record: AttentionRecord) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], int]]:
    return {str(each.kind): (each.queries.texts, each.keys.texts, len(each.layers)) for each in record.maps}


def both(source=FIRST, target=SECOND, layers: int = 2) -> dict:
    return {"self": (source, source, layers), "self 2": (target, target, layers), "cross": (target, source, layers)}


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_decoder_has_its_own_map_and_words(batch_first, norm_first):
    network = whole(batch_first=batch_first, norm_first=norm_first)
    source, target = (x() if batch_first else x().transpose(0, 1) for _ in range(2))
    record = look(network, (source, target), tokens=(FIRST, SECOND))
    assert record.verification.status == "verified" and streams(record) == both()
    seen = []
    network.decoder.layers[0].self_attn.register_forward_pre_hook(
        lambda module, args, kwargs: (args, kwargs | {"need_weights": True, "average_attn_weights": False}),
        with_kwargs=True)
    network.decoder.layers[0].self_attn.register_forward_hook(lambda module, args, output: seen.append(output[1][0]))
    with torch.no_grad():
        network.eval()(source, target)
    ours = np.stack([heads_.weights(record[SELF_2].layers[0], head) for head in range(2)])
    assert np.abs(ours - seen[0].numpy()).max() < 1e-5
    assert any("0 is decoder.layers.0.self_attn" in note and "stream 2" in note for note in record.notes)
    assert streams(look(network, (source, target))) == both(NUMBERS, NUMBERS)
    assert streams(look(network, (source, target), tokens=FIRST)) == both(FIRST, NUMBERS)
    assert streams(look(network, (source, source), tokens=(FIRST, SECOND))) == both(), "one tensor, given twice"


@pytest.mark.parametrize("shared", [True, False])
def test_two_inputs_are_two_maps(shared):
    first = encoder()
    network = Module(lambda self, a, b: self.first(a) - self.second(b), first=first,
                     second=first if shared else encoder())
    expected = {"self": (FIRST, FIRST, 2), "self 2": (SECOND, SECOND, 2)}
    assert streams(look(network, (x(), x()), tokens=(FIRST, SECOND))) == expected
    assert streams(look(network, {"a": x(), "b": x()}, tokens=(FIRST, SECOND))) == expected
    listed = Module(lambda self, both: network(both[0], both[1]["b"]), first=network)
    assert streams(look(listed, ([x(), {"b": x()}],), tokens=(FIRST, SECOND))) == expected
    same = x()
    assert streams(look(network, (same, same), tokens=(FIRST, SECOND))) == expected
    assert streams(look(network, (x(), x()), tokens=FIRST)) == expected | {"self 2": (NUMBERS, NUMBERS, 2)}
    longer = Module(lambda self, a, b: (self.first(a), self.first(b)), first=first)
    assert streams(look(longer, (x(), x(3)), tokens=(FIRST, tuple("XYZ")))) == expected | {
        "self 2": (tuple("XYZ"), tuple("XYZ"), 2)}


@pytest.mark.parametrize(("batch", "words"), [(0, FIRST), (1, SECOND)])
def test_joined_inputs_are_told_apart(batch, words):
    network = Module(lambda self, a, b: self.first(torch.cat([a, b])), first=encoder())
    inputs = (x(), x())
    record = look(network, inputs, tokens=(FIRST, SECOND), batch=batch)
    assert streams(record) == {"self": (words, words, 2)}
    shared = Heads(lambda query, key, a: nn.functional.scaled_dot_product_attention(query[:1], key, key))
    for found in (record, look(shared, x(batch=2), batch=batch)):
        assert any(f"Item {batch} of 2" in note for note in found.notes)
    alone = look(network.first, inputs[batch])
    assert np.abs(heads_.weights(record.maps[0].layers[1], 0) - heads_.weights(alone.maps[0].layers[1], 0)).max() < 1e-5
    one = look(network, inputs, tokens=FIRST, batch=batch)
    assert one.maps[0].queries.texts == (FIRST if batch == 0 else NUMBERS)


def written(a, change):
    change(other := a.clone())
    return other


@pytest.mark.parametrize(("halve", "given"), [
    (lambda self, a: a.split(5, 1), x(10)),
    (lambda self, ids: self.table(ids).unbind(1), torch.arange(10).view(1, 2, 5))])
def test_halves_of_an_input_have_no_words(halve, given):
    network = Module(lambda self, a: torch.sub(*map(self.first, halve(self, a))), first=encoder(),
                     table=nn.Embedding(10, 16))
    assert [each.queries.texts for each in look(network, given, tokens=FIRST).maps] == [NUMBERS, tuple("56789")]


ORDER = torch.eye(5)[torch.tensor([3, 0, 4, 1, 2])]
ENDS, ALL = ("about 0, 4", "about 1, 3", "c", "about 1, 3", "about 0, 4"), ("about 0–4",) * 5
MOVED = {   # and the words at its rows, if each depends on one position
    "sum": (lambda a: a + a.flip(1), ENDS), "maximum": (lambda a: a.maximum(a.flip(1)), ENDS),
    "product on the right": (lambda a: (a.mT @ ORDER).mT, "bdeac"),
    "layer over tokens": (lambda a: nn.functional.linear(a.mT, ORDER).mT, "daebc"),
    "channels": (lambda a: nn.functional.conv1d(a, ORDER[..., None]), ("about 0–15",) * 5),
    "steps": (lambda a: nn.LSTM(5, 5, batch_first=True)(a.mT)[0].mT, ALL),
    "reshaped": (lambda a: a.reshape(1, 16, 5).mT, ALL),
    "transposed and reshaped": (lambda a: a.mT.reshape(1, 5, 16), ALL),
    "Fourier": (lambda a: torch.fft.fft(a, dim=1).real, ALL),
    "sorted": (lambda a: a[:, a[0, :, 0].argsort()], None), "unique": (lambda a: a.unique(dim=1), None),
    "quantiles": (lambda a: a.quantile(torch.linspace(0, 1, 5), dim=1).transpose(0, 1), ALL),
    "put": (lambda a: a.clone().put_(torch.arange(80), a.flip(1)), "edcba"),
    "repeated": (lambda a: a.repeat_interleave(torch.tensor([2, 1, 1, 1, 0]), 1), "aabcd"),
    "convolution": (lambda a: nn.functional.conv1d(a.mT, torch.ones(16, 16, 3), padding=1).mT,
                    ("about 0–1", "about 0–2", "about 1–3", "about 2–4", "about 3–4")),
    "causal convolution": (lambda a: a + nn.functional.conv1d(
        nn.functional.pad(a.mT, (2, 0)), torch.ones(16, 16, 3)).mT,
                           ("a", "about 0–1", "about 0–2", "about 1–3", "about 2–4")),
    "branch over all tokens": (lambda a: a + torch.fft.fft2(a).real, ALL),
    "there and back": (lambda a: a + nn.functional.linear(a.flip(1), torch.ones(16, 16)).flip(1), FIRST),
    "masked": (lambda a: written(a, lambda other: other.__setitem__((slice(None), 2), torch.zeros(16))),
               ("a", "b", "[new]", "d", "e")),
    "one row of vectors": (lambda a: (a.reshape(-1, 16) @ torch.ones(16, 16)).view(1, 5, 16), FIRST),
    "normalised": (lambda a: a / a.norm(dim=-1, keepdim=True), FIRST)}


@pytest.mark.parametrize("move", MOVED)
def test_words_stand_at_the_rows_that_depend_on_their_position(move):
    does, words = MOVED[move]
    network, given = Module(lambda self, a: self.first(does(a)), first=encoder()), x()
    found = look(network, given, tokens=FIRST).maps[0].queries.texts
    assert found == (tuple(words) if words else tuple(FIRST[row] for row in given[0, :, 0].argsort()))


class Heads(nn.Module):
    """Two heads of 8 numbers, in a form of choice."""

    def __init__(self, forward) -> None:
        super().__init__()
        self.run, self.q, self.k = forward, nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, a):
        query, key = (part(a).unflatten(-1, (2, 8)).transpose(1, 2) for part in (self.q, self.k))
        return self.run(query, key, a)


TABLE = torch.randn(8, 5)   # of relative positions


@pytest.mark.parametrize(("attend", "words"), [
    (lambda query, key, a: nn.functional.scaled_dot_product_attention(query, key.flip(2), key), "edcba"),
    (lambda query, key, a: (query @ key.clone().index_copy_(2, torch.arange(5).flip(0), key).mT).softmax(-1), "edcba"),
    (lambda query, key, a: (query @ key.mT).flip(-1).softmax(-1) @ key.flip(2), "edcba"),
    (lambda query, key, a: (query @ key.mT)[..., [1, 0, 2, 3, 4]].softmax(-1) @ key, "bacde"),
    (lambda query, key, a: torch.cat((query @ key.mT).chunk(3, -1)[::-1], -1).softmax(-1) @ key, "ecdab"),
    (lambda query, key, a: (query @ key.mT + query @ TABLE).softmax(-1) @ key, FIRST),
    (lambda query, key, a: (query @ TABLE + query @ key.mT).softmax(-1) @ key, FIRST)])
def test_moved_keys_do_not_stand_under_the_queries_words(attend, words):
    (only,) = look(Heads(attend), x(), tokens=FIRST).maps
    assert only.queries.texts == FIRST and only.keys.texts == tuple(words)
    assert (only.kind is Kind.CROSS) == (words is not FIRST)


def joined(query, key, product=torch.bmm):
    query, key = (part.flatten(0, 1) for part in (query, key))
    return product(query, key.mT).softmax(-1) @ key


FORMS = {   # of queries and keys of (text, head, token, d), with texts and heads in one axis or without texts
    "joined": joined, "added": partial(joined, product=partial(torch.baddbmm, torch.zeros(1))),
    "heads first": lambda query, key: joined(query.transpose(0, 1), key.transpose(0, 1)),
    "fused": lambda query, key: nn.functional.scaled_dot_product_attention(
        *(part.flatten(0, 1) for part in (query, key, key)), scale=1),
    "head by head": lambda query, key: [joined(one[:, None], other[:, None]) for one, other in zip(
        query.unbind(1), key.unbind(1), strict=True)]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("texts", "heads", "tokens"), [(3, 2, 5), (2, 2, 2), (4, 4, 2), (4, 1, 4), (1, 4, 4)])
@pytest.mark.parametrize("order", ["batch first", "tokens first", "unknown"])
def test_heads_are_not_taken_for_texts(form, texts, heads, tokens, order):
    def split(self, a):
        a = a.transpose(0, 1) if order == "tokens first" else a
        a = a + a.sort(1).values if order == "unknown" else a
        return [part(a).unflatten(-1, (heads, -1)).transpose(1, 2) for part in (self.q, self.k)]

    network = Module(lambda self, a: FORMS[form](*split(self, a)), q=nn.Linear(16, 16), k=nn.Linear(16, 16))
    shape, batch = (tokens, texts, 16) if order == "tokens first" else (texts, tokens, 16), texts - 1
    given = {"a": torch.randn(shape)}
    try:
        (found,) = look(network, given, tokens=FIRST[:tokens], batch=batch).maps
    except UserError as refused:
        assert order == "unknown" and "not proved which of the" in str(refused) and min(texts, heads) > 1
        return
    query, key = split(network, given["a"])
    theirs = (query @ key.mT).softmax(-1)[batch].detach().numpy()
    ours = np.concatenate([[heads_.weights(layer, head) for head in range(layer.heads)] for layer in found.layers])
    assert ours.shape == theirs.shape and np.abs(ours - theirs).max() < 1e-5
    several = (f"about 0–{tokens - 1}",) * tokens if form == "fused" else NUMBERS
    assert found.queries.texts == (several if order == "unknown" else FIRST)[:tokens]


@pytest.mark.parametrize("product", ["@", "mT", "bhqd,bhkd->bhqk", "bhkd,bhqd->bhqk"])
def test_sides_are_followed_through_attention_by_hand(product):
    def by_hand(self, a, memory, padding=None):
        query = self.q(a).unflatten(-1, (2, 8)).transpose(1, 2)
        key, value = self.kv(memory).unflatten(-1, (2, 2, 8)).permute(2, 0, 3, 1, 4).unbind(0)
        if product in ("@", "mT"):
            scores = query @ key.transpose(-1, -2) if product == "@" else (key @ query.mT).mT
        else:
            scores = torch.einsum(product, *((query, key) if product.startswith("bhq") else (key, query)))
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, None], -1e9)
        return a + self.out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))

    def forward(self, a, b, padding):
        memory = self.one(a, a, padding)
        memory = self.two(memory, memory, padding)
        b = self.three(b, b)
        return self.four(b, memory)

    network = Module(forward, **{name: Module(by_hand, q=nn.Linear(16, 16), kv=nn.Linear(16, 32), out=nn.Linear(16, 16))
                                 for name in ("one", "two", "three", "four")})
    found = streams(look(network, (x(), x(), torch.zeros(1, 5).bool()), tokens=(FIRST, SECOND)))
    assert found == both() | {"self 2": (SECOND, SECOND, 1), "cross": (SECOND, FIRST, 1)}


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_two_rows_without_a_batch_keep_their_words(order):
    network = Module(lambda self, a: self.first(a[order][None]), first=encoder())
    found = look(network, torch.randn(2, 16), tokens=FIRST[:2]).maps[0]
    assert found.queries.texts == tuple(FIRST[place] for place in order)


@pytest.mark.parametrize(("product", "first"), [("bqd,bkd->bqk", "query"), ("bkd,bqd->bqk", "key"),
                                                ("hbkd,bhqd->bhqk", "key"), ("bhqd,hbkd->bhqk", "query")])
def test_sides_of_an_einsum_are_told_by_its_letters(product, first):
    shapes = [[2 if letter in "bh" else 3 for letter in factor] for factor in product.partition("->")[0].split(",")]
    factors = [torch.randn(shape) for shape in shapes]
    sources, made = Sources(factors), torch.einsum(product, *factors)
    sources.pass_through(7, factors[first == "query"])
    sources.follow("einsum", (product, *factors), {}, made)
    found = sources.of(made)
    assert (found.calls, found.keys) == (frozenset(), {7})


def test_mixed_inputs_have_no_words():
    network = Module(lambda self, a, b: self.first(a + b), first=encoder(), table=nn.Embedding(9, 16))
    assert look(network, (x(), x()), tokens=FIRST).maps[0].queries.texts == NUMBERS
    network.run = lambda self, ids, types: self.first(self.table(ids) + self.table(types))
    ids = torch.arange(5)[None]
    assert look(network, (ids, ids % 2), tokens=FIRST).maps[0].queries.texts == FIRST, "an id and its type"
    network.run = lambda self, a, ids: self.first(nn.functional.embedding(ids, a[0]))
    assert look(network, (x(), ids.flip(1)), tokens=FIRST).maps[0].queries.texts == tuple("01c34")


def test_record_of_several_streams_is_saved_and_opened(tmp_path):
    record = look(whole(), (x(), x()), tokens=(FIRST, SECOND))
    assert record.kinds == (Kind.SELF, SELF_2, Kind.CROSS) and SELF_2.base is Kind.SELF
    write_npz(record, tmp_path / "mine.npz")
    for place, read in ((record.save(tmp_path / "mine.safetensors"), read_record),
                        (tmp_path / "mine.npz", read_attention)):
        with place.open("rb") as file:
            maps = read(file, place.name).record.maps
        assert streams(SimpleNamespace(maps=maps)) == both()
        theirs = next(each for each in maps if each.kind == SELF_2).layers[1]
        assert np.abs(heads_.weights(theirs, 1) - heads_.weights(record[SELF_2].layers[1], 1)).max() < 1e-6
