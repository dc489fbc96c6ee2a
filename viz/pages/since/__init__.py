"""What changed in the Transformer since 2017? The block with switches; then its cache, its experts, how it writes, and
how it grows, one of them at a time."""
from dataclasses import asdict, replace

import numpy as np
import streamlit as st

from model.lessons import since
from model.lessons.since import STRATEGIES
from viz.components.block_diagram import DiagramBox, block_diagram
from viz.components.slider import slider
from viz.figures.bars import stacked_bars
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Switch
from viz.pages.since.cache import cache_section
from viz.pages.since.experts import TEXTS, experts_section
from viz.pages.since.scaling import scaling_section
from viz.pages.since.writing import PROMPTS, writing_section
from viz.widgets.control_widgets import button_setting, choice_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.handout_button import picture_button
from viz.widgets.lesson import QUESTIONS, Lesson

SECTIONS = ("cache", "experts", "writing", "scaling")
CHANGES = (*since.SWITCHES, "groups")
# which change a click on a box of the drawing explains
OF_BOX = {"in": "rotary", "norm": "rms", "attention": "groups", "add": "pre", "add_norm": "rms",
          "feed_forward": "swiglu"}
COLOURS = {"attention": 1, "feed_forward": 4, "norms": 2}
PAGE = Page("What changed since 2017", "Learn", 15, "nothing", controls=(
    *QUESTIONS, *(Switch(name) for name in since.SWITCHES),
    Number("groups", since.HEADS, 1, since.HEADS, whole=True), Choice("about", "pre", CHANGES),
    Choice("topic", "cache", SECTIONS), Number("tokens", 12, 1, 131_072, whole=True),
    Choice("routed", "english", tuple(TEXTS)), Switch("balance", True),
    Choice("prompt", "the", tuple(PROMPTS)), Choice("how", "greedy", STRATEGIES), Number("beam", 2, 1, 5, whole=True),
    Number("k", 2, 1, 5, whole=True), Number("p", 0.7, 0.05, 1), Number("compute", 24, 18, 27)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "since")
    lesson.header()
    revealed = _block(page, lesson)
    choice_for(page, "topic", lesson.prose["topic"], {name: lesson.prose[name]["short"] for name in SECTIONS})
    topic = page.controls["topic"]
    if topic == "cache" and not revealed:   # its heading alone would say what is kept
        lesson.placeholder("cache", 120)
    elif topic == "cache":
        lesson.fragment(cache_section, _design(page))
    else:
        lesson.fragment({"experts": experts_section, "writing": writing_section, "scaling": scaling_section}[topic])
    lesson.end()


def _design(page: PageContext) -> since.Design:
    return since.Design(**{name: page.controls[name] for name in CHANGES})


def _block(page: PageContext, lesson: Lesson) -> bool:
    """The block with its switches. Whether the question beside it is answered."""
    words = lesson.prose["block"]
    with lesson.section("block"):
        left, middle, right = st.columns([5, 4, 6], gap="medium")
        with middle:
            _switches(page, words)
        this = _design(page)
        with left:
            _drawing(page, lesson, this)
        with right:
            revealed = lesson.predict()
            _parameters(lesson, this)
        now, paper = since.numbers(this), since.numbers(since.PAPER)
        rows = {f"{name}_now": value for name, value in asdict(now).items()}
        rows |= {f"{name}_paper": value for name, value in asdict(paper).items()}
        lesson.explanation("block", shown=(since.parameters, since.cache_bytes, since.merge, since.run),
                           shapes={"output": since.run(this).output, "keys": since.run(this).keys},
                           says=block_claim(words, this, page.controls["about"], revealed), **rows)
    return revealed


def _switches(page: PageContext, words: dict) -> None:
    """What is turned is also explained: `about` names it."""
    def turn(**changes: bool) -> None:
        page.set(**changes, about=next(iter(changes)))

    for name in since.SWITCHES:
        st.toggle(words["switches"][name], **bind(turn, name, page.controls[name]))
    slider(words["switches"]["groups"], range(1, since.HEADS + 1), page.controls["groups"], say=str,
           key="slider-groups", turn=lambda groups: page.set(groups=groups, about="groups"))
    with st.container(horizontal=True, gap="small"):
        for name, whole in (("paper", since.PAPER), ("today", since.TODAY)):
            button_setting(page, words["presets"][name], f"preset-{name}", **asdict(whole))


def _boxes(words: dict, this: since.Design) -> list[DiagramBox]:
    """The block from the bottom up, each box with what the switches make of it."""
    names, norm = words["boxes"], words["boxes"]["rms" if this.rms else "layer"]
    heads = names["attention"].format(groups=this.groups)
    attention = DiagramBox("attention", "attention", heads, names["rotary" if this.rotary else "scores"])
    forward = DiagramBox("feed_forward", "feed_forward", names["swiglu" if this.swiglu else "relu"],
                         names["gated" if this.swiglu else "wide"])
    bottom = DiagramBox("in", "in", names["in"], names["bare" if this.rotary else "waves"])
    rows = names["rows"].format(tokens=since.TOKENS, width=since.WIDTH)
    parts = [bottom]
    for number, part in enumerate((attention, forward), 1):
        if this.pre:
            parts += [DiagramBox(f"norm{number}", "norm", norm, rows), part,
                      DiagramBox(f"add{number}", "add", names["add"], rows)]
        else:
            parts += [part, DiagramBox(f"add{number}", "add_norm", names["add_norm"].format(norm=norm), rows)]
    return parts


def _drawing(page: PageContext, lesson: Lesson, this: since.Design) -> None:
    boxes = _boxes(lesson.prose["block"], this)
    about = page.controls["about"]
    wanted = "groups" if about == "rotary" and page.controls["rotary"] else about
    opened = next((box.name for box in boxes if OF_BOX[box.kind] == wanted), "attention")
    if about == "pre":
        opened = next(box.name for box in boxes if box.kind in ("add", "add_norm"))
    of = {box.name: OF_BOX[box.kind] for box in boxes}
    alt = lesson.prose["block"]["alt_diagram"].format(order=", ".join(box.words for box in boxes))
    picture_button(block_diagram(boxes, opened, alt=alt, key="since-block",
                                 on_open=lambda name: page.set(about=of[name])))


def _parameters(lesson: Lesson, this: since.Design) -> None:
    """The block's parameters by part, as it is and as it was."""
    words = lesson.prose["block"]
    both = [since.parameters(since.PAPER), since.parameters(this)]
    pieces = [(words["parts"][part], colour, np.array([each[part] for each in both]) / 1000)
              for part, colour in COLOURS.items()]
    figure(lambda theme: stacked_bars(theme, words["blocks"], pieces, axis=words["parameters"], height=160),
           key="since-parameters",
           alt=lesson.alt("block", paper=sum(both[0].values()), now=sum(both[1].values())))


def block_claim(words: dict, this: since.Design, about: str, revealed: bool) -> str:
    """What the change `about` (a switch, or "groups") does in this block. What it does to the cache is said once the
    question is answered (`revealed`)."""
    now, says = since.numbers(this), words["says"][about]
    other = since.numbers(replace(this, **{about: getattr(since.PAPER, about)}))
    on = getattr(this, about) != getattr(since.PAPER, about)
    if about == "groups":
        case = "all" if this.groups == since.HEADS else "one" if this.groups == 1 else "some"
    else:
        case = "on" if on else "off"
    said = [says[case].format(groups=this.groups, heads=since.HEADS, **asdict(now))]
    switched = now if on or about == "groups" else since.numbers(replace(this, **{about: True}))
    change = words["changes"][about].format(groups=this.groups)
    said.append(words["cost"].format(change=change, by=switched.parameters - other.parameters))
    if about == "groups" and revealed:
        said.append(words["cached"].format(cache=now.cache, whole=since.cache_bytes(since.PAPER)))
    return " ".join(said)
