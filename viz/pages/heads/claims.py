"""What is true of the open head, in words, computed from the records: rank for the pair, the twin sentence, the other
noun."""
from model.core import heads
from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.view import View
from viz.claims import as_printed, first_true, lead, rank
from viz.examples import Example, token_of
from viz.format import format_weight, head_label, token_label
from viz.text import escape_markdown, strings

BLIND = 1e-5    # weights that differ by less are the same: the row has not seen the other word
HARDLY = 0.1    # a change of at most this share of the weight is called "hardly moves"


def head_claims(record: AttentionRecord, view: View, twin: AttentionRecord | None = None,
                example: Example | None = None) -> list[str]:
    """Sentences in Markdown about the open head and the pair of the view; empty without a pair."""
    if view.pair is None:
        return []
    attention_map = record[view.kind]
    weights = heads.pair_weights(attention_map, *view.pair)
    here = (view.layer, view.head)
    allowed = attention_map.layer(view.layer).allowed.block(slice(view.pair[0], view.pair[0] + 1),
                                                            slice(0, len(attention_map.keys)))
    place, alike = rank(weights[here], weights.values())
    facts = {"head": head_label(*here), "weight": format_weight(weights[here]), "n": len(weights), "rank": place,
             "others": alike - 1,
             "a": token_label(attention_map.queries, view.pair[0]), "b": token_label(attention_map.keys, view.pair[1]),
             "uniform": format_weight(1 / max(1, int(allowed.reshape(-1, allowed.shape[-1])[0].sum())))}
    name = first_true([(place == 1 and alike == 1, "largest"), (place == 1, "largest_shared"),
                       (alike == 1, "ranked"), (True, "ranked_shared")])
    sentences = [strings("heads")["claims"][name].format(**facts)]
    if twin is not None and example is not None:
        sentences += _twin_claims(record, view, twin, example, weights)
    return sentences


def _twin_claims(record: AttentionRecord, view: View, twin: AttentionRecord, example: Example,
                 weights: dict) -> list[str]:
    """What the same head does in the twin sentence, if it has the same pair of words."""
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
    rival_now = heads.pair_weights(record[view.kind], view.pair[0], rival_here)
    new_word = example.swap[1] if record.query.text == example.text else example.swap[0]
    facts = {"word": f"*{escape_markdown(new_word)}*", "rival": f"*{escape_markdown(example.rival)}*",
             "rival_now": format_weight(rival_now[here]), "twin": format_weight(to_key[here]),
             "rival_twin": format_weight(to_rival[here])}
    if view.kind.base is Kind.CAUSAL and all(abs(to_key[place] - weight) < BLIND for place, weight in weights.items()):
        return [words["blind"].format(**facts)]
    other = max((head for head in weights if head != here), key=weights.__getitem__, default=None)
    sentences = [words[verdict((weights[here], rival_now[here]), (to_key[here], to_rival[here]))].format(**facts)]
    if other is not None:
        sentences.append(words["other"].format(head=head_label(*other), weight=format_weight(weights[other]),
                                               twin=format_weight(to_key[other])))
    return [*sentences, words["caution"]]


# (who leads in this sentence, who in the twin): the sentence; 1 the first noun, −1 its rival, 0 both print the same
LEADS = {(1, -1): "switches", (-1, 1): "returns", (-1, -1): "behind", (0, 1): "even_now", (0, -1): "even_now",
         (0, 0): "even_both", (1, 0): "even_then", (-1, 0): "even_then"}


def verdict(now: tuple[float, float], then: tuple[float, float]) -> str:
    """Which sentence fits. now, then: the weights to the first noun and to its rival in this sentence and in the
    twin. Everything is told from the digits that are printed."""
    leads = lead(*now), lead(*then)
    if leads in LEADS:
        return LEADS[leads]
    change = round(as_printed(then[0]) / as_printed(now[0]), 9)   # 0.72 / 0.8 is a little less than 0.9
    return first_true([(change == 1, "same"), (change > 1 + HARDLY, "grows"), (change < 1 - HARDLY, "weakens"),
                       (True, "stays")])
