"""Rays into triangle soups that pass through key shapes and change completely: a uniform grid, rebuilt, degraded and per-key BVHs.

    python -m benchmarks.soups [--faces 65536] [--frames 20] [--rays 100000] [--out soups.json]

Two soups (thesis C 7.4, 7.5): `scattered`, triangles anywhere in a cube, and `museum`, the art object of `pliant render museum`, whose
triangles lie on surfaces. Both move on straight lines through five key shapes. Timed are `update`, and then rays: 1, which includes the
preparations of a query, 1,000 and all of them, in random directions through the box. Methods take turns, frame by frame, in one process on
one core; frames are distinct; all answers must be the same to the bit. A degraded BVH takes 10 s a frame, and the whole run ten minutes.
"""

import argparse
import gc
import os
import time
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import alone, finish
from pliant.render.demo_soup import constellations

KEYS, FEW = 5, 1_000
SOUPS = {}


def soup(function):
    """A soup: a function from the number of faces to key shapes (KEYS, 3 faces, 3)."""
    SOUPS[function.__name__] = function
    return function


@soup
def scattered(faces):
    """Triangles about as large as a cell of the grid."""
    rng = np.random.default_rng(7)
    kinds = rng.standard_normal((faces, 3, 3)) / np.cbrt(faces)
    return np.stack([(rng.uniform(-1, 1, (faces, 1, 3)) + kinds).reshape(-1, 3) for _ in range(KEYS)])


@soup
def museum(faces):
    """A ball, a knot, many balls, a ring, a star."""
    return constellations(4 ** round(np.log(faces) / np.log(4)))


def between(keys, share):
    """(vertices, the nearest key shape) at a share of the way through all of them."""
    at = share * (KEYS - 1)
    k = min(int(at), KEYS - 2)
    return keys[k] + (at - k) * (keys[k + 1] - keys[k]), round(at)


def rays_through(vertices, n, rng):
    """n rays from around the box to points in it."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    ways = rng.standard_normal((n, 3))
    origins = (low + high) / 2 + ways / np.linalg.norm(ways, axis=1, keepdims=True) * np.linalg.norm(high - low)
    return origins, rng.uniform(low, high, (n, 3)) - origins


def ways_to(keys, faces):
    """{name: (target, how to update it)}."""
    bodies = {"refit, the first key's BVH": pl.Body(keys[0], faces, policy="bottom_up"), "auto": pl.Body(keys[0], faces),
              "rebuild": pl.Body(keys[0], faces, policy="rebuild")}
    ways = {"grid": pl.UniformGrid(keys[0], faces)} | bodies
    found = {name: (target, lambda rows, key, target=target: target.update(rows)) for name, target in ways.items()}
    for policy in ("bottom_up", "hybrid"):
        body = pl.Body(keys[0], faces, key_poses=keys, policy=policy)
        found[f"keys, {policy}"] = body, lambda rows, key, body=body: body.update(rows, key_pose=key)
    return found


def frame_of(target, update, rows, key, rays):
    """Seconds of the update, and from there to one ray, to a few and to all of them; and the answer."""
    begin = time.perf_counter()
    update(rows, key)
    marks = [time.perf_counter() - begin]
    for n in (1, FEW, len(rays[0])):                                    # each as if it were queried alone: the first prepares the target
        start = time.perf_counter()
        found = pl.cast(target, rays[0][:n], rays[1][:n])
        marks.append(time.perf_counter() - start)
    ready = marks[0] + marks[1]
    return [marks[0], ready, ready + marks[2], ready + marks[3]], found


def measure(name, options):
    """Rows of figures, in ms a frame: medians."""
    keys = SOUPS[name](options.faces)
    faces, rng = np.arange(keys.shape[1], dtype=np.int32).reshape(-1, 3), np.random.default_rng(3)
    ways = ways_to(keys, faces)
    for k in range(KEYS):                                               # compiles, and builds the BVH of every key
        rows, key = between(keys, k / (KEYS - 1))
        for target, update in ways.values():
            frame_of(target, update, rows, key, rays_through(rows, FEW, rng))
    times, work, names = {way: [] for way in ways}, {way: [] for way in ways}, list(ways)
    gc.collect()
    gc.disable()
    for frame in range(options.frames):
        rows, key = between(keys, (frame + 0.5) / options.frames)
        rays, answers = rays_through(rows, options.rays, rng), {}
        for way in names[frame % len(names):] + names[:frame % len(names)]:
            taken, answers[way] = frame_of(*ways[way], rows, key, rays)
            times[way].append(taken)
            work[way].append(answers[way].stats[:2])
        first = answers["rebuild"]
        for way, found in answers.items():
            if not (np.array_equal(found.t, first.t) and np.array_equal(found.face, first.face) and np.array_equal(found.uv, first.uv)):
                raise RuntimeError(f"{name}, frame {frame}: {way} answers differently")
    gc.enable()
    medians = {way: (1e3 * np.median(taken, axis=0)).tolist() for way, taken in times.items()}
    return {"soup": name, "faces": len(faces), "rays": options.rays, "hit": float(first.hit.mean()), "rows": [
        {"library": way, "status": "ran", "update_ms": update, "ready_ms": ready, "few_ms": few, "all_ms": every,
         "n_v": float(np.mean(work[way], axis=0)[0]), "n_p": float(np.mean(work[way], axis=0)[1])}
        for way, (update, ready, few, every) in medians.items()]}


def table_of(result):
    """The rich table of one soup."""
    title = f"{result['soup']}: {result['faces']:,} triangles, ms a frame (medians); {result['hit']:.0%} of the rays hit in the last frame"
    table = Table("way", title=title)
    for column in ("update", "+ ready for queries", f"+ {FEW:,} rays", f"or + {result['rays']:,} rays", "volumes or cells per ray",
                   "triangles per ray"):
        table.add_column(column, justify="right")
    for row in result["rows"]:
        table.add_row(row["library"], *(f"{row[name]:.2f}" for name in ("update_ms", "ready_ms", "few_ms", "all_ms")),
                      *(f"{row[name] / result['rays']:.1f}" for name in ("n_v", "n_p")))
    return table


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soups", description=__doc__.partition("\n")[0])
    parser.add_argument("--soups", nargs="+", choices=list(SOUPS), default=list(SOUPS))
    parser.add_argument("--faces", type=int, default=65_536, help="triangles; a power of 4 for the museum")
    parser.add_argument("--frames", type=int, default=20, help="distinct frames")
    parser.add_argument("--rays", type=int, default=100_000, help="a frame")
    parser.add_argument("--pin", action=argparse.BooleanOptionalAction, default=hasattr(os, "sched_setaffinity"))
    parser.add_argument("--out", help="write all figures to this JSON file")
    options = parser.parse_args()
    alone(options.pin)
    console, results = Console(width=150), []
    for result in map(partial(measure, options=options), options.soups):
        console.print(table_of(result))
        results.append(result)
    finish(console, "update + rays into soups", results, options)


if __name__ == "__main__":
    main()
