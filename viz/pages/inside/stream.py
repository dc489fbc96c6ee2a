"""What an attention adds to the residual stream, and to which vector."""
import numpy as np

from model.core.trace import AttentionTrace, Block


def normalised(block: Block, around: AttentionTrace) -> np.ndarray | None:
    """What the sub-layer put out after a norm of its own, (q, d_model), in models that have one before they add it
    (Gemma 2); None in all others."""
    return next((norm.output for norm in block.norms if np.array_equal(norm.input, around.output)), None)


def addition(block: Block, around: AttentionTrace) -> np.ndarray:
    """What is added to the stream, (q, d_model)."""
    own = normalised(block, around)
    return around.output if own is None else own


def stream_before(block: Block, around: AttentionTrace) -> np.ndarray:
    """The vectors that the sub-layer's output is added to, (q, d_model). Of a decoder's attention to its encoder that
    is the stream behind its self-attention, which post-LN models have normalised."""
    first = block.attentions[0]
    if around is first:
        return block.before
    return block.before + addition(block, first) if block.norm_first else around.x
