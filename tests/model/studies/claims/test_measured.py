"""Each measurement on records whose heads do or do not behave as claimed: the verdict follows."""
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.attention import Full
from clearhead.model.core.query import Kind, Query, UserError, Window, quiet
from clearhead.model.core.record import AttentionMap, Reported
from clearhead.model.core.tokens import patch_tokens
from clearhead.model.core.traces import Norm, Step
from clearhead.model.studies.attribution import Attribution, ceiling
from clearhead.model.studies.claims import measured
from clearhead.model.studies.claims.catalogue import CLAIMS
from clearhead.model.studies.claims.claim import SINKS, WIDTH, Reason, judge, reason
from clearhead.model.studies.coreference import map_of, shipped_cases, words_of
from clearhead.model.studies.faithfulness import by_head, texts
from clearhead.model.studies.induction import Film
from clearhead.model.studies.syntax import pieces_of, spans_of
from tests.fabricate import D_V, HEADS, KV_HEADS, record
from tests.model.studies.claims.planted import ASKED, FakeModels, looking, of_words, planted
from tests.model.studies.faithfulness.test_report import made
from tools import drawn_figures

WORDS = ["[CLS]", *(f"t{at}" for at in range(8)), "[SEP]"]
NEAR, FAR = looking(10, lambda row: row), looking(10, lambda row: 9 - row)


def verdict(found) -> Reason:
    return judge(found.findings).reason


# chosen on one half, judged on the other

def test_each_text_is_judged_by_the_best_head_of_the_others():
    values = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])   # even texts like head 0, odd ones head 1
    found = measured.best_head_finding("previous", values, 0.5, np.zeros((2, 2)), ((0, 0), (0, 1)))
    assert found.heads == ((0, 0), (0, 1)) and found.effect == pytest.approx(0.25)


def test_finding_has_best_head_and_its_null():
    values, null = np.tile([0.2, 0.9, 0.5], (12, 1)), np.tile(np.linspace(0, 1, 101)[:, None], (1, 3))
    found = measured.best_head_finding("previous", values, 0.5, null, ((0, 0), (0, 1), (1, 0)))
    assert found.effect == pytest.approx(0.9) == found.best and (found.n, found.heads) == (12, ((0, 1), (0, 1)))
    assert abs(found.luck - 0.95) < 1e-9


def test_shuffled_rows_keep_their_weights_and_know_no_position():
    sharp, even = looking(9, lambda row: row - 1), looking(9, lambda row: 0, share=0)
    found = measured.shuffled(planted([[sharp, even]]).maps[0], np.arange(1, 9), 0)
    assert found.shape[1] == 2 and np.allclose(found[:, 1], 1 / 9, atol=1e-6)
    assert abs(found[:, 0].mean() - 1 / 9) < 0.02 and found[:, 0].max() < 0.7
    causal = planted([[looking(6, lambda row: 0, kind=Kind.CAUSAL)]], Kind.CAUSAL).maps[0]
    assert np.allclose(measured.shuffled(causal, np.array([0]), 0), 1)   # the first token sees itself alone


# neighbours, depth, pronouns, grammar

MEASURES = {claim.name: claim.measure for claim in CLAIMS}


@pytest.mark.parametrize(("measure", "offset"), [("previous", -1), ("next", 1)])
@pytest.mark.parametrize(("share", "expected"), [(0.9, Reason.ABOVE), (0.3, Reason.BELOW)])
def test_neighbour(measure, offset, share, expected):
    layer = [looking(11, lambda row: row, share), looking(11, lambda row: row + offset, share)]
    found = MEASURES[measure](ASKED, FakeModels(lambda query: planted([layer])), quiet)
    assert verdict(found) is expected and found.picture.head == (0, 1)
    assert found.findings[0].heads == ((0, 1), (0, 1)) and found.findings[0].n == 60


@pytest.mark.parametrize(("measure", "low", "high"), [
    ("distance", NEAR, FAR), ("special", looking(10, lambda row: 4), looking(10, lambda row: 0)),
    ("breadth", looking(10, lambda row: row, 0.1), NEAR)])
def test_depth(measure, low, high):
    up, down = ([[low], [low], [high], [high]], [[high], [high], [low], [low]])
    for layers, expected in ((up, Reason.ABOVE), (down, Reason.BELOW), ([[low]] * 4, Reason.UNCLEAR)):
        models = FakeModels(lambda query, layers=layers: planted(layers, texts=WORDS))
        assert verdict(MEASURES[measure](ASKED, models, quiet)) is expected
    lower, upper = measured.halves(planted([[NEAR], [NEAR], [NEAR]]).maps[0])   # the middle layer is in neither
    assert lower.tolist() == [True, False, False] and upper.tolist() == [False, False, True]


CASES = {case.sentence: case for case in shipped_cases("coreference")}


@pytest.mark.parametrize(("choose", "expected"), [
    (lambda words: words.correct[0], Reason.ABOVE), (lambda words: words.wrong[0], Reason.BELOW),
    (lambda words: min(words.correct + words.wrong), Reason.UNCLEAR)], ids=["right", "wrong", "first"])
def test_pronoun(choose, expected):
    def answer(query):
        side = of_words(query.text)
        wanted = choose(words_of(side, CASES[query.text]))
        return planted([[looking(len(side), lambda row: wanted, share) for share in (0.3, 0.8)]], texts=side)

    found = measured.pronoun(ASKED, FakeModels(answer), quiet)
    (number,) = found.findings
    assert verdict(found) is expected and number.baseline >= 0.5
    assert number.n == len({case.frame for case in CASES.values()})
    if expected is Reason.ABOVE:
        assert number.effect == number.best == 1 and set(number.heads) == {(0, 1)} and number.luck < 1


TREES = {sentence.text: sentence for sentence in measured.trees()}


@pytest.mark.parametrize("name", ["obj", "nsubj"])
def test_relation(name):
    def models(follows: bool):
        """Head 0·1 looks from each word at its head in the tree, or at the next word."""
        def answer(query):
            side, sentence = of_words(query.text), TREES[query.text]
            pieces = pieces_of(side, spans_of(sentence))
            target = np.minimum(np.arange(len(side)) + 1, len(side) - 1)
            for word, known in enumerate(sentence.words):
                if follows and known.head:
                    target[pieces[word]] = pieces[known.head - 1].argmax()
            layer = [looking(len(side), lambda row: 0), looking(len(side), lambda row: int(target[row]), 0.8)]
            return planted([layer], texts=side)
        return FakeModels(answer)

    found = measured.relation(name)(ASKED, models(True), quiet)
    (number,) = found.findings
    assert verdict(found) is Reason.ABOVE and number.effect == pytest.approx(1)
    assert number.n == sum(any(word.relation == name for word in each.words) for each in TREES.values())
    assert set(number.heads) == {(0, 1)} == {found.picture.head}
    fixed = judge(measured.relation(name)(ASKED, models(False), quiet).findings)
    assert fixed.reason in (Reason.UNCLEAR, Reason.BELOW) and fixed.finding.effect <= fixed.finding.baseline


# sinks and massive activations

def sink(share: float):
    return planted([[looking(12, lambda row: 0, share, Kind.CAUSAL)]] * 4, Kind.CAUSAL)


@pytest.mark.parametrize(("share", "expected"), [(0.9, Reason.ABOVE), (0.1, Reason.BELOW)])
def test_sink(share, expected):
    assert verdict(measured.first_token(ASKED, FakeModels(lambda query: sink(share)), quiet)) is expected


def test_own_row_of_first_token_does_not_count():
    own_only = planted([[looking(5, lambda row: row, kind=Kind.CAUSAL)]], Kind.CAUSAL).maps[0]
    assert measured.first_share(own_only) == pytest.approx([0])
    assert measured.first_share(sink(1.0).maps[0]) == pytest.approx([1] * 4)
    assert measured.received(sink(1.0).maps[0]) == pytest.approx([1, *[0] * 11])


@pytest.mark.parametrize(("losses", "expected", "decides"), [
    ((3.0, 3.2, 3.02), Reason.ABOVE, "window_cost"), ((3.0, 3.0, 3.0), Reason.NOTHING, "window_restored"),
    ((3.0, 5.0, 4.5), Reason.BELOW, "window_restored"), ((3.0, 5.0, 5.5), Reason.BELOW, "window_sinks"),
    ((3.0, 2.5, 2.0), Reason.BELOW, "window_cost")])
def test_window(losses, expected, decides, monkeypatch):
    """losses: of the whole text, with a window, and with a window and sinks; more with each letter."""
    def likelihood(asked, _models, _report):
        edits = {None: losses[0], Window(WIDTH + SINKS): losses[1], Window(WIDTH, SINKS): losses[2]}
        loss = edits[next(iter(asked.query.edits), None)]
        return SimpleNamespace(log_probabilities=np.full(60, -loss - len(asked.query.text) / 1e6))

    monkeypatch.setattr(measured.LikelihoodQuery, "answer", likelihood)
    judged = judge(measured.window(ASKED, FakeModels(None), quiet).findings)
    assert (judged.reason, judged.finding.name) == (expected, decides)


def test_restored_is_a_ratio_of_means():
    whole, without, back = np.full(12, 1.0), np.linspace(2, 4, 12), np.full(12, 1.5)
    found = measured.restored(whole, without, back)
    assert found.value == pytest.approx((without - back).sum() / (without - whole).sum())
    assert found.low < found.value < found.high


SINKING = planted([[looking(12, lambda row: 0, kind=Kind.CAUSAL)]], Kind.CAUSAL)


def massive_trace(token: int, size: float, median: float = 0.1):
    after = np.full((12, 6), median)
    after[token, 3] = -size
    return SimpleNamespace(blocks=(SimpleNamespace(kind=Kind.CAUSAL, after=after),))


@pytest.mark.parametrize(("size", "median", "expected"), [
    (101, 0.1, True), (100, 0.01, False), (150, 0.15, False), (150.1, 0.15, True)])
def test_both_thresholds_of_massive_count(size, median, expected):
    assert measured.largest(massive_trace(2, size, median), SINKING.maps[0]) == (2, expected)


@pytest.mark.parametrize(("token", "size", "expected", "decides"), [
    (0, 500, Reason.ABOVE, "massive"), (7, 500, Reason.BELOW, "massive_sink"), (0, 50, Reason.BELOW, "massive")])
def test_massive_activation_is_at_the_sink(token, size, expected, decides):
    models = FakeModels(lambda query: SINKING, trace=lambda query, report: massive_trace(token, size))
    judged = judge(measured.massive(ASKED, models, quiet).findings)
    assert (judged.reason, judged.finding.name) == (expected, decides)


# mixing, against the formula head by head

WIDE, COUNT = 8, 6
RECORD = record(COUNT, layers=1)
LAYER = map_of(RECORD).layers[0]
OUT = np.random.default_rng(3).normal(size=(HEADS, D_V, WIDE)).astype(np.float32)
WEIGHTS = np.stack([heads.weights(LAYER, head) for head in range(HEADS)]).astype(np.float64)
VECTORS = np.stack([LAYER.value[head // (HEADS // KV_HEADS)].astype(np.float64) @ OUT[head] for head in range(HEADS)])
ADDED = np.einsum("hqk,hkm->qkm", WEIGHTS, VECTORS)   # what each token adds for each other


def traced(stream: np.ndarray) -> SimpleNamespace:
    """Trace a layer with this residual stream and a layer norm over the sum."""
    output = ADDED.sum(1)
    summed = (stream + output).astype(np.float32)
    norm = Norm("norm", "layer", summed, summed, np.ones(WIDE, np.float32), None, 1e-6)
    attention = SimpleNamespace(output=output, w_output=OUT)
    trace = SimpleNamespace(attention=lambda kind, index: attention, plain=lambda: trace,
                            block=lambda kind, index: SimpleNamespace(before=stream, norms=(norm,), steps=(
                                Step(attention=0, factor=np.ones((1, 1))),), attentions=(attention,)))
    return trace


def test_mixing_ratios_equal_the_formula():
    stream, wanted = np.random.default_rng(5).normal(size=(COUNT, WIDE)) * 20, []
    for token in range(COUNT):
        parts = ADDED[token].copy()
        parts[token] += stream[token]
        parts -= parts.mean(-1, keepdims=True)
        others = np.linalg.norm(np.delete(parts, token, 0).sum(0))
        wanted.append(others / (others + np.linalg.norm(parts[token])))
    found = measured.mixing_ratios(map_of(RECORD), traced(stream))
    assert found[1] == pytest.approx(np.mean(wanted), rel=1e-5)
    assert found[0] == pytest.approx(1 - np.mean([WEIGHTS[:, at, at].mean() for at in range(COUNT)]), rel=1e-5)


@pytest.mark.parametrize(("times", "expected"), [(100, Reason.ABOVE), (-1, Reason.BELOW)])
def test_residual_stream_changes_mixing(times, expected):
    stream = times * ADDED[np.arange(COUNT), np.arange(COUNT)]
    found = measured.mixing(ASKED, FakeModels(lambda query: RECORD, trace=lambda query, report: traced(stream)), quiet)
    assert verdict(found) is expected and found.findings[0].n == 60


# figure and ground

def test_middle_of_a_patch_decides():
    figure = np.zeros((measured.SIDE,) * 2, bool)
    figure[112:, 56:168] = True
    expected = np.zeros((4, 8), bool)
    expected[2:, 2:6] = True
    assert (measured.at_centres(figure, (4, 8)) == expected).all()


def test_shipped_figures_are_those_that_are_drawn():
    known = [(figure, expected) for _, figure, expected in measured.with_figures()]
    files = {name: np.asarray(image) for name, image in drawn_figures.figures()}
    for name, (figure, expected) in zip(measured.DRAWN, known[-len(measured.DRAWN):], strict=True):
        assert (figure == files[f"{name}-figure"]).all() and 0.05 < figure.mean() < 0.5
        assert np.abs(expected.astype(int) - files[name][16:-16, 16:-16]).max() <= measured.ROUNDING


def seeing(figure: bool, fitting: bool = True):
    """A model with an even head and, if `figure`, heads for the figure and the ground of each picture."""
    known = {sha256: rest for sha256, *rest in measured.with_figures()}

    def answer(query):
        mask, expected = known[query.image]
        mask, side = measured.at_centres(mask, (16, 16)), patch_tokens(16, 16)
        weights = np.full((3, len(side), len(side)), 1 / len(side), np.float32)
        for head, part in ((1, mask), (2, ~mask)) if figure else ():
            weights[head, 0] = 0
            weights[head, 0, list(side.patches)] = part.ravel() / part.sum()
        maps = (AttentionMap(Kind.SELF, side, side, (Reported(0, weights, Full()),)),)
        return replace(record(4), maps=maps, picture=expected if fitting or expected is None else expected[::-1])

    return FakeModels(answer)


def test_figure_and_ground():
    found = measured.figure_and_ground(ASKED, seeing(True), quiet).findings
    assert judge(found).reason is Reason.ABOVE and [one.heads for one in found] == [((0, 1),) * 2, ((0, 2),) * 2]
    assert {one.n for one in found} == {16}
    even = measured.figure_and_ground(ASKED, seeing(False), quiet).findings
    assert all(reason(one) is not Reason.ABOVE for one in even)
    for models in (seeing(True, fitting=False), FakeModels(lambda query: planted([[looking(9, lambda row: 0)]]))):
        with pytest.raises(UserError, match="another part of a picture"):
            measured.figure_and_ground(ASKED, models, quiet)


# induction

@pytest.mark.parametrize(("back", "expected"), [(24, Reason.ABOVE), (25, Reason.BELOW)])
def test_induction_head_looks_at_what_followed(back, expected):
    class Decoder:
        all_special_ids = ()

        def __len__(self):
            return 100

    layer = [looking(51, lambda row: row - back, 0.9, Kind.CAUSAL)]
    models = FakeModels(lambda query: planted([layer], Kind.CAUSAL), task="next", tokenizer=Decoder(),
                        spelled=lambda ids: "a", tokens=lambda query: SimpleNamespace(source=SimpleNamespace(ids=(0,))))
    found = measured.induction_heads(type("Asked", (), {"model": "fake", "revision": "r"}), models, quiet)
    assert verdict(found) is expected and found.findings[0].n == 24


def film(drop: int) -> Film:
    """Return a loss that falls slightly all the time and strongly at one step."""
    step = np.arange(0, 1001, 10)
    loss = 5 - 0.5 * step / 1000 - 4 / (1 + np.exp(-(step - drop) / 8))
    return Film(tuple(range(0, 1001, 50)), step, loss, step / 1000, {})


@pytest.mark.parametrize(("drop", "share"), [(525, 0.7), (225, 0.025)])
def test_loss_falls_while_the_head_forms_in_one_training_run(drop, share):
    prefix = np.tile((np.array(film(drop).frames) > 500)[:, None], (1, 12)).astype(float)   # between 500 and 550
    found = measured.together(film(drop), prefix)
    assert found.effect == pytest.approx(share, abs=0.05) and found.baseline == pytest.approx(0.05)
    assert judge([found]).reason is Reason.FEW and np.isnan(found.low) and found.n == 1
    assert judge([measured.together(film(500), np.zeros((21, 12)))]).reason is Reason.NOTHING   # it never forms


# explanation

@dataclass(frozen=True)
class Asked:
    """A question with a known answer."""

    query: Query
    known: Attribution
    without_flow: bool = False

    def answer(self, models, report):
        assert self.without_flow   # which this claim has no use for, and takes longest
        return self.known


@pytest.mark.parametrize(("truth", "expected"), [(None, Reason.ABOVE), ((1, 0), Reason.BELOW)])
def test_best_head_ranks_tokens_worse_than_removals_do(monkeypatch, truth, expected):
    shipped = texts(measured.SET)
    known = [made(number, truth) for number in range(len(shipped))]
    asked = [Asked(Query("fake", "r", text.text), one) for text, one in zip(shipped, known, strict=True)]
    monkeypatch.setattr(measured, "questions", lambda *given: asked)
    found = measured.not_explanation(ASKED, None, quiet)
    (number,) = found.findings
    assert verdict(found) is expected
    assert (number.n, number.unit) == (len({text.group for text in shipped}), "rho")
    if truth is not None:   # the same head in both halves: the difference of each text, and their mean
        head = 2 * truth[0] + truth[1]
        assert number.effect == pytest.approx(np.mean([ceiling(one).mean() - by_head(one)[head] for one in known]))
