"""CLIP and SigLIP: a tower for pictures, one for texts, and the comparison by the whole model."""
import dataclasses
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
import torch

from clearhead.model import sources
from clearhead.model.ask.desk import models
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core import pictures
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.pretrained.vision.picture_model import open_processor, prepare
from tests.model import tiny, tiny_vision

TEXTS = "the cat sat on the mat\nthe street was wide"


@pytest.fixture(scope="module", params=["clip", "siglip"])
def folder(request, tmp_path_factory):
    return tiny_vision.save(tmp_path_factory.mktemp("towers") / request.param, request.param)


def ask(folder, text="", image="cat", edits=()):
    image = image and tiny_vision.shipped(image)
    return sources.open_query(str(folder), text, image=image, edits=edits).answer(models, quiet)


def test_comparison_equals_the_whole_models(folder):
    answer = ask(folder, TEXTS)
    network = tiny_vision.network(folder.name)
    pixels = prepare(open_processor(folder), pictures.find(answer.query.image).pixels()).pixels
    padding = {"padding": "max_length", "max_length": 20} if folder.name == "siglip" else {"padding": True}
    words = tiny.tokenizer()(TEXTS.splitlines(), **padding, return_tensors="pt")
    names = ("input_ids",) if folder.name == "siglip" else ("input_ids", "attention_mask")
    with torch.inference_mode():
        logits = network(pixel_values=pixels, **{name: words[name] for name in names}).logits_per_image[0]
    shares = logits.sigmoid() if folder.name == "siglip" else logits.softmax(-1)
    wanted = dict(zip(TEXTS.splitlines(), shares.tolist(), strict=True))
    said = answer.prediction
    assert said.kind == "label" and said.probabilities[0] == tuple(sorted(said.probabilities[0], reverse=True))
    assert dict(zip(said.texts[0], said.probabilities[0], strict=True)) == pytest.approx(wanted, abs=1e-5)
    assert answer.verification.status == "verified" and answer[Kind.SELF].keys.grid == (4, 4)


def test_text_alone_goes_to_the_text_tower(folder):
    answer = ask(folder, "the cat sat", image=None)
    kind = Kind.SELF if folder.name == "siglip" else Kind.CAUSAL
    assert answer.kinds == (kind,) and answer[kind].keys.texts == ("[CLS]", "the", "cat", "sat", "[SEP]")
    assert answer.picture is None and answer.verification.status == "verified"


def test_wrong_comparison_is_refused(folder):
    with pytest.raises(UserError, match="at most 20 texts, one per line, but there are 21"):
        ask(folder, "\n".join(f"cat {number}" for number in range(21)))
    opened = models.open(ask(folder).query, quiet)
    network = tiny_vision.network(folder.name, seed=4)
    other = dataclasses.replace(opened.picture.comparison, network=network, lent=partial(nullcontext, network))
    pixels = prepare(opened.picture.processor, np.zeros((40, 40, 3), np.uint8)).pixels
    other.check(pixels)   # a model agrees with itself
    planted = lambda module, arguments, output: type(output)(logits_per_image=1.1 * output.logits_per_image)
    other.network.register_forward_hook(planted)
    with pytest.raises(Unsupported, match="its comparison of pictures and texts differs by"):
        other.check(pixels)
