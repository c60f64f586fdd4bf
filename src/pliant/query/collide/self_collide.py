"""All intersecting pairs of faces of one body, exactly. Two loops: non-adjacent faces, and the faces around each vertex.

The first is `traverse` of a BVH with itself, in which the masks of `tree/adjacency.py` skip adjacent faces. The second goes through the
vertices: one test of a vertex fan (`geometry/vertex_fan.py`) may prove all its faces disjoint; else they are tested pair by pair
(`geometry/adjacent_faces.py`). Both are loops of `query/scheduler.py`.
"""
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack, overload

import numpy as np

from pliant.core import validate
from pliant.core.jit import helper, kernel
from pliant.core.simd import load, movemask
from pliant.core.sorting import sort_pairs
from pliant.core.threads import ReadLock
from pliant.geometry.adjacent_faces import adjacent_overlap
from pliant.geometry.predicates import point_in_range
from pliant.geometry.triangle_overlap import EXACT
from pliant.geometry.vertex_fan import HAS_NEXT, ROW_SIZE, TURNS_MASK, fan_disjoint
from pliant.query.budget import NO_ENTRIES, deadline, unresolved_faces
from pliant.query.collide.leaf_overlap import (
    box_to_frame_a,
    collect_leaf_pairs,
    corner_error,
    exact_entry,
    exact_test,
    exact_test_untransformed,
    pair_key,
    skip_pair,
    to_frame_a,
    translate,
)
from pliant.query.collide.transformed import clamp_float32
from pliant.query.collide.two_bodies import bind_trees, face_bits, make_pairs, uses_image_engine
from pliant.query.options import ADJACENT_MODES
from pliant.query.scheduler import ResumableLoop, run_loop, workspace
from pliant.query.target import QueryBody, SurfaceLike, check_body
from pliant.query.traverse import (
    BUDGET_SPENT,
    CONTINUE,
    DONE,
    EARLY_EXIT,
    EXACT_COST,
    OUTPUT_FULL,
    frames,
    init_query,
    is_self,
    overlaps,
    pack_pair,
    translation_frames,
    traverse,
    unpack_low,
    visit_leaves,
)
from pliant.results import ContactPairs, Pairs, Stats
from pliant.tree.adjacency import find_mask
from pliant.typing import Adjacent
from pliant.volume.protocol import overlap

if TYPE_CHECKING:
    from pliant.image.options import ImageOptions

SPARE_ENTRIES = 4                                                       # entries that `compare_adjacent` may push


class SelfCollide(NamedTuple):
    """The flat vertices, twice, read by exact tests; the output, keys i << key_bits | j with i < j; the adjacency masks."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    keys: np.ndarray
    begins: np.ndarray
    others: np.ndarray
    masks: np.ndarray


@is_self.register(SelfCollide)
def _(visitor):
    return True


@frames.register(SelfCollide)
def _(visitor, state):
    return translation_frames(state)


@overlaps.register(SelfCollide)
def _(visitor, state, volumes, volume):
    return movemask(overlap(volumes, volume))


@visit_leaves.register(SelfCollide)
def _(visitor, state, leaves_a, a, leaves_b, b):
    low, high = min(a, b), max(a, b)
    skip = find_mask(visitor.begins, visitor.others, visitor.masks, low, high)
    return collect_leaf_pairs(visitor, state, leaves_a, low, leaves_a, high, skip)


@helper
def ordered_key(state, f, g):
    return (min(f, g) << state["key_bits"]) | max(f, g)


@pair_key.register(SelfCollide)
def _(visitor, state, f, g):
    return ordered_key(state, f, g)


@skip_pair.register(SelfCollide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    if state["check_shared"]:
        for c in range(3):
            v = leaves_a[a]["corner"][c, i]
            for d in range(3):
                if leaves_b[b]["corner"][d, j] == v:
                    return True
    return False


@box_to_frame_a.register(SelfCollide)
def _(visitor, state, box):
    return box


@to_frame_a.register(SelfCollide)
def _(visitor, state, triangles, box, x, y, z):
    return translate(triangles, -x, -y, -z)


@corner_error.register(SelfCollide)
def _(visitor, state, box):
    return state["corner_error"]


@exact_test.register(SelfCollide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    return exact_test_untransformed(visitor, state, leaves_a, a, i, leaves_b, b, j)


@kernel
def compare_adjacent(stars, begins, vertex_faces, faces, points, vertices, keys, query, stack):
    """Test pairs of faces that share a vertex. On the stack: rows [first, last) of `stars`, packed; or ~vertex and the first of its faces
    still to be tested against those after it. Stops for the reasons of `traverse`."""
    state = query[0]
    position, budget, corner_error_bound = state["position"], state["budget"], state["corner_error"]
    reason = DONE
    while position > 0:
        if budget <= 0:
            reason = BUDGET_SPENT
            break
        position -= 1
        at, end = stack[position] >> 32, unpack_low(stack[position])
        if at < 0:
            reason, row = compare_fan(begins, vertex_faces, faces, vertices, keys, state, ~at, end, budget)
            if reason == OUTPUT_FULL or reason == BUDGET_SPENT:
                stack[position] = pack_pair(at, row)
                position += 1
            if reason != CONTINUE:
                break
            budget -= EXACT_COST
            reason = DONE
            continue
        folded_vertex = np.int64(-1)                                    # a vertex whose fan may intersect itself
        while at < end and budget > 0 and folded_vertex < 0:
            row = ROW_SIZE * at
            if load(stars, row + 1) & TURNS_MASK == 0 or not fan_disjoint(points, stars, row, corner_error_bound):
                folded_vertex = np.int64(load(stars, row))
            while load(stars, ROW_SIZE * at + 1) & HAS_NEXT:
                at += 1
            at += 1
            budget -= 1
        if at < end:
            stack[position] = pack_pair(at, end)
            position += 1
        if folded_vertex >= 0:
            stack[position] = pack_pair(~folded_vertex, 0)
            position += 1
    state["position"], state["budget"] = position, budget
    return reason


@helper
def face_fits(vertices, faces, f):
    """Are the corners of a face in the range of the filters?"""
    return point_in_range(vertices, 3 * np.int64(faces[f, 0])) & point_in_range(vertices, 3 * np.int64(faces[f, 1])) & point_in_range(
        vertices, 3 * np.int64(faces[f, 2]))


@helper
def compare_fan(begins, vertex_faces, faces, vertices, keys, state, v, row, budget):
    """Test the faces around v pair by pair, from `row` on: (CONTINUE, or why it stopped, the next row). The budget counts pairs here."""
    first, last, in_filter_range = np.int64(begins[v]), np.int64(begins[v + 1]), state["in_filter_range"] != 0
    found, n_p, n_exact = state["found"], np.int64(0), np.int64(0)
    reason = CONTINUE
    while first + row + 1 < last:
        if found + (last - first) > len(keys):
            reason = OUTPUT_FULL
            break
        if n_p > budget:
            reason = BUDGET_SPENT
            break
        f = np.int64(vertex_faces[first + row])
        for k in range(first + row + 1, last):
            g = np.int64(vertex_faces[k])
            answer = adjacent_overlap(vertices, faces, f, g, v,
                                      in_filter_range or (face_fits(vertices, faces, f) and face_fits(vertices, faces, g)))
            n_exact += answer >= EXACT
            if answer & 1:
                keys[found] = ordered_key(state, f, g)
                found += 1
        n_p += last - first - row - 1
        row += 1
        if state["first_only"] and found > state["found"]:
            reason = EARLY_EXIT
            break
    state["found"] = found
    state["n_p"] += n_p
    state["n_exact"] += n_exact
    return reason, row


@overload
def self_collide(body: QueryBody, *, adjacent: Adjacent = ..., first: bool = ..., contacts: Literal[True], budget_ms: float | None = ...,
                 engine: Literal["tree"] = ...) -> ContactPairs: ...


@overload
def self_collide(body: QueryBody, *, adjacent: Adjacent = ..., first: bool = ..., contacts: bool = ..., budget_ms: float | None = ...,
                 engine: Literal["tree"] = ...) -> Pairs: ...


@overload
def self_collide(body: SurfaceLike, *, adjacent: Adjacent = ..., first: bool = ..., contacts: Literal[True], engine: Literal["image"],
                 **image: Unpack["ImageOptions"]) -> ContactPairs: ...


@overload
def self_collide(body: SurfaceLike, *, adjacent: Adjacent = ..., first: bool = ..., contacts: bool = ..., engine: Literal["image"],
                 **image: Unpack["ImageOptions"]) -> Pairs: ...


def self_collide(body: object, *, adjacent: str = "exact", first: bool = False, contacts: bool = False, budget_ms: float | None = None,
                 engine: str = "tree", **image: Unpack["ImageOptions"]) -> Pairs:
    """All pairs of faces of a body that intersect each other, exactly; the lower face of each pair first.

    Adjacent faces touch, so they have a rule: faces that share one vertex collide if they intersect in more than that vertex, faces that
    share two if they intersect in more than that edge (folded flat onto each other), faces that share three always. `adjacent="ignore"`
    leaves out all faces that share a vertex. Vertices are shared by index; `Body(…, weld=True)` also shares vertices at the same position.
    `first`, `contacts`, `budget_ms`, and engine="image" with its options as for `collide`; `unresolved` is the same array twice.

    >>> import pliant as pl
    >>> folded = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 0]], [[0, 1, 2], [1, 0, 3]])
    >>> pl.self_collide(folded).faces
    array([[0, 1]], dtype=int32)
    >>> folded.update([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0]])
    >>> len(pl.self_collide(folded))
    0
    """
    adjacent = validate.choice("adjacent", adjacent, ADJACENT_MODES)
    first, contacts = validate.flag("first", first), validate.flag("contacts", contacts)
    if uses_image_engine(engine, image, budget_ms=budget_ms is not None):
        from pliant.image import api
        return api.self_collide(body, adjacent, first, contacts, dict(image))
    end_time = deadline(budget_ms)
    check_body("body", body)
    with workspace() as work:
        return self_collide_validated(work, body, adjacent, first, contacts, end_time)


def self_collide_validated(space, body, adjacent, first, contacts, end_time=None):
    """`self_collide` after all checks."""
    with ReadLock(body.guard):
        keys, stats, key_bits, unresolved = [NO_ENTRIES], Stats(), face_bits(body), None
        for make_loop in (adjacent_loop, non_adjacent_loop)[adjacent == "ignore":]:
            loop = make_loop(space, body, first) if len(body.faces) > 1 and not (first and len(keys[-1])) else None
            if loop:
                found, more_stats, unfinished = run_loop(loop, space, end_time)
                keys, stats = [*keys, found], stats + more_stats
                if len(unfinished):
                    unresolved = self_unresolved_faces(body, loop, make_loop, unfinished)
                    break
        return make_pairs(body, body, sort_pairs(np.concatenate(keys), key_bits, key_bits), stats, first, contacts, unresolved)


def self_unresolved_faces(body, loop, make_loop, unfinished):
    """`Pairs.unresolved`. If time was up in the loop over adjacent faces, the other loop has not begun: any two faces may intersect."""
    n = len(body.welded_faces)
    return unresolved_faces((loop.shapes[0],) * 2, (n, n), unfinished) if make_loop is non_adjacent_loop else (np.ones(n, np.bool_),) * 2


def init_self_query(space, body, first):
    """Start the query of a body with itself, without its BVH."""
    motion, state = body.motion, space.query[0]
    init_query(space.query, motion.box, motion.origin, motion.reach, motion.box, motion.origin, motion.reach, motion.scale, 0.0)
    state["descend_larger"] = False
    _, in_filter_range, error_bound = body.world_vertices()
    error_bound = clamp_float32(error_bound * motion.scale)             # volumes and leaves stay in model space, exact tests do not
    state["margin"], state["corner_error"] = clamp_float32(2.1 * error_bound), clamp_float32(float(state["corner_error"]) + error_bound)
    state["first_only"], state["in_filter_range"] = first, in_filter_range
    state["key_bits"], state["exact_entry"] = face_bits(body), exact_entry()[0]


def init_self_query_bvh(space, body, first):
    """The same; refits and returns its BVH. Adjacency masks must be read afterwards: a refit may replace the tree."""
    init_self_query(space, body, first)
    bvh = body.bvh_at(body.motion.scale)
    space.query["n_u"] = bvh.refit()
    return bvh


def non_adjacent_loop(space, body, first):
    """The loop over non-adjacent faces, which share no vertex."""
    bvh, flat = init_self_query_bvh(space, body, first), body.world_vertices()[0]
    adjacency = bvh.masks(body.mesh())
    space.query["check_shared"] = adjacency.hubs
    tree_args, stack_size = bind_trees(space, bvh, bvh)

    def resume(query, stack, keys):
        return traverse(SelfCollide(flat, flat, keys, adjacency.begins, adjacency.others, adjacency.masks), *tree_args, query, stack)
    return ResumableLoop(resume, stack_size, (bvh, adjacency))


def adjacent_loop(space, body, first):
    """The loop over faces that share a vertex; None if there are none. It needs no BVH."""
    mesh = body.mesh()
    n, flat = len(mesh.fan_parts), body.world_vertices()[0]
    if n == 0:
        return None
    points = body.motion.points
    init_self_query(space, body, first)
    space.reserve_stack(n + SPARE_ENTRIES)
    space.stack[:n] = mesh.fan_parts
    space.query["position"], space.query["n_v"] = n, 0

    def resume(query, stack, keys):
        return compare_adjacent(mesh.fans, mesh.begins, mesh.vertex_faces, mesh.faces, points, flat, keys, query, stack)
    return ResumableLoop(resume, SPARE_ENTRIES, (points, mesh))
