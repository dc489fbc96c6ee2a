"""Vision models: their input, their answers, and what they refuse."""
import json

import numpy as np
import pytest
import torch

from clearhead.model import sources
from clearhead.model.ask.desk import models
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core import heads, pictures
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.pretrained.vision.picture_model import open_processor, prepare
from tests.model import tiny_vision

TYPES = ("vit", "deit", "dino", "dinov2", "dinov2_registers", "beit", "clip_vision", "siglip_vision")
SPECIAL = {"deit": ("[CLS]", "[DIST]"), "dinov2_registers": ("[CLS]", "[REG0]", "[REG1]", "[REG2]"),
           "siglip_vision": ()}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(name):
        if name not in made:
            made[name] = tiny_vision.save(tmp_path_factory.mktemp("models") / name, name)
        return made[name]
    return folder


def record(folder, edits=(), key="cat", text=""):
    query = sources.open_query(str(folder), text, edits=edits, image=tiny_vision.shipped(key))
    return query.answer(models, quiet)


def eager(folder, name, key="cat"):
    """The weights (layer, head, query, key) that transformers itself reports for the processed picture."""
    network = tiny_vision.network(name)
    network.set_attn_implementation("eager")
    pixels = prepare(open_processor(folder), pictures.find(tiny_vision.shipped(key)).pixels()).pixels
    with torch.inference_mode():
        output = network(pixel_values=pixels, output_attentions=True)
    return np.concatenate([layer.numpy() for layer in output.attentions]), output


@pytest.mark.parametrize("name", TYPES)
def test_record_equals_eager_attention(name, folders):
    answer = record(folders(name))
    assert answer.verification.status == "verified" and answer.verification.max_error < 1e-5
    drawn, tokens = answer[Kind.SELF], answer[Kind.SELF].keys
    special = SPECIAL.get(name, ("[CLS]",))
    assert tokens.texts[:len(special) + 2] == (*special, "0,0", "0,1") and tokens.grid == (4, 4)
    assert tokens.special == (*[True] * len(special), *[False] * 16)
    ours = np.array([[heads.weights(layer, head) for head in range(4)] for layer in drawn.layers])
    wanted, _ = eager(folders(name), name)
    assert wanted.max() > 7 / wanted.shape[-1], "a softmax that is nearly uniform would prove little"
    np.testing.assert_allclose(ours, wanted, atol=1e-5)


def test_shown_picture_is_what_the_model_gets(folders):
    answer = record(folders("vit"))
    pixels = prepare(open_processor(folders("vit")), pictures.find(answer.query.image).pixels()).pixels[0].numpy()
    mean, deviation = (np.array(tiny_vision.PROCESSOR[name]).reshape(3, 1, 1) for name in ("image_mean", "image_std"))
    again = (answer.picture.transpose(2, 0, 1) / 255 - mean) / deviation
    np.testing.assert_allclose(again, pixels, atol=1e-5)
    assert answer.picture.shape == (32, 32, 3) and answer.picture.std() > 20


def test_classifier_names_its_classes(folders):
    answer = record(folders("vit"), key="coffee").prediction
    logits = eager(folders("vit"), "vit", "coffee")[1].logits[0]
    wanted = {tiny_vision.LABELS["id2label"][number]: float(share) for number, share in enumerate(logits.softmax(-1))}
    assert answer.kind == "label"
    assert dict(zip(answer.texts[0], answer.probabilities[0], strict=True)) == pytest.approx(wanted, abs=1e-5)


def test_model_without_head_answers_with_cls(folders):
    output = eager(folders("dinov2"), "dinov2")[1]
    answer = record(folders("dinov2"))
    np.testing.assert_allclose(answer.prediction.vector, output.last_hidden_state[0, 0].numpy(), atol=1e-5)
    np.testing.assert_allclose(answer.prediction.vectors, output.last_hidden_state[0].numpy(), atol=1e-5)
    assert answer.nbytes > answer.picture.nbytes + answer.prediction.vectors.nbytes


def test_windows_are_refused_by_name(folders):
    with pytest.raises(UserError, match=r"swin was refused because its picture cannot be trusted: it attends within 4 "
                                        r"windows of 16 tokens each, not over the whole input; "):
        record(folders("swin"))


PICTURE = np.random.default_rng(1).integers(0, 256, (60, 90, 3), np.uint8)


@pytest.mark.parametrize("changes", [{}, {"do_normalize": False}, {"do_center_crop": False},
                                     {"image_processor_type": "BitImageProcessor"},
                                     {"image_processor_type": "SiglipImageProcessor",
                                      "size": {"height": 24, "width": 40}, "do_center_crop": False},
                                     {"image_processor_type": "ViTImageProcessor",
                                      "size": {"height": 24, "width": 40}, "do_center_crop": False},
                                     {"image_processor_type": "BeitImageProcessor"}])
def test_shown_picture_has_the_network_numbers(changes, tmp_path):
    settings = tiny_vision.PROCESSOR | changes
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    processor = open_processor(tmp_path)
    pixels, shown = prepare(processor, PICTURE)
    assert shown.dtype == np.uint8 and shown.shape == (*pixels.shape[2:], 3)
    again = processor(images=shown, do_resize=False, do_center_crop=False, return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(again, pixels, atol=1e-5, rtol=0)


def test_unshowable_model_is_refused(tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(tiny_vision.PROCESSOR), encoding="utf-8")
    processor = open_processor(tmp_path)
    with pytest.raises(Unsupported, match="where \\(1, 3, height, width\\) was expected"):
        prepare(lambda images, return_tensors: {"pixel_values": torch.zeros(2, 3, 8, 8)}, PICTURE)

    class Faded:
        do_normalize, do_rescale, rescale_factor = False, True, 1 / 255

        def __call__(self, images, return_tensors):
            return {"pixel_values": 1.5 * processor(images=images, return_tensors="pt")["pixel_values"]}

    with pytest.raises(Unsupported, match="cannot be converted back to colours"):
        prepare(Faded(), PICTURE)
