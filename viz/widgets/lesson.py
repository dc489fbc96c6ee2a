"""The scaffold of a lesson page. A lesson is viz/pages/NAME.py and its prose assets/text/en/lessons/NAME.toml; its
title is in assets/text/en/menu.toml.

The page:

    PAGE = Page("nothing", controls=(*QUESTIONS, Number("t", 1.0, 0.01, 100)))

    def render(page: PageContext) -> None:
        lesson = Lesson(page, "softmax")
        lesson.header()                                 # question, lead, minutes
        revealed = lesson.predict()                     # the prompt; whether what it covers may be seen
        lesson.fragment(_curves)                        # a control in it draws it again, and nothing else

    def _curves(page, lesson):                          # holds everything that its controls change
        with lesson.section("curves") as words:         # heading and lead; gives the prose of [curves]
            ...widgets, then figure(curves, ..., key="curves", alt=lesson.alt("curves", t=...))
            lesson.explanation("curves", shown=(softmax_rows, curves), shapes={"z": z}, t=t)

The page's controls begin with QUESTIONS, and its render ends with lesson.end(). The first section is visual: one thing
to move, one sentence and the question beside its picture, all within one screen of 1440 × 900. The other sections say
why, each with its derivation folded below.

The prose (Markdown with $LaTeX$; {names} are filled from the keyword arguments of explanation and alt):

    question, lead, minutes, builds_on = ["softmax"], boxes = ["softmax"]
        boxes: in the Transformer's figure, viz/components/transformer_diagram
    remember = [three lines]
    [predict]  ask, answers = [{text, why}, ...] (three or four), right = 0
        why: the sentence that explains it; a second prompt is [predict_NAME], stored in the control guess_NAME
    [[check]] two of them, like [predict]: questions that the lesson has answered by its end
    [SECTION]  title, lead, alt, notice = [at most three], more = [...], formula, symbols = [[symbol, what it is on
        screen], ...], practice, sources = [...]

explanation draws what to notice, then tabs for Formula, Code (the source of the functions in `shown` and the current
shapes), More to notice, Where it matters and Sources; empty ones are left out. Before computing anything with torch,
the page must have drawn its header, and it computes inside `with computing():`, which says so while torch is loading.
Controls are widgets from fields.py, which show page.controls and call page.set; drag handles are in
`viz.components.handles`; a head of the record is chosen with `viz.widgets.head_picker`.
"""
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
import streamlit as st

from viz.components.sketch import Axes, sketch
from viz.figures.lines import Line
from viz.glossary import term_link, terms_of_section
from viz.page import PageContext, own_address, pages
from viz.page_controls import Choice, Numbers
from viz.streamlit_patch import DeltaGenerator
from viz.text import escape_markdown, strings
from viz.theme import READABLE
from viz.widgets.fragment import fragment, source_listing
from viz.widgets.lesson_questions import LETTERS, ask, prompts, show_me
from viz.widgets.progress import forget, remember, resume
from viz.widgets.sheets import notebook_button

# hold the answers to the prompt and to the two questions at the end; a link with them shows the answers
GUESS = Choice("guess", "", LETTERS)
CHECKS = Choice("check_1", "", LETTERS), Choice("check_2", "", LETTERS)
QUESTIONS = (GUESS, *CHECKS)


@contextmanager
def computing() -> Iterator[None]:
    """Wrap a page's arithmetic: show that it is starting while torch is loading (a second or two, once per server)."""
    if "torch" in sys.modules:
        yield
        return
    with st.spinner(strings("lesson")["computing"]):
        yield


class Lesson:
    """One run of a lesson page."""

    def __init__(self, page: PageContext, name: str) -> None:
        self.page, self.name, self.prose, self.words = page, name, strings(f"lessons/{name}"), strings("lesson")
        resume(page)
        self.uncovered = self._uncovered()   # when the page ran
        self.folded: set[str] = set()        # sections whose title is on their fold

    def header(self) -> None:
        """Draw the title question, the lesson's topic, its duration, and what it builds on."""
        with st.container(key="lesson-head"):
            st.markdown(f"## {self.prose['question']}")
            st.markdown(self.prose["lead"], width=READABLE)
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                self._about()

    def _about(self) -> None:
        """Draw the minutes and the lessons it builds on; without buttons in lecture mode."""
        known = pages()
        before = [earlier for earlier in self.prose["builds_on"]
                  if earlier in known and not self.page.state.present]
        minutes = self.words["minutes"].format(minutes=self.prose["minutes"])
        st.caption(f"{minutes} · {self.words['builds_on']}" if before else minutes, width="content")
        for other in before:
            st.button(known[other][0].title, type="tertiary", key=f"before-{other}", on_click=self.page.open_next,
                      args=(other,))
        if self.page.state.controls_of(self.name) and not self.page.state.present:
            st.button(self.words["start_again"], type="tertiary", key="start-again", on_click=forget,
                      args=(self.page, self.name))

    def predict(self, control: str = "guess", **measured: float) -> bool:
        """Draw this control's prompt and return `open`: once that is true, the page draws the answer onto its picture.
        measured: numbers used in the answers."""
        prompt = prompts(self.prose)[control]
        if measured:
            answers = [answer | {"why": answer["why"].format(**measured)} for answer in prompt["answers"]]
            prompt = prompt | {"answers": answers}
        with st.container(border=not self.page.state.present, width=READABLE, key=f"predict-{control}"):
            ask(self.page, prompt, control, self.words["predict"])
        return self.open(control)

    def open(self, control: str = "guess") -> bool:
        """Return whether the covered part may be shown: the question is answered, or everything is revealed. In lecture
        mode a question has a screen before its picture."""
        return self.page.state.show or self.page.state.present or bool(self.page.controls[control])

    def _uncovered(self) -> list[bool]:
        return [self.page.state.show, *(self.open(name) for name in self._asked())]

    def _asked(self) -> list[str]:
        """Return the controls of the questions before the end."""
        return [name for name in prompts(self.prose) if not name.startswith("check_")]

    def covered(self, key: str) -> None:
        """Draw a placeholder where the answer to the prompt will appear."""
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"waits-{key}"):
            st.caption(self.words["waits"], width="content")
            show_me(self.page, f"waits-{key}")

    def end(self) -> None:
        """Draw what to remember (the answers to the questions above), two final questions, and the notebook; the last
        part of the page."""
        with st.container(key="screen-remember"):
            st.markdown(f"### {self.words['remember']}")
            if all(map(self.open, self._asked())):
                st.markdown("\n".join(f"- {line}" for line in self.prose["remember"]), width=READABLE)
            else:
                self.covered("remember")
        if self.page.state.present:
            self.fragment(_hall_checks)
            return
        self.fragment(_checks)
        remember(self.page)
        notebook_button(self.name, own_address(), help=strings("sheets")["notebook"]["help"])

    @contextmanager
    def section(self, name: str) -> Iterator[dict]:
        """Draw a heading and its lead, and yield the section's texts; widgets and figures follow within the block."""
        prose, lead = self.prose[name], self.prose[name].get("lead", "")
        title = "" if name in self.folded else f"### {prose['title']}"
        if self.page.state.present:   # the lead goes below the picture, in place of the notices
            with st.container(key=f"section-{name}"):
                st.markdown(title)
                yield prose
                with st.container(key=f"lead-{name}"):
                    st.markdown(lead)
            return
        st.markdown(f"{title}\n\n{lead}", width=READABLE)
        with st.container(key=f"section-{name}"):
            yield prose

    def further(self, name: str, draw: Callable[[], None], opened_by: Sequence[str] = ()) -> None:
        """Draw an optional section, draw(): folded, and drawn when opened by hand or by a link that sets one of these
        controls. In lecture mode it is an ordinary screen."""
        if self.page.state.present:
            draw()
            return
        turned = not self.page.state.controls_of(self.page.name).keys().isdisjoint(opened_by)
        self.folded.add(name)
        with st.expander(self.prose[name]["title"], expanded=turned, key=f"further-{name}",
                         on_change="rerun") as opened:
            if opened.open:
                draw()

    def fragment(self, draw: Callable[..., None], *given: object) -> None:
        """Draw draw(page, lesson, *given), a part that reruns alone and must contain everything its controls change.
        `given` is fixed at the page's run. If a question inside is answered, the page reruns to reveal what it covers
        elsewhere."""
        @functools.wraps(draw)
        def part(page: PageContext, lesson: Lesson, *given: object) -> None:
            if self._uncovered() != self.uncovered:
                st.rerun()
            draw(page, lesson, *given)

        fragment(self.page, part, self, *given)

    def alt(self, name: str, /, **numbers: object) -> str:
        """Return the alternative text of the section's picture."""
        return self.prose[name]["alt"].format(**numbers)

    def explanation(self, name: str, /, *, shown: tuple[Callable, ...] = (), shapes: Mapping[str, object] | None = None,
                    notices_in: DeltaGenerator | None = None, **numbers: object) -> None:
        """Draw what to notice in a section's picture, and the tabs below it. shapes: {name: current array, or text}.
        notices_in: the column for the notices; lecture mode shows them below the picture."""
        prose = self.prose[name]
        if prose.get("notice"):
            column = nullcontext() if notices_in is None or self.page.state.present else notices_in
            with column, st.container(key=f"notices-{name}"):
                st.markdown(f"**{self.words['notice']}**\n{_listed(prose['notice'], numbers)}", width=READABLE)
        texts = {"formula": prose.get("formula") and self._formula(name), "code": shown and self.words["code_about"],
                 "more": prose.get("more") and _listed(prose["more"], numbers), "practice": prose.get("practice"),
                 "sources": prose.get("sources") and _listed(prose["sources"], {})}
        there = {tab: text for tab, text in texts.items() if text}
        if there:
            with st.container(key=f"about-{name}"):
                self._proof(name, there, shown, shapes or {})

    @st.fragment
    def _proof(self, name: str, texts: dict[str, str], shown: tuple[Callable, ...],
               shapes: Mapping[str, object]) -> None:
        """Draw the tabs as a fragment: nothing is drawn until one is chosen, and then without the page's arithmetic. A
        choice is used instead of Streamlit's tabs, which cost the browser a tenth of a second per run."""
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"proof-{name}"):
            st.caption(self.words["prove"], width="content")
            tab = st.segmented_control(self.words["tabs_label"], list(texts), key=f"tabs-{name}",
                                       format_func=self.words["tabs"].__getitem__, label_visibility="collapsed",
                                       wrap=True)
        if tab is None:
            return
        if tab != "code":
            st.markdown(texts[tab], width=READABLE)
            return
        st.caption(texts[tab])
        st.code(source_listing(shown, shapes), language="python")

    def _formula(self, name: str) -> str:
        """Return the formula, its symbols and the glossary terms as a single element, since every element takes part in
        each run of the page."""
        prose = self.prose[name]
        # on a phone, a line with several formulas would be cut off: put each on its own line
        lines = ["$$", "\\begin{gathered}" + prose["formula"].replace("\\qquad", "\\\\[8pt]") + "\\end{gathered}",
                 "$$", ""]
        lines += [f"- {symbol}: {what}" for symbol, what in prose.get("symbols", ())]
        terms = ", ".join(f"[{escape_markdown(term.title)}]({term_link(term)})"
                          for term in terms_of_section(self.name, name))
        return "\n".join([*lines, "", f":small[{strings('glossary')['here'].format(terms=terms)}]" if terms else ""])


def _checks(page: PageContext, lesson: Lesson) -> None:
    """Draw the two final questions, folded until the reader, or a link with answers, opens them."""
    words, asked = lesson.words, {each.name: page.controls[each.name] for each in CHECKS}
    with st.expander(words["check"], expanded=page.state.show or any(asked.values()), key="check"):
        for (control, _), prompt in zip(asked.items(), lesson.prose["check"], strict=True):
            ask(page, prompt, control)


def _hall_checks(page: PageContext, lesson: Lesson) -> None:
    """Draw them in lecture mode: each on a screen, without storing answers."""
    for control, prompt in zip(CHECKS, lesson.prose["check"], strict=True):
        with st.container(key=f"predict-{control.name}"):
            ask(page, prompt, control.name)


def _listed(sentences: list[str], numbers: Mapping[str, object]) -> str:
    """Return a Markdown list of the sentences, with {names} filled in from the numbers."""
    return "\n".join(f"- {sentence.format(**numbers) if numbers else sentence}" for sentence in sentences)


def lessons() -> list[str]:
    """Return the names of all lesson pages, those with texts in lessons/, in menu order."""
    from viz.text import FOLDER

    return [name for name in pages() if (FOLDER / "lessons" / f"{name}.toml").is_file()]


def screens(name: str) -> dict[str, str]:
    """Return the screens of a lesson that can be shown alone, {name: title}: its questions and sections."""
    prose = strings(f"lessons/{name}")
    question = strings("handout")["add_question"]
    asked = {f"predict-{control}": question.format(ask=prompt["ask"]) for control, prompt in prompts(prose).items()}
    parts = {part: words for part, words in prose.items() if isinstance(words, dict) and "title" in words}
    return {part: words["title"] for part, words in parts.items()} | asked


PLACES = 17   # heights that define the curve


def drawn_control(name: str = "drawn") -> Numbers:
    """Return the control that stores a drawn curve; its value is () until one is drawn."""
    return Numbers(name, (), 0, 1, 0, PLACES)


def draw_first(page: PageContext, control: Numbers, axes: Axes) -> bool:
    """Let the reader draw the curve first, and return whether one is drawn or everything is revealed; the page then
    shows the real one."""
    values = page.controls[control.name]
    if page.state.show and not values:
        return True
    sketch(control, values, axes, key=f"sketch-{control.name}", turn=page.set)
    if not values:
        show_me(page, control.name)
    return len(values) == PLACES


def drawn_lines(values: Sequence[float], x: np.ndarray, y_range: tuple[float, float], log: str = "") -> list[Line]:
    """Return the drawn curve, if any, as a line over the real figure's axes: from x[0] to x[-1] and over y_range; log:
    which axes are logarithmic, as in `lines`."""
    if len(values) != PLACES:
        return []
    across = np.log(x) if "x" in log else np.asarray(x, float)
    shares = (across - across[0]) / (across[-1] - across[0])
    heights = np.interp(shares, np.linspace(0, 1, len(values)), values)
    low, high = np.log(y_range) if "y" in log else y_range
    y = low + heights * (high - low)
    return [Line(strings("lesson")["sketch"]["yours"], np.exp(y) if "y" in log else y, None, "dash")]
