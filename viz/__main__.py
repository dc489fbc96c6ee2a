"""The command line: clearhead export, handout and notebook. Exit codes: 0 for success, 2 for wrong usage or an
error, which is one sentence."""
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearhead.model import sources
from clearhead.model.cli.commands import (
    ANSWER,
    FOLDER,
    READ,
    WRITE,
    Commands,
    answer_to,
    kept_picture,
    run,
    with_answer,
)
from clearhead.model.core.files import refuse_overwriting, write
from clearhead.model.core.query import HeadId, Query, UserError, Window
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import LENSES, SCALES, View, checked_view
from clearhead.viz.export.formats import FORMATS, Options, caption
from clearhead.viz.export.formats import export as make_file
from clearhead.viz.export.paper.columns import Layout
from clearhead.viz.export.provenance import stated_address

if TYPE_CHECKING:
    from clearhead.viz.export.handout.files import Handout
    from clearhead.viz.export.handout.page import Photographs


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Draw pictures of a Transformer's attention heads, and export their numbers, without a browser."""


@main.command("export")
@click.option("--model", "model_id",
              help="A name of the catalogue (clearhead list), a fetched hub id, or a folder.")
@click.option("--text", help="What the model reads.")
@click.option("--image", type=READ, help="A picture, for models that read pictures: PNG, JPEG or WebP.")
@click.option("--text-b", help="A second text, for encoders that read pairs.")
@click.option("--target", help="The other side for an encoder–decoder; without it the model writes its own.")
@click.option("--window", nargs=2, type=click.IntRange(0), metavar="WIDTH FIRST",
              help="An edit inside a decoder: each token sees only its last WIDTH keys and the FIRST ones of the text.")
@ANSWER
@click.option("--record", "file", type=READ,
              help="Attention that another tool saved (.npz), or a record that record.save wrote (.safetensors), "
                   "instead of a model and a text; never called verified.")
@click.option("--kind", help="Which attention: self, causal or cross, or such as \"self 2\" for the second stream of a "
                             "record; the model's first one unless given.")
@click.option("--layer", type=click.IntRange(0), help="The layer, from 0; the first one unless given.")
@click.option("--head", "chosen", multiple=True, metavar="HEAD",
              help="The head of --layer, from 0; or LAYER.HEAD, which may be given several times for one figure.")
@click.option("--lens", type=click.Choice(LENSES), default="matrix", show_default=True, help="How the head is drawn.")
@click.option("--scale", type=click.Choice(SCALES), default="linear", show_default=True,
              help="How a weight becomes a colour.")
@click.option("--token", help="The token in focus: its text, or its position as @3.")
@click.option("--pair", nargs=2, metavar="FROM TO", help="Two tokens to mark: their texts, or positions such as @3.")
@click.option("--words", is_flag=True,
              help="Words instead of word pieces: summed over pieces attended to, averaged over pieces attending.")
@click.option("--hide-special", is_flag=True, help="Leaves out tokens that the tokenizer added, such as [CLS].")
@click.option("--transpose", is_flag=True, help="Columns look, rows are looked at.")
@click.option("--grid", is_flag=True, help="All heads of the kind instead of one (PNG, SVG, PDF).")
@click.option("--zoom", type=click.IntRange(1, 8), default=2, show_default=True, help="Pixels per point, for PNG.")
@click.option("--width", metavar="WIDTH",
              help="For a paper: one-column (84 mm), two-column (174 mm) or millimetres; no title, and the caption is "
                   "printed as text to copy. The default for several heads is two-column.")
@click.option("--title", is_flag=True, help="With --width: name the model above the figure.")
@click.option("--paths", is_flag=True, help="Name folders of this machine in full in the provenance.")
@click.option("--no-caption", is_flag=True, help="Leaves out the caption; the provenance stays inside the file.")
@click.option("--out", required=True, type=WRITE,
              help="The file; its ending says the format.")
def export(out: Path, **asked: Any) -> None:
    """Write one head, or all of them, as .png, .svg, .pdf (pictures), .html (interactive), .csv (one head's numbers) or
    .npz (all heads' numbers), or only the provenance as .json.

    \b
    clearhead export --model minilm --text "The cat sat." --layer 3 --head 1 --out head.svg
    clearhead export --model minilm --text "The cat sat." --layer 3 --head 1 --lens lines --token sat --out a.pdf
    clearhead export --model minilm --text "The cat sat." --head 3.1 --head 5.11 --width two-column --out fig.pdf
    clearhead export --model minilm --text "The cat sat." --grid --zoom 4 --out all.png
    clearhead export --model minilm --text "The cat sat." --out all.npz
    clearhead export --model dinov2-small --image cat.jpg --layer 11 --lens picture --token 8,7 --out head.png
    clearhead export --model smolvlm --image cat.jpg --text "Who?" --answer 9 --lens picture --token "?" --out vl.png
    clearhead export --model smollm2 --text "The cat sat on a mat." --window 2 1 --out window.png
    clearhead export --record mine.npz --layer 3 --head 1 --out mine.png
    clearhead export --record mine.safetensors --out mine-all.npz

    Every file contains its provenance as JSON: the model and its revision, the text, the view and the versions. That of
    head.csv is in head.csv.json.
    """
    if out.suffix.lower() not in FORMATS:
        raise UserError(f"{out.name} has no known file extension; end the name in one of {', '.join(sorted(FORMATS))}.")
    outputs = [out, out.with_suffix(".csv.json")] if out.suffix.lower() == ".csv" else [out]
    for each in outputs:
        refuse_overwriting(each, *(asked[name] for name in ("file", "image") if asked[name] is not None))
    names = ("model_id", "text", "text_b", "target", "file", "image", "window")
    record = answer_to(with_answer(_query(*(asked[name] for name in names)), asked["most"]))
    several = _heads(asked)
    view = _view(record, asked, several)
    layout = Layout(() if asked["grid"] else several or (view.head_id,), asked["width"] or "two-column",
                    asked["title"]) if asked["width"] or len(several) > 1 else None
    options = Options(asked["grid"], asked["zoom"], not asked["no_caption"], paths=asked["paths"], layout=layout)
    contents = {each: make_file(each.suffix, record, view, options) for each in outputs}
    if layout:
        click.echo(caption(record, view, layout))
    for each, content in contents.items():
        write(each, content)
        click.echo(f"{each}: {len(content):,} bytes")


def _heads(asked: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return the requested heads, (layer, head), if any. Raises click.UsageError if they are invalid."""
    given = asked["chosen"] or (() if asked["layer"] is None else ("0",))
    found = []
    for each in given:
        layer, dot, head = each.rpartition(".")
        if not head.isdecimal() or (dot and not layer.isdecimal()):
            raise click.UsageError(f"{each} is not a head; give a number with --layer, or LAYER.HEAD such as 3.1.")
        if dot and asked["layer"] not in (None, int(layer)):
            raise click.UsageError(f"--layer {asked['layer']} and --head {each} are two layers; give one of them.")
        found.append((int(layer) if dot else asked["layer"] or 0, int(head)))
    if len(found) > 1 and not all("." in each for each in given):
        raise click.UsageError("Give several heads as LAYER.HEAD, such as --head 3.1 --head 5.11.")
    return tuple(found)


@main.command("handout")
@click.argument("file", type=READ)
@click.option("--html", "to_html", type=WRITE,
              help="Where the HTML page goes.")
@click.option("--pdf", "to_pdf", type=WRITE,
              help="Where the PDF goes; needs a Chromium.")
def handout(file: Path, to_html: Path | None, to_pdf: Path | None) -> None:
    """Write a handout saved on the page My lesson (.handout.json) as one HTML page, as a PDF, or both. Its screens are
    photographed if there is a Chromium, which takes some seconds for each; without one they are links.

    \b
    clearhead handout lesson.handout.json --html lesson.html
    clearhead handout lesson.handout.json --pdf lesson.pdf
    """
    from clearhead.viz.export.handout import page, pdf
    from clearhead.viz.export.handout.files import load

    if not (to_html or to_pdf):
        raise UserError("No output was requested; give --html OUT or --pdf OUT.")
    if to_html and to_pdf and to_html.resolve() == to_pdf.resolve():
        raise UserError(f"The page and the PDF would both be {to_pdf}; give each its own file.")
    saved_handout = load(file.read_bytes())
    taken, said = _photographed(saved_handout), []
    for out, make in ((to_html, page.page), (to_pdf, pdf.pdf)):
        if out:
            refuse_overwriting(out, file)
            content = make(saved_handout, taken)
            write(out, content)
            said.append(f"{out}: {len(content):,} bytes")
    click.echo("\n".join(said))   # for both files, or for neither if one is refused


@main.command("site")
@click.argument("folder", type=FOLDER)
@click.option("--file", "single", type=WRITE, help="Also write the page as one HTML file, which needs no server.")
def site(folder: Path, single: Path | None) -> None:
    """Write Clearhead as static files into FOLDER: a page that computes MiniLM's heads in the browser. Copy the folder
    to any web server, below any path; the page makes no request to another site.

    \b
    clearhead site public
    clearhead site public --file clearhead.html
    """
    from clearhead.viz.export.site.build import refuse_others, site_of, write_folder

    refuse_others(folder)
    if single:
        refuse_overwriting(single)
    made = site_of(lambda model, text: answer_to(sources.open_query(model, text)))
    click.echo(f"{folder}: {write_folder(made, folder):,} bytes")
    if single:
        content = made.single()
        write(single, content)
        click.echo(f"{single}: {len(content):,} bytes")


def _photographed(saved_handout: "Handout") -> "Photographs":
    """Return the photographs of a handout's screens, or why there is none, by id."""
    from clearhead.viz.app.startup import own_server
    from clearhead.viz.export.handout.pdf import browser
    from clearhead.viz.export.handout.photograph import photograph
    from clearhead.viz.widgets.photographs import bring_picture, screen_of

    taken, screens = dict[str, Any](), [item for item in saved_handout.items if item.kind == "screen"]
    if not screens or not browser():
        return taken
    with own_server() as address, click.progressbar(screens, label="Photographs", file=sys.stderr) as shown:
        for item in shown:
            bring_picture(item, "handout")
            try:
                if screen := screen_of(item, address):
                    taken[item.id] = photograph(screen, lambda share, words: None)
            except UserError as error:
                taken[item.id] = str(error)
    return taken


@main.command("notebook")
@click.argument("lesson")
@click.option("--solution", is_flag=True, help="The teachers' copy, with its exercise solved.")
@click.option("--out", type=WRITE, help="The file; LESSON.ipynb in this folder unless given.")
def notebook(lesson: str, solution: bool, out: Path | None) -> None:
    """Write a lesson's notebook: about ten lines that compute what its page shows, and an exercise that checks itself.
    LESSON is the last part of its page's address, such as softmax.

    \b
    clearhead notebook softmax
    clearhead notebook softmax --solution --out softmax-for-me.ipynb
    """
    from clearhead.viz.export.handout import lesson_notebook
    from clearhead.viz.style.text import strings

    address = stated_address()
    content = lesson_notebook.notebook(lesson, f"{address}/{lesson}" if address else "", solution)
    file = out or Path(lesson_notebook.file_name(lesson, solution))
    if out is None and file.exists():
        raise UserError(strings("sheets")["notebook"]("there", file=file))
    write(file, content)
    click.echo(f"{file}: {len(content):,} bytes")


def _query(model_id: str | None, text: str | None, text_b: str | None, target: str | None, file: Path | None,
           image: Path | None, window: tuple[int, int] | None) -> Query:
    """Build the query from the options, for a model or a record file. Raises click.UsageError unless exactly one is
    given."""
    if file is not None:
        if not {model_id, text, text_b, target, image, window} <= {None}:
            raise click.UsageError("--record has its own tokens and no model; leave --model, --text, --text-b, "
                                   "--target, --image and --window out.")
        return sources.open_query(*sources.import_file(file.read_bytes(), file.name))
    if model_id is None or (text is None and image is None):
        raise click.UsageError("Give --model and --text or --image, or --record.")
    return sources.open_query(model_id, text or "", text_b, target, edits=[Window(*window)] if window else [],
                              image=kept_picture(image) if image else None)


def _view(record: AttentionRecord, asked: dict[str, Any], heads: tuple[HeadId, ...]) -> View:
    """Return the view of the first of these heads, or of the record's first one, with the options. Raises UserError if
    the record lacks any of the heads."""
    if asked["pair"] and asked["token"] is not None:
        raise UserError("--pair puts its first token in focus; give either --pair or --token.")
    names = ("lens", "scale", "token", "pair", "words", "hide_special", "transpose")
    changes = {name: asked[name] for name in names} | {"kind": asked["kind"] or record.kinds[0]}
    if heads:
        changes |= {"layer": heads[0][0], "head": heads[0][1], "overlay": heads[1:]}
    view = checked_view(record, None, changes)
    return replace(view, overlay=(), token=view.pair[0] if view.pair else view.token)


if __name__ == "__main__":
    run(main, "clearhead")
