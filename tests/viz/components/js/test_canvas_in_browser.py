"""Colours as pixels, and codes as a picture in which no strong one disappears."""

PAINT = """({ paint }, codes, start, size, [high, wide]) => {
    const out = new Uint32Array(high * wide);
    paint(codes, start, size, Uint32Array.from({ length: 10 }, (_, code) => 100 + code), out, [high, wide]);
    return [...out];
}"""


def test_colours_between_two_stops_are_mixed_and_stand_as_the_canvas_wants_them(run_module):
    pixels = "({ pixels }, stops, steps) => [...pixels(stops, steps)]"
    assert run_module("js/canvas.js", pixels, ["#000000", "#ffffff"], 3) == [0xFF000000, 0xFF808080, 0xFFFFFFFF]
    assert run_module("js/canvas.js", pixels, ["#102030", "#000000"], 1) == [0xFF302010]
    assert run_module("js/canvas.js", pixels, ["#ff0000", "#00ff00", "#0000ff"], 5) == [
        0xFF0000FF, 0xFF008080, 0xFF00FF00, 0xFF808000, 0xFFFF0000]


def test_a_pixel_over_several_cells_takes_the_largest_and_a_cell_over_several_pixels_fills_them(run_module):
    codes = [0, 0, 1, 9, 2, 3, 4, 0, 8, 5]   # the first two belong to another head
    assert run_module("js/canvas.js", PAINT, codes, 2, [2, 4], [1, 2]) == [109, 108]
    assert run_module("js/canvas.js", PAINT, [3, 7], 0, [1, 2], [2, 4]) == [103, 103, 107, 107] * 2
    assert run_module("js/canvas.js", PAINT, [1, 5, 2], 0, [1, 3], [1, 2]) == [101, 105]


def test_a_canvas_is_sharp_in_an_enlarged_page(run_module):
    found = run_module("js/canvas.js", """({ canvasOf }) => {
        const canvas = document.createElement("canvas");
        document.body.append(canvas);
        document.body.style.zoom = 2;
        canvasOf(canvas, 30, 20);
        return [canvas.width, canvas.height, canvas.style.width, canvas.style.height, devicePixelRatio];
    }""")
    assert found == [60, 40, "30px", "20px", 1]
