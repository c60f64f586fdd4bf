"""All pairs of faces of one body that meet, exactly. Two loops: faces apart in the mesh, and faces around each vertex.

The first is `traverse`, a tree with itself, in which the masks of `tree/adjacency.py` hide neighbours. The second goes along the
vertices: one look at a fan (`geometry/vertex_fan.py`) settles all pairs of its faces; where it cannot, they are compared two by two
(`geometry/adjacent_faces.py`). Both are loops of `query/scheduler.py`.
"""
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from pliant.core import validate
from pliant.core.jit import helper, kernel
from pliant.core.simd import bits, item
from pliant.core.sorting import sorted_pairs
from pliant.core.threads import Reading
from pliant.geometry.adjacent_faces import beyond
from pliant.geometry.predicates import point_fits
from pliant.geometry.triangle_overlap import EXACT
from pliant.geometry.vertex_fan import MORE, ROW, TURN_BITS, open_fan
from pliant.query.budget import NOTHING, deadline, undecided_of
from pliant.query.collide.leaf_overlap import (
    error,
    exact_entry,
    key_of,
    moved,
    seen,
    seen_box,
    settle,
    settle_unplaced,
    touch_leaves,
    unwanted,
)
from pliant.query.collide.transformed import single
from pliant.query.collide.two_bodies import answer, bits_for, by_image, two_trees
from pliant.query.scheduler import Loop, collect, workspace
from pliant.query.traverse import (
    BUDGET,
    DONE,
    ENOUGH,
    EXACT_COST,
    FULL,
    GOING,
    begin,
    itself,
    low_name,
    near,
    packed,
    shifts,
    touch,
    traverse,
    ways,
)
from pliant.results import Pairs, Stats
from pliant.tree.adjacency import mask_between
from pliant.volume.protocol import overlap

if TYPE_CHECKING:
    from pliant.image.options import ImageOptions

ADJACENT = ("exact", "ignore")
SPARE = 4                                                               # entries that `go_around` may push


class SelfCollide(NamedTuple):
    """What exact tests read, twice the same; where pairs go, as keys i << low | j with i < j; who are neighbours."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    keys: np.ndarray
    begins: np.ndarray
    others: np.ndarray
    masks: np.ndarray


@itself.on(SelfCollide)
def _(visitor):
    return True


@ways.on(SelfCollide)
def _(visitor, state):
    return shifts(state)


@near.on(SelfCollide)
def _(visitor, state, volumes, volume):
    return bits(overlap(volumes, volume))


@touch.on(SelfCollide)
def _(visitor, state, leaves_a, a, leaves_b, b):
    low, high = min(a, b), max(a, b)
    skip = mask_between(visitor.begins, visitor.others, visitor.masks, low, high)
    return touch_leaves(visitor, state, leaves_a, low, leaves_a, high, skip)


@helper
def ordered_key(state, f, g):
    return (min(f, g) << state["low"]) | max(f, g)


@key_of.on(SelfCollide)
def _(visitor, state, f, g):
    return ordered_key(state, f, g)


@unwanted.on(SelfCollide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    if state["hubs"]:
        for c in range(3):
            v = leaves_a[a]["corner"][c, i]
            for d in range(3):
                if leaves_b[b]["corner"][d, j] == v:
                    return True
    return False


@seen_box.on(SelfCollide)
def _(visitor, state, box):
    return box


@seen.on(SelfCollide)
def _(visitor, state, triangles, box, x, y, z):
    return moved(triangles, -x, -y, -z)


@error.on(SelfCollide)
def _(visitor, state, box):
    return state["delta"]


@settle.on(SelfCollide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    return settle_unplaced(visitor, state, leaves_a, a, i, leaves_b, b, j)


@kernel
def go_around(stars, begins, around, faces, points, vertices, keys, query, stack):
    """Pairs of faces that share a vertex. On the stack: rows [first, last) of `stars`, packed; or ~vertex and the first of its faces still
    to be compared with those after it. Stops for the reasons of `traverse`."""
    state = query[0]
    position, budget, delta = state["position"], state["budget"], state["delta"]
    reason = DONE
    while position > 0:
        if budget <= 0:
            reason = BUDGET
            break
        position -= 1
        at, end = stack[position] >> 32, low_name(stack[position])
        if at < 0:
            reason, row = compare_around(begins, around, faces, vertices, keys, state, ~at, end, budget)
            if reason == FULL or reason == BUDGET:
                stack[position] = packed(at, row)
                position += 1
            if reason != GOING:
                break
            budget -= EXACT_COST
            reason = DONE
            continue
        closed_up = np.int64(-1)                                        # a vertex whose fan may overlap itself
        while at < end and budget > 0 and closed_up < 0:
            row = ROW * at
            if item(stars, row + 1) & TURN_BITS == 0 or not open_fan(points, stars, row, delta):
                closed_up = np.int64(item(stars, row))
            while item(stars, ROW * at + 1) & MORE:
                at += 1
            at += 1
            budget -= 1
        if at < end:
            stack[position] = packed(at, end)
            position += 1
        if closed_up >= 0:
            stack[position] = packed(~closed_up, 0)
            position += 1
    state["position"], state["budget"] = position, budget
    return reason


@helper
def face_fits(vertices, faces, f):
    """Are the corners of a face in the range of the filters?"""
    return point_fits(vertices, 3 * np.int64(faces[f, 0])) & point_fits(vertices, 3 * np.int64(faces[f, 1])) & point_fits(
        vertices, 3 * np.int64(faces[f, 2]))


@helper
def compare_around(begins, around, faces, vertices, keys, state, v, row, budget):
    """The faces around v two by two, from this one on: (GOING, or why it stopped, where to go on). The budget counts pairs here."""
    first, last, plain = np.int64(begins[v]), np.int64(begins[v + 1]), state["plain"] != 0
    found, n_p, n_x = state["found"], np.int64(0), np.int64(0)
    reason = GOING
    while first + row + 1 < last:
        if found + (last - first) > len(keys):
            reason = FULL
            break
        if n_p > budget:
            reason = BUDGET
            break
        f = np.int64(around[first + row])
        for k in range(first + row + 1, last):
            g = np.int64(around[k])
            answer = beyond(vertices, faces, f, g, v, plain or (face_fits(vertices, faces, f) and face_fits(vertices, faces, g)))
            n_x += answer >= EXACT
            if answer & 1:
                keys[found] = ordered_key(state, f, g)
                found += 1
        n_p += last - first - row - 1
        row += 1
        if state["first"] and found > state["found"]:
            reason = ENOUGH
            break
    state["found"] = found
    state["n_p"] += n_p
    state["n_x"] += n_x
    return reason, row


def self_collide(body: Any, *, adjacent: str = "exact", first: bool = False, contacts: bool = False, budget_ms: float | None = None,
                 engine: str = "tree", **image: Unpack["ImageOptions"]) -> Pairs:
    """All pairs of faces of a body that meet each other, exactly; the lower face of each pair first.

    Neighbours touch, so they have a rule: faces that share one vertex collide if they meet in more than that vertex, faces that share two
    if they meet in more than that edge (folded flat onto each other), faces that share three always. `adjacent="ignore"` leaves out all
    faces that share a vertex. Vertices are shared by index; `Body(…, weld=True)` also counts those that lie at one place.
    `first`, `contacts` and `budget_ms` as for `collide`; `undecided` is the same array twice. engine="image", and its options, too.

    >>> import pliant as pl
    >>> folded = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 0]], [[0, 1, 2], [1, 0, 3]])
    >>> pl.self_collide(folded).faces
    array([[0, 1]], dtype=int32)
    >>> folded.update([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0]])
    >>> len(pl.self_collide(folded))
    0
    """
    adjacent = validate.choice("adjacent", adjacent, ADJACENT)
    first, contacts = validate.flag("first", first), validate.flag("contacts", contacts)
    if by_image(engine, image, budget_ms=budget_ms is not None):
        from pliant.image import api
        return api.within(body, adjacent, first, contacts, dict(image))
    until = deadline(budget_ms)
    validate.body("body", body)
    with workspace() as work:
        return within(work, body, adjacent, first, contacts, until)


def within(work, body, adjacent, first, contacts, until=None):
    """`self_collide` after all checks."""
    with Reading(body.guard):
        keys, stats, low, undecided = [NOTHING], Stats(), bits_for(body), None
        for start in (start_around, start_apart)[adjacent == "ignore":]:
            loop = start(work, body, first) if len(body.faces) > 1 and not (first and len(keys[-1])) else None
            if loop:
                found, more, left = collect(loop, work, until)
                keys, stats = [*keys, found], stats.plus(more)
                if len(left):
                    undecided = still_open(body, loop, start, left)
                    break
        return answer(body, body, sorted_pairs(np.concatenate(keys), low, low), stats, first, contacts, undecided)


def still_open(body, loop, start, left):
    """`Pairs.undecided`. Whoever stops among the neighbours has not begun with the rest: any two faces may meet."""
    n = len(body.corners)
    return undecided_of((loop.shapes[0],) * 2, (n, n), left) if start is start_apart else (np.ones(n, np.bool_),) * 2


def start_without(work, body, first):
    """Set the query for a body and itself; no tree is looked at."""
    motion, state = body.motion, work.query[0]
    begin(work.query, motion.box, motion.origin, motion.reach, motion.box, motion.origin, motion.reach, motion.scale, 0.0)
    state["larger"] = False
    _, plain, doubt = body.placed_vertices()
    doubt = single(doubt * motion.scale)                                # volumes and lanes stay in model space, exact tests do not
    state["slack"], state["delta"] = single(2.1 * doubt), single(float(state["delta"]) + doubt)
    state["first"], state["plain"], state["low"], state["exact"] = first, plain, bits_for(body), exact_entry()[0]


def start_with(work, body, first):
    """The same; its shape, made true. Masks come after that: it may have another tree now."""
    start_without(work, body, first)
    shape = body.shape_at(body.motion.scale)
    work.query["n_u"] = shape.follow()
    return shape


def start_apart(work, body, first):
    """The loop over faces that share no vertex."""
    shape, flat = start_with(work, body, first), body.placed_vertices()[0]
    near_by = shape.masks(body.mesh())
    work.query["hubs"] = near_by.hubs
    trees, depth = two_trees(work, shape, shape)

    def go(query, stack, keys):
        return traverse(SelfCollide(flat, flat, keys, near_by.begins, near_by.others, near_by.masks), *trees, query, stack)
    return Loop(go, depth, (shape, near_by))


def start_around(work, body, first):
    """The loop over faces that do; None if there are none. It needs no tree."""
    mesh = body.mesh()
    n, flat = len(mesh.spans), body.placed_vertices()[0]
    if n == 0:
        return None
    points = body.motion.points
    start_without(work, body, first)
    work.prepare(n + SPARE)
    work.stack[:n] = mesh.spans
    work.query["position"], work.query["n_v"] = n, 0

    def go(query, stack, keys):
        return go_around(mesh.stars, mesh.begins, mesh.around, mesh.faces, points, flat, keys, query, stack)
    return Loop(go, SPARE, (points, mesh))
