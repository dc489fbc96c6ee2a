"""Where each atom of a product was before the reaction: one head of RXNMapper's ALBERT (Schwaller et al. 2021).

assets/cases/reactions.csv has reactions as SMILES, each atom followed by its number in braces; behind the arrow the
number is that of the atom it was before, or of several that the molecule's symmetry or the mechanism makes alike. """
import csv
import functools
import re
from dataclasses import dataclass, replace

import numpy as np

from model.core import heads
from model.core.assets import ASSETS
from model.core.models import Models, NamesModel
from model.core.query import Query, UserError
from model.core.record import AttentionMap
from model.core.statistics import LEVEL, SEED, accuracy_intervals, mean_intervals
from model.core.tables import head_ids
from model.core.types import HeadId, Progress, quiet
from model.studies.claims.claim import Finding, Measurement, Picture, finding
from model.studies.claims.definitions import LUCKY_DRAWS
from model.studies.claims.selection import held_out

FILE = ASSETS / "cases" / "reactions.csv"
HEAD: HeadId = (10, 5)   # in the paper's counting from 1 layer 11, head 6
ARROW = ">>"
ATOM = re.compile(r"\[[A-Z][^\]]*\]|Br|Cl|[BCNOPSFIbcnops]")
NUMBERED = re.compile(rf"({ATOM.pattern})\{{([\d/]+)\}}")


@dataclass(frozen=True)
class Reaction:
    """A reaction with its atoms' fate. Atoms count from 0 on each side of the arrow."""

    name: str
    smiles: str                          # as a chemist writes it, without numbers
    origins: tuple[frozenset[int], ...]  # of each atom of the products: the atoms that it may have been
    elements: tuple[str, ...]            # of each atom of the products


@functools.cache
def shipped() -> tuple[Reaction, ...]:
    """The reactions of assets/cases."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(parse(row["name"], row["reaction"]) for row in csv.DictReader(file))


def parse(name: str, numbered: str) -> Reaction:
    """A reaction from SMILES with numbers. Raises ValueError where an atom has none, KeyError where it is a number that
    no atom before the arrow has."""
    sides = [NUMBERED.findall(side) for side in numbered.split(ARROW)]
    smiles = re.sub(r"\{[\d/]+\}", "", numbered)
    places = {number: place for place, (_, number) in enumerate(sides[0])}
    if [len(side) for side in sides] != [len(ATOM.findall(side)) for side in smiles.split(ARROW)]:
        raise ValueError(f"{name}: expected a number behind each atom; write it in braces.")
    origins = tuple(frozenset(places[number] for number in numbers.split("/")) for _, numbers in sides[1])
    return Reaction(name, smiles, origins, tuple(atom for atom, _ in sides[1]))


def mapped_atoms(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """How often the head of the paper gives most weight, among the atoms before the arrow, to the one that the atom
    was. The baseline is the atom at the same place in the list; luck exchanges the fates of the atoms of one
    element."""
    answers, ids = _answers(asked, models, report)
    right = np.concatenate([score(*one) for one in answers])
    groups = np.repeat(np.arange(len(answers)), [len(reaction.origins) for reaction, _ in answers])
    same = np.concatenate([[place in origin for place, origin in enumerate(reaction.origins)]
                           for reaction, _ in answers])
    column = ids.index(HEAD)
    found = finding("atoms", accuracy_intervals(right[:, [column]], groups)[0], float(same.mean()),
                    "reactions", "share", len(answers))
    found = replace(found, best=float(right.mean(0).max()), luck=luck(answers), heads=(HEAD,))
    return Measurement((found,), _picture(asked, answers[0][0]))


def only_head(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """How much more often the head of the paper is right than the best other one, chosen on the other half of the
    reactions."""
    answers, ids = _answers(asked, models, report)
    values = np.array([score(*one).mean(0) for one in answers])
    own, others = values[:, ids.index(HEAD)], np.delete(values, ids.index(HEAD), axis=1)
    scored, _ = held_out(others)
    found: Finding = finding("atoms_only", mean_intervals((own - scored)[:, None])[0], 0.0, "reactions", "share")
    return Measurement((replace(found, heads=(HEAD,)),), _picture(asked, answers[0][0]))


def _picture(asked: NamesModel, reaction: Reaction) -> Picture:
    return Picture("heads", asked.model, reaction.smiles, head=HEAD)


def _answers(asked: NamesModel, models: Models,
             report: Progress) -> tuple[list[tuple[Reaction, np.ndarray]], list[HeadId]]:
    """Each reaction with the atom before the arrow that every head looks at most from each product's atom, int (atom,
    head), and the heads. Raises UserError for a model that does not read one token an atom."""
    opened, answers = models.open(asked, report), []
    for number, reaction in enumerate(shipped()):
        report(number / len(shipped()), f"reaction {number + 1} of {len(shipped())}")
        attention_map = opened.record(Query(asked.model, asked.revision, reaction.smiles), quiet).maps[0]
        answers.append((reaction, choices(attention_map, reaction)))
    ids = list(head_ids(attention_map))
    if HEAD not in ids:
        raise UserError(f"{opened.card.title} has no head {HEAD[0]}·{HEAD[1]}; choose RXNMapper.")
    return answers, ids


def choices(attention_map: AttentionMap, reaction: Reaction) -> np.ndarray:
    """The atom before the arrow that each head looks at most from each product's atom, int (atom, head)."""
    texts = attention_map.keys.texts
    arrow = texts.index(ARROW) if ARROW in texts else len(texts)
    special = attention_map.keys.special
    atoms = [place for place, text in enumerate(texts) if ATOM.fullmatch(text) and not special[place]]
    before, after = ([place for place in atoms if (place < arrow) is side] for side in (True, False))
    if len(after) != len(reaction.origins) or not before:
        raise UserError("This model does not read one token an atom, so its heads cannot be asked for atoms; choose "
                        "RXNMapper.")
    return np.stack([heads.weights(layer, head)[np.ix_(after, before)].argmax(1) for layer in attention_map.layers
                     for head in range(layer.heads)], axis=1)


def score(reaction: Reaction, chosen: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
    """Whether each head is right about each atom, float64 (atom, head). order: whose fate each atom has; its own
    unless given."""
    wanted = range(len(reaction.origins)) if order is None else order
    return np.array([[choice in reaction.origins[fate] for choice in row]
                     for fate, row in zip(wanted, chosen, strict=True)], float)


def luck(answers: list[tuple[Reaction, np.ndarray]]) -> float:
    """The accuracy that the best of all heads stays below 19 times in 20 when the atoms of one element exchange their
    fates within each reaction."""
    rng, best = np.random.default_rng(SEED), []
    tables = [_table(reaction, chosen) for reaction, chosen in answers]
    for _ in range(LUCKY_DRAWS):
        drawn = [table[np.arange(len(table)), _exchanged(reaction, rng)]
                 for (reaction, _), table in zip(answers, tables, strict=True)]
        best.append(np.concatenate(drawn).mean(0).max())
    return float(np.quantile(best, LEVEL))


def _table(reaction: Reaction, chosen: np.ndarray) -> np.ndarray:
    """Whether each head's choice for each atom would be right for each fate, float64 (atom, fate, head)."""
    return np.stack([score(reaction, chosen, np.full(len(chosen), fate)) for fate in range(len(chosen))], axis=1)


def _exchanged(reaction: Reaction, rng: np.random.Generator) -> np.ndarray:
    """An order of the atoms in which those of one element have changed places at random, int (atom)."""
    order, elements = np.arange(len(reaction.elements)), np.array(reaction.elements)
    for element in dict.fromkeys(reaction.elements):
        places = np.flatnonzero(elements == element)
        order[places] = rng.permutation(places)
    return order
