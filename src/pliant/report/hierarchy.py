"""The levels of a body's BVH, for reports: they draw boxes around what each volume encloses.

Faces are in the order of the BVH's leaves, of which a subtree has a contiguous range: so each volume is a range of faces, in all frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.core.threads import ReadLock
from pliant.query.target import check_body
from pliant.report.data import Hierarchy
from pliant.tree.nodes import subtree_leaf_ranges


def hierarchy_of(body: Any) -> Hierarchy | None:
    """The hierarchy of a body's BVH; None for a body without faces. Volumes of a level are in the order of their faces; branches that end
    above it count with their leaves, so that a level has all faces.

    >>> import pliant as pl
    >>> from pliant.report.hierarchy import hierarchy_of
    >>> from pliant.shapes import icosphere
    >>> found = hierarchy_of(pl.Body(*icosphere(1), leaf=1, arity=2))
    >>> len(found.order), [len(level) for level in found.levels[:4]]
    (80, [1, 2, 4, 8])
    """
    check_body("body", body)
    with ReadLock(body._guard):
        if not len(body):
            return None
        tree = body._bvh_at(body._motion.scale).tree
        used = tree.faces >= 0
        order = tree.faces[used]
        ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)  # leaf i has the faces from ends[i] to ends[i + 1]
        leaves = subtree_leaf_ranges(tree)
        levels, rows, found = [np.array([[0, len(order)]], np.int32)], np.zeros(1, np.int64), np.empty((0, 2), np.int64)
        while len(rows):
            nodes, lanes = np.nonzero(np.arange(tree.width) < tree.count[rows, None])
            child = tree.child[rows[nodes], lanes].astype(np.int64)
            rows = child[child >= 0]
            found = np.concatenate([found, np.stack([~child[child < 0], ~child[child < 0] + 1], axis=1)])
            levels.append(_sort_ranges(ends[np.concatenate([found, leaves[rows]])]))
        return Hierarchy(order, levels)


def _sort_ranges(ranges: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.ascontiguousarray(ranges[np.argsort(ranges[:, 0])])
