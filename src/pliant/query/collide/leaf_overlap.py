"""Two leaves: which of their triangles meet? The last step of every query for colliding pairs.

A visitor that uses `meet` has the fields `vertices_a`, `vertices_b` (flat float64, what exact tests read) and `keys` (where pairs go). It
says how a pair is written (`key_of`), what is none of its business (`unwanted`), how the second body looks from the first (`seen_box`,
`seen`, `error`) and how to ask the exact test (`settle`).
"""
from functools import cache

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import address_of, floats_at, invoke
from pliant.core.jit import DISABLED, helper
from pliant.core.simd import bits, first, greatest, least, ones
from pliant.core.soa import lanes, whole
from pliant.core.stack import floats, integers, one_of, put_rows, singles
from pliant.geometry.overlap_simd import beside, compare, doubt_between, plane_of, straddling
from pliant.geometry.predicates import point_fits
from pliant.geometry.triangle_overlap import EXACT, Triangle, overlap_exact, overlap_stage
from pliant.query.traverse import ENOUGH, FULL, GOING
from pliant.tree.nodes import LEAF
from pliant.volume.aabb import Box, bounds
from pliant.volume.protocol import overlap

BOXES, TRIANGLES, PLANES = 0, 6, 15                                     # rows of scratch: six, nine and five
MARGIN = np.float32(2.1)                                                # of DELTA: two boxes may each be short by one


@generic("visitor")
def key_of(visitor, state, f, g):
    """The int64 that stands for faces f of a and g of b."""


@generic("visitor")
def unwanted(visitor, state, leaves_a, a, i, leaves_b, b, j):
    """Must triangle i of leaf a and j of leaf b be passed over, although the masks let them through?"""


@generic("visitor")
def seen_box(visitor, state, box):
    """The box of a leaf of b in a's frame; it need not be exact."""


@generic("visitor")
def seen(visitor, state, triangles, box, x, y, z):
    """The triangles of a leaf of b, whose box is given, relative to the point (x, y, z) of a's frame."""


@generic("visitor")
def error(visitor, state, box):
    """DELTA of `geometry/overlap_simd.py`, before corners are made local."""


@generic("visitor")
def settle(visitor, state, leaves_a, a, i, leaves_b, b, j):
    """The exact test of triangle i of leaf a and j of leaf b: 0 or 1."""


@helper
def moved(t, x, y, z):
    """Triangles as seen from another origin."""
    return Triangle(t.ax + x, t.ay + y, t.az + z, t.bx + x, t.by + y, t.bz + z, t.cx + x, t.cy + y, t.cz + z)


@helper
def moved_box(a, x, y, z):
    return Box(a.lox + x, a.loy + y, a.loz + z, a.hix + x, a.hiy + y, a.hiz + z)


@helper
def widened(a, margin):
    return Box(a.lox - margin, a.loy - margin, a.loz - margin, a.hix + margin, a.hiy + margin, a.hiz + margin)


@helper
def meet(visitor, state, leaves_a, a, leaves_b, b, found, skip):
    """Append the pairs of two leaves, but for those whose bit 8 i + j of `skip` is set; how many keys there are then. Triangles of a go
    one by one, each against eight of b: first all boxes and the planes of a, without branches, then what is left."""
    # Everything relative to the low corner of the box around both.
    box_a, own_box_b = whole(leaves_a, a), whole(leaves_b, b)
    box_b = seen_box(visitor, state, own_box_b)
    ox, oy, oz = least(box_a.lox, box_b.lox), least(box_a.loy, box_b.loy), least(box_a.loz, box_b.loz)
    doubt = doubt_between(error(visitor, state, own_box_b), box_a, box_b, greatest(box_a.hix, box_b.hix) - ox,
                          greatest(box_a.hiy, box_b.hiy) - oy, greatest(box_a.hiz, box_b.hiz) - oz)
    margin = MARGIN * doubt.delta
    ours = moved(lanes(leaves_a, a), -ox, -oy, -oz)
    our_boxes = bounds(ours)
    mine = bits(overlap(our_boxes, widened(moved_box(box_b, -ox, -oy, -oz), margin))) & leaves_a[a]["used"]
    if mine == 0:
        return found
    theirs = seen(visitor, state, lanes(leaves_b, b), own_box_b, ox, oy, oz)
    their_boxes = widened(bounds(theirs), margin)
    close = bits(overlap(their_boxes, moved_box(box_a, -ox, -oy, -oz))) & leaves_b[b]["used"]
    if close == 0:
        return found

    scratch, nears = singles(160), integers(8)
    put_rows(scratch, BOXES, our_boxes)
    if skip != 0:                                                       # of neighbours most often nothing is left: planes can wait
        left = np.int64(0)
        while mine != 0:
            i, mine = first(mine), mine & (mine - 1)
            some = bits(overlap(their_boxes, one_of(scratch, BOXES, i, our_boxes))) & close & ~(skip >> (LEAF * i))
            left |= np.int64(some != 0) << i
        mine = left
        if mine == 0:
            return found
    our_planes = plane_of(ours, doubt, doubt.plane_a)
    put_rows(scratch, TRIANGLES, ours)
    put_rows(scratch, PLANES, our_planes)
    left, tested = np.int64(0), np.int64(0)
    while mine != 0:
        i, mine = first(mine), mine & (mine - 1)
        some = bits(overlap(their_boxes, one_of(scratch, BOXES, i, our_boxes))) & close & ~(skip >> (LEAF * i))
        tested += ones(some)
        some = straddling(one_of(scratch, PLANES, i, our_planes), theirs, some)
        nears[i] = some
        left |= np.int64(some != 0) << i
    state["n_p"] += tested
    if left == 0:
        return found

    their_planes = plane_of(theirs, doubt, doubt.plane_b)
    while left != 0:
        i, left = first(left), left & (left - 1)
        one, plane = one_of(scratch, TRIANGLES, i, ours), one_of(scratch, PLANES, i, our_planes)
        maybe, yes = compare(one, plane, theirs, their_planes, nears[i], doubt)
        if maybe != yes:
            maybe = yes | beside(one, plane, theirs, their_planes, maybe & ~yes, doubt)
        while maybe != 0:
            j, maybe = first(maybe), maybe & (maybe - 1)
            if unwanted(visitor, state, leaves_a, a, i, leaves_b, b, j):
                continue
            hit = (yes >> j) & 1
            if hit == 0:
                hit = settle(visitor, state, leaves_a, a, i, leaves_b, b, j)
            if hit != 0:
                visitor.keys[found] = key_of(visitor, state, np.int64(leaves_a[a]["face"][i]), np.int64(leaves_b[b]["face"][j]))
                found += 1
    return found


@helper
def touch_leaves(visitor, state, leaves_a, a, leaves_b, b, skip):
    """`touch` of visitors that collect pairs: GOING, or why the loop must stop."""
    found = state["found"]
    if found + LEAF * LEAF > len(visitor.keys):
        return FULL
    after = meet(visitor, state, leaves_a, a, leaves_b, b, found, skip)
    state["found"] = after
    return ENOUGH if after > found and state["first"] else GOING


@helper
def copy_corners(leaves, i, k, vertices, t, at):
    """Put triangle k of leaf i at t[at : at + 9], in float64."""
    for c in range(3):
        v = 3 * np.int64(leaves[i]["corner"][c, k])
        t[at + 3 * c], t[at + 3 * c + 1], t[at + 3 * c + 2] = vertices[v], vertices[v + 1], vertices[v + 2]


@helper
def decide(state, t, plain):
    """The exact test of two triangles in 18 float64; called by address, see `core/function_pointer.py`. 0 or 1."""
    answer = invoke(state["exact"], t, plain)
    state["n_x"] += answer >= EXACT
    return answer & 1


@helper
def settle_unplaced(visitor, state, leaves_a, a, i, leaves_b, b, j):
    """`settle` for vertices that are where they are."""
    t = floats(18)
    copy_corners(leaves_a, a, i, visitor.vertices_a, t, 0)
    copy_corners(leaves_b, b, j, visitor.vertices_b, t, 9)
    return decide(state, t, state["plain"])


@helper
def all_fit(t, n):
    """Are the first n points of a buffer in the range of the filters?"""
    good = True
    for p in range(0, 3 * n, 3):
        good &= point_fits(t, p)
    return good


@cache
def exact_entry():
    """(address, what keeps it alive) of the exact stages for two triangles in 18 float64. The second argument: are they known to be in the
    range of the filters? Where a body has one vertex that is not, most of its triangles are."""
    def enter(corners, plain):
        t = floats_at(corners)
        return np.int64(overlap_stage(t, 0, 9)) if plain or all_fit(t, 6) else np.int64(EXACT + overlap_exact(t, 0, 9))

    def enter_python(corners, plain):
        return overlap_stage(corners, 0, 9) if plain or all_fit(corners, 6) else EXACT + overlap_exact(corners, 0, 9)

    return address_of(enter_python if DISABLED else enter)
