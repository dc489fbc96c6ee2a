"""The scaffold of a lesson page. A lesson consists of viz/pages/lessons/NAME.py, its prose in
assets/text/en/lessons/NAME.toml and its title in assets/text/en/menu.toml.

The page:

    PAGE = Page("nothing", controls=(*QUESTIONS, Number("t", 1.0, 0.01, 100)))

    @lesson_page                                        # from the lesson's header to its end
    def render(page: PageContext, lesson: Lesson) -> None:
        revealed = lesson.predict()                     # the question; whether its answer may be shown
        lesson.fragment(_curves)                        # its controls rerun only this function

    @section                                            # the heading and lead of the section [curves]
    def _curves(page, words):                           # draws everything that its controls change
        words.slider("t")                               # labelled words["t"]
        words.tell(top=..., found=...)                  # more facts for the section's texts
        words.figure(lines, ...)                        # described by words["alt"], axes words["axes"]
        words.explain(softmax_rows, lines)              # what to notice, and the source of these functions

The page's controls begin with QUESTIONS. The first section is visual: one control, one sentence and the question
beside its figure, all on one screen of 1440 × 900 pixels. The other sections explain the reasons, each with a folded
derivation.

The prose (Markdown with $LaTeX$; {names} are filled from the facts that the section was told):

    question, lead, minutes, builds_on = ["softmax"], boxes = ["softmax"]
        boxes: the lesson's boxes in the Transformer's figure, viz/components/diagram/transformer.toml
    remember = [three lines]
    [predict]  screen = "SECTION", ask, answers = [{text, why}, ...] (three or four), right = 0
        screen: the section whose picture answers the question; why: one sentence that explains the answer; a second
        question is [predict_NAME] with the control guess_NAME
    [[check]] two questions like [predict] without a screen, whose answers the lesson has given by its end
    [SECTION]  title, lead, alt, axes = [x, y], notice = [at most three], more = [...], formula, symbols = [[symbol,
        its meaning on screen], ...], practice, sources = [...], and the labels of its controls by their names

`explain` draws what to notice, then tabs for Formula, Code, More to notice, Where it matters and Sources; empty tabs
are omitted. What computes with torch is a fragment or is inside `with computing():`, which shows a notice while torch
loads. Drag handles are in `viz.components.handles`.
`viz.widgets.head_picker` lets the reader choose a head of the record.

The page is in the order question, picture, what to notice, formula, and at its end *To remember*. A presented section
is one screen whose texts appear one after the other in the order of page_bar.ORDER. Its question is beside its picture,
which stays covered until the key for the next text uncovers both the answer and the picture.
"""
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from clearhead.viz.app.glossary import term_link, terms_of_section
from clearhead.viz.app.page import PageContext, own_address, pages
from clearhead.viz.app.page_controls import Choice, Numbers
from clearhead.viz.app.streamlit_patch import DeltaGenerator
from clearhead.viz.components.sketch import Axes, sketch
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.figures.lines import Line
from clearhead.viz.style.text import Texts, escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import button_setting
from clearhead.viz.widgets.fragment import fragment, source_listing
from clearhead.viz.widgets.layout import bullets, flex_row, heading, split
from clearhead.viz.widgets.lesson_questions import LETTERS, ask, prompts, reveal, show_me
from clearhead.viz.widgets.part import Part
from clearhead.viz.widgets.progress import forget, remember, resume
from clearhead.viz.widgets.sheets import notebook_button

# answers to the prompt and to the two final questions; a link that contains them reveals the answers
GUESS = Choice("guess", "", LETTERS)
CHECKS = Choice("check_1", "", LETTERS), Choice("check_2", "", LETTERS)
QUESTIONS = (GUESS, *CHECKS)
Drawn = TypeVar("Drawn")
_TOOK = dict[str, float]()   # seconds of each section's last training on this server


@contextmanager
def computing() -> Iterator[None]:
    """Wrap a page's arithmetic: show a notice while torch loads (a second or two, once per server)."""
    if "torch" in sys.modules:
        yield
        return
    with st.spinner(strings("lesson")["computing"]):
        yield


def controls_row() -> DeltaGenerator:
    """Draw a row of controls, which wraps in a narrow window."""
    return flex_row("bottom", gap="medium")


class Lesson:
    """One run of a lesson page."""

    def __init__(self, page: PageContext) -> None:
        self.page, self.name, self.prose = page, page.name, strings(f"lessons/{page.name}")
        self.words, self.prompts = strings("lesson"), prompts(self.prose)
        self.inside = ""                     # the section that is being drawn
        self.measured = dict[str, object]()   # numbers for the explanations of a presented question
        resume(page)
        self.uncovered = self._uncovered()   # at the page's last full run
        self.folded: set[str] = set()        # sections whose title is already on their expander

    def header(self) -> None:
        """Draw the title question, the lesson's topic, its duration, and the lessons it builds on."""
        with st.container(key="lesson-head"):
            heading(self.prose["question"], 2)
            st.markdown(self.prose["lead"], width=READABLE)
            if not self.page.present:   # a presentation has its own minutes and no buttons
                with flex_row("center", gap="small"):
                    self._about()

    def _about(self) -> None:
        """Draw the duration and the lessons it builds on."""
        known = pages()
        before = [earlier for earlier in self.prose["builds_on"] if earlier in known]
        minutes = self.words("minutes", minutes=self.prose["minutes"])
        st.caption(f"{minutes} · {self.words['builds_on']}" if before else minutes, width="content")
        for other in before:
            st.button(known[other][0].title, type="tertiary", key=f"before-{other}", on_click=self.page.open_next,
                      args=(other,))
        if self.page.state.controls_of(self.name):
            st.button(self.words["start_again"], type="tertiary", key="start-again", on_click=forget,
                      args=(self.page, self.name))

    def predict(self, control: str = "guess", **measured: object) -> bool:
        """Draw this control's question and return `open`; if true, the page draws the answer onto its figure. While
        presenting, `section` draws it. measured: numbers to fill into the explanations."""
        self.measured = measured
        if not self.page.present:
            self._ask(control)
        return self.open(control)

    def _ask(self, control: str) -> None:
        prompt = self.prompts[control]
        if self.measured:
            answers = [answer | {"why": answer("why", **self.measured)} for answer in prompt["answers"]]
            prompt = prompt | {"answers": answers}
        with st.container(border=not self.page.present, width=READABLE, key=f"predict-{control}"):
            ask(self.page, prompt, control, self.words["predict"])

    def open(self, control: str = "guess") -> bool:
        """Return whether the covered part may be shown: the question is answered or everything is revealed. While
        presenting, only the section that answers the question covers anything."""
        elsewhere = self.page.present and self.inside != self.prompts[control]["screen"]
        return self.page.state.show or bool(self.page[control]) or elsewhere

    def _uncovered(self) -> list[bool]:
        return [self.page.state.show, *(bool(self.page[control]) for control in self.prompts)]

    def covered(self, key: str) -> None:
        """Draw a placeholder for a covered answer; none while presenting, where the question is beside it."""
        if self.page.present:
            return
        with flex_row("center", gap="small", key=f"waits-{key}"):
            st.caption(self.words["waits"], width="content")
            show_me(self.page, f"waits-{key}")

    def end(self) -> None:
        """Draw the end of the page: two final questions, what to remember (which answers all questions), and the
        notebook."""
        self.fragment(_checks)
        with st.container(key="screen-remember"):
            heading(self.words["remember"], 3)
            if self.page.present or self.page.state.show or all(self._uncovered()[1:]):
                st.markdown(bullets(self.prose["remember"]), width=READABLE)
            else:
                self.covered("remember")
        if not self.page.present:
            remember(self.page)
            notebook_button(self.name, own_address(), help=strings("sheets")["notebook"]["help"])

    @contextmanager
    def section(self, name: str) -> Iterator["Section"]:
        """Draw a heading and its lead, and yield the section. Draw widgets and figures inside the block."""
        prose, lead = Section(self, name), self.prose[name].get("lead", "")
        title = "" if name in self.folded else f"### {prose['title']}"
        outer, self.inside = self.inside, name
        try:
            if self.page.present:
                with st.container(key=f"section-{name}"):
                    st.markdown(title)
                    with self._beside_question():
                        yield prose
                        with st.container(key=f"lead-{name}"):
                            st.markdown(lead)
            else:
                st.markdown(f"{title}\n\n{lead}", width=READABLE)
                with st.container(key=f"section-{name}"):
                    yield prose
        finally:
            self.inside = outer

    @contextmanager
    def _beside_question(self) -> Iterator[None]:
        """Draw the question that this section answers, if any, beside what the block draws."""
        control = next((control for control, prompt in self.prompts.items() if prompt.get("screen") == self.inside), "")
        left, right = split(2, 3) if control else (None, st.container())
        with right:
            yield
        if left is not None:
            with left:   # last, because the block may measure what its explanations say
                self._ask(control)

    def further(self, draw: Callable[..., None], *given: object, opened_by: Sequence[str] = (),
                alone: bool = True) -> None:
        """Draw the optional section that is named like `draw`, with draw(page, lesson, *given), in an expander that is
        opened by hand or by a link that sets one of the controls `opened_by`. While presenting it is an ordinary
        screen. alone: whether its controls rerun only it, as in `fragment`."""
        part = functools.partial(self.fragment, draw) if alone else functools.partial(draw, self.page, self)
        if self.page.present:
            part(*given)
            return
        name = section_name(draw)
        turned = not self.page.state.controls_of(self.page.name).keys().isdisjoint(opened_by)
        self.folded.add(name)
        with st.expander(self.prose[name]["title"], expanded=turned, key=f"further-{name}",
                         on_change="rerun") as opened:
            if opened.open:
                part(*given)

    def fragment(self, draw: Callable[..., None], *given: object) -> None:
        """Draw draw(page, lesson, *given) as a fragment, which must contain everything its controls change. `given`
        keeps the values of the page's last full run. Answering a question inside reruns the page to reveal what it
        covers elsewhere."""
        inside = self.inside

        @functools.wraps(draw)
        def part(page: PageContext, lesson: Lesson, *given: object) -> None:
            self.inside = inside   # the fragment may run alone
            if self._uncovered() != self.uncovered:
                st.rerun()
            with computing():
                draw(page, lesson, *given)

        fragment(self.page, part, self, *given)


def lesson_page(draw: Callable[[PageContext, Lesson], None]) -> Callable[[PageContext], None]:
    """Turn draw(page, lesson) into the render(page) of a lesson: its header, what the function draws, and its end."""
    @functools.wraps(draw)
    def render(page: PageContext) -> None:
        lesson = Lesson(page)
        lesson.header()
        draw(page, lesson)
        lesson.end()

    return render


def section_name(draw: Callable[..., object]) -> str:
    """Return the name of the section that a function draws."""
    return draw.__name__.removeprefix("_")


def section(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
    """Turn draw(page, words, *given) into draw(page, lesson, *given), which draws the lesson's section of that name:
    its heading and lead, then what the function draws."""
    @functools.wraps(draw)
    def drawn(page: PageContext, lesson: Lesson, *given: object) -> Drawn:
        with lesson.section(section_name(draw)) as words:
            return draw(page, words, *given)

    return drawn


class Section(Part):
    """A part of a lesson, with the lesson's questions and its notes on what is drawn."""

    def __init__(self, lesson: Lesson, name: str, among: Mapping[str, Texts] | None = None) -> None:
        """Read the section of this name: one of the lesson's, or one of `among`, such as a section's steps."""
        super().__init__(lesson.page, (among or lesson.prose)[name])
        self.lesson, self.name = lesson, name
        self.predict, self.open, self.prose = lesson.predict, lesson.open, lesson.prose
        self.arrays: dict[str, np.ndarray] = {}   # the matrices drawn, by the key of their figure

    def opened(self, control: str) -> bool:
        """Draw the switch of a part that opens a model, and return whether it is on. While presenting it always is,
        because no screen is only a switch."""
        return self.page.present or self.toggle(control)

    def idle(self, seconds: float, **facts: object) -> None:
        """Say what a training will take that has not been started. While presenting, such a section has no screen.
        seconds: what it took where it was measured, until it has run here."""
        with st.container(key=f"idle-{self.name}"):
            st.caption(self("idle", seconds=_TOOK.get(self.name, seconds), **facts))

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time a training in the block for `idle`, unless its answer was at hand."""
        begun = time.perf_counter()
        yield
        if (took := time.perf_counter() - begun) > 1:
            _TOOK[self.name] = took

    def button(self, label: str, **changes: Any) -> None:
        """Draw a button with the text self[label] that sets several controls at once."""
        button_setting(self.page, self[label], f"{self.name}-{label}", **changes)

    def again(self, control: str, label: str = "again", **changes: Any) -> None:
        """Draw a button with the text self[label] that sets a whole number to the next one, or from the largest to 0.
        changes: of other controls."""
        value = (self.page[control] + 1) % (int(self._declared(control).high) + 1)
        self.button(label, **{control: value}, **changes)

    def beside(self, *widths: float) -> list[DeltaGenerator]:
        """Draw columns of these relative widths for a question and its picture; while presenting, when `section` draws
        the question, each has the whole width."""
        return [st.container() for _ in widths] if self.page.present else split(*widths)

    def hidden(self, control: str = "guess") -> bool:
        """While this control's question is unanswered, draw a placeholder for what would answer it, and return true."""
        hidden = not self.lesson.open(control)
        if hidden:
            self.lesson.covered(self.name)
        return hidden

    def figure(self, draw: Callable[..., FigureSpec], *given: object, key: str = "", kind: str = "",
               **options: object) -> None:
        """Draw a figure as `Part.figure` does. key: needed for several of one kind, and for kinds that replace one
        another."""
        key = key or "-".join(filter(None, (self.lesson.name, self.name, kind)))
        if given and isinstance(given[0], np.ndarray) and given[0].ndim > 1:
            self.arrays[key] = given[0]
        super().figure(draw, *given, key=key, kind=kind, **options)

    def explain(self, *shown: Callable, notices_in: DeltaGenerator | None = None, **facts: object) -> None:
        """Draw what to notice in the section's figures, and the tabs below. shown: functions to list under Code.
        notices_in: the column for what to notice; ignored while presenting, which shows it below the figure."""
        self.tell(**facts)
        words = self.lesson.words
        if notices := self.get("notice"):
            column = nullcontext() if notices_in is None or self.page.present else notices_in
            with column, st.container(key=f"notices-{self.name}"):
                st.markdown(f"**{words['notice']}**\n{_listed(notices, self.facts)}", width=READABLE)
        texts = {"formula": "formula" in self and self._formula(),
                 "code": shown and words["code_about"],
                 "more": _listed(self.get("more", ()), self.facts), "practice": self.get("practice"),
                 "sources": _listed(self.get("sources", ()), {})}
        if there := {tab: text for tab, text in texts.items() if text}:
            with st.container(key=f"about-{self.name}"):
                self._proof(there, shown)

    @st.fragment
    def _proof(self, texts: dict[str, str], shown: tuple[Callable, ...]) -> None:
        """Draw the tabs as a fragment that does not repeat the page's arithmetic; a tab is drawn once chosen. A
        segmented control replaces Streamlit's tabs, which cost the browser 0.1 s per run."""
        words = self.lesson.words
        with flex_row("center", gap="small", key=f"proof-{self.name}"):
            if not self.page.present:
                st.caption(words["prove"], width="content")
            tab = st.segmented_control(words["tabs_label"], list(texts), key=f"tabs-{self.name}",
                                       default=next(iter(texts)) if self.page.present else None,
                                       format_func=words["tabs"].__getitem__, label_visibility="collapsed", wrap=True)
        if tab == "code":
            st.caption(texts[tab])
            drawn = "\n".join(f"# {key}: {each.dtype} {each.shape}" for key, each in self.arrays.items())
            st.code(f"{source_listing(shown)}\n\n{drawn}".strip(), language="python")
        elif tab is not None:
            st.markdown(texts[tab], width=READABLE)

    def _formula(self) -> str:
        """Return the formula, its symbols and the glossary terms as a single element: every element slows each run of
        the page."""
        # put each formula on its own line, because a phone would cut off a longer line
        lines = ["$$", "\\begin{gathered}" + self["formula"].replace("\\qquad", "\\\\[8pt]") + "\\end{gathered}",
                 "$$", "", *(f"- {symbol}: {what}" for symbol, what in self.get("symbols", ())), ""]
        if terms := ", ".join(f"[{escape_markdown(term.title)}]({term_link(term)})"
                              for term in terms_of_section(self.lesson.name, self.name)):
            lines.append(f":small[{strings('glossary')('here', terms=terms)}]")
        return "\n".join(lines)


def _checks(page: PageContext, lesson: Lesson) -> None:
    """Draw the two final questions in an expander, which a link with answers opens; while presenting, each has a screen
    of its own."""
    answered = page.state.show or any(page[each.name] for each in CHECKS)
    with nullcontext() if page.present else st.expander(lesson.words["check"], expanded=answered, key="check"):
        for control, prompt in zip(CHECKS, lesson.prose["check"], strict=True):
            with st.container(key=f"predict-{control.name}"):
                ask(page, prompt, control.name)


def _listed(sentences: Sequence[str], numbers: Mapping[str, object]) -> str:
    """Return the sentences as a Markdown list, with {names} filled in from `numbers`."""
    return "\n".join(f"- {sentence.format(**numbers) if numbers else sentence}" for sentence in sentences)


def screens(name: str) -> dict[str, str]:
    """Return the screens of a lesson that can be shown individually, {name: title}: its sections, each with its
    question, and the final questions."""
    prose = strings(f"lessons/{name}")
    question = strings("handout")["add_question"]
    asked = {f"predict-{control}": question.format(ask=prompt["ask"]) for control, prompt in prompts(prose).items()
             if "screen" not in prompt}   # the others are on the screens of their sections
    parts = {part: words for part, words in prose.items() if isinstance(words, dict) and "title" in words}
    return {part: words["title"] for part, words in parts.items()} | asked


PLACES = 17   # number of heights that define a drawn curve


DRAWN = Numbers("drawn", (), 0, 1, 0, PLACES)   # the control that stores a drawn curve; () before drawing
NONE_DRAWN = (0.0,)   # its value once the real curve was uncovered without drawing


def draw_first(page: PageContext, axes: Axes, alone: bool = False) -> bool:
    """Ask the reader to draw the curve first. Return whether the page may show the real one: a curve is drawn, or
    everything is revealed. alone: whether no question beside it uncovers the curve while presenting."""
    values = page[DRAWN.name]
    if values == NONE_DRAWN or (page.state.show and not values):
        return True
    sketch(DRAWN, values, axes, key="sketch-drawn", turn=page.set)
    if not values:
        show_me(page, DRAWN.name)
        if alone and page.present:
            reveal(page, DRAWN.name, NONE_DRAWN)
    return len(values) == PLACES


def drawn_lines(values: Sequence[float], x: np.ndarray, y_range: tuple[float, float], log: str = "") -> list[Line]:
    """Return the drawn curve, if any, as a line on the real figure's axes, from x[0] to x[-1] and over y_range. log:
    the logarithmic axes, as in `lines`."""
    if len(values) != PLACES:
        return []
    across = np.log(x) if "x" in log else np.asarray(x, float)
    shares = (across - across[0]) / (across[-1] - across[0])
    heights = np.interp(shares, np.linspace(0, 1, len(values)), values)
    low, high = np.log(y_range) if "y" in log else y_range
    y = low + heights * (high - low)
    return [Line(strings("lesson")["sketch"]["yours"], np.exp(y) if "y" in log else y, None, "dash")]
