"""python -m model why | writes | circuits: what made a score, what made a logit, and what heads are made to do."""
import math
from typing import Any

import click
import numpy as np

from model.ask import sources
from model.cli.commands import MODEL, answer_to, as_json, whole
from model.core.query import Kind, UserError, head_label, quiet
from model.core.record import AttentionRecord
from model.studies import circuits
from model.studies.mechanisms import MechanismsQuery

SHOWN = 10   # rows of a table for people
JSON = click.option("--json", "json_wanted", is_flag=True, help="Print one JSON object, for scripts.")
TEXT = click.option("--text", required=True, help="What the model reads.")
TARGET = click.option("--target", help="The decoder's text, for an encoder–decoder.")


def _kind(record: AttentionRecord, wanted: str | None) -> Kind:
    """The kind of attention that is asked for, or the record's first. Raises UserError where it has none such."""
    if wanted is not None and wanted not in record.kinds:
        raise UserError(f"There is no {wanted} attention; choose {' or '.join(record.kinds)}.")
    return Kind(wanted) if wanted else record.kinds[0]


@click.command("why")
@MODEL
@TEXT
@TARGET
@click.option("--kind", help="self, causal or cross; the model's first one unless given.")
@click.option("--layer", type=whole(0), required=True, help="The layer, from 0.")
@click.option("--head", type=whole(0), required=True, help="The head, from 0.")
@click.option("--query", "looking", required=True, help="The token that looks: its position from 0, or its text.")
@click.option("--key", "looked_at", required=True, help="The token that is looked at.")
@JSON
def why_command(model_id: str, text: str, target: str | None, kind: str | None, layer: int, head: int, looking: str,
                looked_at: str, json_wanted: bool) -> None:
    """Split one score before the softmax by what wrote its query and what wrote its key.

    Writers are the parts of the embedding, every earlier head (L·H), every earlier feed-forward layer (mlp L) and bias.
    Their products sum to the score; norms keep the scale they had in this pass.

    \b
    clearhead why --model minilm --text "The cat sat." --layer 3 --head 1 --query 3 --key 2 --json
    """
    query = sources.open_query(model_id, text, target=target)
    record = answer_to(query)
    chosen = _kind(record, kind)
    if not record[chosen].has(layer, head):
        raise UserError(f"There is no head {head} in {chosen} layer {layer}; choose one that the model has.")
    places = _place(record[chosen].queries, looking), _place(record[chosen].keys, looked_at)
    found = answer_to(circuits.WhyQuery(query, chosen, layer, head, *places))
    table = found.frame()
    if json_wanted:
        as_json({"score": found.score, "total": found.total, "terms": dict(found.terms),
                 "parts": table.to_dict("records")})
        return
    click.echo(f"score {found.score:.4f}, the sum of all parts {found.total:.4f}")
    for name, value in found.terms:
        click.echo(f"  {value:+.4f}  {name}")
    for row in table.head(SHOWN).itertuples():
        click.echo(f"  {row.value:+.4f}  {row.query_from} × {row.key_from}")


def _place(tokens: Any, wanted: str) -> int:
    """A position, given as a number or as a text."""
    return int(tokens.index(int(wanted) if wanted.isdecimal() else wanted))


@click.command("writes")
@MODEL
@TEXT
@TARGET
@click.option("--position", type=whole(), required=True, help="The position whose answer is split; -1 is the last.")
@click.option("--answer", required=True, help="A token of the vocabulary, or its id.")
@click.option("--rival", help="Another one, whose logit is subtracted.")
@JSON
def writes_command(model_id: str, text: str, target: str | None, position: int, answer: str, rival: str | None,
                   json_wanted: bool) -> None:
    """Split a logit, or the difference of two, by what wrote into the residual stream (direct logit attribution).

    \b
    clearhead writes --model smollm2 --text "The cat sat on the" --position -1 --answer " mat" --rival " dog" --json
    """
    query = sources.open_query(model_id, text, target=target)
    record = answer_to(query)
    opened = sources.models.open(query, quiet)
    count = len(record.maps[-1].queries)
    place = position + count if position < 0 else position
    if place not in range(count):
        raise UserError(f"There is no position {position}; choose one from 0 to {count - 1}, or -1 for the last.")
    ids = [_id_of(opened, word) for word in (answer, rival) if word is not None]
    found = answer_to(circuits.WritesQuery(query, place, *ids))
    if json_wanted:
        as_json({"difference": found.difference, "total": found.total, "embedding": found.embedding,
                 "heads": found.heads.tolist(), "cross": found.cross.tolist(),
                 "feed_forward": found.feed_forward.tolist(), "bias": found.bias, "rest": found.rest})
        return
    click.echo(f"logit difference {found.difference:.4f}, the sum of all parts {found.total:.4f}")
    click.echo(f"  {found.embedding:+.4f}  embedding\n  {found.bias:+.4f}  bias")
    for layer, value in enumerate(found.feed_forward.tolist()):
        click.echo(f"  {value:+.4f}  mlp {layer}")
    for row in found.frame().head(SHOWN).itertuples():
        click.echo(f"  {row.value:+.4f}  head {head_label(int(row.layer), int(row.head))}")


def _id_of(opened: Any, word: str) -> int:
    """The id of a token. Raises UserError where the vocabulary lacks it as one token."""
    if word.isdecimal():
        return int(word)
    tokenizer = opened.tokenizer
    if hasattr(tokenizer, "encode") and hasattr(tokenizer, "all_special_ids"):
        ids = tokenizer.encode(word, add_special_tokens=False)
        if len(ids) == 1:
            return int(ids[0])
    found = opened.vocabulary.number(word)
    if found is None:
        raise UserError(f"{word!r} is not one token of this vocabulary; write it as the model does (with its leading "
                        f"space, perhaps), or give its id.")
    return int(found)


@click.command("circuits")
@MODEL
@JSON
def circuits_command(model_id: str, json_wanted: bool) -> None:
    """What heads are made to do, from the weights alone: copying, matching, detectors, and composed pairs.

    \b
    clearhead circuits --model smollm2 --json
    """
    found = answer_to(MechanismsQuery(model_id, sources.revision(model_id)))
    heads, pairs = found.frame().reset_index(), found.pairs()
    if json_wanted:
        as_json({"model": model_id, "heads": _rows(heads), "pairs": _rows(pairs),
                 "null": {kind: {"mean": mean, "high": high} for kind, (mean, high) in found.null.items()}})
        return
    click.echo(heads.round(3).to_string(index=False, max_rows=40))
    click.echo("\npairs above random heads, by composition:")
    click.echo(pairs.head(SHOWN).round(3).to_string(index=False))


def _rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a frame as JSON has them: NaN is null."""
    return [{name: None if isinstance(value, float) and math.isnan(value) else
             value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
            for row in table.to_dict("records")]
