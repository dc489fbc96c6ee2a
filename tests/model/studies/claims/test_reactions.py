"""Reactions with their atoms' fate: each is balanced by its numbers, and a head that knows the fate is told from one
that does not."""
import re

import numpy as np
import pytest

from model.core.query import UserError
from model.core.types import quiet
from model.studies.claims import reactions
from model.studies.claims.verdicts import Reason, judge
from tests.fabricate import SENTENCE
from tests.model.studies.claims.planted import ASKED, FakeModels, planted

TOKEN = re.compile(r"\[[^\]]+\]|Br|Cl|>>|[^>]")
BY_SMILES = {reaction.smiles: reaction for reaction in reactions.shipped()}


@pytest.mark.parametrize("reaction", reactions.shipped(), ids=lambda reaction: reaction.name)
def test_each_atom_keeps_its_element_and_no_atom_is_used_twice(reaction):
    before = reactions.ATOM.findall(reaction.smiles.split(">>")[0])
    for origin, element in zip(reaction.origins, reaction.elements, strict=True):
        letters = {re.sub(r"[\[\]+\-H\d]", "", before[place]).upper() for place in origin}
        assert letters == {re.sub(r"[\[\]+\-H\d]", "", element).upper()}
    for origin in reaction.origins:   # as many atoms share a set of fates as it has places, at most
        assert sum(other == origin for other in reaction.origins) <= len(origin)
    assert "{" not in reaction.smiles


def test_there_are_at_least_twenty():
    assert len(reactions.shipped()) >= 20 and len(BY_SMILES) == len(reactions.shipped())


def test_a_reaction_with_an_atom_without_a_number_is_refused():
    with pytest.raises(ValueError, match="a number behind each atom"):
        reactions.parse("x", "C{1}O>>C{1}O{1}")
    with pytest.raises(KeyError):
        reactions.parse("x", "C{1}>>C{2}")


def mapper(right: bool):
    """Twelve layers of eight heads that all look at the last atom before the arrow; with `right` head 10·5 looks at
    where each atom was."""
    def answer(query):
        reaction, texts = BY_SMILES[query.text], ["[CLS]", *TOKEN.findall(query.text), "[SEP]"]
        atoms = [place for place, text in enumerate(texts[:-1]) if place and reactions.ATOM.fullmatch(text)]
        arrow = texts.index(">>")
        before, after = [at for at in atoms if at < arrow], [at for at in atoms if at > arrow]
        plain = np.zeros((len(texts), len(texts)), np.float32)
        plain[:, before[-1]] = 1
        knowing = plain.copy()
        for at, origin in zip(after, reaction.origins, strict=True):
            knowing[at] = 0
            knowing[at, before[min(origin)]] = 0.4
            knowing[at, 0] = 0.6   # more than on any atom: what is no atom does not count
        return planted([[knowing if right and (layer, head) == reactions.HEAD else plain for head in range(8)]
                        for layer in range(12)], texts=texts)

    return FakeModels(answer)


def test_a_head_that_knows_the_fate_holds_and_one_that_does_not_fails():
    found = reactions.mapped_atoms(ASKED, mapper(True), quiet).findings
    assert found[0].effect == 1 and judge(found).reason is Reason.ABOVE and found[0].luck < 0.8
    assert judge(reactions.only_head(ASKED, mapper(True), quiet).findings).reason is Reason.ABOVE
    blind = reactions.mapped_atoms(ASKED, mapper(False), quiet).findings
    assert judge(blind).reason is Reason.BELOW
    assert judge(reactions.only_head(ASKED, mapper(False), quiet).findings).reason is Reason.UNCLEAR


def test_a_model_that_does_not_read_atoms_is_refused():
    even = np.full((len(SENTENCE), len(SENTENCE)), 1 / len(SENTENCE), np.float32)
    with pytest.raises(UserError, match="RXNMapper"):
        reactions.mapped_atoms(ASKED, FakeModels(lambda query: planted([[even]], texts=SENTENCE)), quiet)
