"""The vocabulary of the resolver's and the translator's small world: English words with French translations, written
for this project.

The words are in assets/lexicon. Those in tables named held_out… never occur in training.
"""
import tomllib

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import frozen

NOUNS, PHRASES = (tomllib.loads((ASSETS / "lexicon" / f"{name}.toml").read_text(encoding="utf-8"))
                  for name in ("nouns", "phrases"))


@frozen
class Noun:
    """A noun in both languages."""

    english: str
    french: str
    feminine: bool


@frozen
class Adjective:
    """An adjective with its two French forms."""

    english: str
    masculine: str
    feminine: str


@frozen
class Frame:
    """A situation in which an adjective decides between two nouns, called actor and place. Verbs are (past,
    present)."""

    name: str                  # name of the situation
    english: tuple[str, str]   # the words between the two nouns
    french: tuple[str, str]    # the same in French
    first: str                 # the pools of the first noun
    second: str                # the pools of the second noun
    actor: str                 # the adjectives that make "it" the first noun
    place: str                 # the adjectives that make "it" the second noun


def _nouns(table: str) -> dict[str, dict[str, Noun]]:
    """Return the pools of a table in assets/lexicon/nouns.toml: {pool: {english: noun}}."""
    return {pool: {english: Noun(english, *_french(noun)) for english, noun in nouns.items()}
            for pool, nouns in NOUNS[table].items()}


def _french(entry: str) -> tuple[str, bool]:
    french, gender = entry.split(":")
    return french, gender == "f"


def _adjectives(table: str) -> dict[str, Adjective]:
    return {english: Adjective(english, *french.split(":")) for english, french in PHRASES[table].items()}


def _frames(table: str) -> tuple[Frame, ...]:
    return tuple(Frame(**frame | {"english": tuple(frame["english"]), "french": tuple(frame["french"])})
                 for frame in PHRASES[table])


def _pairs(name: str) -> tuple[tuple[str, str], ...]:
    """Return phrases in English and French."""
    return tuple((english, french) for english, french in PHRASES["phrases"][name])


POOLS, HELD_OUT_NOUNS = _nouns("pools"), _nouns("held_out")
ADJECTIVES, HELD_OUT_ADJECTIVES = _adjectives("adjectives"), _adjectives("held_out_adjectives")
FRAMES, HELD_OUT_FRAMES = _frames("frames"), _frames("held_out_frames")
# held-out adjectives that make sense after "too", by frame: (for the actor, for the place)
HELD_OUT_ROLES: dict[str, list[str]] = PHRASES["held_out_roles"]
OPENINGS = (_pairs("past_openings"), _pairs("present_openings"))
INSERTIONS, CONNECTORS = _pairs("insertions"), _pairs("connectors")
