"""Vertices in the order in which the leaves of a BVH name them: refits then read memory in sequence.

Meshes often come in an order that has nothing to do with space; a refit reads the vertices of one node after the other, and half of its
time goes into waiting for them. Faces keep their order, so that face indices in results mean the same.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.body import Body
from pliant.typing import MeshLike

__all__ = ["ReorderedMesh", "reorder_vertices"]


class ReorderedMesh(NamedTuple):
    """A mesh with its vertices in another order.

    Attributes
    ----------
    vertices : (n, 3) float64, `vertices[order]` of the mesh that was given
    faces : (m, 3) int32, the same faces in the same order, with the new indices
    order : (n,) int64, the old index of each new vertex: for further frames, `positions[order]`
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int32]
    order: NDArray[np.int64]


def reorder_vertices(vertices: ArrayLike | MeshLike, faces: ArrayLike | None = None, *, build: str = "sah") -> ReorderedMesh:
    """A mesh whose vertices are numbered as the leaves of its BVH name them, so that updates and refits are faster.

    Parameters
    ----------
    vertices : (n, 3) positions, or an object with `vertices` and `faces`
    faces : (m, 3) indices of vertices; vertices that no face names come last
    build : the builder of the BVH, as for `Body`

    Examples
    --------
    >>> import pliant as pl
    >>> from pliant.shapes import bumpy, icosphere
    >>> directions, faces = icosphere(5)
    >>> mesh = pl.reorder_vertices(bumpy(directions, 0.0), faces)
    >>> body = pl.Body(mesh.vertices, mesh.faces)
    >>> body.update(bumpy(directions, 1.0)[mesh.order])
    """
    body = Body(vertices, faces, build=build, policy="lazy")
    rows = body.vertices
    in_leaves = np.zeros(0, np.int32) if body._bvh is None else body._bvh.tree.vertices
    named, first = np.unique(in_leaves, return_index=True)
    rank = np.full(len(rows), len(in_leaves))
    rank[named] = first
    order = np.argsort(rank, kind="stable")
    new_index = np.empty(len(rows), np.int32)
    new_index[order] = np.arange(len(rows), dtype=np.int32)
    return ReorderedMesh(rows[order], new_index[body.faces], order)
