"""Distances between triangles in plain NumPy, float64: slow, and the reference where libraries differ.

Two disjoint triangles are closest at a vertex of one and the interior of the other, or at an edge of each. They intersect if an edge of
one pierces the interior of the other, or if edges intersect. Degenerate triangles have no interior, and consist of their edges.
Shapes: triangles are (m, 3, 3), points and vectors (m, 3).
"""

import numpy as np
from scipy.spatial import cKDTree

CHUNK = 200_000  # pairs at a time: about 300 MB


def dot(x, y):
    return np.einsum("ij,ij->i", x, y)


def divided(x, y):
    """x / y, and 0 where y is not positive."""
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0)


def point_side(point, start, along):
    """Squared distances of points to the segments start + [0, 1] along."""
    share = np.clip(divided(dot(point - start, along), dot(along, along)), 0, 1)
    rest = point - start - share[:, None] * along
    return dot(rest, rest)


def side_side(p, u, q, v):
    """Squared distances of the segments p + [0, 1] u and q + [0, 1] v: from an end, or between two inner points."""
    ends = [point_side(p, q, v), point_side(p + u, q, v), point_side(q, p, u), point_side(q + v, p, u)]
    best, normal, gap = np.min(ends, axis=0), np.cross(u, v), q - p
    size = dot(normal, normal)
    s, t = dot(np.cross(gap, v), normal), dot(np.cross(gap, u), normal)
    inner = (size > 0) & (s >= 0) & (s <= size) & (t >= 0) & (t <= size)
    return np.where(inner, np.minimum(best, divided(dot(gap, normal) ** 2, size)), best)


def over(points, triangles, normals):
    """Do points project into the interiors of triangles, along the normals?"""
    sides = np.roll(triangles, -1, axis=1) - triangles
    return np.all([dot(np.cross(sides[:, k], points - triangles[:, k]), normals) >= 0 for k in range(3)], axis=0) & normals.any(axis=1)


def corner_face(corners, triangles):
    """Squared distances of the vertices of some triangles to the interiors of others: inf if none projects into it, 0 if an edge pierces
    it."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    heights = [dot(corners[:, k] - triangles[:, 0], normals) for k in range(3)]
    best, size = np.full(len(corners), np.inf), dot(normals, normals)
    for k in range(3):
        reached = over(corners[:, k], triangles, normals)
        best = np.where(reached, np.minimum(best, divided(heights[k] ** 2, size)), best)
        here, there = heights[k], heights[k - 2]
        crossing = here * there < 0
        share = np.divide(here, here - there, out=np.zeros_like(here), where=crossing)
        at = corners[:, k] + share[:, None] * (corners[:, k - 2] - corners[:, k])
        best[crossing & over(at, triangles, normals)] = 0
    return best


def triangle_gaps(first, second):
    """Distances (m,) of triangles (m, 3, 3) to others (m, 3, 3): 0 if they intersect."""
    if len(first) > CHUNK:
        cuts = range(CHUNK, len(first), CHUNK)
        return np.concatenate([triangle_gaps(*both) for both in zip(np.split(first, cuts), np.split(second, cuts), strict=True)])
    best = np.minimum(corner_face(first, second), corner_face(second, first))
    u, v = (np.roll(triangles, -1, axis=1) - triangles for triangles in (first, second))
    for i in range(3):
        for j in range(3):
            best = np.minimum(best, side_side(first[:, i], u[:, i], second[:, j], v[:, j]))
    return np.sqrt(best)


def mesh_gap(first, second):
    """The distance of two meshes, given as triangles (m, 3, 3) and (n, 3, 3): over all pairs of faces whose bounding spheres are near
    enough."""
    middles, others = first.mean(axis=1), second.mean(axis=1)
    radii, reach = (np.linalg.norm(x - y[:, None], axis=2).max(axis=1) for x, y in ((first, middles), (second, others)))
    least = cKDTree(second.reshape(-1, 3)).query(first.reshape(-1, 3))[0].min()  # between vertices: never too short
    near = cKDTree(middles).query_ball_tree(cKDTree(others), least + radii.max() + reach.max())
    i = np.repeat(np.arange(len(near)), [len(row) for row in near])
    j = np.concatenate([np.asarray(row, np.int64) for row in near])
    kept = np.linalg.norm(middles[i] - others[j], axis=1) <= least + radii[i] + reach[j]
    return triangle_gaps(first[i[kept]], second[j[kept]]).min()
