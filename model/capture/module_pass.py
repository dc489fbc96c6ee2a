"""Two passes of a torch module, one observed and one as it is, on the same random numbers; the module is left as it
was."""
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.capture.transformers_internals import attention_of

if TYPE_CHECKING:
    from torch import nn

    from model.capture.module_attention import Attention

FUSED = "sdpa"   # transformers' name of torch's fused attention


@dataclass(frozen=True, eq=False)
class Observation:
    """What was seen of a module's attention."""

    found: "list[Attention]"   # in the order of the pass
    unread: list[str]          # what was seen and cannot be read: the module's name, and why
    difference: float          # of what it put out from an unobserved pass, as a share of the largest number

    @property
    def tolerance(self) -> float:
        """The largest difference of two passes that counts as none: rounding adds up over the calls like chance."""
        return max((each.tolerance for each in self.found), default=0.0) * math.sqrt(len(self.found))


def observe(network: "nn.Module", forward: Callable[[], Any], batch: int) -> Observation:
    """The attention of text number `batch` in forward(), which calls the network on its inputs. Of transformers' models
    whose attention is not torch's, torch's is put in for the observed pass, if the model then puts out the same."""
    with _evaluating(network):
        plain = _once(network, forward)
        if attention_of(network) not in (None, FUSED):
            try:
                with _fused(network):
                    fused = _observed(network, forward, batch, plain)
                if fused.difference <= fused.tolerance:
                    return fused
            except (ValueError, RuntimeError):   # a family without fused attention
                pass
        return _observed(network, forward, batch, plain)


def _observed(network: "nn.Module", forward: Callable[[], Any], batch: int, plain: Any) -> Observation:
    from model.capture.module_proof import results_differ
    from model.capture.torch_attention import Observer

    observer = Observer(network, batch)
    with observer.watching(network):
        seen = _once(network, forward)
    return Observation(observer.found, observer.unread, results_differ(seen, plain))


def _once(network: "nn.Module", forward: Callable[[], Any]) -> Any:
    """forward() without gradients and without compiled code, on random numbers that begin anew each time; the
    program's own go on as if nothing had been."""
    import torch

    devices = {each.device for each in (*network.parameters(), *network.buffers()) if each.device.type == "cuda"}
    compiled = torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
    with torch.random.fork_rng(list(devices)), torch.no_grad(), compiled:
        torch.manual_seed(0)
        return forward()


@contextmanager
def _evaluating(network: "nn.Module") -> Iterator[None]:
    """The network in evaluation mode, without dropout; in the end each module is in the mode that it was in."""
    learning = [module for module in network.modules() if module.training]
    network.eval()
    try:
        yield
    finally:
        for module in learning:
            module.training = True


@contextmanager
def _fused(network: Any) -> Iterator[None]:
    """A model of transformers with torch's fused attention."""
    before = attention_of(network)
    network.set_attn_implementation(FUSED)
    try:
        yield
    finally:
        network.set_attn_implementation(before)
