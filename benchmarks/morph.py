"""Comparison with Warp: two bodies with three targets each that morph while they pass through each other; and the cost of an update.

    python -m benchmarks.morph [--faces 20480] [--frames 400] [--sizes 320 … 1310720] [--out morph.json]

The time of a frame is that of the whole task: weights (3,) and a transform (4, 4) of both bodies in, sorted pairs (m, 2) int32 out.
`benchmarks.harness` has the rules. Warp blends and transforms all vertices in a kernel, in float32, and refits one mesh.
"""

import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import Peer, alone, compare, finish, parser_for, require, sorted_pairs, table_of
from benchmarks.peers import space_order, warp_kernel, zoom_for
from experiments.larsson2003a.scenes import moment, passing
from pliant import shapes


class Frames(NamedTuple):
    """Frames of the scene of Fig 6.5 in the form that libraries take."""

    faces: np.ndarray
    frames: int
    targets: np.ndarray

    def frame(self, k):
        """Weights, and the transforms of both bodies, after k steps."""
        weights, poses = moment(k, self.frames)
        return weights, *poses


class Pliant(Peer):
    """Pliant, through its public API."""

    name, module = "Pliant", "pliant"

    def setup(self, weights, pose_a, pose_b, faces):
        self.a, self.b = (self.package.Body.morph(self.scene.targets, faces, rest=1) for _ in range(2))  # built on the middle target

    def step(self, weights, pose_a, pose_b):
        self.a.update(weights, transform=pose_a)
        self.b.update(weights, transform=pose_b)
        return self.package.collide(self.a, self.b).faces


class Hybrid(Peer):
    """Pliant with free bodies: vertices are blended in NumPy and passed to `update`."""

    name, module = "Pliant, vertices blended by NumPy", "pliant"

    def setup(self, weights, pose_a, pose_b, faces):
        self.a, self.b = (self.package.Body(self.scene.targets[0], faces, policy="hybrid") for _ in range(2))
        self.flat = self.scene.targets.reshape(3, -1)

    def step(self, weights, pose_a, pose_b):
        vertices = (weights @ self.flat).reshape(-1, 3)
        self.a.update(vertices, transform=pose_a)
        self.b.update(vertices, transform=pose_b)
        return self.package.collide(self.a, self.b).faces


class Warp(Peer):
    """NVIDIA Warp on the CPU: a kernel blends and transforms the vertices of both bodies, one mesh is refitted, then as in
    `benchmarks.peers`."""

    name, module = "Warp", "warp"

    def setup(self, weights, pose_a, pose_b, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        targets = self.scene.targets
        order, n = space_order(targets[0][faces].mean(axis=1)), targets.shape[1]
        shapes_ = [wp.array(target.astype(np.float32), dtype=wp.vec3) for target in targets]
        points_a, points_b = wp.zeros(n, dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3)
        numbers, poses = wp.zeros(3, dtype=wp.float32), wp.zeros(2, dtype=wp.mat44)
        corners = wp.array(faces[order].ravel(), dtype=wp.int32)
        count, found = wp.zeros(1, dtype=wp.int32), wp.zeros(8 * len(faces), dtype=wp.int64)
        self.blend = wp.launch(blend_kernel(wp), n, [*shapes_, numbers, poses, points_a, points_b], record_cmd=True)
        self.weights, self.poses = numbers.numpy(), poses.numpy()
        self.weights[:], self.poses[0], self.poses[1] = weights, pose_a, pose_b
        self.blend.launch()
        self.mesh = wp.Mesh(points_b, corners)
        inputs = [self.mesh.id, zoom_for(targets[0], faces), points_a, points_b, corners, wp.array(order, dtype=wp.int64), count, found]
        self.launch = wp.launch(warp_kernel(wp), len(faces), inputs, record_cmd=True)
        self.count, self.found = count.numpy(), found.numpy()

    def step(self, weights, pose_a, pose_b):
        self.weights[:], self.poses[0], self.poses[1], self.count[0] = weights, pose_a, pose_b, 0
        self.blend.launch()
        self.mesh.refit()
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        return sorted_pairs(self.found[: self.count[0]])


def blend_kernel(wp):
    """Thread i computes vertex i of both bodies."""
    wp.set_module_options({"enable_backward": False})
    vectors, floats, matrices = (wp.array(dtype=kind) for kind in (wp.vec3, wp.float32, wp.mat44))

    @wp.kernel
    def blend(s: vectors, t: vectors, u: vectors, weights: floats, poses: matrices, a: vectors, b: vectors):
        i = wp.tid()
        here = weights[0] * s[i] + weights[1] * t[i] + weights[2] * u[i]
        a[i] = wp.transform_point(poses[0], here)
        b[i] = wp.transform_point(poses[1], here)

    return blend


PEERS = {"hybrid": Hybrid, "warp": Warp}


def cost_of_update(faces, repeats=2000):
    """Microseconds of an update of weights, of a body of so many triangles; the minimum of the means of five series."""
    directions, indices = shapes.icosphere(round(np.log2(faces / 20) / 2))
    body, rng = pl.Body.morph([directions, directions * 1.2, directions * [1, 2, 3]], indices), np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(3), repeats)
    series = []
    for _ in range(5):
        start = time.perf_counter()
        for row in weights:
            body.update(row)
        series.append((time.perf_counter() - start) / repeats * 1e6)
    return len(indices), min(series)


def main():
    """The command line."""
    parser = parser_for("morph", __doc__, PEERS)
    parser.add_argument("--faces", type=int, default=20_480, help="triangles of each body: 320 · 4^k up to 327680")
    parser.add_argument("--frames", type=int, default=400, help="distinct frames")
    parser.add_argument("--sizes", type=int, nargs="*", default=[320, 5_120, 81_920, 1_310_720], help="triangles, for the cost of updates")
    options = parser.parse_args()
    alone(options.pin)
    console, job, scene = Console(), "update + all pairs, morphing bodies", passing(options.faces, options.frames)
    chosen = [Pliant, *map(PEERS.get, options.peers)][not options.pliant :]
    result = compare(Frames(scene.faces, scene.frames, scene.targets), chosen, options.budget, options.turn)
    console.print(table_of(result, job))
    table, costs = Table("triangles", "update(weights), µs", title="three targets, all active"), {}
    for faces in options.sizes:
        found, costs[faces] = cost_of_update(faces)
        table.add_row(f"{found:,}", f"{costs[faces]:.1f}")
    console.print(table)
    finish(console, job, [result], options, update_us=costs)


if __name__ == "__main__":
    main()
