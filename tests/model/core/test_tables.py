"""Frames of heads, and their CSV against Python's own writer."""
import csv
import io
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.core.heads import as_csv, by_head, head_frame

HEADS = [(0, 0), (0, 1), (3, 0), (3, 1)]


@given(st.lists(st.floats(), min_size=4, max_size=4), st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_the_file_is_the_one_that_pythons_writer_makes(numbers, provenance):
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["layer", "head", "number", "provenance"])
    for place, ((layer, head), number) in enumerate(zip(HEADS, numbers, strict=True)):
        writer.writerow([layer, head, "" if math.isnan(number) else repr(number),
                         "" if place else provenance.replace(";", "\\u003b")])
    assert as_csv(head_frame(HEADS, {"number": np.array(numbers)}), provenance) == text.getvalue()


def test_of_equal_numbers_the_models_order_is_kept_and_what_is_missing_is_left_out():
    numbers = np.array([1.0, 2.0, np.nan, 2.0])
    frame = head_frame(HEADS, {"number": numbers})
    assert by_head(HEADS, numbers) == {(0, 0): 1.0, (0, 1): 2.0, (3, 1): 2.0}
    assert all(type(number) is int for head in frame.index for number in head)   # as links and messages hold them
