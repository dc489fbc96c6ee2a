"""A line with square corners and an arrow at its end."""


def test_a_wire_ends_in_an_arrow_that_points_as_its_last_piece_goes(run_module):
    drawn = run_module("js/svg.js", """({ shape, wire }) => {
        const sheet = shape("svg", { viewBox: "0 0 9 9" }, document.body);
        wire(sheet, [0, 0, 20, 0]);
        wire(sheet, [0, 0, 0, 50, 0, 20]);
        return [...sheet.children].map((each) => each.getAttribute("points") ?? each.getAttribute("d"));
    }""")
    assert drawn == ["0,0 20,0", "M20,0L13,3.5L13,-3.5Z", "0,0 0,50 0,20", "M0,20L-3.5,27L3.5,27Z"]
