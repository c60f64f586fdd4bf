"""Comparison with libigl: which of many points are inside a mesh that deforms, by winding numbers; with updates, new points in each frame.

    python -m benchmarks.winding [--only closed open soup] [--frames 12] [--points 200000] [--faces 81920] [--out winding.json]

closed     a bumpy sphere: signs
open       the same without the faces of its upper tenth: winding numbers
soup       the faces of the same, drawn apart so that no two share an edge: winding numbers

`benchmarks.harness` has the rules; times are processor times. libigl builds its hierarchy in every frame, as its function for meshes does
(`fast_winding_number`, second order, β = 2). Answers are compared with Pliant's: signs for closed meshes, the largest difference of
winding numbers for others. Of some points the exact sum of all solid angles is computed too (`igl.winding_number`), outside the clock; the
table lists the largest error of each library.
"""

import time
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.harness import Peer, Run, alone, compare, finish, parser_for, table_of
from pliant.shapes import bumpy, icosphere

EXACT_POINTS = 200  # points of a frame whose winding numbers are computed exactly
JOBS = ("closed", "open", "soup")


class Deforming(NamedTuple):
    """A surface that deforms, and points in its box."""

    faces: np.ndarray
    frames: int
    directions: np.ndarray
    count: int
    soup: bool

    def frame(self, k):
        """(vertices, points)."""
        vertices, rng = bumpy(self.directions, 4.0 * k / self.frames, 0.2, 0.5), np.random.default_rng([k, self.frames])
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        if self.soup:
            vertices = vertices + 0.01 * np.random.default_rng(0).standard_normal((len(vertices) // 3, 3)).repeat(3, axis=0)
        return vertices, low + rng.random((self.count, 3)) * (high - low)


def scenes(faces, frames, points):
    """The scene of each job, for about so many faces."""
    level = max(round(np.log(faces / 20) / np.log(4)), 0)
    directions, every = icosphere(level)
    lower = every[directions[every].mean(axis=1)[:, 2] < np.quantile(directions[every].mean(axis=1)[:, 2], 0.9)]
    apart = np.arange(3 * len(every), dtype=np.int32).reshape(-1, 3)
    return {"closed": Deforming(every, frames, directions, points, False), "open": Deforming(lower, frames, directions, points, False),
            "soup": Deforming(apart, frames, directions[every].reshape(-1, 3), points, True)}


class Pliant(Peer):
    """`inside` of a body that is updated."""

    name, module = "Pliant", "pliant"

    def setup(self, vertices, points, faces):
        self.body = self.package.Body(vertices, faces)

    def step(self, vertices, points):
        self.body.update(vertices)
        return self.package.inside(self.body, points).winding_number


class Igl(Peer):
    """libigl's `fast_winding_number`, which has no update."""

    name, module = "libigl", "igl"

    def setup(self, vertices, points, faces):
        self.faces = faces.astype(np.int64)

    def step(self, vertices, points):
        return self.package.fast_winding_number(vertices, self.faces, points)


class Windings(Run):
    """Answers are winding numbers (n,), times processor times. The difference is the number of signs for a closed mesh, the largest
    difference of two numbers for others."""

    closed = False

    def __init__(self, peer):
        super().__init__(peer)
        self.errors = []

    def step(self, vertices):
        start = time.process_time()
        answer = self.peer.step(*vertices)
        return time.process_time() - start, answer

    def judge(self, k, answers, reference):
        mine, other = answers[self, k], answers[reference, k]
        self.pairs[k] = int((mine > 0.5).sum())
        self.differences[k] = int(((mine > 0.5) != (other > 0.5)).sum()) if self.closed else float(np.abs(mine - other).max())
        self.errors.append(self.largest_error(k, mine))

    def largest_error(self, k, mine):
        """Against the sum of all solid angles, for some points."""
        try:
            import igl
        except ImportError:
            return float("nan")
        vertices, points = self.peer.scene.frame(k)
        right = igl.winding_number(vertices, self.peer.scene.faces.astype(np.int64), points[:EXACT_POINTS])
        return float(np.abs(mine[:EXACT_POINTS] - right).max())

    def summary(self, reference):
        row = super().summary(reference)
        return row | ({"largest_error": max(self.errors)} if self.status == "ran" else {})


class Signs(Windings):
    """Of a closed mesh."""

    closed = True


def command_line():
    """The parser of the options."""
    parser = parser_for("winding", __doc__, ["libigl"])
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS), help="jobs to run")
    parser.add_argument("--frames", type=int, default=12, help="distinct frames")
    parser.add_argument("--faces", type=int, default=81_920, help="triangles of the sphere, about")
    parser.add_argument("--points", type=int, default=200_000, help="number of points")
    parser.set_defaults(turn=1, budget=60)
    return parser


def main():
    """The command line."""
    options = command_line().parse_args()
    alone(options.pin)
    console, results = Console(), []
    for name, scene in scenes(options.faces, options.frames, options.points).items():
        if name in options.only:
            libraries = ([Pliant] if options.pliant else []) + ([Igl] if "libigl" in options.peers else [])
            result = {"job": name} | compare(scene, libraries, options.budget, options.turn, Signs if name == "closed" else Windings)
            results.append(result)
            console.print(table_of(result, f"{name}: update and winding numbers of {options.points:,} points"))
            for row in result["rows"]:
                if row["status"] == "ran":
                    console.print(f"  {row['library']}: largest error {row['largest_error']:.1e}", highlight=False)
    finish(console, "winding", results, options)


if __name__ == "__main__":
    main()
