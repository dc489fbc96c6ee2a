"""Where am I? What a Transformer knows of the places of its words: nothing, waves, learned vectors, rotations, a slope,
buckets."""
import numpy as np
import streamlit as st

from model.core.models import TraceQuery
from model.core.query import UserError
from model.core.statistics import cosines, unit_rows
from model.lessons import positions
from viz.figures.bars import bars
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Steps
from viz.pages.positions.relative import (
    LENGTH,
    alibi_section,
    bucket_section,
    rotary_section,
    shift_section,
    wave_width,
)
from viz.text import escape_markdown
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.lesson import LETTERS, QUESTIONS, Lesson, computing

WORDS = ("dog", "bites", "man", "while", "it", "rains")
SHOWN = 16   # dimensions of an output that are drawn
ORDERS = {"first": (2, 1, 0, 3, 4, 5), "all": (5, 3, 1, 0, 4, 2), "end": (0, 1, 2, 3, 5, 4)}
SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi")
HEADS = 8    # with ALiBi's slopes, until others are chosen
SOURCES = ("waves", "model", "here")
PAGE = Page("Where am I? Positions", "Learn", 6, "head", asks_at=(("source", "model"),), controls=(
    *QUESTIONS, Choice("guess_far", "", LETTERS), Choice("scheme", "none", SCHEMES),
    Choice("stack", "encoder", ("encoder", "decoder")),
    Steps("shuffle", len(WORDS), len(WORDS), ORDERS["first"]), Choice("source", "waves", SOURCES),
    Number("d", 64, 4, 512, whole=True),
    Number("wave", 4, 0, 255, whole=True), Number("p", 3, 0, 200, whole=True), Number("k", 5, -100, 100, whole=True),
    Number("back", -5, -100, 100, whole=True), Number("heads", HEADS, 1, 32, whole=True),
    Choice("relative", "", ("rotary", "alibi", "buckets"))))
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "positions")
    lesson.header()
    lesson.fragment(_shuffle)
    _table(page, lesson)
    lesson.fragment(_distance)
    lesson.fragment(_turned)
    _beyond(lesson)
    lesson.end()


def _turned(page: PageContext, lesson: Lesson) -> None:
    """The sections that share position, steps and pair of dimensions, and those that stand in the same place."""
    shift_section(page, lesson)
    # a link to other heads is one to ALiBi
    at_first = "rotary" if page.controls["heads"] == HEADS else "alibi"
    words, chosen = lesson.prose["relative"], page.controls["relative"] or at_first
    st.segmented_control(words["scheme"], list(words["schemes"]), format_func=words["schemes"].__getitem__,
                         required=True, wrap=True, **bind(page.set, "relative", chosen))
    if chosen == "rotary":
        rotary_section(page, lesson)
    elif chosen == "alibi":
        alibi_section(page, lesson)
    else:
        bucket_section(lesson)


def _shuffle(page: PageContext, lesson: Lesson) -> None:
    """A small model reads the words in order and shuffled; by how much does each word's output differ?"""
    words = lesson.prose["shuffle"]
    scheme, causal = page.controls["scheme"], page.controls["stack"] == "decoder"
    order = page.controls["shuffle"] if sorted(page.controls["shuffle"]) == list(range(len(WORDS))) else ORDERS["first"]
    with lesson.section("shuffle"):
        left, right = st.columns([3, 2], gap="medium")
        with left:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{' '.join(WORDS)} → **{' '.join(WORDS[place] for place in order)}**", width="content")
                for name, shuffled in ORDERS.items():
                    button_setting(page, words["orders"][name], f"shuffle-{name}", shuffle=shuffled)
            with computing():
                before, after = positions.shuffle_outputs(order, scheme, causal)
            _before_and_after(lesson, order, before, after if lesson.answered else None)
        with right:
            lesson.predict()
        if not lesson.answered:
            return
        moved = positions.changes(before, after)
        top = max(0.2, 1.1 * float(moved.max()))
        with left:
            with st.container(horizontal=True):
                choice_for(page, "scheme", words["scheme"], words["schemes"])
                choice_for(page, "stack", words["stack"], words["stacks"])
            figure(lambda theme: bars(theme, WORDS, {"change": moved}, axes=(words["word"], words["changed"]),
                                      y_range=(0, top), height=175,
                                      title=words["still" if moved.max() < 1e-9 else "change"]),
                   key="positions-shuffle",
                   alt=lesson.alt("shuffle", scheme=scheme, most=moved.max(), least=moved.min()))
        apart = np.linalg.norm(before - before.mean(0), axis=-1).mean() / np.linalg.norm(before, axis=-1).mean()
        lesson.explanation("shuffle", shown=(positions.shuffle_outputs, positions.changes), shapes={"outputs": before},
                           notices_in=right,
                           most=float(moved.max()), least=float(moved.min()), apart=apart,
                           hint=words["hints"]["told" if scheme != "none" else "mask" if causal else "blind"])


def _before_and_after(lesson: Lesson, order: tuple[int, ...], before: np.ndarray, after: np.ndarray | None) -> None:
    """The outputs in both orders, a row per word; after: None while nobody may see it."""
    words, style = lesson.prose["shuffle"], CellStyle("signed", bound=float(np.abs(before[:, :SHOWN]).max()),
                                                      square=False, ruler=False)
    columns = [str(dimension) for dimension in range(SHOWN)]
    pictures = (("before", range(len(order)), before), ("after", order, after))
    for place, (name, places, rows) in zip(st.columns(2, gap="medium"), pictures, strict=True):
        with place:
            if rows is None:
                lesson.placeholder(name, height=200)
                continue
            names, drawn = [WORDS[word] for word in places], rows[list(places), :SHOWN]
            figure(lambda theme, name=name, names=names, drawn=drawn: matrix(
                theme, drawn, names, columns, axes=("dimension", ""), height=200, title=words[name], style=style),
                   key=f"positions-{name}", alt=words["alt_rows"].format(order=" ".join(names)))


def _table(page: PageContext, lesson: Lesson) -> None:
    """Position × dimension: the waves, or vectors that a model learned."""
    words = lesson.prose["table"]
    with lesson.section("table"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            choice_for(page, "source", words["source"], words["sources_of"])
            if page.controls["source"] == "waves":
                # the waves come in pairs
                slider_for(page, "d", words["d"], WIDTHS, say=lambda value: str(value - value % 2))
            table, caption = _vectors(page, words)
        st.caption(caption)
        bound = float(np.quantile(np.abs(table), 0.995))
        every = [str(place) for place in range(len(table))]
        left, right = st.columns([3, 2], gap="medium")
        with left:
            figure(lambda theme: matrix(theme, table, every, [str(dimension) for dimension in range(table.shape[1])],
                                        axes=("dimension", "position"), height=420,
                                        style=CellStyle("signed", bound=bound, square=False)),
                   key="positions-table",
                   alt=lesson.alt("table", count=len(table), width=table.shape[1],
                                  source=words["sources_of"][page.controls["source"]]))
        with right:
            _wavelengths(page, table, words)
        width = wave_width(page)
        waves = positions.wavelengths(width)
        lesson.explanation("table", shown=(positions.sinusoidal, positions.wavelengths, positions.strongest_wave),
                           shapes={"table": table}, d=width, first=waves[0], last=waves[-1],
                           longer=int((waves > LENGTH).sum()), pairs=len(waves), turn=360 * (LENGTH - 1) / waves[-1],
                           learned=words["learned"]["waves" if page.controls["source"] == "waves" else "chosen"])


def _wavelengths(page: PageContext, table: np.ndarray, words: dict) -> None:
    """By formula for the waves; for learned vectors the strongest wave of each dimension, which no table of n rows can
    tell beyond n."""
    waves, strongest = positions.wavelengths(wave_width(page)), positions.strongest_wave(table)
    own = page.controls["source"] == "waves"
    x, drawn = (2 * np.arange(len(waves)), waves) if own else (np.arange(len(strongest)), strongest)
    name = words["wavelength" if own else "strongest"]
    bounds = [(2 * np.pi, "2π")] if own else [(len(table), str(len(table)))]
    figure(lambda theme: lines(theme, x, [Line("wavelength", drawn, 1, "dots")], log="y", axes=("dimension", name),
                               bounds=bounds, height=420),
           key="positions-wavelengths", alt=words["alt_wavelengths"].format(first=drawn[0], last=drawn[-1]))


def _vectors(page: PageContext, words: dict) -> tuple[np.ndarray, str]:
    """The table that is shown, float64 (position, d), and what it is. Called in a row of controls, so that a wait for a
    model moves no picture."""
    source, waves = page.controls["source"], positions.sinusoidal(np.arange(LENGTH), 64)
    if source == "here":
        study = positions.beyond()
        return np.array(study["learned"]), words["said_here"].format(trained=study["trained"], tested=study["tested"])
    if source == "waves":
        return positions.sinusoidal(np.arange(LENGTH), wave_width(page)), words["said_waves"]
    try:
        record = page.record(height=0)
        learned = page.ask(TraceQuery(record.query), height=0).embedded[0].learned
    except UserError as error:
        return waves, escape_markdown(str(error))
    model, used = escape_markdown(record.card.title), max(len(side.queries.texts) for side in record.maps)
    if learned is None:
        return waves, words["not_learned"].format(model=model, scheme=escape_markdown(record.card.positions), used=used)
    return learned[:LENGTH].astype(np.float64), words["said_model"].format(
        model=model, count=len(learned), drawn=min(len(learned), LENGTH), used=used)


def _distance(page: PageContext, lesson: Lesson) -> None:
    """The similarity of any two places, and what a matrix between the two makes of it."""
    words, back, waves = lesson.prose["distance"], _signed(page.controls["back"]), page.controls["source"] == "waves"
    with lesson.section("distance"):
        with st.container(horizontal=True):
            if waves:
                slider_for(page, "back", words["back"], range(-50, 51), say=_signed)
            table, _ = _vectors(page, lesson.prose["table"])
        square = cosines(table, table)
        mean, low, high = positions.by_distance(square)
        distance = np.arange(1 - len(table), len(table))
        shown = np.abs(distance) <= 3 * len(table) // 4
        drawn = [Line(words["cosine"], mean[shown], 0, band=(low[shown], high[shown]))]
        if waves:
            moved = positions.compare_rows(table, positions.shift(page.controls["back"], table.shape[1]))
            through = positions.by_distance(moved)[0]
            drawn.append(Line(words["through"].format(k=back), through[shown], 1, "dash"))
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: lines(theme, distance[shown], drawn, axes=(words["axis"], words["cosine"]),
                                       height=360),
                   key="positions-distance", alt=lesson.alt("distance", near=mean[len(table)], far=mean[-1]))
        with right:
            names = [str(place) for place in range(len(table))]
            figure(lambda theme: matrix(theme, square, names, names, axes=("position", "position"), height=360,
                                        style=CellStyle("signed", bound=1.0)),
                   key="positions-cosines", alt=words["alt_matrix"])
        kind = "waves" if waves else "learned"
        half = mean[len(table) - 1:][:1 + 3 * (len(table) + 1) // 4]   # from distance 0 to the farthest drawn
        lesson.explanation("distance", shown=(unit_rows, cosines, positions.compare_rows, positions.by_distance),
                           shapes={"table": table, "cosines": square}, near=mean[len(table)],
                           low=half.min(), lowest=int(half.argmin()), far=half[-1],
                           farthest=len(half) - 1, width=float((high - low).max()),
                           band=words["bands"][kind],
                           asymmetry=float(np.abs(mean - mean[::-1]).max()),
                           dashed=words["dashed"][kind].format(back=back))


def _signed(steps: int) -> str:
    return f"{steps:+d}".replace("-", "−")


def _beyond(lesson: Lesson) -> None:
    """Trained to 32 tokens, tested to 128: the accuracy at each position, the mean over seeds with their range."""
    words, study = lesson.prose["beyond"], positions.beyond()
    place = np.arange(study["back"], study["tested"])
    with lesson.section("beyond"):
        seen = lesson.predict("guess_far")
        runs = {name: np.array(run) for name, run in study["accuracy"].items()}
        chance = 1 / (study["vocabulary"] - 1)
        if seen:
            drawn = [Line(words["names"][name], run.mean(0), colour, band=(run.min(0), run.max(0)))
                     for colour, (name, run) in enumerate(runs.items())]
            figure(lambda theme: lines(theme, place, drawn, axes=("position", words["accuracy"]), y_range=(0, 1.03),
                                       height=380,
                                       marks=[(study["trained"], words["trained"].format(trained=study["trained"]))],
                                       bounds=[(chance, words["chance"])]), key="positions-beyond",
                   alt=lesson.alt("beyond", **accuracy_by_length(runs, study)))
            lesson.explanation("beyond", shown=(positions.beyond,), shapes=runs, chance=chance,
                               **{name: study[name]
                                        for name in ("command", "machine", "date", "steps", "torch", "trained")},
                               seeds=len(study["seeds"]), beyond=2 * study["trained"],
                               last_next=2 * study["trained"] - 1, **accuracy_by_length(runs, study))
        else:
            lesson.placeholder("beyond")


def accuracy_by_length(runs: dict[str, np.ndarray], study: dict) -> dict[str, float]:
    """The mean accuracy of each scheme on the trained positions, from there to twice the trained length, and beyond, by
    NAME_in, NAME_next and NAME_out."""
    first, second = study["trained"] - study["back"], 2 * study["trained"] - study["back"]
    parts = {"in": slice(first), "next": slice(first, second), "out": slice(second, None)}
    return {f"{name}_{part}": float(run[:, places].mean()) for name, run in runs.items()
            for part, places in parts.items()}
