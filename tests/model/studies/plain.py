"""The reference of the contract of studies and edits: a network of transformers with plain torch hooks and an attention
function of its own. Nothing here knows how Clearhead captures, edits or attributes anything.

The direct effect of a vector on the answer is measured by leaving it out: all attention and feed-forward outputs, and
the scales of all norms and activations, keep the values that they had in the edited pass.
"""
import copy
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

from clearhead.model.core.query import Hide, Kind, Patch, Silence, Temper, Window

Place = tuple[Kind, int]   # kind and number of an attention layer
RUNNING: list["Plain"] = []


def attention(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None,
              scaling: float | None = None, softcap: float | None = None, position_bias: Tensor | float = 0,
              **_options: Any) -> tuple[Tensor, None]:
    """Compute attention as the model's own eager function does, with temperatures, hidden keys and windows."""
    run = RUNNING[-1]
    kind, layer = next(place for place, (own, _) in run.attentions.items() if run.network.get_submodule(own) is module)
    key, value = (each.repeat_interleave(query.shape[1] // key.shape[1], 1) for each in (key, value))
    query, key, value = (run.taken.get((kind, layer), {}).get(name, each)
                         for name, each in (("query", query), ("key", key), ("value", value)))
    raw = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    score = (raw if softcap is None else softcap * (raw / softcap).tanh()) + position_bias
    scores = score.clone()
    if attention_mask is not None:
        scores = (scores + attention_mask).masked_fill(attention_mask < -1e30, -torch.inf)
    behind = torch.arange(query.shape[2])[:, None] - torch.arange(key.shape[2])
    for edit in run.edits:
        if isinstance(edit, Temper) and (edit.kind, edit.layer) == (kind, layer):
            scores[:, edit.head] /= edit.temperature
        if isinstance(edit, Hide) and (edit.side == "target") is (run.sides and kind is Kind.CAUSAL):
            scores[..., edit.token] = -torch.inf
        if isinstance(edit, Window) and kind is Kind.CAUSAL:
            scores[..., (behind >= edit.width) & (torch.arange(key.shape[2]) >= edit.first)] = -torch.inf
    weights = scores.softmax(-1).nan_to_num()
    run.captured[kind, layer] = {"query": query, "key": key, "value": value, "raw": raw, "score": score,
                                 "weights": weights}
    return (weights @ value).transpose(1, 2).contiguous(), None


def opened(folder: Path, architecture: str) -> nn.Module:
    """Return the network of a folder in float64, with this attention."""
    transformers.AttentionInterface.register("plain", attention)
    transformers.AttentionMaskInterface.register("plain", ALL_MASK_ATTENTION_FUNCTIONS["eager"])
    return getattr(transformers, architecture).from_pretrained(folder, attn_implementation="plain").double().eval()


def centred(module: nn.Module, x: Tensor) -> Tensor:
    """Return what a layer norm scales; other norms scale their input itself."""
    mean = isinstance(module, nn.LayerNorm) or type(module).__name__ == "CohereLayerNorm"
    return x - x.mean(-1, keepdim=True) if mean else x


def shift(module: nn.Module) -> Tensor | float:
    """Return the bias of a norm."""
    found = getattr(module, "bias", None)
    return 0.0 if found is None else found


@dataclass
class Plain:
    """One pass of a network with edits. All tensors are float64 and have a row for each copy of the text."""

    network: nn.Module
    attentions: dict[Place, tuple[str, str]]        # the modules of each attention layer and of its W_O
    feed_forward: dict[Place, str]                  # the last matrix of each feed-forward layer
    activation: tuple[str, ...]                     # the modules before and behind an activation after the last block
    read: Callable[[Any], Tensor]                   # the answer (row, position, number) in the network's output
    inputs: dict[str, Tensor]
    edits: Iterable = ()
    others: dict[Any, "Plain"] = field(default_factory=dict)   # the pass that each patch copies from
    captured: dict[Place, dict[str, Tensor]] = field(default_factory=dict)   # inputs and weights of attention
    sent: dict[str, Tensor] = field(default_factory=dict)      # inputs of each W_O and W_2, edits included
    made: dict[str, Tensor] = field(default_factory=dict)      # their outputs
    slopes: dict[str, Tensor] = field(default_factory=dict)    # ratios of outputs and inputs of norms, activation
    # what this pass takes from others: outputs of W_O and W_2; inputs of attention; heads' parts of the input of a W_O
    outputs: dict[str, Tensor] = field(default_factory=dict)
    taken: dict[Place, dict[str, Tensor]] = field(default_factory=dict)
    put: dict[str, tuple[slice, Tensor]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sides = any(kind is Kind.CROSS for kind, _ in self.attentions)
        self.writers = dict.fromkeys(self.feed_forward.values()) | {
            path: place for place, (_, path) in self.attentions.items()}
        with ExitStack() as hooks:
            for path in self.writers:
                module = self.network.get_submodule(path)
                hooks.enter_context(module.register_forward_pre_hook(self._edited(path)))
                hooks.enter_context(module.register_forward_hook(self._kept(path)))
            for path, module in self._norms():
                hooks.enter_context(module.register_forward_hook(self._measured(path)))
            self._around(hooks, lambda before, behind: self.slopes.update(activation=behind / before))
            self.output = self._run(self.inputs)
        self.answer = self.read(self.output)

    def _run(self, inputs: dict[str, Tensor]) -> Any:
        RUNNING.append(self)
        try:
            with torch.no_grad():
                return self.network(**inputs)
        finally:
            RUNNING.pop()

    def _norms(self) -> list[tuple[str, nn.Module]]:
        return [(path, module) for path, module in self.network.named_modules()
                if "norm" in type(module).__name__.lower()]

    def _around(self, hooks: ExitStack, change: Callable[[Tensor, Tensor], Tensor | None]) -> None:
        """Replace what the module behind the activation reads by change(before, behind), if it returns anything."""
        if self.activation:
            before, behind = map(self.network.get_submodule, self.activation)
            hooks.enter_context(before.register_forward_hook(self._kept("activation")))
            hooks.enter_context(behind.register_forward_pre_hook(
                lambda _module, arguments: change(self.made["activation"], arguments[0])))

    def _edited(self, path: str) -> Callable:
        def hook(_module: nn.Module, arguments: tuple) -> tuple:
            mixed = arguments[0].clone()
            for edit in self.edits:
                if isinstance(edit, Silence | Patch) and (edit.kind, edit.layer) == self.writers[path]:
                    part = self.parts(path)[edit.head]
                    own = mixed[..., part]
                    mixed[..., part] = (self.others[edit.from_query].sent[path][..., part] if isinstance(edit, Patch)
                                        else own.mean(1, keepdim=True) if edit.mode == "mean" else 0)
            for part, vectors in (self.put[path],) if path in self.put else ():
                mixed[..., part] = vectors
            self.sent[path] = mixed
            return (mixed, *arguments[1:])
        return hook

    def _kept(self, path: str) -> Callable:
        def hook(_module: nn.Module, _arguments: tuple, output: Tensor) -> Tensor | None:
            self.made[path] = output
            return self.outputs.get(path)
        return hook

    def _measured(self, path: str) -> Callable:
        def hook(module: nn.Module, arguments: tuple, output: Tensor) -> None:
            self.slopes[path] = (output - shift(module)) / centred(module, arguments[0])
        return hook

    def _fixed(self, path: str) -> Callable:
        return lambda module, arguments, _output: centred(module, arguments[0]) * self.slopes[path] + shift(module)

    def matrix(self, path: str) -> Tensor:
        """Return the matrix (input, output) of a W_O."""
        module = self.network.get_submodule(path)
        return module.weight if isinstance(module, transformers.pytorch_utils.Conv1D) else module.weight.T

    def parts(self, path: str) -> list[slice]:
        """Return each head's part of the input of a W_O."""
        heads = self.captured[self.writers[path]]["query"].shape[1]
        size = len(self.matrix(path)) // heads
        return [slice(head * size, (head + 1) * size) for head in range(heads)]

    def vectors(self, path: str) -> list[Tensor]:
        """Return what each head of this W_O adds, or the whole output of a feed-forward layer, each (1, t, d_model)."""
        if self.writers[path] is None:
            return [self.made[path]]
        return [self.sent[path][..., part] @ self.matrix(path)[part] for part in self.parts(path)]

    def again(self, **takes: Any) -> "Plain":
        """Run this pass again, with parts of other passes."""
        return replace(self, captured={}, sent={}, made={}, slopes={}, **takes)

    def path(self, twin: "Plain", place: Place, head: int, receiver: tuple[Place, int] | None,
             reads: Iterable[str]) -> Tensor:
        """Return the answer if one path from a head to a receiver, or to the answer, has its value from the twin, with
        the outputs of all attention and feed-forward layers in between kept."""
        path = self.attentions[place][1]
        mixed, part = self.sent[path].clone(), self.parts(path)[head]
        mixed[..., part] = twin.sent[path][..., part]
        made = {own: self.made[own] for own in self.writers}
        with torch.no_grad():
            kept = self.again(outputs={**made, path: self.network.get_submodule(path).forward(mixed)})
        if receiver is None:
            return kept.answer
        path, part = self.attentions[receiver[0]][1], self.parts(self.attentions[receiver[0]][1])[receiver[1]]
        read = self.again(taken={receiver[0]: {name: kept.captured[receiver[0]][name] for name in reads}})
        return self.again(put={path: (part, read.sent[path][..., part])}).answer

    def without(self) -> tuple[list[tuple[str, int]], Tensor, "Plain"]:
        """Leave out each head and each feed-forward layer alone. Returns (path, head) for every row but the first, the
        answers (row, position, number), and the pass, whose first row leaves out nothing."""
        rows = [(path, head, vector) for path in self.writers for head, vector in enumerate(self.vectors(path))]
        again = copy.copy(self)
        again.captured = {}
        inputs = {name: each.expand(len(rows) + 1, *each.shape[1:]) for name, each in self.inputs.items()}
        with ExitStack() as hooks:
            for path in self.writers:
                output = self.made[path].repeat(len(rows) + 1, 1, 1)
                for number, (own, _, vector) in enumerate(rows):
                    if own == path:
                        output[number + 1] -= vector[0]
                hooks.enter_context(self.network.get_submodule(path).register_forward_hook(
                    lambda _module, _arguments, _output, output=output: output))
            for path, module in self._norms():
                hooks.enter_context(module.register_forward_hook(self._fixed(path)))
            self._around(hooks, lambda before, _behind: before * self.slopes["activation"])
            answer = self.read(again._run(inputs))
        return [(path, head) for path, head, _ in rows], answer, again
