"""Our own models, with the same interface as pretrained ones: names and `locate`.

torch is imported only for computation, so that names and revisions are cheap for the first page.
"""
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.model.core.files import ASSETS
from clearhead.model.core.memory import count_parameters
from clearhead.model.core.models import Located
from clearhead.model.core.query import Progress, UserError, frozen, quiet, quoted
from clearhead.model.core.record import Card
from clearhead.model.core.torch_runs import seeded

WEIGHTS = ASSETS / "weights"

OFFERS = {   # name: (title, description)
    "resolver-narrow": ("Resolver, narrow", 'What is "it"? An encoder with one head per layer, trained here: see the '
                                            'head that finds the noun.'),
    "resolver-wide": ("Resolver, wide", "The same task with four heads per layer, which share the work: no single "
                                        "head is the answer."),
    "translator": ("Translator, English to French",
                   'The same sentences in French, where "it" becomes il or elle: which part decides?'),
    "induction": ("Induction, random characters", "A decoder of two layers that learned one trick: what came after "
                                                  "this character last time?"),
    "stories": ("Stories, word by word", "A decoder of four blocks that learned very short stories of two animals: "
                                         "which of them is \"it\", and what does it eat?"),
    "marked-digit": ("Marked digit", "A Vision Transformer of two blocks that reads pictures: which digit has the dot "
                                     "below it? One head tells the digits where the dot is, one fetches the marked "
                                     "digit."),
    "picture-questions": ("Picture questions", "A small vision–language model: a Vision Transformer and a decoder that "
                                               "answers questions about digits. Which digit is left of the 7?"),
    "scratch": ("From scratch, untrained",
                "The Transformer of the paper before it has seen a single text: what attention looks like when it "
                "means nothing yet."),
}
TRANSLATOR = "translator"   # has a target side
OF_PICTURES = ("marked-digit", "picture-questions")
DECODERS = ("induction", "stories")
NAMES = {name: title for name, (title, _) in OFFERS.items()}
# trainings started from a page (model/training/processes.py): name and future weights file
RUNS: dict[str, Path] = {}
SNAPSHOT = "@"  # induction@400 is the model after 400 training steps; @0 is its untrained twin


def is_scratch(model_id: str) -> bool:
    """Return whether the id belongs to one of our models or to a snapshot."""
    return model_id.split(SNAPSHOT)[0] in {*NAMES, *RUNS}


def title(model_id: str) -> str:
    """Return the model's name on the pages."""
    name, _, step = model_id.partition(SNAPSHOT)
    return NAMES.get(name, "Trained on this page") + (f", step {step}" if step else "")


def film_path(path: Path) -> Path:
    """Return the snapshot file that belongs to a weights file."""
    return path.with_name(f"{path.stem}-film.safetensors")


def weights_file(model_id: str, folder: Path = WEIGHTS) -> tuple[Path, int | None]:
    """Return a trained model's weights file and None, or the snapshot file and the step if the id names a snapshot.
    Raises UserError if the step is not a number."""
    name, _, step = model_id.partition(SNAPSHOT)
    path = RUNS.get(name, folder / f"{name}.safetensors")
    if step and not re.fullmatch(r"\d{1,9}", step):
        raise UserError(f"{quoted(model_id)} is not a snapshot; write a number of steps after {SNAPSHOT}, such as "
                        f"{name}{SNAPSHOT}0.")
    return (film_path(path), int(step)) if step else (path, None)


if TYPE_CHECKING:
    from clearhead.model.scratch.models import ScratchModel
    from clearhead.model.scratch.transformer import Transformer

VOCABULARY, LONGEST, SEED = 8_192, 512, 2017
FIRST_WORD = 4       # smaller ids are special tokens
LONGEST_TRAINED = 64
# all other models read one text
SIDES = {"scratch": frozenset(("text_b", "target")), "translator": frozenset(("target",)),
         "marked": frozenset(("image",)), "picture": frozenset(("image", "text", "prompt"))}
UNTRAINED = ("It is untrained: its weights are random, drawn with a fixed seed, so no head means anything yet. "
             "A word's number is a hash, so two words may share one.")


@frozen
class OurFiles(Located):
    """One of our own models, and the folder with its weights."""

    folder: Path = WEIGHTS

    def open(self, report: Progress = quiet) -> "ScratchModel":
        """Return the model or snapshot, ready to answer."""
        report(0.0, f"opening {title(self.id)}")
        return _untrained(self.revision) if self.id == "scratch" else _trained(self.id, self.revision, self.folder)


def locate(model_id: str, folder: Path = WEIGHTS) -> OurFiles:
    """Return the model with this name, or its snapshot NAME@STEP. Raises UserError for an unknown model or missing
    weights.

    `folder` holds the weights: Clearhead's own, or those in a training's output folder.
    """
    if not is_scratch(model_id):
        raise UserError(f"Clearhead has no model of its own named {model_id!r}; choose one of {', '.join(NAMES)}.")
    return OurFiles(model_id, _revision(model_id, folder), SIDES.get(_kind(model_id), frozenset()), folder)


@cache
def network_of(name: str) -> "Transformer":
    """Return the network of a trained model, in evaluation mode."""
    from clearhead.model.scratch import models

    return models.load(*weights_file(name))[0]


def _revision(model_id: str, folder: Path) -> str:
    """Return the fingerprint of weights, configuration and tokenizer, 12 hexadecimal digits."""
    name = model_id.split(SNAPSHOT)[0]
    if model_id == "scratch":
        made_of = f"{model_id} {VOCABULARY} {LONGEST} {SEED} torch {_torch_version()}"
        return hashlib.sha256(made_of.encode()).hexdigest()[:12]
    if name in RUNS:
        return name.rsplit("-", 1)[1]   # the file grows, but its snapshots never change
    path, _ = weights_file(model_id, folder)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError:
        raise UserError(f"The weights {path.name} are missing; create them with: python -m clearhead train "
                        f"{name}.") from None


def _kind(model_id: str) -> str:
    """Return the first word of the model's name, without size, snapshot or training number."""
    return model_id.split("-")[0].split(SNAPSHOT)[0]


@cache
def _torch_version() -> str:
    """Return torch's installed version, cached because every question needs the revision."""
    import importlib.metadata

    return importlib.metadata.version("torch")


def _untrained(fingerprint: str) -> "ScratchModel":
    from clearhead.model.scratch import models, tokens
    from clearhead.model.scratch.transformer import Config, Transformer

    with seeded(SEED):
        transformer = Transformer(Config(vocabulary=VOCABULARY)).eval()
    more = {"tokenizer": "words and signs, numbered by a hash", "max_tokens": LONGEST, "note": UNTRAINED}
    return models.open_network(models.ScratchModel, card("scratch", fingerprint, transformer, more), transformer,
                               tokens.HashTokenizer(VOCABULARY, FIRST_WORD))


def _trained(model_id: str, fingerprint: str, folder: Path) -> "ScratchModel":
    import numpy as np

    from clearhead.model.scratch import models, tokens

    transformer, about = models.load(*weights_file(model_id, folder))
    kind = _kind(model_id)
    behaviour = {"resolver": models.Resolver, "translator": models.Translator, "induction": models.Writer,
                 "stories": models.Stories, "marked": models.MarkedDigit, "picture": models.PictureReader}[kind]
    words, signs, patch = tuple(about["words"]), kind == "induction", transformer.config.patch
    tokenizer = {"induction": tokens.SignTokenizer, "stories": tokens.WriterTokenizer,
                 "picture": tokens.QuestionTokenizer}.get(kind, tokens.WordTokenizer)(words)
    known = len(words) - len(tokens.SPECIALS)
    read_as = f"single signs, {known} of them" if signs else f"words, {known} of them"
    more: dict[str, Any] = {
        "tokenizer": f"patches of {patch} × {patch} pixels" if patch else read_as,
        "max_tokens": transformer.config.max_length if patch else LONGEST_TRAINED * (1 + signs),
        "note": f"Trained here, by: {models.command(about)}."}
    if kind == "picture":
        seen, blind = (np.mean([each for name, each in about["scores"].items() if name.endswith(end)])
                       for end in ("_test", "_blind"))
        more["note"] += (f" It answers {seen:.0%} of the questions about held-out pictures correctly; without the "
                         f"picture, no model can answer more than {blind:.0%}.")
    if SNAPSHOT in model_id:
        step = model_id.split(SNAPSHOT)[1]
        more["note"] = f"A snapshot of its training: step {step} of {about['steps']}, rounded to 8 bits."
    return models.open_network(behaviour, card(model_id, fingerprint, transformer, more), transformer, tokenizer)


def card(model_id: str, fingerprint: str, transformer: "Transformer", more: dict[str, Any]) -> Card:
    """Return the model's card. `more` has the fields that do not follow from the weights: tokenizer, max_tokens,
    note."""
    from clearhead.model.scratch.transformer import POSITIONS

    config = transformer.config
    halves = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    return Card(
        id=model_id, title=title(model_id), revision=fingerprint,
        architecture="–".join(half for half, layers in halves.items() if layers)
        + (", Liu et al. 2023" if config.answers_texts else ", Dosovitskiy et al. 2021" if config.patch
           else ", Vaswani et al. 2017"),
        parameters=count_parameters(transformer), d_model=config.d_model,
        d_head=config.d_model // config.heads,
        layers=config.decoder_layers + (0 if config.answers_texts else config.encoder_layers),
        heads=config.heads, kv_heads=config.heads,
        positions=POSITIONS[config.positions],
        licence="Apache-2.0", **more)
