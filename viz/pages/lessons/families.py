"""A lesson on encoders, decoders and both: the connection between the two stacks, three families side by side, a text's
probability as a product, and an open question."""
import re
import textwrap
from contextlib import closing

import numpy as np
import streamlit as st

from clearhead.model import sources
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Hide, Kind, Query, isolated
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import relative_changes
from clearhead.model.core.tokens import Tokens
from clearhead.model.lessons import families
from clearhead.model.studies.predictions import LikelihoodQuery, SequenceLikelihood
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Words
from clearhead.viz.components.diagram.stacks import stacks
from clearhead.viz.figures.bars import bars
from clearhead.viz.figures.base import UPRIGHT
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.format import token_markdown, visible_token
from clearhead.viz.style.text import escape_markdown
from clearhead.viz.widgets.fragment import offer_smollm2
from clearhead.viz.widgets.layout import split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, computing, lesson_page, section

TEXT = "The animal didn't cross the street because it was too tired."
PAGE = Page("nothing", controls=(
    *QUESTIONS, Words("say", TEXT, 120), Choice("part", "cross", ("encoder", "decoder", "cross")),
    Number("hide", 5, 1, 60, whole=True),
    Words("french", "", 160), Number("upto", 11, 1, 60, whole=True), Choice("whose", "both", ("both", "decoder"))))
FAMILIES = ("encoder", "both", "decoder")   # the decoder is last: it is the largest, and the others are drawn meanwhile
PLACES = (0, 2, 1)                          # column of each family
ENCODER, BOTH, STANDS_IN = "minilm", "translator", "induction"
KINDS = {"encoder": Kind.SELF, "decoder": Kind.CAUSAL, "cross": Kind.CROSS}
BEGIN, SHORT = 19, 10   # most characters of the target in its box, and of a token's label
MOVED = 1e-4            # smallest relative change of a vector that depends on the hidden word


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    with computing():
        _inputs(page, lesson)
    with lesson.section("three") as words:
        if decoder() == STANDS_IN and not page.present:
            st.caption(words["missing"])
            offer_smollm2("three")
        lesson.fragment(_who_sees_what, words)
    lesson.fragment(_hidden)
    lesson.further(_factors, opened_by=("whose", "french"))
    lesson.further(_steps, opened_by=("upto",))
    with lesson.section("open") as words:
        with st.expander(words["claims"]):
            words.table(words["rows"], "head", numbers=False)
        words.explain()


def decoder() -> str:
    """Return the decoder to show: SmolLM2 if on disk, else our own."""
    offer = sources.catalogue().get("smollm2")
    return offer.id if offer is not None and offer.on_disk else STANDS_IN


def _sentence(page: PageContext) -> str:
    return page["say"].strip() or TEXT


def _families(text: str) -> list[Query]:
    """Return the sentence as a query to each of FAMILIES."""
    return [sources.open_query(model, text) for model in (ENCODER, BOTH, decoder())]


@section
def _inputs(page: PageContext, words: Section) -> None:
    """Draw the two stacks with this sentence's shapes, and the question beside them. Only once it is answered does the
    text say what passes between them."""
    left, right = split(2, 3)
    with left:
        words.text("say")
        revealed = words.predict()
    query = sources.open_query(BOTH, _sentence(page))
    record = page.ask(query)
    tensors = families.wiring(page.ask(TraceQuery(query)), record)
    words.tell(n=len(tensors.memory), m=len(tensors.stream), d=tensors.memory.shape[1], tensors=tensors,
               begins=textwrap.shorten(" ".join(record[Kind.CAUSAL].queries.texts), BEGIN, placeholder=" …"))
    boxes = {name: words["boxes"](name, **words.facts).split("\n") for name in words["boxes"]}
    if revealed:
        boxes["cross"] = boxes["cross_answered"]
    with right:
        stacks(boxes, "KVQ" if revealed else "???", alt=words("alt_answered" if revealed else "alt"),
               key="families-inputs")
    if revealed:
        words.explain(families.wiring, notices_in=right)
        with st.expander(words["tensors"]):
            st.markdown(words("table"))


def _columns() -> list:
    """Return the columns in the order of FAMILIES."""
    columns = split(1, 1, 1)
    return [columns[place] for place in PLACES]


def _who_sees_what(page: PageContext, lesson: Lesson, words: Section) -> None:
    """Draw the three models' masks and predictions. The shape of cross-attention answers the question above."""
    seen, part = dict[str, np.ndarray](), words.choice("part", "parts")
    # draw each family while the next one is computed
    with closing(page.ask_each(_families(_sentence(page)), height=330)) as answers:
        for column, name, record in zip(_columns(), FAMILIES, answers, strict=True):
            with column:
                st.markdown(f"**{words[name]}**  \n{record.card.title}")
                if name == "both" and part == "cross" and not lesson.open():
                    lesson.covered("cross")
                else:
                    seen[name] = _allowed(words, name, record, KINDS[part] if name == "both" else record.kinds[0])
                said = "stands_in" if record.query.model == STANDS_IN else name
                st.caption(words["says"](said, says=best_guess(record, name),
                                         tokens=len(record[record.kinds[0]].queries)))
    words.explain(families.allowed, encoder=seen["encoder"].mean(), decoder=seen["decoder"].mean(),
                  tokens=len(seen["decoder"]), predictions=len(seen["decoder"]) - 1)


def _allowed(words: Section, name: str, record: AttentionRecord, kind: Kind) -> np.ndarray:
    """Draw one family's mask, and return it, bool (query, key)."""
    allowed = families.allowed(record[kind])
    rows, columns = _short(record[kind].queries), _short(record[kind].keys)
    words.tell(name=words[name], share=allowed.mean(), queries=len(rows), keys=len(columns))
    words.figure(matrix, np.where(allowed, 1.0, np.nan), rows, columns, height=330, angle=UPRIGHT,
                 style=CellStyle(ruler=False, digits=0), key=f"families-may-{name}")
    return allowed


def _short(tokens: Tokens) -> list[str]:
    return [text if len(text) <= SHORT else text[:SHORT - 1] + "…" for text in tokens.texts]


def best_guess(record: AttentionRecord, name: str) -> str:
    """Return the best guess at the last position, or at each position for an encoder–decoder ("…" if there is none);
    for an encoder, the vector's size."""
    answer = record.prediction
    if name == "encoder":
        return str(record.card.d_model)
    if answer is None:
        return "…"
    if name == "both":
        return " ".join(token_markdown(best[0]) for best in answer.texts)
    return f"**{token_markdown(answer.texts[-1][0])}** ({answer.probabilities[-1][0]:z.3f})"


def hiding_edits(tokens: Tokens, span: tuple[int, int]) -> list[Hide]:
    """Return the edits that hide one word's tokens on the source side. The first token of a causal model stays, because
    it is the only key of its row."""
    return [Hide("source", place) for place, (start, end) in enumerate(tokens.spans)
            if not tokens.special[place] and start < span[1] and span[0] < end and place]


@section
def _hidden(page: PageContext, words: Section) -> None:
    """Draw the effect of hiding one word: the tokens whose final vectors change have attended to it."""
    text = _sentence(page)
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    if len(spans) < 2:
        st.info(words["short"])
        return
    at = words.slider("hide", range(1, len(spans)), say=lambda place: text[slice(*spans[place])])
    records = list(page.ask_each(_families(text)))
    words.tell(word=escape_markdown(text[slice(*spans[at])]))
    questions: list[TraceQuery] = []
    for record in records:   # final vectors of the stack that reads the sentence, with and without the word
        query, kind = record.query, record.kinds[0]
        hidden = sources.open_query(query.model, query.text, edits=hiding_edits(record[kind].queries, spans[at]))
        questions += [TraceQuery(query), TraceQuery(hidden)]
    with closing(page.ask_each(questions)) as answers:
        for column, name, record in zip(_columns(), FAMILIES, records, strict=True):
            before, after = (trace.last(record.kinds[0])[0].after for trace in (next(answers), next(answers)))
            change = relative_changes(before, after)
            touched = f"{(change > MOVED).sum()} of {len(change)}"
            title, tokens = words.prose["three"][name], _short(record[record.kinds[0]].queries)
            words.tell(name=title, touched=touched, **{name: touched})
            with column:
                st.markdown(f"**{title}**")
                words.figure(bars, tokens, {words["moved"]: change}, axes=("", words["moved"]), height=280,
                             y_range=(0, max(1.0, change.max())), angle=UPRIGHT, key=f"families-hidden-{name}")
    words.explain(relative_changes)


@section
def _factors(page: PageContext, words: Section) -> None:
    """Draw a text's conditional probabilities and their product; for a translation, beside those of another one."""
    text = _sentence(page)
    if words.choice("whose", "whoses") == "decoder":
        if decoder() == STANDS_IN and not page.present:
            st.caption(words.prose["three"]["missing"])
        _product(words, {words["this"]: page.ask(LikelihoodQuery(sources.open_query(decoder(), text)))},
                 words["alone"])
        return
    own = page.ask(LikelihoodQuery(sources.open_query(BOTH, text)))
    swapped = swap_gender(french_of(own))
    french = words.text("french", placeholder=swapped).strip()
    words.button("swapped", french="")
    other = page.ask(LikelihoodQuery(
        sources.open_query(BOTH, text, target=french or swapped)))
    parted = next((place for place, (one, another) in enumerate(zip(own.ids, other.ids, strict=False))
                   if one != another), None)
    says = words["equal"] if parted is None else words("parts", at=parted + 1, one=token_markdown(own.texts[parted]),
                                                       other=token_markdown(other.texts[parted]),
                                                       p=np.exp(own.log_probabilities[parted]),
                                                       q=np.exp(other.log_probabilities[parted]))
    _product(words, {words["own"]: own, words["other"]: other}, says)


def french_of(chain: SequenceLikelihood) -> str:
    """Return the words as French text without the end token, and without a space after an elision."""
    return " ".join(chain.texts[:-1]).replace("' ", "'").replace(" .", ".")


def swap_gender(french: str) -> str:
    """Return the French text with every pronoun's gender swapped."""
    other = {"il": "elle", "elle": "il"}
    return re.sub(r"\b(il|elle)\b", lambda match: other[match[0]], french)


def _product(words: Section, chains: dict[str, SequenceLikelihood], says: str) -> None:
    """Draw bars and the cumulative product of one or two texts. The explanation states the numbers of the last one."""
    name, chain = list(chains.items())[-1]
    count, places = len(chain.ids), range(max(len(one.ids) for one in chains.values()))
    padded = {title: np.pad(one.log_probabilities, (0, len(places) - len(one.ids)), constant_values=np.nan)
              for title, one in chains.items()}
    factors = {title: np.exp(one) for title, one in padded.items()}
    labels = [" / ".join(dict.fromkeys(isolated(visible_token(one.texts[place])) for one in chains.values()
                                       if place < len(one.texts))) for place in places]
    least = chain.log_probabilities.argmin()
    total, smallest = chain.products[-1], chain.log_probabilities[least]
    words.tell(n=count, says=says, share=smallest / total if total else 0.0, name=name, p=np.exp(smallest),
               least=token_markdown(chain.texts[least]), power=total / np.log(10), perplexity=chain.perplexity,
               mean=-chain.log_probabilities.mean())
    left, right = split()
    with left:
        words.figure(bars, labels, factors, y_range=(0, 1.02), height=340, angle=UPRIGHT)
    drawn = [Line(title, np.cumsum(one) / np.log(10), place) for place, (title, one) in enumerate(padded.items())]
    lowest = min(-1.0, 1.05 * min(one.products[-1] for one in chains.values()) / np.log(10))
    with right:
        words.figure(lines, np.arange(1, len(places) + 1), drawn, y_range=(lowest, -0.03 * lowest),
                     kind="product")
    words.explain(SequenceLikelihood)


@section
def _steps(page: PageContext, words: Section) -> None:
    """Draw the probability of y_t given only the preceding tokens, and in one pass over the whole target: teacher
    forcing does not change it."""
    text = _sentence(page)
    whole = page.ask(LikelihoodQuery(sources.open_query(BOTH, text)))
    left, middle, right = split(2, 1, 1, vertical_alignment="center")
    with left:
        at = words.slider("upto", range(1, len(whole.ids)), say=lambda place: f"{place}: {whole.texts[place - 1]}")
    part = page.ask(LikelihoodQuery(sources.open_query(BOTH, text, continuation=whole.ids[:at])))
    first, second = (np.exp(likelihood.log_probabilities[at - 1]) for likelihood in (whole, part))
    middle.metric(words["whole"], f"{first:.4f}")
    right.metric(words["part"], f"{second:.4f}")
    words.explain(t=at, word=token_markdown(whole.texts[at - 1]), difference=abs(first - second), all=len(whole.ids))
