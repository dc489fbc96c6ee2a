"""The page as a whole: its sentences at the ends and the middle of its controls, and what it keeps to itself before one
has answered."""
import re

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from model.lessons.since import experts, scaling
from model.lessons.since.sentences import WORDS, encode
from tests.lesson_pages import shown
from viz.pages.since.claims import said_bytes
from viz.pages.since.writing import writing_claims
from viz.text import strings

PROMPTS = {"the": "the", "le": "le", "two": "two plus"}


def test_before_the_answer_nothing_speaks_of_what_is_kept():
    said = shown("since", groups=1, about="groups")
    words = " ".join([*said.words, *said.alts.values(), *map(str, [said.notices, said.more])])
    asked = "What must be kept of each earlier token."
    assert "bytes" not in words.replace("-byte", "") and "Every token leaves" not in words
    assert "cache" not in said.notices and "kept" not in words.replace(asked, "")
    assert sum(len(each.split()) for each in said.words) < 420


@pytest.mark.parametrize(("tokens", "held", "ungrouped"), [(1, "131 kB", "524 kB"), (2048, "268 MB", "1.07 GB"),
                                                           (131_072, "17.2 GB", "68.7 GB")])
def test_the_cache_is_that_of_the_configuration(tokens, held, ungrouped):
    said = shown("since", guess="b", tokens=tokens, groups=2)
    first, second = said.notices["cache"]
    assert f"**{held}**" in first and f"its own, {ungrouped}" in first
    assert second == f"This page's block holds {said_bytes(tokens * 96)} ({said_bytes(tokens * 384)} as in 2017)."
    assert f"{min(tokens, 24)} tokens, 48 numbers" in said.alts["since-own"]


@pytest.mark.parametrize(("text", "balance"), [("english", True), ("french", False), ("sum", True)])
def test_what_is_said_of_the_experts_is_counted_again(text, balance):
    said = shown("since", guess="a", topic="experts", routed=text, balance=balance)
    numbers, notices = said.numbers["experts"], said.notices["experts"]
    for kind, name in ((True, "on"), (False, "off")):
        counts = experts.load(kind).by_word.sum(0)
        assert numbers[name] == pytest.approx(counts.max() / counts.sum())
    assert (numbers["on"] < numbers["off"]) and "25%" in notices[1]
    assert numbers["low_off"] <= numbers["mean_off"] <= numbers["high_off"]


def chance(prompt: tuple[int, ...], path: list[int]) -> float:
    logs = [experts.next_words(prompt + tuple(path[:place]))[word] for place, word in enumerate(path)]
    return float(np.exp(sum(logs)))


@pytest.mark.parametrize(("prompt", "how", "amount"), [
    ("the", "greedy", {}), ("the", "beam", {"beam": 1}), ("the", "beam", {"beam": 3}), ("le", "beam", {"beam": 5}),
    ("two", "greedy", {}), ("the", "top_k", {"k": 1}), ("le", "top_k", {"k": 5}), ("the", "top_p", {"p": 0.05}),
    ("le", "top_p", {"p": 0.5}), ("two", "top_p", {"p": 1.0})])
def test_what_is_said_of_writing_holds_for_the_models_probabilities(prompt, how, amount):
    start, turned = tuple(encode(["<start>", *PROMPTS[prompt].split()])), next(iter(amount.values()), 1)
    said = writing_claims(strings("lessons/since")["writing"], how, turned, start, amount.get("beam", 2))["says"]
    for words, share in re.findall(r"\*([^*]+)\* \(([\d.]+)%\)", said):
        assert chance(start, encode(words.split())) == pytest.approx(float(share) / 100, abs=0.0006)
    given = np.sort(np.exp(experts.next_words(start)))[::-1]
    if how in ("greedy", "beam"):
        top = list(np.argsort(-experts.next_words(start))[:8])
        likeliest = max((chance(start, [a, b, c]), a) for a in top
                        for b in np.argsort(-experts.next_words((*start, int(a))))[:5]
                        for c in np.argsort(-experts.next_words((*start, int(a), int(b))))[:3])
        written = re.search(r"\*([^*]+)\* \(", said).group(1)
        is_best = chance(start, encode(written.split())) == pytest.approx(likeliest[0])
        assert is_best == ("the likeliest path;" in said or "that is the likeliest path" in said
                           or "the likeliest path; greedy" in said)
        return
    count = amount["k"] if how == "top_k" else int(np.searchsorted(np.cumsum(given), amount["p"] - 1e-12)) + 1
    assert f"from {min(count, len(WORDS))} word" in said
    assert f"{1 - given[:count].sum():.1%}".replace("-", "") in said


@pytest.mark.parametrize("power", [18, 24, 27])
def test_the_scaling_laws_are_said_as_a_search_finds_them(power):
    numbers = shown("since", guess="a", topic="scaling", compute=power).numbers["scaling"]
    for name, law in (("hoffmann", scaling.HOFFMANN), ("besiroglu", scaling.BESIROGLU)):
        found = minimize_scalar(lambda log, law=law: law.loss(np.exp(log), 10.0**power / 6 / np.exp(log)),
                                bounds=(10, 40), method="bounded", options={"xatol": 1e-9})
        assert numbers[f"{name}_n"] == pytest.approx(np.exp(found.x), rel=1e-3)
        assert numbers[f"{name}_loss"] == pytest.approx(found.fun)
        assert numbers[f"{name}_ratio"] == pytest.approx(10.0**power / 6 / np.exp(found.x)**2, rel=3e-3)


def test_the_tree_on_the_page_is_of_what_was_chosen():
    said = shown("since", guess="a", topic="writing", prompt="le", how="beam", beam=5)
    assert "Beam" in said.alts["since-tree"] and said.notices["writing"][0].startswith("A beam of 5 finds")
