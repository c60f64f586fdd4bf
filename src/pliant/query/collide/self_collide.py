"""All intersecting pairs of faces of one body, exactly. Two loops: non-adjacent faces, and the faces around each vertex.

The first is `traverse` of a BVH with itself, in which the masks of `tree/adjacency.py` skip adjacent faces. The second is
`compare_adjacent` (`query/collide/adjacent.py`). Both are loops of `query/scheduler.py`.
"""
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload

import numpy as np

from pliant.core import validate
from pliant.core.sorting import sort_pairs
from pliant.core.threads import ReadLock
from pliant.query.collide.adjacent import adjacent_loop, init_self_query, ordered_key
from pliant.query.collide.leaf_overlap import (
    COLLIDE_FIELDS,
    PAIR_FIELDS,
    Collide,
    box_to_frame_a,
    collect_leaf_pairs,
    corner_error,
    exact_test,
    face_bits,
    pair_key,
    set_collide_fields,
    share_bodies,
    skip_pair,
    to_frame_a,
    translate,
)
from pliant.query.collide.two_bodies import bind_trees, make_pairs, uses_image_engine
from pliant.query.options import ADJACENT_MODES
from pliant.query.scheduler import NO_ENTRIES, ResumableLoop, deadline, run_loop, workspace
from pliant.query.target import QueryBody, SurfaceLike, check_body
from pliant.query.traverse import frames, is_self, overlaps, state_dtype, traverse, visit_leaves
from pliant.query.unresolved import unresolved_faces
from pliant.results import ContactPairs, Pairs, Stats
from pliant.tree.adjacency import find_mask
from pliant.typing import Adjacent

if TYPE_CHECKING:
    from pliant.image.options import ImageOptions

SELF_FIELDS = [("check_shared", np.int64)]                              # do the adjacency masks miss faces that share a vertex?
SELF_COLLIDE_STATE = state_dtype(COLLIDE_FIELDS, SELF_FIELDS, PAIR_FIELDS)


class SelfCollide(NamedTuple):
    """The flat vertices, twice, read by exact tests; the adjacency masks. The output are keys i << key_bits | j with i < j."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    begins: np.ndarray
    others: np.ndarray
    masks: np.ndarray


share_bodies(SelfCollide, Collide, frames, overlaps, corner_error, exact_test)


@is_self.register(SelfCollide)
def _(visitor):
    return True


@visit_leaves.register(SelfCollide)
def _(visitor, state, leaves_a, a, leaves_b, b, keys):
    low, high = min(a, b), max(a, b)
    skip = find_mask(visitor.begins, visitor.others, visitor.masks, low, high)
    return collect_leaf_pairs(visitor, state, leaves_a, low, leaves_a, high, keys, skip)


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
    """Self-intersection: all pairs of intersecting faces of one body, exactly; the lower index is first in each pair.

    Parameters
    ----------
    body : a `Body`; with engine="image" also (vertices, faces)
    adjacent : the rule for faces that share vertices. "exact": with one shared vertex they collide if they intersect in more than
        that vertex, with two if they intersect in more than that edge (folded flat onto each other), with three always. "ignore":
        they never collide. Vertices are shared by index; with `Body(…, weld=True)` also vertices at the same position
    first, contacts, traversal, budget_ms : as for `collide`; both arrays of `unresolved` are the same one
    engine : "tree", or "image" with its options, as for `collide`

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
    with ReadLock(body._guard):
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
    n = len(body._welded_faces)
    return unresolved_faces((loop.shapes[0],) * 2, (n, n), unfinished) if make_loop is non_adjacent_loop else (np.ones(n, np.bool_),) * 2


class SelfSetup(NamedTuple):
    """The state (1,) of a query of one body with itself, its BVH, vertices and adjacency masks."""
    query: np.ndarray
    bvh: Any
    vertices: np.ndarray
    adjacency: Any


def set_up_self(space, body, dtype):
    """Start the query of a body with itself, and refit its BVH. The state is of this type, which has PAIR_FIELDS and SELF_FIELDS."""
    query = init_self_query(space, body, dtype)
    bvh = body._bvh_at(body._motion.scale)
    query["n_u"] = bvh.refit()
    vertices, adjacency = body._world_vertices()[0], bvh.masks(body._topology())  # after the refit, which may replace the tree
    query["check_shared"] = adjacency.hubs
    return SelfSetup(query, bvh, vertices, adjacency)


def non_adjacent_loop(space, body, first):
    """The loop over non-adjacent faces, which share no vertex."""
    query, bvh, vertices, adjacency = set_up_self(space, body, SELF_COLLIDE_STATE)
    set_collide_fields(query[0], first)
    tree_args, stack_size = bind_trees(space, query[0], bvh, bvh)
    visitor = SelfCollide(vertices, vertices, adjacency.begins, adjacency.others, adjacency.masks)
    return ResumableLoop(partial(traverse, visitor, *tree_args), query, stack_size, (bvh, adjacency))
