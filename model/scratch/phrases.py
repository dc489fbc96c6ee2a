"""The vocabulary of our models as a person would browse it: groups of phrases that can be clicked together. Light: no torch here."""
import string

from model.scratch import lexicon
from model.scratch.catalogue import SNAPSHOT


def groups(model_id: str) -> dict[str, tuple[str, ...]]:
    """Phrases of one model by group, in the order in which a sentence needs them; nothing for a model that reads any word.

    A sentence of the resolver and the translator is an opening or none, a noun, a phrase behind it or none, what did not happen, a noun,
    a reason, an adjective. Frames that share a pool of nouns can be told apart by the verb alone.
    """
    name = model_id.split(SNAPSHOT)[0]
    if name == "induction":
        return {"signs": tuple(string.ascii_lowercase + string.ascii_uppercase + string.digits)}
    if name == "scratch":
        return {}
    nouns = {pool: tuple(f"the {noun}" for noun in members) for pool, members in lexicon.POOLS.items()}
    reasons = tuple(connector[0].replace("{is}", verb).removesuffix(" {adjective}") for connector in lexicon.CONNECTORS for verb in ("was", "is"))
    return {"openings": tuple(opening[0] for openings in lexicon.OPENINGS for opening in openings), **nouns,
            "behind a noun": tuple(insertion[0] for insertion in lexicon.INSERTIONS),
            "what did not happen": tuple(verb for frame in lexicon.FRAMES for verb in frame.english),
            "reasons": reasons, "adjectives": tuple(lexicon.ADJECTIVES)}


def fitting(verb: str) -> dict[str, tuple[str, ...]]:
    """What goes with a verb: its first nouns, its second nouns, the adjectives that make "it" the one and the other. Nothing for any other verb."""
    for frame in lexicon.FRAMES:
        if verb in frame.english:
            first, second = (tuple(noun for pool in names.split() for noun in lexicon.POOLS[pool]) for names in (frame.first, frame.second))
            return {"first noun": first, "second noun": second,
                    "it is the first": tuple(frame.actor.split()), "it is the second": tuple(frame.place.split())}
    return {}
