"""Comparison with Warp: two bodies, each vertex moved by several affine maps, that touch and separate; and the cost of an update.

    python -m benchmarks.blended [--level 6] [--nodes 115] [--influences 8] [--frames 200] [--out blended.json]

The time of a frame is that of the whole task: maps (m, 3, 4) of both bodies in, sorted pairs (f, 2) int32 out. `benchmarks.harness` has the
rules. Warp transforms all vertices in a kernel, in float32, and refits one mesh.
"""

import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import pliant as pl
from benchmarks.harness import Peer, alone, compare, finish, parser_for, require, sorted_pairs, table_of
from benchmarks.peers import space_order, warp_kernel, zoom_for
from pliant import shapes
from pliant.motion.meshless import farthest_point_sampling

APART = 2.08, 0.12  # distance of the centres, and its amplitude: from contact to separation
SWAYS = 5.0


class Frames(NamedTuple):
    """A bumpy ball that twists and stretches, beside another: the scene that libraries get."""

    rest: np.ndarray
    faces: np.ndarray
    nodes: pl.MeshlessNodes
    weights: object
    frames: int

    def frame(self, k):
        """Maps of both bodies."""
        t = k / self.frames
        return self.maps(t, 0.0), self.maps(1 - t, APART[0] + APART[1] * np.cos(2 * np.pi * SWAYS * t))

    def maps(self, t, x):
        """The maps of one body, at this x."""
        return self.nodes.maps(twisted(self.nodes.positions, t) + [x, 0, 0])


def twisted(rows, t):
    """Twisted around z by up to 0.8 a unit, and stretched along it by up to 30 %."""
    angle = (0.3 + 0.5 * t) * rows[:, 2]
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * rows[:, 0] - s * rows[:, 1], s * rows[:, 0] + c * rows[:, 1], (1 + 0.3 * t) * rows[:, 2]], axis=1)


def scene_of(level, count, influences, frames):
    """So many nodes inside an icosphere of this level, and weights of that many nodes per vertex, or fewer."""
    directions, faces = shapes.icosphere(level)
    rest = shapes.bumpy(directions, 1.0, 0.1)
    inside = np.concatenate([part * rest[:: max(len(rest) // 5000, 1)] for part in (0.25, 0.5, 0.75, 0.95)])
    inside = inside[farthest_point_sampling(inside, count)]
    nodes = pl.MeshlessNodes(inside, radius=3.2 * np.median(pl.MeshlessNodes(inside, radius=1.0).spacing))
    return Frames(rest, faces, nodes, nodes.weights(rest, most=influences), frames)


class Pliant(Peer):
    """Pliant, through its public API."""

    name, module, policy = "Pliant", "pliant", "auto"

    def setup(self, maps_a, maps_b, faces):
        rest, weights = self.scene.rest, self.scene.weights
        self.a, self.b = (self.package.Body.blended(rest, faces, weights, policy=self.policy) for _ in range(2))

    def step(self, maps_a, maps_b):
        self.a.update(maps_a)
        self.b.update(maps_b)
        return self.package.collide(self.a, self.b).faces


class Everything(Pliant):
    """Pliant without bounds: all vertices are deformed, compiled, and all volumes refitted."""

    name, policy = "Pliant, all vertices deformed, bottom-up", "bottom_up"


class NumPy(Peer):
    """Pliant with free bodies: vertices are deformed by SciPy and NumPy and passed to `update`."""

    name, module = "Pliant, vertices deformed by SciPy", "pliant"

    def setup(self, maps_a, maps_b, faces):
        self.a, self.b = (self.package.Body(self.scene.rest, faces) for _ in range(2))
        self.rest = np.concatenate([self.scene.rest, np.ones((len(self.scene.rest), 1))], axis=1)

    def step(self, maps_a, maps_b):
        for body, maps in ((self.a, maps_a), (self.b, maps_b)):
            each = (self.scene.weights @ maps.reshape(-1, 12)).reshape(-1, 3, 4)
            body.update(np.einsum("vij,vj->vi", each, self.rest))
        return self.package.collide(self.a, self.b).faces


class Warp(Peer):
    """NVIDIA Warp on the CPU: a kernel deforms the vertices of a body, one mesh is refitted, then as in `benchmarks.peers`."""

    name, module = "Warp", "warp"

    def setup(self, maps_a, maps_b, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        rest, weights, n = self.scene.rest, self.scene.weights, len(self.scene.rest)
        order = space_order(rest[faces].mean(axis=1))
        start, corners = wp.array(rest.astype(np.float32), dtype=wp.vec3), wp.array(faces[order].ravel(), dtype=wp.int32)
        skin = [wp.array(part, dtype=wp.int32) for part in (weights.indptr, weights.indices)] + [wp.array(weights.data, dtype=wp.float32)]
        points, self.maps, self.move = [wp.zeros(n, dtype=wp.vec3) for _ in range(2)], [], []
        for at in points:
            maps = wp.zeros(len(self.scene.nodes), dtype=wp.mat44)
            self.maps.append(maps.numpy())
            self.move.append(wp.launch(skin_kernel(wp), n, [start, *skin, maps, at], record_cmd=True))
        self.place(maps_a, maps_b)
        self.mesh = wp.Mesh(points[1], corners)
        count, found = wp.zeros(1, dtype=wp.int32), wp.zeros(8 * len(faces), dtype=wp.int64)
        inputs = [self.mesh.id, zoom_for(rest, faces), *points, corners, wp.array(order, dtype=wp.int64), count, found]
        self.launch = wp.launch(warp_kernel(wp), len(faces), inputs, record_cmd=True)
        self.count, self.found = count.numpy(), found.numpy()

    def place(self, *maps):
        """Deform the vertices of both."""
        for room, given, move in zip(self.maps, maps, self.move, strict=True):
            room[:, :3], room[:, 3] = given, (0, 0, 0, 1)
            move.launch()

    def step(self, maps_a, maps_b):
        self.count[0] = 0
        self.place(maps_a, maps_b)
        self.mesh.refit()
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        return sorted_pairs(self.found[: self.count[0]])


def skin_kernel(wp):
    """Thread i deforms vertex i."""
    wp.set_module_options({"enable_backward": False})
    vectors, floats, numbers, matrices = (wp.array(dtype=kind) for kind in (wp.vec3, wp.float32, wp.int32, wp.mat44))

    @wp.kernel
    def skin(rest: vectors, begins: numbers, which: numbers, weights: floats, maps: matrices, points: vectors):
        i = wp.tid()
        total = wp.vec3()
        for e in range(begins[i], begins[i + 1]):
            total += weights[e] * wp.transform_point(maps[which[e]], rest[i])
        points[i] = total

    return skin


PEERS = {"everything": Everything, "numpy": NumPy, "warp": Warp}


def cost_of_update(level, count, repeats=500):
    """Microseconds of an update of maps; the minimum of the means of five series."""
    scene, series = scene_of(level, count, 8, repeats), []
    body, maps = pl.Body.blended(scene.rest, scene.faces, scene.weights), [scene.frame(k)[0] for k in range(repeats)]
    for _ in range(5):
        start = time.perf_counter()
        for each in maps:
            body.update(each)
        series.append((time.perf_counter() - start) / repeats * 1e6)
    return len(scene.rest), min(series)


def main():
    """The command line."""
    parser = parser_for("blended", __doc__, PEERS)
    parser.add_argument("--level", type=int, default=6, help="of the icosphere: 10 · 4^level + 2 vertices")
    parser.add_argument("--nodes", type=int, default=115, help="simulation nodes, a map each")
    parser.add_argument("--influences", type=int, default=8, help="maps that move a vertex, at most")
    parser.add_argument("--frames", type=int, default=200, help="distinct frames")
    options = parser.parse_args()
    alone(options.pin)
    console, job = Console(), f"update + all pairs, {options.nodes} maps a body, {options.influences} a vertex"
    scene = scene_of(options.level, options.nodes, options.influences, options.frames)
    result = compare(scene, [Pliant, *map(PEERS.get, options.peers)][not options.pliant :], options.budget, options.turn)
    console.print(table_of(result, job))
    table, costs = Table("vertices", "maps", "update(maps), µs", title="for any number of vertices"), {}
    for level, count in ((3, 32), (6, 32), (3, 115), (6, 115), (6, 550)):
        found, costs[f"{level}, {count}"] = cost_of_update(level, count)
        table.add_row(f"{found:,}", str(count), f"{costs[f'{level}, {count}']:.1f}")
    console.print(table)
    finish(console, job, [result], options, update_us=costs)


if __name__ == "__main__":
    main()
