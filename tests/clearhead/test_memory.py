"""Models given in memory run themselves, are checked against transformers' own eager attention, and are left as they
were."""
import gc
import threading
import weakref
from contextlib import suppress
from functools import partial

import accelerate
import numpy as np
import peft
import pytest
import torch
import transformers
from PIL import Image
from tokenizers import normalizers

import clearhead
from clearhead.model.ask import kept
from clearhead.model.capture import forward_pass
from tests.model import tiny, tiny_vision

pytestmark = pytest.mark.filterwarnings("ignore")   # of peft and torch, on what is deprecated
TEXT = "a cat sat on mat because it was too tired"
TWIN = "a cat sat on mat because it was too wide"


def eager(network, **inputs):
    """(attentions, logits) of a network itself, with eager attention and without dropout."""
    before, modes = network.config._attn_implementation, [(each, each.training) for each in network.modules()]
    network.eval().set_attn_implementation("eager")
    with torch.no_grad():
        made = network(**inputs or tiny.tokenizer()(TEXT, return_tensors="pt"), output_attentions=True)
    network.set_attn_implementation(before)
    for module, mode in modes:
        module.training = mode
    return torch.stack(made.attentions)[:, 0].float().numpy(), made.logits[0].float().numpy()


def state(network):
    return ([each.training for each in network.modules()], [each.requires_grad for each in network.parameters()],
            [len(each._forward_pre_hooks) + len(each._forward_hooks) for each in network.modules()],
            {name: each.clone() for name, each in network.state_dict().items()},
            [dict(vars(each.config)) for each in network.modules() if hasattr(each, "config")])


def check(network, given=None):
    """Open a network, and compare its record with its own eager attention."""
    record = clearhead.open(network if given is None else given, tiny.tokenizer())(TEXT)
    attentions, logits = eager(network)
    assert record.verified, record.verification
    np.testing.assert_allclose(record.weights(), attentions, atol=1e-5)
    if record.prediction is not None:
        np.testing.assert_allclose(record.logits, logits, atol=1e-4)
    return record


def test_model_runs_itself_and_is_left_as_it_was(tmp_path):
    network = tiny.network("llama").train()
    network.model.layers[1].eval()
    network.model.embed_tokens.requires_grad_(False)
    network.config.use_cache, network.config.output_hidden_states = True, True
    before = state(network)
    record = clearhead.open(network, tiny.tokenizer())(TEXT)
    record.writes("cat", "mat"), record.lens()
    for one, other in zip(before, state(network), strict=True):
        assert repr(one) == repr(other)
    kept.keep(record.data)
    assert record.verified and not (kept.folder() / kept.name_of(record.data.query)).exists()
    folder = clearhead.open(str(tiny.save(tmp_path / "llama", "llama")))(TEXT)
    np.testing.assert_array_equal(folder.weights(), record.weights())


@pytest.mark.parametrize("name", ["llama", "gemma2", "t5", "bert", "bloom"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits_are_compared_up_to_their_rounding(name, dtype, monkeypatch):
    network = tiny.network(name).to(dtype)
    record = clearhead.open(network, tiny.tokenizer())(TEXT, target="a cat" if name == "t5" else None)
    assert record.data.card.dtype == str(dtype).removeprefix("torch.")
    assert record.verification.status == ("reported" if name == "bloom" else "verified")
    if name != "bloom":
        assert 1e-5 < record.verification.load_error < (0.03 if dtype == torch.bfloat16 else 0.004)
        parse = forward_pass.parse_call

        def wrong(*arguments):
            call = parse(*arguments)
            call.scale *= 1.2
            return call
        monkeypatch.setattr(forward_pass, "parse_call", wrong)
        with suppress(clearhead.Error):   # or refused
            assert not clearhead.open(network, tiny.tokenizer())("a cat").verified


@pytest.mark.parametrize("name", ["llama", "gpt2"])
@pytest.mark.parametrize("changed", ["", "lora", "bfloat16"])
def test_studies_of_a_model_in_memory_agree_with_its_logits(name, changed):
    network = tiny.network(name)
    if changed == "lora":
        torch.manual_seed(0)
        wanted = ["q_proj", "v_proj", "o_proj"] if name == "llama" else ["c_attn"]
        network = peft.get_peft_model(network, peft.LoraConfig(r=2, target_modules=wanted, init_lora_weights=False))
    opened = clearhead.open(network.bfloat16() if changed == "bfloat16" else network.train(), tiny.tokenizer())
    record, near = opened(TEXT), 0.05 if changed == "bfloat16" else 1e-4
    assert record.verified and type(network).__name__ in record.model
    ids = tiny.tokenizer().convert_tokens_to_ids(["cat", "mat"])
    difference = record.logits[-1, ids[0]] - record.logits[-1, ids[1]]
    writes = record.writes(*ids)
    assert writes.total == pytest.approx(difference, abs=near) and abs(writes.rest) < near
    reasons = record.why(2, 1, query="it", key="cat")
    assert reasons.total == pytest.approx(record.scores(2, 1)[*map(record.tokens.index, ("it", "cat"))], abs=near)
    silenced = opened(TEXT, silence=[(2, 1)])
    assert silenced.verified and clearhead.compare(record, silenced).frame().divergence.max() < 1e-6
    assert len(record.lens().frame()) == 4 and len(opened.circuits().frame()) == 12
    assert np.abs(record.paths(opened(TWIN), *ids).frame().effect).max() > near / 1000
    cases = [{"text": TEXT, "a": "mat", "b": "cat"}] * 9
    assert clearhead.score(opened, cases, find=("a", "b")).untrained is not None
    assert clearhead.open(f"{opened.name}~untrained")(TEXT).data.query.revision == f"{opened.revision}~untrained"


@pytest.mark.parametrize("beside", [threading.Lock, lambda: torch.ones(3, requires_grad=True) * 2])   # no copies
def test_hooks_run_whatever_they_hold(beside):
    network, held, seen = tiny.network("llama"), beside(), []
    network.held = held
    network.model.layers[0].register_forward_hook(lambda module, given, output: (output * 2, seen.append(held))[0])
    record = check(network)
    assert seen and "q_proj" not in str(record.lens())
    network.lm_head = torch.nn.Identity()   # answers with states: none of its numbers is a token
    network.model.layers[1].register_forward_hook(lambda module, given, output: output * 0)
    assert check(network).prediction is None
    network.model.layers[1].self_attn.q_proj.register_forward_hook(lambda module, given, output: output * 3)
    with pytest.raises(clearhead.Error, match="q_proj does more than multiply by its matrix"):
        clearhead.open(network, tiny.tokenizer())(TEXT).why(1, 0, query="it", key="cat")


class Mine(transformers.LlamaForCausalLM):
    """A class of a program's own."""

    def forward(self, *given, **named):
        return super().forward(*given, **named)


def own(network):
    made = Mine(network.config).eval()
    made.load_state_dict(network.state_dict())
    return made


def heated(network):
    network.generation_config.temperature = 0.3
    return network


def hooked(network):
    accelerate.hooks.add_hook_to_module(network, accelerate.hooks.AlignDevicesHook("cpu", io_same_device=True))
    return network


@pytest.mark.parametrize("around", [torch.compile, torch.nn.DataParallel, own, heated, hooked,
                                    lambda network: tiny.network("llama", tie_word_embeddings=True)])
def test_wrapped_and_changed_models_are_verified(around):
    network = tiny.network("llama")
    given = around(network)
    check(given if around is own or not around.__module__.startswith("torch") else network, given)


def test_quantised_model_is_verified_and_not_traced():
    network = torch.ao.quantization.quantize_dynamic(tiny.network("llama"), {torch.nn.Linear}, dtype=torch.qint8)
    record = check(network)
    assert "int8" in record.data.card.dtype
    with pytest.raises(clearhead.Error, match="cannot be traced"):
        record.why(1, 0, query="it", key="cat")


def blind(network):
    network.model.layers[1].self_attn = type("Own", (torch.nn.Module,), {
        "forward": lambda self, hidden_states, **named: (hidden_states, None)})()
    return network


def test_layer_whose_attention_is_not_seen_is_named():
    record = clearhead.open(blind(tiny.network("llama")), tiny.tokenizer())(TEXT)
    assert record.verification.status == "reported" and "layer 1 does not run" in record.verification.reasons[0]


def test_tokens_that_are_never_predicted_leave_a_model_comparable():
    network = tiny.network("bart")
    network.final_logits_bias[0, 3] = -torch.inf
    record = clearhead.open(network, tiny.tokenizer())(TEXT, target="a cat")
    assert record.verified and record.logits[0, 3] == -np.inf and 3 not in record.prediction.ids[0]


def random(network):
    network.model.norm.register_forward_hook(lambda module, given, output: output + torch.rand(1))
    return network


def rewired(network):
    def attend(module, query, *given, **named):
        return transformers.AttentionInterface()["sdpa"](module, query * 2, *given, **named)
    transformers.AttentionInterface.register("of_a_test", attend)
    transformers.AttentionMaskInterface.register("of_a_test", transformers.AttentionMaskInterface()["sdpa"])
    network.set_attn_implementation("of_a_test")
    return network


class Asks(transformers.LlamaForCausalLM):
    """A model that needs more than a text."""

    def forward(self, input_ids, more, **named):
        return super().forward(input_ids)


@pytest.mark.parametrize(("make", "said"), [
    (lambda network: network.to("meta"), "has weights on meta"), (random, "switch off what is random"),
    (lambda network: accelerate.cpu_offload(network, "cpu"), "without offloading"),
    (rewired, "return different outputs"),
    (lambda network: Asks(network.config), "missing 1 required positional argument: 'more'"),
    (lambda network: tiny.network("mamba"), "no attention"), (lambda network: network.lm_head, "clearhead.look"),
    (lambda network: tiny_vision.network("vit"), "give its processor"), (lambda network: None, "clearhead.look")])
def test_unsupported_models_are_refused_in_one_sentence(make, said):
    with pytest.raises(clearhead.Error, match=said) as caught:
        clearhead.open(make(tiny.network("llama")), tiny.tokenizer())(TEXT)
    assert "\n" not in str(caught.value)
    with pytest.raises(clearhead.Error, match="give its tokenizer"):
        clearhead.open(tiny.network("llama"))


def test_given_tokenizer_is_used():
    tokenizer = tiny.tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("cat", "mat")
    record = clearhead.open(tiny.network("llama"), tokenizer)(TEXT)
    assert record.data.maps[0].keys.ids[2] == tokenizer.convert_tokens_to_ids("mat") and "cat" not in record.tokens
    record = clearhead.open(tiny.network("llama"), tokenizer, title="words")(TEXT)
    assert record.model.startswith("words (in memory, ")


class Readers:
    """A processor of both towers."""

    def __init__(self, folder):
        self.image_processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
        self.tokenizer = tiny_vision.tokenizer()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_pictures_are_read_with_the_given_processor(tmp_path, dtype):
    both = Readers(tiny_vision.save(tmp_path, "clip"))
    opened = clearhead.open(tiny_vision.network("clip").to(dtype), both)
    processor = both.image_processor
    network = tiny_vision.network("vit").to(dtype).train()
    picture = Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 50, 3), np.uint8))
    assert opened("a cat").verified and opened(image=picture).verified
    record = clearhead.open(network, processor)(image=picture)
    attentions, _ = eager(network, pixel_values=processor(picture, return_tensors="pt")["pixel_values"].to(dtype))
    assert record.verified and network.training
    np.testing.assert_allclose(record.weights(), attentions, atol=1e-5 if dtype == torch.float32 else 0.02)


class Steer:
    """A hook with its settings, which counts its calls."""

    def __init__(self):
        self.by, self.vector, self.seen = 0.1, np.ones(48, np.float32), []

    def add(self, module, given, output, by=None):
        self.seen.append(by)
        return output + (self.by if by is None else by) * torch.from_numpy(self.vector)

    __call__ = add


def test_captions_differ_and_follow_training():
    network, other = tiny.network("llama"), tiny.network("llama")
    with torch.no_grad():
        other.model.layers[2].self_attn.q_proj.weight[0, 0] += 1e-3
    opened, others = clearhead.open(network, tiny.tokenizer()), clearhead.open(other, tiny.tokenizer())
    record = opened(TEXT)
    assert record.figure().caption != others(TEXT).figure().caption and record.model != others(TEXT).model
    assert opened(TEXT).data is record.data
    steer = Steer()
    network.model.layers[0].register_forward_hook(steer.add)
    network.model.layers[1].register_forward_hook(partial(steer.add, by=0.5))
    network.model.layers[2].register_forward_hook(steer)
    record = opened(TEXT)
    for change in (lambda: network.lm_head.weight.data[0].neg_(),   # no version counter sees this
                   lambda: setattr(steer, "by", 0.2), lambda: setattr(steer, "vector", steer.vector * 2),
                   lambda: network.model.layers[1]._forward_hooks.update(
                       dict.fromkeys(network.model.layers[1]._forward_hooks, partial(steer.add, by=0.7))),
                   lambda: network.model.register_forward_hook(lambda *given: None),
                   lambda: setattr(network.model.layers[0].self_attn, "scaling", 0.5)):
        before, found, looped = record.data.card, opened(TEXT), next(opened.each([TEXT]))
        change()
        for old in (looped, found):
            with pytest.raises(clearhead.Error, match="has changed since"):
                old.lens()
        after = opened(TEXT)
        assert after.data.card.revision != found.data.card.revision and after.model != before.title
        assert found.weights().shape == after.weights().shape and after.verified


class Settings:
    """What a hook of a program may read."""

    by = 1.0


def test_changes_that_only_a_pass_shows_are_noticed(monkeypatch):
    network, probe = tiny.network("llama"), torch.nn.Linear(48, 48)
    network.model.layers[0].register_forward_hook(lambda module, given, output: output + Settings.by * probe(output))
    opened = clearhead.open(network, tiny.tokenizer())
    for change in (lambda: probe.weight.data.mul_(3), lambda: monkeypatch.setattr(Settings, "by", 2.0),
                   lambda: monkeypatch.setattr(type(network.model.layers[0].mlp), "forward", lambda self, x: x / 2)):
        before = opened(TEXT)
        change()
        after = opened(TEXT)
        np.testing.assert_allclose(after.weights(), eager(network)[0], atol=1e-5)
        assert after.verified and after.data.card.revision != before.data.card.revision


def test_circuits_use_the_embeddings_that_a_pass_uses():
    torch.manual_seed(0)
    network = peft.get_peft_model(tiny.network("llama"), peft.LoraConfig(
        r=2, lora_alpha=40, target_modules=["embed_tokens"], init_lora_weights=False))
    adapted = clearhead.open(network, tiny.tokenizer()).circuits().frame()
    merged = clearhead.open(network.merge_and_unload(), tiny.tokenizer()).circuits().frame()
    np.testing.assert_allclose(adapted, merged, atol=1e-5)


@pytest.mark.parametrize("settings", [{"num_labels": 3, "problem_type": "multi_label_classification"},
                                      {"num_labels": 1}, {"num_labels": 2, "problem_type": "regression"}])
def test_classes_that_do_not_exclude_each_other_have_sigmoids(settings):
    network = tiny.drawn(("BertConfig", "BertForSequenceClassification", tiny.BASE), 3, settings)
    record, (_, logits) = clearhead.open(network, tiny.tokenizer())(TEXT), eager(network)
    if "regression" in settings.values():   # numbers are no answer in words
        assert record.prediction is None
        return
    np.testing.assert_allclose(record.prediction.probabilities[0], np.sort(1 / (1 + np.exp(-logits)))[::-1], atol=1e-6)
    assert record.writes(0).difference == pytest.approx(logits[0], abs=1e-5) and abs(record.writes(0).rest) < 1e-5
    with pytest.raises(clearhead.Error, match="no distribution"):
        record.lens()


def test_interrupted_pass_leaves_the_model_usable():
    network = tiny.network("llama").train()
    opened, before = clearhead.open(network, tiny.tokenizer()), state(network)

    def stop(*given):
        raise KeyboardInterrupt
    hook = network.model.layers[1].register_forward_hook(stop)
    for interrupted in (opened, opened.generate):
        with pytest.raises(KeyboardInterrupt):
            interrupted(TEXT)
    hook.remove()
    assert repr(state(network)) == repr(before) and opened(TEXT).verified


def test_record_keeps_its_model_and_nothing_else_does():
    network = tiny.network("llama")
    seen, opened = weakref.ref(network), clearhead.open(network, tiny.tokenizer())
    record = opened(TEXT)
    del network, opened
    gc.collect()
    assert len(record.lens().frame()) == 4 and record.writes("cat", "mat").total
    del record
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize(("name", "dtype"), [("llama", "bfloat16"), ("t5", torch.float16), ("bert", "float64")])
def test_a_folder_is_loaded_and_runs_in_the_type_asked_for(name, dtype, tmp_path):
    folder = tiny.save(tmp_path / name, name)
    opened, plain = clearhead.open(str(folder), dtype=dtype, device="cpu"), clearhead.open(str(folder))
    record, of = opened(TEXT, target="a cat" if name == "t5" else None), str(dtype).removeprefix("torch.")
    network = type(tiny.network(name)).from_pretrained(folder, dtype=getattr(torch, of), attn_implementation="eager")
    with torch.no_grad():
        inputs = tiny.tokenizer()(TEXT, return_tensors="pt")
        inputs = inputs if name != "t5" else {**inputs, "decoder_input_ids": torch.tensor([[0]])}
        made = network(**inputs, output_attentions=True)
    wanted = torch.stack(made.encoder_attentions if name == "t5" else made.attentions)[:, 0].float()
    np.testing.assert_allclose(record.weights(map=record.maps[0]), wanted, atol=1e-6 if of == "float64" else 0.03)
    assert record.verified and opened._behind.network.dtype == getattr(torch, of)
    assert opened.card.dtype.startswith(of) and opened.card.title == plain.card.title
    assert opened.revision == f"{plain.revision}~{of}" and clearhead.open(str(folder), device="cpu").name == plain.name
    twin = clearhead.open(f"{opened.name}~untrained")
    assert twin(TEXT).verified and twin._behind.network.dtype == opened._behind.network.dtype


def test_a_revision_is_read_from_the_hubs_cache(tmp_path, monkeypatch):
    cache, commit = tmp_path / "models--someone--small", 40 * "a"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    tiny.save(cache / "snapshots" / commit, "llama")
    tiny.save(cache / "snapshots" / (40 * "b"), "gpt2")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(40 * "b")
    (cache / "refs" / "old").write_text(commit)
    assert clearhead.open("someone/small").card.architecture.startswith("GPT2")
    for revision in ("old", commit):
        opened = clearhead.open("someone/small", revision=revision)
        assert opened.card.architecture.startswith("Llama") and opened(TEXT).verified
    for wrong in ({"revision": "new"}, {"revision": "../old"}, {"dtype": "int8"}, {"device": "meta"}):
        with pytest.raises(clearhead.Error):
            clearhead.open("someone/small", **wrong)
    with pytest.raises(clearhead.Error, match="no revisions"):
        clearhead.open(str(cache / "snapshots" / commit), revision="main")
    with pytest.raises(clearhead.Error, match="comes with Clearhead"):
        clearhead.open("induction", dtype="bfloat16")
    with pytest.raises(clearhead.Error, match="in memory"):
        clearhead.open(tiny.network("llama"), tiny.tokenizer(), dtype="bfloat16")
