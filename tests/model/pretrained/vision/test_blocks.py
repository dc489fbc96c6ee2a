"""Vision towers whose blocks are replayed, and whose last picture is kept."""
import pytest
import torch

from clearhead.model.look.replay import Lost, Replay
from clearhead.model.pretrained.vision.blocks import Blocks, LastPicture, TowerRecorder, blocks_of
from tests.model.tiny_prompted import made


@pytest.fixture(scope="module")
def network():
    return made("llava")[0]


PICTURE = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def recorded(network):
    blocks, real = Blocks(blocks_of(network), lambda _: None), TowerRecorder([PICTURE])
    with torch.no_grad(), blocks.recording(real), real:
        return blocks, real, network.model.vision_tower(PICTURE).last_hidden_state


def test_replayed_rows_are_those_that_changed(network):
    blocks, real, states = recorded(network)
    other = PICTURE.clone()
    other[..., 8:16, 24:] += 0.1   # the patch in row 1 and column 3, behind [CLS]
    for picture, rows in ((PICTURE, []), (other, [1 + 4 + 3])):
        with torch.no_grad(), blocks.replaying(), Replay(real):
            again = network.model.vision_tower(picture).last_hidden_state
        assert (again != states).any(-1)[0].nonzero().flatten().tolist() == rows


@pytest.mark.parametrize("plant", [lambda states: states.roll(1, 1), lambda states: states + states.mean(1, True)],
                         ids=["moves", "mixes"])
def test_block_that_moves_or_mixes_tokens_is_not_replayed(network, plant, monkeypatch):
    block = blocks_of(network)[1]
    own = block.forward
    monkeypatch.setattr(block, "forward", lambda *args, **options: plant(own(*args, **options)))
    with pytest.raises(Lost, match="mixes tokens"):
        recorded(network)


def test_tower_runs_once_for_a_picture(network):
    runs, tower, last = [], network.model.vision_tower, LastPicture(network)
    hook = blocks_of(network)[0].register_forward_hook(lambda *_: runs.append(1))
    with hook, torch.no_grad():
        for picture, count in ((PICTURE, 1), (PICTURE.clone(), 1), (-PICTURE, 2), (PICTURE, 3)):
            with last.kept():
                states = tower(picture).last_hidden_state
            assert len(runs) == count
            assert torch.equal(states, tower(picture).last_hidden_state)
            runs.pop()
            states += 1   # in place
    assert "forward" not in tower.__dict__
