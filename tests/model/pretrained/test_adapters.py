"""LoRA adapters are applied as merged by numpy; anything not applied is named, and its picture is never verified."""
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.numpy import load_file
from safetensors.torch import save_file

from clearhead.model.__main__ import main
from clearhead.model.core.query import NotOnDisk, Query, UserError
from clearhead.model.pretrained import load
from clearhead.model.pretrained.adapters import Adapter
from tests.model import tiny, tiny_vision

TEXT = "the animal didn ' t cross the street because it was too tired"
# modules to adapt: attention and more, by family
TARGETS = {"llama": ["q_proj", "k_proj", "v_proj", "down_proj"], "bert": ["query", "key", "value", "output.dense"],
           "gpt2": ["c_attn", "c_proj"], "t5": ["q", "k", "v", "wo"]}
pytestmark = pytest.mark.usefixtures("home")


def adapted(network, targets):
    """Return the network's modules whose names end with one of these."""
    return {name: module for name, module in network.named_modules()
            if any(name == each or name.endswith(f".{each}") for each in targets) and hasattr(module, "weight")}


def write(folder, tensors, dtype="float32", **settings):
    """Write an adapter's two files."""
    folder.mkdir(exist_ok=True, parents=True)
    save_file({f"base_model.model.{name}": torch.tensor(array).to(getattr(torch, dtype)).contiguous()
               for name, array in tensors.items()}, folder / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": 4, "lora_alpha": 6, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def low_rank(modules):
    """Draw random A and B for each module, with peft's names."""
    draw, tensors = np.random.default_rng(7), {}
    for name, module in modules.items():
        across = type(module).__name__ == "Conv1D"
        inner, outer = module.weight.shape if across else module.weight.shape[::-1]
        for part, shape in (("A", (4, inner)), ("B", (outer, 4))):
            tensors[f"{name}.lora_{part}.weight"] = (draw.normal(size=shape) * 0.3).astype(np.float32)
    return tensors


def merge(network, tensors):
    """Merge an adapter into the network with numpy."""
    with torch.no_grad():
        for name, module in network.named_modules():
            if f"{name}.lora_A.weight" in tensors:
                a, b = (tensors[f"{name}.lora_{part}.weight"].astype(np.float32) for part in "AB")
                across = type(module).__name__ == "Conv1D"
                weight = module.weight.numpy().T if across else module.weight.numpy()
                weight = weight + b @ a * np.float32(6 / 4)
                module.weight.copy_(torch.tensor(weight.T if across else weight))


def save(network, folder):
    network.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def record_of(folder, report):
    return load.locate(str(folder)).open(report).record(Query(str(folder), "r", TEXT), report)


def difference(one, other):
    """Return the largest difference between two records' queries, keys and values."""
    return max(float(np.abs(getattr(a, part) - getattr(b, part)).max())
               for first, second in zip(one.maps, other.maps, strict=True)
               for a, b in zip(first.layers, second.layers, strict=True) for part in ("query", "key", "value"))


def largest_difference(tmp_path, family, report, tensors, **settings):
    """Return how much the adapter, beside its base and alone, differs from the merged model."""
    network = tiny.network(family)
    base = save(network, tmp_path / "base")
    made = tensors(network)
    merge(network, made)
    merged = record_of(save(network, tmp_path / "merged"), report)
    alone = write(tmp_path / "alone", made, base_model_name_or_path="../base", **settings)
    beside = write(shutil.copytree(base, tmp_path / "beside"), made, base_model_name_or_path="owner/elsewhere",
                   **settings)
    ours = record_of(alone, report), record_of(beside, report)
    for record in ours:
        assert record.verification.status == "verified" and "adapter" in record.card.note
    assert difference(merged, record_of(base, report)) > 0.01 and "adapter" not in merged.card.note
    return max(difference(record, merged) for record in ours)


@pytest.mark.parametrize("family", TARGETS)
def test_applied_adapter_is_the_merged_model(tmp_path, family, report):
    assert largest_difference(tmp_path, family, report, lambda network: low_rank(adapted(network, TARGETS[family])),
                              target_modules=TARGETS[family], fan_in_fan_out=family == "gpt2") < 1e-6


def test_adapter_of_16_bits_is_applied_in_32(tmp_path, report):
    largest = largest_difference(tmp_path, "llama", report, lambda network: {
        name: torch.tensor(array).bfloat16().float().numpy() for name, array in low_rank(
            adapted(network, ["q_proj"])).items()}, target_modules=["q_proj"], dtype="bfloat16")
    assert largest < 1e-6


def test_adapter_of_two_towers_is_applied(tmp_path, report):
    tensors = low_rank(adapted(tiny_vision.network("clip"), ["q_proj"]))
    folder = write(tiny_vision.save(tmp_path / "clip", "clip"), tensors, target_modules=["q_proj"])
    assert "LoRA adapter clip (rank 4) is applied" in load.locate(str(folder)).open(report).card.note


@pytest.mark.parametrize(("head", "labels"), [("classifier", 3), ("score", 3), ("classification_head.out_proj", 3),
                                              ("model.layers.0.score", 2), ("model.layers.0.attn.out_proj", 2)])
def test_only_a_classifiers_head_sets_the_number_of_labels(tmp_path, head, labels):
    tensors = {f"{head}.weight": np.zeros((3, 8), np.float32), "z.0.self_attn.out_proj.weight": np.zeros((8, 8))}
    config = SimpleNamespace(num_labels=2)
    Adapter(write(tmp_path, tensors)).architecture("BartForSequenceClassification", config)
    assert config.num_labels == labels


def test_classifier_comes_from_the_adapter(tmp_path, report):
    base = save(tiny.network("bert"), tmp_path / "base")
    draw, network = np.random.default_rng(3), tiny.network("bert")
    head = {"classifier.weight": draw.normal(size=(3, 48)).astype(np.float32),
            "classifier.bias": np.ones(3, np.float32)}
    pooler = {"bert.pooler.dense.weight": draw.normal(size=(48, 48)).astype(np.float32),
              "bert.pooler.dense.bias": np.zeros(48, np.float32)}
    write(tmp_path / "adapter", low_rank(adapted(network, ["query"])) | head | pooler, task_type="SEQ_CLS",
          target_modules=["query"], modules_to_save=["classifier", "score", "pooler"],
          base_model_name_or_path=str(base))
    record = record_of(tmp_path / "adapter", report)
    assert "BertForSequenceClassification" in record.card.architecture and record.verification.status == "verified"
    assert record.prediction.kind == "label" and len(record.prediction.probabilities[-1]) == 3


def test_adapter_of_a_network_without_its_head_fits(tmp_path, report):
    base = save(tiny.network("llama"), tmp_path / "base")
    tensors = low_rank(adapted(tiny.network("llama"), ["q_proj"]))
    with_head = write(tmp_path / "a", tensors, target_modules=["q_proj"], base_model_name_or_path=str(base))
    without = write(tmp_path / "b", {name.removeprefix("model."): array for name, array in tensors.items()},
                    target_modules=["q_proj"], base_model_name_or_path=str(base))
    assert difference(record_of(with_head, report), record_of(without, report)) == 0


def test_tied_output_keeps_the_bases_weights(tmp_path, report):
    network = tiny.network("llama", tie_word_embeddings=True)
    draw = np.random.default_rng(2)
    tensors = {"model.embed_tokens.lora_embedding_A": draw.normal(size=(4, 70)).astype(np.float32),
               "model.embed_tokens.lora_embedding_B": draw.normal(size=(48, 4)).astype(np.float32)}
    folder = write(save(network, tmp_path / "tied"), tensors, target_modules=["embed_tokens"])
    opened = load.locate(str(folder)).open(report).network
    before = network.model.embed_tokens.weight.detach().numpy()
    assert np.array_equal(opened.lm_head.weight.detach().numpy(), before)
    assert not np.array_equal(opened.model.embed_tokens.weight.detach().numpy(), before)


def test_added_tokens_come_with_the_adapter(tmp_path, report):
    base, draw = save(tiny.network("llama"), tmp_path / "base"), np.random.default_rng(2)
    whole = {name: draw.normal(size=(75, 48)).astype(np.float32)
             for name in ("model.embed_tokens.weight", "lm_head.weight")}
    folder = write(tmp_path / "adapter", low_rank(adapted(tiny.network("llama"), ["q_proj"])) | whole,
                   target_modules=["q_proj"], base_model_name_or_path=str(base))
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens(["<extra>"])
    tokenizer.save_pretrained(folder)
    model = load.locate(str(folder)).open(report)
    assert np.array_equal(model.network.lm_head.weight.detach().numpy(), whole["lm_head.weight"])
    record = model.record(Query(str(folder), "r", "the cat <extra> sat"), report)
    assert "<extra>" in record.maps[0].queries.texts and record.verification.status == "verified"


@pytest.fixture
def adapter(tmp_path):
    """write_for(base, folder) is an adapter of the small Llama, for a base of this name."""
    def write_for(base, folder="adapter", **settings):
        return write(tmp_path / folder, low_rank(adapted(tiny.network("llama"), ["q_proj"])),
                     **{"target_modules": ["q_proj"], "base_model_name_or_path": base, **settings})
    return write_for


def test_base_is_found_by_path_cache_and_folder(tmp_path, adapter, home, monkeypatch, report):
    base = save(tiny.network("llama"), tmp_path / "base")
    snapshot = tmp_path / "cache" / "models--owner--base" / "snapshots" / "abc"
    shutil.copytree(base, snapshot)
    (tmp_path / "cache" / "models--owner--base" / "refs").mkdir()
    (tmp_path / "cache" / "models--owner--base" / "refs" / "main").write_text("abc", encoding="utf-8")
    fetched = shutil.copytree(base, home / "models" / "owner--fetched")
    (fetched / "clearhead.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, folder in (("../base", base), ("base", base), (str(base), base), ("owner/base", snapshot),
                         ("owner/fetched", fetched)):
        place = load.locate(str(adapter(name)))
        assert place.folder.resolve() == folder.resolve() and place.adapter == tmp_path / "adapter", name
        assert place.title == "adapter" and not place.unapplied


def test_base_of_the_catalogue_is_found(tmp_path, minilm, report, name="sentence-transformers/all-MiniLM-L6-v2"):
    tensors = low_rank(adapted(minilm.network, ["query"]))
    folder = write(tmp_path / "mine", tensors, target_modules=["query"], task_type="FEATURE_EXTRACTION",
                   base_model_name_or_path=name)
    model = load.locate(str(folder)).open(report)
    assert model.card.revision == load.locate(str(folder)).revision != minilm.card.revision and model.task == "vector"
    assert f"applied to {name}" in model.card.note
    for module in ("encoder.layer.0.attention.self.query", "encoder.layer.5.attention.self.query"):
        weight = minilm.network.get_submodule(module).weight.detach().numpy() + tensors[
            f"{module}.lora_B.weight"] @ tensors[f"{module}.lora_A.weight"] * np.float32(1.5)
        assert np.abs(model.network.get_submodule(module).weight.detach().numpy() - weight).max() < 1e-6


@pytest.mark.parametrize(("name", "wanted"), [
    ("google-bert/bert-base-uncased", "bert"), ("gpt2", "gpt2"), ("HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2"),
    ("owner/elsewhere", "owner/elsewhere")])
def test_missing_base_is_named_with_its_command(adapter, name, wanted):
    with pytest.raises(NotOnDisk, match=f"is a LoRA adapter for {name}.* run: python -m clearhead fetch {wanted}$"
                       ) as caught:
        load.locate(str(adapter(name)))
    assert caught.value.wanted == wanted


def test_revision_follows_base_and_adapter(tmp_path, adapter):
    base = save(tiny.network("llama"), tmp_path / "base")
    folder = str(adapter(str(base)))
    first = load.locate(folder).revision
    write(tmp_path / "adapter", {name: array + 1 for name, array in load_file(
        tmp_path / "adapter" / "adapter_model.safetensors").items()}, base_model_name_or_path=str(base))
    second = load.locate(folder).revision
    save(tiny.network("llama", seed=8), base)
    assert len({first, second, load.locate(folder).revision, load.locate(str(base)).revision}) == 4


def ask(folder):
    result = CliRunner().invoke(main, ["ask", "--model", str(folder), "--text", TEXT, "--json"])
    return json.loads(result.stdout) if result.exit_code == 0 else result.output


@pytest.mark.parametrize("kind", ["IA3", "PREFIX_TUNING"])
def test_other_kinds_are_named_or_refused(tmp_path, kind, adapter, report):
    base = save(tiny.network("llama"), tmp_path / "base")
    plain = record_of(base, report)
    alone = adapter(str(base), peft_type=kind)
    for file in alone.iterdir():
        shutil.copy(file, base)
    answer, name = ask(base), kind.upper().replace("_", " ")
    assert answer["verification"]["status"] == "reported"
    assert any(f"{name} adapter" in reason for reason in answer["verification"]["reasons"])
    assert difference(record_of(base, report), plain) == 0
    with pytest.raises(UserError, match=f"is an? {name} adapter for {base} and is not applied"):
        load.locate(str(alone))
    reason = answer["verification"]["reasons"][0]
    assert "only LoRA adapters of peft are" in reason
    for file in ("adapter_config.json", "adapter_model.safetensors"):   # the way out
        (base / file).unlink()
    assert record_of(base, report).verification.status == "verified"


@pytest.mark.parametrize("settings", [
    {"init_lora_weights": "pissa_niter_16"}, {"a_setting_of_the_future": {"on": 1}}, {"peft_type": None}])
def test_inexact_merge_is_named(tmp_path, adapter, settings):
    base = save(tiny.network("llama"), tmp_path / "base")
    alone = adapter(str(base), **settings)
    with pytest.raises(UserError, match="is not applied"):
        load.locate(str(alone))
    for file in alone.iterdir():
        shutil.copy(file, base)
    assert ask(base)["verification"]["status"] == "reported"


@pytest.mark.parametrize(("change", "settings", "said"), [
    (lambda made: made | {"model.layers.9.self_attn.q_proj.lora_A.weight": np.ones((4, 48), np.float32)}, {},
     "there is no place for .*layers.9"),
    (lambda made: {name: array[:, :40] if "lora_A" in name else array for name, array in made.items()}, {},
     "size mismatch for"),
    (lambda made: made, {"target_modules": ["q_proj", "v_proj"]}, "it lacks .*v_proj"),
    (lambda made: dict(list(made.items())[1:]), {}, "it lacks .*lora_A"),
    (lambda made: made, {"dtype": "int8"}, "as I8, where"), (lambda made: made, {"r": 0}, "cannot be used")])
def test_files_that_do_not_fit_are_refused_by_name(tmp_path, report, change, settings, said):
    network = tiny.network("llama")
    base = save(network, tmp_path / "base")
    made = change(low_rank(adapted(network, ["q_proj"])))
    for folder in (tmp_path / "alone", base):
        write(folder, made, **{"target_modules": ["q_proj"], "base_model_name_or_path": str(base), **settings})
    (base / "adapter_config.json").rename(tmp_path / "kept.json")   # or it is the base that has an adapter
    (base / "adapter_model.safetensors").unlink()
    with pytest.raises(UserError, match=said) as caught:
        load.locate(str(tmp_path / "alone")).open(report)
    assert "adapter" in str(caught.value) and "\n" not in str(caught.value)
    assert "use the base that it was trained on" in str(caught.value)


@pytest.mark.parametrize(("lost", "said"), [
    ("adapter_model.safetensors", "there is no adapter_model.safetensors; copy it too"),
    ("adapter_config.json", "there is no adapter_config.json, which describes it; copy it too")])
def test_lost_file_of_an_adapter_is_named(tmp_path, adapter, lost, said):
    alone = adapter(str(save(tiny.network("llama"), tmp_path / "base")))
    (alone / lost).rename(tmp_path / "kept")
    with pytest.raises(UserError, match=said):
        load.locate(str(alone))
    (tmp_path / "kept").rename(alone / lost)
    assert load.locate(str(alone)).adapter == alone
