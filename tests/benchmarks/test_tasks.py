"""The figures of the tasks and the page made of them, on models that have hardly been trained."""
import random
from dataclasses import replace

import pytest
import torch

from benchmarks import baseline, task_heads
from benchmarks import tasks as benchmark
from model.core.query import Kind, Query, Silence
from model.core.threads import one_thread
from model.core.types import quiet
from model.scratch import grammar, lexicon, models, task, tokens
from model.scratch.source import card
from model.scratch.tasks import resolver
from model.scratch.train import train
from model.scratch.transformer import Config, Transformer

SCORES = dict.fromkeys(("loss_unseen", "right_unseen", "loss_longer", "right_longer"), 0.25)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    for each in task.tasks().values():
        train(replace(each, score=lambda model: SCORES), folder, steps=2)
    with one_thread():
        return benchmark.content(folder, size=12, steps=2, decoders=[])


def test_the_figures_are_shares_of_what_was_asked(found):
    frames = {frame.name for frame in lexicon.FRAMES}
    assert set(found["positions"]["nearest"]) == frames
    assert all(first + found["positions"]["nearest"][frame] == pytest.approx(1)
               for frame, first in found["positions"]["first"].items())
    for name, heads in (("resolver-narrow", 1), ("resolver-wide", 4)):
        told = found[name]["heads"]
        assert [(each["layer"], each["head"]) for each in told] == [(layer, head) for layer in range(2)
                                                                    for head in range(heads)]
        assert all(sum(map(sum, each["table"])) == 12 and sum(each["table"][0]) == 6 for each in told)
    assert found["translator"]["swapped"]["every word"] >= found["translator"]["swapped"]["it"]


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(5)
    return [sentence for _ in range(17) for sentence in grammar.twins(rng, "test")]


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(13)
    model = Transformer(Config(vocabulary=len(resolver.WORDS), d_model=30, heads=3, d_ff=7, dropout=0.0,
                               encoder_layers=2, decoder_layers=0)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_silence_over_many_sentences_is_the_edit_on_one(encoder, sentences, mode):
    silence = Silence(Kind.SELF, 1, 2, mode)
    found = task_heads.judge(encoder, sentences,
                                 lambda model, chosen: resolver.correct_rows(model, resolver.batch(chosen)).tolist(),
                                 [silence])
    told = {"tokenizer": "", "max_tokens": 64, "note": ""}
    model = models.open_network(models.Resolver, card("induction", "r", encoder, told), encoder,
                                tokens.WordTokenizer(resolver.WORDS))
    for i, sentence in enumerate(sentences):
        record = model.record(Query("m", "r", grammar.join_words(sentence.english), edits=frozenset({silence})), quiet)
        assert found[i] == (record.prediction.texts[0][0] == sentence.antecedent.english)


def test_the_table_of_silence_has_each_head_the_pointers_and_as_many_others(encoder):
    seen = []

    def right(silences):
        seen.append(tuple(silences))
        return 1 - len(seen[-1]) / 10

    rows = task_heads.silencing_table(encoder, right, [(Kind.SELF, 1, 0), (Kind.SELF, 1, 2)], draws=5)
    assert [row["heads"] for row in rows] == ["none",
                                              *(f"self {layer}·{head}" for layer in range(2) for head in range(3)),
                                             "all that point: 2", "as many others at random: 2"]
    assert rows[-1]["mean"] == pytest.approx(0.8) and rows[1]["zero"] == pytest.approx(0.9)
    assert all(not {(each.layer, each.head) for each in silences} & {(1, 0), (1, 2)} for silences in seen[-5:])


def test_a_bag_of_words_counts_words_without_their_order(sentences):
    first, second = baseline.bag(sentences[:2])
    assert first.sum() == len(sentences[0].english) and (first - second).abs().sum() == 2
    model = baseline.train(steps=3, size=5)
    assert 0 <= baseline.accuracy(model, sentences) <= 1
    with torch.no_grad():
        model.weight.zero_()
        model.bias.zero_()
        model.bias[baseline.antecedents(sentences[:1])] = 1
    assert baseline.accuracy(model, sentences[:1]) == 1
