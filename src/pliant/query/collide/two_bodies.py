"""All intersecting pairs of faces of two bodies, exactly: the query, and its set-up."""
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload

import numpy as np

from pliant.core import validate
from pliant.core.sorting import sort_pairs
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, ArgumentTypeError
from pliant.motion.free import scale_for
from pliant.motion.rigid import IDENTITY
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.leaf_overlap import COLLIDE_STATE, Collide, face_bits, set_collide_fields
from pliant.query.collide.transformed import COLLIDE_TRANSFORMED_STATE, TRANSFORMED_STATE, CollideTransformed, init_query_transformed
from pliant.query.options import ADJACENT_MODES, DEFAULT_TRAVERSAL, ManyOptions, Traversal, check_many_options, check_traversal
from pliant.query.scheduler import NO_ENTRIES, ResumableLoop, deadline, run_loop, workspace
from pliant.query.target import BodyGroup, QueryBody, SurfaceLike, check_body
from pliant.query.traverse import QUERY_STATE, bind_contexts, init_query, traverse
from pliant.query.unresolved import unresolved_faces
from pliant.results import ContactPairs, Pairs, SceneContactPairs, ScenePairs, Stats

if TYPE_CHECKING:
    from pliant.image.options import ImageOptions

ENGINES = ("tree", "image")


@overload
def collide(a: QueryBody, b: QueryBody, *, first: bool = ..., contacts: Literal[True], traversal: Traversal = ...,
            budget_ms: float | None = ..., engine: Literal["tree"] = ...) -> ContactPairs: ...


@overload
def collide(a: QueryBody, b: QueryBody, *, first: bool = ..., contacts: bool = ..., traversal: Traversal = ...,
            budget_ms: float | None = ..., engine: Literal["tree"] = ...) -> Pairs: ...


@overload
def collide(a: BodyGroup, b: QueryBody, *, first: bool | Literal["each"] = ..., contacts: Literal[True], traversal: Traversal = ...,
            budget_ms: float | None = ...) -> SceneContactPairs: ...


@overload
def collide(a: QueryBody, b: BodyGroup, *, first: bool | Literal["each"] = ..., contacts: Literal[True], traversal: Traversal = ...,
            budget_ms: float | None = ...) -> SceneContactPairs: ...


@overload
def collide(a: BodyGroup, b: QueryBody, *, first: bool | Literal["each"] = ..., contacts: bool = ..., traversal: Traversal = ...,
            budget_ms: float | None = ...) -> ScenePairs: ...


@overload
def collide(a: QueryBody, b: BodyGroup, *, first: bool | Literal["each"] = ..., contacts: bool = ..., traversal: Traversal = ...,
            budget_ms: float | None = ...) -> ScenePairs: ...


@overload
def collide(a: SurfaceLike, b: SurfaceLike, *, first: bool = ..., contacts: Literal[True], engine: Literal["image"],
            **image: Unpack["ImageOptions"]) -> ContactPairs: ...


@overload
def collide(a: SurfaceLike, b: SurfaceLike, *, first: bool = ..., contacts: bool = ..., engine: Literal["image"],
            **image: Unpack["ImageOptions"]) -> Pairs: ...


def collide(a: object, b: object = None, *, first: bool | str = False, contacts: bool = False,
            traversal: Traversal = DEFAULT_TRAVERSAL, budget_ms: float | None = None, engine: str = "tree",
            **image: Unpack["ImageOptions"]) -> Pairs | ScenePairs:
    """All pairs of intersecting faces of two bodies, exactly: touching counts, coplanar and degenerate faces included.

    Pairs are sorted, each once; `.stats` has the counters.

    Parameters
    ----------
    a, b : the bodies. One may be a `Scene`: then the pairs of the other with all bodies of the scene, as `ScenePairs`
    first : stop at the first pair found; which pair that is may vary. With a scene also "each": one pair for each body of the scene
    contacts : add the segment of intersection, the minimum translation distance and its direction to each pair; see `Pairs`
    traversal : how BVHs are traversed; changes the work, not the result: see `Traversal`
    budget_ms : stop about so many milliseconds after the call. All pairs in the result intersect; `complete` tells whether they are
        all, `unresolved` which faces may have more. The refit before the search counts, but is not interrupted
    engine : "tree" (BVHs), or "image", which needs no BVH: for meshes with new faces in every frame, or on a GPU. `a` and `b` may
        then also be (vertices, faces), or objects with them, in arrays of the host or of a GPU. Surfaces are sampled along parallel
        rays to cull faces that cannot intersect. All options below are for this engine
    mode : "conservative" never misses a pair; "sampled" is the method of the paper, with infinitely thin rays, and `.image.missed`
        estimates how many pairs it may have missed
    resolution : rays per side, 1,024 by default; in conservative mode a maximum, which changes only the work
    direction : (3,) of the rays; by default the axis with the fewest layers of surface, or an oblique direction for open surfaces in
        sampled mode
    passes, rest : in sampled mode, the maximum number of depth peeling passes; rays with more layers count as colliding ("mark") or
        not ("drop")
    closed : in sampled mode, whether all surfaces are closed with normals that point outward; by default this is determined
    device, out : "cpu" or "cuda", by default where the arrays are; out="device" leaves the pairs there

    >>> import pliant as pl
    >>> corner = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> wall = [[0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.3, 0]]
    >>> pl.collide(pl.Body(corner, [[0, 1, 2]]), pl.Body(wall, [[0, 1, 2]])).faces
    array([[0, 0]], dtype=int32)
    >>> stopped = pl.collide(pl.Body(corner, [[0, 1, 2]]), pl.Body(wall, [[0, 1, 2]]), budget_ms=0)
    >>> len(stopped), stopped.complete, stopped.unresolved
    (0, False, (array([ True]), array([ True])))
    """
    if b is None and isinstance(a, BodyGroup):
        raise ArgumentTypeError("collide: b is missing; scene.collide() tests all bodies of a scene, collide(body, scene) one with all")
    if isinstance(a, BodyGroup) or isinstance(b, BodyGroup):
        return collide_scene(a, b, check_many_options(first, contacts, ADJACENT_MODES[0], traversal, deadline(budget_ms)), engine, image)
    first, contacts = validate.flag("first", first), validate.flag("contacts", contacts)
    if uses_image_engine(engine, image, traversal=traversal != DEFAULT_TRAVERSAL, budget_ms=budget_ms is not None):
        from pliant.image import api
        return api.collide(a, b, first, contacts, dict(image))
    end_time = deadline(budget_ms)
    check_traversal(traversal)
    check_body("a", a)
    if b is None:
        raise ArgumentTypeError("b: expected a Body, got NoneType; self_collide(body) finds the self-intersections of one body")
    check_body("b", b)
    if a is b:
        raise ArgumentError("collide: a and b are the same body; self_collide(body) finds its self-intersections")
    with workspace() as work:
        return collide_validated(work, a, b, first, contacts, traversal, end_time)


def collide_scene(a: Any, b: Any, options: ManyOptions, engine: str, image: Mapping[str, Any]) -> ScenePairs:
    """`collide` of a body and a scene."""
    if uses_image_engine(engine, image):
        raise ArgumentTypeError(f'{"a" if isinstance(a, BodyGroup) else "b"}: expected a Body or a mesh with engine="image", got a Scene')
    scene, body, name = (a, b, "b") if isinstance(a, BodyGroup) else (b, a, "a")
    if isinstance(body, BodyGroup):
        raise ArgumentTypeError("collide: a and b are scenes; scene.collide() tests those of one, collide(body, scene) one body with all")
    check_body(name, body)
    return scene._collide_body(body, scene is a, options)


def uses_image_engine(engine: str, image: Mapping[str, Any], **tree_options: bool) -> bool:
    """Is the image engine selected? Options of the other engine are refused; `tree_options`: which of the tree engine's were given."""
    is_image = validate.choice("engine", engine, ENGINES) == "image"
    for name in [name for name, is_set in tree_options.items() if is_set] if is_image else image:
        if not is_image:
            check_option_name(name)
        raise ArgumentTypeError(f'{name}: an option of engine="{"tree" if is_image else "image"}", and engine is "{engine}"')
    return is_image


def check_option_name(name: str) -> None:
    """Refuse an option that no engine has, and name the most similar one."""
    from pliant.image.options import ImageOptions
    known = list(ImageOptions.__annotations__)
    if name not in known:
        similar = get_close_matches(name, [*known, "adjacent", "budget_ms", "contacts", "engine", "first", "traversal"], 1)
        raise ArgumentTypeError(f"{name}: no such option{f'; did you mean {similar[0]}?' if similar else ''}")


def collide_validated(space, a, b, first, contacts, traversal, end_time=None):
    """`collide` after all checks."""
    with ReadLock(a._guard, b._guard):
        loop = pair_loop(space, a, b, first, traversal)
        keys, stats, unfinished = run_loop(loop, space, end_time) if loop else (NO_ENTRIES, Stats(), NO_ENTRIES)
        unresolved = unresolved_faces(loop.shapes, (len(a._welded_faces), len(b._welded_faces)), unfinished) if len(unfinished) else None
        return make_pairs(a, b, sort_pairs(keys, face_bits(a), face_bits(b)), stats, first, contacts, unresolved)


def make_pairs(a, b, pairs, stats, first, contacts, unresolved):
    """The Pairs that the user gets."""
    pairs = pairs[:1].copy() if first else pairs                        # a leaf, or another thread, may have found more
    unresolved = None if first and len(pairs) else unresolved
    if not contacts:
        return Pairs(pairs, stats, unresolved, complete=unresolved is None)
    return ContactPairs(pairs, stats, unresolved, complete=unresolved is None, **contacts_of([(pairs, a, b)]))


class PairSetup(NamedTuple):
    """The state (1,) of a query, two BVHs of one scale, and the transforms of the bodies, rows of 3 × 4; None if neither has one."""
    query: np.ndarray
    bvh_a: Any
    bvh_b: Any
    transform_a: np.ndarray | None
    transform_b: np.ndarray | None
    scale: float


def set_up_pair(space, a, b, dtypes, max_gap=0.0, full_sat=False):
    """Start the query at the roots of two bodies; None, without a refit, if the gap between their boxes exceeds `max_gap`. The state has
    the first of two `dtypes`, or the second if a body has a transform."""
    if not (len(a._welded_faces) and len(b._welded_faces)):
        return None
    motion_a, motion_b, m_a, m_b = a._motion, b._motion, a._matrix, b._matrix
    place_a, place_b = motion_a.record[0], motion_b.record[0]
    reach_a, reach_b = float(place_a["reach"]), float(place_b["reach"])
    scale = motion_a.scale if motion_a.scale == motion_b.scale else scale_for(max(reach_a, reach_b))
    if m_a is None and m_b is None:
        dtype = dtypes[0]
        close = init_query(space.record(QUERY_STATE), motion_a.box, motion_a.origin, reach_a, motion_b.box, motion_b.origin, reach_b,
                           scale, max_gap)
    else:
        m_a, m_b, dtype = IDENTITY if m_a is None else m_a, IDENTITY if m_b is None else m_b, dtypes[1]
        close = init_query_transformed(space.record(TRANSFORMED_STATE), motion_a.box, motion_a.origin, reach_a, m_a,
                                       motion_b.box, motion_b.origin, reach_b, m_b, scale, max_gap, full_sat)
    if not close:
        return None
    bvh_a, bvh_b, query = a._bvh_at(scale), b._bvh_at(scale), space.record(dtype)
    state = query[0]
    state["n_u"], state["descend_larger"] = bvh_a.refit() + bvh_b.refit(), False
    state["in_filter_range"], state["key_bits"] = place_a["in_filter_range"] and place_b["in_filter_range"], face_bits(b)
    return PairSetup(query, bvh_a, bvh_b, m_a, m_b, scale)


def pair_loop(space, a, b, first, traversal):
    """The loop over two bodies; None if their boxes are disjoint."""
    setup = set_up_pair(space, a, b, (COLLIDE_STATE, COLLIDE_TRANSFORMED_STATE), full_sat=traversal.full_sat)
    if setup is None:
        return None
    state, visitor = setup.query[0], Collide(a._motion.flat, b._motion.flat)
    set_collide_fields(state, first)
    state["descend_larger"] = traversal.descend_larger
    tree_args, stack_size = bind_trees(space, state, setup.bvh_a, setup.bvh_b)
    if setup.transform_a is not None:
        visitor = CollideTransformed(*visitor, setup.transform_a, setup.transform_b)
    return ResumableLoop(partial(traverse, visitor, *tree_args), setup.query, stack_size, (setup.bvh_a, setup.bvh_b))


def bind_trees(space, state, bvh_a, bvh_b):
    """(arguments of `traverse`, capacity of its stack) for two BVHs; stores the refresh callbacks in the query state."""
    bind_contexts(state, bvh_a.record[0], bvh_a.context, bvh_b.record[0], bvh_b.context)
    tree_a, tree_b = bvh_a.tree, bvh_b.tree
    stack_size = (tree_a.depth + tree_b.depth + 2) * tree_a.child.shape[1] * tree_b.child.shape[1]
    space.reserve_stack(stack_size)
    space.stack[0] = 0
    return (bvh_a.nodes, bvh_a.leaves, tree_a.slots, bvh_b.nodes, bvh_b.leaves, tree_b.slots), stack_size
