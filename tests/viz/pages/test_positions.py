"""Every sentence of *Where am I?*, read again at the ends and in the middle of its controls and held against complex
numbers and the stored runs, by another route than the page's."""
import functools
import itertools
import math
import re

import numpy as np
import pytest
from safetensors import safe_open
from transformers import T5Config, T5Model

from model.ask import sources
from model.lessons import positions
from model.pretrained import catalogue
from tests.conftest import LONG
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.pages.positions import ORDERS, SCHEMES, accuracy_by_length
from viz.state import State
from viz.text import strings

PROSE = strings("lessons/positions")
BACKWARDS = (5, 4, 3, 2, 1, 0)
SHUFFLES = [{}, {"stack": "decoder", "shuffle": ORDERS["end"]}, {"scheme": "alibi", "shuffle": BACKWARDS},
            {"scheme": "sinusoidal", "shuffle": tuple(range(6))},
            {"scheme": "rotary", "stack": "decoder", "shuffle": ORDERS["all"]},
            {"scheme": "learned", "shuffle": ORDERS["end"]}]
TURNS = [{"d": 4, "p": 200, "k": -100, "back": 0, "heads": 1, "wave": 1},
         {"d": 512, "k": 100, "back": 100, "heads": 32, "wave": 255},
         {"source": "here", "back": -50, "heads": 4, "relative": "rotary"},
         {"d": 128, "p": 0, "k": 0, "back": -100, "heads": 2, "wave": 0}, {},
         {"source": "model", "back": 7}]
PLACES = [one | other for one, other in (itertools.product(SHUFFLES, TURNS) if LONG
                                         else zip(SHUFFLES, TURNS, strict=True))]
OPEN = {"scheme": "none", "stack": "encoder", "shuffle": ORDERS["first"], "source": "waves", "d": 64, "wave": 4, "p": 3,
        "k": 5, "back": -5, "heads": 8}


def numbers(sentence: str) -> list[float]:
    """Those of a sentence as a reader has them."""
    return [float(each.replace(",", "").replace("−", "-"))
            for each in re.findall(r"(?<![\w^])[-−+]?\d[\d,]*\.?\d*(?:e[-+]\d+)?", sentence)]


def waves(count: int, width: int) -> np.ndarray:
    """PE as complex numbers cos + i sin (position, pair)."""
    return np.exp(1j * np.outer(np.arange(count), [10000 ** (-2 * pair / width) for pair in range(width // 2)]))


def table_of(where: dict) -> np.ndarray:
    """The vectors that are shown: as complex waves, from the shipped run, or from MiniLM's file."""
    if where["source"] == "waves":
        return waves(128, where["d"])
    if where["source"] == "here":
        return np.array(positions.beyond()["learned"])
    folder = catalogue.folder_of(catalogue.entry_named("minilm"))
    with safe_open(folder / "model.safetensors", "np") as file:
        name = next(each for each in list(file.keys()) if each.endswith("position_embeddings.weight"))
        return file.get_tensor(name)[:128].astype(np.float64)


@pytest.mark.parametrize("turned", PLACES, ids=str)
def test_what_is_said_of_positions_is_true_of_them(turned):
    page, where = shown("positions", guess="a", guess_far="a", **turned), OPEN | turned
    assert ("alibi" in page.notices) == (where["heads"] != 8 and "relative" not in turned)
    says_of_the_shuffle(page, where)
    says_of_the_table(page, where)
    says_of_distance(page, where)
    says_of_turns(page, where)
    says_of_alibi(page, where)
    assert wrong(sentences(page), other_rules(page, where)) == []


def other_rules(page: Shown, where: dict) -> Rules:
    """Of the sentences that no other function here reads."""
    d, p, k, heads = (where[name] for name in ("d", "p", "k", "heads"))
    pair, rate = min(where["wave"], d // 2 - 1), 10000 ** (-2 * min(where["wave"], 15) / 32)
    table = table_of(where)
    unit = table / np.linalg.norm(table, axis=-1, keepdims=True)
    cosine = np.real(unit @ unit.conj().T)
    mean = [np.diagonal(cosine, step).mean() for step in range(len(cosine))]
    bands = [np.ptp(np.diagonal(cosine, step)) for step in range(len(cosine))]
    held = {place: bool for place in sentences(page) if place.startswith("notice")}
    rows = {"waves": (128, d), "here": table.shape, "model": (128, 384)}
    return held | {
        "alt positions-shuffle": lambda line: printed(line)[-1][0] >= printed(line)[-2][0] >= 0,
        "alt positions-table": lambda line: agrees(line, *rows[where["source"]]),
        "alt positions-wavelengths": lambda line: where["source"] != "waves" or agrees(
            line, 2 * math.pi, 2 * math.pi * 10000 ** ((d - 2) / d)),
        "alt positions-distance": lambda line: agrees(line, mean[1], 1, mean[-1]),
        "more distance 0": lambda line: printed(line)[0][0] == pytest.approx(
            max(bands), rel=0.06, abs=2e-14) and printed(line)[1][0] < 1e-6,
        "alt positions-clock": lambda line: agrees(line, p, k, math.degrees(k * 10000 ** (-2 * pair / d))),
        "alt positions-turned": lambda line: agrees(line, 2 * min(where["wave"], 15), 2 * min(where["wave"], 15) + 1, p,
                                                    p + k) and rate <= 1,
        "alt positions-rotary": lambda line: agrees(line, printed(page.more["rotary"][0])[1][0], 0)
        if page.more.get("rotary") else True,
        "more rotary 0": lambda line: printed(line)[0][0] == 0 and printed(line)[1] == printed(line)[2],
        "alt positions-alibi": lambda line: agrees(line, heads, 2 ** (-8 / heads), 2**-8),
        "more shift 0": bool, "more beyond 0": bool, "more beyond 2": bool, "alt positions-beyond": bool,
        "more shuffle 0": bool}


def says_of_the_shuffle(page: Shown, where: dict) -> None:
    verdict, hint = page.notices["shuffle"]
    plain, mixed = positions.shuffle_outputs(where["shuffle"], where["scheme"], where["stack"] == "decoder")
    moved = [math.dist(one, other) / math.hypot(*one) for one, other in zip(plain, mixed, strict=True)]
    blind = where["scheme"] == "none" and where["stack"] == "encoder"
    assert ("*decoder*" in hint) == blind and ("the mask itself" in hint) == (where["scheme"] == "none" and not blind)
    told = numbers(verdict)
    assert told[0] == pytest.approx(max(moved), rel=0.06, abs=2e-15) and told[1] <= told[0]
    apart = np.mean(np.linalg.norm(plain - plain.mean(0), axis=1)) / np.mean(np.linalg.norm(plain, axis=1))
    assert numbers(page.more["shuffle"][0])[0] == round(100 * apart)


def says_of_the_table(page: Shown, where: dict) -> None:
    first, slow, learned = page.notices["table"]
    lengths = [2 * math.pi * 10000 ** (2 * pair / where["d"]) for pair in range(where["d"] // 2)]
    assert numbers(first) == [2, 6.28, round(lengths[-1]), where["d"]]
    assert numbers(slow) == [sum(each > 128 for each in lengths), len(lengths), 128,
                             pytest.approx(127 * 360 / lengths[-1], rel=6e-3)]
    assert ("choose them above" in learned) == (where["source"] == "waves")


def says_of_distance(page: Shown, where: dict) -> None:
    falls, band, dashed = page.notices["distance"]
    table = table_of(where)
    if where["source"] == "waves":
        whole = waves(128, where["d"])
        cosine = np.real(whole @ whole.conj().T) / whole.shape[1]
    else:
        cosine = np.array([[float(one @ other) / math.sqrt(float(one @ one) * float(other @ other)) for other in table]
                           for one in table])
    mean = [np.diagonal(cosine, step).mean() for step in range(97)]
    told, lowest = numbers(falls), int(np.argmin(mean))
    assert told == pytest.approx([mean[1], 1, lowest, mean[lowest], mean[96], 96], abs=6e-4)
    assert ("only rounding" in band) == (where["source"] == "waves")
    peak = where["back"] if where["source"] == "waves" else None
    assert ("peak is at" in dashed) == (peak is not None)
    if peak is not None:
        turned = [np.real(waves(1, where["d"])[0] @ waves(400, where["d"])[abs(step - peak)])
                  for step in range(-200, 201)]
        assert int(np.argmax(turned)) - 200 == peak == numbers(dashed.split("peak is at ")[1])[0]


def says_of_turns(page: Shown, where: dict) -> None:
    turn, error = page.notices["shift"]
    pair = min(where["wave"], where["d"] // 2 - 1)
    angle = np.degrees(where["k"] * 10000 ** (-2 * pair / where["d"]))
    assert numbers(turn) == pytest.approx([where["k"], 2 * pair, 2 * pair + 1, angle], abs=6e-3)
    assert where["d"] in numbers(error) and numbers(error)[-1] < 1e-9
    if "rotary" not in page.notices:
        return
    pair = min(where["wave"], 15)
    rate = np.degrees(10000 ** (-2 * pair / 32))
    wanted = [2 * pair, 2 * pair + 1, where["p"], where["p"] * rate, where["p"] + where["k"],
              (where["p"] + where["k"]) * rate]
    assert numbers(page.notices["rotary"][0]) == pytest.approx(wanted, abs=0.06)
    assert numbers(page.notices["rotary"][1])[-1] < 1e-9


def says_of_alibi(page: Shown, where: dict) -> None:
    if "alibi" not in page.notices:
        return
    slopes, _ = page.notices["alibi"]
    steep, flat = 2 ** (-8 / where["heads"]), 2 ** -8
    told = numbers(slopes)
    assert told == pytest.approx([where["heads"], steep, flat, math.log(2) / steep, math.log(2) / flat], rel=5e-3)
    assert math.exp(-steep * told[3]) == pytest.approx(0.5, abs=5e-3)


def test_what_is_said_of_buckets_and_of_longer_texts_is_what_was_measured():
    page, study = shown("positions", guess="a", guess_far="c", relative="buckets"), positions.beyond()
    near = numbers(page.notices["buckets"][0])
    assert agrees(page.alts["positions-buckets"], -150, 150, near[1])
    says_of_shared_buckets(page.more["buckets"][0])
    both, back = (positions.t5_bucket(np.arange(-150, 151), both_ways=way) for way in (True, False))
    counts = np.bincount(both)
    assert near == [(counts == 1).sum(), (counts > 0).sum(), 151 - int((both == both[0]).sum()),
                    151 - int((back == back[0]).sum())]
    mean = {name: np.mean(runs, axis=0) for name, runs in study["accuracy"].items()}
    shares = {part: {name: 100 * run[low - 3:high - 3].mean() for name, run in mean.items()}
              for part, (low, high) in {"in": (3, 32), "next": (32, 64), "out": (64, 128)}.items()}
    order = ("rotary", "alibi", "sinusoidal", "none", "learned")
    assert numbers(page.notices["beyond"][0])[2:7] == [round(shares["next"][name]) for name in order]
    assert numbers(page.notices["beyond"][1])[1:6] == [round(shares["out"][name]) for name in order]
    says_of_the_answers(PROSE["predict_far"]["answers"], shares)
    assert all(shares["out"][name] < shares["in"][name] for name in order)   # *every scheme trained here loses*
    assert mean["rotary"][80 - 3:].min() < 0.9 < mean["rotary"][:76 - 3].min()   # two and a half times as long as 32


def says_of_shared_buckets(sentence: str) -> None:
    """One table per stack, and none where one text looks at another: as transformers builds T5."""
    t5 = T5Model(T5Config(vocab_size=8, d_model=4, d_kv=2, d_ff=4, num_layers=2, num_heads=2))
    tables = {name: tuple(part.weight.shape) for name, part in t5.named_modules() if "relative" in name.split(".")[-1]}
    assert [name.split(".")[0] for name in tables] == ["encoder", "decoder"]
    assert all("block.0" in name and "EncDec" not in name and shape == (32, 2) for name, shape in tables.items())
    assert "one number per bucket" in sentence and "shared by all layers" in sentence and "has none" in sentence


def says_of_the_answers(answers: list[dict], shares: dict) -> None:
    """The shares that stand in the answers' words."""
    sinusoidal, learned, rotary, alibi = ([float(share) for share in re.findall(r"(\d+)%", each["why"])]
                                          for each in answers)
    wanted = shares["next"]
    assert (sinusoidal, learned, rotary) == ([round(wanted["sinusoidal"])], [round(wanted["learned"])],
                                             [round(wanted["rotary"])])
    assert alibi == [round(shares["in"]["alibi"]), round(wanted["alibi"])]


def test_a_wrong_sentence_is_caught():
    page = shown("positions", guess="a")
    for section, planted, check in (("shuffle", ("largest move is **", "largest move is **9"), says_of_the_shuffle),
                                  ("table", ("21 of", "20 of"), says_of_the_table),
                                  ("distance", ("lowest at ", "lowest at 1"), says_of_distance),
                                  ("shift", ("90.59", "91.59"), says_of_turns),
                                  ("rotary", ("17.2", "27.2"), says_of_turns)):
        check(page, OPEN)
        true = page.notices[section]
        page.notices[section] = [sentence.replace(*planted) for sentence in true]
        with pytest.raises(AssertionError):
            check(page, OPEN)
        page.notices[section] = true


def test_a_wrong_slope_is_caught():
    page = shown("positions", relative="alibi")
    says_of_alibi(page, OPEN)
    page.notices["alibi"][0] = page.notices["alibi"][0].replace("1.39", "1.93")
    with pytest.raises(AssertionError):
        says_of_alibi(page, OPEN)


def test_before_the_answers_no_picture_shows_them():
    page = shown("positions", scheme="rotary")
    assert not {"shuffle", "beyond"} & set(page.notices)
    assert not {"positions-after", "positions-shuffle", "positions-beyond"} & set(page.charts)


def test_every_scheme_of_the_shuffle_has_its_words():
    assert set(PROSE["shuffle"]["schemes"]) == set(SCHEMES)


def test_accuracies_are_split_at_the_trained_length_and_at_twice_that():
    found = {"trained": 32, "back": 3, "tested": 128}
    places = np.arange(3, 128)
    runs = {"a": np.stack([places < 32, (places < 32) | (places >= 64)]).astype(float)}
    assert accuracy_by_length(runs, found) == {"a_in": 1.0, "a_next": 0.0, "a_out": 0.5}


def test_where_a_model_has_no_learned_positions_the_text_beside_it_still_counts(monkeypatch):
    said = []
    for text in ("Anna saw her.", "Anna saw her and then she saw him."):
        monkeypatch.setattr("viz.state.State", functools.partial(State, model="resolver-narrow", text=text))
        tokens = len(sources.ask(sources.open_query("resolver-narrow", text)).result(60).maps[0].queries.texts)
        page = shown("positions", guess="a", source="model")
        said.append(next(each for each in page.words if "has no learned positions" in each))
        assert f"takes the first {tokens} positions" in said[-1] and "the waves are drawn" in said[-1]
    assert said[0] != said[1]
