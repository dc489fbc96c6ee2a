"""A question of a lesson: answers to choose from, or a count of hands in a lecture, and then what is true of each."""
from collections.abc import Sequence

import streamlit as st

from viz.components.hands import clear_hands, hands
from viz.page import PageContext
from viz.session import session
from viz.text import strings

LETTERS = ("a", "b", "c", "d")


def prompts(prose: dict) -> dict[str, dict]:
    """The questions of a lesson's prose by the control that holds the answer: guess for [predict], guess_far for
    [predict_far], then check_1 and check_2."""
    first = {table.replace("predict", "guess"): each for table, each in prose.items() if table.startswith("predict")}
    return first | {f"check_{place + 1}": each for place, each in enumerate(prose.get("check", ()))}


def ask(page: PageContext, prompt: dict, control: str, title: str = "") -> bool:
    """Asks `prompt` (ask, answers, right, as in a lesson's prose); the page's control of this name holds the letter of
    the answer. Whether it is answered. title: a word or two before the question."""
    words, chosen, key = strings("lesson"), page.controls[control], f"view_{control}"
    letters = LETTERS[:len(prompt["answers"])]
    if session().state.present:
        return ask_hall(page, prompt, control, letters, title)
    st.session_state[key] = None
    st.markdown(f"**{title}.** {prompt['ask']}" if title else prompt["ask"])
    if chosen not in letters:
        st.radio(prompt["ask"], letters,
                 format_func=lambda letter: prompt["answers"][letters.index(letter)]["text"], key=key,
                 on_change=lambda: page.set(**{control: st.session_state[key]}),
                 label_visibility="collapsed")
        return False
    st.markdown("\n\n".join(_judged(prompt, letters.index(chosen), words["yours"])))
    st.button(words["again"], type="tertiary", key=f"again-{control}",
              on_click=page.set, kwargs={control: ""})
    return True


def _judged(prompt: dict, chosen: int, yours: str) -> list[str]:
    """Every answer with its sentence; whether it is right, and whose it was."""
    signs = ["✓" if place == prompt["right"] else "✗" for place in range(len(prompt["answers"]))]
    own = [f" *({yours})*" if place == chosen else "" for place in range(len(signs))]
    return [f"{sign} **{answer['text']}**{mine}  \n{answer['why']}"
            for sign, mine, answer in zip(signs, own, prompt["answers"], strict=True)]


def ask_hall(page: PageContext, prompt: dict, control: str, letters: Sequence[str], title: str = "") -> bool:
    """Asks `prompt` as `lesson_questions.ask` does, each answer with the hands for it. A click on one, or what the next
    arrow presses, shows what is true of each, and none is marked as one's own. Whether that is shown."""
    words, told = strings("lecture"), page.controls[control] in letters
    question = f"{page.name} {control}"
    st.markdown(f"**{title}.** {prompt['ask']}" if title else prompt["ask"])
    for place, (letter, answer) in enumerate(zip(letters, prompt["answers"], strict=True)):
        right = told and place == prompt["right"]
        text, count = st.columns([4, 1], gap="small", vertical_alignment="center")
        with text:
            if told:
                st.markdown(f"{'✓' if right else '✗'} **{answer['text']}**")
            else:
                st.button(f"**{place + 1}**  {answer['text']}", type="tertiary", key=f"answer-{control}-{letter}",
                          on_click=page.set, kwargs={control: letter})
        with count:
            hands(question, place, len(letters), key=f"hands-{control}-{letter}", told=told, right=right)
        if told:
            st.markdown(answer["why"])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if told:
            st.button(words["again"], type="tertiary", key=f"again-{control}", on_click=page.set,
                      kwargs={control: ""})
        else:
            st.button(words["reveal"], key=f"reveal-{control}", on_click=page.set,
                      kwargs={control: letters[prompt["right"]]})
        clear_hands(question, key=f"hands-{control}-clear")
    return told
