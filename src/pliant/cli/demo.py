"""``pliant demo``: two bumpy spheres deform while they pass through each other, and every colliding pair is counted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.progress import Progress

    from pliant.shapes import BumpyPair

SAMPLED_ROWS = 10
INTERRUPTED = 130  # what a shell reports after Ctrl-C

# sRGB; the mark is brighter than white paper, so that it stays red in the shade.
SLATE = (0.40, 0.48, 0.60)
SAND = (0.86, 0.74, 0.57)
MARK = (1.25, 0.06, 0.08)
NEAR_WALL = 0.05  # opacity of the second body where it faces the eye


class Step(NamedTuple):
    """One frame: how many pairs, and seconds spent."""

    frame: int
    pairs: int
    update: float
    collide: float


class Contact(NamedTuple):
    """The last frame that had pairs, and its pairs (m, 2)."""

    frame: int
    faces: NDArray[np.int32]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("out"),
    faces: Annotated[int, typer.Option(help="Triangles per body: 320, 1280, 5120, 20480, 81920 or 327680.")] = 20480,
    frames: Annotated[int, typer.Option(min=2, help="Steps of the animation.")] = 200,
    size: Annotated[int, typer.Option(min=64, max=2400, help="Side of the picture in pixels.")] = 900,
) -> None:
    """Let two deforming bodies pass through each other; count pairs, take times, draw a picture."""
    from rich.console import Console

    from pliant import shapes
    from pliant.cli.warm import prepare

    console = Console()
    try:
        scene = shapes.bumpy_pair(faces, frames + frames // 3)         # it ends while they still overlap, for the picture's sake
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{out} cannot be made a folder: {error.strerror}", param_hint="--out") from None

    steps: list[Step] = []
    contacts: list[Contact] = []
    try:
        with console.status("Preparing kernels; the first time they are compiled …"):
            seconds = prepare()
        console.print(f"Kernels ready after {seconds:.1f} s. Two bodies of {faces:,} triangles, {frames} frames, every vertex moves.")
        run(scene, frames, console, steps, contacts)
    except KeyboardInterrupt:
        console.print(f"[bold]Stopped[/bold] after {len(steps)} of {frames} frames.")
        summarise(console, steps)
        raise typer.Exit(INTERRUPTED) from None
    summarise(console, steps)
    illustrate(scene, contacts[-1] if contacts else None, out, size, console)


def run(scene: BumpyPair, frames: int, console: Console, steps: list[Step], contacts: list[Contact]) -> None:
    """Play that many frames. Fills ``steps`` with every frame done and ``contacts`` with the latest frame that had pairs."""
    import pliant

    first, second = scene.frame(0)
    a, b = pliant.Body(first, scene.faces), pliant.Body(second, scene.faces)
    total = 0
    with progress_bar(console) as progress:
        task = progress.add_task("Colliding", total=frames, pairs=0, rate=0.0)
        for k in range(frames):
            va, vb = scene.frame(k)
            t0 = time.perf_counter()
            a.update(va)
            b.update(vb)
            t1 = time.perf_counter()
            pairs = pliant.collide(a, b)
            t2 = time.perf_counter()
            steps.append(Step(k, len(pairs.faces), t1 - t0, t2 - t1))
            if len(pairs.faces):
                contacts[:] = [Contact(k, pairs.faces)]
            total += len(pairs.faces)
            rate = len(steps) / sum(step.update + step.collide for step in steps)
            progress.update(task, advance=1, pairs=total, rate=rate)


def progress_bar(console: Console) -> Progress:
    """A bar with the pairs so far and the frames per second of update and collide alone."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pairs]:,} pairs"),
        TextColumn("{task.fields[rate]:,.0f} frames/s"),
        TimeElapsedColumn(),
        console=console,
    )


def summarise(console: Console, steps: list[Step]) -> None:
    """A table of a few frames, evenly spread, and the sum of all."""
    if not steps:
        return
    from rich.table import Table

    table = Table(title=f"Colliding pairs, {len(steps)} frames", title_justify="left")
    for heading in ("frame", "pairs", "update ms", "collide ms"):
        table.add_column(heading, justify="right")
    last = len(steps) - 1
    rows = sorted({round(i * last / (SAMPLED_ROWS - 1)) for i in range(SAMPLED_ROWS)})
    for i in rows:
        table.add_row(*row(str(steps[i].frame), steps[i].pairs, steps[i].update, steps[i].collide), end_section=i == last)
    totals = (sum(s.pairs for s in steps), sum(s.update for s in steps), sum(s.collide for s in steps))
    n = len(steps)
    table.add_row(*row("mean", round(totals[0] / n), totals[1] / n, totals[2] / n))
    table.add_row(*row("sum", *totals), style="bold")
    console.print(table)


def row(name: str, pairs: int, update: float, collide: float) -> tuple[str, str, str, str]:
    return name, f"{pairs:,}", f"{1e3 * update:.3f}", f"{1e3 * collide:.3f}"


def illustrate(scene: BumpyPair, contact: Contact | None, out: Path, size: int, console: Console) -> None:
    """Draw the last frame that has pairs, colliding triangles in red, and say where it is."""
    if contact is None:
        console.print("No frame has colliding triangles: no picture.")
        return
    from pliant.report import picture

    with console.status("Drawing …"):
        image = portrait(*scene.frame(contact.frame), scene.faces, contact.faces, size)
    try:
        path = picture.save(out / "demo.png", image)
    except ImportError as error:
        console.print(f"No picture: {error}", markup=False)
        return
    note = f"Picture of frame {contact.frame}, the last with colliding triangles ({len(contact.faces):,} pairs, in red): {path}"
    console.print(note, markup=False, soft_wrap=True)


def portrait(
    va: NDArray[np.float64], vb: NDArray[np.float64], faces: NDArray[np.int32], pairs: NDArray[np.int32], size: int
) -> NDArray[np.uint8]:
    """Both bodies, seen from the side of the second, whose near wall is clear: what pokes into it shows.

    Where the contact is small it is shown again, enlarged, in a corner.
    """
    import numpy as np

    from pliant.report import picture

    meshes = [(va, faces), (vb, faces)]
    colours = []
    for column, colour in enumerate(((*SLATE, 1.0), (*SAND, NEAR_WALL))):
        paint = np.tile(colour, (len(faces), 1))
        paint[pairs[:, column]] = (*MARK, 1.0)
        colours.append(paint)

    apart = vb.mean(axis=0) - va.mean(axis=0)
    azimuth = float(np.degrees(np.arctan2(apart[1], apart[0]))) - 38.0
    view = picture.View(azimuth, 22.0)
    image = picture.draw(meshes, colours, size, view)

    touched = np.concatenate([va[faces[pairs[:, 0]]], vb[faces[pairs[:, 1]]]]).reshape(-1, 3)
    low, high = touched.min(axis=0), touched.max(axis=0)
    everything = np.linalg.norm(np.maximum(va.max(axis=0), vb.max(axis=0)) - np.minimum(va.min(axis=0), vb.min(axis=0)))
    reach = float(np.linalg.norm(high - low))
    if reach < 0.25 * everything:
        x, y, z = (float(c) for c in 0.5 * (low + high))
        width = max(1.1 * reach, 0.05 * float(everything))
        close = view._replace(centre=(x, y, z), width=width)
        image = picture.with_detail(image, picture.draw(meshes, colours, size * 9 // 25, close))
    return image
