"""clearhead why | writes | lens | paths | circuits: explain scores, logits, and what heads do according to their
weights."""
import click

from clearhead.model import sources
from clearhead.model.cli.commands import JSON, KIND, MODEL, answer_to, as_json, echo_table, show, tell_unread
from clearhead.model.core.query import Kind, Query, UserError
from clearhead.model.studies import circuits, contributions
from clearhead.model.studies.mechanisms import MechanismsQuery
from clearhead.model.studies.paths import READS, PathsQuery

TEXT = click.option("--text", required=True, help="What the model reads.")
TARGET = click.option("--target", help="The decoder's text, for an encoder–decoder.")
POSITION = click.option("--position", type=int, default=-1, show_default=True, help="The position to read; -1 = last.")


@click.command("why")
@MODEL
@TEXT
@TARGET
@KIND
@click.option("--layer", type=click.IntRange(0), required=True, help="The layer, from 0.")
@click.option("--head", type=click.IntRange(0), required=True, help="The head, from 0.")
@click.option("--query", "looking", required=True, help="The token that looks: its text, or its position as @3.")
@click.option("--key", "looked_at", required=True, help="The token looked at: its text, or its position as @2.")
@JSON
def why_command(model_id: str, text: str, target: str | None, kind: str | None, layer: int, head: int, looking: str,
                looked_at: str, json_wanted: bool) -> None:
    """Split one score before the softmax by what wrote its query and its key.

    Writers are the parts of the embedding, every earlier head (L·H), every earlier feed-forward layer (mlp L) and the
    bias. Their products sum to the score; norms keep their scale from this pass.

    \b
    clearhead why --model minilm --text "The cat sat." --layer 3 --head 1 --query sat --key cat --json
    """
    query = sources.open_query(model_id, text, target=target)
    record = answer_to(query)
    chosen = record[Kind(kind) if kind else record.kinds[0]]
    chosen.of_head(layer, head)
    found = answer_to(circuits.WhyQuery(query, chosen.kind, layer, head, chosen.queries.index(looking),
                                        chosen.keys.index(looked_at)))
    tell_unread(query)
    content = [{"score": each.score, "total": each.total, "terms": dict(each.terms), "parts": each.frame()}
               for each in (found, found.minus) if each is not None]
    second = {"minus": content[-1], "factor": found.factor} if found.minus else {}
    show(found, found.frame(), json_wanted and content[0] | second)


@click.command("writes")
@MODEL
@TEXT
@TARGET
@POSITION
@click.option("--answer", help="A token of the vocabulary: its text, or its id as @12.")
@click.option("--rival", help="A token whose logit is subtracted.")
@click.option("--other", help="For a sentence model, in place of an answer: the text whose vector is compared.")
@JSON
def writes_command(model_id: str, text: str, target: str | None, position: int, answer: str | None, rival: str | None,
                   other: str | None, json_wanted: bool) -> None:
    """Split a logit, the difference of two, or the cosine of two sentence vectors by what wrote into the residual
    stream (direct attribution).

    \b
    clearhead writes --model smollm2 --text "The cat sat on the" --position -1 --answer " mat" --rival " dog" --json
    clearhead writes --model minilm --text "The cat sat." --other "The dog sat."
    """
    query = sources.open_query(model_id, text, target=target)
    if answer is not None and other is None:
        found = answer_to(contributions.WritesQuery(query, _position(query, position), answer, rival))
    elif other is not None and answer is None:
        found = answer_to(contributions.CosineQuery(query, sources.open_query(model_id, other)))
    else:
        raise UserError("Exactly one of --answer and --other is needed; give --other for a sentence model.")
    tell_unread(query, *([sources.open_query(model_id, other)] if other is not None else []))
    show(found, found.frame(), json_wanted and vars(found) | {"total": found.total, "rest": found.rest})


def _position(query: Query, position: int) -> int:
    """Convert a position in the generated text, possibly negative, to an index. Raises UserError if it does not
    exist."""
    return answer_to(query).maps[-1].queries.index(position)


@click.command("lens")
@MODEL
@TEXT
@TARGET
@POSITION
@JSON
def lens_command(model_id: str, text: str, target: str | None, position: int, json_wanted: bool) -> None:
    """Read the residual stream after every layer with the model's own unembedding (logit lens). Layer -1 is the
    embedding.

    Entropy and the divergence from the final answer are in bits. In the early layers of many models, the residual
    stream is not aligned with the unembedding: a token listed there need not be one that the model considers.

    \b
    clearhead lens --model smollm2 --text "The cat sat on the" --json
    """
    query = sources.open_query(model_id, text, target=target)
    found = answer_to(contributions.LensQuery(query, _position(query, position)))
    tell_unread(query)
    show(found, found.frame().drop(columns="probabilities"), json_wanted and {"layers": found.frame()}, rows=None)


@click.command("paths")
@MODEL
@TEXT
@click.option("--twin", required=True, help="The text that supplies the outputs, of equal length.")
@POSITION
@click.option("--answer", required=True, help="A token of the vocabulary: its text, or its id as @12.")
@click.option("--rival", required=True, help="A token whose logit is subtracted.")
@click.option("--receiver", nargs=2, type=click.IntRange(0), metavar="LAYER HEAD",
              help="The head at the end of the paths; default: the logits.")
@click.option("--reads", type=click.Choice(READS), help="The receiver's input to patch; default: all three.")
@JSON
def paths_command(model_id: str, text: str, twin: str, position: int, answer: str, rival: str,
                  receiver: tuple[int, int] | None, reads: str | None, json_wanted: bool) -> None:
    """Patch each path into one head, or to the logits, on its own: it carries its value from the twin. Heads and
    feed-forward layers in between are frozen; what follows the receiver is recomputed.

    \b
    clearhead paths --model smollm2 --text "When Mary and John went out, John gave it to" \\
        --twin "When Mary and John went out, Mary gave it to" --answer " Mary" --rival " John"
    """
    query, other = (sources.open_query(model_id, each) for each in (text, twin))
    found = answer_to(PathsQuery(query, other, _position(query, position), answer, rival, receiver,
                                 (reads,) if reads else READS))
    tell_unread(query, other)
    show(found, found.frame(), json_wanted and {"plain": found.plain, "twin": found.twin, "paths": found.frame()})


@click.command("circuits")
@MODEL
@JSON
def circuits_command(model_id: str, json_wanted: bool) -> None:
    """Measure what heads do according to their weights alone: copying, matching, detectors, and
    the pairs of heads that compose more than pairs of the same model in the impossible order, later before earlier.

    \b
    clearhead circuits --model smollm2 --json
    """
    found = answer_to(MechanismsQuery(model_id, sources.revision(model_id)))
    heads, pairs = found.frame().reset_index(), found.pairs()
    if json_wanted:
        as_json({"model": model_id, "heads": heads, "pairs": pairs,
                 "null": found.null, "share": {kind: found.share(kind) for kind in found.null}})
        return
    show(found, pairs, None)
    echo_table(heads)
