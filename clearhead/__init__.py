"""See what a Transformer's attention heads look at.

    import clearhead
    m = clearhead.open("minilm")             # a name, a folder, a hub id, or a transformers model with tokenizer
    r = m("The animal didn't cross the street because it was too tired.")

    r                                        # a summary; in a notebook the grid of all heads
    r.weights(3, 1)                          # numpy (query, key); r.weights() is (layer, head, query, key)
    r.query(3, 1), r.key(3, 1), r.value(3, 1), r.output(3, 1)
    r.tokens, r.verified, r.verification     # strings; a bool; the measured errors
    r.frame(query="it")                      # pandas: layer, head, query, key, weight
    r.show(3, 1, query="it")                 # interactive in Jupyter, VS Code and Colab
    r.figure([(3, 1), (5, 11)], width="two-column").save("fig.pdf")

    quiet = m(r.text, silence=[(3, 1)])      # output 0; its mean with silence={(3, 1): "mean"}; other edits: temper=,
                                             # hide=, window= and patch=[((3, 1), other_record)]
    quiet.logits                             # numpy (token, vocabulary), if the model has logits
    r.why(3, 1, query="it", key="animal")    # a score, decomposed by what wrote its query and its key
    quiet.cosine(r)                          # of sentence vectors, decomposed by what wrote to the residual stream
    quiet.writes(" Mary", " John")           # the same for a logit or a difference of two; also lens() and paths()
    m.generate(r.text, tokens=40).answer     # what a decoder or an encoder–decoder wrote; the record is over all of it
    m(ids=[101, 2009, 102])                  # token ids as they are; chat=[{"role": "user", "content": "Hi"}]
    m.circuits()                             # what heads do according to their weights alone
    clearhead.compare(r, quiet).frame()      # one row per head: layer, head, divergence
    clearhead.score(m, cases, find=("verb", "subject"))   # score every head on your own rule
    for r in m.each(texts): ...              # many texts, one record at a time
    clearhead.table(m, texts, "weights.parquet", heads=[(3, 1)])   # their weights, streamed to a file
    clearhead.look(my_module, inputs)        # the record of any torch module
    clearhead.load(r.save("r.safetensors"))  # a saved record

Layers and heads count from 0. A token is given by its text, with or without its leading space ("it", or "it#2" for the
second one), or by its position (-1 is the last); "5" is a text, 5 a position. A model with several kinds of attention
has several maps; r.maps lists their names, and map="cross" selects one. Errors are clearhead.Error, with one sentence
that says what is wrong and what to do instead.
"""
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearhead.comparison import Comparison, compare
    from clearhead.model.core.query import NotFinite, NotOnDisk, UnknownModel
    from clearhead.model.core.query import UserError as Error
    from clearhead.model.core.version import VERSION as __version__  # noqa: N811
    from clearhead.models import Model, load, look, open
    from clearhead.record import Figure, Record
    from clearhead.scoring import Score, score
    from clearhead.streaming import table

# In a checkout, model/ and viz/ are beside this folder, and its links are for type checkers; a wheel contains the two
_inside = Path(__file__).parent / "model"
if _inside.is_symlink() or not _inside.is_dir():
    __path__.insert(0, str(Path(__file__).parents[1]))

_QUERY = "clearhead.model.core.query"
_PLACES = {"Comparison": "clearhead.comparison", "Error": _QUERY, "Figure": "clearhead.record",
           "Model": "clearhead.models", "NotFinite": _QUERY, "NotOnDisk": _QUERY, "Record": "clearhead.record",
           "Score": "clearhead.scoring", "UnknownModel": _QUERY, "__version__": "clearhead.model.core.version",
           "compare": "clearhead.comparison", "load": "clearhead.models", "look": "clearhead.models",
           "open": "clearhead.models", "score": "clearhead.scoring", "table": "clearhead.streaming"}
_RENAMED = {"Error": "UserError", "__version__": "VERSION"}

__all__ = ["Comparison", "Error", "Figure", "Model", "NotFinite", "NotOnDisk", "Record", "Score", "UnknownModel",
           "__version__", "compare", "load", "look", "open", "score", "table"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562), because the app needs none of them to start."""
    if name not in _PLACES:
        raise AttributeError(f"module 'clearhead' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_PLACES[name]), _RENAMED.get(name, name))
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
