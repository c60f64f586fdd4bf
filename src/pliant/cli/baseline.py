"""``pliant baseline``: accept what a check found as known, for ``pliant check --baseline FILE``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.errors import make_console

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a check, or its file of pairs.")]
Out = Annotated[Path | None, typer.Option(help="The file to write.", show_default="baseline.npz in the folder")]


def baseline(folder: Folder, out: Out = None) -> None:
    """Accept the collisions that a check found as known.

    Examples:

        pliant baseline out/check

        pliant check walk.glb --baseline out/check/baseline.npz --fail-on new
    """
    from pliant.check.baseline import accept
    from pliant.check.verdict import plural

    path, count = accept(folder, out)
    pairs = plural(count, "pair of triangles", "pairs of triangles")
    make_console().print(f"{path}: {pairs} accepted as known.", markup=False, highlight=False, soft_wrap=True)
