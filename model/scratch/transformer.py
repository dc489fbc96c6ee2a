r"""The Transformer of Vaswani et al. 2017, "Attention is all you need", in the paper's order and notation, to be read
alongside it.

Letters:  b batch   h head   q query position   k key position   d_model width of the residual stream
          d_k = d_v = d_model / h width of a head   d_ff width of the feed-forward layer   N layers
Shapes are given after the lines that create them. A mask is bool, True where a query may attend, broadcast to (b, h, q,
k). All attention passes through one hook, where it is captured and edited like any other model's
(model/capture/forward_pass.py); nothing is recorded here.
"""
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.model.capture.forward_pass import Slot, attend
from clearhead.model.core import attention
from clearhead.model.core.query import Kind, frozen
from clearhead.model.scratch.tokens import IMAGE, PADDING

POSITIONS = {
    "sinusoidal": "sinusoidal, added to embeddings (Vaswani et al. 2017)",
    "learned": "learned, added to embeddings (Gehring et al. 2017)",
    "rotary": "rotary, on queries and keys of each head (Su et al. 2021)",
    "alibi": "ALiBi, a bias on the scores that falls with distance (Press et al. 2022)",
    "none": "none",
}


def sinusoidal(length: int, width: int) -> Tensor:
    """Return PE, float32 (t, d): PE(t, 2c) = sin(t / 10000^(2c/d)), PE(t, 2c+1) = cos of the same angle (section
    3.5)."""
    angle = angles(length, width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width].float()


def angles(length: int, width: int) -> Tensor:
    """Return t / 10000^(2c/d) in radians, one angle per pair of dimensions, as float64 (t, ⌈d/2⌉) to keep distant
    positions exact."""
    rate = torch.exp(-math.log(10000.0) * torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.arange(length, dtype=torch.float64)[:, None] * rate


def rotate(x: Tensor) -> Tensor:
    """Apply rotary positions to x (..., t, d), d even: rotate the pair of dimensions (2c, 2c+1) by t / 10000^(2c/d) (Su
    et al. 2021, equation 15)."""
    angle = angles(x.shape[-2], x.shape[-1])
    sine, cosine = angle.sin().to(x), angle.cos().to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


def slopes(heads: int) -> Tensor:
    """Return ALiBi's slopes m = 2^(-8h/H) for h from 1 to H, float32 (h) (Press et al. 2022, section 3)."""
    return torch.exp2(-8 * torch.arange(1, heads + 1) / heads)


def distance_bias(heads: int, queries: int, keys: int) -> Tensor:
    """Return ALiBi's bias -m·|i - j|, float32 (h, i, j). The paper covers only decoders, with j ≤ i; in an encoder,
    both directions have the same bias."""
    distance = (torch.arange(queries)[:, None] - torch.arange(keys)[None, :]).abs()
    return -slopes(heads)[:, None, None] * distance


class Sinusoidal(nn.Identity):
    """Sinusoidal positions, added to embeddings of any length."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the embeddings plus PE, (b, t, d)."""
        return x + sinusoidal(x.shape[-2], x.shape[-1]).to(x)


class Learned(nn.Identity):
    """Learned positions, one vector each, added to embeddings up to the trained length."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * width**-0.5)  # (t, d)

    def forward(self, x: Tensor) -> Tensor:
        """Return the embeddings plus the learned vectors, (b, t, d)."""
        return x + self.table[:x.shape[-2]]


class Inside(nn.Module):
    """Positions inside attention: `turn` changes queries and keys, `bias` is added to the scores. This base class has
    neither."""

    def turn(self, x: Tensor) -> Tensor:
        """Return queries or keys (b, h, t, d) unchanged."""
        return x

    def bias(self, heads: int, queries: int, keys: int) -> Tensor | None:
        """Return None, for no bias."""
        return None


class Rotary(Inside):
    """Rotary positions, which rotate queries and keys so that the score depends only on the distance."""

    def turn(self, x: Tensor) -> Tensor:
        """Rotate queries or keys (b, h, t, d) by their positions."""
        return rotate(x)


class Alibi(Inside):
    """ALiBi, a bias on the scores that decreases with distance, most steeply in the first heads."""

    def bias(self, heads: int, queries: int, keys: int) -> Tensor:
        """Return the bias of every head, (h, i, j)."""
        return distance_bias(heads, queries, keys)


ADDED = {"sinusoidal": Sinusoidal, "learned": Learned}
INSIDE = {"rotary": Rotary, "alibi": Alibi}


@frozen
class Config:
    """A model's configuration; defaults are the base model of table 3 unless stated."""

    vocabulary: int                 # number of ids
    d_model: int = 512              # width of the residual stream
    heads: int = 8                  # h
    d_ff: int = 2048                # width of the feed-forward layer
    encoder_layers: int = 6         # 0: no encoder, as in GPT
    decoder_layers: int = 6         # 0: no decoder, as in BERT
    positions: str = "sinusoidal"   # one of clearhead.model.scratch.transformer.POSITIONS
    max_length: int = 512           # number of position vectors for "learned"
    dropout: float = 0.1            # probability (section 5.4)
    norm_first: bool = False        # pre-LN (Xiong et al. 2020), which requires final_norm
    final_norm: bool = False        # whether a norm follows the last layer
    tie: bool = True                # whether embeddings and output share one table (section 3.4)
    activation: str = "relu"        # relu or gelu
    norm_epsilon: float = 1e-5      # epsilon of the layer norms
    patch: int = 0                  # side of a patch in pixels for models that read pictures; 0 for all others

    def __post_init__(self) -> None:
        if self.d_model % self.heads:
            raise ValueError(f"Config: expected d_model to be a multiple of heads, got {self.d_model} and "
                             f"{self.heads}; change one of them.")
        if self.positions not in POSITIONS:
            raise ValueError(f"Config: expected positions to be one of {', '.join(POSITIONS)}, got {self.positions!r}; "
                             f"choose one of them.")
        if self.positions == "rotary" and self.d_model // self.heads % 2:
            raise ValueError(f"Config: rotary positions turn pairs of dimensions, got d_k = "
                             f"{self.d_model // self.heads}; make it even.")
        if self.encoder_layers + self.decoder_layers == 0:
            raise ValueError("Config: expected at least one layer, got none; give encoder_layers or decoder_layers.")
        if self.patch and not self.decoder_layers and self.tie:
            raise ValueError("Config: expected no tied table for a model that only reads pictures; set tie to False.")

    @property
    def answers_texts(self) -> bool:
        """Whether the model reads a picture within a text."""
        return bool(self.patch and self.decoder_layers)


# 3.1  Masks ("we also modify the self-attention sub-layer in the decoder stack to prevent positions from attending to
# subsequent positions")

def padding_mask(ids: Tensor) -> Tensor:
    """Return the mask that hides padding keys: ids (b, k) -> (b, 1, 1, k)."""
    return (ids != PADDING)[:, None, None, :]


def look_ahead_mask(length: int) -> Tensor:
    """Return the causal mask (q, k), a lower triangle: a position attends to itself and to earlier ones."""
    return torch.ones(length, length, dtype=torch.bool).tril()


# 3.2.1  Scaled dot-product attention, figure 2 (left)

class ScaledDotProductAttention(nn.Module):
    """Equation (1), computed by model/core/attention.py, with the hook that captures it."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None,
                bias: Tensor | None = None) -> Tensor:
        """Return the heads' outputs, (b, q, h, d_v)."""
        def equation_one(query: Tensor, allowed: Tensor | None, options: dict[str, Any]) -> Tensor:
            return attention.attention(query, key, value, allowed, bias=options["position_bias"])[0].transpose(1, 2)

        return attend(self, (query, key, value), allowed, {"is_causal": False, "position_bias": bias}, equation_one)


# 3.2.2  Multi-head attention, figure 2 (right)

class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)."""

    def __init__(self, config: Config, inside: Inside) -> None:
        super().__init__()
        self.heads = config.heads
        self.w_query, self.w_key, self.w_value, self.w_output = (nn.Linear(config.d_model, config.d_model)
                                                                 for _ in range(4))
        self.inside = inside
        self.attend = ScaledDotProductAttention()

    def split(self, x: Tensor) -> Tensor:
        """Split vectors into heads: (b, q, d_model) -> (b, h, q, d_k)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend from `x` (b, q, d_model) to `memory` (b, k, d_model): to itself in self-attention, to the encoder's
        output in cross-attention."""
        query = self.inside.turn(self.split(self.w_query(x)))             # (b, h, q, d_k)
        key = self.inside.turn(self.split(self.w_key(memory)))            # (b, h, k, d_k)
        value = self.split(self.w_value(memory))                          # (b, h, k, d_v)
        bias = self.inside.bias(self.heads, x.shape[1], memory.shape[1])  # (h, q, k) or None
        mixed = self.attend(query, key, value, allowed, bias=bias)        # (b, q, h, d_v)
        return self.w_output(mixed.flatten(2))                            # Concat and W^O: (b, q, d_model)


# 3.3  Position-wise feed-forward networks, equation (2)

class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2; BERT and GPT use "gelu" instead of max(0, ·)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(config.d_model, config.d_ff), nn.Linear(config.d_ff, config.d_model)
        self.activation = {"relu": nn.ReLU, "gelu": nn.GELU}[config.activation]()

    def forward(self, x: Tensor) -> Tensor:
        """Map (b, q, d_model) to the same shape."""
        return self.w_2(self.activation(self.w_1(x)))  # (b, q, d_ff) inside


# 3.1 and 5.4  Residual connection, layer normalisation, dropout: "Add & Norm" in figure 1

class AddAndNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))) as in the paper (post-LN), or x + Dropout(Sublayer(LayerNorm(x)))
    (pre-LN)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return x (b, q, d_model) plus the output of `sublayer`, normalised."""
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


# 3.1  Encoder and decoder stacks, figure 1

class EncoderLayer(nn.Module):
    """Figure 1, left: self-attention, then feed-forward."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config, INSIDE.get(config.positions, Inside)())
        self.feed_forward = FeedForward(config)
        self.after_attention, self.after_feed_forward = AddAndNorm(config), AddAndNorm(config)

    def forward(self, x: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Map x (b, k, d_model) to the same shape."""
        x = self.after_attention(x, lambda y: self.attention(y, y, allowed))
        return self.after_feed_forward(x, self.feed_forward)


class DecoderLayer(EncoderLayer):
    """Figure 1, right: masked self-attention, attention over the encoder's output, then feed-forward.

    Without an encoder (`config.encoder_layers` 0), there is no second sub-layer.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.has_cross = config.encoder_layers > 0 and not config.answers_texts
        if self.has_cross:
            self.cross, self.after_cross = MultiHeadAttention(config, Inside()), AddAndNorm(config)

    def forward(self, x: Tensor, allowed: Tensor | None = None, memory: Tensor | None = None,
                memory_allowed: Tensor | None = None) -> Tensor:
        """Map x (b, q, d_model) to the same shape; memory (b, k, d_model) is the encoder's output."""
        x = self.after_attention(x, lambda y: self.attention(y, y, allowed))
        if self.has_cross:
            x = self.after_cross(x, lambda y: self.cross(y, memory, memory_allowed))
        return self.after_feed_forward(x, self.feed_forward)


class Stack(nn.Module):
    """N identical layers, with a final norm for pre-LN, whose residual stream is not yet normalised."""

    def __init__(self, config: Config, layer: type[nn.Module], layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layer(config) for _ in range(layers))
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon) if config.final_norm else nn.Identity()

    def forward(self, x: Tensor, *context: Tensor | None) -> Tensor:
        """Pass x (b, q, d_model) through all layers; `context` is passed to each."""
        for layer in self.layers:
            x = layer(x, *context)
        return self.norm(x)


# 3.4 and 3.5  Embeddings times √d_model, plus positions; the transposed table gives the logits

class Embedding(nn.Module):
    """Section 3.4: "in the embedding layers, we multiply those weights by √d_model"; section 3.5 adds positions;
    section 5.4 dropout."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.table = nn.Embedding(config.vocabulary, config.d_model)
        self.positions = ADDED.get(config.positions, nn.Identity)(config.d_model, config.max_length)
        self.dropout = nn.Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)

    def forward(self, ids: Tensor) -> Tensor:
        """Embed ids: (b, q) -> (b, q, d_model)."""
        return self.dropout(self.positions(self.table(ids) * self.scale))


class PatchEmbedding(nn.Module):
    """The embedding of a picture as a sequence: z_0 = [x_class; x_1 E; …; x_n E] + E_pos, equation (1) of Dosovitskiy
    et al. 2021. The picture is split into square patches, each flattened and linearly mapped. Pixels range from 0
    (paper) to 1 (ink)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.side = config.patch
        self.linear = nn.Linear(self.side**2, config.d_model)
        self.start = nn.Parameter(torch.randn(1, config.d_model) * config.d_model**-0.5)   # [CLS]
        self.positions = ADDED.get(config.positions, nn.Identity)(config.d_model, config.max_length)

    def widen(self) -> None:
        """Initialise positions and the map of patches with ink, whose squared pixels sum to about side² / 4, to give
        both unit variance. With small position vectors, training takes long to learn their use."""
        nn.init.normal_(self.linear.weight, std=2 / self.side)
        for table in self.positions.parameters():
            nn.init.normal_(table)

    def tokens(self, pictures: Tensor) -> Tensor:
        """Return [CLS] and the patches, row by row, without positions: (b, height, width) -> (b, 1 + patch,
        d_model)."""
        cut = nn.functional.unfold(pictures[:, None], self.side, stride=self.side).transpose(1, 2)  # (b, patch, side²)
        return torch.cat([self.start.expand(len(cut), -1, -1), self.linear(cut)], 1)

    def forward(self, pictures: Tensor) -> Tensor:
        """Embed pictures: (b, height, width) -> (b, 1 + patch, d_model)."""
        return self.positions(self.tokens(pictures))


class Tower(nn.Module):
    """The vision tower and the projector of Liu et al. 2023, figure 1: an encoder of pictures whose patches a linear
    map brings into the space of the decoder's words."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embedding = PatchEmbedding(config)
        self.encoder = Stack(config, EncoderLayer, config.encoder_layers)
        self.projector = nn.Linear(config.d_model, config.d_model)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return the patches without [CLS], as read by the projector: (b, height, width) -> (b, patch, d_model)."""
        return self.encoder(self.embedding(pictures))[:, 1:]


class Transformer(nn.Module):
    """Figure 1, complete or only one half, from ids to logits over the vocabulary. The loss and the decoding apply the
    softmax. With `config.patch`, an encoder that reads pictures and answers at [CLS] (Dosovitskiy et al. 2021), or with
    a decoder, too, one that reads a picture in its text (Liu et al. 2023, "Visual instruction tuning")."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = PatchEmbedding(config) if config.patch and not config.answers_texts else Embedding(config)
        if config.answers_texts:
            self.tower = Tower(config)
        elif config.encoder_layers:
            self.encoder = Stack(config, EncoderLayer, config.encoder_layers)
        if config.decoder_layers:
            self.decoder = Stack(config, DecoderLayer, config.decoder_layers)
        self.output = nn.Linear(config.d_model, config.vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        # unit variance, similar to that of positions: patches directly, ids after scaling by √d_model
        for module in self.modules():
            if isinstance(module, PatchEmbedding):
                module.widen()
            elif isinstance(module, Embedding):
                nn.init.normal_(module.table.weight, std=config.d_model**-0.5)
        if config.tie:
            self.output.weight = self.embedding.table.weight
        if config.answers_texts:
            self._point()

    def _point(self) -> None:
        """Initialise a decoder that reads pictures so that a token first looks at tokens like itself, wherever they
        are: a word at the patches that mean the same. From random weights, this takes long to appear."""
        for table in self.embedding.positions.parameters():
            nn.init.normal_(table)
        for layer in self.decoder.layers:
            layer.attention.w_key.load_state_dict(layer.attention.w_query.state_dict())

    def encode(self, source: Tensor) -> Tensor:
        """Encode source ids: (b, k) -> (b, k, d_model); pictures (b, height, width) become [CLS] and patches along
        k."""
        return self.encoder(self.embedding(source), None if self.config.patch else padding_mask(source))

    def decode(self, target: Tensor, memory: Tensor | None = None, source: Tensor | None = None) -> Tensor:
        """Decode target ids (b, q) to (b, q, d_model), given the encoder's output and its source ids, which a
        decoder-only model does not need."""
        allowed = padding_mask(target) & look_ahead_mask(target.shape[1])
        return self.decoder(self.embedding(target), allowed, memory, None if source is None else padding_mask(source))

    def merge(self, ids: Tensor, patches: Tensor) -> Tensor:
        """Return the words without positions, (b, q, d_model), and at each id that is IMAGE the next of the projected
        patches (b, patch, d_model)."""
        words = self.embedding.table(ids) * self.embedding.scale
        return words.masked_scatter((ids == IMAGE)[..., None], patches)

    def read(self, ids: Tensor, patches: Tensor, positions: Tensor | None = None) -> Tensor:
        """Decode ids (b, q) and projected patches (b, patch, d_model) to (b, q, d_model). positions, int (b, q), of a
        row with several texts, which do not see one another: each text continues from the patches."""
        if positions is None:
            positions = torch.arange(ids.shape[1])[None]
        text = (positions == patches.shape[1] + 1).cumsum(1)   # 0 for the patches
        alone = (text[:, None, :] == 0) | (text[:, None, :] == text[:, :, None])
        x = self.merge(ids, patches) + self.embedding.positions.table[positions]
        allowed = padding_mask(ids) & look_ahead_mask(ids.shape[1]) & alone[:, None]
        return self.decoder(self.embedding.dropout(x), allowed)

    def forward(self, *ids: Tensor) -> Tensor:
        """Return logits (b, q, vocabulary): at each target position for (source, target), or at each position of the
        text in an encoder-only or decoder-only model. For pictures, return (b, 1, vocabulary), at [CLS]."""
        if self.config.answers_texts:
            text, pictures, *positions = ids
            return self.output(self.read(text, self.tower.projector(self.tower(pictures)), *positions))
        if self.config.patch:
            return self.output(self.encode(*ids)[:, :1])
        if not self.config.decoder_layers:
            return self.output(self.encode(*ids))
        if not self.config.encoder_layers:
            return self.output(self.decode(*ids))
        source, target = ids
        return self.output(self.decode(target, self.encode(source), source))

    def get_input_embeddings(self) -> nn.Module:   # the names of these three methods match transformers
        """Return the embedding table, or the patches' linear map."""
        return self.embedding.linear if isinstance(self.embedding, PatchEmbedding) else self.embedding.table

    def get_output_embeddings(self) -> nn.Module:
        """Return the linear map from the final vectors to logits."""
        return self.output

    def get_encoder(self) -> "Transformer":
        """Return the module that embeds the source; the same table embeds the target."""
        return self


def slots(config: Config) -> list[Slot]:
    """Return every attention layer in the order of the forward pass, without those of a vision tower."""
    encoder_layers = 0 if config.answers_texts else config.encoder_layers
    own = "target" if encoder_layers else "source"   # a decoder-only model's text is its source
    found = [Slot(Kind.SELF, layer, f"encoder.layers.{layer}.attention", 0, "source")
             for layer in range(encoder_layers)]
    for layer in range(config.decoder_layers):
        found.append(Slot(Kind.CAUSAL, layer, f"decoder.layers.{layer}.attention", 0, own))
        if encoder_layers:
            found.append(Slot(Kind.CROSS, layer, f"decoder.layers.{layer}.cross", 0, "source"))
    return found


def hook_names(model: Transformer) -> dict[int, str]:
    """Return {id(module with the hook): name of its attention module}; a vision tower's, which are not captured, have
    the name ""."""
    inside = {id(each): "" for each in model.modules() if isinstance(each, ScaledDotProductAttention)}
    return inside | {id(model.get_submodule(f"{slot.module}.attend")): slot.module for slot in slots(model.config)}
