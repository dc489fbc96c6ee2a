"""The sections of *Where am I?* about schemes that tell distances: a turn of the waves, rotary positions, ALiBi's
slopes, T5's buckets."""
import numpy as np
import streamlit as st

from model.lessons import positions
from viz.figures.drawing import Markup
from viz.figures.lines import Line, lines
from viz.figures.vector_plane import Points, vector_plane
from viz.format import format_number
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

LENGTH = 128                                  # positions that are drawn
NAMED = 4                                     # positions from one written on the circle to the next
BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")   # digits as indices


def wave_width(page: PageContext) -> int:
    """The width of the waves, made even."""
    return page.controls["d"] - page.controls["d"] % 2


def shift_section(page: PageContext, lesson: Lesson) -> None:
    """One pair of dimensions is a clock hand; k steps on turn it by the same angle wherever one is."""
    words, width = lesson.prose["shift"], wave_width(page)
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
        names = [str(number) if number % NAMED == 0 else Markup("") for number in range(len(ring))]
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


def rotary_section(page: PageContext, lesson: Lesson) -> None:
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


def alibi_section(page: PageContext, lesson: Lesson) -> None:
    """ALiBi: a slope a head, by which a score falls with the distance."""
    words, count = lesson.prose["alibi"], page.controls["heads"]
    slopes, distance = positions.alibi_slopes(count), np.arange(0, 65)
    with lesson.section("alibi"):
        slider_for(page, "heads", words["heads"], (1, 2, 4, 8, 12, 16, 32), say=str)
        shown = range(count) if count <= 8 else [round(head) for head in np.linspace(0, count - 1, 8)]
        drawn = [Line(words["head"].format(h=str(h).translate(BELOW), m=slopes[h]), np.exp(-slopes[h] * distance),
                      place)
                 for place, h in enumerate(shown)]
        figure(lambda theme: lines(theme, distance, drawn, axes=(words["axis"], words["factor"]), y_range=(0, 1.02),
                                   height=340),
               key="positions-alibi", alt=lesson.alt("alibi", heads=count, first=slopes[0], last=slopes[-1]))
        lesson.explanation("alibi", shown=(positions.alibi_slopes, positions.alibi_bias),
                           shapes={"bias": positions.alibi_bias(count, 64)}, heads=count, first=slopes[0],
                           last=slopes[-1],
                           halves_near=format_number(np.log(2) / slopes[0]),
                           halves_far=format_number(np.log(2) / slopes[-1]))


def bucket_section(lesson: Lesson) -> None:
    """T5: distances put into buckets, wider the further away."""
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
                           used=len(set(both.tolist())), last_encoder=int(-offset[both == both[0]].max()),
                           last_decoder=int(-offset[back == back[0]].max()))
