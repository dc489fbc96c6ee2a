"""The command `clearhead`, which opens or serves the app and includes the commands of model/ and viz/."""
import os
import subprocess
import sys
from pathlib import Path

from clearhead.model.core.query import UserError, need

try:   # a plain install has the command, but not what it needs
    need("click")
except UserError as error:
    raise SystemExit(f"Error: {error}") from None

import click

from clearhead.model.__main__ import main as model_commands
from clearhead.model.cli.commands import Commands, run
from clearhead.model.core.files import app_folder
from clearhead.model.core.version import VERSION
from clearhead.viz.__main__ import main as viz_commands

HERE = Path(__file__).parent
PASSED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


class Everything(Commands):
    """A command group that opens the app if no command is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click.Group, but without arguments the command is `app`."""
        return super().parse_args(ctx, args or ["app"])


@click.group(cls=Everything, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="clearhead")
def main() -> None:
    """See what a Transformer's attention heads look at. Without a command it opens the app in your browser."""


def start(script: str, options: list[str]) -> int:
    """Run Streamlit on app.py or server.py with these options, and return its exit code. Except on Windows, Streamlit
    replaces this process, so that a signal that ends the command also ends the server."""
    need("streamlit", "plotly", "segno", "markdown_it", "psutil", "matplotlib")
    paths = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, "-m", "streamlit", "run", str(app_folder() / script), *options]
    env = os.environ | {"PYTHONPATH": paths}
    if os.name == "posix":
        os.execve(sys.executable, command, env)   # noqa: S606
    return subprocess.run(command, check=False, env=env).returncode


@main.command("app", context_settings=PASSED_ON, add_help_option=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def app(options: tuple[str, ...]) -> None:
    """Open the app on this machine. Options go to Streamlit, such as --server.port 8600."""
    sys.exit(start("app.py", list(options)))


@main.command("serve", context_settings=PASSED_ON, add_help_option=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def serve(options: tuple[str, ...]) -> None:
    """Serve the app to strangers, with limits. Options go to Streamlit."""
    sys.exit(start("server.py", list(options)))


for _commands in (model_commands, viz_commands):
    for _name, _command in _commands.commands.items():
        main.add_command(_command, _name)


def console(*_: object) -> None:
    """Run the console script `clearhead`."""
    run(main, "clearhead")


if __name__ == "__main__":
    console()
