"""The command line: python -m viz export, handout. Exit codes: 0 done, 2 not possible (one sentence says why) or wrong
usage."""
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from model.ask import sources
from model.cli.progress import answer_to, use_utf8_output
from model.core.files import refuse_overwriting, write
from model.core.query import Kind, UserError
from model.core.record import AttentionRecord, Tokens
from model.core.view import LENSES, SCALES, View
from viz import export as files
from viz.print.options import Options


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Pictures and numbers of a Transformer's attention heads, without a browser."""


@main.command("export")
@click.option("--model", "model_id", required=True,
              help="A name of the catalogue (python -m model list), a fetched hub id, or a folder.")
@click.option("--text", required=True, help="What the model reads.")
@click.option("--text-b", help="A second text, for encoders that read pairs.")
@click.option("--target", help="The other side for an encoder–decoder; without it the model writes its own.")
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]),
              help="Which attention; the model's first one unless given.")
@click.option("--layer", type=click.IntRange(0), default=0, show_default=True, help="The layer, from 0.")
@click.option("--head", type=click.IntRange(0), default=0, show_default=True, help="The head, from 0.")
@click.option("--lens", type=click.Choice(LENSES), default="matrix", show_default=True, help="How the head is drawn.")
@click.option("--scale", type=click.Choice(SCALES), default="linear", show_default=True,
              help="How a weight becomes a colour.")
@click.option("--token", help="The token in focus: its text, or its position from 0.")
@click.option("--pair", nargs=2, metavar="FROM TO", help="Two tokens to mark, each its text or its position from 0.")
@click.option("--words", is_flag=True,
              help="Words instead of word pieces: summed over pieces attended to, averaged over pieces attending.")
@click.option("--hide-special", is_flag=True, help="Leaves out tokens that the tokenizer added, such as [CLS].")
@click.option("--transpose", is_flag=True, help="Columns look, rows are looked at.")
@click.option("--grid", is_flag=True, help="All heads of the kind instead of one (PNG, SVG, PDF).")
@click.option("--zoom", type=click.IntRange(1, 8), default=2, show_default=True, help="Pixels a point, for PNG.")
@click.option("--no-caption", is_flag=True, help="Leaves out the caption; the provenance stays inside the file.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, writable=True, path_type=Path),
              help="The file; its ending says the format.")
def export(model_id: str, text: str, text_b: str | None, target: str | None, out: Path, **shown: Any) -> None:
    """Writes one head, or all of them, as .png, .svg, .pdf (pictures), .html (alive), .csv (its numbers) or .npz (the
    numbers of all heads).

    \b python -m viz export --model minilm --text "The cat sat." --layer 3 --head 1 --out head.svg python -m viz export
    --model minilm --text "The cat sat." --layer 3 --head 1 --lens lines --token sat --out lines.pdf python -m viz
    export --model minilm --text "The cat sat." --grid --zoom 4 --out all.png python -m viz export --model minilm --text
    "The cat sat." --out all.npz

    Every file carries where it comes from: the model and its revision, the text, the view and the versions, as one JSON
    string. """
    try:
        if out.suffix.lower() not in files.formats():
            raise UserError(f"{out.name} does not say a format; end it in one of {', '.join(sorted(files.formats()))}.")
        record = answer_to(sources.open_query(model_id, text, text_b, target))
        content = files.export(out.suffix, record, _view(record, shown),
                               Options(shown["grid"], shown["zoom"], not shown["no_caption"]))
        write(out, content)
    except UserError as error:
        raise _Refused(str(error)) from error
    click.echo(f"{out}: {len(content):,} bytes")


@main.command("handout")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--html", "to_html", type=click.Path(dir_okay=False, writable=True, path_type=Path),
              help="Where the HTML page goes.")
@click.option("--pdf", "to_pdf", type=click.Path(dir_okay=False, writable=True, path_type=Path),
              help="Where the PDF goes; needs a Chromium.")
def handout(file: Path, to_html: Path | None, to_pdf: Path | None) -> None:
    """Writes a handout that was saved on the page Handout (.handout.json) as one HTML page, as a PDF, or both.

    \b
    python -m viz handout lesson.handout.json --html lesson.html
    python -m viz handout lesson.handout.json --pdf lesson.pdf
    """
    from viz.handout import page, pdf
    from viz.handout.files import load

    if not (to_html or to_pdf):
        raise _Refused("Nothing was asked for; say --html OUT or --pdf OUT.")
    try:
        saved_handout = load(file.read_bytes())
        for out, make in ((to_html, page.page), (to_pdf, pdf.pdf)):
            if out:
                refuse_overwriting(out, file)
                content = make(saved_handout)
                write(out, content)
                click.echo(f"{out}: {len(content):,} bytes")
    except UserError as error:
        raise _Refused(str(error)) from error
    except OSError as error:
        raise _Refused(f"{file} could not be read ({error.strerror or error}); choose another file.") from error


class _Refused(click.ClickException):
    exit_code = 2


def _view(record: AttentionRecord, shown: dict) -> View:
    """The view that the options describe, over the kind that is asked for or the record's first."""
    names = ("layer", "head", "lens", "scale", "words", "hide_special", "transpose")
    view = replace(View(kind=Kind(shown["kind"] or record.kinds[0])), **{name: shown[name] for name in names})
    if view.kind not in record.kinds:
        raise UserError(f"This model has no {view.kind} attention; choose {' or '.join(record.kinds)}.")
    sides = record[view.kind].queries, record[view.kind].keys
    pair = (_position(sides[0], shown["pair"][0]), _position(sides[1], shown["pair"][1])) if shown["pair"] else None
    token = pair[0] if pair else None
    if shown["token"]:
        token = _position(sides[0], shown["token"])
    return replace(view, token=token, pair=pair)


def _position(tokens: Tokens, wanted: str) -> int:
    """The first token with this text, or the token at this position."""
    if wanted in tokens.texts:
        return tokens.texts.index(wanted)
    if wanted.isdecimal() and int(wanted) < len(tokens):
        return int(wanted)
    raise UserError(f"There is no token {wanted!r}; choose among: {' '.join(tokens.texts)[:500]}")


if __name__ == "__main__":
    use_utf8_output()
    main(prog_name="python -m viz")
