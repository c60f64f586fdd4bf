"""One look at all faces around a vertex: do any two of them certainly meet only in what they share?

Adjacent faces are nine tenths of the pairs whose boxes overlap in a sheet, six faces around each vertex making fifteen pairs. But seen
along a direction d from which every face of a fan shows the same side, and whose faces go around the vertex once at most, the shadows
overlap nowhere, and then neither do the faces: six turns settle fifteen pairs. The sum of the normals serves as d; smooth
surfaces, flat ones included, never need more. What fails is tested pair by pair (`geometry/adjacent_faces.py`).

A row of a fan: the vertex, a code (turns, closed << 8, more rows follow << 9), and 8 neighbours in order, the last one repeated: 7 turns.
A long path goes on in the next row with its last vertex. 0 turns: no fan.

ERRORS. Coordinates are off by DELTA (`query/traverse.py`), u and v are neighbours minus vertex, M bounds their components, e = 2**-24. A
difference is off by h <= 2 DELTA + e M, a product by 2 M h + h², a component of u × v by twice that and 4 e M² for its own rounding:
    B = 8 M (DELTA + e M) + 8 DELTA², and 5 % for what is of higher order.
With |d_k| <= 1 the turn (u × v) · d is off by B Σ|d_k| and 6 e M² Σ|d_k| for its own rounding. All are sizes before anything cancels.
RANGE: components are below 2 M² with M <= 2 R, R the largest |coordinate|, and d is a sum of as many as there are faces around a vertex: no
fewer than 2**60 of them overflow while R <= 2**28. DELTA >= 2**-50 keeps B >= 8 DELTA² far above what products lose by underflow.

ONCE AROUND. Slide along d onto the plane across its largest axis k: with f another axis, g = v_f − v_k d_f / d_k is one of two
coordinates there. All turns being of one sign, a closed path crosses g = 0 twice for every time around, an open one that crosses it once at
most goes around less than once. The computed g are the true ones of neighbours that are moved by less than 4 e M; that changes a turn by
less than 16 e M² Σ|d_k|, and as long as no turn on the way there changes its sign, neither does the number of times around. So turns must
exceed 4 B Σ|d_k|, which covers all of it.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper
from pliant.core.simd import concat, fabs, load, load4, maximum, movemask, popcount, reduce_add, shift_lanes, transpose4x3

TURNS_PER_ROW = 7
ROW_SIZE = 10                                                           # numbers a row: vertex, code, 8 neighbours
TURNS_MASK, CLOSED, HAS_NEXT = (1 << 8) - 1, 1 << 8, 1 << 9             # of the code
E8, EIGHT, BOUND_FACTOR, FOUR = np.float32(8 * 2.0**-24), np.float32(8), np.float32(1.05), np.float32(4)


class FanEdges(NamedTuple):
    """Neighbours minus vertex, eight lanes; the normals between each and the next; the bound B of their errors."""
    x: float
    y: float
    z: float
    nx: float
    ny: float
    nz: float
    bound: float


@helper
def fan_edges(points, rows, at, delta):
    """Gather one row."""
    v = load4(points, 4 * np.int64(load(rows, at)))
    p, q = load4(points, 4 * np.int64(load(rows, at + 2))) - v, load4(points, 4 * np.int64(load(rows, at + 3))) - v
    r, s = load4(points, 4 * np.int64(load(rows, at + 4))) - v, load4(points, 4 * np.int64(load(rows, at + 5))) - v
    t, u = load4(points, 4 * np.int64(load(rows, at + 6))) - v, load4(points, 4 * np.int64(load(rows, at + 7))) - v
    w, o = load4(points, 4 * np.int64(load(rows, at + 8))) - v, load4(points, 4 * np.int64(load(rows, at + 9))) - v
    left, right = transpose4x3(p, q, r, s), transpose4x3(t, u, w, o)
    x, y, z = concat(left[0], right[0]), concat(left[1], right[1]), concat(left[2], right[2])
    x1, y1, z1 = shift_lanes(x), shift_lanes(y), shift_lanes(z)
    size = maximum(fabs(x), maximum(fabs(y), fabs(z)))
    size = maximum(size, shift_lanes(size))
    bound = (size * (EIGHT * delta + E8 * size) + EIGHT * delta * delta) * BOUND_FACTOR
    return FanEdges(x, y, z, y * z1 - z * y1, z * x1 - x * z1, x * y1 - y * x1, bound)


@helper
def turns_along(s, dx, dy, dz):
    """(the turns seen along d, what they must exceed); the largest of |d_k| is 1."""
    return s.nx * dx + (s.ny * dy + s.nz * dz), s.bound * (FOUR * (abs(dx) + abs(dy) + abs(dz)))


@helper
def common_side(s, dx, dy, dz, turns):
    """(does every face show the same side along d, +1 or −1, else 0; how often the path crosses a line through the vertex); the largest
    of |d_k| is 1."""
    all_turns = (np.int64(1) << turns) - 1
    turn, bound = turns_along(s, dx, dy, dz)
    side = np.int64(movemask(turn > bound) & all_turns == all_turns) - np.int64(movemask(turn < -bound) & all_turns == all_turns)
    if abs(dz) >= max(abs(dx), abs(dy)):
        below = movemask(s.y - s.z * (dy / dz) < 0)
    elif abs(dy) >= abs(dx):
        below = movemask(s.x - s.y * (dx / dy) < 0)
    else:
        below = movemask(s.z - s.x * (dz / dx) < 0)
    return side, popcount((below ^ (below >> 1)) & all_turns)


@helper
def fan_disjoint(points, rows, at, delta):
    """Do the faces of the fan whose rows begin here certainly meet only in what they share?"""
    code = np.int64(load(rows, at + 1))
    s = fan_edges(points, rows, at, delta)
    dx, dy, dz = reduce_add(s.nx), reduce_add(s.ny), reduce_add(s.nz)
    row = at
    while code & HAS_NEXT:
        row += ROW_SIZE
        code = np.int64(load(rows, row + 1))
        o = fan_edges(points, rows, row, delta)
        dx, dy, dz = dx + reduce_add(o.nx), dy + reduce_add(o.ny), dz + reduce_add(o.nz)
    size = max(abs(dx), max(abs(dy), abs(dz)))
    if not size > 0:
        return False
    dx, dy, dz = dx / size, dy / size, dz / size
    code = np.int64(load(rows, at + 1))
    side, crossings = common_side(s, dx, dy, dz, code & TURNS_MASK)
    row = at
    while code & HAS_NEXT:
        row += ROW_SIZE
        code = np.int64(load(rows, row + 1))
        row_side, row_crossings = common_side(fan_edges(points, rows, row, delta), dx, dy, dz, code & TURNS_MASK)
        side, crossings = side if side == row_side else 0, crossings + row_crossings
    return side != 0 and crossings <= (2 if code & CLOSED else 1)
