"""A lesson on positions: none, waves, learned vectors, rotations, slopes and buckets."""
import numpy as np
import streamlit as st

from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import UserError
from clearhead.model.core.statistics import cosines, relative_changes, unit_rows
from clearhead.model.lessons import positions
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Steps, stepped
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.drawing import Markup
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.figures.vector_plane import Points, vector_plane
from clearhead.viz.style.text import Texts, escape_markdown
from clearhead.viz.widgets.fields import choice_for
from clearhead.viz.widgets.layout import flex_row, split
from clearhead.viz.widgets.lesson import LETTERS, QUESTIONS, Lesson, Section, controls_row, lesson_page, section

SENTENCE = ("dog", "bites", "man", "while", "it", "rains")
SHOWN = 16       # most dimensions drawn of an output
ORDERS = {"first": (2, 1, 0, 3, 4, 5), "all": (5, 3, 1, 0, 4, 2), "end": (0, 1, 2, 3, 5, 4)}
ROUNDING = 1e-9  # changes below it are not drawn
SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi")
LENGTH = 128     # number of positions drawn
SHIFTS = tuple(range(-50, 51))   # distances on the sliders
NAMED = 4        # every NAMED-th position on the circle has a label
BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")   # converts digits to subscripts
PAGE = Page("head", asks_at=(("source", "model"),), controls=(
    *QUESTIONS, Choice("guess_far", "", LETTERS), Choice("scheme", "none", SCHEMES),
    Choice("stack", "encoder", ("encoder", "decoder")), Choice("source", "waves", ("waves", "model", "here")),
    Steps("shuffle", len(SENTENCE), len(SENTENCE), ORDERS["first"]),
    stepped("d", 64, (4, 8, 16, 32, 64, 128, 256, 512)),
    Number("wave", 4, 0, 255, whole=True), Number("p", 3, 0, 200, True, tuple(range(101))),
    Number("k", 5, -100, 100, True, SHIFTS), Number("back", -5, -100, 100, True, SHIFTS),
    stepped("heads", 8, (1, 2, 4, 8, 12, 16, 32)),
    Choice("relative", "rotary", ("rotary", "alibi", "buckets"))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    lesson.fragment(_shuffle)
    _table(page, lesson)
    lesson.fragment(_distance)
    lesson.fragment(_turned)
    _beyond(page, lesson)


def _turned(page: PageContext, lesson: Lesson) -> None:
    """Draw the clock hand and the chosen relative scheme (rotary, ALiBi or buckets), which share position, step and
    pair of dimensions."""
    _shift(page, lesson)
    chosen = choice_for(page, "relative", *lesson.prose["relative"].values())
    {"rotary": _rotary, "alibi": _alibi, "buckets": _buckets}[chosen](page, lesson)


@section
def _shuffle(page: PageContext, words: Section) -> None:
    """Draw how much each word's output changes when a small model reads the words in shuffled order."""
    order = page["shuffle"]
    if sorted(order) != list(range(len(SENTENCE))):
        order = ORDERS["first"]
    left, right = split(3, 2)
    with left:
        with flex_row("center"):
            st.markdown(f"{' '.join(SENTENCE)} → **{' '.join(SENTENCE[place] for place in order)}**", width="content")
            words.presets("shuffle", ORDERS)
        before, after = positions.shuffle_outputs(order, page["scheme"], page["stack"] == "decoder")
        style = CellStyle("signed", bound=np.abs(before[:, :SHOWN]).max(), square=False, ruler=False)
        sides = (("before", tuple(range(len(SENTENCE))), before), ("after", order, after))
        for place, (name, places, rows) in zip(split(), sides, strict=True):
            with place:
                if name == "after" and not words.open():
                    words.lesson.covered(name)
                    continue
                names = [SENTENCE[word] for word in places]
                words.tell(order=" ".join(names))
                words.figure(matrix, rows[list(places), :SHOWN], names, height=200, title=words[name],
                             style=style, kind="rows", key=f"positions-{name}")
    with right:
        words.predict()
    if not words.open():
        return
    moved = relative_changes(before, after)
    apart = np.linalg.norm(before - before.mean(0), axis=-1).mean() / np.linalg.norm(before, axis=-1).mean()
    words.tell(most=moved.max(), least=moved.min(), apart=apart)
    with left:
        with flex_row():
            words.choice("scheme", "schemes")
            words.choice("stack", "stacks")
        if moved.max() > ROUNDING:
            words.figure(bars, SENTENCE, {"change": moved}, y_range=(0, max(0.2, 1.1 * moved.max())), height=175,
                         title=words["change"])
    words.explain(positions.shuffle_outputs, relative_changes, notices_in=right)


def _wave_width(page: PageContext) -> int:
    """Return the number of dimensions of the waves, rounded down to an even number."""
    return page["d"] - page["d"] % 2


@section
def _table(page: PageContext, words: Section) -> None:
    """Draw the table of position × dimension for waves or a model's learned vectors, and the wavelengths. For waves
    these follow from the formula; for learned vectors, the strongest wave per dimension, at most as long as the
    table."""
    with controls_row():
        words.choice("source", "sources_of")
        if page["source"] == "waves":
            # sine and cosine need an even number of dimensions
            words.slider("d", say=lambda value: str(value - value % 2))
        table, caption = _vectors(page, words)
    st.caption(caption)
    width = _wave_width(page)
    waves = positions.wavelengths(width)
    if page["source"] == "waves":
        x, drawn, name, bound = 2 * np.arange(len(waves)), waves, words["wavelength"], (2 * np.pi, "2π")
    else:
        drawn, name, bound = positions.strongest_wave(table), words["strongest"], (len(table), str(len(table)))
        x = np.arange(len(drawn))
    words.tell(count=len(table), width=table.shape[1], origin=words["sources_of"][page["source"]],
               d=width, first=waves[0], last=waves[-1],
               longer=(waves > LENGTH).sum(), pairs=len(waves), turn=360 * (LENGTH - 1) / waves[-1])
    left, right = split(3, 2)
    with left:
        words.figure(matrix, table, height=420,
                     style=CellStyle("signed", bound=np.quantile(np.abs(table), 0.995), square=False))
    with right:
        words.figure(lines, x, [Line("wavelength", drawn, 1, "dots")], log="y", axes=("dimension", name),
                     bounds=[bound], height=420, kind="wavelengths")
    words.explain(positions.sinusoidal, positions.wavelengths, positions.strongest_wave)


def _vectors(page: PageContext, words: Texts) -> tuple[np.ndarray, str]:
    """Return the table to draw, float64 (position, d), and its description. Called within a row of controls, so that
    waiting for a model does not move the figure."""
    source, waves = page["source"], positions.sinusoidal(np.arange(LENGTH), 64)
    if source == "here":
        study = positions.beyond()
        return np.array(study["learned"]), words("said_here", trained=study["trained"], tested=study["tested"])
    if source == "waves":
        return positions.sinusoidal(np.arange(LENGTH), _wave_width(page)), words["said_waves"]
    try:
        record = page.record(height=0)
        learned = page.ask(TraceQuery(record.query), height=0).embedded[0].learned
    except UserError as error:
        return waves, escape_markdown(error)
    model, used = escape_markdown(record.card.title), max(len(side.queries.texts) for side in record.maps)
    if learned is None:
        return waves, words("not_learned", model=model, scheme=escape_markdown(record.card.positions), used=used)
    return learned[:LENGTH].astype(np.float64), words("said_model", model=model, count=len(learned),
                                                      drawn=min(len(learned), LENGTH), used=used)


@section
def _distance(page: PageContext, words: Section) -> None:
    """Draw the similarity of any two positions, with and without a matrix in between."""
    back, waves = _signed(page["back"]), page["source"] == "waves"
    with flex_row():
        if waves:
            words.slider("back", say=_signed)
        table, _ = _vectors(page, words.prose["table"])
    square = cosines(table, table)
    mean, low, high = positions.by_distance(square)
    distance = np.arange(1 - len(table), len(table))
    shown = np.abs(distance) <= 3 * len(table) // 4
    drawn = [Line(words["cosine"], mean[shown], 0, band=(low[shown], high[shown]))]
    if waves:
        turned = positions.compare_rows(table, positions.shift(page["back"], table.shape[1]))
        drawn.append(Line(words("through", k=back), positions.by_distance(turned)[0][shown], 1, "dash"))
    half = mean[len(table) - 1:]   # distances from 0 on
    words.tell(near=mean[len(table)], k=back, low=half.min(), lowest=half.argmin(), far=half[-1],
               farthest=len(half) - 1, width=(high - low).max())
    left, right = split()
    with left:
        words.figure(lines, distance[shown], drawn, height=360)
    with right:
        words.figure(matrix, square, height=360, style=CellStyle("signed", bound=1.0), kind="matrix")
    words.explain(unit_rows, cosines, positions.compare_rows, positions.by_distance)


def _signed(steps: int) -> str:
    return f"{steps:+d}".replace("-", "−")


@section
def _shift(page: PageContext, words: Section) -> None:
    """Draw one pair of dimensions as a clock hand; each step of k turns it by the same angle at any position."""
    width = _wave_width(page)
    left, right = split(1, 2)
    with left:
        place, steps = words.slider("p"), words.slider("k")
        pair = words.slider("wave", range(width // 2), say=lambda each: f"{2 * each}, {2 * each + 1}")
    turn = min(33, int(positions.wavelengths(width)[pair]) + 1)   # positions per turn, limited to 33
    ring, hands = (positions.sinusoidal(spots, width)[:, [2 * pair + 1, 2 * pair]]
                   for spots in (np.arange(turn), [place, place + steps]))
    names = [str(number) if number % NAMED == 0 else Markup("") for number in range(turn)]
    spots, rotation = np.arange(0, 1000), positions.shift(steps, width)
    error = np.abs(positions.sinusoidal(spots, width) @ rotation - positions.sinusoidal(spots + steps, width)).max()
    words.tell(degrees=np.degrees(steps * positions.rates(width)[pair]), d=width, error=error,
               pair=f"{2 * pair}, {2 * pair + 1}")
    with right:
        words.figure(vector_plane, Points(ring, names), height=380,
                     arrows=[(f"p = {place}", hands[0]), (f"p + k = {place + steps}", hands[1])])
    words.explain(positions.shift)


@section
def _rotary(page: PageContext, words: Section) -> None:
    """Draw one pair of dimensions of a query and a key, rotated by their positions, and the whole score, which depends
    only on their distance."""
    query, key = np.random.default_rng(4).normal(size=(2, 32)) + 0.8
    square = positions.rotary_scores(query, key, LENGTH)
    far, place, steps = np.arange(-40, 41), page["p"], page["k"]
    pair = min(page["wave"], len(query) // 2 - 1)
    cut, rate = slice(2 * pair, 2 * pair + 2), np.degrees(positions.rates(len(query))[pair])
    words.tell(plain=query @ key, spread=max(np.ptp(np.diagonal(square, offset)) for offset in far),
               same=square[50, 50], pair=f"{2 * pair}, {2 * pair + 1}", key=place + steps,
               angle=place * rate, key_angle=(place + steps) * rate)
    dots = Points(np.stack([query[cut], key[cut]]), ["q", "k"])
    arrows = [(f"{name} at {at}", positions.rotate(vector, np.array([at]))[0, cut])
              for name, vector, at in (("q", query, place), ("k", key, place + steps))]
    left, right = split(2, 3)
    with left:
        words.figure(vector_plane, dots, arrows=arrows, height=360, kind="turned",
                     axes=(f"dimension {2 * pair}", f"dimension {2 * pair + 1}"))
    with right:
        drawn = [Line(words("at", i=i), square[i, i + far], colour, style) for colour, (i, style) in
                 enumerate(((41, "solid"), (60, "dash"), (86, "dot")))]
        words.figure(lines, far, drawn, height=360,
                     marks=[(steps, f"k = {steps}")] if abs(steps) <= 40 else ())
    words.explain(positions.rotate, positions.rotary_scores)


@section
def _alibi(page: PageContext, words: Section) -> None:
    """Draw ALiBi: each head subtracts its slope times the distance from the scores."""
    count, distance = words.slider("heads"), np.arange(0, 65)
    slopes = positions.alibi_slopes(count)
    shown = range(count) if count <= 8 else map(round, np.linspace(0, count - 1, 8))
    drawn = [Line(words("head", h=str(h).translate(BELOW), m=slopes[h]), np.exp(-slopes[h] * distance), place)
             for place, h in enumerate(shown)]
    words.tell(first=slopes[0], last=slopes[-1], halves_near=np.log(2) / slopes[0],
               halves_far=np.log(2) / slopes[-1])
    words.figure(lines, distance, drawn, y_range=(0, 1.02))
    words.explain(positions.alibi_slopes)


@section
def _buckets(page: PageContext, words: Section) -> None:
    """Draw T5's distance buckets, which become wider with distance."""
    offset = np.arange(-150, 151)
    both, back = positions.t5_bucket(offset), positions.t5_bucket(offset, both_ways=False)
    counts = np.unique(both, return_counts=True)[1]
    words.tell(exact=(counts == 1).sum(), used=len(counts),
               last_encoder=-offset[both == both[0]].max(), last_decoder=-offset[back == back[0]].max())
    words.figure(lines, offset, [Line(words["encoder"], both, 0), Line(words["decoder"], back, 1, "dash")],
                 marks=[(128, "128"), (-128, "−128")], height=320)
    words.explain(positions.t5_bucket)


@section
def _beyond(page: PageContext, words: Section) -> None:
    """Draw training on 32 tokens and testing on 128: the accuracy at each position, as mean and range over seeds."""
    study = positions.beyond()
    trained, first = study["trained"], study["back"]
    runs, chance = {name: np.array(run) for name, run in study["accuracy"].items()}, 1 / (study["vocabulary"] - 1)
    drawn = [Line.of_runs(words["names"][name], run, colour)
             for colour, (name, run) in enumerate(runs.items())]
    # the trained positions, as many beyond them, and the rest
    parts = {"in": slice(trained - first), "next": slice(trained - first, 2 * trained - first),
             "out": slice(2 * trained - first, None)}
    means = {name: {part: run[:, places].mean() for part, places in parts.items()} for name, run in runs.items()}
    words.predict("guess_far", means=means)
    if words.hidden("guess_far"):
        return
    words.tell(chance=chance, seeds=len(study["seeds"]), beyond=2 * trained, last_next=2 * trained - 1, study=study,
               means=means)
    words.figure(lines, np.arange(first, study["tested"]), drawn, y_range=(0, 1.03), height=380,
                 marks=[(trained, words("limit"))], bounds=[(chance, words["guessing"])])
    words.explain(positions.beyond)
