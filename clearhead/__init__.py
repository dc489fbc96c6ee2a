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

    quiet = m(r.text, silence=[(3, 1)])      # its mean: silence={(3, 1): "mean"}; also temper=, hide=, window= and
                                             # patch=[((3, 1), other_record)]
    quiet.logits                             # numpy (token, vocabulary), if the model has logits
    r.why(3, 1, query="it", key="animal")    # a score, decomposed by what wrote its query and its key
    quiet.cosine(r)                          # for a sentence model, decomposed by what wrote to the stream; for others
    quiet.writes(" Mary", " John")           # a logit, or the difference of two; also lens() and paths()
    m.circuits()                             # what heads do according to their weights alone
    clearhead.compare(r, quiet).frame()      # one row per head: layer, head, divergence
    clearhead.score(m, cases, find=("verb", "subject"))   # score every head on your own rule
    clearhead.look(my_module, inputs)        # the record of any torch module
    clearhead.load(r.save("r.safetensors"))  # a saved record

Layers and heads count from 0. A token is given by its text, with or without its leading space ("it", or "it#2" for the
second one), or by its position (-1 is the last); "5" is a text, 5 a position. A model with several kinds of attention
has several maps; r.maps lists their names, and map="cross" selects one. Errors are clearhead.Error, with one sentence
that says what is wrong and what to do instead.
"""
import sys
from importlib.util import find_spec
from pathlib import Path

for _name in ("model", "viz"):   # found without being run: a stranger's model.py may train a model
    _spec = find_spec(_name)
    if _spec is None:
        continue   # the import below says so
    _found = Path(_spec.submodule_search_locations[0] if _spec.submodule_search_locations else str(_spec.origin))
    if _found.parent != Path(__file__).parent.parent:
        _problem = f"{_found} hides Clearhead's own package {_name!r}; rename it, or start Python in another folder."
        if sys.argv[:1] == ["-m"]:   # `python -m clearhead` is being started: no program yet could report an exception
            print(f"Error: {_problem}", file=sys.stderr)
            sys.exit(2)
        raise ImportError(_problem)

from clearhead.comparison import Comparison, compare  # noqa: E402, after the check above
from clearhead.models import Model, load, look, open  # noqa: E402
from clearhead.record import Figure, Record  # noqa: E402
from clearhead.scoring import Score, score  # noqa: E402
from model.core.query import NotFinite, NotOnDisk, UnknownModel  # noqa: E402
from model.core.query import UserError as Error  # noqa: E402
from model.core.version import VERSION  # noqa: E402

__version__ = VERSION
Error.__name__ = Error.__qualname__ = "Error"   # as a traceback names it
for _error in (Error, NotFinite, NotOnDisk, UnknownModel):
    _error.__module__ = "clearhead"

__all__ = ["Comparison", "Error", "Figure", "Model", "NotFinite", "NotOnDisk", "Record", "Score", "UnknownModel",
           "__version__", "compare", "load", "look", "open", "score"]
