"""Differences of two records compared with plain subtraction and scipy."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind, Patch, Silence, Temper, UserError
from clearhead.model.core.record import Prediction
from clearhead.model.core.tokens import patch_tokens
from clearhead.model.studies import comparison
from clearhead.model.studies.comparison import ComparisonQuery, cosine, same_heads
from clearhead.model.studies.silencing import SilencingQuery, change
from tests import fabricate
from tests.headline import TIRED
from tests.model import tiny
from tests.model.studies.test_alignment import record


def asked(first, second, kinds=(Kind.SELF, Kind.SELF), head=None):
    return comparison.compare(first, second, kinds, head)


def meet(first, second, kinds=(Kind.SELF, Kind.SELF)):
    return comparison.align_texts(first, second, kinds)


def test_predictions_equal_the_record():
    first, second = record("induction", "k7Qx2bVk7Q"), record("induction", "k7Qx2bVk7")
    rows = comparison.prediction_table(first, second)
    assert rows[0][:2] == (first.prediction.texts[-1][0], first.prediction.probabilities[-1][0])
    best = [dict(zip(each.prediction.texts[-1], each.prediction.probabilities[-1])) for each in (first, second)]
    names = dict.fromkeys([*list(best[0])[:6], *list(best[1])[:6]])
    assert rows == [(name, *(each.get(name, pytest.approx(np.nan, nan_ok=True)) for each in best)) for name in names]
    one, other = record("minilm", TIRED), record("minilm", TIRED.replace("tired", "wide"))
    assert comparison.prediction_table(one, other) == [] and cosine(first, second) is None
    a, b = (each.prediction.vector for each in (one, other))
    assert cosine(one, other) == pytest.approx(float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)), abs=1e-6)

    short = replace(other, prediction=replace(other.prediction, vector=b[:-1]))
    assert cosine(one, short) is None and cosine(short, short) == pytest.approx(1)


def test_patches_are_compared_only_on_the_same_grid():
    def seen(*grid):
        return fabricate.patterned(patch_tokens(*grid))

    assert all(each.both for each in meet(seen(2, 3), seen(2, 3)).rows)
    with pytest.raises(UserError, match="into 2 × 3 patches, the other into 3 × 2"):
        meet(seen(2, 3), seen(3, 2))
    assert len(meet(seen(2, 3), fabricate.record(4)).rows) >= 7   # a text has no grid


def test_text_of_an_edited_translator_ends_where_it_differs(tmp_path):
    """transformers' models read the target of the unedited pass, and ours the one that the edited model writes."""
    folder, heads = str(tiny.save(tmp_path / "t5", "t5")), [Silence(Kind.CROSS, layer, 0) for layer in range(3)]
    plain, edited = (desk.ask(sources.open_query(folder, "a cat sat on mat", edits=edits)).result(120)
                     for edits in ((), [*heads, *(Silence(Kind.CAUSAL, layer, 1) for layer in range(3))]))
    texts, ids = comparison.target_texts(plain, edited), [each.prediction.ids for each in (plain, edited)]
    same = next(place for place, (one, other) in enumerate(zip(*ids, strict=True)) if one[0] != other[0])
    assert texts[0] == [best[0] for best in plain.prediction.texts]
    assert texts[1] == [*texts[0][:same], edited.prediction.texts[same][0], "…"]
    assert comparison.target_texts(plain, plain)[1] == texts[0]


def test_models_differ_by_the_mean_over_texts(tmp_path):
    """A fine-tuned model has its base's heads, and one of another family does not; batches combine to the whole."""
    base, other, family = (str(tiny.save(tmp_path / name, kind, seed=seed))
                           for name, kind, seed in (("a", "bert", 0), ("b", "bert", 1), ("c", "llama", 0)))
    texts = [f"a cat sat on {word}" 
             for word in ("mat", "animal", "street", "garden", "two", "was", "wide", "tired")]
    asked = [(name, sources.revision(name)) for name in (base, other)]
    parts = [desk.ask(comparison.ModelsQuery(*asked, tuple(batch))).result(120)
             for batch in (texts[:2], texts[2:])]
    table = comparison.Divergences.joined(parts).frame()
    single = [desk.ask(ComparisonQuery(*(sources.open_query(name, text) for name in (base, other)),
                                          (Kind.SELF, Kind.SELF))).result(120).changed for text in texts]
    np.testing.assert_allclose(table["divergence"].sort_index(), np.mean(single, 0))
    assert (table["low"] <= table["divergence"]).all() and (table["divergence"] <= table["high"]).all()
    doubled = comparison.Divergences.joined([*parts, *parts])
    assert doubled.units == 8 and doubled.frame().equals(table)   # equal texts are no more evidence
    assert np.isnan(parts[1].frame()["low"]).all()
    one, two, three = (desk.ask(sources.open_query(name, texts[0])).result(120) for name in (base, other, family))
    assert same_heads(one, two, (Kind.SELF, Kind.SELF)) and not same_heads(one, three, (Kind.SELF, Kind.CAUSAL))


def test_pieces_are_summed_and_averaged():
    weights = np.random.default_rng(7).dirichlet(np.ones(4), 3)
    found = comparison.pool_weights(weights, [(0, 2), (1,), ()], [(0,), (1, 2, 3), ()])
    assert found[0] == pytest.approx([weights[[0, 2], 0].mean(), weights[[0, 2], 1:].sum(1).mean(), np.nan],
                                     nan_ok=True)
    assert found[1, 1] == pytest.approx(weights[1, 1:].sum()) and np.isnan(found[2]).all()


def answer(probabilities, ids=None, kind="next") -> Prediction:
    ids = [tuple(range(len(row))) for row in probabilities] if ids is None else ids
    return Prediction(kind, tuple(range(len(ids))), tuple(ids), tuple(tuple(map(str, row)) for row in ids),
                      tuple(map(tuple, probabilities)),
                      (0.0,) * len(ids))


@given(st.integers(0, 999))
def test_change_is_the_divergence(seed):
    p, q = np.random.default_rng(seed).dirichlet(np.full(30, 0.5), 2)
    true = jensenshannon(p, q, base=2)**2
    assert change(answer([p]), answer([q])) == pytest.approx(true, abs=1e-9)
    alone = [replace(answer([each]), log_normaliser=()) for each in (p, q)]   # each class has a sigmoid of its own
    assert change(*alone) == pytest.approx(np.mean([jensenshannon([one, 1 - one], [other, 1 - other], base=2)**2
                                                    for one, other in zip(p, q, strict=True)]), abs=1e-9)
    best = [np.argsort(-each)[:20] for each in (p, q)]
    listed = change(*(answer([each[order]], [tuple(map(int, order))])
                      for each, order in zip((p, q), best, strict=True)))
    shared = np.intersect1d(*best)   # the other answers count together
    parts = ([*each[shared], 1 - each[shared].sum()] for each in (p, q))
    assert listed == pytest.approx(jensenshannon(*parts, base=2)**2, abs=1e-9) and listed <= true + 1e-9


def test_silencing_equals_single_queries(tmp_path):
    """Each head is silenced besides the query's edits; another edit of its output is replaced."""
    folder = str(tiny.pooled(tiny.save(tmp_path / "bert", "bert")))
    tempered, twin = Temper(Kind.SELF, 1, 3, 4.0), sources.open_query(folder, TIRED.replace("tired", "wide"))
    query = sources.open_query(folder, TIRED, edits=[tempered, Patch(Kind.SELF, 0, 0, twin)])
    record = desk.ask(query).result(120)
    found = desk.ask(SilencingQuery(query, Kind.SELF)).result(120)
    assert found.measure == "vector"
    assert found.heads == tuple((layer, head) for layer in range(3) for head in range(4))
    for place in ((0, 0), (2, 3)):
        edits = {tempered, Silence(Kind.SELF, *place)} | (set() if place == (0, 0) else query.edits)
        other = desk.ask(replace(query, edits=frozenset(edits))).result(120)
        assert found.frame()["silenced"][place] == pytest.approx(1 - cosine(record, other), abs=1e-9)
    assert min(found.changes) > 0
