"""Measures from weights: what the model does not see changes none of them, and composition has a null of its own."""
import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import quiet
from clearhead.model.studies import mechanisms
from clearhead.model.studies.mechanisms import MechanismsQuery
from tests.model import tiny

PARTS = {   # family: (layers, W_O in a layer) in transformers' names
    "gpt2": ("transformer.h", "attn.c_proj"), "llama": ("model.layers", "self_attn.o_proj"),
    "bert": ("bert.encoder.layer", "attention.output.dense")}


def measured(folder):
    answer = MechanismsQuery(str(folder), sources.revision(str(folder))).answer(desk.models, quiet)
    table = answer.frame()[["copying", "matching"] if answer.copying is not None else ["matching"]].to_numpy()
    return table, {kind: each[np.isfinite(each)] for kind, each in answer.composition.items()}, answer


def network_of(folder):
    kind = AutoModelForMaskedLM if AutoConfig.from_pretrained(folder).model_type == "bert" else AutoModelForCausalLM
    return kind.from_pretrained(folder, attn_implementation="eager").eval()


def logits(network):
    with torch.no_grad():
        return torch.log_softmax(network(torch.arange(5, 14)[None]).logits.double(), -1)


def matrices(network, family):
    """Return {name: (matrix, its bias or None)} of each layer, as views (input, output) on the parameters."""
    found = []
    for layer in network.get_submodule(PARTS[family][0]):
        if family == "gpt2":
            width = layer.attn.c_proj.weight.shape[0]
            joint, bias = layer.attn.c_attn.weight, layer.attn.c_attn.bias
            parts = {name: (joint[:, slice(*ends)], bias[slice(*ends)]) for name, ends in (
                ("query", (0, width)), ("key", (width, 2 * width)), ("value", (2 * width, 3 * width)))}
            found.append(parts | {"output": (layer.attn.c_proj.weight, layer.attn.c_proj.bias), "norm": layer.ln_1})
        else:
            inner = layer.self_attn if family == "llama" else layer.attention.self
            names = ("q_proj", "k_proj", "v_proj") if family == "llama" else ("query", "key", "value")
            output = layer.get_submodule(PARTS[family][1])
            found.append({name: (getattr(inner, each).weight.T, getattr(inner, each).bias)
                          for name, each in zip(("query", "key", "value"), names)}
                         | {"output": (output.weight.T, output.bias)})
    return found


def constants_in_the_output(network, family):
    for layer in matrices(network, family):
        layer["output"][0].add_(torch.randn(layer["output"][0].shape[0])[:, None])


def constants_in_the_embeddings(network, family):
    network.get_input_embeddings().weight.add_(3 * torch.randn(70)[:, None])


def one_vector_in_all_unembeddings(network, family):
    network.get_output_embeddings().weight.add_(torch.randn(48))


def scaling(network, family):
    """Scale W_V against W_O, and W_Q against W_K, head by head."""
    for layer in matrices(network, family):
        heads, shared = _sizes(network, family)
        size, repeats = layer["value"][0].shape[1] // shared, heads // shared
        factors = torch.exp(torch.randn(2, shared))
        for name, factor in (("value", factors[0]), ("key", factors[1])):
            for part in layer[name]:
                if part is not None:
                    part.mul_(factor.repeat_interleave(size))
        layer["output"][0].div_(factors[0].repeat_interleave(repeats * size)[:, None])
        for part in layer["query"]:
            if part is not None:
                part.div_(factors[1].repeat_interleave(repeats * size))


def rotation(network, family):
    """Rotate each head's values and output, and, without rotary positions, its queries and keys."""
    for layer in matrices(network, family):
        heads, shared = _sizes(network, family)
        size, repeats = layer["value"][0].shape[1] // shared, heads // shared
        for head in range(shared):
            turn = torch.linalg.qr(torch.randn(size, size))[0]
            own = slice(head * size, (head + 1) * size)
            sides = ["value"] if family == "llama" else ["value", "query", "key"]
            other = torch.linalg.qr(torch.randn(size, size))[0]
            for name in sides:
                for part in layer[name]:
                    if part is not None:
                        part[..., own] = part[..., own] @ (turn if name == "value" else other)
            for place in range(head * repeats, (head + 1) * repeats):
                rows = slice(place * size, (place + 1) * size)
                layer["output"][0][rows] = turn.T @ layer["output"][0][rows]


def gain_against_weights(network, family):
    """Move a factor of each input dimension from GPT-2's norm before the projections into them."""
    for layer in matrices(network, family):
        factor = torch.exp(torch.randn(48) / 2)
        for part in (layer["norm"].weight, layer["norm"].bias):
            part.div_(factor)
        for name in ("query", "key", "value"):
            layer[name][0].mul_(factor[:, None])


def _sizes(network, family):
    heads = network.config.num_attention_heads
    return heads, getattr(network.config, "num_key_value_heads", heads)


CHANGES = (
    *((family, change) for family in PARTS for change in (scaling, rotation)),
    *((family, change) for family in ("gpt2", "bert") for change in (
        constants_in_the_output, constants_in_the_embeddings)),
    *((family, one_vector_in_all_unembeddings) for family in ("gpt2", "llama")), ("gpt2", gain_against_weights))


@pytest.mark.parametrize(("family", "change"), CHANGES, ids=[f"{each[0]}-{each[1].__name__}" for each in CHANGES])
def test_measures_ignore_what_the_model_does_not_see(family, change, tmp_path):
    """Weights are untied, so that the embeddings and the unembeddings can be changed apart."""
    first = tiny.save(tmp_path / "first", family, tie_word_embeddings=False)
    network = network_of(first)
    with torch.no_grad():
        for parameter in network.parameters():   # norms with gains and biases of their own
            if parameter.ndim == 1:
                parameter.add_(torch.randn(parameter.shape) / 10)
        before = logits(network)
        network.save_pretrained(first)
        torch.manual_seed(3)
        change(network, family)
    assert torch.allclose(logits(network), before, atol=2e-4)
    network.save_pretrained(tiny.save(tmp_path / "second", family, tie_word_embeddings=False))
    (table, composition, _), (other, others, _) = measured(first), measured(tmp_path / "second")
    np.testing.assert_allclose(other, table, atol=2e-3)
    for kind, scores in composition.items():
        np.testing.assert_allclose(others[kind], scores, atol=2e-4)


def test_constants_in_the_output_are_seen_by_root_mean_square_norms(tmp_path):
    first, second = (tiny.save(tmp_path / name, "llama") for name in ("first", "second"))
    network = network_of(second)
    with torch.no_grad():
        constants_in_the_output(network, "llama")
    network.save_pretrained(second)
    assert np.abs(measured(first)[1]["K"] - measured(second)[1]["K"]).max() > 0.01


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_one_pair_in_a_hundred_beats_the_null_of_random_weights(family, tmp_path):
    size = {"n_layer": 12, "n_head": 6} if family == "gpt2" else {"num_hidden_layers": 12}
    _, composition, answer = measured(tiny.save(tmp_path / family, family, **size))
    pairs = answer.pairs()
    for kind, scores in composition.items():
        assert 0.002 <= answer.share(kind) <= 0.03 and answer.null[kind].chance == pytest.approx(0.01, abs=0.002)
        assert answer.null[kind].mean == pytest.approx(scores.mean(), rel=0.05)
        assert (pairs["kind"] == kind).sum() == round(answer.share(kind) * len(scores))
        assert f"{kind} {answer.share(kind):.1%}" in repr(answer)


def test_composition_equals_products_of_whole_matrices(tmp_path):
    folder = tiny.save(tmp_path / "llama", "llama")
    weights = mechanisms.head_weights.head_weights(
        desk.models.open(MechanismsQuery(str(folder), sources.revision(str(folder))), quiet).trace(
            sources.open_query(str(folder), "a"), quiet), mechanisms.Kind.CAUSAL)
    found = mechanisms.composed(weights, lambda share: None)
    query, key, value, output = (each.astype(np.float64) for each in (
        weights.query, weights.key, weights.value, weights.output))
    for one, other in ((0, 7), (7, 0), (3, 9)):
        left, read = value[one] @ output[one], query[other] @ key[other].T
        for kind, right in (("Q", read), ("K", read.T), ("V", value[other] @ output[other])):
            wanted = np.linalg.norm(left @ right) / np.linalg.norm(left) / np.linalg.norm(right)
            assert found[kind][one, other] == pytest.approx(wanted, abs=1e-5)
