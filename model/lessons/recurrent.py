"""A recurrent encoder–decoder that copies, with one fixed context vector or with attention: why attention was invented.

fixed: the encoder's last state is the context of every step (Cho et al. 2014, arXiv:1406.1078, equations 7 and 8).
attention: each step mixes all of the encoder's states by additive scores (Bahdanau et al. 2015, arXiv:1409.0473,
equations 4 to 6, appendix A.1.2), here with an encoder that reads in one direction only. Gated recurrent units,
cross-entropy, Adam with one cycle, gradients clipped at norm 1. """
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from model.core.limits import seeded

SYMBOLS = 12                       # what texts are made of; one more id begins every answer
D_MODEL = 48
WIDER = 96                         # of the kind "wide": one fixed context vector with twice the numbers
BATCH, RATE = 64, 4e-3
TEXTS = 200                        # texts that the accuracy of each length is measured on


class Copier(nn.Module):
    """Reads symbols (b, t) and writes them again."""

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
        """Additive attention of the decoder's state (b, d) over the projected encoder states (b, t, d): (b, t)."""
        return torch.softmax(torch.tanh(self.w_query(state)[:, None] + keys) @ self.v, -1)

    def forward(self, source: Tensor, given: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return logits (b, t, symbol) and the weights (b, step, t) of attention, all 0 without it. Each step reads the
        symbol before it in `given`, or what it wrote itself."""
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


def train(kind: str, longest: int, steps: int, seed: int, report: Callable[[int], None]) -> Copier:
    """Train on random texts of 1 to `longest` symbols, all of a batch equally long."""
    draw = torch.Generator().manual_seed(seed)
    with seeded(seed):
        model = Copier(kind)
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    for step in range(steps):
        report(step)
        length = int(torch.randint(1, longest + 1, (), generator=draw))
        text = torch.randint(SYMBOLS, (BATCH, length), generator=draw)
        loss = nn.functional.cross_entropy(model(text, text)[0].flatten(0, 1), text.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


def accuracy(model: Copier, lengths: Sequence[int], seed: int) -> list[float]:
    """Return the share of right symbols at each length, on texts that no training drew on purpose."""
    draw = torch.Generator().manual_seed(10_000 + seed)
    shares = []
    with torch.inference_mode():
        for length in lengths:
            text = torch.randint(SYMBOLS, (TEXTS, length), generator=draw)
            shares.append((model(text)[0].argmax(-1) == text).float().mean().item())
    return shares
