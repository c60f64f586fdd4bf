"""Validation, as in `validate.py`, of rigid transforms: rotations, and translations within the range of float64."""
import numpy as np

from pliant.core.jit import kernel
from pliant.core.validate import FLOAT64, MAX_COORDINATE, RIGID_TOLERANCE, _array, _bad_row_count, _canonical, check_finite
from pliant.errors import MeshError

CLEARLY_RIGID = RIGID_TOLERANCE / 2                                     # within this, rounding does not matter
MATRIX_SHAPES = (4, 4), (3, 4)


def transform(name, value):
    """A rigid transform, (4, 4) or (3, 4), as 12 float64, the rows of (R | t)."""
    if type(value) is np.ndarray and value.dtype is FLOAT64 and value.shape in MATRIX_SHAPES and value.flags.carray:
        matrix = np.empty(12)
        if copy_clearly_rigid(value, matrix):
            return matrix                                               # the fast path of every frame
    array = _array(name, value)
    if array.shape not in MATRIX_SHAPES:
        raise MeshError(f"{name}: expected a matrix of shape (4, 4) or (3, 4), got {array.shape}")
    rows = _canonical(array, FLOAT64)
    check_finite(name, rows)
    if len(rows) == 4 and not np.allclose(rows[3], (0, 0, 0, 1), rtol=0, atol=RIGID_TOLERANCE):
        raise MeshError(f"{name}: the last row must be 0 0 0 1, got {rows[3].tolist()}; is the matrix transposed?")
    rotation = rows[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        error, lengths = np.abs(rotation.T @ rotation - np.eye(3)).max(), np.linalg.norm(rotation, axis=0).tolist()
    if not error <= RIGID_TOLERANCE:
        raise MeshError(f"{name}: not rigid: lengths along x, y, z become {lengths}, and the axes are {error:.3g} from perpendicular "
                        f"units, at most {RIGID_TOLERANCE:g} is allowed; move the vertices instead, or use Body.blended with one "
                        "map for scaling and shear")
    if np.linalg.det(rotation) < 0:
        raise MeshError(f"{name}: mirrors the body (determinant {np.linalg.det(rotation):.3g}); mirror the vertices instead")
    return np.ascontiguousarray(rows[:3]).reshape(-1).copy()


@kernel
def copy_clearly_rigid(rows, matrix):
    """Copy the rows of (R | t) into a matrix (12,); False, and what is there does not count, unless they pass all checks, whatever the
    rounding."""
    for k in range(3):
        for j in range(4):
            matrix[4 * k + j] = rows[k, j]
            if not abs(rows[k, j]) < (2.0 if j < 3 else MAX_COORDINATE):  # from here on nothing overflows
                return False
    for j in range(3):
        for i in range(j, 3):
            product = rows[0, i] * rows[0, j] + rows[1, i] * rows[1, j] + rows[2, i] * rows[2, j]
            if not abs(product - (1.0 if i == j else 0.0)) < CLEARLY_RIGID:
                return False
    a, b, c, d, e, f = rows[0, 0], rows[0, 1], rows[0, 2], rows[1, 0], rows[1, 1], rows[1, 2]
    if not a * (e * rows[2, 2] - f * rows[2, 1]) - b * (d * rows[2, 2] - f * rows[2, 0]) + c * (d * rows[2, 1] - e * rows[2, 0]) > 0:
        return False
    return len(rows) == 3 or (rows[3, 0] == 0.0 and rows[3, 1] == 0.0 and rows[3, 2] == 0.0 and rows[3, 3] == 1.0)


def in_range(matrix, bound):
    """Can no coordinate up to `bound` overflow float64 under this transform (12,), which `transform` has passed?"""
    return (bound < MAX_COORDINATE and abs(matrix.item(3)) < MAX_COORDINATE and abs(matrix.item(7)) < MAX_COORDINATE
            and abs(matrix.item(11)) < MAX_COORDINATE)


def check_range(name, matrix, vertices):
    """Refuse a transform (12,) that makes `vertices()` (n, 3) overflow float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows, matrix = vertices(), matrix.reshape(3, 4)
        bad = ~np.isfinite(rows @ matrix[:, :3].T + matrix[:, 3]).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"{name}: puts vertex {row}, {rows[row].tolist()}, beyond the largest numbers{_bad_row_count(bad)}")
