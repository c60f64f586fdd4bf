"""``pliant info``: print the machine and the installation, for bug reports; or the content of an animation."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.check import AsKind, Clip, FileOptions, Numbered, print_animation, read_files
from pliant.cli.errors import make_console

if TYPE_CHECKING:
    from rich.console import Console

PACKAGES = ("pliant", "numpy", "numba", "llvmlite", "scipy", "rich", "typer", "pillow", "matplotlib", "av",
            "pyarrow", "h5py", "usd-core")  # fmt: skip
EXAMPLES = """\
Examples:

    pliant info

    pliant info walk.glb
"""


def info(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE…]", help="An animation to describe, as for check.")] = None,
    clip: Clip = None,
    numbered: AsKind = None,
) -> None:
    """Show versions, processor, compilation cache and threads; or the bodies, clips, frames and units of files."""
    if files:
        print_bodies(files, clip, numbered, make_console())
    else:
        print_installation(make_console())


info.__doc__ = f"{info.__doc__}\n\n{EXAMPLES}"


def print_bodies(files: list[Path], clip: list[str] | None, numbered: Numbered | None, console: Console) -> None:
    """Print the content of an animation: a row for each body, and one for each clip."""
    from rich.table import Table
    from rich.text import Text

    animation = read_files(files, FileOptions(clip=clip, numbered=numbered))
    print_animation(animation, console)
    table = Table()
    for heading in ("body", "moves", "vertices", "triangles", "frames"):
        table.add_column(heading, justify="left" if heading in ("body", "moves") else "right", overflow="fold")
    for actor in animation.actors:
        body = actor.at(0)
        table.add_row(Text(actor.name), actor.kind, f"{body._motion.count:,}", f"{len(body.faces):,}", f"{actor.frames:,}")
    console.print(table)
    if animation.clips:
        table = Table()
        for heading in ("clip", "seconds", "played"):
            table.add_column(heading, justify="right" if heading == "seconds" else "left", overflow="fold")
        for each in animation.clips:
            table.add_row(Text(each.name), f"{each.seconds:,.2f}", "yes" if each.plays else "no")
        console.print(table)


def print_installation(console: Console) -> None:
    """Print the installation and the machine."""
    from rich.table import Table

    from pliant.core.jit import cache_state
    from pliant.core.threads import threads

    cache = cache_state()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for package in PACKAGES:
        table.add_row(package, package_version(package))
    table.add_row("python", f"{platform.python_version()} ({platform.python_implementation()})")
    table.add_row("system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    table.add_row("processor", processor_name())
    table.add_row("threads", str(threads()))
    table.add_row("cache", str(cache.folder) if cache.folder else "not in use")
    if cache.reason:
        table.add_row("", cache.reason)
    console.print(table)


def package_version(package: str) -> str:
    """The installed version of ``package``."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def processor_name() -> str:
    """The processor's name as the system gives it, and the target that kernels are compiled for."""
    from llvmlite import binding

    name = platform.processor()
    listing = Path("/proc/cpuinfo")  # Linux: platform.processor() is empty or vague there
    if listing.is_file():
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    target = binding.get_host_cpu_name()
    return f"{name} (compiled for {target})" if name else f"compiled for {target}"
