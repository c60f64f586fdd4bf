"""What a report says of a face that somebody clicks on: its polygon, its material and its bone in the file, and the numbers of its
vertices there.

A block of a body holds, as `byte_planes` of deltas, int32: the polygon of each face, its material and its bone, and the numbers in the
file of the vertices that are drawn. Each of them may be absent; their lengths are in the JSON of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.errors import ArgumentError
from pliant.report.data import Indices, ReportBody
from pliant.report.encode import byte_planes, deflate, deltas

MAX_SHARE = 8  # details take at most this part of the page, or are left out
FACE_COLUMNS = ("polygon_of_face", "material_of_face", "bone_of_face")  # arrays of `ReportBody`, in the order of the block


class FaceDetails(NamedTuple):
    """The details of a body.

    lengths : of its arrays, in their order; 0: absent
    block : the arrays, deflated; empty if there are none
    """

    lengths: tuple[int, int, int, int]
    block: bytes


def encode_details(bodies: Sequence[ReportBody], faces: Sequence[int], vertex_ids: Sequence[Indices | None],
                   most_bytes: int) -> list[FaceDetails]:  # fmt: skip
    """The details of all bodies; none, if they leave too few bytes for frames. `faces`: of each body in the first snapshot; `vertex_ids`:
    the numbers of drawn vertices, None where all are drawn."""
    found = []
    for number, (body, count, drawn) in enumerate(zip(bodies, faces, vertex_ids, strict=True)):
        arrays = [*(getattr(body, name) for name in FACE_COLUMNS), drawn]
        for name, array in zip(FACE_COLUMNS, arrays, strict=False):
            if array is not None and len(array) != count:
                raise ArgumentError(f"bodies[{number}]: {name}: expected a number for each of {count} faces, got {len(array)}")
        rows = [np.zeros(0, np.int32) if array is None else np.asarray(array, np.int32) for array in arrays]
        content = b"".join(byte_planes(deltas(each)) for each in rows)
        polygons, materials, bones, vertices = map(len, rows)
        found.append(FaceDetails((polygons, materials, bones, vertices), deflate(content) if content else b""))
    return found if sum(len(each.block) for each in found) * 4 / 3 < most_bytes / MAX_SHARE else []


def detail_fields(body: ReportBody, details: FaceDetails | None) -> dict[str, Any]:
    """What the JSON of the page says of a body's details."""
    lengths = details.lengths if details else (0, 0, 0, 0)
    ids = "unknown" if details is None else "listed" if lengths[3] else "same"
    names = {"materials": body.materials if lengths[1] else None, "bones": body.bones if lengths[2] else None}
    return {"details": list(lengths), "ids": ids, **{what: [str(name) for name in each or ()] for what, each in names.items()}}
