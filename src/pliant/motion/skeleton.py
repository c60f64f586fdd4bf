"""Skinning: a surface that follows the joints of a skeleton, as animation files have it (glTF 2.0, section 3.7.3).

Joint j has a parent, or none, and a local matrix that places it there; the product of the local matrices from the root down is its matrix
in the world, W_j. The inverse bind matrix B_j takes the surface as it was modelled into the frame of the joint. So W_j B_j is the affine
map that carries what belongs to joint j, and a vertex is at Σ_j w_vj W_j B_j v.

Invariants: joints may come in any order, but every parent has its world matrix before its children; rows of weights are convex, their
columns sorted, without zeros.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from pliant.core import validate, validate_rig
from pliant.errors import ArgumentTypeError, MeshError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Skeleton:
    """The joints of a skinned mesh: weights for `Body.blended`, and maps for its `update`.

    Parameters
    ----------
    parents : (m,) the parent of each joint, −1 for roots; in any order
    inverse_bind : (m, 4, 4) or (m, 3, 4) matrices from the mesh at rest to the frame of each joint; by default identities

    >>> import numpy as np
    >>> import pliant as pl
    >>> arm = pl.Skeleton([-1, 0], [np.eye(4), [[1, 0, 0, -2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]])
    >>> arm.weights([[0, 1], [1, 0]], [[3, 1], [1, 0]]).toarray().tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    >>> bent = [np.eye(4), [[0, -1, 0, 2], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]]       # the elbow is at x = 2
    >>> maps = arm.maps(bent)
    >>> (maps[1] @ [3, 0, 0, 1]).tolist()
    [2.0, 1.0, 0.0]
    """

    def __init__(self, parents: ArrayLike, inverse_bind: ArrayLike | None = None) -> None:
        self._parents: Indices = validate_rig.parents("parents", parents)
        self._levels = _levels(self._parents)
        matrices = np.tile(np.eye(4), (len(self), 1, 1)) if inverse_bind is None else inverse_bind
        self._inverse_bind: Floats = validate_rig.affine("inverse_bind", matrices, len(self))
        for array in (self._parents, self._inverse_bind):
            array.flags.writeable = False

    @property
    def parents(self) -> Indices:
        """(m,) int64, read-only."""
        return self._parents

    @property
    def inverse_bind(self) -> Floats:
        """(m, 4, 4) float64, read-only."""
        return self._inverse_bind

    def __len__(self) -> int:
        """The number of joints."""
        return len(self._parents)

    def __repr__(self) -> str:
        return f"Skeleton({len(self)} joints, {len(self._levels)} deep)"

    def weights(self, joints: ArrayLike, weights: ArrayLike) -> csr_array:
        """(n, m) sparse float64: the weight of each joint for each vertex. Rows are convex combinations, columns are sorted.

        joints : (n, k) integers; where the weight is 0, any integer
        weights : (n, k) not negative, of any real dtype. Rows are divided by their sums, so uint8 and uint16 weights of files are
            accepted as they are. Weights of a joint that occurs twice in a row are added
        """
        shares = validate_rig.joint_weights("weights", weights)
        used = shares > 0
        columns = validate_rig.joints("joints", joints, used, len(self))
        rows = np.repeat(np.arange(len(shares)), used.sum(axis=1))
        made = coo_array((shares[used], (rows, columns[used])), shape=(len(shares), len(self))).tocsr()
        made.sum_duplicates()
        return made

    def world(self, local: ArrayLike) -> Floats:
        """(m, 4, 4): the world matrices of all joints.

        local : (m, 4, 4) or (m, 3, 4), each joint relative to its parent
        """
        made: Floats = validate_rig.affine("local", local, len(self))
        with np.errstate(over="ignore", invalid="ignore"):
            for some in self._levels[1:]:
                made[some] = made[self._parents[some]] @ made[some]
        validate.check_finite("local: matrices in the world", made.reshape(len(made), 16))
        return made

    def maps(self, local: ArrayLike | None = None, *, world: ArrayLike | None = None) -> Floats:
        """(m, 3, 4): the affine map of each joint, for `update` of a blended body. Give one of the two.

        local : (m, 4, 4) or (m, 3, 4), each joint relative to its parent
        world : (m, 4, 4) or (m, 3, 4), each joint in the world
        """
        if (local is None) == (world is None):
            raise ArgumentTypeError(f"maps: expected local matrices or those in the world, got {'neither' if local is None else 'both'}")
        matrices = self.world(local) if local is not None else validate_rig.affine("world", world, len(self))
        with np.errstate(over="ignore", invalid="ignore"):
            made: Floats = matrices[:, :3] @ self._inverse_bind
        validate.check_finite("maps", made.reshape(len(made), 12))
        return made


def _levels(parents: Indices) -> list[Indices]:
    """Joints by the number of those above them: the roots first."""
    depth = np.where(parents < 0, 0, -1)
    levels = [np.flatnonzero(depth == 0)]
    while len(levels[-1]):
        depth[np.isin(parents, levels[-1])] = len(levels)
        levels.append(np.flatnonzero(depth == len(levels)))
    bad = depth < 0
    if bad.any():
        row = int(bad.argmax())
        raise MeshError(f"parents: row {row} is {parents[row]}, from where no way leads to a root, −1: {int(bad.sum())} joints hang on a "
                        "circle")
    return levels[:-1]
