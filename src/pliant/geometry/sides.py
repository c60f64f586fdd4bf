"""Is a point inside or outside a closed surface? By the normal of what is nearest to it.

The sign of (point − nearest point) · n tells, if n is the normal of the face that holds the nearest point, of an edge the sum of the unit
normals of its two faces, and of a corner the sum of the unit normals of its faces, each times the face's angle there (Bærentzen and
Aanæs 2005, "Signed distance computation using the angle weighted pseudonormal"). Any other mean of normals is wrong beside some corners.
Faces without area have no normal and no say, but they lie on edges and corners of others: along with these they stay closed.

It takes a surface that is closed and oriented: every edge belongs to two faces that run along it in opposite directions (`open_edge`),
normals pointing outward. Faces, edges and corners are those of a `Mesh`, in which welded vertices have one name.

PRECISION. There is no bound and no exact stage. Unit normals are right to a few U over the sine of the face's angle, and where faces fold
back on each other, their sum is as small as the angle between them. Signs can be wrong for bodies thinner than 1e-14 of their size.
"""
import math

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.stack import floats
from pliant.geometry.feet import cross
from pliant.geometry.rays import scaled

FLAT = 2.0**-96                                                         # squared areas, of edges of about 1, that are nothing but rounding


def open_edge(mesh):
    """(a, b) of the first edge that does not belong to exactly two faces, with opposite directions; (−1, −1) if the surface is closed.

    First by its lower vertex, then by its other one. Faces that name a vertex twice are nothing but an edge, there and back: they count
    for nothing."""
    faces = mesh.faces.astype(np.int64)
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    if len(faces) == 0:
        return -1, -1
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    low, high = ends.min(1), ends.max(1)
    n = int(high.max()) + 1
    key, which, count = np.unique(low * n + high, return_inverse=True, return_counts=True)
    balance = np.zeros(len(key), np.int64)
    np.add.at(balance, which.ravel(), np.where(ends[:, 0] < ends[:, 1], 1, -1))
    wrong = np.flatnonzero((count != 2) | (balance != 0))
    return (-1, -1) if len(wrong) == 0 else (int(key[wrong[0]] // n), int(key[wrong[0]] % n))


@helper
def put_way(p, i, q, j, out, at):
    """Put the way from point i of p to point j of q, brought to a size from 1/2 to 1; is it longer than 0?"""
    size = 0.0
    for k in range(3):
        out[at + k] = 0.25 * q[j + k] - 0.25 * p[i + k]                 # a quarter: the way itself may be beyond float64
        size = max(size, abs(out[at + k]))
    if size == 0.0:
        return False
    e = math.frexp(size)[1]
    for k in range(3):
        out[at + k] = scaled(out[at + k], -e)
    return True


@routine
def add_normal(vertices, faces, f, v, n):
    """Add to n (3) the unit normal of face f, times the angle at its corner v, or just so for v = −1. Two edges from one corner make it,
    by exact products: that of a sliver is as good as its edges are."""
    a, b, c = np.int64(faces[f, 0]), np.int64(faces[f, 1]), np.int64(faces[f, 2])
    if v == b:
        a, b, c = b, c, a
    elif v == c:
        a, b, c = c, a, b
    g = floats(6)
    if not (put_way(vertices, 3 * a, vertices, 3 * b, g, 0) and put_way(vertices, 3 * a, vertices, 3 * c, g, 3)):
        return
    x, y, z = cross(g[0], g[1], g[2], g[3], g[4], g[5])
    square = x * x + y * y + z * z
    if square <= FLAT:
        return
    area = math.sqrt(square)
    weight = (math.atan2(area, g[0] * g[3] + g[1] * g[4] + g[2] * g[5]) if v >= 0 else 1.0) / area
    n[0], n[1], n[2] = n[0] + weight * x, n[1] + weight * y, n[2] + weight * z


@helper
def has(faces, f, v):
    return (faces[f, 0] == v) | (faces[f, 1] == v) | (faces[f, 2] == v)


@routine
def put_normal(vertices, faces, begins, around, f, feature, n):
    """Put the normal of a feature of face f: 0 the face, 1 to 3 the edge opposite a corner, 4 to 6 a corner."""
    n[0], n[1], n[2] = 0.0, 0.0, 0.0
    if feature == 0:
        add_normal(vertices, faces, f, np.int64(-1), n)
    elif feature < 4:
        p, q = np.int64(faces[f, feature % 3]), np.int64(faces[f, (feature + 1) % 3])
        for i in range(begins[p], begins[p + 1]):
            if has(faces, around[i], q):
                add_normal(vertices, faces, np.int64(around[i]), np.int64(-1), n)
    else:
        p = np.int64(faces[f, feature - 4])
        for i in range(begins[p], begins[p + 1]):
            add_normal(vertices, faces, np.int64(around[i]), p, n)


@kernel
def signs_of(points, nearest, face, feature, vertices, faces, begins, around, out):
    """`signs`, points and nearest being flat."""
    n, g = floats(3), floats(3)
    for i in range(len(face)):
        put_normal(vertices, faces, begins, around, np.int64(face[i]), np.int64(feature[i]), n)
        put_way(nearest, 3 * i, points, 3 * i, g, 0)
        out[i] = -1.0 if g[0] * n[0] + g[1] * n[1] + g[2] * n[2] < 0.0 else 1.0


def signs(points, nearest, face, feature, vertices, mesh, out):
    """Set out (n,) float64 to −1 for points inside the closed surface and +1 for those outside or on it.

    points, nearest (n, 3): each with its nearest point of the surface, which is on `feature` (n,) of `face` (n,), as `point_gap` gives
    them; vertices flat float64; mesh: a `Mesh`."""
    signs_of(points.reshape(-1), nearest.reshape(-1), face, feature, vertices, mesh.faces, mesh.begins, mesh.around, out)
