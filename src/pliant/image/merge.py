"""Pass 2, ray merging (paper G, section 5): boxes around the rays that are on, for bundles of ever more rays.

Level 0 are the pixels themselves. A texel of level k stands for 2**k × 2**k of them and holds the box around those that are on, in pixels,
four numbers of 16 bits in one int64: left, low, right, high. With a `margin` a ray stands for the pixels around it, too. Sizes need not be
powers of two: the last texels of a level are then smaller.
"""
from functools import cache

import numpy as np

from pliant.core.jit import helper

FIELD_MASK = 0xFFFF
MAX_SIZE, MAX_LEVELS = 8192, 15                                         # pixels a side: 13 bits
EMPTY_BOX = np.int64(0x7FFF7FFF)                                        # left and low beyond all, right and high 0: a box around nothing


@helper
def pack_box(left, low, right, high):
    """A box of pixels, both ends included."""
    return np.int64(left) | np.int64(low) << 16 | np.int64(right) << 32 | np.int64(high) << 48


@helper
def unpack_box(box):
    """(left, low, right, high)."""
    return box & FIELD_MASK, (box >> 16) & FIELD_MASK, (box >> 32) & FIELD_MASK, (box >> 48) & FIELD_MASK


@helper
def enclosing(a, b):
    """The box around two."""
    p, q, r, s = unpack_box(a)
    t, u, v, w = unpack_box(b)
    return pack_box(min(p, t), min(q, u), max(r, v), max(s, w))


@helper
def ray_box(active, x, y, size, margin):
    """The box of one pixel."""
    if x >= size or y >= size or active[y * size + x] == 0:
        return EMPTY_BOX
    return pack_box(max(x - margin, 0), max(y - margin, 0), min(x + margin, size - 1), min(y + margin, size - 1))


@helper
def texel_below(boxes, begin, side, x, y):
    """The texel (x, y) of the level below, which has `side` texels a side and begins at `begin`."""
    return boxes[begin + y * side + x] if x < side and y < side else EMPTY_BOX


@helper
def merge_texel(active, boxes, size, margin, below, below_side, x, y):
    """What texel (x, y) of a level holds: the boxes of four texels of the level below, `below` < 0 if these are the rays."""
    i, j = 2 * x, 2 * y
    if below < 0:
        return enclosing(enclosing(ray_box(active, i, j, size, margin), ray_box(active, i + 1, j, size, margin)),
                         enclosing(ray_box(active, i, j + 1, size, margin), ray_box(active, i + 1, j + 1, size, margin)))
    return enclosing(enclosing(texel_below(boxes, below, below_side, i, j), texel_below(boxes, below, below_side, i + 1, j)),
                     enclosing(texel_below(boxes, below, below_side, i, j + 1), texel_below(boxes, below, below_side, i + 1, j + 1)))


@helper
def layout_levels(size, begins, sides):
    """Put where levels begin, the first at −1, and their texels a side, of which the last has one; (how many levels, how many texels)."""
    begins[0], sides[0], level, at = -1, size, 0, 0
    while sides[level] > 1 or level == 0:
        level += 1
        begins[level], sides[level] = at, (sides[level - 1] + 1) // 2
        at += sides[level] * sides[level]
    return level + 1, at


@cache
def level_layout(size):
    """(where levels begin, their texels a side, how many texels there are)."""
    begins, sides = np.empty(MAX_LEVELS, np.int64), np.empty(MAX_LEVELS, np.int64)
    count, texels = layout_levels(size, begins, sides)
    return begins[:count], sides[:count], int(texels)
