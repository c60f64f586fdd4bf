"""Volumes in node records, made around float64 points, and which points a volume holds, exactly: what volumes are examined with."""

from fractions import Fraction

import numpy as np

from pliant.core.jit import kernel
from pliant.core.records import aligned, lane, put_lane, whole
from pliant.core.simd import four
from pliant.tree.nodes import node_dtype
from pliant.volume.protocol import around

# Family -> is the exact point p in the volume v? A new family says here which set it is.
INSIDE = {
    "aabb": lambda v, p: all(Fraction(float(low)) <= x <= Fraction(float(high)) for low, x, high in zip(v[:3], p, v[3:], strict=True)),
}


def exact(point):
    """Coordinates as rational numbers."""
    return tuple(map(Fraction, point))


def distance_squared(p, q):
    """Of exact points."""
    return sum((x - y) ** 2 for x, y in zip(p, q, strict=True))


@kernel
def set_around(nodes, i, k, rows):
    """Lane k of record i becomes the volume around the box rows[:4] … rows[4:]."""
    put_lane(nodes, i, k, around(whole(nodes, i), four(rows, 0), four(rows, 4)))


class Siblings:
    """Records of one family and width: record 0 has volumes around `points[k]`, lists of exact points; further records are room."""

    def __init__(self, family, width, rng, scale=1.0, filled=None, records=4):
        self.family, self.width = family, width
        self.nodes = aligned(records, node_dtype(family.volume, width))
        for name, value in zip(family.volume._fields, family.empty, strict=True):
            self.nodes["lanes"][name] = self.nodes["whole"][name] = value
        self.points = [[] for _ in range(width)]
        for k in range(width if filled is None else filled):
            self.put(0, k, (rng.standard_normal((4, 3)) * rng.choice([0.01, 1.0], 3) + rng.standard_normal(3)) * scale)

    def put(self, i, k, points):
        """Make lane k of record i the volume around float64 points, which it knows as float32 only; those."""
        with np.errstate(under="ignore"):
            rows = np.column_stack([points, np.zeros(len(points))]).astype(np.float32)
        set_around(self.nodes, i, k, np.concatenate([rows.min(0), rows.max(0)]))
        if i == 0:
            self.points[k] = [exact(point) for point in points.tolist()]
        return rows

    def volume(self, i, k):
        """Lane k of record i."""
        return lane(self.nodes, i, k)

    def holds(self, volume, point):
        """Is the exact point in the volume?"""
        return INSIDE[self.family.name](volume, point)
