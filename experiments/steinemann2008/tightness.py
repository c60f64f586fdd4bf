"""The tightness of the volumes of blended bodies, level by level, and the cost of one volume (paper M, Table 1 and Fig 5).

A BOUND gives the volume around each of many sets of vertices in a frame: those under the root and under each lane of a BVH. The library's
are read from the nodes of a body, all refitted by its policy, the root's from the bounds of node 0; others, in OTHERS, are functions of the
sets. The radius of a box is half its diagonal, as in the paper; ratios are to that of the smallest box, which all must enclose.

The cost of a root: for the library node 0 with all its lanes; and others, in ROOTS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pliant
from experiments.clock import Run, Session
from experiments.larsson2001.scenes import Rows
from experiments.steinemann2008.scenes import Blended, Blends
from pliant.core.jit import kernel
from pliant.query.traverse import refresh_node
from pliant.refit.lazy import vertex_spans

ROUNDING = 1e-12  # of the largest coordinate: the most by which bounds in float64, not rounded outward, may be short
Indices = NDArray[np.int64]


class Sets(NamedTuple):
    """Sets of vertices: set i is order[spans[i, 0] : spans[i, 1]], which may repeat vertices; it belongs to a level, 0 for the root, which
    is set 0. The others are lanes `lane` of nodes `node`."""

    order: NDArray[np.int32]
    spans: Indices
    level: Indices
    node: Indices
    lane: Indices


class Volumes(NamedTuple):
    """Boxes (n, 6) around volumes, and the radii (n,) of the volumes themselves."""

    boxes: Rows
    radii: Rows


Bound = Callable[[Blended, Sets], Callable[[Rows], Volumes]]  # from a body and its sets: a function from maps (m, 3, 4) to volumes
class Job(NamedTuple):
    """A function of the maps of a frame, in two parts: before the clock starts, and timed; it returns the box (6,)."""

    ready: Callable[[Rows], None]
    do: Callable[[Rows], None]
    box: Callable[[], Rows]


Root = Callable[[Blended], Job]
OTHERS: dict[str, Bound] = {}
ROOTS: dict[str, Root] = {}


class Way(NamedTuple):
    """A bound by its name; `options` of `Body.blended`, or None for one of OTHERS."""

    name: str
    options: dict[str, Any] | None


def sets_of(body: Any) -> Sets:
    """All sets of a body's BVH."""
    tree = body._bvh_at(body._motion.scale).tree
    found = vertex_spans(tree, body._motion.count)
    node, lane = np.nonzero(np.arange(tree.width) < tree.count[:, None])
    every = np.unique(tree.vertices)
    spans = np.concatenate([[[len(found.order), len(found.order) + len(every)]], found.spans[node, lane]])
    level = np.concatenate([[0], found.levels[node].astype(np.int64) + 1])
    return Sets(np.concatenate([found.order, every.astype(np.int32)]), spans, level, node, lane)


@kernel  # type: ignore[untyped-decorator]
def boxes_of(vertices: Any, order: Any, spans: Any, boxes: Any) -> None:
    """The smallest box around each set: low and high corner."""
    for i in range(len(spans)):
        for k in range(3):
            low = high = vertices[order[spans[i, 0]], k]
            for at in range(spans[i, 0] + 1, spans[i, 1]):
                low, high = min(low, vertices[order[at], k]), max(high, vertices[order[at], k])
            boxes[i, k], boxes[i, k + 3] = low, high


def radii_of(boxes: Rows) -> Rows:
    """Half diagonals of boxes (n, 6)."""
    made: Rows = 0.5 * np.linalg.norm(boxes[:, 3:] - boxes[:, :3], axis=1)
    return made


@kernel  # type: ignore[untyped-decorator]
def freshen_all(nodes: Any, frame: Any, entry: Any, context: Any) -> None:
    """Refit all nodes, parents first."""
    for i in range(len(nodes)):
        refresh_node(nodes, i, frame, entry, context)


def product(options: dict[str, Any]) -> Bound:
    """The bound of bodies with these options; their BVH must be that of the sets."""

    def of(blended: Blended, sets: Sets) -> Callable[[Rows], Volumes]:
        body = pliant.Body.blended(blended.rest, blended.faces, blended.weights, **options)

        def volumes(maps: Rows) -> Volumes:
            body.update(maps)
            boxes = boxes_in(body, sets)
            return Volumes(boxes, radii_of(boxes))

        return volumes

    return of


def boxes_in(body: Any, sets: Sets) -> Rows:
    """The boxes (n, 6) of a body around each set, all refitted."""
    shape = body._bvh_at(body._motion.scale)
    shape.refit()
    freshen_all(shape.nodes, np.int32(shape.frame), shape.entry, shape.context)
    names = shape.options.volume_type.volume._fields[:6]
    boxes = np.stack([np.concatenate([shape.nodes["bounds"][name].reshape(len(shape.nodes), -1)[:1, 0],
                                      shape.nodes["lanes"][name][sets.node, sets.lane]]) for name in names], axis=1)  # fmt: skip
    return np.asarray(boxes.astype(np.float64) / body._motion.scale + np.tile(body._motion.origin[:3], 2))


def play(session: Session, title: str, scene: Blends, ways: list[Way], tree: dict[str, Any], **about: Any) -> list[Run]:
    """The ratios of all bounds in all frames of the first body, by levels."""
    if session.stopped:
        return []
    parts: list[list[Rows]] = [[] for _ in ways]  # by bound and frame: (levels, 3), means, largest, and whether they enclose
    with session.until_stopped():
        session.begin(title, len(ways) * scene.frames)
        like = pliant.Body.blended(scene.body.rest, scene.body.faces, scene.body.weights, **tree)
        sets = sets_of(like)
        boxes = np.zeros((scene.frames, len(sets.spans), 6))
        for k in range(scene.frames):
            like.update(scene.frame(k + 1)[0])
            boxes_of(np.ascontiguousarray(like.vertices), sets.order, sets.spans, boxes[k])
        for way, part in zip(ways, parts, strict=True):  # one after the other: the data of a bound for every leaf is large
            bound = (OTHERS[way.name] if way.options is None else product(way.options))(scene.body, sets)
            for k in range(scene.frames):
                part.append(compared(bound(scene.frame(k + 1)[0]), boxes[k], sets.level))
                session.tick(1)
    steps = min(map(len, parts))
    about = {"vertices": len(scene.body.rest), "nodes": len(scene.body.nodes), "steps": steps} | about
    return [told(way, np.array(part[:steps]), about) for way, part in zip(ways, parts, strict=True)] if steps else []


def compared(volumes: Volumes, boxes: Rows, level: Indices) -> Rows:
    """(levels, 3): mean and largest ratio of radii, and 1 if all volumes of the level enclose the smallest boxes, else 0."""
    smallest = radii_of(boxes)
    ratios = volumes.radii / np.where(smallest > 0, smallest, np.inf)
    room = ROUNDING * float(np.abs(boxes).max())
    holds = (volumes.boxes[:, :3] <= boxes[:, :3] + room).all(axis=1) & (volumes.boxes[:, 3:] >= boxes[:, 3:] - room).all(axis=1)
    counts = np.maximum(np.bincount(level, smallest > 0), 1)
    largest = np.zeros(len(counts))
    np.maximum.at(largest, level, ratios)
    return np.stack([np.bincount(level, ratios) / counts, largest, np.bincount(level, ~holds) == 0], axis=1)


def told(way: Way, ratios: Rows, about: dict[str, Any]) -> Run:
    """A run of a bound as plain values: by levels the mean of all frames and the largest; and the root in every frame."""
    run: Run = {"method": way.name, "options": way.options or {}} | about
    run |= {"mean": ratios[:, :, 0].mean(axis=0).round(5).tolist(), "largest": ratios[:, :, 1].max(axis=0).round(5).tolist()}
    run |= {"root": ratios[:, 0, 0].round(5).tolist(), "agrees": bool(ratios[:, :, 2].all())}
    return run


# --- the cost of one volume -------------------------------------------------------------------------------------------------------

UPDATE, OPTIMAL = "update of a body", "the smallest box"


def root_of(options: dict[str, Any]) -> Root:
    """Node 0 of bodies with these options, all its lanes at once, after an update."""

    def of(blended: Blended) -> Job:
        body = pliant.Body.blended(blended.rest, blended.faces, blended.weights, **options)
        shape = body._bvh_at(body._motion.scale)
        root = shape.nodes[:1]

        def ready(maps: Rows) -> None:
            body.update(maps)
            shape.refit()
            root["stamp"] = shape.frame - 1

        def do(maps: Rows) -> None:
            freshen_all(root, np.int32(shape.frame), shape.entry, shape.context)

        def box() -> Rows:
            whole = np.array([root["bounds"][name].reshape(-1)[0] for name in shape.options.volume_type.volume._fields[:6]], np.float64)
            return np.asarray(whole / body._motion.scale + np.tile(body._motion.origin[:3], 2))

        return Job(ready, do, box)

    return of


def update_root(blended: Blended) -> Job:
    """A whole update, with a bound of the whole body."""
    body = pliant.Body.blended(blended.rest, blended.faces, blended.weights)
    return Job(lambda maps: None, body.update, lambda: body.bounds.reshape(-1))


def optimal_root(blended: Blended) -> Job:
    """The box around all vertices, which must be deformed for it."""
    motion = pliant.Body.blended(blended.rest, blended.faces, blended.weights)._motion
    order, spans, boxes = np.arange(motion.count, dtype=np.int32), np.array([[0, motion.count]]), np.zeros((1, 6))

    def do(maps: Rows) -> None:
        motion.complete()
        boxes_of(motion.flat.reshape(-1, 3), order, spans, boxes)

    return Job(motion.update, do, lambda: boxes[0])


def cost(session: Session, title: str, scene: Blends, ways: dict[str, dict[str, Any]], **about: Any) -> list[Run]:
    """Microseconds of every method for a root, for each frame of the first body, the minimum of all rounds; `ways`: options of bodies."""
    if session.stopped:
        return []
    roots = {name: root_of(options) for name, options in ways.items()} | {UPDATE: update_root, OPTIMAL: optimal_root} | ROOTS
    times = {name: np.full(scene.frames, np.inf) for name in roots}
    holds = dict.fromkeys(roots, True)
    with session.until_stopped():
        session.begin(title, len(roots) * scene.frames * session.repeats)
        jobs = {name: root(scene.body) for name, root in roots.items()}
        for _ in range(session.repeats):
            for name, job in jobs.items():
                for k in (-1, *range(scene.frames)):
                    maps = scene.frame(k + 1)[0]
                    job.ready(maps)
                    start = session.clock()
                    job.do(maps)
                    times[name][k] = min(times[name][k], session.clock() - start if k >= 0 else np.inf)  # the first one compiles
                holds[name] = encloses(job.box(), scene, scene.frames)
                session.tick(scene.frames)
    if any(np.isinf(column).any() for column in times.values()):
        return []
    about = {"vertices": len(scene.body.rest), "nodes": len(scene.body.nodes), "steps": scene.frames} | about
    return [{"method": name, "us": [round(1e6 * float(each), 3) for each in times[name]], "agrees": holds[name]} | about for name in roots]


def encloses(box: Rows, scene: Blends, k: int) -> bool:
    """Does a box enclose the vertices of the first body in frame k?"""
    rows = next(scene.vertices(k))
    room = ROUNDING * float(np.abs(rows).max())
    return bool((box[:3] <= rows.min(axis=0) + room).all() and (box[3:] >= rows.max(axis=0) - room).all())
