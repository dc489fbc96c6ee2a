"""Lesson questions: answers to choose from (or, while presenting, counts of raised hands), then an explanation of each.
They are optional: *Show me* reveals every answer, on all pages and for the rest of the visit."""
from collections.abc import Sequence

import streamlit as st

from clearhead.viz.app.page import PageContext
from clearhead.viz.components.hands import hands
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.fields import bind
from clearhead.viz.widgets.layout import flex_row, split

WORDS = strings("lesson")

LETTERS = ("a", "b", "c", "d")


def prompts(prose: dict) -> dict[str, dict]:
    """Return a lesson's questions by the control that stores the answer: guess for [predict], guess_far for
    [predict_far], check_1 and check_2."""
    first = {table.replace("predict", "guess"): each for table, each in prose.items() if table.startswith("predict")}
    return first | {f"check_{place + 1}": each for place, each in enumerate(prose.get("check", ()))}


def show_me(page: PageContext, key: str) -> None:
    """Draw the button that reveals every covered answer, on this page and all others; none while presenting."""
    if page.present:
        return
    st.button(WORDS["show"], key=f"show-{key}", type="tertiary", icon=":material/visibility:", help=WORDS["show_help"],
              on_click=page.set, kwargs={"show": True})


def reveal(page: PageContext, control: str, answer: object) -> None:
    """Draw a presentation's button that uncovers one answer, which the key for the next text presses."""
    st.button(strings("present")["reveal"], key=f"reveal-{control}", on_click=page.set, kwargs={control: answer})


def ask(page: PageContext, prompt: dict, control: str, title: str = "") -> None:
    """Ask `prompt` (ask, answers and right, as in a lesson's texts) and store the answer's letter in the control. Once
    it is answered, or everything is revealed, each answer shows its explanation. title: a word or two before the
    question."""
    chosen = page[control]
    letters = LETTERS[:len(prompt["answers"])]
    st.markdown(f"**{title}.** {prompt['ask']}" if title else prompt["ask"])
    if page.present:
        _ask_presented(page, prompt, control, letters)
        return
    if chosen not in letters and not page.state.show:
        with flex_row("bottom", gap="small"):
            st.radio(prompt["ask"], letters,
                     format_func=lambda letter: prompt["answers"][letters.index(letter)]["text"],
                     label_visibility="collapsed", width="stretch", **bind(page.set, control, None, initial=""))
            show_me(page, control)
        return
    st.markdown("\n\n".join(_judged(prompt, letters.index(chosen) if chosen in letters else None)))
    again, change = ("again", {control: ""}) if chosen in letters else ("hide", {"show": False})
    st.button(WORDS[again], type="tertiary", key=f"again-{control}", on_click=page.set, kwargs=change)


def _judged(prompt: dict, chosen: int | None) -> list[str]:
    """Return every answer with its explanation, marking the correct and the chosen one."""
    signs = ["✓" if place == prompt["right"] else "✗" for place in range(len(prompt["answers"]))]
    own = [f" *({WORDS['yours']})*" if place == chosen else "" for place in range(len(signs))]
    return [f"{sign} **{answer['text']}**{mine}  \n{answer['why']}"
            for sign, mine, answer in zip(signs, own, prompt["answers"], strict=True)]


def _ask_presented(page: PageContext, prompt: dict, control: str, letters: Sequence[str]) -> None:
    """Draw the answers, each with a count of raised hands. A click on an answer, or the next arrow key, reveals the
    explanations; no answer is marked as chosen."""
    words, told = strings("present"), page.state.show or page[control] in letters
    question = f"{page.name} {control}"
    for place, (letter, answer) in enumerate(zip(letters, prompt["answers"], strict=True)):
        right = told and place == prompt["right"]
        text, count = split(5, 1, gap="small", vertical_alignment="center")
        with text:
            if told:
                st.markdown(f"{'✓' if right else '✗'} **{answer['text']}** {answer['why']}")
            else:
                st.button(f"**{place + 1}**  {answer['text']}", type="tertiary", key=f"answer-{control}-{letter}",
                          on_click=page.set, kwargs={control: letter})
        with count:
            hands(question, key=f"hands-{control}-{letter}", place=place, answers=len(letters), told=told, right=right)
    with flex_row("center", gap="small"):
        if told:
            st.button(words["again"], type="tertiary", key=f"again-{control}", on_click=page.set,
                      kwargs={control: ""})
        else:
            reveal(page, control, letters[prompt["right"]])
        hands(question, key=f"hands-{control}-clear")
