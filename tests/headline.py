"""The headline sentence, and the weights of MiniLM's head 3·1 from "it", to three decimals as shown on the pages."""
import pytest

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")
ANIMAL, ANIMAL_IN_WIDE, STREET_IN_WIDE = "0.677", "0.281", "0.121"
SECOND_HEAD, SECOND_HEAD_IN_WIDE = "0.673", "0.558"   # head 5·11, from "it" to "animal"


def near(figure: str):
    """Return an approximation that equals any number that rounds to this figure."""
    return pytest.approx(float(figure), abs=5e-4)
