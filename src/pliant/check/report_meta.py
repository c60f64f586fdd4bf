"""The bodies of an animation as results and reports name them: names, sizes, faces and BVHs in the first frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.body import Body
from pliant.check.pair_keys import Keys, face_offsets
from pliant.io.animation import Actor, Animation
from pliant.report.data import Indices, ReportBody
from pliant.report.hierarchy import hierarchy_of


class BodySize(NamedTuple):
    """The size of a body in the first frame."""

    vertices: int
    faces: int


class ReportMeta(NamedTuple):
    """The bodies of a report, in the first frame."""

    bodies: list[ReportBody]
    counts: list[BodySize]
    faces: list[Indices]
    origin: NDArray[np.float64]  # subtracted from drawn vertices: float32 has seven digits
    offsets: Keys  # the number of each body's first face, see `pair_keys`
    frame_labels: list[str] | None  # what people call frames, by frame; None: their numbers

    def polygon(self, body: int, face: int) -> int:
        """The polygon of the file that a face is part of; the face, where that is unknown."""
        polygons = self.bodies[body].polygon_of_face
        return int(polygons[face]) if polygons is not None and face < len(polygons) else face

    def material(self, body: int, face: int) -> str:
        """The name of the material of a face; empty if it has none."""
        return name_of_face(self.bodies[body].materials, self.bodies[body].material_of_face, face)

    def bone(self, body: int, face: int) -> str:
        """The name of the bone that carries a face most; empty if none does."""
        return name_of_face(self.bodies[body].bones, self.bodies[body].bone_of_face, face)

    def frame_label(self, frame: int) -> str:
        """What people call a frame."""
        labels = self.frame_labels
        return labels[frame] if labels is not None and frame < len(labels) else str(frame)


def report_body(actor: Actor, body: Body, with_hierarchy: bool, first: int) -> ReportBody:
    """A body in the frame `first`. Where it has other faces than in frame 0, nobody knows their materials."""
    hierarchy = hierarchy_of(body) if with_hierarchy and actor.kind != "soup" else None
    labels = (actor.materials, actor.material_of_face), (actor.bones, actor.bone_of_face)
    (materials, material_of_face), (bones, bone_of_face) = (
        (None, None) if numbers is None or len(numbers) != len(body.faces) else (names, numbers) for names, numbers in labels)  # fmt: skip
    polygons = actor.polygons_at(first)
    return ReportBody(actor.name, actor.kind, hierarchy, materials, material_of_face,
                      polygons if polygons is not None and len(polygons) == len(body.faces) else None, bones, bone_of_face)  # fmt: skip


def name_of_face(names: Sequence[str] | None, numbers: Indices | None, face: int) -> str:
    """The name of a face by the table of a body; empty if it has none."""
    if names is None or numbers is None or face >= len(numbers) or not 0 <= numbers[face] < len(names):
        return ""
    return str(names[numbers[face]])


def make_meta(animation: Animation, bodies: list[Body], with_hierarchy: bool, first: int = 0) -> ReportMeta:
    """The bodies of an animation in the frame `first`; their BVHs, if they are drawn."""
    report_bodies = [report_body(actor, body, with_hierarchy, first) for actor, body in zip(animation.actors, bodies, strict=True)]
    counts = [BodySize(body._motion.count, len(body.faces)) for body in bodies]
    boxes = np.array([body.bounds for body in bodies if len(body)]).reshape(-1, 2, 3)
    origin = 0.5 * boxes[:, 0].min(axis=0) + 0.5 * boxes[:, 1].max(axis=0) if len(boxes) else np.zeros(3)
    return ReportMeta(report_bodies, counts, [np.array(body.faces) for body in bodies], origin,
                      face_offsets([count.faces for count in counts]), animation.frame_labels)
