"""A lesson on dividing by √d_k: random queries and keys, three small models trained with and without the division, and
a trained head."""
import numpy as np
import streamlit as st

from clearhead.model.core.record import Layer
from clearhead.model.lessons import scores, sqrt_dk
from clearhead.model.lessons.sqrt_dk import DIVISORS, EVERY
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Switch, counted, stepped
from clearhead.viz.figures.bars import bars, histogram
from clearhead.viz.figures.lines import Line, lines, standing
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.numbers import format_share
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, computing, controls_row, lesson_page, section

STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 352, 512, 768, 1024, 2048, 4096)   # values of the d_k slider
SEEDS = 100
STARTS = 5        # trainings per click, each with its own seed
LOOKS = {"none": (1, "solid"), "root": (0, "dash"), "width": (2, "dot")}   # colour and dash of a training
SECONDS = 5       # that these trainings take, measured
BINS = 41
TEMPERATURES = np.geomspace(0.1, 100, 31)
OVERFLOWING = (512, 1024, 2048, 4096)   # values of d_k whose share of overflows is stated
PAGE = Page("head", asks_at=(("real", True),), controls=(
    *QUESTIONS, stepped("dk", 512, STEPS), stepped("keys", 64, (8, 16, 32, 64)),
    counted("seed", SEEDS),
    Choice("draw", "normal", sqrt_dk.KINDS), Switch("real"), Switch("train"),
    stepped("width", 256, (4, 16, 64, 256, 512, 1024)),
    counted("start", SEEDS), stepped("step", sqrt_dk.STEPS, range(0, sqrt_dk.STEPS + 1, EVERY))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    _see(page, lesson)
    _variance(page, lesson)
    if lesson.open():
        _softmax(page, lesson)
        _reasons(page, lesson)
        lesson.fragment(_training)
        lesson.further(_temperature, alone=False)
    else:
        lesson.covered("rest")
    lesson.fragment(_real)


def _rows(page: PageContext) -> tuple[int, int, str]:
    """Return the number of keys, the seed, and the distribution of the components."""
    return page["keys"], page["seed"], page["draw"]


def _told(page: PageContext) -> dict[str, object]:
    """Return the range of each number over several draws at the chosen width, and the number of draws and rows."""
    found = sqrt_dk.ranges_at(page["dk"], *_rows(page))
    return {"ranges": {name: " to ".join(dict.fromkeys(f"{end:.2g}" for end in pair)) for name, pair in found.items()},
            "compared": sqrt_dk.COMPARED, "rows": sqrt_dk.draws(page["keys"])}


def _curves(words: Section, found: dict[str, np.ndarray], order: tuple[str, ...]) -> list[Line]:
    """Return the median and band of the numbers, undivided and divided. found: {"plain" or "scaled": (width, draw)}."""
    looks = {"plain": (1, "solid"), "scaled": (0, "dash")}
    bands = {which: sqrt_dk.band(found[which]) for which in order}
    return [Line(words[which], bands[which][0], *looks[which], band=bands[which][1:]) for which in order]


@section
def _see(page: PageContext, words: Section) -> None:
    """Draw the question beside the crossing curves."""
    left, right = split(2, 3)
    with left:
        revealed = words.predict()
        if not (revealed or page.present):
            st.caption(words["before"])
    with right:
        d_k, rest = words.slider("dk", say="{:,}".format), _rows(page)
        with computing():
            found, numbers = sqrt_dk.survey(*rest), sqrt_dk.numbers_at(d_k, *rest)
            told = _told(page)
        crossing = sqrt_dk.crossing(found)
        drawn = _curves(words, found.gradient, ("scaled", "plain"))
        drawn.append(Line(words["mean"], found.gradient["plain"].mean(1), 1, "dot"))
        dots = {0: numbers["gradient_scaled"], 1: numbers["gradient_plain"]}
        marks = [(d_k, f"d_k = {d_k:,}")]
        if not revealed:
            drawn, dots = drawn[:1], {0: dots[0]}
        elif crossing is not None:
            marks.append((crossing, words("crossing", **_between(crossing))))
        words.tell(**told, crosses="" if crossing is None else words("crosses", **_between(crossing)))
        words.figure(standing, np.array(sqrt_dk.WIDTHS), drawn, (d_k, dots), marks=marks, y_range=(1e-4, 40),
                     axes=words["axes"], height=290, kind="" if revealed else "before", key="scale-see")
        if revealed:
            words.explain(sqrt_dk.at_width, sqrt_dk.gradient_norm, sqrt_dk.crossing)


def _between(crossing: float) -> dict[str, int]:
    """Return the measured widths around a crossing, which moves by a tenth from draw to draw."""
    place = int(np.searchsorted(sqrt_dk.WIDTHS, crossing))
    return {"below": sqrt_dk.WIDTHS[max(place - 1, 0)], "above": sqrt_dk.WIDTHS[place]}


@section
def _variance(page: PageContext, words: Section) -> None:
    """Draw the variance over d_k, and the scores at the chosen d_k, with and without the division."""
    d_k, rest, widths = page["dk"], _rows(page), np.array(sqrt_dk.WIDTHS)
    dots, root = sqrt_dk.at_width(d_k, *rest)[1], d_k**0.5
    with controls_row():
        words.choice("draw", "draws")
        words.slider("keys", width=220)
        words.again("seed")
    words.tell(measured=dots.var(), spread=dots.std(), root=root, rows=sqrt_dk.draws(rest[0]),
               divided=(dots / root).var())
    left, middle, right = split(4, 3, 3)
    with left:
        measured = sqrt_dk.band(sqrt_dk.survey(*rest).variance)
        drawn = [Line(words["line"], widths.astype(float), None, "dash"),
                 Line(words["points"], measured[0], 0, "dots", measured[1:])]
        t5 = sqrt_dk.band(sqrt_dk.t5_variance())
        drawn.append(Line(words["t5"], t5[0], 2, "dots", t5[1:]))
        words.figure(lines, widths, drawn, log="xy", marks=[(d_k, f"d_k = {d_k:,}")])
    for place, name, numbers, deviation in ((middle, "plain", dots, root), (right, "scaled", dots / root, 1.0)):
        edges, shares, theory = score_histogram(numbers, deviation)
        with place:
            words.figure(histogram, edges, {words[name]: shares}, axes=(words[name], words["share"]), kind=name,
                         curve=(words["theory"], theory), height=340)
    words.explain(sqrt_dk.components, sqrt_dk.rows_of, sqrt_dk.t5_variance)


def score_histogram(numbers: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (edges, shares, normal distribution's shares) between −4 and 4 standard deviations."""
    edges = np.linspace(-4 * deviation, 4 * deviation, BINS + 1)
    centres = (edges[:-1] + edges[1:]) / 2 / deviation
    theory = np.exp(-(centres**2) / 2) / np.sqrt(2 * np.pi) * 8 / BINS
    return edges, np.histogram(numbers, edges)[0] / numbers.size, theory


@section
def _softmax(page: PageContext, words: Section) -> None:
    """Draw the entropy and the gradient over d_k."""
    d_k, rest, widths = page["dk"], _rows(page), np.array(sqrt_dk.WIDTHS)
    survey, bits = sqrt_dk.survey(*rest), np.log2(rest[0])
    words.tell(bits=bits, **_told(page))
    marks, order = [(d_k, f"d_k = {d_k:,}")], ("plain", "scaled")
    left, right = split()
    with left:
        words.figure(lines, widths, _curves(words, survey.entropy, order), marks=marks, log="x",
                     y_range=(0, 1.08 * bits), bounds=[(bits, f"log₂ {rest[0]}")], kind="entropy")
    with right:
        words.figure(lines, widths, _curves(words, survey.slope, order), marks=marks, log="xy", y_range=(1e-4, 2),
                     kind="slope")
    words.explain(sqrt_dk.at_width)


@section
def _reasons(page: PageContext, words: Section) -> None:
    """Draw the table of the four reasons: the claim, the measurement, and the conclusion."""
    d_k, keys = page["dk", "keys"]
    cases = [("plain", d_k, 1.0), ("scaled", d_k, d_k**0.5), ("grown", d_k, d_k**0.5 / sqrt_dk.GROWN),
             *((width, width, 1.0) for width in OVERFLOWING)]   # name, d_k, divisor
    words.tell(**_told(page), factor=sqrt_dk.GROWN, end=sqrt_dk.FLOAT32_END,
               overflow={name: f"{100 * sqrt_dk.overflow_share(width, keys, divisor):z.3g}%"
                         for name, width, divisor in cases})
    words.table([
        [cell.format(**words.facts) for cell in row] for row in words["rows"].values()], numbers=False)
    words.explain(sqrt_dk.numbers_at, sqrt_dk.overflow_share)


@section
def _training(page: PageContext, words: Section) -> None:
    """Draw the settings with start and stop, the curves, snapshots of the first training, and a summary."""
    turned = page.controls
    with controls_row():
        words.slider("width", width=320)
        words.button("stop" if turned["train"] else "go", train=not turned["train"])
        if turned["train"]:
            words.button("again", start=(turned["start"] + STARTS) % SEEDS)
    if not turned["train"]:
        words.idle(SECONDS, models=STARTS * len(DIVISORS))
        return
    questions = [sqrt_dk.TrainingQuery(turned["width"], (turned["start"] + number) % SEEDS)
                 for number in range(STARTS)]
    with words.timed():
        trained = list(page.ask_each(questions, height=380, say=lambda number, text: words(
            "progress", number=number + 1, starts=STARTS, text=text)))
    ends = {which: np.array([each.end(which) for each in trained]) for which in DIVISORS}
    drawn = []
    for which in DIVISORS:
        runs = np.array([each.right[which].reshape(-1, EVERY).mean(1) for each in trained])
        drawn.append(Line.of_runs(words["names"][which], runs, *LOOKS[which]))
    words.tell(starts=STARTS, steps=sqrt_dk.STEPS, last=sqrt_dk.LAST, most=np.log2(scores.SYMBOLS),
               means={which: each.mean() for which, each in ends.items()},
               lower={which: (each < ends["root"]).sum() for which, each in ends.items()},
               higher={which: (each > ends["root"]).sum() for which, each in ends.items()})
    words.figure(lines, np.arange(EVERY, sqrt_dk.STEPS + 1, EVERY), drawn, y_range=(0, 1.02), height=320,
                 bounds=[(1 / scores.CLASSES, words["guessing"])])
    _film(page, words, trained[0])
    words.table([
        [words["names"][which], format_share(each.mean(), 0),
         f"{format_share(each.min(), 0)} – {format_share(each.max(), 0)}",
         f"{np.mean([training.bits(which) for training in trained]):z.2f}"] for which, each in ends.items()])
    words.explain(scores.train, sqrt_dk.run)


def _film(page: PageContext, words: Section, first: sqrt_dk.Trainings) -> None:
    """Draw the weights of every symbol on all symbols at the slider's step."""
    step = words.slider("step", range(0, sqrt_dk.STEPS + 1, EVERY))
    for place, which in zip(st.columns(len(DIVISORS), gap="small"), DIVISORS, strict=True):
        weights, name = first.film[which][round(step / EVERY)], words["names"][which]
        words.tell(name=name, step=step, own=np.diag(weights).mean())
        with place:
            words.figure(matrix, weights.round(2), height=300, title=name, angle=0, kind="film",
                         style=CellStyle(ruler=False), key=f"scale-film-{which}")


@section
def _temperature(page: PageContext, words: Section) -> None:
    """Draw the entropy over the temperature, with √d_k marked."""
    d_k, rest = page["dk"], _rows(page)
    root, dots = d_k**0.5, sqrt_dk.at_width(d_k, *rest)[1]
    middle, *band = sqrt_dk.band(sqrt_dk.entropy_over(dots, TEMPERATURES))
    words.tell(root=root, **_told(page))
    words.figure(lines, TEMPERATURES, [Line("entropy", middle, 0, band=(band[0], band[1]))], log="x", height=300,
                 marks=[(1.0, words["one"]), (root, f"T = √{d_k:,} = {root:.3g}")][:1 + (d_k > 1)],
                 bounds=[(np.log2(rest[0]), f"log₂ {rest[0]}")])
    st.button(words("see", root=f"{root:.3g}"), key="see-softmax", on_click=page.open_next,
              args=("softmax",), kwargs={"t": root})
    words.explain(sqrt_dk.entropy_over, sqrt_dk.weights_of)


@section
def _real(page: PageContext, words: Section) -> None:
    """Draw a trained head's rows, with and without the division."""
    if not words.opened("real"):
        return
    record, view = real_head(page, token=False)
    layer = record[view.kind].layer(view.layer)
    if not isinstance(layer, Layer):
        st.info(words["reported"])
        return
    scale = sqrt_dk.head_scale(layer, view.head)
    words.tell(view=view, scale=scale, root=scale.d_k**0.5,
               means={name: each.mean() for name, each in scale.entropy.items()})
    rows = {words("own"): scale.entropy["own"], words["undone"]: scale.entropy["undone"]}
    words.figure(bars, list(record[view.kind].queries.texts), rows, height=340)
    words.explain(sqrt_dk.head_scale)
