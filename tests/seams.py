"""Meshes with seams: cut in two, and which vertices a tolerance welds together again."""

from fractions import Fraction
from itertools import combinations

import numpy as np


def stand_ins(vertices, tolerance=0):
    """For every vertex the lowest that a chain of steps, none longer than the tolerance, leads to; exact."""
    points, limit = [tuple(map(Fraction, row)) for row in np.asarray(vertices, float).tolist()], Fraction(tolerance) ** 2
    same = list(range(len(points)))
    for i, j in combinations(range(len(points)), 2):
        if sum((u - v) ** 2 for u, v in zip(points[i], points[j], strict=True)) <= limit:
            low, high = sorted((same[i], same[j]))
            same = [low if k == high else k for k in same]
    return np.array(same)


def cut(vertices, faces, aside):
    """The mesh cut in two: faces that are `aside` get vertices of their own. With it, the old name of every vertex."""
    names = np.unique(faces[aside])
    copies = np.zeros(len(vertices), int)
    copies[names] = len(vertices) + np.arange(len(names))
    faces = np.where(np.asarray(aside)[:, None], copies[faces], faces)
    used = np.unique(faces)
    renamed = np.zeros(len(vertices) + len(names), int)
    renamed[used] = np.arange(len(used))
    origin = np.concatenate([np.arange(len(vertices)), names])[used]
    return vertices[origin], renamed[faces], origin
