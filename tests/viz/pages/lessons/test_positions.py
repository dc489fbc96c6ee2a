"""The page Positions, compared with complex numbers, scipy and the stored runs."""
import numpy as np
import pytest

from clearhead.model.lessons import positions
from tests.lesson_pages import shown


@pytest.mark.parametrize(("d", "p", "k", "wave", "back", "heads", "relative"), [
    (4, 0, -50, 0, -50, 1, "rotary"), (64, 3, 5, 4, -5, 8, "alibi"), (512, 100, 50, 255, 50, 32, "buckets")])
def test_waves_rotations_and_slopes_equal_complex_numbers(d, p, k, wave, back, heads, relative):
    page = shown("positions", guess="a", guess_far="a", d=d, p=p, k=k, wave=wave, back=back, heads=heads,
                 relative=relative)
    found, pair = page.numbers, min(wave, d // 2 - 1)
    rates = 10_000.0 ** (-2 * np.arange(d // 2) / d)
    waves = np.exp(1j * np.arange(128)[:, None] * rates)
    assert [found["table"]["first"], found["table"]["last"]] == pytest.approx([2 * np.pi / rates[0],
                                                                              2 * np.pi / rates[-1]])
    assert found["shift"]["degrees"] == pytest.approx(np.degrees(k * rates[pair])) and found["shift"]["error"] < 1e-9
    square = (waves @ waves.conj().T).real / (d // 2)   # all rows are equally long
    assert found["distance"]["near"] == pytest.approx(np.diagonal(square, 1).mean())
    assert found["distance"]["low"] == pytest.approx(min(np.diagonal(square, step).mean() for step in range(128)))
    if relative == "rotary":
        assert found["rotary"]["same"] == pytest.approx(found["rotary"]["plain"]) and found["rotary"]["spread"] < 1e-9
    if relative == "alibi":
        assert float(found["alibi"]["halves_near"]) == pytest.approx(np.log(2) / 2 ** (-8 / heads), rel=5e-3)
    if relative == "buckets":
        both = positions.t5_bucket(np.arange(-150, 151))
        assert found["buckets"]["exact"] == sum((both == each).sum() == 1 for each in set(both))


@pytest.mark.parametrize(("scheme", "stack", "moves"), [("none", "encoder", False), ("none", "decoder", True),
                                                        ("sinusoidal", "encoder", True)])
def test_encoder_without_positions_is_blind_to_a_shuffle(scheme, stack, moves):
    found = shown("positions", guess="a", scheme=scheme, stack=stack, shuffle=(5, 3, 1, 0, 4, 2)).numbers["shuffle"]
    assert (found["most"] > 1e-9) == moves and found["apart"] > 0.1


def test_accuracies_are_means_of_the_stored_runs():
    found, study = shown("positions", guess="a", guess_far="a").numbers["beyond"], positions.beyond()
    for name, runs in study["accuracy"].items():
        after = np.array(runs)[:, 64 - study["back"]:]
        assert found["means"][name]["out"] == pytest.approx(after.mean())
