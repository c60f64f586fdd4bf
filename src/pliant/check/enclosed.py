"""Which bodies lie inside others: bodies whose surfaces do not meet may still overlap as solids.

Where two surfaces do not meet, a connected part of one lies on one side of the other, so one vertex of each part tells. A body lies inside
a closed one if that is so of one of its parts at least. Vertices are compared with boxes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.body import Body
from pliant.check.depth import is_closed


class EnclosedFinder:
    """Finds enclosed bodies in one frame after another; keeps what depends on faces alone."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[NDArray[np.int32], NDArray[np.int64]]] = {}  # by index: faces, a vertex of each part

    def find(self, bodies: Sequence[Body], pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """(outer, inner) for each of these pairs of indices of bodies where one lies inside the other, sorted. The surfaces of a pair must
        not meet. Faces may look outward or inward."""
        closed, inner_of = dict[int, bool](), dict[int, list[int]]()
        for one, other in pairs:
            for outer, inner in ((one, other), (other, one)):
                if outer not in closed:
                    closed[outer] = is_closed(bodies[outer])
                if closed[outer] and len(bodies[inner]):
                    inner_of.setdefault(outer, []).append(inner)
        points = {k: self._points(k, bodies[k]) for k in {k for inner in inner_of.values() for k in inner}}
        return sorted((outer, k) for outer, inner in inner_of.items() for k in enclosed_in(bodies[outer], sorted(set(inner)), points))

    def _points(self, k: int, body: Body) -> NDArray[np.float64]:
        """(p, 3): a vertex of each connected part of body k."""
        faces = body._welded_faces
        known = self._parts.get(k)
        if known is None or known[0] is not faces:
            known = self._parts[k] = faces, part_vertices(faces)
        return body.vertices[known[1]]


def enclosed_in(outer: Body, inner: list[int], points: dict[int, NDArray[np.float64]]) -> list[int]:
    """Those of the inner bodies of which a point is inside the outer body."""
    low, high = outer._world_box()
    rows = {k: points[k][((points[k] >= low) & (points[k] <= high)).all(axis=1)] for k in inner}
    rows = {k: found for k, found in rows.items() if len(found)}
    if not rows:
        return []
    windings = pliant.inside(outer, np.concatenate(list(rows.values()))).winding_number
    ends = np.cumsum([len(found) for found in rows.values()])
    return [k for k, part in zip(rows, np.split(windings != 0, ends[:-1]), strict=True) if part.any()]


def part_vertices(faces: NDArray[np.int32]) -> NDArray[np.int64]:
    """(p,): the lowest vertex of each connected part of faces (f, 3) that share vertices."""
    from scipy.sparse import coo_array  # takes a fifth of a second
    from scipy.sparse.csgraph import connected_components

    used, corners = np.unique(faces, return_inverse=True)
    a, b, c = corners.reshape(-1, 3).T
    i, j = np.concatenate([a, b]), np.concatenate([b, c])
    _, part = connected_components(coo_array((np.ones(len(i), bool), (i, j)), shape=(len(used), len(used))), directed=False)
    return used[np.unique(part, return_index=True)[1]].astype(np.int64)
