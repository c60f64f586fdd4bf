"""Skins of USD stages: meshes that follow the joints of a skeleton (USD, "UsdSkel"), and blend shapes.

A vertex v, as a row, is at Σ_j w_vj (v, 1) G S_j W: G, the bind transform of the mesh; S_j, how joint j has moved since it was bound; W,
the skeleton in the world. So G S_j W, transposed, are the maps of `Body.blended`. Where weights are not convex, the method is dual
quaternions or there are blend shapes, the library works out the vertices of each frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
WEIGHT_SUM_TOLERANCE = 1e-3  # how far from 1 sums of weights may be: files have them in float32, or rounded


class Skin(NamedTuple):
    """What moves a mesh."""

    query: Any  # UsdSkel.SkinningQuery
    skeleton: Any  # UsdSkel.SkeletonQuery

    def joints(self) -> Any:
        """Paths of the joints that the mesh names, in its own order; those of the skeleton, unless it says others."""
        return self.query.GetJointOrder() or self.skeleton.GetJointOrder()

    def transforms(self, time: Any) -> Floats:
        """(m, 4, 4): how the joints that the mesh names have moved, for rows. Those that the skeleton does not have stay. (Mappers of the
        library take matrices of float32 only.)"""
        found = np.array(self.skeleton.ComputeSkinningTransforms(time), np.float64).reshape(-1, 4, 4)
        places = {joint: place for place, joint in enumerate(self.skeleton.GetJointOrder())}
        order = [places.get(joint, len(found)) for joint in self.joints()]
        return np.concatenate([found, np.eye(4)[None]])[order]

    def world(self, pxr: Any, time: Any) -> Floats:
        """(4, 4) of the skeleton, for rows."""
        return np.array(pxr.UsdGeom.Imageable(self.skeleton.GetPrim()).ComputeLocalToWorldTransform(time), np.float64)


class JointWeights(NamedTuple):
    """By how much joints carry vertices: as many for each vertex, which may name a joint twice or with nothing."""

    joint_ids: Indices  # (n k,) which joint
    weights: Floats  # (n k,), those of a vertex add up to one
    joints: int  # how many there are


def find_skins(pxr: Any, stage: Any, predicate: Any) -> dict[Any, Skin]:
    """By path, all meshes that a skeleton moves."""
    found: dict[Any, Skin] = {}
    cache = pxr.UsdSkel.Cache()
    for prim in stage.Traverse(predicate):
        if prim.IsA(pxr.UsdSkel.Root):
            root = pxr.UsdSkel.Root(prim)
            cache.Populate(root, predicate)
            for binding in cache.ComputeSkelBindings(root, predicate):
                skeleton = cache.GetSkelQuery(binding.GetSkeleton())
                for query in binding.GetSkinningTargets() if skeleton else ():
                    if query.HasJointInfluences() or query.HasBlendShapes():
                        found.setdefault(query.GetPrim().GetPath(), Skin(query, skeleton))
    return found


def convex_weights(skin: Skin, vertices: int, time: Any) -> JointWeights | None:
    """Convex weights; None where vertices have to be worked out by the library."""
    query = skin.query
    if query.HasBlendShapes() or not query.HasJointInfluences() or query.GetSkinningMethod() != "classicLinear":
        return None
    found = query.ComputeVaryingJointInfluences(vertices, time)
    joints, weights = np.array(found[0], np.int64), np.array(found[1], np.float64)
    count = len(skin.transforms(time))
    if not vertices or not len(joints) or len(joints) != len(weights) or len(joints) % vertices:
        return None
    if joints.min() < 0 or joints.max() >= count:
        return None
    sums = weights.reshape(vertices, -1).sum(axis=1)
    if not (np.isfinite(weights).all() and weights.min() >= 0 and np.abs(sums - 1).max() <= WEIGHT_SUM_TOLERANCE):
        return None
    return JointWeights(joints, weights / np.repeat(sums, len(joints) // vertices), count)


def joint_maps(pxr: Any, skin: Skin, time: Any) -> Floats:
    """(m, 3, 4): where joints take vertices at rest to."""
    bind = np.array(skin.query.GetGeomBindTransform(time), np.float64)
    made: Floats = np.swapaxes(bind @ skin.transforms(time) @ skin.world(pxr, time), 1, 2)[:, :3]
    return made


def make_deformer(pxr: Any, skin: Skin, points: Callable[[Any], Floats]) -> Callable[[Any], tuple[Floats, Floats]]:
    """Vertices (n, 3) as a function of the time, by the library, and the matrix (4, 4), for rows, that places them in the world.
    `points(time)`: where they are before joints move them."""

    def vertices(time: Any) -> tuple[Floats, Floats]:
        moved, animation = pxr.Vt.Vec3fArray.FromNumpy(points(time).astype(np.float32)), skin.skeleton.GetAnimQuery()
        if skin.query.HasBlendShapes() and animation:
            shapes = pxr.UsdSkel.BlendShapeQuery(pxr.UsdSkel.BindingAPI(skin.query.GetPrim()))
            weights, mapper = animation.ComputeBlendShapeWeights(time), skin.query.GetBlendShapeMapper()
            chosen = shapes.ComputeSubShapeWeights(weights if mapper is None or mapper.IsNull() else mapper.Remap(weights))
            shapes.ComputeDeformedPoints(*chosen, shapes.ComputeBlendShapePointIndices(), shapes.ComputeSubShapePointOffsets(), moved)
        if skin.query.HasJointInfluences():
            skin.query.ComputeSkinnedPoints(skin.skeleton.ComputeSkinningTransforms(time), moved, time)
            matrix = skin.world(pxr, time)
        else:
            matrix = np.array(pxr.UsdGeom.Imageable(skin.query.GetPrim()).ComputeLocalToWorldTransform(time), np.float64)
        return np.array(moved, np.float64).reshape(-1, 3), matrix

    return vertices
