"""Eight threads with different questions to one open model get the same bits as a single thread."""
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clearhead.model.core.query import Hide, Kind, Patch, Query, Silence, Temper, UserError, quiet
from clearhead.model.scratch import source
from clearhead.model.studies.attribution import LONGEST
from clearhead.model.studies.token_removal import explained_answer

THREADS = 8
TEXT = "the animal didn ' t cross the street because it was too tired"
OTHER = "the animal didn ' t cross the street because it was too wide"
LONG = " ".join([TEXT] * 30)   # of more tokens than the small models have positions for


def edits(kind, layers, heads, other):
    """One edit of each sort at every head, and each token of the text hidden."""
    for layer, head in itertools.product(range(layers), range(heads)):
        yield Silence(kind, layer, head)
        yield Silence(kind, layer, head, "mean")
        yield Temper(kind, layer, head, 0.5 + head)
        yield Patch(kind, layer, head, other)
    yield from (Hide("source", token) for token in range(1, 9))


def questions(model, kind):
    """Return a function for each question to the model: its records under many edits, traces, gradients."""
    card = model.card
    plain = Query(card.id, card.revision, TEXT)
    other = Query(card.id, card.revision, OTHER)
    for edit in edits(kind, card.layers, card.heads, other):
        query = Query(card.id, card.revision, TEXT, edits=frozenset([edit]))
        yield lambda query=query: numbers(model.record(query, quiet))
    for layer, token in itertools.product(range(card.layers), range(1, 9)):   # several edits in one pass
        mixed = Silence(kind, layer, 0, "mean"), Temper(kind, 0, card.heads - 1, 3.0), Hide("source", token)
        query = Query(card.id, card.revision, TEXT, edits=frozenset(mixed))
        yield lambda query=query: numbers(model.record(query, quiet))
    for text in (LONG, TEXT, LONG, OTHER) * 5:
        query = Query(card.id, card.revision, text)
        yield lambda query=query: numbers(model.record(query, quiet))
    yield lambda: [block.after for block in model.trace(plain, quiet).blocks]
    if model.card.id == "resolver-wide" or model.task == "next":
        yield lambda: [explained_answer(model, plain, None, ("", "", ""), LONGEST).gradient()]


def numbers(record):
    arrays = [getattr(layer, name) for each in record.maps for layer in each.layers
              for name in ("query", "key", "value")]
    return [*arrays, np.array(record.prediction.probabilities if record.prediction else 0)]


def answer(function):
    try:
        return function()
    except UserError as error:   # a row with nothing left to look at: the same in every thread
        return [np.frombuffer(str(error).encode(), np.uint8)]


@pytest.fixture(params=["resolver-wide", "bert", "gpt2"])
def model(request, opened):
    return opened(request.param) if request.param != "resolver-wide" else source.locate(request.param).open(quiet)


def test_eight_threads_get_the_same_as_one(model):
    kind = Kind.CAUSAL if model.task == "next" else Kind.SELF
    asked = list(questions(model, kind))
    expected = [answer(function) for function in asked]
    together = threading.Barrier(THREADS)

    def ask(thread):
        together.wait()
        return {number: answer(asked[number]) for number in range(thread, len(asked), THREADS)}

    with ThreadPoolExecutor(THREADS) as pool:
        answers = {number: each for part in pool.map(ask, range(THREADS)) for number, each in part.items()}
    wrong = [number for number in range(len(asked)) if len(answers[number]) != len(expected[number]) or not all(
        np.array_equal(one, two) for one, two in zip(answers[number], expected[number], strict=True))]
    assert len(asked) > 50 and not wrong, f"{len(wrong)} of {len(asked)} differ"
