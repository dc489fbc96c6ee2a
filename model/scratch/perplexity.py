"""Each token's probability after those before it, from a model of ours."""
import torch

from model.core.query import UserError
from model.scratch.tokens import END
from model.studies.perplexity import Chain


def chain(model, query, report) -> Chain:
    """Of the translator's target with its end, or of a decoder's text. Raises UserError for an encoder, which predicts
    no next token."""
    if not model.transformer.config.decoder_layers:
        raise UserError(f"{model.card.title} has no decoder, so there is no next token to give a probability to; "
                        f"choose the translator.")
    sides, _, _ = model.sides(query)
    tokens = sides.get("target", sides["source"])
    logits, _ = model.run(query, sides, report)
    ends = ((END,), (model.tokenizer.words[END],
            )) if "target" in sides and hasattr(model.tokenizer, "words") else ((), ())
    ids, texts = tokens.ids[1:] + ends[0], tokens.texts[1:] + ends[1]
    said = logits.double().log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
    return Chain(texts, ids, said.numpy())
