"""Continuous collision of many bodies, as scenes query them, pair by pair; the broad phase is the scene's."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.query.continuous.ccd import impacts_of
from pliant.query.continuous.swept_tree import MovingBody, bounds_of
from pliant.query.scheduler import Workspace
from pliant.results import SceneImpacts, Stats

ROUND_UP = 1 + 2.0**-40
ROW_FIELDS = ("times", "kinds", "features", "vertices", "weights", "normals", "closest", "faces")


def swept_boxes(bodies: list[MovingBody], min_distance: float) -> NDArray[np.float64]:
    """(n, 6): a box around each motion, inflated so that motions closer than the distance have boxes that overlap."""
    boxes = np.array([bounds_of(body) for body in bodies]).reshape(-1, 6)
    if min_distance > 0.0 and len(boxes):
        with np.errstate(over="ignore"):
            growth = 0.5 * min_distance * ROUND_UP + np.abs(boxes).max(axis=1, keepdims=True) * 2.0**-50
            boxes += np.repeat([-1.0, 1.0], 3) * growth
    return boxes


def scene_impacts(space: Workspace, bodies: list[MovingBody], pairs: NDArray[np.int64], ids: NDArray[np.int64], first: bool,
                  min_distance: float) -> SceneImpacts:
    """The impacts of these pairs (p, 2) of moving bodies, a body with itself where both are the same; `ids` (n,) are those of bodies."""
    parts, id_rows, stats = [], [np.zeros((0, 2), np.int64)], Stats()
    for i, j in pairs.tolist():
        found = impacts_of(space, bodies[i], None if i == j else bodies[j], first, min_distance)
        parts.append(found)
        id_rows.append(np.tile(ids[[i, j]], (len(found), 1)))
        stats = stats + found.stats
    if not parts:
        none = np.zeros(0)
        rows: dict[str, Any] = {"times": none, "kinds": none.astype(np.int8), "features": np.zeros((0, 2), np.int32),
                                "vertices": np.zeros((0, 4), np.int32), "weights": np.zeros((0, 4)), "normals": np.zeros((0, 3)),
                                "closest": np.zeros((0, 2), np.int8), "faces": np.zeros((0, 2), np.int32)}
    else:
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ROW_FIELDS}
    all_ids = np.concatenate(id_rows)
    order = np.lexsort((*rows["features"].T[::-1], rows["kinds"], *all_ids.T[::-1], rows["times"]))
    if first and len(order):
        order = order[rows["times"][order] == rows["times"].min()]
    return SceneImpacts(bodies=all_ids[order], stats=stats, **{name: array[order] for name, array in rows.items()})
