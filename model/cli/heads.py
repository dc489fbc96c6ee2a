"""clearhead compare | score: compare heads between two models or texts, and score heads by a custom rule."""
from itertools import islice
from pathlib import Path

import click

from clearhead.model import sources
from clearhead.model.cli.commands import JSON, KIND, LIMIT, MODEL, READ, answer_to, as_json, echo_table, tell_unread
from clearhead.model.core.query import Kind
from clearhead.model.core.record import unread
from clearhead.model.core.statistics import too_few
from clearhead.model.studies import comparison, corpus, rule


@click.command("compare")
@MODEL
@click.option("--with", "other", help="The other model; default: the same model (give --text-2).")
@click.option("--text", help="The text for both sides, or for the first.")
@click.option("--text-2", "second", help="The second text.")
@click.option("--texts", "file", type=READ, help="A file of texts (.txt, .csv or .jsonl) for both models.")
@LIMIT
@KIND
@JSON
def compare_command(model_id: str, other: str | None, text: str | None, second: str | None, file: Path | None,
                    limit: int | None, kind: str | None, json_wanted: bool) -> None:
    """Compare two models, or two texts in one model, head by head.

    The number is the mean Jensen–Shannon divergence of a head's rows in bits: 0 for equal rows, 1 for disjoint rows.
    Over eight different texts or more it comes with a 95% interval.

    \b
    clearhead compare --model bert-base-uncased --with ./fine-tuned --text "The cat sat."
    clearhead compare --model bert-base-uncased --with ./fine-tuned --texts reviews.txt --json
    clearhead compare --model minilm --text "It was too tired." --text-2 "It was too wide."
    """
    if (text is None) == (file is None) or (other is None and second is None) or (file and second is not None):
        raise click.UsageError("Give --text or --texts, and --with or --text-2.")
    chosen = Kind(kind) if kind else None
    pair = [(name, sources.revision(name)) for name in (model_id, other or model_id)]
    if file is not None:
        with file.open("rb") as opened:
            texts = tuple(each for _, each in islice(corpus.texts(opened, file.name), limit))
        found = answer_to(comparison.ModelsQuery(pair[0], pair[1], texts, chosen))
        table = found.frame()
        names = " or ".join(dict.fromkeys(name for name, _ in pair))
        for why in filter(None, (too_few(found.units, "texts"), unread(names, found.unread, len(texts), "texts"))):
            click.echo(why, err=True)
    else:
        queries = [sources.open_query(name, each or "")
                   for (name, _), each in zip(pair, (text, second or text), strict=True)]
        wanted = chosen or answer_to(queries[0]).kinds[0]
        table = answer_to(comparison.ComparisonQuery(queries[0], queries[1], (wanted, wanted))).frame()
        tell_unread(*queries)
    table = table.reset_index()
    if json_wanted:
        as_json({"models": [name for name, _ in pair], "heads": table})
    else:
        echo_table(table)


@click.command("score")
@MODEL
@click.option("--cases", type=READ, required=True,
              help="Texts (.txt), a table with a column text and one per marked side (.csv, .jsonl), or a "
                   "treebank (.conllu).")
@click.option("--from", "looking", required=True, help="The words that look (see above).")
@click.option("--to", "wanted", required=True, help="The words that they should look at.")
@click.option("--no-untrained", is_flag=True, help="Skip the baseline with random weights.")
@JSON
def score_command(model_id: str, cases: Path, looking: str, wanted: str, no_untrained: bool,
                  json_wanted: bool) -> None:
    """Rank every head by a rule of your own: from words matching A to words matching B.

    A side is a column of the cases, words (it,he,she), a regular expression between slashes (/[A-Z]\\w+/), or word for
    any; with a treebank a part of speech (VERB) or a relation (nsubj). The second may be an offset in words (-1, +2). A
    head is right if the word with its largest weight matches. Also printed: the best fixed offset, what the best of all
    heads reaches by chance, the accuracy on held-out sentences, and the same for the model with random weights.

    \b
    clearhead score --model minilm --cases trees.conllu --from VERB --to nsubj
    clearhead score --model minilm --cases mine.csv --from verb --to subject --json
    clearhead score --model minilm --cases texts.txt --from word --to -1
    """
    with cases.open("rb") as file:
        given = rule.read_cases(file, cases.name)
    marked = rule.mark(given, (rule.read_side(looking, given), rule.read_side(wanted, given)))
    report = answer_to(rule.RuleQuery(model_id, sources.revision(model_id), marked))
    twin = sources.untrained(model_id)
    untrained = None if no_untrained else answer_to(rule.RuleQuery(twin, sources.revision(twin), marked))
    if json_wanted:
        as_json({"model": model_id} | report.as_object() | {"untrained": untrained and untrained.as_object()})
        return
    click.echo(f"{report.pairs:,} pairs in {report.sentences:,} sentences, {report.left_out:,} left out: {report}")
    if untrained is not None:
        click.echo(f"untrained model: {untrained}")
    echo_table(report.frame().reset_index())
