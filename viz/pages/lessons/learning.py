"""A lesson on training: the loss as lengths, targets, Adam, the learning rate and clipping, and the effect of each on a
training that takes seconds."""
import math
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core.statistics import entropy, x_log_x
from clearhead.model.lessons import learning
from clearhead.model.lessons.learning import STEPS, TARGETS, WIDTH, RunQuery
from clearhead.model.studies.predictions import NextWordQuery, distribution
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Numbers, Switch, Words, stepped
from clearhead.viz.components.handles import HandleSet, handles
from clearhead.viz.figures.bars import bars, stacked_bars
from clearhead.viz.figures.lines import Line, lines, loss_surface
from clearhead.viz.style.text import escape_markdown
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, lesson_page, section

P = Numbers("p", (0.5, 0.25, 0.15, 0.1), 0, 1, 4, 4)
Q = Numbers("q", (0.25, 0.25, 0.25, 0.25), 0, 1, 4, 4)
EPSILONS = (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9)
START = Numbers("start", (0.56, 0.54), 0, 1, 2, 2)
PAGE = Page("nothing", controls=(
    *QUESTIONS, P, Q, Words("signs", "k7Qx2bVk7Qx", 60), Number("step", 408, 0, 10**6, whole=True),
    stepped("soft", 2.0, (0.5, 1, 2, 4, 10)), Words("wish", "Z", 1),
    stepped("eps", 0.1, EPSILONS), stepped("size", 10, (2, 10, 66, 184, 1000, 10_000, 37_000)),
    Choice("where", "others", learning.WHERE),
    Choice("signal", "spike", learning.SIGNALS), stepped("b2", 0.999, (0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999)),
    stepped("ae", 1e-8, (1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)),
    stepped("rate", 0.01, (1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1)),
    stepped("warm", 30, (0, 5, 10, 15, 30, 60, 100, STEPS)), Switch("decay", True), START,
    Number("limit", 0.3, 0, 100, options=(0, 0.03, 0.1, 0.3, 1.0, 3.0)),
    Choice("goal", "word", TARGETS), Number("clip", 0, 0, 100, options=(0, 0.1, 0.3, 1.0, 3.0)),
    Number("seed", 1, 1, 20, True, tuple(range(1, 6))), Switch("run")))
PRESETS = {"same": P.start, "even": Q.start, "wrong": (0.02, 0.03, 0.05, 0.9), "never": (0.0, 0.5, 0.3, 0.2)}
SECONDS = 12   # that the two trainings take, measured
SHOWN = 7   # most letters and digits in a figure
SHARES = np.concatenate([np.geomspace(0.001, 0.5, 60), 1 - np.geomspace(0.5, 0.0001, 80)[1:]])
PAPER_STEPS = np.arange(1, 100_001, 200)


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    _lengths(page, lesson)
    lesson.fragment(_targets)
    lesson.fragment(_optimiser)


def _optimiser(page: PageContext, lesson: Lesson) -> None:
    """Draw label smoothing, Adam and the learning rate, and a training with these settings."""
    lesson.further(_smoothing, opened_by=("eps", "size", "where"), alone=False)
    lesson.further(_adam, opened_by=("signal", "b2", "ae"), alone=False)
    lesson.further(_rate, opened_by=("rate", "warm", "decay"), alone=False)
    lesson.further(_cliff, opened_by=("start", "limit"))
    _run(page, lesson)


def _said(number: float | np.ndarray) -> str:
    return f"{number:z.3f}" if np.isfinite(number) else "∞"


@section
def _lengths(page: PageContext, words: Section) -> None:
    """Draw the question beside the true distribution. Once it is answered, draw the model's distribution, and the loss
    as lengths for entropy and divergence, also with P and Q swapped."""
    left, right = split()
    with left:
        revealed = words.predict()
    with right:
        shown = (P, Q) if revealed else (P,)
        for control, place in zip(shown, st.columns(len(shown), gap="small"), strict=True):
            shares = HandleSet(words["names"], words[control.name], words[control.name], "shares", 170)
            with place:
                handles(control, page[control.name], shares, key=f"shares-{control.name}", turn=page.set)
        if not revealed:
            return
        words.presets("q", PRESETS | {"same": page["p"]})
        drawn = st.container()
    p, q = (_whole(page[name]) for name in ("p", "q"))
    loss, floor, gap, back = (learning.cross_entropy(p, q), entropy(p, base=math.e), learning.divergence(p, q),
                              learning.divergence(q, p))
    pieces = [(words["floor"], 0, np.array([floor, entropy(q, base=math.e)])),
              (words["gap"], 1, np.array([gap, back]))]
    words.tell(floor=floor, gap=_said(gap), loss=_said(loss), back=_said(back))
    with drawn:
        words.figure(stacked_bars, words["rows"], pieces, axis="nats", height=230,
                     marks=[(floor, words("mark"))])
    with drawn if page.present else left, st.container(key="numbers", horizontal=True):
        for name, value in (("loss", loss), ("bits", loss / np.log(2)), ("perplexity", np.exp(loss))):
            st.metric(words[name], _said(value))
    words.explain(x_log_x, entropy, learning.cross_entropy, learning.divergence, stacked_bars, notices_in=left)


def _whole(values: tuple[float, ...]) -> np.ndarray:
    """Return dragged shares, in hundredths, as a distribution."""
    shares = np.array(values, np.float64)
    return shares / shares.sum() if shares.sum() else np.full(len(shares), 1 / len(shares))


@section
def _targets(page: PageContext, words: Section) -> None:
    """Draw next-character prediction, distillation and fine-tuning on one student: they share loss and gradient and
    differ in their targets."""
    vocabulary = learning.vocabulary()
    first, second, third, fourth = split(4, 4, 3, 2)
    with first:
        text = words.text("signs").replace(" ", "")
    with second:
        step = words.slider("step", learning.steps(), say=str)
    with third:
        soft = words.slider("soft")
    with fourth:
        wished = words.text("wish")
    if len(text) < 2 or text[-1] not in vocabulary or wished not in vocabulary:
        st.info(words["unknown"])
        return
    if words.hidden():
        return
    logits, taught = (page.ask(NextWordQuery(sources.open_query(model, text[:-1]))).logits
                      for model in (learning.student(step), learning.TEACHER))
    student, teacher = distribution(logits), distribution(taught, soft)
    right, wish = vocabulary.index(text[-1]), vocabulary.index(wished)
    wanted = dict(zip(words["rows"], (learning.one_hot(right, len(logits)), teacher,
                                      learning.one_hot(wish, len(logits))), strict=True))
    floors, gaps, losses = np.array([learning.parts(target, student) for target in wanted.values()]).T
    likely = np.argsort(-(student + teacher), kind="stable")[:SHOWN].tolist()
    names = list(dict.fromkeys([right, wish, *likely]))[:SHOWN]
    pushes = {name: -learning.slope(target, student)[names] for name, target in wanted.items()}
    words.tell(sign=escape_markdown(text[-1]), before=escape_markdown(text[:-1]), p=student[right],
               teacher=teacher[right], wish=escape_markdown(wished), losses=losses, floor=floors[1],
               size=len(logits), guess=np.log(len(logits)))
    left, column = split()
    with left:
        pieces = [(words["floor"], 0, floors), (words["gap"], 1, gaps)]
        words.figure(stacked_bars, list(wanted), pieces, axis=words["axis"], height=320)
    with column:
        words.figure(bars, [vocabulary[each] for each in names], pushes, height=320, kind="push")
    words.explain(learning.parts, learning.slope, learning.one_hot, distribution)


@section
def _smoothing(page: PageContext, words: Section) -> None:
    """Draw the loss over the right word's probability, and the lowest possible loss over ε."""
    first, second, third = split(2, 2, 3)
    with first:
        epsilon = words.slider("eps")
    with second:
        size = words.slider("size", say="{:,}".format)
    with third:
        where = words.choice("where", "wheres")
    if words.hidden():
        return
    floors = {kind: [learning.floor(size, learning.moved_share(each, size, kind)) for each in (epsilon, *EPSILONS)]
              for kind in learning.WHERE}
    moved, floor = learning.moved_share(epsilon, size, where), floors[where][0]
    words.tell(floor=floor, peak=1 - moved, gap=_said(learning.gap(size, moved)))
    drawn = [Line(words["hard"], learning.smooth_loss(SHARES, size, 0.0), None, "dash"),
             Line(words("smooth"), learning.smooth_loss(SHARES, size, moved))]
    left, right = split()
    with left:
        words.figure(lines, SHARES, drawn, marks=[(1 - moved, words("best"))],
                     bounds=[(floor, words("least"))], y_range=(0, 7), height=360)
    with right:
        words.figure(lines, np.array(EPSILONS), [Line(words["wheres"][kind], np.array(each[1:]), place) for
                                                 place, (kind, each) in enumerate(floors.items())],
                     marks=[(epsilon, f"ε = {epsilon:g}")], height=360, kind="floor")
    words.explain(learning.moved_share, learning.smoothed_target, learning.smooth_loss, learning.floor)


@section
def _adam(page: PageContext, words: Section) -> None:
    """Draw Adam's steps for a sequence of gradients, with the paper's settings and with the reader's."""
    gradients, steps = learning.signal(page["signal"]), np.arange(1, learning.DESCENT_STEPS + 1)
    paper, own = learning.adam(gradients), learning.adam(gradients, beta2=page["b2"], epsilon=page["ae"])
    after = learning.AT + 20
    words.tell(step=after + 1, paper=paper[after], own=own[after],
               memory=1 / (1 - page["b2"]), first=own[0], last=own[-1], last_paper=paper[-1])
    kind = words.choice("signal", "signals")
    left, right = split()
    with left:
        words.slider("b2")
        words.figure(lines, steps, [Line(words["gradient"], gradients, 7)], log="y" if kind == "fading" else "",
                     height=320, kind="gradient")
    with right:
        words.slider("ae", say=lambda value: f"{value:.0e}")
        drawn = [Line(words["paper"], paper, 0),
                 Line(words("yours"), own, 1, "dash")]
        words.figure(lines, steps, drawn, height=320)
    words.explain(learning.adam, learning.signal)


@section
def _rate(page: PageContext, words: Section) -> None:
    """Draw the paper's learning rate and that of the short training."""
    peak, warm_up, decay = page["rate", "warm", "decay"]
    ours = np.array([learning.scaled_rate(step, peak, warm_up, decay) for step in range(1, STEPS + 1)])
    highest, end = learning.rate(np.array([4000, 100_000]), 512, 4000)
    words.tell(highest=highest, end=end, peak=ours.max(), last=ours[-1], steps=STEPS)
    left, right = split()
    with left:
        words.slider("warm")
    with right:
        words.slider("rate")
    words.toggle("decay")
    left, right = split()
    with left:
        words.figure(lines, PAPER_STEPS, [Line("lr", learning.rate(PAPER_STEPS, 512, 4000))], height=300,
                     marks=[(4000, words("mark"))])
    with right:
        words.figure(lines, np.arange(1, STEPS + 1), [Line("lr", ours, 1)], height=300, kind="ours")
    words.explain(learning.rate, learning.scaled_rate)


@section
def _cliff(page: PageContext, words: Section) -> None:
    """Draw gradient descent on a landscape with a cliff, with and without clipping."""
    limit = page["limit"]
    start = tuple(low + share * (high - low)
                  for low, high, share in zip(learning.LOW, learning.HIGH, page["start"], strict=True))
    free, lengths = learning.descend(start, 0.0)
    tame, _ = learning.descend(start, limit)
    left, right = split(2, 3)
    with left:
        point = HandleSet([words["start"]], words["start"], words["plane"], "points", 300)
        handles(START, page["start"], point, key="start", turn=page.set)
        words.slider("limit", say=lambda value: f"{value:g}" if value else words["never"])
    words.tell(longest=lengths.max(), allowed=f"{limit:g}" if limit else words["never"],
               free=learning.cliff(*free[-1])[0], tame=learning.cliff(*tame[-1])[0],
               median=np.median(lengths), begin=learning.cliff(*start)[0])
    with right:
        x, y, heights = learning.landscape()
        paths = [(words["unclipped"], 1, free),
                 *([(words("clipped"), 0, tame)] if limit else [])]
        words.figure(loss_surface, x, y, heights, paths, loss=words["loss"])
    words.explain(learning.cliff, learning.clip, learning.descend)


def run_question(controls: dict[str, Any]) -> RunQuery:
    """Return the query for a training with the page's controls. Settings that the target ignores have their defaults,
    so that equal trainings share a cached answer."""
    question = RunQuery(controls["goal"], beta2=controls["b2"], adam_epsilon=controls["ae"], rate=controls["rate"],
                        warm_up=controls["warm"], decay=controls["decay"], clip=controls["clip"], seed=controls["seed"])
    if question.target == "smooth":
        return replace(question, epsilon=controls["eps"], where=controls["where"])
    return question


def reference_question(question: RunQuery) -> RunQuery:
    """Return the training to compare with: the paper's optimiser scaled to this training, or for fine-tuning the same
    settings from random weights."""
    return replace(question, fresh=True) if question.target == "other" else RunQuery(seed=question.seed)


@section
def _run(page: PageContext, words: Section) -> None:
    """Draw a training of a few seconds with the page's settings, beside the same training with the paper's
    optimiser."""
    question, runs = run_question(page.controls), page["run"]
    st.markdown(words("about", width=WIDTH, steps=STEPS, size=learning.SIZE), width=READABLE)
    words.choice("goal", "goals")
    left, right = split()
    with left:
        words.slider("clip", say=lambda value: f"{value:g}" if value else words["never"])
    with right:
        words.slider("seed")
    words.button("stop" if runs else "go", run=not runs)
    if not runs:
        words.idle(SECONDS)
        return
    st.caption(words(
        "settings", run=question, goal=words["goals"][question.target],
        decay=words["decays"][str(question.decay).lower()],
        clip=f"{question.clip:g}" if question.clip else words["never"],
        smooth=words("smooth", where=words.prose["smoothing"]["wheres"][question.where])
        if question.target == "smooth" else ""))
    other = reference_question(question)
    with words.timed():
        own, reference = page.ask_each([question, other], height=420)
    name = words["fresh" if other.fresh else "paper"]
    runs = [(name, reference, 0, "dash"), (words["yours"], own, 1, "solid")]
    for row in (("right", "nats"), ("loss", "gradient")):
        for column, field in zip(split(), row, strict=True):
            drawn = [Line(label, getattr(run, field), colour, style) for label, run, colour, style in runs]
            if field == "loss" and words.open() and own.floor.any():
                drawn.append(Line(words["floor"], own.floor, None, "dot"))
            x = own.tested.astype(int) if field in ("right", "nats") else np.arange(1, STEPS + 1)
            with column:
                words.figure(lines, x, drawn, height=280, log="y" if field == "gradient" else "", kind=field)
    words.explain(learning.targets, learning.train, right=own.right[-1], nats=own.nats[-1], even=math.log(2),
                  longest=own.gradient.max(), loss=own.loss[-20:].mean(), tested=learning.TESTED,
                  other=name, other_right=reference.right[-1], other_nats=reference.nats[-1],
                  cut=(own.gradient > question.clip).mean() if question.clip else 0.0)
