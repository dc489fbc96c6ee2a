"""What is true of two records of one comparison, and of patched heads, in words computed from the numbers."""
import numpy as np

from model.core.query import Edit, Patch, Silence
from model.core.types import HeadId
from model.studies.comparison import Alignment
from model.studies.patching import PatchEffects
from viz.claims import first_true, lead
from viz.format import format_share, head_label
from viz.text import escape_markdown, strings

EQUAL = 1e-6     # weights that differ by less are equal
NAMED = 6        # heads that a sentence lists, at most
WEIGHT = "{:z.3f}".format     # how a weight is printed here
NATS = "{:+z.2f}".format      # how the number that is patched is printed


def whole_share(share: float) -> str:
    """A share of the way in whole per cent."""
    return format_share(share, 0)


def change_claim(first: np.ndarray, second: np.ndarray, aligned: Alignment, only: int | None = None) -> str:
    """The largest change of the open head. first and second: weights (row, column), NaN where a side has none. only:
    of this row alone, where no other is shown."""
    words, changes = strings("compare"), np.abs(np.nan_to_num(second - first))
    if only is not None:
        words = words["of_row"]
        changes = np.where(np.arange(len(changes))[:, None] == only, changes, 0)
    row, column = map(int, np.unravel_index(changes.argmax(), changes.shape))
    one, other = float(first[row, column]), float(second[row, column])
    most = float(changes[row, column])
    name = first_true([(most <= EQUAL, "unchanged"), (lead(one, other, WEIGHT) == 0, "most_unprinted"), (True, "most")])
    return words[name].format(row=escape_markdown(aligned.rows[row].text),
                              column=escape_markdown(aligned.columns[column].text), one=one, other=other, most=most)


def unchanged_why(edits: frozenset[Edit], here: HeadId) -> str:
    """Why an edit leaves the open head as it was; nothing where no reason is known."""
    words = strings("compare")
    for edit in edits:
        if isinstance(edit, Silence | Patch) and (edit.layer, edit.head) == here:
            return words["edited"]
        if isinstance(edit, Silence | Patch) and here[0] <= edit.layer:
            return words["edited_later"].format(layer=edit.layer)
    return ""


def alone_claim(aligned: Alignment, over_pictures: bool = False) -> str:
    """How many rows and columns stand on one side only; nothing where none does. over_pictures: no matrix is shown."""
    rows, columns = (sum(not group.both for group in groups) for groups in (aligned.rows, aligned.columns))
    if not rows and not columns:
        return ""
    words = strings("compare")["alone_over" if over_pictures else "alone"]
    return words.format(rows=rows, columns=columns, of_rows=len(aligned.rows), of_columns=len(aligned.columns))


def turns(patches: PatchEffects, number: float) -> bool:
    """Whether a number is on the other side of 0 than that of the first text, in the digits that are printed: then the
    second text's word is the more probable one."""
    return patches.turns(number) and lead(patches.plain, 0, NATS) < 0 < lead(number, 0, NATS)


def patching_claims(patches: PatchEffects) -> list[str]:
    """What the numbers say: which heads turn the answer alone, which layers, and what that does not mean."""
    words, shares = strings("compare")["patches"], np.array([patches.share(number) for number in patches.patched])
    order = np.argsort(-np.nan_to_num(shares), kind="stable")
    alone = [place for place in order if turns(patches, float(patches.patched[place]))]
    share = float(shares[order[0]])
    apart = lead(patches.plain, patches.other, NATS if patches.words else "{:z.3f}".format) != 0
    name = first_true([(len(alone) > NAMED, "turned_most"), (bool(alone), "turned"), (not apart, "no_way"),
                       (lead(share, 0, whole_share) <= 0, "none_moves"),
                       (patches.words is None, "best"), (True, "none")])
    turning = ", ".join(f"**{head_label(*patches.heads[place])}**" + f" ({whole_share(float(shares[place]))})" * apart
                        for place in alone[:NAMED])
    sentences = [words[name].format(head=head_label(*patches.heads[order[0]]), share=share, n=len(patches.heads),
                                    heads=turning, count=len(alone), named=NAMED,
                                    other=escape_markdown(patches.words[1]) if patches.words else "")]
    if patches.words is not None:
        layers = [str(layer) for layer, number in patches.layers.items() if turns(patches, number)]
        name = first_true([(bool(layers), "whole"), (bool(alone), "no_layer_but_a_head"), (True, "no_layer")])
        sentences.append(words[name].format(layers=", ".join(layers)))
    return [*sentences, words["caution"]]
