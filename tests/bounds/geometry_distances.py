"""Attacks on bounds of distances: `geometry/distance_bounds.py` and `point_bounds.py` in float32,
`triangle_distance.py`, `closest_features.py`, `point_triangle.py`, `feature_distance.py`, `contact.py`.

Bounds below are one-sided: an error is how much a least distance is too long, or a largest one too short.
"""

import math
from fractions import Fraction

import numpy as np

import attack
import naive_distances
import naive_features
from attack import cross, dot, integers, minus, scaled
from bounds.geometry_overlap_simd import load
from pliant.core.simd import extract
from pliant.core.stack import stack_float32, store_vectors
from pliant.geometry import (
    closest_features,
    contact,
    distance_bounds,
    feature_distance,
    point_bounds,
    point_triangle,
    predicates,
    triangle_distance,
)
from revealed import compiled

PROMISE = Fraction(1, 10**12)  # of M: geometry/triangle_distance.py
SIZES = (1.0, 1.0, 2.0**-20, 2.0**-60, 2.0**27, 2.0**50)  # of float32 points
WIDE = (1.0, 1.0, 2.0**-200, 2.0**300, 2.0**-1000, 2.0**1000)  # of float64 points


def root(square):
    """The square root of a Fraction, right to a part in 2**90."""
    if square == 0:
        return Fraction(0)
    shift = max(200 + square.denominator.bit_length() - square.numerator.bit_length(), 0)
    shift += shift % 2
    return Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))


def rounded_share():
    return Fraction(float(distance_bounds.ROUNDING))


# --- distance_bounds.py -------------------------------------------------------------------------------------------------------------------


@compiled
def run_gaps(t, out):
    rows = stack_float32(240)
    store_vectors(rows, distance_bounds.LEAF_A, load(t, 0, rows, 0))
    store_vectors(rows, distance_bounds.LEAF_B, load(t, 9, rows, distance_bounds.LEAF_B))
    distance_bounds.bound_distances(rows, 0)
    out[0], out[1] = rows[8 * distance_bounds.BOUND], rows[8 * distance_bounds.AXES]
    out[2], out[3] = rows[8 * distance_bounds.AXES + 8], rows[8 * distance_bounds.AXES + 16]
    return 0


_gap = np.zeros(4, np.float32)


def flat_neighbours(rng):
    """A large face across an axis, and a corner above its inside, nearer than float32 squares can say."""
    size, k = 2.0 ** rng.integers(0, 28), rng.integers(3)
    face = np.array([[0, -1.0, -1.0], [0, 1.0, -1.0], [0, 0.0, 1.0]]) * size
    other = np.array([[size * size * 2.0 ** -rng.integers(60, 82), 0, 0], [size / 2, size / 4, 0], [size / 2, 0, size / 4]])
    return np.roll(np.vstack([face, other]), k, 1).astype(np.float32)


def on_faces(count, dtype):
    """The fourth of the points is on the face of the first three, but for rounding."""
    def start(rng):
        points = rng.uniform(-1, 1, (count, 3))
        weights = rng.dirichlet([1, 1, 1]) * (1, 1, rng.choice([0, 1, 1]))
        points[3] = weights @ points[:3] / weights.sum()
        return points.astype(dtype)
    return start


@attack.bound("bound_gaps", "geometry/distance_bounds.py", ("ROUNDING", "SHRINK", "MIN_SQUARE"),
              {"flat neighbours": flat_neighbours, "on faces": on_faces(6, np.float32)} | attack.families((6, 3), np.float32, SIZES),
              12_000,
              section="ROUNDING")
def bound_gaps(points):
    """LEAST against what the exact direction says: the gap along it, over its length where that exceeds 1, and no less than 0."""
    local = points - points.min(0)
    if not np.isfinite(local).all() or local.max() > 2.0**62:
        return None
    run_gaps(local.reshape(-1), _gap)
    least, direction = float(_gap[0]), _gap[1:].astype(float)
    if not (math.isfinite(least) and np.isfinite(direction).all()):
        return (0, 1) if not least > 0 else (1, 0)                      # what cannot be compared is kept
    corners, e = integers(local)
    d, f = integers(direction)
    gap = scaled(min(dot(d, p) for p in corners[:3]) - max(dot(d, q) for q in corners[3:]), e + f)
    return Fraction(least) - max(gap / max(root(scaled(dot(d, d), 2 * f)), 1), 0), rounded_share() * Fraction(float(local.max()))


# --- point_bounds.py ----------------------------------------------------------------------------------------------------------------------


@compiled
def run_points(t, out):
    rows = stack_float32(72)
    low, high = point_bounds.bound_point_distances(load(t, 0, rows, 0), t[9], t[10], t[11])
    out[0], out[1] = extract(low, 0), extract(high, 0)
    return 0


_two = np.zeros(2, np.float32)


def bounds_of_points(points):
    """(least, most, exact distance, the largest distance of a corner), or None beyond what is claimed."""
    ways = np.abs(points[:3].astype(float) - points[3].astype(float)).max()
    size = max(np.ptp(points[:3].astype(float), axis=0).max(), 2.0**-149)
    if not 2.0**-60 < ways or ways * size > 2.0**60:
        return None
    run_points(points.reshape(-1), _two)
    numbers, e = integers(points)
    farthest = max(dot(w, w) for w in (minus(p, numbers[3]) for p in numbers[:3]))
    return float(_two[0]), float(_two[1]), root(naive_distances.point_triangle(points[3], points[:3])), root(scaled(farthest, 2 * e))


POINT_STARTS = {"on faces": on_faces(4, np.float32), **attack.families((4, 3), np.float32, (1.0, 1.0, 2.0**-20, 2.0**-50, 2.0**28))}


@attack.bound("bound_points, least", "geometry/point_bounds.py", ("MIN_LENGTH",), POINT_STARTS, 8_000,
              section="ROUNDING")
def points_least(points):
    found = bounds_of_points(points)
    if found is None:
        return None
    least, _, exact, farthest = found
    return Fraction(least) - exact if math.isfinite(least) else math.inf, rounded_share() * farthest


@attack.bound("bound_points, most", "geometry/point_bounds.py", ("INF",), POINT_STARTS, 8_000,
              section="ROUNDING")
def points_most(points):
    found = bounds_of_points(points)
    if found is None:
        return None
    _, most, exact, farthest = found
    return exact - Fraction(most) if math.isfinite(most) else math.inf, rounded_share() * farthest


# --- triangle_distance.py, closest_features.py --------------------------------------------------------------------------------------------


def longest_side(points):
    rows = [[Fraction(x) for x in column] for column in points.T.tolist()]
    return max(max(row) - min(row) for row in rows)


def is_plain(points):
    size = np.abs(points)
    return int(((size == 0) | ((size >= predicates.RANGE_MIN) & (size <= predicates.RANGE_MAX))).all())


@attack.bound("triangle_gap", "geometry/triangle_distance.py", ("MIN_SIZE", "MAX_SIZE", "MARGIN", "NEAREST_RATIO", "MIN_DISTANCE"),
              {"on faces": on_faces(6, np.float64), **attack.families((6, 3), scales=WIDE)}, 2_500,
              section="PRECISION")
def triangle_gap(points):
    """A distance is 0 if and only if the triangles meet."""
    t = np.zeros(triangle_distance.BUFFER_SIZE)
    t[:18] = points.reshape(-1)
    triangle_distance.triangle_triangle_distance(t, is_plain(points))
    exact, found = root(naive_distances.triangle_triangle(points[:3], points[3:])), float(t[triangle_distance.DISTANCE])
    if (found == 0) != (exact == 0):
        return 1, 0
    if not math.isfinite(found):
        return (0, 1) if exact > Fraction(np.finfo(float).max) else (1, 0)
    return abs(Fraction(found) - exact), PROMISE * longest_side(points) + Fraction(triangle_distance.MIN_DISTANCE)


@compiled
def run_along(c, x, y, z):
    corners = closest_features.load_points(c, 9, 12, 15)
    return triangle_distance.min_projection(closest_features.subtract(corners, c[0], c[1], c[2]),
                                            closest_features.subtract(corners, c[3], c[4], c[5]),
                               closest_features.subtract(corners, c[6], c[7], c[8]), x, y, z)


@attack.bound("a plane between triangles", "geometry/triangle_distance.py", ("SEPARATION_ERROR", "TINY"),
              attack.families((7, 3), scales=(1.0, 2.0**-90, 2.0**90)), 8_000,
              section="PARTED")
def shortest_along(points):
    """The last point is the direction."""
    if not triangle_distance.MIN_SIZE <= np.ptp(points[:6], axis=0).max() <= triangle_distance.MAX_SIZE:
        return None
    value = run_along(points[:6].reshape(-1), *points[6].tolist())
    rows, e = integers(points)
    exact = min(dot(minus(q, p), rows[6]) for p in rows[:3] for q in rows[3:6])
    size = max(np.ptp(points[:6], axis=0).max() * (1 - 2.0**-52), 0.0)
    return abs(Fraction(float(value))
               - scaled(exact, 2 * e)), triangle_distance.SEPARATION_ERROR * size * float(np.abs(points[6]).sum()) + triangle_distance.TINY


@compiled
def run_edges(c, limit, size, longest):
    """Edge 0 of A, from corner 1 to corner 2, against the three edges of B."""
    starts, ends = closest_features.edge_starts(c, 9), closest_features.edge_ends(c, 9)
    f = closest_features.Vectors(ends.x - starts.x, ends.y - starts.y, ends.z - starts.z)
    ex, ey, ez = closest_features.difference(c, 3, 6)
    return closest_features.edge_pair_filter(closest_features.subtract(starts, c[3], c[4], c[5]), ex, ey, ez, f, limit, size, longest)


@attack.bound("edge_pair_filter, decisions", "geometry/closest_features.py", ("EDGE_PAIR_ERROR", "MIN_SQUARE", "edge_pair_filter"),
              attack.families((6, 3)), 6_000, section="EDGE_PAIR_ERROR, of `edge_pair_filter`")
def edges_near(points):
    """What is inside both edges and nearer than the limit must be kept."""
    rows, e = integers(points)
    lengths = [dot(w, w) for w in (minus(rows[i], rows[j]) for i, j in ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)))]
    longest, size = float(scaled(max(lengths), 2 * e)), float(np.ptp(points, axis=0).max())
    if not 2.0**-100 <= size <= 2.0**100:
        return None
    u, d = minus(rows[2], rows[1]), None
    for k, (i, j) in enumerate(((4, 5), (3, 5), (3, 4))):
        v, d = minus(rows[j], rows[i]), minus(rows[i], rows[1])
        n = cross(u, v)
        area = dot(n, n)
        inside = area and 0 < dot(d, cross(v, n)) < area and 0 < dot(d, cross(u, n)) < area
        if inside:
            limit = float(Fraction(dot(d, n) ** 2, area) * Fraction(4) ** e) * (1 + 2.0**-40)
            if not run_edges(points.reshape(-1), limit, size, longest) >> k & 1:
                return 1, 0
    return 0, 1


# --- point_triangle.py --------------------------------------------------------------------------------------------------------------------


@attack.bound("point_gap", "geometry/point_triangle.py", ("EXACT_RATIO",),
              {"on faces": on_faces(4, np.float64), **attack.families((4, 3), scales=WIDE)}, 6_000,
              section="CLOSE")
def point_gap(points):
    """M is the largest component of the ways to the corners. A distance is 0 if and only if the point is on the triangle."""
    t = np.zeros(point_triangle.BUFFER_SIZE)
    t[:12] = points.reshape(-1)
    point_triangle.point_triangle_distance(t, is_plain(points))
    exact, found = root(naive_distances.point_triangle(points[3], points[:3])), float(t[point_triangle.DISTANCE])
    if (found == 0) != (exact == 0):
        return 1, 0
    if not math.isfinite(found):
        return (0, 1) if exact > Fraction(np.finfo(float).max) else (1, 0)
    size = max(abs(Fraction(p) - Fraction(q)) for row in points[:3].tolist() for p, q in zip(row, points[3].tolist(), strict=True))
    return abs(Fraction(found) - exact), PROMISE * size + Fraction(triangle_distance.MIN_DISTANCE)


# --- feature_distance.py ------------------------------------------------------------------------------------------------------------------


def crossing_edges(rng):
    """Two edges that cross but for rounding, often nearly parallel."""
    middle, way, other = rng.uniform(-1, 1, (3, 3))
    other = way + other * rng.choice([1.0, 2.0**-10, 2.0**-25])
    return np.array([middle + direction * rng.uniform() for direction in (-way, way, -other, other)])


@attack.bound("edge_edge_distance", "geometry/feature_distance.py", ("EXACT_RATIO",),
              {"crossing": crossing_edges, "on faces": on_faces(4, np.float64), **attack.families((4, 3), scales=WIDE)}, 6_000,
              section="EXACT_RATIO M is above the error")
def edge_pair_distance(points):
    """A distance is 0 if and only if the edges touch."""
    t = np.zeros(feature_distance.FEATURE_BUFFER_SIZE)
    t[:12] = points.reshape(-1)
    feature_distance.edge_edge_distance(t, is_plain(points))
    rows, unit = naive_features.rational(points)
    exact, found = root(naive_features.edge_edge(*rows) * unit**2), float(t[feature_distance.DISTANCE])
    if (found == 0) != (exact == 0):
        return 1, 0
    if not math.isfinite(found):
        return (0, 1) if exact > Fraction(np.finfo(float).max) else (1, 0)
    return abs(Fraction(found) - exact), PROMISE * longest_side(points) + Fraction(triangle_distance.MIN_DISTANCE)


# --- contact.py ---------------------------------------------------------------------------------------------------------------------------


@compiled
def run_cross(t, scale):
    return contact.cross(t, 0, 3, 6, 9, scale)


@attack.bound("cross, directions", "geometry/contact.py", (), attack.families((4, 3), scales=WIDE), 12_000,
              section="DIRECTIONS")
def directions(points):
    """Off by less than 2**-44 of its length, times the scale squared. Differences that make products underflow are left out."""
    largest = np.abs(points).max()
    scale = math.ldexp(1.0, min(max(-math.frexp(largest)[1], -1022), 1022))
    sizes = np.abs([(points[1] - points[0]) * scale, (points[3] - points[2]) * scale])
    if ((sizes > 0) & (sizes < 2.0**-450)).any():
        return None
    found = run_cross(points.reshape(-1), scale)
    rows, e = integers(points * scale)
    exact = cross(minus(rows[1], rows[0]), minus(rows[3], rows[2]))
    if not any(exact):
        return (0, 1) if not any(found) else (1, 0)
    way = [Fraction(float(x)) - scaled(y, 2 * e) for x, y in zip(found, exact, strict=True)]
    return root(dot(way, way)), root(scaled(dot(exact, exact), 4 * e)) * Fraction(predicates.VALUE_ERROR)


@attack.bound("put_crossing", "geometry/contact.py", (), attack.families((5, 3), scales=(1.0, 1.0, 2.0**-200, 2.0**300)), 4_000,
              section="PRECISION")
def crossing(points):
    """Where the segment from the fourth point to the fifth crosses the plane of the others: PRECISE of its length, 5 U of its coordinates,
    and two of the smallest numbers."""
    rows, _ = integers(points)
    n = cross(minus(rows[1], rows[0]), minus(rows[2], rows[0]))
    p, q = dot(n, minus(rows[3], rows[0])), dot(n, minus(rows[4], rows[0]))
    if p * q >= 0:
        return None
    t = np.zeros(18)
    t[:15] = points.reshape(-1)
    contact.put_crossing(t, 0, 9, 1 if p > 0 else -1, 12, 1 if q > 0 else -1, 15)
    worst = (0, 1)
    for k in range(3):
        exact = (Fraction(points[3, k]) * q - Fraction(points[4, k]) * p) / (q - p)
        length, largest = abs(Fraction(points[3, k]) - Fraction(points[4, k])), max(abs(Fraction(x)) for x in points[3:5, k].tolist())
        allowed = Fraction(predicates.VALUE_ERROR) * length + 5 * largest / 2**53 + 2 * Fraction(triangle_distance.MIN_DISTANCE)
        one = abs(Fraction(float(t[15 + k])) - exact), allowed
        worst = max(worst, one, key=lambda both: attack.ratio_of(*both))
    return worst
