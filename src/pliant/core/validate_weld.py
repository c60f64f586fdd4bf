"""Which vertices are welded, as users say it: by position, within a distance, or vertex by vertex."""
import numpy as np

from pliant.core.validate import _bad_row_count
from pliant.errors import ArgumentError, ArgumentTypeError, MeshError


def weld(name, value):
    """None for False, 0.0 for True, a positive distance, or an array of integers, which `weld_map` goes on with."""
    if isinstance(value, np.ndarray | list | tuple) and np.ndim(value):
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            raise ArgumentTypeError(f"{name}: expected True, False, a distance or integers, one for each vertex, "
                                    f"got an array of {array.dtype}")
        return array
    return weld_distance(name, value)


def weld_distance(name, value):
    """None for False, 0.0 for True, or a positive distance."""
    if isinstance(value, (bool, np.bool_)):
        return 0.0 if value else None
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{name}: expected True, False or a distance, got {type(value).__name__} {value!r}")
    if not 0 < value < np.inf:
        raise ArgumentError(f"{name}: expected True, False or a positive distance, got {value!r}")
    return float(value)


def weld_map(name, value, n_vertices):
    """`value` (n_vertices,) int32: for each vertex the lowest one that it is welded to."""
    if value.shape != (n_vertices,):
        raise MeshError(f"{name}: expected shape ({n_vertices},), one index a vertex, got {value.shape}")
    bad = (value < 0) | (value > np.arange(n_vertices))
    bad |= value[np.where(bad, 0, value)] != value
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: row {row} is {value[row]}, not the lowest of the vertices that are one{_bad_row_count(bad)}")
    return value
