"""A uniform grid over a triangle soup: a target of rays that is refilled, in linear time, when the soup has changed.

For faces that go anywhere, or that come and go, for which a BVH would have to be rebuilt (thesis C 7.5). It takes vertices as a body does
(`motion/free.py`). The first query after an update fills the grid (`query/ray/uniform_grid.py`).

Invariant: a motion and its faces belong together, and change together; the cell lists are those of both, or None.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import validate
from pliant.core.threads import ReadLock, ReadWriteLock
from pliant.errors import MeshError
from pliant.motion.free import Free
from pliant.query.ray.cast import no_hits
from pliant.query.ray.uniform_grid import MAX_CELLS, MAX_CELLS_PER_AXIS, GridCells, GridJob, build_grid
from pliant.query.target import RayTarget
from pliant.results import Stats
from pliant.typing import MeshLike

COUNT_HINT = "as many as the grid has vertices; give faces as well for another mesh"


class _Soup(NamedTuple):
    """The motion of the vertices, and the vertex indices (f, 3) int32 of the faces."""
    motion: Any
    faces: NDArray[np.int32]


class UniformGrid(RayTarget):
    """A uniform grid over a triangle soup, for ray queries: `cast`, `cast_all`, `occluded` and `pick` take it like a body, whose id is
    0, with the same results to the bit. In `Stats`, n_v counts cells.

    Parameters
    ----------
    vertices : (n, 3) positions, or an object with `.vertices` and `.faces` (or `.triangles`); as for `Body`, copied
    faces : (f, 3) vertex indices, as for `Body`
    cells : the number of cells along each axis, one number or three; by default about as many near-cubic cells as faces. Cells are
        enlarged where large faces would make lists very long

    The first query after an update fills the grid. Queries may run in several threads; `update` waits for queries that run, and
    queries wait for it.

    >>> import pliant as pl
    >>> grid = pl.UniformGrid([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> pl.cast(grid, [0.25, 0.25, -1], [[0, 0, 1], [1, 0, 0]]).face.tolist()
    [0, -1]
    >>> grid.update([[0, 0, 5], [1, 0, 5], [0, 1, 5], [1, 1, 5]], [[0, 1, 2], [1, 3, 2]])
    >>> pl.pick(grid, [0.75, 0.75, 0], [0, 0, 1]).face
    1
    """

    def __init__(self, vertices: ArrayLike | MeshLike, faces: ArrayLike | None = None, *, cells: ArrayLike | None = None) -> None:
        self._requested_cells = None if cells is None else validate.cells("cells", cells, MAX_CELLS_PER_AXIS, MAX_CELLS)
        rows, indices = validate.mesh(vertices, faces)
        self._guard, self._version = ReadWriteLock(), 0
        self._soup = _Soup(Free(rows), np.array(indices))
        self._cell_lists: GridCells | None = None
        self._spare_lists: GridCells | None = None                      # lists of an earlier frame, to be overwritten

    def __copy__(self) -> UniformGrid:
        return UniformGrid(self.vertices, self.faces, cells=self._requested_cells)

    def __deepcopy__(self, memo: dict[int, Any]) -> UniformGrid:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_grid, (self.vertices, self.faces, self._requested_cells)

    def update(self, vertices: ArrayLike, faces: ArrayLike | None = None) -> None:
        """Set the vertices, or another mesh. Invalid input raises an error, and the grid is unchanged.

        vertices : (n, 3), or an object with `.vertices` and `.faces`
        faces : (f, 3) of another mesh; without them the faces stay
        """
        other = None
        if faces is None:
            rows = self._check_vertices(vertices)
        else:
            rows, indices = validate.mesh(vertices, faces)
            other = _Soup(Free(rows), np.array(indices))
        self._guard.start_writing()
        try:
            self._cell_lists, self._version = None, self._version + 1
            if other is not None:
                self._soup = other
                return
            rows = self._check_vertices(rows)                           # another thread may have set another mesh
            try:
                self._soup.motion.update(rows)
            except MeshError:
                raise                                                   # invalid input: nothing has changed
            except BaseException:
                self._soup.motion.restore()                             # Ctrl-C: the old vertices, or the new ones
                raise
        finally:
            self._guard.stop_writing()

    def _check_vertices(self, vertices: Any) -> NDArray[np.float64]:
        """(n, 3) float64 as many as there are now."""
        count = self._soup.motion.count
        rows: NDArray[np.float64] = vertices if validate.is_canonical(vertices, count) else validate.positions(
            "vertices", vertices, count, COUNT_HINT)
        return rows

    @property
    def vertices(self) -> NDArray[np.float64]:
        """(n, 3) float64, a copy: the positions given, to the bit."""
        with ReadLock(self._guard):
            return np.array(self._soup.motion.vertices)

    @property
    def faces(self) -> NDArray[np.int32]:
        """(f, 3) int32, read-only."""
        view = self._soup.faces.view()
        view.flags.writeable = False
        return view

    @property
    def cells(self) -> tuple[int, int, int]:
        """The number of cells along each axis that the next query uses."""
        with ReadLock(self._guard):
            if not len(self):
                return 1, 1, 1
            frame = self._filled_lists().frame[0]
            return int(frame["x"]), int(frame["y"]), int(frame["z"])

    def __len__(self) -> int:
        """The number of faces."""
        return len(self._soup.faces)

    def __repr__(self) -> str:
        cells = "" if self._requested_cells is None else f", cells={tuple(self._requested_cells.tolist())}"
        return f"UniformGrid({self._soup.motion.count} vertices, {len(self)} faces{cells})"

    def _world_triangles(self, bodies: NDArray[np.int64], faces: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, 3, 3): positions of the vertices of these faces; for results (`results.Surface`)."""
        with ReadLock(self._guard):
            return np.asarray(self._soup.motion.vertices[self._soup.faces[faces]])

    def _trace(self, rays: Any, kind: int) -> tuple[Any, NDArray[Any], Stats]:
        """For queries: (results, hits, if all are requested, Stats) for all rays."""
        with ReadLock(self._guard):
            answers: tuple[Any, NDArray[Any],
                           Stats] = (GridJob(rays, kind, self._filled_lists()).run() if len(self) and rays.n else no_hits(rays.n))
            return answers

    def _filled_lists(self) -> GridCells:
        """The up-to-date cell lists; call with a read lock. The first caller fills them."""
        lists = self._cell_lists
        if lists is not None:
            return lists
        with self._guard.refit_lock:
            if self._cell_lists is None:                                # nobody reads the spare lists: an update has come since
                spare, self._spare_lists = self._spare_lists, None
                self._cell_lists = self._spare_lists = build_grid(self._soup.motion, self._soup.faces.reshape(-1), self._requested_cells,
                                                                  spare)
            return self._cell_lists


def _make_grid(vertices: NDArray[np.float64], faces: NDArray[np.int32], cells: Any) -> UniformGrid:
    """A grid from what `UniformGrid.__reduce__` gives."""
    return UniformGrid(vertices, faces, cells=cells)
