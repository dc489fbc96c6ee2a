"""Build a small model of any text family in transformers, with random weights that would reveal incorrect attention."""
import tomllib
from pathlib import Path
from typing import Any

SIZES = Path(__file__).with_name("families_sizes.toml")
# numbers of source and target tokens: longer than any window in SIZES, and different, to distinguish both sides by
# shape
LENGTHS = (29, 23)
FIRST_ID = 16        # lower ids are special in some family
# default gain of all matrices, unless SIZES overrides it: scores are large enough that no row is nearly uniform
GAIN = 1.5
EXCLUDED = Path(__file__).with_name("families_excluded.toml")
VECTOR = 0.13        # scale, relative to the gain, of the noise added to every bias, norm and sink
ROLE = ("is_decoder", "add_cross_attention")   # settings of a decoder with cross-attention
CLASSES = {"SEQ_TO_SEQ_CAUSAL_LM": "AutoModelForSeq2SeqLM", "MASKED_LM": "AutoModelForMaskedLM",
           "CAUSAL_LM": "AutoModelForCausalLM"}


def mappings() -> dict[str, str]:
    """Return {type: mapping} for every text model type in transformers. Sequence-to-sequence has priority over masked,
    and masked over causal."""
    from transformers.models.auto import modeling_auto

    found: dict[str, str] = {}
    for name in CLASSES:
        for model_type in getattr(modeling_auto, f"MODEL_FOR_{name}_MAPPING_NAMES"):
            found.setdefault(model_type, name)
    return dict(sorted(found.items()))


def excluded(reads: str = "text") -> dict[str, str]:
    """Return {type: reason} for excluded types with this input. reads: "text" or "picture"."""
    groups = tomllib.loads(EXCLUDED.read_text(encoding="utf-8"))[reads].values()
    return {model_type: f"{group['reason']}: {why}" if why else group["reason"]
            for group in groups for model_type, why in group.items() if model_type != "reason"}


def sizes() -> dict:
    """Return the sizes of the small models for texts and, under "picture", for pictures."""
    return tomllib.loads(SIZES.read_text(encoding="utf-8"))


def head_of(model_type: str, network) -> str:
    """Return Clearhead's name for what the network predicts."""
    return "target" if network.config.is_encoder_decoder else "mask" if mappings()[
        model_type] == "MASKED_LM" else "next"


def build(model_type: str, implementation: str, seed: int = 0):
    """Build a family's small network with random weights and this attention implementation, in evaluation mode."""
    import torch
    import transformers

    known = sizes()
    config = small_config(transformers.CONFIG_MAPPING[model_type], known, known.get(model_type, {}))
    for each in (config, config.get_text_config()):
        each.use_cache = False
    torch.manual_seed(seed)
    network = getattr(transformers,
                      CLASSES[mappings()[model_type]]).from_config(config, attn_implementation=implementation).eval()
    draw(network, seed, known["gain"].get(model_type, GAIN))
    return network


def small_config(kind: type, sizes: dict, own: dict):
    """Return a configuration of this class with small sizes, also in sub-configurations. own: sizes that override the
    common ones."""
    from transformers import PreTrainedConfig

    values = dict(own)
    default = vars(kind())
    everywhere = sizes["everywhere"] | (sizes.get("latent", {}) if "qk_rope_head_dim" in default else {})
    for name, value in default.items():
        if isinstance(value, PreTrainedConfig):
            role = {key: True for key in ROLE if getattr(value, key, False)}
            values[name] = small_config(type(value), sizes, role | own.get(name, {}))
        elif name not in own and name in everywhere:
            values[name] = fitted(everywhere[name], value)
        elif name not in own and name.endswith(("token_id",
                                                "token_index")) and isinstance(value, int) and value >= FIRST_ID:
            values[name] = FIRST_ID - 1
    return kind(**{**_layer_lists(default, values), **values})


def fitted(size: int | list, default: Any) -> Any:
    """Adapt a size to the form of the default: one number, two numbers (one per side of a picture), or the unchanged
    default if it has one number per stage."""
    if isinstance(default, list | tuple) and not isinstance(size, list):
        return [size] * 2 if len(default) == 2 else list(default)
    return size


def _layer_lists(default: dict, values: dict) -> dict:
    """Shorten lists with one string per layer to one layer of each type, at least two layers. Sets the number of layers
    accordingly."""
    long = default.get("num_hidden_layers")
    lists = {name: list(dict.fromkeys(value)) for name, value in default.items()
             if name not in values and isinstance(value, list) and len(value) == long
             and all(isinstance(each, str) for each in value)}
    layers = max([2, *map(len, lists.values())])
    if "num_hidden_layers" in values and lists:
        values["num_hidden_layers"] = layers
    return {name: [sorts[number % len(sorts)] for number in range(layers)] for name, sorts in lists.items()}


def draw(network, seed: int, gain: float) -> None:
    """Draw random weights: matrices for which the softmax is far from uniform, and different values for every bias,
    norm and sink."""
    import torch
    from torch import nn

    generator = torch.Generator().manual_seed(seed)
    tables = {id(module.weight) for module in network.modules() if isinstance(module, nn.Embedding)}
    with torch.no_grad():
        for parameter in network.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if id(parameter) in tables:
                parameter.copy_(noise)
            elif parameter.ndim >= 2:
                inputs = parameter[0].numel() if parameter.ndim > 3 else parameter.shape[-1]   # ndim > 3: a convolution
                parameter.copy_(noise * gain / inputs ** 0.5)
            else:
                parameter.copy_(torch.nan_to_num(parameter.float()) + VECTOR * gain * noise)


def tokenizer(vocabulary: int):
    """Return a tokenizer with the words w0, w1, … as its vocabulary of this size."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({f"w{number}": number for number in range(vocabulary)}, unk_token="w0"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="w0")


def text(vocabulary: int, length: int, seed: int) -> str:
    """Return a text of random words whose last word repeats the first."""
    import torch

    ids = torch.randint(FIRST_ID, vocabulary, (length,), generator=torch.Generator().manual_seed(seed)).tolist()
    return " ".join(f"w{number}" for number in [*ids[:-1], ids[0]])
