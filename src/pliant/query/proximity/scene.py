"""Distances among many bodies: which two are nearest, and what is near what? Boxes first, then pair by pair."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.query.proximity import distance, within
from pliant.query.traverse import BLUR
from pliant.results import ScenePairs, Separation, Stats


def gaps_of(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m): how far boxes (n, 2, 3) and (m, 2, 3) are apart, at least, less what the measured distance of faces is off by."""
    with np.errstate(over="ignore"):
        along = np.maximum(np.maximum(a[:, None, 0] - b[None, :, 1], b[None, :, 0] - a[:, None, 1]), 0.0)
        most = along.max(axis=2)
        scale = np.where((most > 0) & (most < np.inf), most, 1.0)
        gaps = np.linalg.norm(along / scale[..., None], axis=2) * scale * (1 - 2.0**-40)
        spans = [(0.5 * boxes[:, 1] - 0.5 * boxes[:, 0]).max(axis=1, initial=0.0) for boxes in (a, b)]
        return np.asarray(np.maximum(gaps - 4 * BLUR * np.maximum(spans[0][:, None], spans[1][None]), 0.0))


def nearest(bodies: list[Any], ids: list[int], others: list[Any], other_ids: list[int], pairs: NDArray[np.int64]) -> Separation:
    """The nearest two of these pairs (p, 2) of bodies and others, the one whose boxes are nearest first, until the next is too far. Of
    several that are as near the first pair counts."""
    best, stats, names = distance.nowhere(), Stats(), (-1, -1)
    if len(pairs):
        boxes, other_boxes = np.array([body.box() for body in bodies]), np.array([body.box() for body in others])
        rows = gaps_of(boxes, other_boxes)[pairs[:, 0], pairs[:, 1]]
        for k in np.argsort(rows, kind="stable").tolist():
            if rows[k] > best.distance:
                break
            i, j = pairs[k].tolist()
            found = distance.between(bodies[i], others[j], best.distance)
            stats = stats.plus(found.stats)
            if (found.distance, ids[i], other_ids[j]) < (best.distance, *names) or best.faces[0] < 0:
                best, names = found, (ids[i], other_ids[j])
    return Separation(best.distance, best.points, best.faces, stats, np.array(names if best.faces[0] >= 0 else (-1, -1), np.int64))


def near(bodies: dict[int, Any], asked: NDArray[np.int64], tolerance: float, points: bool) -> ScenePairs:
    """What is within the tolerance, of these pairs (p, 2) of ids, sorted; the same twice: a body and itself."""
    found = [within.inside(bodies[i], tolerance, points) if i == j else within.between(bodies[i], bodies[j], tolerance, points)
             for i, j in asked.tolist()]
    faces = np.concatenate([np.empty((0, 2), np.int32), *(pairs.faces for pairs in found)])
    distances = np.concatenate([np.empty(0), *(pairs.distances for pairs in found)])
    ends = np.concatenate([np.empty((0, 2, 3)), *(pairs.points for pairs in found)]) if points else None
    counters = np.array([pairs.stats for pairs in found], np.int64).reshape(-1, len(Stats()))
    return ScenePairs(np.repeat(asked, [len(pairs) for pairs in found], axis=0), faces, Stats(*counters.sum(0).tolist()), asked, counters,
                      distances=distances, points=ends)
