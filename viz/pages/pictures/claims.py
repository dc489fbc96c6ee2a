"""What is true of the row in focus over a picture, in words computed from the record."""
import numpy as np

from model.core import heads
from model.core.record import AttentionRecord
from model.core.view import View, allowed_keys
from viz import glow
from viz.components.picture_view.rows import patch_name
from viz.format import format_number, format_share, format_signed, format_weight, head_label, rank
from viz.text import escape_markdown, strings

NAMED = 3    # classes or texts, at most, that are named
SUM = 1e-4   # how far a sum of shares may be from 1


def row_claims(record: AttentionRecord, view: View) -> list[str]:
    """Sentences in Markdown on what the token in focus looks at in the open head."""
    words, attention_map, token = strings("pictures")["claims"], record[view.kind], view.token or 0
    layer, tokens = attention_map.layer(view.layer), attention_map.keys
    weights = heads.row_weights(layer, token)[view.head].astype(np.float64)
    patches, even = np.array(tokens.patches), glow.even_weight(allowed_keys(layer, token))
    on_patches = weights[patches]
    largest, share = on_patches.max(), on_patches.sum() / weights.sum()
    first = int(patches[on_patches.argmax()])
    sentences = [words["most"].format(**{"from": escape_markdown(patch_name(attention_map.queries, token))},
                                      head=head_label(view.layer, view.head),
                                      to=escape_markdown(patch_name(tokens, first)), weight=format_weight(largest),
                                      tied=rank(largest, on_patches)[1],
                                      times=format_number(largest / even, 2))]
    if largest > 0:
        half, size = half_of(on_patches), len(patches)
        sentences.append(words["half"].format(half=half, size=size, even=-(-size // 2)))
    special = len(tokens) - len(patches)
    if special:
        sentences.append(words["special"].format(share=format_share(1 - share), count=special,
                                                 even=format_share(special / len(tokens))))
    return sentences


def half_of(weights: np.ndarray) -> int:
    """How many of the largest weights make up half of their sum, at least."""
    ordered = np.sort(weights)[::-1]
    return int(np.searchsorted(np.cumsum(ordered), ordered.sum() / 2) + 1)


def answer_claim(record: AttentionRecord) -> str | None:
    """What the model answers about the picture: its best classes with their probabilities, or the texts that were typed
    with their cosines; of a vector alone nothing."""
    prediction, words = record.prediction, strings("pictures")["claims"]
    if prediction is None or not prediction.texts:
        return None
    names = [escape_markdown(name) for name in prediction.texts[0][:NAMED]]
    if not prediction.cosines:
        said = [f"{name} ({format_share(share)})" for name, share in zip(names, prediction.probabilities[0])]
        return words["answer"].format(names=", ".join(said))
    said = [f"{name} ({format_signed(cosine, '.3f')})" for name, cosine in zip(names, prediction.cosines[0])]
    count, share = len(prediction.texts[0]), format_share(prediction.probabilities[0][0])
    # a sigmoid for each (SigLIP) sums to anything, a softmax over all texts (CLIP) to 1
    shared = abs(sum(prediction.probabilities[0]) - 1) < SUM
    ends = "shared" if shared and count > 1 else "alone" if shared else "by_itself"
    return words["texts"].format(names=", ".join(said)) + " " + words[ends].format(share=share, count=count)
