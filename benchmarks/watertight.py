"""Does any ray slip between faces? Ten million rays from inside closed meshes, at every vertex and the middle of every edge.

    python -m benchmarks.watertight        all meshes, here and 250,000 units away; --help tells the rest

A mesh without a hole is left by no ray that starts inside it: a miss is an error of the ray query, and misses are counted. Half of the
rays are aimed where faces meet, from many places inside; as float64 rounds, they pass within an ulp or so of the edge, on either side or
exactly through it. The other half go anywhere. The exit status is 1 if a ray is missed. The time is that of `cast` alone, on one core.
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
    """{name: shell} of icospheres, bent in several ways; of 20 · 4^subdivisions faces."""
    ball, faces = shapes.icosphere(subdivisions)
    made = {"ball": ball, "bumpy": shapes.bumpy(ball, 0.7), "arms": shapes.armed(ball, 0.3)}
    found = {name: Shell(vertices, faces, np.full(3, 0.3 * np.linalg.norm(vertices, axis=1).min())) for name, vertices in made.items()}
    squeezed = np.array([1.0, 1.0, 1e-6])
    return found | {"flat": Shell(ball * squeezed, faces, 0.3 * squeezed)}


def edges_of(faces):
    """(e, 2): every edge once."""
    return np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)


def batches(shell, vertices, offset, rays, rng):
    """Rays (origins, directions) in batches, `rays` altogether or a few more: from each place inside at all vertices and edges once, and as
    many anywhere."""
    edges = edges_of(shell.faces)
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
    """Cast that many rays from inside a shell that is so far away along all axes: a row of the table."""
    offset = np.array([away, -away, 0.5 * away])
    body = pl.Body(shell.vertices + offset, shell.faces)
    vertices, cast, missed, exact, seconds, examples = body.vertices, 0, 0, 0, 0.0, []
    for origins, directions in batches(shell, vertices, offset, rays, rng):
        start = time.perf_counter()
        found = pl.cast(body, origins, directions)
        seconds += time.perf_counter() - start
        gone = np.flatnonzero(~found.hit)
        examples += [(origins[k].tolist(), directions[k].tolist()) for k in gone[: 5 - len(examples)].tolist()]
        cast, missed, exact = cast + len(found), missed + len(gone), exact + found.stats.n_x
        tick(len(found))
    return {"faces": len(shell.faces), "away": away, "rays": cast, "missed": missed, "exact": exact, "seconds": seconds,
            "examples": examples}


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
    parser.add_argument("--rays", type=int, default=10_000_000, help="altogether")
    parser.add_argument("--subdivisions", type=int, default=5, help="of the round meshes: 20 · 4^k triangles")
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    alone(options.pin)
    shells = {"cube": cube()} | round_shells(options.subdivisions)
    share = -(-options.rays // (len(shells) * len(PLACES)))
    console, rows, rng = Console(), [], np.random.default_rng(10)
    for shell in shells.values():
        count(shell, 0.0, 1, rng)                                       # loads the kernels
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rays"), TimeElapsedColumn(),
                   console=console, auto_refresh=False, transient=True)
    with bar as progress:
        task = progress.add_task("", total=options.rays)
        for name, shell in shells.items():
            for away in PLACES:
                progress.update(task, description=f"{name}, {away:,.0f} away", refresh=True)
                row = count(shell, away, share, rng, lambda n: progress.update(task, advance=n, refresh=True))
                rows.append({"mesh": name} | row)
    console.print(table_of(rows))
    for row in rows:
        for origin, direction in row["examples"]:
            console.print(f"missed: {row['mesh']}, {row['away']:,.0f} away: {origin} + t {direction}", highlight=False)
    console.print(hardware(options.pin), highlight=False)
    if options.out:
        Path(options.out).write_text(json.dumps({"hardware": hardware(options.pin), "rows": rows}, indent=1), encoding="utf-8")
    sys.exit(any(row["missed"] for row in rows))


if __name__ == "__main__":
    main()
