"""Attacks on the float32 lanes, `geometry/overlap_simd.py`.

Points are six corners of two triangles in float32, six rows of what the true corners differ by, in units of DELTA, and one row whose first
number chooses how large DELTA is, compared with the largest coordinate. Corners are made local as `query/collide/leaf_overlap.py` does it.
The true corners are exact: float32 corner + DELTA · share.
"""

import numpy as np

import attack
from attack import cross, dot, integers, minus, scaled
from pliant.core.simd import extract
from pliant.core.stack import load8, load_lane, stack_float32, store_vectors
from pliant.geometry.overlap_simd import beyond_edge, determinant, error_bounds, plane_of, plane_sides, separation_along
from pliant.geometry.triangle_overlap import Triangle
from pliant.query.collide.leaf_overlap import translate
from pliant.query.traverse import CORNER_ERROR, MIN_CORNER_ERROR
from pliant.volume.aabb import Box
from revealed import compiled, revealed

MOST = 2.0**28  # the largest coordinate that geometry/overlap_simd.py allows for
SCALES = (1.0, 1.0, 2.0**-20, 2.0**-44, 2.0**27)


@compiled
def load(corners, at, rows, first):
    """Nine numbers, each in eight lanes, as a triangle."""
    for k in range(9):
        for i in range(8):
            rows[8 * (first + k) + i] = corners[at + k]
    at = 8 * first
    return Triangle(load8(rows, at), load8(rows, at + 8), load8(rows, at + 16), load8(rows, at + 24), load8(rows, at + 32),
                    load8(rows, at + 40), load8(rows, at + 48), load8(rows, at + 56), load8(rows, at + 64))


@compiled
def box_of(t, at):
    return Box(min(t[at], min(t[at + 3], t[at + 6])), min(t[at + 1], min(t[at + 4], t[at + 7])), min(t[at + 2], min(t[at + 5], t[at + 8])),
               max(t[at], max(t[at + 3], t[at + 6])), max(t[at + 1], max(t[at + 4], t[at + 7])), max(t[at + 2], max(t[at + 5], t[at + 8])))


@compiled
def gap_and_direction(dx, dy, dz, tri_a, tri_b, errors):
    """In the place of `separates`."""
    gap, bound = separation_along(dx, dy, dz, tri_a, tri_b, errors)
    return gap, bound, dx, dy, dz


_beyond = revealed(beyond_edge, separates=gap_and_direction)


@compiled
def run_lanes(t, delta, out):
    """The corners of B against the plane of A, those of A against B's, their bounds, two orientations and their bound, and the gaps along
    the way between the middles and across the first edges of A and B, each after its direction and before its bound."""
    rows = stack_float32(160)
    a, b = box_of(t, 0), box_of(t, 9)
    ox, oy, oz = min(a.lox, b.lox), min(a.loy, b.loy), min(a.loz, b.loz)
    error_bound = error_bounds(delta, a, b, max(a.hix, b.hix) - ox, max(a.hiy, b.hiy) - oy, max(a.hiz, b.hiz) - oz)
    ours, theirs = translate(load(t, 0, rows, 0), -ox, -oy, -oz), translate(load(t, 9, rows, 0), -ox, -oy, -oz)
    our_planes, their_planes = plane_of(ours, error_bound, error_bound.plane_a), plane_of(theirs, error_bound, error_bound.plane_b)
    store_vectors(rows, 0, ours)
    store_vectors(rows, 9, our_planes)
    one, plane = load_lane(rows, 0, 0, ours), load_lane(rows, 9, 0, our_planes)
    p, q, r = plane_sides(plane, theirs)
    out[0], out[1], out[2] = extract(p, 0), extract(q, 0), extract(r, 0)
    p, q, r = plane_sides(their_planes, one)
    out[3], out[4], out[5] = extract(p, 0), extract(q, 0), extract(r, 0)
    out[6], out[7] = plane.bound, extract(their_planes.bound, 0)
    vx, vy, vz = theirs.ax - one.ax, theirs.ay - one.ay, theirs.az - one.az
    p = determinant(one.bx - one.ax, one.by - one.ay, one.bz - one.az, vx, vy, vz,
                    theirs.bx - one.ax, theirs.by - one.ay, theirs.bz - one.az)
    out[8], out[9] = extract(p, 0), error_bound.orient
    dx = (theirs.ax + theirs.bx + theirs.cx) - (one.ax + one.bx + one.cx)
    dy = (theirs.ay + theirs.by + theirs.cy) - (one.ay + one.by + one.cy)
    dz = (theirs.az + theirs.bz + theirs.cz) - (one.az + one.bz + one.cz)
    gap, bound = separation_along(dx, dy, dz, one, theirs, error_bound)
    out[10], out[11], out[12], out[13], out[14] = extract(dx, 0), extract(dy, 0), extract(dz, 0), extract(gap, 0), extract(bound, 0)
    ex, ey, ez = one.bx - one.ax, one.by - one.ay, one.bz - one.az
    gap, bound, px, py, pz = _beyond(ex, ey, ez, plane, one, theirs, error_bound)
    out[15], out[16], out[17], out[18], out[19] = px, py, pz, extract(gap, 0), bound
    ex, ey, ez = theirs.bx - theirs.ax, theirs.by - theirs.ay, theirs.bz - theirs.az
    gap, bound, dx, dy, dz = _beyond(ex, ey, ez, their_planes, theirs, one, error_bound)
    out[20], out[21], out[22], out[23], out[24] = extract(dx, 0), extract(dy, 0), extract(dz, 0), extract(gap, 0), extract(bound, 0)
    return 0


_out = np.zeros(25, np.float32)


def delta_of(points):
    """DELTA of a query between two bodies that reach as far as these points, or up to 2**6 times as far."""
    reach = float(np.abs(points[:6]).max()) * 2.0 ** min(abs(int(np.frexp(points[12, 0])[1])) % 7, 6)
    return np.float32(max(reach * CORNER_ERROR, MIN_CORNER_ERROR))


def lane_values(points):
    """(what the kernel writes, the true corners as integers, their exponent), or None beyond what is claimed."""
    if np.abs(points[:6]).max() > MOST:
        return None
    delta = delta_of(points)
    run_lanes(np.ascontiguousarray(points[:6]).reshape(-1), delta, _out)
    shares = np.clip(points[6:12].astype(np.float64), -1, 1)
    numbers, e = integers(np.vstack([points[:6].astype(np.float64), shares * float(delta)]))
    return _out.astype(float), [tuple(p + q for p, q in zip(numbers[k], numbers[6 + k], strict=True)) for k in range(6)], e


def starts(make=attack.families):
    """Corners of every family, shares of every sign."""
    def start(corners):
        def points(rng):
            shares = rng.choice([-1.0, 1.0, 0.0], (6, 3), p=[0.45, 0.45, 0.1])
            return np.vstack([corners(rng), shares, 2.0 ** rng.integers(0, 7, (1, 3))]).astype(np.float32)
        return points
    return {name: start(corners) for name, corners in make((6, 3), np.float32, SCALES).items()}


def determinant3(p, q, r, s):
    return dot(cross(minus(q, p), minus(r, p)), minus(s, p))


def worst(pairs):
    """The pair (error, bound) with the largest quotient."""
    return max(pairs, key=lambda pair: attack.ratio_of(*pair))


def off(value, exact, exponent):
    return abs(attack.Fraction(value) - scaled(exact, exponent)) if np.isfinite(value) else np.inf


@attack.bound("lanes: corners against planes", "geometry/overlap_simd.py", ("BOUND_FACTOR", "E4", "E8", "E12", "TWO", "FOUR"), starts(),
              8_000,
              section="BOUND of a plane")
def planes(points):
    found = lane_values(points)
    if found is None:
        return None
    out, (a, b, c, p, q, r), e = found
    return worst([*((off(out[k], determinant3(a, b, c, x), 3 * e), out[6]) for k, x in enumerate((p, q, r))),
                  *((off(out[3 + k], determinant3(p, q, r, x), 3 * e), out[7]) for k, x in enumerate((a, b, c)))])


@attack.bound("lanes: orientations", "geometry/overlap_simd.py", ("E40", "EIGHT"), starts(), 8_000,
              section="BOUND of an orientation")
def orientations(points):
    found = lane_values(points)
    if found is None:
        return None
    out, (a, b, _, p, q, _), e = found
    return off(out[8], dot(cross(minus(b, a), minus(p, a)), minus(q, a)), 3 * e), out[9]


def exact_gap(direction, mine, yours, e):
    """(how much farther along the direction all of yours is than all of mine, the exponent of that)."""
    if not np.isfinite(direction).all():
        return 0, 0
    numbers, f = integers(direction)
    return min(dot(numbers, corner) for corner in yours) - max(dot(numbers, corner) for corner in mine), e + f


@attack.bound("lanes: gaps along the way between middles", "geometry/overlap_simd.py", ("TINY",), starts(), 8_000,
              section="BOUND of a comparison")
def middles(points):
    found = lane_values(points)
    if found is None:
        return None
    out, corners, e = found
    return off(out[13], *exact_gap(out[10:13], corners[:3], corners[3:], e)), out[14]


@attack.bound("lanes: gaps across edges", "geometry/overlap_simd.py", ("TINY",), starts(), 8_000,
              section="BOUND of a comparison")
def across(points):
    found = lane_values(points)
    if found is None:
        return None
    out, corners, e = found
    return worst([(off(out[18], *exact_gap(out[15:18], corners[:3], corners[3:], e)), out[19]),
                  (off(out[23], *exact_gap(out[20:23], corners[3:], corners[:3], e)), out[24])])
