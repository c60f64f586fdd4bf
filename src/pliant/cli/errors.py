"""Shared parts of the commands: consoles, output folders, exit codes, and errors in one line. Only this module turns an exception into
either."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console

EXIT_COLLISIONS, EXIT_ERROR, EXIT_INTERRUPTED = 1, 2, 130  # the last is what a shell reports after Ctrl-C
DEBUG_VARIABLE = "PLIANT_DEBUG"
MAX_LINE = 500  # maximum characters of an error line
PIPE_COLUMNS = 120  # columns assumed for a file or a pipe


class CommandGroup(TyperGroup):
    """A group of commands whose errors are one line, on the error stream: which file or option, what is wrong, what to do. With --debug
    they are tracebacks."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("typer", "click"):  # typer handles its own errors
                raise
            typer.echo(traceback.format_exc() if os.environ.get(DEBUG_VARIABLE) else error_line(error), err=True)
            raise typer.Exit(EXIT_ERROR) from None


def announce_compiling(console: Console) -> None:
    """Print a message when kernels are compiled; once, and not if they are all in the cache."""
    from pliant.core import cache

    cache.set_on_first_compile(lambda: console.print("Compiling kernels; they are kept for the next run …"))


def make_console(tables: bool = False) -> Console:
    """The console that commands print to. If its reader has gone, as after `| head`, output is dropped: files and exit codes stay the same.
    `tables`: use wide tables in a file or a pipe."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    console = Screen()
    if tables and not console.is_terminal:
        console.width = max(console.width, PIPE_COLUMNS)
    return console


def make_folder(out: Path) -> Path:
    """Create the output folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{out} cannot be made a folder: {error.strerror}", param_hint="--out") from None
    return out


def print_version(requested: bool) -> None:
    """Print the version and exit."""
    if requested:
        import pliant

        typer.echo(f"pliant {pliant.__version__}")
        raise typer.Exit


def global_options(
    _: Annotated[bool, typer.Option("--version", help="Show the version and exit.", callback=print_version, is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks instead of one line.")] = False,
) -> None:
    """Options before the name of a command."""
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"


def error_line(error: Exception) -> str:
    """The message of an error, in one line."""
    from pliant.errors import PliantError

    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    elif isinstance(error, MemoryError) and not isinstance(error, PliantError):
        text = f"not enough memory{': ' + text if text else ''}"
    elif not isinstance(error, (PliantError, ValueError, TypeError, ImportError)):
        text = f"{type(error).__name__}: {text} (a defect of Pliant: --debug shows where)"
    return text if len(text) <= MAX_LINE else text[:MAX_LINE] + " …"
