"""Meshes that are hard on a query, and the comparison of a query with the reference. A mesh is (vertices (n, 3) float64, faces (m, 3))."""

from itertools import product

import numpy as np

import naive
import pliant

# name -> (offset, size) of a scene of about unit size
SIZES = {
    "ordinary": (0, 1.0),
    "far": (2.5e5, 1.0),
    "very far": (1e12, 1.0),
    "out of sight": (1e15, 1.0),
    "small": (0, 1e-30),
    "tiny": (0, 1e-200),
    "subnormal": (0, 2.0**-1070),
    "large": (0, 1e30),
    "huge": (0, 1e200),
    "as huge as can be": (0, 7e307),
    "small and far": (1.0, 1e-9),
    "tiny and far": (1e-190, 1e-200),
}


def soup(triangles):
    """A mesh of triangles (n, 3, 3) that share nothing."""
    triangles = np.asarray(triangles, np.float64)
    return triangles.reshape(-1, 3), np.arange(3 * len(triangles), dtype=np.int32).reshape(-1, 3)


def lowest_at_one_place(vertices):
    """(n,): for each vertex the lowest one at the same place, as `weld=` takes it."""
    _, first, inverse = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)]


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


def fan(rim, closed, hub=(0.0, 0.0, 0.0)):
    """Faces around vertex 0 from each point of the rim to the next, and from the last to the first if closed."""
    n = len(rim)
    spokes = np.arange(n if closed else n - 1)
    faces = np.column_stack([np.zeros_like(spokes), 1 + spokes, 1 + (spokes + 1) % n])
    return np.vstack([hub, np.asarray(rim, np.float64)]), faces.astype(np.int32)


def ring(n, closed, times, height=0.0):
    """The rim of a fan of n faces: on a circle, `times` around. `height`: a number, or a function of angle and number."""
    k = np.arange(n if closed else n + 1)
    angle = 2 * np.pi * times * k / n
    return np.column_stack([np.cos(angle), np.sin(angle), height(angle, k) if callable(height) else np.full(len(k), height)])


def square_path(n):
    """The rim (n + 1, 2) of an open fan of n faces on a square of integers, eight faces once around."""
    corner = [[2, 0], [2, 2], [0, 2], [-2, 2], [-2, 0], [-2, -2], [0, -2], [2, -2]]
    return np.array([corner[k % 8] for k in range(n + 1)], np.float64)


def pinched(directions, amount):
    """A sphere with a dent from above and one from below; beyond 1 they have passed through each other."""
    x, y, z = directions.T
    z = z + 0.05 * np.sin(3 * x + 1) * np.cos(2 * y)
    return np.column_stack([x, y + 0.1 * x * y, z * (1 - amount * np.exp(-3 * (x * x + y * y)))])


def joined(*parts):
    """Several meshes as one."""
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in parts[:-1]])
    faces = [faces + start for (_, faces), start in zip(parts, starts, strict=True)]
    return np.vstack([vertices for vertices, _ in parts]), np.vstack(faces)


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


def assert_right_self(body, right=None, same=None):
    """`self_collide` gives what the reference gives, in the promised form, with and without neighbours; the pairs.

    `same`: for every vertex the one that stands for it.
    """
    named = body.faces if same is None else np.asarray(same)[body.faces]
    right = naive.self_collide(body.vertices, named) if right is None else right
    sharing = [bool(set(named[i]) & set(named[j])) for i, j in right]
    found = None
    for adjacent, expected in (("ignore", right[~np.array(sharing, bool)]), ("exact", right)):
        found = pliant.self_collide(body, adjacent=adjacent)
        faces = found.faces
        assert faces.shape == (len(found), 2)
        assert faces.dtype == np.int32
        assert faces.flags.c_contiguous
        missed = set(map(tuple, expected.tolist())) - set(map(tuple, faces.tolist()))
        extra = set(map(tuple, faces.tolist())) - set(map(tuple, expected.tolist()))
        assert not missed, f"{adjacent}: {len(missed)} of {len(expected)} pairs missed, as {min(missed)}"
        assert not extra, f"{adjacent}: {len(extra)} pairs that do not collide, as {min(extra)}"
        assert faces.tolist() == expected.tolist()                      # sorted, and each once
        assert found.stats.n_p >= len(found)
        assert bool(found) == (len(expected) > 0)
    return found
