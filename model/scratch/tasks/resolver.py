"""Train an encoder to name, at "it", the noun that the pronoun refers to. The model gets no information about where to
attend.

The narrow model has one head per layer, the wide one four. The lesson compares them.
"""
import random
from dataclasses import replace
from functools import partial

from clearhead.model.scratch import grammar
from clearhead.model.scratch.task import NO_TARGET, Batch, Task, correct_rows, pad_rows
from clearhead.model.scratch.tokens import SPECIALS, UNKNOWN, WordTokenizer
from clearhead.model.scratch.transformer import Config, Transformer

WORDS = (*SPECIALS, *grammar.vocabulary()[0])
TOKENIZER = WordTokenizer(WORDS)
# share of training sentences with one noun replaced by [UNK], to teach the model to point to unknown words
UNKNOWN_NOUNS = 0.1


def encode(sentence: grammar.WinogradSentence) -> tuple[list[int], list[int]]:
    """Return the ids of the words, and the targets: the antecedent's id at "it" and NO_TARGET elsewhere."""
    ids = [TOKENIZER.number(word) for word in sentence.english]
    targets = [NO_TARGET] * len(ids)
    targets[sentence.pronoun] = ids[sentence.places[sentence.answer]]
    return ids, targets


def batch(sentences: list[grammar.WinogradSentence]) -> Batch:
    """Return a batch of these sentences, with the noun of each "it" as target."""
    ids, targets = zip(*map(encode, sentences), strict=True)
    return Batch((pad_rows(list(ids)),), pad_rows(list(targets), NO_TARGET))


def draw(rng: random.Random, size: int) -> Batch:
    """Draw a training batch with some nouns unknown."""
    source = grammar.sentences(rng, "train")
    drawn = []
    for _ in range(size):
        sentence = next(source)
        if rng.random() < UNKNOWN_NOUNS:
            words = list(sentence.english)
            words[sentence.places[rng.randrange(2)]] = SPECIALS[UNKNOWN]
            sentence = replace(sentence, english=tuple(words))
        drawn.append(sentence)
    return batch(drawn)


test_sentences = partial(grammar.test_sentences, "resolver")


def accuracy(model: Transformer, sentences: list[grammar.WinogradSentence]) -> float:
    """Return the share of sentences whose antecedent is the most probable word at "it"."""
    return correct_rows(model, batch(sentences)).float().mean().item()


def score(model: Transformer) -> dict[str, float]:
    """Return the accuracy on each split. The training task holds out only pairs of nouns; the last three splits measure
    generalisation."""
    return {split: accuracy(model, test_sentences(split, 2_000)) for split in grammar.SPLITS[1:]}


def _task(name: str, heads: int, steps: int) -> Task:
    config = Config(vocabulary=len(WORDS), d_model=64, heads=heads, d_ff=256, encoder_layers=2, decoder_layers=0,
                    dropout=0.0, max_length=64)
    return Task(f"resolver-{name}", f"resolver, {name}: 2 layers × {heads} head{'s' * (heads > 1)}", config, WORDS,
                draw, score, steps)


TASKS = (_task("narrow", 1, steps=6_000), _task("wide", 4, steps=4_000))
