"""RXNMapper (Schwaller et al. 2021) out of its package: an ALBERT that reads reactions, weights in torch's own format,
a vocabulary, and no tokenizer that transformers could open.

The tokenizer is one regular expression over SMILES (Schwaller et al. 2019): what stands in brackets is one piece, so
are the elements of two letters, and any other letter, digit and sign. What it does not match is dropped, as there.
"""
from pathlib import Path
from typing import Any

from model.core.query import UserError, first_line
from model.pretrained import files
from model.pretrained.environment import prepare
from model.pretrained.packaged import folder as folders

PIECES = r"\[[^\]]+\]|Br|Cl|>>|%[0-9]{2}|[BCNOSPFIbcnosp0-9().=#+\-\\/:~@?>*$]"
SPECIAL = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
           "mask_token": "[MASK]"}
POSITIONS = 512
# its ALBERT's own body; what stands before it in the names, and what is left out: the head that predicts masked pieces
BODY = "albert."
CARD = """---
license: mit
library_name: transformers
---
# RXNMapper

An ALBERT of 12 layers with 8 heads that learned from chemical reactions without atom numbers (Schwaller et al. 2021,
Science Advances 7, eabe4166), out of the package rxnmapper 0.4.3 (MIT, IBM RXN team): albert_heads_8_uspto_all_1310k,
converted by Clearhead. The head that predicts masked pieces is left out. The package maps atoms by head 5 of layer 10,
both counted from 0.
"""


def convert(sources: list[Path], folder: Path) -> None:
    """Writes the folder of an AlbertModel from pytorch_model.bin, vocab.txt and config.json, in this order. Raises
    UserError for files that hold anything else. The pickle is read by torch's reader of tensors alone."""
    pickle, vocabulary, sizes = sources
    import torch

    prepare()
    from transformers import AlbertConfig, AlbertModel

    try:
        held = torch.load(pickle, map_location="cpu", weights_only=True)
        config = AlbertConfig(**_sizes(files.read_json(sizes)))
        with torch.device("meta"):
            network = AlbertModel(config)
        weights = {name.removeprefix(BODY): tensor.float() for name, tensor in held.items() if name.startswith(BODY)}
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{pickle.name} cannot be read as RXNMapper ({first_line(error, 160)}); fetch the model "
                        f"again.") from error
    wanted = network.state_dict().keys()
    weights = {name: tensor for name, tensor in weights.items() if name in wanted or "position_ids" not in name}
    folders.refuse_other_weights(network, weights, pickle.name)
    config.architectures = ["AlbertModel"]
    folders.save(folder, config, weights, CARD)
    save_tokenizer(vocabulary.read_text(encoding="utf-8").splitlines(), folder)


def _sizes(config: dict[str, Any]) -> dict[str, Any]:
    """Of the package's configuration what an AlbertModel of today has."""
    from transformers import AlbertConfig

    known = AlbertConfig().to_dict()
    return {name: value for name, value in config.items()
            if name in known and name not in ("architectures", "transformers_version", "id2label", "label2id")}


def save_tokenizer(vocabulary: list[str], folder: Path) -> None:
    """Writes tokenizer.json and tokenizer_config.json: the regular expression and the vocabulary, a piece a line."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from tokenizers.processors import TemplateProcessing

    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(WordLevel(numbers, unk_token=SPECIAL["unk_token"]))
    tokenizer.pre_tokenizer = Split(Regex(PIECES), behavior="removed", invert=True)
    tokenizer.add_special_tokens(list(SPECIAL.values()))
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(piece, numbers[piece]) for piece in ("[CLS]", "[SEP]")])
    folders.save_text(folder / "tokenizer.json", tokenizer.to_str(pretty=True))
    folders.save_json(folder / "tokenizer_config.json", SPECIAL | {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": POSITIONS,
        "clean_up_tokenization_spaces": False})
