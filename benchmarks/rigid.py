"""Comparison with other libraries: two rigid bodies in many transforms, all intersecting pairs of faces.

    python -m benchmarks.rigid             all libraries, 20,480 triangles, 200 transforms; options: --help

The time is that of the query alone: BVHs are built once, and the transforms of both bodies are set before the clock starts. The result is
what a library returns; if that is a list of objects, the conversion to pairs (m, 2) is not timed. `benchmarks.harness` has the rules.

Every library transforms vertices in its own way and with its own rounding, so results may differ for pairs of faces that nearly touch.
Pliant's answer is exact for the vertices of `body.vertices`; libigl is given the same vertices, so it must agree.
"""

from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.harness import Peer, alone, compare, finish, packed, parser_for, require, sorted_pairs, table_of
from benchmarks.peers import MANY, space_order, zoom_for
from pliant.shapes import bumpy, bumpy_pair


class RigidPair(NamedTuple):
    """Two rigid bumpy spheres in random transforms; the vertices (n, 3) of each are the same in every frame."""

    faces: np.ndarray
    first: np.ndarray
    second: np.ndarray
    frames: int

    def frame(self, k):
        """Vertices of both bodies, then their transforms, two matrices (4, 4): rotated at random, 0.6 to 2.2 apart, away from the
        origin."""
        rng = np.random.default_rng([self.frames, k])
        place, across = rng.uniform(-3, 3, 3), rng.normal(size=3)
        across *= rng.uniform(0.6, 2.2) / np.linalg.norm(across)
        return self.first, self.second, matrix(any_turn(rng), place), matrix(any_turn(rng), place + across)


def rigid_pair(faces, frames):
    """The scene; its faces are in shuffled order."""
    scene = bumpy_pair(faces, 2)
    return RigidPair(scene.faces, bumpy(scene.directions, 1.0), bumpy(scene.directions, 17.3), frames)


def sliver_pair(faces, frames):
    """Two rods with triangles as long as the rods: four on each side of a prism, half of them caps."""
    n = faces // 4
    angles = 2 * np.pi * np.arange(n) / n
    ring = np.column_stack([0.4 * np.cos(angles), 0.4 * np.sin(angles)])
    rod = np.concatenate([np.column_stack([ring, np.full(n, end)]) for end in (-1.0, 1.0)] + [[[0, 0, -1.0], [0, 0, 1.0]]])
    i, j = np.arange(n), (np.arange(n) + 1) % n
    sides = [(i, j, n + i), (j, n + j, n + i), (j, i, np.full(n, 2 * n)), (n + i, n + j, np.full(n, 2 * n + 1))]
    mesh = np.concatenate([np.column_stack(side) for side in sides]).astype(np.int32)
    return RigidPair(np.random.default_rng(5).permutation(mesh), rod, rod * 0.8, frames)


SCENES = {"bumpy": rigid_pair, "slivers": sliver_pair}


def any_turn(rng):
    """A random rotation (3, 3), uniformly distributed."""
    w, x, y, z = (q := rng.normal(size=4)) / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def matrix(turn, move):
    """A rigid transform (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, move
    return pose


class Pliant(Peer):
    """Pliant, through its public API: rigid bodies, with transforms set by `update` before the clock starts, and one query."""

    name, module, sat, descend, volume = "Pliant", "pliant", "full", "both", "aabb"

    def setup(self, first, second, pose_a, pose_b, faces):
        self.a, self.b = (self.package.Body.rigid(vertices, faces, volume=self.volume) for vertices in (first, second))

    def before(self, first, second, pose_a, pose_b):
        self.a.update(pose_a)
        self.b.update(pose_b)

    def step(self, *frame):
        return self.package.collide(self.a, self.b, traversal=self.package.Traversal(self.sat, self.descend)).faces


class PliantLite(Pliant):
    """Six separating axes instead of fifteen."""

    name, sat = "Pliant, sat lite", "lite"


class PliantLarger(Pliant):
    """The larger of two nodes is opened, instead of both."""

    name, descend = "Pliant, descend larger", "larger"


class PliantLiteLarger(Pliant):
    """Both."""

    name, sat, descend = "Pliant, lite, larger", "lite", "larger"


class PliantSpheres(Pliant):
    """Other volumes than axis-aligned boxes in the body's frame: spheres,"""

    name, volume = "Pliant, spheres", "sphere"


class PliantBoxes(Pliant):
    """oriented boxes,"""

    name, volume = "Pliant, OBB", "obb"


class PliantSwept(Pliant):
    """rectangle-swept spheres,"""

    name, volume = "Pliant, RSS", "rss"


class PliantCutBalls(Pliant):
    """and slab cut balls."""

    name, volume = "Pliant, slab cut balls", "slabcutball"


class PliantTwiceCut(Pliant):
    """And with a second slab."""

    name, volume = "Pliant, double slab cut balls", "double_slabcutball"


class Warp(Peer):
    """NVIDIA Warp on the CPU: triangles of one body are transformed to the frame of the other, whose BVH is queried for each.

    The kernel is that of `benchmarks.peers` but for the transform, which is computed in float64 and applied in float32.
    """

    name, module = "Warp, sorted faces", "warp"

    def setup(self, first, second, pose_a, pose_b, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        order = space_order(first[faces].mean(axis=1))
        a, b = (wp.array(vertices.astype(np.float32), dtype=wp.vec3) for vertices in (first, second))
        corners = wp.array(faces[order].ravel(), dtype=wp.int32)
        pose, count, found = wp.zeros(1, dtype=wp.mat44), wp.zeros(1, dtype=wp.int32), wp.zeros(8 * len(faces), dtype=wp.int64)
        self.mesh = wp.Mesh(b, corners)
        inputs = [self.mesh.id, zoom_for(first, faces), pose, a, b, corners, wp.array(order, dtype=wp.int64), count, found]
        self.launch = wp.launch(warp_kernel(wp), len(faces), inputs, record_cmd=True)
        self.pose, self.count, self.found = (array.numpy() for array in (pose, count, found))

    def step(self, first, second, pose_a, pose_b):
        self.pose[0], self.count[0] = np.linalg.inv(pose_b) @ pose_a, 0
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        return sorted_pairs(self.found[: self.count[0]])


def warp_kernel(wp):
    """The Warp kernel: thread i appends the triangles of mesh B that intersect the transformed triangle i of A to `found`, as packed
    pairs."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, longs, matrices = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64, wp.mat44))

    @wp.kernel
    def placed_pairs(mesh: wp.uint64, zoom: float, pose: matrices, a: vectors, b: vectors, corners: ints, order: longs, count: ints,
                     found: longs):
        i = wp.tid()
        p = wp.transform_point(pose[0], a[corners[3 * i]])
        q = wp.transform_point(pose[0], a[corners[3 * i + 1]])
        r = wp.transform_point(pose[0], a[corners[3 * i + 2]])
        query = wp.mesh_query_aabb(mesh, wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r))
        here, q_local, r_local = wp.vec3(0.0), zoom * (q - p), zoom * (r - p)
        j = int(0)  # noqa: UP018, RUF046 - makes it a variable in Warp
        while wp.mesh_query_aabb_next(query, j):
            u, v, w = b[corners[3 * j]], b[corners[3 * j + 1]], b[corners[3 * j + 2]]
            if wp.intersect_tri_tri(here, q_local, r_local, zoom * (u - p), zoom * (v - p), zoom * (w - p)) > 0:
                k = wp.atomic_add(count, 0, 1)
                if k < found.shape[0]:
                    found[k] = wp.lshift(order[i], wp.int64(32)) | order[j]

    return placed_pairs


class Coal(Peer):
    """Coal: BVHs of oriented boxes with swept spheres, all contacts as pairs, without contact geometry."""

    name, module, model = "Coal, OBBRSS", "coal", "BVHModelOBBRSS"

    def setup(self, first, second, pose_a, pose_b, faces):
        self.request = self.package.CollisionRequest()
        self.request.num_max_contacts, self.request.enable_contact = MANY, False
        self.a, self.b = (self.build(vertices, faces) for vertices in (first, second))

    def build(self, vertices, faces):
        model = getattr(self.package, self.model)()
        model.beginModel(len(faces), len(vertices))
        model.addVertices(vertices)
        model.addTriangles(faces.astype(np.int64))
        require(model.endModel() == 0, "Coal did not build")
        return model

    def before(self, first, second, pose_a, pose_b):
        self.at_a, self.at_b = (self.package.Transform3s(pose[:3, :3], pose[:3, 3]) for pose in (pose_a, pose_b))
        self.result = self.package.CollisionResult()

    def step(self, *frame):
        self.package.collide(self.a, self.at_a, self.b, self.at_b, self.request, self.result)
        return self.result

    def after(self, answer):
        return sorted_pairs(packed([(c.b1, c.b2) for c in answer.getContacts()]))


class CoalObb(Coal):
    """The same with oriented boxes alone."""

    name, model = "Coal, OBB", "BVHModelOBB"


class Fcl(Peer):
    """FCL: BVHs of oriented boxes with swept spheres, the only type in python-fcl. It makes a Python object of every contact."""

    name, module = "FCL, OBBRSS", "fcl"

    def setup(self, first, second, pose_a, pose_b, faces):
        self.request = self.package.CollisionRequest(num_max_contacts=MANY, enable_contact=False)
        self.a, self.b = (self.build(vertices, faces.tolist()) for vertices in (first, second))

    def build(self, vertices, faces):
        model = self.package.BVHModel()
        model.beginModel(len(faces), len(vertices))
        model.addSubModel(vertices, faces)
        require(model.endModel() == 0, "FCL did not build")
        return self.package.CollisionObject(model)

    def before(self, first, second, pose_a, pose_b):
        for placed, pose in ((self.a, pose_a), (self.b, pose_b)):
            placed.setTransform(self.package.Transform(pose[:3, :3], pose[:3, 3]))
        self.result = self.package.CollisionResult()

    def step(self, *frame):
        self.package.collide(self.a, self.b, self.request, self.result)
        return self.result

    def after(self, answer):
        return sorted_pairs(packed([(c.b1, c.b2) for c in answer.contacts]))


class Igl(Peer):
    """libigl with CGAL: `intersect_other` on the transformed vertices of Pliant. Exact arithmetic; it keeps no BVH."""

    name, module = "libigl (CGAL, exact)", "igl.copyleft.cgal"

    def setup(self, first, second, pose_a, pose_b, faces):
        self.faces = faces.astype(np.int64)

    def before(self, first, second, pose_a, pose_b):
        self.a, self.b = placed(first, pose_a), placed(second, pose_b)

    def step(self, *frame):
        return self.package.intersect_other(self.a, self.faces, self.b, self.faces, detect_only=True)[0]

    def after(self, answer):
        return sorted_pairs(packed(answer))


def placed(vertices, pose):
    """Vertices (n, 3) after a transform, equal to the bit to `Body.vertices`: rounded after every operation, in this order."""
    x, y, z = vertices.T
    return np.column_stack([row[0] * x + (row[1] * y + (row[2] * z + row[3])) for row in pose[:3]])


PEERS = {"lite": PliantLite, "larger": PliantLarger, "lite-larger": PliantLiteLarger, "sphere": PliantSpheres, "obb": PliantBoxes,
         "rss": PliantSwept, "slabcutball": PliantCutBalls, "double_slabcutball": PliantTwiceCut, "warp": Warp, "coal": Coal,
         "coal-obb": CoalObb,
         "fcl": Fcl, "igl": Igl}


def main():
    """The command line."""
    parser = parser_for("rigid", __doc__, PEERS)
    parser.add_argument("--faces", type=int, nargs="+", default=[20_480], help="triangles a mesh: 320 · 4^k up to 327680")
    parser.add_argument("--frames", type=int, default=200, help="number of transforms")
    parser.add_argument("--scene", choices=list(SCENES), default="bumpy", help="bumpy spheres, or rods of long thin triangles")
    options = parser.parse_args()
    alone(options.pin)
    peers, job = [Pliant, *map(PEERS.get, options.peers)], "all pairs of rigid bodies, the query alone"
    results, console = [], Console()
    for faces in options.faces:
        results.append(compare(SCENES[options.scene](faces, options.frames), peers[not options.pliant :], options.budget, options.turn))
        console.print(table_of(results[-1], job))
    finish(console, job, results, options)


if __name__ == "__main__":
    main()
