"""Names of the joints that carry USD meshes, and which one carries a polygon most."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.io.bones import Bones, find_bones
from pliant.io.limits import display_name
from pliant.io.usd.skin import Skin

NO_BONES = Bones([], np.zeros(0, np.int32))


def mesh_bones(mesh: Any, skin: Skin | None, time: Any, vertices: int, polygons: tuple[NDArray[np.int64], ...]) -> Bones:
    """The bones of a mesh, of each polygon of the file; no names where none carries it. `polygons`: corners, counts, rows of the file."""
    if skin is None or not vertices or not skin.query.HasJointInfluences():
        return NO_BONES
    joints, weights = (np.array(each) for each in skin.query.ComputeVaryingJointInfluences(vertices, time))
    order = skin.joints()
    if not len(joints) or len(joints) != len(weights) or len(joints) % vertices or joints.min() < 0 or joints.max() >= len(order):
        return NO_BONES
    corners, counts, rows = polygons
    found = find_bones(joint_names(order), corners, counts, joints.reshape(vertices, -1), weights.reshape(vertices, -1).astype(np.float64))
    of_polygon = np.full(len(mesh.GetFaceVertexCountsAttr().Get(time)), -1, np.int32)
    of_polygon[rows] = found.of_polygon
    return Bones(found.names, of_polygon)


def joint_names(paths: Any) -> list[str]:
    """Joints by the last parts of their paths, as programs show them; by the whole path where several have the same."""
    names = [PurePosixPath(str(path)).name or str(path) for path in paths]
    counts = Counter(names)
    return [display_name(str(path) if counts[name] > 1 else name) for name, path in zip(names, paths, strict=True)]
