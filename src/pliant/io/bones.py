"""Which bone carries a face most: names for people of where on a skinned body it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
CHUNK = 1 << 15  # polygons at once: their weights are some megabytes


class Bones(NamedTuple):
    """The bones of a mesh.

    names : of those that carry some polygon most
    of_polygon : (p,) int32, the one of each polygon, −1 for none
    """

    names: list[str]
    of_polygon: NDArray[np.int32]


def find_bones(names: Sequence[str], corners: NDArray[Any], counts: Indices, joints: Indices, weights: Floats) -> Bones:
    """The bone with the largest sum of weights over the corners of each polygon; of equal ones the first.

    names : of all bones
    corners, counts : vertices of polygons, one after the other, and how many each has
    joints, weights : (n, k) bones of each vertex, which may name one twice or with nothing, and how much it belongs to them
    """
    found = np.full(len(counts), -1, np.int32)
    ends = np.concatenate([[0], np.cumsum(counts)])
    for begin in range(0, len(counts), CHUNK):
        sizes = counts[begin : begin + CHUNK]
        some = corners[ends[begin] : ends[begin + len(sizes)]]
        rows = np.repeat(np.repeat(np.arange(len(sizes)), sizes), joints.shape[1])
        sums = coo_array((weights[some].ravel(), (rows, joints[some].ravel())), shape=(len(sizes), len(names))).tocsr()
        sums.sum_duplicates()
        rows = np.repeat(np.arange(len(sizes)), np.diff(sums.indptr))
        largest = np.zeros(len(sizes))
        np.maximum.at(largest, rows, sums.data)
        best = np.flatnonzero((sums.data == largest[rows]) & (sums.data > 0))[::-1]
        found[begin + rows[best]] = sums.indices[best]  # backwards: the first of equal ones stays
    used = np.unique(found[found >= 0])
    numbers = np.where(found >= 0, np.searchsorted(used, found), -1).astype(np.int32)
    return Bones([names[k] for k in used], numbers)
