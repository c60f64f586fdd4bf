"""Which faces does the line of a ray intersect? Exact answers for millions of rays, in integers, independent of the library.

The line o + t d passes the edge p q on the side given by the sign of ((p − o) × (q − o)) · d, one sign for every edge and ray. A face is
hit if the signs of its three edges, taken along its boundary, are all >= 0 or all <= 0, and not all 0. A sign is computed in float64 where
it is far from 0, and in Python integers, without rounding, elsewhere.
"""

import numpy as np

CLEAR = 1e-12  # relative to the product of sizes: a thousand times the error of float64


def edges_of(faces):
    """Every edge (e, 2) once, low vertex first; for each side of each face (m, 3) its edge, and 1 or −1 for its direction (m, 3)."""
    sides = np.asarray(faces)[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    edges, number = np.unique(np.sort(sides, axis=1), axis=0, return_inverse=True)
    return edges, number.reshape(-1, 3), np.where(sides[:, 0] < sides[:, 1], 1, -1).reshape(-1, 3)


def integers(numbers):
    """Float64 numbers as an object array of Python integers, times one power of two."""
    mantissas, exponents = np.frexp(numbers)
    low = int(exponents[mantissas != 0].min(initial=1024)) - 53
    shifts = np.where(mantissas != 0, exponents - 53 - low, 0)
    return (np.ldexp(mantissas, 53).astype(np.int64).astype(object)) << shifts.astype(object)


def cross_dot(p, q, d):
    """(p × q) · d of rows of numbers of any type."""
    return ((p[..., 1] * q[..., 2] - p[..., 2] * q[..., 1]) * d[..., 0] + (p[..., 2] * q[..., 0] - p[..., 0] * q[..., 2]) * d[..., 1]
            + (p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]) * d[..., 2])


def edge_signs(vertices, edges, origins, directions):
    """Signs (rays, edges) of the sides on which lines pass edges, exactly; and the number of signs computed in integers."""
    seen = vertices[None] - origins[:, None]
    p, q = seen[:, edges[:, 0]], seen[:, edges[:, 1]]
    values = cross_dot(p, q, directions[:, None])
    sizes = np.abs(p).max(axis=2) * np.abs(q).max(axis=2) * np.abs(directions).max(axis=1)[:, None]
    signs = np.sign(values).astype(np.int8)
    ray, edge = np.nonzero(~(np.abs(values) > CLEAR * sizes))
    if len(ray):
        points, ways = integers(np.concatenate([vertices, origins])), integers(directions)
        starts = points[len(vertices):][ray]
        exact = cross_dot(points[edges[edge, 0]] - starts, points[edges[edge, 1]] - starts, ways[ray])
        signs[ray, edge] = np.array([(value > 0) - (value < 0) for value in exact.tolist()], np.int8)
    return signs, len(ray)


def hits(vertices, faces, origins, directions):
    """(rays, faces) bool: does the line of each ray hit each face? And the number of signs computed in integers."""
    edges, number, along = edges_of(faces)
    signs, hard = edge_signs(vertices, edges, origins, directions)
    sides = signs[:, number] * along[None].astype(np.int8)
    low, high = sides.min(axis=2), sides.max(axis=2)
    return ((low >= 0) | (high <= 0)) & ((low != 0) | (high != 0)), hard
