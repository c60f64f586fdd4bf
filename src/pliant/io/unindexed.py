"""Actors of files in which faces share no vertices (STL): which corners are one vertex.

Corners are one vertex if they are at the same position in all frames. So adjacent faces stay adjacent, what touches in some frames stays
apart, and what tears is apart from the start. One pass over all frames finds this, before the first mesh is given out; results do not
depend on which frames are asked for.

Where files have other numbers of faces, or most corners that are together in the first one do not stay so, faces of one file are others
than those of the next. Then each file is a mesh of its own, whose corners are one vertex where they are at the same position.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core import validate_weld
from pliant.io.animation import Faces, Floats, FrameActor, Mesh, find_welds
from pliant.io.mesh_part import join_corners
from pliant.welding import WeldMap, count_welded, split_welds

OWN: WeldMap = np.zeros(0, np.int32)  # in place of a weld map: each file is a mesh of its own


class UnindexedActor(FrameActor):
    """An actor whose corners are read frame by frame.

    corners : `corners(frame)` are those of all faces (3 f, 3), one face after the other
    source : see `FrameActor`
    """

    is_unindexed = True

    def __init__(self, name: str, frames: int, corners: Callable[[int], Floats], source: Callable[[int], Path] | None = None) -> None:
        super().__init__(name, frames, self._join, source=source)
        self._corners, self._join_lock = corners, threading.Lock()
        self._vertices: tuple[WeldMap, Faces] | None = None  # the corners that are vertices, and faces of these
        self._together = 0  # corners that are merged in the first frame

    def first_welds(self, tolerance: float) -> WeldMap:
        if tolerance:
            return super().first_welds(tolerance)
        corners = self._corners(0)
        found = split_welds(np.zeros(len(corners), np.int32), corners, 0.0)
        self._together = count_welded(found)
        return found

    def refined_welds(self, welds: WeldMap, frame: int, tolerance: float) -> WeldMap:
        if tolerance:
            return super().refined_welds(welds, frame, tolerance)
        corners = self._corners(frame)
        if not len(corners) or not np.isfinite(corners).all():  # says nothing
            return welds
        found = split_welds(welds, corners, 0.0) if len(corners) == len(welds) else OWN
        return found if len(found) and 2 * count_welded(found) >= self._together else OWN

    def set_welds(self, tolerance: float, welds: WeldMap) -> None:
        super().set_welds(tolerance, welds)
        if not tolerance and len(welds):
            vertices, faces = np.unique(welds, return_inverse=True)
            self._vertices = vertices, faces.reshape(-1, 3).astype(np.int32)
        elif not tolerance:
            self.kind = "soup"

    def _weld_option(self, weld: Any) -> Any:
        found = validate_weld.weld("weld", weld)
        by_position = isinstance(found, float) and found == 0.0
        return False if by_position else super()._weld_option(weld)  # corners at one position are one vertex already

    def _join(self, frame: int) -> Mesh:
        """Vertices and faces of a frame."""
        with self._join_lock:
            if self.welds(0.0) is None:
                find_welds([self], 0.0)
        corners = self._corners(frame)
        if self._vertices is not None and len(corners) == 3 * len(self._vertices[1]):
            return corners[self._vertices[0]], self._vertices[1]
        return join_corners(corners)
