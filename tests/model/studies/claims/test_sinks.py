"""The share of the first token without its own row, what a token receives, and what a window costs and gives back."""
from types import SimpleNamespace

import numpy as np
import pytest

from model.core.query import Kind, Window, quiet
from model.studies.claims import measured
from model.studies.claims.claim import SINKS, WIDTH, Reason, judge
from model.studies.claims.measured import first_share, first_token, received, restored, window
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, planted


def sink(share: float, layers: int = 4):
    heads = [looking(12, lambda row: 0, share, Kind.CAUSAL)]
    return planted([heads] * layers, Kind.CAUSAL)


def test_the_first_tokens_own_row_does_not_count():
    own_only = planted([[looking(5, lambda row: row, kind=Kind.CAUSAL)]], Kind.CAUSAL).maps[0]
    assert first_share(own_only) == pytest.approx([0])
    assert first_share(sink(1.0).maps[0]) == pytest.approx([1] * 4)


@pytest.mark.parametrize(("share", "reason"), [(0.9, Reason.ABOVE), (0.1, Reason.BELOW)])
def test_a_sink_takes_most(share, reason):
    found = first_token(ASKED, FakeModels(lambda query: sink(share)), quiet)
    assert judge(found.findings).reason is reason


def test_received_is_a_mean_over_those_that_may_look():
    got = received(sink(1.0).maps[0])
    assert got[0] == pytest.approx(1) and got[1:] == pytest.approx(0)


def losses(whole: float, without: float, with_sinks: float):
    """A model whose loss is that of the edits: a little more with each letter of the text, as passages differ."""
    def likelihood(_opened, query, _report):
        edit = next(iter(query.edits), None)
        loss = whole if edit is None else {Window(WIDTH + SINKS): without, Window(WIDTH, SINKS): with_sinks}[edit]
        return SimpleNamespace(log_probabilities=np.full(60, -loss - len(query.text) / 1e6))

    return likelihood


@pytest.mark.parametrize(("planted_losses", "reason", "decides"), [
    ((3.0, 5.0, 3.2), Reason.ABOVE, "window_cost"), ((3.0, 3.0, 3.0), Reason.NOTHING, "window_restored"),
    ((3.0, 5.0, 4.5), Reason.BELOW, "window_restored"), ((3.0, 5.0, 5.5), Reason.BELOW, "window_sinks"),
    ((3.0, 2.5, 2.0), Reason.BELOW, "window_cost")])
def test_a_window_that_costs_and_sinks_that_give_it_back(planted_losses, reason, decides, monkeypatch):
    monkeypatch.setattr(measured, "sequence_likelihood", losses(*planted_losses))
    judged = judge(window(ASKED, FakeModels(None), quiet).findings)
    assert (judged.reason, judged.finding.name) == (reason, decides)


def test_what_is_restored_is_a_ratio_of_means():
    whole, without, back = np.full(12, 1.0), np.linspace(2, 4, 12), np.full(12, 1.5)
    found = restored(whole, without, back)
    assert found.value == pytest.approx((without - back).sum() / (without - whole).sum())
    assert found.low < found.value < found.high
