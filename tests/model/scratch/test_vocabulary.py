"""What can be clicked together is in the models' vocabulary, and the other way round."""
from model.scratch import grammar, vocabulary
from model.scratch.tasks import induction


def test_phrases_are_the_vocabulary():
    words = {word for group in vocabulary.groups("resolver-narrow").values() for phrase in group
             for word in phrase.split()}
    assert words | {"."} == set(grammar.vocabulary()[0])
    assert vocabulary.groups("translator@0") == vocabulary.groups("resolver-wide")
    assert vocabulary.groups("induction") == {"signs": tuple(induction.SIGNS)} and vocabulary.groups("scratch") == {}
