"""Generate sentences like Winograd schemas, in which one adjective decides which noun "it" refers to, with French
translations, in which the pronoun takes that noun's gender.

All randomness comes from a `random.Random`, so a seed determines the sentences. Sentences are split by pairs of nouns:
a tested pair never occurs in training, in any frame or order.
"""
import hashlib
import itertools
import random
import tomllib
from collections.abc import Iterator

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import frozen

# words with French translations, written for this project; tables named held_out… never occur in training
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


def _noun_pools(table: str) -> dict[str, dict[str, Noun]]:
    """Return the pools of a table in assets/lexicon/nouns.toml: {pool: {english: noun}}."""
    return {pool: {english: Noun(english, *_french(noun)) for english, noun in nouns.items()}
            for pool, nouns in NOUNS[table].items()}


def _french(entry: str) -> tuple[str, bool]:
    french, gender = entry.split(":")
    return french, gender == "f"


def _adjective_table(table: str) -> dict[str, Adjective]:
    return {english: Adjective(english, *french.split(":")) for english, french in PHRASES[table].items()}


def _frames(table: str) -> tuple[Frame, ...]:
    return tuple(Frame(**frame | {"english": tuple(frame["english"]), "french": tuple(frame["french"])})
                 for frame in PHRASES[table])


def _pairs(name: str) -> tuple[tuple[str, str], ...]:
    """Return phrases in English and French."""
    return tuple((english, french) for english, french in PHRASES["phrases"][name])


POOLS, HELD_OUT_NOUNS = _noun_pools("pools"), _noun_pools("held_out")
ADJECTIVES, HELD_OUT_ADJECTIVES = _adjective_table("adjectives"), _adjective_table("held_out_adjectives")
FRAMES, HELD_OUT_FRAMES = _frames("frames"), _frames("held_out_frames")
# held-out adjectives that make sense after "too", by frame: (for the actor, for the place)
HELD_OUT_ROLES: dict[str, list[str]] = PHRASES["held_out_roles"]
OPENINGS = (_pairs("past_openings"), _pairs("present_openings"))
INSERTIONS, CONNECTORS = _pairs("insertions"), _pairs("connectors")

# the last three are test sets with held-out nouns, adjectives and frames
SPLITS = ("train", "validation", "test", "nouns", "adjectives", "frames")
VOWELS = "aeiouyhéèêâîôàù"


@frozen
class WinogradSentence:
    """A sentence and its ground truth. Positions count words from 0."""

    frame: str                 # name of the frame
    english: tuple[str, ...]   # the words
    french: tuple[str, ...]    # the words in French
    nouns: tuple[Noun, Noun]   # the two candidates for "it"
    places: tuple[int, int]    # positions of the nouns in english
    pronoun: int               # position of "it" in english
    adjective: int             # position in english
    french_pronoun: int        # position of il or elle in french
    answer: int                # the noun that "it" refers to: 0 for the first, 1 for the second


def bucket(first: str, second: str) -> str:
    """Return the split of an unordered pair of nouns: 8 in 10 train, 1 validation, 1 test."""
    return split_of(" ".join(sorted((first, second))))


def split_of(name: str) -> str:
    """Return the split of a name by its hash: 8 in 10 train, 1 validation, 1 test."""
    digest = hashlib.blake2b(name.encode(), digest_size=4).digest()
    return {0: "validation", 1: "test"}.get(int.from_bytes(digest) % 10, "train")


def pool(names: str, table: dict[str, dict[str, Noun]]) -> list[Noun]:
    """Return the nouns of some pools in a table; `names` lists the pools, separated by spaces."""
    return [noun for name in names.split() for noun in table[name].values()]


def twins(rng: random.Random, split: str = "train") -> tuple[WinogradSentence, WinogradSentence]:
    """Draw a pair of sentences that differ only in the adjective: in one, "it" refers to the first noun, in the other
    to the second."""
    frame = rng.choice(HELD_OUT_FRAMES if split == "frames" else FRAMES)
    nouns = _nouns(rng, frame, split)
    actor, place = _adjectives(rng, frame, split)
    tense = rng.randrange(2)
    opening = rng.choice(OPENINGS[tense]) if rng.random() < 0.6 else ("", "")
    insertions = tuple(rng.choice(INSERTIONS) if rng.random() < 0.3 else ("", "") for _ in nouns)
    plan = Draft(frame, nouns, tense, opening, insertions, rng.choice(CONNECTORS))
    return plan.sentence(actor, 0), plan.sentence(place, 1)


def sentences(rng: random.Random, split: str = "train") -> Iterator[WinogradSentence]:
    """Yield sentences indefinitely, either twin of a pair with equal probability."""
    while True:
        yield rng.choice(twins(rng, split))


def test_sentences(task: str, split: str, size: int) -> list[WinogradSentence]:
    """Return `size` / 2 pairs of twins to test a task with; always the same ones."""
    rng = random.Random(f"{task} {split}")
    return [sentence for _ in range(size // 2) for sentence in twins(rng, split)]


def _nouns(rng: random.Random, frame: Frame, split: str) -> tuple[Noun, Noun]:
    held_out = rng.randrange(2) if split == "nouns" else None
    tables = [HELD_OUT_NOUNS if side == held_out else POOLS for side in range(2)]
    pools = pool(frame.first, tables[0]), pool(frame.second, tables[1])
    wanted = {"train": "train", "validation": "validation"}.get(split, "test")
    while True:
        first, second = (rng.choice(each) for each in pools)
        if first != second and (split == "nouns" or bucket(first.english, second.english) == wanted):
            return first, second


def _adjectives(rng: random.Random, frame: Frame, split: str) -> list[Adjective]:
    if split == "adjectives":
        return [HELD_OUT_ADJECTIVES[rng.choice(role.split())] for role in HELD_OUT_ROLES[frame.name]]
    return [ADJECTIVES[rng.choice(each.split())] for each in (frame.actor, frame.place)]


@frozen
class Draft:
    """A sentence without its adjective. Phrases are (English, French)."""

    frame: Frame                              # the verbs, pools and adjectives
    nouns: tuple[Noun, Noun]                  # the two candidates
    tense: int                                # 0 for the past, 1 for the present
    opening: tuple[str, str]                  # a phrase, or two empty strings
    insertions: tuple[tuple[str, str], ...]   # a phrase after each noun, or empty strings
    connector: tuple[str, str]                # words that introduce the reason

    def sentence(self, adjective: Adjective, answer: int) -> WinogradSentence:
        """Return the sentence with this adjective, in which "it" refers to the noun with index `answer`."""
        feminine = self.nouns[answer].feminine
        english = self._parts(0, self.frame.english, [f"the {noun.english}" for noun in self.nouns])
        french = self._parts(1, self.frame.french, [f"{_article(noun)} {noun.french}" for noun in self.nouns])
        english_reason, french_reason = (each.split() for each in self.connector)
        english_words = {"is": ("was", "is")[self.tense], "adjective": adjective.english}
        french_words = {"it": "elle" if feminine else "il", "is": ("était", "est")[self.tense],
                        "adjective": adjective.feminine if feminine else adjective.masculine}
        return WinogradSentence(
            frame=self.frame.name, nouns=self.nouns, answer=answer,
            english=(*itertools.chain(*english), *(each.format(**english_words) for each in english_reason), "."),
            french=(*itertools.chain(*french), *(each.format(**french_words) for each in french_reason), "."),
            places=(sum(map(len, english[:1])) + 1, sum(map(len, english[:4])) + 1),
            pronoun=sum(map(len, english)) + english_reason.index("it"),
            adjective=sum(map(len, english)) + english_reason.index("{adjective}"),
            french_pronoun=sum(map(len, french)) + french_reason.index("{it}"))

    def _parts(self, language: int, verbs: tuple[str, str], nouns: list[str]) -> list[list[str]]:
        """Return lists of words: the opening, first noun, its insertion, verb, second noun and its insertion."""
        (first, second), (after_first, after_second) = nouns, (insertion[language] for insertion in self.insertions)
        return [each.split()
                for each in (self.opening[language], first, after_first, verbs[self.tense], second, after_second)]


def _article(noun: Noun) -> str:
    if noun.french[0] in VOWELS:
        return "l'"
    return "la" if noun.feminine else "le"


def vocabulary() -> tuple[list[str], list[str]]:
    """Return all words that occur in training, English and French, each once, in the lexicon's order."""
    nouns = pool(" ".join(POOLS), POOLS)
    adjectives = ADJECTIVES.values()
    verbs = [pair for frame in FRAMES for pair in zip(frame.english, frame.french, strict=True)]
    phrases = [*itertools.chain(*OPENINGS), *INSERTIONS, *CONNECTORS, *verbs]
    grammar = [("the it was is .", "le la l' il elle était est .")]
    english, french = (list(" ".join(each[side] for each in [*grammar, *phrases]).split()) for side in range(2))
    english += [noun.english for noun in nouns] + [adjective.english for adjective in adjectives]
    french += [noun.french for noun in nouns] + [form for adjective in adjectives
                                                 for form in (adjective.masculine, adjective.feminine)]
    keep = lambda words: [word for word in dict.fromkeys(words) if "{" not in word]
    return keep(english), keep(french)


def join_words(words: tuple[str, ...] | list[str]) -> str:
    """Join words into normal text: no space after an elision or before a comma or full stop, and a capital at the start
    of each sentence."""
    text = ""
    for word in words:
        begins = not text or text.endswith(".")
        tight = not text or text.endswith("'") or word in (".", ",")
        text += ("" if tight else " ") + (word[:1].upper() + word[1:] if begins else word)
    return text
