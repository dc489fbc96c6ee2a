"""A recurrent encoder–decoder that copies its input, with one fixed context vector or with attention, to show why
attention was invented.

- fixed: the encoder's last state is the context of every step (Cho et al. 2014, arXiv:1406.1078, equations 7 and 8).
- attention: each step mixes all encoder states with additive scores (Bahdanau et al. 2015, arXiv:1409.0473, equations 4
  to 6, appendix A.1.2), here with a unidirectional encoder.

Uses gated recurrent units, cross-entropy, Adam with a one-cycle learning rate, and gradients clipped at norm 1.
"""
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.model.core.memory import count_parameters
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen
from clearhead.model.core.torch_runs import one_thread, seeded
from clearhead.model.lessons.kernels import LENGTHS, TRAINED
from clearhead.model.scratch.train import update

SYMBOLS = 12                       # alphabet size; one additional id starts every output
D_MODEL = 48
WIDER = 96                         # width for the kind "wide", which has one fixed context vector, twice as large
BATCH, RATE = 64, 4e-3
TEXTS = 200                        # number of texts per length for measuring accuracy
SHORT = 250                        # training steps on the page
Copied = dict[str, Any]


@frozen
class CopyQuery:
    """What do the copiers "fixed" and "attention" learn in SHORT steps?"""

    seed: int

    def answer(self, models: Models, report: Progress) -> Copied:
        """Train them as `copies` does."""
        with one_thread():
            return copies(("fixed", "attention"), SHORT, (self.seed,), report)


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


def train(kind: str, seed: int, steps: int, report: Progress) -> Copier:
    """Train on random texts of 1 to TRAINED symbols. All texts in a batch have the same length."""
    draw = torch.Generator().manual_seed(seed)
    with seeded(seed):
        model = Copier(kind)
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    for step in range(steps):
        report(step / steps, f"training: {kind}")
        length = int(torch.randint(1, TRAINED + 1, (), generator=draw))
        text = torch.randint(SYMBOLS, (BATCH, length), generator=draw)
        loss = nn.functional.cross_entropy(model(text, text)[0].flatten(0, 1), text.flatten())
        update(optimiser, loss, clip=1.0)
        schedule.step()
    return model.eval()


def accuracy(model: Copier, seed: int) -> list[float]:
    """Return the share of correct symbols in free-running mode at each of LENGTHS, on new random texts."""
    draw = torch.Generator().manual_seed(10_000 + seed)
    shares = []
    with torch.inference_mode():
        for length in LENGTHS:
            text = torch.randint(SYMBOLS, (TEXTS, length), generator=draw)
            shares.append((model(text)[0].argmax(-1) == text).float().mean().item())
    return shares


def copies(kinds: Sequence[str], steps: int, seeds: Sequence[int], report: Progress) -> Copied:
    """Train copiers of these kinds, the last of which has attention, with each seed. Return the accuracies {kind:
    (seed, length)}, seconds, parameters, and the alignment of the first copier with attention on one text of TRAINED
    symbols."""
    right: dict[str, list] = {kind: [] for kind in kinds}
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    models: dict[str, Copier] = {}
    for kind in kinds:
        for seed in seeds:
            begun = time.perf_counter()
            model = train(kind, seed, steps, report)
            models.setdefault(kind, model)
            seconds[kind].append(round(time.perf_counter() - begun, 1))
            right[kind].append([round(each, 4) for each in accuracy(model, seed)])
    text = torch.randint(SYMBOLS, (1, TRAINED), generator=torch.Generator().manual_seed(20_000 + seeds[0]))
    with torch.inference_mode():
        logits, weights = models[kinds[-1]](text)
    return {"right": right, "seconds": seconds,
            "parameters": {kind: count_parameters(model) for kind, model in models.items()},
            "alignment": [[round(each, 4) for each in row] for row in weights[0].tolist()], "text": text[0].tolist(),
            "written": logits[0].argmax(-1).tolist()}
