"""The picture of a pass, and what to notice at each step."""
import math
from dataclasses import dataclass

import numpy as np

from model.lessons.story import Story, looks_back, strongest_share
from viz.components.story import STEPS, Scene, Step
from viz.components.story.payload import CELLS
from viz.format import format_number, true_minus, visible_token
from viz.text import strings

LESSONS = {"letters": "vectors", "pieces": "vectors", "vectors": "vectors", "places": "positions",
           "attention": "inside", "feed_forward": "block", "blocks": "block", "logits": "learning",
           "softmax": "softmax", "word": "next_word"}
CANDIDATES = 8
WORDS = strings("lessons/story")


@dataclass(frozen=True)
class Shown:
    """What is chosen on the page."""

    text: str                  # as typed
    opened: tuple[int, int]    # block, and head; −1 for the mean of its heads
    revealed: bool             # whether the question is answered
    may_write: bool            # whether there is room for another piece
    doors: dict[str, str]      # the titles of the lessons by name


def percent(share: float) -> str:
    """A share as the picture prints it."""
    if share >= 0.9995:
        return "100%" if share > 1 - 1e-6 else ">99.9%"
    if share >= 0.0995:
        return f"{100 * share:.0f}%"
    return f"{100 * share:z.1f}%" if share >= 0.0005 else "<0.1%"


def line(story: Story, text: str) -> tuple[tuple[str, bool], ...]:
    """The text with what was written behind it: (letters, whether they are a piece)."""
    parts: list[tuple[str, bool]] = []
    end, tokens = 0, story.tokens
    for piece, special, (start, stop) in zip(tokens.texts, tokens.special, tokens.spans, strict=True):
        if special:
            continue
        written = stop > len(text) or start == stop
        gap = " " * max(0, start - end) if written else text[end:start]
        if start == stop and parts and piece not in (".", ","):
            gap = " "   # our own models write words, and no spaces
        parts += [(gap, False)] * bool(gap)
        parts.append((piece if written else text[max(start, end):stop] or piece, True))
        end = max(end, stop)
    return tuple(parts)


def steps(story: Story, shown: Shown) -> tuple[Step, ...]:
    """The steps with their sentences."""
    said = _said(story, shown)
    return tuple(Step(WORDS["steps"]["titles"][name], said[name], LESSONS[name], shown.doors[LESSONS[name]])
                 for name in STEPS)


def _said(story: Story, shown: Shown) -> dict[str, str]:
    words, numbers = WORDS["steps"], _numbers(story, shown)
    chosen = {"places": "places_added" if story.positions_added else "places_inside",
              "attention": "attention_mean" if shown.opened[1] < 0 else "attention_head",
              "logits": "logits_all" if shown.revealed else "logits",
              "word": "word_ends" if story.word.ids[0] in story.word.ends else "word"}
    return {step: words[chosen.get(step, step)].format(**numbers) for step in STEPS}


def _numbers(story: Story, shown: Shown) -> dict:
    """Everything that the sentences may say."""
    tokens, (block, head), word = story.tokens, shown.opened, story.word
    weights = story.rows[block].mean(0) if head < 0 else story.rows[block, head]
    source, last = int(np.argmax(weights)), len(tokens) - 1
    most = max((place for place in tokens.words if place >= 0), key=tokens.words.count, default=-1)
    count, part = strongest_share(story.hidden[block])
    gap = float(word.logits[word.ids[0]]) - float(word.logits[word.ids[1]])
    before, after = story.lengths.before[0], story.lengths.after[-1]
    return {"characters": sum(len(text) for text, _ in line(story, shown.text)),
            "pieces": sum(not special for special in tokens.special), "parts": tokens.words.count(most),
            "word": "".join(text for text, place in zip(tokens.texts, tokens.words, strict=True) if place == most),
            "width": story.card.d_model, "last": name_of(tokens.texts[last]),
            "share": percent(float(weights[source])), "source": name_of(tokens.texts[source]),
            "neurons": len(story.hidden[block]), "count": count, "part": percent(part),
            "blocks": len(story.rows), "before": f"{before:z.1f}", "after": f"{after:z.1f}",
            "vocabulary": len(word.logits), "first": word.texts[0], "second": word.texts[1],
            "logit": true_minus(f"{word.logits[word.ids[0]]:z.2f}"), "lead": f"{gap:z.2f}",
            "ratio": format_ratio(gap), "chance": percent(float(story.probabilities[word.ids[0]]))}


def format_ratio(gap: float) -> str:
    """e to the power of a lead, with three digits that count."""
    return format_number(math.exp(gap)) if gap < 6 else f"{math.exp(gap):,.0f}"


def name_of(piece: str) -> str:
    """A piece in a sentence."""
    return visible_token(piece)


def scene(story: Story, shown: Shown) -> Scene:
    """The picture of a pass."""
    word, chances, lengths = story.word, story.probabilities, story.lengths
    ids = word.ids[:CANDIDATES]
    others, rest = len(chances) - len(ids), 1 - float(chances[list(ids)].sum())
    ends = ids[0] in word.ends
    numbers = _numbers(story, shown)
    return Scene(
        line(story, shown.text), tuple(map(name_of, story.tokens.texts)), story.tokens.ids,
        story.embedded[:, :CELLS], story.placed[:, :CELLS], story.rows, shown.opened, percent, looks_back(story.rows),
        np.array([lengths.attention, lengths.feed_forward], np.float32).T,
        story.hidden[shown.opened[0]], word.texts[:CANDIDATES], ids, tuple(float(word.logits[each]) for each in ids),
        tuple(float(chances[each]) for each in ids),
        WORDS["story"]["rest"].format(n=others, share=percent(max(0.0, rest))) if shown.revealed else "",
        story.card.d_model,
        WORDS["story"]["again"].format(first=word.texts[0]) if shown.may_write and not ends else "",
        steps(story, shown),
        WORDS["story"]["alt"].format(title=story.card.title, text=shown.text, **numbers))
