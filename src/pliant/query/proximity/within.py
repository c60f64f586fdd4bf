"""All pairs of faces that are no farther apart than a tolerance, of two bodies or of one with itself.

Two steps. `traverse` collects all pairs that may be: volumes and triangles in float32, by bounds that are never too large
(`query/proximity/leaf_distance.py`). Then each is measured in float64, which decides (`geometry/triangle_distance.py`).
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core import memory, validate
from pliant.core import threads as pool
from pliant.core.function_pointer import invoke
from pliant.core.jit import kernel
from pliant.core.simd import bits
from pliant.core.sorting import sorted_pairs
from pliant.core.stack import floats
from pliant.core.threads import Reading
from pliant.errors import TooManyPairsError
from pliant.geometry.predicates import point_fits
from pliant.geometry.triangle_distance import DISTANCE, POINTS, triangle_gap
from pliant.geometry.triangle_overlap import EXACT
from pliant.motion.rigid import IDENTITY, placed
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.self_collide import SelfCollide, start_with
from pliant.query.collide.transformed import CollidePlaced, turns
from pliant.query.collide.two_bodies import Collide, bits_for, meeting, two_trees
from pliant.query.proximity.distance import stretch_of
from pliant.query.proximity.leaf_distance import Apart, Candidates, Placed, Same, tell
from pliant.query.scheduler import Loop, collect, workspace
from pliant.query.traverse import itself, near, packed, shifts, touch, traverse, ways
from pliant.results import Pairs, Stats
from pliant.volume.protocol import separation

CHUNK = 1 << 11                                                         # pairs between looks at Ctrl-C
FEW = 1 << 16                                                           # pairs for which asking how much memory there is takes longest
FARTHEST = 2.0**60                                                      # squares of more do not fit into float32: empty lanes would be near
BYTES = 8 * (1 + 6) + 8                                                 # of a pair and what is measured


class Within(NamedTuple):
    """Two bodies that are where they are; where pairs go."""
    keys: np.ndarray


class WithinPlaced(NamedTuple):
    """The same where one is placed."""
    keys: np.ndarray


class WithinItself(NamedTuple):
    """A body and itself."""
    keys: np.ndarray


def _near(visitor, state, volumes, volume):
    return bits(separation(volumes, volume) <= state["limit"])


def _touch(visitor, state, leaves_a, a, leaves_b, b):
    return invoke(state["leaf"], state["me"], packed(a, b))


for _visitor in (Within, WithinPlaced, WithinItself):
    near.on(_visitor)(_near)
    touch.on(_visitor)(_touch)


@itself.on(Within)
def _(visitor):
    return False


@itself.on(WithinPlaced)
def _(visitor):
    return False


@itself.on(WithinItself)
def _(visitor):
    return True


def _shifted(visitor, state):
    return shifts(state)


ways.on(Within)(_shifted)
ways.on(WithinItself)(_shifted)


@ways.on(WithinPlaced)
def _(visitor, state):
    return turns(state)


@kernel
def measure(pairs, m_a, flat_a, faces_a, m_b, flat_b, faces_b, begin, end, distances, points):
    """Distances (m,) and, if there is room for them, nearest points (m, 6) of the pairs from `begin` to `end`; how many took exact
    arithmetic."""
    n_x, t = 0, floats(26)
    for i in range(begin, end):
        plain = True
        for c in range(3):
            v, w = 3 * np.int64(faces_a[pairs[i, 0], c]), 3 * np.int64(faces_b[pairs[i, 1], c])
            for k in range(3):
                t[3 * c + k] = placed(m_a, k, flat_a[v], flat_a[v + 1], flat_a[v + 2])
                t[9 + 3 * c + k] = placed(m_b, k, flat_b[w], flat_b[w + 1], flat_b[w + 2])
            plain &= point_fits(t, 3 * c) & point_fits(t, 9 + 3 * c)
        n_x += triangle_gap(t, np.int64(plain)) >= EXACT
        distances[i] = t[DISTANCE]
        if len(points) > 0:
            for k in range(6):
                points[i, k] = t[POINTS + k]
    return n_x


def within(a: Any, b: Any, tolerance: float, *, points: bool = False) -> Pairs:
    """All pairs of faces of two bodies that are no farther apart than the tolerance; sorted, with their `distances`.

    With `points` each pair also has its nearest `points` (2, 3), one on each face. Distances are those of `distance`; with a tolerance of 0
    the pairs are those of `collide`. The tolerance must be a finite number, 0 or more.

    >>> import pliant as pl
    >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> high = [[0, 0, 2], [1, 0, 3], [0, 1, 3]]
    >>> pairs = pl.within(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]), 2.5)
    >>> pairs.faces.tolist(), pairs.distances.tolist()
    ([[0, 0]], [2.0])
    """
    tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
    validate.body("a", a)
    validate.body("b", b)
    if a is b:
        raise ValueError("within: a and b are the same body; self_within(body, tolerance) finds what of a body is near itself")
    return between(a, b, tolerance, points)


def self_within(body: Any, tolerance: float, *, points: bool = False) -> Pairs:
    """All pairs of faces of a body that share no vertex and are no farther apart than the tolerance, the lower face first; as `within`.

    Vertices are shared by index; `Body(…, weld=True)` also counts those that lie at one place.

    >>> import pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.self_within(stack, 1.5).distances.tolist()
    [1.0]
    """
    tolerance, points = validate.number("tolerance", tolerance, 0.0), validate.flag("points", points)
    validate.body("body", body)
    return inside(body, tolerance, points)


def between(a, b, tolerance, points):
    """`within` after all checks."""
    with workspace() as work, Reading(a.guard, b.guard):
        met = meeting(work, a, b, tolerance)
        if met is None:
            return answer(a, b, np.empty((0, 2), np.int32), Stats(), tolerance, points)
        farthest = FARTHEST / met.scale
        if tolerance > farthest and span_of(a, b) > farthest / 4:
            return answer(a, b, all_pairs(len(a.faces), len(b.faces), tolerance), Stats(), tolerance, points)
        kind, loop_kind = (Apart(), Within) if met.m_a is None else (Placed(), WithinPlaced)
        stretch = stretch_of(met.m_a)
        trees, depth = two_trees(work, met.p, met.q)

        def visitor(keys):
            if met.m_a is None:
                return Collide(a.motion.flat, b.motion.flat, keys)
            return CollidePlaced(a.motion.flat, b.motion.flat, keys, met.m_a, met.m_b)

        def go(query, stack, keys):
            alive = tell(query, Candidates(), kind, met.p, met.q, visitor(keys), min(tolerance, farthest), met.scale, stretch)
            reason = traverse(loop_kind(keys), *trees, query, stack)
            del alive
            return reason
        keys, stats, _ = collect(Loop(go, depth, (met.p, met.q)), work)
        return answer(a, b, sorted_pairs(keys, bits_for(a), bits_for(b)), stats, tolerance, points)


def inside(body, tolerance, points):
    """`self_within` after all checks."""
    with workspace() as work, Reading(body.guard):
        if len(body.faces) < 2:
            return answer(body, body, np.empty((0, 2), np.int32), Stats(), tolerance, points)
        shape, flat = start_with(work, body, False), body.placed_vertices()[0]
        masks = shape.masks(body.mesh())
        work.query["hubs"] = masks.hubs
        scale, stretch = body.motion.scale, stretch_of(body.placement)
        trees, depth = two_trees(work, shape, shape)

        def go(query, stack, keys):
            visitor = SelfCollide(flat, flat, keys, masks.begins, masks.others, masks.masks)
            alive = tell(query, Candidates(), Same(), shape, shape, visitor, min(tolerance, FARTHEST / scale), scale, stretch)
            reason = traverse(WithinItself(keys), *trees, query, stack)
            del alive
            return reason
        keys, stats, _ = collect(Loop(go, depth, (shape, masks)), work)
        return answer(body, body, sorted_pairs(keys, bits_for(body), bits_for(body)), stats, tolerance, points)


def span_of(a, b):
    """The longest side of a box around both bodies."""
    boxes = np.stack([a.box(), b.box()])
    with np.errstate(over="ignore"):
        return (boxes[:, 1].max(axis=0) - boxes[:, 0].min(axis=0)).max()


def all_pairs(m, n, tolerance):
    """(m n, 2) int32, sorted: for bodies so far apart that float32 knows nothing of their distance."""
    if not memory.fits(2 * BYTES * m * n):
        raise TooManyPairsError(f"{m * n:,} pairs may be within {tolerance}, and memory for their distances is not available; ask for less")
    return np.stack(np.divmod(np.arange(m * n), n), axis=1).astype(np.int32)


def answer(a, b, pairs, stats, tolerance, points):
    """What the user gets: those of the pairs that are within the tolerance."""
    m = len(pairs)
    if m > FEW and not memory.fits(BYTES * m):
        raise TooManyPairsError(f"{m:,} pairs may be within {tolerance}, and memory for their distances is not available; ask for less")
    distances, ends = np.empty(m), np.empty((m if points else 0, 6))
    bodies = [(IDENTITY if body.placement is None else body.placement, body.motion.flat, body.corners) for body in (a, b)]
    exact = sum(pool.in_chunks(m, CHUNK, lambda begin, end: measure(pairs, *bodies[0], *bodies[1], begin, end, distances, ends)))
    near_enough = distances <= tolerance
    meet = np.flatnonzero(distances == 0.0) if points else ()
    if len(meet):                                                       # a point that they have in common, twice
        ends[meet] = np.tile(contacts_of([(pairs[meet], a, b)])["segments"][:, 0], 2)
    return Pairs(pairs[near_enough], stats.plus(Stats(n_x=exact)), distances=distances[near_enough],
                 points=ends[near_enough].reshape(-1, 2, 3) if points else None)
