"""Rays into bodies, scenes and grids: the nearest hit, any hit, all hits. Exact and watertight (`geometry/ray_triangle.py`).

A ray that cannot hit anything is a miss, not an error: one with NaN or infinity in it, without a direction, or with t_min > t_max.
"""
from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import memory, validate
from pliant.core import threads as pool
from pliant.core.jit import DISABLED, silent
from pliant.core.soa import aligned
from pliant.core.threads import Reading
from pliant.errors import TooManyPairsError
from pliant.query.ray.batch import FEW, FIRST_PACE, TILE, Answers, Hand, Rays, cast_some, exact_entry, note_body, sight_entry
from pliant.query.ray.leaf import ALL, ANY, BATCH, BATCHED, CLOSEST, FOUND, FULL, GAZE, N_WIDE, NEEDED, SEEN
from pliant.query.ray.top_level import Roots, bound
from pliant.query.traverse import COUNTERS
from pliant.results import AllHits, Hit, Hits, Stats
from pliant.tree.nodes import BUILDERS

TRAVERSALS = ("wide", "stackless")
CHUNK = 1 << 11                                                         # rays of one call: about a millisecond
ROOM = 1 << 12                                                          # hits to begin with, where all are wanted
PICTURE, NARROW, FARTHER = 1 << 13, 32, 8.0                             # rays that are looked at; in a row; steps between neighbours
SAMPLE = 256                                                            # rays
EVERY = np.int64(-1)                                                    # a mask with all bits
NOT_PLACED = np.zeros(0)
NO_TREE = np.zeros((0, 8), np.int32), np.zeros(0, np.int32), np.zeros((0, 8), np.int32), np.zeros(0)


def cast(target: Any, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf,
         mask: ArrayLike | None = None, traversal: str = "wide") -> Hits:
    """The nearest face that each ray origin + t · direction hits, for t from t_min to t_max, in a body, a scene or a grid.

    origins, directions : (n, 3), or (3,) for all rays; directions of any length, t is in units of them
    t_min, t_max : numbers, or (n,)
    mask : an integer, or (n,): a ray sees the bodies of a scene that were added with a `mask` that shares a bit with its own
    traversal : "wide", nearest first and many rays at once, or "stackless", node after node (thesis C, Fig 7.2); the answer is the same

    Edges and corners belong to all faces around them: nothing slips through a closed mesh. Faces without area are not hit, nor are those in
    whose plane a ray lies; their neighbours are. Among hits of the same t that of the smallest body, then of the smallest face counts. Rays
    with NaN or infinity, without a direction, or with t_min > t_max hit nothing.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> hits = pl.cast(body, [[0.25, 0.25, -1], [2, 2, -1]], [0, 0, 1])
    >>> hits.t.tolist(), hits.face.tolist()
    ([1.0, inf], [0, -1])
    """
    rays = rays_of(origins, directions, t_min, t_max, mask)
    answers, _, stats = look(target, rays, CLOSEST, validate.choice("traversal", traversal, TRAVERSALS) == "stackless")
    return Hits(answers.t, answers.face, answers.body, answers.uv.reshape(-1, 2), stats)


def occluded(target: Any, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf,
             mask: ArrayLike | None = None) -> NDArray[np.bool_]:
    """(n,) bool: does each ray hit anything between t_min and t_max? Arguments as for `cast`, and quicker.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> pl.occluded(body, [0.25, 0.25, -1], [[0, 0, 1], [0, 0, -1]]).tolist()
    [True, False]
    """
    answers, _, _ = look(target, rays_of(origins, directions, t_min, t_max, mask), ANY)
    return np.asarray(answers.face >= 0)


def cast_all(target: Any, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf,
             mask: ArrayLike | None = None) -> AllHits:
    """Every face that each ray hits between t_min and t_max, sorted by ray, then t, then body and face. Arguments as for `cast`.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.cast_all(body, [0.25, 0.25, -1], [0, 0, 1]).t.tolist()
    [1.0, 2.0]
    """
    _, hits, stats = look(target, rays_of(origins, directions, t_min, t_max, mask), ALL)
    hits = hits[np.lexsort((hits["face"], hits["body"], hits["t"], hits["ray"]))]
    return AllHits(hits["ray"].copy(), hits["t"].copy(), hits["face"].astype(np.int32), hits["body"].copy(),
                   np.stack([hits["u"], hits["v"]], axis=1), stats)


def pick(target: Any, origin: ArrayLike, direction: ArrayLike, *, t_min: float = 0.0, t_max: float = np.inf,
         mask: int | None = None) -> Hit | None:
    """What one ray hits first, or None: `cast` for a click. Only what it comes near follows the motion of its body.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> pl.pick(body, [0.25, 0.25, -1], [0, 0, 1]).point.tolist()
    [0.25, 0.25, 0.0]
    """
    rays, n = rays_of(origin, direction, t_min, t_max, mask, ("origin", "direction"))
    if rays.steps.any():
        raise ValueError("pick: expected one ray: an origin (3,), a direction (3,) and numbers; use cast for several")
    answers, _, _ = look(target, (rays, n), CLOSEST)
    if answers.face[0] < 0:
        return None
    t = float(answers.t[0])
    return Hit(t, int(answers.face[0]), int(answers.body[0]), answers.uv, rays.origins + t * rays.directions)


# --- what is asked ---------------------------------------------------------------------------------------------------------------------

def rays_of(origins, directions, t_min, t_max, mask, called=("origins", "directions")):
    """(Rays, how many), from outside."""
    parts = [validate.vectors(called[0], origins), validate.vectors(called[1], directions)]
    parts += [validate.numbers("t_min", t_min), validate.numbers("t_max", t_max), validate.masks("mask", EVERY if mask is None else mask)]
    names = (*called, "t_min", "t_max", "mask")
    n = next((many for _, many in parts if many is not None), 1)
    for name, (_, many) in zip(names, parts, strict=True):
        if many is not None and many != n:
            other = next(other for other, (_, some) in zip(names, parts, strict=True) if some is not None)
            raise ValueError(f"{name}: has {many} rows, {other} has {n}; expected as many, or one for all")
    steps = np.array([0 if many is None else width for (_, many), width in zip(parts, (3, 3, 1, 1, 1), strict=True)], np.int64)
    width = width_of(parts[0][0], parts[1][0]) if n >= PICTURE else 0
    return Rays(*(array for array, _ in parts), steps, n, width), n


def width_of(origins, directions):
    """How many rays are in a row, if they look like those of a picture, row by row: neighbours go nearly the same way, but for the last of
    a row and the first of the next. 0: they do not. A guess: it changes the order of the work, nothing else."""
    with np.errstate(all="ignore"):
        rows = [flat.reshape(-1, 3)[:PICTURE] for flat in (origins, directions) if len(flat) > 3]
        steps = sum(np.square(np.diff(some, axis=0)).sum(axis=1) for some in rows)
        jumps = np.flatnonzero(steps > FARTHER**2 * np.median(steps)) + 1
    width = int(jumps[0]) if len(jumps) > 2 else 0
    return width if width > NARROW and width % TILE == 0 and np.array_equal(jumps, np.arange(width, PICTURE, width)) else 0


class Subjects(NamedTuple):
    """The bodies that are looked into: as rays see them, and their shapes; those who are `stackless` keep what that takes."""
    seen: np.ndarray
    shapes: list[Any]
    stackless: bool
    kept: dict[int, Any]

    def ready(self, k):
        """Body k has followed its motion: only now it is known which tree it has."""
        if self.stackless:
            self.kept[k] = self.shapes[k].skips()
            self.seen[k]["skips"] = self.kept[k].ctypes.data
        self.seen[k]["ready"] = 1


def members_of(target, name="target"):
    """(bodies, their numbers, their masks) of a body or a scene, without those that have no faces."""
    if hasattr(target, "members_with_faces"):
        return target.members_with_faces()
    validate.body(name, target)
    return ([target], [0], [EVERY]) if len(target) else ([], [], [])


def subjects_of(bodies, numbers, masks, stackless):
    """As rays see them."""
    seen = aligned(len(bodies), SEEN)
    shapes = [body.shape_at(body.motion.scale) for body in bodies]
    for k, body in enumerate(bodies):
        note_body(seen, k, body.motion.box, NOT_PLACED if body.placement is None else body.placement)
    seen["context"], seen["place"] = [shape.context for shape in shapes], [body.motion.address for body in bodies]
    seen["entry"] = [sight_entry(shape.options.family.volume, shape.tree.width)[0] for shape in shapes]
    seen["number"], seen["mask"] = numbers, masks
    subjects = Subjects(seen, shapes, stackless, {})
    for k in [k for k, shape in enumerate(shapes) if not shape.stale]:
        subjects.ready(k)
    return subjects


def roots_of(seen):
    """Room to sort the bodies, and a tree of their boxes if they are many: to the builder a box is a triangle from its low corner to its
    high one and back."""
    room = np.empty(len(seen)), np.empty(len(seen), np.int64), np.zeros(len(seen), np.int64)
    if len(seen) <= FEW:
        return Roots(*room, *NO_TREE)
    rows = np.zeros((len(seen), 2, 4))
    rows[:, 0, :3], rows[:, 1, :3] = seen["box"][:, :3], seen["box"][:, 4:7]
    middle, size = rows[..., :3].mean(axis=(0, 1)), np.abs(rows[..., :3]).max(initial=1e-300)
    rows[..., :3] = (rows[..., :3] - middle) / size                     # float32 does for who is next to whom
    faces = 2 * np.arange(len(seen), dtype=np.int32)[:, None] + np.array([0, 1, 0], np.int32)
    tree = BUILDERS["sah"].build(np.ascontiguousarray(rows.reshape(-1, 4), np.float32), faces, 8, 8)
    roots = Roots(*room, tree.child, tree.count, tree.faces, np.empty(64 * len(tree.child)))
    bound(roots, seen)
    return roots


def met_by_some(seen, rays):
    """Numbers of bodies that have not followed their motion yet and that some of the rays, of a sample, will ask for: with several threads
    they follow at once (thesis C 7.1 does not, and is limited by it); the others when they are asked for."""
    stale = np.flatnonzero(seen["ready"] == 0)
    if len(stale) < 2:
        return []
    sample = np.linspace(0, rays.n - 1, min(rays.n, SAMPLE)).astype(np.int64)
    o, d = (flat.reshape(-1, 3)[sample if step else [0]] for flat, step in zip((rays.origins, rays.directions), rays.steps, strict=False))
    with np.errstate(all="ignore"):
        sides = [(seen["box"][stale, None, k:k + 3] - o) / d for k in (0, 4)]
        near, far = np.minimum(*sides).max(axis=2), np.maximum(*sides).min(axis=2)
        return stale[(near <= far).any(axis=1) & (far >= 0).any(axis=1)].tolist()


def look(target, asked, kind, stackless=False):
    """(Answers, hits in any order, Stats) of all rays. A target may know itself how to look into it: a grid does."""
    rays, n = asked
    if hasattr(type(target), "look"):
        return target.look(rays, kind)
    bodies, numbers, masks = members_of(target)
    if not bodies or not n:
        return nothing(n)
    with Reading(*(body.guard for body in bodies)):
        return _Job(rays, kind, subjects_of(bodies, numbers, masks, stackless)).run()


def hits_along(body, points, direction, t_min):
    """All hits (FOUND) of rays from points (n, 3) along one direction (3,), in any order; for those who read the body."""
    rays, _ = rays_of(points, direction, t_min, np.inf, None)
    return _Job(rays, ALL, subjects_of([body], [0], [EVERY], False)).run()[1]


def nothing(n):
    """What n rays hit where nothing is."""
    return Answers(np.full(n, np.inf), np.full(n, -1, np.int32), np.full(n, -1, np.int64), np.zeros(2 * n)), np.zeros(0, FOUND), Stats()


_free = threading.local()


@contextmanager
def hands():
    """(batch, gazes, wide) that nobody else uses, kept from one query of a thread to the next."""
    kept = _free.__dict__.setdefault("kept", [])
    mine = kept.pop() if kept else (aligned(1, BATCHED), aligned(BATCH, GAZE), np.zeros(N_WIDE * BATCH))
    mine[0][:] = 0
    try:
        yield mine
    finally:
        kept.append(mine)


class Chunks:
    """All rays of a query; workers take chunks of them until there are none. Whoever knows how to answer some has `work(cancel)`."""

    def __init__(self, rays, kind):
        n = 0 if kind == ALL else rays.n
        self.rays, self.kind, self.answers = rays, kind, Answers(np.empty(n), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(2 * n))
        self.next, self.lock, self.found, self.counters = 0, threading.Lock(), [], np.zeros(len(COUNTERS), np.int64)

    def take(self):
        """The next chunk."""
        with self.lock:
            start, self.next = self.next, min(self.next + CHUNK, self.rays.n)
            return start, self.next

    def ahead(self):
        """What can be done before, by several threads at once: jobs."""
        return []

    def serve(self, cancel):
        """A worker, in its thread."""
        with silent():
            self.work(cancel)

    def run(self):
        """(Answers, hits in any order, Stats), when all rays are answered."""
        workers, cancel = min(pool.threads(), -(-self.rays.n // CHUNK)), threading.Event()
        if workers == 1:
            self.serve(cancel)
        else:
            pool.run(self.ahead(), cancel)
            pool.run([partial(self.serve, cancel)] * workers, cancel)
        return self.answers, np.concatenate(self.found), Stats(*self.counters.tolist())


class _Job(Chunks):
    """All rays of a query into bodies."""

    def __init__(self, rays, kind, subjects):
        super().__init__(rays, kind)
        self.subjects, self.roots = subjects, roots_of(subjects.seen)

    def ahead(self):
        """Bodies follow their motion."""
        return [partial(self.follow, k) for k in met_by_some(self.subjects.seen, self.rays)]

    def follow(self, k):
        """Let body k follow its motion."""
        updated = self.subjects.shapes[k].follow()
        self.subjects.ready(k)
        with self.lock:
            self.counters[COUNTERS.index("n_u")] += updated

    def work(self, cancel):
        """Answer chunks until there are none."""
        with hands() as (batch, gazes, wide):
            self._work(cancel, batch, gazes, wide)

    def _work(self, cancel, batch, gazes, wide):
        hits, state, seen = np.zeros(ROOM if self.kind == ALL else 1, FOUND), batch[0], self.subjects.seen
        roots = self.roots._replace(**{name: getattr(self.roots, name).copy() for name in ("nears", "order", "passed")})
        state["kind"], state["exact"], state["bodies"], state["gazes"], state["wide"] = (
            self.kind, exact_entry()[0], seen.ctypes.data, gazes.ctypes.data, wide.ctypes.data)
        state["pace"], state["choosy"] = FIRST_PACE, bool((self.rays.masks != EVERY).any() or (seen["mask"] == 0).any())
        while not cancel.is_set():
            r, end = self.take()
            if r == end:
                break
            while r < end and not cancel.is_set():
                state["hits"], state["room"] = hits.ctypes.data, len(hits)
                about = Hand(batch, gazes, seen, hits, wide) if DISABLED else batch.ctypes.data
                r = cast_some(self.rays, self.answers, seen, roots, gazes, batch, wide, about, r, end)
                if state["reason"] == NEEDED:
                    self.follow(int(state["needed"]))
                elif state["reason"] == FULL:
                    hits = grown(hits)
        with self.lock:
            self.counters += [int(state[name]) for name in COUNTERS]
            self.found.append(hits[:int(state["n_hits"])])
            for shape, passed in zip(self.subjects.shapes, roots.passed.tolist(), strict=True):
                shape.passed += passed


def grown(hits):
    """Twice the room, if memory allows."""
    if not memory.fits(6 * hits.nbytes):
        raise TooManyPairsError(f"there are more than {len(hits):,} hits, and memory for twice as many is not available; "
                                "cast fewer rays at a time")
    return np.concatenate([hits, np.zeros_like(hits)])

