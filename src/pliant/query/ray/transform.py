"""Rays from the world into the frame of a body, four at a time: where they enter its box, in float64, and from there on in float32.

What is written there, and how far it may round, is said in `leaf.py`.

Hits are ordered by t as it is rounded: to 1e-13 of how far the corners are from the origin (`geometry/ray_triangle.py`), which for a large
face is more than how far a small body is away. So that the first hit does not depend on which body comes first, a body is passed over only
if its box, widened by as much, is entered behind the best t so far (`widen_interval`).
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import ctz, fabs, load4, maximum, minimum, movemask, to_float32, where
from pliant.core.stack import store_vector
from pliant.motion.rigid import UNDERFLOW_BOUND
from pliant.query.ray.leaf import (
    BATCH,
    FLOAT64_ERROR,
    HIGH,
    INV_DIR,
    INV_STEP,
    LIMIT,
    LOW,
    MARGIN,
    MAX_FLOAT32,
    MAX_INVERSE,
    N_LOCAL_ROWS,
    RELATIVE_MARGIN,
    SHEAR_X,
    SHEAR_Y,
    SIGN,
    START,
    START_ERROR,
    STEP,
    T_BEST,
    T_MIN,
    UNBOUNDED_MARGIN,
)

T_ERROR, T_ERROR_RATIO = 2.0**-43, 32.0                                 # of t; that over FLOAT64_ERROR
MIN_STEP = 2.0**-1000                                                   # beyond, 1 / step would have lost its digits, or be infinite


class Shears(NamedTuple):
    """How four directions lean: the length of each along its longest axis and the sign of that, the shears along the axes beside it, and
    bits of those whose longest axis is x, and y."""
    longest: np.ndarray
    sign: np.ndarray
    shear_x: np.ndarray
    shear_y: np.ndarray
    x_dominant: int
    y_dominant: int


@helper
def shears_of(x, y, z):
    longest = maximum(fabs(x), maximum(fabs(y), fabs(z)))
    on_x, on_y = fabs(x) >= longest, fabs(y) >= longest
    sign = where(where(on_x, x, where(on_y, y, z)) > 0.0, 1.0, -1.0)
    short = sign / longest
    return Shears(longest, sign, where(on_x, y, x) * short, where(on_x | on_y, z, y) * short, movemask(on_x), movemask(on_y))


@helper
def dominant_axis(shears, k):
    """The longest axis of direction k."""
    return (1 - (shears.x_dominant >> k & 1)) * (2 - (shears.y_dominant >> k & 1))


@helper
def inverse_step(step, d):
    """1 / step, or NaN where so little is left of d ≠ 0 that it says nothing: beside the longest axis the ray goes less than 2**-1000."""
    return where((fabs(step) < MIN_STEP) & (fabs(d) > 0.0), np.nan, 1.0 / step)


@helper
def clip_interval(o, inverse, low, high, near, far):
    """The part of [near, far] in which o + t / inverse is between low and high. Where a ray does not move along the axis, `inverse` is
    infinite, and so are both ends. Where they are NaN, nothing is known, and all of it may be."""
    p, q = (low - o) * inverse, (high - o) * inverse
    return maximum(minimum(p, q), near), minimum(maximum(p, q), far)


@helper
def widen_interval(near, far):
    """Beyond all rounding on the way to them."""
    return near - (fabs(near) * FLOAT64_ERROR + UNDERFLOW_BOUND), far + (fabs(far) * FLOAT64_ERROR + UNDERFLOW_BOUND)


@helper
def start_error(x, y, z):
    """How far the way from an origin may round."""
    return maximum(fabs(x), maximum(fabs(y), fabs(z))) * FLOAT64_ERROR + UNDERFLOW_BOUND


@helper
def box_margin(error, box, at):
    """How far the sides of box[at : at + 8] move outward, so that it is entered before any t in it, as that is rounded; `error` of the
    origin, or of several."""
    low = max(abs(box[at]), max(abs(box[at + 1]), abs(box[at + 2])))
    return error * T_ERROR_RATIO + max(low, max(abs(box[at + 4]), max(abs(box[at + 5]), abs(box[at + 6])))) * T_ERROR


@helper
def box_interval(world, j, boxes, at, near, far):
    """The part of [near, far] in which ray j is in the box boxes[at : at + 8], low at 0 and high at 4, and a little more."""
    error = box_margin(start_error(world[j], world[BATCH + j], world[2 * BATCH + j]), boxes, at)
    for k in range(3):
        o, inverse, low, high = world[k * BATCH + j], world[(INV_STEP + k) * BATCH + j], boxes[at + k] - error, boxes[at + 4 + k] + error
        if abs(inverse) == np.inf and (o < low or o > high):
            return 1.0, 0.0
        near, far = clip_interval(o, inverse, low, high, near, far)
    return widen_interval(near, far)


@helper
def rotate_row(m, k, x, y, z):
    return x * m[4 * k] + y * m[4 * k + 1] + z * m[4 * k + 2]


@helper
def clamp(x, limit):
    return minimum(maximum(x, -limit), limit)


@helper
def put_slabs(local, at, start, usable, inverse, margin):
    """Write what the view has of four rays along an axis, from the first row of starts on."""
    start, inverse = where(usable, start, 0.0), clamp(inverse, MAX_INVERSE)
    store_vector(local, START * BATCH + at, to_float32(start))
    store_vector(local, INV_DIR * BATCH + at, to_float32(inverse))
    store_vector(local, LOW * BATCH + at, to_float32(clamp((start + margin) * inverse, MAX_FLOAT32)))
    store_vector(local, HIGH * BATCH + at, to_float32(clamp((start - margin) * inverse, MAX_FLOAT32)))


@helper
def compact_rays(view, count, mask, first_ray, shears):
    """Of the four rays that were just written as the numbers count, count + 1, … move those of `some` to the front; the next number."""
    local, exact, target = view.local, view.t_map, count
    if mask == 15:
        for k in range(4):
            view.ray_axes[count + k] = 4 * (first_ray + k) + dominant_axis(shears, k)
        return count + 4
    while mask != 0:
        k, mask = ctz(mask), mask & (mask - 1)
        if target < count + k:
            for row in range(N_LOCAL_ROWS):
                local[row * BATCH + target] = local[row * BATCH + count + k]
            exact[target], exact[BATCH + target] = exact[count + k], exact[BATCH + count + k]
        view.ray_axes[target] = 4 * (first_ray + k) + dominant_axis(shears, k)
        target += 1
    return target


@helper
def transform_rays(view, motion_record):
    """Bring the rays of the mask that reach the body's box into its frame; how many."""
    vertex_frame, body, world, count, mask = motion_record[0], view.bodies[view.body_index], view.world, np.int64(0), view.batch[0]["mask"]
    box, origin, scale, m, back = vertex_frame["box"], vertex_frame["origin"], vertex_frame["scale"], body["matrix"], body["inverse"]
    reach = vertex_frame["reach"] * scale
    for first_ray in range(0, BATCH, 4):
        lanes_mask = (mask >> first_ray) & 15
        if lanes_mask == 0:
            continue
        x, y, z = load4(world, first_ray), load4(world, BATCH + first_ray), load4(world, 2 * BATCH + first_ray)
        error, near = load4(world, START_ERROR * BATCH + first_ray), load4(world, T_MIN * BATCH + first_ray)
        far = load4(world, T_BEST * BATCH + first_ray)
        per_x, per_y, per_z = (load4(world, INV_STEP * BATCH + first_ray), load4(world, (INV_STEP + 1) * BATCH + first_ray),
                               load4(world, (INV_STEP + 2) * BATCH + first_ray))
        step_x, step_y, step_z = (load4(world, STEP * BATCH + first_ray), load4(world, (STEP + 1) * BATCH + first_ray),
                                  load4(world, (STEP + 2) * BATCH + first_ray))
        if body["transformed"] != 0:                                    # into model space
            x, y, z = x - m[3], y - m[7], z - m[11]
            error = (fabs(x) + fabs(y) + fabs(z)) * FLOAT64_ERROR + body["transform_error"]
            x, y, z = rotate_row(back, 0, x, y, z), rotate_row(back, 1, x, y, z), rotate_row(back, 2, x, y, z)
            step_x, step_y, step_z = (rotate_row(back, 0, step_x, step_y, step_z), rotate_row(back, 1, step_x, step_y, step_z),
                                      rotate_row(back, 2, step_x, step_y, step_z))
            per_x, per_y, per_z = inverse_step(step_x, step_x), inverse_step(step_y, step_y), inverse_step(step_z, step_z)
        margin = box_margin(error, box, 0)
        near, far = clip_interval(x, per_x, -margin + box[0], margin + box[4], near, far)
        near, far = clip_interval(y, per_y, -margin + box[1], margin + box[5], near, far)
        near, far = clip_interval(z, per_z, -margin + box[2], margin + box[6], near, far)
        near, far = widen_interval(near, far)
        lanes_mask &= movemask(near <= far)
        if lanes_mask == 0:
            continue
        shears = shears_of(step_x, step_y, step_z)
        unit = shears.longest * scale
        local_margin = (error + fabs(near) * shears.longest * FLOAT64_ERROR) * (4 * scale) + reach * RELATIVE_MARGIN
        usable = local_margin < reach                                   # from too far away nothing can be told apart but exactly
        local_margin = where(usable, local_margin, UNBOUNDED_MARGIN)
        # The scale comes first: the largest numbers would overflow, and by a power of two nothing rounds.
        advance, local = near * scale, view.local
        put_slabs(local, count, x * scale + advance * step_x - origin[0] * scale, usable, per_x * shears.longest, local_margin)
        put_slabs(local, BATCH + count, y * scale + advance * step_y - origin[1] * scale, usable, per_y * shears.longest, local_margin)
        put_slabs(local, 2 * BATCH + count, z * scale + advance * step_z - origin[2] * scale, usable, per_z * shears.longest, local_margin)
        store_vector(local, SHEAR_X * BATCH + count, to_float32(shears.shear_x))
        store_vector(local, SHEAR_Y * BATCH + count, to_float32(shears.shear_y))
        store_vector(local, SIGN * BATCH + count, to_float32(shears.sign))
        store_vector(local, MARGIN * BATCH + count, to_float32(local_margin))
        far = far * unit - near * unit
        far = where(far < 0.9 * MAX_FLOAT32, far * (1 + 2.0**-22), MAX_FLOAT32)
        store_vector(local, LIMIT * BATCH + count, to_float32(where(usable, far + local_margin, UNBOUNDED_MARGIN)))
        store_vector(view.t_map, count, near * unit)
        store_vector(view.t_map, BATCH + count, unit)
        count = compact_rays(view, count, lanes_mask, first_ray, shears)
    return count
