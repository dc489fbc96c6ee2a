"""Train an encoder–decoder to translate the resolver's sentences into French, where "it" becomes il or elle and the
adjective agrees with the noun that "it" refers to."""
import random
from collections.abc import Callable
from functools import partial

import torch

from clearhead.model.scratch import grammar
from clearhead.model.scratch.task import NO_TARGET, Batch, Task, pad_rows
from clearhead.model.scratch.tokens import BEGIN, END, PADDING, SPECIALS, WordTokenizer
from clearhead.model.scratch.transformer import Config, Transformer

ENGLISH, FRENCH = grammar.vocabulary()
# one table for both languages, as in section 5.1 of the paper
WORDS = (*SPECIALS, *dict.fromkeys([*ENGLISH, *FRENCH]))
TOKENIZER = WordTokenizer(WORDS)
LONGEST = 48  # maximum number of tokens to decode


def numbers(words: tuple[str, ...]) -> list[int]:
    """Return the ids of words."""
    return [TOKENIZER.number(word) for word in words]


def batch(sentences: list[grammar.WinogradSentence]) -> Batch:
    """Return a batch: the source and the target shifted right (section 3.1) as inputs, and the target itself as
    targets."""
    french = [numbers(sentence.french) for sentence in sentences]
    source = pad_rows([numbers(sentence.english) for sentence in sentences])
    return Batch((source, pad_rows([[BEGIN, *each] for each in french])),
                 pad_rows([[*each, END] for each in french], NO_TARGET))


def draw(rng: random.Random, size: int) -> Batch:
    """Draw a training batch."""
    source = grammar.sentences(rng, "train")
    return batch([next(source) for _ in range(size)])


def greedy(model: Transformer, source: torch.Tensor,
           run: Callable[[Callable[[], torch.Tensor]], torch.Tensor] = lambda forward: forward()) -> list[list[int]]:
    """Decode greedily until [EOS], for source ids (b, k). Return the ids without [BOS] and [EOS]. run(forward) runs
    each pass, for example with edits."""
    with torch.inference_mode():
        memory = run(lambda: model.encode(source))
        target = torch.full((len(source), 1), BEGIN)
        ended = torch.zeros(len(source), dtype=torch.bool)
        while not ended.all() and target.shape[1] <= LONGEST:
            states = run(partial(model.decode, target, memory, source))
            following = model.output(states[:, -1]).argmax(-1).masked_fill(ended, PADDING)
            ended |= following == END
            target = torch.cat([target, following[:, None]], 1)
    return [[number for number in row if number not in (BEGIN, END, PADDING)] for row in target.tolist()]


test_sentences = partial(grammar.test_sentences, "translator")


def exact(model: Transformer, sentences: list[grammar.WinogradSentence]) -> list[bool]:
    """Return which sentences greedy decoding translates exactly."""
    produced = greedy(model, batch(sentences).inputs[0])
    return [ids == numbers(sentence.french) for ids, sentence in zip(produced, sentences, strict=True)]


def score(model: Transformer) -> dict[str, float]:
    """Return the share of sentences translated exactly, by split. There are no scores for held-out nouns, adjectives
    and frames, because the model has not seen their French."""
    return {split: sum(exactly) / len(exactly) for split in ("validation", "test")
            for exactly in [exact(model, test_sentences(split, 1_000))]}


CONFIG = Config(vocabulary=len(WORDS), d_model=64, heads=4, d_ff=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
TASKS = (Task("translator", "translator: English to French, 2 + 2 layers × 4 heads", CONFIG, WORDS, draw, score,
              steps=4_000),)
