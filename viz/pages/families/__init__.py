"""Encoder, decoder, or both? What goes from one stack into the other, three families side by side, a text as a product
of probabilities, an open question."""
import re
import textwrap

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.models import TraceQuery
from model.core.query import Kind
from model.lessons import families
from model.studies.predictions import LikelihoodQuery, SequenceLikelihood
from viz.figures.bars import bars
from viz.figures.base import UPRIGHT
from viz.figures.drawing import Markup, markup
from viz.figures.lines import Line, lines
from viz.figures.wiring import wiring
from viz.format import token_markdown, visible_token
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Words
from viz.pages.families.three_models import BOTH, TEXT, decoder, hidden_word, sentence, three_families
from viz.widgets.control_widgets import button_setting, choice_for, slider_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.lesson import QUESTIONS, Lesson, computing

PAGE = Page("Encoder, decoder, or both", "Learn", 9, "nothing", controls=(
    *QUESTIONS, Words("say", TEXT, 120), Choice("part", "cross", ("encoder", "decoder", "cross")),
    Number("hide", 5, 1, 60, whole=True),
    Words("french", "", 160), Number("upto", 11, 1, 60, whole=True), Choice("whose", "both", ("both", "decoder"))))

BEGIN = 19   # signs of the target that its box has room for
DIGITS = 4   # decimal places of two probabilities side by side
COSTLY = 0.5   # share of −ln P from which on one token's part is worth saying


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "families")
    lesson.header()
    with computing():
        revealed = _inputs(page, lesson)
        three_families(page, lesson, revealed)
        lesson.fragment(hidden_word)
        lesson.fragment(_factors)
        lesson.fragment(_steps)
    _open(lesson)
    lesson.end()


def _inputs(page: PageContext, lesson: Lesson) -> bool:
    """The two stacks with the shapes of this sentence, and the question beside them. Whether it is answered: only then
    is it said what goes from one into the other."""
    words, widgets = lesson.prose["inputs"], lesson.prose["widgets"]
    with lesson.section("inputs"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            st.text_input(widgets["say"], max_chars=120, help=widgets["say_help"],
                          **bind(page.set, "say", page.controls["say"]))
            revealed = lesson.predict()
        query = sources.open_query(BOTH, sentence(page))
        record = page.ask(query)
        tensors, target = families.wiring(page.ask(TraceQuery(query)), record), record[Kind.CAUSAL].queries
        shapes = {"n": len(tensors.memory), "m": len(tensors.stream), "d": tensors.memory.shape[1],
                  "layers": tensors.layers}
        begins = textwrap.shorten(" ".join(target.texts), BEGIN, placeholder=" …")
        boxes = {name: markup(box, **shapes, said=begins) for name, box in words["boxes"].items()}
        if revealed:
            boxes["cross"] = boxes["cross_answered"]
        with right:
            arrows = list(map(Markup, words["arrows"])) if revealed else ["?"] * 3
            figure(lambda theme: wiring(theme, boxes, arrows, height=410),
                   key="families-wiring", alt=words["alt_answered" if revealed else "alt"].format(**shapes))
        if not revealed:
            return False
        lesson.explanation("inputs", shown=(families.wiring,), apart=tensors.apart, notices_in=right,
                           shapes={"H": tensors.memory, "decoder's stream": tensors.stream}, **shapes)
        with st.expander(words["tensors"]):
            st.markdown(words["table"].format(query=tensors.query, key=tensors.key, value=tensors.value,
                                              memory=tensors.memory.shape, stream=tensors.stream.shape))
    return True


def _steps(page: PageContext, lesson: Lesson) -> None:
    """y_t from the tokens before it alone, beside y_t from one pass over the whole target: teacher forcing changes
    nothing."""
    words, text = lesson.prose["steps"], sentence(page)
    whole: SequenceLikelihood = page.ask(LikelihoodQuery(sources.open_query(BOTH, text)))
    steps = len(whole.ids) - 1
    at = min(page.controls["upto"], steps)
    part: SequenceLikelihood = page.ask(LikelihoodQuery(sources.open_query(BOTH, text, continuation=whole.ids[:at])))
    first, second = (float(np.exp(likelihood.log_probabilities[at - 1])) for likelihood in (whole, part))
    with st.expander(words["title"]), st.container(key="section-steps"):
        left, middle, right = st.columns([2, 1, 1], gap="medium", vertical_alignment="center")
        with left:
            slider_for(page, "upto", words["upto"], range(1, steps + 1),
                       say=lambda place: f"{place}: {whole.texts[place - 1]}", closed=True)
        for place, name, chance in ((middle, "whole", first), (right, "part", second)):
            place.metric(words[name], _as_chance(chance))
        lesson.explanation("steps", t=at, word=token_markdown(whole.texts[at - 1]), difference=abs(first - second),
                           all=steps + 1)


def _as_chance(chance: float) -> str:
    return f"{chance:.{DIGITS}f}"


def _factors(page: PageContext, lesson: Lesson) -> None:
    """The factors of a text and their product; of a translation, beside another one."""
    words, both, text = lesson.prose["factors"], page.controls["whose"] == "both", sentence(page)
    model, there = decoder()
    with lesson.section("factors"):
        choice_for(page, "whose", words["whose"], words["whoses"])
        if not both:
            if not there:
                st.caption(lesson.prose["three"]["missing"])
            chain: SequenceLikelihood = page.ask(LikelihoodQuery(sources.open_query(model, text)))
            _product(lesson, {words["this"]: chain}, words["alone"])
            return
        own: SequenceLikelihood = page.ask(LikelihoodQuery(sources.open_query(BOTH, text)))
        st.text_input(words["french"], max_chars=160, help=words["french_help"],
                      placeholder=swap_gender(french_of(own)),
                      **bind(page.set, "french", page.controls["french"]))
        button_setting(page, words["swapped"], "swapped", french="")
        typed = page.controls["french"].strip() or swap_gender(french_of(own))
        other: SequenceLikelihood = page.ask(LikelihoodQuery(sources.open_query(BOTH, text, target=typed)))
        same = min(len(own.ids), len(other.ids))
        parted = next((place for place in range(same) if own.ids[place] != other.ids[place]), None)
        says = words["equal"] if parted is None else words["parts"].format(
            at=parted + 1, one=token_markdown(own.texts[parted]), other=token_markdown(other.texts[parted]),
            p=np.exp(own.log_probabilities[parted]), q=np.exp(other.log_probabilities[parted]))
        _product(lesson, {words["own"]: own, words["other"]: other}, says)


def french_of(chain: SequenceLikelihood) -> str:
    """Its words as one writes them, without the end; an elision takes no space."""
    return " ".join(chain.texts[:-1]).replace("' ", "'").replace(" .", ".")


def swap_gender(french: str) -> str:
    """The same French with every pronoun of the other gender."""
    other = {"il": "elle", "elle": "il"}
    return re.sub(r"\b(il|elle)\b", lambda match: other[match[0]], french)


def _product(lesson: Lesson, chains: dict[str, SequenceLikelihood], says: str) -> None:
    """Bars and running product of one or two texts; the prose tells the numbers of the last."""
    words, (name, chain) = lesson.prose["factors"], list(chains.items())[-1]
    chances, least = np.exp(chain.log_probabilities), int(chain.log_probabilities.argmin())
    longest = max(chains.values(), key=lambda one: len(one.ids))
    steps = np.arange(1, len(longest.ids) + 1)
    padded = {title: np.pad(one.log_probabilities, (0, len(steps) - len(one.ids)), constant_values=np.nan)
              for title, one in chains.items()}
    factors = {title: np.exp(one) for title, one in padded.items()}
    labels = [" / ".join(dict.fromkeys(visible_token(one.texts[place]) for one in chains.values()
                                       if place < len(one.texts)))
              for place in range(len(steps))]
    left, right = st.columns(2, gap="medium")
    with left:
        figure(lambda theme: bars(theme, labels, factors, axes=("", words["chance"]), y_range=(0, 1.02), height=340,
                                  angle=UPRIGHT),
               key="families-chances",
               alt=lesson.alt("factors", n=len(chances), least=chain.texts[least], p=chances[least]))
    drawn = [Line(title, np.cumsum(one) / np.log(10), place) for place, (title, one) in enumerate(padded.items())]
    lowest = min(-1.0, 1.05 * min(float(one.products[-1]) for one in chains.values()) / np.log(10))
    with right:
        figure(lambda theme: lines(theme, steps, drawn, axes=("t", words["product"]), y_range=(lowest, -0.03 * lowest),
                                   height=340),
               key="families-product", alt=words["alt_product"].format(product=chain.products[-1] / np.log(10)))
    share = float(chain.log_probabilities[least] / chain.products[-1]) if chain.products[-1] else 0.0
    costly = words["costly"].format(share=share) if share >= COSTLY else ""
    lesson.explanation("factors", shown=(SequenceLikelihood,), shapes={"ln P(y_t | y_<t, x)": chain.log_probabilities},
                       n=len(chances), says=says, costly=costly, name=name, least=token_markdown(chain.texts[least]),
                       p=chances[least], total=chain.products[-1], power=chain.products[-1] / np.log(10),
                       perplexity=chain.perplexity, mean=-chain.log_probabilities.mean())


def _open(lesson: Lesson) -> None:
    """What nobody has shown yet."""
    words = lesson.prose["open"]
    with lesson.section("open"):
        with st.expander(words["claims"]):
            rows = (f"| {' | '.join(row)} |" for row in words["rows"])
            st.markdown("\n".join([words["head"], "|---|---|---|", *rows]))
        lesson.explanation("open")
