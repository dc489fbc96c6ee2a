"""The section in which a decoder writes three words: greedy, by beam search, or drawn from what is left of its
probabilities."""
from typing import Any

import numpy as np
import streamlit as st

from model.lessons import since
from model.lessons.since import WORDS, encode
from viz.figures.diagrams import Branch, word_tree
from viz.figures.drawing import markup
from viz.format import format_share
from viz.page import PageContext
from viz.widgets.control_widgets import choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson, computing

PROMPTS = {"the": "the", "le": "le", "two": "two plus"}
STEPS, BRANCHES, LEAST = 3, 5, 0.01     # words written, drawn after each word, and P of a path below which it is not
SHARES = tuple(round(0.05 * step, 2) for step in range(1, 21))


def writing_section(page: PageContext, lesson: Lesson) -> None:
    """The tree of what the decoder may write after a prompt, and what a strategy keeps of it."""
    words, how = lesson.prose["writing"], page.controls["how"]
    with lesson.section("writing"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            choice_for(page, "prompt", words["prompt"], {name: f"{text} …" for name, text in PROMPTS.items()})
            choice_for(page, "how", words["how"], words["hows"])
        amount = _amount(page, words, how)
        prompt = tuple(encode(["<start>", *PROMPTS[page.controls["prompt"]].split()]))
        with computing():
            nodes = since.tree(since.next_words, prompt, STEPS, how, amount, BRANCHES)
            claims = writing_claims(words, how, amount, prompt, page.controls["beam"])
        drawn = [node for node in nodes if node.whole >= LEAST or (node.kept and how in ("greedy", "beam"))]
        branches = [Branch(node.path, WORDS[node.path[-1]], format_share(node.given, 0), node.kept,
                           markup(words["said"], path=_said(node.path), given=node.given, whole=node.whole,
                                                kept=node.kept)) for node in drawn]
        figure(lambda theme: word_tree(theme, f"{PROMPTS[page.controls['prompt']]} …", branches), key="since-tree",
               alt=lesson.alt("writing", how=words["hows"][how], count=len(branches)))
        lesson.explanation("writing", shown=(since.greedy, since.beam, since.top_k, since.top_p),
                           shapes={"P": np.exp(since.next_words(prompt))}, steps=STEPS, least=LEAST, **claims)


def _amount(page: PageContext, words: dict, how: str) -> float:
    """The slider of the strategy, and its value; greedy has none."""
    if how == "greedy":
        return 1.0
    name, options = {"beam": ("beam", range(1, 6)), "top_k": ("k", range(1, 6)), "top_p": ("p", SHARES)}[how]
    slider_for(page, name, words["amounts"][how], options)
    return page.controls[name]


def _found(prompt: since.Path, width: int) -> dict[str, tuple[since.Path, float]]:
    """(path, P) by greedy search, by beam search, and the likeliest of all."""
    greedy = since.greedy(since.next_words, prompt, STEPS)
    whole = sum(since.next_words(prompt + greedy[:place])[word] for place, word in enumerate(greedy))
    path, log = since.beam(since.next_words, prompt, STEPS, width)[-1][0]
    return {"greedy": (greedy, float(np.exp(whole))), "beam": (path, float(np.exp(log))),
            "best": since.best(since.next_words, prompt, STEPS)}


def _said(path: since.Path) -> str:
    return " ".join(WORDS[word] for word in path)


def writing_claims(words: dict, how: str, amount: float, prompt: since.Path, width: int) -> dict[str, Any]:
    """What a strategy writes after a prompt, as a sentence (`says`), and the paths and shares that it names."""
    found, given = _found(prompt, width), np.exp(since.next_words(prompt))
    numbers: dict[str, Any] = {f"{name}_said": _said(path) for name, (path, _) in found.items()}
    numbers |= {f"{name}_share": share for name, (_, share) in found.items()}
    kept = since.top_k(given, int(amount)) if how == "top_k" else since.top_p(given, amount)
    says = words["says"][how].format(**numbers, amount=amount, count=int(np.count_nonzero(kept)),
                                     cut=1 - given[kept > 0].sum(), first=kept.max(), before=given.max())
    return numbers | {"says": says}
