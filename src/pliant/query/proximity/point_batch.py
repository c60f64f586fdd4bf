"""What queries of many points share: the order of the points, the body as they see it, and the corners of a triangle in the world."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core.jit import helper, kernel
from pliant.core.soa import aligned_zeros, packed_dtype
from pliant.core.sorting import DIGIT_BITS, radix_sort
from pliant.core.stack import stack_float64
from pliant.geometry.point_triangle import POINT, point_triangle_entry
from pliant.geometry.predicates import point_in_range
from pliant.motion.rigid import IDENTITY, invert_rotation, rounding_bound, transform_coordinate
from pliant.query.proximity.distance import stretch_of
from pliant.query.traverse import COUNTERS

POINTS_PER_CHUNK = 1 << 12                                              # points between looks at Ctrl-C: some ten milliseconds
MIN_SORTED_POINTS = 64                                                  # points that come as they are
CELL_BITS = 30
CELLS_PER_AXIS = 1 << 10                                                # of an axis, for the order of points

# One body and its points: its refresh callbacks, its id, is it transformed, the address of the exact test; the transform from
# model space to the world and back; by how much lengths in its frame exceed those in the world; what is uncertain of a place; counters.
BODY_CONTEXT = packed_dtype([(name, np.dtype(np.int64))
                             for name in ("frame", "entry", "fill", "context", "body_id", "transformed", "exact_entry", *COUNTERS)]
                            + [(name, np.dtype(np.float64)) for name in ("scale", "reach", "stretch", "error_bound")]
                            + [(name, np.dtype((np.float64, (n,)))) for name,
                               n in (("origin", 4), ("matrix", 12), ("inverse", 12), ("box", 8))])


def body_context(body: Any, bvh: Any, body_id: int) -> NDArray[Any]:
    """A body as points see it."""
    motion, transform = body._motion, body._matrix
    array = aligned_zeros(1, BODY_CONTEXT)
    context = array[0]
    context["frame"], context["entry"], context["fill"], context["context"] = bvh.frame, bvh.entry, bvh.fill, bvh.context
    context["body_id"], context["transformed"], context["exact_entry"] = body_id, transform is not None, point_triangle_entry()[0]
    context["scale"], context["reach"] = motion.scale, motion.reach
    context["stretch"], context["origin"] = stretch_of(transform), motion.origin
    box = body._world_box()
    context["box"][:3], context["box"][4:7] = box
    if transform is not None:
        inverse = np.zeros(12)
        invert_rotation(transform, inverse)
        inverse[[3, 7, 11]] = transform[[3, 7, 11]]
        context["matrix"], context["inverse"], context["error_bound"] = transform, inverse, rounding_bound(transform, motion.box)
    else:
        context["matrix"] = IDENTITY
    return array


def morton_order(flat: NDArray[np.float64]) -> NDArray[np.int64]:
    """Numbers of the points, neighbours together."""
    n = len(flat) // 3
    if n <= MIN_SORTED_POINTS:
        return np.arange(n)
    keys, room = np.empty(n, np.int64), np.empty(n, np.int64)
    morton_keys(flat, keys)
    if radix_sort(keys, room, n, CELL_BITS, np.empty(1 << DIGIT_BITS, np.int64)):
        keys = room
    return keys >> CELL_BITS


@helper
def spread_bits(x):
    """The ten bits of x, two zeros after each."""
    x = (x | (x << 16)) & 0x030000FF
    x = (x | (x << 8)) & 0x0300F00F
    x = (x | (x << 4)) & 0x030C30C3
    return (x | (x << 2)) & 0x09249249


@kernel
def morton_keys(points, keys):
    """keys[i] = i << 30 | the number of point i's cell along a curve that fills the box of all points (Morton 1966)."""
    low, high = stack_float64(3), stack_float64(3)
    for k in range(3):
        low[k], high[k] = np.inf, -np.inf
        for at in range(k, len(points), 3):
            if abs(points[at]) < 1e300:
                low[k], high[k] = min(low[k], points[at]), max(high[k], points[at])
        high[k] = CELLS_PER_AXIS / (high[k] - low[k]) if high[k] > low[k] else 0.0
    for i in range(len(keys)):
        cell = np.int64(0)
        for k in range(3):
            position = (points[3 * i + k] - low[k]) * high[k]
            cell |= spread_bits(np.int64(min(position, CELLS_PER_AXIS - 1.0)) if position > 0.0 else np.int64(0)) << k
        keys[i] = np.int64(i) << 30 | cell


@helper
def put_triangle(leaves, leaf, k, flat, context, t):
    """The corners of triangle k of a leaf, in the world, at t[0 : 9]; are they and the point in the range of the filters?"""
    m, in_filter_range = context["matrix"], point_in_range(t, POINT)
    for c in range(3):
        v, at = 3 * np.int64(leaves[leaf]["corner"][c, k]), 3 * c
        x, y, z = flat[v], flat[v + 1], flat[v + 2]
        if context["transformed"] != 0:
            x, y, z = transform_coordinate(m, 0, x, y, z), transform_coordinate(m, 1, x, y, z), transform_coordinate(m, 2, x, y, z)
        t[at], t[at + 1], t[at + 2] = x, y, z
        in_filter_range &= point_in_range(t, at)
    return np.int64(in_filter_range)
