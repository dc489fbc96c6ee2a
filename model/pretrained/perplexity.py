"""Each token's probability after those before it, from a pretrained decoder."""
from typing import Any

from model.capture import forward_pass
from model.core.query import Query, UserError
from model.core.types import Progress
from model.pretrained import patching
from model.pretrained.inputs import tokenize_query
from model.studies.predictions import SequenceLikelihood


def sequence_likelihood(model: Any, query: Query, report: Progress) -> SequenceLikelihood:
    """The probabilities of the text's tokens from the second on; a first one that only starts is no part of the text.

    Raises UserError for a model that predicts no next token and for a text of one token.
    """
    import torch

    if model.head != "next":
        raise UserError(f"{model.card.title} predicts no next token of a text; choose a decoder, such as SmolLM2.")
    question = tokenize_query(model.network, model.tokenizer, query, model.card.max_tokens)
    if len(question.source) < 2:
        raise UserError("A single token has nothing before it to be predicted from; type another word.")
    session = patching.session(model, query, question.lengths)
    logits = forward_pass.run(session, lambda: model.network(**question.tensors)).logits[0, :-1].double()
    ids = question.source.ids[1:]
    logs = logits.log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
    return SequenceLikelihood(question.source.texts[1:], ids, logs.detach().numpy())
