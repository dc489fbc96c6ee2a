"""The arithmetic of benchmarks.extraction; its measurements need a quiet machine."""
from benchmarks.extraction import Row, bars, in_turns, page


def row(tokens: int, answer: float, megabytes: float = 10.0) -> Row:
    return Row("smollm2", tokens, 1.0, 2.0, answer, 0.2, 0.01, answer, 5.0, 90.0, megabytes, 4.0)


def test_actions_take_turns_and_every_other_turn_goes_backwards():
    called: list[str] = []
    taken = in_turns({name: lambda name=name: called.append(name) for name in "ab"}, 0)
    assert "".join(called) == "abbaabbaab" and {name: len(times) for name, times in taken.items()} == {"a": 5, "b": 5}


def test_a_bar_is_met_up_to_its_limit():
    found = {bar["bar"]: bar["met"] for bar in bars([row(512, 1.15), row(1024, 1.16, 15.1), row(2048, 1.0, 40.0)])}
    assert found["answer / plain pass, smollm2 at 512"] and not found["answer / plain pass, smollm2 at 1024"]
    assert not found["memory of the answer / eager's, smollm2 at 1024"] and found["overview of 270 heads / plain pass, "
                                                                                  "smollm2 at 1024"]
    assert not found["memory of the answer at 2048 / at 1024 (2 is linear)"]


def test_the_page_has_a_line_for_each_length_and_says_what_was_missed():
    rows = [row(1024, 1.16)]
    told = page(rows, bars(rows))
    assert "| smollm2 | 1,024 | 1000.0 | 2000.0 | 1160.0 | 1.16 | 200.0 | 10.0 | 5 | 90 | 10 |" in told
    assert "| answer / plain pass, smollm2 at 1024 | 1.15 | 1.160 | missed |" in told
