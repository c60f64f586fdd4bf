"""The collision visitor for two bodies of which one or both have a transform: it works in the model frame of the first.

Volumes stay in model space. Boxes are compared along separating axes (`volume/obb_sat.py`). The triangles of a leaf of the second body are
transformed into the frame of the first, in float32 relative to a corner of the leaf, so that errors grow with the leaf and not with the
body. Exact tests read world corners, computed for the few pairs that need them.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import fabs, maximum, movemask
from pliant.core.stack import stack_float64
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_overlap import Triangle
from pliant.motion.rigid import max_abs, relative_transform, transform_coordinate, world_bounds
from pliant.query.collide.leaf_overlap import (
    COLLIDE_FIELDS,
    PAIR_FIELDS,
    Collide,
    box_to_frame_a,
    corner_error,
    exact_test,
    pair_key,
    run_exact_test,
    share_bodies,
    skip_pair,
    to_frame_a,
)
from pliant.query.traverse import MIN_CORNER_ERROR, frames, gap_exceeds, is_self, overlaps, reset_query, state_dtype, visit_leaves
from pliant.volume.aabb import Box
from pliant.volume.protocol import RigidTransform, overlap, sat_cross_axes

EPS32 = 2.0**-24
HALF, EPS32_16 = np.float32(0.5), np.float32(16 * EPS32)
ROTATION_ERROR = 2.0**-22                                               # of an entry of a rotation, above its rounding to float32
MAX_FLOAT32 = 3e38                                                      # just below the largest float32
TRANSFORM_ERROR = 2.0**-20                                              # of all lengths: above the roundings of `transform_volume`
TRANSFORM_FIELDS = [("full_sat", np.int64), ("rotation_error", np.float32), ("b_to_a", np.float64, (12,)),
                    ("to_a", np.float32, (12,)), ("to_b", np.float32, (12,))]  # between the frames of a and b, rows of 3 × 4
TRANSFORMED_STATE = state_dtype(TRANSFORM_FIELDS)                       # the state of any query with transforms ends with it
COLLIDE_TRANSFORMED_STATE = state_dtype(COLLIDE_FIELDS, PAIR_FIELDS, TRANSFORM_FIELDS)


class CollideTransformed(NamedTuple):
    """As `Collide`, with the transforms, rows of 3 × 4."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    matrix_a: np.ndarray
    matrix_b: np.ndarray


share_bodies(CollideTransformed, Collide, is_self, visit_leaves, pair_key, skip_pair)


@helper
def make_transform(m, margin, rotation_error):
    return RigidTransform(m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10], m[3], m[7], m[11], margin, rotation_error)


@helper
def transform_frames(state):
    """The `frames` of bodies of which one has a transform."""
    return make_transform(state["to_a"], state["margin"], state["rotation_error"]), make_transform(
        state["to_b"], state["margin"], state["rotation_error"])


@frames.register(CollideTransformed)
def _(visitor, state):
    return transform_frames(state)


@overlaps.register(CollideTransformed)
def _(visitor, state, volumes, volume):
    some = movemask(overlap(volumes, volume))
    if some != 0 and state["full_sat"]:
        some &= ~movemask(sat_cross_axes(volumes, volume))
    return some


@helper
def affine_row(m, k, x, y, z):
    return m[4 * k] * x + (m[4 * k + 1] * y + (m[4 * k + 2] * z + m[4 * k + 3]))


@box_to_frame_a.register(CollideTransformed)
def _(visitor, state, box):
    m, n = state["to_a"], state["b_to_a"]
    p, q, r = (box.hix - box.lox) * HALF, (box.hiy - box.loy) * HALF, (box.hiz - box.loz) * HALF
    u = fabs(m[0]) * p + (fabs(m[1]) * q + fabs(m[2]) * r)
    v = fabs(m[4]) * p + (fabs(m[5]) * q + fabs(m[6]) * r)
    w = fabs(m[8]) * p + (fabs(m[9]) * q + fabs(m[10]) * r)
    cx, cy, cz = np.float64(box.lox) + p, np.float64(box.loy) + q, np.float64(box.loz) + r
    x, y, z = np.float32(affine_row(n, 0, cx, cy, cz)), np.float32(affine_row(n, 1, cx, cy, cz)), np.float32(affine_row(n, 2, cx, cy, cz))
    return Box(x - u, y - v, z - w, x + u, y + v, z + w)


@helper
def rotate_row(m, k, x, y, z, rest):
    """Coordinate k of the rotated vector (x, y, z), plus `rest`."""
    return x * m[4 * k] + (y * m[4 * k + 1] + (z * m[4 * k + 2] + rest))


@to_frame_a.register(CollideTransformed)
def _(visitor, state, triangles, box, x, y, z):
    # The low corner of the leaf is transformed in float64, the offsets from it to the corners in float32.
    m, n, t = state["to_a"], state["b_to_a"], triangles
    cx, cy, cz = np.float64(box.lox), np.float64(box.loy), np.float64(box.loz)
    u, v = np.float32(affine_row(n, 0, cx, cy, cz) - x), np.float32(affine_row(n, 1, cx, cy, cz) - y)
    w = np.float32(affine_row(n, 2, cx, cy, cz) - z)
    ax, ay, az = t.ax - box.lox, t.ay - box.loy, t.az - box.loz
    bx, by, bz = t.bx - box.lox, t.by - box.loy, t.bz - box.loz
    dx, dy, dz = t.cx - box.lox, t.cy - box.loy, t.cz - box.loz
    return Triangle(rotate_row(m, 0, ax, ay, az, u), rotate_row(m, 1, ax, ay, az, v), rotate_row(m, 2, ax, ay, az, w),
                    rotate_row(m, 0, bx, by, bz, u), rotate_row(m, 1, bx, by, bz, v), rotate_row(m, 2, bx, by, bz, w),
                    rotate_row(m, 0, dx, dy, dz, u), rotate_row(m, 1, dx, dy, dz, v), rotate_row(m, 2, dx, dy, dz, w))


@corner_error.register(CollideTransformed)
def _(visitor, state, box):
    return state["corner_error"] + EPS32_16 * maximum(box.hix - box.lox, maximum(box.hiy - box.loy, box.hiz - box.loz))


@helper
def transform_corners(leaves, i, k, vertices, m, t, at):
    """Write triangle k of leaf i, transformed, to t[at : at + 9]; are its corners in the range of the filters?"""
    good = True
    for c in range(3):
        v, p = 3 * np.int64(leaves[i]["corner"][c, k]), at + 3 * c
        x, y, z = vertices[v], vertices[v + 1], vertices[v + 2]
        t[p], t[p + 1] = transform_coordinate(m, 0, x, y, z), transform_coordinate(m, 1, x, y, z)
        t[p + 2] = transform_coordinate(m, 2, x, y, z)
        good &= point_in_range(t, p)
    return good


@exact_test.register(CollideTransformed)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    t = stack_float64(18)
    good = transform_corners(leaves_a, a, i, visitor.vertices_a, visitor.matrix_a, t, 0)
    good &= transform_corners(leaves_b, b, j, visitor.vertices_b, visitor.matrix_b, t, 9)
    return run_exact_test(state, t, np.int64(good))


@helper
def clamp_float32(value):
    """The value clamped to the range of float32. Only tiny bodies far away exceed it; exact tests decide about all their pairs anyway."""
    return -MAX_FLOAT32 if value < -MAX_FLOAT32 else MAX_FLOAT32 if value > MAX_FLOAT32 else value


@kernel
def init_query_transformed(query, box_a, origin_a, reach_a, m_a, box_b, origin_b, reach_b, m_b, scale, max_gap, full_sat):
    """Start a query (1,) of TRANSFORMED_STATE at the pair of roots (stack[0] = 0), as `init_query` of traverse.py; False if the gap between
    the boxes of the transformed bodies exceeds `max_gap` along an axis."""
    buffer_a, buffer_b = stack_float64(12), stack_float64(12)
    world_bounds(m_a, box_a, buffer_a)
    world_bounds(m_b, box_b, buffer_b)
    state, inverse = query[0], buffer_a
    for k in range(3):
        if gap_exceeds(buffer_a[k], buffer_b[k + 3], max_gap) or gap_exceeds(buffer_b[k], buffer_a[k + 3], max_gap):
            return False
    b_to_a, to_a, to_b = state["b_to_a"], state["to_a"], state["to_b"]
    rotation_error, error_bound = relative_transform(m_a, origin_a, reach_a, m_b, origin_b, reach_b, scale, buffer_b, inverse)
    for k in range(12):
        b_to_a[k], to_a[k], to_b[k] = buffer_b[k], clamp_float32(buffer_b[k]), clamp_float32(inverse[k])
    size_a, size_b, distance = reach_a * scale, reach_b * scale, max_abs(buffer_b[3], buffer_b[7], buffer_b[11])
    # A corner of a is off by EPS32 size_a, one of b by sqrt(3) times EPS32 size_b once it is rotated; the rest is in `corner_error`.
    state["corner_error"] = clamp_float32(max(EPS32 * (size_a + 2 * size_b) + 2 * error_bound, MIN_CORNER_ERROR))
    state["margin"] = clamp_float32(TRANSFORM_ERROR * (size_a + size_b + distance) + 2 * error_bound)
    state["rotation_error"], state["full_sat"] = ROTATION_ERROR + 2 * rotation_error, full_sat
    reset_query(state)
    return True
