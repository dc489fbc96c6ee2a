"""What the row in focus of the open head looks at, in a sentence; which of its weights are equal is told from the
digits that are printed."""
from model.core import heads
from model.core.record import AttentionRecord, Tokens
from model.core.view import View
from viz.format import format_weight, head_label, token_label
from viz.text import strings

NAMED = 3   # tokens, at most, that share the largest weight and are named


def row_claim(record: AttentionRecord, view: View) -> str:
    """A sentence in Markdown about the token in focus in the open head."""
    attention_map, token = record[view.kind], view.token or 0
    layer, keys, words = attention_map.layer(view.layer), attention_map.keys, strings("heads")["row"]
    if layer.sees_nothing[view.head, token]:
        looking = token_label(attention_map.queries, token)
        return words["blind"].format(head=head_label(view.layer, view.head), a=looking)
    weights = heads.row_weights(layer, token)[view.head]
    allowed = layer.allowed.block(slice(token, token + 1), slice(0, len(keys))).reshape(-1, 1, len(keys))
    count = max(1, int(allowed[view.head if len(allowed) > 1 else 0].sum()))
    groups: dict[str, list[int]] = {}
    for key in sorted(range(len(keys)), key=lambda key: (-weights[key], key)):
        groups.setdefault(format_weight(weights[key]), []).append(key)
    (most, first), *others = groups.items()
    facts = {"head": head_label(view.layer, view.head), "a": token_label(attention_map.queries, token),
             "weight": most, "uniform": format_weight(1 / count), "names": _names(keys, first, words)}
    sentence = words["one" if count == 1 else "most" if len(first) == 1 else "equal"].format(**facts)
    if count > 1 and len(first) == 1 and len(others[0][1]) == 1 and float(others[0][0]) > 0:
        sentence += words["then"].format(b=token_label(keys, others[0][1][0]), second=others[0][0])
    return sentence + ("" if count == 1 else words["uniform"].format(**facts))


def _names(keys: Tokens, places: list[int], words: dict) -> str:
    """The tokens in one phrase; of many the first ones and how many more."""
    names = [token_label(keys, place) for place in places[:NAMED]]
    if len(places) > NAMED:
        return words["more"].format(names=", ".join(names), count=len(places) - NAMED)
    return names[0] if len(names) == 1 else words["and"].format(names=", ".join(names[:-1]), last=names[-1])
