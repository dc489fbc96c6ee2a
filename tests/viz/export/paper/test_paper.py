"""Pictures on paper match their numbers: the ramp's colours, complete labels, text as text, notes."""
import dataclasses
import io
import itertools
import json
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pypdf
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import Layer
from clearhead.model.core.view import View, displayed_head
from clearhead.viz.components.lenses import picture
from clearhead.viz.components.lenses.matrix import pooled
from clearhead.viz.components.picture import Image as Shown
from clearhead.viz.components.picture import Patches, PatchValues
from clearhead.viz.export.formats import Options, caption, export
from clearhead.viz.export.paper import columns, figure, sheet
from clearhead.viz.export.paper.columns import Layout
from clearhead.viz.export.paper.page import Paper
from clearhead.viz.export.paper.sheet import Sheet
from clearhead.viz.style import theme
from tests.fabricate import HEADS, HOSTILE, LAYERS, record

WORDS = ("[CLS]", "the", "animal", "it", "the")
LONG = tuple(f"long-winded-{place}" for place in range(50))
LENSES = ("matrix", "lines", "text")


def drawn(made, view, options=Options(), raster=True):  # noqa: B008
    with sheet.pen():
        return figure(made, view, raster, all_heads=options.grid, caption=options.caption, link=options.link)


def pixels(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"))


def words_of(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("scale, transpose, zoom, kind", [
    ("linear", False, 1, Kind.CROSS), ("root", True, 3, Kind.CAUSAL), ("log", True, 1, Kind.CROSS),
    ("log", False, 3, Kind.CAUSAL)])
def test_each_cell_has_the_colour_of_its_weight(scale, transpose, zoom, kind):
    made = record(WORDS, kind, ("u", "v", "u", "w", "x", "y", "z") if kind is Kind.CROSS else None)
    view = View(kind=kind, layer=1, head=2, scale=scale, transpose=transpose)
    left, right, bottom, top = drawn(made, view).axes[0].images[0].get_extent()
    weights = heads.weights(made[kind].layer(1), 2)
    forbidden = np.triu(np.ones(weights.shape, bool), 1) & (kind is Kind.CAUSAL)
    expected = theme.ramp()[np.round(255 * theme.strength(weights, scale)).astype(int)]
    expected[forbidden] = theme.rgb(theme.FORBIDDEN)
    if transpose:
        expected = expected.transpose(1, 0, 2)
    rows, columns = expected.shape[:2]
    y = (zoom * (top + (np.arange(rows) + 0.5) * (bottom - top) / rows)).astype(int)
    x = (zoom * (left + (np.arange(columns) + 0.5) * (right - left) / columns)).astype(int)
    assert (pixels(export(".png", made, view, Options(zoom=zoom)))[np.ix_(y, x)] == expected).all()


def test_heads_with_numbers_above_one_share_the_printed_scale():
    made = record(WORDS)
    found = made[Kind.SELF]
    gate = np.repeat([[3], [9], *[[1]] * (HEADS - 2)], len(WORDS), 1).astype(np.float32)
    layer = dataclasses.replace(found.layer(0), gate=gate)
    made = dataclasses.replace(made, maps=(dataclasses.replace(found, layers=(layer, *found.layers[1:])),))
    shown = [displayed_head(made, View(gated=True, head=head)).weights for head in (0, 1)]
    bound = np.abs(shown[1]).max()
    assert bound > np.abs(shown[0]).max() > 1
    with sheet.pen():
        figure = columns.figure(made, View(gated=True), Layout(((0, 0), (0, 1)), 170), raster=True)
    for image, weights in zip(figure.axes[0].images, shown, strict=False):
        steps = np.round(255 * theme.strength(weights / bound, View().scale)).astype(int)
        size = len(image.get_array()) // len(weights)   # of a cell
        np.testing.assert_array_equal(image.get_array()[::size, ::size],
                                      theme.ramp(stops=theme.SIGNED[3:])[steps])


def test_grid_thumbnail_has_the_colours_of_its_head():
    made = record(WORDS)
    figure = drawn(made, View(), Options(grid=True))
    image = figure.axes[0].images[0].get_array()
    weights = heads.weights(made[Kind.SELF].layer(0), 0)
    expected = {tuple(colour) for colour in theme.ramp()[np.round(255 * np.sqrt(weights)).astype(int)].reshape(-1, 3)}
    assert expected <= {tuple(colour) for colour in np.unique(image.reshape(-1, 3), axis=0)}
    assert f"all {LAYERS * HEADS} heads" in words_of(figure)


@pytest.mark.parametrize("order", ["pair", "entropy"])
def test_ordered_grid_begins_with_the_largest(order):
    made, view = record(WORDS), View(order=order, pair=(3, 2), token=3)
    ranked = heads.rank_heads_for_pair(made[Kind.SELF], 3,
                                       2) if order == "pair" else heads.measure(made[Kind.SELF]).ranked(order)
    names = [text.split()[0] for text in words_of(drawn(made, view, Options(grid=True)))
             if "·" in text and text[0].isdigit()]
    assert names == [f"{layer}·{head}" for layer, head, _ in ranked]


@pytest.mark.parametrize("lens", LENSES)
@pytest.mark.parametrize("texts", [HOSTILE, ("a",), tuple(f"long-winded-token-text{place}" for place in range(60)),
                                   ("a", "b") * 150], ids=["hostile", "one", "long labels", "300"])
def test_no_letter_is_clipped(lens, texts):
    view = View(lens=lens, token=0, pair=(0, len(texts) - 1), transpose=len(texts) < 50)
    assert not outside(drawn(record(texts, layers=1), view, Options(link="http://x/" + "y" * 500)))


def outside(figure) -> list[str]:
    """Return the texts that leave the page."""
    renderer, page = FigureCanvasAgg(figure).get_renderer(), figure.bbox
    with sheet.pen():
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in figure.axes[0].texts]
    return [text for text, box in boxes if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1
            or box.y1 > page.y1 + 1]


@pytest.mark.parametrize("heads", [(), ((0, 1),), tuple(itertools.product((0, 1), range(5)))], ids=len)
@pytest.mark.parametrize("lens", LENSES)
@pytest.mark.parametrize("texts, width", [(WORDS, 40), (("x" * 23,) * 20, 40), (("a", "b") * 150, 40), (LONG, 174)],
                         ids=["few", "long", "many", "wide"])
def test_figure_for_a_paper_fits_its_column_and_its_page(heads, lens, texts, width):
    layout, made, view = Layout(heads, width, title=True), record(texts), View(lens=lens, token=0)
    with sheet.pen():
        figure = columns.figure(made, view, layout, raster=True)
    wide, high = figure.get_size_inches() * 25.4
    assert wide == pytest.approx(width) and not outside(figure)
    assert high <= 230 or len(heads) == 10 or (heads and lens == "text")
    assert (high > 230.1) == ("mm tall, more than a page" in caption(made, view, layout))


def test_caption_and_file_name_heads_rows_and_what_is_left_out():
    made, layout = record(("a", "b") * 30), Layout(((0, 1), (1, 2)), 84)
    said, options = caption(made, View(), layout), Options(layout=layout)
    for part in ("heads 0·1, 1·2", "row = the token that looks (query), column = what it looks at (key)",
                 "each row sums to 1", "weight, linear scale", "Of 60 tokens, every"):
        assert part in said
    with Image.open(io.BytesIO(export(".png", made, View(), options))) as image:
        assert "heads 0·1, 1·2" in image.text["Title"]
        assert json.loads(image.text["provenance"])["heads"] == [[0, 1], [1, 2]]
    assert "heads 0·1, 1·2" in pypdf.PdfReader(io.BytesIO(export(".pdf", made, View(), options))).metadata.title
    one = export(".svg", made, View(layer=1, head=2)).decode()
    assert re.search("<dc:title>[^<]*layer 1 · head 2</dc:title>", one)
    assert "72 heads" not in said and f"all {LAYERS * HEADS} heads" in caption(made, View(), Layout())


def test_axes_have_the_given_titles_and_ticks_where_labels_are_thinned():
    made = record(("a", "b") * 50)
    for lens in ("matrix", "lines"):
        with sheet.pen():
            figure = columns.figure(made, View(lens=lens), Layout(((0, 1),), 110, labels=("Query", "Key")), raster=True)
        titles, labelled = words_of(figure), [text for text in words_of(figure) if text in ("a", "b")]
        assert {text.strip("→← ") for text in titles} >= {"Query", "Key"} and len(labelled) < 200
        ticks = [line for each in figure.axes[0].collections for line in (path.vertices for path in each.get_paths())
                 if 1 <= np.abs(line[1] - line[0]).sum() <= 3.1]
        assert len(ticks) >= 200 and sum(np.abs(line[1] - line[0]).sum() > 2.5 for line in ticks) >= len(labelled)


@pytest.mark.parametrize("lens", LENSES)
def test_vector_picture_holds_the_tokens_as_text(lens):
    made = record(WORDS)
    view = View(lens=lens, token=3, pair=(3, 2))
    drawing = ET.fromstring(export(".svg", made, view))
    texts = ["".join(each.itertext()) for each in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert set(WORDS) <= set(texts) and "layer 0 · head 0" in texts
    page = pypdf.PdfReader(io.BytesIO(export(".pdf", made, view))).pages[0]
    assert all(word in page.extract_text() for word in WORDS)
    for font in page["/Resources"]["/Font"].values():
        described = font["/DescendantFonts"][0] if "/DescendantFonts" in font else font
        assert "/FontFile2" in described["/FontDescriptor"] or "/FontFile3" in described[
            "/FontDescriptor"], "a font is not embedded"


def test_vector_matrix_has_the_colours_of_its_weights():
    made, view = record(WORDS), View(layer=1, head=2)
    x, _, _, y = drawn(made, view).axes[0].images[0].get_extent()   # the same matrix as pixels
    cells = np.full((5, 5, 3), 255)
    for patch in drawn(made, view, raster=False).axes[0].patches:
        if patch.get_linewidth() > 5:   # a row of cells
            for (left, middle), (right, _) in patch.get_path().vertices.reshape(-1, 2, 2):
                row, first, last = (round(each / 22) for each in (middle - y - 11, left - x, right - x))
                cells[row, first:last] = np.round(255 * np.array(patch.get_edgecolor()[:3]))
    weights = heads.weights(made[Kind.SELF].layer(1), 2)
    assert (cells == theme.ramp()[np.round(255 * weights).astype(int)]).all()


def test_filters_are_printed_without_a_caption_too():
    made = record(WORDS, special=(0,))
    texts = words_of(drawn(made, View(hide_special=True), Options(caption=False)))
    assert any("special tokens hidden" in text for text in texts) and not any("Fabricated (" in text for text in texts)
    sums = displayed_head(made, View(hide_special=True)).weights.sum(1)
    assert f"rows sum to {sums.min():.2f} to {sums.max():.2f}" in " ".join(texts)


def test_rows_under_a_sink_do_not_claim_to_sum_to_one():
    made = record(WORDS)
    base = made[Kind.SELF].layers[0]
    parts = {name: getattr(base, name) for name in ("query", "key", "value", "scale", "allowed")}
    sunk = Layer(0, **parts, sink=np.full(base.heads, 2, np.float32))
    with_sink = dataclasses.replace(made, maps=(dataclasses.replace(made[Kind.SELF], layers=(sunk,)),))
    said = " ".join(words_of(drawn(with_sink, View())))
    assert "rows sum to" in said and "sink" in said and "each row sums to 1" not in said


@pytest.fixture
def without_cjk(monkeypatch):
    """A machine with only matplotlib's fonts."""
    def forget():
        for cached in (sheet.font, sheet.width, sheet._drawable):
            cached.cache_clear()

    monkeypatch.setattr(theme, "MONO", ("DejaVu Sans Mono",))
    monkeypatch.setattr(theme, "FALLBACK", ("DejaVu Sans",))
    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_missing_font_shows_code_points(without_cjk, suffix):
    made = record(("中", "a"))
    texts = words_of(drawn(made, View()))
    assert "U+4E2D" in texts and any("without a font" in text for text in texts)
    assert export(suffix, made, View())


def test_pooled_cells_are_the_largest():
    cells = np.random.default_rng(0).random((7, 11)).astype(np.float32)
    small = pooled(cells, 3)
    assert small.shape == (3, 4)
    for row in range(3):
        for column in range(4):
            assert small[row, column] == cells[3 * row:3 * row + 3, 3 * column:3 * column + 3].max()
    assert (pooled(cells, 1) == cells).all(), "the largest, whatever its sign"
    assert pooled(-cells, 3)[0, 0] == -cells[:3, :3].max(), "the largest, whatever its sign"


def test_picture_too_large_is_refused_with_the_way_out(monkeypatch):
    made = record(WORDS)
    high, wide = (math.prod(pixels(export(".png", made, View(), Options(zoom=zoom))).shape[:2]) for zoom in (2, 1))
    assert high == pytest.approx(4 * wide, rel=0.02)
    monkeypatch.setattr(sheet, "PIXELS", wide + 1)
    with pytest.raises(UserError, match="choose a smaller zoom"):
        export(".png", made, View(), Options(zoom=2))
    assert export(".svg", made, View(), Options(zoom=2))


BOXES = np.array([[np.nan] * 4, [0, 0, 0.5, 1], [0.5, 0, 1, 1]], np.float32)


def plan_of(numbers, kind="signed", hidden=()):
    values = PatchValues(np.array(numbers, np.float32), "a head", "a number", kind)
    patches = Patches(np.full((10, 20, 3), 90, np.uint8), ("[CLS]", "a", "b"), BOXES)
    return Shown(patches, values, hidden=hidden).plan(Paper())


def strokes(plan) -> list:
    sheet = Sheet()
    plan.paint(sheet, 5, 7)
    return [each.get_segments() for each in sheet.axes.collections]


def test_bar_of_signed_numbers_has_both_sides():
    for kind in ("plain", "signed"):
        plan = plan_of((0, 0.2, 0.9), kind)
        np.testing.assert_array_equal(plan.bar, picture.bar(kind == "signed"))
        assert (plan.width, plan.height) == (picture.WIDE, picture.WIDE / 2)
    assert (picture.bar(True)[0] != picture.bar(False)[0]).any()


def test_negative_patches_are_struck_through():
    plan = plan_of((-1, -0.5, 0.9))
    assert plan.signed and "struck through" in plan.bar_name
    ((start, end),), = strokes(plan)
    assert 5 < start[0] < end[0] < 5 + picture.WIDE / 2 and start[1] > end[1] > 7   # inside the left patch, rising
    assert strokes(plan_of((-1, -0.07, 0.9))) == strokes(plan_of((-1, 0.5, 0.9))) == []
    crosses, = strokes(plan_of((-1, -0.5, 0.9), hidden=(1,)))
    assert len(crosses) == 2 and (crosses[0][:, 1] == crosses[1][:, 1]).all(), "hidden: crossed out, and not struck"
    assert (crosses[0][:, 0] == crosses[1][::-1, 0]).all()
