"""Rays from the world into the frame of a body, four at a time: where they enter its box, in float64, and from there on in float32.

What is written there, and how far it may round, is said in `leaf.py`.

Hits are ordered by t as it is rounded: to 1e-13 of how far the corners are from the origin (`geometry/ray_triangle.py`), which for a large face is
more than how far a small body is away. So that the first hit does not depend on which body comes first, a body is passed over only if its
box, widened by as much, is entered behind the best t so far (`widened`).
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import bits, first, four, greatest, least, magnitude, narrow, where
from pliant.core.stack import put_lanes
from pliant.motion.rigid import LEAST
from pliant.query.ray.leaf import (
    BATCH,
    BEST,
    BLIND,
    DOUBT,
    FAR_AWAY,
    HIGH,
    LARGEST,
    LIMIT,
    LOW,
    N_ROWS,
    NEAR,
    OVER,
    PER,
    SHEAR_X,
    SHEAR_Y,
    SIGN,
    SLACK,
    START,
    STEEPEST,
    STEP,
    WIDTH,
)

T_ROUNDING, MORE = 2.0**-43, 32.0                                       # of t; that over FAR_AWAY
SLIGHTEST = 2.0**-1000                                                  # beyond, 1 / step would have lost its digits, or be infinite


class Lean(NamedTuple):
    """How four directions lean: the length of each along its longest axis and the sign of that, the shears along the axes beside it, and
    bits of those whose longest axis is x, and y."""
    longest: np.ndarray
    sign: np.ndarray
    shear_x: np.ndarray
    shear_y: np.ndarray
    on_x: int
    on_y: int


@helper
def lean_of(x, y, z):
    longest = greatest(magnitude(x), greatest(magnitude(y), magnitude(z)))
    on_x, on_y = magnitude(x) >= longest, magnitude(y) >= longest
    sign = where(where(on_x, x, where(on_y, y, z)) > 0.0, 1.0, -1.0)
    short = sign / longest
    return Lean(longest, sign, where(on_x, y, x) * short, where(on_x | on_y, z, y) * short, bits(on_x), bits(on_y))


@helper
def axis_of(lean, k):
    """The longest axis of direction k."""
    return np.int64(0) if lean.on_x >> k & 1 else np.int64(1) if lean.on_y >> k & 1 else np.int64(2)


@helper
def per_of(step, d):
    """1 / step, or NaN where so little is left of d ≠ 0 that it says nothing: beside the longest axis the ray goes less than 2**-1000."""
    return where((magnitude(step) < SLIGHTEST) & (magnitude(d) > 0.0), np.nan, 1.0 / step)


@helper
def between(o, per, low, high, near, far):
    """The part of [near, far] in which o + t / per is between low and high. Where a ray does not move along the axis, `per` is infinite,
    and so are both ends. Where they are NaN, nothing is known, and all of it may be."""
    p, q = (low - o) * per, (high - o) * per
    return greatest(least(p, q), near), least(greatest(p, q), far)


@helper
def a_little_more(near, far):
    """Beyond all rounding on the way to them."""
    return near - (magnitude(near) * FAR_AWAY + LEAST), far + (magnitude(far) * FAR_AWAY + LEAST)


@helper
def doubt_of(x, y, z):
    """How far the way from an origin may round."""
    return greatest(magnitude(x), greatest(magnitude(y), magnitude(z))) * FAR_AWAY + LEAST


@helper
def widened(doubt, box, at):
    """How far the sides of box[at : at + 8] move outward, so that it is entered before any t in it, as that is rounded; `doubt` of the
    origin, or of several."""
    low = max(abs(box[at]), max(abs(box[at + 1]), abs(box[at + 2])))
    return doubt * MORE + max(low, max(abs(box[at + 4]), max(abs(box[at + 5]), abs(box[at + 6])))) * T_ROUNDING


@helper
def inside(wide, j, boxes, at, near, far):
    """The part of [near, far] in which ray j is in the box boxes[at : at + 8], low at 0 and high at 4, and a little more."""
    doubt = widened(doubt_of(wide[j], wide[BATCH + j], wide[2 * BATCH + j]), boxes, at)
    for k in range(3):
        o, per, low, high = wide[k * BATCH + j], wide[(PER + k) * BATCH + j], boxes[at + k] - doubt, boxes[at + 4 + k] + doubt
        if abs(per) == np.inf and (o < low or o > high):
            return 1.0, 0.0
        near, far = between(o, per, low, high, near, far)
    return a_little_more(near, far)


@helper
def turned(m, k, x, y, z):
    return x * m[4 * k] + y * m[4 * k + 1] + z * m[4 * k + 2]


@helper
def within(x, most):
    return least(greatest(x, -most), most)


@helper
def put_axis(local, at, start, sees, steep, slack):
    """Write what the view has of four rays along an axis, from the first row of starts on."""
    start, steep = where(sees, start, 0.0), within(steep, STEEPEST)
    put_lanes(local, START * BATCH + at, narrow(start))
    put_lanes(local, OVER * BATCH + at, narrow(steep))
    put_lanes(local, LOW * BATCH + at, narrow(within((start + slack) * steep, LARGEST)))
    put_lanes(local, HIGH * BATCH + at, narrow(within((start - slack) * steep, LARGEST)))


@helper
def keep(view, count, some, first_ray, lean):
    """Of the four rays that were just written as the numbers count, count + 1, … move those of `some` to the front; the next number."""
    local, exact, to = view.local, view.exact, count
    while some != 0:
        k, some = first(some), some & (some - 1)
        if to < count + k:
            for number in range(N_ROWS):
                local[number * BATCH + to] = local[number * BATCH + count + k]
            exact[to], exact[BATCH + to] = exact[count + k], exact[BATCH + count + k]
        view.who[to] = 4 * (first_ray + k) + axis_of(lean, k)
        to += 1
    return to


@helper
def bring(view, place):
    """Bring the rays of the mask that reach the body's box into its frame; how many."""
    here, body, wide, count, mask = place[0], view.bodies[view.k], view.wide, np.int64(0), view.batch[0]["mask"]
    box, origin, scale, m, back = here["box"], here["origin"], here["scale"], body["m"], body["back"]
    reach = here["reach"] * scale
    for first_ray in range(0, BATCH, 4):
        some = (mask >> first_ray) & 15
        if some == 0:
            continue
        x, y, z = four(wide, first_ray), four(wide, BATCH + first_ray), four(wide, 2 * BATCH + first_ray)
        doubt, near, far = four(wide, DOUBT * BATCH + first_ray), four(wide, NEAR * BATCH + first_ray), four(wide, BEST * BATCH + first_ray)
        per_x, per_y, per_z = (four(wide, PER * BATCH + first_ray), four(wide, (PER + 1) * BATCH + first_ray),
                               four(wide, (PER + 2) * BATCH + first_ray))
        step_x, step_y, step_z = (four(wide, STEP * BATCH + first_ray), four(wide, (STEP + 1) * BATCH + first_ray),
                                  four(wide, (STEP + 2) * BATCH + first_ray))
        if body["placed"] != 0:                                         # into model space
            x, y, z = x - m[3], y - m[7], z - m[11]
            doubt = (magnitude(x) + magnitude(y) + magnitude(z)) * FAR_AWAY + body["doubt"]
            x, y, z = turned(back, 0, x, y, z), turned(back, 1, x, y, z), turned(back, 2, x, y, z)
            step_x, step_y, step_z = (turned(back, 0, step_x, step_y, step_z), turned(back, 1, step_x, step_y, step_z),
                                      turned(back, 2, step_x, step_y, step_z))
            per_x, per_y, per_z = per_of(step_x, step_x), per_of(step_y, step_y), per_of(step_z, step_z)
        more = widened(doubt, box, 0)
        near, far = between(x, per_x, -more + box[0], more + box[4], near, far)
        near, far = between(y, per_y, -more + box[1], more + box[5], near, far)
        near, far = between(z, per_z, -more + box[2], more + box[6], near, far)
        near, far = a_little_more(near, far)
        some &= bits(near <= far)
        if some == 0:
            continue
        lean = lean_of(step_x, step_y, step_z)
        unit = lean.longest * scale
        slack = (doubt + magnitude(near) * lean.longest * FAR_AWAY) * (4 * scale) + reach * SLACK
        sees = slack < reach                                            # from too far away nothing can be told apart but exactly
        slack = where(sees, slack, BLIND)
        # The scale comes first: the largest numbers would overflow, and by a power of two nothing rounds.
        go, local = near * scale, view.local
        put_axis(local, count, x * scale + go * step_x - origin[0] * scale, sees, per_x * lean.longest, slack)
        put_axis(local, BATCH + count, y * scale + go * step_y - origin[1] * scale, sees, per_y * lean.longest, slack)
        put_axis(local, 2 * BATCH + count, z * scale + go * step_z - origin[2] * scale, sees, per_z * lean.longest, slack)
        put_lanes(local, SHEAR_X * BATCH + count, narrow(lean.shear_x))
        put_lanes(local, SHEAR_Y * BATCH + count, narrow(lean.shear_y))
        put_lanes(local, SIGN * BATCH + count, narrow(lean.sign))
        put_lanes(local, WIDTH * BATCH + count, narrow(slack))
        far = far * unit - near * unit
        far = where(far < 0.9 * LARGEST, far * (1 + 2.0**-22), LARGEST)
        put_lanes(local, LIMIT * BATCH + count, narrow(where(sees, far + slack, BLIND)))
        put_lanes(view.exact, count, near * unit)
        put_lanes(view.exact, BATCH + count, unit)
        count = keep(view, count, some, first_ray, lean)
    return count
