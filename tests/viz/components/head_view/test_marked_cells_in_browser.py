"""Cells that a reader marks before the head is shown."""

VIEW = """{ body: { scores: { values: [0, 65535, 0, 0] } }, rows: { texts: ["a", "b"], tokens: [5, 6] },
    columns: { texts: ["c", "d"], tokens: [7, 8] } }"""


def test_marks_are_kept_here_until_another_question_begins(run_module):
    said = run_module("head_view/marked_cells.js", f"""({{ marksOf }}) => {{
        const marks = marksOf({VIEW}), said = [];
        marks.begin({{ round: "one", marks: [[1, 0]] }});
        said.push(marks.toggle(0, 1), marks.toggle(0, 0), marks.inside(), marks.tokens());
        marks.begin({{ round: "one", marks: [] }});
        said.push(marks.has(0, 0), marks.toggle(0, 0), marks.has(0, 0));
        marks.begin({{ round: "two" }});
        return [...said, marks.inside()];
    }}""")
    assert said == [False, True, [[0, 0], [1, 0]], [[5, 7], [6, 7]], True, True, False, []]


def test_a_mark_outside_of_what_is_shown_counts_for_nothing(run_module):
    said = run_module("head_view/marked_cells.js", f"""({{ marksOf }}) => {{
        const marks = marksOf({VIEW});
        marks.begin({{ round: "one", marks: [[0, 0], [9, 0], [0, 2]] }});
        const inside = marks.inside();
        marks.clear();
        return [inside, marks.inside()];
    }}""")
    assert said == [[[0, 0]], []]
