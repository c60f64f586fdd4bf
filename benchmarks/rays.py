"""Comparison with ray tracers: the nearest hit of 307,200 rays, with a static mesh, and with nine that deform in every frame.

    python -m benchmarks.rays [--frames 12] [--jobs coherent random nine pick] [--ordered] [--out rays.json]

coherent   a static mesh of 327,680 triangles; the rays of a picture of 640 × 480, from a moving eye, row by row
random     the same mesh; rays between random points around it
nine       nine bodies of 81,920 triangles that deform; update, then the rays of a picture
pick       the same bodies, and one ray

Rays are computed outside the clock, in the precision that a library takes. `benchmarks.harness` has the rules; an answer is a pair of ray
and face. Libraries in float32 differ in a few rays along edges. Embree and Open3D (which uses Embree) rebuild, as they cannot refit
from Python; Warp refits one mesh of all bodies. Open3D traces 16 rays at a time, embreex one.
"""

from typing import NamedTuple

import numpy as np
from rich.console import Console

import pliant as pl
from benchmarks.harness import Peer, alone, compare, finish, parser_for, table_of
from pliant import shapes

WIDTH, HEIGHT = 640, 480
PLACES = np.array([(x, y, 0.0) for y in (-2.7, 0.0, 2.7) for x in (-2.7, 0.0, 2.7)])


def picture(eye, target, up=(0.0, 0.1, 1.0), width=0.9):
    """(origins, directions) of a picture of the target, row by row."""
    ahead = np.subtract(target, eye) / np.linalg.norm(np.subtract(target, eye))
    right = np.cross(ahead, up) / np.linalg.norm(np.cross(ahead, up))
    x, y = (np.arange(WIDTH) + 0.5) / WIDTH - 0.5, 0.5 - (np.arange(HEIGHT) + 0.5) / HEIGHT
    across = width * (x[None, :, None] * right + HEIGHT / WIDTH * y[:, None, None] * np.cross(right, ahead))
    directions = np.ascontiguousarray((ahead + across).reshape(-1, 3))
    return np.tile(np.asarray(eye, np.float64), (len(directions), 1)), directions


class Still(NamedTuple):
    """A static mesh, and rays that change."""

    faces: np.ndarray
    frames: int
    vertices: np.ndarray
    random: bool

    def frame(self, k):
        """(no vertices, origins, directions)."""
        if self.random:
            rng = np.random.default_rng([k, self.frames])
            ends = rng.standard_normal((2, WIDTH * HEIGHT, 3))
            ends *= 1.5 / np.linalg.norm(ends, axis=2, keepdims=True)
            return None, ends[0], ends[1] - ends[0]
        turn = 2 * np.pi * k / self.frames
        return None, *picture((3.2 * np.cos(turn), 3.2 * np.sin(turn), 0.5), (0, 0, 0))


class Nine(NamedTuple):
    """Bodies that deform, one after the other in `vertices`, and the rays of a picture, or one."""

    faces: np.ndarray
    frames: int
    vertices: np.ndarray
    single: bool

    def frame(self, k):
        """(vertices of all bodies (9, n, 3), origins, directions)."""
        time, turn = 4.0 * k / self.frames, 0.4 + 1.2 * k / self.frames
        moved = np.stack([shapes.bumpy(self.vertices, time + 7 * i, 0.2, 0.5) + place for i, place in enumerate(PLACES)])
        origins, directions = picture((9 * np.cos(turn), 9 * np.sin(turn), 4.5), (0, 0, 0))
        some = slice(180_000 + 97 * k, 180_001 + 97 * k) if self.single else slice(None)
        return moved, origins[some], directions[some]


def answers_of(face):
    """(ray, face) of the rays that hit."""
    rays = np.flatnonzero(face >= 0)
    return np.stack([rays, face[rays]], axis=1)


class Pliant(Peer):
    """Pliant, through its public API."""

    name, module, policy = "Pliant", "pliant", "auto"

    def setup(self, vertices, origins, directions, faces):
        self.moves = vertices is not None
        bodies = [self.package.Body(rows, faces, policy=self.policy) for rows in (vertices if self.moves else [self.scene.vertices])]
        self.bodies, self.faces = bodies, faces
        self.target = self.package.Scene(bodies) if self.moves else bodies[0]

    def step(self, vertices, origins, directions):
        if self.moves:
            for body, rows in zip(self.bodies, vertices, strict=True):
                body.update(rows)
        return self.package.cast(self.target, origins, directions)

    def after(self, answer):
        return answers_of(np.where(answer.face >= 0, answer.face + len(self.faces) * np.maximum(answer.body, 0), -1))


class BottomUp(Pliant):
    """Pliant with all volumes refitted before the first ray."""

    name, policy = "Pliant, bottom-up", "bottom_up"


class Single(Peer):
    """What libraries in float32 share: one mesh of all bodies, and preparations outside the clock."""

    def setup(self, vertices, origins, directions, faces):
        many = 1 if vertices is None else len(vertices)
        n = len(self.scene.vertices)
        self.moves, self.all_faces = vertices is not None, np.concatenate([faces + n * k for k in range(many)]).astype(np.int32)
        self.build(self.flat(vertices))

    def flat(self, vertices):
        """All vertices, (n, 3) float32: part of the task, as users have float64."""
        return (self.scene.vertices if vertices is None else vertices.reshape(-1, 3)).astype(np.float32)

    def before(self, vertices, origins, directions):
        self.rays = origins.astype(np.float32), directions.astype(np.float32)

    def after(self, answer):
        return answers_of(np.asarray(answer, np.int64))


class Embree(Single):
    """Embree through embreex: ray by ray."""

    name, module = "Embree (embreex)", "embreex.rtcore_scene"

    def build(self, vertices):
        from embreex.mesh_construction import TriangleMesh

        self.target = self.package.EmbreeScene()
        TriangleMesh(self.target, vertices, self.all_faces)

    def step(self, vertices, origins, directions):
        if self.moves:
            self.build(self.flat(vertices))
        return self.target.run(*self.rays, query="INTERSECT")


class Open3D(Single):
    """Embree through Open3D: packets of 16 rays."""

    name, module = "Open3D", "open3d"

    def build(self, vertices):
        o3d = self.package
        self.target = o3d.t.geometry.RaycastingScene(nthreads=1)
        self.target.add_triangles(o3d.core.Tensor(vertices), o3d.core.Tensor(self.all_faces.astype(np.uint32)))

    def before(self, vertices, origins, directions):
        self.rays = self.package.core.Tensor(np.concatenate([origins, directions], axis=1).astype(np.float32))

    def step(self, vertices, origins, directions):
        if self.moves:
            self.build(self.flat(vertices))
        return self.target.cast_rays(self.rays, nthreads=1)["primitive_ids"].numpy()

    def after(self, answer):
        ids = answer.astype(np.int64)
        return answers_of(np.where(ids == self.target.INVALID_ID, -1, ids))


class Warp(Single):
    """NVIDIA Warp on the CPU: one mesh, refitted; a thread per ray."""

    name, module = "Warp", "warp"

    def build(self, vertices):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        self.points = wp.array(vertices, dtype=wp.vec3)
        self.mesh = wp.Mesh(self.points, wp.array(self.all_faces.ravel(), dtype=wp.int32))
        self.kernel = ray_kernel(wp)

    def before(self, vertices, origins, directions):
        wp = self.package
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        self.rays = wp.array(origins.astype(np.float32), dtype=wp.vec3), wp.array((directions / lengths).astype(np.float32), dtype=wp.vec3)
        self.found = wp.empty(len(origins), dtype=wp.int32)

    def step(self, vertices, origins, directions):
        if self.moves:
            self.points.numpy()[:] = vertices.reshape(-1, 3)
            self.mesh.refit()
        self.package.launch(self.kernel, len(origins), [self.mesh.id, *self.rays, self.found])
        return self.found.numpy()


def ray_kernel(wp):
    """Thread i finds the face that ray i hits first."""
    wp.set_module_options({"enable_backward": False})
    vectors, numbers = wp.array(dtype=wp.vec3), wp.array(dtype=wp.int32)

    @wp.kernel
    def nearest(mesh: wp.uint64, origins: vectors, directions: vectors, found: numbers):
        i = wp.tid()
        query = wp.mesh_query_ray(mesh, origins[i], directions[i], 1.0e8)
        found[i] = -1
        if query.result:
            found[i] = query.face

    return nearest


PEERS = {"bottom_up": BottomUp, "embree": Embree, "open3d": Open3D, "warp": Warp}
JOBS = {"coherent": "nearest hits of a picture", "random": "nearest hits of random rays", "nine": "update + nearest hits of a picture",
        "pick": "update + one ray"}  # fmt: skip


def scene_of(job, frames, ordered=False):
    """The scene of a job, with vertices as the sphere has them or `ordered`, for all libraries."""
    vertices, faces = shapes.icosphere(7 if job in ("coherent", "random") else 6)
    if ordered:
        vertices, faces, _ = pl.reorder_vertices(vertices, faces)
    if job in ("coherent", "random"):
        return Still(faces, frames, shapes.bumpy(vertices, 0.0, 0.2, 0.5), job == "random")
    return Nine(faces, frames, vertices, job == "pick")


def main():
    """The command line."""
    parser = parser_for("rays", __doc__, PEERS)
    parser.add_argument("--frames", type=int, default=12, help="distinct frames")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS), help="jobs to run")
    parser.add_argument("--ordered", action="store_true", help="meshes of pliant.reorder_vertices, for all libraries")
    parser.set_defaults(turn=4, budget=60)
    options = parser.parse_args()
    alone(options.pin)
    console, results = Console(), []
    for job in options.jobs:
        scene = scene_of(job, options.frames, options.ordered)
        chosen = [Pliant, *(PEERS[name] for name in options.peers if name != "bottom_up" or isinstance(scene, Nine))][not options.pliant :]
        results.append(compare(scene, chosen, options.budget, options.turn))
        console.print(table_of(results[-1], JOBS[job]))
    finish(console, "rays", results, options)


if __name__ == "__main__":
    main()
