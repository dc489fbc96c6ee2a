"""What only the models trained here have: films of their training and a small vocabulary."""
from collections.abc import Iterable

from model.scratch.vocabulary import Swap
from model.training import film as training_film
from model.training.film import Film

# sets of assets/cases/explain.csv by the way in which a model answers; the translator reads the resolvers' sentences
OWN_SETS = {"label": "resolver", "next": "induction", "target": "resolver"}


def films() -> dict[str, str]:
    """The models whose training was filmed, {id: title}."""
    from model.scratch import catalogue

    return {name: title for name, title in catalogue.NAMES.items()
            if catalogue.film_path(catalogue.weights_file(name)[0]).exists()}


def film(model: str) -> Film:
    """The film of a model's training as far as it goes. Raises UserError if there is none."""
    from model.scratch import catalogue

    return training_film.read_film(catalogue.film_path(catalogue.weights_file(model)[0]))


def scores(model: str) -> dict[str, float]:
    """What a small model reached in what it was not trained on, as its training measured it."""
    from model.scratch import catalogue, weights

    found: dict[str, float] = weights.read_metadata(catalogue.weights_file(model)[0])["scores"]
    return found


def vocabulary(model: str) -> dict[str, tuple[str, ...]]:
    """{group: phrases of a small model's vocabulary}; empty for a model that reads any word."""
    from model.scratch import catalogue
    from model.scratch import vocabulary as scratch_vocabulary

    return scratch_vocabulary.groups(model) if catalogue.is_scratch(model) else {}


def join_phrases(model: str, chosen: Iterable[str]) -> str:
    """A text of these phrases of the model's vocabulary."""
    from model.scratch import vocabulary as scratch_vocabulary

    return scratch_vocabulary.join_phrases(model, list(chosen))


def swap(text: str) -> Swap | None:
    """What the adjective of a sentence of the small world may be exchanged for; None for any other text."""
    from model.scratch import vocabulary as scratch_vocabulary

    return scratch_vocabulary.swap(text)


def text_set(model: str, kind: str, chosen: str) -> str:
    """The set of texts over which importance is measured: the chosen one for a model that reads any text, else that of
    a small model's own words.

    kind: how the model answers (`model.studies.attribution.Answer.kind`).
    """
    from model.scratch import catalogue

    if model.split(catalogue.SNAPSHOT)[0] == "stories":
        return "stories"
    return OWN_SETS[kind] if catalogue.is_scratch(model) else chosen
