"""The first sections of *From text to vectors*: a text of one's own in pieces and ids, Chinese, and byte-pair encoding
merge by merge."""

import numpy as np
import streamlit as st

from model.lessons import vectors
from viz.figures.bars import bars
from viz.figures.base import ASLANT
from viz.figures.lines import Line, lines
from viz.page import PageContext
from viz.text import escape_markdown
from viz.widgets.control_widgets import button_setting, slider_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

SHOWN = 80                              # pieces that are drawn
WORDS = 24                              # words of the text that is learnt from
PAIRS = 10                              # candidates for the next merge
NO_BREAK = "\u00a0"                     # a space that no line ends at
TELLING = ("chinese",)                  # examples that show the answer to the question
COLOURS = ("blue", "green", "violet")   # of neighbouring pieces, in turn


def field(page: PageContext, name: str, label: str, longest: int) -> str:
    """A line of text that is one of the page's controls."""
    st.text_input(label, max_chars=longest, **bind(page.set, name, page.controls[name]))
    return page.controls[name]


def cuts(text: str, book: str) -> dict[str, vectors.Cut]:
    """By WordPiece and by byte-level BPE, of a BPE that learnt from `book` ("own") where SmolLM2's tokenizer is not on
    this disk."""
    wordpiece = {"minilm": vectors.cut(text, "minilm")}
    return wordpiece | ({"smollm2": vectors.cut(text, "smollm2")} if vectors.on_disk("smollm2")
                        else {"own": vectors.cut_by_own(text, book)})


def chips(cut: vectors.Cut, ids: bool = True) -> str:
    """Pieces as Markdown on alternating grounds, each with its number; unknown ones red, those that the model adds
    grey."""
    pieces = []
    for place, (label, unknown, special) in enumerate(zip(cut.labels[:SHOWN], cut.unknown, cut.special, strict=False)):
        colour = "gray" if special else COLOURS[place % len(COLOURS)]
        if unknown:
            colour = "red"
        number = f"{NO_BREAK}:small[:gray[{cut.ids[place]}]]" if ids else ""
        pieces.append(f":{colour}-background[{escape_markdown(label)}{number}]")
    return " ".join(pieces) + (" …" if len(cut.labels) > SHOWN else "")


def own_text(page: PageContext, lesson: Lesson) -> bool:
    """The text as WordPiece and as byte-level BPE read it, beside the question; gives whether that is answered."""
    words, presets = lesson.prose["pieces"], lesson.prose["presets"]
    with lesson.section("pieces"):
        left, right = st.columns([3, 2], gap="medium")
        with right:
            revealed = lesson.predict()
        with left:
            text = field(page, "typed", words["text"], 200)
            with st.container(horizontal=True, gap="small"):
                for name, preset in presets["texts"].items():
                    if revealed or name not in TELLING:
                        button_setting(page, words["names"][name], f"text-{name}", typed=preset)
            by_tokenizer = cuts(text, presets["books"]["english"])
            for name, cut in by_tokenizer.items():
                with st.container(border=True, key=f"pieces-{name}"):
                    st.markdown(f"**{words['by'][name]}**: {words['count'].format(count=cut.count)}\n\n{chips(cut)}")
        if "own" in by_tokenizer:
            st.caption(words["absent"])
        if revealed:
            first, second = by_tokenizer.values()
            lesson.explanation("pieces", shown=(vectors.cut, vectors.cut_by), notices_in=left,
                               shapes={f"ids of {name}": f"({len(cut.ids)},)" for name, cut in by_tokenizer.items()},
                               first=first.count, second=second.count, signs=len(text), unknown=sum(first.unknown),
                               bytes=len(text.encode()), known=_pieces_of(first), vocabulary=first.vocabulary - 1,
                               other=second.vocabulary - 1, normalised=_code(first.normalised, words),
                               words=_words(first.words, words),
                               parts=_words(tuple(map(vectors.show_piece, second.words)), words))
    return revealed


def _code(text: str, words: dict) -> str:
    return f"`{text.replace('`', ' ')}`" if text.strip() else words["nothing"]


def _words(parts: tuple[str, ...], words: dict) -> str:
    return " · ".join(map(escape_markdown, parts[:SHOWN])) or words["nothing"]


def _pieces_of(cut: vectors.Cut) -> str:
    """A word of several pieces as an example, or none."""
    inside = [place for place, piece in enumerate(cut.pieces) if piece.startswith("##")]
    pair = cut.pieces[inside[0] - 1:inside[0] + 1] if inside else None
    return " ".join(map(escape_markdown, pair)) if pair else "token ##izer"


def chinese(lesson: Lesson, revealed: bool) -> None:
    """The textbook's split and what the tokenizers make of the same sentence."""
    words = lesson.prose["chinese"]
    with lesson.section("chinese"):
        if not revealed:
            lesson.placeholder("chinese", height=90)
            return
        sentence = "".join(words["textbook"])
        by_tokenizer = cuts(sentence, lesson.prose["presets"]["books"]["english"])
        textbook = " ".join(f":gray-background[{piece}]" for piece in words["textbook"])
        rows = [words["head"], "|---|---|---:|", f"| {words['split']} | {textbook} | {len(words['textbook'])} |"]
        rows += [f"| {lesson.prose['pieces']['by'][name]} | {chips(cut, ids=False)} | {cut.count} |"
                 for name, cut in by_tokenizer.items()]
        st.markdown("\n".join(rows))
        minilm, other = by_tokenizer.values()
        lesson.explanation("chinese", unknown=sum(minilm.unknown), signs=len(sentence), count=other.count,
                           bytes=len(sentence.encode()))


def merges(page: PageContext, lesson: Lesson) -> None:
    """Byte-pair encoding on a text of one's own: the split after some merges, the candidates for the next, and the
    text's length over all."""
    words, presets = lesson.prose["merges"], lesson.prose["presets"]["books"]
    with lesson.section("merges"):
        book = field(page, "book", words["book"], 400)
        with st.container(horizontal=True, gap="small"):
            for name, preset in presets.items():
                if page.controls["guess"] or name not in TELLING:
                    button_setting(page, words["names"][name], f"book-{name}", book=preset, done=3)
        learnt = vectors.merges(book)
        if not learnt.pairs:
            st.info(words["none"])
            return
        done = min(page.controls["done"], len(learnt.pairs))
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=420):
                slider_for(page, "done", words["done"], range(len(learnt.pairs) + 1), closed=True)
            button_setting(page, words["back"], "merge-back", done=max(0, done - 1))
            button_setting(page, words["on"], "merge-on", done=min(len(learnt.pairs), done + 1))
        st.markdown(_split(learnt, done))
        _candidates(lesson, learnt, done)
        if page.controls["guess"]:
            lesson.explanation("merges", shown=(vectors.train_bpe, vectors.merges, vectors.merge_pair,
                                                vectors.pair_counts),
                               shapes={"pairs": f"({len(learnt.pairs)}, 2)", "words": f"({len(learnt.words)},)"},
                               done=done, now=learnt.lengths[done], before=learnt.lengths[0], all=len(learnt.pairs),
                               left=len(learnt.pairs) - done, vocabulary=256 + done,
                               last=named(learnt.pairs[done - 1]) if done else words["nothing_yet"])


def _split(learnt: vectors.Merges, done: int) -> str:
    """The distinct words after so many merges, each with how often it stands in the text."""
    rows = []
    for word, times in learnt.words[:WORDS]:
        cut = vectors.apply(word, learnt.pairs[:done])
        rows.append(
            " ".join(f":{COLOURS[place % len(COLOURS)]}-background[{escape_markdown(vectors.show_piece(piece))}]"
                     for place, piece in enumerate(cut))
                    + f" :gray[×{times}]")
    return " &emsp; ".join(rows)


def _candidates(lesson: Lesson, learnt: vectors.Merges, done: int) -> None:
    """Left the most frequent pairs now, the one that is merged next first; right the text's length over the merges."""
    words = lesson.prose["merges"]
    counts = vectors.pair_counts(learnt.words, learnt.pairs[:done])
    following = learnt.pairs[done:done + 1]
    order = [*following, *(pair for pair, _ in counts.most_common(PAIRS + 1) if pair not in following)][:PAIRS]
    left, right = st.columns(2, gap="medium")
    with left:
        if order:
            names = [" + ".join(map(vectors.show_piece, pair)) for pair in order]
            axes = words["candidates" if following else "finished"], words["times"]
            figure(lambda theme: bars(theme, names, {words["times"]: np.array([counts[pair] for pair in order])},
                                      axes=axes, height=320, angle=ASLANT),
                   key="vectors-candidates", alt=lesson.alt("merges", done=done, pair=names[0], times=counts[order[0]]))
        else:
            st.info(words["whole"])
    with right:
        figure(lambda theme: lines(theme, np.arange(len(learnt.lengths)),
                                   [Line(words["length"], np.array(learnt.lengths, float))],
                                   axes=(words["axis"], words["length"]),
                                   marks=[(done, words["here"].format(done=done))], height=320),
               key="vectors-merges",
               alt=words["alt_length"].format(done=done, now=learnt.lengths[done], before=learnt.lengths[0]))


def named(pair: vectors.Pair) -> str:
    """Both pieces of a merge, in Markdown."""
    return " + ".join(escape_markdown(vectors.show_piece(piece)) for piece in pair)
