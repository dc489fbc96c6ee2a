"""The table of the four types of layer."""
import pytest

from viz.pages.cost import _orders
from viz.text import strings

ORDERS = strings("lessons/cost")["types"]["orders"]


@pytest.mark.parametrize(("kind", "at", "wanted"), [
    ("restricted", (64, 8, 3, 16), ["r n d", "1", "n / r"]), ("restricted", (64, 8, 3, 65), ["n² d", "1", "1"]),
    ("convolution", (64, 8, 3, 16), ["k n d²", "1", "log_k n"]), ("convolution", (4, 8, 7, 2), ["k n d²", "1", "1"]),
    ("recurrent", (4, 8, 7, 9), ["n d²", "n", "n"])])
def test_a_number_is_called_what_it_is(kind, at, wanted):
    assert _orders(ORDERS, kind, at) == wanted
