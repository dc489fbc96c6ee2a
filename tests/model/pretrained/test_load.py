"""Loading is safe, whether or not files are damaged."""
import json
import shutil

import pytest
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import memory
from clearhead.model.core.query import UserError
from clearhead.model.pretrained import catalogue, files, load
from clearhead.model.pretrained.fetch import fetch
from tests.model import tiny
from tests.model.only import CardQuery


@pytest.fixture
def folder(tmp_path):
    return tiny.save(tmp_path / "mine", "llama")


def open_(folder, report):
    return load.locate(str(folder)).open(report)


READ = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json", "vocab.txt", "merges.txt", "spiece.model", "source.spm",
        "chat_template.jinja", "additional_chat_templates/tool_use.jinja", "modules.json", "1_Pooling/config.json",
        "sentence_bert_config.json", "config_sentence_transformers.json", "preprocessor_config.json",
        "processor_config.json", "adapter_config.json", "adapter_model.safetensors", "modeling_own.py")
NEVER_READ = ("README.md", ".gitattributes", "LICENSE.txt", "clearhead.json", "trainer_state.json", "eval_results.json",
              "training_args.bin", "onnx/config.json", "checkpoint-1/model.safetensors", "1_Pooling/.config.json.swp")


def test_revision_follows_every_file_that_may_be_read_and_no_other(tmp_path):
    changes = {}
    for name in (*READ, *NEVER_READ):
        before = files.fingerprint(tmp_path)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"one")
        with_it = files.fingerprint(tmp_path)
        (tmp_path / name).write_bytes(b"other")
        changes[name] = len({before, with_it, files.fingerprint(tmp_path)})
    assert changes == dict.fromkeys(READ, 3) | dict.fromkeys(NEVER_READ, 1)


def test_revision_follows_the_vocabulary_of_every_tokenizer_of_transformers():
    classes = [getattr(transformers, name, None) for name in filter(None, {*TOKENIZER_MAPPING_NAMES.values()})]
    names = {name for each in classes for name in getattr(each, "vocab_files_names", {}).values()}
    assert {"vocab.txt", "bpe.codes"} <= names
    assert {name for name in names if not files.READ.fullmatch(name) or files.IGNORED.fullmatch(name)} == set()


def test_revision_does_not_depend_on_folder_or_on_fetching(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "elsewhere")
    (copy / catalogue.MARK).write_text("{}", encoding="utf-8")
    first = load.locate(str(folder)).revision
    assert len(first) == 16 and first == load.locate(str(copy)).revision
    with_it = files.fingerprint(folder, copy)   # the same file in a model's folder and in its adapter's
    (copy / "vocab.txt").write_bytes(b"a")
    beside = files.fingerprint(folder, copy)
    (copy / "vocab.txt").rename(folder / "vocab.txt")
    assert len({with_it, beside, files.fingerprint(folder, copy)}) == 3


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_truncated_weights_are_refused_by_name(folder, report, keep):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"model\.safetensors cannot be used as weights"):
        open_(folder, report)


@pytest.mark.parametrize(("change", "said"), [
    ({"num_hidden_layers": 10**7}, "describes 10,000,000 layers, but its weights hold "),
    ({"vocab_size": 400_000}, "where config.json says")])
def test_configuration_larger_than_weights_is_not_built(folder, report, change, said):
    document = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(document | change), encoding="utf-8")
    with pytest.raises(UserError, match=said):
        open_(folder, report)


@pytest.mark.parametrize(("file", "said"), [
    ("../model.safetensors", r"has no '\.\./model\.safetensors'"),
    ("x" * 5000, r"index\.json cannot be used as an index of weights \(|has no 'xxx")], ids=["outside", "impossible"])
def test_index_of_a_file_outside_or_impossible_is_refused(folder, report, file, said):
    (folder / "model.safetensors").rename(folder.parent / "model.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": {"a": file}}), encoding="utf-8")
    with pytest.raises(UserError, match=said):
        open_(folder, report)


def test_missing_tensors_are_refused(folder, report):
    kept = {name: each for name, each in load_file(folder / "model.safetensors").items() if "1.self_attn.q" not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 1 .*layers\.1\.self_attn\.q_proj"):
        open_(folder, report)


def test_code_that_comes_with_a_model_never_runs(folder, report, tmp_path):
    proof = tmp_path / "ran"
    (folder / "modeling_own.py").write_text(f"open({str(proof)!r}, 'w')\nclass Own: pass\n", encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"auto_map": {"AutoConfig": "modeling_own.Own", "AutoModelForCausalLM": "modeling_own.Own"},
               "model_type": "own"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(UserError):
        open_(folder, report)
    assert not proof.exists()


def test_server_offers_its_catalogue_only(folder, monkeypatch, report):
    monkeypatch.setenv("CLEARHEAD_CATALOGUE_ONLY", "1")
    for name in (str(folder), "owner/name", "/etc", "../..", "file:///etc/passwd", "/tmp/model.gguf",
                 "minilm/../smollm2"):
        for reads in (load.locate, lambda name: fetch(name, report)):
            with pytest.raises(UserError, match=r"its catalogue|name is empty"):
                reads(name)
    assert load.locate("minilm").entry is not None and fetch("minilm", report).is_dir()


def test_wrong_checksum_is_refused(monkeypatch, tmp_path, report):
    copy = shutil.copytree(load.locate("minilm").folder, tmp_path / "minilm")
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    monkeypatch.setattr(catalogue, "_package_folder", lambda package: copy)
    with pytest.raises(UserError, match=r"model\.safetensors has changed"):
        load.locate("minilm").open(report)


def test_folder_that_changes_while_it_is_read_is_refused(folder):
    with pytest.raises(UserError, match="changed while they were read"):
        load.locate(str(folder)).open(lambda done, text: (folder / "generation_config.json").write_bytes(b"{}"))


def test_memory_estimate_follows_the_kernel(opened):
    linear, square = opened("llama").plan, opened("bloom").plan
    assert linear.bytes_for(4000) == 2 * linear.bytes_for(2000)
    assert square.bytes_for(4000) > 3 * square.bytes_for(2000)


@pytest.mark.parametrize(("name", "positions"), [
    ("bert", "learned"), ("llama", "rotary"), ("marian", "sinusoidal"), ("bloom", "ALiBi"), ("t5", "relative")])
def test_card_names_the_position_scheme(opened, name, positions):
    assert opened(name).card.positions.startswith(positions)


def test_card_counts_grouped_heads(opened):
    card = opened("llama").card
    assert (card.layers, card.heads, card.kv_heads, card.d_head, card.d_model, card.max_tokens) == (3, 4, 2, 8, 48, 61)


def test_model_larger_than_memory_is_refused(tmp_path, monkeypatch):
    large = str(tiny.save(tmp_path / "large", "llama"))
    with monkeypatch.context() as small:
        small.setattr(memory, "memory_free", lambda: 1000.0)
        with pytest.raises(UserError, match="large has"):
            desk.ask(CardQuery(large, sources.revision(large))).result(60)
    record = desk.ask(sources.open_query(large, "the cat sat on mat")).result(60)
    assert record.verification.status == "verified"
