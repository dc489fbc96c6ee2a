"""Each token's probability after those before it, from a model of ours."""
import torch

from model.core.query import Query, UserError
from model.core.types import Progress
from model.scratch.reader import Reader
from model.scratch.tokens import END
from model.studies.predictions import SequenceLikelihood


def sequence_likelihood(model: Reader, query: Query, report: Progress) -> SequenceLikelihood:
    """The probabilities of the translator's target with its end, or of a decoder's text. Raises UserError for an
    encoder, which predicts no next token."""
    if not model.transformer.config.decoder_layers:
        raise UserError(f"{model.card.title} has no decoder, so there is no next token to give a probability to; "
                        f"choose the translator.")
    sides, _, _ = model.sides(query)
    tokens = sides.get("target", sides["source"])
    logits, _ = model.run(query, sides, report)
    ids, texts = tokens.ids[1:], tokens.texts[1:]
    if "target" in sides and hasattr(model.tokenizer, "words"):
        ids, texts = (*ids, END), (*texts, model.tokenizer.words[END])
    log_probabilities = logits.double().log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
    return SequenceLikelihood(texts, ids, log_probabilities.numpy())
