"""The command line: clearhead list | ask | verify | fetch | coref | claims | syntax | train | atlas | limits.

Exit codes: 0 done, 2 not possible (one sentence on standard error says why) or wrong usage; `verify` has more.
"""
import math
import sys
from pathlib import Path

import click
import numpy as np

from clearhead.model import sources
from clearhead.model.cli.atlas import atlas_command
from clearhead.model.cli.circuits import circuits_command, lens_command, paths_command, why_command, writes_command
from clearhead.model.cli.commands import (
    ANSWER,
    JSON,
    MODEL,
    READ,
    WRITE,
    Commands,
    Refused,
    answer_to,
    as_json,
    kept_picture,
    limits_command,
    run,
    tell,
    with_answer,
)
from clearhead.model.cli.heads import compare_command, score_command
from clearhead.model.cli.studies import claims_command, coref_command, syntax_command, train_command
from clearhead.model.core import pictures, statistics
from clearhead.model.core.files import refuse_overwriting
from clearhead.model.core.query import NotOnDisk, UserError, isolated
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.tokens import PATCH

PROBE_TEXT = "The animal didn't cross the street because it was too tired."
EXIT = {"verified": 0, "reported": 3, "refused": 1}


class RefusedModel(Refused):
    """A model that cannot be shown."""

    exit_code = EXIT["refused"]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Ask a model what its attention heads look at in a text or a picture, and verify the result.

    MODEL is a catalogue name such as minilm (see `clearhead list`), the id of a downloaded hub model, a folder
    (LoRA adapters included) or a GGUF file.

    \b
    clearhead ask --model minilm --text "The animal didn't cross the street because it was too tired." \\
        --pair it animal
    clearhead ask --model minilm --text "A book." --npz weights.npz
    clearhead ask --model dinov2-small --image cat.jpg --npz weights.npz
    clearhead ask --model smolvlm --image cat.jpg --text "What is this?" --chat --answer 20
    clearhead verify minilm
    clearhead fetch smollm2
    """


for _command in (why_command, writes_command, lens_command, paths_command, circuits_command, compare_command,
                 score_command, coref_command, claims_command, syntax_command, train_command, atlas_command,
                 limits_command):
    main.add_command(_command)
atlas_command.add_command(score_command)


@main.command("list")
@JSON
def list_models(json_wanted: bool) -> None:
    """List the catalogue's models: name, size, licence, whether on disk, and what each is good for."""
    offers = list(sources.catalogue().values())
    if json_wanted:
        as_json(offers, indent=1)
    for offer in () if json_wanted else offers:
        size = f"{offer.size / 1e6:,.0f} MB" if offer.size else "created here"
        place = "on disk" if offer.on_disk else "to fetch"
        click.echo(f"{offer.id:<14} {place:<9} {size:>17}  {offer.licence:<14} {offer.title}\n{'':14} {offer.good_for}")


@main.command()
@MODEL
@click.option("--text", help="What the model reads; with --image a question, or the texts that CLIP compares it with, "
                             "a line each.")
@click.option("--image", type=READ, help="A picture, for models that read pictures: PNG, JPEG or WebP.")
@click.option("--text-b", help="A second text, for encoders that read pairs.")
@click.option("--target", help="The other side for an encoder–decoder; without it the model writes its own.")
@click.option("--chat", is_flag=True, help="The text is a user's turn in the model's own chat template.")
@click.option("--pair", nargs=2, metavar="FROM TO",
              help="Ranks all heads by the weight between two tokens: their texts, or positions such as @0.")
@ANSWER
@JSON
@click.option("--npz", type=WRITE,
              help="Writes the weights of all heads to this file, float32 (layer, head, query, key).")
def ask(model_id: str, text: str | None, image: Path | None, text_b: str | None, target: str | None,  # noqa: PLR0913
        chat: bool, pair: tuple[str, str] | None, most: int | None, json_wanted: bool, npz: Path | None) -> None:
    """Ask a model about a text or a picture."""
    if text is None and image is None:
        raise click.UsageError("Give --text, or --image for a model that reads pictures.")
    if npz:
        refuse_overwriting(npz, *([image] if image else []))
    query = sources.open_query(model_id, text or "", text_b, target, image=kept_picture(image) if image else None,
                               chat=chat)
    record = answer_to(with_answer(query, most))
    ranking = None if pair is None else _ranking(record, *pair)
    if npz:
        from clearhead.model.core.npz import write_npz

        write_npz(record, npz)
    if json_wanted:
        as_json(_as_object(record, ranking))
    else:
        click.echo(_as_text(record, ranking))


@main.command()
@click.argument("model_id", metavar="ID")
def verify(model_id: str) -> None:
    """Verify a model: against its own eager attention at load, and against its real output on a sentence.

    The exit code is 0 if it is verified, 3 if it is only reported (with the reason), 1 if it is refused.
    """
    try:
        record = answer_to(sources.open_query(*_probe(model_id)))
    except UserError as error:
        raise RefusedModel(str(error)) from error
    click.echo(_verdict(record))
    sys.exit(EXIT[record.verification.status])


@main.command()
@click.argument("model_id", metavar="ID")
def fetch(model_id: str) -> None:
    """Download a model to this disk: a catalogue name or a hub id. A GGUF file is converted.

    After Ctrl-C, the same command resumes.
    """
    folder = sources.fetch_now(model_id, lambda fraction, text: tell(f"\r{fraction:4.0%} {text:<90.90}"))
    click.echo(f"{model_id} is in {folder}")
    try:
        sources.revision(model_id)
    except NotOnDisk as missing:   # the base of an adapter
        click.echo(str(missing))


def _probe(model_id: str) -> tuple:
    """Return the input that a model is verified on, in `open_query`'s form: a sentence, a shipped picture or both."""
    reads = sources.locate(model_id).reads
    image = pictures.offered(model_id)[0].sha256 if "image" in reads else None
    return model_id, PROBE_TEXT if image is None or "prompt" in reads else "", None, None, (), (), image


def _ranking(record: AttentionRecord, wanted: str, looked_at: str) -> list[dict]:
    """Rank every head by its weight from one token to another, largest first, over all kinds that have both tokens."""
    from clearhead.model.core import heads

    ranking, errors = [], []
    for each in record.maps:
        try:
            row, column = each.queries.index(wanted), each.keys.index(looked_at)
        except UserError as error:
            errors.append(error)
            continue
        ranking += [{"kind": str(each.kind), "layer": layer, "head": head, "weight": weight}
                    for layer, head, weight in heads.rank_heads_for_pair(each, row, column)]
    if not ranking:
        raise errors[-1]
    return sorted(ranking, key=lambda entry: -entry["weight"])


def _as_object(record: AttentionRecord, ranking: list[dict] | None) -> dict:
    maps = [{"kind": str(each.kind), "layers": [{"index": layer.index, "heads": layer.heads} for layer in each.layers],
             "queries": each.queries.texts, "keys": each.keys.texts} for each in record.maps]
    answer = {"model": record.query.model, "chat": record.query.chat,
              "revision": record.query.revision, "title": record.card.title,
              "card": record.card.note, "maps": maps, "verification": record.verification,
              "omitted": record.omitted, "notes": record.notes}
    if record.prediction is not None and record.prediction.kind != "vector":
        answer["prediction"] = {name: getattr(record.prediction, name) for name in (
            "kind", "positions", "ids", "texts", "probabilities", "cosines")}
    if record.query.image is not None:
        picture = pictures.find(record.query.image)
        answer["image"] = {"sha256": picture.sha256, "width": picture.width, "height": picture.height,
                           "patches": record.maps[0].keys.grid}
    if record.written is not None:
        answer["answer"] = record.written
    return answer if ranking is None else {**answer, "ranking": ranking}


def _as_text(record: AttentionRecord, ranking: list[dict] | None) -> str:
    lines = [_verdict(record)]
    for each in record.maps:
        counts = " or ".join(map(str, sorted({layer.heads for layer in each.layers})))
        lines.append(f"{each.kind}: {len(each.layers)} layers × {counts} heads over {len(each.queries)} × "
                     f"{len(each.keys)} tokens")
        own, side = each.queries.of_picture, each.queries
        words = side.only([token for token in range(len(side)) if token not in own]).texts
        texts = [*[f"{PATCH} × {len(own)}"] * bool(own), *map(isolated, words)]
        lines.append("  " + " ".join(texts[:60]) + (" …" if len(texts) > 60 else ""))
    if record.omitted is not None:
        lines.append(f"{record.omitted.count:,} tokens at the end were left out; the model's limit is "
                     f"{record.omitted.limit:,}.")
    lines += [*record.notes, *([] if record.written is None else [f"answer: {isolated(record.written)}"])]
    lines += [f"{entry['kind']} layer {entry['layer']} head {entry['head']}: {entry['weight']:.3f}"
              for entry in (ranking or [])[:10]]
    if record.prediction is not None and record.prediction.vectors is not None:
        lines.append(_like_first(record, record.prediction.vectors))
    if record.prediction is not None and record.prediction.texts:
        last = zip(record.prediction.texts[-1][:5], record.prediction.probabilities[-1][:5], strict=True)
        lines.append(f"{record.prediction.kind}: "
                     + ", ".join(f"{isolated(text)} {probability:.3f}" for text, probability in last))
    return "\n".join(lines)


def _like_first(record: AttentionRecord, vectors: np.ndarray) -> str:
    """Return the patches whose last-layer vectors have the largest cosines with the first token's, usually [CLS]."""
    tokens, cosines = record.maps[0].keys, statistics.cosines(vectors, vectors[:1])[:, 0]
    best = sorted((patch for patch in tokens.patches if patch), key=lambda patch: -cosines[patch])[:5]
    return f"most like {tokens.texts[0]}: " + ", ".join(f"{tokens.texts[patch]} {cosines[patch]:.3f}" for patch in best)


def _verdict(record: AttentionRecord) -> str:
    found = record.verification
    figures = ""
    if found.status == "verified":
        count = sum(layer.heads for each in record.maps for layer in each.layers)
        figures = (f": outputs recomputed within {found.max_error:.1g} of weights · |value| on "
                   f"{found.rows_checked:,} rows of {count:,} heads, rows sum to 1 within {found.row_sum_error:.1g}")
        if not math.isnan(found.load_error):
            figures += f", {found.load_error:.1g} from the model's own eager weights at load"
    return f"{record.card.title} ({record.query.revision}) {found.status}{figures}" + "".join(
        f"; {reason}" for reason in found.reasons)


if __name__ == "__main__":
    run(main, "clearhead")
