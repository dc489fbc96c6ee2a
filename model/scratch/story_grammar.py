"""Generate very short stories about two animals, from a grammar with known next-word probabilities.

"The rabbit near the houses hears the dogs. It is hungry and eats carrots. Then the dogs wait." One animal is singular
and the other plural, so "it" and "they" identify which one is meant. Food, home and behaviour when happy depend on the
animal. Verbs agree with their subject at any distance.

`draw` samples a story from a `random.Random`; `following` returns the exact next-word probabilities. Stories are split
by pairs of animals: a tested pair never occurs in training.
"""
import random
from collections.abc import Generator
from functools import cache

from clearhead.model.core.query import frozen
from clearhead.model.scratch.grammar import bucket


@frozen
class Animal:
    """A noun and the facts about it."""

    one: str                # singular
    many: str               # plural
    food: str               # what it eats
    home: str               # where it sleeps
    action: tuple[str, str]   # behaviour when happy: singular, plural

    def noun(self, plural: bool) -> str:
        """Return the noun, singular or plural."""
        return self.many if plural else self.one


_ANIMALS = """
bear bears honey cave dances dance
bee bees nectar hive buzzes buzz
bird birds worms nest sings sing
cat cats tuna basket purrs purr
cow cows grass barn moos moo
dog dogs bones kennel barks bark
duck ducks bread lake quacks quack
frog frogs flies pond croaks croak
goat goats leaves shed bleats bleat
hen hens corn coop clucks cluck
horse horses hay stable neighs neigh
lion lions meat den roars roar
monkey monkeys bananas tree climbs climb
mouse mice cheese hole squeaks squeak
panda pandas bamboo forest rolls roll
penguin penguins fish snow slides slide
pig pigs apples sty grunts grunt
rabbit rabbits carrots burrow hops hop
squirrel squirrels nuts oak jumps jump
wolf wolves sheep mountains howls howl
"""
ANIMALS = tuple(Animal(one, many, food, home, (does, do))
                for one, many, food, home, does, do in map(str.split, _ANIMALS.strip().splitlines()))
OPENINGS = ((), ("today",), ("every", "day"), ("at", "night"), ("in", "spring"))   # half of the stories have none
ADJECTIVES = ("small", "big", "old", "young", "brown", "white", "clever", "quiet")  # in a quarter of the stories
NEAR = ("near", "behind", "beside")                                                # half of the stories have a place
PLACES = (("house", "houses"), ("river", "rivers"), ("road", "roads"), ("bridge", "bridges"), ("garden", "gardens"),
          ("field", "fields"))
VERBS = (("sees", "see"), ("hears", "hear"), ("follows", "follow"), ("meets", "meet"), ("likes", "like"),
         ("watches", "watch"))
STATES = ("hungry", "tired", "happy")
ENDINGS = (("waits", "wait"), ("runs", "run"), ("smiles", "smile"), ("leaves", "leave"))
END = "[EOS]"


@frozen
class GeneratedStory:
    """All choices that determine one story."""

    opening: tuple[str, ...]        # one of OPENINGS
    adjective: str                  # one of ADJECTIVES, or ""
    first: Animal
    first_is_many: bool             # whether it is plural; the second animal has the other number
    near: tuple[str, str]           # one of NEAR and the place, or two empty strings
    verb: tuple[str, str]           # one of VERBS
    second: Animal
    teller: bool                    # whether "it" or "they" refers to the second animal
    state: str                      # one of STATES
    returns: bool                   # whether the last sentence is about the second animal
    ending: tuple[str, str]         # one of ENDINGS

    @property
    def words(self) -> tuple[str, ...]:
        """The story's words, without the end token."""
        many = self.first_is_many
        subject, place = [*self.adjective.split(), self.first.noun(many)], [self.near[0], "the", self.near[1]]
        words = [*self.opening, "the", *subject, *(place if self.near[0] else []), self.verb[many], "the",
                 self.second.noun(not many), "."]
        animal, plural = (self.second, not many) if self.teller else (self.first, many)
        words += [*("they are" if plural else "it is").split(), self.state, "and", *_consequence(animal, plural,
                                                                                            self.state), "."]
        animal, plural = (self.second, not many) if self.returns else (self.first, many)
        return (*words, "then", "the", animal.noun(plural), self.ending[plural], ".")


def _consequence(animal: Animal, plural: bool, state: str) -> list[str]:
    """Return the words for an animal's behaviour in a state."""
    if state == "hungry":
        return ["eat" if plural else "eats", animal.food]
    if state == "tired":
        return ["sleep" if plural else "sleeps", "in", "the", animal.home]
    return [animal.action[plural]]


@cache
def acquaintances(animal: Animal, split: str = "train") -> tuple[Animal, ...]:
    """Return the animals that this one meets in a split's stories: train, validation or test."""
    return tuple(other for other in ANIMALS if other != animal and bucket(animal.one, other.one) == split)


def draw(rng: random.Random, split: str = "train") -> GeneratedStory:
    """Draw one story."""
    first = rng.choice([animal for animal in ANIMALS if acquaintances(animal, split)])
    opening = rng.choice(OPENINGS[1:]) if rng.random() < 1 / 2 else ()
    adjective = rng.choice(ADJECTIVES) if rng.random() < 1 / 4 else ""
    near = (rng.choice(NEAR), rng.choice(rng.choice(PLACES))) if rng.random() < 1 / 2 else ("", "")
    return GeneratedStory(opening, adjective, first, rng.random() < 1 / 2, near, rng.choice(VERBS),
                          rng.choice(acquaintances(first, split)), rng.random() < 1 / 2, rng.choice(STATES),
                          rng.random() < 1 / 2, rng.choice(ENDINGS))


# The possible next words, derived from the words alone.

Chances = dict[str, float]


def following(words: tuple[str, ...]) -> Chances:
    """Return {next word: probability} after the first words of a story, with END after a complete one; empty if no
    story begins like this. The animals that meet are those of training, but a story goes on after any two."""
    story = _next_words()
    chances = next(story)
    for word in words:
        known = word in chances or (word in _nouns() and not chances.keys().isdisjoint(_nouns()))
        chances = story.send(word) if known else {}
    return chances


def _next_words() -> Generator[Chances, str, None]:
    """Yield the probabilities of a story's next word, and receive the word that was chosen."""
    word = yield {"the": 1 / 2} | _even([each[0] for each in OPENINGS[1:]], 1 / 2)
    if word != "the":
        for each in next(opening[1:] for opening in OPENINGS[1:] if opening[0] == word):
            yield {each: 1.0}
        yield {"the": 1.0}
    word = yield _even(_nouns(), 3 / 4) | _even(ADJECTIVES, 1 / 4)
    first, many = _known((yield _even(_nouns())) if word in ADJECTIVES else word)
    verbs = [verb[many] for verb in VERBS]
    if (yield _even(verbs, 1 / 2) | _even(NEAR, 1 / 2)) in NEAR:
        yield {"the": 1.0}
        yield _even([form for place in PLACES for form in place])
        yield _even(verbs)
    yield {"the": 1.0}
    second, _ = _known((yield _even([each.noun(not many) for each in acquaintances(first)])))
    yield {".": 1.0}
    plural = (yield {"it": 1 / 2, "they": 1 / 2}) == "they"
    yield {"are" if plural else "is": 1.0}
    state = yield _even(STATES)
    for each in ("and", *_consequence(first if plural == many else second, plural, state), ".", "then", "the"):
        yield {each: 1.0}
    _, plural = _known((yield _even([first.noun(many), second.noun(not many)])))
    yield _even([ending[plural] for ending in ENDINGS])
    yield {".": 1.0}
    yield {END: 1.0}
    yield {}


def _even(words: tuple[str, ...] | list[str], share: float = 1.0) -> Chances:
    """Give each word the same probability, `share` in total."""
    return {word: share / len(words) for word in words}


def _nouns() -> list[str]:
    return [noun for animal in ANIMALS for noun in (animal.one, animal.many)]


def _known(noun: str) -> tuple[Animal, bool]:
    """Return a noun's animal, and whether it is plural. Raises KeyError for any other noun."""
    return {animal.noun(plural): (animal, plural) for animal in ANIMALS for plural in (False, True)}[noun]


def phrases() -> dict[str, tuple[str, ...]]:
    """Return a story's phrases by group, in the order in which they occur."""
    return {"openings": tuple(" ".join(opening) for opening in OPENINGS[1:]),
            "animals": tuple(f"the {noun}" for noun in _nouns()),
            "behind a noun": tuple(f"{near} the {form}" for near in NEAR for place in PLACES for form in place),
            "verbs": tuple(form for verb in VERBS for form in verb), "full stop": (".",),
            "states": tuple(f"{who} {state} and" for who in ("it is", "they are") for state in STATES),
            "what follows": tuple(dict.fromkeys(" ".join(_consequence(animal, plural, state)) for animal in ANIMALS
                                                for state in STATES for plural in (False, True))),
            "then": ("then",), "endings": tuple(form for ending in ENDINGS for form in ending)}


def vocabulary() -> tuple[str, ...]:
    """Return every word of the stories once, without END."""
    groups = [form for opening in OPENINGS for form in opening]
    groups += ["the", *ADJECTIVES, *_nouns(), *NEAR, *(form for each in (*PLACES, *VERBS, *ENDINGS) for form in each)]
    groups += ["it", "they", "is", "are", "and", "then", "eats", "eat", "sleeps", "sleep", "in", ".", *STATES]
    groups += [word for each in ANIMALS for word in (each.food, each.home, *each.action)]
    return tuple(dict.fromkeys(groups))
