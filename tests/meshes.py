"""Meshes that are hard on a query, and the comparison of a query with the reference. A mesh is (vertices (n, 3) float64, faces (m, 3))."""

from itertools import product

import numpy as np

import naive
import pliant


def soup(triangles):
    """A mesh of triangles (n, 3, 3) that share nothing."""
    triangles = np.asarray(triangles, np.float64)
    return triangles.reshape(-1, 3), np.arange(3 * len(triangles), dtype=np.int32).reshape(-1, 3)


def cube(low=(0, 0, 0), side=1.0):
    """Twelve faces."""
    vertices = np.array(list(product((0.0, 1.0), repeat=3))) * side + low
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([corner for a, b, c, d in sides for corner in ((a, b, c), (a, c, d))], np.int32)


def needles(n, along, thickness=2.0**-10):
    """n long thin triangles side by side in the plane z = 0, along axis 0 or 1, reaching over n of the other kind."""
    across = 1 - along
    triangles = np.zeros((n, 3, 3))
    triangles[:, :, across] = np.arange(n)[:, None]
    triangles[:, 2, across] += thickness
    triangles[:, 0, along], triangles[:, 1:, along] = -1.0, n + 1.0
    return soup(triangles)


def in_row(n, step):
    """n small triangles in a row, the k-th at step(k) and of that size."""
    at = np.array([step(k) for k in range(n)], np.float64)
    return soup(at[:, None, None] * (np.ones(3) + 0.25 * np.eye(3)))


def rotation(axis, angle):
    """The (3, 3) matrix that turns about an axis."""
    axis = np.asarray(axis, np.float64) / np.linalg.norm(axis)
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross.T + (1 - np.cos(angle)) * (cross @ cross)


def right_pairs(a, b):
    """What the reference says about two bodies where they are."""
    return naive.collide(a.vertices, a.faces, b.vertices, b.faces)


def assert_right(a, b, right=None):
    """Both orders of the arguments give what the reference gives, in the promised form; the pairs."""
    right = right_pairs(a, b) if right is None else right
    pairs, swapped = pliant.collide(a, b), pliant.collide(b, a)
    for found, expected in ((pairs, right), (swapped, right[np.lexsort((right[:, 0], right[:, 1]))][:, ::-1])):
        faces = found.faces
        assert faces.shape == (len(found), 2)
        assert faces.dtype == np.int32
        assert faces.flags.c_contiguous
        missed = set(map(tuple, expected.tolist())) - set(map(tuple, faces.tolist()))
        extra = set(map(tuple, faces.tolist())) - set(map(tuple, expected.tolist()))
        assert not missed, f"{len(missed)} of {len(expected)} pairs missed, as {min(missed)}"
        assert not extra, f"{len(extra)} pairs that do not meet, as {min(extra)}"
        assert faces.tolist() == expected.tolist()                      # sorted, and each once
        assert found.stats.n_p >= len(found)
        assert bool(found) == (len(expected) > 0)
    return pairs
