"""A covered head shows no number, and marks are scored as the server scores them."""
import pytest


def test_a_covered_head_has_no_number_in_it_and_loses_none(run_module):
    found = run_module("head_view/offline_prediction.js", """({ covered }) => {
        const body = { weights: { values: Uint16Array.of(9, 65535), shape: [1, 1, 2] }, height: 3 };
        const hidden = covered(body);
        return [[...hidden.weights.values], hidden.weights.shape, hidden.height, [...body.weights.values]];
    }""")
    assert found == [[0, 0], [1, 1, 2], 3, [9, 65535]]


@pytest.mark.parametrize("scores, marks, found", [
    (None, [[0, 1]], [0, 1, 1 / 3]),                       # the row's one weight stands in its first column
    (None, [[0, 0], [0, 1]], [1, 1, 2 / 3]),
    (None, [[0, 0], [1, 0]], [0.5, 1, 1 / 3]),             # means over two rows
    ([0, 0, 65535, 0, 0, 0], [[0, 1]], [0, 1, 1 / 2])])    # where nobody may look nobody marks by chance
def test_marks_are_scored_beside_the_best_and_beside_chance(run_module, scores, marks, found):
    play = """({ scored }, scores, marks) => scored({ scores: scores && { values: scores },
        weights: { values: [65535, 0, 0, 0, 65535, 0], shape: [1, 2, 3] } }, marks)"""
    assert run_module("head_view/offline_prediction.js", play, scores, marks) == pytest.approx(found)
