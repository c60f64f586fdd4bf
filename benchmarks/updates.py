"""Refit policies compared: bodies that intersect in one corner, bodies of which a small part moves, and large ones refitted by two threads.

    python -m benchmarks.updates [--faces 1000000] [--frames 40] [--local 327680] [--threads 1310720 5242880] [--out updates.json]

Timed are `update` and the refits that a query needs. `benchmarks.harness` has the rules, with policies in place of libraries; all must
find the same pairs. Refits by two threads need --no-pin and a quiet machine. `benchmarks.drift` tests the choices of `auto`.
"""

import math
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import Peer, alone, compare, finish, parser_for, table_of
from pliant import shapes
from pliant.core.threads import use_threads

SHARE = 0.01  # of the vertices that move
FEW = 8  # vertices that move, whatever the size of the body
WARM_UP = 40  # frames: enough to include events of one in a hundred partial updates


class Corner(NamedTuple):
    """Two sheets with waves: the second stands upright, its lowest corner in that of the first."""

    faces: np.ndarray
    frames: int
    plane: np.ndarray

    def frame(self, k):
        """The vertices of both after k of `frames` steps."""
        x, y = self.plane[:, 0], self.plane[:, 1]
        height = 0.01 * (np.sin(9 * x + 0.3 * k) + np.sin(7 * y - 0.2 * k))
        return np.column_stack([x, y, height]), np.column_stack([0.02 - 0.7 * (x - y), 0.02 + height, 0.7 * (x + y) - 0.03])


def corner(faces, frames):
    """The scene with two sheets of about so many triangles each."""
    side = max(round(math.sqrt(faces / 2)), 1)
    vertices, indices = shapes.sheet(side, side)
    return Corner(indices, frames, vertices[:, :2])


class Policy(Peer):
    """One policy, by the name of its class."""

    module = "pliant"

    def setup(self, first, second, faces):
        self.bodies = [pl.Body(vertices, faces, policy=self.name) for vertices in (first, second)]
        self.work = []

    def step(self, first, second):
        a, b = self.bodies
        a.update(first)
        b.update(second)
        found = pl.collide(a, b)
        self.work.append(found.stats.n_u)
        return found.faces


POLICIES = {name: type(name, (Policy,), {"name": name, "__doc__": Policy.__doc__}) for name in ("hybrid", "bottom_up", "lazy", "auto")}


def around(angle):
    """A random unit vector."""
    return np.array([math.cos(angle), math.sin(angle), 0.1])


def nearest(vertices, point, count):
    """So many vertices around a point."""
    return np.argpartition(((vertices - point) ** 2).sum(1), count)[:count]


def local(faces, frames, turn):
    """Milliseconds of updates of all vertices, and of 1 % of them: a patch that moves slowly over the body, a patch somewhere else in every
    frame, and vertices anywhere. All volumes are refitted at once."""
    scene, rng = shapes.bumpy_pair(faces, 3), np.random.default_rng(5)
    vertices = scene.frame(0)[0]
    n, count, body = len(vertices), round(SHARE * len(vertices)), pl.Body(vertices, scene.faces, policy="bottom_up")
    middle, shape = vertices.mean(axis=0), body._bvh_at(body._motion.scale)
    choices = {
        "all": lambda i: np.arange(n),
        "1 %, a patch that moves slowly": lambda i: nearest(vertices, middle + around(0.02 * i), count),
        "1 %, a patch somewhere else": lambda i: nearest(vertices, vertices[rng.integers(n)], count),
        "1 %, anywhere": lambda i: rng.choice(n, count, replace=False),
    }
    times = {name: [] for name in choices}
    for k in range(0, frames + WARM_UP, turn):
        for name, found in times.items():
            inputs = []
            for i in range(k, k + turn):
                changed = choices[name](i)
                vertices[changed] = middle + (vertices[changed] - middle) * (1 + 0.01 * math.cos(i))
                inputs.append((vertices[changed], changed if name != "all" else None))
            for rows, changed in inputs:
                start = time.perf_counter()
                body.update(rows, changed=changed)
                shape.refit()
                found.append(time.perf_counter() - start)
    return {name: 1e3 * float(np.mean(found[WARM_UP:])) for name, found in times.items()}


def few(sizes, frames, turn):
    """Milliseconds of an update of FEW vertices near each other with the refit that it needs, and with a query of the opposite side, on
    bodies of these sizes, which take turns. The place moves to and fro by its own size, as under a finger that pokes."""
    cases = {}
    for faces in sizes:
        vertices, indices = shapes.icosphere(round(math.log(faces / 20, 4)))
        body, patch = pl.Body(vertices, indices, policy="bottom_up", leaf=1), nearest(vertices, np.array([0.0, 0.0, 1.0]), FEW)
        other = pl.Body(np.array([[0.0, 0, -0.9], [0, 0, -1.1], [0.001, 0, -1.1]]), [[0, 1, 2]])
        pl.collide(body, other)
        cases[faces] = body, vertices[patch], patch, other, ([], [])
    for k in range(0, frames + WARM_UP, turn):
        for body, rows, patch, other, times in cases.values():
            for i in range(k, k + turn):
                moved = rows * (1 + 0.001 * math.cos(i))
                start = time.perf_counter()
                body.update(moved, changed=patch)
                body._bvh_at(body._motion.scale).refit()
                middle = time.perf_counter()
                found = pl.collide(body, other)
                for each, end in zip(times, (middle, time.perf_counter()), strict=True):
                    each.append(end - start)
                assert found
    return {faces: [1e3 * float(np.median(each[WARM_UP:])) for each in case[-1]] for faces, case in cases.items()}


def threads(sizes, frames, turn):
    """Milliseconds of an update of all vertices with the refit that a query needs, by one thread and by two, in turns on distinct frames,
    for bodies of these sizes: two bodies alike, one for each number of threads."""
    found = {}
    for faces in sizes:
        vertices, indices = shapes.icosphere(round(math.log(faces / 20, 4)))
        bodies, times = {n: pl.Body(vertices, indices, policy="bottom_up") for n in (1, 2)}, {1: [], 2: []}
        for k in range(0, frames + turn, turn):
            for n, body in bodies.items():
                with use_threads(n):
                    for i in range(k, k + turn):
                        rows = shapes.bumpy(vertices, 0.05 * i)
                        start = time.perf_counter()
                        body.update(rows)
                        body._bvh_at(body._motion.scale).refit()
                        times[n].append(time.perf_counter() - start)
        found[faces] = [1e3 * float(np.median(times[n][turn:])) for n in (1, 2)]
    return found


def main():
    """The command line."""
    parser = parser_for("updates", __doc__, POLICIES)
    parser.add_argument("--faces", type=int, default=1_000_000, help="triangles of each of the two bodies that intersect in a corner")
    parser.add_argument("--frames", type=int, default=40, help="distinct frames")
    parser.add_argument("--local", type=int, default=327_680, help="triangles of the body of which a part moves")
    parser.add_argument("--few", type=int, nargs="*", default=[20_480, 81_920, 327_680, 1_310_720], help="triangles of spheres of which "
                        "eight vertices move: 20 times a power of four each")
    parser.add_argument("--threads", type=int, nargs="*", default=[1_310_720, 5_242_880], help="triangles of spheres that one thread and "
                        "two refit: 20 times a power of four each; only with --no-pin, for it needs two cores")
    options = parser.parse_args()
    alone(options.pin)
    console, job = Console(), "update + all pairs, bodies that intersect in one corner"
    kept = {}  # the classes, for their counters

    def keeping(kind):
        return lambda: kept.setdefault(kind.name, kind())

    peers = [keeping(POLICIES[name]) for name in options.peers]
    result = compare(corner(options.faces, options.frames), peers, options.budget, options.turn)
    for row in result["rows"]:
        row["n_u"] = float(np.mean(kept[row["library"]].work)) if row["status"] == "ran" else None
    console.print(table_of(result, job))
    table = Table("policy", "volumes refitted a frame", title=job)
    for row in result["rows"]:
        table.add_row(row["library"], f"{row['n_u']:,.0f}")
    console.print(table)
    times = local(options.local, options.frames, options.turn)
    table = Table("vertices that move", "update and refit, ms", "full ÷ this", title=f"{options.local:,} triangles, bottom-up")
    for name, taken in times.items():
        table.add_row(name, f"{taken:.3f}", f"{times['all'] / taken:.1f}")
    console.print(table)
    some = few(options.few, 10 * options.frames, options.turn)
    table = Table("triangles", "update and refit, ms", "with a query elsewhere, ms", title=f"{FEW} vertices move, bottom-up, leaf=1")
    for faces, (refit, query) in some.items():
        table.add_row(f"{faces:,}", f"{refit:.4f}", f"{query:.4f}")
    console.print(table)
    both = threads(options.threads, options.frames, max(options.turn // 4, 1)) if not options.pin else {}
    table = Table("triangles", "one thread, ms", "two, ms", "one ÷ two", title="update and refit of all vertices, bottom-up")
    for faces, (one, two) in both.items():
        table.add_row(f"{faces:,}", f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}")
    console.print(table if both else "One thread against two: run with --no-pin.")
    finish(console, job, [result], options, local=times, few=some, threads=both)


if __name__ == "__main__":
    main()
