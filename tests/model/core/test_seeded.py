"""What is drawn from a seed is the same, however many sessions draw at once."""
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import torch

from model.core.seeded import seeded
from model.lessons.positions import shuffle_outputs


def test_every_thread_draws_what_one_alone_draws_and_the_program_goes_on_as_before():
    ready = Barrier(4)

    def draw(seed: int) -> list[float]:
        ready.wait()
        with seeded(seed):
            return [torch.rand(()).item() for _ in range(2000)]

    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(draw, (7, 8, 7, 8)))
    assert drawn[0] == drawn[2] != drawn[1] == drawn[3] and (torch.rand(2) == expected).all()
    with seeded(7):
        assert drawn[0][0] == torch.rand(()).item()


def test_sessions_that_open_a_lesson_at_once_see_the_same_numbers():
    ready, asked = Barrier(4), ((1, 0, 2, 3, 4, 5), "learned", False)

    def open_lesson(_) -> bytes:
        ready.wait()
        return b"".join(shuffle_outputs(*asked)[0].tobytes() for _ in range(5))

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(open_lesson, range(4)))) == 1
