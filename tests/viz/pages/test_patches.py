"""What *Pictures as sentences* says, at the ends and in the middle of its controls, against numbers computed anew."""
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from model.lessons import digit_patches
from model.lessons.digit_patches import KINDS, DigitRunQuery
from tests.lesson_pages import shown
from tests.lesson_sentences import Rules, agrees, printed, sentences, wrong
from viz.pages.patches import above, logit_difference
from viz.pages.patches.places import SIDES, halved, mean_cosines, most_alike, neighbours
from viz.text import strings

PROSE = strings("lessons/patches")
OPEN = {"picture": 0, "moved": 25, "draw": 0, "side": 8, "place": 6}
PLACES = [{}, {"picture": 7, "moved": 0, "side": 1, "place": 0}, {"picture": 3, "moved": 1, "side": 40, "place": 24},
          {"picture": 4, "moved": 2, "draw": 99, "side": 20, "place": 12}, {"picture": 2, "moved": 13, "side": 5}]


def logits(patches: np.ndarray, placed: bool) -> torch.Tensor:
    """Of patches (patch, row, column) by the model's parts, the sentence written out."""
    model = digit_patches.patch_network()
    ink = torch.from_numpy((255 - patches.reshape(len(patches), -1)).astype(np.float32) / 255)
    with torch.inference_mode():
        x = torch.cat([model.embedding.start, ink @ model.embedding.linear.weight.T + model.embedding.linear.bias])
        x = x + model.embedding.positions.table if placed else x
        return model.output(model.encoder(x[None], None))[0, 0].double()


def shuffle_rules(where: dict) -> Rules:
    picture = digit_patches.canvases()[where["picture"]].pixels()
    patches = np.stack([picture[8 * row:8 * row + 8, 8 * column:8 * column + 8] for row in range(5)
                        for column in range(5)])
    order = digit_patches.swapped(25, where["moved"], where["draw"])
    answers = {placed: [logits(each, placed) for each in (patches, patches[order])] for placed in (True, False)}
    firsts = {placed: [int(each.argmax()) for each in pair] for placed, pair in answers.items()}
    tops = {placed: [float(each.softmax(-1).max()) for each in pair] for placed, pair in answers.items()}
    moved = where["moved"] > 1
    heights = {name: [number for pair in zip(firsts[placed], tops[placed], strict=True) for number in pair]
               for name, placed in (("placed", True), ("unplaced", False))}
    return {"notice shuffle 0": lambda line: printed(line)[0][0] <= 1e-4,
            "notice shuffle 1": lambda line: agrees(line, *heights["placed"]),
            "more shuffle 0": lambda line: agrees(line, firsts[False][0]),
            "alt patches-puzzle": lambda line: agrees(line, 25, where["moved"] if moved else 0),
            **{f"alt patches-{name}": (lambda line, name=name: agrees(line, *heights[name])) for name in heights}}


def half_or_twice(side: int) -> tuple[int, float]:
    """The other side of a patch, and how many times as many weights the finer of both has."""
    other = side // 2 if side % 2 == 0 else 2 * side
    cells = sorted(((40 // each) ** 2 + 1) ** 2 for each in (side, other))
    return other, cells[1] / cells[0]


def place_rules(where: dict) -> Rules:
    side, table = where["side"], digit_patches.patch_network().embedding.positions.table[1:].detach()
    cosines = torch.nn.functional.cosine_similarity(table[:, None], table[None], -1).numpy()
    apart = [(abs(one // 5 - other // 5) + abs(one % 5 - other % 5), cosines[one, other])
             for one in range(25) for other in range(25) if one != other]
    near, far = (float(np.mean([value for steps, value in apart if (steps == 1) == beside]))
                 for beside in (True, False))
    order = [int(other) for other in np.argsort(-cosines[where["place"]]) if other != where["place"]]
    best, count = order[0], (40 // side) ** 2
    at = [*divmod(best, 5), *divmod(where["place"], 5), float(cosines[where["place"], best])]
    return {"notice cut 0": lambda line: agrees(line, side, side, count + 1, (count + 1) ** 2),
            "notice cut 1": lambda line: agrees(line, *half_or_twice(side))
            and line.startswith("Half" if side % 2 == 0 else "Twice"),
            "notice cut 2": lambda line: agrees(line, digit_patches.blocks()),
            "more cut 0": lambda line: "appendix D.3" in line,
            "alt patches-cut": lambda line: agrees(line, 40, 40, count, side, side),
            "notice places 0": lambda line: agrees(line, near, far),
            "notice places 1": lambda line: agrees(line, *at),
            "more places 0": lambda line: "figure 7" in line,
            "alt patches-place": lambda line: agrees(line, *divmod(where["place"], 5), *divmod(best, 5), at[-1]),
            "alt patches-places": lambda line: agrees(line, 25)}


@pytest.mark.parametrize("turned", PLACES, ids=str)
def test_what_is_said_of_patches_is_true_of_them(turned):
    where = OPEN | turned
    found = shown("patches", guess="a", **turned)
    assert wrong(sentences(found), shuffle_rules(where) | place_rules(where)) == []
    table = next(words for words in found.words if words.startswith("| Side"))
    for side in SIDES:
        count = (40 // side) ** 2
        cells = [f"{number:,}" for number in (side, count + 1, side**2, (count + 1) ** 2)]
        row = " | ".join(f"**{cell}**" if side == where["side"] else cell for cell in cells)
        assert f"| {row} |" in table


def test_half_the_side_makes_four_times_as_many_patches_and_other_factors_of_weights():
    counted = {side: digit_patches.numbers(40, 40, side, 64) for side in SIDES}
    said = {side: halved(PROSE["cut"]["halves"], counted, side) for side in SIDES}
    assert "**6.2** times as many weights" in said[40] and "**15.1** times" in said[8]
    assert all(agrees(line, *half_or_twice(side)) for side, line in said.items())
    assert all(counted[side // 2]["tokens"] - 1 == 4 * (counted[side]["tokens"] - 1) for side in SIDES if side % 2 == 0)


def test_a_wrong_sentence_is_caught():
    found = shown("patches", guess="a")
    rules, places = shuffle_rules(OPEN) | place_rules(OPEN), sentences(found)
    for place, (old, new) in {"notice cut 0": ("26", "25"), "notice cut 1": ("15.1", "16.0"),
                              "notice shuffle 1": ("%", ".1%"), "notice places 1": ("cosine 0.", "cosine 0.9")}.items():
        assert len(wrong(places | {place: places[place].replace(old, new)}, rules)) == 1, place


def test_before_the_answer_nothing_shows_what_a_shuffle_does():
    found = shown("patches", run=True)
    assert not found.notices and set(found.charts) == {"patches-puzzle"}
    assert "digits." not in " ".join(found.words).replace(PROSE["predict"]["answers"][0]["text"], "")


@pytest.mark.parametrize(("count", "seed"), [(100, 2), (300, 1), (1000, 5)])
def test_a_run_is_told_by_its_own_numbers(monkeypatch, count, seed):
    monkeypatch.setattr(digit_patches, "STEPS", 40)
    found = shown("patches", guess="a", run=True, count=str(count), seed=seed, draw=50)
    runs = {kind: digit_patches.run(DigitRunQuery(kind, count, seed)) for kind in KINDS}
    ends = {kind: float(run.right[-1]) for kind, run in runs.items()}
    first, learned, blind = found.notices["data"]
    assert agrees(first, count, ends["convolution"], 250, ends["transformer"])
    assert agrees(learned, runs["transformer"].learned, runs["convolution"].learned)
    assert agrees(blind, ends["unplaced"])
    sizes = [runs[kind].parameters for kind in KINDS[:2]]
    assert agrees(found.more["data"][0], *sizes)
    names = list(PROSE["data"]["names"].values())
    for there, step in ((1, "-1"), (2, "-2"), (3, "")):   # while it learns, as many curves as there are
        right, loss = found.alts[f"patches-right{step}"], found.alts[f"patches-loss{step}"]
        assert agrees(right, 250, count, *(ends[kind] for kind in KINDS[:there]))
        assert [part.rsplit(" ", 1)[0] for part in right.split("end: ")[1].split(", ")] == names[:there]
        assert loss == f"Training loss by step: {', '.join(names[:there])}."


def test_neighbours_are_told_apart_from_the_rest():
    beside = neighbours(5, 5)
    cosines = np.where(beside, 0.3, -0.1) + np.eye(25)
    assert mean_cosines(cosines, beside) == {"near": "0.30", "far": "−0.10"} and beside.sum() == 80
    assert most_alike(cosines + 0.5 * np.eye(25)[::-1], 0) == 24


def test_a_power_of_ten_lies_above_its_number():
    assert [above(number) for number in (3e-7, 1e-6, 9.9e-6, 0.0)] == ["1e-6", "1e-5", "1e-5", "1e-6"]
    assert logit_difference(*(SimpleNamespace(logits=np.array(each)) for each in ([1, 2], [1, 5]))) == 3


def test_the_check_questions_count_rightly():
    assert digit_patches.numbers(224, 224, 16, 768)["tokens"] == 197
