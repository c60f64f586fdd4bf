"""Queries of a scene of many rigid bodies that all move in every frame: `within` and `distance` against `collide`.

    python -m benchmarks.scenes [--bodies 3000] [--frames 12] [--tolerance 0.05] [--mixed 180]

Instances of one sphere of 320 faces, rotated at random, near the points of a lattice: first apart, then so close that many intersect. One
process, one thread, one core. In every frame one `scene.update` moves all bodies, then each query is timed once, in turns that begin with
another one; the first two frames do not count. The table has medians, also against `collide`. Memory is the peak of one more query each,
beyond what there was before, as `tracemalloc` counts it (NumPy's arrays).

The last table has two scenes of one frame more: candidates of a scene with rules between groups, against one without rules, and
`collide` of mixed bodies, half of them deforming, half rigid: with oriented boxes for the rigid ones, against boxes for all.
"""

import argparse
import os
import time
import tracemalloc

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import hardware
from benchmarks.rigid import any_turn, matrix
from pliant.shapes import bumpy, icosphere

SPACINGS = {"apart": 2.5, "crowded": 1.9}                               # of the lattice; a body is about 2 wide
SHIFT, STEP = 0.1, 0.003                                                # of a body from its point; in a frame
UNTIMED = 2
GROUPS = 30


def lattice(n, spacing, rng):
    """(n, 4, 4): transforms near the points of a cubic lattice."""
    side = int(np.ceil(n ** (1 / 3)))
    points = spacing * np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:n]
    return np.array([matrix(any_turn(rng), point + rng.uniform(-SHIFT, SHIFT, 3)) for point in points])


class Crowd:
    """A scene of instances, and their transforms."""

    def __init__(self, n, spacing, seed=1, groups=0):
        self.rng, self.scene = np.random.default_rng(seed), pl.Scene()
        directions, faces = icosphere(2)
        body, self.transforms = pl.Body.rigid(bumpy(directions, 0.0), faces), lattice(n, spacing, self.rng)
        for k in range(n):
            self.scene.add(body.copy(), group=f"group {k % groups}" if groups else None)
        for k in range(groups):
            self.scene.ignore(f"group {k}", f"group {k}")
        self.move()

    def move(self):
        """All bodies take a step, in one call; the seconds that it takes."""
        self.transforms[:, :3, 3] += self.rng.normal(0, STEP, (len(self.transforms), 3))
        states = dict(zip(self.scene, self.transforms, strict=True))
        return seconds(lambda: self.scene.update(states))


def seconds(call):
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_bytes(call):
    """The most memory that a call needs beyond what there was."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def time_queries(crowd, tolerance, frames):
    """({query: median seconds}, {query: bytes}) over frames in which all bodies move."""
    queries = {"collide": crowd.scene.collide, "within": lambda: crowd.scene.within(tolerance), "distance": crowd.scene.distance}
    times = {name: [] for name in ("update", *queries)}
    for frame in range(frames + UNTIMED):
        times["update"].append(crowd.move())
        names = list(queries)
        for name in names[frame % 3:] + names[:frame % 3]:
            times[name].append(seconds(queries[name]))
    crowd.move()
    return {name: float(np.median(each[UNTIMED:])) for name, each in times.items()}, {name: peak_bytes(queries[name]) for name in queries}


def table_of_queries(title, crowd, tolerance, frames):
    """The rich table of one scene."""
    times, memory = time_queries(crowd, tolerance, frames)
    found, near, apart = crowd.scene.collide(), crowd.scene.within(tolerance), crowd.scene.distance()
    title = f"{title}; distance {apart.distance:.4f}"
    table = Table("call", "ms", "÷ collide", "peak MB", "pairs of bodies", "pairs of faces", title=title)
    counts = {"collide": found, "within": near}
    for name, each in times.items():
        pairs = counts.get(name)
        table.add_row(name, f"{1e3 * each:.1f}", f"{each / times['collide']:.2f}", f"{memory[name] / 1e6:.1f}" if name in memory else "",
                      "" if pairs is None else f"{len(pairs.tested):,}", "" if pairs is None else f"{len(pairs):,}")
    return table


def mixed_scene(n, volume):
    """Half of the bodies deform, half are rigid and have volumes of this type; and what moves them all."""
    rng = np.random.default_rng(3)
    directions, faces = icosphere(2)
    transforms, scene = lattice(n, SPACINGS["crowded"], rng), pl.Scene()
    for k in range(n):
        scene.add(pl.Body.rigid(directions, faces, volume=volume) if k % 2 else pl.Body(directions, faces))

    def move(frame):
        moved = transforms + 0.0
        moved[:, :3, 3] += STEP * frame
        soft = bumpy(directions, 0.1 * frame)
        scene.update({k: moved[k] if k % 2 else soft + moved[k, :3, 3] for k in range(n)})
    return scene, move


def time_mixed(n, volume, frames):
    """Median seconds of `collide`."""
    scene, move = mixed_scene(n, volume)
    times = []
    for frame in range(frames + UNTIMED):
        move(frame)
        times.append(seconds(scene.collide))
    return float(np.median(times[UNTIMED:]))


def time_candidates(n, groups, frames):
    """(median seconds of `candidates`, how many there are)."""
    crowd, times = Crowd(n, 1.2, groups=groups), []
    for _ in range(frames + UNTIMED):
        crowd.move()
        times.append(seconds(crowd.scene.candidates))
    return float(np.median(times[UNTIMED:])), len(crowd.scene.candidates())


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scenes", description=__doc__.partition("\n")[0])
    parser.add_argument("--bodies", type=int, default=3000)
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--tolerance", type=float, default=0.05)
    parser.add_argument("--mixed", type=int, default=180, help="bodies of the mixed scene; 0 leaves the last table out")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pl.set_threads(1)
    console = Console()
    for name, spacing in SPACINGS.items():
        title = f"{options.bodies:,} rigid bodies, {name}, within {options.tolerance}"
        console.print(table_of_queries(title, Crowd(options.bodies, spacing), options.tolerance, options.frames))
    if options.mixed:
        table = Table("what", "ms", "pairs")
        for groups in (0, GROUPS):
            each, count = time_candidates(options.bodies, groups, options.frames)
            table.add_row(f"candidates of {options.bodies:,} bodies, {groups} rules of groups", f"{1e3 * each:.1f}", f"{count:,}")
        for volume in ("aabb", "obb"):
            each = time_mixed(options.mixed, volume, options.frames)
            table.add_row(f"collide, {options.mixed} mixed bodies, {volume} for the rigid ones", f"{1e3 * each:.1f}", "")
        console.print(table)
    console.print(hardware(hasattr(os, "sched_setaffinity")), highlight=False)


if __name__ == "__main__":
    main()
