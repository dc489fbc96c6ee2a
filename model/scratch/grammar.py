"""Sentences in the manner of Winograd schemas: one adjective decides what "it" is. And their French, where "it" takes the noun's gender.

Everything is drawn from a `random.Random`, so that a seed says which sentences there are. Split by pairs of nouns: a pair that is tested
is never trained on, in no frame and in neither order.
"""
import hashlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

from model.scratch import lexicon
from model.scratch.lexicon import Adjective, Frame, Noun

SPLITS = ("train", "validation", "test", "nouns", "adjectives", "frames")  # the last three: test with held-out nouns, adjectives, frames
VOWELS = "aeiouyhéèêâîôàù"


@dataclass(frozen=True)
class Sentence:
    """One sentence and its truth. Positions count the words of `english` and of `french`; `answer` is 0 for the first noun, 1 for the second."""

    frame: str
    english: tuple[str, ...]
    french: tuple[str, ...]
    nouns: tuple[Noun, Noun]
    places: tuple[int, int]   # of the nouns, in english
    pronoun: int              # of "it", in english
    adjective: int            # in english
    french_pronoun: int       # of il or elle, in french
    answer: int

    @property
    def antecedent(self) -> Noun:
        return self.nouns[self.answer]


def bucket(first: str, second: str) -> str:
    """The split that a pair of nouns belongs to, whatever their order: 8 in 10 train, 1 validation, 1 test."""
    digest = hashlib.blake2b(" ".join(sorted((first, second))).encode(), digest_size=4).digest()
    return {0: "validation", 1: "test"}.get(int.from_bytes(digest) % 10, "train")


def pool(names: str, table: dict[str, dict[str, Noun]]) -> list[Noun]:
    return [noun for name in names.split() for noun in table[name].values()]


def twins(rng: random.Random, split: str = "train") -> tuple[Sentence, Sentence]:
    """The same sentence twice, with an adjective that makes "it" the first noun and with one that makes it the second."""
    frame = rng.choice(lexicon.HELD_OUT_FRAMES if split == "frames" else lexicon.FRAMES)
    nouns = _nouns(rng, frame, split)
    adjectives = _adjectives(rng, frame, split)
    tense = rng.randrange(2)
    opening = rng.choice(lexicon.OPENINGS[tense]) if rng.random() < 0.6 else ("", "")
    insertions = [rng.choice(lexicon.INSERTIONS) if rng.random() < 0.3 else ("", "") for _ in nouns]
    connector = rng.choice(lexicon.CONNECTORS)
    first, second = (_say(frame, nouns, adjective, answer, opening, insertions, connector, tense) for answer, adjective in enumerate(adjectives))
    return first, second


def sentences(rng: random.Random, split: str = "train") -> Iterator[Sentence]:
    """Sentences without end, each of two twins as often as the other."""
    while True:
        yield rng.choice(twins(rng, split))


def _nouns(rng: random.Random, frame: Frame, split: str) -> tuple[Noun, Noun]:
    held_out = rng.randrange(2) if split == "nouns" else None
    tables = [lexicon.HELD_OUT_NOUNS if side == held_out else lexicon.POOLS for side in range(2)]
    pools = pool(frame.first, tables[0]), pool(frame.second, tables[1])
    wanted = {"train": "train", "validation": "validation"}.get(split, "test")
    while True:
        first, second = (rng.choice(each) for each in pools)
        if first != second and (split == "nouns" or bucket(first.english, second.english) == wanted):
            return first, second


def _adjectives(rng: random.Random, frame: Frame, split: str) -> tuple[Adjective, Adjective]:
    if split == "adjectives":
        actor, place = lexicon.HELD_OUT_ROLES[frame.name]
        return lexicon.HELD_OUT_ADJECTIVES[rng.choice(actor.split())], lexicon.HELD_OUT_ADJECTIVES[rng.choice(place.split())]
    return lexicon.ADJECTIVES[rng.choice(frame.actor.split())], lexicon.ADJECTIVES[rng.choice(frame.place.split())]


def _say(frame, nouns, adjective, answer, opening, insertions, connector, tense) -> Sentence:
    feminine = nouns[answer].feminine
    english = [opening[0].split()]
    french = [opening[1].split()]
    for noun, insertion, verb in zip(nouns, insertions, (tense, None), strict=True):
        english += [["the", noun.english], insertion[0].split(), frame.english[verb].split() if verb is not None else []]
        french += [[_article(noun), noun.french], insertion[1].split(), frame.french[verb].split() if verb is not None else []]
    english.append(connector[0].format(**{"is": ("was", "is")[tense]}).split())
    french.append(connector[1].format(it="elle" if feminine else "il", **{"is": ("était", "est")[tense]}).split())
    english_words, french_words = (tuple(itertools.chain(*parts)) for parts in (english, french))
    begins = list(itertools.accumulate(map(len, english), initial=0))
    return Sentence(
        frame=frame.name, english=(*english_words, adjective.english, "."),
        french=(*french_words, adjective.feminine if feminine else adjective.masculine, "."),
        nouns=nouns, places=(begins[1] + 1, begins[4] + 1), pronoun=begins[-2] + connector[0].split().index("it"),
        adjective=len(english_words), french_pronoun=len(french_words) - len(french[-1]) + connector[1].split().index("{it}"), answer=answer)


def _article(noun: Noun) -> str:
    if noun.french[0] in VOWELS:
        return "l'"
    return "la" if noun.feminine else "le"


def vocabulary() -> tuple[list[str], list[str]]:
    """The words of all sentences that can be trained on: English and French, each once, in the order of the lexicon."""
    nouns = pool(" ".join(lexicon.POOLS), lexicon.POOLS)
    adjectives = lexicon.ADJECTIVES.values()
    verbs = [pair for frame in lexicon.FRAMES for pair in zip(frame.english, frame.french, strict=True)]
    phrases = [*itertools.chain(*lexicon.OPENINGS), *lexicon.INSERTIONS, *lexicon.CONNECTORS, *verbs]
    grammar = [("the it was is .", "le la l' il elle était est .")]
    english, french = (list(" ".join(each[side] for each in [*grammar, *phrases]).split()) for side in range(2))
    english += [each.english for each in (*nouns, *adjectives)]
    french += [each.french for each in nouns] + [form for each in adjectives for form in (each.masculine, each.feminine)]
    keep = lambda words: [word for word in dict.fromkeys(words) if "{" not in word]
    return keep(english), keep(french)


def joined(words: tuple[str, ...] | list[str]) -> str:
    """Words as a person would write them: no space after an elision or before a comma or full stop, a capital at each beginning."""
    text = ""
    for word in words:
        begins = not text or text.endswith(".")
        tight = not text or text.endswith("'") or word in (".", ",")
        text += ("" if tight else " ") + (word[:1].upper() + word[1:] if begins else word)
    return text
