"""Comparison with other libraries: two deforming meshes, all intersecting pairs of faces in every frame.

    python -m benchmarks.peers             all libraries, four sizes, 200 frames; options: --help
    python -m benchmarks.peers --build     building a BVH, compared with Embree

The time of a frame is that of the whole task: float64 vertices (n, 3) of both bodies in, sorted pairs (m, 2) int32 out,
in the fastest way found in each library's Python interface. `benchmarks.harness` has the rules.
"""

from importlib import import_module

import numpy as np
from rich.console import Console

from benchmarks.harness import Peer, alone, compare, finish, packed, parser_for, require, sorted_pairs, table_of
from pliant.shapes import bumpy_pair

MANY = 10_000_000  # "all contacts", for libraries that take a number
RAY = np.array([[[0, 0, -9]], [[0, 0, 1]]], np.float32)  # origin and direction, (1, 3) each: makes Embree build
NEEDLE = np.array([[0, 0, -9], [0, 0, 9], [0, 1e-9, 0]])  # makes Pliant refit


class Pliant(Peer):
    """Pliant, through its public API: two updates and one query."""

    name, module = "Pliant", "pliant"

    def setup(self, vertices_a, vertices_b, faces):
        self.a, self.b = self.package.Body(vertices_a, faces), self.package.Body(vertices_b, faces)

    def step(self, vertices_a, vertices_b):
        self.a.update(vertices_a)
        self.b.update(vertices_b)
        return self.package.collide(self.a, self.b).faces


class Warp(Peer):
    """NVIDIA Warp on the CPU: refit one mesh, then one box query per triangle of the other, in a hand-written kernel.

    Warp has float32 box queries and a triangle test, but no query between two meshes. `wp.Mesh` and `wp.Bvh`, leaves
    of 1 … 8 and its builders came within 10 % of each other. It matters that consecutive threads have triangles close to
    each other: faces sorted along a space-filling curve, once, are 1.5 × as fast at 20,480 faces, 2.3 × at 327,680.

    `wp.intersect_tri_tri` calls triangles coplanar by an absolute tolerance, 1e-6: on these spheres, unscaled, it
    reports 13 % false pairs at 20,480 faces, six times as many at 327,680. So positions are relative to a corner of the
    box and scaled to edges of about 16: that costs no time and leaves only the errors of float32 positions.
    """

    name, module = "Warp, sorted faces", "warp"
    sort_faces = True

    def setup(self, vertices_a, vertices_b, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        order = space_order(vertices_a[faces].mean(axis=1)) if self.sort_faces else np.arange(len(faces))
        points_a = wp.array(vertices_a.astype(np.float32), dtype=wp.vec3)
        points_b = wp.array(vertices_b.astype(np.float32), dtype=wp.vec3)
        corners = wp.array(faces[order].ravel(), dtype=wp.int32)
        count, found = wp.zeros(1, dtype=wp.int32), wp.zeros(8 * len(faces), dtype=wp.int64)
        self.mesh = wp.Mesh(points_b, corners)
        inputs = [self.mesh.id, zoom_for(vertices_a, faces), points_a, points_b, corners, wp.array(order, dtype=wp.int64), count, found]
        self.launch = wp.launch(warp_kernel(wp), len(faces), inputs, record_cmd=True)  # captured: 0.1 ms less a frame
        # NumPy views of Warp's own memory: assigning to them converts to float32 and hands over in one pass.
        self.a, self.b, self.count, self.found = (x.numpy() for x in (points_a, points_b, count, found))

    def step(self, vertices_a, vertices_b):
        self.a[:], self.b[:], self.count[0] = vertices_a, vertices_b, 0
        self.mesh.refit()
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        return sorted_pairs(self.found[: self.count[0]])


class WarpUnsorted(Warp):
    """The same with the faces in their given order."""

    name, sort_faces = "Warp, faces as given", False


def warp_kernel(wp):
    """The Warp kernel: thread i appends the triangles of mesh B that intersect triangle i of A to `found`, as packed pairs."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, longs = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64))

    @wp.kernel
    def all_pairs(mesh: wp.uint64, zoom: float, a: vectors, b: vectors, corners: ints, order: longs, count: ints, found: longs):
        i = wp.tid()
        p, q, r = a[corners[3 * i]], a[corners[3 * i + 1]], a[corners[3 * i + 2]]
        query = wp.mesh_query_aabb(mesh, wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r))
        here, q_local, r_local = wp.vec3(0.0), zoom * (q - p), zoom * (r - p)
        j = int(0)  # noqa: UP018, RUF046 - makes it a variable in Warp
        while wp.mesh_query_aabb_next(query, j):
            u, v, w = b[corners[3 * j]], b[corners[3 * j + 1]], b[corners[3 * j + 2]]
            if wp.intersect_tri_tri(here, q_local, r_local, zoom * (u - p), zoom * (v - p), zoom * (w - p)) > 0:
                k = wp.atomic_add(count, 0, 1)
                if k < found.shape[0]:
                    found[k] = wp.lshift(order[i], wp.int64(32)) | order[j]

    return all_pairs


def zoom_for(vertices, faces):
    """The factor that scales edges to about 16; a power of two, which loses no bits."""
    side = np.linalg.norm(vertices[faces[:, 0]] - vertices[faces[:, 1]], axis=1).mean()
    return 2.0 ** np.round(np.log2(16 / side))


def space_order(points):
    """The order (n,) of points (n, 3) along a Morton curve with 1,024 cells per axis."""
    low, high = points.min(axis=0), points.max(axis=0)
    cells = ((points - low) / (high - low).max() * 1023).astype(np.int64)
    bits = [(cells[:, axis] >> bit & 1) << (3 * bit + axis) for bit in range(10) for axis in range(3)]
    return np.argsort(np.sum(bits, axis=0), kind="stable")


class Coal(Peer):
    """Coal: BVHs of oriented boxes, refitted bottom-up, all contacts as pairs.

    Of OBB and OBBRSS models, refitted bottom-up, top-down or rebuilt, this was the fastest. The binding takes new
    vertices only one by one or as its own vector type: pass it a prepared vector, then write the real positions through
    the view that `vertices()` returns. Contact geometry is off; the pairs are reported all the same.
    """

    name, module, model = "Coal", "coal", "BVHModelOBB"

    def setup(self, vertices_a, vertices_b, faces):
        self.request, self.still = self.package.CollisionRequest(), self.package.Transform3s()
        self.request.num_max_contacts, self.request.enable_contact = MANY, False
        self.outline = self.package.StdVec_Vec3s()
        self.outline.extend(list(vertices_a))
        self.a, self.b = getattr(self.package, self.model)(), getattr(self.package, self.model)()
        for model, vertices in ((self.a, vertices_a), (self.b, vertices_b)):
            model.beginModel(len(faces), len(vertices))
            model.addVertices(vertices)
            model.addTriangles(faces.astype(np.int64))
            require(model.endModel() == 0, "Coal did not build")

    def update(self, vertices_a, vertices_b, bottom_up=True):
        """Refit both models."""
        for model, vertices in ((self.a, vertices_a), (self.b, vertices_b)):
            model.beginReplaceModel()
            model.replaceSubModel(self.outline)
            model.vertices()[:] = vertices
            require(model.endReplaceModel(True, bottom_up) == 0, "Coal did not refit")

    def step(self, vertices_a, vertices_b):
        self.update(vertices_a, vertices_b)
        result = self.package.CollisionResult()
        self.package.collide(self.a, self.still, self.b, self.still, self.request, result)
        return sorted_pairs(packed([(c.b1, c.b2) for c in result.getContacts()]))


class Fcl(Peer):
    """FCL: python-fcl has no update, so both models are rebuilt. With contact geometry some pairs come twice."""

    name, module = "FCL", "fcl"

    def setup(self, vertices_a, vertices_b, faces):
        self.faces = faces.tolist()  # plain lists are faster to loop over
        self.request = self.package.CollisionRequest(num_max_contacts=MANY, enable_contact=False)

    def _build(self, vertices):
        model = self.package.BVHModel()
        model.beginModel(len(self.faces), len(vertices))
        model.addSubModel(vertices, self.faces)
        require(model.endModel() == 0, "FCL did not build")
        return self.package.CollisionObject(model)

    def step(self, vertices_a, vertices_b):
        result = self.package.CollisionResult()
        self.package.collide(self._build(vertices_a), self._build(vertices_b), self.request, result)
        return sorted_pairs(packed([(c.b1, c.b2) for c in result.contacts]))


class Igl(Peer):
    """libigl with CGAL: `intersect_other`, detection only. Exact arithmetic, no state between frames."""

    name, module = "libigl (CGAL, exact)", "igl.copyleft.cgal"

    def setup(self, vertices_a, vertices_b, faces):
        self.faces = faces.astype(np.int64)

    def step(self, vertices_a, vertices_b):
        answer = self.package.intersect_other(vertices_a, self.faces, vertices_b, self.faces, detect_only=True)
        return sorted_pairs(packed(answer[0]))


PEERS = {"warp": Warp, "warp-unsorted": WarpUnsorted, "coal": Coal, "fcl": Fcl, "igl": Igl}


class PliantBuild(Peer):
    """A body from vertices and faces, validation and copies included, and one query, so that no lazy work is left out."""

    name, module = "Pliant", "pliant"

    def setup(self, vertices_a, vertices_b, faces):
        self.faces, self.probe = faces, self.package.Body(NEEDLE, [[0, 1, 2]])

    def step(self, vertices_a, vertices_b):
        return self.package.collide(self.package.Body(vertices_a, self.faces), self.probe, first=True).faces


class EmbreeBuild(Peer):
    """Embree builds at the first ray: only that is timed, not the binding's copy of the mesh, which takes longer."""

    name, module = "Embree", "embreex.mesh_construction"

    def before(self, vertices_a, vertices_b):
        self.scene = import_module("embreex.rtcore_scene").EmbreeScene()
        self.mesh = self.package.TriangleMesh(self.scene, vertices_a.astype(np.float32), self.faces)

    def step(self, vertices_a, vertices_b):
        return [(self.scene.run(*RAY)[0], 0)]


def main():
    """The command line."""
    parser = parser_for("peers", __doc__, PEERS)
    parser.add_argument("--faces", type=int, nargs="+", help="triangles a mesh: 320 · 4^k up to 327680")
    parser.add_argument("--frames", type=int, help="frames of the animation (200; 10 with --build)")
    parser.add_argument("--build", action="store_true", help="compare BVH construction with Embree instead")
    options = parser.parse_args()
    alone(options.pin)
    peers, job = [Pliant, *map(PEERS.get, options.peers)], "update + all pairs"
    if options.build:
        peers, job = [PliantBuild, EmbreeBuild], "build"
    frames = options.frames or (10 if options.build else 200)
    results, console = [], Console()
    for faces in options.faces or [1_280, 20_480, 81_920, 327_680][options.build :]:
        results.append(compare(bumpy_pair(faces, frames), peers[not options.pliant :], options.budget, options.turn))
        console.print(table_of(results[-1], job))
    finish(console, job, results, options)


if __name__ == "__main__":
    main()
