"""``pliant demo``: a swarm of deforming bodies flies about in a box; they bounce off each other where their faces meet."""

from __future__ import annotations

import colorsys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.errors import EXIT_INTERRUPTED, make_console, make_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.progress import Progress

    from pliant.check.recorder import Recorder
    from pliant.cli.swarm import FrameState, SwarmSimulation
    from pliant.report.picture import Viewpoint
    from pliant.shapes import Swarm

MAX_DRAWN_VERTICES = 7_000_000  # maximum vertices of all drawn frames of the report
CYCLE_FRAMES = 200  # frames in which shapes change as much as in the standard swarm, however many are played

EXAMPLES = """\
Examples:

    pliant demo

    pliant demo --bodies 8 --faces 20480 --kind bumpy --out out/bumpy
"""

CONTACT_COLOUR = (1.25, 0.06, 0.08)  # sRGB, brighter than white paper, so that it stays red in the shade
CLUSTER_RADIUS, DETAIL_WIDTH = 0.4, 3.4  # a detail shows contacts so close to each other, in radii of a body; its own width, in these
MAX_DETAILS = 20  # pairs of bodies considered for a detail
MAX_OCCLUDERS = 200_000  # vertices that are enough to estimate occlusion
AZIMUTHS, ELEVATIONS = range(-180, 180, 15), (12.0, 24.0, 36.0, 48.0)  # degrees: the candidate viewpoints


class Kind(StrEnum):
    """Shape of the bodies."""

    arms = "arms"
    bumpy = "bumpy"


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the report.")] = Path("out"),
    bodies: Annotated[int, typer.Option(min=2, max=1000, help="Number of bodies.")] = 27,
    faces: Annotated[int, typer.Option(help="Triangles per body: 320, 1280, 5120, 20480, 81920 or 327680.")] = 5120,
    frames: Annotated[int, typer.Option(min=1, help="Number of frames.")] = 200,
    kind: Annotated[Kind, typer.Option(help="Shape of the bodies: long arms, or bumpy spheres.")] = Kind.arms,
    size: Annotated[int, typer.Option(min=64, max=2400, help="Side of the picture in pixels.")] = 900,
) -> None:
    """Simulate deforming bodies that bounce off each other; print pairs and times, draw a picture, write a report."""
    from pliant import shapes
    from pliant.cli.warm import SCENE_GROUPS, compile_groups

    console = make_console()
    try:
        swarm = shapes.swarm(bodies, faces, CYCLE_FRAMES, kind.value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    make_folder(out)
    flight = None
    try:
        with console.status("Preparing kernels; the first time they are compiled …"):
            seconds = compile_groups(SCENE_GROUPS, console)
            flight = start_simulation(swarm)
        console.print(f"Kernels ready after {seconds:.1f} s. {bodies} bodies of {faces:,} triangles, {frames} frames, every vertex moves.")
        with make_recorder(flight, frames, out) as record:
            run_frames(flight, frames, record, console)
            print_summary(console, flight)
            write_picture(flight.peak, flight.faces, out, size, console)
            with console.status("Writing the report …"):
                report = record.write()
    except KeyboardInterrupt:
        console.print(f"[bold]Stopped[/bold] after {len(flight.steps) if flight else 0} of {frames} frames.")
        if flight is None or len(flight.steps) < frames:
            print_summary(console, flight)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    console.print(f"The whole flight, to look at from all sides: {report}", markup=False, soft_wrap=True)


demo.__doc__ = f"{demo.__doc__}\n\n{EXAMPLES}"


def start_simulation(swarm: Swarm) -> SwarmSimulation:
    """The simulation at frame 0, with all modules of scene queries loaded."""
    from pliant.cli.swarm import SwarmSimulation

    flight = SwarmSimulation(swarm)
    flight.scene.collide(contacts=True)
    return flight


def make_recorder(flight: SwarmSimulation, frames: int, out: Path) -> Recorder:
    """The recorder of the report; of a long animation with many vertices it draws every k-th frame."""
    from pliant.check.recorder import Recorder

    vertices = sum(len(body.vertices) for body in flight.bodies)
    every = -(-frames * vertices // MAX_DRAWN_VERTICES)
    bodies = {f"body {number}": body for number, body in enumerate(flight.bodies)}
    return Recorder(out, bodies, name=f"{len(bodies)} deforming bodies", every=every, up="z")


def run_frames(flight: SwarmSimulation, frames: int, record: Recorder, console: Console) -> None:
    """Simulate that many frames."""
    pairs, seconds = 0, 0.0
    with progress_bar(console) as progress:
        task = progress.add_task("Colliding", total=frames, pairs=0, rate=0.0)
        for _ in range(frames):
            step = flight.advance()
            assert flight.pairs is not None
            record.add(len(flight.steps) - 1, flight.pairs, step.collision_seconds)
            pairs, seconds = pairs + step.pairs, seconds + step.collision_seconds
            progress.update(task, advance=1, pairs=pairs, rate=len(flight.steps) / seconds)


def progress_bar(console: Console) -> Progress:
    """A progress bar with the pairs so far and the frames per second of collision detection alone."""
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


def print_summary(console: Console, flight: SwarmSimulation | None) -> None:
    """Print two tables: times, and pairs found."""
    if flight is None or not flight.steps:
        return
    from rich.table import Table

    steps = flight.steps
    n, total = len(steps), sum(step.collision_seconds for step in steps)
    phases = {"deform, not counted": [s.deform for s in steps], "update": [s.update for s in steps],
              "broad phase": [s.broad for s in steps], "narrow phase": [s.narrow for s in steps],
              "sum": [s.collision_seconds for s in steps]}
    table = Table(title=f"Time a frame, {n} frames", title_justify="left")
    for heading in ("phase", "mean ms", "worst ms", "share"):
        table.add_column(heading, justify="left" if heading == "phase" else "right")
    for name, seconds in phases.items():
        share = "" if "not counted" in name else f"{sum(seconds) / total:.0%}"
        cells = f"{1e3 * sum(seconds) / n:.3f}", f"{1e3 * max(seconds):.3f}", share
        table.add_row(name, *cells, end_section=name.startswith(("deform", "narrow")), style="bold" if name == "sum" else "")
    console.print(table)

    all_pairs = len(flight.bodies) * (len(flight.bodies) - 1) // 2
    counts = {f"pairs of bodies tested, of {all_pairs:,}": [s.tested for s in steps],
              "pairs of bodies that meet": [s.touching for s in steps], "pairs of faces that meet": [s.pairs for s in steps],
              "n_v, pairs of volumes tested": [s.stats.n_v for s in steps], "n_p, pairs of triangles tested": [s.stats.n_p for s in steps],
              "n_u, volumes updated": [s.stats.n_u for s in steps]}
    table = Table(title=f"Work a frame; {sum(s.pairs for s in steps):,} colliding pairs in all", title_justify="left")
    for heading in ("counted", "mean", "most"):
        table.add_column(heading, justify="left" if heading == "counted" else "right")
    for name, values in counts.items():
        table.add_row(name, f"{sum(values) / n:,.0f}", f"{max(values):,}")
    console.print(table)


def write_picture(moment: FrameState | None, faces: NDArray[np.int32], out: Path, size: int, console: Console) -> None:
    """Draw the frame with the most colliding pairs, and print the path."""
    if moment is None:
        console.print("No frame has colliding triangles: no picture.")
        return
    from pliant.report import picture

    with console.status("Drawing …"):
        image = draw_picture(moment, faces, size)
    try:
        path = picture.save_picture(out / "demo.png", image)
    except ImportError as error:
        console.print(f"No picture: {error}", markup=False)
        return
    note = f"Picture of frame {moment.frame}, the one with the most colliding triangles ({len(moment.pairs):,} pairs, in red): {path}"
    console.print(note, markup=False, soft_wrap=True)


def draw_picture(moment: FrameState, faces: NDArray[np.int32], size: int) -> NDArray[np.uint8]:
    """All bodies from where the most colliding faces are visible, and in a corner a detail of the two bodies that show the most."""
    import numpy as np

    from pliant.report import picture

    pairs, vertices = moment.pairs, moment.vertices
    colours = [np.tile(body_colour(body), (len(faces), 1)) for body in range(len(vertices))]
    red = []  # corners (m, 3, 3) of all colliding faces of first bodies, and of second ones
    for column in (0, 1):
        red.append(np.stack(vertices)[pairs.bodies[:, column, None], faces[pairs.faces[:, column]]])
        for body, face in zip(pairs.bodies[:, column], pairs.faces[:, column], strict=True):
            colours[body][face] = CONTACT_COLOUR
    view, _ = best_view(np.concatenate(vertices), np.concatenate(red))
    image = picture.draw([(v, faces) for v in vertices], colours, size, view)

    points = red[0].mean(axis=1)
    contact_pairs, which, counts = np.unique(pairs.bodies, axis=0, return_inverse=True, return_counts=True)
    details = []
    for pair in np.argsort(-counts)[:MAX_DETAILS].tolist():
        rows = np.flatnonzero(which.ravel() == pair)
        near = np.linalg.norm(points[rows][:, None] - points[rows[:: 1 + len(rows) // 1000]], axis=2) < CLUSTER_RADIUS
        # around the densest cluster
        rows = rows[np.linalg.norm(points[rows] - points[rows[np.argmax(near.sum(axis=1))]], axis=1) < CLUSTER_RADIUS]
        bodies = contact_pairs[pair].tolist()
        view, n_visible = best_view(np.concatenate([vertices[body] for body in bodies]), np.concatenate([corners[rows] for corners in red]))
        x, y, z = points[rows].mean(axis=0).tolist()
        details.append((n_visible, bodies, view._replace(centre=(x, y, z), width=DETAIL_WIDTH * CLUSTER_RADIUS)))
    _, bodies, view = max(details)
    detail = picture.draw([(vertices[body], faces) for body in bodies], [colours[body] for body in bodies], size * 3 // 10, view)
    return picture.insert_detail(image, detail)


def body_colour(body: int) -> tuple[float, float, float]:
    """A different colour for every body, none of them red."""
    return colorsys.hls_to_rgb(0.07 + 0.7 * (0.41421356 * body % 1), (0.60, 0.50, 0.70)[body % 3], 0.28)


def best_view(vertices: NDArray[np.float64], red: NDArray[np.float64]) -> tuple[Viewpoint, float]:
    """The viewpoint that shows the most of these triangles (m, 3, 3), and their visible area, roughly.

    A triangle counts with its projected area, if no vertex is in front of its centre in a grid of cells across the view.
    """
    import numpy as np

    from pliant.report import picture

    vertices = vertices[:: max(1, len(vertices) // MAX_OCCLUDERS)]
    low, middles, normals = vertices.min(axis=0), red.mean(axis=1), np.cross(red[:, 1] - red[:, 0], red[:, 2] - red[:, 0])
    size = float(np.linalg.norm(vertices.max(axis=0) - low))
    cells = int(np.sqrt(0.2 * len(vertices))) + 1

    def visible_area(view: Viewpoint) -> float:
        a, e = np.radians([view.azimuth, view.elevation])
        right, eye = np.array([-np.sin(a), np.cos(a), 0.0]), np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
        axes = np.stack([right, np.cross(eye, right)], axis=1)
        cell, at = ((((v - low) @ axes / size + 1) * cells).astype(int) @ [2 * cells + 1, 1] for v in (vertices, middles))
        nearest = np.full((2 * cells + 1) ** 2, -np.inf)
        np.maximum.at(nearest, cell, vertices @ eye)
        return float((np.maximum(normals @ eye, 0) * (nearest[at] <= middles @ eye + 0.02 * size)).sum())

    views = [picture.Viewpoint(azimuth, elevation) for elevation in ELEVATIONS for azimuth in AZIMUTHS]
    areas = [visible_area(view) for view in views]
    return views[int(np.argmax(areas))], max(areas)
