"""Rows of a model that reads a text with a picture: how they divide, and that each patch is drawn where it lies."""
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from clearhead.model.core import heads, pictures
from clearhead.model.core.picture_rows import row_parts, visual_sinks
from clearhead.model.core.query import Box, Kind
from clearhead.model.core.view import View
from clearhead.viz.app.page import unknown_words
from clearhead.viz.components.from_record import image_of, patches_of, row_name, rows_over_picture
from tests import fabricate

MADE = fabricate.prompted()
CAUSAL = MADE[Kind.CAUSAL]
BLOCKS = range(1, 7)   # the tokens of the picture's 2 × 3 blocks


def test_parts_of_every_row_add_up_to_one():
    for record in (MADE, fabricate.prompted(sharp=3.0)):
        for layer, head, query in np.ndindex(2, 2, 15):
            parts = row_parts(record, record[Kind.CAUSAL], layer, head, query)
            assert sum(parts.values()) == pytest.approx(1, abs=1e-6)
    weights = heads.weights(CAUSAL.layer(1), 0)[14].astype(float)
    parts = row_parts(MADE, CAUSAL, 1, 0, 14)
    assert parts["unplaced"] == pytest.approx(weights[7]) and parts["template"] == pytest.approx(weights[0])
    assert parts["question"] == pytest.approx(weights[10:13].sum())
    assert parts["answer"] == pytest.approx(weights[13:].sum())


def test_visual_sink_is_found_and_can_be_left_out():
    sunk = fabricate.prompted(sharp=3.0)
    layer, view = sunk[Kind.CAUSAL].layer(0), View(kind=Kind.CAUSAL, token=12, lens="picture")
    assert not visual_sinks(CAUSAL, CAUSAL.layer(0), 1).any()
    assert np.flatnonzero(visual_sinks(sunk[Kind.CAUSAL], layer, 1)).tolist() == [3]
    shown, without = image_of(sunk, view), image_of(sunk, replace(view, hide_sinks=True))
    assert shown.values.numbers[3] > 0.5 and list(shown.outlined) == [3] and "its sinks" in shown.parts
    assert np.isnan(without.values.numbers[3]) and "left out: ▦₁ 0,2" in " ".join(without.notes)
    np.testing.assert_array_equal(np.delete(shown.values.numbers, 3), np.delete(without.values.numbers, 3))


def test_copies_of_a_narrow_picture_are_apart():
    copies = patches_of(replace(MADE, picture=np.zeros((400, 1, 3), np.uint8)), Kind.CAUSAL).picture
    assert copies.shape == (400, 1 + 11 + 1, 3), "11 pixels between two copies"


def test_only_words_that_somebody_typed_are_refused():
    lacking = lambda place: replace(CAUSAL.queries, unknown=tuple(each == place for each in range(15)))
    for place, words in ((11, [CAUSAL.queries.texts[11]]), (14, [])):
        tokens = lacking(place)
        assert unknown_words(replace(MADE, maps=(replace(CAUSAL, queries=tokens, keys=tokens),))) == words


def wrong_places(record) -> list[int]:
    """Return the blocks whose box in the displayed picture does not have the block's own colour."""
    patches = patches_of(record, Kind.CAUSAL)
    high, wide = patches.picture.shape[:2]
    found = []
    for token in BLOCKS:
        left, top, right, bottom = patches.boxes[token]
        seen = patches.picture[round(top * high):round(bottom * high), round(left * wide):round(right * wide)]
        row, column = divmod(token - 1, 3)
        if not seen.size or (seen != record.picture[20 * row, 20 * column]).any():
            found.append(token)
    return found


def test_patch_is_drawn_over_its_own_part_of_the_photograph():
    assert wrong_places(MADE) == []
    turned = [each and Box(each.top, each.left, each.bottom, each.right) for each in CAUSAL.keys.boxes]
    keys = replace(CAUSAL.keys, boxes=tuple(turned))
    assert len(wrong_places(replace(MADE, maps=(replace(CAUSAL, queries=keys, keys=keys),)))) >= 4


def test_layers_are_apart_and_what_is_not_seen_is_hatched():
    patches = patches_of(MADE, Kind.CAUSAL)
    high = patches.picture.shape[0]
    assert high > 80 and not patches.alone   # a copy below the other, because the picture is wide
    second = patches.picture[-40:]
    np.testing.assert_array_equal(second[:, :20], MADE.picture[:, :20])
    assert (second[:, 20:] != MADE.picture[:, 20:]).mean() > 0.9
    assert patches.boxes[8][1] == pytest.approx(1 - 40 / high) and patches.boxes[9][3] == pytest.approx(1)


def test_thumbnail_has_each_patch_at_its_place():
    view = View(kind=Kind.CAUSAL, token=12)
    overview, behind = rows_over_picture(MADE, view, 0.8)
    patches, shares = patches_of(MADE, Kind.CAUSAL), image_of(MADE, replace(view, layer=1)).values.shares
    cells = overview.cells[1][0]
    for token in CAUSAL.keys.patches:
        left, top, right, bottom = patches.boxes[token] / np.tile(behind.covered, 2)
        middle = int((top + bottom) / 2 * cells.shape[0]), int((left + right) / 2 * cells.shape[1])
        assert cells[middle] == round(255 * float(shares[token]))


def test_word_of_an_answer_is_the_row_that_writes_it():
    assert [row_name(MADE, CAUSAL, token) for token in (11, 12, 13, 14)] == [
        "at", "“?” (which writes “cat”)", "“cat” (which writes “</s>”)", "</s>"]


def test_hidden_region_changes_only_its_own_pixels():
    file = io.BytesIO()
    Image.fromarray(MADE.picture).save(file, "PNG")
    picture, block = pictures.keep(file.getvalue(), "a.png"), Box(1 / 3, 0, 2 / 3, 0.5)
    for margin, area in ((0, np.s_[:20, 20:40]), (0.5, np.s_[:30, 10:50])):
        expected = MADE.picture.copy()
        expected[area] = round(MADE.picture.mean())
        edited = pictures.keep(pictures.greyed(picture, [block], margin), "b.png")
        np.testing.assert_array_equal(edited.pixels(), expected)
