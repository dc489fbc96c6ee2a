"""Examine one Transformer block: its parts, normalisation step by step, inactive units and the nonlinearity of the
feed-forward layer, dropout, and the effect of depth at initialisation."""
import json
from functools import cache, lru_cache
from typing import cast

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import Kind, with_arrays
from clearhead.model.core.torch_runs import seeded
from clearhead.model.core.traces import Block, Norm, norm_of

WIDTH, HEADS, TEXTS, TOKENS, WORDS = 64, 4, 4, 16, 50    # sizes of the small model of varying depth
DEPTHS = (2, 4, 6, 8, 12, 16, 20, 24)
RUNS = ASSETS / "lessons" / "block.json"                 # written by python -m tools.depth


@with_arrays
class BlockPart:
    """A box in the drawing of a block.

    kind: in, norm, attention, cross, feed_forward, add or add_norm. name: the kind with the number of its sub-layer.
    output: (t, d_model), None if the form of the model's feed-forward layer is unknown. norm: the normalisation that
    the box contains.
    """

    name: str
    kind: str
    output: np.ndarray | None
    norm: Norm | None = None


def boxes(block: Block) -> list[BlockPart]:
    """Return the block's boxes from the bottom up. Their order is inferred from the values: a norm precedes a sub-layer
    if its input is the stream, follows it if its input is the sub-layer's output (Gemma 2, OLMo 2), and is part of
    *add & norm* if its input is their sum and the model is post-LN."""
    left, stream = list(block.norms), block.before
    stack = [BlockPart("in", "in", stream)]
    feed_forward = block.feed_forward.output if block.feed_forward else None
    for number, attention in enumerate((*block.attentions, None), 1):
        name = "feed_forward" if attention is None else "cross" if attention.kind is Kind.CROSS else "attention"
        output = feed_forward if attention is None else attention.output
        before = _reading(left, stream)
        stack += [BlockPart(f"norm{number}", "norm", before.output, before)] if before else []
        stack.append(BlockPart(name, name, output))
        behind = _reading(left, output)
        stack += [BlockPart(f"behind{number}", "norm", behind.output, behind)] if behind else []
        if attention is not None:
            stream = np.add(*block.sum_at(attention))
        else:
            stream = block.after if output is None else stream + block.fed_forward
        after = None if block.norm_first else _reading(left, stream)
        stream = after.output if after else stream
        stack.append(BlockPart(f"add{number}", "add_norm" if after else "add", stream, after))
    return stack


def _reading(norms: list[Norm], read: np.ndarray | None) -> Norm | None:
    """Remove and return the first norm whose input equals these vectors (t, d) up to rounding."""
    norm = None if read is None else norm_of(norms, read)
    if norm is not None:
        norms.remove(norm)
    return norm


@with_arrays
class Steps:
    """The steps of normalising a vector x; arrays are float64 (d)."""

    mean: float           # mean of x; 0 for RMS
    variance: float       # biased variance of x; the mean square for RMS
    centred: np.ndarray   # x − mean; x itself for RMS
    normal: np.ndarray    # scaled to a mean square of 1, up to ε
    scaled: np.ndarray    # multiplied by the gain
    output: np.ndarray    # with the bias added


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray | None = None, epsilon: float = 1e-5) -> Steps:
    """Apply layer norm to one token's features, with the biased variance and ε inside the root (Ba, Kiros & Hinton
    2016)."""
    x = np.asarray(x, np.float64)
    mean, variance = float(x.mean()), float(x.var())
    normal = (x - mean) / np.sqrt(variance + epsilon)
    return Steps(mean, variance, x - mean, normal, normal * gain, normal * gain + (0 if bias is None else bias))


def rms_norm(x: np.ndarray, gain: np.ndarray, epsilon: float = 1e-6) -> Steps:
    """Apply RMSNorm, which neither subtracts a mean nor adds a bias (Zhang & Sennrich 2019)."""
    x = np.asarray(x, np.float64)
    square = float((x * x).mean())
    normal = x / np.sqrt(square + epsilon)
    return Steps(0.0, square, x, normal, normal * gain, normal * gain)


def inactive_shares(before: np.ndarray, active: np.ndarray) -> tuple[float, float, float]:
    """Return the shares (0 to 1) of activations that are exactly 0, that are below 1% of the largest, and that a ReLU
    would set to 0."""
    size = np.abs(active)
    return float((active == 0).mean()), float((size < 0.01 * size.max(initial=0)).mean()), float((before <= 0).mean())


def drop(x: np.ndarray, rate: float, seed: int, draws: int = 1) -> np.ndarray:
    """Apply dropout (Srivastava et al. 2014) as in training: set each number of x (d) to 0 with probability `rate` and
    divide the others by 1 − rate. Returns `draws` independent results, (draw, d)."""
    kept = np.random.default_rng(seed).random((draws, len(x))) >= rate
    return kept * np.asarray(x, np.float64) / (1 - rate)


def bent_fit(target: np.ndarray, x: np.ndarray, units: int) -> np.ndarray:
    """Fit `target` (n) as a function of x (n) by least squares, float64 (n). The function is a line plus `units` ReLU
    units with evenly spaced bends, like a feed-forward layer of that width with one feature."""
    bends = np.linspace(x[0], x[-1], units + 2)[1:-1]
    columns = np.column_stack([np.ones_like(x), x, *(np.maximum(0, x - bend) for bend in bends)])
    return columns @ np.linalg.lstsq(columns, target, rcond=None)[0]


@lru_cache(maxsize=64)
def depth(layers: int, norm_first: bool, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return (mean length of the residual stream after each block, Frobenius norm of the gradient of each block's W_2),
    both float64 (layer).

    The setting follows figure 3 of Xiong et al. 2020: our encoder at initialisation (width 64, Xavier), random texts,
    and the loss of predicting random tokens from the last block's output. Pre-LN includes the final norm.
    """
    import torch

    from clearhead.model.scratch.transformer import Config, EncoderLayer, Transformer

    with seeded(seed), torch.enable_grad():
        model = Transformer(Config(WORDS, WIDTH, HEADS, 4 * WIDTH, layers, 0, dropout=0.0, norm_first=norm_first,
                                   final_norm=norm_first, tie=False))
        ids, wanted = torch.randint(1, WORDS, (2, TEXTS, TOKENS))
        stream: list[float] = []
        for each in model.encoder.layers:
            each.register_forward_hook(lambda _layer, _given, x: stream.append(float(x.detach().norm(dim=-1).mean())))
        logits = model(ids)
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten()).backward()
    gradient = [float(cast(torch.Tensor, cast(EncoderLayer, each).feed_forward.w_2.weight.grad).norm())
                for each in model.encoder.layers]
    return np.array(stream), np.array(gradient)


@with_arrays
class DepthRuns:
    """Results at one depth, averaged over seeds, float64 (layer)."""

    stream: np.ndarray      # mean length of the residual stream after each block
    gradient: np.ndarray    # Frobenius norm of the gradient of W_2
    low: np.ndarray         # smallest value over seeds
    high: np.ndarray        # largest value over seeds


@cache
def depth_runs() -> tuple[dict[str, dict[int, DepthRuns]], dict]:
    """Return the shipped runs and their metadata: ({"post" or "pre": {layers: runs}}, metadata)."""
    stored = json.loads(RUNS.read_text(encoding="utf-8"))
    return {kind: {int(layers): DepthRuns(**{name: np.array(numbers) for name, numbers in found.items()})
                   for layers, found in stored.pop(kind).items()} for kind in ("post", "pre")}, stored
