"""Other frames than those of a file: vertices are interpolated linearly between two frames.

Readers of formats that say where things are at any time (glTF, USD) sample these themselves. All others return the frames of their files,
which are 1 / rate apart, and are resampled here. Between frames with different faces nothing can be interpolated.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from pliant.errors import ArgumentError
from pliant.io.animation import Animation, Faces, FrameActor, Mesh
from pliant.io.limits import refuse

MAX_FRAMES = 1_000_000
WHOLE_TOLERANCE = 1e-6  # of a frame


def resample(animation: Animation, rate: float | None) -> Animation:
    """The animation with so many samples a second; itself, if it has them or nothing moves."""
    if rate is None or animation.frames == 1 or math.isclose(animation.rate, rate, rel_tol=1e-9):
        return animation
    step = animation.rate / rate
    frames = _frame_count(animation.frames, step)
    if frames > MAX_FRAMES:
        raise ArgumentError(f"rate: at {rate:g} a second {animation.name} has {frames:,} frames, at most {MAX_FRAMES:,} are read")
    actors = []
    for actor in animation.actors:
        if actor.frames == 1:
            actors.append(actor)
        elif isinstance(actor, FrameActor):
            actors.append(ResampledActor(actor, step))
        else:
            raise ArgumentError(f"rate: {animation.name} has {animation.rate:g} frames a second, and its reader knows no others, "
                                f"got {rate:g}")  # fmt: skip
    labels = None if animation.frame_labels is None else _interpolated_labels(animation.frame_labels, step, frames)
    note = (f"{animation.name}: has {animation.rate:g} frames a second, which are sampled {rate:g} times; vertices between frames are "
            "interpolated in straight lines")  # fmt: skip
    return animation._replace(actors=actors, frames=frames, rate=rate, notes=(*animation.notes, note), frame_labels=labels)


def _frame_count(frames: int, step: float) -> int:
    """How many samples frames have, from the first to the last."""
    return math.floor((frames - 1) / step + WHOLE_TOLERANCE) + 1


def _interpolated_labels(labels: list[str], step: float, frames: int) -> list[str] | None:
    """The numbers of the samples; None if labels are no numbers."""
    try:
        return number_labels(np.interp(step * np.arange(frames), np.arange(len(labels)), [float(label) for label in labels]))
    except ValueError:
        return None


def number_labels(numbers: Iterable[float]) -> list[str]:
    """Numbers of frames, most of them whole, as texts."""
    return [f"{round(float(number), 3):.10g}" for number in numbers]


class ResampledActor(FrameActor):
    """An actor at every `step`-th frame of another one; `step` need not be whole. Every thread keeps the two frames that it has read
    last."""

    def __init__(self, actor: FrameActor, step: float) -> None:
        super().__init__(actor.name, _frame_count(actor.frames, step), self._interpolated, actor.kind == "soup", self._source_of)
        self._actor, self._step, self._last = actor, step, threading.local()
        self.source_name, self.materials, self.material_of_face = actor.source_name, actor.materials, actor.material_of_face
        self.bones, self.bone_of_face, self.polygon_of_face = actor.bones, actor.bone_of_face, actor.polygon_of_face

    def polygons_at(self, frame: int) -> Faces | None:
        return self._actor.polygons_at(self._place(self.clamp_frame(frame))[0])

    def _source_of(self, frame: int) -> Path:
        return self._actor.source_of(self._place(frame)[0]) or Path(self._actor.name)

    def _place(self, frame: int) -> tuple[int, float]:
        """The frame of the other actor at or before a sample, and how far behind it the sample is."""
        position = frame * self._step
        before = min(math.floor(position + WHOLE_TOLERANCE), self._actor.frames - 1)
        part = position - before
        return before, part if part > WHOLE_TOLERANCE else 0.0

    def _interpolated(self, frame: int) -> Mesh:
        before, part = self._place(frame)
        vertices, faces = self._frame(before)
        if not part:
            return vertices, faces
        later_vertices, later_faces = self._frame(before + 1)
        if len(later_vertices) != len(vertices) or not (later_faces is faces or np.array_equal(later_faces, faces)):
            between = f"frames {before} and {before + 1}"
            raise refuse(self._source_of(frame), f"{self.name}: its faces change between {between}, so that there is nothing between "
                                                 "these; --rate is for faces that stay")  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):  # bodies refuse what is not finite
            return (1 - part) * vertices + part * later_vertices, faces

    def _frame(self, frame: int) -> Mesh:
        known: dict[int, Mesh] = getattr(self._last, "frames", {})
        if frame not in known:
            known = {number: mesh for number, mesh in known.items() if abs(number - frame) <= 1}
            known[frame] = self._actor.mesh(frame)
            while len(known) > 2:
                del known[min(known)]
            self._last.frames = known
        return known[frame]
