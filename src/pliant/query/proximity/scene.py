"""Distances among many bodies: which two are nearest, and what is near what? Boxes first, then pair by pair."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.query.proximity import distance, within
from pliant.query.traverse import DISTANCE_ERROR
from pliant.results import Distance, SceneDistancePairs, Stats


def box_gaps(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m): how far boxes (n, 2, 3) and (m, 2, 3) are apart, at least, less what the measured distance of faces is off by."""
    with np.errstate(over="ignore"):
        axis_gaps = np.maximum(np.maximum(a[:, None, 0] - b[None, :, 1], b[None, :, 0] - a[:, None, 1]), 0.0)
        largest = axis_gaps.max(axis=2)
        scale = np.where((largest > 0) & (largest < np.inf), largest, 1.0)
        gaps = np.linalg.norm(axis_gaps / scale[..., None], axis=2) * scale * (1 - 2.0**-40)
        half_extents = [(0.5 * boxes[:, 1] - 0.5 * boxes[:, 0]).max(axis=1, initial=0.0) for boxes in (a, b)]
        return np.asarray(np.maximum(gaps - 4 * DISTANCE_ERROR * np.maximum(half_extents[0][:, None], half_extents[1][None]), 0.0))


def nearest_bodies(bodies: list[Any], ids: list[int], others: list[Any], other_ids: list[int], pairs: NDArray[np.int64]) -> Distance:
    """The nearest two of these pairs (p, 2) of bodies and others, the one whose boxes are nearest first, until the next is too far. Of
    several that are as near the first pair counts."""
    best, stats, best_ids = distance.no_distance(), Stats(), (-1, -1)
    if len(pairs):
        boxes, other_boxes = np.array([body.world_box() for body in bodies]), np.array([body.world_box() for body in others])
        gaps = box_gaps(boxes, other_boxes)[pairs[:, 0], pairs[:, 1]]
        for k in np.argsort(gaps, kind="stable").tolist():
            if gaps[k] > best.distance:
                break
            i, j = pairs[k].tolist()
            found = distance.distance_validated(bodies[i], others[j], best.distance)
            stats = stats + found.stats
            if (found.distance, ids[i], other_ids[j]) < (best.distance, *best_ids) or best.faces[0] < 0:
                best, best_ids = found, (ids[i], other_ids[j])
    return Distance(best.distance, best.points, best.faces, stats, np.array(best_ids if best.faces[0] >= 0 else (-1, -1), np.int64))


def pairs_within(bodies: dict[int, Any], id_pairs: NDArray[np.int64], tolerance: float, points: bool) -> SceneDistancePairs:
    """What is within the tolerance, of these pairs (p, 2) of ids, sorted; the same twice: a body and itself."""
    found = [within.self_within_validated(bodies[i], tolerance, points) if i == j
             else within.within_validated(bodies[i], bodies[j], tolerance, points)
             for i, j in id_pairs.tolist()]
    faces = np.concatenate([np.empty((0, 2), np.int32), *(pairs.faces for pairs in found)])
    distances = np.concatenate([np.empty(0), *(pairs.distances for pairs in found)])
    ends = np.concatenate([np.empty((0, 2, 3)), *(pairs.points for pairs in found)]) if points else None
    counters = np.array([pairs.stats for pairs in found], np.int64).reshape(-1, len(Stats()))
    return SceneDistancePairs(np.repeat(id_pairs, [len(pairs) for pairs in found], axis=0), faces, Stats(*counters.sum(0).tolist()),
                              id_pairs, counters, distances=distances, points=ends)
