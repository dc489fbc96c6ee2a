"""A recurrent encoder–decoder that copies its input, with one fixed context vector or with attention, to show why
attention was invented.

- fixed: the encoder's last state is the context of every step (Cho et al. 2014, arXiv:1406.1078, equations 7 and 8).
- attention: each step mixes all encoder states with additive scores (Bahdanau et al. 2015, arXiv:1409.0473, equations 4
  to 6, appendix A.1.2), here with a unidirectional encoder.

Uses gated recurrent units. benchmarks/kernels.py trains it.
"""
import torch
from torch import Tensor, nn

SYMBOLS = 12                       # alphabet size; one additional id starts every output
D_MODEL = 48
WIDER = 96                         # width for the kind "wide", which has one fixed context vector, twice as large


class Copier(nn.Module):
    """A network that reads symbols (b, t) and copies them."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        d_model = WIDER if kind == "wide" else D_MODEL
        self.attends = kind == "attention"
        self.embedding = nn.Embedding(SYMBOLS + 1, d_model)
        self.encoder = nn.GRU(d_model, d_model, batch_first=True)
        self.decoder = nn.GRUCell(2 * d_model, d_model)
        self.output = nn.Linear(2 * d_model, SYMBOLS)
        if self.attends:
            self.w_query, self.w_key = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
            self.v = nn.Parameter(torch.randn(d_model) * d_model**-0.5)

    def weights(self, state: Tensor, keys: Tensor) -> Tensor:
        """Return the additive attention weights (b, t) for a decoder state (b, d). keys: projected encoder states
        (b, t, d)."""
        return torch.softmax(torch.tanh(self.w_query(state)[:, None] + keys) @ self.v, -1)

    def forward(self, source: Tensor, given: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return logits (b, t, symbol) and attention weights (b, step, t), which are 0 without attention. Each step
        reads the previous symbol in `given`, or else its own previous output."""
        memory, last = self.encoder(self.embedding(source))
        state = context = last[0]
        keys = self.w_key(memory) if self.attends else None
        before, logits, seen = torch.full_like(source[:, 0], SYMBOLS), [], []
        for step in range(source.shape[1]):
            weights = torch.zeros(source.shape)
            if keys is not None:
                weights = self.weights(state, keys)
                context = (weights[:, None] @ memory)[:, 0]
            state = self.decoder(torch.cat([self.embedding(before), context], -1), state)
            logits.append(self.output(torch.cat([state, context], -1)))
            seen.append(weights)
            before = logits[-1].argmax(-1) if given is None else given[:, step]
        return torch.stack(logits, 1), torch.stack(seen, 1)
