"""Pass 2, ray merging (paper G, section 5): boxes around the rays that are on, for bundles of ever more rays.

Level 0 are the pixels themselves. A texel of level k stands for 2**k × 2**k of them and holds the box around those that are on, in pixels,
four numbers of 16 bits in one int64: left, low, right, high. With a `margin` a ray stands for the pixels around it, too. Sizes need not be
powers of two: the last texels of a level are then smaller.
"""
from functools import cache

import numpy as np

from pliant.core.jit import helper

MASK = 0xFFFF
MOST_SIZE, MOST_LEVELS = 8192, 15                                       # pixels a side: 13 bits
NONE = np.int64(0x7FFF7FFF)                                             # left and low beyond all, right and high 0: a box around nothing


@helper
def packed(left, low, right, high):
    """A box of pixels, both ends included."""
    return np.int64(left) | np.int64(low) << 16 | np.int64(right) << 32 | np.int64(high) << 48


@helper
def unpacked(box):
    """(left, low, right, high)."""
    return box & MASK, (box >> 16) & MASK, (box >> 32) & MASK, (box >> 48) & MASK


@helper
def around(a, b):
    """The box around two."""
    p, q, r, s = unpacked(a)
    t, u, v, w = unpacked(b)
    return packed(min(p, t), min(q, u), max(r, v), max(s, w))


@helper
def around_ray(on, x, y, size, margin):
    """The box of one pixel."""
    if x >= size or y >= size or on[y * size + x] == 0:
        return NONE
    return packed(max(x - margin, 0), max(y - margin, 0), min(x + margin, size - 1), min(y + margin, size - 1))


@helper
def merged(boxes, begin, side, x, y):
    """The texel (x, y) of the level below, which has `side` texels a side and begins at `begin`."""
    return boxes[begin + y * side + x] if x < side and y < side else NONE


@helper
def texel(on, boxes, size, margin, below, below_side, x, y):
    """What texel (x, y) of a level holds: the boxes of four texels of the level below, `below` < 0 if these are the rays."""
    i, j = 2 * x, 2 * y
    if below < 0:
        return around(around(around_ray(on, i, j, size, margin), around_ray(on, i + 1, j, size, margin)),
                      around(around_ray(on, i, j + 1, size, margin), around_ray(on, i + 1, j + 1, size, margin)))
    return around(around(merged(boxes, below, below_side, i, j), merged(boxes, below, below_side, i + 1, j)),
                  around(merged(boxes, below, below_side, i, j + 1), merged(boxes, below, below_side, i + 1, j + 1)))


@helper
def put_levels(size, begins, sides):
    """Put where levels begin, the first at −1, and their texels a side, of which the last has one; (how many levels, how many texels)."""
    begins[0], sides[0], level, at = -1, size, 0, 0
    while sides[level] > 1 or level == 0:
        level += 1
        begins[level], sides[level] = at, (sides[level - 1] + 1) // 2
        at += sides[level] * sides[level]
    return level + 1, at


@cache
def levels(size):
    """(where levels begin, their texels a side, how many texels there are)."""
    begins, sides = np.empty(MOST_LEVELS, np.int64), np.empty(MOST_LEVELS, np.int64)
    count, texels = put_levels(size, begins, sides)
    return begins[:count], sides[:count], int(texels)
