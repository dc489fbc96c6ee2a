"""Where each head stands, worked out by hand."""

SPOTS = "({ spots }) => spots.map(({ index, layer, head, x, y }) => [index, layer, head, x, y])"


def test_heads_that_share_their_keys_stand_together(run_module):
    gaps = run_module("head_grid/layout.js", "({ groupGap }, cases) => cases.map((each) => groupGap(...each))",
                      [[1, 9], [4, 3], [4, 4], [4, 9]])
    assert gaps == [0, 0, 4, 8]


def test_two_layers_of_two_heads_stand_as_large_as_thumbnails_get(run_module):
    grid = {"layers": [0, 1], "heads": [2, 2], "groups": 1, "height": 1000}
    laid = run_module("head_grid/layout.js", f"""({{ byLayer }}, grid) => {{
        const laid = byLayer(grid, 400, 8);
        return {{ ...laid, spots: ({SPOTS})(laid) }};
    }}""", grid)
    assert laid["spots"] == [[0, 0, 0, 52, 16], [1, 0, 1, 156, 16], [2, 1, 0, 52, 120], [3, 1, 1, 156, 120]]
    assert (laid["pitch"], laid["side"], laid["width"], laid["height"], laid["long"]) == (104, 100, 260, 224, True)
    assert [each for each in laid["labels"] if each["kind"] == "block"] == [{"kind": "block", "x": 52, "y": 0,
                                                                            "count": 2}]


def test_a_thin_tower_of_layers_is_cut_into_blocks_side_by_side(run_module):
    grid = {"layers": list(range(30)), "heads": [3] * 30, "groups": 1, "height": 400}
    laid = run_module("head_grid/layout.js", "({ byLayer }, grid) => byLayer(grid, 600, 8)", grid)
    assert sum(each["kind"] == "block" for each in laid["labels"]) == 3
    # 30 layers in three blocks are 10 in each: (400 - 16) / 10 pixels; four blocks would be too narrow for more
    eleventh = laid["spots"][10 * 3]
    assert (laid["pitch"], eleventh["layer"], eleventh["y"]) == (38, 10, 16)
    assert eleventh["x"] == 24 + 3 * 38 + 16 + 24


def test_by_rank_heads_flow_in_that_order_with_their_names_below(run_module):
    laid = run_module("head_grid/layout.js", f"""({{ byRank }}, grid) => {{
        const laid = byRank(grid, [2, 0], 200);
        return {{ ...laid, spots: ({SPOTS})(laid) }};
    }}""", {"layers": [0, 3], "heads": [2, 1]})
    assert laid["spots"] == [[2, 3, 0, 0, 0], [0, 0, 0, 100, 0]]
    assert [(each["text"], each["x"], each["y"]) for each in laid["labels"]] == [("3·0", 0, 94), ("0·0", 100, 94)]
    assert (laid["pitch"], laid["side"], laid["width"], laid["height"]) == (100, 94, 200, 116)
