"""Continuous collision of single features: points and triangles, edges and edges, as arrays. The exact decision of
`geometry/linear_motion.py`."""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import threads as pool
from pliant.core import validate
from pliant.core.jit import ignore_float_errors
from pliant.core.threads import ReadLock
from pliant.core.validate_features import point_rows
from pliant.geometry.linear_motion import contact_times
from pliant.geometry.motion_polynomials import EDGE_EDGE, VERTEX_FACE
from pliant.geometry.moving_distance import times_within

ROWS_PER_CHUNK = 512                                                    # between two checks for Ctrl-C: a row takes 2 ms at worst


def ccd_point_triangle(point0: ArrayLike, point1: ArrayLike, triangle0: ArrayLike, triangle1: ArrayLike,
                       min_distance: float = 0.0) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Does a moving point touch a moving triangle, and when first? For n pairs, exactly.

    Parameters
    ----------
    point0, point1 : (n, 3), positions at time 0 and at time 1; finite
    triangle0, triangle1 : (n, 3, 3), corners at time 0 and at time 1; finite
    min_distance : from 0 up, finite. Above 0, they need not touch, but come as close

    All points move on straight lines, from time 0 to time 1. Triangles are closed sets, and degenerate ones the segments or points that
    they span.

    Returns hits (n,) bool and times (n,) float64. Without `min_distance` hits are exact: none is missed, none is false, for any finite
    numbers. A time is never later than the exact first contact and at most 2**-40 before it; 0 if they touch at time 0, infinite if
    they never touch. With `min_distance` no hit is missed, and one is false only where the least distance is below `min_distance` +
    1e-9 · (`min_distance` + the extent of the positions of a row); times are not later than the first at which they are as close.

    >>> import pliant as pl
    >>> corners = [[[0, 0, 0], [4, 0, 0], [0, 4, 0]]]
    >>> hit, time = pl.ccd_point_triangle([[1, 1, 1]], [[1, 1, -3]], corners, corners)
    >>> hit.tolist(), time.round(9).tolist()
    ([True], [0.25])
    """
    starts, ends = _rows(("point0", point0, 1), ("triangle0", triangle0, 3), ("point1", point1, 1), ("triangle1", triangle1, 3))
    return _first_times(starts, ends, VERTEX_FACE, min_distance)


def ccd_edge_edge(a0: ArrayLike, a1: ArrayLike, b0: ArrayLike, b1: ArrayLike,
                  min_distance: float = 0.0) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Do two moving edges touch, and when first? For n pairs, exactly.

    Parameters
    ----------
    a0, a1 : (n, 2, 3), the ends of the first edge at time 0 and at time 1; finite
    b0, b1 : (n, 2, 3), the same of the second edge
    min_distance : as for `ccd_point_triangle`, which also explains what is returned

    >>> import pliant as pl
    >>> still, above = [[[-1, 0, 0], [1, 0, 0]]], [[[0, -1, 1], [0, 1, 1]]]
    >>> hit, time = pl.ccd_edge_edge(still, still, above, [[[0, -1, -1], [0, 1, -1]]])
    >>> hit.tolist(), time.round(9).tolist()
    ([True], [0.5])
    """
    starts, ends = _rows(("a0", a0, 2), ("b0", b0, 2), ("a1", a1, 2), ("b1", b1, 2))
    return _first_times(starts, ends, EDGE_EDGE, min_distance)


def _rows(*arguments: tuple[str, ArrayLike, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Flat starts and ends, twelve numbers a row, of (name, value, points in a row) of both features at the start, then at the end."""
    first, value, count = arguments[0]
    rows = [point_rows(first, value, count)]
    rows += [point_rows(name, value, count, len(rows[0]), first) for name, value, count in arguments[1:]]
    return _joined_rows(rows[0], rows[1]), _joined_rows(rows[2], rows[3])


def _first_times(starts: NDArray[np.float64], ends: NDArray[np.float64], kind: int,
                 min_distance: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(hits, times) of flat rows."""
    distance, n = validate.number("min_distance", min_distance, 0.0), len(starts) // 12
    times = np.empty(n)

    def run(begin: int, end: int) -> None:
        with ignore_float_errors():
            if distance > 0.0:
                times_within(starts, ends, kind, distance, begin, end, times)
            else:
                contact_times(starts, ends, kind, begin, end, times)
    with ReadLock():                                                    # raises what a lazily compiled function could not
        pool.map_chunks(n, ROWS_PER_CHUNK, run)
    return times < np.inf, times


def _joined_rows(*parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flat rows side by side: (n, k) and (n, m) as one flat array of n rows of k + m."""
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).reshape(-1)
