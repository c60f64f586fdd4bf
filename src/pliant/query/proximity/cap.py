"""Faces that close the border of a body: a surface of their own that follows the vertices of the border, in the world.

The winding number of a closed surface is an integer. So that of an open one is the integer of both together, less the fraction that the cap
adds. The cap has as many faces as the border has edges, far fewer than the body, and most of them are small and at the border.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core.threads import ReadWriteLock
from pliant.geometry.inside import cap_faces
from pliant.motion.free import Free
from pliant.motion.rigid import transform_vertices
from pliant.refit.policy import Bvh, resolve_options


class Cap:
    """The cap of a body, as queries of points see it."""
    _matrix = None

    def __init__(self, body: Any, vertices: NDArray[np.int64], faces: NDArray[np.int32], version: int) -> None:
        self.vertices, self.version, self._motion = vertices, version, Free(world_rows(body, vertices))
        options = resolve_options("aabb", "sah", "bottom_up", 8, 8)
        self._bvh = Bvh(options, ReadWriteLock(), faces, self._motion.points, None, self._motion)

    def refresh(self, body: Any) -> None:
        """Move to where the body is."""
        if self.version != body._version:
            self._motion.update(world_rows(body, self.vertices))
            self._bvh.invalidate()
            self.version = body._version

    def _bvh_at(self, scale: float) -> Bvh:
        return self._bvh

    def _world_box(self) -> NDArray[np.float64]:
        return np.array(self._motion.box.reshape(2, 4)[:, :3])


def border_cap(body: Any) -> Cap:
    """The cap of a body with a border, where the body is now. Made at first use."""
    with body._guard.refit_lock:
        cap = body._border_cap
        if cap is None:
            used, faces = np.unique(cap_faces(body._open_edges().border), return_inverse=True)
            cap = Cap(body, used, faces.reshape(-1, 3).astype(np.int32), body._version)
        body._border_cap = None                                         # Ctrl-C: another one next time
        cap.refresh(body)
        body._border_cap = cap
        return cap


def world_rows(body: Any, vertices: NDArray[np.int64]) -> NDArray[np.float64]:
    """(k, 3): where these vertices are in the world, to the bit."""
    body._motion.complete()
    rows = np.ascontiguousarray(body._motion.flat.reshape(-1, 3)[vertices])
    if body._matrix is not None:
        transform_vertices(body._matrix, rows.reshape(-1).copy(), rows.reshape(-1))
    return rows
