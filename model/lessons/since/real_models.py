"""Published models by their own configuration files: how many parameters they have, and what a token leaves in their
key–value cache."""
from dataclasses import dataclass

import numpy as np

NUMBER = 2     # bytes of a number in float16 or bfloat16


@dataclass(frozen=True)
class RealModel:
    """What a model's config.json says."""

    name: str
    year: int
    layers: int
    width: int          # d_model
    heads: int          # of queries
    groups: int         # heads of keys and values
    head: int           # d_k
    inner: int          # d_ff
    words: int          # in the vocabulary
    tied: bool          # whether the output uses the table of embeddings
    places: int = 0     # learned positions; 0 for rotary ones
    # whether it is built as in 2017 but for pre-LN (LayerNorm, biases, no gate), and not with RMSNorm and SwiGLU
    older: bool = False

    @property
    def bytes_per_token(self) -> int:
        """One key and one value per group and layer, in 16 bits."""
        return 2 * self.layers * self.groups * self.head * NUMBER

    @property
    def ungrouped(self) -> int:
        """The same, had every query head keys and values of its own."""
        return 2 * self.layers * self.heads * self.head * NUMBER

    def parts(self) -> dict[str, int]:
        """Parameters by part: embeddings, attention, feed_forward, norms."""
        queries, kept = self.heads * self.head, self.groups * self.head
        attention = 2 * self.width * queries + 2 * self.width * kept
        forward, norms = (2 if self.older else 3) * self.width * self.inner, self.width
        if self.older:
            attention, forward, norms = (attention + queries + 2 * kept + self.width,
                                         forward + self.inner + self.width, 2 * self.width)
        tables = self.words * self.width * (1 if self.tied else 2) + self.places * self.width
        return {"embeddings": tables, "attention": self.layers * attention, "feed_forward": self.layers * forward,
                "norms": (2 * self.layers + 1) * norms}

    @property
    def parameters(self) -> int:
        """Of the whole model."""
        return sum(self.parts().values())


MODELS = (
    RealModel("GPT-2", 2019, 12, 768, 12, 12, 64, 3072, 50_257, True, 1024, True),
    RealModel("Llama 2 7B", 2023, 32, 4096, 32, 32, 128, 11_008, 32_000, False),
    RealModel("Mistral 7B", 2023, 32, 4096, 32, 8, 128, 14_336, 32_000, False),
    RealModel("Llama 3 8B", 2024, 32, 4096, 32, 8, 128, 14_336, 128_256, False),
    RealModel("SmolLM2 135M", 2024, 30, 576, 9, 3, 64, 1536, 49_152, True),
)


def cache_bytes(model: RealModel, tokens: np.ndarray | int) -> np.ndarray:
    """Bytes of the cache after so many tokens of one text."""
    return np.asarray(tokens, np.float64) * model.bytes_per_token
