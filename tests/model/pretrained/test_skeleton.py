"""A network is not built larger than its weights."""
import pytest

from model.core import memory
from model.core.query import UserError
from model.pretrained.skeleton import refuse_what_weights_do_not_hold
from tests.model import tiny


def of(**changes):
    import transformers

    configuration, architecture, sizes = tiny.FAMILIES["gpt2"]
    made = getattr(transformers, configuration)(**{**sizes, **changes})
    return lambda: getattr(transformers, architecture)._from_config(made)


def test_what_the_weights_hold_is_built_and_much_more_is_not(monkeypatch):
    network = of()()
    held = sum(parameter.numel() for parameter in network.parameters())
    refuse_what_weights_do_not_hold(of(), held, "mine")
    for changes in ({"n_embd": 6_000}, {"n_positions": 3_000_000}, {"vocab_size": 4_000_000}):
        with pytest.raises(UserError, match=r"configuration of mine describes [\d,]+ numbers and its weights hold "):
            refuse_what_weights_do_not_hold(of(**changes), held, "mine")
    monkeypatch.setattr(memory, "memory_free", lambda: 4.0 * held)
    with pytest.raises(UserError, match=r"mine has .* of memory are free"):
        refuse_what_weights_do_not_hold(of(), held, "mine")
