"""Comparison with other libraries: one cloth that folds through itself, all intersecting pairs of its faces in every frame.

    python -m benchmarks.cloth                      all libraries, two sizes, 60 frames; flat sheets; options: --help
    python -m benchmarks.cloth --real FILE.ply …    the same libraries on files: pairs, times, and agreement

The time of a frame is that of the whole task: float64 vertices (n, 3) in, sorted pairs (m, 2) int32 out. `benchmarks.harness` has the
rules. Adjacent faces always touch, and there are two ways to treat them. "ignore" omits all of them: the reference, and Warp's kernel.
"exact" reports those that intersect in more than their common vertex or edge: Pliant's default, and libigl. Answers of the two kinds are
compared without adjacent faces, those of one kind in full.

The second table is about flat sheets, the hardest case for the exact kind: all adjacent faces are coplanar, or nearly so by rounding.
"""

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.harness import Peer, alone, compare, finish, packed, parser_for, require, sorted_pairs, table_of
from benchmarks.peers import space_order, zoom_for
from benchmarks.ply import read_ply
from pliant.shapes import folding_cloth

# Tilts of flat sheets: (axis, angle). No angle is a fraction of a turn, so that coordinates are rounded.
TILTS = (((1, 0, 0), 0.5), ((0.3, 1, 0), 1.1), ((0, 0, 1), 0.8), ((-0.4, 0.9, 1.3), 2.3), ((1, 1, 0), 1e-3))


class Single(NamedTuple):
    """A scene of one body for the harness: `make(k, frames)` returns the vertices (n, 3) of frame k."""

    faces: np.ndarray
    frames: int
    make: Callable[[int, int], np.ndarray]

    def frame(self, k):
        return (self.make(k, self.frames),)


class Pliant(Peer):
    """Pliant, through its public API: one update and one query, without adjacent faces."""

    name, module, kind, adjacent = "Pliant, ignore", "pliant", "ignore", "ignore"

    def setup(self, vertices, faces):
        self.faces, self.body = faces, self.package.Body(vertices, faces)

    def step(self, vertices):
        self.body.update(vertices)
        return self.package.self_collide(self.body, adjacent=self.adjacent).faces

    def common(self, pairs):
        return non_adjacent(pairs, self.faces)


class PliantExact(Pliant):
    """The same with adjacent faces that intersect in more than their common vertex or edge."""

    name, kind, adjacent = "Pliant, exact", "exact", "exact"


class Warp(Peer):
    """NVIDIA Warp on the CPU: refit one mesh, then one box query per triangle in it, in a hand-written kernel.

    As in `benchmarks.peers`, faces are sorted along a space-filling curve and positions scaled, because the triangle test
    has an absolute tolerance. A box query cannot start after its own triangle: every pair is found twice.
    Builders and leaves of 1 … 8 came within 10 % of each other; a BVH and an order of the folded cloth cost 1.6 × the time.
    """

    name, module, kind = "Warp, sorted faces", "warp", "ignore"
    sort_faces = True

    def setup(self, vertices, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        self.faces = faces
        order = space_order(vertices[faces].mean(axis=1)) if self.sort_faces else np.arange(len(faces))
        points = wp.array(vertices.astype(np.float32), dtype=wp.vec3)
        corners = wp.array(faces[order].ravel(), dtype=wp.int32)
        count, found = wp.zeros(1, dtype=wp.int32), wp.zeros(8 * len(faces), dtype=wp.int64)
        self.mesh = wp.Mesh(points, corners)
        inputs = [self.mesh.id, zoom_for(vertices, faces), points, corners, wp.array(order, dtype=wp.int64), count, found]
        self.launch = wp.launch(warp_kernel(wp), len(faces), inputs, record_cmd=True)
        self.points, self.count, self.found = (x.numpy() for x in (points, count, found))  # views of Warp's own memory

    def step(self, vertices):
        self.points[:], self.count[0] = vertices, 0
        self.mesh.refit()
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        return sorted_pairs(self.found[: self.count[0]])


class WarpUnsorted(Warp):
    """The same with the faces in their given order."""

    name, sort_faces = "Warp, faces as given", False


def warp_kernel(wp):
    """The Warp kernel: thread i appends, as packed pairs, the later triangles that intersect triangle i and share no vertex with it."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, longs = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64))

    @wp.kernel
    def self_pairs(mesh: wp.uint64, zoom: float, points: vectors, corners: ints, order: longs, count: ints, found: longs):
        i = wp.tid()
        a, b, c = corners[3 * i], corners[3 * i + 1], corners[3 * i + 2]
        p, q, r = points[a], points[b], points[c]
        query = wp.mesh_query_aabb(mesh, wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r))
        here, q_local, r_local = wp.vec3(0.0), zoom * (q - p), zoom * (r - p)
        j = int(0)  # noqa: UP018, RUF046 - makes it a variable in Warp
        while wp.mesh_query_aabb_next(query, j):
            if j > i:
                d, e, f = corners[3 * j], corners[3 * j + 1], corners[3 * j + 2]
                if a != d and a != e and a != f and b != d and b != e and b != f and c != d and c != e and c != f:
                    u, v, w = zoom * (points[d] - p), zoom * (points[e] - p), zoom * (points[f] - p)
                    if wp.intersect_tri_tri(here, q_local, r_local, u, v, w) > 0:
                        k = wp.atomic_add(count, 0, 1)
                        if k < found.shape[0]:
                            found[k] = wp.lshift(wp.min(order[i], order[j]), wp.int64(32)) | wp.max(order[i], order[j])

    return self_pairs


class Igl(Peer):
    """libigl with CGAL: `remesh_self_intersections`, detection only. Exact except for faces folded flat onto each other about an edge,
    whose plane it rounds: it may miss those. No state between frames.

    `igl.predicates.find_self_intersections` is no faster (1.1 × the time at 20,000 faces, 1.6 × at 100,000), and misses adjacent
    faces that overlap along an edge. Other values of `cutoff`, the size at which boxes are merely scanned, gain 5 % at most.
    """

    name, module, kind = "libigl (CGAL, exact)", "igl.copyleft.cgal", "exact"

    def setup(self, vertices, faces):
        self.faces, self.indices = faces, faces.astype(np.int64)

    def step(self, vertices):
        answer = self.package.remesh_self_intersections(vertices, self.indices, detect_only=True)[2]
        return sorted_pairs(packed(np.sort(answer, axis=1)))

    def common(self, pairs):
        return non_adjacent(pairs, self.faces)


PEERS = {"warp": Warp, "warp-unsorted": WarpUnsorted, "igl": Igl}


def shared(pairs, faces):
    """The number of vertices (m,) that the faces of each pair share."""
    pairs = np.asarray(pairs).reshape(-1, 2)
    return (faces[pairs[:, 0], :, None] == faces[pairs[:, 1], None, :]).sum(axis=(1, 2))


def non_adjacent(pairs, faces):
    """The pairs of non-adjacent faces."""
    return pairs[shared(pairs, faces) == 0]


def cloth_scene(faces, frames):
    """The folding cloth, as a scene."""
    cloth = folding_cloth(faces, frames)
    return Single(cloth.faces, frames, lambda k, frames: cloth._replace(frames=frames).frame(k))


# --- flat sheets -------------------------------------------------------------------------------------------------------------

def flat_scenes(faces, frames):
    """Names and scenes: a sheet with the cloth's grid in a plane, axis-aligned and at several tilts, that slides in its plane."""
    cloth = folding_cloth(faces, frames)
    nx, ny = cloth.cells
    x, y = np.tile(1.25 * np.arange(nx + 1) / nx, ny + 1), np.repeat(np.arange(ny + 1) / ny, nx + 1)
    grid = np.column_stack([x - 0.625, y - 0.5, np.zeros(len(x))])

    def along_axes(k, frames):
        return grid + np.array([0.37, -0.11, 0.61]) + 1.7 / frames * k * np.array([0.1, 0.07, 0])

    def tilted(turn):
        def make(k, frames):
            angle = 0.6 * k / frames
            spin = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
            return (grid @ spin.T + 0.2 * k / frames * np.array([1, 0.7, 0])) @ turn.T + np.array([0.37, -0.11, 0.61])
        return make

    yield "flat, along the axes", Single(cloth.faces, frames, along_axes)
    for axis, angle in TILTS:
        yield f"flat, rotated by {angle} about {axis}", Single(cloth.faces, frames, tilted(rotation(axis, angle)))


def rotation(axis, angle):
    """The (3, 3) rotation by `angle` about an axis."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)


def flat_sheets(faces, frames, turn):
    """Both kinds on the folding cloth and on flat sheets with as many faces, in turns; rows for the table. The first is the reference."""
    import pliant as pl

    rows, scenes = [], [("folding cloth", cloth_scene(faces, frames)), *flat_scenes(faces, frames)]
    for name, scene in scenes:
        body = pl.Body(*scene.frame(0), scene.faces)
        for adjacent in ("ignore", "exact"):
            rows.append({"sheet": name, "adjacent": adjacent, "seconds": 0.0, "pairs": 0, "n_p": 0, "n_exact": 0, "at": (scene, body)})
            pl.self_collide(body, adjacent=adjacent)  # loads the kernels
    for begin in range(0, frames, turn):
        for row in rows[begin // turn % len(rows) :] + rows[: begin // turn % len(rows)]:
            scene, body = row["at"]
            vertices = [scene.frame(k)[0] for k in range(begin, min(begin + turn, frames))]
            for now in vertices:
                start = time.perf_counter()
                body.update(now)
                answer = pl.self_collide(body, adjacent=row["adjacent"])
                row["seconds"] += time.perf_counter() - start
                row["pairs"] += len(answer)
                row["n_p"] += answer.stats.n_p
                row["n_exact"] += answer.stats.n_exact
    for row in rows:
        del row["at"]
        row["ratio"] = row["seconds"] / rows[0]["seconds"]
    return {"faces": len(scene.faces), "frames": frames, "rows": rows}


def flat_table(result):
    """The rich table of flat sheets."""
    title = f"{result['faces']:,} triangles, {result['frames']} frames: update + self_collide; ratio to the first row"
    table = Table("sheet", "neighbours", title=title)
    for column in ("mean ms", "ratio", "pairs", "n_p a frame", "n_exact"):
        table.add_column(column, justify="right")
    for row in result["rows"]:
        figures = f"{1e3 * row['seconds'] / result['frames']:.3f}", f"{row['ratio']:.3f}"
        counts = f"{row['pairs']:,}", f"{row['n_p'] // result['frames']:,}", f"{row['n_exact']:,}"
        table.add_row(row["sheet"], row["adjacent"], *figures, *counts)
    return table


# --- files -------------------------------------------------------------------------------------------------------------------

def file_scene(path, frames):
    """A file, the same in every frame."""
    vertices, faces = read_ply(path)
    return Single(faces, frames, lambda k, frames: vertices)


def degenerate(corners):
    """Are three points (3, 3) on a line? Exactly."""
    a, b, c = (np.array([Fraction(x) for x in row], object) for row in corners.tolist())
    (x, y, z), (u, v, w) = b - a, c - a
    return y * w == z * v and z * u == x * w and x * v == y * u


def explain(result, scene):
    """Lines about some pairs on which libraries differ: faces, what they share, coordinates to the last bit, known causes."""
    for row in result["rows"]:
        for k, i, j in row.get("examples", ()):
            corners = scene.frame(k)[0][scene.faces[[i, j]]]
            causes = [name for name, holds in (
                ("share all three vertices: libigl omits them", shared([[i, j]], scene.faces)[0] == 3),
                ("degenerate: libigl omits it", any(map(degenerate, corners))),
                ("a common edge: libigl rounds the plane", shared([[i, j]], scene.faces)[0] == 2),
                ("coincident vertices: shared for libigl", (corners[0][:, None] == corners[1]).all(axis=2).sum()
                 > shared([[i, j]], scene.faces)[0]),
            ) if holds]
            yield f"{row['library']}, frame {k}, faces {i} and {j}, share {shared([[i, j]], scene.faces)[0]}; {'; '.join(causes)}"
            yield f"    {corners.tolist()}"


def main():
    """The command line."""
    parser = parser_for("cloth", __doc__, PEERS)
    parser.add_argument("--faces", type=int, nargs="+", default=[20_000, 100_000], help="triangles of the cloth")
    parser.add_argument("--frames", type=int, default=60, help="frames of the animation")
    parser.add_argument("--flat", action=argparse.BooleanOptionalAction, default=True, help="flat sheets as well")
    parser.add_argument("--real", nargs="+", type=Path, metavar="FILE", help="run on these PLY files instead, 9 times each")
    options = parser.parse_args()
    alone(options.pin)
    peers, job = [Pliant, PliantExact, *map(PEERS.get, options.peers)][0 if options.pliant else 2 :], "update + all pairs within"
    results, flats, console = [], [], Console()
    scenes = [(path.name, file_scene(path, 9)) for path in options.real or ()]
    scenes = scenes or [("folding cloth", cloth_scene(faces, options.frames)) for faces in options.faces]
    for name, scene in scenes:
        results.append({"scene": name} | compare(scene, peers, options.budget, options.turn))
        console.print(table_of(results[-1], f"{name}, {job}"))
        for line in explain(results[-1], scene):
            console.print(line, highlight=False)
    for faces in options.faces if options.flat and options.pliant and not options.real else ():
        flats.append(flat_sheets(faces, options.frames, options.turn))
        console.print(flat_table(flats[-1]))
    finish(console, job, results, options, flat_sheets=flats)


if __name__ == "__main__":
    main()
