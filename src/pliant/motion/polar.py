"""The rotation in a deformation: polar decomposition of many 3 × 3 matrices at once.

The nearest rotation to A = U Σ Vᵀ is U diag(1, 1, ±1) Vᵀ, the sign such that its determinant is +1: an inverted matrix is turned back by
way of its smallest stretch. Matrices that are far from singular, which is nearly all of them in an elastic body, go through Newton's
iteration X ← (γ X + X⁻ᵀ / γ) / 2 (Higham 1986), all at once: 0.3 ms for 550, where singular values take 2.2. The others have theirs
worked out.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEWTON_MIN_DETERMINANT = 1e-3                                           # of the cube of its size: the least determinant for Newton
CONVERGED = 1e-8                                                        # the last step, which squares itself, leaves no more than roundings
MAX_STEPS = 20
NEXT, PREVIOUS = [1, 2, 0], [2, 0, 1]                                   # the two other rows, or columns, in cyclic order


def rotations(matrices: Floats, flat: NDArray[np.bool_] | None = None) -> Floats:
    """(m, 3, 3): the rotation nearest to each of these matrices (m, 3, 3), finite. Where `flat` (m,) says that a matrix knows two
    directions alone (rank 2), the third follows them."""
    columns = np.ascontiguousarray(np.asarray(matrices).transpose(1, 2, 0))  # (3, 3, m): whole rows of numbers are worked on
    if flat is not None and flat.any():
        normals = cofactors(columns)
        size = np.sqrt(np.sqrt((normals**2).sum(axis=(0, 1))))
        columns = columns + np.where(flat & (size > 0), normals / np.where(size > 0, size, 1.0), 0.0)
    size = np.sqrt((columns**2).sum(axis=(0, 1)))
    regular = (columns[0] * cofactors(columns)[0]).sum(axis=0) > NEWTON_MIN_DETERMINANT * size**3
    if regular.all():
        return np.ascontiguousarray(_newton(columns).transpose(2, 0, 1))
    made = np.empty((columns.shape[2], 3, 3))
    made[regular] = _newton(np.ascontiguousarray(columns[:, :, regular])).transpose(2, 0, 1)
    left, _, right = np.linalg.svd(columns[:, :, ~regular].transpose(2, 0, 1))
    left[:, :, 2] *= (np.linalg.det(left) * np.linalg.det(right))[:, None]
    made[~regular] = left @ right
    return made


def cofactors(columns: Floats) -> Floats:
    """(3, 3, m): the transposed inverses times the determinants."""
    below, above = columns[NEXT], columns[PREVIOUS]
    made: Floats = below[:, NEXT] * above[:, PREVIOUS] - below[:, PREVIOUS] * above[:, NEXT]
    return made


def _newton(columns: Floats) -> Floats:
    """Rotations (3, 3, m) of matrices with positive determinants."""
    for _ in range(MAX_STEPS):
        other = cofactors(columns)
        other /= (columns[0] * other[0]).sum(axis=0)
        scale = np.sqrt(np.sqrt((other**2).sum(axis=(0, 1)) / (columns**2).sum(axis=(0, 1))))
        before, columns = columns, 0.5 * (scale * columns + other / scale)
        if columns.size == 0 or np.abs(columns - before).max() < CONVERGED:
            break
    return columns
