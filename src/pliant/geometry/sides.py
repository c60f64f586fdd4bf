"""Is a point inside or outside a closed surface? By the normal of what is nearest to it, where that is certain.

The sign of (point − nearest point) · n tells, if n is the normal of the face that holds the nearest point, of an edge the sum of the unit
normals of its two faces, and of a corner the sum of the unit normals of its faces, each times the face's angle there (Bærentzen and
Aanæs 2005, "Signed distance computation using the angle weighted pseudonormal"). Any other mean of normals is wrong beside some corners.
Faces without area have no normal and no say, but they lie on edges and corners of others: along with these they stay closed.

It takes a surface that is closed and oriented: every edge belongs to two faces that run along it in opposite directions (`open_edge`),
normals pointing outward. Faces, edges and corners are those of a `Mesh`, in which welded vertices have one name.

ERRORS, U = 2**-53. A sign is certain if all of this holds; what is not certain is left to `geometry/winding.py`, which is exact.
- The feature is the nearest one: no other face is as near, but for BLUR of the sizes, than those around the feature. Distances are right to
  2**-46 of these (`geometry/pointgap.py`). Where a body is thinner than that, its other side is as near.
- The sum of normals n is right. Edges, brought to sizes from 1/2 to 1, are off by 2 U along each axis, so their cross product, of exact
  products, by less than 32 U, whatever cancels, a unit normal by twice that over the area of the two edges, and an angle by 128 U. Where
  faces fold back on each other n is as small as the angle between them; the errors are added up before that: `add_normal`.
- The way g from the nearest point is right: that point is off by less than BLUR of the sizes, which moves g by that over the distance.
So g · n is certain beyond 2 Σ errors + 2 Σ weights · BLUR · sizes / distance, with |g| < 2.
"""
import math

import numpy as np

from pliant.core.jit import helper, kernel, routine
from pliant.core.stack import floats
from pliant.geometry.feet import cross
from pliant.geometry.rays import scaled

FLAT = 2.0**-80                                                         # squared areas, of edges of about 1, whose normals nobody needs
UNIT_ERROR, ANGLE_ERROR = 2.0**-47, 2.0**-46                            # of a normal, over the area; of an angle
BLUR = 2.0**-40                                                         # of coordinates: see ERRORS


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
    by exact products: that of a sliver is as good as its edges are. (Its weight, how far off the term may be.)"""
    a, b, c = np.int64(faces[f, 0]), np.int64(faces[f, 1]), np.int64(faces[f, 2])
    if v == b:
        a, b, c = b, c, a
    elif v == c:
        a, b, c = c, a, b
    g = floats(6)
    if not (put_way(vertices, 3 * a, vertices, 3 * b, g, 0) and put_way(vertices, 3 * a, vertices, 3 * c, g, 3)):
        return 0.0, 0.0                                                 # two corners at one place: no area
    x, y, z = cross(g[0], g[1], g[2], g[3], g[4], g[5])
    square = x * x + y * y + z * z
    if square <= FLAT:
        return 0.0, math.pi                                             # whatever it may add
    area = math.sqrt(square)
    weight = math.atan2(area, g[0] * g[3] + g[1] * g[4] + g[2] * g[5]) if v >= 0 else 1.0
    share = weight / area
    n[0], n[1], n[2] = n[0] + share * x, n[1] + share * y, n[2] + share * z
    return weight, weight * UNIT_ERROR / area + ANGLE_ERROR


@helper
def has(faces, f, v):
    return (faces[f, 0] == v) | (faces[f, 1] == v) | (faces[f, 2] == v)


@routine
def put_normal(vertices, faces, begins, around, f, feature, n):
    """Put the normal of a feature of face f: 0 the face, 1 to 3 the edge opposite a corner, 4 to 6 a corner. (How many faces have the
    feature, the sum of their weights, that of their errors.)"""
    n[0], n[1], n[2] = 0.0, 0.0, 0.0
    if feature == 0:
        return 1, *add_normal(vertices, faces, f, np.int64(-1), n)
    p = np.int64(faces[f, feature % 3 if feature < 4 else feature - 4])
    q = np.int64(faces[f, (feature + 1) % 3]) if feature < 4 else p
    count, weights, errors = 0, 0.0, 0.0
    for i in range(begins[p], begins[p + 1]):
        if has(faces, around[i], q):
            weight, error = add_normal(vertices, faces, np.int64(around[i]), np.int64(-1) if feature < 4 else p, n)
            count, weights, errors = count + 1, weights + weight, errors + error
    return count, weights, errors


@kernel
def signs_of(points, nearest, distance, face, feature, ties, vertices, faces, begins, around, most, out):
    """`signs`, points and nearest being flat."""
    n, g = floats(3), floats(3)
    for i in range(len(face)):
        if distance[i] == 0.0:
            out[i] = 1.0
            continue
        count, weights, errors = put_normal(vertices, faces, begins, around, np.int64(face[i]), np.int64(feature[i]), n)
        put_way(nearest, 3 * i, points, 3 * i, g, 0)
        size = max(most, max(abs(points[3 * i]), max(abs(points[3 * i + 1]), abs(points[3 * i + 2]))))
        along, bound = g[0] * n[0] + g[1] * n[1] + g[2] * n[2], 2 * (errors + weights * (size / distance[i] * BLUR))
        out[i] = 0.0 if not abs(along) > bound or ties[i] != count else -1.0 if along < 0.0 else 1.0


def signs(points, nearest, distance, face, feature, ties, vertices, mesh, most, out):
    """Set out (n,) float64 to −1 for points inside the closed surface, to 1 for those outside or on it, and to 0 where that is uncertain.

    points, nearest (n, 3): each with its nearest point of the surface, at a distance (n,), on `feature` (n,) of `face` (n,), as `point_gap`
    gives them; ties (n,): how many faces are as near, but for BLUR; vertices flat float64, none larger than `most`; mesh: a `Mesh`."""
    signs_of(points.reshape(-1), nearest.reshape(-1), distance, face, feature, ties, vertices, mesh.faces, mesh.begins, mesh.around, most,
             out)
