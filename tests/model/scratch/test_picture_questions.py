"""Our vision–language model: ground truth by hand, the record against torch's own attention, places in the picture, and
what the shipped weights answer."""
import random

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import multi_head_attention_forward

import clearhead
from clearhead.model.core.query import Box, UserError
from clearhead.model.lessons import picture_answers
from clearhead.model.lessons.picture_answers import MODEL, SIDES
from clearhead.model.scratch import questions
from clearhead.model.scratch.canvas import digits
from clearhead.model.scratch.questions import ASKED, Asked, Scene
from clearhead.model.scratch.task import correct_rows
from clearhead.model.scratch.tasks import picture_questions
from clearhead.model.scratch.transformer import Transformer

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def model():
    return clearhead.open(MODEL)


def picture(scene: Scene) -> Image.Image:
    return Image.fromarray(scene.pixels())


def test_answers_by_hand():
    """A 3 in the upper left corner, an 8 on its right, a 6 below the 8, and a 1 in the lower right corner."""
    known = digits("test")
    cells = {0: 3, 1: 8, 5: 6, 15: 1}
    scene = Scene("test", tuple(cells), tuple(int(known.of(label)[0]) for label in cells.values()), (0,) * 4)
    assert scene.labels == cells
    assert [scene.neighbours(side) for side in SIDES] == [{1: 0}, {0: 1}, {5: 1}, {1: 5}]
    given = [("left", 1, 0, "3"), ("below", 1, 5, "6"), ("where", 0, -1, "top left"), ("where", 15, -1,
             "bottom right"), ("even", -1, -1, "2"), ("largest", -1, 1, "8"), ("smallest", -1, 15, "1")]
    assert [Asked(scene, kind, cell, found).answer for kind, cell, found, _ in given] == [row[-1] for row in given]
    assert Asked(scene, "left", 1, 0).question == "Which digit is left of the 8?"
    pixels = scene.pixels()
    assert pixels.shape == (32, 32) and (pixels[:8, 16:] == 255).all() and pixels[:8, :8].min() < 30


def test_splits_share_no_cells():
    cells = {split: {questions.draw_scene(random.Random(seed), split).cells for seed in range(400)} for split in SPLITS}
    assert not cells["train"] & cells["test"] and not cells["train"] & cells["validation"]
    assert not cells["test"] & cells["validation"] and min(map(len, cells["test"])) == 3


def test_questions_in_one_row_do_not_see_one_another():
    torch.manual_seed(1)
    network = Transformer(picture_questions.CONFIG).eval()
    asked = questions.several(random.Random(1), 3)
    with torch.inference_mode():
        together, place = network(*picture_questions.batch([asked]).inputs)[0], len(questions.BEFORE)
        for each in asked:
            ids, pixels, _ = picture_questions.batch([[each]]).inputs
            alone = network(ids, pixels)[0, len(questions.BEFORE):]
            torch.testing.assert_close(together[place:place + len(alone)], alone)
            place += len(alone)


def test_record_equals_torch_attention(model):
    asked = picture_answers.question(0, "left")
    record, network = model.generate(asked.question, image=picture(asked.scene)), model.opened.network
    assert record.verified and record.answer == asked.answer and record.tokens[:2] == ("[BOS]", "▦ 0,0")
    ink = torch.from_numpy(1 - asked.scene.pixels() / 255).float()[None]
    with torch.inference_mode():
        patches = network.tower.projector(network.tower(ink))[0]
        x = network.embedding.table.weight[list(record.ids)] * 8   # √d_model
        x[1:17] = patches
        x = (x + network.embedding.positions.table[:len(x)])[:, None]
        hidden = ~torch.ones(len(x), len(x), dtype=torch.bool).tril()
        for number, layer in enumerate(network.decoder.layers):
            own, read = layer.attention, layer.after_attention.norm(x)
            maps = (own.w_query, own.w_key, own.w_value)
            made, weights = multi_head_attention_forward(
                read, read, read, 64, 2, torch.cat([each.weight for each in maps]),
                torch.cat([each.bias for each in maps]), None, None, False, 0, own.w_output.weight, own.w_output.bias,
                training=False, attn_mask=hidden, average_attn_weights=False)
            for head in range(2):
                np.testing.assert_allclose(record.weights(number, head), weights[0, head], atol=1e-5)
            x = x + made
            x = x + layer.feed_forward(layer.after_feed_forward.norm(x))
        said = network.output(network.decoder.norm(x))[:, 0].argmax(-1)
    assert tuple(said[-3:-1].tolist()) == record.ids[-2:]   # the answer and its end


def test_boxes_are_those_of_the_patches(model):
    """A picture of 120 × 80 pixels is squeezed, so that a patch stands for 30 × 20 of them."""
    noise = np.random.default_rng(0).integers(0, 256, (80, 120, 3), np.uint8)
    record = model("How many are even?", image=Image.fromarray(noise))
    boxes = [Box(column / 4, row / 4, (column + 1) / 4, (row + 1) / 4) for row in range(4) for column in range(4)]
    assert list(record.boxes) == [None, *boxes, *[None] * 4] and "32 × 32" in record.data.notes[0]
    assert record.data.picture.shape == (80, 120, 3)
    read = lambda pixels: model.opened.tokens(model(
        "How many are even?", image=Image.fromarray(pixels)).data.query).tensors["pixel_values"][0].numpy()
    for token, rows, columns in ((1, (0, 20), (0, 30)), (7, (20, 40), (60, 90)), (16, (60, 80), (90, 120))):
        painted = noise.copy()
        painted[slice(*rows), slice(*columns)] = 0
        moved = (read(painted) != read(noise)).reshape(4, 8, 4, 8).any((1, 3))
        assert np.flatnonzero(moved).tolist() == [token - 1]


def test_ids_repeat_a_record_and_need_the_picture(model):
    asked = picture_answers.question(1, "above")
    written = model.generate(asked.question, image=picture(asked.scene))
    again = model(ids=written.ids, image=picture(asked.scene))
    np.testing.assert_array_equal(again.weights(1, 1), written.weights(1, 1))
    with pytest.raises(UserError, match="place of the picture"):
        model(ids=written.ids[5:], image=picture(asked.scene))
    with pytest.raises(UserError, match="reads a picture"):
        model(asked.question)


@pytest.mark.parametrize("kind", ASKED)
def test_held_out_questions_are_answered(model, kind):
    rng = random.Random(f"fresh {kind}")
    asked = [questions.draw(rng, "test", kind) for _ in range(200)]
    right = correct_rows(model.opened.network, picture_questions.batch([each] for each in asked)).float().mean()
    assert right >= 0.9 and picture_questions.without_picture(kind, 4_000) < 0.6


def test_hiding_the_named_digit_or_the_answer_changes_what_is_said(model):
    rng, changed = random.Random("hidden"), []
    for side in SIDES * 8:
        asked = questions.draw(rng, "test", side)
        said = [model(asked.question, image=picture(asked.scene), hide=hidden).prediction.texts[-1][0] for hidden in (
            (), *((1 + cell,) for cell in (asked.cell, asked.found, asked.other)))]
        changed.append([each != said[0] for each in said[1:]])
    named, answer, other = np.mean(changed, 0)
    assert named >= 0.4 and answer >= 0.8 and other <= 0.2
