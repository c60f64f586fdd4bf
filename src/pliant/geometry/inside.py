"""Point-in-surface test by winding numbers: counts the faces that a ray from the point crosses.

A ray o + t d, t > 0, that intersects no edge of an oriented closed surface leaves through faces whose normals point along d, and enters
through the others. Exits less entries are the winding number of the surface around o. It is 0 outside, and 1 inside a body whose faces
are counter-clockwise seen from outside; 2 or more where such a body overlaps itself. A point is inside where it is above 0.

Every sign is exact (`geometry/ray_triangle.py`, `geometry/predicates.py`): the side on which the line passes each edge, and the side of
the face on which o lies. A line through an edge or a corner is ambiguous; another direction is then tried.

For surfaces without self-intersection, the normal of the closest feature (Bærentzen and Aanæs 2005) gives the same sign, but for rounding,
which is wrong for up to 28 % of the points in tetrahedra thinner than 1e-14 of their size. Rays cost as much for points anywhere, and make
`closest` take 1.6 times as long for points near the surface (`docs/distances.md`).
"""
import numpy as np

from pliant.core.jit import kernel
from pliant.core.stack import stack_float64
from pliant.geometry.predicates import orient3d, point_in_range
from pliant.geometry.ray_triangle import BUFFER_SIZE, DIRECTION, ORIGIN, edge_side

AMBIGUOUS = 1 << 40                                                     # added to the winding number where the line crosses an edge


def find_open_edge(mesh):
    """(a, b) of the first edge that does not belong to exactly two faces, with opposite directions; (−1, −1) if the surface is closed.

    Edges are ordered by their lower vertex, then by the other one. Faces that list a vertex twice cover an edge in both directions; they
    are ignored."""
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
    open_edges = np.flatnonzero((count != 2) | (balance != 0))
    return (-1, -1) if len(open_edges) == 0 else (int(key[open_edges[0]] // n), int(key[open_edges[0]] % n))


@kernel
def count_crossings(points, direction, ray, face, vertices, faces, winding):
    """Add to winding (n,) int64, one of each ray from a point (flat) along a direction (3,), what face[i] contributes to ray[i]. The pairs
    must include all faces that the lines intersect. AMBIGUOUS or more: the line intersects an edge."""
    t = stack_float64(BUFFER_SIZE)
    for i in range(len(ray)):
        r, f = np.int64(ray[i]), np.int64(face[i])
        for k in range(3):
            t[ORIGIN + k], t[DIRECTION + k] = points[3 * r + k], direction[k]
            for c in range(3):
                t[3 * c + k] = vertices[3 * np.int64(faces[f, c]) + k]
        in_filter_range = point_in_range(t, 0) & point_in_range(t, 3) & point_in_range(t, 6) & point_in_range(t, ORIGIN) & point_in_range(
            t, DIRECTION)
        p, q, s = edge_side(t, 3, 6, in_filter_range)[0], edge_side(t, 6, 0, in_filter_range)[0], edge_side(t, 0, 3, in_filter_range)[0]
        if p == 0 or q == 0 or s == 0:
            winding[r] += AMBIGUOUS
            continue
        orientation = 1 if p > 0 else -1                                # sign of normal · d
        if orient3d(t, 0, 3, 6, ORIGIN) == -orientation:                # the face is ahead
            winding[r] += orientation
