"""The page on what "it" refers to: heads that resolve the pronoun in a sentence and its twin, then in a set of
sentences."""
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core.heads import by_head, head_frame, head_ids
from clearhead.model.core.query import Kind, KindHeadId, Silence, UserError, head_label, with_arrays
from clearhead.model.core.record import AttentionMap
from clearhead.model.core.statistics import accuracy_intervals, max_statistic_null
from clearhead.model.core.view import View
from clearhead.model.studies.coreference import (
    AnswersQuery,
    Case,
    CoreferenceReport,
    correctness,
    frames_of,
    guess,
    make_case,
    map_of,
    noun_weights,
    nouns,
    pronouns,
    same_sentence,
    twin_of,
    words_in,
    words_of,
)
from clearhead.viz.app.examples import example_for, other_twin
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Switch, Words
from clearhead.viz.components.component import Selection
from clearhead.viz.components.picture import HeadValues
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.base import fitting_name
from clearhead.viz.figures.heads import twins as twins_figure
from clearhead.viz.pages.pronouns.case_set import case_set_section, percent
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE_WIDE
from clearhead.viz.widgets.fields import bind, choice_for, text_field
from clearhead.viz.widgets.fragment import folded_formula, says_why
from clearhead.viz.widgets.head_table import coloured_grid, plain_table
from clearhead.viz.widgets.layout import flex_row, heading, note, opening, prose, split
from clearhead.viz.widgets.part import Part
from clearhead.viz.widgets.vocabulary import vocabulary

WORDS = strings("pronouns")

ROLES = ("pronoun", "correct", "wrong")
# for a head that attends to the nouns: (sign of weight A − weight B in this sentence, sign in the twin)
OUTCOMES = {(1, -1): "flips", (1, 1): "a", (-1, -1): "b", (-1, 1): "against"}
PAGE = Page("record", controls=(
    *(Words(role) for role in ROLES), Words("twin"), Choice("click", "correct", ROLES),
    Choice("rows", "", ("pronoun", "later")),
    Choice("set", "coreference", ("coreference", "agreement", "own")), Switch("run"), Switch("untrained"),
    Switch("proof"), Switch("proof_set")))
GRID = 330      # height of a grid in pixels
SILENCED = 8    # top-ranked heads that are silenced individually
NOUN = 92       # width in pixels of a noun in the picture's corners, limited by a phone's width


@with_arrays
class Twins:
    """Every head's weights on the nouns A and B in a sentence, where A is the right noun, and in its twin, where B
    is."""

    heads: tuple[KindHeadId, ...] # (kind, layer, head)
    here: np.ndarray              # float32 (head, 2), weights on A and B in this sentence
    there: np.ndarray | None      # the same in the twin; None without a twin
    uniform: float                # a uniform row's weight on both nouns together
    words: tuple[str, str, str]   # texts of A, B and the pronoun

    @property
    def preference(self) -> np.ndarray:
        """Each head's weight on A minus its weight on B, (head)."""
        return self.here[:, 0] - self.here[:, 1]

    @property
    def order(self) -> np.ndarray:
        """The heads' indices, strongest preference for A first."""
        return np.argsort(-self.preference, kind="stable")

    @property
    def named(self) -> dict[str, str]:
        """The words in Markdown: a, b and it."""
        return {name: f"*{escape_markdown(word)}*" for name, word in zip(("a", "b", "it"), self.words, strict=True)}

    def verdicts(self) -> list[str]:
        """Each head's verdict; None without a twin. One of: flips (A here, B in the twin), a or b (the same noun in
        both), against (the wrong noun in both), even (equal weights in at least one sentence), faint (less on both
        nouns together than a uniform row)."""
        if self.there is None:
            return []
        signs = zip(np.sign(self.preference), np.sign(self.there[:, 0] - self.there[:, 1]), strict=True)
        mass = np.minimum(self.here.sum(1), self.there.sum(1))
        return ["faint" if both < self.uniform else OUTCOMES.get((int(here), int(there)), "even")
                for both, (here, there) in zip(mass, signs, strict=True)]


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("pronouns")
    record, case = page.record(), sentence_case(page)
    attention_map = map_of(record)
    rows = page["rows"] or ("later" if attention_map.kind.base is Kind.CAUSAL else "pronoun")
    twins = None
    if case is None:
        st.info(words["ask"]["none"])
    else:
        choose_words(page, attention_map, case)
        twins = _one_sentence(page, attention_map, case, rows)
    set_report = case_set_section(page, record.card, rows)
    if case is not None and twins is not None:
        silencing_section(page, case, twins, set_report)
    vocabulary(record.card.id, record.card.title, lambda text: page.set(text=text))
    folded_formula(words["source"], lambda: (noun_weights, correctness, max_statistic_null),
                   key="coreference-formula")


def _one_sentence(page: PageContext, attention_map: AttentionMap, case: Case, rows: str) -> Twins:
    """Draw the sentence and its twin: notes, both grids, what to notice, the scatter plot and the numbers."""
    other = None if case.answer else twin_case(page, case)
    rows = "pronoun" if case.answer else rows
    if attention_map.kind.base is Kind.CAUSAL and not case.answer:
        note = WORDS["ask"]["causal" if rows == "later" else "causal_pronoun"]
        st.info(note.format(model=escape_markdown(page.record().card.title),
                            it=f"*{escape_markdown(case.word('pronoun'))}*"))
        names = WORDS["ask"]["row_names"]
        st.segmented_control(WORDS["ask"]["rows"], list(names), format_func=names.get, required=True, wrap=True,
                             **bind(page.set, "rows", rows, initial="default"))
    place = words_of(attention_map.queries, case)
    here, there = noun_weights(attention_map, place), None
    if other is not None:
        record = page.ask(sources.open_query(page.model, other.sentence))
        there = noun_weights(map_of(record), words_of(map_of(record).queries, other))[rows][:, ::-1]
    uniform = (len(place.correct) + len(place.wrong)) / len(attention_map.keys)
    looker = case.word("pronoun") if rows == "pronoun" else WORDS["ask"]("behind", it=case.word("pronoun"))
    heads = tuple((attention_map.kind, *head) for head in head_ids(attention_map))
    twins = Twins(heads, here[rows], there, uniform, (case.word("correct"), case.word("wrong"), looker))
    _grids(page, attention_map, case, other, twins)
    inference, counts = sentence_claims(twins)
    prose("\n\n".join(inference))
    if there is not None:
        _scatter(page, twins, there, counts)
    _table(twins)
    return twins


def _grids(page: PageContext, attention_map: AttentionMap, case: Case, other: Case | None, twins: Twins) -> None:
    """Draw every head coloured by the noun it prefers, here and in the twin, and the open head's numbers."""
    words, (a, b, _), place = Part(page, WORDS["grid"], **twins.named), twins.words, _open(page, twins)
    sides = [("here", case, twins.here)] + ([] if other is None or twins.there is None
                                            else [("there", other, twins.there)])
    heads = [head[1:] for head in twins.heads]
    reach = max(float(np.abs(weights[:, 0] - weights[:, 1]).max()) for _, _, weights in sides)
    for column, (side, side_case, weights) in zip(st.columns(len(sides), gap="large"), sides):
        with column:
            heading(words(side), help=words["help"])
            st.caption(escape_markdown(side_case.sentence))
            numbers = {noun: by_head(heads, column) for noun, column in zip((a, b), weights.T, strict=True)}
            values = by_head(heads, weights[:, 0] - weights[:, 1])
            record = page.ask(sources.open_query(page.model, side_case.sentence))
            coloured_grid(page, (record,), View(*twins.heads[place]),
                          HeadValues(values, f"{a} − {b}", signed=True, bound=reach), tooltips=numbers, height=GRID,
                          key=f"coref_{side}", choose=page.set)
    note(words("same", reach=reach))
    with flex_row("center"):
        st.markdown(_open_numbers(words, twins, place), width="content")
        if st.button(words["open_button"], key="coref_open", type="tertiary"):
            page.set(head=twins.heads[place][1:])
            page.open_page("heads")


def _open(page: PageContext, twins: Twins) -> int:
    """Return the index of the open head: the chosen one, by default the one that most prefers the right noun."""
    chosen = page.state.view.head_id if "head" in page.state.user_set else None
    return next((place for place, head in enumerate(twins.heads) if head[1:] == chosen), int(twins.order[0]))


def _open_numbers(words: Part, twins: Twins, place: int) -> str:
    """Describe the open head's weights in both sentences."""
    said = words("open", head=twins.heads[place], here=twins.here[place], mass=twins.here[place].sum())
    if twins.there is None:
        return said
    return f"{said} {words('open_twin', there=twins.there[place], mass=twins.there[place].sum())}"


def _scatter(page: PageContext, twins: Twins, there: np.ndarray, counts: list[str]) -> None:
    """Draw a scatter plot of the heads in both sentences, and what to notice in it."""
    words, (a, b, _) = Part(page, WORDS["scatter"]), twins.words
    heading(words["title"], 3)
    prose(words("lead", **twins.named))
    short = {"a": fitting_name(a, NOUN), "b": fitting_name(b, NOUN)}
    words.tell(n=len(twins.heads), a=a, b=b, flips=twins.verdicts().count("flips"))
    left, right = split(6, 5, gap="large")
    with left:
        words.figure(twins_figure, [head_label(*head[1:]) for head in twins.heads], twins.here, there,
                     _open(page, twins), axes=(words("x", **short), words("y", **short)),
                     corners=tuple(corner.format(**short) for corner in words["corners"]), key="coref-twins")
    right.markdown("\n\n".join(counts))


def _table(twins: Twins) -> None:
    """Draw the table of all heads, ordered by their preference for the right noun, with their weight on both nouns."""
    words, (a, b, _) = WORDS["table"], twins.words
    sides = {"here": twins.here} | ({} if twins.there is None else {"there": twins.there})
    table = head_frame([head[1:] for head in twins.heads], {
        f"{side}_{name}": numbers.astype(float).round(4) for side, weights in sides.items()
        for name, numbers in zip(("a", "b", "mass"), (*weights.T, weights.sum(1)), strict=True)})
    if twins.there is not None:
        table["verdict"] = [words["verdicts"](verdict, a=a, b=b) for verdict in twins.verdicts()]
    title = words("title", n=len(twins.heads))
    with st.expander(title):
        plain_table(table.iloc[twins.order], title,
                    {key: column.format(a=a, b=b) for key, column in words["columns"].items()}, key="coref-table")
        st.caption(words["help"])


def sentence_case(page: PageContext) -> Case | None:
    """Return the case of the current sentence: the words chosen by the reader, completed by suggestions."""
    text, example = page.text, example_for(page.text, None)
    chosen = tuple(page[role] for role in ROLES)
    if not any(chosen) and same_sentence(text) is None and example is not None and example.rival:
        first, second = example.pair[1], example.rival
        chosen = (example.pair[0], *((second, first) if text == example.twin else (first, second)))
    return guess(text, chosen)


def choose_words(page: PageContext, attention_map: AttentionMap, case: Case) -> None:
    """Draw the three words with suggestions, and the tokens, where a click sets one of the words."""
    words, text = WORDS["ask"], case.sentence
    place = words_of(attention_map.queries, case)

    def click(event: Selection) -> None:
        """Assign the clicked token's whole word to the role being set; keep the other roles."""
        token = event.token if event.pair is None else event.pair[1]
        if token is None or (event.pair is None and token in place.pronoun):
            return
        word = next((text[slice(*span)] for span in words_in(text)
                     if token in attention_map.queries.over(span)), None)
        if word is not None:
            page.set(**({role: case.word(role) for role in ROLES} | {page["click"]: word}))

    with flex_row("bottom", gap="medium"):
        for role in ROLES:
            spans = pronouns(text) if role == "pronoun" else nouns(text)
            options = dict.fromkeys([*(text[slice(*span)] for span in spans), case.word(role)])
            st.pills(words[role], list(options), format_func=escape_markdown,
                     **bind(page.set, role, case.word(role), initial="default"))
        choice_for(page, "click", words["click"], {role: words[role] for role in ROLES})
    token_strip(attention_map.queries, focus=place.pronoun[0], pair=(place.pronoun[0], place.correct[0]),
                key="coref_strip", on_event=click)


def twin_case(page: PageContext, case: Case) -> Case | None:
    """Return the twin's case: from the example or the set, or as typed by the reader."""
    words = WORDS["ask"]
    example, same = example_for(case.sentence, None), same_sentence(case.sentence)
    known = None if example is None else other_twin(example, case.sentence)
    if same is not None and (other := twin_of(same)) is not None:
        known = other.sentence
    with st.container(width=READABLE_WIDE):
        text_field(words("twin", it=escape_markdown(case.word("pronoun")), b=escape_markdown(case.word("wrong"))),
                   page["twin"] or known or "", lambda twin: page.set(twin=twin), "view_twin", 300,
                   needed=known is not None, help=words["twin_help"], placeholder=case.sentence)
    for text in (page["twin"], known):
        if text and text != case.sentence:
            try:
                return make_case(text, case.word("pronoun"), case.word("wrong"), case.word("correct"))
            except UserError as error:
                st.warning(escape_markdown(error))
    st.caption(words["twin_same"])
    return None


def sentence_claims(twins: Twins) -> tuple[list[str], list[str]]:
    """Describe the largest weight on a noun here and in the twin, and how many heads have each verdict, with the
    clearest change."""
    words, top, there = WORDS["claims"], twins.heads[twins.here.max(1).argmax()], twins.there
    here = twins.here[twins.heads.index(top)]
    facts = twins.named | {"head": top, "weight": here.max()}
    sentences = [words("largest", noun=(facts["a"], facts["b"])[here.argmax()], **facts)]
    if there is None:
        return sentences, []
    sentences.append(words("largest_twin", there=there[twins.heads.index(top)], **facts))
    verdicts = twins.verdicts()
    numbers = {f"n_{outcome}": verdicts.count(outcome) for outcome in (*OUTCOMES.values(), "even", "faint")}
    counts = [words("counts", **facts, **numbers, n=len(verdicts), uniform=twins.uniform)]
    if flips := [head for head, verdict in enumerate(verdicts) if verdict == "flips"]:
        change = np.minimum(twins.preference, there[:, 1] - there[:, 0])
        first = max(flips, key=change.__getitem__)
        counts.append(words("flipper", head=twins.heads[first], mass=twins.here[first].sum(), twin=there[first].sum()))
    return sentences, counts


@says_why
def silencing_section(page: PageContext, case: Case, twins: Twins, set_report: CoreferenceReport | None) -> None:
    """Draw the section on silencing, or a message for a model without word predictions."""
    words = Part(page, WORDS["proof"], n=min(SILENCED, len(twins.heads)))
    words.opening(3)
    question = AnswersQuery(page.model, page.revision, (case,))
    plain = page.ask(question)
    st.caption(words["ways"]["answer" if case.answer else plain.way])
    a, b = (case.answer, case.other) if case.answer else twins.words[:2]
    share = float(plain.share[0])
    st.markdown(words("said", a=f"*{escape_markdown(a)}*", b=f"*{escape_markdown(b)}*", share=share))
    if words.toggle("proof"):
        words.tell(a=a, b=b)
        _one_by_one(page, words, question, twins, share)
    if set_report is not None:
        words.tell(n=len(set_report.cases))
        _whole_set(page, words, set_report)


def _one_by_one(page: PageContext, words: Part, question: AnswersQuery, twins: Twins, share: float) -> None:
    """Draw the effect of silencing each of the top-ranked heads individually."""
    heads = [twins.heads[place] for place in twins.order[:SILENCED]]
    questions = [replace(question, edits=frozenset({Silence(*head)})) for head in heads]
    shares = [float(answers.share[0]) for answers in page.ask_each(questions)]
    names = [words["base"], *(head_label(*head[1:]) for head in heads)]
    words.figure(bars, names, {"P": [share, *shares]}, y_range=(0, 1), key="coref-proof")
    st.markdown(silencing_claim(heads, share, shares))


def silencing_claim(heads: Sequence[KindHeadId], plain: float, shares: Sequence[float]) -> str:
    """Describe the head whose silencing changes the right noun's share most, and how many heads change the answer when
    silenced individually."""
    most = int(np.abs(np.array(shares) - plain).argmax())
    turned = sum((share - 0.5) * (plain - 0.5) < 0 for share in shares)
    return WORDS["proof"]("most", head=heads[most], share=shares[most], turned=turned, n=len(heads),
                          change=100 * (shares[most] - plain))


def _whole_set(page: PageContext, words: Part, set_report: CoreferenceReport) -> None:
    """Draw the model's answers to the whole set, with and without the best head."""
    cases = set_report.cases
    if not words.toggle("proof_set"):
        return
    question = AnswersQuery(page.model, page.revision, cases)
    head = (Kind(set_report.best.kind), set_report.best.layer, set_report.best.head)
    accuracies = [percent(accuracy_intervals(correctness(page.ask(each).scores[:, None]), frames_of(cases))[0])
                  for each in (question, replace(question, edits=frozenset({Silence(*head)})))]
    st.markdown(words("set_said", accuracies=accuracies, head=head))
