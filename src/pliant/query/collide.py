"""All pairs of faces of two bodies that meet, exactly: the visitor of `traverse`, and the driver from Python."""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core import check
from pliant.core.call import address_of, array_at, invoke, pointer
from pliant.core.jit import DISABLED, helper
from pliant.core.records import lanes, whole
from pliant.core.simd import bits, first, greatest, least, ones
from pliant.core.sorting import sorted_pairs
from pliant.core.stack import floats, integers, one_of, put_rows, singles
from pliant.core.threads import Reading
from pliant.geometry.lanes import compare, doubt_between, plane_of, straddling
from pliant.geometry.triangles import EXACT, Triangle, overlap_exact, overlap_stage
from pliant.motion.free import scale_for
from pliant.query.drive import Loop, Subject, collect, workspace
from pliant.query.traverse import ENOUGH, FULL, GOING, begin, near, touch, traverse
from pliant.results import Pairs, Stats
from pliant.tree.nodes import LEAF
from pliant.volume.aabb import Box, bounds
from pliant.volume.protocol import overlap

BOXES, TRIANGLES, PLANES = 0, 6, 15                                     # rows of scratch: six, nine and five
MARGIN = np.float32(2.1)                                                # of DELTA: two boxes may each be short by one


class Collide(NamedTuple):
    """What exact tests read, the flat vertices of both bodies; and where pairs go, as keys a << low | b."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    keys: np.ndarray


@near.on(Collide)
def _(visitor, state, volumes, volume):
    return bits(overlap(volumes, volume))


@touch.on(Collide)
def _(visitor, state, leaves_a, a, leaves_b, b):
    found = state["found"]
    if found + LEAF * LEAF > len(visitor.keys):
        return FULL
    after = meet(visitor, state, leaves_a, a, leaves_b, b, found)
    state["found"] = after
    return ENOUGH if after > found and state["first"] else GOING


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
def meet(visitor, state, leaves_a, a, leaves_b, b, found):
    """Append the pairs of two leaves; how many keys there are then. Triangles of a go one by one, each against eight of b: first all boxes
    and the planes of a, without branches, then what is left."""
    # Everything relative to the low corner of the box around both.
    x, y, z = state["x"], state["y"], state["z"]
    box_a, box_b = whole(leaves_a, a), moved_box(whole(leaves_b, b), x, y, z)
    ox, oy, oz = least(box_a.lox, box_b.lox), least(box_a.loy, box_b.loy), least(box_a.loz, box_b.loz)
    doubt = doubt_between(state["delta"], box_a, box_b, greatest(box_a.hix, box_b.hix) - ox, greatest(box_a.hiy, box_b.hiy) - oy,
                          greatest(box_a.hiz, box_b.hiz) - oz)
    margin = MARGIN * doubt.delta
    ours = moved(lanes(leaves_a, a), -ox, -oy, -oz)
    our_boxes = bounds(ours)
    mine = bits(overlap(our_boxes, widened(moved_box(box_b, -ox, -oy, -oz), margin))) & leaves_a[a]["used"]
    if mine == 0:
        return found
    theirs = moved(lanes(leaves_b, b), x - ox, y - oy, z - oz)
    their_boxes = widened(bounds(theirs), margin)
    close = bits(overlap(their_boxes, moved_box(box_a, -ox, -oy, -oz))) & leaves_b[b]["used"]
    if close == 0:
        return found

    scratch, nears, our_planes = singles(160), integers(8), plane_of(ours, doubt, doubt.plane_a)
    put_rows(scratch, BOXES, our_boxes)
    put_rows(scratch, TRIANGLES, ours)
    put_rows(scratch, PLANES, our_planes)
    left, tested = np.int64(0), np.int64(0)
    while mine != 0:
        i, mine = first(mine), mine & (mine - 1)
        some = bits(overlap(their_boxes, one_of(scratch, BOXES, i, our_boxes))) & close
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
        while maybe != 0:
            j, maybe = first(maybe), maybe & (maybe - 1)
            hit = (yes >> j) & 1
            if hit == 0:
                hit = settle(visitor, state, leaves_a, a, i, leaves_b, b, j)
            if hit != 0:
                visitor.keys[found] = (np.int64(leaves_a[a]["face"][i]) << state["low"]) | np.int64(leaves_b[b]["face"][j])
                found += 1
    return found


@helper
def copy_corners(leaves, i, k, vertices, t, at):
    """Put triangle k of leaf i at t[at : at + 9], in float64."""
    for c in range(3):
        v = 3 * np.int64(leaves[i]["corner"][c, k])
        t[at + 3 * c], t[at + 3 * c + 1], t[at + 3 * c + 2] = vertices[v], vertices[v + 1], vertices[v + 2]


@helper
def settle(visitor, state, leaves_a, a, i, leaves_b, b, j):
    """The exact test of one pair, on float64 corners; called by address, see `core/call.py`."""
    t = floats(18)
    copy_corners(leaves_a, a, i, visitor.vertices_a, t, 0)
    copy_corners(leaves_b, b, j, visitor.vertices_b, t, 9)
    answer = invoke(state["exact"], t, state["plain"])
    state["n_x"] += answer >= EXACT
    return answer & 1


@cache
def exact_entry():
    """(address, what keeps it alive) of the exact stages for two triangles in 18 float64."""
    def enter(corners, plain):
        t = array_at(pointer(corners), 18, np.float64)
        return np.int64(overlap_stage(t, 0, 9)) if plain else np.int64(EXACT + overlap_exact(t, 0, 9))

    def enter_python(corners, plain):
        return overlap_stage(corners, 0, 9) if plain else EXACT + overlap_exact(corners, 0, 9)

    return address_of(enter_python if DISABLED else enter)


def collide(a: Subject, b: Subject, *, first: bool = False) -> Pairs:
    """All pairs of faces of two bodies that meet, exactly: touching counts, coplanar and degenerate faces included.

    With `first` the search stops at the first pair found; which one that is may vary. Pairs come sorted, each once; counters in `.stats`.

    >>> import pliant as pl
    >>> corner = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> wall = [[0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.3, 0]]
    >>> pl.collide(pl.Body(corner, [[0, 1, 2]]), pl.Body(wall, [[0, 1, 2]])).faces
    array([[0, 0]], dtype=int32)
    """
    first = check.flag("first", first)
    check.body("a", a)
    check.body("b", b)
    if a is b:
        raise ValueError("collide: a and b are the same body; self_collide(body) finds where a body meets itself")
    with Reading(a.guard, b.guard), workspace() as work:
        loop = start(work, a, b, first)
        keys, stats = collect(loop, work) if loop else (np.empty(0, np.int64), Stats())
        low = bits_for(b)
        pairs = sorted_pairs(keys, bits_for(a) + low, low)
        return Pairs(pairs[:1].copy() if first else pairs, stats)       # a leaf, or another thread, may have found more


def bits_for(body):
    """How many bits the number of a face takes."""
    return max(len(body.faces) - 1, 1).bit_length()


def start(work, a, b, first):
    """Set the query at the roots; None if the boxes of the bodies are apart, and then nothing was refitted."""
    if not (len(a.faces) and len(b.faces)):
        return None
    motion_a, motion_b = a.motion, b.motion
    scale = motion_a.scale if motion_a.scale == motion_b.scale else scale_for(max(motion_a.reach, motion_b.reach))
    query = work.query
    if not begin(query, motion_a.box, motion_a.origin, motion_a.reach, motion_b.box, motion_b.origin, motion_b.reach, scale):
        return None
    p, q, state = a.shape_at(scale), b.shape_at(scale), query[0]
    state["n_u"] = p.follow() + q.follow()
    state["first"], state["plain"], state["low"], state["exact"] = first, motion_a.plain and motion_b.plain, bits_for(b), exact_entry()[0]
    state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"] = p.frame, p.entry, p.fill, p.context
    state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"] = q.frame, q.entry, q.fill, q.context
    trees = p.nodes, p.leaves, p.tree.slots, q.nodes, q.leaves, q.tree.slots
    depth = (p.tree.depth + q.tree.depth + 2) * p.tree.width * q.tree.width
    work.prepare(depth)
    work.stack[0] = 0

    def go(query, stack, keys):
        return traverse(Collide(motion_a.flat, motion_b.flat, keys), *trees, query, stack)
    return Loop(go, depth, (p, q))
