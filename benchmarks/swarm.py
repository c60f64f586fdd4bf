"""Comparison with other libraries: 27 deforming bodies that fly about, all intersecting pairs of faces of different bodies in every frame.

    python -m benchmarks.swarm                  all libraries, bumpy bodies, then bodies with arms; options: --help

The time of a frame is that of the whole task: float64 vertices (n, 3) of all bodies in, sorted pairs (m, 2) int32 of faces out, with
indices through all bodies: body · faces + face. `benchmarks.harness` has the rules. Pliant has a broad phase; the others get one in NumPy:
bodies whose boxes are disjoint are neither refitted nor compared.
"""

import numpy as np
from rich.console import Console

from benchmarks.harness import Peer, alone, compare, finish, packed, parser_for, require, sorted_pairs, table_of
from benchmarks.peers import MANY, space_order, zoom_for
from pliant.shapes import SPACING, swarm


class Pliant(Peer):
    """Pliant, through its public API: an update of every body and one query of the scene."""

    name, module = "Pliant", "pliant"

    def setup(self, *vertices_and_faces):
        *vertices, self.faces = vertices_and_faces
        self.bodies = [self.package.Body(body, self.faces) for body in vertices]
        self.scene = self.package.Scene(self.bodies)

    def step(self, *vertices):
        for body, positions in zip(self.bodies, vertices, strict=True):
            body.update(positions)
        pairs = self.scene.collide()
        return (pairs.bodies * len(self.faces) + pairs.faces).astype(np.int32)


class Culling:
    """A broad phase in NumPy over bodies with the same number of vertices: compare all boxes. 0.16 ms for 27 bodies of 2,562 vertices in
    float32.

    The vertices are transposed first: NumPy takes 40 times as long to find the minimum of rows of three.
    """

    def __init__(self, count, size, kind):
        self.columns = np.empty((count, 3, size), kind)
        self.first, self.second = np.triu_indices(count, 1)

    def near(self, vertices):
        """The pairs (p, 2) of bodies with overlapping boxes, and the boxes: low and high corners (count, 3)."""
        for columns, positions in zip(self.columns, vertices, strict=True):
            columns[:] = positions.T
        low, high = self.columns.min(axis=2), self.columns.max(axis=2)
        i, j = self.first, self.second
        meet = ((low[i] <= high[j]) & (low[j] <= high[i])).all(axis=1)
        return np.column_stack([i[meet], j[meet]]), low, high


class Warp(Peer):
    """NVIDIA Warp on the CPU: refit the mesh of every body whose box overlaps another; then one launch over the pairs of bodies, with a
    thread per triangle of the first that queries the BVH of the second, as in `benchmarks.peers`. Positions are scaled as there.
    """

    name, module, nested = "Warp", "warp", False

    def setup(self, *vertices_and_faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        *vertices, faces = vertices_and_faces
        count, size = len(vertices), len(vertices[0])
        order = space_order(vertices[0][faces].mean(axis=1))
        points = wp.array(np.concatenate(vertices).astype(np.float32), dtype=wp.vec3)
        corners = wp.array(faces[order].ravel(), dtype=wp.int32)
        self.meshes = [wp.Mesh(points[k * size : (k + 1) * size], corners, bvh_leaf_size=8) for k in range(count)]
        ids = wp.array([mesh.id for mesh in self.meshes], dtype=wp.uint64)
        low, high = (wp.zeros(count, dtype=wp.vec3) for _ in range(2))
        pairs, total, found = wp.zeros(count * count, dtype=wp.int32), wp.zeros(1, dtype=wp.int32), wp.zeros(1 << 20, dtype=wp.int64)
        inputs = [ids, low, high, pairs, zoom_for(vertices[0], faces), size, points, corners, wp.array(order, dtype=wp.int64), total, found]
        self.threads = 1 if self.nested else len(faces)
        self.launch = wp.launch((nested_kernel if self.nested else warp_kernel)(wp), 1, inputs, record_cmd=True)
        # NumPy views of Warp's own memory: assigning to them converts to float32 and hands over in one pass.
        self.low, self.high, self.pairs, self.total, self.found = (array.numpy() for array in (low, high, pairs, total, found))
        self.points, self.culling = points.numpy().reshape(count, size, 3), Culling(count, size, np.float32)

    def step(self, *vertices):
        for points, positions in zip(self.points, vertices, strict=True):
            points[:] = positions
        near, self.low[:], self.high[:] = self.culling.near(self.points)
        for body in np.unique(near).tolist():
            self.meshes[body].refit()
        self.pairs[: near.size], self.total[0] = near.ravel(), 0
        if len(near):
            self.launch.set_dim(len(near) * self.threads)
            self.launch.launch()
        require(self.total[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        return sorted_pairs(self.found[: self.total[0]])


class NestedWarp(Warp):
    """The fastest method found in Warp: a thread per pair of bodies queries the BVH of the first for triangles in the box of
    the second, and the BVH of the second for candidates of each of them.

    A thread per triangle takes 1.5 × as long even if triangles outside the other's box are skipped at once; a captured launch per pair
    instead of one for all 5 % longer. Leaves of 8 gain 8 % over the default, of 1 lose 30 %; builders, and leaves of 12 and 16, make no
    difference.
    """

    name, nested = "Warp, nested queries", True


def warp_kernel(wp):
    """Thread k appends the triangles of the second body that intersect triangle k mod n of the first body of pair k div n, as packed
    pairs."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, longs, ids = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64, wp.uint64))

    @wp.kernel
    def pairs_of_triangle(meshes: ids, low: vectors, high: vectors, pairs: ints, zoom: float, size: int, points: vectors, corners: ints,
                          order: longs, total: ints, found: longs):
        n = order.shape[0]
        k, i, faces = wp.tid() / n, wp.tid() % n, wp.int64(n)
        a, b, j = pairs[2 * k], pairs[2 * k + 1], int(0)  # noqa: UP018, RUF046 - makes it a variable in Warp
        p, q, r = points[a * size + corners[3 * i]], points[a * size + corners[3 * i + 1]], points[a * size + corners[3 * i + 2]]
        here, q_local, r_local = wp.vec3(0.0), zoom * (q - p), zoom * (r - p)
        near = wp.mesh_query_aabb(meshes[b], wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r))
        while wp.mesh_query_aabb_next(near, j):
            u, v, w = points[b * size + corners[3 * j]], points[b * size + corners[3 * j + 1]], points[b * size + corners[3 * j + 2]]
            if wp.intersect_tri_tri(here, q_local, r_local, zoom * (u - p), zoom * (v - p), zoom * (w - p)) > 0:
                at = wp.atomic_add(total, 0, 1)
                if at < found.shape[0]:
                    found[at] = wp.lshift(wp.int64(a) * faces + order[i], wp.int64(32)) | (wp.int64(b) * faces + order[j])

    return pairs_of_triangle


def nested_kernel(wp):
    """Thread k appends the intersecting triangles of the two bodies of pair k to `found`, as packed pairs."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, longs, ids = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64, wp.uint64))

    @wp.kernel
    def all_pairs(meshes: ids, low: vectors, high: vectors, pairs: ints, zoom: float, size: int, points: vectors, corners: ints,
                  order: longs, total: ints, found: longs):
        a, b, faces = pairs[2 * wp.tid()], pairs[2 * wp.tid() + 1], wp.int64(order.shape[0])
        i, j = int(0), int(0)  # noqa: UP018, RUF046 - makes them variables in Warp
        outer = wp.mesh_query_aabb(meshes[a], low[b], high[b])
        while wp.mesh_query_aabb_next(outer, i):
            p, q, r = points[a * size + corners[3 * i]], points[a * size + corners[3 * i + 1]], points[a * size + corners[3 * i + 2]]
            here, q_local, r_local = wp.vec3(0.0), zoom * (q - p), zoom * (r - p)
            inner = wp.mesh_query_aabb(meshes[b], wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r))
            while wp.mesh_query_aabb_next(inner, j):
                u, v, w = points[b * size + corners[3 * j]], points[b * size + corners[3 * j + 1]], points[b * size + corners[3 * j + 2]]
                if wp.intersect_tri_tri(here, q_local, r_local, zoom * (u - p), zoom * (v - p), zoom * (w - p)) > 0:
                    k = wp.atomic_add(total, 0, 1)
                    if k < found.shape[0]:
                        found[k] = wp.lshift(wp.int64(a) * faces + order[i], wp.int64(32)) | (wp.int64(b) * faces + order[j])

    return all_pairs


class Coal(Peer):
    """Coal: BVHs of oriented boxes, refitted bottom-up where boxes of bodies overlap, and all contacts of each pair of bodies."""

    name, module = "Coal", "coal"

    def setup(self, *vertices_and_faces):
        *vertices, self.faces = vertices_and_faces
        self.request, self.still = self.package.CollisionRequest(), self.package.Transform3s()
        self.request.num_max_contacts, self.request.enable_contact = MANY, False
        self.outline = self.package.StdVec_Vec3s()
        self.outline.extend(list(vertices[0]))
        self.models, self.culling = [], Culling(len(vertices), len(vertices[0]), np.float64)
        for body in vertices:
            model = self.package.BVHModelOBB()
            model.beginModel(len(self.faces), len(body))
            model.addVertices(body)
            model.addTriangles(self.faces.astype(np.int64))
            require(model.endModel() == 0, "Coal did not build")
            self.models.append(model)

    def step(self, *vertices):
        near, _, _ = self.culling.near(vertices)
        for body in np.unique(near).tolist():
            model = self.models[body]
            model.beginReplaceModel()
            model.replaceSubModel(self.outline)
            model.vertices()[:] = vertices[body]
            require(model.endReplaceModel(True, True) == 0, "Coal did not refit")  # refit, bottom-up
        found = []
        for i, j in near.tolist():
            result = self.package.CollisionResult()
            self.package.collide(self.models[i], self.still, self.models[j], self.still, self.request, result)
            found += [(i * len(self.faces) + c.b1, j * len(self.faces) + c.b2) for c in result.getContacts()]
        return sorted_pairs(packed(found))


class Igl(Peer):
    """libigl with CGAL: `intersect_other` for bodies with overlapping boxes. Exact arithmetic, no state between frames."""

    name, module = "libigl (CGAL, exact)", "igl.copyleft.cgal"

    def setup(self, *vertices_and_faces):
        *vertices, self.faces = vertices_and_faces
        self.indices, self.culling = self.faces.astype(np.int64), Culling(len(vertices), len(vertices[0]), np.float64)

    def step(self, *vertices):
        found = [np.empty(0, np.int64)]
        for pair in self.culling.near(vertices)[0]:
            a, b = (vertices[body] for body in pair)
            answer = self.package.intersect_other(a, self.indices, b, self.indices, detect_only=True)[0]
            found.append(packed(np.asarray(answer).reshape(-1, 2) + pair * len(self.faces)))
        return sorted_pairs(np.concatenate(found))


PEERS = {"warp": Warp, "nested": NestedWarp, "coal": Coal, "igl": Igl}


def main():
    """The command line."""
    parser = parser_for("swarm", __doc__, PEERS)
    parser.add_argument("--kind", nargs="+", choices=list(SPACING), default=list(SPACING), help="shape of the bodies")
    parser.add_argument("--bodies", type=int, default=27, help="number of bodies")
    parser.add_argument("--faces", type=int, default=5_120, help="triangles a body: 320 · 4^k up to 327680")
    parser.add_argument("--frames", type=int, default=200, help="frames of the flight")
    options = parser.parse_args()
    alone(options.pin)
    peers, job = [Pliant, *map(PEERS.get, options.peers)], "update + all pairs between"
    results, console = [], Console()
    for kind in options.kind:
        scene = swarm(options.bodies, options.faces, options.frames, kind)
        result = compare(scene, peers[not options.pliant :], options.budget, options.turn)
        results.append({"scene": kind, "bodies": options.bodies} | result)
        console.print(table_of(result, f"{options.bodies} bodies, {kind}, {job}"))
    finish(console, job, results, options)


if __name__ == "__main__":
    main()
