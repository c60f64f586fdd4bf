"""Libraries of `benchmarks.distances` with closest points, or pairs of faces within a thickness: Warp, libigl, Open3D, the IPC toolkit."""

import numpy as np

from benchmarks.cloth import non_adjacent
from benchmarks.harness import Peer, packed, require, sorted_pairs
from benchmarks.peers import space_order

SINGLE, DOUBLE = 1e-6, 1e-9  # tolerance of distances, for bodies about 2 wide


# --- closest points ----------------------------------------------------------------------------------------------------------

class WarpPoints(Peer):
    """NVIDIA Warp on the CPU: one mesh, refitted; a thread per point.

    Faces sorted along a space-filling curve, once, and points, in every frame, save a quarter of the time around the body, a tenth
    near it. Builders and leaves of 2 … 8 came within 10 % of each other; a rebuild takes 24 ms, a refit 1.2.
    """

    name, module, accuracy = "Warp", "warp", SINGLE

    def setup(self, vertices, points, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        self.order = space_order(vertices[faces].mean(axis=1))
        rows, asked = (wp.array(x.astype(np.float32), dtype=wp.vec3) for x in (vertices, points))
        self.mesh = wp.Mesh(rows, wp.array(faces[self.order].ravel(), dtype=wp.int32), bvh_constructor="lbvh", bvh_leaf_size=4)
        outputs = [wp.empty(len(points), dtype=kind) for kind in (wp.int32, wp.float32, wp.vec3)]
        self.launch = wp.launch(nearest_kernel(wp), len(points), [self.mesh.id, asked, *outputs], record_cmd=True)
        self.rows, self.asked, self.face, self.distance, self.found = (x.numpy() for x in (rows, asked, *outputs))  # views

    def before(self, vertices, points):
        self.points = points.astype(np.float32)

    def step(self, vertices, points):
        order = space_order(self.points)
        self.rows[:], self.asked[:] = vertices, self.points[order]
        self.mesh.refit()
        self.launch.launch()
        distance, found, face = np.empty_like(self.distance), np.empty_like(self.found), np.empty_like(self.face)
        distance[order], found[order], face[order] = self.distance, self.found, self.order[self.face]
        return distance, found, face

    def after(self, answer):
        return answer[0].astype(np.float64)


def nearest_kernel(wp):
    """Thread i finds the point of the mesh that is closest to point i."""
    wp.set_module_options({"enable_backward": False})
    vectors, ints, floats = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.float32))

    @wp.kernel
    def nearest(mesh: wp.uint64, points: vectors, face: ints, distance: floats, found: vectors):
        i = wp.tid()
        p = points[i]
        query = wp.mesh_query_point_no_sign(mesh, p, 1.0e8)
        x = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        face[i] = query.face
        found[i] = x
        distance[i] = wp.length(x - p)

    return nearest


class IglPoints(Peer):
    """libigl: a BVH of boxes, float64, rebuilt, as it cannot refit; its `AABB` with `squared_distance` is the same in two calls."""

    name, module, accuracy = "libigl", "igl", DOUBLE

    def setup(self, vertices, points, faces):
        self.faces = faces.astype(np.int64)

    def step(self, vertices, points):
        return self.package.point_mesh_squared_distance(points, vertices, self.faces)

    def after(self, answer):
        return np.sqrt(answer[0])


class Open3DPoints(Peer):
    """Embree's BVHs through Open3D, float32, rebuilt, as it cannot refit."""

    name, module, accuracy = "Open3D", "open3d", SINGLE

    def setup(self, vertices, points, faces):
        self.faces = self.package.core.Tensor(faces.astype(np.uint32))

    def before(self, vertices, points):
        self.points = points.astype(np.float32)
        self.asked = self.package.core.Tensor(self.points)

    def step(self, vertices, points):
        scene = self.package.t.geometry.RaycastingScene(nthreads=1)
        scene.add_triangles(self.package.core.Tensor(vertices.astype(np.float32)), self.faces)
        return scene.compute_closest_points(self.asked, nthreads=1)

    def after(self, answer):
        return np.linalg.norm(answer["points"].numpy().astype(np.float64) - self.points, axis=1)


# --- faces within a thickness ------------------------------------------------------------------------------------------------

class Warp(Peer):
    """NVIDIA Warp on the CPU: refit one mesh, then a query with the enlarged box of each triangle, in a hand-written kernel.

    Faces are sorted along a space-filling curve, once. The test stops when any features are near enough: pairs without their distances.
    A box query cannot start after its own triangle: every pair is found twice. Builders and leaves of 1 … 4 came within 5 %
    of each other. Box queries alone take three quarters of the time at 0.2 edge lengths, a quarter at 1.
    """

    name, module, accuracy, blind, whole = "Warp, pairs alone", "warp", SINGLE, False, False
    room = 40  # pairs per face

    def setup(self, vertices, faces):
        wp = self.package
        wp.config.log_level = wp.LOG_ERROR
        wp.set_device("cpu")
        order = space_order(vertices[faces].mean(axis=1))
        points, corners = wp.array(vertices.astype(np.float32), dtype=wp.vec3), wp.array(faces[order].ravel(), dtype=wp.int32)
        count, found = wp.zeros(1, dtype=wp.int32), wp.zeros(self.room * len(faces), dtype=wp.int64)
        gaps = wp.zeros(len(found) if self.whole else 0, dtype=wp.float32)
        self.mesh = wp.Mesh(points, corners)
        inputs = [self.mesh.id, self.scene.thickness, points, corners, wp.array(order, dtype=wp.int64), count, found, gaps]
        self.launch = wp.launch(too_near_kernel(wp), len(faces), inputs, record_cmd=True)
        self.points, self.count, self.found, self.gaps = (x.numpy() for x in (points, count, found, gaps))  # views of Warp's own memory

    def step(self, vertices):
        self.points[:], self.count[0] = vertices, 0
        self.mesh.refit()
        self.launch.launch()
        require(self.count[0] <= len(self.found), "Warp found more pairs than the output buffer holds")
        keys = self.found[: self.count[0]]
        if self.whole:
            order = np.argsort(keys)
            self.distances = self.gaps[: len(keys)][order]
            keys = keys[order]
            return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
        return sorted_pairs(keys)


class WarpDistances(Warp):
    """The same with the distance of every pair, like Pliant's."""

    name, whole = "Warp, with distances", True


def too_near_kernel(wp):
    """The Warp kernel: thread i appends, as packed pairs, the later triangles near triangle i that share no vertex with it."""
    wp.set_module_options({"enable_backward": False})
    FAR = wp.constant(1.0e30)
    vectors, ints, longs, floats = (wp.array(dtype=kind) for kind in (wp.vec3, wp.int32, wp.int64, wp.float32))

    @wp.func
    def over(x: wp.vec3, n: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3):
        """Does x project into the interior of the triangle a, b, c, along its normal n?"""
        return (wp.dot(wp.cross(b - a, x - a), n) >= 0.0 and wp.dot(wp.cross(c - b, x - b), n) >= 0.0
                and wp.dot(wp.cross(a - c, x - c), n) >= 0.0)

    @wp.func
    def pierces(p: wp.vec3, q: wp.vec3, hp: float, hq: float, n: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3):
        """Does the segment from p to q, whose ends are at heights hp and hq above the plane of a, b, c, intersect the interior?"""
        if hp * hq >= 0.0:
            return False
        return over(p + hp / (hp - hq) * (q - p), n, a, b, c)

    @wp.func
    def sides(p: wp.vec3, u: wp.vec3, q: wp.vec3, v: wp.vec3):
        """The squared distance of the segments p + [0, 1] u and q + [0, 1] v."""
        r = p - q
        uu, vv, uv, ur, vr = wp.dot(u, u), wp.dot(v, v), wp.dot(u, v), wp.dot(u, r), wp.dot(v, r)
        size = uu * vv - uv * uv
        s = float(0.0)  # noqa: UP018 - makes it a variable in Warp
        if size > 1.0e-6 * uu * vv:
            s = wp.clamp((uv * vr - ur * vv) / size, 0.0, 1.0)
        t = (uv * s + vr) / vv
        if t < 0.0:
            t = 0.0
            s = wp.clamp(-ur / uu, 0.0, 1.0)
        elif t > 1.0:
            t = 1.0
            s = wp.clamp((uv - ur) / uu, 0.0, 1.0)
        rest = r + s * u - t * v
        return wp.dot(rest, rest)

    @wp.func
    def faced(p: wp.vec3, q: wp.vec3, r: wp.vec3, n: wp.vec3, h: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3):
        """The squared distance of vertices p, q, r to the interior of a, b, c at heights h; 0 if one of their edges pierces it."""
        best, size = float(FAR), wp.dot(n, n)
        if over(p, n, a, b, c):
            best = wp.min(best, h[0] * h[0] / size)
        if over(q, n, a, b, c):
            best = wp.min(best, h[1] * h[1] / size)
        if over(r, n, a, b, c):
            best = wp.min(best, h[2] * h[2] / size)
        if pierces(p, q, h[0], h[1], n, a, b, c) or pierces(q, r, h[1], h[2], n, a, b, c) or pierces(r, p, h[2], h[0], n, a, b, c):
            best = 0.0
        return best

    @wp.func
    def beyond(h: wp.vec3, size: float, limit: float):
        """Are all heights h (times the length of the normal) on one side and above the limit, both squared?"""
        low, high = wp.min(h), wp.max(h)
        return (low > 0.0 and low * low > limit * size) or (high < 0.0 and high * high > limit * size)

    @wp.func
    def gap(a: wp.vec3, b: wp.vec3, c: wp.vec3, d: wp.vec3, e: wp.vec3, f: wp.vec3, limit: float, enough: float):
        """The squared distance of two triangles: exact up to `limit`; at or below `enough` the search stops."""
        n, m = wp.cross(b - a, c - a), wp.cross(e - d, f - d)
        h = wp.vec3(wp.dot(n, d - a), wp.dot(n, e - a), wp.dot(n, f - a))
        if beyond(h, wp.dot(n, n), limit):
            return FAR
        k = wp.vec3(wp.dot(m, a - d), wp.dot(m, b - d), wp.dot(m, c - d))
        if beyond(k, wp.dot(m, m), limit):
            return FAR
        best = wp.min(faced(d, e, f, n, h, a, b, c), faced(a, b, c, m, k, d, e, f))
        for i in range(3):
            p, u = a, b - a
            if i == 1:
                p, u = b, c - b
            if i == 2:
                p, u = c, a - c
            if best > enough:
                best = wp.min(best, wp.min(sides(p, u, d, e - d), wp.min(sides(p, u, e, f - e), sides(p, u, f, d - f))))
        return best

    @wp.kernel
    def too_near(mesh: wp.uint64, thickness: float, points: vectors, corners: ints, order: longs, count: ints, found: longs, gaps: floats):
        i = wp.tid()
        a, b, c = corners[3 * i], corners[3 * i + 1], corners[3 * i + 2]
        p, q, r = points[a], points[b], points[c]
        low, high, wide, limit = wp.min(wp.min(p, q), r), wp.max(wp.max(p, q), r), wp.vec3(thickness), thickness * thickness
        enough = wp.where(gaps.shape[0] > 0, 0.0, limit)
        query = wp.mesh_query_aabb(mesh, low - wide, high + wide)
        j = int(0)  # noqa: UP018, RUF046 - makes it a variable in Warp
        while wp.mesh_query_aabb_next(query, j):
            if j > i:
                d, e, f = corners[3 * j], corners[3 * j + 1], corners[3 * j + 2]
                if a != d and a != e and a != f and b != d and b != e and b != f and c != d and c != e and c != f:
                    u, v, w = points[d], points[e], points[f]
                    apart = wp.max(wp.max(wp.min(wp.min(u, v), w) - high, low - wp.max(wp.max(u, v), w)), wp.vec3(0.0))
                    squared = float(FAR)
                    if wp.dot(apart, apart) <= limit:
                        squared = gap(p, q, r, u, v, w, limit, enough)
                    if squared <= limit:
                        k = wp.atomic_add(count, 0, 1)
                        if k < found.shape[0]:
                            found[k] = wp.lshift(wp.min(order[i], order[j]), wp.int64(32)) | wp.max(order[i], order[j])
                            if gaps.shape[0] > 0:
                                gaps[k] = wp.sqrt(squared)

    return too_near


class Ipctk(Peer):
    """The IPC toolkit: pairs of vertex and face, edge and edge, and their degenerate cases, within the thickness; float64.

    It has no pairs of faces; those of its pairs are collected outside the clock. It does not look for edges that pierce
    faces: it may miss intersecting faces. Its BVH is the fastest of its broad phases: the others take 1.4 to 10 × as long.
    Everything is rebuilt in every frame.
    """

    name, module, accuracy, blind = "IPC toolkit", "ipctk", DOUBLE, True

    def setup(self, vertices, faces):
        self.package.set_num_threads(1)
        self.faces, self.edges = faces, np.asarray(self.package.edges(faces))
        self.mesh = self.package.CollisionMesh(np.asfortranarray(vertices), self.edges, faces)
        self.around_vertex = incident(np.repeat(np.arange(len(faces)), 3), faces.ravel(), len(vertices))
        sides, ends = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), np.sort(self.edges, axis=1)
        order = np.argsort(packed(ends))
        edge_of_side = order[np.searchsorted(packed(ends)[order], packed(sides))]
        self.around_edge = incident(np.repeat(np.arange(len(faces)), 3), edge_of_side, len(self.edges))

    def step(self, vertices):
        found = self.package.NormalCollisions()
        found.build(self.mesh, np.asfortranarray(vertices), self.scene.thickness, 0.0, self.package.LBVH())
        return found

    def after(self, found):
        vertex, edge, face = self.around_vertex, self.around_edge, np.arange(len(self.faces))[:, None]
        pairs = [
            faces_of(found.vv_collisions, "vertex0_id", vertex, "vertex1_id", vertex),
            faces_of(found.ev_collisions, "edge_id", edge, "vertex_id", vertex),
            faces_of(found.ee_collisions, "edge0_id", edge, "edge1_id", edge),
            faces_of(found.fv_collisions, "face_id", face, "vertex_id", vertex),
        ]
        keys = np.unique(packed(np.sort(np.concatenate(pairs), axis=1)))
        return non_adjacent(sorted_pairs(keys), self.faces)


def incident(faces, parts, count):
    """The faces around each of `count` features, one row each, padded with -1; `parts` has the features of each face."""
    order = np.argsort(parts, kind="stable")
    many = np.bincount(parts, minlength=count)
    table = np.full((count, many.max()), -1)
    table[parts[order], np.arange(len(parts)) - np.repeat(np.cumsum(many) - many, many)] = faces[order]
    return table


def faces_of(collisions, first, around_first, second, around_second):
    """All pairs (m, 2) of the faces around the two features of each collision."""
    i = around_first[np.fromiter((getattr(c, first) for c in collisions), np.int64)]
    j = around_second[np.fromiter((getattr(c, second) for c in collisions), np.int64)]
    i, j = np.broadcast_arrays(i[:, :, None], j[:, None, :])
    return np.stack([i, j], axis=3)[(i >= 0) & (j >= 0)]
