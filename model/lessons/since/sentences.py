"""The three small languages that the decoder with experts reads: English and French sentences, and sums in words."""
import random

DIGITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NOUNS = ("man", "woman", "king", "child", "tree")
PLACES = ("house", "garden")
KINDS = {"English": ("the", "old", "cat", "dog", *NOUNS, "sleeps", "sings", "barks", "in", *PLACES),
         "French": ("le", "vieux", "chat", "chien", "homme", "dort", "chante", "aboie", "dans", "la", "maison"),
         "sums": (*DIGITS, "plus", "is")}
WORDS = ("<start>", ".", *(word for words in KINDS.values() for word in words))
LONGEST = 11      # words of a sentence, with the start and the full stop


def _english(rng: random.Random) -> list[str]:
    subject = rng.choices(("old", "cat", "dog"), (0.4, 0.33, 0.27))[0]
    if subject == "cat":
        verb = rng.choices(("sleeps", "sings"), (0.9, 0.1))[0]
    elif subject == "dog":
        verb = rng.choices(("barks", "sleeps"), (0.6, 0.4))[0]
    else:
        subject, verb = f"old {rng.choice(NOUNS)}", rng.choice(("sleeps", "sings"))
    place = [] if rng.random() < 0.6 else ["in", "the", rng.choice(PLACES)]
    return ["the", *subject.split(), verb, *place]


def _french(rng: random.Random) -> list[str]:
    subject = rng.choices(("vieux homme", "chat", "chien"), (0.3, 0.4, 0.3))[0]
    verb = {"chat": "dort", "chien": "aboie"}.get(subject) if rng.random() < 0.8 else rng.choice(("dort", "chante"))
    place = [] if rng.random() < 0.6 else ["dans", "la", "maison"]
    return ["le", *subject.split(), verb or rng.choice(("dort", "chante")), *place]


def _sum(rng: random.Random) -> list[str]:
    first = rng.randint(1, 8)
    second = rng.randint(1, 9 - first)
    return [DIGITS[first - 1], "plus", DIGITS[second - 1], "is", DIGITS[first + second - 1]]


def sentence(rng: random.Random) -> list[str]:
    """One sentence, with the start and the full stop."""
    return ["<start>", *rng.choices((_english, _french, _sum), (0.4, 0.3, 0.3))[0](rng), "."]


def encode(words: list[str]) -> list[int]:
    """Their numbers; a word that there is not raises ValueError."""
    return [WORDS.index(word) for word in words]


def batch(seed: str, size: int) -> tuple[list[list[int]], list[list[bool]]]:
    """(ids (size, LONGEST), whether a word stands there), padded with full stops."""
    rng = random.Random(seed)
    rows = [encode(sentence(rng)) for _ in range(size)]
    return ([row + [1] * (LONGEST - len(row)) for row in rows],
            [[True] * len(row) + [False] * (LONGEST - len(row)) for row in rows])
