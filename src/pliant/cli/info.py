"""``pliant info``: what a bug report needs to say about the machine and the installation."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("pliant", "numpy", "numba", "llvmlite", "scipy", "rich", "typer", "pillow", "av")


def info() -> None:
    """Show versions, processor, compilation cache and threads."""
    from rich.console import Console
    from rich.table import Table

    from pliant.core.jit import cache_state
    from pliant.core.threads import threads

    cache = cache_state()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for package in PACKAGES:
        table.add_row(package, version(package))
    table.add_row("python", f"{platform.python_version()} ({platform.python_implementation()})")
    table.add_row("system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    table.add_row("processor", processor())
    table.add_row("threads", str(threads()))
    table.add_row("cache", str(cache.folder) if cache.folder else "not in use")
    if cache.reason:
        table.add_row("", cache.reason)
    Console().print(table)


def version(package: str) -> str:
    """The installed version of ``package``."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """The processor's name as the system gives it, and the target that kernels are compiled for."""
    from llvmlite import binding

    name = platform.processor()
    listing = Path("/proc/cpuinfo")  # Linux: platform.processor() says little or nothing there
    if listing.is_file():
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    target = binding.get_host_cpu_name()
    return f"{name} (compiled for {target})" if name else f"compiled for {target}"
