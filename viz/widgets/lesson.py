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

The page's controls begin with QUESTIONS, its render ends with lesson.end(). Its first section is for seeing: one thing
to move, one sentence, the question beside its picture, all of it on one screen of 1440 × 900. The others say why, and
what proves it is folded away below each of them.

The prose (all of it Markdown with $LaTeX$; {names} are filled in with the keyword arguments of explanation and alt):

    question, lead, minutes, builds_on = ["softmax"], boxes = ["softmax"]
        boxes: of the Transformer's figure, viz/components/transformer_diagram
    remember = [three lines]
    [predict]  ask, answers = [{text, why}, ...] (three or four), right = 0
        why: the sentence that puts it right; a second prompt is [predict_NAME], held by the control guess_NAME
    [[check]]  two of them, each as [predict]: what the lesson has answered by its end
    [SECTION]  title, lead, alt, notice = [at most three], more = [...], formula, symbols = [[symbol, what it is on
        screen], ...], practice, sources = [...]

explanation draws what to notice, then a row that opens Formula, Code (the source of the functions in `shown` and the
shapes now), More to notice, Where it matters, Sources; one without text is left out. Before the page computes anything
with torch it must have drawn its header, and it computes inside `with computing():`, which says so while torch is
still being loaded. Controls are widgets of fields.py (this file's neighbour), which show page.controls and
call page.set; what one drags is `viz.components.handles`; a head of the record is chosen with
`viz.widgets.head_picker`. """
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

# the controls that hold the answers to the prompt and to the two questions at the end; a link with them shows what was
# answered
GUESS = Choice("guess", "", LETTERS)
CHECKS = Choice("check_1", "", LETTERS), Choice("check_2", "", LETTERS)
QUESTIONS = (GUESS, *CHECKS)


@contextmanager
def computing() -> Iterator[None]:
    """Round a page's arithmetic: says that it is starting as long as torch is not loaded yet (a second or two, once a
    server)."""
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
        self.uncovered = self._uncovered()   # as the page ran
        self.folded: set[str] = set()        # sections whose title their fold has

    def header(self) -> None:
        """Draw the question as title, what the lesson is about, how long it takes, and what it builds on."""
        with st.container(key="lesson-head"):
            st.markdown(f"## {self.prose['question']}")
            st.markdown(self.prose["lead"], width=READABLE)
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                self._about()

    def _about(self) -> None:
        """Minutes, and lessons to have seen before; a lecture shows no buttons."""
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
        """Return the prompt of this control. Gives `open`: once that is true the page draws the answer onto its
        picture. measured: numbers that its answers tell."""
        prompt = prompts(self.prose)[control]
        if measured:
            answers = [answer | {"why": answer["why"].format(**measured)} for answer in prompt["answers"]]
            prompt = prompt | {"answers": answers}
        with st.container(border=not self.page.state.present, width=READABLE, key=f"predict-{control}"):
            ask(self.page, prompt, control, self.words["predict"])
        return self.open(control)

    def open(self, control: str = "guess") -> bool:
        """Return whether what this question covers may be seen: it is answered, or everything is shown. In a lecture a
        question has a screen before its picture."""
        return self.page.state.show or self.page.state.present or bool(self.page.controls[control])

    def _uncovered(self) -> list[bool]:
        return [self.page.state.show, *(self.open(name) for name in self._asked())]

    def _asked(self) -> list[str]:
        """Return the controls of the questions before the end."""
        return [name for name in prompts(self.prose) if not name.startswith("check_")]

    def covered(self, key: str) -> None:
        """Stands where the answer to the prompt will be drawn."""
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"waits-{key}"):
            st.caption(self.words["waits"], width="content")
            show_me(self.page, f"waits-{key}")

    def end(self) -> None:
        """Draw what to remember, which answers the questions above, two questions that the lesson has answered, and its
        notebook; the last part of its page."""
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
        """A heading and its lead; the section's widgets and figures follow inside. Gives the section's prose."""
        prose, lead = self.prose[name], self.prose[name].get("lead", "")
        title = "" if name in self.folded else f"### {prose['title']}"
        if self.page.state.present:   # the lead stands below the picture, where the notices take its place
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
        """Draw a section that only some readers want, draw(): folded away, and drawn once it is opened, by hand or by a
        link with one of these controls. In a lecture it is a screen as any other."""
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
        """Draw draw(page, lesson, *given), a part of the page that answers without the rest of it: it holds everything
        that its controls change. `given` is what it was when the page ran. A question that is answered in it uncovers
        what stands elsewhere, so the page then runs again."""
        @functools.wraps(draw)
        def part(page: PageContext, lesson: Lesson, *given: object) -> None:
            if self._uncovered() != self.uncovered:
                st.rerun()
            draw(page, lesson, *given)

        fragment(self.page, part, self, *given)

    def alt(self, name: str, /, **numbers: object) -> str:
        """Return the words for those who do not see the section's picture."""
        return self.prose[name]["alt"].format(**numbers)

    def explanation(self, name: str, /, *, shown: tuple[Callable, ...] = (), shapes: Mapping[str, object] | None = None,
                    notices_in: DeltaGenerator | None = None, **numbers: object) -> None:
        """Draw what to notice in a section's picture, and the tabs below it. shapes: {name: array, or text} as they are
        now. notices_in: the column that has room for what to notice; a lecture shows it below the picture."""
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
        """Draw a fragment: nothing is drawn until a tab is chosen, and it then is without the page's arithmetic. A
        choice, not Streamlit's tabs: those of a page took its browser a tenth of a second in every run."""
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
        """Return the formula, its symbols and the terms of the glossary: one element, as every element of a page takes
        part in each of its runs."""
        prose = self.prose[name]
        # on a phone a line of several formulas would be cut off: each gets its own
        lines = ["$$", "\\begin{gathered}" + prose["formula"].replace("\\qquad", "\\\\[8pt]") + "\\end{gathered}",
                 "$$", ""]
        lines += [f"- {symbol}: {what}" for symbol, what in prose.get("symbols", ())]
        terms = ", ".join(f"[{escape_markdown(term.title)}]({term_link(term)})"
                          for term in terms_of_section(self.name, name))
        return "\n".join([*lines, "", f":small[{strings('glossary')['here'].format(terms=terms)}]" if terms else ""])


def _checks(page: PageContext, lesson: Lesson) -> None:
    """Draw the two questions at the end, folded away until somebody wants them, or a link has them answered."""
    words, asked = lesson.words, {each.name: page.controls[each.name] for each in CHECKS}
    with st.expander(words["check"], expanded=page.state.show or any(asked.values()), key="check"):
        for (control, _), prompt in zip(asked.items(), lesson.prose["check"], strict=True):
            ask(page, prompt, control)


def _hall_checks(page: PageContext, lesson: Lesson) -> None:
    """Draw the same before a hall: each on a screen, and nothing is remembered of it."""
    for control, prompt in zip(CHECKS, lesson.prose["check"], strict=True):
        with st.container(key=f"predict-{control.name}"):
            ask(page, prompt, control.name)


def _listed(sentences: list[str], numbers: Mapping[str, object]) -> str:
    """As a list in Markdown, its {names} filled in with the numbers where there are any."""
    return "\n".join(f"- {sentence.format(**numbers) if numbers else sentence}" for sentence in sentences)


def lessons() -> list[str]:
    """Return the names of all lesson pages in the order of the menu: the pages that have prose of their own among the
    lessons."""
    from viz.text import FOLDER

    return [name for name in pages() if (FOLDER / "lessons" / f"{name}.toml").is_file()]


def screens(name: str) -> dict[str, str]:
    """Return the screens of a lesson that somebody may want alone, each with its title: its questions and sections."""
    prose = strings(f"lessons/{name}")
    question = strings("handout")["add_question"]
    asked = {f"predict-{control}": question.format(ask=prompt["ask"]) for control, prompt in prompts(prose).items()}
    parts = {part: words for part, words in prose.items() if isinstance(words, dict) and "title" in words}
    return {part: words["title"] for part, words in parts.items()} | asked


PLACES = 17   # heights that make the curve


def drawn_control(name: str = "drawn") -> Numbers:
    """Return the page's control that holds the curve; () until one is drawn."""
    return Numbers(name, (), 0, 1, 0, PLACES)


def draw_first(page: PageContext, control: Numbers, axes: Axes) -> bool:
    """Ask for the curve, until one is drawn or everything is shown. Whether that is so: the page then shows the real
    one."""
    values = page.controls[control.name]
    if page.state.show and not values:
        return True
    sketch(control, values, axes, key=f"sketch-{control.name}", turn=page.set)
    if not values:
        show_me(page, control.name)
    return len(values) == PLACES


def drawn_lines(values: Sequence[float], x: np.ndarray, y_range: tuple[float, float], log: str = "") -> list[Line]:
    """Return the curve that was drawn, if one was, as a line over the x of the real figure, whose axes it was drawn
    over: from x[0] to x[-1] and over y_range; log: which of them are logarithmic, as of `lines`."""
    if len(values) != PLACES:
        return []
    across = np.log(x) if "x" in log else np.asarray(x, float)
    shares = (across - across[0]) / (across[-1] - across[0])
    heights = np.interp(shares, np.linspace(0, 1, len(values)), values)
    low, high = np.log(y_range) if "y" in log else y_range
    y = low + heights * (high - low)
    return [Line(strings("lesson")["sketch"]["yours"], np.exp(y) if "y" in log else y, None, "dash")]
