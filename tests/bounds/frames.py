"""Points, planes and transforms in the frame of a body, attacked: what becomes float32 there, and how far from the exact place it is."""

from fractions import Fraction
from math import inf

import numpy as np

import naive_distances
from attack import bound
from bounds.rays import placed_corners
from bounds.volume_pairs import turn_of
from bounds.volumes import SIZES, slivers, starts
from pliant.core.soa import aligned_zeros, field_lanes, lanes, load_bounds
from pliant.geometry.distance_bounds import ROUNDING
from pliant.geometry.point_bounds import bound_point_distances
from pliant.motion.free import Free
from pliant.motion.rigid import rounding_bound, transform_coordinate, world_bounds
from pliant.query import frustum
from pliant.query.collide.leaf_overlap import box_to_frame_a, corner_error, to_frame_a
from pliant.query.collide.transformed import TRANSFORMED_STATE, CollideTransformed, init_query_transformed
from pliant.query.proximity import closest_point
from pliant.query.proximity.closest_point import leaf_may_be_near, local_radius, projected_gap
from pliant.query.proximity.distance import stretch_of
from pliant.refit.leaf_fill import fill_leaf
from pliant.tree.nodes import LEAF_DTYPE
from pliant.volume.aabb import SCALE_UP
from pliant.volume.protocol import MIN_NORMAL

MOST = 2.0**25                                                          # of coordinates: larger bodies have a scale, or may have


def exactly(m, point):
    """Where a placement puts a point, in real numbers."""
    m, point = [Fraction(x) for x in m.tolist()], [Fraction(x) for x in point]
    return [m[4 * k] * point[0] + m[4 * k + 1] * point[1] + m[4 * k + 2] * point[2] + m[4 * k + 3] for k in range(3)]


def transform(rows):
    """12 numbers from four and a shift, (3, 3)."""
    four = np.array([*rows[0], rows[1, 0]])
    if not 1e-100 < np.abs(four).max() < 1e100:
        return None
    return np.column_stack([turn_of(four), rows[2]]).reshape(-1)


@bound("transforms: places", "motion/rigid.py", ("transform_coordinate", "rounding_bound", "world_bounds"), starts(5), 1500)
def _(points):
    m, corners = transform(points[:3]), points[3:]
    if m is None or not np.abs(points).max() < 2.0**300:
        return None
    box, out = np.zeros(8), np.zeros(6)
    box[:3], box[4:7] = corners.min(0), corners.max(0)
    world_bounds(m, box, out)
    allowed, worst = rounding_bound(m, box), 0.0
    for corner in corners.tolist():
        there, real = [transform_coordinate(m, k, *corner) for k in range(3)], exactly(m, corner)
        if any(not out[k] <= min(there[k], real[k]) or not max(there[k], real[k]) <= out[k + 3] for k in range(3)):
            return inf, 1.0
        worst = max(worst, *(float(abs(Fraction(there[k]) - real[k])) for k in range(3)))
    return worst, allowed


# --- points ------------------------------------------------------------------------------------------------------------------------------

def leaf_of(motion):
    """A leaf of one triangle, the first three vertices."""
    leaves = aligned_zeros(1, LEAF_DTYPE)
    leaves["corner"][0] = [[0] * 8, [1] * 8, [2] * 8]
    leaves["used"] = 1
    fill_leaf(leaves, 0, motion.points, np.int32(1))
    return leaves


def beside_triangle(rng):
    """(5, 3): a triangle, another vertex of the body, a point near it, or on it, or far away."""
    points = slivers(rng, 4)
    point = rng.dirichlet(np.ones(3)) @ points[:3] + rng.standard_normal(3) * rng.choice([0.0, 1e-6, 1e-3, 1.0, 1e4])
    return np.concatenate([points, [point]]) * rng.choice(SIZES)


POINTS = {"beside": beside_triangle, "centred": lambda rng: np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1], [0, 0, 0], rng.standard_normal(
    3) * 2.0 ** rng.integers(-90, 4)]) * 2.0 ** rng.integers(-4, 12)}


@bound("points: bounds of a leaf", "query/proximity/closest_point.py", ("leaf_may_be_near", "local_radius", "EPS32_2", "FOUR"), POINTS,
       2000)
def _(points):
    if not np.abs(points).max() < MOST:
        return None
    motion = Free(points[:4])
    leaves, asked = leaf_of(motion), {"stretch": stretch_of(None)}
    far = float(naive_distances.point_triangle(points[4], points[:3]) * Fraction(motion.scale) ** 2) ** 0.5
    # As `seek` has it.
    x, y, z = (points[4] - motion.origin[:3]) * motion.scale
    rounding = np.float32(closest_point.EPS32_2 * max(abs(x), abs(y), abs(z)))
    base = np.float32(closest_point.FOUR * (rounding + closest_point.EPS32_2 * motion.reach * motion.scale))
    px, py, pz = np.float32(x), np.float32(y), np.float32(z)
    box, triangles = load_bounds(leaves, 0), lanes(leaves, 0)
    radius = local_radius(far, asked)
    wide = radius * SCALE_UP + (base + base)
    with np.errstate(all="ignore"):
        if not leaf_may_be_near(box, triangles, px, py, pz, wide * wide * SCALE_UP + MIN_NORMAL):
            return inf, 1.0
        along, length = projected_gap(box, triangles, px, py, pz)
        nears, fars = bound_point_distances(triangles, px, py, pz)
    margin = float(base + ROUNDING * ((box.hix - box.lox) + ((box.hiy - box.loy) + (box.hiz - box.loz))))
    tried = [(float(nears[0]) - far, margin), (far - float(fars[0] * SCALE_UP), margin)]
    if length > 2.0**-90:
        tried.append((float(along) / float(length) ** 0.5 - far, 2 * float(base)))
    if margin == 0.0:
        return (inf if max(error for error, _ in tried) > 0 else 0.0), 1.0
    return max(((max(error, 0.0), allowed) for error, allowed in tried if allowed > 0), key=lambda pair: pair[0] / pair[1])


# --- planes ------------------------------------------------------------------------------------------------------------------------------

def before_plane(rng):
    """(8, 3): a triangle and a vertex, a rotation and a shift, (a plane's normal), (its distance from a corner, is the body placed, ·)."""
    scale = rng.choice(SIZES)
    return np.concatenate([slivers(rng, 4) * scale, rng.standard_normal((2, 3)), rng.standard_normal((1, 3)) * scale, [rng.standard_normal(
        3) * rng.choice([1.0, 1e-20, 1e20])], [[rng.choice([0.0, 1e-7, 1.0]) * scale, rng.integers(2), rng.random()]]])


@bound("planes: sides of corners", "query/frustum.py", ("to_local_planes", "cull_leaf", "PLANE_ERROR"), {"before": before_plane}, 1500)
def _(points):
    corners, m, normal, (gap, turned, _) = points[:4], transform(points[4:7]), points[7], points[8]
    if m is None or not np.abs(points[:7]).max() < 2.0**34 or not 2.0**-80 < np.abs(normal).max() < 2.0**80 or not abs(gap) < 2.0**34:
        return None
    m = m if turned > 0.5 else frustum.NO_TRANSFORM
    motion, world = Free(corners), placed_corners(m if turned > 0.5 else None, corners)
    d = -(normal @ world[0]) + gap * np.abs(normal).max()
    planes, local = np.array([*normal, d]), np.zeros(5, np.float32)
    exact = [Fraction(float(d)) + sum(Fraction(n) * Fraction(x) for n, x in zip(normal.tolist(), corner, strict=True))
             for corner in world.tolist()]
    mask = frustum.to_local_planes(planes, motion.record, m, local)
    if mask == frustum.OUTSIDE:
        return (inf if max(exact) >= 0 else 0.0), 1.0
    if mask == 0:
        return (inf if min(exact) < 0 else 0.0), 1.0
    leaves, (x, y, z, h, rounding) = leaf_of(motion), local
    if rounding >= frustum.UNBOUNDED / 2:
        return None
    unit = Fraction(2) ** -int(np.frexp(np.abs(normal).max())[1]) * Fraction(motion.scale)
    corners = [[field_lanes(leaves, 0, 3 * c + k)[0] for k in range(3)] for c in range(3)]
    found = [float(p * x + (q * y + (r * z + h))) for p, q, r in corners]
    return max(abs(found[c] - float(exact[c] * unit)) for c in range(3)), float(rounding)


# --- two bodies, turned against each other -----------------------------------------------------------------------------------------------

def two_bodies(rng):
    """(14, 3): four vertices each, two rotations and shifts."""
    scale = rng.choice(SIZES[2:-2])
    points = np.concatenate([slivers(rng, 4), slivers(rng, 4) * rng.choice([1.0, 1e-3])]) * scale
    turns = rng.standard_normal((6, 3))
    turns[[2, 5]] *= scale * rng.choice([0.0, 1.0, 100.0])
    return np.concatenate([points, turns])


def solve(m, point):
    """The point that the placement m takes to this one, exactly."""
    m = [[Fraction(x) for x in m.reshape(3, 4)[k].tolist()] for k in range(3)]
    b = [p - r[3] for p, r in zip(point, m, strict=True)]

    def det(u, v, w):
        return (u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) + u[2] * (v[0] * w[1] - v[1] * w[0]))
    columns = [[m[k][j] for k in range(3)] for j in range(3)]
    over = det(*columns)
    return [det(*(b if j == k else columns[j] for j in range(3))) / over for k in range(3)]


@bound("transforms: corners of one body seen from another", "query/collide/transformed.py",
       ("init_query_transformed", "to_frame_a", "box_to_frame_a", "corner_error", "EPS32_16"),
       {"turned": two_bodies}, 800)
def _(points):
    m_a, m_b = transform(points[8:11]), transform(points[11:14])
    if m_a is None or m_b is None or not np.abs(points[:8]).max() < 2.0**30 or not np.abs(points[[10, 13]]).max() < 2.0**30:
        return None
    a, b = Free(points[:4]), Free(points[4:8])
    if a.scale != 1.0 or b.scale != 1.0:
        return None
    query = np.zeros(1, TRANSFORMED_STATE)
    if not init_query_transformed(query, a.box, a.origin, a.reach, m_a, b.box, b.origin, b.reach, m_b, 1.0, 1e30, 1):
        return None
    state, leaves = query[0], leaf_of(b)
    visitor, box = CollideTransformed(a.flat, b.flat, m_a, m_b), load_bounds(leaves, 0)
    around = box_to_frame_a(visitor, state, box)
    low = around.lox, around.loy, around.loz
    triangles, allowed = to_frame_a(visitor, state, lanes(leaves, 0), box, *low), float(corner_error(visitor, state, box))
    worst = 0.0
    for c, corner in enumerate(points[4:7].tolist()):
        there = solve(m_a, [Fraction(transform_coordinate(m_b, k, *corner)) for k in range(3)])
        for k in range(3):
            real = there[k] - Fraction(a.origin[k].item()) - Fraction(float(low[k]))
            worst = max(worst, abs(float(Fraction(float(triangles[3 * c + k][0])) - real)))
    return worst, allowed
