"""Rays in the frame of a body, attacked: where they are in float32, what they pass of boxes, and the float32 test of a leaf.

`bring` makes a ray and a body of a triangle or two float32, as in a query. The ray is aimed at a point of a triangle, an edge or a corner
of it most often, from near and far; what it hits in rational arithmetic it must hit here.
"""

from fractions import Fraction
from math import inf

import numpy as np

import naive_rays
from attack import bound
from bounds.volumes import SIZES
from extents import LONG, long
from pliant.core.soa import aligned_zeros
from pliant.motion.free import Free
from pliant.motion.rigid import invert_rotation, rounding_bound
from pliant.query.ray.leaf import (
    BATCH,
    BATCH_DTYPE,
    BODY_DTYPE,
    INV_DIR,
    INV_STEP,
    LIMIT,
    MARGIN,
    N_LOCAL_ROWS,
    N_WORLD_ROWS,
    RAY_DTYPE,
    START,
    START_ERROR,
    STEP,
    T_BEST,
    T_MIN,
    BatchView,
    edge_functions,
    leaf_candidates,
    load,
)
from pliant.query.ray.packet import ray_box_mask
from pliant.query.ray.single import hit_children, local_ray
from pliant.query.ray.transform import inverse_step, start_error, transform_rays
from pliant.refit.leaf_fill import fill_leaf
from pliant.tree.nodes import LEAF_DTYPE, node_dtype
from pliant.volume.aabb import Box
from pliant.volume.protocol import enclose_box, ray_interval

BLOCK = 6                                                               # corners of two triangles


def aimed(rng):
    """(BLOCK + 3, 3): two triangles, where the ray starts, weights of the point that it is aimed at, (which, how far beyond, turn)."""
    points = rng.standard_normal((BLOCK, 3)) * rng.choice([1.0, 1e-3], 3) + rng.standard_normal(3) * rng.choice([0.0, 1.0, 1e3])
    if rng.random() < 0.5:
        points = np.round(points * 10) / 10
    weights = rng.choice([rng.dirichlet(np.ones(3)), [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])
    start = rng.standard_normal(3) * rng.choice([1.0, 10.0, 1e4, 1e8])
    if rng.random() < 0.3:                                              # along an axis
        start = weights @ points[:3] - np.eye(3)[rng.integers(3)] * rng.choice([1.0, 100.0])
    scale = rng.choice(SIZES)
    return np.concatenate([points * scale, [start * scale], [weights], [[rng.integers(2), rng.random(), rng.choice([0.0, rng.random()])]]])


class Scene:
    """One body of two triangles in one leaf, and a ray, as `bring` leaves it."""

    def __init__(self, corners, origin, direction, matrix):
        self.motion = motion = Free(corners)
        leaves, bodies = aligned_zeros(1, LEAF_DTYPE), aligned_zeros(1, BODY_DTYPE)
        leaves["corner"][0] = [[0, 3, 0, 0, 0, 0, 0, 0], [1, 4, 1, 1, 1, 1, 1, 1], [2, 5, 2, 2, 2, 2, 2, 2]]
        leaves["used"] = 3
        fill_leaf(leaves, 0, motion.points, np.int32(1))
        wide, batch = np.zeros(N_WORLD_ROWS * BATCH), aligned_zeros(1, BATCH_DTYPE)
        batch["mask"] = 1
        for k in range(3):
            wide[k * BATCH], wide[(STEP + k) * BATCH] = origin[k], direction[k]
            wide[(INV_STEP + k) * BATCH] = inverse_step(direction[k], direction[k])
        wide[START_ERROR * BATCH], wide[T_MIN * BATCH], wide[T_BEST * BATCH] = start_error(*origin), 0.0, inf
        if matrix is not None:
            back = np.zeros(12)
            invert_rotation(matrix, back)
            bodies["matrix"][0], bodies["inverse"][0] = matrix, back
            bodies["transformed"], bodies["transform_error"] = 1, rounding_bound(matrix, motion.box)
        self.view = BatchView(leaves, motion.points, motion.flat, bodies, 0, aligned_zeros(BATCH, RAY_DTYPE), wide, None, batch,
                              np.zeros(N_LOCAL_ROWS * BATCH, np.float32),
                              np.zeros(2 * BATCH), np.zeros(BATCH, np.int64), 0, 0, 0, 0)
        self.count = transform_rays(self.view, motion.record)


def placement_of(turn, size):
    if turn == 0.0:
        return None
    c, s = np.cos(7 * turn), np.sin(7 * turn)
    return np.array([c, -s, 0, size * turn, s, c, 0, -size, 0, 0, 1, 3 * size * turn])


def placed_corners(m, corners):
    """What a query takes for corners, to the bit."""
    if m is None:
        return corners
    m = m.reshape(3, 4)
    return np.stack([m[k, 0] * corners[:, 0] + (m[k, 1] * corners[:, 1] + (m[k, 2] * corners[:, 2] + m[k, 3])) for k in range(3)], axis=1)


def parts(points):
    """(scene, corners in the world, direction, hits {number: (t, …)}), or None where the file claims nothing."""
    corners, origin, weights, (which, _, turn) = points[:BLOCK], points[BLOCK], points[BLOCK + 1], points[BLOCK + 2]
    if not (np.abs(corners).max() < 2.0**25 and np.abs(origin).max() < 2.0**60 and np.ptp(corners, axis=0).max() > 2.0**-18):
        return None
    if not 0 <= turn <= 1:
        return None
    m = placement_of(float(turn), float(np.abs(corners).max()))
    world = placed_corners(m, corners)
    target = world[3:] if which > 0.5 else world[:3]
    direction = weights @ target - origin
    size = np.abs(direction).max()
    if not 2.0**-100 < size < 2.0**100:
        return None
    hits = {}
    for k in range(2):
        found = naive_rays.meet(world[3 * k:3 * k + 3], origin, direction)
        if found is not None and found[0] >= 0:
            hits[k] = found
    return (Scene(corners, origin, direction, m), m, origin, direction, hits) if hits else None


STARTS = {"aimed": aimed}


@bound("rays: test of a leaf", "query/ray/leaf.py", ("leaf_candidates", "RELATIVE_MARGIN", "UNBOUNDED_MARGIN"), STARTS, 1500)
def _(points):
    found = parts(points)
    if found is None:
        return None
    scene, _, _, _, hits = found
    if scene.count != 1:
        return inf, 1.0
    view = scene.view
    some = leaf_candidates(view, 0, 0, view.ray_axes[0] & 3)
    if any(not some >> k & 1 for k in hits):
        return inf, 1.0
    sides, error_bound, depths = edge_functions(view, 0, 0, view.ray_axes[0] & 3)
    margin, worst = load(view, MARGIN, 0), (0.0, 1.0)
    for k in hits:
        products, ways = [float(side[k]) for side in sides], [float(way[k]) for way in depths]
        off = min(max(-x for x in products), max(products))
        before = max(-max(ways), min(ways) - float(load(view, LIMIT, 0)))
        for error, allowed in ((off, float(error_bound)), (before, float(margin))):
            if error > 0 and error / allowed > worst[0] / worst[1]:
                worst = error, allowed
    return worst


@bound("rays: where they are", "query/ray/transform.py", ("transform_rays", "put_slabs", "shears_of", "RELATIVE_MARGIN", "FLOAT64_ERROR"),
       STARTS, 1500)
def _(points):
    found = parts(points)
    if found is None:
        return None
    scene, m, origin, direction, hits = found
    motion, view = scene.motion, scene.view
    if scene.count != 1:
        return inf, 1.0
    margin, worst = float(load(view, MARGIN, 0)), 0.0
    if margin >= 2.0**45:
        return None
    steps, starts = long([load(view, INV_DIR + k, 0) for k in range(3)]), long([load(view, START + k, 0) for k in range(3)])
    for t, _, _ in hits.values():                                       # the point that is hit, exactly, and where the ray is there
        there = [Fraction(o) + t * Fraction(d) for o, d in zip(origin.tolist(), direction.tolist(), strict=True)]
        if m is not None:
            there = solved(m, there)
        there = [(x - Fraction(o)) * Fraction(motion.scale) for x, o in zip(there, motion.origin[:3].tolist(), strict=True)]
        s = LONG(float(t * Fraction(view.t_map[BATCH]) - Fraction(view.t_map[0])))
        here = starts + s / steps
        worst = max(worst, *(abs(float(LONG(float(x)) - h)) for x, h in zip(there, here, strict=True)))
    return worst, margin


def solved(m, point):
    """The point that the matrix takes here, exactly, where its turn is around z."""
    m = [Fraction(x) for x in m.tolist()]
    x, y, z = (p - t for p, t in zip(point, (m[3], m[7], m[11]), strict=True))
    over = m[0] * m[5] - m[1] * m[4]
    return [(x * m[5] - y * m[1]) / over, (y * m[0] - x * m[4]) / over, z / m[10]]


@bound("rays: boxes", "query/ray/single.py", ("hit_children", "LOW", "HIGH", "local_ray", "ray_interval"), STARTS, 1500)
def _(points):
    found = parts(points)
    if found is None:
        return None
    scene, _, _, _, hits = found
    if scene.count != 1:
        return inf, 1.0
    motion, view, rows = scene.motion, scene.view, scene.motion.points.reshape(-1, 4)
    nodes = aligned_zeros(1, node_dtype(Box, 8))
    for k in range(2):                                                  # a lane around each triangle
        some = rows[3 * k:3 * k + 3]
        for name, value in zip(Box._fields, enclose_box(Box(*[0] * 6), some.min(0), some.max(0)), strict=True):
            nodes["lanes"][name][0, k] = value
    near, some = hit_children(Box(*[0] * 6), nodes, 0, view, 0)
    lanes = Box(*(nodes["lanes"][name][0] for name in Box._fields))
    enter, leave = ray_interval(lanes, local_ray(view, 0))
    if any(not some >> k & 1 or not enter[k] <= leave[k] for k in hits):
        return inf, 1.0
    if any(k == 0 for k in hits) and not ray_box_mask(view, 0, 0) & 1:
        return inf, 1.0
    worst, margin = (0.0, 1.0), float(load(view, MARGIN, 0))
    if margin >= 2.0**45:
        return None
    for k, (t, _, _) in hits.items():                                   # it must have entered before it hits
        s = float(t * Fraction(view.t_map[BATCH]) - Fraction(view.t_map[0]))
        late = max(float(near[k]), float(enter[k])) - s + margin
        worst = max(worst, (max(late, 0.0), 2 * margin), key=lambda pair: pair[0] / pair[1])
    return worst if motion.reach > 0 else None
