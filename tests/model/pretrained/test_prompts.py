"""Vision–language models: one record over picture, text and answer, and where each image token lies in the picture."""
import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.utils import logging

import clearhead
from clearhead.model.core.query import Box, Kind, UserError
from clearhead.model.core.view import View
from clearhead.model.pretrained.vision import places
from clearhead.model.studies.attribution import AttributionQuery
from clearhead.record import ask
from clearhead.viz.components.from_record import image_of
from tests.model.tiny_prompted import TYPES, made, save

HIGH, WIDE = 48, 80
PICTURE = np.random.default_rng(0).integers(0, 256, (HIGH, WIDE, 3), np.uint8)
TEXT = "What is in the cat?"
QUICK = ("llava_next", "qwen2_5_vl", "mllama")
# how many image tokens lie in the picture
PLACED = {"llava": 16, "vipllava": 16, "llava_next": 48, "llava_onevision": 48, "qwen2_vl": 15, "qwen2_5_vl": 15,
          "qwen3_vl": 15, "gemma3": 4, "paligemma": 16, "internvl": 12, "idefics3": 20, "smolvlm": 20, "pixtral": 40,
          "mistral3": 12, "aya_vision": 12, "got_ocr2": 12, "janus": 16, "cohere2_vision": 12, "glm4v": 8, "ovis2": 20,
          "deepseek_vl": 16, "mllama": 40, "fuyu": 24}
# each token is a mix of the whole picture: resamplers, vocabularies of pictures, and wide convolutions
NOWHERE = ("florence2", "blip2", "instructblip", "kosmos2", "aria", "idefics2", "chameleon")
SWEPT = [pytest.param(name, marks=() if name in QUICK else pytest.mark.rest) for name in (*PLACED, *NOWHERE)]
NEWLINES = ("llava_next", "llava_onevision")   # one learned vector behind each row of patches, which is no patch


@pytest.fixture(autouse=True)
def _quiet():
    logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def opened(name):
    """Return a small model of a type, opened with its processor."""
    network, processor = made(name)
    return clearhead.open(network, processor), network, processor


def embeddings(model, picture):
    """Return what the language model reads of a picture, with all attention of the network on: (token, d)."""
    part = getattr(model.opened, "picture", model.opened)
    tensors = part.reader.tensors(picture, TEXT)
    with torch.no_grad():
        return places.embeddings(part.network, lambda: part.network(**tensors), tensors["input_ids"].shape[1])[0]


def misplaced(model, boxes):
    """Return the share of the boxes that are not their token's: if the middle of a box is painted in the photograph,
    its token must change most of those with boxes about as large."""
    plain, wrong = embeddings(model, PICTURE), 0
    area = lambda box: (box.right - box.left) * (box.bottom - box.top)
    placed = [token for token, box in enumerate(boxes) if box is not None]
    for token in placed:
        box, painted = boxes[token], PICTURE.copy()
        across, down = (np.linspace(start, end, 5)[[1, 3]] for start, end in (box[::2], box[1::2]))
        inside = (slice(int(down[0] * HIGH), math.ceil(down[1] * HIGH)), slice(int(across[0] * WIDE),
                                                                                math.ceil(across[1] * WIDE)))
        painted[inside] = 255 - painted[inside]
        alike = [each for each in placed if 0.6 < area(boxes[each]) / area(box) < 1.7]
        change = (embeddings(model, painted) - plain).norm(dim=-1) / plain.norm(dim=-1)
        wrong += alike[int(change[alike].argmax())] != token
    return wrong / len(placed)


@pytest.mark.parametrize("name", SWEPT)
def test_picture_text_and_answer_are_one_verified_record(name):
    model, network, _ = opened(name)
    asked, written = model(TEXT, image=Image.fromarray(PICTURE)), model.generate(
        TEXT, image=Image.fromarray(PICTURE), tokens=3)
    assert asked.verified and written.verified, written.verification
    side, keys = asked.data.maps[0].queries, asked.keys(asked.maps[-1])
    assert len(asked.tokens) == len(asked.ids) and len(asked.boxes) == len(keys)
    typed = [place for place, segment in enumerate(side.segments) if segment == 0]
    assert [side.spans[place] for place in typed] == [(place, place + 1) for place in range(len(TEXT))]
    if not network.config.is_encoder_decoder:
        assert written.ids[:len(asked.ids)] == asked.ids and 1 <= len(written.ids) - len(asked.ids) <= 3
        assert written.tokens[:len(asked.tokens)] == asked.tokens
    boxes = [box for box in asked.boxes if box is not None]
    assert len(boxes) == PLACED.get(name, 0)
    named = [text for text in keys if text.startswith("▦")]
    assert len(named) >= len(boxes) and (len({*named}) == len(named) or name == "got_ocr2")   # its patches overlap
    assert all(text.startswith("▦") for text, box in zip(keys, asked.boxes, strict=True) if box)
    said = " ".join(asked.data.notes)
    assert bool(said) == (name in (*NOWHERE, *NEWLINES, "got_ocr2", "mllama"))


@pytest.mark.parametrize("name", [each for each in SWEPT if each.values[0] in PLACED and each.values[0] != "got_ocr2"])
def test_boxes_are_those_of_their_tokens(name):
    model, *_ = opened(name)
    assert misplaced(model, model(TEXT, image=Image.fromarray(PICTURE)).boxes) <= 0.1


def _grid(rows, columns, left=0., top=0., right=1., bottom=1.):
    """Return boxes row by row that fill a rectangle."""
    x, y = np.linspace(left, right, columns + 1), np.linspace(top, bottom, rows + 1)
    return [Box(x[column], y[row], x[column + 1], y[row + 1]) for row in range(rows) for column in range(columns)]


def _llava_next():
    # the crop of the whole picture from its middle; then 64 × 64 pixels with a margin above and below, of whose eight
    # rows of patches the four in the middle stay
    margin, side = (1 - HIGH / WIDE) / 2, HIGH / WIDE
    rows = [(row / 8 - margin) / side for row in range(2, 7)]
    tiles = [Box(column / 8, max(top, 0), (column + 1) / 8, min(bottom, 1))
             for top, bottom in itertools.pairwise(rows) for column in range(8)]
    return _grid(4, 4) + tiles


def _qwen2_5_vl():
    return _grid(3, 5)


def _internvl():
    return _grid(2, 2, right=0.5) + _grid(2, 2, left=0.5) + _grid(2, 2)


def _idefics3():
    quarters = [(0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5)]
    return [box for left, top in quarters for box in _grid(2, 2, left, top, left + 0.5, top + 0.5)] + _grid(2, 2)


LAYOUTS = {"llava_next": _llava_next, "qwen2_5_vl": _qwen2_5_vl, "internvl": _internvl, "idefics3": _idefics3}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_is_the_one_written_by_hand(name):
    model, *_ = opened(name)
    found = [box for box in model(TEXT, image=Image.fromarray(PICTURE)).boxes if box is not None]
    expected = LAYOUTS[name]()
    assert len(found) == len(expected)
    assert np.abs(np.array(found) - np.array(expected)).max() < 0.02


def _swapped(boxes):
    return [box and Box(box.top, box.left, box.bottom, box.right) for box in boxes]


def _in_windows(boxes):
    """Give the tokens of Qwen2.5-VL, 3 × 5, the boxes in the order of its windows of 2 × 2."""
    own = [place for place, box in enumerate(boxes) if box is not None]
    order = sorted(range(15), key=lambda token: (token // 5 // 2, token % 5 // 2, token // 5 % 2, token % 5 % 2))
    made_of = dict(zip(own, (boxes[own[token]] for token in order), strict=True))
    return [made_of.get(place) for place in range(len(boxes))]


def _newlines_counted(boxes):
    """Give the newline behind each row of LLaVA-NeXT the next patch's box."""
    own = [box for box in boxes if box is not None]
    first = next(place for place, box in enumerate(boxes) if box is not None)
    return [None] * first + own + [None] * (len(boxes) - first - len(own))


def _thumbnail_first(boxes):
    """Take the thumbnail behind InternVL's tiles for the one before LLaVA-NeXT's."""
    own = [box for box in boxes if box is not None]
    parts = iter(own[-4:] + own[:-4])
    return [box and next(parts) for box in boxes]


def _letterbox_counted(boxes):
    """Take the margins of LLaVA-NeXT's square for parts of the picture."""
    side = HIGH / WIDE
    down = lambda y: (1 - side) / 2 + y * side
    return [box and (Box(box.left, down(box.top), box.right, down(box.bottom)) if box.right - box.left < 0.2 else box)
            for box in boxes]


@pytest.mark.parametrize(("name", "fault"), [
    ("internvl", _thumbnail_first), ("llava_next", _newlines_counted), *(pytest.param(*case, marks=pytest.mark.rest)
    for case in (("qwen2_5_vl", _swapped), ("qwen2_5_vl", _in_windows), ("llava_next", _letterbox_counted)))])
def test_planted_faults_are_caught(name, fault):
    model, *_ = opened(name)
    boxes = model(TEXT, image=Image.fromarray(PICTURE)).boxes
    assert misplaced(model, boxes) <= 0.1 < 0.2 < misplaced(model, fault(boxes))


def test_folder_opens_with_its_processor_and_reads_messages(tmp_path):
    folder = save(tmp_path / "llava", "llava")
    model = clearhead.open(folder)
    written = model.generate(TEXT, image=Image.fromarray(PICTURE), tokens=2)
    assert written.verified and written.weights(1, 2).shape == (len(written.tokens),) * 2
    with pytest.raises(UserError, match="no chat template"):
        model(chat=[{"role": "user", "content": TEXT}], image=Image.fromarray(PICTURE))
    alone = model(TEXT)
    assert alone.verification.status == "reported" and "its language model alone" in alone.verification.reasons[0]
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }} {% for c in m.content %}{% if c.type == 'image' %}<image>"
        "{% else %}{{ c.text }}{% endif %}{% endfor %}<|im_end|>{% endfor %}", encoding="utf-8")
    asked = clearhead.open(folder)(chat=[{"role": "user", "content": TEXT}], image=Image.fromarray(PICTURE))
    assert asked.tokens[0] == asked.tokens[-1].replace("end", "start") == "<|im_start|>"
    assert sum(box is not None for box in asked.boxes) == 16


def test_edits_read_the_same_tokens_again():
    model, *_ = opened("llava")
    written = model.generate(TEXT, image=Image.fromarray(PICTURE), tokens=3)
    again = model(ids=written.ids, image=Image.fromarray(PICTURE))
    assert again.tokens == written.tokens and again.boxes == written.boxes
    assert np.array_equal(again.weights(), written.weights())
    silenced = model(ids=written.ids, image=Image.fromarray(PICTURE), silence=[(0, 1)])
    assert silenced.verified and not silenced.output(0, 1).any()
    with pytest.raises(UserError, match="place of the picture"):
        model(ids=written.ids[5:], image=Image.fromarray(PICTURE))


def test_gated_cross_attention_reads_the_picture():
    model, network, _ = opened("mllama")
    asked = {"image": Image.fromarray(PICTURE), "map": "cross"}
    written = model.generate(TEXT, image=asked["image"], tokens=3)
    assert written.maps == ("causal", "cross") and written.weights(1, 2, map="cross").shape == (len(written.tokens), 68)
    gate = abs(float(network.model.language_model.layers[1].cross_attn_attn_gate.tanh()))
    assert written.gate(1, 2, map="cross") == pytest.approx(gate)
    assert [(each.index, each.kind, each.heads) for each in written.layers if each.map == "cross"] == [
        (0, "self-attention", 0), (1, "attention", 4), (2, "self-attention", 0)]
    silenced = model(ids=written.ids, silence=[(1, 2)], **asked)
    assert silenced.verified and not silenced.output(1, 2, map="cross").any()
    other = model(ids=written.ids, image=Image.fromarray(255 - PICTURE))
    assert model(ids=written.ids, patch=[((1, 2), other)], **asked).verified
    parts = written.writes(written.ids[-1], position=-2)
    assert parts.total == pytest.approx(parts.difference, abs=1e-4)
    assert {(row.map, row.layer) for row in parts.frame().itertuples()} == {("causal", 0), ("cross", 1), ("causal", 2)}
    drawn = image_of(written.data, View(Kind.CROSS, 1, 2, token=5))
    assert drawn.focus == 68 and drawn.patches.texts[:68] == written.keys("cross")
    with pytest.raises(UserError, match="cannot be explained by removing tokens"):
        ask(AttributionQuery(written.data.query))


def test_a_picture_is_measured_once(monkeypatch):
    model, *_ = opened("llava")
    model(TEXT, image=Image.fromarray(PICTURE))
    monkeypatch.setattr("clearhead.model.pretrained.vision.prompt_model.measure", None)
    assert any(model("Which?", image=Image.fromarray(255 - PICTURE)).boxes)


def test_too_long_a_measurement_is_not_made(monkeypatch):
    monkeypatch.setattr("clearhead.model.pretrained.vision.places.LONGEST", 0)
    model, *_ = opened("llava")
    asked = model(TEXT, image=Image.fromarray(PICTURE))
    assert asked.verified and not any(asked.boxes) and "it would take" in asked.data.notes[0]


def test_every_type_has_its_expectation():
    assert {*PLACED, *NOWHERE} == {*TYPES} and len(TYPES) >= 25


def test_messages_with_a_picture_need_no_reading_of_texts_alone():
    asked = {"chat": [{"role": "user", "content": TEXT}], "image": Image.fromarray(PICTURE)}
    network, processor = made("paligemma")
    processor.chat_template = processor.tokenizer.chat_template = "{{ messages[0].content[1].text }}"
    assert clearhead.open(network, processor)(**asked).verified


@pytest.mark.rest
def test_pictures_that_cannot_be_shown_leave_the_text():
    network, processor = made("llava")
    processor.patch_size = 4   # it counts four times as many patches as the network makes
    model = clearhead.open(network, processor)
    assert "its pictures are not read" in " ".join(model(TEXT).verification.reasons)
    with pytest.raises(UserError, match="text only: its pictures are not read"):
        model(TEXT, image=Image.fromarray(PICTURE))
