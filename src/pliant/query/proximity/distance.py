"""How far apart are two bodies, or what of a body is nearest to itself? The least distance of two faces, exactly where, and which."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core import validate
from pliant.core.jit import silent
from pliant.core.threads import Reading
from pliant.query.collide.contacts import contacts_of
from pliant.query.collide.self_collide import SelfCollide, start_with
from pliant.query.collide.transformed import CollidePlaced
from pliant.query.collide.two_bodies import Collide, meeting, two_trees
from pliant.query.proximity.branch_and_bound import UNKNOWN, approach
from pliant.query.proximity.far_field import far_apart, nearest_faces
from pliant.query.proximity.leaf_distance import Apart, Nearest, Placed, Same, tell
from pliant.query.ray.cast import members_of
from pliant.query.scheduler import CHUNK, Subject, counters, workspace
from pliant.query.traverse import BUDGET, packed
from pliant.results import Separation, Stats

NO_MARKS = np.zeros(0, np.float32)
NOWHERE = np.full((2, 3), np.nan)
EXCESS = 2.0**-40                                                       # above all roundings of distances in float64


class Known(NamedTuple):
    """Which leaves of which trees were nearest last time: where to look first."""
    trees: tuple[Any, Any]
    leaves: tuple[int, int]


def distance(a: Any, b: Any) -> Separation:
    """The least distance between two bodies, the points where it is, and their faces. Either may be a scene: then that of the nearest of
    its bodies, whose ids are in `bodies`; a body that is in both is not compared with itself.

    0 if they meet, exactly then (`collide`); which faces and points are named then may vary. Else the distance is right to 1e-12 of the
    size of the two faces and their distance, and of several pairs of faces that are as near the lowest counts, the face of `a` first. A
    body without faces is infinitely far away: the distance is inf, faces are −1 and points NaN. The leaves that were nearest in the last
    query of the same bodies are looked at first, so a coherent motion costs little.

    >>> import pliant as pl
    >>> low = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> high = [[0, 0, 2], [1, 0, 3], [0, 1, 3]]
    >>> apart = pl.distance(pl.Body(low, [[0, 1, 2]]), pl.Body(high, [[0, 1, 2]]))
    >>> apart.distance, apart.points.tolist(), apart.faces.tolist()
    (2.0, [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], [0, 0])
    """
    if a is b:
        raise ValueError("distance: a and b are the same; self_distance(body) finds what of a body is nearest to itself, scene.distance() "
                         "the nearest two bodies of a scene")
    if hasattr(a, "members_with_faces") or hasattr(b, "members_with_faces"):
        from pliant.query.proximity.scene import nearest

        (bodies, ids, _), (others, other_ids, _) = members_of(a, "a"), members_of(b, "b")
        pairs = [(i, j) for i, one in enumerate(bodies) for j, other in enumerate(others) if one is not other]
        return nearest(bodies, ids, others, other_ids, np.array(pairs, np.int64).reshape(-1, 2))
    validate.body("a", a)
    validate.body("b", b)
    return between(a, b)


def self_distance(body: Any) -> Separation:
    """The least distance between two faces of a body that share no vertex, as `distance`; the lower face first. inf if there are none.

    Vertices are shared by index; `Body(…, weld=True)` also counts those that lie at one place.

    >>> import pliant as pl
    >>> stack = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.self_distance(stack).distance
    1.0
    """
    validate.body("body", body)
    with workspace() as work, Reading(body.guard):
        if len(body.faces) < 2:
            return nowhere()
        shape, flat = start_with(work, body, False), body.placed_vertices()[0]
        near_by = shape.masks(body.mesh())
        work.query["hubs"] = near_by.hubs
        visitor = SelfCollide(flat, flat, work.keys, near_by.begins, near_by.others, near_by.masks)
        return common(search(work, Same(), shape, shape, visitor, body.motion.scale, body.placement, body.nearest, body), body, body)


def between(a: Subject, b: Subject, most: float = np.inf) -> Separation:
    """`distance` after all checks; nothing, if they are farther apart than `most`."""
    with workspace() as work, Reading(a.guard, b.guard):
        if not (len(a.faces) and len(b.faces)):
            return nowhere()
        if far_apart(a, b):
            return from_afar(a, b)
        met = meeting(work, a, b, most)
        if met is None:
            return nowhere()
        if met.m_a is None:
            visitor: Any = Collide(a.motion.flat, b.motion.flat, work.keys)
            return common(search(work, Apart(), met.p, met.q, visitor, met.scale, None, a.nearest, b, most), a, b)
        visitor = CollidePlaced(a.motion.flat, b.motion.flat, work.keys, met.m_a, met.m_b)
        return common(search(work, Placed(), met.p, met.q, visitor, met.scale, met.m_a, a.nearest, b, most), a, b)


def from_afar(a: Subject, b: Subject) -> Separation:
    """`distance` of bodies that are far apart."""
    best = nearest_faces(a.placed_vertices()[0], a.corners, b.placed_vertices()[0], b.corners)[0]
    return Separation(float(best["distance"]), best["ends"].reshape(2, 3).copy(), np.array([best["f"], best["g"]], np.int32),
                      Stats(n_p=int(best["n_p"]), n_x=int(best["n_x"])))


def common(found: Separation, a: Subject, b: Subject) -> Separation:
    """Faces that meet have a point in common: that, twice."""
    if found.distance == 0.0:
        found.points[:] = contacts_of([(found.faces[None], a, b)])["segments"][0, 0]
    return found


def nowhere(stats: Stats = Stats()) -> Separation:  # noqa: B008 - a tuple
    """Of nothing."""
    return Separation(np.inf, NOWHERE.copy(), np.array([-1, -1], np.int32), stats)


def stretch_of(placement: Any) -> float:
    """By how much lengths in model space may exceed those in the world, and more than what rounds."""
    if placement is None:
        return 1 + EXCESS
    turn = placement.reshape(3, 4)[:, :3]
    return 1 + EXCESS + 2 * float(np.abs(turn.T @ turn - np.eye(3)).max())


def search(work: Any, kind: Any, p: Any, q: Any, visitor: Any, scale: float, placement: Any, known: Any, other: Any,
           most: float = np.inf) -> Separation:
    """The nearest two faces of two shapes, if they are no farther apart than `most`; where they were last time is in `known`, by the other
    body, and is noted there."""
    trees, _ = two_trees(work, p, q)
    waits, state = work.waiting(), work.query[0]
    alive = tell(work.query, Nearest(), kind, p, q, visitor, most, scale, stretch_of(placement))
    waits[0] = UNKNOWN
    last = known.get(other)
    if last is not None and last.trees[0] is p.tree and last.trees[1] is q.tree:
        work.stack[1], waits[1], state["position"] = packed(~last.leaves[0], ~last.leaves[1]), 0.0, 2
    marks = [NO_MARKS if shape.marks is None else shape.marks for shape in (p, q)]
    reason = BUDGET
    while reason == BUDGET:
        state["budget"] = CHUNK
        with silent():
            reason = approach(visitor, *trees, *marks, work.query, work.stack, waits)
    del alive
    if state["face_a"] < 0:
        return nowhere(counters(state))
    known[other] = Known((p.tree, q.tree), (int(state["leaf_a"]), int(state["leaf_b"])))
    return Separation(float(state["best"]), state["ends"].reshape(2, 3).copy(), np.array([state["face_a"], state["face_b"]], np.int32),
                      counters(state))
