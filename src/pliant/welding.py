"""Which vertices of a body become one: those that stay together, however the body moves.

A weld map (n,) int32 gives for each vertex the lowest one that it is merged into. Vertices at the same position are merged only if they
agree in all shapes that a motion blends (morph targets, the rest of a skin) and follow the same maps with the same weights. A book that is
closed at rest may open: its pages coincide, but their targets or weights differ. Of free bodies nothing is known but the present
positions; callers that know later ones refine the map by `split_welds`, frame by frame.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate_weld
from pliant.geometry.mesh import weld_map

Floats = NDArray[np.float64]
WeldMap = NDArray[np.int32]
Weld = bool | float | WeldMap


def make_weld_map(weld: Any, shapes: Iterable[Floats], count: int, skin: Any = None) -> WeldMap | None:
    """The weld map of `count` vertices; None if none is wanted.

    weld : what `validate_weld.weld` returns
    shapes : (count, 3) each; merged vertices agree in all of them
    skin : (begins, map_ids, weights), by vertex; merged vertices have equal rows
    """
    if weld is None:
        return None
    if isinstance(weld, np.ndarray):
        return np.asarray(validate_weld.weld_map("weld", weld.astype(np.int64, copy=False), count), np.int32)
    found: WeldMap | None = None
    for rows in shapes:
        found = weld_map(rows, weld) if found is None else split_welds(found, rows, weld)
    return found if skin is None or found is None else split_welds(found, _skin_rows(found, skin), 0.0)


def count_welded(welds: WeldMap | None) -> int:
    """How many vertices are merged into another one."""
    return 0 if welds is None else int((welds != np.arange(len(welds))).sum())


def has_welded(welds: WeldMap) -> bool:
    """Is any vertex merged into another one?"""
    return bool((welds != np.arange(len(welds))).any())


def split_welds(welds: WeldMap, rows: Floats, tolerance: float) -> WeldMap:
    """The weld map of those that are merged in `welds` and are together in `rows` (n, k) as well."""
    others = np.flatnonzero(welds != np.arange(len(welds)))
    if (rows[others] == rows[welds[others]]).all():
        return welds
    members = np.unique(np.concatenate([others, welds[others]]))
    keys = np.stack([welds[members], weld_map(rows[members], tolerance)])
    _, inverse = np.unique(keys, axis=1, return_inverse=True)
    lowest = np.full(int(inverse.max()) + 1, len(welds), np.int64)
    np.minimum.at(lowest, inverse.ravel(), members)
    made = welds.copy()
    made[members] = lowest[inverse.ravel()]
    return made


def _skin_rows(welds: WeldMap, skin: Any) -> Floats:
    """(n, 2 k): of each vertex that is merged, or merged into, its maps in rising order and their weights; zeros for all others."""
    begins, map_ids, weights = skin
    others = np.flatnonzero(welds != np.arange(len(welds)))
    members = np.unique(np.concatenate([others, welds[others]]))
    counts = np.diff(begins)[members]
    width = int(counts.max(initial=0))
    rows = np.zeros((len(welds), 2 * width))
    vertex = np.repeat(members, counts)
    step = np.arange(len(vertex)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(np.asarray(begins)[members], counts) + step
    order = np.lexsort((np.asarray(map_ids)[at], vertex))
    rows[vertex, 2 * step], rows[vertex, 2 * step + 1] = np.asarray(map_ids)[at][order] + 1.0, np.asarray(weights)[at][order]
    return rows
