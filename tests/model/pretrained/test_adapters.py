"""LoRA adapters are applied as numpy merges them; whatever is not applied is named, and its picture never verified."""
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import load_file
from safetensors.torch import save_file

from model.__main__ import main
from model.core.query import NotOnDisk, Query, UserError
from model.pretrained import adapters, load
from tests.model import tiny, tiny_vision

TEXT = "the animal didn ' t cross the street because it was too tired"
# modules to adapt: attention and more, by family
TARGETS = {"llama": ["q_proj", "k_proj", "v_proj", "down_proj"], "bert": ["query", "key", "value", "output.dense"],
           "gpt2": ["c_attn", "c_proj"], "t5": ["q", "k", "v", "wo"]}
KINDS = ["IA3", "PREFIX_TUNING", "a kind of the future"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


def adapted(network, targets):
    """The network's modules whose names end so."""
    return {name: module for name, module in network.named_modules()
            if any(name == each or name.endswith(f".{each}") for each in targets) and hasattr(module, "weight")}


def write(folder, tensors, dtype="float32", **settings):
    """An adapter's two files."""
    import torch

    folder.mkdir(exist_ok=True, parents=True)
    save_file({f"base_model.model.{name}": torch.tensor(array).to(getattr(torch, dtype)).contiguous()
               for name, array in tensors.items()}, folder / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": 4, "lora_alpha": 6, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def low_rank(modules, rank=lambda name: 4):
    """Random A and B of each module, by the names that peft gives them."""
    draw, tensors = np.random.default_rng(7), {}
    for name, module in modules.items():
        across = type(module).__name__ == "Conv1D"
        inner, outer = module.weight.shape if across else module.weight.shape[::-1]
        for part, shape in (("A", (rank(name), inner)), ("B", (outer, rank(name)))):
            tensors[f"{name}.lora_{part}.weight"] = (draw.normal(size=shape) * 0.3).astype(np.float32)
    return tensors


def merge(network, tensors, scale=lambda name: 6 / 4):
    """Merges an adapter into the network, in numpy."""
    import torch

    with torch.no_grad():
        for name, module in network.named_modules():
            if f"{name}.lora_A.weight" in tensors:
                a, b = (tensors[f"{name}.lora_{part}.weight"].astype(np.float32) for part in "AB")
                across = type(module).__name__ == "Conv1D"
                weight = module.weight.numpy().T if across else module.weight.numpy()
                weight = weight + b @ a * np.float32(scale(name))
                if f"{name}.lora_magnitude_vector" in tensors:
                    weight *= (tensors[f"{name}.lora_magnitude_vector"] / np.sqrt((weight ** 2).sum(1)))[:, None]
                module.weight.copy_(torch.tensor(weight.T if across else weight))


def save(network, folder):
    network.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def record_of(folder, report):
    return load.open_model(str(folder), report).record(Query(str(folder), "r", TEXT), report)


def difference(one, other):
    """The largest between two records' queries, keys and values."""
    return max(float(np.abs(getattr(a, part) - getattr(b, part)).max())
               for first, second in zip(one.maps, other.maps, strict=True)
               for a, b in zip(first.layers, second.layers, strict=True) for part in ("query", "key", "value"))


def largest_difference(tmp_path, family, report, tensors, merge_into=merge, **settings):
    """How far the adapter, beside its base and alone, is from the merged model; it is verified, named on the card, and
    far from its base."""
    network = tiny.network(family)
    base = save(network, tmp_path / "base")
    made = tensors(network) if callable(tensors) else tensors
    merge_into(network, made)
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
def test_an_applied_adapter_is_the_merged_model(tmp_path, family, report):
    largest = largest_difference(tmp_path, family, report, lambda network: low_rank(adapted(network, TARGETS[family])),
                                 target_modules=TARGETS[family], fan_in_fan_out=family == "gpt2")
    assert largest < 1e-6


@pytest.mark.parametrize("dtype", ["bfloat16"])
def test_weights_of_sixteen_bits_are_applied_in_thirty_two(tmp_path, report, dtype):
    import torch

    def rounded(network):
        return {name: torch.tensor(array).to(getattr(torch, dtype)).float().numpy()
                for name, array in low_rank(adapted(network, ["q_proj"])).items()}

    assert largest_difference(tmp_path, "llama", report, rounded, target_modules=["q_proj"], dtype=dtype) < 1e-6


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_magnitudes_of_dora_are_applied(tmp_path, report, family):
    def tensors(network):
        made, draw = low_rank(adapted(network, TARGETS[family])), np.random.default_rng(1)
        return made | {name.replace("lora_B.weight", "lora_magnitude_vector"):
                       draw.uniform(0.5, 2, len(array)).astype(np.float32)
                       for name, array in made.items() if "lora_B" in name}

    # numpy adds the squares in another order than torch, and three layers multiply the rounding
    assert largest_difference(tmp_path, family, report, tensors, target_modules=TARGETS[family], use_dora=True) < 1e-5


def test_ranks_and_scales_follow_their_patterns(tmp_path, report):
    ranks = {"k_proj": 2, "model.layers.1.self_attn.q_proj": 3}

    def rank(name):
        return next((number for end, number in ranks.items() if name.endswith(end)), 4)

    def scale(name):
        return (11 if name.endswith("v_proj") else 6) / rank(name) ** 0.5

    assert largest_difference(
        tmp_path, "llama", report, lambda network: low_rank(adapted(network, ["q_proj", "k_proj", "v_proj"]), rank),
        lambda network, tensors: merge(network, tensors, scale), target_modules=r".*\.(q|k|v)_proj", use_rslora=True,
        rank_pattern={"k_proj": 2, r"^model\.layers\.1\.self_attn\.q_proj": 3}, alpha_pattern={"v_proj": 11}) < 1e-6


def test_embeddings_biases_whole_modules_and_chosen_layers_are_applied(tmp_path, report):
    import torch

    draw = np.random.default_rng(2)
    embedding = {"bert.embeddings.word_embeddings.lora_embedding_A": draw.normal(size=(4, 70)).astype(np.float32),
                 "bert.embeddings.word_embeddings.lora_embedding_B": draw.normal(size=(48, 4)).astype(np.float32)}
    whole = {"bert.encoder.layer.1.attention.self.key.base_layer.bias": draw.normal(size=48).astype(np.float32),
             "bert.embeddings.LayerNorm.weight": draw.normal(size=48).astype(np.float32),
             "bert.embeddings.LayerNorm.bias": draw.normal(size=48).astype(np.float32)}

    def tensors(network):
        return low_rank({name: module for name, module in adapted(network, ["key"]).items() if ".1." in name}
                        ) | embedding | whole

    def merge_all(network, made):
        merge(network, made)
        a, b = embedding.values()
        with torch.no_grad():
            network.bert.embeddings.word_embeddings.weight += torch.tensor((b @ a).T * np.float32(1.5))
            for name, array in whole.items():
                network.get_parameter(name.replace(".base_layer", "")).copy_(torch.tensor(array))

    assert largest_difference(
        tmp_path, "bert", report, tensors, merge_all, target_modules=["key", "bert.embeddings.word_embeddings"],
        layers_to_transform=[1], layers_pattern="layer", modules_to_save=["embeddings.LayerNorm"],
        bias="lora_only") < 1e-6


def test_a_classifier_is_the_adapters_own(tmp_path, report):
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


def test_a_classifier_without_its_pooler_is_refused_and_none_is_made_up(tmp_path, report):
    base = save(tiny.network("bert"), tmp_path / "base")
    tensors = low_rank(adapted(tiny.network("bert"), ["query"]))
    settings = {"task_type": "SEQ_CLS", "target_modules": ["query"], "base_model_name_or_path": str(base)}
    write(tmp_path / "head", tensors | {"classifier.weight": np.ones((3, 48), np.float32),
                                        "classifier.bias": np.ones(3, np.float32)},
          modules_to_save=["classifier"], **settings)
    with pytest.raises(UserError, match="pooler"):
        load.open_model(str(tmp_path / "head"), report)
    assert "BertForMaskedLM" in record_of(write(tmp_path / "none", tensors, **settings), report).card.architecture


def test_an_adapter_of_a_network_without_its_head_fits(tmp_path, report):
    base = save(tiny.network("llama"), tmp_path / "base")
    tensors = low_rank(adapted(tiny.network("llama"), ["q_proj"]))
    with_head = write(tmp_path / "a", tensors, target_modules=["q_proj"], base_model_name_or_path=str(base))
    without = write(tmp_path / "b", {name.removeprefix("model."): array for name, array in tensors.items()},
                    target_modules=["q_proj"], base_model_name_or_path=str(base))
    assert difference(record_of(with_head, report), record_of(without, report)) == 0


def test_a_tied_output_keeps_the_bases_weights(tmp_path, report):
    network = tiny.network("llama", tie_word_embeddings=True)
    draw = np.random.default_rng(2)
    tensors = {"model.embed_tokens.lora_embedding_A": draw.normal(size=(4, 70)).astype(np.float32),
               "model.embed_tokens.lora_embedding_B": draw.normal(size=(48, 4)).astype(np.float32)}
    folder = write(save(network, tmp_path / "tied"), tensors, target_modules=["embed_tokens"])
    opened = load.open_model(str(folder), report).network
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
    model = load.open_model(str(folder), report)
    assert np.array_equal(model.network.lm_head.weight.detach().numpy(), whole["lm_head.weight"])
    record = model.record(Query(str(folder), "r", "the cat <extra> sat"), report)
    assert "<extra>" in record.maps[0].queries.texts and record.verification.status == "verified"


def test_a_model_of_pictures_gets_its_adapter(tmp_path, report):
    folder = tiny_vision.save(tmp_path / "vit", "vit")
    opened = load.open_model(str(folder), report)
    before = {name: parameter.detach().clone() for name, parameter in opened.network.named_parameters()}
    names = [name for name, module in opened.network.named_modules() if name.endswith(("q_proj", "query"))]
    tensors = low_rank({name: opened.network.get_submodule(name) for name in names})
    write(folder, tensors, target_modules=[names[0].rpartition(".")[2]])
    after = load.open_model(str(folder), report)
    assert "LoRA adapter" in after.card.note and after.card.revision != opened.card.revision
    for name, parameter in after.network.named_parameters():
        module = name.removesuffix(".weight")
        delta = (tensors[f"{module}.lora_B.weight"] @ tensors[f"{module}.lora_A.weight"] * np.float32(1.5)
                 if module in names else 0)
        assert np.abs(parameter.detach().numpy() - before[name].numpy() - delta).max() < 1e-6, name


# where the base is


@pytest.fixture
def adapter(tmp_path):
    """write_for(base, folder) is an adapter of the small Llama, for a base of this name."""
    def write_for(base, folder="adapter", **settings):
        return write(tmp_path / folder, low_rank(adapted(tiny.network("llama"), ["q_proj"])),
                     **{"target_modules": ["q_proj"], "base_model_name_or_path": base, **settings})
    return write_for


def test_a_base_is_found_by_path_cache_and_fetched_folder(tmp_path, adapter, home, monkeypatch, report):
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


@pytest.mark.parametrize("name", ["minilm", "sentence-transformers/all-MiniLM-L6-v2"])
def test_a_base_of_the_catalogue_is_found(tmp_path, name, minilm, report):
    tensors = low_rank(adapted(minilm.network, ["query"]))
    folder = write(tmp_path / "mine", tensors, target_modules=["query"], task_type="FEATURE_EXTRACTION",
                   base_model_name_or_path=name)
    model = load.open_model(str(folder), report)
    assert model.card.revision == load.revision(str(folder)) != minilm.card.revision and model.task == "vector"
    assert f"applied to {name}" in model.card.note
    for module in ("encoder.layer.0.attention.self.query", "encoder.layer.5.attention.self.query"):
        weight = minilm.network.get_submodule(module).weight.detach().numpy() + tensors[
            f"{module}.lora_B.weight"] @ tensors[f"{module}.lora_A.weight"] * np.float32(1.5)
        assert np.abs(model.network.get_submodule(module).weight.detach().numpy() - weight).max() < 1e-6


@pytest.mark.parametrize(("name", "wanted"), [
    ("google-bert/bert-base-uncased", "bert"), ("bert-base-uncased", "bert"), ("gpt2", "gpt2"),
    ("HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2"), ("HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M"),
    ("owner/elsewhere", "owner/elsewhere")])
def test_a_base_that_is_not_on_disk_is_named_with_the_way_to_fetch_it(adapter, name, wanted):
    with pytest.raises(NotOnDisk, match=f"is a LoRA adapter for {name}.* fetch it with: python -m model fetch {wanted}$"
                       ) as caught:
        load.locate(str(adapter(name)))
    assert caught.value.wanted == wanted


@pytest.mark.parametrize("name", ["/content/drive/base", "../nowhere", None, "a/b/c", 3])
def test_a_base_that_is_nowhere_is_named(adapter, name, tmp_path, report):
    with pytest.raises(UserError) as caught:
        load.locate(str(adapter(name)))
    assert "adapter" in str(caught.value) and "\n" not in str(caught.value)
    if isinstance(name, str):   # the way out
        base = save(tiny.network("llama"), tmp_path / "base")
        assert name in str(caught.value) and "copy adapter_config.json" in str(caught.value)
        for file in (tmp_path / "adapter").iterdir():
            shutil.copy(file, base)
        assert record_of(base, report).verification.status == "verified"


def test_the_revision_follows_base_and_adapter(tmp_path, adapter):
    base = save(tiny.network("llama"), tmp_path / "base")
    folder = str(adapter(str(base)))
    first = load.revision(folder)
    write(tmp_path / "adapter", {name: array + 1 for name, array in load_file(
        tmp_path / "adapter" / "adapter_model.safetensors").items()}, base_model_name_or_path=str(base))
    second = load.revision(folder)
    save(tiny.network("llama", seed=8), base)
    assert len({first, second, load.revision(folder), load.revision(str(base))}) == 4


def test_the_untrained_twin_has_no_adapter(tmp_path, adapter, report):
    base = save(tiny.network("llama"), tmp_path / "base")
    twin = load.open_model(f"{adapter(str(base))}~untrained", report)
    plain = load.open_model(f"{base}~untrained", report)
    assert "adapter" not in twin.card.note
    for one, other in zip(twin.network.parameters(), plain.network.parameters(), strict=True):
        assert np.array_equal(one.detach().numpy(), other.detach().numpy())


# what is not applied


def ask(folder):
    result = CliRunner().invoke(main, ["ask", "--model", str(folder), "--text", TEXT, "--json"])
    return json.loads(result.stdout) if result.exit_code == 0 else result.output


@pytest.mark.parametrize("kind", KINDS)
def test_another_kind_is_named_beside_its_base_and_refused_alone(tmp_path, kind, adapter, report):
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
    assert ("peft cannot merge" if kind in adapters.NEVER_MERGED else "merge_and_unload") in reason
    for file in ("adapter_config.json", "adapter_model.safetensors"):   # the way out
        (base / file).unlink()
    assert record_of(base, report).verification.status == "verified"


@pytest.mark.parametrize("settings", [
    {"use_qalora": True}, {"target_parameters": ["mlp.experts.down_proj"]}, {"init_lora_weights": "pissa_niter_16"},
    {"a_setting_of_the_future": {"on": 1}}, {"peft_type": None}])
def test_a_lora_adapter_that_cannot_be_merged_exactly_is_named(tmp_path, adapter, settings):
    base = save(tiny.network("llama"), tmp_path / "base")
    alone = adapter(str(base), **settings)
    with pytest.raises(UserError, match="is not applied"):
        load.locate(str(alone))
    for file in alone.iterdir():
        shutil.copy(file, base)
    assert ask(base)["verification"]["status"] == "reported"


def test_adapters_in_folders_of_a_base_are_named(tmp_path, adapter, report):
    base = save(tiny.network("llama"), tmp_path / "base")
    before = load.revision(str(base))
    shutil.copytree(adapter("elsewhere"), base / "one")
    shutil.copytree(adapter("elsewhere", peft_type="IA3"), base / "more" / "two")
    found = ask(base)["verification"]
    assert found["status"] == "reported" and load.revision(str(base)) != before
    assert "in more/two" in found["reasons"][0] and "in one" in found["reasons"][1]
    own = write(tmp_path / "own", load_tensors(base / "one"), target_modules=["q_proj"],
                base_model_name_or_path=str(base))
    assert record_of(own, report).verification.status == "verified"   # the others are not meant for it
    only = tmp_path / "only"
    shutil.copytree(base / "one", only / "one")
    with pytest.raises(UserError, match="has no model, only adapters in subfolders; open one of them"):
        load.locate(str(only))


def load_tensors(folder):
    return {name.removeprefix("base_model.model."): array
            for name, array in load_file(folder / "adapter_model.safetensors").items()}


@pytest.mark.parametrize(("change", "settings", "said"), [
    (lambda made: made | {"model.layers.9.self_attn.q_proj.lora_A.weight": np.ones((4, 48), np.float32)}, {},
     "there is no place for .*layers.9"),
    (lambda made: {name: array[:, :40] if "lora_A" in name else array for name, array in made.items()}, {},
     "size mismatch for"),
    (lambda made: made, {"r": 8}, "size mismatch for"),
    (lambda made: made, {"target_modules": ["v_proj"]}, "there is no place for|lacks"),
    (lambda made: made, {"target_modules": ["q_proj", "v_proj"]}, "it lacks .*v_proj"),
    (lambda made: made, {"modules_to_save": ["lm_head"]}, "lm_head"),
    (lambda made: dict(list(made.items())[1:]), {}, "it lacks .*lora_A"),
    (lambda made: {name: array * np.float32("nan") for name, array in made.items()}, {}, "NaN or infinity"),
    (lambda made: made, {"target_modules": "("}, "cannot be used"),
    (lambda made: made, {"r": "four"}, "cannot be used"),
    (lambda made: made, {"r": 0}, "cannot be used")])
def test_files_that_do_not_fit_are_refused_by_name(tmp_path, report, change, settings, said):
    network = tiny.network("llama")
    base = save(network, tmp_path / "base")
    made = change(low_rank(adapted(network, ["q_proj"])))
    for folder in (tmp_path / "alone", base):
        write(folder, made, **{"target_modules": ["q_proj"], "base_model_name_or_path": str(base), **settings})
    (base / "adapter_config.json").rename(tmp_path / "kept.json")   # or it is the base that has an adapter
    (base / "adapter_model.safetensors").unlink()
    with pytest.raises(UserError, match=said) as caught:
        load.open_model(str(tmp_path / "alone"), report)
    assert "adapter" in str(caught.value) and "\n" not in str(caught.value)


def test_an_adapter_of_an_adapter_is_refused(tmp_path, adapter):
    base = save(tiny.network("llama"), tmp_path / "base")
    first = adapter(str(base), "first")
    for name in (first, write(base, load_tensors(first), target_modules=["q_proj"])):
        (first / "config.json").write_text("{}", encoding="utf-8")
        with pytest.raises(UserError, match="itself has an adapter; merge that one first"):
            load.locate(str(adapter(str(name), "second")))
    with pytest.raises(UserError):
        load.locate(str(adapter("../second", "second")))


def test_peft_beside_transformers_changes_nothing(tmp_path, adapter, monkeypatch, report):
    """Were peft there, transformers would put the adapter into the network by itself."""
    import transformers.integrations.peft as integration
    from transformers.models.auto import auto_factory

    base = save(tiny.network("llama"), tmp_path / "base")
    for file in adapter(str(base)).iterdir():
        shutil.copy(file, base)
    first = record_of(base, report)
    monkeypatch.setattr(integration, "is_peft_available", lambda: True)
    monkeypatch.setattr(auto_factory, "is_peft_available", lambda: True)
    assert difference(record_of(base, report), first) == 0
