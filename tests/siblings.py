"""Volumes in node records, made around float64 points, and which points a volume holds, exactly: what volumes are examined with."""

from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import isinf, lcm

import numpy as np

from pliant.core.jit import kernel
from pliant.core.simd import load4
from pliant.core.soa import aligned_zeros, lane, load_bounds, put_lane
from pliant.tree.nodes import node_dtype
from pliant.volume.protocol import VOLUME_TYPES, enclose_box, enclose_points, fit

SIGNS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def exact(point):
    """Coordinates as rational numbers."""
    return tuple(map(Fraction, point))


def distance_squared(p, q):
    """Of exact points."""
    return sum((x - y) ** 2 for x, y in zip(p, q, strict=True))


def whole_numbers(values):
    """Numbers times the least whole number that makes all of them whole, and that one. Fractions would be reduced again and again."""
    ratios = [value.as_integer_ratio() for value in values]
    over = lcm(*(bottom for _, bottom in ratios))
    return [top * (over // bottom) for top, bottom in ratios], over


@lru_cache(1024)
def parts(v):
    """The numbers of a volume as whole ones, and what they are multiplied by; nothing is made of NaN and of infinite ones."""
    return whole_numbers([float(x) for x in v])


def between_planes(v, p):
    """Of boxes and k-DOPs. The name of a field says along which direction it bounds: p, m and o stand for +, − and nothing."""
    (x, y, z), over = whole_numbers(p)
    ends, under = parts(v)
    for name, end in zip(v._fields, ends, strict=True):
        i, j, k = SIGNS.get(name[2:]) or ("mop".index(letter) - 1 for letter in name[2:])
        along, bound = (i * x + j * y + k * z) * under, end * over
        if along < bound if name[:2] == "lo" else along > bound:
            return False
    return True


def beside(v, p):
    """Whole numbers: the way from the middle of a volume to p, and all numbers of the volume; what both are multiplied by."""
    q, over = whole_numbers(p)
    numbers, under = parts(v)
    return [x * under - c * over for x, c in zip(q, numbers[:3], strict=True)], [x * over for x in numbers], over * under


def in_sphere(v, p):
    if not v.radius >= 0:
        return False
    way, numbers, _ = beside(v, p)
    return sum(x * x for x in way) <= numbers[v._fields.index("radius")] ** 2


def in_slab(at, low, high, v, p):
    """Between the planes at these distances along the normal in v[at:at + 3] from the middle of v; low and high: places in v, or low is
    none, and the slab reaches as far to either side."""
    way, numbers, over = beside(v, p)
    along = sum(k * x for k, x in zip(numbers[at:at + 3], way, strict=True))
    return (-numbers[high] if low is None else numbers[low]) * over <= along <= numbers[high] * over


def in_cut_ball(v, p):
    at, low, high = map(v._fields.index, ("nx", "f", "e"))
    return in_sphere(v, p) and in_slab(at, low, high, v, p)


def in_twice_cut_ball(v, p):
    at, low, high = map(v._fields.index, ("mx", "g", "h"))
    return in_cut_ball(v, p) and in_slab(at, low, high, v, p)


def in_oriented_box(v, p):
    return all(in_slab(6 + 3 * k, None, 3 + k, v, p) for k in range(3))


def in_swept_rectangle(v, p):
    """Near enough to a point of the rectangle, the nearest but for rounding."""
    if not v.radius >= 0:
        return False
    way, numbers, over = beside(v, p)
    u, w = numbers[3:6], numbers[6:9]
    nearest = []
    for axis, half in ((u, float(v.a)), (w, float(v.b))):
        along = Fraction(sum(x * y for x, y in zip(way, axis, strict=True)), over * over)
        nearest.append(min(max(float(along), -half), half))
    (s, t), fine = whole_numbers(nearest)
    off = [d * fine - s * x - t * y for d, x, y in zip(way, u, w, strict=True)]
    return sum(d * d for d in off) <= (numbers[v._fields.index("radius")] * fine) ** 2


# Volume type -> is the exact point p in the volume v? A new type says here which set it is.
INSIDE = {"aabb": between_planes, "kdop6": between_planes, "kdop14": between_planes, "kdop18": between_planes, "kdop26": between_planes,
          "sphere": in_sphere, "slabcutball": in_cut_ball, "double_slabcutball": in_twice_cut_ball, "obb": in_oriented_box,
          "rss": in_swept_rectangle}

# Types whose `ray_interval` is that of a larger volume around theirs.
LOOSE_RAYS = {"kdop14", "kdop18", "kdop26", "rss"}

# One name for every class of volumes: kdop6 is a box. What takes a loop compiled for each volume type goes by these.
VOLUMES = [name for k, (name, volume_type) in enumerate(VOLUME_TYPES.items())
           if volume_type.volume not in [f.volume for f in [*VOLUME_TYPES.values()][:k]]]

# Volume types side by side, in bodies: each with two others. Formulas of all pairs are tested in volume/test_volume_types.py; every pair of
# bodies is another loop to compile, 5 s.
NARROW = ("aabb", "sphere")                                             # nodes of two or four children are for these alone: `conftest.py`
PAIRS = [*dict.fromkeys([("obb", "aabb"), *((name, VOLUMES[(k + 4) % len(VOLUMES)]) for k, name in enumerate(VOLUMES))])]


def is_empty(v, volume_type):
    """Is this nothing? A sphere may be nothing anywhere."""
    return all(x == nothing for x, nothing in zip(v, volume_type.empty, strict=True) if isinf(nothing))


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
    put_lane(nodes, i, k, enclose_box(load_bounds(nodes, i), load4(rows, 0), load4(rows, 4)))


@kernel
def set_enclosed(nodes, i, k, rows, points, order):
    """Lane k of record i becomes the volume around these points, in the box rows[:4] … rows[4:]."""
    put_lane(nodes, i, k, enclose_points(load_bounds(nodes, i), load4(rows, 0), load4(rows, 4), points, order, 0, len(order)))


@kernel
def set_fitted(how, nodes, i, k, rows, points, order):
    """The same, fitted in a way of `fit`."""
    put_lane(nodes, i, k, fit(how, load_bounds(nodes, i), load4(rows, 0), load4(rows, 4), points, order, 0, len(order)))


class Siblings:
    """Records of one family and width: record 0 has volumes around `points[k]`, lists of exact points; further records are room."""

    def __init__(self, volume_type, width, rng, scale=1.0, filled=None, records=4):
        self.volume_type, self.width = volume_type, width
        self.nodes = aligned_zeros(records, node_dtype(volume_type.volume, width))
        for name, value in zip(volume_type.volume._fields, volume_type.empty, strict=True):
            self.nodes["lanes"][name] = self.nodes["bounds"][name] = value
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
        return INSIDE[self.volume_type.name](volume, point)
