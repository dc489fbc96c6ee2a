"""The page on grammar: a treebank, how well heads follow each of its relations, and a sentence with its tree above and
a head's choices below."""
import io
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from clearhead.model.core.query import UserError
from clearhead.model.core.statistics import FEWEST, on_other_half
from clearhead.model.studies import syntax as test
from clearhead.model.studies.syntax import (
    DIRECTIONS,
    SUFFIX,
    RelationScore,
    Sentence,
    SyntaxQuery,
    SyntaxReport,
    counts_of,
    read_treebank,
    shipped_treebank,
)
from clearhead.model.studies.syntax import Choice as HeadChoice
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, position
from clearhead.viz.figures.diagrams import Look, dependency_tree, sentence_width
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import choice_for, most_megabytes, select
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import folded
from clearhead.viz.widgets.handout_button import data_table
from clearhead.viz.widgets.layout import bullets, flex_row, heading, note, opening, prose
from clearhead.viz.widgets.lesson import source_listing
from clearhead.viz.widgets.measured import measured_line
from clearhead.viz.widgets.part import Part
from clearhead.viz.widgets.upload import uploader

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = strings("grammar")

# the relations of Universal Dependencies 2, universaldependencies.org/u/dep
RELATIONS = ("acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop",
             "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list",
             "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "vocative",
             "xcomp")
MOST_SENTENCES, MEGABYTES = 300, 5   # limits per upload; the command line has none
LONGEST = 60                         # most words of a sentence that can be drawn
TENTH = Decimal("0.1")                # unit of the rounded shares
SHARES = ["held_out", "offset", "luck", "accuracy", *(f"possible_{side}" for side in DIRECTIONS)]
PAGE = Page("record", own_texts=True, controls=(
    Choice("treebank", "en", ("en", "zh", "own")), Choice("relation", "", RELATIONS),
    position("tree", 99_999), Choice("whose", "best", ("best", "open"))))


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("grammar")
    treebank = Part(page, words).choice("treebank", "treebanks")
    note(words["about"](treebank, sentences=MOST_SENTENCES, megabytes=most_megabytes(MEGABYTES * 10**6)))
    sentences = _sentences(treebank)
    if sentences is None:
        return
    question = SyntaxQuery(page.model, page.revision, sentences)
    report = page.ask(question)
    measured_line(question, "grammar", "syntax")
    _one_sentence(page, report)
    _table(report)
    prose(bullets(claims(report)))
    _formula()


def _sentences(chosen: str) -> tuple[Sentence, ...] | None:
    """Return the chosen treebank, or the reader's own from the uploaded file."""
    if chosen != "own":
        return shipped_treebank(chosen)
    file = uploader(WORDS["drop"], "syntax-file", type=[SUFFIX.removeprefix(".")],
                    max_upload_size=most_megabytes(MEGABYTES * 10**6))
    if file is None:
        return None
    sentences = read_treebank(io.BytesIO(file.getvalue()), file.name)
    if len(sentences) > MOST_SENTENCES:
        raise UserError(WORDS("large", name=file.name, n=len(sentences), limit=MOST_SENTENCES))
    return sentences


def claims(report: SyntaxReport) -> list[str]:
    """Describe the table in sentences, with numbers counted from it."""
    counts = report.counts
    judged = [score for score in report.relations if score.held_out is not None and score.offset is not None]
    above = [f"*{score.name}*" for score in judged if beyond(score)]
    few = sum(score.held_out.units < FEWEST for score in judged if score.held_out is not None)
    unjudged = len(report.relations) - len(judged)
    said = {"above": True, "few": few, "unjudged": unjudged, "alone": report.alone,
            "left_out": counts.not_found + counts.too_long + counts.unplaced,
            "mask": any(share < 1 for score in report.relations for share in score.possible)}
    return [WORDS["claims"](name, report=report, n=len(judged), count=len(above), names=", ".join(above), few=few,
                            fewest=FEWEST, unjudged=unjudged) for name, holds in said.items() if holds]


def beyond(score: RelationScore) -> bool:
    """Return whether the whole interval exceeds the fixed offset's accuracy and the 95th percentile of the null
    distribution."""
    return (score.held_out is not None and score.offset is not None
            and score.held_out.low > max(score.offset, score.luck.high))


def _table(report: SyntaxReport) -> None:
    heading(WORDS["table"])
    table = table_of(report)
    with st.container(key="syntax-every"):
        data_table(table, WORDS["table"], WORDS["columns"], key="syntax-table", formats=dict.fromkeys(SHARES, "%.1f"),
                   placeholder="–")
    with st.container(key="syntax-list"):   # on a phone, in place of the table, which would scroll sideways (page.css)
        st.markdown(bullets(map(_in_words, table.to_dict("records"))))
    note(WORDS["table_about"])


def _in_words(row: dict) -> str:
    """Return a row of the table as a sentence, without its empty cells. Numbers are rounded as in the table."""
    (_, name), *cells = row.items()
    said = []
    for column, cell in cells:
        title, percent, _ = WORDS["columns"][column].partition(" %")
        if cell == cell and cell not in ("", "–"):
            rounded = Decimal(cell).quantize(TENTH, ROUND_HALF_UP) if isinstance(cell, float) else cell
            said.append(f"{title} {rounded}{percent.strip()}")
    return f"**{name}**: {', '.join(said)}"


def table_of(report: SyntaxReport) -> "DataFrame":
    """Return one row per relation with the page's columns and shares in per cent. The column on masking is omitted if
    no relation was tested by masking."""
    frame = report.frame().reset_index()
    frame["interval"] = [WORDS["not_tested"] if score.held_out is None else "–" if np.isnan(low) else
                         f"{100 * low:z.1f} to {100 * high:z.1f}"
                         for score, low, high in zip(report.relations, frame["low"], frame["high"], strict=True)]
    frame["beyond"] = ["✓" if beyond(score) else "" for score in report.relations]
    frame["best"] = [name_of(score.best) for score in report.relations]
    masks = [f"possible_{side}" for side in DIRECTIONS]
    shown = [name for name in WORDS["columns"] if name not in masks or (frame[masks] < 1).any(axis=None)]
    frame[SHARES] = 100 * frame[SHARES].astype(float)
    return frame[shown]


def name_of(choice: HeadChoice) -> str:
    """Return the name of a head with its direction."""
    return WORDS["from"](choice.direction, head=(choice.layer, choice.head))


def _one_sentence(page: PageContext, report: SyntaxReport) -> None:
    """Draw the choices of relation, sentence and head, and the resulting drawing with its description."""
    heading(WORDS["sentence"])
    names = [score.name for score in report.relations]
    relation = page["relation"] if page["relation"] in names else _first(report).name
    places = drawable(report, relation)
    with flex_row():
        offered = {name: WORDS["relation_names"].get(name, name) for name in names
                   if name in RELATIONS or name == relation}
        select(WORDS["relation"], offered, page.set, "relation", relation, width=280)
        choice_for(page, "whose", WORDS["whose"], WORDS["whose_names"])
    if not places:
        st.info(WORDS("no_sentence", words=LONGEST))
        return
    # a phone shows the shortest sentence whole
    place = page["tree"] if page["tree"] in places else min(
        places, key=lambda each: sentence_width(*_tree(sentence_at(report, each))))
    select(WORDS["which_sentence"], {each: sentence_at(report, each).text for each in places}, page.set, "tree", place)
    choice = _choice(page, report, relation)
    _draw(report, place, relation, choice, looks_of(report, place, relation, choice))
    st.button(WORDS["open"], key="syntax-open", type="tertiary", on_click=page.open_head,
              kwargs={"text": sentence_at(report, place).text, "head": (choice.layer, choice.head)})


def _first(report: SyntaxReport) -> RelationScore:
    """Return the relation to open first: the most frequent one that a head follows, or simply the most frequent one."""
    return next((score for score in report.relations if beyond(score)), report.relations[0])


def _choice(page: PageContext, report: SyntaxReport, relation: str) -> HeadChoice:
    """Return the head to draw, in its more accurate direction."""
    heads = report.counts.heads
    if page["whose"] == "open" and ((view := page.view()).layer, view.head) in heads:
        shares = test.accuracies(report.counts, report.counts.names.index(relation))
        return HeadChoice(DIRECTIONS[shares[:, heads.index(view.head_id)].argmax()], view.layer, view.head)
    return report.named(relation).best


def sentence_at(report: SyntaxReport, place: int) -> Sentence:
    """Return the sentence at this index of the sentences used."""
    return report.query.sentences[report.choices.numbers[place]]


def drawable(report: SyntaxReport, relation: str) -> list[int]:
    """Return the indices of drawable sentences with this relation between words that the model reads, in file order."""
    found = report.choices
    ends = np.cumsum(found.lengths)
    asked = ((found.relations == relation) & (found.tree != test.ROOT) & found.placed
             & found.placed[found.starts + np.maximum(found.tree, 0)])
    return [place for place, (end, length) in enumerate(zip(ends.tolist(), found.lengths.tolist(), strict=True))
            if length <= LONGEST and asked[end - length:end].any()]


def looks_of(report: SyntaxReport, place: int, relation: str, choice: HeadChoice) -> list[Look]:
    """Return the head's choices in this sentence from every source word of the relation. A word with several dependents
    is drawn once, and is right if the head chose one of them."""
    found, sentence = report.choices, sentence_at(report, place)
    start = int(found.lengths[:place].sum())
    looked = found.looked[found.heads.index((choice.layer, choice.head))]
    wanted: dict[int, list[int]] = {}
    for word, each in enumerate(sentence.words):
        head = each.head - 1
        if each.relation == relation and each.head and found.placed[[start + word, start + head]].all():
            looking, other = (word, head) if choice.direction == DIRECTIONS[0] else (head, word)
            wanted.setdefault(looking, []).append(other)
    return [_look(sentence, looking, int(looked[start + looking]), others) for looking, others in wanted.items()]


def _look(sentence: Sentence, looking: int, looked: int, wanted: list[int]) -> Look:
    forms = [word.form for word in sentence.words]
    right = looked in wanted
    told = WORDS["looks"]("nothing" if looked == test.NOTHING else "right" if right else "wrong", word=forms[looking],
                          looked=forms[looked], wanted=" / ".join(forms[other] for other in wanted))
    return Look(looking, None if looked == test.NOTHING else looked, right, told)


def _tree(sentence: Sentence) -> tuple[list[str], list[int], list[str]]:
    """Return each word's form, the index of its head (−1 for the root), and its relation."""
    words = sentence.words
    return ([visible_token(word.form) for word in words], [word.head - 1 for word in words],
            [word.relation for word in words])


def _draw(report: SyntaxReport, place: int, relation: str, choice: HeadChoice, looks: list[Look]) -> None:
    sentence = sentence_at(report, place)
    forms, heads, names = _tree(sentence)
    right = sum(look.right for look in looks)
    told = WORDS("drawing", head=name_of(choice), relation=relation, right=right, n=len(looks))
    st.markdown(escape_markdown(told))
    with st.container(key="syntax-tree"), st.container(key="syntax-tree-wide",
                                                       width=max(320, sentence_width(forms, heads, names))):
        figure(dependency_tree, forms, heads, names, relation, looks, key="syntax-drawing",
               alt=" ".join([f"{sentence.text} {told}", *(look.said for look in looks)]))
    note(WORDS["drawing_about"])


def _formula() -> None:
    shown = (test.looked_at_most, test.weights_between, counts_of, on_other_half, test.exchanged, test.luck)
    note(WORDS["sources"])
    folded(WORDS["code"], lambda: st.code(source_listing(shown), language="python"), key="syntax-code")
