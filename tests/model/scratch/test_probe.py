"""Probes record from outside: nothing stays behind and nothing changes."""
import threading

import pytest
import torch

from model.scratch.probe import Probe, acting, capture
from model.scratch.transformer import Config, Transformer


@pytest.fixture
def model():
    torch.manual_seed(3)
    return Transformer(Config(vocabulary=17, d_model=30, heads=5, d_ff=13, encoder_layers=2, decoder_layers=3,
                              dropout=0.0)).eval()


def test_capture_names_tensors_by_path_and_axes(model):
    source, target = torch.tensor([[1, 2, 3, 1, 4, 5, 6]]), torch.tensor([[7, 8, 7]])
    with capture(model) as seen:
        model(source, target)
    assert seen["encoder.layers.1.attention.query"].shape == (1, 5, 7, 6)
    assert seen["decoder.layers.2.cross.query"].shape == (1, 5, 3, 6)
    assert seen["decoder.layers.2.cross.key"].shape == (1, 5, 7, 6)
    assert seen["decoder.layers.0.attention.mixed"].shape == (1, 5, 3, 6)
    assert not seen["encoder.layers.0.attention.value"].requires_grad


def test_capture_leaves_nothing_behind_and_changes_no_numbers(model):
    source, target = torch.tensor([[1, 2, 3]]), torch.tensor([[7, 8]])
    plain = model(source, target)
    with pytest.raises(KeyError), capture(model) as seen:
        assert torch.equal(model(source, target), plain)
        raise KeyError
    seen.clear()
    model(source, target)
    assert not seen


def test_actions_change_what_runs_on_in_the_order_of_their_blocks(model):
    source, target = torch.tensor([[1, 2, 3]]), torch.tensor([[7, 8]])
    plain = model(source, target)
    probe = model.decoder.layers[2].after_feed_forward.residual
    with acting([(probe, lambda x: 2 * x)]), acting([(probe, lambda x: x + 1)]):
        changed = model(source, target)
    with capture(model) as seen:
        model(source, target)
    assert torch.equal(changed, model.output(2 * seen["decoder.layers.2.after_feed_forward.residual"] + 1))
    assert torch.equal(model(source, target), plain)


def test_a_pass_of_another_thread_is_neither_seen_nor_changed(model):
    ids = torch.tensor([[1, 2, 3]]), torch.tensor([[7, 8]])
    plain, others = model(*ids), []
    with capture(model) as seen, acting([(model.encoder.layers[0].attention.mixed, torch.zeros_like)]):
        thread = threading.Thread(target=lambda: others.append(model(*ids)))
        thread.start()
        thread.join()
        assert not seen
        assert not torch.equal(model(*ids), plain)
    assert torch.equal(others[0], plain)


def test_probes_add_no_state():
    assert not list(Probe().state_dict())
    assert not [name for name in Transformer(Config(vocabulary=5, d_model=6, heads=2, d_ff=3)).state_dict()
                if "probe" in name.lower()]
