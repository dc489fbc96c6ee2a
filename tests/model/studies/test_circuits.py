"""The identities of circuits for every kind of family, and a known circuit."""
import numpy as np
import pytest
import torch

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind, Silence, UserError, quiet
from clearhead.model.studies import circuits, contributions, known_circuits
from clearhead.model.studies.patching import PatchQuery
from tests.model import tiny

# test_edits.py compares other families with plain torch; these have other blocks, windows, two sides, norms of queries
# and keys, gates behind heads, layers without softmax attention
FAMILIES = ("roberta", "distilbert", "mistral", "marian", "qwen3", "qwen3_next", "laguna")
TEXT = "the animal didn ' t cross street because it was too tired"


@pytest.fixture(scope="module", params=FAMILIES)
def asked(request, tmp_path_factory):
    folder = tiny.save(tmp_path_factory.mktemp("circuits") / request.param, request.param)
    return sources.open_query(str(folder), TEXT, target="a cat" if request.param == "marian" else None)


def test_parts_of_a_score_sum_to_it(asked):
    record = desk.ask(asked).result()
    rng, tried = np.random.default_rng(37), set()
    for attention_map in record.maps:
        for layer in attention_map.layers:
            for _ in range(6):
                head, looking, looked_at = (int(rng.integers(size)) for size in layer.shape)
                where = circuits.WhyQuery(asked, attention_map.kind, layer.index, head, looking, looked_at)
                rows = slice(looking, looking + 1), slice(looked_at, looked_at + 1)
                if not layer.allowed.block(*rows).any():
                    with pytest.raises(UserError, match="is masked"):
                        desk.ask(where).result()
                    continue
                found = desk.ask(where).result()
                assert found.total == pytest.approx(found.score, abs=1e-4)
                assert found.score == pytest.approx(
                    float(layer.scores(slice(head, head + 1), *rows)[0, 0, 0]), abs=1e-6)
                few = found.grouped(3)
                assert max(few.parts.shape) <= 4 and few.total == pytest.approx(found.total, abs=1e-9)
                tried.add((attention_map.kind, layer.index))
    assert len(tried) == sum(len(each.layers) for each in record.maps)


def test_parts_of_a_logit_sum_to_the_models_own(asked):
    trace = desk.ask(TraceQuery(asked)).result()
    record = desk.ask(asked).result()
    for position in range(len(record.maps[-1].queries)):
        found = desk.ask(contributions.WritesQuery(asked, position, 7, 12)).result()
        assert found.total == pytest.approx(found.difference, abs=1e-4)
        assert abs(found.rest) < 1e-3
        assert found.heads.shape == (len(record[trace.blocks[-1].kind].layers), found.heads.shape[1])


def test_silenced_head_takes_its_part(tmp_path):
    """Only the sum reads the last block's head, so the head's part equals the change."""
    folder = tiny.save(tmp_path / "gpt2", "gpt2")
    query = sources.open_query(str(folder), TEXT)
    record, trace = (desk.ask(question).result() for question in (query, TraceQuery(query)))
    walk = circuits.Walk(record, trace, Kind.CAUSAL, [4])
    whole = walk.whole()
    place = whole.names.index("2·1")
    silenced = sources.open_query(str(folder), TEXT, edits=[Silence(Kind.CAUSAL, 2, 1)])
    without = desk.ask(TraceQuery(silenced)).result()
    before_mlp = trace.blocks[-1].before[4] + trace.attention(Kind.CAUSAL, 2).output[4]
    changed = without.blocks[-1].before[4] + without.attention(Kind.CAUSAL, 2).output[4]
    np.testing.assert_allclose(before_mlp - changed, whole.parts[place, 0], atol=1e-5)
    found = desk.ask(contributions.AddsQuery(query, Kind.CAUSAL, 2, 1, 4)).result()
    assert found.length == pytest.approx(np.linalg.norm(before_mlp - changed), rel=1e-4)
    assert found.share == pytest.approx((before_mlp - changed) @ before_mlp / (before_mlp @ before_mlp), abs=1e-5)
    logits = (whole.through(trace.last(Kind.CAUSAL)[2], walk.rows).parts[place, 0]   # of the head's part alone
              @ desk.models.open(query, quiet).network.lm_head.weight.detach().numpy().T.astype(np.float64))
    moved = np.sort(logits - logits.mean())
    assert [value for _, value in found.promoted] == pytest.approx(moved[::-1][:len(found.promoted)], abs=1e-5)
    assert [value for _, value in found.demoted] == pytest.approx(moved[:len(found.demoted)], abs=1e-5)
    assert len(found.promoted) == len(found.demoted) == contributions.MOVED_TOKENS


def test_cosine_needs_sentence_vectors(tmp_path):
    query = sources.open_query(str(tiny.save(tmp_path / "gpt2", "gpt2")), TEXT)
    with pytest.raises(UserError, match="no cosine to split"):
        desk.ask(contributions.CosineQuery(query, query)).result()


def test_induction_circuit_is_found():
    asked = known_circuits.KnownCircuitsQuery("induction", sources.revision("induction"))
    composed, silenced = known_circuits.composition(asked, desk.models, quiet)
    assert composed.holds and composed.heads[0] == silenced.heads[0] and composed.heads[1][0] == 1
    assert composed.value > 1.5 * composed.chance
    assert silenced.value < 0.2 < 0.9 < silenced.chance


@pytest.mark.rest   # as the page has it measured; test_edits.py compares paths with plain torch
def test_paths_lead_from_previous_token_head_to_induction_head(monkeypatch):
    monkeypatch.setattr(known_circuits, "SEQUENCES", 8)
    asked = known_circuits.KnownCircuitsQuery("induction", sources.revision("induction"))
    path, direct = known_circuits.paths_of_induction(asked, desk.models, quiet)
    assert path.holds and direct.holds and path.heads[0][0] < path.heads[1][0] == direct.heads[0][0]
    for found in (path, direct, *known_circuits.induction_effects(asked, desk.models, quiet)):
        assert found.low <= found.value <= found.high, found


def test_exchanged_sequences_flip_the_answer():
    asked = known_circuits.KnownCircuitsQuery("induction", sources.revision("induction"))
    opened = desk.models.open(asked, quiet)
    for text, twin, answer, rival in known_circuits.exchanged(opened, asked, 3):
        assert sorted(text.ids) == sorted(twin.ids) and text.ids[-1] == twin.ids[-1]
        for query, sign in ((text, 1), (twin, -1)):
            logits = opened.run(opened.tokens(query), every=True).outputs()[0, -1]
            assert sign * float(logits[answer] - logits[rival]) > 0


def test_score_of_a_pruned_rotary_head_is_split(tmp_path):
    network = tiny.network("llama")
    with torch.no_grad():
        network.model.layers[1].self_attn.q_proj.weight[8:16] = 0   # head 1
    network.save_pretrained(tmp_path / "llama")
    tiny.tokenizer().save_pretrained(tmp_path / "llama")
    found = desk.ask(circuits.WhyQuery(sources.open_query(str(tmp_path / "llama"), TEXT), Kind.CAUSAL, 1, 1, 5, 3)
                        ).result()
    assert found.score == found.total == 0 and not found.parts.any()


@pytest.mark.parametrize("name", ["translator", "resolver-narrow"])
def test_heads_that_move_the_answer_are_compared_with_those_that_write_it(name):
    """In the translator, heads of cross-attention are among both."""
    text, twin = (sources.open_query(name, known_circuits.SENTENCE.format(word=word)) for word in known_circuits.TWINS)
    kinds = [Kind.CAUSAL, Kind.CROSS] if name == "translator" else [Kind.SELF]
    effects = [desk.ask(PatchQuery(text, twin, kind)).result() for kind in kinds]
    moved = sorted(((value - each.plain, head) for each in effects
                    for head, value in zip(each.heads, each.patched.tolist(), strict=True)), reverse=True)
    rows = desk.ask(contributions.WritesQuery(text, effects[0].place, *effects[0].words)).result().frame()
    rows = rows.sort_values("value", ascending=False)
    asked = known_circuits.KnownCircuitsQuery(name, sources.revision(name))
    patched, written = known_circuits.patched_and_written(asked, desk.models, quiet)
    assert (patched.value, patched.heads, patched.chance) == (moved[0][0], (moved[0][1],), moved[1][0])
    assert written.heads == ((rows.layer.iloc[0], rows["head"].iloc[0]),)
    assert [written.value, written.chance] == pytest.approx(rows.value.iloc[:2].tolist())
    assert patched.holds == written.holds == (patched.heads == written.heads)
