"""Volumes in node records, made around float64 points, and which points a volume holds, exactly: what volumes are examined with."""

from fractions import Fraction
from itertools import product
from math import isinf, lcm

import numpy as np

from pliant.core.jit import kernel
from pliant.core.records import aligned, lane, put_lane, whole
from pliant.core.simd import four
from pliant.tree.nodes import node_dtype
from pliant.volume.protocol import FAMILIES, around

SIGNS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def exact(point):
    """Coordinates as rational numbers."""
    return tuple(map(Fraction, point))


def distance_squared(p, q):
    """Of exact points."""
    return sum((x - y) ** 2 for x, y in zip(p, q, strict=True))


def between_planes(v, p):
    """Of boxes and k-DOPs. The name of a field says along which direction it bounds: p, m and o stand for +, − and nothing. In whole
    numbers, because fractions would be reduced again and again."""
    over = lcm(*(x.denominator for x in p))
    x, y, z = (x.numerator * (over // x.denominator) for x in p)
    for name, end in zip(v._fields, v, strict=True):
        i, j, k = SIGNS.get(name[2:]) or ("mop".index(letter) - 1 for letter in name[2:])
        top, bottom = float(end).as_integer_ratio()
        along, bound = (i * x + j * y + k * z) * bottom, top * over
        if along < bound if name[:2] == "lo" else along > bound:
            return False
    return True


def in_sphere(v, p):
    return v.radius >= 0 and distance_squared(exact(map(float, v[:3])), p) <= Fraction(float(v.radius)) ** 2


def in_slab(normal, low, high, v, p):
    """Between the planes at these distances along a normal from the middle of v."""
    middle, n = exact(map(float, v[:3])), exact(map(float, normal))
    return Fraction(float(low)) <= sum(k * (x - c) for k, x, c in zip(n, p, middle, strict=True)) <= Fraction(float(high))


def in_cut_ball(v, p):
    return in_sphere(v, p) and in_slab((v.nx, v.ny, v.nz), v.f, v.e, v, p)


def in_twice_cut_ball(v, p):
    return in_cut_ball(v, p) and in_slab((v.mx, v.my, v.mz), v.g, v.h, v, p)


def in_oriented_box(v, p):
    return all(in_slab(v[6 + 3 * k:9 + 3 * k], -half, half, v, p) for k, half in enumerate(v[3:6]))


def in_swept_rectangle(v, p):
    """Near enough to a point of the rectangle, the nearest but for rounding."""
    if not v.radius >= 0:
        return False
    middle, u, w = exact(map(float, v[:3])), exact(map(float, v[3:6])), exact(map(float, v[6:9]))
    way = [x - c for x, c in zip(p, middle, strict=True)]
    s, t = (Fraction(min(max(float(sum(x * y for x, y in zip(way, axis, strict=True))), -half), half))
            for axis, half in ((u, float(v.a)), (w, float(v.b))))
    near = [c + s * x + t * y for c, x, y in zip(middle, u, w, strict=True)]
    return distance_squared(near, p) <= Fraction(float(v.radius)) ** 2


# Family -> is the exact point p in the volume v? A new family says here which set it is.
INSIDE = {"aabb": between_planes, "kdop6": between_planes, "kdop14": between_planes, "kdop18": between_planes, "kdop26": between_planes,
          "sphere": in_sphere, "slabcutball": in_cut_ball, "slabcutball2": in_twice_cut_ball, "obb": in_oriented_box,
          "rss": in_swept_rectangle}

# One name for every class of volumes: kdop6 is a box. What takes a loop compiled for each family goes by these.
VOLUMES = [name for k, (name, family) in enumerate(FAMILIES.items()) if family.volume not in [f.volume for f in [*FAMILIES.values()][:k]]]

# Families side by side, in bodies: each with two others. Formulas of all pairs are tested in volume/test_families.py; every pair of bodies
# is another loop to compile, 5 s.
NARROW = ("aabb", "sphere")                                             # nodes of two or four children are for these alone: `conftest.py`
PAIRS = [(name, VOLUMES[(k + 4) % len(VOLUMES)]) for k, name in enumerate(VOLUMES)]


def is_empty(v, family):
    """Is this nothing? A sphere may be nothing anywhere."""
    return all(x == nothing for x, nothing in zip(v, family.empty, strict=True) if isinf(nothing))


def border(v):
    """Some float32 points near the border of a volume, on it where that can be said in float32."""
    if hasattr(v, "radius"):
        middle, out = np.float32(v[:3]), np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (2 / 3, 2 / 3, 1 / 3)], np.float32)
        reach = np.float32(v.radius) * np.array([1, 1 - 2.0**-20, 0.5], np.float32)
        return [middle + np.float32(sign) * r * way for sign, r, way in product((-1, 1), reach, out)]
    return [np.float32(corner) for corner in product(v[:6], repeat=3)]


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
