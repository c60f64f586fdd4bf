"""The command ``pliant``. The application is built on the first call, so that importing this package costs nothing.

Each command has its own module, which imports no kernels at the top: ``pliant --help`` answers without compiling anything.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import typer

__all__ = ["application", "main"]


def application() -> typer.Typer:
    """The typer application with all its commands."""
    import typer

    from pliant.cli.baseline import baseline
    from pliant.cli.check import check
    from pliant.cli.demo import demo
    from pliant.cli.errors import CommandGroup, global_options
    from pliant.cli.info import info
    from pliant.cli.render import render
    from pliant.cli.tune import tune
    from pliant.cli.warm import warm

    app = typer.Typer(
        name="pliant",
        cls=CommandGroup,
        help="Exact, fast collision queries among deforming triangle meshes.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )

    app.callback()(global_options)
    for command in (check, baseline, demo, render, tune, info, warm):
        app.command()(command)
    return app


def main() -> None:
    """Run the command line and exit with its status. ``--debug`` may stand anywhere.

    Garbage collection is off: scanning the millions of objects of compilers takes a second, half of it at exit.
    """
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)
    if "--debug" in sys.argv[2:]:
        sys.argv = [sys.argv[0], "--debug", *(each for each in sys.argv[1:] if each != "--debug")]
    try:
        application()()
    except SystemExit as stop:
        if any(thread.daemon for thread in threading.enumerate()):
            leave_threads(stop.code)
        raise


def leave_threads(code: str | int | None) -> NoReturn:
    """End the process with this exit status while daemon threads still run, as after Ctrl-C in the middle of a slow frame.

    The interpreter would end such a thread when it comes back for the GIL, by unwinding its stack. Where frames of compiled C++ are on that
    stack, such as those of Numba's dispatcher, the C++ runtime aborts the process instead.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
