"""What can be clicked together is in the models' vocabulary, and the other way round."""
from model.scratch import grammar, lexicon, phrases
from model.scratch.tasks import induction


def test_phrases_are_the_vocabulary():
    words = {word for group in phrases.groups("resolver-narrow").values() for phrase in group for word in phrase.split()}
    assert words | {"."} == set(grammar.vocabulary()[0])
    assert phrases.groups("translator@0") == phrases.groups("resolver-wide")
    assert phrases.groups("induction") == {"signs": tuple(induction.SIGNS)} and phrases.groups("scratch") == {}


def test_every_verb_knows_what_fits():
    for frame in lexicon.FRAMES:
        for verb in frame.english:
            fitting = phrases.fitting(verb)
            assert set(fitting["it is the first"]) <= set(lexicon.ADJECTIVES) and len(fitting["first noun"]) >= 8
    assert "street" in phrases.fitting("didn't cross")["second noun"] and phrases.fitting("sang") == {}
