"""Is any ray decided wrongly at edges and vertices of a mesh? Two counts of ten million rays each.

    python -m benchmarks.watertight        both counts; options: --help

Inside: rays from inside closed meshes, near the origin and 250,000 units away. A ray that starts inside a closed mesh must hit it: a miss
is an error of the ray query, and misses are counted. Half of the rays are aimed at edges and vertices, from many points inside; after
float64 rounding they pass within an ulp or so of the edge, on either side or exactly through it. The other half have random directions. The
time is that of `cast` alone, on one core.

Beside: lines through vertices and rounded midpoints of edges of small closed meshes with one-decimal coordinates, and one ulp beside them
along each axis; parallel to an axis, which keeps the ulp, and oblique. All faces that `cast_all` finds are compared with those of integer
arithmetic (`benchmarks/exact_rays.py`), and `cast` and `occluded` with `cast_all`.

The exit status is 1 if a ray is wrong.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import pliant as pl
from benchmarks import exact_rays
from benchmarks.harness import alone, hardware
from pliant import shapes

PLACES = (0.0, 250_000.0)
BATCH = 100_000  # rays of one call


class Shell(NamedTuple):
    """A closed mesh around the origin, and the half axes (3,) of an ellipsoid inside it."""

    vertices: np.ndarray
    faces: np.ndarray
    inside: np.ndarray


def cube():
    """Twelve faces, every coordinate ±1: rays along axes and diagonals lie in planes and edges."""
    vertices = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Shell(vertices, np.array([face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]), np.full(3, 0.9))


def round_shells(subdivisions):
    """{name: shell} of icospheres in several deformations; of 20 · 4^subdivisions faces."""
    ball, faces = shapes.icosphere(subdivisions)
    made = {"ball": ball, "bumpy": shapes.bumpy(ball, 0.7), "arms": shapes.armed(ball, 0.3)}
    found = {name: Shell(vertices, faces, np.full(3, 0.3 * np.linalg.norm(vertices, axis=1).min())) for name, vertices in made.items()}
    squeezed = np.array([1.0, 1.0, 1e-6])
    return found | {"flat": Shell(ball * squeezed, faces, 0.3 * squeezed)}


def batches(shell, vertices, offset, rays, rng):
    """Rays (origins, directions) in batches, `rays` in total or a few more: from each point inside to all vertices and edges once, and as
    many in random directions."""
    edges = exact_rays.edges_of(shell.faces)[0]
    aims = np.vstack([vertices, (vertices[edges[:, 0]] + vertices[edges[:, 1]]) / 2])
    many = max(1, BATCH // (2 * len(aims)))
    while rays > 0:
        many = min(many, -(-rays // (2 * len(aims))))
        starts = rng.standard_normal((many, 3))
        starts *= rng.uniform(0, 1, (many, 1)) / np.linalg.norm(starts, axis=1, keepdims=True)
        starts = starts * shell.inside + offset
        aimed = (aims[None] - starts[:, None]).reshape(-1, 3)
        anywhere = rng.standard_normal(aimed.shape) * np.abs(shell.vertices).max(axis=0)
        yield np.tile(np.repeat(starts, len(aims), axis=0), (2, 1)), np.vstack([aimed, anywhere])
        rays -= 2 * len(aimed)


def count(shell, away, rays, rng, tick=lambda n: None):
    """Cast that many rays from inside a shell that is translated by `away` along all axes: a row of the table."""
    offset = np.array([away, -away, 0.5 * away])
    body = pl.Body(shell.vertices + offset, shell.faces)
    vertices, cast, missed, exact, seconds, examples = body.vertices, 0, 0, 0, 0.0, []
    for origins, directions in batches(shell, vertices, offset, rays, rng):
        start = time.perf_counter()
        found = pl.cast(body, origins, directions)
        seconds += time.perf_counter() - start
        gone = np.flatnonzero(~found.hit)
        examples += [(origins[k].tolist(), directions[k].tolist()) for k in gone[: 5 - len(examples)].tolist()]
        cast, missed, exact = cast + len(found), missed + len(gone), exact + found.stats.n_exact
        tick(len(found))
    return {"faces": len(shell.faces), "away": away, "rays": cast, "missed": missed, "exact": exact, "seconds": seconds,
            "examples": examples}


# --- beside edges and vertices ---------------------------------------------------------------------------------------------------

TETRAHEDRON = np.array([[0, 1, 2], [1, 0, 3], [0, 2, 3], [2, 1, 3]])
OCTAHEDRON = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])


def solids(rng):
    """(name, vertices, faces) of closed meshes with coordinates of one decimal, new ones at every call: many of four faces, one of 80."""
    for _ in range(16):
        tetrahedron = rng.integers(-20, 21, (4, 3)) / 10
        yield "tetrahedron", tetrahedron, TETRAHEDRON
        yield "flat tetrahedron", tetrahedron * [1, 1, 0] + [0, 0, 0.3] * np.eye(4)[3][:, None], TETRAHEDRON
        octahedron = np.vstack([np.eye(3), -np.eye(3)])[[0, 3, 1, 4, 2, 5]]
        yield "octahedron", (octahedron * rng.integers(1, 11, (6, 1)) + rng.integers(-3, 4, (6, 3))) / 10, OCTAHEDRON
    for _ in range(4):
        yield "box", (rng.integers(-20, 21, 3) + (cube().vertices + 1) * rng.integers(1, 11, 3)) / 10, cube().faces
    ball, faces = shapes.icosphere(1)
    yield "rounded ball", (ball * rng.integers(5, 21)).round() / 10, faces


def beside(vertices, faces, rng):
    """Rays (origins, directions) through all vertices and rounded midpoints of a mesh, and points one ulp beside them along each axis;
    along each axis in turn, and obliquely."""
    edges = exact_rays.edges_of(faces)[0]
    aims = np.vstack([vertices, (vertices[edges[:, 0]] + vertices[edges[:, 1]]) / 2])
    steps = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)], float)
    around = np.nextafter(aims[:, None], np.where(steps > 0, np.inf, np.where(steps < 0, -np.inf, aims[:, None]))).reshape(-1, 3)
    axes = np.vstack([np.eye(3), -np.eye(3)])[rng.integers(0, 6, len(around))]
    far = rng.integers(1, 30, (len(around), 1)) / 10
    straight = np.where(axes == 0, around, around - far * axes)
    ways = np.where(rng.random((len(around), 1)) < 0.5, rng.integers(-9, 10, (len(around), 3)) / 10, rng.standard_normal((len(around), 3)))
    ways[~ways.any(axis=1)] = 1.0
    return np.vstack([straight, around - far * ways]), np.vstack([axes * rng.integers(1, 30, (len(around), 1)) / 10, ways])


def wrong_rays(vertices, faces, origins, directions):
    """(indices (k,) of rays with wrong answers; the number of signs computed in integers; the number of tests that the library left to
    exact arithmetic; the total number of hits on the lines)."""
    body = pl.Body(vertices, faces)
    right, hard = exact_rays.hits(vertices, faces, origins, directions)
    every = pl.cast_all(body, origins, directions, t_min=-np.inf)
    found = np.zeros_like(right)
    found[every.ray, every.face] = True
    wrong = (found != right).any(axis=1)
    # In front of the origin, by the reported t; rows are sorted by ray, t and face.
    ahead = every.t >= 0
    first, at = np.unique(every.ray[ahead], return_index=True)
    expected = np.full(len(origins), -1, np.int32)
    expected[first] = every.face[ahead][at]
    wrong |= (pl.cast(body, origins, directions).face != expected) | (pl.occluded(body, origins, directions) != (expected >= 0))
    return np.flatnonzero(wrong), hard, every.stats.n_exact, int(right.sum())


def count_beside(rays, rng, tick=lambda n: None):
    """Rows of the table, one for each kind of solid: new solids until that many rays have been compared."""
    rows = {}
    done = 0
    while done < rays:
        for name, vertices, faces in solids(rng):
            origins, directions = beside(vertices, faces, rng)
            wrong, hard, exact, hits = wrong_rays(vertices, faces, origins, directions)
            row = rows.setdefault(name, dict.fromkeys(("meshes", "rays", "hits", "wrong", "integers", "exact"), 0) | {"examples": []})
            for key, more in zip(("meshes", "rays", "hits", "wrong", "integers", "exact"),
                                 (1, len(origins), hits, len(wrong), hard, exact), strict=True):
                row[key] += more
            row["examples"] += [(vertices.tolist(), faces.tolist(), origins[k].tolist(), directions[k].tolist())
                                for k in wrong[:5 - len(row["examples"])].tolist()]
            done += len(origins)
            tick(len(origins))
    return [{"mesh": name} | row for name, row in rows.items()]


def table_beside(rows):
    """The rich table of all rows of `count_beside`."""
    table = Table("solid", title="Lines beside edges and vertices, compared with integer arithmetic")
    columns = {"meshes": "meshes", "rays": "rays", "hits": "hits", "wrong": "wrong", "integers": "signs computed in integers",
               "exact": "tests left to exact arithmetic"}
    for column in columns.values():
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(row["mesh"], *(f"{row[name]:,}" for name in columns))
    table.add_section()
    table.add_row("all", *(f"{sum(row[name] for row in rows):,}" for name in columns))
    return table


def table_of(rows):
    """The rich table of all rows."""
    table = Table("mesh", title="Rays from inside closed meshes")
    for column in ("triangles", "away", "rays", "missed", "tests left to exact arithmetic", "million rays a second"):
        table.add_column(column, justify="right")
    for row in rows:
        cells = [f"{row[name]:,.0f}" for name in ("faces", "away", "rays", "missed", "exact")]
        table.add_row(row["mesh"], *cells, f"{row['rays'] / row['seconds'] / 1e6:.2f}")
    table.add_section()
    table.add_row("all", "", "", *(f"{sum(row[name] for row in rows):,}" for name in ("rays", "missed", "exact")), "")
    return table


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watertight", description=__doc__.partition("\n")[0])
    parser.add_argument("--rays", type=int, default=10_000_000, help="rays from inside, in total")
    parser.add_argument("--beside", type=int, default=10_000_000, help="lines beside edges and vertices, in total")
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--subdivisions", type=int, default=5, help="subdivisions of the round meshes: 20 · 4^k triangles")
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    alone(options.pin)
    shells = {"cube": cube()} | round_shells(options.subdivisions)
    share = -(-options.rays // (len(shells) * len(PLACES)))
    console, rows, rng = Console(), [], np.random.default_rng(options.seed)
    for shell in shells.values():
        count(shell, 0.0, 1, rng)                                       # loads the kernels
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rays"), TimeElapsedColumn(),
                   console=console, auto_refresh=False, transient=True)
    with bar as progress:
        task = progress.add_task("", total=options.rays + options.beside)
        for name, shell in shells.items():
            for away in PLACES:
                progress.update(task, description=f"{name}, {away:,.0f} away", refresh=True)
                row = count(shell, away, share, rng, lambda n: progress.update(task, advance=n, refresh=True))
                rows.append({"mesh": name} | row)
        progress.update(task, description="beside edges and vertices", refresh=True)
        near = count_beside(options.beside, rng, lambda n: progress.update(task, advance=n, refresh=True))
    console.print(table_of(rows))
    console.print(table_beside(near))
    for row in near:
        for vertices, faces, origin, direction in row["examples"]:
            console.print(f"wrong: {vertices}, {faces}: {origin} + t {direction}", highlight=False)
    for row in rows:
        for origin, direction in row["examples"]:
            console.print(f"missed: {row['mesh']}, {row['away']:,.0f} away: {origin} + t {direction}", highlight=False)
    console.print(hardware(options.pin), highlight=False)
    if options.out:
        figures = {"hardware": hardware(options.pin), "rows": rows, "beside": near}
        Path(options.out).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    sys.exit(any(row["missed"] for row in rows) or any(row["wrong"] for row in near))


if __name__ == "__main__":
    main()
