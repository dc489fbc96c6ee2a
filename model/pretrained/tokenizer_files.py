"""From a folder to its tokenizer; what is missing or damaged is said by the name of its file."""
from pathlib import Path
from typing import Any

from model.capture.transformers_internals import vocabulary_files
from model.core.query import UserError
from model.pretrained.damage import blame, check_json, in_one_line, is_fault

LOAD_OPTIONS = {"local_files_only": True, "trust_remote_code": False}
OBJECTS = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json")
# one of these every tokenizer has, but those that read bytes or characters (ByT5, CANINE)
VOCABULARIES = ("tokenizer.json", "vocab*", "merges.txt", "*.model", "*.spm", "*.tiktoken", "*.codes", "dict*.txt",
                "tekken*")
NEEDED = ("vocab_file", "merges_file")   # of a family that has them, where there is no tokenizer.json


def tokenizer_folder(folders: tuple[Path, ...]) -> Path:
    """The folder of a model's tokenizer: that of its adapter if there is one with a vocabulary, else its own."""
    return next(filter(_has_vocabulary, reversed(folders)), folders[0])


def open_tokenizer(folder: Path) -> Any:
    """The folder's tokenizer, tried once. Raises UserError, with the file's name, for a folder without one and for a
    damaged one."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOAD_OPTIONS)
    except MemoryError:
        raise
    except BaseException as error:
        if not is_fault(error):
            raise
        _refuse(folder, error)
    _check_files(folder, vocabulary_files(tokenizer))
    _try(folder, tokenizer)
    return tokenizer


def _refuse(folder: Path, error: BaseException) -> None:
    """Raises UserError with the file that is the cause of the error."""
    if not _has_vocabulary(folder):
        raise missing(folder, ["tokenizer.json"]) from error
    check_json(folder, *OBJECTS)
    if (folder / "tokenizer.json").is_file():
        with blame(folder / "tokenizer.json", "a tokenizer"):
            from tokenizers import Tokenizer

            Tokenizer.from_file(str(folder / "tokenizer.json"))
    if (folder / "vocab.json").is_file() and not any((folder / name).is_file() for name in ("tokenizer.json",
                                                                                           "merges.txt")):
        raise missing(folder, ["merges.txt"]) from error
    raise UserError(f"{folder} has files of a tokenizer, tokenizer_config.json among them, that make none "
                    f"({in_one_line(error)}); copy or download them again, or choose another model.") from error


def missing(folder: Path, names: list[str]) -> UserError:
    """The sentence about a folder without a tokenizer."""
    return UserError(f"{folder} has no tokenizer, so no text can be read: {' and '.join(names)} "
                     f"{'are' if len(names) > 1 else 'is'} missing; copy what the model's tokenizer saved into it.")


def _check_files(folder: Path, names: dict[str, str]) -> None:
    """transformers makes a tokenizer without a word in it where the family's files are not there."""
    if names and not _has_vocabulary(folder):
        raise missing(folder, [names[name] for name in NEEDED if name in names] or ["tokenizer.json"])


def has_chat_template(folder: Path) -> bool:
    """Whether the folder's tokenizer says how a chat is written."""
    rules = folder / "tokenizer_config.json"
    return (folder / "chat_template.jinja").is_file() or (rules.is_file() and b'"chat_template"' in rules.read_bytes())


def _has_vocabulary(folder: Path) -> bool:
    return any(path for pattern in VOCABULARIES for path in folder.glob(pattern))


def _try(folder: Path, tokenizer: Any) -> None:
    """What a tokenizer raises itself, a bare Exception, may be of this text alone; a panic is of its rules, and what
    transformers raises of the file beside them."""
    try:
        ids = tokenizer("a", return_special_tokens_mask=True)["input_ids"]
        tokenizer.convert_ids_to_tokens([*ids, tokenizer.unk_token_id or 0, *tokenizer.all_special_ids])
        tokenizer.decode([0])
    except BaseException as error:
        if type(error) is not Exception:
            rules = folder / ("tokenizer_config.json" if isinstance(error, Exception) else "tokenizer.json")
            with blame(rules, "a tokenizer that works"):
                raise
