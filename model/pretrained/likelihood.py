"""How probable a model finds some words of a text: after what stands before them, or, for a masked-word model, at masks in their place."""
from model.capture import forward_pass
from model.core.query import Query, UserError
from model.core.types import Span
from model.pretrained import patching
from model.pretrained.inputs import read


def log_probability(model, query: Query, span: Span) -> float:
    """ln P of the words at `span` (characters of the text), the mean over their tokens in nats, under the query's edits.

    A next-word model says it after what stands before; a masked-word model says it with all tokens of the span masked at once, as Kocijan et
    al. 2019 (section 2) do. Raises UserError for a model that says neither.
    """
    import torch

    if model.head not in ("next", "mask"):
        raise UserError(f"{model.card.title} does not say words, so there is no probability to compare; choose a next-word or a masked-word model.")
    question = read(model.network, model.tokenizer, query, model.card.max_tokens)
    places = [token for token, (start, end) in enumerate(question.source.spans)
              if question.source.segments[token] == 0 and start < span[1] and span[0] < end]
    tensors, before = dict(question.tensors), 0 if model.head == "mask" else 1
    if not places or places[0] < before:
        raise UserError(f"{model.card.title} has nothing to say {query.text[slice(*span)]!r} from; put words before it, or shorten the text.")
    said = torch.tensor([question.source.ids[token] for token in places])
    if model.head == "mask":
        masked = tensors["input_ids"].clone()
        masked[0, places] = model.tokenizer.mask_token_id
        tensors["input_ids"] = masked
    session = patching.session(model, query, question.lengths)
    logits = forward_pass.run(session, lambda: model.network(**tensors)).logits[0, [token - before for token in places]].float()
    return float(logits.log_softmax(-1)[torch.arange(len(places)), said].mean())
