"""Overlap test of two leaves: the intersecting pairs of their triangles. The last step of every collision query.

A visitor that uses `intersect_leaves` has the fields `vertices_a` and `vertices_b` (flat float64, for exact tests). It defines the key of a
pair (`pair_key`), which pairs to skip (`skip_pair`), the transform of the second body into the frame of the first (`box_to_frame_a`,
`to_frame_a`, `corner_error`) and the exact test (`exact_test`). `Collide` is the visitor of two bodies without transforms; others take its
functions by `share_bodies`.
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.function_pointer import address_of, call_address, floats_at
from pliant.core.jit import DISABLED, helper
from pliant.core.simd import ctz, maximum, minimum, movemask, popcount
from pliant.core.soa import lanes, load_bounds
from pliant.core.stack import load_lane, stack_float32, stack_float64, stack_int64, store_vectors
from pliant.geometry.overlap_simd import edge_test, error_bounds, interval_test, plane_of, straddle_mask
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_overlap import EXACT, Triangle, overlap_exact, overlap_stage
from pliant.query.traverse import (
    CONTINUE,
    EARLY_EXIT,
    OUTPUT_FULL,
    frames,
    is_self,
    overlaps,
    state_dtype,
    visit_leaves,
)
from pliant.tree.nodes import LEAF_WIDTH
from pliant.volume.aabb import Box, triangle_bounds
from pliant.volume.protocol import Translation, overlap

BOX_ROW, TRIANGLE_ROW, PLANE_ROW = 0, 6, 15                             # rows of scratch: six, nine and five
BOX_MARGIN = np.float32(2.1)                                            # of DELTA: either box may be too small by one DELTA
PAIR_FIELDS = [("in_filter_range", np.int64), ("key_bits", np.int64)]   # are all vertices in the range of the filters? Bits of a face of b
COLLIDE_FIELDS = [("first_only", np.int64), ("exact_entry", np.int64)]
COLLIDE_STATE = state_dtype(COLLIDE_FIELDS, PAIR_FIELDS)


@generic("visitor")
def pair_key(visitor, state, f, g):
    """The int64 key of faces f of a and g of b."""


@generic("visitor")
def skip_pair(visitor, state, leaves_a, a, i, leaves_b, b, j):
    """Must triangle i of leaf a and j of leaf b be skipped, although the adjacency masks include them?"""


@generic("visitor")
def box_to_frame_a(visitor, state, box):
    """The box of a leaf of b in a's frame, up to the corner error."""


@generic("visitor")
def to_frame_a(visitor, state, triangles, box, x, y, z):
    """The triangles of a leaf of b, whose box is given, relative to the point (x, y, z) of a's frame."""


@generic("visitor")
def corner_error(visitor, state, box):
    """DELTA of `geometry/overlap_simd.py`, before corners are made local."""


@generic("visitor")
def exact_test(visitor, state, leaves_a, a, i, leaves_b, b, j):
    """The exact test of triangle i of leaf a and j of leaf b: 0 or 1."""


@helper
def translate(t, x, y, z):
    """Triangles translated by (x, y, z)."""
    return Triangle(t.ax + x, t.ay + y, t.az + z, t.bx + x, t.by + y, t.bz + z, t.cx + x, t.cy + y, t.cz + z)


@helper
def translate_box(a, x, y, z):
    return Box(a.lox + x, a.loy + y, a.loz + z, a.hix + x, a.hiy + y, a.hiz + z)


@helper
def expand_box(a, margin):
    return Box(a.lox - margin, a.loy - margin, a.loz - margin, a.hix + margin, a.hiy + margin, a.hiz + margin)


@helper
def intersect_leaves(visitor, state, leaves_a, a, leaves_b, b, keys, found, skip):
    """Append the intersecting pairs of two leaves, except those whose bit 8 i + j of `skip` is set; the new number of keys. Each triangle
    of a is tested against eight of b: first all boxes and the planes of a, without branches, then the remaining pairs."""
    # All coordinates are relative to the low corner of the box around both leaves.
    box_a, model_box_b = load_bounds(leaves_a, a), load_bounds(leaves_b, b)
    box_b = box_to_frame_a(visitor, state, model_box_b)
    ox, oy, oz = minimum(box_a.lox, box_b.lox), minimum(box_a.loy, box_b.loy), minimum(box_a.loz, box_b.loz)
    errors = error_bounds(corner_error(visitor, state, model_box_b), box_a, box_b, maximum(box_a.hix, box_b.hix) - ox,
                          maximum(box_a.hiy, box_b.hiy) - oy, maximum(box_a.hiz, box_b.hiz) - oz)
    margin = BOX_MARGIN * errors.delta
    triangles_a = translate(lanes(leaves_a, a), -ox, -oy, -oz)
    boxes_a = triangle_bounds(triangles_a)
    mask_a = movemask(overlap(boxes_a, expand_box(translate_box(box_b, -ox, -oy, -oz), margin))) & leaves_a[a]["used"]
    if mask_a == 0:
        return found
    triangles_b = to_frame_a(visitor, state, lanes(leaves_b, b), model_box_b, ox, oy, oz)
    boxes_b = expand_box(triangle_bounds(triangles_b), margin)
    mask_b = movemask(overlap(boxes_b, translate_box(box_a, -ox, -oy, -oz))) & leaves_b[b]["used"]
    if mask_b == 0:
        return found

    scratch, row_masks = stack_float32(160), stack_int64(8)
    store_vectors(scratch, BOX_ROW, boxes_a)
    if skip != 0:                                                       # adjacent leaves: most often no pair is left, so planes come later
        remaining = np.int64(0)
        while mask_a != 0:
            i, mask_a = ctz(mask_a), mask_a & (mask_a - 1)
            mask = movemask(overlap(boxes_b, load_lane(scratch, BOX_ROW, i, boxes_a))) & mask_b & ~(skip >> (LEAF_WIDTH * i))
            remaining |= np.int64(mask != 0) << i
        mask_a = remaining
        if mask_a == 0:
            return found
    planes_a = plane_of(triangles_a, errors, errors.plane_a)
    store_vectors(scratch, TRIANGLE_ROW, triangles_a)
    store_vectors(scratch, PLANE_ROW, planes_a)
    remaining, tested = np.int64(0), np.int64(0)
    while mask_a != 0:
        i, mask_a = ctz(mask_a), mask_a & (mask_a - 1)
        mask = movemask(overlap(boxes_b, load_lane(scratch, BOX_ROW, i, boxes_a))) & mask_b & ~(skip >> (LEAF_WIDTH * i))
        tested += popcount(mask)
        mask = straddle_mask(load_lane(scratch, PLANE_ROW, i, planes_a), triangles_b, mask)
        row_masks[i] = mask
        remaining |= np.int64(mask != 0) << i
    state["n_p"] += tested
    if remaining == 0:
        return found

    planes_b = plane_of(triangles_b, errors, errors.plane_b)
    while remaining != 0:
        i, remaining = ctz(remaining), remaining & (remaining - 1)
        triangle, plane = load_lane(scratch, TRIANGLE_ROW, i, triangles_a), load_lane(scratch, PLANE_ROW, i, planes_a)
        possible, certain = interval_test(triangle, plane, triangles_b, planes_b, row_masks[i], errors)
        if possible != certain:
            possible = certain | edge_test(triangle, plane, triangles_b, planes_b, possible & ~certain, errors)
        while possible != 0:
            j, possible = ctz(possible), possible & (possible - 1)
            if skip_pair(visitor, state, leaves_a, a, i, leaves_b, b, j):
                continue
            hit = (certain >> j) & 1
            if hit == 0:
                hit = exact_test(visitor, state, leaves_a, a, i, leaves_b, b, j)
            if hit != 0:
                keys[found] = pair_key(visitor, state, np.int64(leaves_a[a]["face"][i]), np.int64(leaves_b[b]["face"][j]))
                found += 1
    return found


@helper
def collect_leaf_pairs(visitor, state, leaves_a, a, leaves_b, b, keys, skip):
    """`visit_leaves` of visitors that collect pairs: CONTINUE, or why the loop must stop."""
    found = state["found"]
    if found + LEAF_WIDTH * LEAF_WIDTH > len(keys):
        return OUTPUT_FULL
    found_after = intersect_leaves(visitor, state, leaves_a, a, leaves_b, b, keys, found, skip)
    state["found"] = found_after
    return EARLY_EXIT if found_after > found and state["first_only"] else CONTINUE


@helper
def copy_corners(leaves, i, k, vertices, t, at):
    """Write triangle k of leaf i to t[at : at + 9], in float64."""
    for c in range(3):
        v = 3 * np.int64(leaves[i]["corner"][c, k])
        t[at + 3 * c], t[at + 3 * c + 1], t[at + 3 * c + 2] = vertices[v], vertices[v + 1], vertices[v + 2]


@helper
def run_exact_test(state, t, in_filter_range):
    """The exact test of two triangles in 18 float64, called by address (`core/function_pointer.py`): 0 or 1."""
    answer = call_address(state["exact_entry"], t, in_filter_range)
    state["n_exact"] += answer >= EXACT
    return answer & 1


@helper
def points_fit(t, n):
    """Are the first n points of a buffer in the range of the filters?"""
    good = True
    for p in range(0, 3 * n, 3):
        good &= point_in_range(t, p)
    return good


@cache
def exact_entry():
    """(address, owner) of the exact stages for two triangles in 18 float64. The second argument: are they known to be in the range of the
    filters? If not, their points are checked: where one vertex of a body is out of range, most triangles are still in it."""
    def enter(corners, in_filter_range):
        t = floats_at(corners)
        return np.int64(overlap_stage(t, 0, 9)) if in_filter_range or points_fit(t, 6) else np.int64(EXACT + overlap_exact(t, 0, 9))

    def enter_python(corners, in_filter_range):
        return overlap_stage(corners, 0, 9) if in_filter_range or points_fit(corners, 6) else EXACT + overlap_exact(corners, 0, 9)

    return address_of(enter_python if DISABLED else enter)


def face_bits(body):
    """The bits of a face index, in keys."""
    return max(len(body._welded_faces) - 1, 1).bit_length()


def set_collide_fields(state, first):
    """Set COLLIDE_FIELDS. `first`: stop at the first pair found."""
    state["first_only"], state["exact_entry"] = first, exact_entry()[0]


def share_bodies(visitor, other, *functions):
    """Register for one class of visitors the bodies that these generic functions have for another."""
    for function in functions:
        function.register(visitor)(function.table[(other,)])


# --- two bodies without transforms -----------------------------------------------------------------------------------------------------

class Collide(NamedTuple):
    """The flat vertices of both bodies, read by exact tests. The output are keys a << key_bits | b."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray


@is_self.register(Collide)
def _(visitor):
    return False


@frames.register(Collide)
def _(visitor, state):
    return (Translation(state["x"], state["y"], state["z"], state["margin"]),
            Translation(-state["x"], -state["y"], -state["z"], state["margin"]))


@overlaps.register(Collide)
def _(visitor, state, volumes, volume):
    return movemask(overlap(volumes, volume))


@visit_leaves.register(Collide)
def _(visitor, state, leaves_a, a, leaves_b, b, keys):
    return collect_leaf_pairs(visitor, state, leaves_a, a, leaves_b, b, keys, np.int64(0))


@pair_key.register(Collide)
def _(visitor, state, f, g):
    return (f << state["key_bits"]) | g


@skip_pair.register(Collide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    return False


@box_to_frame_a.register(Collide)
def _(visitor, state, box):
    return translate_box(box, state["x"], state["y"], state["z"])


@to_frame_a.register(Collide)
def _(visitor, state, triangles, box, x, y, z):
    return translate(triangles, state["x"] - x, state["y"] - y, state["z"] - z)


@corner_error.register(Collide)
def _(visitor, state, box):
    return state["corner_error"]


@exact_test.register(Collide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    t = stack_float64(18)
    copy_corners(leaves_a, a, i, visitor.vertices_a, t, 0)
    copy_corners(leaves_b, b, j, visitor.vertices_b, t, 9)
    return run_exact_test(state, t, state["in_filter_range"])
