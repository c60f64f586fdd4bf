"""All pairs of faces of two bodies of which one or both are placed: the visitor that sees the second from the model frame of the first.

Volumes stay in model space. Boxes are compared along separating axes (`volume/obb_sat.py`); the triangles of a leaf of the second are turned
into the frame of the first, in float32 relative to a corner of the leaf, so that errors grow with the leaf and not with the body; exact
tests read the placed corners, worked out for the few that ask.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import bits, greatest, magnitude
from pliant.core.stack import floats
from pliant.geometry.predicates import point_fits
from pliant.geometry.triangle_overlap import Triangle
from pliant.motion.rigid import farthest, placed, relate, world_box
from pliant.query.collide.leaf_overlap import decide, error, key_of, seen, seen_box, settle, touch_leaves, unwanted
from pliant.query.traverse import BLUR, LEAST_DELTA, beyond, itself, near, restart, touch, ways
from pliant.volume.aabb import Box
from pliant.volume.protocol import Turn, overlap, skew

E = 2.0**-24
HALF, E16 = np.float32(0.5), np.float32(16 * E)
LOOSE = 2.0**-22                                                        # of an entry of a rotation in float32, and more
LARGEST = 3e38                                                          # in float32
SLACK = 2.0**-20                                                        # of all lengths: above the roundings of `carry`


class CollidePlaced(NamedTuple):
    """As `Collide`, with the placements, rows of 3 × 4."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    keys: np.ndarray
    matrix_a: np.ndarray
    matrix_b: np.ndarray


@itself.on(CollidePlaced)
def _(visitor):
    return False


@helper
def turn_of(m, slack, loose):
    return Turn(m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10], m[3], m[7], m[11], slack, loose)


@helper
def turns(state):
    """The `ways` between bodies of which one is placed."""
    return turn_of(state["to_a"], state["slack"], state["loose"]), turn_of(state["to_b"], state["slack"], state["loose"])


@ways.on(CollidePlaced)
def _(visitor, state):
    return turns(state)


@near.on(CollidePlaced)
def _(visitor, state, volumes, volume):
    some = bits(overlap(volumes, volume))
    if some != 0 and state["full"]:
        some &= ~bits(skew(volumes, volume))
    return some


@touch.on(CollidePlaced)
def _(visitor, state, leaves_a, a, leaves_b, b):
    return touch_leaves(visitor, state, leaves_a, a, leaves_b, b, np.int64(0))


@key_of.on(CollidePlaced)
def _(visitor, state, f, g):
    return (f << state["low"]) | g


@unwanted.on(CollidePlaced)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    return False


@helper
def row(m, k, x, y, z):
    return m[4 * k] * x + (m[4 * k + 1] * y + (m[4 * k + 2] * z + m[4 * k + 3]))


@seen_box.on(CollidePlaced)
def _(visitor, state, box):
    m, n = state["to_a"], state["turn"]
    p, q, r = (box.hix - box.lox) * HALF, (box.hiy - box.loy) * HALF, (box.hiz - box.loz) * HALF
    u = magnitude(m[0]) * p + (magnitude(m[1]) * q + magnitude(m[2]) * r)
    v = magnitude(m[4]) * p + (magnitude(m[5]) * q + magnitude(m[6]) * r)
    w = magnitude(m[8]) * p + (magnitude(m[9]) * q + magnitude(m[10]) * r)
    cx, cy, cz = np.float64(box.lox) + p, np.float64(box.loy) + q, np.float64(box.loz) + r
    x, y, z = np.float32(row(n, 0, cx, cy, cz)), np.float32(row(n, 1, cx, cy, cz)), np.float32(row(n, 2, cx, cy, cz))
    return Box(x - u, y - v, z - w, x + u, y + v, z + w)


@helper
def turned(m, k, x, y, z, rest):
    """Coordinate k of the turned vector (x, y, z), moved by rest."""
    return x * m[4 * k] + (y * m[4 * k + 1] + (z * m[4 * k + 2] + rest))


@seen.on(CollidePlaced)
def _(visitor, state, triangles, box, x, y, z):
    # In float64 once a leaf: where its low corner goes. In float32: from there to each corner.
    m, n, t = state["to_a"], state["turn"], triangles
    cx, cy, cz = np.float64(box.lox), np.float64(box.loy), np.float64(box.loz)
    u, v, w = np.float32(row(n, 0, cx, cy, cz) - x), np.float32(row(n, 1, cx, cy, cz) - y), np.float32(row(n, 2, cx, cy, cz) - z)
    ax, ay, az = t.ax - box.lox, t.ay - box.loy, t.az - box.loz
    bx, by, bz = t.bx - box.lox, t.by - box.loy, t.bz - box.loz
    dx, dy, dz = t.cx - box.lox, t.cy - box.loy, t.cz - box.loz
    return Triangle(turned(m, 0, ax, ay, az, u), turned(m, 1, ax, ay, az, v), turned(m, 2, ax, ay, az, w),
                    turned(m, 0, bx, by, bz, u), turned(m, 1, bx, by, bz, v), turned(m, 2, bx, by, bz, w),
                    turned(m, 0, dx, dy, dz, u), turned(m, 1, dx, dy, dz, v), turned(m, 2, dx, dy, dz, w))


@error.on(CollidePlaced)
def _(visitor, state, box):
    return state["delta"] + E16 * greatest(box.hix - box.lox, greatest(box.hiy - box.loy, box.hiz - box.loz))


@helper
def place_corners(leaves, i, k, vertices, m, t, at):
    """Put triangle k of leaf i at t[at : at + 9], placed; are its corners in the range of the filters?"""
    good = True
    for c in range(3):
        v, p = 3 * np.int64(leaves[i]["corner"][c, k]), at + 3 * c
        x, y, z = vertices[v], vertices[v + 1], vertices[v + 2]
        t[p], t[p + 1], t[p + 2] = placed(m, 0, x, y, z), placed(m, 1, x, y, z), placed(m, 2, x, y, z)
        good &= point_fits(t, p)
    return good


@settle.on(CollidePlaced)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    t = floats(18)
    good = place_corners(leaves_a, a, i, visitor.vertices_a, visitor.matrix_a, t, 0)
    good &= place_corners(leaves_b, b, j, visitor.vertices_b, visitor.matrix_b, t, 9)
    return decide(state, t, np.int64(good))


@helper
def single(value):
    """Within the range of float32. Where tiny bodies are far away all is uncertain anyway, and left to exact tests."""
    return -LARGEST if value < -LARGEST else LARGEST if value > LARGEST else value


@kernel
def begin_placed(query, box_a, origin_a, reach_a, m_a, box_b, origin_b, reach_b, m_b, scale, tolerance, full):
    """Set the query at the pair of roots (stack[0] = 0), unless the boxes of the placed bodies are farther apart than the tolerance; as
    `begin` of traverse.py."""
    here, there = floats(12), floats(12)
    world_box(m_a, box_a, here)
    world_box(m_b, box_b, there)
    state, back, blur = query[0], here, max(reach_a, reach_b) * BLUR
    for k in range(3):
        if beyond(here[k], there[k + 3], tolerance, blur) or beyond(there[k], here[k + 3], tolerance, blur):
            return False
    state["blur"] = blur
    turn, to_a, to_b = state["turn"], state["to_a"], state["to_b"]
    loose, doubt = relate(m_a, origin_a, reach_a, m_b, origin_b, reach_b, scale, there, back)
    for k in range(12):
        turn[k], to_a[k], to_b[k] = there[k], single(there[k]), single(back[k])
    size_a, size_b, move = reach_a * scale, reach_b * scale, farthest(there[3], there[7], there[11])
    # A corner of a is off by E size_a, one of b by sqrt(3) times E size_b once it is turned; the rest is in `error`.
    state["delta"] = single(max(E * (size_a + 2 * size_b) + 2 * doubt, LEAST_DELTA))
    state["slack"] = single(SLACK * (size_a + size_b + move) + 2 * doubt)
    state["loose"], state["full"] = LOOSE + 2 * loose, full
    restart(state)
    return True
