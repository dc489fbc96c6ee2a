"""The first sections of *From text to vectors*: a text of one's own in pieces and ids, Chinese, and byte-pair encoding
merge by merge."""
import html

import numpy as np
import streamlit as st

from model.lessons import tokenization
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
COLOURS = ("blue", "green", "violet")   # of neighbouring pieces, in turn


def field(page: PageContext, name: str, label: str, longest: int) -> str:
    """A line of text that is one of the page's controls."""
    st.text_input(label, max_chars=longest, **bind(page.set_controls, name, page.controls[name]))
    return page.controls[name]


def cuts(text: str, book: str) -> dict[str, tokenization.Cut]:
    """By WordPiece and by byte-level BPE, of a BPE that learnt from `book` ("own") where SmolLM2's tokenizer is not on
    this disk."""
    found = {"minilm": tokenization.cut(text, "minilm")}
    return found | ({"smollm2": tokenization.cut(text, "smollm2")} if tokenization.on_disk("smollm2")
                    else {"own": tokenization.cut_by_own(text, book)})


def chips(cut: tokenization.Cut, ids: bool = True) -> str:
    """Pieces as Markdown on alternating grounds, each with its number; unknown ones red, those that the model adds
    grey."""
    found = []
    for place, (label, unknown, special) in enumerate(zip(cut.labels[:SHOWN], cut.unknown, cut.special, strict=False)):
        colour = "gray" if special else COLOURS[place % len(COLOURS)]
        if unknown:
            colour = "red"
        number = f"{NO_BREAK}:small[:gray[{cut.ids[place]}]]" if ids else ""
        found.append(f":{colour}-background[{escape_markdown(label)}{number}]")
    return " ".join(found) + (" …" if len(cut.labels) > SHOWN else "")


def own_text(page: PageContext, lesson: Lesson) -> None:
    """The text as WordPiece and as byte-level BPE read it, step by step."""
    words, presets = lesson.prose["pieces"], lesson.prose["presets"]
    with lesson.section("pieces"):
        text = field(page, "typed", words["text"], 200)
        with st.container(horizontal=True, gap="small"):
            for name, preset in presets["texts"].items():
                button_setting(page, words["names"][name], f"text-{name}", typed=preset)
        found = cuts(text, presets["books"]["english"])
        for column, (name, cut) in zip(st.columns(2, gap="medium"), found.items(), strict=True):
            with column, st.container(border=True, height="stretch", key=f"pieces-{name}"):
                _steps(words, name, cut)
        if "own" in found:
            st.info(words["absent"])
        first, second = found.values()
        lesson.explanation("pieces", shown=(tokenization.cut, tokenization._cut),
                           shapes={f"ids of {name}": f"({len(cut.ids)},)" for name, cut in found.items()},
                           first=first.count, second=second.count, signs=len(text), unknown=sum(first.unknown),
                           bytes=len(text.encode()), known=_pieces_of(first), vocabulary=first.vocabulary,
                           other=second.vocabulary)


def _pieces_of(cut: tokenization.Cut) -> str:
    """A word of several pieces as an example, or none."""
    inside = [place for place, each in enumerate(cut.pieces) if each.startswith("##")]
    pair = cut.pieces[inside[0] - 1:inside[0] + 1] if inside else None
    return " ".join(map(escape_markdown, pair)) if pair else "token ##izer"


def _steps(words: dict, name: str, cut: tokenization.Cut) -> None:
    st.markdown(f"**{words['by'][name]}**")
    st.caption(words["steps"]["normalised"])
    st.markdown(f"`{cut.normalised.replace('`', ' ')}`" if cut.normalised.strip() else words["nothing"])
    st.caption(words["steps"]["words"])
    st.markdown(" · ".join(escape_markdown(word if name == "minilm" else tokenization.show_piece(word))
                           for word in cut.words[:SHOWN]) or words["nothing"])
    st.caption(words["steps"]["pieces"].format(count=cut.count, vocabulary=cut.vocabulary - 1))
    st.markdown(chips(cut))


def chinese(lesson: Lesson, revealed: bool) -> None:
    """The textbook's split and what the tokenizers make of the same sentence."""
    words = lesson.prose["chinese"]
    with lesson.section("chinese"):
        if not revealed:
            lesson.placeholder("chinese", height=160)
            return
        sentence = "".join(words["textbook"])
        found = cuts(sentence, lesson.prose["presets"]["books"]["english"])
        textbook = " ".join(f":gray-background[{each}]" for each in words["textbook"])
        rows = [words["head"], "|---|---|---:|", f"| {words['split']} | {textbook} | {len(words['textbook'])} |"]
        rows += [f"| {lesson.prose['pieces']['by'][name]} | {chips(cut, ids=False)} | {cut.count} |"
                 for name, cut in found.items()]
        st.markdown("\n".join(rows))
        minilm, other = found.values()
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
                button_setting(page, words["names"][name], f"book-{name}", book=preset, done=3)
        found = tokenization.merges(book)
        if not found.pairs:
            st.info(words["none"])
            return
        done = min(page.controls["done"], len(found.pairs))
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            with st.container(width=420):
                slider_for(page, "done", words["done"], range(len(found.pairs) + 1), closed=True)
            button_setting(page, words["back"], "merge-back", done=max(0, done - 1))
            button_setting(page, words["on"], "merge-on", done=min(len(found.pairs), done + 1))
        st.markdown(_split(found, done))
        _candidates(lesson, found, done)
        lesson.explanation("merges",
                           shown=(tokenization.train_bpe, tokenization.merges, tokenization.merge_pair,
                                  tokenization.pair_counts),
                           shapes={"pairs": f"({len(found.pairs)}, 2)", "words": f"({len(found.words)},)"}, done=done,
                           now=found.lengths[done], before=found.lengths[0], all=len(found.pairs),
                           vocabulary=256 + done, last=_named(found.pairs[done - 1]) if done else words["nothing_yet"])


def _named(pair: tokenization.Pair) -> str:
    return " + ".join(escape_markdown(tokenization.show_piece(each)) for each in pair)


def _split(found: tokenization.Merges, done: int) -> str:
    """The distinct words after so many merges, each with how often it stands in the text."""
    rows = []
    for word, times in found.words[:WORDS]:
        cut = tokenization.apply(word, found.pairs[:done])
        rows.append(
            " ".join(f":{COLOURS[place % len(COLOURS)]}-background[{escape_markdown(tokenization.show_piece(piece))}]"
                     for place, piece in enumerate(cut))
                    + f" :gray[×{times}]")
    return " &emsp; ".join(rows)


def _candidates(lesson: Lesson, found: tokenization.Merges, done: int) -> None:
    """Left the most frequent pairs now, the one that is merged next first; right the text's length over the merges."""
    words = lesson.prose["merges"]
    counts = tokenization.pair_counts(found.words, found.pairs[:done])
    following = found.pairs[done:done + 1]
    order = [*following, *(pair for pair, _ in counts.most_common(PAIRS + 1) if pair not in following)][:PAIRS]
    left, right = st.columns(2, gap="medium")
    with left:
        if order:
            names = [html.escape(" + ".join(map(tokenization.show_piece, pair))) for pair in order]
            axes = words["candidates" if following else "finished"], words["times"]
            figure(lambda theme: bars(theme, names, {words["times"]: np.array([counts[pair] for pair in order])},
                                      axes=axes, height=320, angle=ASLANT),
                   key="vectors-candidates", alt=lesson.alt("merges", done=done, pair=names[0], times=counts[order[0]]))
        else:
            st.info(words["whole"])
    with right:
        figure(lambda theme: lines(theme, np.arange(len(found.lengths)),
                                   [Line(words["length"], np.array(found.lengths, float))],
                                   axes=(words["axis"], words["length"]),
                                   marks=[(done, words["here"].format(done=done))], height=320),
               key="vectors-merges",
               alt=words["alt_length"].format(done=done, now=found.lengths[done], before=found.lengths[0]))
