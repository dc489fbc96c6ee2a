"""What is said of the open head: its weight for the pair, in this sentence and in its twin, or the row in focus."""
import numpy as np

from model.core import heads
from model.core.query import Kind
from model.core.record import AttentionMap, AttentionRecord
from model.core.view import View
from viz.examples import Example, token_of
from viz.format import format_weight, head_label, rank, token_label
from viz.text import escape_markdown, strings

BLIND = 1e-5    # weights that differ by less are the same: the row has not seen the other word
NAMED = 3       # keys of a row that are named


def head_claims(record: AttentionRecord, view: View, twin: AttentionRecord | None = None,
                example: Example | None = None) -> list[str]:
    """Sentences in Markdown about the open head and the pair of the view; empty without a pair."""
    if view.pair is None:
        return []
    attention_map, here = record[view.kind], (view.layer, view.head)
    weights = heads.pair_weights(attention_map, *view.pair)
    place, tied = rank(weights[here], weights.values())
    sentence = strings("heads")["claims"]["pair"].format(
        head=head_label(*here), weight=format_weight(weights[here]), n=len(weights), rank=place, tied=tied,
        a=token_label(attention_map.queries, view.pair[0]), b=token_label(attention_map.keys, view.pair[1]),
        uniform=_uniform(attention_map, view, view.pair[0]))
    if twin is None or example is None:
        return [sentence]
    return [sentence, *_twin_claims(record, view, twin, example, weights)]


def _twin_claims(record: AttentionRecord, view: View, twin: AttentionRecord, example: Example,
                 weights: dict) -> list[str]:
    """The same heads' weights in the twin sentence, if it has the same pair of words."""
    if not example.rival or not example.swap:
        return []
    tokens, texts = twin[view.kind].queries, (twin.query.text, twin.query.text_b)
    query, key, rival = (token_of(tokens, texts, word) for word in (*example.pair, example.rival))
    *pair, rival_here = (token_of(record[view.kind].queries, (record.query.text, record.query.text_b), word)
                         for word in (*example.pair, example.rival))
    if query is None or key is None or rival is None or rival_here is None:
        return []
    if view.pair is None or tuple(pair) != view.pair:
        return []
    words, here = strings("heads")["claims"], (view.layer, view.head)
    to_key, to_rival = (heads.pair_weights(twin[view.kind], query, noun) for noun in (key, rival))
    new_word = example.swap[1] if record.query.text == example.text else example.swap[0]
    word = f"*{escape_markdown(new_word)}*"
    if view.kind.base is Kind.CAUSAL and all(abs(to_key[head] - weight) < BLIND for head, weight in weights.items()):
        return [words["blind"].format(word=word)]
    sentences = [words["twin"].format(
        word=word, rival=f"*{escape_markdown(example.rival)}*", b=token_label(record[view.kind].keys, view.pair[1]),
        rival_now=format_weight(heads.pair_weights(record[view.kind], view.pair[0], rival_here)[here]),
        twin=format_weight(to_key[here]), rival_twin=format_weight(to_rival[here]))]
    if others := [head for head in weights if head != here]:
        other = max(others, key=weights.__getitem__)
        sentences.append(words["other"].format(head=head_label(*other), weight=format_weight(weights[other]),
                                               twin=format_weight(to_key[other]), word=word))
    return [*sentences, words["caution"]]


def row_claim(record: AttentionRecord, view: View) -> str:
    """A sentence in Markdown about the token in focus in the open head: the keys with most weight."""
    attention_map, token, words = record[view.kind], view.token or 0, strings("heads")["row"]
    layer, keys = attention_map.layer(view.layer), attention_map.keys
    facts = {"head": head_label(view.layer, view.head), "a": token_label(attention_map.queries, token)}
    if layer.sees_nothing[view.head, token]:
        return words["blind"].format(**facts)
    weights = heads.row_weights(layer, token)[view.head]
    first = [key for key in np.argsort(-weights, kind="stable")[:NAMED] if weights[key] > 0]
    named = ", ".join(words["key"].format(token=token_label(keys, key), weight=format_weight(weights[key]))
                      for key in first)
    return words["most"].format(keys=named, uniform=_uniform(attention_map, view, token), **facts)


def _uniform(attention_map: AttentionMap, view: View, token: int) -> str:
    """The weight of each key in a uniform row of this head."""
    allowed = attention_map.layer(view.layer).allowed.block(slice(token, token + 1), slice(0, len(attention_map.keys)))
    rows = allowed.reshape(-1, allowed.shape[-1])
    return format_weight(1 / max(1, int(rows[view.head if len(rows) > 1 else 0].sum())))
