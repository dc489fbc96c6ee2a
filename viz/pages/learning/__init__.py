"""How does a model learn? The loss as lengths, its targets, Adam, the rate and clipping; and what each does to a
training that takes seconds."""
import math

import numpy as np
import streamlit as st

from model.core.statistics import entropy, x_log_x
from model.lessons import learning
from model.lessons.learning import STEPS, TARGETS, WIDTH
from viz.components.handles import HandleSet, handles
from viz.figures.bars import stacked_bars
from viz.figures.lines import Line, lines, loss_surface
from viz.format import format_number
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Numbers, Switch, Words
from viz.pages.learning.short_run import real_run
from viz.pages.learning.targets import three_targets
from viz.streamlit_patch import DeltaGenerator
from viz.widgets.control_widgets import button_setting, choice_for, slider_for, toggle_for
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import QUESTIONS, Lesson, computing

P = Numbers("p", (0.5, 0.25, 0.15, 0.1), 0, 1, 4, 4)
Q = Numbers("q", (0.25, 0.25, 0.25, 0.25), 0, 1, 4, 4)
START = Numbers("start", (0.56, 0.54), 0, 1, 2, 2)
PAGE = Page("How it is trained", "Learn", 10, "nothing", controls=(
    *QUESTIONS, P, Q, Words("signs", "k7Qx2bVk7Qx", 60), Number("step", 408, 0, 10**6, whole=True),
    Number("soft", 2.0, 0.5, 10), Words("wish", "Z", 1),
    Number("eps", 0.1, 0, 0.9), Number("size", 10, 2, 37_000, whole=True),
    Choice("where", "others", learning.DEFINITIONS),
    Choice("signal", "spike", learning.SIGNALS), Number("b2", 0.999, 0.5, 0.9999), Number("ae", 1e-8, 1e-12, 1),
    Number("rate", 0.01, 1e-4, 0.1), Number("warm", 30, 0, STEPS, whole=True), Switch("decay", True), START,
    Number("limit", 0.3, 0, 100),
    Choice("goal", "word", TARGETS), Number("clip", 0, 0, 100), Number("seed", 1, 1, 20, whole=True), Switch("run")))
PRESETS = {"same": P.start, "even": Q.start, "wrong": (0.02, 0.03, 0.05, 0.9), "never": (0.0, 0.5, 0.3, 0.2)}
SHARES = np.concatenate([np.geomspace(0.001, 0.5, 60), 1 - np.geomspace(0.5, 0.0001, 80)[1:]])
EPSILONS = np.linspace(0, 0.9, 91)
PAPER_STEPS = np.arange(1, 100_001, 200)


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "learning")
    lesson.header()
    revealed = _lengths(page, lesson)
    with computing():
        lesson.fragment(three_targets, revealed)
    lesson.fragment(_optimiser, revealed)
    lesson.end()


def _optimiser(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """Smoothing, Adam and the rate, and the run that takes their settings."""
    _smoothing(page, lesson, revealed)
    _adam(page, lesson)
    _rate(page, lesson)
    lesson.fragment(_cliff)
    real_run(page, lesson, revealed)


def _whole(values: tuple[float, ...]) -> np.ndarray:
    """Shares as they were dragged, in hundredths, as a distribution."""
    shares = np.array(values, np.float64)
    return shares / shares.sum() if shares.sum() else np.full(len(shares), 1 / len(shares))


def _lengths(page: PageContext, lesson: Lesson) -> bool:
    """The question beside the true shares; once it is answered, the model's, and the loss as lengths. Whether it is
    answered."""
    words = lesson.prose["lengths"]
    with lesson.section("lengths"):
        left, right = st.columns(2, gap="medium")
        with left:
            revealed = lesson.predict()
        with right:
            shown = (P, Q) if revealed else (P,)
            for control, place in zip(shown, st.columns(len(shown), gap="small"), strict=True):
                shares = HandleSet(words["names"], words[control.name], words[control.name], "shares", 170)
                with place:
                    picture_button(handles(control, page.controls[control.name], shares, key=f"shares-{control.name}",
                                           turn=page.set))
            if not revealed:
                return False
            with st.container(horizontal=True, gap="small"):
                for preset, values in PRESETS.items():
                    button_setting(page, words["presets"][preset], f"preset-{preset}",
                                   q=page.controls["p"] if preset == "same" else values)
            drawn = st.container()
        _laid(lesson, _whole(page.controls["p"]), _whole(page.controls["q"]), drawn, left)
    return True


def _laid(lesson: Lesson, p: np.ndarray, q: np.ndarray, drawn: DeltaGenerator, beside: DeltaGenerator) -> None:
    """Entropy and divergence of P and Q laid end to end, and both changed over, in `drawn`; its numbers and what to
    notice in `beside`."""
    words = lesson.prose["lengths"]
    floor, gap, loss = (float(value) for value in (entropy(p, base=math.e), learning.divergence(p, q),
                                                   learning.cross_entropy(p, q)))
    back = float(learning.divergence(q, p))
    pieces = [(words["floor"], 0, np.array([floor, float(entropy(q, base=math.e))])),
              (words["gap"], 1, np.array([gap, back]))]
    with drawn:
        figure(lambda theme: stacked_bars(theme, words["rows"], pieces, axis="nats", height=230,
                                          marks=[(floor, words["mark"].format(floor=floor))]),
               key="learning-lengths", alt=lesson.alt("lengths", floor=floor, gap=_said(gap), loss=_said(loss)))
    with drawn if lesson.page.state.present else beside, st.container(key="numbers", horizontal=True):
        for label, value in ((words["loss"], loss), (words["bits"], loss / np.log(2)),
                             (words["perplexity"], np.exp(loss))):
            st.metric(label, _said(value))
    lesson.explanation("lengths",
                       shown=(x_log_x, entropy, learning.cross_entropy, learning.divergence, stacked_bars),
                       shapes={"p": p, "q": q}, floor=floor, gap=_said(gap), loss=_said(loss), back=_said(back),
                       notices_in=beside)


def _said(number: float) -> str:
    return f"{number:z.3f}" if np.isfinite(number) else "∞"


def _smoothing(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    words, (epsilon, size, where) = lesson.prose["smoothing"], (page.controls[name]
                                                                for name in ("eps", "size", "where"))
    with lesson.section("smoothing"):
        first, second, third = st.columns([2, 2, 3], gap="medium")
        with first:
            slider_for(page, "eps", words["eps"], (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9))
        with second:
            slider_for(page, "size", words["size"], (2, 10, 66, 184, 1000, 10_000, 37_000),
                       say=lambda value: f"{value:,}")
        with third:
            choice_for(page, "where", words["where"], words["wheres"])
        if not revealed:
            lesson.placeholder("smoothing")
            return
        floor, peak = learning.floor(size, epsilon, where), learning.peak(size, epsilon, where)
        left, right = st.columns(2, gap="medium")
        with left:
            drawn = [Line(words["hard"], learning.smooth_loss(SHARES, size, 0.0, where), None, "dash"),
                     Line(words["smooth"].format(epsilon=epsilon),
                          learning.smooth_loss(SHARES, size, epsilon, where), 0)]
            figure(lambda theme: lines(theme, SHARES, drawn, axes=(words["share"], words["loss"]),
                                       marks=[(peak, words["best"].format(peak=peak))],
                                       bounds=[(floor, words["floor"].format(floor=floor))], y_range=(0, 7),
                                       height=360),
                   key="learning-smooth", alt=lesson.alt("smoothing", floor=abs(floor), peak=peak, epsilon=epsilon))
        with right:
            floors = [Line(words["wheres"][kind], np.array([learning.floor(size, one, kind) for one in EPSILONS]),
                           place)
                      for place, kind in enumerate(learning.DEFINITIONS)]
            figure(lambda theme: lines(theme, EPSILONS, floors, axes=("ε", words["floor_axis"]),
                                       marks=[(epsilon, f"ε = {epsilon:g}")], height=360),
                   key="learning-floor", alt=words["alt_floor"].format(size=size, epsilon=epsilon, floor=floor))
        other = learning.floor(size, epsilon, "all" if where == "others" else "others")
        says = _about_smoothing(words, peak, floor, learning.gap(size, epsilon, where))
        lesson.explanation("smoothing", shown=(learning.smoothed_target, learning.smooth_loss, learning.floor),
                           shapes={"target": learning.smoothed_target(0, size, epsilon, where)}, epsilon=epsilon,
                           says=says, other=other, paper=learning.floor(37_000, 0.1, "others"))


def _about_smoothing(words: dict, peak: float, floor: float, gap: float) -> str:
    """What is said of the least smoothed loss: where it is, how much, and how far the right logit then is above the
    others (infinitely without smoothing)."""
    if np.isinf(gap):
        return words["says"]["hard"]
    return words["says"]["smooth"].format(peak=peak, floor=floor, gap=gap)


def _adam(page: PageContext, lesson: Lesson) -> None:
    words, kind, beta2, epsilon = lesson.prose["adam"], *(page.controls[name] for name in ("signal", "b2", "ae"))
    with lesson.section("adam"):
        choice_for(page, "signal", words["signal"], words["signals"])
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "b2", "β₂", (0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999), help=words["b2_help"])
        with right:
            slider_for(page, "ae", "ε", (1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0), say=lambda value: f"{value:.0e}",
                       help=words["ae_help"])
        gradients, steps = learning.signal(kind), np.arange(1, learning.DESCENT_STEPS + 1)
        paper, own = learning.adam(gradients), learning.adam(gradients, beta2=beta2, epsilon=epsilon)
        with left:
            figure(lambda theme: lines(theme, steps, [Line(words["gradient"], gradients, 7)],
                                       axes=(words["step"], words["gradient"]),
                                       log="y" if kind == "fading" else "", height=320),
                   key="learning-gradient", alt=words["alt_gradient"].format(kind=words["signals"][kind]))
        with right:
            drawn = [Line(words["paper"], paper, 0),
                     Line(words["own"].format(beta2=beta2, epsilon=epsilon), own, 1, "dash")]
            figure(lambda theme: lines(theme, steps, drawn, axes=(words["step"], words["move"]), height=320),
                   key="learning-adam", alt=lesson.alt("adam", step=learning.AT + 21, paper=paper[learning.AT + 20],
                                                 own=own[learning.AT + 20]))
        lesson.explanation("adam", shown=(learning.adam, learning.signal),
                           shapes={"gradients": gradients, "moves": own},
                           beta2=beta2, memory=1 / (1 - beta2), first=own[0], says=words["says"][kind].format(
                               last=own[-1], last_paper=paper[-1], mean=np.abs(own).mean(),
                               mean_paper=np.abs(paper).mean()))


def _rate(page: PageContext, lesson: Lesson) -> None:
    words, peak, warm_up, decay = lesson.prose["rate"], *(page.controls[name] for name in ("rate", "warm", "decay"))
    with lesson.section("rate"):
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "warm", words["warm"], (0, 5, 10, 15, 30, 60, 100, STEPS))
        with right:
            slider_for(page, "rate", words["peak"], (1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1))
        toggle_for(page, "decay", words["decay"])
        paper, steps = learning.rate(PAPER_STEPS, 512, 4000), np.arange(1, STEPS + 1)
        ours = np.array([learning.scaled_rate(step, peak, warm_up, decay) for step in steps.tolist()])
        highest = float(learning.rate(np.array(4000), 512, 4000))
        left, right = st.columns(2, gap="medium")
        with left:
            figure(lambda theme: lines(theme, PAPER_STEPS, [Line("lr", paper)], axes=(words["step"], words["paper"]),
                                       marks=[(4000, words["mark"].format(highest=highest))], height=300),
                   key="learning-rate-paper", alt=lesson.alt("rate", highest=highest))
        with right:
            figure(lambda theme: lines(theme, steps, [Line("lr", ours, 1)], axes=(words["step"], words["ours"]),
                                       height=300),
                   key="learning-rate", alt=words["alt_ours"].format(peak=peak, warm=warm_up, last=ours[-1]))
        own = words["owns"]["peak" if warm_up else "none"].format(
            width=WIDTH, warm=warm_up, steps=STEPS, own=(WIDTH * max(warm_up, 1)) ** -0.5, peak=ours.max(),
            last=ours[-1])
        lesson.explanation("rate", shown=(learning.rate, learning.scaled_rate), shapes={"rates": ours}, highest=highest,
                           own=own, end=float(learning.rate(np.array(100_000), 512, 4000)))


def _cliff(page: PageContext, lesson: Lesson) -> None:
    words, limit = lesson.prose["cliff"], page.controls["limit"]
    start = tuple(low + share * (high - low)
                  for low, high, share in zip(learning.LOW, learning.HIGH, page.controls["start"], strict=True))
    free, free_lengths = learning.descend(start, 0.3, 0.0)
    tame, tame_lengths = learning.descend(start, 0.3, limit)
    with lesson.section("cliff"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            point = HandleSet([words["start"]], words["start"], words["plane"], "points", 300)
            picture_button(handles(START, page.controls["start"], point, key="start", turn=page.set))
            slider_for(page, "limit", words["limit"], (0, 0.03, 0.1, 0.3, 1.0, 3.0),
                       say=lambda value: f"{value:g}" if value else words["never"])
        with right:
            x, y, heights = learning.landscape()
            paths = [(words["free"], 1, free), *([(words["tame"].format(limit=limit), 0, tame)] if limit else [])]
            ends = [float(learning.cliff(*path[-1])[0]) for path in (free, tame)]
            longest, tamed = format_number(free_lengths.max()), words["alt_tame"].format(limit=limit, tame=ends[1])
            figure(lambda theme: loss_surface(theme, x, y, heights, paths, axes=(words["weight"], words["bias"]),
                                              name=words["loss"]),
                   key="learning-cliff",
                   alt=lesson.alt("cliff", longest=longest, free=ends[0], tame=tamed if limit else ""))
        begin = float(learning.cliff(*start)[0])
        lesson.explanation("cliff", shown=(learning.cliff, learning.clip, learning.descend),
                           shapes={"places": tame, "gradient lengths": tame_lengths},
                           longest=longest, median=format_number(np.median(free_lengths)), begin=begin, free=ends[0],
                           says=words["says"]["clipped" if limit else "never"].format(limit=limit, tame=ends[1]))
