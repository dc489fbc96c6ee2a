"""What is negative is struck through from the lower left to the upper right, in cells and in their legend."""


def test_a_stroke_keeps_away_from_the_cells_edges(run_module):
    drawn = run_module("js/negative_marks.js", """({ strike }) => {
        const said = [], pen = { beginPath: () => said.push("begin"), stroke: () => said.push(pen.strokeStyle),
            moveTo: (x, y) => said.push([x, y]), lineTo: (x, y) => said.push([x, y]) };
        strike(pen, 10, 20, 100, 50, "red");
        return said;
    }""")
    assert drawn == ["begin", [21, 59], [99, 31], "red"]   # 22 % of the shorter side


def test_a_scale_is_struck_in_its_negative_half(run_module):
    bar = run_module("js/negative_marks.js", '({ signedBar }) => signedBar(["#111", "#eee", "#222"], "white")')
    assert bar.startswith("repeating-linear-gradient(135deg") and "white" in bar and "46% 100% no-repeat" in bar
    assert bar.endswith("linear-gradient(90deg, #111,#eee,#222)")
