"""The page One block at the ends and the middle of its controls, compared with torch and the stored runs."""
import numpy as np
import pytest
import torch
from torch.nn import functional

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.models import TraceQuery
from clearhead.model.lessons import block
from clearhead.viz.app.state import State
from clearhead.viz.pages.lessons.block import TARGET, X
from tests.lesson_pages import shown


@pytest.mark.parametrize("place", [
    {"block": 0, "word": 0, "units": 0, "drop": 0.0, "depth": 2, "which": "first", "box": "in"},
    {"block": 3, "word": 7, "units": 16, "drop": 0.45, "depth": 12, "which": "last", "box": "feed_forward"},
    {"block": 5, "word": 15, "units": 32, "drop": 0.9, "depth": 24, "which": "last", "box": "add2"}])
def test_sections_state_the_numbers_of_trace_and_runs(place):
    found = shown("block", guess="a", **place).numbers
    trace = desk.ask(TraceQuery(sources.open_query(State().model, State().text))).result(120)
    this = trace.blocks[place["block"]]
    for name, rows in (("before", this.before), ("attention", this.attentions[0].output), ("after", this.after)):
        assert found["parts"][name] == pytest.approx(float(torch.tensor(rows).double().norm(dim=-1).mean()), rel=1e-5)
    norm, said = this.norms[0 if place["which"] == "first" else -1], found["norm"]
    x = torch.tensor(norm.input[place["word"]]).double()
    gain, bias = (torch.tensor(each).double() for each in (norm.gain, norm.bias))
    own, bare = functional.layer_norm(x, x.shape, gain, bias, norm.epsilon), functional.rms_norm(x, x.shape, gain,
                                                                                                 norm.epsilon)
    assert said["steps"].mean == pytest.approx(float(x.mean())) and said["steps"].variance == pytest.approx(
        float(x.var(unbiased=False)))
    assert said["differs"] == pytest.approx(float((bare - own).norm() / own.norm()))
    before = torch.tensor(this.feed_forward.before)
    active = functional.gelu(before)
    shares = [(active == 0), active.abs() < 0.01 * active.abs().max(), before <= 0]
    assert [found["feed_forward"][name] for name in ("zero", "near", "relu")] == pytest.approx(
        [float(each.float().mean()) for each in shares], abs=1e-4)
    assert found["bend"]["straight"] == pytest.approx(
        np.var(TARGET - np.polyval(np.polyfit(X, TARGET, 1), X)) / np.var(TARGET))
    row = this.attentions[0].output[place["word"]].astype(float)
    drawn = block.drop(row, place["drop"], 0)[0]
    assert found["dropout"]["zeros"] == (drawn == 0).sum() and found["dropout"]["after"] == pytest.approx(
        np.linalg.norm(drawn))
    runs, _ = block.depth_runs()
    post, pre = (runs[kind][place["depth"]] for kind in ("post", "pre"))
    assert found["depth"]["top"] == pytest.approx(post.gradient[-1] / pre.gradient[-1])
    assert found["depth"]["last"] == pre.stream[-1]
