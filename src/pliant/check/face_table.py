"""What files of results say of faces: the polygon, the material and the bone of each, once for all bodies.

Rows are the faces of all bodies in the first checked frame, one body after the other: that of face f of body b is
sum(face_counts[:b]) + f. A column that no body has is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.check.report_meta import ReportMeta
from pliant.report.data import Indices

Numbers = NDArray[np.int32]


class FaceTable(NamedTuple):
    """Columns (f,), or empty.

    polygon : its number in the file; of bodies of triangles the number of the face in its body
    material, bone : rows of `materials` and `bones`, −1 for none
    materials, bones : names, each once for all bodies
    """

    polygon: Numbers
    material: Numbers
    bone: Numbers
    materials: list[str]
    bones: list[str]


def face_table(meta: ReportMeta) -> FaceTable:
    """The table of these bodies."""
    polygons = [body.polygon_of_face for body in meta.bodies]
    material, materials = merged_labels([(body.materials, body.material_of_face) for body in meta.bodies], meta)
    bone, bones = merged_labels([(body.bones, body.bone_of_face) for body in meta.bodies], meta)
    polygon = [np.arange(count.faces, dtype=np.int32) if each is None else each for each, count in zip(polygons, meta.counts, strict=True)]
    return FaceTable(joined(polygon) if any(each is not None for each in polygons) else joined([]), material, bone, materials, bones)


def merged_labels(labels: Sequence[tuple[Sequence[str] | None, Indices | None]], meta: ReportMeta) -> tuple[Numbers, list[str]]:
    """(row of the name of each face, names): the labels of all bodies, with one list of names."""
    rows, columns = dict[str, int](), list[Numbers]()
    for (names, numbers), count in zip(labels, meta.counts, strict=True):
        if names is None or numbers is None:
            columns.append(np.full(count.faces, -1, np.int32))
        else:
            places = np.array([*(rows.setdefault(str(name), len(rows)) for name in names), -1], np.int32)
            columns.append(places[numbers])
    return joined(columns) if rows else joined([]), list(rows)


def joined(columns: Sequence[Indices]) -> Numbers:
    """The columns of all bodies, one after the other."""
    return np.concatenate([np.zeros(0, np.int32), *columns]).astype(np.int32)
