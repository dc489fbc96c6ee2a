"""Each token's probability after those before it, from a pretrained decoder."""
from model.capture import forward_pass
from model.core.query import UserError
from model.pretrained import patching
from model.pretrained.inputs import tokenize_query
from model.studies.perplexity import Chain


def chain(model, query, report) -> Chain:
    """Of the query's text, from its second token on (the first, where it is a start token, is not part of the text
    anyway).

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
    said = logits.log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
    return Chain(question.source.texts[1:], ids, said.detach().numpy())
