"""The part of *Encoder, decoder, or both* that sets three families side by side: who may see what, and what changes
when a word is hidden."""
import re
from contextlib import closing

import numpy as np
import streamlit as st

from model.ask import sources
from model.core.models import LastVectorsQuery
from model.core.query import Hide, Kind, Query
from model.core.record import AttentionRecord, Tokens
from model.lessons import families
from viz.figures.bars import bars
from viz.figures.base import UPRIGHT
from viz.figures.matrix import CellStyle, matrix
from viz.format import token_markdown
from viz.page import PageContext
from viz.text import escape_markdown
from viz.widgets.control_widgets import choice_for, slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

TEXT = "The animal didn't cross the street because it was too tired."
FAMILIES = ("encoder", "both", "decoder")   # the decoder is the largest: the others are on the screen before it answers
PLACES = (0, 2, 1)                           # of their columns
ENCODER, BOTH, STANDS_IN = "minilm", "translator", "induction"
KINDS = {"encoder": Kind.SELF, "decoder": Kind.CAUSAL, "cross": Kind.CROSS}


def decoder() -> tuple[str, bool]:
    """The decoder to show, and whether it is SmolLM2: where that is not on disk, the one that was trained here stands
    in."""
    there = any(offer.id == "smollm2" and offer.on_disk for offer in sources.catalogue())
    return ("smollm2", True) if there else (STANDS_IN, False)


def sentence(page: PageContext) -> str:
    """The sentence that the page is about."""
    return page.controls["say"].strip() or TEXT


def family_queries(text: str) -> list[Query]:
    """The same sentence put to FAMILIES."""
    return [sources.open_query(model, text) for model in (ENCODER, BOTH, decoder()[0])]


def family_columns() -> list:
    """The columns of FAMILIES."""
    columns = st.columns(3, gap="medium")
    return [columns[place] for place in PLACES]


def three_families(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """Who may see what of the sentence."""
    with lesson.section("three"):
        if not decoder()[1]:
            st.caption(lesson.prose["three"]["missing"])
        lesson.fragment(_who_sees_what, revealed)


def _who_sees_what(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """The three pictures, and what each model makes of the sentence; cross-attention's shape is the answer to the
    question above."""
    words, seen, part = lesson.prose["three"], {}, page.controls["part"]
    choice_for(page, "part", words["part"], words["parts"])
    # each is drawn while the next one is computed
    with closing(page.ask_each(family_queries(sentence(page)), height=330)) as answers:
        for column, name, record in zip(family_columns(), FAMILIES, answers, strict=True):
            with column:
                st.markdown(f"**{words[name]}**  \n{record.card.title}")
                if name == "both" and part == "cross" and not revealed:
                    lesson.placeholder("cross", height=330)
                else:
                    seen[name] = _may(lesson, name, record, KINDS[part] if name == "both" else record.kinds[0])
                st.caption(words["says"][name].format(says=best_guess(record, name),
                                                      tokens=len(record[record.kinds[0]].queries)))
    lesson.explanation("three", shown=(families.allowed,), shapes={"allowed": seen["decoder"]},
                       encoder=seen["encoder"].mean(), decoder=seen["decoder"].mean(), tokens=len(seen["decoder"]),
                       predictions=len(seen["decoder"]) - 1)


def _may(lesson: Lesson, name: str, record: AttentionRecord, kind: Kind) -> np.ndarray:
    """One family's picture; who may look where, bool (query, key)."""
    words, attention = lesson.prose["three"], record[kind]
    square = families.allowed(attention)
    rows, columns = _short(attention.queries), _short(attention.keys)
    figure(lambda theme: matrix(theme, np.where(square, 1.0, np.nan), rows, columns,
                                axes=(words["key"], words["query"]), height=330, angle=UPRIGHT,
                                style=CellStyle(ruler=False, digits=0)),
           key=f"families-may-{name}",
           alt=lesson.alt("three", name=words[name], share=square.mean(), queries=len(rows), keys=len(columns)))
    return square


def _short(tokens: Tokens) -> list[str]:
    return [text if len(text) <= 10 else text[:9] + "…" for text in tokens.texts]


def best_guess(record: AttentionRecord, name: str) -> str:
    """The best guess at the last position, of an encoder–decoder at each; "…" where there is none; of an encoder the
    size of the vector."""
    answer = record.prediction
    if name == "encoder":
        return str(record.card.d_model)
    if answer is None:
        return "…"
    if name == "both":
        return " ".join(escape_markdown(best[0]) for best in answer.texts)
    return f"**{token_markdown(answer.texts[-1][0])}** ({answer.probabilities[-1][0]:z.3f})"


def word_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each word."""
    return [word.span() for word in re.finditer(r"\S+", text)]


def hiding_edits(tokens: Tokens, span: tuple[int, int]) -> list[Hide]:
    """The edits that hide the tokens of one word on the source side; a causal model's first token stays, since its row
    has no other key."""
    return [Hide("source", place) for place, (start, end) in enumerate(tokens.spans)
            if not tokens.special[place] and start < span[1] and span[0] < end and place]


def hidden_word(page: PageContext, lesson: Lesson) -> None:
    """One word is hidden from everybody: how far each token's last vector moves tells who could see it."""
    words, text = lesson.prose["hidden"], sentence(page)
    spans = word_spans(text)
    with lesson.section("hidden"):
        if len(spans) < 2:
            st.info(words["short"])
            return
        at = min(max(1, page.controls["hide"]), len(spans) - 1)
        slider_for(page, "hide", words["hide"], range(1, len(spans)), say=lambda place: text[slice(*spans[place])],
                   closed=True)
        records, touched, word = list(page.ask_each(family_queries(text))), {}, escape_markdown(text[slice(*spans[at])])
        with closing(page.ask_each([question for record in records
                                    for question in _before_and_after(record, spans[at])])) as answers:
            for column, name, record in zip(family_columns(), FAMILIES, records, strict=True):
                change = families.moved(next(answers).vectors, next(answers).vectors)
                touched[name] = f"{int((change > 1e-4).sum())} of {len(change)}"
                with column:
                    _change(lesson, name, record, change, word, touched[name])
        lesson.explanation("hidden", shown=(families.moved,), shapes={"moved": change}, word=word, **touched)


def _change(lesson: Lesson, name: str, record: AttentionRecord, change: np.ndarray, word: str, touched: str) -> None:
    """How far each token of one family moved, (token)."""
    tokens, moved = _short(record[record.kinds[0]].queries), lesson.prose["hidden"]["moved"]
    st.markdown(f"**{lesson.prose['three'][name]}**")
    figure(lambda theme: bars(theme, tokens, {moved: change}, axes=("", moved), height=280, angle=UPRIGHT),
           key=f"families-hidden-{name}",
           alt=lesson.alt("hidden", word=word, touched=touched, name=lesson.prose["three"][name]))


def _before_and_after(record: AttentionRecord, span: tuple[int, int]) -> tuple[LastVectorsQuery, LastVectorsQuery]:
    """The questions for the last vectors of the stack that reads the sentence: as it is, and with the word at `span`
    hidden."""
    query, kind = record.query, record.kinds[0]
    other = sources.open_query(query.model, query.text, edits=hiding_edits(record[kind].queries, span))
    return LastVectorsQuery(query, kind), LastVectorsQuery(other, kind)
