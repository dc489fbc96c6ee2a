"""A lesson on dividing by √d_k: random queries and keys, three small models trained with and without the division, and
a trained head."""
import numpy as np
import streamlit as st

from model.core.record import Layer
from model.lessons import scores, sqrt_dk
from model.lessons.sqrt_dk import DIVISORS, EVERY, Trainings
from viz.figures.bars import bars, histogram
from viz.figures.lines import Line, lines, standing
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_share
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch
from viz.text import escape_markdown
from viz.widgets.fields import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import QUESTIONS, Lesson, computing

KEYS = (8, 16, 32, 64)
STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 352, 512, 768, 1024, 2048, 4096)   # values of the d_k slider
SEEDS = 100
STARTS = 5        # trainings per click, each with its own seed
TRAINED_WIDTHS = (4, 16, 64, 256, 512, 1024)
LOOKS = {"none": (1, "solid"), "root": (0, "dash"), "width": (2, "dot")}   # colour and dash of a training
BINS = 41
OVERFLOWING = (512, 1024, 2048, 4096)   # values of d_k whose share of overflows is stated
TEMPERATURES = np.geomspace(0.1, 100, 31)
PAGE = Page("head", asks_at=(("real", True),), controls=(
    *QUESTIONS, Number("dk", 512, 1, 4096, whole=True), Number("keys", 64, min(KEYS), max(KEYS), whole=True),
    Number("seed", 0, 0, SEEDS - 1, whole=True),
    Choice("draw", "normal", sqrt_dk.KINDS), Switch("real"), Switch("train"),
    Number("width", 256, min(TRAINED_WIDTHS), max(TRAINED_WIDTHS), whole=True),
    Number("start", 0, 0, SEEDS - 1, whole=True), Number("step", 200, 0, 200, whole=True)))


def render(page: PageContext) -> None:
    """Draw the page."""
    lesson = Lesson(page, "scale")
    lesson.header()
    revealed = _see(page, lesson)
    _variance(page, lesson)
    if revealed:
        _softmax(page, lesson)
        _reasons(page, lesson)
        lesson.fragment(_training)
        lesson.further("temperature", lambda: _temperature(page, lesson))
    else:
        lesson.covered("rest")
    lesson.fragment(_real)
    lesson.end()


def _rows(page: PageContext) -> tuple[int, int, str]:
    """Return (keys, seed, distribution of the components)."""
    turned = page.controls
    return turned["keys"], turned["seed"], turned["draw"]


def _curves(words: dict, found: dict[str, np.ndarray], order: tuple[str, ...]) -> list[Line]:
    """Return the median and band of the numbers, undivided and divided. found: {"plain" or "scaled": (width, draw)}."""
    looks = {"plain": (1, "solid"), "scaled": (0, "dash")}
    bands = {which: sqrt_dk.band(found[which]) for which in order}
    return [Line(words[which], bands[which][0], *looks[which], band=bands[which][1:]) for which in order]


def _see(page: PageContext, lesson: Lesson) -> bool:
    """Draw the question beside the crossing curves. Return whether it is answered."""
    with lesson.section("see") as words:
        left, right = st.columns([2, 3], gap="medium")
        with left:
            revealed = lesson.predict()
            if not revealed:
                st.caption(words["before"])
        with right:
            slider_for(page, "dk", words["dk"], STEPS, say=lambda value: f"{value:,}", help=words["dk_help"])
            d_k, rest = page.controls["dk"], _rows(page)
            with computing():
                found, numbers = sqrt_dk.survey(*rest), sqrt_dk.numbers_at(d_k, *rest)
            crossing = sqrt_dk.crossing(found)
            drawn = _curves(words, found.gradient, ("scaled", "plain"))
            drawn.append(Line(words["mean"], found.gradient["plain"].mean(1), 1, "dot"))
            dots = {0: numbers["gradient_scaled"], 1: numbers["gradient_plain"]}
            marks: list[tuple[float, str]] = [(d_k, f"d_k = {d_k:,}")]
            if not revealed:
                drawn, dots = drawn[:1], {0: dots[0]}
            elif crossing is not None:
                marks.append((crossing, words["crossing"].format(crossing=crossing)))
            figure(standing, np.array(sqrt_dk.WIDTHS), drawn, (d_k, dots), axes=("d_k", words["axis"]), marks=marks,
                   y_range=(1e-4, 40), height=290, key="scale-see",
                   alt=words["alt" if revealed else "alt_before"].format(d_k=d_k, **numbers))
            if revealed:
                lesson.explanation("see", shown=(sqrt_dk.at_width, sqrt_dk.gradient_norm, sqrt_dk.crossing),
                                   shapes={"gradient": found.gradient["plain"]}, keys=rest[0],
                                   rows=sqrt_dk.draws(rest[0]), d_k=d_k, crosses="" if crossing is None else
                                   words["crosses"].format(crossing=crossing), **numbers)
    return revealed


def _variance(page: PageContext, lesson: Lesson) -> None:
    """Draw the variance over d_k, and the scores at the chosen d_k, with and without the division."""
    d_k, rest, widths = page.controls["dk"], _rows(page), np.array(sqrt_dk.WIDTHS)
    dots, root = sqrt_dk.at_width(d_k, *rest)[1], d_k**0.5
    with lesson.section("variance") as words:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            choice_for(page, "draw", words["draw"], words["draws"])
            with st.container(width=220):
                slider_for(page, "keys", words["keys"], KEYS, help=words["keys_help"])
            button_setting(page, words["again"], "draw-again", seed=(page.controls["seed"] + 1) % SEEDS)
        left, middle, right = st.columns([4, 3, 3], gap="small")
        with left:
            measured, t5 = sqrt_dk.band(sqrt_dk.survey(*rest).variance), sqrt_dk.band(sqrt_dk.t5_variance())
            drawn = [Line(words["line"], widths.astype(float), None, "dash"),
                     Line(words["points"], measured[0], 0, "dots", measured[1:]),
                     Line(words["t5"], t5[0], 2, "dots", t5[1:])]
            figure(lines, widths, drawn, axes=("d_k", words["axis"]), log="xy", marks=[(d_k, f"d_k = {d_k:,}")],
                   key="scale-variance", alt=lesson.alt("variance", d_k=d_k, measured=dots.var()))
        for place, name, numbers, deviation in ((middle, "plain", dots, root), (right, "scaled", dots / root, 1.0)):
            edges, shares, theory = score_histogram(numbers, deviation)
            with place:
                figure(histogram, edges, {words[name]: shares}, axes=(words[name], words["share"]),
                       curve=(words["theory"], theory), height=340, key=f"scale-histogram-{name}",
                       alt=words["alt_histogram"].format(name=words[name], spread=numbers.std()))
        lesson.explanation("variance", shown=(sqrt_dk.components, sqrt_dk.rows_of, sqrt_dk.t5_variance),
                           shapes={"dots": dots}, d_k=d_k, measured=dots.var(), spread=dots.std(), root=root,
                           rows=sqrt_dk.draws(rest[0]), divided=(dots / root).var())


def score_histogram(numbers: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (edges, shares, normal distribution's shares) between −4 and 4 standard deviations."""
    edges = np.linspace(-4 * deviation, 4 * deviation, BINS + 1)
    centres = (edges[:-1] + edges[1:]) / 2 / deviation
    theory = np.exp(-(centres**2) / 2) / np.sqrt(2 * np.pi) * 8 / BINS
    return edges, np.histogram(numbers, edges)[0] / numbers.size, theory


def _softmax(page: PageContext, lesson: Lesson) -> None:
    """Draw the entropy and the gradient over d_k."""
    d_k, rest, widths = page.controls["dk"], _rows(page), np.array(sqrt_dk.WIDTHS)
    survey, numbers, bits = sqrt_dk.survey(*rest), sqrt_dk.numbers_at(d_k, *rest), float(np.log2(rest[0]))
    with lesson.section("softmax") as words:
        looks: dict[str, dict] = {
            "entropy": {"axes": ("d_k", words["entropy_axis"]), "log": "x", "y_range": (0, 1.08 * bits),
                        "bounds": [(bits, f"log₂ {rest[0]}")]},
            "slope": {"axes": ("d_k", "‖diag p − p pᵀ‖"), "log": "xy", "y_range": (1e-4, 2)}}
        for place, (name, look) in zip(st.columns(2, gap="small"), looks.items(), strict=True):
            drawn = _curves(words, getattr(survey, name), ("plain", "scaled"))
            with place:
                figure(lines, widths, drawn, marks=[(d_k, f"d_k = {d_k:,}")], key=f"scale-{name}",
                       alt=words[f"alt_{name}"].format(d_k=d_k, **numbers), **look)
        lesson.explanation("softmax", shown=(sqrt_dk.at_width,), shapes={"entropy": survey.entropy["plain"]},
                           d_k=d_k, bits=bits, **numbers)


def _reasons(page: PageContext, lesson: Lesson) -> None:
    """Draw the table of the four reasons: the claim, the measurement, and the conclusion."""
    d_k = page.controls["dk"]
    keys, divisors = page.controls["keys"], {"plain": 1.0, "scaled": d_k**0.5, "grown": d_k**0.5 / sqrt_dk.GROWN}
    overflow = {which: sqrt_dk.overflow_share(d_k, keys, divisor) for which, divisor in divisors.items()}
    overflow |= {str(width): sqrt_dk.overflow_share(width, keys) for width in OVERFLOWING}
    numbers = sqrt_dk.numbers_at(d_k, *_rows(page)) | {
        "factor": sqrt_dk.GROWN, "end": sqrt_dk.FLOAT32_END, "d_k": d_k, "keys": keys,
        **{f"overflow_{which}": f"{100 * share:z.3g}%" for which, share in overflow.items()}}
    with lesson.section("reasons") as words:
        table = [words["table_head"].format(d_k=f"{d_k:,}"), "|---|---|---|---|"]
        table += [f"| {' | '.join(cell.format(**numbers) for cell in row)} |" for row in words["rows"].values()]
        st.markdown("\n".join(table))
        lesson.explanation("reasons", shown=(sqrt_dk.numbers_at, sqrt_dk.overflow_share),
                           shapes={"keys": f"float32 (heads, keys, {d_k})"}, **numbers)


def _training(page: PageContext, lesson: Lesson) -> None:
    """Draw the settings with start and stop, the curves, snapshots of the first training, and a summary."""
    turned = page.controls
    with lesson.section("training") as words:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=320):
                slider_for(page, "width", words["width"], TRAINED_WIDTHS)
            button_setting(page, words["stop" if turned["train"] else "go"].format(starts=STARTS), "train-it",
                           train=not turned["train"])
            if turned["train"]:
                button_setting(page, words["again"], "other-starts", start=(turned["start"] + STARTS) % SEEDS)
        if not turned["train"]:
            st.caption(words["idle"].format(starts=STARTS, models=STARTS * len(DIVISORS)))
            return
        questions = [sqrt_dk.TrainingQuery(turned["width"], (turned["start"] + number) % SEEDS)
                     for number in range(STARTS)]
        trained = list(page.ask_each(questions, height=380, say=lambda number, text: words["progress"].format(
            number=number + 1, starts=STARTS, text=text)))
        ends = {which: np.array([each.end(which) for each in trained]) for which in DIVISORS}
        drawn = []
        for which in DIVISORS:
            runs = np.array([each.right[which].reshape(-1, EVERY).mean(1) for each in trained])
            drawn.append(Line(words["names"][which], runs.mean(0), *LOOKS[which], (runs.min(0), runs.max(0))))
        figure(lines, np.arange(EVERY, sqrt_dk.STEPS + 1, EVERY), drawn, axes=(words["step"], words["share"]),
               y_range=(0, 1.02), height=320, bounds=[(1 / scores.CLASSES, words["guessing"])], key="scale-training",
               alt=lesson.alt("training", starts=STARTS, **{which: each.mean() for which, each in ends.items()}))
        _film(page, words, trained[0])
        rows = [words["table_head"], "|---|---:|---:|---:|"]
        for which, each in ends.items():
            bits = np.mean([training.bits(which) for training in trained])
            rows.append(f"| {words['names'][which]} | {format_share(each.mean(), 0)} | {format_share(each.min(), 0)} – "
                        f"{format_share(each.max(), 0)} | {bits:z.2f} |")
        st.markdown("\n".join(rows))
        beside = {f"{which}_{side}": int((sign * (ends[which] - ends["root"]) > 0).sum())
                  for which in ("none", "width") for side, sign in (("lower", -1), ("higher", 1))}
        lesson.explanation("training", shown=(scores.train, sqrt_dk.run), shapes={"film": trained[0].film["root"]},
                           starts=STARTS, steps=sqrt_dk.STEPS, d_k=turned["width"], last=sqrt_dk.LAST,
                           most=np.log2(scores.SYMBOLS), **beside)


def _film(page: PageContext, words: dict, first: Trainings) -> None:
    """Draw the weights of every symbol on all symbols at the slider's step."""
    slider_for(page, "step", words["film"], range(0, sqrt_dk.STEPS + 1, EVERY), closed=True)
    frame = round(page.controls["step"] / EVERY)
    names = [str(number) for number in range(scores.SYMBOLS)]
    for place, which in zip(st.columns(len(DIVISORS), gap="small"), DIVISORS, strict=True):
        weights, title = first.film[which][frame], words["names"][which]
        with place:
            figure(matrix, weights.round(2), names, names, axes=(words["key"], words["query"]), height=300, title=title,
                   style=CellStyle(ruler=False), angle=0, key=f"scale-film-{which}",
                   alt=words["alt_film"].format(name=title, step=frame * EVERY, own=np.diag(weights).mean()))


def _temperature(page: PageContext, lesson: Lesson) -> None:
    """Draw the entropy over the temperature, with √d_k marked."""
    d_k, rest = page.controls["dk"], _rows(page)
    dots, numbers, root = sqrt_dk.at_width(d_k, *rest)[1], sqrt_dk.numbers_at(d_k, *rest), d_k**0.5
    middle, *band = sqrt_dk.band(sqrt_dk.entropy_over(dots, TEMPERATURES))
    with lesson.section("temperature") as words:
        marks = [(1.0, words["one"]), *([(root, f"T = √{d_k:,} = {root:.3g}")] if d_k > 1 else [])]
        figure(lines, TEMPERATURES, [Line("entropy", middle, 0, band=(band[0], band[1]))],
               axes=tuple(words["axes"]), log="x", marks=marks, height=300,
               bounds=[(np.log2(rest[0]), f"log₂ {rest[0]}")], key="scale-temperature",
               alt=lesson.alt("temperature", d_k=d_k, **numbers))
        st.button(words["see"].format(root=f"{root:.3g}"), key="see-softmax", on_click=page.open_next,
                  args=("softmax",), kwargs={"t": root})
        lesson.explanation("temperature", shown=(sqrt_dk.entropy_over, sqrt_dk.weights_of),
                           shapes={"dots": dots, "T": TEMPERATURES}, root=root, d_k=d_k, **numbers)


def _real(page: PageContext, lesson: Lesson) -> None:
    """Draw a trained head's rows, with and without the division."""
    with lesson.section("real") as words:
        toggle_for(page, "real", words["switch"])
        if not page.controls["real"]:
            return
        record, view = real_head(page, token=False)
        layer = record[view.kind].layer(view.layer)
        if not isinstance(layer, Layer):
            st.info(words["reported"])
            return
        scale = sqrt_dk.head_scale(layer, view.head)
        rows = {words["own"].format(divisor=scale.divisor): scale.entropy["own"],
                words["undone"]: scale.entropy["undone"]}
        means = {name: float(each.mean()) for name, each in scale.entropy.items()}
        figure(bars, list(record[view.kind].queries.texts), rows, axes=tuple(words["axes"]),
               height=340, key="scale-real", alt=lesson.alt("real", layer=view.layer, head=view.head, **means))
        lesson.explanation("real", shown=(sqrt_dk.head_scale,),
                           shapes={"query": layer.query[view.head], "scale": f"{layer.scale:.6g}"},
                           divisor=scale.divisor, d_k=scale.d_k, root=scale.d_k**0.5, q=scale.component[0],
                           k=scale.component[1], predicted=scale.predicted, measured=scale.measured,
                           absorbed=scale.absorbed, model=escape_markdown(record.card.title), **means)
