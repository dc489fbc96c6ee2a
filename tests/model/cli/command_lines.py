"""Draw unusual command lines from the commands' own options, so that new ones are included."""
import click
from hypothesis import settings
from hypothesis import strategies as st

from clearhead.model.__main__ import main as model_commands
from clearhead.model.cli.commands import FOLDER, READ, WRITE, Commands
from clearhead.viz.__main__ import main as viz_commands
from tests.hostile import TEXTS

PROGRAMS: dict[str, Commands] = {"model": model_commands, "viz": viz_commands}


def below(group: click.Group, before: str = "") -> dict[str, click.Command]:
    """Return {typed words: command} for all commands of the group and its subgroups."""
    found = {}
    for name, command in group.commands.items():
        if not command.hidden:
            found |= below(command, f"{name} ") if isinstance(command, click.Group) else {before + name: command}
    return found


COMMANDS = {(program, name): command for program, group in PROGRAMS.items() for name, command in below(group).items()}
LINES = 120 if settings.default.max_examples <= 100 else 2000
DIGITS = "9" * 5000
NUMBERS = st.sampled_from(("0", "1", "2", "3", "1", "8", "-1", "-0", "1.5", "nan", "inf", "-inf", "1e400", "1e3", "0x1",
                           "1_0", "٣", "", " ", str(2**31), str(2**63 - 1), str(2**63), str(2**70), str(-2**63),
                           str(-2**63 - 1), DIGITS, "-" + DIGITS))
HOSTILE_PATHS = ("~nosuch", "~nosuch/x.png", "", " ", "/", ".", "..", "x" * 5000, "x/" * 2000,
                 "missing/out.png", "/dev/full", "/dev/null/x", "folder", "folder.png", "good.txt/x", "loop",
                 "\udcff.txt", "nosuch.txt", "-", "--", "\x1b[31m.txt", "a\nb.csv")
BAD_FILES = ("latin.txt", "latin.csv", "zero.txt", "empty.txt", "empty.csv", "empty.npz", "half.jsonl", "bad.npz",
             "bad.gguf", "bad.handout.json", "half.csv", "half.png", "bomb.png", "gif.png", "empty.png",
             "half.safetensors", "bad.safetensors", "half.conllu", "circle.conllu", "latin.conllu", "half.parquet")
OUT_FILES = ("out.csv", "out.png", "out.svg", "out.html", "out.pdf", "out.npz", "out.docx", "out")
STRANGE_MODELS = ("induction@-1", f"induction@{DIGITS}", "nonsense", "smollm2", "owner/name", "a" * 5000, "bad.gguf",
                  "nosuch.gguf", "imported:1", "x.npz", "good.txt", *HOSTILE_PATHS)
# valid values by parameter name, or by command and parameter name
SENSE = {"syntax file": ("good.conllu",), "atlas build corpus": ("good.txt", "good.conllu", "good.jsonl"),
         "atlas csv folder": ("atlas", "atlas", "trained"), "atlas build on": ("here",),
         "atlas build model_id": ("induction",), "image": ("good.png",), "relations": ("det", "det,nsubj"),
         "lesson": ("softmax", "masks"), "claims names": ("previous", "sink"), "handout file": ("good.handout.json",),
         "export file": ("good.npz", "good.safetensors"), "cases": ("cases.csv",), "select_on": ("cases.csv",),
         "fetch model_id": ("minilm",),
         "model_id": ("induction", "induction", "scratch", "resolver-narrow", "translator", "induction@0"),
         "syntax model_id": ("resolver-narrow", "translator", "induction"),
         "text": ("abcabc", "The cat saw it.", "ab " * 100), "text_b": ("abc",), "target": ("abc",), "field": ("text",),
         "task": ("induction", "resolver"), "token": ("a", "0"), "pair": ("a", "1")}


# parameters by the subject of a command line; a sensible line has the parameters of only one subject
ABOUT = {"text": ("model_id", "text", "text_b", "target"), "image": ("model_id", "image"), "record": ("file",)}


def sense(command: str, parameter: click.Parameter) -> st.SearchStrategy[str]:
    """Return values that a user would type."""
    if words := SENSE.get(f"{command} {parameter.name}"):
        return st.sampled_from(words)
    if parameter.type in (WRITE, FOLDER):
        return st.sampled_from(OUT_FILES if parameter.type is WRITE else ("trained", "new/er"))
    match parameter.type:
        case click.Choice(choices=choices):
            return st.sampled_from(choices)
        case click.IntRange():
            return st.sampled_from(("1", "0", "3"))
        case _:
            return st.sampled_from(SENSE.get(parameter.name, ("good.txt",)))


def nonsense(command: str, parameter: click.Parameter) -> st.SearchStrategy[str]:
    """Return values that no user would type."""
    if parameter.type is READ:
        return st.sampled_from((*BAD_FILES, *sum(SENSE.values(), ()), *HOSTILE_PATHS))
    match parameter.type:
        case click.Path():
            return st.sampled_from(("good.txt", *HOSTILE_PATHS))
        case click.IntRange():
            return NUMBERS
        case _ if parameter.name == "model_id":
            return st.sampled_from(STRANGE_MODELS) | TEXTS
        case _:
            return st.sampled_from((DIGITS, "\udcff", "")) | TEXTS


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a program and its arguments; few values are invalid, so that most lines get past the parser."""
    program, name = draw(st.sampled_from(list(COMMANDS)))
    about = draw(st.sampled_from(("text", "text", "image", "record")))
    foreign = set(sum(ABOUT.values(), ())).difference(ABOUT[about])
    words, plain = [], []
    for parameter in COMMANDS[program, name].params:
        needed = parameter.required or parameter.name in (*ABOUT[about][:2], "to_html")
        if draw(st.integers(0, 19)) >= (19 if needed else 1 if parameter.name in foreign else 6):
            continue
        if isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(parameter.opts[0])
            continue
        kind = nonsense if draw(st.integers(0, 4)) == 0 else sense
        of_pictures = about == "image" and parameter.name == "model_id"
        given = [draw(st.just("marked-digit") if of_pictures and kind is sense else kind(name, parameter))
                 for _ in range(parameter.nargs if parameter.nargs > 0 else draw(st.integers(1, 2)))]
        if isinstance(parameter, click.Option):
            words += [draw(st.sampled_from(parameter.opts)), *given]
        else:
            plain += given
    if draw(st.integers(0, 19)) == 0:
        stray = draw(st.sampled_from(("--nosuch", "-h", "--", "", "-", "--out=", "\udcff")))
        words.insert(draw(st.integers(0, len(words))), stray)
    return program, [*name.split(), *words, *plain]
