"""A chart for a room, in a real browser."""

GROWN = """({ larger }, times) => larger({
    data: [{ marker: { size: 4 }, line: { width: 2 }, y: [1, 2], colorbar: { tickfont: { size: 10 } } }],
    layout: { height: 300, margin: { l: 40 }, font: { size: 12 }, legend: { y: 1.2 },
              annotations: [{ font: { size: 8 }, text: "x", yshift: 18 }] } }, times)"""


def test_letters_lines_and_their_room_grow_and_numbers_do_not(run_module):
    assert run_module("js/larger.js", GROWN, 2) == {
        "data": [{"marker": {"size": 8}, "line": {"width": 4}, "y": [1, 2], "colorbar": {"tickfont": {"size": 20}}}],
        "layout": {"height": 300, "margin": {"l": 80}, "font": {"size": 24}, "legend": {"y": 1.2},
                   "annotations": [{"font": {"size": 16}, "text": "x", "yshift": 36}]}}
    assert run_module("js/larger.js", GROWN, 1)["data"][0]["marker"]["size"] == 4
