"""Present our models' vocabularies as groups of phrases that can be combined by clicking. Does not need torch."""
import re
import string
from collections.abc import Sequence

from clearhead.model.core.query import frozen
from clearhead.model.scratch import grammar, questions, story_grammar
from clearhead.model.scratch.source import SNAPSHOT, is_scratch


def groups(model_id: str) -> dict[str, tuple[str, ...]]:
    """Return a model's phrases by group, in the order in which sentences use them; empty for a model that reads any
    word or reads pictures.

    Sentences of the resolver and the translator consist of an optional opening, a noun, an optional phrase after it, a
    negated verb, a noun, a reason and an adjective. Frames that share a pool of nouns differ only in the verb.
    """
    name = model_id.split(SNAPSHOT)[0]
    if name == "induction":
        return {"signs": tuple(string.ascii_lowercase + string.ascii_uppercase + string.digits)}
    if not is_scratch(model_id) or name in ("scratch", "marked-digit"):
        return {}
    if name == "stories":
        return story_grammar.phrases()
    if name == "picture-questions":
        return {"questions": tuple(asked.removesuffix("?").removesuffix(" {}") for asked in questions.ASKED.values()),
                "digits": tuple(map(str, range(questions.CLASSES)))}
    nouns = {pool: tuple(f"the {noun}" for noun in members) for pool, members in grammar.POOLS.items()}
    reasons = tuple(connector[0].replace("{is}", verb).removesuffix(" {adjective}") for connector in grammar.CONNECTORS
                    for verb in ("was", "is"))
    return {"openings": tuple(opening[0] for openings in grammar.OPENINGS for opening in openings), **nouns,
            "behind a noun": tuple(insertion[0] for insertion in grammar.INSERTIONS),
            "what did not happen": tuple(verb for frame in grammar.FRAMES for verb in frame.english),
            "reasons": reasons, "adjectives": tuple(grammar.ADJECTIVES)}


@frozen
class Swap:
    """A sentence and the adjectives that can replace its own."""

    text: str                                             # the sentence
    adjective: str                                        # its adjective
    nouns: tuple[str, str]                                # the first and the second noun
    role: int  # 0 if the adjective refers to the first noun, 1 if to the second
    adjectives: tuple[tuple[str, ...], tuple[str, ...]]   # adjectives that fit its verb, by role

    def with_adjective(self, adjective: str) -> str:
        """Return the sentence with another adjective."""
        last = list(re.finditer(rf"\b{self.adjective}\b", self.text))[-1]
        return self.text[:last.start()] + adjective + self.text[last.end():]

    @property
    def twin(self) -> str:
        """The sentence with the first adjective of the other role."""
        return self.with_adjective(self.adjectives[1 - self.role][0])


def swap(text: str) -> Swap | None:
    """Return the possible swaps in a small-world sentence, recognised by its verb, or None for any other text."""
    known = {noun for members in grammar.POOLS.values() for noun in members}
    for frame in grammar.FRAMES:
        verb = next((verb for verb in frame.english if f" {verb} " in text), None)
        if verb is None:
            continue
        before, after = text.split(f" {verb} ", 1)
        nouns = [[word for word in re.findall(r"\w+", part.lower()) if word in known] for part in (before, after)]
        roles = tuple(frame.actor.split()), tuple(frame.place.split())
        adjectives = [(word, role) for word in re.findall(r"\w+", after) for role, words in enumerate(roles)
                      if word in words]
        if all(nouns) and adjectives:
            return Swap(text, adjectives[-1][0], (nouns[0][-1], nouns[1][0]), adjectives[-1][1], roles)
    return None


def join_phrases(model_id: str, chosen: Sequence[str]) -> str:
    """Join phrases into a text: characters without spaces, words as a sentence."""
    if model_id.split(SNAPSHOT)[0] == "induction":
        return "".join(chosen)
    if model_id.split(SNAPSHOT)[0] == "picture-questions":
        return " ".join(chosen) + "?" * bool(chosen)
    if model_id.split(SNAPSHOT)[0] == "stories":
        return grammar.join_words(" ".join(chosen).split())   # a story may stop anywhere: the model continues it
    text = re.sub(r" (?=[,.])", "", " ".join(chosen))
    return re.sub(r"(^|\. )(\w)", lambda match: match[1] + match[2].upper(),
                  text) + "." * bool(text and text[-1] not in ".,")
