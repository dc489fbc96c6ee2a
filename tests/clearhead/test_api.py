"""The public API compared with transformers' own attention, and its documented behaviour."""
import io
import os
import subprocess
import sys
import traceback
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
import torch
import transformers
from IPython.core.formatters import DisplayFormatter
from PIL import Image
from pypdf import PdfReader

import clearhead
from clearhead.__main__ import start
from clearhead.model.pretrained.gguf_file import from_gguf
from tests.conftest import ROOT, Server
from tests.model import tiny

TEXT = "a cat sat on mat because it was too tired"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("api") / "llama", "llama")


@pytest.fixture(scope="module")
def opened(folder):
    return clearhead.open(str(folder))


@pytest.fixture(scope="module")
def record(opened):
    return opened(TEXT)


def reference(folder, text=TEXT):
    """(attentions, logits, ids) computed by transformers with eager attention."""
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    ids = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        made = network(ids, output_attentions=True, use_cache=False)
    return torch.stack(made.attentions)[:, 0].numpy(), made.logits[0].numpy(), ids


def test_weights_and_logits_equal_transformers(folder, record):
    attentions, logits, _ = reference(folder)
    assert record.verified
    np.testing.assert_allclose(record.weights(), attentions, atol=1e-5)
    np.testing.assert_array_equal(record.weights(2, 3), record.weights()[2, 3])
    np.testing.assert_allclose(record.logits, logits, atol=1e-4)


def test_queries_keys_and_values_give_weights_and_output(record):
    for layer, head in ((0, 0), (2, 3)):
        scores = record.query(layer, head) @ record.key(layer, head).T / np.sqrt(record.query(layer, head).shape[1])
        scores[np.triu_indices(len(scores), 1)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(record.weights(layer, head), weights, atol=1e-5)
        np.testing.assert_allclose(record.output(layer, head), weights @ record.value(layer, head), atol=1e-5)


def test_frame_has_every_weight_once(record):
    frame = record.frame(query="it")
    place = record.tokens.index("it")
    assert list(frame.columns[:5]) == ["layer", "head", "query", "key", "weight"]
    assert len(frame) == 3 * 4 * len(record.tokens)
    row = frame[(frame.layer == 1) & (frame["head"] == 2)]
    np.testing.assert_array_equal(row.weight, record.weights(1, 2)[place])
    assert len(record.frame("it", "cat", layer=1, head=2)) == 1


def test_silenced_head_is_silent_and_labelled(opened, record):
    silenced = opened(TEXT, silence=[(2, 1)])
    assert not silenced.output(2, 1).any() and silenced.output(2, 0).any()
    mean = opened(TEXT, silence={(2, 1): "mean"}).output(2, 1)
    np.testing.assert_allclose(mean, np.broadcast_to(record.output(2, 1).mean(0), mean.shape), atol=1e-5)
    assert not np.allclose(silenced.logits, record.logits)
    np.testing.assert_array_equal(silenced.weights(0, 0), record.weights(0, 0))
    hidden = opened(TEXT, hide=["cat"])
    place = record.tokens.index("cat")
    assert hidden.weights()[..., :place, place].max() == 0 and hidden.weights()[..., place + 1:, place].max() == 0
    assert all(not opened(TEXT, hide=form).weights()[..., 2].any() for form in (2, [2], np.int64(2)))
    tempered = opened(TEXT, temper={(0, 1): 1e6})
    assert tempered.weights(0, 1)[-1] == pytest.approx(1 / len(record.tokens), abs=1e-4)


def test_scores_and_logits_split_into_their_writers(opened, record):
    reasons = record.why(2, 1, query="it", key="cat")
    query, key = record.tokens.index("it"), record.tokens.index("cat")
    assert reasons.total == pytest.approx(record.scores(2, 1)[query, key], abs=1e-4)
    assert reasons.frame().value.sum() + sum(value for _, value in reasons.terms) == pytest.approx(reasons.total)
    answer, rival = (tiny.tokenizer().convert_tokens_to_ids(word) for word in ("cat", "mat"))
    assert record.writes("cat", "mat").total == pytest.approx(record.logits[-1, answer] - record.logits[-1, rival],
                                                              abs=1e-4)
    assert record.writes(answer).total == pytest.approx(record.logits[-1, answer], abs=1e-4)
    assert record.lens(np.int64(-1)).frame().tokens.iloc[-1][0] == record.prediction.texts[-1][0]
    assert record.paths(record, "cat", "mat").frame().effect.abs().max() < 1e-5
    twin = opened("a cat sat on mat because it was too wide")
    assert record.paths(record, answer, rival).frame().effect.abs().max() < 1e-5
    assert record.paths(twin, "cat", "mat").frame().effect.abs().max() > 1e-5
    assert len(opened.circuits().frame()) == 12


def test_patch_takes_the_other_records_output(opened, record):
    other = opened("a cat sat on mat because it was too wide")
    patched = opened(TEXT, patch=[((2, head), other) for head in range(4)])
    assert not np.allclose(patched.logits[-1], record.logits[-1])
    with pytest.raises(clearhead.Error, match="tokens"):
        opened(TEXT, patch=[((2, 0), opened("a cat"))])


@pytest.mark.parametrize("wrong", [
    lambda opened, record: record.weights(9, 0), lambda opened, record: record.weights(0, 9),
    lambda opened, record: record.weights(map="cross"), lambda opened, record: record.frame(query="absent"),
    lambda opened, record: opened("a cat and a mat").frame(query="a"),   # it stands there twice
    lambda opened, record: record.figure([(9, 9)]), lambda opened, record: record.figure(width="wide"),
    lambda opened, record: opened(TEXT, map="cross"), lambda opened, record: opened(TEXT, silence=[3]),
    lambda opened, record: opened(""), lambda opened, record: clearhead.open("no-such-model"),
    lambda opened, record: record.writes("no such word"), lambda opened, record: record.lens(99),
    lambda opened, record: opened(TEXT, window=3), lambda opened, record: opened(TEXT, temper=2.0),
    lambda opened, record: opened(TEXT, silence=[(0.0, 1)]), lambda opened, record: opened(None),
    lambda opened, record: record.show(head=1), lambda opened, record: record.weights(head=1),
    lambda opened, record: record.show(0, 0, key="cat"), lambda opened, record: record.figure([0, 1]),
    lambda opened, record: clearhead.open(3), lambda opened, record: clearhead.load("absent.npz"),
    lambda opened, record: clearhead.compare(opened, opened),
    lambda opened, record: clearhead.score(opened, ["a cat"], find=("verb", "subject")),
    lambda opened, record: clearhead.look(torch.nn.Linear(2, 2), torch.zeros(1, 2)),
    lambda opened, record: record.figure([]), lambda opened, record: record.figure("ab"),
    lambda opened, record: record.figure(width=None), lambda opened, record: record.figure(labels=("Query", "Key")),
    lambda opened, record: record.figure((0, 1), labels="QK"), lambda opened, record: opened(TEXT, hide=b"x"),
    lambda opened, record: clearhead.compare(opened, opened, texts="hello"),
    lambda opened, record: clearhead.compare(record, record, texts="hello"),
    lambda opened, record: clearhead.score(opened, "The cat sat.", 1),
    lambda opened, record: clearhead.score(opened, ["a cat sat"], "ab"),
    lambda opened, record: clearhead.score(opened, {"text": "a cat sat", "verb": "sat"}, 1),
    lambda opened, record: record.paths(record, "cat", "mat", reads="key"),
    lambda opened, record: record.why(1, 0, query="3", key=0),
    lambda opened, record: record.paths(record, "cat", "mat", receiver=(2, 0), reads=("keys",)),
    lambda opened, record: opened(TEXT, hide=torch.tensor([False, True])), lambda opened, record: opened(ids=[True]),
    lambda opened, record: opened.generate(TEXT, tokens=True),
    *(lambda opened, record, token=token: record.writes(token) for token in (
        None, True, np.True_, torch.tensor(True), 1.5, -1, 70, "4", ["cat"])),
    *(lambda opened, record, token=token: record.lens(token) for token in (None, 1.0, "3", -99)),
    *(lambda opened, record, token=token: opened(TEXT, hide=[token]) for token in (None, False, 2.0, "3", "absent")),
    *(lambda opened, record, image=image: opened(image=image) for image in ("absent.png", b"none", 3)),
    *(lambda opened, record, head=head: record.show(*head) for head in ((True, 0), (0, True), ("0", 0))),
    lambda opened, record: record.weights(True), lambda opened, record: record.figure(np.ones((2, 2), int)),
    *(lambda opened, record, given=given: record.figure((0, 0), **given) for given in (
        {"overlay": [(0, 9)]}, {"pair": [0]}, {"words": 1}, {"token": True}, {"order": ""}, {"query": 1, "token": 2})),
    *(lambda opened, record, end=end: record.figure((0, 0)).save(end, zoom=0) for end in ("no.docx", "no.png"))])
def test_missing_things_give_one_sentence(opened, record, wrong):
    with pytest.raises(clearhead.Error) as caught:
        wrong(opened, record)
    assert "\n" not in str(caught.value)


def test_a_token_has_the_same_names_everywhere(opened, record):
    place = record.tokens.index("cat")
    for name in ("cat", " cat", "cat#1", place, np.int64(place), place - len(record.tokens), f"@{place}"):
        assert set(record.frame(query=name).query_position) == {place}
        assert opened(TEXT, hide=[name]).data.query == opened(TEXT, hide="cat").data.query
        assert record.lens(name).ids == record.lens(place).ids
        assert record.why(2, 0, query="because", key=name).score == record.why(2, 0, query="because", key=place).score
    number = tiny.tokenizer().convert_tokens_to_ids("cat")
    for name in ("cat", " cat", number, np.int64(number), f"@{number}"):
        assert record.writes(name, "mat").difference == pytest.approx(
            record.logits[-1, number] - record.logits[-1, tiny.tokenizer().convert_tokens_to_ids("mat")], abs=1e-4)


def test_traceback_names_the_public_error_and_no_queue(record):
    with pytest.raises(clearhead.Error) as caught:
        record.writes("zebra")
    lines = traceback.format_exception(caught.value)
    assert lines[-1].startswith("clearhead.Error: 'zebra' is not") and not any("jobs.py" in line for line in lines)
    with pytest.raises(clearhead.NotOnDisk, match=r"run: python -m clearhead fetch gpt2$"):
        clearhead.open("gpt2")


def test_model_of_pictures_takes_a_path_bytes_or_an_image(tmp_path):
    opened = clearhead.open("marked-digit")
    file = tmp_path / "seen.png"
    Image.fromarray(np.arange(28 * 28, dtype=np.uint8).reshape(28, 28)).save(file)
    records = [opened(image=given) for given in (file, str(file), file.read_bytes(), Image.open(file))]
    assert all(record.verified and record.tokens[:2] == ("[CLS]", "0,0") for record in records)
    assert all(np.array_equal(record.weights(), records[0].weights()) for record in records)
    assert opened(image=file, silence=[(1, 0)]).data.query.edits


def test_several_maps_are_ambiguous_until_one_is_named(tmp_path):
    opened = clearhead.open(str(tiny.save(tmp_path / "t5", "t5")))
    record = opened(TEXT, target="a cat")
    assert record.maps == ("self", "causal", "cross")
    assert record._repr_html_().count("<iframe") == 3
    with pytest.raises(clearhead.Error, match="choose one with map="):
        record.weights()
    assert record.weights(map="cross").shape[2:] == (len(record.queries("cross")), len(record.keys("cross")))
    with pytest.raises(clearhead.Error, match="choose one with map="):
        opened(TEXT, target="a cat", silence=[(0, 0)])


def test_comparing_models_ranks_the_head_that_was_changed_first(folder, opened, tmp_path):
    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        network.model.layers[2].self_attn.q_proj.weight[8:16] *= -1   # head 1 of the last layer, and no other
    network.save_pretrained(tmp_path / "tuned")
    tiny.tokenizer().save_pretrained(tmp_path / "tuned")
    tuned = clearhead.open(str(tmp_path / "tuned"))
    for frame in (clearhead.compare(opened(TEXT), tuned(TEXT)).frame(),
                  clearhead.compare(opened, tuned, texts=[TEXT, "the animal was in garden"]).frame()):
        assert tuple(frame.iloc[0][["layer", "head"]]) == (2, 1)
        assert frame.iloc[1:].divergence.max() < 1e-6


def test_figures_have_the_requested_width_and_embed_fonts(record, tmp_path):
    path = record.figure([(0, 1), (2, 3)], width="two-column").save(tmp_path / "two.pdf")
    page = PdfReader(path).pages[0]
    assert float(page.mediabox.width) == pytest.approx(174 * 72 / 25.4, abs=0.1)
    assert str(tmp_path.parent) not in path.read_bytes().decode("latin-1")
    many = record.figure([(0, 1), (0, 2), (2, 3)], width="one-column").save(tmp_path / "many.pdf")
    assert float(PdfReader(many).pages[0].mediabox.width) == pytest.approx(84 * 72 / 25.4, abs=0.1)
    caption = record.figure((0, 1)).caption
    assert clearhead.__version__ in caption and TEXT in caption and "/tmp" not in caption
    assert record.figure((0, 1), width=60).save(tmp_path / "one.svg").stat().st_size > 1000


def test_record_is_one_line_and_a_grid_in_a_notebook(record):
    assert "\n" not in repr(record) and repr(record).endswith("verified>")
    assert record._repr_html_().startswith("<iframe")
    assert record.show(1, 2, query="it")._repr_html_().startswith("<iframe")
    for shown in (record, record.show(1, 2, query="it")):   # for viewers that run no scripts
        assert Image.open(io.BytesIO(DisplayFormatter().format(shown)[0]["image/png"])).width > 400


@pytest.mark.parametrize(("module", "asked", "extra"), [
    ("matplotlib", lambda record: record.figure((0, 1)).caption, "paper"),
    ("PIL", lambda _: clearhead.open("marked-digit")(image=b"\x89PNG"), "paper"),
    ("accelerate", lambda _: from_gguf(Path("mine.gguf"), Path("made")), "formats"),
    ("plotly", lambda _: start("app.py", []), "app")])
def test_missing_extra_is_named(record, module, asked, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(clearhead.Error, match=rf'This needs the package \w+, .* pip install "clearhead\[{extra}\]"\.'):
        asked(record)


def test_record_in_a_notebook_is_html_alone_where_it_cannot_be_drawn(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert [*DisplayFormatter().format(record)[0]] == ["text/plain", "text/html"]


def test_saved_record_keeps_its_edits_and_its_answer(opened, tmp_path):
    other = opened(TEXT.replace("cat", "mat"))
    edited = opened(TEXT, silence={(1, 2): "mean"}, patch=[((0, 1), other)], temper={(2, 0): 0.5}, hide=[1])
    found = clearhead.load(edited.save(tmp_path / "r.safetensors"))
    captions = [each.figure((0, 1)).caption for each in (edited, found)]
    assert captions[0] == captions[1].replace("recorded elsewhere with its verification", "verified")
    assert "set to its mean" in captions[1]
    assert found.prediction.probabilities == edited.prediction.probabilities
    assert all((found.output(*head) == edited.output(*head)).all() for head in [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(clearhead.Error):
        clearhead.open(tmp_path / "r.safetensors")


def test_look_gives_the_same_kind_of_record():
    attention = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0))
    found = clearhead.look(attention, (x, x, x), tokens=list("abcde"))
    with torch.inference_mode():
        _, weights = attention(x, x, x, average_attn_weights=False)
    np.testing.assert_allclose(found.weights(0), weights[0].numpy(), atol=1e-6)
    with pytest.raises(clearhead.Error, match="no logits"):
        _ = found.logits


def test_modules_of_a_visitor_keep_their_names(tmp_path):
    for name in ("model", "viz"):
        (tmp_path / f"{name}.py").write_text("OURS = True\n", encoding="utf-8")
    code = "import clearhead, model, viz; clearhead.Model, clearhead.look; print(model.OURS and viz.OURS)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8",
                          check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.strip() == "True", done.stderr


class Command(Server):
    """The server that the command `clearhead app` starts."""

    def start(self) -> Server:
        self.command = [sys.executable, "-m", "clearhead", "app", *self.command[5:]]
        return super().start()


@pytest.mark.rest
def test_ended_command_leaves_no_server(tmp_path):
    server = Command(ROOT / "app.py", tmp_path / "log").wait()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        urlopen(server.address, timeout=5)


def written_by(network, text, **options):
    """The ids of transformers' own greedy generation. transformers 5.23 has no cache for the tiny T5."""
    asked = tiny.tokenizer()(text, return_tensors="pt", return_token_type_ids=False)
    return tuple(network.generate(**asked, do_sample=False, max_new_tokens=7, use_cache=False,
                                  return_dict_in_generate=False, **options)[0].tolist())


@pytest.mark.parametrize("settings", [{"return_dict_in_generate": True}, {"repetition_penalty": 30.0},
                                      {"eos_token_id": [5, 9, 30]}])
@pytest.mark.parametrize("family", ["gpt2", "llama", "t5", "bart"])
def test_generation_is_transformers_own_and_its_record_the_pass_over_its_ids(family, settings, tmp_path):
    network = tiny.network(family)
    for name, setting in settings.items():
        setattr(network.generation_config, name, setting)
    network.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    opened = clearhead.open(str(tmp_path))
    record = opened.generate("a cat and the garden", tokens=7)
    ids = written_by(network, "a cat and the garden")
    both = family in ("t5", "bart")
    assert record.data.maps[-1].queries.ids == ids and record.verified and record.text == "a cat and the garden"
    said = tiny.tokenizer().decode(ids if both else ids[7:], skip_special_tokens=True)
    assert record.answer == (said or None)
    network.set_attn_implementation("eager")
    with torch.no_grad():
        made = network(torch.tensor([record.ids]), **({"decoder_input_ids": torch.tensor([ids])} if both else {}),
                       output_attentions=True, use_cache=False)
    for kind, name in zip(record.maps, ("encoder_attentions", "decoder_attentions", "cross_attentions") if both
                          else ("attentions",), strict=True):
        np.testing.assert_allclose(record.weights(map=kind), torch.stack(getattr(made, name))[:, 0], atol=1e-5)
    np.testing.assert_allclose(record.logits, made.logits[0], atol=1e-4)
    loaded = clearhead.load(record.save(tmp_path / "r.safetensors"))
    assert loaded.answer == record.answer and loaded.data.asked == record.data.query
    for written in (record, loaded):
        again = opened(record.text, target=written, temper={(0, 1): 2.0}, map=record.maps[-1])
        assert again.data.maps[-1].queries == record.data.maps[-1].queries and again.verified
    assert clearhead.open(network, tiny.tokenizer()).generate("a cat and the garden", tokens=7).data.maps[
        -1].queries.ids == ids


@pytest.mark.parametrize("family", ["llama", "bert", "t5"])
def test_ids_are_read_as_they_are(family, tmp_path):
    network, ids = tiny.network(family), [7, 2, 9, 30, 30, 4]
    opened = clearhead.open(str(tiny.save(tmp_path / family, family)))
    record = opened(ids=np.array(ids))
    network.set_attn_implementation("eager")
    with torch.no_grad():
        made = network(torch.tensor([ids]), output_attentions=True,
                       **({"decoder_input_ids": torch.tensor([[0]])} if family == "t5" else {}))
    attentions = made.encoder_attentions if family == "t5" else made.attentions
    first = record.maps[0]
    assert record.ids == tuple(ids) and record.text == tiny.tokenizer().decode(ids)
    np.testing.assert_allclose(record.weights(map=first), torch.stack(attentions)[:, 0], atol=1e-5)
    assert not opened(ids=ids, silence=[(1, 0)], map=first).output(1, 0, map=first).any()
    patched = opened(ids=ids, patch=[((1, 0), opened(ids=[*reversed(ids)]))], map=first)
    other = opened(ids=ids[::-1])
    np.testing.assert_allclose(patched.output(1, 0, map=first), other.output(1, 0, map=first), atol=1e-6)
    reasons = record.why(1, 0, query=1, key=0, map=first)
    assert reasons.total == pytest.approx(record.scores(1, 0, map=first)[1, 0], abs=1e-4)
    loaded = clearhead.load(record.save(tmp_path / "r.safetensors"))
    assert loaded.tokens == record.tokens and loaded.text == record.text and loaded.data.asked == record.data.query
    for wrong in ([], [-1], [70], [1.5], "cat", [[1]], None):
        with pytest.raises(clearhead.Error):
            opened(ids=wrong)


def test_chat_is_read_in_the_models_template(tmp_path):
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = ("{% for m in messages %}[MASK] {{ m.role }} {{ m.content }} [SEP]{% endfor %}"
                               "{% if add_generation_prompt %}[CLS]{% endif %}")
    said = [{"role": "animal", "content": "a cat"}, {"role": "garden", "content": "it was tired"}]
    opened = clearhead.open(tiny.network("llama"), tokenizer)
    record = opened.generate(chat=said, tokens=3)
    ids = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)
    assert opened(chat=said).ids == tuple(ids) == record.ids[:len(ids)] and len(record.ids) == len(ids) + 3
    for wrong in ([], "a cat", said[0], [{"role": "user"}], ["a cat"]):
        with pytest.raises(clearhead.Error, match="chat"):
            opened(chat=wrong)
    with pytest.raises(clearhead.Error, match="has no chat template"):
        clearhead.open(str(tiny.save(tmp_path / "llama", "llama")))(chat=said)


@pytest.mark.rest
def test_smollm2_writes_what_transformers_writes():
    from clearhead.model.pretrained import load

    folder = load.locate("smollm2").folder
    network, tokenizer = (kind.from_pretrained(folder) for kind in (transformers.AutoModelForCausalLM,
                                                                    transformers.AutoTokenizer))
    chat = [{"role": "user", "content": "Sag „Guten Tag“ 🤗 und 你好."}]
    text, template = "The capital of France is", tokenizer.apply_chat_template
    for given, asked in (({"chat": chat}, template(chat, add_generation_prompt=True, return_tensors="pt")),
                         ({"text": text}, tokenizer(text, return_tensors="pt"))):
        ids = network.eval().generate(**asked, do_sample=False, max_new_tokens=24)[0].tolist()
        record = clearhead.open("smollm2").generate(**given, tokens=24)
        assert record.ids == tuple(ids) and record.verified
        assert record.answer == tokenizer.decode(ids[asked["input_ids"].shape[1]:], skip_special_tokens=True)
