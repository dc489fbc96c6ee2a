"""The page as a whole: its sentences at the ends and the middle of its controls, and what it keeps to itself before one
has answered."""
import re

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from model.lessons import since
from model.lessons.since import WORDS, encode
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from tests.model.lessons.since.test_design import torchs
from tests.viz.pages.since.test_claims import counted
from tests.viz.pages.since.test_claims import wrong as wrong_of_change
from viz.pages.since.cache import said_bytes
from viz.pages.since.experts import TEXTS
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
        counts = since.load(kind).by_word.sum(0)
        assert numbers[name] == pytest.approx(counts.max() / counts.sum())
    assert (numbers["on"] < numbers["off"]) and "25%" in notices[1]
    assert numbers["low_off"] <= numbers["mean_off"] <= numbers["high_off"]


def chance(prompt: tuple[int, ...], path: list[int]) -> float:
    logs = [since.next_words(prompt + tuple(path[:place]))[word] for place, word in enumerate(path)]
    return float(np.exp(sum(logs)))


@pytest.mark.parametrize(("prompt", "how", "amount"), [
    ("the", "greedy", {}), ("the", "beam", {"beam": 1}), ("the", "beam", {"beam": 3}), ("le", "beam", {"beam": 5}),
    ("two", "greedy", {}), ("the", "top_k", {"k": 1}), ("le", "top_k", {"k": 5}), ("the", "top_p", {"p": 0.05}),
    ("le", "top_p", {"p": 0.5}), ("two", "top_p", {"p": 1.0})])
def test_what_is_said_of_writing_holds_for_the_models_probabilities(prompt, how, amount):
    start, turned = tuple(encode(["<start>", *PROMPTS[prompt].split()])), next(iter(amount.values()), 1)
    said = writing_claims(strings("lessons/since")["writing"], how, turned, start, amount.get("beam", 2))["says"]
    says_of_writing(said, start, how, amount)


def says_of_writing(said: str, start: tuple[int, ...], how: str, amount: dict) -> None:
    """Fails unless what is said of one way to write is true of the model's probabilities."""
    for words, share in re.findall(r"\*([^*]+)\* \(([\d.]+)%\)", said):
        assert chance(start, encode(words.split())) == pytest.approx(float(share) / 100, abs=0.0006)
    given = np.sort(np.exp(since.next_words(start)))[::-1]
    if how in ("greedy", "beam"):
        top = list(np.argsort(-since.next_words(start))[:8])
        likeliest = max((chance(start, [a, b, c]), a) for a in top
                        for b in np.argsort(-since.next_words((*start, int(a))))[:5]
                        for c in np.argsort(-since.next_words((*start, int(a), int(b))))[:3])
        best = re.search(r"likeliest path is \*([^*]+)\* \(", said).group(1)
        assert chance(start, encode(best.split())) == pytest.approx(likeliest[0])
        return
    count = amount["k"] if how == "top_k" else int(np.searchsorted(np.cumsum(given), amount["p"] - 1e-12)) + 1
    assert f"from {min(count, len(WORDS))} word" in said
    assert f"{1 - given[:count].sum():.1%}".replace("-", "") in said


@pytest.mark.parametrize("power", [18, 24, 27])
def test_the_scaling_laws_are_said_as_a_search_finds_them(power):
    numbers = shown("since", guess="a", topic="scaling", compute=power).numbers["scaling"]
    for name, law in (("hoffmann", since.HOFFMANN), ("besiroglu", since.BESIROGLU)):
        found = minimize_scalar(lambda log, law=law: law.loss(np.exp(log), 10.0**power / 6 / np.exp(log)),
                                bounds=(10, 40), method="bounded", options={"xatol": 1e-9})
        assert numbers[f"{name}_n"] == pytest.approx(np.exp(found.x), rel=1e-3)
        assert numbers[f"{name}_loss"] == pytest.approx(found.fun)
        assert numbers[f"{name}_ratio"] == pytest.approx(10.0**power / 6 / np.exp(found.x)**2, rel=3e-3)


def test_the_tree_on_the_page_is_of_what_was_chosen():
    said = shown("since", guess="a", topic="writing", prompt="le", how="beam", beam=5)
    assert "Beam" in said.alts["since-tree"] and said.notices["writing"][0].startswith("A beam of 5 finds")


TODAY = {"pre": True, "rms": True, "swiglu": True, "rotary": True, "bare": True}
PLACES = [{"tokens": 1}, TODAY | {"groups": 1, "about": "groups", "tokens": 131_072},
          {"groups": 4, "swiglu": True, "about": "swiglu", "tokens": 24},
          {"topic": "experts", "rms": True, "about": "rms"},
          {"topic": "experts", "routed": "french", "balance": False, "rotary": True, "about": "rotary"},
          {"topic": "experts", "routed": "sum", "bare": True, "about": "bare"},
          {"topic": "writing", "how": "beam", "beam": 1}, {"topic": "writing", "how": "top_k", "k": 1},
          {"topic": "writing", "prompt": "le", "how": "top_k", "k": 5},
          {"topic": "writing", "prompt": "two", "how": "top_p", "p": 1.0},
          {"topic": "writing", "how": "top_p", "p": 0.05},
          {"topic": "scaling", "compute": 18},
          {"topic": "scaling", "compute": 27, "pre": True}]
EACH = (36_864, 524_288, 131_072, 131_072, 23_040)   # bytes per token: 2 · layers · key–value heads · d_k · 2, by hand


def block_rules(this: since.Design, about: str) -> Rules:
    """Of the block with its switches: by torch, and by the shapes of its matrices."""
    numbers = [counted(since.PAPER), counted(this)]
    measured: list[float] = []
    for each in (since.PAPER, this):
        run = since.run(each)
        measured += [float(torchs(each).norm(dim=-1).mean()), float((run.inner == 0).mean()),
                     float(np.abs(since.run(each, 1).weights - run.weights).max())]

    def changes(line: str) -> bool:
        found = printed(line)[1:]
        return len(found) == 6 and all(abs(found[place][0] - value) <= found[place][1] + 0.01 * value or
                                       max(found[place][0], value) < 1e-12
                                       for place, value in zip((0, 2, 4, 1, 3, 5), measured, strict=True))

    return {"notice block 0": lambda line: wrong_of_change(line, this, about, True) == [],
            "notice block 1": lambda line: agrees(line, numbers[1], numbers[0], 2017), "more block 0": changes,
            "more block 1": lambda line: agrees(line, 96, 8, 12, 24), "more block 2": lambda line: agrees(
                line, 2023, 8, 4, 2, 1),
            "alt since-parameters": lambda line: agrees(line, numbers[0], 2017, numbers[1])}


def cache_rules(this: since.Design, tokens: int) -> Rules:
    """Of what is kept: from the configurations, by hand."""
    own, rows = 2 * 2 * 12 * this.groups, min(tokens, 24)
    return {"notice cache 0": lambda line: all(said_bytes(each) in line for each in (
                131_072.0 * tokens, 524_288.0 * tokens, 2 * 8_030_261_248.0)),
            "notice cache 1": lambda line: f"holds {said_bytes(own * tokens)} ({said_bytes(384 * tokens)}" in line,
            "more cache 0": lambda line: [int(each.replace(",", "")) for each in re.findall(
                r"([\d,]+) bytes per token", line)] == list(EACH),
            "more cache 2": lambda line: "4,096" in line and "at most 24 rows" in line,
            "alt since-own": lambda line: agrees(line, rows, own // 2),
            "alt since-cache": lambda line: f"holds {said_bytes(131_072.0 * tokens)} after {tokens:,} tokens" in line}


def experts_rules(routed: str, balanced: bool) -> Rules:
    """Of the router: its gates, and the shipped runs."""
    gates = since.route(TEXTS[routed].split(), balanced)
    surest, used = np.unravel_index(gates.argmax(), gates.shape), len(set(gates.argmax(1).tolist()))
    loads = [since.load(kind) for kind in (True, False)]
    most = [each.by_word.sum(0).max() / each.by_word.sum() for each in loads]
    runs = [np.array(since.busiest_by_seed()[kind]) for kind in ("balanced", "free")]
    spread = [number for run in runs for number in (run.min(), run.max(), run.mean())]
    return {"notice experts 0": lambda line: printed(line)[-4:] and agrees(
                line.split("*: ")[1], gates.max(), surest[1] + 1, used, 4),
            "notice experts 1": lambda line: agrees(line, *most, 0.25),
            "more experts 0": lambda line: agrees(line, len(runs[0]), *spread),
            "more experts 1": lambda line: printed(line)[0][0] == 400 and agrees(line.split("loss is")[1], *(
                each.nats for each in loads)),
            "more experts 2": lambda line: printed(line)[0][0] == 4 * printed(line)[1][0],
            "alt since-router": lambda line: agrees(line, 4, len(gates)), "alt since-load": lambda line: agrees(
                line, *most)}


def likeliest(start: tuple[int, ...]) -> tuple[float, list[int]]:
    """(probability, three words) of the likeliest path of all: every word is tried whose path is likelier so far."""
    best: tuple[float, list[int]] = (0.0, [])

    def go(path: list[int], share: float) -> None:
        nonlocal best
        if len(path) == 3:
            best = max(best, (share, path))
            return
        given = np.exp(since.next_words((*start, *path)))
        for word in np.argsort(-given):
            if share * given[word] <= best[0]:
                return
            go([*path, int(word)], share * given[word])

    go([], 1.0)
    return best


def writing_rules(start: tuple[int, ...], turned: dict) -> Rules:
    """Of the tree, and of the likeliest path: by trying all."""
    share, path = likeliest(start)
    greedy: list[int] = []
    for _ in range(3):
        greedy.append(int(np.argmax(since.next_words((*start, *greedy)))))

    def best(line: str) -> bool:
        said = [words for words, _ in re.findall(r"\*([^*]+)\* \(([\d.]+)%\)", line)]
        return said == [" ".join(WORDS[word] for word in each) for each in (path, greedy)] and agrees(
            line, 3, share, chance(start, greedy))

    return {"notice writing 0": lambda line: says_of_writing(line, start, turned["how"],
                                                             {"k": 2, "p": 0.7} | turned) is None,
            "more writing 0": best, "more writing 1": lambda line: agrees(line, 0.01),
            "more writing 2": lambda line: agrees(line, 2020),   # Holtzman et al.
            "alt since-tree": lambda line: printed(line)[0][0] >= 3 and strings("lessons/since")["writing"]["hows"][
                turned["how"]] in line}


def scaling_rules(power: float) -> Rules:
    """Of the published laws: Kaplan's power by logarithms, the others by a search along their cost."""
    cost = 10.0**power
    sizes, losses = [10 ** (np.log10(1.3e9) + 0.73 * (power - np.log10(8.64e19)))], []   # 8.64e19: a petaflop-day
    for e, a, b, alpha, beta in ((1.69, 406.4, 410.7, 0.34, 0.28), (1.8172, 482.01, 2085.43, 0.3478, 0.3658)):
        found = minimize_scalar(lambda log, e=e, a=a, b=b, alpha=alpha, beta=beta: e + a * np.exp(-alpha * log) + b * (
            cost / 6 / np.exp(log)) ** -beta, bounds=(10, 40), method="bounded", options={"xatol": 1e-9})
        sizes.append(np.exp(found.x))
        losses.append(found.fun)
    scale = {"million": 1e6, "billion": 1e9, "trillion": 1e12, "quadrillion": 1e15}

    def named(line: str) -> bool:
        told = [float(number.replace(",", "")) * scale[word]
                for number, word in re.findall(r"([\d.,]+) (million|billion|trillion|quadrillion)", line)]
        return f"10{str(power).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))} operations" in line and (
            told == pytest.approx(sizes, rel=0.051))

    def ratios(line: str) -> bool:
        wanted = [cost / 6 / size**2 for size in sizes]
        return [number for number, _ in printed(line)] == pytest.approx(wanted, rel=0.051)

    return {"notice scaling 0": named, "alt since-scaling": named, "notice scaling 1": ratios,
            "more scaling 0": lambda line: agrees(line, 70, 1.4, 20) and 20 * 70e9 == 1.4e12,
            "more scaling 1": lambda line: agrees(line, *losses), "more scaling 3": lambda line: agrees(line, 3, 8, 15)}


@pytest.mark.parametrize("turned", PLACES, ids=str)
def test_every_sentence_is_true_where_it_stands(turned):
    said = shown("since", guess="a", **turned)
    this = since.Design(**{name: turned[name] for name in (*since.SWITCHES, "groups") if name in turned})
    rules = block_rules(this, turned.get("about", "pre")) | cache_rules(this, turned.get("tokens", 12))
    if turned.get("topic") == "experts":
        rules |= experts_rules(turned.get("routed", "english"), turned.get("balance", True))
    if turned.get("topic") == "writing":
        start = tuple(encode(["<start>", *PROMPTS[turned.get("prompt", "the")].split()]))
        rules |= writing_rules(start, turned)
    if turned.get("topic") == "scaling":
        rules |= scaling_rules(turned["compute"])
    assert wrong(sentences(said), rules) == []
    planted = {place: line.replace(*change) for place, line in sentences(said).items()
               for start, change in {"notice block 1": (" parameters", "1 parameters"),
                                     "notice cache 1": ("holds ", "holds 1"), "notice experts 1": ("**", "**1"),
                                     "more writing 0": ("%)", "1%)"), "notice scaling 1": (": ", ": 1"),
                                     "more scaling 1": ("are ", "are 1")}.items()
               if place == start}
    assert {each.split(":")[0] for each in wrong(sentences(said) | planted, rules)} == set(planted)
