"""Mesh topology, which needs no positions: faces around vertices, vertex fans, and welding.

A vertex has a FAN if the edges opposite to it in its faces make one path, or one cycle of three or more, that visits no vertex twice. All
inner vertices and border vertices of ordinary surfaces have one, whatever the orientation of their faces. `geometry/vertex_fan.py` tests
all pairs of faces of a fan at once. A vertex has none where faces are doubled, edges have three faces or surfaces touch in a vertex.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import kernel
from pliant.geometry.vertex_fan import CLOSED, HAS_NEXT, ROW_SIZE, TURNS_PER_ROW

PART_SIZE = 1 << 10                                                     # vertices in a part
MAX_INT32 = 2**31 - 1


class MeshTopology(NamedTuple):
    """Static connectivity. `faces` (f, 3) int32, in which welded vertices have one index; `begins` (n + 1,) and `vertex_faces` flat int32:
    the faces around vertex v are vertex_faces[begins[v] : begins[v + 1]], each once; `fans` flat int32, rows for `geometry/vertex_fan.py`,
    of all vertices with two faces or more; `fan_parts` (s,) int64 divides the rows into parts, first << 32 | last + 1."""
    faces: np.ndarray
    begins: np.ndarray
    vertex_faces: np.ndarray
    fans: np.ndarray
    fan_parts: np.ndarray


def build_topology(faces, n_vertices, order):
    """The MeshTopology of these faces. Fans come in this order of vertices, which should keep neighbours together."""
    begins = np.zeros(n_vertices + 1, np.int32)
    vertex_faces = np.empty(3 * len(faces), np.int32)
    vertex_faces = vertex_faces[:list_vertex_faces(faces, begins, vertex_faces)].copy()
    valence = np.diff(begins)
    rows = np.empty(ROW_SIZE * int(np.maximum(-(-valence // TURNS_PER_ROW), 1)[valence > 1].sum()), np.int32)
    scratch = np.full((3, n_vertices), -1, np.int32)
    path = np.empty(int(valence.max(initial=0)) + 1, np.int32)
    fans = rows[:list_fans(faces, begins, vertex_faces, order, scratch, path, rows)].copy()
    continued = fans[1::ROW_SIZE] & HAS_NEXT != 0
    first = (np.flatnonzero(~continued) + 1)[PART_SIZE - 1::PART_SIZE].astype(np.int64)  # a fan of several rows stays in one part
    cuts = np.unique(np.concatenate([[0], first, [len(continued)]]))
    return MeshTopology(faces, begins, vertex_faces, fans, cuts[:-1] << 32 | cuts[1:])


@kernel
def list_vertex_faces(faces, begins, vertex_faces):
    """Fill begins and vertex_faces; returns the number of entries."""
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        begins[a + 1] += 1
        if b != a:
            begins[b + 1] += 1
        if c != a and c != b:
            begins[c + 1] += 1
    for v in range(1, len(begins)):
        begins[v] += begins[v - 1]
    n = begins[len(begins) - 1]
    for f in range(len(faces) - 1, -1, -1):                             # from the back: begins ends up shifted by one, see below
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        begins[a + 1] -= 1
        vertex_faces[begins[a + 1]] = f
        if b != a:
            begins[b + 1] -= 1
            vertex_faces[begins[b + 1]] = f
        if c != a and c != b:
            begins[c + 1] -= 1
            vertex_faces[begins[c + 1]] = f
    for v in range(len(begins) - 1):
        begins[v] = begins[v + 1]
    begins[len(begins) - 1] = n
    return n


@kernel
def list_fans(faces, begins, vertex_faces, order, scratch, path, rows):
    """Write the rows of all vertices that have two faces or more; returns the number of values written. `scratch` (3, n) must be −1 at
    first. It holds, for each neighbour, the vertex that last visited it, and two faces that contain it."""
    at = 0
    for v in order:
        if begins[v + 1] - begins[v] < 2:
            continue
        n, closed = fan_path(faces, begins, vertex_faces, v, scratch, path)
        for start in range(0, max(n, 1), TURNS_PER_ROW):
            turns = min(TURNS_PER_ROW, n - start)                       # 0: no fan
            rows[at] = v
            rows[at + 1] = turns | (CLOSED if closed else 0) | (HAS_NEXT if start + turns < n else 0)
            for k in range(TURNS_PER_ROW + 1):
                rows[at + 2 + k] = path[start + min(k, turns)] if turns > 0 else v
            at += ROW_SIZE
    return at


@kernel
def fan_path(faces, begins, vertex_faces, v, scratch, path):
    """(number of faces, closed?) of the fan of v; (0, False) if v has none. `path` takes the neighbours in order, one more than faces."""
    visited, first_face, second_face = scratch[0], scratch[1], scratch[2]
    n = begins[v + 1] - begins[v]
    ends, start = 0, np.int64(-1)
    for i in range(begins[v], begins[v + 1]):
        p, q = opposite_corners(faces, vertex_faces[i], v)
        if p == v or q == v or p == q:
            return 0, False
        for w in (p, q):
            if visited[w] != v:
                visited[w], first_face[w], second_face[w] = v, vertex_faces[i], -1
                ends += 1
                start = w if start < 0 else start
            elif second_face[w] < 0:
                second_face[w] = vertex_faces[i]
                ends -= 1
            else:
                return 0, False
    if ends != 0 and ends != 2:
        return 0, False
    if ends == 2:
        for i in range(begins[v], begins[v + 1]):
            p, q = opposite_corners(faces, vertex_faces[i], v)
            start = p if second_face[p] < 0 else q if second_face[q] < 0 else start
    elif n < 3:
        return 0, False
    w, face = start, np.int64(first_face[start])
    path[0] = w
    for i in range(n):
        p, q = opposite_corners(faces, face, v)
        w = q if p == w else p
        path[i + 1] = w
        face = np.int64(second_face[w]) if first_face[w] == face else np.int64(first_face[w])
        if i + 1 < n and (w == start or face < 0):
            return 0, False                                             # the path ends too early: more than one component
    return np.int64(n), ends == 0


@kernel
def opposite_corners(faces, f, v):
    """The two corners of face f other than v; v itself where the face lists it twice."""
    a, b, c = np.int64(faces[f, 0]), np.int64(faces[f, 1]), np.int64(faces[f, 2])
    if a == v:
        return b, c
    return (c, a) if b == v else (a, b)


# --- welding -------------------------------------------------------------------------------------------------------------------

def weld_map(vertices, tolerance):
    """(n,) int32: for each vertex the lowest index at its position; with a tolerance, the lowest reached by steps of that length."""
    if len(vertices) == 0:
        return np.empty(0, np.int32)
    order = np.lexsort(vertices.T)                                      # stable: the lowest of each position comes first
    rows = vertices[order]
    is_first = np.append(True, (rows[1:] != rows[:-1]).any(1))
    place_of, lowest = np.empty(len(vertices), np.int64), order[is_first]  # the position of each vertex, the lowest vertex at each
    place_of[order] = np.cumsum(is_first) - 1
    if tolerance > 0.0:
        cluster = cluster_points(vertices[lowest], tolerance)
        cluster_lowest = np.full(cluster.max() + 1, MAX_INT32)
        np.minimum.at(cluster_lowest, cluster, lowest)
        lowest = cluster_lowest[cluster]
    return lowest[place_of].astype(np.int32)


def cluster_points(points, tolerance):
    """A cluster number for each point; steps of at most `tolerance` connect points. Scaled so that squares neither overflow nor vanish."""
    from scipy.sparse import coo_array  # takes a fifth of a second; only this function needs it
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    scale = np.exp2(np.clip(-np.frexp(np.abs(points).max())[1], -1022.0, 1022.0))
    points, tolerance = points * scale, min(tolerance * scale, 4.0)     # all are within 4 of each other
    pairs = cKDTree(points).query_pairs(max(tolerance * (1 + 2.0**-40), 2.0**-400), output_type="ndarray")
    step = np.abs(points[pairs[:, 0]] - points[pairs[:, 1]])
    size = step.max(axis=1, initial=0.0, keepdims=True)
    connected = size[:, 0] * np.sqrt(((step / size) ** 2).sum(1)) <= tolerance
    i, j = pairs[connected].T
    return connected_components(coo_array((np.ones(len(i), bool), (i, j)), shape=(len(points), len(points))), directed=False)[1]
