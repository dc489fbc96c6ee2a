"""Every type of vision Transformer with random weights: verified, and equal to its own eager attention."""
import json
import shutil

import numpy as np
import pytest

from model.ask import sources
from model.ask.sources import models
from model.core import heads, pictures
from model.core.query import Hide, Kind, Silence, Temper, UserError, quiet
from model.pretrained.vision.picture_model import open_processor, prepare
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


def asked(folder, edits=(), key="cat", text=""):
    return sources.open_query(str(folder), text, edits=edits, image=tiny_vision.shipped(key))


def record(folder, edits=(), key="cat", text=""):
    return asked(folder, edits, key, text).answer(models, quiet)


def eager(folder, name, key="cat"):
    """The weights (layer, head, query, key) that transformers itself reports for the processed picture."""
    import torch

    network = tiny_vision.network(name)
    network.set_attn_implementation("eager")
    pixels = prepare(open_processor(folder), pictures.find(tiny_vision.shipped(key)).pixels()).pixels
    with torch.inference_mode():
        output = network(pixel_values=pixels, output_attentions=True)
    return np.concatenate([layer.numpy() for layer in output.attentions]), output


@pytest.mark.parametrize("name", TYPES)
def test_the_record_has_the_models_own_eager_weights_and_its_patches_in_place(name, folders):
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


def test_what_is_shown_is_what_the_model_gets(folders):
    answer = record(folders("vit"))
    pixels = prepare(open_processor(folders("vit")), pictures.find(answer.query.image).pixels()).pixels[0].numpy()
    mean, deviation = (np.array(tiny_vision.PROCESSOR[name]).reshape(3, 1, 1) for name in ("image_mean", "image_std"))
    again = (answer.picture.transpose(2, 0, 1) / 255 - mean) / deviation
    np.testing.assert_allclose(again, pixels, atol=1e-5)
    assert answer.picture.shape == (32, 32, 3) and answer.picture.std() > 20


def test_a_classifier_names_its_classes_and_their_probabilities_are_its_own(folders):
    answer = record(folders("vit"), key="coffee").prediction
    logits = eager(folders("vit"), "vit", "coffee")[1].logits[0]
    wanted = {tiny_vision.LABELS["id2label"][number]: float(share)
              for number, share in enumerate(logits.softmax(-1))}
    assert answer.kind == "label"
    assert dict(zip(answer.texts[0], answer.probabilities[0], strict=True)) == pytest.approx(wanted, abs=1e-5)


def test_a_model_without_a_head_answers_with_its_cls_vector(folders):
    output = eager(folders("dinov2"), "dinov2")[1]
    answer = record(folders("dinov2"))
    np.testing.assert_allclose(answer.prediction.vector, output.last_hidden_state[0, 0].numpy(), atol=1e-5)
    np.testing.assert_allclose(answer.prediction.vectors, output.last_hidden_state[0].numpy(), atol=1e-5)
    assert answer.nbytes > answer.picture.nbytes + answer.prediction.vectors.nbytes


def test_edits_work_on_patches(folders):
    plain = record(folders("dinov2"))
    patch = plain[Kind.SELF].keys.patch_at(1, 2)
    hidden = record(folders("dinov2"), [Hide("source", patch)])
    assert all(heads.weights(layer, head)[:, patch].max() == 0
               for layer in hidden[Kind.SELF].layers for head in range(4))
    assert heads.weights(plain[Kind.SELF].layers[0], 0)[:, patch].max() > 0
    silent = record(folders("dinov2"), [Silence(Kind.SELF, 0, 1)])
    assert np.array_equal(silent[Kind.SELF].layers[0].query, plain[Kind.SELF].layers[0].query)
    assert np.abs(silent[Kind.SELF].layers[1].query - plain[Kind.SELF].layers[1].query).max() > 1e-3
    warm = record(folders("dinov2"), [Temper(Kind.SELF, 1, 0, 4.0)])
    entropy = lambda weights: -(weights * np.log(np.maximum(weights, 1e-30))).sum(-1).mean()
    assert entropy(heads.weights(warm[Kind.SELF].layers[1], 0)) > entropy(heads.weights(plain[Kind.SELF].layers[1], 0))
    assert {answer.verification.status for answer in (hidden, silent, warm)} == {"verified"}


def test_windows_are_refused_by_name(folders):
    with pytest.raises(UserError, match=r"swin was refused because its picture cannot be trusted: it attends within 4 "
                                        r"windows of 16 tokens each, not over the whole input; choose another"):
        record(folders("swin"))


def test_a_folder_without_a_processor_or_with_a_damaged_one_is_refused_by_its_file(folders, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folders("vit"), copy)
    (copy / "preprocessor_config.json").unlink()
    with pytest.raises(UserError, match=r"has no preprocessor_config\.json, which says how a picture is resized"):
        record(copy)
    (copy / "preprocessor_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"preprocessor_config\.json cannot be used as an image processor"):
        record(copy)


def test_a_processor_that_makes_pictures_of_another_size_is_named(folders, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folders("vit"), copy)
    larger = tiny_vision.PROCESSOR | {"size": {"shortest_edge": 48}, "crop_size": {"height": 48, "width": 40}}
    (copy / "preprocessor_config.json").write_text(json.dumps(larger), encoding="utf-8")
    with pytest.raises(UserError, match=r"from its own processor \(.*48.*correct the sizes in its preprocessor"):
        record(copy)
