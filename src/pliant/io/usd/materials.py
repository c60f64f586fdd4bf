"""Names of the materials of USD meshes: bound to a mesh, or to some of its faces. What a material looks like is never read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.io.limits import display_name

MAX_MATERIALS = 10_000  # subsets of a mesh that are looked at

MaterialNames = tuple[list[str], NDArray[np.int32]]  # and the one of each polygon of the file, −1 for none


def material_names(pxr: Any, mesh: Any, time: Any) -> MaterialNames:
    """The materials of a mesh; no names if it has none."""
    binding = pxr.UsdShade.MaterialBindingAPI(mesh.GetPrim())
    count = len(mesh.GetFaceVertexCountsAttr().Get(time) or ())
    names, material_of_polygon = list[str](), np.full(count, -1, np.int32)
    for prim, polygons in [(mesh.GetPrim(), None), *_subsets(binding, time)]:
        material = pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
        if not material:
            continue
        name = display_name(material.GetPrim().GetName())
        if name not in names:
            names.append(name)
        material_of_polygon[slice(None) if polygons is None else polygons[(polygons >= 0) & (polygons < count)]] = names.index(name)
    return names, material_of_polygon


def _subsets(binding: Any, time: Any) -> list[tuple[Any, NDArray[np.int64]]]:
    """Faces with materials of their own: prims, and which polygons they are."""
    return [(subset.GetPrim(), np.array(subset.GetIndicesAttr().Get(time) or (), np.int64))
            for subset in binding.GetMaterialBindSubsets()[:MAX_MATERIALS]]  # fmt: skip
