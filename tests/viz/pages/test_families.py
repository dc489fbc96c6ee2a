"""What the lesson on the three families says, of short and long sentences and at each hidden word, against numbers
computed anew."""
from dataclasses import replace

import numpy as np
import pytest

from model.ask import sources
from model.core.models import LastVectorsQuery
from model.core.query import Hide, Kind
from model.studies.predictions import LikelihoodQuery
from tests.conftest import LONG
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.pages.families.three_models import STANDS_IN, TEXT
from viz.text import strings

WORDS = strings("lessons/families")
MODELS = {"encoder": "minilm", "decoder": STANDS_IN, "both": "translator"}
# (sentence, kind shown of the encoder–decoder, hidden word, another French, step, whose)
NAMES = ("say", "part", "hide", "french", "upto", "whose")
POSITIONS = [(TEXT, "cross", 5, "", 11, "both"), ("Tired", "encoder", 1, "la rue", 60, "decoder"),
             ("the cat sat", "decoder", 60, "la rue", 1, "both"),
             *([(TEXT, "encoder", 1, "elle est fatiguée", 1, "decoder"), (TEXT, "decoder", 10, "le", 60, "both")]
               if LONG else [])]


@pytest.fixture(autouse=True)
def without_the_fetched_decoder(monkeypatch):
    """Another test may fetch it meanwhile."""
    offers = [replace(offer, on_disk=offer.on_disk and offer.id != "smollm2") for offer in sources.catalogue()]
    monkeypatch.setattr(sources, "catalogue", lambda: offers)


def ask(question):
    return sources.ask(question, "test").result(120)


def likelihood(model: str, text: str, **more) -> np.ndarray:
    """ln P of each token."""
    return np.array(ask(LikelihoodQuery(sources.open_query(model, text, **more))).log_probabilities, float)


def touched(model: str, text: str, place: int) -> str:
    """How many last vectors change when the word is hidden, by the tokens whose characters it covers."""
    words = text.split()
    at = min(place, len(words) - 1)
    start = len(" ".join(words[:at])) + (1 if at else 0)
    end = start + len(words[at])
    record = ask(sources.open_query(model, text))
    kind = record.kinds[0]
    tokens = record[kind].queries
    hidden = [Hide("source", token) for token, (low, high) in enumerate(tokens.spans)
              if token and not tokens.special[token] and max(low, start) < min(high, end)]
    before, after = (ask(LastVectorsQuery(sources.open_query(model, text, edits=edits), kind)).vectors.astype(float)
                     for edits in ((), hidden))
    change = np.sqrt(((after - before)**2).sum(-1) / (before**2).sum(-1))
    return f"{(change > 1e-4).sum()} of {len(change)}"


def factor_rules(controls: dict, found: Shown) -> Rules:
    """Of the factors of the text that the page is about: their sum, their mean, their least."""
    text, whose = controls["say"], controls["whose"]
    own = likelihood("translator", text)
    typed = controls["french"] or WORDS["factors"]["own"]
    chain = (likelihood(MODELS["decoder"], text) if whose == "decoder" else
             likelihood("translator", text, target=typed) if controls["french"] else None)

    def factors(line: str) -> bool:
        numbers = [number for number, _ in printed(line)]
        if chain is None:   # the French with the other gender: its factors are checked by the page's own pictures
            return numbers[0] == len(own)
        total = chain.sum()
        share = chain.min() / total
        wanted = [len(chain), 10, total / np.log(10), np.exp(chain.min()), *([share] if share >= 0.5 else [])]
        plain = line.replace(f"*{found.numbers['factors']['least']}*", "")
        return agrees(plain, *wanted)

    def mean(line: str) -> bool:
        numbers = [number for number, _ in printed(line)]
        return abs(np.exp(numbers[0]) - numbers[1]) < 0.01 * numbers[1] and (
            chain is None or agrees(line, -chain.mean(), np.exp(-chain.mean())))

    return {"notice factors 0": lambda line: bool(line), "notice factors 1": factors, "notice factors 2": mean,
            "more factors 3": lambda line: agrees(line, 1, 2016, 14),
            "alt families-chances": lambda line: chain is None or f"{len(chain)} tokens" in line,
            "alt families-product": lambda line: chain is None or agrees(line, 10, chain.sum() / np.log(10))}


def rules_at(controls: dict, found: Shown) -> Rules:
    """What must be true at this position."""
    text = controls["say"]
    records = {name: ask(sources.open_query(model, text)) for name, model in MODELS.items()}
    sizes = {name: len(record[record.kinds[0]].queries) for name, record in records.items()}
    n, m, d = sizes["both"], len(records["both"][Kind.CAUSAL].queries), records["both"].card.d_model
    tokens, steps = sizes["decoder"], len(likelihood("translator", text))
    moves = {name: touched(model, text, controls["hide"]) for name, model in MODELS.items()} if " " in text else {}
    kinds = {"encoder": (n, n, 1.0), "decoder": (m, m, (m + 1) / 2 / m), "cross": (m, n, 1.0)}
    hidden = {f"alt families-hidden-{name}": lambda line, count=count: count in line for name, count in moves.items()}
    return factor_rules(controls, found) | hidden | {
        "notice inputs 0": lambda line: agrees(line, m, n, m, n),
        "notice inputs 1": lambda line: printed(line)[0][0] == 2 and printed(line)[1][0] < 1e-5,
        "alt families-wiring": lambda line: agrees(line, n, n, d, m),
        "notice three 0": lambda line: agrees(line, 1.0),
        "notice three 1": lambda line: agrees(line, (tokens + 1) / 2 / tokens, tokens, tokens - 1),
        "more three 0": lambda line: agrees(line, 1, 2),
        "alt families-may-encoder": lambda line: agrees(line, sizes["encoder"], sizes["encoder"], 1.0),
        "alt families-may-decoder": lambda line: agrees(line, tokens, tokens, (tokens + 1) / 2 / tokens),
        "alt families-may-both": lambda line: agrees(line, *kinds[controls["part"]]),
        "notice hidden 0": lambda line: all(f"{count} of" in line for count in moves.values()),
        "notice steps 0": lambda line: printed(line)[0][0] == min(controls["upto"], steps - 1) and agrees(
            line.rsplit("gets", 1)[1], steps) and printed(line)[-2][0] < 1e-5,
        "more open 0": lambda line: "section 3.2.2" in line}


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position[0][:9])
def test_every_sentence_is_true_where_it_stands(position):
    controls = dict(zip(NAMES, position, strict=True))
    found = shown("families", guess="b", **controls)
    assert wrong(sentences(found), rules_at(controls, found)) == []


def test_a_wrong_sentence_is_caught_and_nothing_is_said_before_the_answer():
    controls = dict(zip(NAMES, POSITIONS[2], strict=True)) | {"part": "cross"}
    covered = shown("families", **controls)
    assert "inputs" not in covered.notices and "families-may-both" not in covered.charts
    assert not any("K and V" in line or "H W_K" in line for line in (*covered.alts.values(), *sentences(covered)))
    assert not any("K and V" in line and "Which of" not in line and "Q comes" not in line for line in covered.words)
    assert {"<b>K</b>", "<b>V</b>", "<b>Q</b>"}.isdisjoint(
        note.get("text") for note in covered.charts["families-wiring"]["layout"]["annotations"])
    said, rules = sentences(covered), rules_at(controls, covered)
    planted = {"notice three 1": said["notice three 1"].replace("trains ", "trains 1"),
               "notice hidden 0": said["notice hidden 0"].replace(" of ", " of 1"),
               "notice steps 0": said["notice steps 0"].replace("e-", "e+"),
               "notice factors 2": said["notice factors 2"].replace("**", "**9", 1)}
    for place, line in planted.items():
        assert line != said[place] and place in {each.split(":")[0] for each in wrong(said | {place: line}, rules)}
