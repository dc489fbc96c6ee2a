"""A lesson on Vision Transformers: a puzzle of patches that the model cannot solve without positions, how pictures are
split, what position embeddings learn, and the cost of having no built-in knowledge of pictures."""
import numpy as np

from clearhead.model.core.statistics import cosines
from clearhead.model.lessons import digit_patches
from clearhead.model.lessons.digit_patches import COLUMNS, COUNTS, KINDS, PICTURES, ROWS, SIDE, DigitRunQuery
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Switch, counted, stepped
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix, tiles
from clearhead.viz.widgets.fields import choice_for, nearest
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, controls_row, lesson_page, section

PATCHES, DRAWS = ROWS * COLUMNS, 100
SIDES = tuple(side for side in range(1, SIDE * ROWS + 1) if SIDE * ROWS % side == 0 and SIDE * COLUMNS % side == 0)
PAPER = -0.75   # value of the gaps between patches
SECONDS = 4     # that the two trainings take, measured
SMOOTH = 10     # steps averaged per point of a loss curve
PAGE = Page("nothing", controls=(
    *QUESTIONS, counted("picture", PICTURES), stepped("moved", PATCHES, range(PATCHES + 1)),
    counted("draw", DRAWS), Number("side", SIDE, 1, SIDE * min(ROWS, COLUMNS), whole=True),
    stepped("place", COLUMNS + 1, range(PATCHES)),
    Choice("count", str(COUNTS[0]), tuple(map(str, COUNTS))), Switch("run"),
    stepped("seed", 1, range(1, digit_patches.SEEDS + 1))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    lesson.fragment(_shuffle)
    if lesson.open():
        lesson.fragment(_cut)
        lesson.fragment(_places)
        lesson.fragment(_data)


@section
def _shuffle(page: PageContext, words: Section) -> None:
    """Draw a picture and its shuffled copy, and the model's answers to both."""
    from scipy.special import softmax

    turned = page.controls
    straight = digit_patches.canvases()[turned["picture"]].pixels()
    order = digit_patches.swapped(PATCHES, turned["moved"], turned["draw"])
    shuffled = digit_patches.laid(digit_patches.cut(straight, SIDE)[order], COLUMNS)
    words.tell(patches=PATCHES, swapped=(order != np.arange(PATCHES)).sum())
    left, right = split(5, 6)
    with left:
        both = [(words["straight"], gaps(straight, SIDE)), (words["shuffled"], gaps(shuffled, SIDE))]
        words.figure(tiles, [both], height=205)
        with controls_row():
            words.slider("moved", width=260)
            words.again("draw")
            words.again("picture", "other")
    with right:
        words.predict()
    if words.hidden():
        return
    columns = [right, right] if page.present else left.columns(2, gap="small")
    for column, name in zip(columns, ("unplaced", "placed"), strict=True):
        logits = [digit_patches.read(pixels, name == "placed").astype(float) for pixels in (straight, shuffled)]
        if name == "unplaced":
            without, difference = logits[0].argmax(), np.abs(logits[0] - logits[1]).max()
        one, other = (softmax(each) for each in logits)
        words.tell(name=words[name], first=one.argmax(), second=other.argmax(), p_first=one.max(),
                   p_second=other.max())
        with column:
            words.figure(bars, range(10), {words["straight"]: one, words["shuffled"]: other}, y_range=(0, 1),
                         height=220, title=words[name], kind="bars", key=f"patches-{name}")
    words.explain(digit_patches.swapped, digit_patches.read, notices_in=right, difference=difference,
                  without=without)


def gaps(pixels: np.ndarray, side: int) -> np.ndarray:
    """Return a picture, uint8 (row, column), scaled to −1…1 with gaps between patches."""
    ink = PAPER + (1 - PAPER) * (255 - pixels.astype(float)) / 255
    for axis, length in enumerate(pixels.shape):
        ink = np.insert(ink, np.arange(side, length, side), np.nan, axis)
    return np.pad(ink, ((0, 0), (2, 2)), constant_values=np.nan)   # gaps between adjacent pictures


@section
def _cut(page: PageContext, words: Section) -> None:
    """Draw the picture with patches of a chosen size, and the quantities that depend on it."""
    side = nearest(SIDES, page["side"])
    pixels = digit_patches.canvases()[page["picture"]].pixels()
    height, width = pixels.shape
    counted = {each: digit_patches.numbers(height, width, each) for each in SIDES}
    patches = counted[side]["tokens"] - 1
    words.tell(height=height, width=width, side=side, patches=patches, blocks=digit_patches.blocks(),
               **counted[side])
    left, right = split(2, 3)
    with left:
        words.slider("side", SIDES)
        words.figure(tiles, [[(words("name", patches=patches), gaps(pixels, side))]])
    with right:
        rows = [[f"{each}", f"{found['tokens']:,}", f"{found['pixels']:,}", f"{found['weights']:,}"]
                for each, found in counted.items()]
        chosen = SIDES.index(side)
        rows[chosen] = [f"**{cell}**" for cell in rows[chosen]]
        words.table(rows)
    words.explain(digit_patches.cut, digit_patches.numbers)


@section
def _places(page: PageContext, words: Section) -> None:
    """Draw the pairwise similarity of the learned position vectors as maps, one of them large."""
    place = page["place"]
    table = digit_patches.place_vectors()
    similar = cosines(table, table)
    near, far = mean_cosines(similar)
    best = similar[place].argsort()[-2]
    names = [words("at", row=each // COLUMNS, column=each % COLUMNS) for each in range(PATCHES)]
    words.tell(places=PATCHES, near=near, far=far, at=names[place], best=names[best], cosine=similar[place, best])
    maps = similar.reshape(ROWS, COLUMNS, ROWS, COLUMNS)
    left, right = split()
    with left:
        words.slider("place", say=names.__getitem__)
        words.figure(matrix, similar[place].reshape(ROWS, COLUMNS), height=360,
                     style=CellStyle("signed", bound=1), kind="one")
    with right:
        words.figure(tiles, [[(f"{row},{column}", maps[row, column]) for column in range(COLUMNS)]
                             for row in range(ROWS)], height=420)
    words.explain(digit_patches.place_vectors, cosines)


def mean_cosines(similar: np.ndarray) -> tuple[float, float]:
    """Return the mean cosine of adjacent positions, and of positions farther apart."""
    down, across = np.divmod(np.arange(PATCHES), COLUMNS)
    steps = np.abs(down[:, None] - down) + np.abs(across[:, None] - across)
    return similar[steps == 1].mean(), similar[steps > 1].mean()


@section
def _data(page: PageContext, words: Section) -> None:
    """Draw a convolutional network and a Vision Transformer, trained on the same digits."""
    turned, count = page.controls, int(page["count"])
    choice_for(page, "count", words["count"], {str(each): f"{each:,}" for each in COUNTS})
    words.slider("seed", width=260)
    words.button("stop" if turned["run"] else "go", run=not turned["run"])
    if not turned["run"]:
        words.idle(SECONDS)
        return
    questions = [DigitRunQuery(kind, count, turned["seed"]) for kind in KINDS]
    with words.timed():
        runs = dict(zip(KINDS, page.ask_each(questions, height=300), strict=True))
    words.tell(count=count, tested=digit_patches.TESTED, runs=runs,
               ends={kind: run.right[-1] for kind, run in runs.items()})
    right = [Line(words["names"][kind], run.right, place) for place, (kind, run) in enumerate(runs.items())]
    loss = [Line(words["names"][kind], np.convolve(run.loss, np.ones(SMOOTH) / SMOOTH, "valid"), place)
            for place, (kind, run) in enumerate(runs.items())]
    left, beside = split()
    with left:
        words.figure(lines, runs["transformer"].tested.astype(int), right, y_range=(0, 1), height=300)
    with beside:
        words.figure(lines, np.arange(SMOOTH, digit_patches.STEPS + 1), loss, height=300, kind="loss")
    words.explain(digit_patches.network, digit_patches.run)
