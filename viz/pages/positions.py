"""Where am I? What a Transformer knows of the places of its words: nothing, waves, learned vectors, rotations, a slope,
buckets."""
import numpy as np
import streamlit as st

from model.core.query import UserError
from model.core.statistics import cosines, unit_rows
from model.core.trace import TraceQuery
from model.lessons import positions
from viz.figures.bars import bars
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.figures.vector_plane import Points, vector_plane
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Steps
from viz.text import escape_markdown
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import GUESS, LETTERS, Lesson, computing

WORDS = ("dog", "bites", "man", "while", "it", "rains")
ORDERS = {"first": (2, 1, 0, 3, 4, 5), "all": (5, 3, 1, 0, 4, 2), "end": (0, 1, 2, 3, 5, 4)}
SCHEMES = ("none", "sinusoidal", "learned", "rotary", "alibi")
SOURCES = ("waves", "model", "here")
PAGE = Page("Where am I? Positions", "Learn", 3, "nothing", controls=(
    GUESS, Choice("guess_far", "", LETTERS), Choice("scheme", "none", SCHEMES),
    Choice("stack", "encoder", ("encoder", "decoder")),
    Steps("shuffle", len(WORDS), len(WORDS), ORDERS["first"]), Choice("source", "waves", SOURCES),
    Number("d", 64, 4, 512, whole=True),
    Number("wave", 4, 0, 255, whole=True), Number("p", 3, 0, 200, whole=True), Number("k", 5, -100, 100, whole=True),
    Number("back", -5, -100, 100, whole=True), Number("heads", 8, 1, 32, whole=True)))
BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")   # digits as indices
LENGTH = 128                                  # positions that are drawn
WAVES = (0, 2, 5, 10, 20)                     # pairs of dimensions drawn as waves, where there are so many
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)


def render(page: PageContext) -> None:
    lesson = Lesson(page, "positions")
    lesson.header()
    revealed = lesson.predict()
    lesson.fragment(_shuffle, page, lesson, revealed)
    lesson.fragment(_table, page, lesson, depends_on=lesson.controls("source", "d"))
    lesson.fragment(_distance, page, lesson)
    lesson.fragment(_turned, page, lesson)
    lesson.fragment(_alibi, page, lesson)
    _buckets(lesson)
    _beyond(lesson)
    lesson.next_lesson()


def _turned(page: PageContext, lesson: Lesson) -> None:
    """The sections that share position, steps and pair of dimensions."""
    _shift(page, lesson)
    _rotary(page, lesson)


def _shuffle(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """A small model reads the words in order and shuffled; by how much does each word's output differ?"""
    words = lesson.prose["shuffle"]
    scheme, causal = page.controls["scheme"], page.controls["stack"] == "decoder"
    order = page.controls["shuffle"] if sorted(page.controls["shuffle"]) == list(range(len(WORDS))) else ORDERS["first"]
    with lesson.section("shuffle"):
        with st.container(horizontal=True):
            choice_for(page, "scheme", words["scheme"], words["schemes"])
            choice_for(page, "stack", words["stack"], words["stacks"])
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{' '.join(WORDS)} → **{' '.join(WORDS[each] for each in order)}**", width="content")
            for name, each in ORDERS.items():
                button_setting(page, words["orders"][name], f"shuffle-{name}", shuffle=each)
        if not revealed:
            lesson.placeholder("shuffle")
            return
        with computing():
            before, after = positions.shuffled(order, scheme, causal)
        moved = positions.changes(before, after)
        bound = float(np.abs(before[:, :16]).max())
        pictures = (("before", range(len(order)), before), ("after", order, after))
        for column, (name, read, rows) in zip(st.columns(2, gap="medium"), pictures, strict=True):
            names, drawn = [WORDS[word] for word in read], rows[list(read), :16]
            with column:
                figure(lambda theme, name=name, names=names, drawn=drawn: matrix(theme, drawn, names, [str(each) for each in range(16)], axes=("dimension", ""), height=250, title=words[name], style=CellStyle("signed", bound=bound, square=False)),
                       key=f"positions-{name}", alt=words["alt_rows"].format(order=" ".join(names)))
        top, still = max(0.2, 1.1 * float(moved.max())), words["still"] if moved.max() < 1e-9 else ""
        figure(lambda theme: bars(theme, WORDS, {"change": moved}, axes=(words["word"], words["change"]),
                                  y_range=(0, top), height=280, title=still),
               key="positions-shuffle", alt=lesson.alt("shuffle", scheme=scheme, most=moved.max(), least=moved.min()))
        verdict = words["verdicts"]["same" if moved.max() < 1e-9 else "some" if moved.min() < 1e-9 else "all"]
        lesson.explanation("shuffle", shown=(positions.shuffled, positions.changes), shapes={"outputs": before},
                     most=moved.max(), least=moved.min(),
                     verdict=verdict, apart=np.linalg.norm(before - before.mean(0), axis=-1).mean()
                     / np.linalg.norm(before, axis=-1).mean())


def _table(page: PageContext, lesson: Lesson) -> None:
    """Position × dimension: the waves, or vectors that a model learned."""
    words = lesson.prose["table"]
    with lesson.section("table"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            choice_for(page, "source", words["source"], words["sources_of"])
            if page.controls["source"] == "waves":
                # the waves come in pairs
                slider_for(page, "d", words["d"], WIDTHS, say=lambda each: str(each - each % 2))
            table, said = _vectors(page, words)
        st.caption(said)
        bound = float(np.quantile(np.abs(table), 0.995))
        every = [str(place) for place in range(len(table))]
        figure(lambda theme: matrix(theme, table, every, [str(each) for each in range(table.shape[1])], axes=("dimension", "position"), height=420, style=CellStyle("signed", bound=bound, square=False)), key="positions-table",
               alt=lesson.alt("table", count=len(table), width=table.shape[1],
                              source=words["sources_of"][page.controls["source"]]))
        pairs = [pair for pair in WAVES if 2 * pair < table.shape[1]]
        drawn = [Line(words["dimension"].format(number=2 * pair), table[:, 2 * pair], place)
                 for place, pair in enumerate(pairs)]
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: lines(theme, np.arange(len(table)), drawn, axes=("position", "value"), height=320),
                   key="positions-waves",
                   alt=words["alt_waves"].format(dimensions=", ".join(str(2 * pair) for pair in pairs)))
        with right:
            _wavelengths(page, table, words)
        width = _width(page)
        waves = positions.wavelengths(width)
        lesson.explanation("table", shown=(positions.sinusoidal, positions.wavelengths, positions.strongest_wave),
                           shapes={"table": table}, d=width, first=waves[0], last=waves[-1],
                           longer=int((waves > LENGTH).sum()), pairs=len(waves))


def _width(page: PageContext) -> int:
    """The width of the waves, made even."""
    return page.controls["d"] - page.controls["d"] % 2


def _wavelengths(page: PageContext, table: np.ndarray, words: dict) -> None:
    """By formula for the waves; for learned vectors the strongest wave of each dimension, which no table of n rows can
    tell beyond n."""
    waves, strongest = positions.wavelengths(_width(page)), positions.strongest_wave(table)
    own = page.controls["source"] == "waves"
    x, drawn = (2 * np.arange(len(waves)), waves) if own else (np.arange(len(strongest)), strongest)
    name, bounds = words["wavelength" if own
                         else "strongest"], [(2 * np.pi, "2π")] if own else [(len(table), str(len(table)))]
    figure(lambda theme: lines(theme, x, [Line("wavelength", drawn, 1, "dots")], log="y", axes=("dimension", name),
                               bounds=bounds, height=320),
           key="positions-wavelengths", alt=words["alt_wavelengths"].format(first=drawn[0], last=drawn[-1]))


def _vectors(page: PageContext, words: dict) -> tuple[np.ndarray, str]:
    """The table that is shown, float64 (position, d), and what it is. Called in a row of controls, so that a wait for a
    model moves no picture."""
    source = page.controls["source"]
    if source == "here":
        found = positions.beyond()
        return np.array(found["learned"]), words["said_here"].format(trained=found["trained"], tested=found["tested"])
    if source == "model":
        try:
            record = page.record(height=0)
            learned = page.ask(TraceQuery(record.query), height=0).embedded[0].learned
            if learned is not None:
                return learned[:LENGTH].astype(np.float64), words["said_model"].format(
                    model=escape_markdown(record.card.title), count=len(learned))
            return positions.sinusoidal(np.arange(LENGTH),
                                        64), words["not_learned"].format(model=escape_markdown(record.card.title),
                                                                               scheme=escape_markdown(
                                                                                   record.card.positions))
        except UserError as error:
            return positions.sinusoidal(np.arange(LENGTH), 64), escape_markdown(str(error))
    return positions.sinusoidal(np.arange(LENGTH), _width(page)), words["said_waves"]


def _distance(page: PageContext, lesson: Lesson) -> None:
    """The similarity of any two places, and what a matrix between the two makes of it."""
    words, said, waves = lesson.prose["distance"], _signed(page.controls["back"]), page.controls["source"] == "waves"
    with lesson.section("distance"):
        with st.container(horizontal=True):
            if waves:
                slider_for(page, "back", words["back"], range(-50, 51), say=_signed)
            table, _ = _vectors(page, lesson.prose["table"])
        square = cosines(table, table)
        mean, low, high = positions.by_distance(square)
        distance = np.arange(1 - len(table), len(table))
        kept = np.abs(distance) <= 3 * len(table) // 4
        drawn = [Line(words["cosine"], mean[kept], 0, band=(low[kept], high[kept]))]
        if waves:
            through = positions.by_distance(positions.compared(table,
                                                               positions.shift(page.controls["back"], table.shape[1])))[
                                                                   0]
            drawn.append(Line(words["through"].format(k=said), through[kept], 1, "dash"))
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: lines(theme, distance[kept], drawn, axes=(words["axis"], words["cosine"]), height=360),
                   key="positions-distance", alt=lesson.alt("distance", near=mean[len(table)], far=mean[-1]))
        with right:
            names = [str(place) for place in range(len(table))]
            figure(lambda theme: matrix(theme, square, names, names, axes=("position", "position"), height=360, style=CellStyle("signed", bound=1.0)),
                   key="positions-cosines", alt=words["alt_matrix"])
        lesson.explanation("distance", shown=(unit_rows, cosines, positions.compared, positions.by_distance),
                           shapes={"table": table, "cosines": square}, near=mean[len(table)], back=said,
                           width=float((high - low).max()), asymmetry=float(np.abs(mean - mean[::-1]).max()))


def _signed(steps: int) -> str:
    return f"{steps:+d}".replace("-", "−")


def _shift(page: PageContext, lesson: Lesson) -> None:
    """One pair of dimensions is a clock hand; k steps on turn it by the same angle wherever one is."""
    words, width = lesson.prose["shift"], _width(page)
    place, steps, pair = page.controls["p"], page.controls["k"], min(page.controls["wave"], width // 2 - 1)
    with lesson.section("shift"):
        left, right = st.columns([1, 2], gap="medium")
        with left:
            slider_for(page, "p", words["p"], range(0, 101), say=str)
            slider_for(page, "k", words["k"], range(-50, 51), say=str)
            slider_for(page, "wave", words["wave"], range(width // 2), say=lambda each: f"{2 * each}, {2 * each + 1}",
                       closed=True)
        ring = positions.sinusoidal(np.arange(min(33, int(positions.wavelengths(width)[pair]) + 1)),
                                    width)[:, [2 * pair + 1, 2 * pair]]
        hands = positions.sinusoidal([place, place + steps], width)[:, [2 * pair + 1, 2 * pair]]
        names = [str(each) for each in range(len(ring))]
        with right:
            figure(lambda theme: vector_plane(theme, Points(ring, names), axes=(words["cosine"], words["sine"]),
                                              height=380,
                                              arrows=[(f"p = {place}", hands[0]),
                                                      (f"p + k = {place + steps}", hands[1])]),
                   key="positions-clock",
                   alt=lesson.alt("shift", p=place, k=steps, degrees=np.degrees(steps * positions.rates(width)[pair])))
        spots = np.arange(0, 1000)
        error = np.abs(positions.sinusoidal(spots, width) @ positions.shift(steps, width)
                       - positions.sinusoidal(spots + steps, width)).max()
        lesson.explanation("shift", shown=(positions.shift,), shapes={"matrix": positions.shift(steps, width)}, k=steps,
                           error=float(error), d=width, degrees=float(np.degrees(steps * positions.rates(width)[pair])),
                           pair=f"{2 * pair}, {2 * pair + 1}")


def _rotary(page: PageContext, lesson: Lesson) -> None:
    """One pair of dimensions of a query and a key, turned by their places; and the whole score, which knows their
    distance only."""
    words, draw = lesson.prose["rotary"], np.random.default_rng(4)
    query, key = draw.normal(size=(2, 32)) + 0.8
    square = positions.rotary_scores(query, key, LENGTH)
    far, place, steps = np.arange(-40, 41), page.controls["p"], page.controls["k"]
    pair = min(page.controls["wave"], len(query) // 2 - 1)
    cut = slice(2 * pair, 2 * pair + 2)
    hands = {words["query"]: query[cut], words["key"]: key[cut],
             words["query_at"].format(p=place): positions.rotate(query, place)[cut],
             words["key_at"].format(p=place + steps): positions.rotate(key, place + steps)[cut]}
    with lesson.section("rotary"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            dots = Points(np.stack(list(hands.values())[:2]), list(hands)[:2])
            figure(lambda theme: vector_plane(theme, dots,
                                       axes=(words["dimension"].format(number=2 * pair),
                                             words["dimension"].format(number=2 * pair + 1)),
                                       arrows=list(hands.items())[2:], height=360), key="positions-turned",
                   alt=words["alt_turned"].format(p=place, key=place + steps, pair=f"{2 * pair}, {2 * pair + 1}"))
        with right:
            drawn = [Line(words["at"].format(i=i), square[i, i + far], colour, style) for colour, (i, style) in
                     enumerate(((41, "solid"), (60, "dash"), (86, "dot")))]
            figure(lambda theme: lines(theme, far, drawn, axes=(words["axis"], "q · k"), height=360,
                                       marks=[(steps, f"k = {steps}")] if abs(steps) <= 40 else ()),
                   key="positions-rotary", alt=lesson.alt("rotary", same=square[50, 50]))
        spread = max(float(np.ptp(np.diagonal(square, offset))) for offset in far)
        rate = float(np.degrees(positions.rates(len(query))[pair]))
        lesson.explanation("rotary", shown=(positions.rotate, positions.rotary_scores),
                           shapes={"query": query, "scores": square}, spread=spread, plain=float(query @ key),
                           same=float(square[50, 50]), pair=f"{2 * pair}, {2 * pair + 1}", p=place, key=place + steps,
                           angle=place * rate, key_angle=(place + steps) * rate)


def _alibi(page: PageContext, lesson: Lesson) -> None:
    words, count = lesson.prose["alibi"], page.controls["heads"]
    slopes, distance = positions.alibi_slopes(count), np.arange(0, 65)
    with lesson.section("alibi"):
        slider_for(page, "heads", words["heads"], (1, 2, 4, 8, 12, 16, 32), say=str)
        shown = range(count) if count <= 8 else [round(each) for each in np.linspace(0, count - 1, 8)]
        drawn = [Line(words["head"].format(h=str(h).translate(BELOW), m=slopes[h]), np.exp(-slopes[h] * distance),
                      place)
                 for place, h in enumerate(shown)]
        figure(lambda theme: lines(theme, distance, drawn, axes=(words["axis"], words["factor"]), y_range=(0, 1.02),
                                   height=340),
               key="positions-alibi", alt=lesson.alt("alibi", heads=count, first=slopes[0], last=slopes[-1]))
        lesson.explanation("alibi", shown=(positions.alibi_slopes, positions.alibi_bias),
                           shapes={"bias": positions.alibi_bias(count, 64)}, heads=count, first=slopes[0],
                           last=slopes[-1], near=float(np.log(2) / slopes[0]), far=float(np.log(2) / slopes[-1]))


def _buckets(lesson: Lesson) -> None:
    words, offset = lesson.prose["buckets"], np.arange(-150, 151)
    both, back = positions.t5_bucket(offset), positions.t5_bucket(offset, both_ways=False)
    with lesson.section("buckets"):
        figure(lambda theme: lines(theme, offset,
                                   [Line(words["encoder"], both, 0), Line(words["decoder"], back, 1, "dash")],
                                   axes=(words["axis"], words["bucket"]), marks=[(128, "128"), (-128, "−128")],
                                   height=320), key="positions-buckets",
               alt=lesson.alt("buckets", count=len(set(both.tolist()))))
        exact = int(sum((both == bucket).sum() == 1 for bucket in set(both.tolist())))
        lesson.explanation("buckets", shown=(positions.t5_bucket,), shapes={"buckets": both}, exact=exact,
                           used=len(set(both.tolist())))


def _beyond(lesson: Lesson) -> None:
    """Trained to 32 tokens, tested to 128: the accuracy at each position, the mean over seeds with their range."""
    words, found = lesson.prose["beyond"], positions.beyond()
    place = np.arange(found["back"], found["tested"])
    with lesson.section("beyond"):
        seen = lesson.predict("predict_far", "guess_far")
        runs = {name: np.array(each) for name, each in found["accuracy"].items()}
        chance = 1 / (found["vocabulary"] - 1)
        if seen:
            drawn = [Line(words["names"][name], each.mean(0), colour, band=(each.min(0), each.max(0)))
                     for colour, (name, each) in enumerate(runs.items())]
            figure(lambda theme: lines(theme, place, drawn, axes=("position", words["accuracy"]), y_range=(0, 1.03),
                                       height=380,
                                       marks=[(found["trained"], words["trained"].format(trained=found["trained"]))],
                                       bounds=[(chance, words["chance"])]), key="positions-beyond",
                   alt=lesson.alt("beyond", **_split(runs, found)))
            lesson.explanation("beyond", shown=(positions.beyond,), shapes=runs, chance=chance,
                               **{name: found[name]
                                        for name in ("command", "machine", "date", "steps", "torch", "trained")},
                               seeds=len(found["seeds"]), **_split(runs, found))
        else:
            lesson.placeholder("beyond")


def _split(runs: dict[str, np.ndarray], found: dict) -> dict[str, float]:
    """The mean accuracy of each scheme on the trained positions and on the last ones, by NAME_in and NAME_out."""
    edge = found["trained"] - found["back"]
    return {f"{name}_in": float(each[:, :edge].mean()) for name, each in runs.items()} | {
        f"{name}_out": float(each[:, 64 - found["back"]:].mean()) for name, each in runs.items()}
