"""Which labels of an axis are drawn, asked of the module alone."""
LIGHT = """({ light }, marks, pitch, base) => {
  const standing = base.map((at) => [at, { style: { visibility: "" } }]), drawn = [];
  light(marks, pitch, standing, (at, kind) => drawn.push([at, kind]));
  return [drawn, standing.filter(([, { style }]) => style.visibility !== "hidden").map(([at]) => at)];
}"""


def test_a_label_that_would_lie_on_a_more_urgent_one_is_not_drawn(run_module):
    def light(*given):
        return run_module("head_view/labels.js", LIGHT, *given)

    assert light([[None, "over"], [5, "from"]], 4, [0, 4, 8, 12]) == [[[5, "from"]], [0, 12]]
    assert light([[6, "over"], [5, "from"]], 4, [0, 4, 8, 12]) == [[[6, "over"]], [0, 12]]
    assert light([[5, "over"], [5, "from"]], 20, [4, 5, 6]) == [[[5, "over"], [5, "from"]], [4, 6]]
    assert light([[None, "over"], [None, "from"]], 4, [0, 4]) == [[], [0, 4]]
