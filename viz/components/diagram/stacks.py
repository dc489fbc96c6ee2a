"""The wiring of encoder and decoder, each drawn from the bottom up."""
from collections.abc import Mapping, Sequence
from itertools import pairwise

from clearhead.viz.components.diagram import Box, diagram

ACROSS, DOWN, WIDE, HIGH = 488, 456, 204, 48   # width and height of the drawing, size of a box
# y of each box, from bottom to top, by the x of the two stacks
STACKS = {106: {"source": 424, "encoder": 270, "memory": 132},
          374: {"target": 424, "masked": 318, "cross": 218, "forward": 132, "answer": 30}}
LOOKS = {"encoder": "blue", "memory": "blue main", "masked": "orange", "cross": "green main", "forward": "orange"}
SIDE, LAYER = 239, [0, 264, 98, 220, 254]      # x at which H turns down, and the frame around a layer


def stacks(words: Mapping[str, Sequence[str]], arrows: Sequence[str], *, alt: str, key: str) -> None:
    """Draw the two stacks. words: the lines in each box. arrows: labels of the three arrows into cross-attention: the
    upper and the lower one from the encoder, and the one from below."""
    boxes = [Box(name, (x, y, WIDE, HIGH), words[name], f"part {LOOKS.get(name, 'none')}")
             for x, stack in STACKS.items() for name, y in stack.items()]
    wires: list[list[object]] = [[0, [x, low - HIGH / 2, x, high + HIGH / 2]]
                                 for x, stack in STACKS.items() for low, high in pairwise(stack.values())]
    encoder, decoder = STACKS
    start, end = encoder + WIDE / 2, decoder - WIDE / 2
    memory, cross = STACKS[encoder]["memory"], STACKS[decoder]["cross"]
    wires += [[0, [start, memory, SIDE, memory, SIDE, y, end, y], "loud"] for y in (cross - 11, cross + 11)]
    places = (SIDE + 17, cross - 18), (SIDE + 17, cross + 28), (decoder + 14, cross + 54)
    diagram([(alt, ACROSS, DOWN)], boxes, wires, frames=[LAYER],
            labels=[[0, *place, text, "loud"] for place, text in zip(places, arrows, strict=True)], key=key)
