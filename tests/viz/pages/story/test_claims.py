"""From letters to the next word: what its page says, without a browser."""
import re

import numpy as np
import pytest
import torch

from model.ask import sources
from model.core.models import TraceQuery
from model.lessons.story import StoryQuery
from model.scratch.source import open_model
from tests.lesson_pages import Shown as Page
from tests.lesson_pages import shown
from tests.lesson_sentences import agrees, printed
from tests.lesson_tally import TALLY
from viz.components.story import STEPS
from viz.pages.story.claims import LESSONS, Shown, line, percent, scene, steps
from viz.text import strings

WORDS = strings("lessons/story")
TEXTS = ("The rabbit near the houses hears the dogs. It is hungry and eats",
         "The rabbit near the houses hears the dogs. They are hungry and eat", "The", "wombat  wombat",
         "Then the dogs .")
DOORS = {name: name for name in LESSONS.values()}


def asked(text: str, wrote: tuple[int, ...] = ()):
    return sources.ask(StoryQuery(sources.open_query("stories", text, continuation=wrote)), "test").result(120)


def said(text: str, opened: tuple[int, int], revealed: bool = True) -> dict[str, str]:
    found = steps(asked(text), Shown(text, opened, revealed, True, DOORS))
    return dict(zip(STEPS, (step.say for step in found), strict=True))


@pytest.mark.parametrize("text", TEXTS)
def test_every_sentence_holds_at_every_head(text):
    story = asked(text)
    for block in range(4):
        for head in range(-1, 4):
            found, row = said(text, (block, head)), story.rows[block].mean(0) if head < 0 else story.rows[block, head]
            TALLY.said("story", 2)
            best = int(row.argmax())
            name = f"“{story.tokens.texts[best]}”"
            assert found["attention"].endswith(f"from {name}.")
            assert f" {percent(float(row.max()))}," in found["attention"]
            sizes = np.sort(np.abs(story.hidden[block]))
            part = re.search(r"have (\S+) of", found["feed_forward"])[1]
            assert part == f"{100 * sizes[-26:].sum() / sizes.sum():.0f}%"
    TALLY.said("story", 4)
    numbers = re.findall(r"\d+", found["pieces"])
    assert int(numbers[0]) == len(text.replace(".", " .").split())
    assert found["letters"].startswith(f"{len(text)} character")
    assert agrees(re.sub("“[^”]*”", "", found["blocks"]), 4, np.linalg.norm(story.placed[-1]), story.lengths.after[-1])


@torch.inference_mode()
def passed(ids: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
    """(length of the last vector before the first block and behind the last, weights of each head's last row (block,
    head, piece), neurons of each block, logits) of the small decoder, by its layers one after another."""
    model = open_model("stories").network
    x = model.embedding(torch.tensor([ids]))
    lengths, rows, neurons = [x[0, -1].norm()], [], []
    for layer in model.decoder.layers:
        read = layer.after_attention.norm(x)
        query, key = (layer.attention.split(linear(read))[0] for linear in (layer.attention.w_query,
                                                                            layer.attention.w_key))
        rows.append(torch.einsum("hd,htd->ht", query[:, -1], key).div(key.shape[-1] ** 0.5).softmax(-1).numpy())
        x = x + layer.attention(read, read, torch.ones(len(ids), len(ids), dtype=torch.bool).tril())
        inner = torch.nn.functional.gelu(layer.feed_forward.w_1(layer.after_feed_forward.norm(x)))
        neurons.append(inner[0, -1].numpy())
        x = x + layer.feed_forward.w_2(inner)
    lengths.append(x[0, -1].norm())
    logits = model.decoder.norm(x)[0, -1].double() @ model.embedding.table.weight.double().T
    return np.array(lengths), np.array(rows), neurons, logits.numpy()


def says_of_the_pass(text: str, opened: tuple[int, int], sentences: dict[str, str]) -> None:
    """Fails unless the numbers of every step are those of the decoder's layers run by themselves."""
    story, (block, head) = asked(text), opened
    lengths, rows, neurons, logits = passed(story.tokens.ids)
    first, second = np.argsort(-logits)[:2]
    chance = float(np.exp(logits[first]) / np.exp(logits).sum())
    row = rows[block].mean(0) if head < 0 else rows[block, head]
    sizes = np.sort(np.abs(neurons[block]))

    def told(step: str) -> str:
        return re.sub("“[^”]*”", "", sentences[step])   # a piece may be a number

    assert "64 learned numbers" in told("vectors") and story.placed.shape[1] == 64
    assert [number for number, _ in printed(told("attention"))] == pytest.approx([row.max()], abs=0.0051)
    assert agrees(told("feed_forward"), 26, 256, sizes[-26:].sum() / sizes.sum())
    assert agrees(told("blocks"), 4, *lengths)
    assert agrees(told("logits"), len(logits), logits[first])
    lead = logits[first] - logits[second]
    assert agrees(told("softmax").split("probable")[0], lead, *[
        number for number, _ in printed(told("softmax"))[1:]]) and printed(told("softmax"))[1][0] == pytest.approx(
            np.exp(lead), rel=0.006)
    assert [number for number, _ in printed(told("word"))] == pytest.approx([chance], abs=0.0051)
    assert f"“{story.word.texts[0]}”" in sentences["word"] and story.word.ids[0] == first


@pytest.mark.parametrize(("text", "opened"), [(TEXTS[0], (0, 0)), (TEXTS[1], (3, 3)), (TEXTS[3], (2, -1))])
def test_the_numbers_of_every_step_are_those_of_the_layers_themselves(text, opened):
    sentences = said(text, opened)
    says_of_the_pass(text, opened, sentences)
    for step, change in {"blocks": ("length ", "length 1"), "logits": ("logit, ", "logit, 1"),
                         "softmax": ("lead of ", "lead of 1"), "feed_forward": ("have ", "have 1")}.items():
        with pytest.raises(AssertionError):
            says_of_the_pass(text, opened, sentences | {step: sentences[step].replace(*change)})


def test_softmax_is_told_by_the_printed_lead():
    found = said(TEXTS[0], (0, 0))["softmax"]
    lead, ratio = re.search(r"lead of ([\d.]+) over .* makes .* ([\d,]+) times", found).groups()
    assert float(ratio.replace(",", "")) == pytest.approx(np.exp(float(lead)), rel=0.01)


def test_before_the_answer_nothing_says_for_how_many_pieces_there_is_a_probability():
    story = asked(TEXTS[0])
    covered = scene(story, Shown(TEXTS[0], (0, 0), False, True, DOORS))
    words = " ".join([covered.rest, covered.alt, *(step.say for step in covered.steps)])
    assert str(len(story.word.logits)) not in words and "180" not in words and "vocabulary a" not in words
    page = shown("story", by="stories")
    right = WORDS["predict"]["answers"][WORDS["predict"]["right"]]
    assert not any(right["why"] in each for each in page.words) and "188" not in " ".join(page.words)
    assert not any("every piece of" in each or "per piece of" in each for each in WORDS["remember"])
    open_scene = scene(story, Shown(TEXTS[0], (0, 0), True, True, DOORS))
    rest = re.match(r"(\d+) other pieces", open_scene.rest)
    assert int(rest[1]) + len(open_scene.words) == len(story.word.logits)


@pytest.mark.parametrize("text", [*TEXTS, "  The  dogs,\n run "])
def test_the_line_is_the_text_with_what_was_written_behind_it(text):
    text = text.strip()
    assert "".join(part for part, _ in line(asked(text), text)) == text
    number = sources.ask(sources.open_query("stories", "dogs"), "test").result(60).maps[0].queries.ids[1]
    written = line(asked(text, (number,)), text)
    assert "".join(part for part, _ in written) == f"{text} dogs" and written[-1] == ("dogs", True)


def says_of_the_picture(page: Page, block: int | None) -> None:
    """Fails unless the folded sentences are true of the small decoder's pass; block: None for the one opened first."""
    story = asked(WORDS["widgets"]["default_stories"])
    trace = sources.ask(TraceQuery(sources.open_query("stories", WORDS["widgets"]["default_stories"]))).result(120)
    opened, cells, shares, strips, right = page.more["story"]
    assert agrees(opened, story.rows.shape[0] * story.rows.shape[1])
    back = [max([*row[1:-2], 0.0]) for layer in story.rows for row in layer]
    first = back.index(max(back)) // story.rows.shape[1]
    assert "a cell is a head" in cells
    drawn = scene(story, Shown("x", (first, 0), True, True, DOORS))
    assert np.ravel(drawn.marks) == pytest.approx(back, abs=1e-6) and np.shape(drawn.added) == (len(story.rows), 2)
    this = trace.blocks[first if block is None else min(block, 3)]
    forward = this.feed_forward.output[-1].astype(float)
    attention = this.after[-1].astype(float) - this.before[-1].astype(float) - forward
    lengths = np.linalg.norm(attention), np.linalg.norm(forward)
    assert agrees(shares, *(each / sum(lengths) for each in lengths))
    assert agrees(strips, 0)
    assert agrees(right, sources.scores("stories")["right_test"])


@pytest.mark.parametrize("block", [None, 0, 2, 999])
def test_the_folded_sentences_are_true_of_the_block_that_is_opened(block):
    opened = {} if block is None else {"block": block, "at_head": 1}
    says_of_the_picture(shown("story", by="stories", guess="a", **opened), block)


@pytest.mark.parametrize("controls", [{"block": 999, "at_head": 999}, {"at_head": -1, "guess": "c"},
                                      {"say": "zebra", "wrote": (3,)}, {"by": "smollm2", "say": "x" * 160}])
def test_the_page_stands_at_the_ends_of_its_controls_and_says_little(controls):
    page = shown("story", **{"by": "stories"} | controls)
    visible = [each for each in page.words if each not in page.more.get("story", ())]
    assert sum(len(each.split()) for each in visible) < 450   # and the picture's sentence
    assert ("zebra" in " ".join(page.words)) == (controls.get("say") == "zebra")
    assert (WORDS["widgets"]["ended"] in " ".join(page.words)) == (controls.get("wrote") == (3,))


def test_where_smollm2_is_not_on_disk_the_small_decoder_reads_and_says_so(monkeypatch):
    monkeypatch.setattr(sources, "catalogue", lambda: (sources.Entry("smollm2", "SmolLM2", "", on_disk=False),
                                                       sources.Entry("stories", "Stories", "")))
    page = shown("story", by="smollm2")
    assert any("python -m model fetch smollm2" in each and "184 words" in each for each in page.words)


def test_shares_are_written_as_they_are():
    assert [percent(share) for share in (1.0, 0.9999, 0.871, 0.0812, 0.0004, 0.0)] == [
        "100%", ">99.9%", "87%", "8.1%", "<0.1%", "<0.1%"]
