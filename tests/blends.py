"""Blended bodies: weights and maps to make and move them with, and where their vertices must be."""

import numpy as np

ALL = {"name": "convex", "bound": "greedy", "boxes": "obb", "leaves": "exact"}
FRONT = {"name": "convex", "front": True}
CONVEX = ("auto", ALL, FRONT)                                           # policies that only blended bodies have


def near(rest, count, seed=0, most=3):
    """(n, count) weights that fall off with the distance from places around the vertices; at most so many count for a vertex."""
    low, high = rest.min(axis=0), rest.max(axis=0)
    places = np.random.default_rng(seed).uniform(low, high, (count, 3))
    far = ((rest[:, None] - places) ** 2).sum(axis=2)
    falls = np.exp(-4 * far / np.maximum(far.mean(), 1e-290))
    falls[np.argsort(np.argsort(-falls, axis=1), axis=1) >= most] = 0
    return falls / falls.sum(axis=1, keepdims=True)


def maps(count, rng, bend=0.3, active=None):
    """(count, 3, 4): maps that turn, shear, scale and shift; only `active` of them are not the identity."""
    made = np.tile(np.eye(3, 4), (count, 1, 1))
    which = rng.permutation(count)[:active]
    made[which] += rng.uniform(-bend, bend, (len(which), 3, 4))
    return made


def where(rest, weights, moved):
    """The definition of a position: maps summed up in ascending order, then columns times x, y, z and the last; all is rounded."""
    rows = np.zeros(rest.shape)
    for v, (place, row) in enumerate(zip(rest, weights, strict=True)):
        total = None
        for j in np.flatnonzero(row):
            total = moved[j] * row[j] if total is None else total + moved[j] * row[j]
        rows[v] = total[:, 0] * place[0] + total[:, 1] * place[1] + total[:, 2] * place[2] + total[:, 3]
    return rows
