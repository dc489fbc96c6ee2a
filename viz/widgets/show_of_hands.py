"""A question of a lesson before a hall: a count of hands at each answer, and bars once the answer is shown."""
from collections.abc import Sequence

import streamlit as st

from viz.components.hands import clear_hands, hands
from viz.page import PageContext
from viz.text import strings


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
