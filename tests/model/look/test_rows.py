"""Words stand only at rows that depend on their position, in modules that choose, merge, move or replace their rows."""
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.look.look import look

WORDS = tuple("abcdefgh")


class Attention(nn.Module):
    """Attention over (text, token, d). form: fused, by hand, or by hand with the heads or the sequence first."""

    def __init__(self, form: str, scale: float = 1.0, causal: bool = False) -> None:
        super().__init__()
        self.form, self.scale, self.causal = form, scale, causal
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: torch.Tensor, memory: torch.Tensor | None = None, allowed: torch.Tensor | None = None):
        memory = x if memory is None else memory
        parts = [part(each).unflatten(-1, (2, 8)) for part, each in zip((self.q, self.k, self.v), (x, memory, memory))]
        query, key, value = (part.transpose(1, 2) for part in parts)
        mask = torch.ones(x.shape[1], memory.shape[1]).bool()
        mask = (mask.tril() if self.causal else mask) & (True if allowed is None else allowed)
        if self.form == "fused":
            mixed = functional.scaled_dot_product_attention(query, key, value, mask)
        elif self.form == "heads first":
            query, key, value = (part.permute(2, 0, 1, 3).flatten(0, 1) for part in parts)
            scores = torch.bmm(query, key.mT).masked_fill(~mask, -1e9)
            mixed = torch.bmm(scores.softmax(-1), value).unflatten(0, (2, -1)).transpose(0, 1)
        else:
            mixed = (query @ key.mT).masked_fill(~mask, -1e9).softmax(-1) @ value
        return self.scale * self.out(mixed.transpose(1, 2).flatten(2))


def about(positions: set[int]) -> str:
    """The text of a row that depends on these positions."""
    inside = [each for each in positions if not {each - 1, each + 1} <= positions]   # the ends of each span
    spans = [f"{each}–" if each + 1 in positions else f"{each}, " for each in sorted(inside)]
    return f"about {''.join(spans)[:-2]}"


FORMS = ("fused", "by hand", "heads first")


class Stack(nn.Module):
    """Layers of attention. `rows` keeps the positions that each row of a layer stands for."""

    def __init__(self, form: str, scale: float = 1.0, **options) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention(form, scale, **options) for _ in range(3))
        self.rows: list[list[set[int]]] = []

    def attend(self, layer: nn.Module, x: torch.Tensor, rows: list[set[int]]) -> torch.Tensor:
        self.rows.append(rows)
        return x + layer(functional.layer_norm(x, (16,)))


class Depths(Stack):
    """Mixture of depths: a router chooses the rows that each layer reads and changes."""

    def forward(self, x):
        for layer in self.layers:
            chosen = x[0, :, 0].topk(4).indices.sort().values
            x = x.clone()
            x[:, chosen] = self.attend(layer, x[:, chosen], [{each} for each in chosen.tolist()])
        return x


class Merging(Stack):
    """Token merging: after each layer the two most similar rows become one."""

    def forward(self, x):
        rows = [{each} for each in range(x.shape[1])]
        for layer in self.layers:
            x = self.attend(layer, x, rows)
            alike = functional.cosine_similarity(x[0, :, None], x[0, None], dim=-1).triu(1)
            one, other = divmod(int(alike.argmax()), x.shape[1])
            left = [each for each in range(x.shape[1]) if each != other]
            x = torch.cat((x[:, :one], x[:, [one, other]].mean(1, keepdim=True), x[:, one + 1:]), 1)[:, left]
            rows = [*rows[:one], rows[one] | rows[other], *rows[one + 1:]]
            rows = [rows[each] for each in left]
        return x


def texts_of(record: AttentionRecord) -> list[tuple[str, ...]]:
    """The texts of each layer's rows, in order."""
    layers = [(layer.index, each) for each in record.maps for layer in each.layers]
    assert all(each.queries == each.keys for _, each in layers)
    return [each.queries.texts for _, each in sorted(layers, key=lambda pair: pair[0])]


@pytest.mark.parametrize("kind", [Depths, Merging])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 28), marks=pytest.mark.rest)])
def test_routed_and_merged_rows_have_their_own_words(kind, form, seeds):
    for seed in seeds:
        torch.manual_seed(seed)
        network, given = kind(form, 4.0), torch.randn(1, 8, 16)
        record = look(network, given, tokens=WORDS)
        found, network.rows = texts_of(record), []
        with torch.no_grad():
            network.eval()(given)
        for texts, rows in zip(found, network.rows, strict=True):
            expected = [WORDS[min(each)] if len(each) == 1 else about(each) for each in rows]
            assert list(texts) == expected, (seed, texts, rows)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("causal", [False, True])
def test_stack_without_residuals_and_with_a_massive_row_keeps_its_words(form, causal):
    torch.manual_seed(0)
    network = nn.Sequential(*(Attention(form, causal=causal) for _ in range(3)))
    given = torch.randn(2, 5, 16)
    assert texts_of(look(network, given, tokens=WORDS[:5], batch=1)) == [WORDS[:5]] * 3
    residual = Stack(form, causal=causal)
    residual.forward = lambda x: residual.attend(residual.layers[1], residual.attend(residual.layers[0], x, []), [])
    given[:, 0, 3] = 5e4
    assert texts_of(look(residual, given, tokens=WORDS[:5], batch=1)) == [WORDS[:5]] * 2


@pytest.mark.parametrize("form", ["fused", "by hand"])
def test_windows_latents_and_global_rows(form):
    torch.manual_seed(0)
    attention, cut, latents = Attention(form), nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 3, 16))

    class Doing(nn.Module):
        def __init__(self, forward) -> None:
            super().__init__()
            self.attention, self.cut, self.forward = attention, cut, forward

    def windows(picture):   # as in Swin, shifted by one patch
        x = cut(picture).permute(0, 2, 3, 1).roll((-1, -1), (1, 2))
        return attention(x.unflatten(1, (-1, 2)).unflatten(3, (-1, 2)).transpose(2, 3).flatten(3, 4).reshape(-1, 4, 16))

    places = tuple(f"{row}.{column}" for row in range(4) for column in range(4))
    found = [look(Doing(windows), torch.randn(1, 3, 16, 16), tokens=places, batch=piece).maps[0].queries.texts
             for piece in (0, 3)]
    assert found == [("1.1", "1.2", "2.1", "2.2"), ("3.3", "3.0", "0.3", "0.0")]

    with pytest.raises(UserError, match="piece 1 is of item 0; give one text"):
        look(Doing(windows), torch.randn(2, 3, 16, 16), batch=1)

    perceiver = Doing(lambda x: attention(attention(latents.expand(len(x), -1, -1), x)))
    record = look(perceiver, torch.randn(1, 5, 16), tokens=WORDS[:5])
    assert record[Kind.CROSS].keys.texts == WORDS[:5] and record[Kind.CROSS].queries.texts == tuple("012")
    assert record[Kind.SELF].queries.texts == tuple("012") and any("not proved which" in note for note in record.notes)

    near = (torch.arange(5)[:, None] - torch.arange(5)).abs() < 2
    longformer = Doing(lambda x: torch.cat((attention(x[:, :2], x), attention(x, x, near)[:, 2:]), 1))
    record = look(longformer, torch.randn(1, 5, 16), tokens=WORDS[:5])
    assert record[Kind.CROSS].queries.texts == WORDS[:2] and record[Kind.CROSS].keys.texts == WORDS[:5]
    assert record[Kind.SELF].queries.texts == WORDS[:5]


@pytest.mark.parametrize("form", ["fused", "by hand"])
def test_rows_of_several_positions_say_which(form):
    torch.manual_seed(0)
    attention = Attention(form)
    network = nn.Module()
    network.attention = attention
    network.forward = lambda x: attention(functional.avg_pool1d(x.mT, 3, 2).mT)
    (found,) = look(network, torch.randn(2, 9, 16)).maps
    assert found.queries.texts == ("about 0–2", "about 2–4", "about 4–6", "about 6–8")
    (found,) = look(network, torch.randn(1, 301, 16)).maps   # by blocks
    assert found.queries.texts[:2] == ("about 0–4", "about 0–4") and found.queries.texts[-1] == "about 297–300"

    cut = nn.Conv2d(3, 16, 4, 2)   # patches that overlap
    network.forward = lambda x: attention(cut(x).flatten(2).mT)
    (found,) = look(network, torch.randn(1, 3, 24, 24)).maps
    assert found.queries.texts[:2] == ("about rows 0–1, columns 0–1", "about rows 0–1, columns 1–2")
    assert len(found.queries) == 121


@pytest.mark.parametrize("form", ["fused", "by hand"])
def test_padding_on_the_left_leaves_the_words(form):
    torch.manual_seed(0)
    table, attention = nn.Embedding(9, 16), Attention(form, causal=True)

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.attention = table, attention

        def forward(self, ids, mask):
            x = table(ids)
            return x + attention(x, allowed=mask[:, None, None].bool())

    ids, mask = torch.tensor([[0, 0, 3, 4, 5], [1, 2, 3, 4, 5]]), torch.tensor([[0, 0, 1, 1, 1], [1] * 5])
    for batch, hidden in ((0, 2 if form == "by hand" else 0), (1, 0)):
        (found,) = look(Padded(), (ids, mask), tokens=WORDS[:5], batch=batch).maps
        assert found.queries.texts == tuple("01")[:hidden] + WORDS[hidden:5] == found.keys.texts


@pytest.mark.parametrize("form", ["fused", "by hand"])
def test_sequence_first_keeps_the_words_of_the_sequence(form):
    torch.manual_seed(0)
    attention = Attention(form)
    network = nn.Module()
    network.attention, network.forward = attention, lambda x: attention(x.transpose(0, 1)).transpose(0, 1)
    (found,) = look(network, torch.randn(5, 5, 16), tokens=WORDS[:5], batch=1).maps
    assert found.queries.texts == WORDS[:5] and found.kind is Kind.SELF


@pytest.mark.parametrize("read", [
    lambda table, ids: table[ids], lambda table, ids: functional.embedding(ids.masked_fill(ids > 9, 0), table),
    lambda table, ids: functional.embedding(torch.where(ids > 9, 0, ids), table),
    lambda table, ids: table[ids[:, torch.from_numpy(np.random.permutation(5))]]],
    ids=["indexed", "filled", "where", "permuted by numpy"])
def test_ids_keep_their_words_when_they_are_indexed_filled_and_moved(read):
    torch.manual_seed(0)
    table, attention, ids = nn.Parameter(torch.randn(9, 16)), Attention("fused"), torch.tensor([[3, 1, 4, 1, 5]])
    network = nn.Module()
    network.attention, network.forward = attention, lambda ids: attention(read(table, ids))
    state, order = np.random.get_state(), np.random.permutation(5)
    np.random.set_state(state)
    (found,) = look(network, ids, tokens=WORDS[:5]).maps
    if "permutation" in read.__code__.co_names:
        assert found.queries.texts == tuple(WORDS[each] for each in order)
    else:
        assert found.queries.texts == WORDS[:5]


def test_largest_score_may_be_subtracted_and_a_sink_added():
    torch.manual_seed(0)
    attention, sink = Attention("by hand"), torch.zeros(1, 2, 1, 1)
    network = nn.Module()

    def forward(x):
        query, key, value = (part(x).unflatten(-1, (2, 8)).transpose(1, 2)
                             for part in (attention.q, attention.k, attention.v))
        scores = torch.cat((query @ key.mT, sink.expand(1, 2, 5, 1)), -1)
        return (scores - scores.amax(-1, keepdim=True)).softmax(-1)[..., :-1] @ value

    network.attention, network.forward = attention, forward
    (found,) = look(network, torch.randn(1, 5, 16), tokens=WORDS[:5]).maps
    assert found.queries.texts == WORDS[:5] == found.keys.texts[:5]
