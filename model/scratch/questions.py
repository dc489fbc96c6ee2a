"""Pictures of several handwritten digits, each in a cell of its own, and questions about them with their answers.

All randomness comes from a `random.Random`, so a seed determines the pictures. Tested digits and sets of cells never
occur in training.
"""
import random

from clearhead.model.core.query import frozen
from clearhead.model.scratch.canvas import CLASSES, Drawing, draw_cells, draw_digits
from clearhead.model.scratch.tokens import BEGIN, IMAGE, SPECIALS

ROWS = COLUMNS = 4      # cells, one patch each
CELLS = ROWS * COLUMNS
COUNTS = (3, 4, 5, 6)   # digits per picture
FEW = (1, 2, *COUNTS)   # digits per training picture: one digit teaches what it is and where, two which is meant
BLANK = "blank"         # the name of a cell without a digit, which no answer uses
# of the neighbour that a question asks for: row, column
STEPS = {"left": (0, -1), "right": (0, 1), "above": (-1, 0), "below": (1, 0)}
ASKED = {"left": "Which digit is left of the {}?", "right": "Which digit is right of the {}?",
         "above": "Which digit is above the {}?", "below": "Which digit is below the {}?",
         "where": "Where is the {}?", "largest": "Which is largest?", "smallest": "Which is smallest?",
         "even": "How many are even?"}
SIDES = (("top", "bottom"), ("left", "right"))   # halves of the picture: by row, by column
WORDS = (*SPECIALS, "[IMG]", *map(str, range(CLASSES)), BLANK, *(word for pair in SIDES for word in pair),
         "which", "digit", "is", "of", "the", "above", "below", "where", "largest", "smallest", "how", "many", "are",
         "even")
HELD_OUT = 500          # questions of each kind and split on which a model is scored
BEFORE = (BEGIN, *[IMAGE] * CELLS)   # ids in front of a question


@frozen
class Scene(Drawing):
    """A picture of digits."""

    grid = (ROWS, COLUMNS)

    def neighbours(self, kind: str) -> dict[int, int]:
        """Return {cell of a digit: cell of its neighbour on this side}, where it has one."""
        down, across = STEPS[kind]
        found = {cell: (cell // COLUMNS + down, cell % COLUMNS + across) for cell in self.cells}
        return {cell: row * COLUMNS + column for cell, (row, column) in found.items()
                if 0 <= column < COLUMNS and row * COLUMNS + column in self.cells}


@frozen
class Asked:
    """A question about a scene, its answer, and the cells that decide it."""

    scene: Scene
    kind: str         # a key of ASKED
    cell: int = -1    # of the digit that the question names; -1 for none
    found: int = -1   # of the digit that is the answer; -1 for none

    @property
    def other(self) -> int:
        """The first cell with a digit that neither the question names nor the answer is."""
        return next(cell for cell in self.scene.cells if cell not in (self.cell, self.found))

    @property
    def question(self) -> str:
        """The question as a text."""
        return ASKED[self.kind].format(self.scene.labels.get(self.cell, ""))

    @property
    def answer(self) -> str:
        """The answer, a word or two."""
        labels = self.scene.labels
        if self.found >= 0:
            return str(labels[self.found])
        if self.cell < 0:
            return str(sum(label % 2 == 0 for label in labels.values()))
        row, column = divmod(self.cell, COLUMNS)
        return f"{SIDES[0][row >= ROWS // 2]} {SIDES[1][column >= COLUMNS // 2]}"


def draw_scene(rng: random.Random, split: str = "train") -> Scene:
    """Draw a picture of digits."""
    cells = tuple(sorted(draw_cells(rng, split, CELLS, FEW if split == "train" else COUNTS)))
    return Scene(split, cells, *draw_digits(rng, split, len(cells)))


def ask(rng: random.Random, scene: Scene, kind: str) -> Asked | None:
    """Return a question of this kind about the scene, or None if there is none."""
    labels = scene.labels
    if kind in STEPS:
        pairs = [*scene.neighbours(kind).items()]
        return Asked(scene, kind, *rng.choice(pairs)) if pairs else None
    if kind == "where":
        return Asked(scene, kind, rng.choice(scene.cells))
    ranked = sorted(labels, key=labels.__getitem__)
    return Asked(scene, kind, found={"largest": ranked[-1], "smallest": ranked[0]}.get(kind, -1))


def draw(rng: random.Random, split: str, kind: str) -> Asked:
    """Draw a picture and a question of this kind about it."""
    while (asked := ask(rng, draw_scene(rng, split), kind)) is None:
        pass
    return asked


def several(rng: random.Random, count: int) -> list[Asked]:
    """Draw a training picture and this many questions about it."""
    scene, found = draw_scene(rng), list[Asked]()
    while len(found) < count:
        if (asked := ask(rng, scene, rng.choice([*ASKED]))) is not None:
            found.append(asked)
    return found
