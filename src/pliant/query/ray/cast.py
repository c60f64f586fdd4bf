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
from pliant.core.jit import DISABLED, ignore_float_errors
from pliant.core.soa import aligned_zeros
from pliant.core.threads import ReadLock
from pliant.errors import ArgumentError, TooManyPairsError
from pliant.query.options import DEFAULT_TRAVERSAL, Traversal, check_traversal
from pliant.query.ray.batch import (
    FIRST_BATCH,
    MAX_SORTED_BODIES,
    BatchArrays,
    exact_test_entry,
    set_body_records,
    trace_batches,
    trace_entry,
)
from pliant.query.ray.leaf import (
    ALL_HITS,
    ANY_HIT,
    BATCH,
    BATCH_DTYPE,
    BODY_DTYPE,
    CLOSEST_HIT,
    FULL,
    HIT_DTYPE,
    N_WORLD_ROWS,
    NEEDS_REFIT,
    RAY_DTYPE,
)
from pliant.query.ray.load_rays import MIN_IMAGE, TILE, RayHits, Rays, image_width
from pliant.query.ray.top_level import TopLevel, fit_boxes
from pliant.query.target import BodyGroup, QueryBody, RayTarget, check_body
from pliant.query.traverse import COUNTERS
from pliant.results import AllHits, Hit, Hits, HitTriangles, Stats, surface_version
from pliant.tree.nodes import BUILDERS

CHUNK_SIZE, LONE_CHUNK_SIZE = 1 << 11, 1 << 13                          # rays of a call, a millisecond or less: of several threads, of one
FIRST_HITS = 1 << 12                                                    # hits to begin with, where all are wanted
SAMPLE_RAYS = 256                                                       # rays
NEVER = threading.Event()                                               # never set: nobody cancels
ANY_MASK = np.int64(-1)                                                 # a mask with all bits
NO_TRANSFORM, NO_TRANSFORMS = np.zeros(12), np.zeros((0, 12))
NO_TREE = np.zeros((0, 8), np.int32), np.zeros(0, np.int32), np.zeros((0, 8), np.int32), np.zeros(0)


def cast(target: QueryBody | BodyGroup | RayTarget, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0,
         t_max: ArrayLike = np.inf, mask: ArrayLike | None = None, traversal: Traversal = DEFAULT_TRAVERSAL) -> Hits:
    """The nearest hit of each ray, origin + t · direction with t from t_min to t_max, on a body, a scene or a uniform grid.

    Parameters
    ----------
    target : a `Body`, a `Scene` or a `UniformGrid`
    origins, directions : (n, 3), or (3,) for all rays; directions have any length, and t is in units of that length
    t_min, t_max : numbers, or (n,)
    mask : an integer, or (n,): a ray tests the bodies of a scene that were added with a `mask` that shares a bit with it
    traversal : how BVHs are traversed; changes the work, not the result: see `Traversal`

    Exact and watertight: edges and corners belong to all faces around them, so no ray passes through a closed mesh. Faces without
    area, and faces whose plane contains the ray, are not hit; their adjacent faces are. Of hits with the same t, the body with the
    lowest id counts, then the face with the lowest index. Rays with NaN or infinity, with direction 0, or with t_min > t_max hit
    nothing.

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> hits = pl.cast(body, [[0.25, 0.25, -1], [2, 2, -1]], [0, 0, 1])
    >>> hits.t.tolist(), hits.face.tolist()
    ([1.0, inf], [0, -1])
    """
    rays, version = rays_of(origins, directions, t_min, t_max, mask), surface_version(target)
    results, _, stats = trace_rays(target, rays, CLOSEST_HIT, check_traversal(traversal).stackless)
    return Hits(results.face, results.body, results.uv.reshape(-1, 2), stats, HitTriangles(target, version, results.body, results.face),
                results.t)


def occluded(target: QueryBody | BodyGroup | RayTarget, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0,
             t_max: ArrayLike = np.inf, mask: ArrayLike | None = None) -> NDArray[np.bool_]:
    """(n,) bool: whether each ray hits anything between t_min and t_max. Faster than `cast`: the first hit found ends a ray.

    Parameters
    ----------
    target : as for `cast`
    origins, directions : as for `cast`
    t_min, t_max, mask, traversal : as for `cast`

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> pl.occluded(body, [0.25, 0.25, -1], [[0, 0, 1], [0, 0, -1]]).tolist()
    [True, False]
    """
    results, _, _ = trace_rays(target, rays_of(origins, directions, t_min, t_max, mask), ANY_HIT)
    return np.asarray(results.face >= 0)


def cast_all(target: QueryBody | BodyGroup | RayTarget, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0,
             t_max: ArrayLike = np.inf, mask: ArrayLike | None = None) -> AllHits:
    """All hits of each ray between t_min and t_max, sorted by ray, then t, then body and face.

    Parameters
    ----------
    target : as for `cast`
    origins, directions : as for `cast`
    t_min, t_max, mask : as for `cast`

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 1, 2], [3, 4, 5]])
    >>> pl.cast_all(body, [0.25, 0.25, -1], [0, 0, 1]).t.tolist()
    [1.0, 2.0]
    """
    version = surface_version(target)
    _, hits, stats = trace_rays(target, rays_of(origins, directions, t_min, t_max, mask), ALL_HITS)
    hits = hits[np.lexsort((hits["face"], hits["body"], hits["t"], hits["ray"]))]
    face, body = hits["face"].astype(np.int32), hits["body"].copy()
    return AllHits(face, body, np.stack([hits["u"], hits["v"]], axis=1), stats, HitTriangles(target, version, body, face), hits["t"].copy(),
                   hits["ray"].copy())


def pick(target: QueryBody | BodyGroup | RayTarget, origin: ArrayLike, direction: ArrayLike, *, t_min: float = 0.0, t_max: float = np.inf,
         mask: int | None = None) -> Hit | None:
    """The nearest hit of one ray, or None: `cast` for a click. Only the BVHs of bodies whose boxes the ray reaches are refitted.

    Parameters
    ----------
    target : as for `cast`
    origin, direction : (3,)
    t_min, t_max, mask : numbers, as for `cast`

    >>> import pliant as pl
    >>> body = pl.Body([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> pl.pick(body, [0.25, 0.25, -1], [0, 0, 1]).point.tolist()
    [0.25, 0.25, 0.0]
    """
    rays, n = rays_of(origin, direction, t_min, t_max, mask, ("origin", "direction"))
    if rays.strides.any():
        raise ArgumentError("pick: expected one ray: an origin (3,), a direction (3,) and numbers; use cast for several")
    version = surface_version(target)
    results, _, _ = trace_rays(target, (rays, n), CLOSEST_HIT)
    if results.face[0] < 0:
        return None
    t = float(results.t[0])
    return Hit(t, int(results.face[0]), int(results.body[0]), results.uv, rays.origins + t * rays.directions,
               HitTriangles(target, version, results.body, results.face))


# --- what is asked ---------------------------------------------------------------------------------------------------------------------

def rays_of(origins, directions, t_min, t_max, mask, labels=("origins", "directions")):
    """(Rays, how many), from outside."""
    parts = [validate.vectors(labels[0], origins), validate.vectors(labels[1], directions)]
    parts += [validate.numbers("t_min", t_min), validate.numbers("t_max", t_max),
              validate.masks("mask", -1 if mask is None else mask)]
    names = (*labels, "t_min", "t_max", "mask")
    n = next((n_rows for _, n_rows in parts if n_rows is not None), 1)
    for name, (_, n_rows) in zip(names, parts, strict=True):
        if n_rows is not None and n_rows != n:
            other = next(other for other, (_, some) in zip(names, parts, strict=True) if some is not None)
            raise ArgumentError(f"{name}: has {n_rows} rows, {other} has {n}; expected as many, or one for all")
    steps = np.array([0 if n_rows is None else width for (_, n_rows), width in zip(parts, (3, 3, 1, 1, 1), strict=True)], np.int64)
    width = image_width(parts[0][0], parts[1][0]) if n >= MIN_IMAGE else 0
    return Rays(*(array for array, _ in parts), steps, n, width), n


class RayTargets(NamedTuple):
    """The bodies that are looked into: as rays see them, and their shapes; those who are `stackless` keep what that takes."""
    records: np.ndarray
    bvhs: list[Any]
    stackless: bool
    skip_links: dict[int, Any]

    def set_ready(self, k):
        """Body k has been refitted: only now it is known which tree it has."""
        if self.stackless:
            self.skip_links[k] = self.bvhs[k].skips()
            self.records[k]["skips"] = self.skip_links[k].ctypes.data
        self.records[k]["ready"] = 1


def bodies_of(target, name="target"):
    """(bodies, their numbers, their masks) of a body or a scene, without those that have no faces."""
    if isinstance(target, BodyGroup):
        return target._members_with_faces()
    check_body(name, target)
    return ([target], [0], [ANY_MASK]) if len(target) else ([], [], [])


def ray_targets(bodies, numbers, masks, stackless):
    """As rays see them."""
    targets = RayTargets(aligned_zeros(len(bodies), BODY_DTYPE), [body._bvh for body in bodies], stackless, {})
    set_targets(targets, range(len(bodies)), bodies, numbers, masks)
    records = targets.records
    if stackless:
        for k in np.flatnonzero(records["ready"]).tolist():
            targets.set_ready(k)
    return targets


def set_targets(targets, rows, bodies, numbers, masks):
    """Set the records and shapes of the bodies of these rows."""
    columns, boxes, transforms, moved = [], [], [], False
    for k in rows:
        body = bodies[k]
        motion, matrix = body._motion, body._matrix
        bvh = targets.bvhs[k] = body._bvh_at(motion.scale)
        entry = trace_entry(bvh.options.volume_type.volume, bvh.tree.width)[0]
        columns.append((k, bvh.context, motion.address, entry, numbers[k], masks[k], bvh.ready_for_queries))
        boxes.append(motion.box)
        transforms.append(NO_TRANSFORM if matrix is None else matrix)
        moved |= matrix is not None
    set_body_records(targets.records, np.array(columns, np.int64), np.array(boxes), np.array(transforms) if moved else NO_TRANSFORMS)


def build_top_level(records):
    """Room to sort the bodies, and a tree of their boxes if they are many: to the builder a box is a triangle from its low corner to its
    high one and back."""
    arrays = np.empty(len(records)), np.empty(len(records), np.int64), np.zeros(len(records), np.int64)
    if len(records) <= MAX_SORTED_BODIES:
        return TopLevel(*arrays, *NO_TREE)
    rows = np.zeros((len(records), 2, 4))
    rows[:, 0, :3], rows[:, 1, :3] = records["box"][:, :3], records["box"][:, 4:7]
    center, size = rows[..., :3].mean(axis=(0, 1)), np.abs(rows[..., :3]).max(initial=1e-300)
    rows[..., :3] = (rows[..., :3] - center) / size                     # float32 does for who is next to whom
    faces = 2 * np.arange(len(records), dtype=np.int32)[:, None] + np.array([0, 1, 0], np.int32)
    tree = BUILDERS["sah"].build(np.ascontiguousarray(rows.reshape(-1, 4), np.float32), faces, 8, 8)
    top_level = TopLevel(*arrays, tree.child, tree.count, tree.faces, np.empty(64 * len(tree.child)))
    fit_boxes(top_level, records)
    return top_level


def sample_stale_targets(records, rays):
    """Indices of bodies that have not been refitted yet and that some of the rays, of a sample, will reach: with several threads
    they are refitted at once (thesis C 7.1 does not, and is limited by it); the others when they are asked for."""
    stale = np.flatnonzero(records["ready"] == 0)
    if len(stale) < 2:
        return []
    sample = np.linspace(0, rays.n - 1, min(rays.n, SAMPLE_RAYS)).astype(np.int64)
    o, d = (flat.reshape(-1, 3)[sample if step else [0]] for flat, step in zip((rays.origins, rays.directions), rays.strides, strict=False))
    with np.errstate(all="ignore"):
        sides = [(records["box"][stale, None, k:k + 3] - o) / d for k in (0, 4)]
        near, far = np.minimum(*sides).max(axis=2), np.maximum(*sides).min(axis=2)
        return stale[(near <= far).any(axis=1) & (far >= 0).any(axis=1)].tolist()


def trace_rays(target, rays_and_count, kind, stackless=False):
    """(results, hits in any order, Stats) of all rays. A target may know itself how to look into it: a grid does."""
    rays, n = rays_and_count
    if isinstance(target, RayTarget):
        return target._trace(rays, kind)
    bodies, numbers, masks = bodies_of(target)
    if not bodies or not n:
        return no_hits(n)
    with ReadLock(*(body._guard for body in bodies)):
        if isinstance(target, BodyGroup) and not stackless:
            return _BodyJob(rays, kind, *target._ray_targets.of(bodies, numbers, masks)).run()
        return _BodyJob(rays, kind, ray_targets(bodies, numbers, masks, stackless)).run()


def no_hits(n):
    """What n rays hit where nothing is."""
    return RayHits(np.full(n, np.inf), np.full(n, -1, np.int32), np.full(n, -1, np.int64), np.zeros(2 * n)), np.zeros(0, HIT_DTYPE), Stats()


_thread_local = threading.local()


@contextmanager
def scratch_buffers():
    """(batch, states of rays, rows of the world) that nobody else uses, kept from one query of a thread to the next."""
    free_buffers = _thread_local.__dict__.setdefault("kept", [])
    buffers = free_buffers.pop() if free_buffers else make_buffers()
    buffers[0][:] = buffers[3]
    try:
        yield buffers[:3]
    finally:
        free_buffers.append(buffers)


def make_buffers():
    """New buffers, and the batch that every query begins with."""
    batch, ray_states, world = aligned_zeros(1, BATCH_DTYPE), aligned_zeros(BATCH, RAY_DTYPE), np.zeros(N_WORLD_ROWS * BATCH)
    state = batch[0]
    state["exact"], state["ray_states"], state["world"] = exact_test_entry()[0], ray_states.ctypes.data, world.ctypes.data
    state["batch_size"] = FIRST_BATCH
    return batch, ray_states, world, batch.copy()


class RayJob:
    """All rays of a query; workers take chunks of them until there are none. Whoever knows how to answer some has `work(cancel)`."""

    def __init__(self, rays, kind):
        n = 0 if kind == ALL_HITS else rays.n
        self.rays, self.kind, self.results = rays, kind, RayHits(np.empty(n), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(2 * n))
        unit, size = max(TILE * rays.width, 1), CHUNK_SIZE if pool.threads() > 1 else LONE_CHUNK_SIZE
        self.chunk = -(-size // unit) * unit                            # of a picture, whole rows of tiles: see `begin_band`
        self.next, self.lock, self.hit_chunks, self.counters = 0, threading.Lock(), [], [0] * len(COUNTERS)

    def next_chunk(self):
        """The next chunk."""
        with self.lock:
            start, self.next = self.next, min(self.next + self.chunk, self.rays.n)
            return start, self.next

    def prepare_tasks(self):
        """What can be done before, by several threads at once: jobs."""
        return []

    def run_worker(self, cancel):
        """A worker, in its thread."""
        with ignore_float_errors():
            self.trace_chunks(cancel)

    def run(self):
        """(results, hits in any order, Stats), when all rays are answered."""
        workers = 1 if self.rays.n <= self.chunk else min(pool.threads(), -(-self.rays.n // self.chunk))
        if workers == 1:
            self.run_worker(NEVER)
            return self.results, self.hit_chunks[0], Stats(*self.counters)
        cancel = threading.Event()
        pool.run_jobs(self.prepare_tasks(), cancel)
        pool.run_jobs([partial(self.run_worker, cancel)] * workers, cancel)
        return self.results, np.concatenate(self.hit_chunks), Stats(*self.counters)


class _BodyJob(RayJob):
    """All rays of a query into bodies."""

    def __init__(self, rays, kind, targets, top_level=None):
        super().__init__(rays, kind)
        self.targets, self.top_level = targets, build_top_level(targets.records) if top_level is None else top_level
        self.has_masks = bool((rays.masks != ANY_MASK).any() or (targets.records["mask"] == 0).any())

    def prepare_tasks(self):
        """One task for each BVH to refit."""
        return [partial(self.refit, k) for k in sample_stale_targets(self.targets.records, self.rays)]

    def refit(self, k):
        """Refit the BVH of body k."""
        updated = self.targets.bvhs[k].refit()
        self.targets.set_ready(k)
        if updated:
            with self.lock:
                self.counters[COUNTERS.index("n_u")] += int(updated)

    def trace_chunks(self, cancel):
        """Answer chunks until there are none."""
        with scratch_buffers() as (batch, ray_states, world):
            self._trace_chunks(cancel, batch, ray_states, world)

    def _trace_chunks(self, cancel, batch, ray_states, world):
        hits, state, records = np.zeros(FIRST_HITS if self.kind == ALL_HITS else 1, HIT_DTYPE), batch[0], self.targets.records
        top_level = self.top_level.with_own_lists()
        state["kind"], state["bodies"], state["has_masks"] = self.kind, records.ctypes.data, self.has_masks
        batch_arg = self.bind_hits(batch, ray_states, hits, world)
        while not cancel.is_set():
            r, end = self.next_chunk()
            if r == end:
                break
            while r < end and not cancel.is_set():
                r = trace_batches(self.rays, self.results, records, top_level, ray_states, batch, world, batch_arg, r, end)
                if state["reason"] == NEEDS_REFIT:
                    self.refit(int(state["stale_body"]))
                elif state["reason"] == FULL:
                    hits = grow_hits(hits)
                    batch_arg = self.bind_hits(batch, ray_states, hits, world)
        with self.lock:
            self.counters = [total + int(state[name]) for total, name in zip(self.counters, COUNTERS, strict=True)]
            self.hit_chunks.append(hits[:int(state["n_hits"])])
            for k in top_level.ray_tests.nonzero()[0].tolist():
                self.targets.bvhs[k].ray_tests += int(top_level.ray_tests[k])

    def bind_hits(self, batch, ray_states, hits, world):
        """Say in the batch where hits go; the batch as entries take it."""
        batch[0]["hits"], batch[0]["hit_capacity"] = hits.ctypes.data, len(hits)
        return BatchArrays(batch, ray_states, self.targets.records, hits, world) if DISABLED else batch.ctypes.data


def grow_hits(hits):
    """Twice the room, if memory allows."""
    if not memory.fits_in_memory(6 * hits.nbytes):
        raise TooManyPairsError(f"there are more than {len(hits):,} hits, and memory for twice as many is not available; "
                                "cast fewer rays at a time")
    return np.concatenate([hits, np.zeros_like(hits)])

