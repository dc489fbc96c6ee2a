"""Modules as commonly written by users, for the tests of `look`."""
import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention  # bound at import, before it could be patched


class FusedAttention(nn.Module):
    """Vision attention as in timm, with one linear map for queries, keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.q_norm, self.k_norm = nn.LayerNorm(width // heads), nn.LayerNorm(width // heads)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.unbind(0)
        mixed = scaled_dot_product_attention(self.q_norm(query), self.k_norm(key), value)
        return self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))


class VisionBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(width), FusedAttention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.2), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Vision(nn.Module):
    """A Vision Transformer over patches of 4 × 4 pixels, with [CLS] and learned positions."""

    def __init__(self, width: int = 24, heads: int = 3, layers: int = 3) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, 4, 4)
        self.cls_token, self.pos_embed = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 10, width))
        self.blocks = nn.Sequential(*(VisionBlock(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], 1) + self.pos_embed
        return self.head(self.blocks(x)[:, 0]).softmax(-1)


class CausalAttention(nn.Module):
    """Causal attention as in nanoGPT, with dropout during training. drops: dropout that is always applied."""

    def __init__(self, width: int, heads: int, drops: float | None = None) -> None:
        super().__init__()
        self.heads, self.drops = heads, drops
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.c_attn(x).split(x.shape[-1], dim=2)
        query, key, value = (part.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for part in parts)
        drops = (0.2 if self.training else 0) if self.drops is None else self.drops
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=drops, is_causal=True)
        return self.c_proj(mixed.transpose(1, 2).contiguous().view(x.shape))


class Decoder(nn.Module):
    """A small GPT that receives token ids."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2, drops: float | None = None) -> None:
        super().__init__()
        self.wte, self.wpe, self.drop = nn.Embedding(50, width), nn.Embedding(40, width), nn.Dropout(0.1)
        self.h = nn.ModuleList(CausalAttention(width, heads, drops) for _ in range(layers))
        self.lm_head = nn.Linear(width, 50, bias=False)

    def forward(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.drop(self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device)))
        for block in self.h:
            x = x + block(x)
        return {"logits": self.lm_head(x)}


class Grouped(nn.Module):
    """Six query heads over two key heads, with a mask or bias as an argument."""

    def __init__(self, width: int = 24, heads: int = 6, kv_heads: int = 2) -> None:
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj, self.v_proj = (nn.Linear(width, width // heads * kv_heads) for _ in range(2))

    def parts(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [linear(x).unflatten(-1, (heads, -1)).transpose(1, 2) for linear, heads in
                ((self.q_proj, self.heads), (self.k_proj, self.kv_heads), (self.v_proj, self.kv_heads))]

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, scale: float | None = None) -> torch.Tensor:
        return scaled_dot_product_attention(*self.parts(x), attn_mask=mask, scale=scale, enable_gqa=True)


class Calling(nn.Module):
    """Projections around any function of query, key and value, (batch, head, token, d)."""

    def __init__(self, attend: Callable[..., torch.Tensor], width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.attend = heads, attend

    def parts(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(self.attend(*self.parts(x)).transpose(1, 2).flatten(2))


class ByHand(nn.Module):
    """Attention with explicit products and softmax, as in textbooks. one_head: tensors of three axes, without heads;
    kernel: call torch's function instead."""

    def __init__(self, width: int = 16, heads: int = 2, one_head: bool = False, kernel: bool = False) -> None:
        super().__init__()
        self.heads, self.one_head, self.kernel = heads, one_head, kernel
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def weights(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        query, key = self.q(x), self.k(memory)
        if not self.one_head:
            query, key = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (query, key))
        return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)

    def forward(self, x: torch.Tensor, memory: torch.Tensor | None = None) -> torch.Tensor:
        memory = x if memory is None else memory
        value = self.v(memory)
        if self.kernel:
            return scaled_dot_product_attention(self.q(x), self.k(memory), value)
        value = value if self.one_head else value.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        mixed = nn.functional.dropout(self.weights(x, memory), 0.1, self.training) @ value
        return mixed if self.one_head else mixed.transpose(1, 2).flatten(2)


class Lying(nn.MultiheadAttention):
    """Returns a different output from the one it computed."""

    def forward(self, *args, **kwargs):
        mixed, weights = super().forward(*args, **kwargs)
        return mixed * 1.1, weights
