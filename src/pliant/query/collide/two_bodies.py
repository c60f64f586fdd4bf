"""All pairs of faces of two bodies that meet, exactly: a visitor of `traverse`, and the driver from Python."""
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from pliant.core import validate
from pliant.core.simd import bits
from pliant.core.sorting import sorted_pairs
from pliant.core.threads import Reading
from pliant.motion.free import scale_for
from pliant.motion.rigid import IDENTITY
from pliant.query.budget import NOTHING, deadline, undecided_of
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.leaf_overlap import (
    error,
    exact_entry,
    key_of,
    moved,
    moved_box,
    seen,
    seen_box,
    settle,
    settle_unplaced,
    touch_leaves,
    unwanted,
)
from pliant.query.collide.transformed import CollidePlaced, begin_placed
from pliant.query.scheduler import Loop, collect, workspace
from pliant.query.traverse import begin, itself, near, shifts, touch, traverse, ways
from pliant.results import Pairs, Stats
from pliant.volume.protocol import overlap

if TYPE_CHECKING:
    from pliant.image.options import ImageOptions

SAT, DESCEND, ENGINES = ("full", "lite"), ("both", "larger"), ("tree", "image")


class How(NamedTuple):
    """Choices that change the work, not the answer: all separating axes of turned boxes? One of two nodes at a time?"""
    full: bool
    larger: bool


class Collide(NamedTuple):
    """What exact tests read, the flat vertices of both bodies; and where pairs go, as keys a << low | b."""
    vertices_a: np.ndarray
    vertices_b: np.ndarray
    keys: np.ndarray


@itself.on(Collide)
def _(visitor):
    return False


@ways.on(Collide)
def _(visitor, state):
    return shifts(state)


@near.on(Collide)
def _(visitor, state, volumes, volume):
    return bits(overlap(volumes, volume))


@touch.on(Collide)
def _(visitor, state, leaves_a, a, leaves_b, b):
    return touch_leaves(visitor, state, leaves_a, a, leaves_b, b, np.int64(0))


@key_of.on(Collide)
def _(visitor, state, f, g):
    return (f << state["low"]) | g


@unwanted.on(Collide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    return False


@seen_box.on(Collide)
def _(visitor, state, box):
    return moved_box(box, state["x"], state["y"], state["z"])


@seen.on(Collide)
def _(visitor, state, triangles, box, x, y, z):
    return moved(triangles, state["x"] - x, state["y"] - y, state["z"] - z)


@error.on(Collide)
def _(visitor, state, box):
    return state["delta"]


@settle.on(Collide)
def _(visitor, state, leaves_a, a, i, leaves_b, b, j):
    return settle_unplaced(visitor, state, leaves_a, a, i, leaves_b, b, j)


def collide(a: Any, b: Any, *, first: bool = False, contacts: bool = False, sat: str = "full", descend: str = "both",
            budget_ms: float | None = None, engine: str = "tree", **image: Unpack["ImageOptions"]) -> Pairs:
    """All pairs of faces of two bodies that meet, exactly: touching counts, coplanar and degenerate faces included.

    With `first` the search stops at the first pair found; which one that is may vary. Pairs come sorted, each once; counters in `.stats`.
    With `contacts` each pair has the segment in which the faces meet, the depth and the direction in which to part them; see `Pairs`.
    `sat` says along how many axes the boxes of bodies with a transform are compared: "full" 15, "lite" 6; `descend` whether
    two nodes are opened "both" at once or the "larger" first. The answer is the same.
    `budget_ms`: stop about so many milliseconds after the call and give what is certain by then. All pairs listed do meet; `complete` says
    whether they are all, `undecided` which faces may have more. What the policy refits before the search counts, but is not broken off.

    engine="image" needs no tree, for surfaces that are made anew every frame, or on a GPU: a and b may then also be (vertices, faces), or
    have them, in arrays of the host or of a GPU. Surfaces are sampled along parallel rays, and what cannot touch falls away. It takes
    mode : "conservative" misses nothing, ever; "sampled" is the paper's way, with rays as thin as lines, and `.image.missed` says about how
        many pairs it may have missed
    resolution : rays a side, 1024; in conservative mode at most so many, and it changes the work alone
    direction : (3,) of the rays; by default along the axis with the fewest layers of surface, or askew for open surfaces that are sampled
    passes, rest : in sampled mode, stop peeling after so many passes; rays with more to come count as colliding, "mark", or not, "drop"
    closed : in sampled mode, are all surfaces closed, with normals that point outward? By default it is looked up
    device : "cpu" or "cuda"; by default where the arrays are. `out`: "device" leaves the pairs there

    >>> import pliant as pl
    >>> corner = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> wall = [[0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.3, 0]]
    >>> pl.collide(pl.Body(corner, [[0, 1, 2]]), pl.Body(wall, [[0, 1, 2]])).faces
    array([[0, 0]], dtype=int32)
    >>> stopped = pl.collide(pl.Body(corner, [[0, 1, 2]]), pl.Body(wall, [[0, 1, 2]]), budget_ms=0)
    >>> len(stopped), stopped.complete, stopped.undecided
    (0, False, (array([ True]), array([ True])))
    """
    first, contacts = validate.flag("first", first), validate.flag("contacts", contacts)
    if by_image(engine, image, sat=sat != "full", descend=descend != "both", budget_ms=budget_ms is not None):
        from pliant.image import api
        return api.between(a, b, first, contacts, dict(image))
    until = deadline(budget_ms)
    how = How(validate.choice("sat", sat, SAT) == "full", validate.choice("descend", descend, DESCEND) == "larger")
    validate.body("a", a)
    validate.body("b", b)
    if a is b:
        raise ValueError("collide: a and b are the same body; self_collide(body) finds where a body meets itself")
    with workspace() as work:
        return between(work, a, b, first, contacts, how, until)


def by_image(engine: str, image: Mapping[str, Any], **trees: bool) -> bool:
    """Is the image engine asked for? Options of the other one are refused; `trees`: which of its options were given."""
    chosen = validate.choice("engine", engine, ENGINES) == "image"
    for name in [name for name, given in trees.items() if given] if chosen else image:
        raise TypeError(f'{name}: an option of engine="{"tree" if chosen else "image"}", and engine is "{engine}"')
    return chosen


def between(work, a, b, first, contacts, how, until=None):
    """`collide` after all checks."""
    with Reading(a.guard, b.guard):
        loop = start(work, a, b, first, how)
        keys, stats, left = collect(loop, work, until) if loop else (NOTHING, Stats(), NOTHING)
        undecided = undecided_of(loop.shapes, (len(a.corners), len(b.corners)), left) if len(left) else None
        return answer(a, b, sorted_pairs(keys, bits_for(a), bits_for(b)), stats, first, contacts, undecided)


def answer(a, b, pairs, stats, first, contacts, undecided):
    """What the user gets."""
    pairs = pairs[:1].copy() if first else pairs                        # a leaf, or another thread, may have found more
    undecided = None if first and len(pairs) else undecided
    return Pairs(pairs, stats, **(contacts_of([(pairs, a, b)]) if contacts else {}), complete=undecided is None, undecided=undecided)


def bits_for(body):
    """How many bits the number of a face takes."""
    return max(len(body.corners) - 1, 1).bit_length()


class Meeting(NamedTuple):
    """Two shapes of one scale, and where they are placed, if one of them is: rows of 3 × 4, else None."""
    p: Any
    q: Any
    m_a: np.ndarray | None
    m_b: np.ndarray | None
    scale: float


def meeting(work, a, b, tolerance=0.0, full=False):
    """Set the query at the roots of two bodies; None if their boxes are farther apart than that, and then nothing was refitted."""
    if not (len(a.faces) and len(b.faces)):
        return None
    motion_a, motion_b, m_a, m_b, query = a.motion, b.motion, a.placement, b.placement, work.query
    scale = motion_a.scale if motion_a.scale == motion_b.scale else scale_for(max(motion_a.reach, motion_b.reach))
    if m_a is None and m_b is None:
        near_by = begin(query, motion_a.box, motion_a.origin, motion_a.reach,
                        motion_b.box, motion_b.origin, motion_b.reach, scale, tolerance)
    else:
        m_a, m_b = IDENTITY if m_a is None else m_a, IDENTITY if m_b is None else m_b
        near_by = begin_placed(query, motion_a.box, motion_a.origin, motion_a.reach, m_a,
                               motion_b.box, motion_b.origin, motion_b.reach, m_b, scale, tolerance, full)
    if not near_by:
        return None
    p, q, state = a.shape_at(scale), b.shape_at(scale), query[0]
    state["n_u"], state["larger"] = p.follow() + q.follow(), False
    state["plain"], state["low"], state["exact"] = motion_a.plain and motion_b.plain, bits_for(b), exact_entry()[0]
    return Meeting(p, q, m_a, m_b, scale)


def start(work, a, b, first, how):
    """The loop over two bodies; None if they are certainly apart."""
    met = meeting(work, a, b, full=how.full)
    if met is None:
        return None
    work.query["first"], work.query["larger"] = first, how.larger
    trees, depth = two_trees(work, met.p, met.q)

    def go(query, stack, keys):
        return traverse(Collide(a.motion.flat, b.motion.flat, keys), *trees, query, stack)

    def go_placed(query, stack, keys):
        return traverse(CollidePlaced(a.motion.flat, b.motion.flat, keys, met.m_a, met.m_b), *trees, query, stack)
    return Loop(go if met.m_a is None else go_placed, depth, (met.p, met.q))


def two_trees(work, p, q):
    """(the arguments of `traverse`, the capacity of its stack) for two shapes; the state learns how they make things true."""
    state = work.query[0]
    state["frame_a"], state["entry_a"], state["fill_a"], state["context_a"] = p.frame, p.entry, p.fill, p.context
    state["frame_b"], state["entry_b"], state["fill_b"], state["context_b"] = q.frame, q.entry, q.fill, q.context
    depth = (p.tree.depth + q.tree.depth + 2) * p.tree.width * q.tree.width
    work.prepare(depth)
    work.stack[0] = 0
    return (p.nodes, p.leaves, p.tree.slots, q.nodes, q.leaves, q.tree.slots), depth
