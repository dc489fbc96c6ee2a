"""Tests of benchmarks.families: its lists match transformers, it survives crashes, and it catches planted faults."""
import os
import time

import pytest

from benchmarks import families, families_check, families_models
from benchmarks.families_check import Outcome

pytestmark = pytest.mark.filterwarnings("ignore")   # the walk itself ignores what odd families warn of


@pytest.fixture(scope="module", autouse=True)
def prepared():
    families.prepare()


@pytest.fixture(scope="module")
def gemma():
    network = families_check.build_network("gemma2")
    model = families_check.open_built("gemma2", network)
    return model, model.record(families_check.probe_query(network), lambda fraction, text: None)


@pytest.mark.parametrize("reads, least, sizes", [
    ("text", 200, families_models.sizes()), ("picture", 150, families_models.sizes()["picture"])])
def test_lists_name_types_that_transformers_has(reads, least, sizes):
    known, excluded = set(families.MAPPINGS[reads]()), families_models.excluded(reads)
    assert set(sizes) - {"everywhere", "latent", "gain", "picture"} <= known and set(excluded) <= known
    assert len(known) > least
    assert all(len(reason.split()) > 4 for reason in excluded.values())
    assert families.counted(reads, []) == [each for each in families.MAPPINGS[reads]() if each not in excluded]
    assert families.counted(reads, ["swin", "bert", "vit"]) == (["bert"] if reads == "text" else ["swin", "vit"])


def test_every_fault_of_gemma_applies_and_is_caught(gemma):
    model, record = gemma
    faults = families_check.applicable(record)
    assert set(faults) == {"scale × 1.1", "no mask", "no soft-cap", "no window", "heads swapped"}
    assert {families_check.catches(model, fault) for fault in faults.values()} == {"2/2"}
    assert families_check.catches(model, lambda call: {}) == "0/2"


def test_difference_to_eager_weights(gemma):
    _, record = gemma
    eager = families_check.eager_weights("gemma2", record)
    assert families_check.difference(record, eager) < 1e-5
    turned = {kind: [layer[::-1] for layer in layers] for kind, layers in eager.items()}
    assert families_check.difference(record, turned) > 0.1
    fewer = {kind: layers[1:] for kind, layers in eager.items()}
    assert families_check.difference(record, fewer) == float("inf")
    assert families_check.difference(record, {kind: [] for kind in eager}) is None


def test_encoder_decoder_without_cross_attention_is_wrong(monkeypatch):
    assert families_check.check("encoder-decoder").status == "verified"
    monkeypatch.setattr(families_models, "ROLE", ())
    assert families_check.check("encoder-decoder").reason == "its cross-attention is not shown"


@pytest.mark.parametrize("reads, model_type, status", [
    ("text", "roberta", "verified"), ("text", "bloom", "reported"), ("text", "funnel", "refused"),
    *(("text", name, "verified") for name in ("granite_swa", "deepseek_v3", "deepseek_v32", "inkling2_text",
                                              "llama4_text", "nllb-moe")),
    *(("picture", *each) for each in (
        ("dinov2_with_registers", "verified"), ("siglip_vision_model", "verified"), ("data2vec-vision", "reported"),
        ("swin", "refused"), ("radio", "verified"), ("mgp-str", "reported"), ("depth_anything", "verified")))])
def test_outcomes(reads, model_type, status):
    outcome = families_check.check(model_type, reads)
    assert (outcome.input, outcome.status) == (reads, status), outcome
    assert bool(outcome.reason) == (status != "verified")
    assert status == "refused" or outcome.max_error < families_check.TOLERANCE
    if reads == "picture" and status == "verified":
        assert outcome.faults_caught == dict.fromkeys(("scale × 1.1", "heads swapped", "patches transposed"), "2/2")


def test_walk_survives_a_crash_and_a_hang(monkeypatch):
    def check(model_type, reads):
        if model_type == "crash":
            os._exit(3)
        if model_type == "hang":
            time.sleep(60)
        return Outcome(model_type, "verified")

    monkeypatch.setattr(families_check, "check", check)
    monkeypatch.setattr(families, "SECONDS", 2)
    told = []
    outcomes = families.walk(["crash", "hang", "sound"], lambda outcome, seconds: told.append(outcome.type))
    assert [(each.type, each.status) for each in outcomes] == [("crash", "not built"), ("hang", "not built"),
                                                               ("sound", "verified")]
    assert sorted(told) == ["crash", "hang", "sound"]
