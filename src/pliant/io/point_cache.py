"""Point caches: the positions of a mesh's vertices in every frame, without the mesh. PC2 (3ds Max, Blender) and MDD (LightWave, Blender).

PC2, little-endian: "POINTCACHE2" and a zero byte; int32 version, 1; int32 points; float32 first frame; float32 frames between samples;
int32 samples; then float32 x y z of every point, sample after sample. MDD, big-endian: int32 samples; int32 points; float32 time in seconds
of each sample; then the same.

Invariant: what a header announces is exactly what the file holds, and a sample is read by going to where it is.
"""

from __future__ import annotations

import struct
import threading
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.io.animation import DEFAULT_RATE, Animation, Floats, FrameActor, Mesh, Settings
from pliant.io.limits import RATE_RANGE, file_errors, refuse, size_of
from pliant.io.mesh_part import MeshPart, to_float64
from pliant.io.meshes import read_parts

MAGIC = b"POINTCACHE2\0"
HEADER_BYTES = 32  # bytes before the first sample of a PC2
MESH_SUFFIXES = (".obj", ".ply", ".off")  # meshes that have vertices of their own, in an order that a cache can count on


class PointCache(NamedTuple):
    """Where samples are in a file."""

    path: Path
    samples: int
    points: int
    offset: int  # of the first
    type: str
    rate: float | None = None  # frames a second, where the file says

    def sample(self, number: int) -> Floats:
        """(points, 3)."""
        with file_errors(self.path), self.path.open("rb") as file:
            file.seek(self.offset + number * self.points * 12)
            rows = np.fromfile(file, self.type, 3 * self.points)
            if len(rows) != 3 * self.points:
                raise refuse(self.path, f"ends in frame {number}")
            return to_float64(rows).reshape(-1, 3)


def read_cache(path: Path) -> PointCache:
    """The header of a cache, compared with the size of the file."""
    size = size_of(path)
    with file_errors(path), path.open("rb") as file:
        found = _parse_mdd(path, file.read(8), size) if path.suffix.lower() == ".mdd" else _parse_pc2(path, file.read(HEADER_BYTES))
        expected = found.offset + found.samples * found.points * 12
        if found.samples < 1 or found.points < 1 or expected != size:
            announced = f"{found.samples:,} frames of {found.points:,} points"
            raise refuse(path, f"announces {announced}, which take {expected:,} bytes, and has {size:,}")
        if found.type == ">f4":
            found = found._replace(rate=_rate_of_times(np.fromfile(file, ">f4", found.samples)))
    return found


def _parse_pc2(path: Path, head: bytes) -> PointCache:
    if len(head) < HEADER_BYTES or not head.startswith(MAGIC):
        raise refuse(path, "not a point cache: it does not begin with POINTCACHE2")
    version, points, _, _, samples = struct.unpack("<iiffi", head[len(MAGIC) :])
    if version != 1:
        raise refuse(path, f"is of version {version}, expected 1")
    return PointCache(path, samples, points, HEADER_BYTES, "<f4")


def _parse_mdd(path: Path, head: bytes, size: int) -> PointCache:
    if len(head) < 8:
        raise refuse(path, f"has {size} bytes, too few for a header")
    samples, points = struct.unpack(">ii", head)
    return PointCache(path, samples, points, 8 + 4 * max(samples, 0), ">f4")


def _rate_of_times(times: NDArray[np.float32]) -> float | None:
    """Frames a second, if times rise."""
    seconds = float(times[-1]) - float(times[0])
    rate = (len(times) - 1) / seconds if seconds > 0 else 0.0
    return rate if RATE_RANGE[0] <= rate <= RATE_RANGE[1] else None


def read_cached_mesh(mesh: Path, cache: Path, settings: Settings) -> Animation:
    """The mesh of a file, where a cache says that its vertices are. Positions in the mesh's own file do not matter."""
    if mesh.suffix.lower() not in MESH_SUFFIXES:
        raise refuse(cache, f"cannot move {mesh.name}: expected a mesh of {', '.join(MESH_SUFFIXES)}, whose vertices have an order")
    found, parts = read_cache(cache), read_parts(mesh)
    if not parts:
        raise refuse(mesh, "holds no faces")
    count = parts[0].file_vertices or len(parts[0].vertices)
    if count != found.points:
        raise refuse(cache, f"holds {found.points:,} points, but {mesh.name} has {count:,} vertices")
    samples = CacheReader(found)
    actors = [FrameActor(part.name, found.samples, partial(samples.part_mesh, part), source=cache, polygon_of_face=part.polygon_of_face)
              for part in parts]
    for actor, part in zip(actors, parts, strict=True):
        actor.take_materials(part.materials, part.material_of_face)
    return Animation(mesh.stem, actors, found.samples, found.rate or DEFAULT_RATE, files=(mesh, cache))


class CacheReader:
    """The samples of a cache, for all parts of a mesh. Every thread keeps the one that it has read last, since the parts of a frame ask for
    it one after the other."""

    def __init__(self, cache: PointCache) -> None:
        self._cache, self._last = cache, threading.local()

    def part_mesh(self, part: MeshPart, frame: int) -> Mesh:
        """Where the vertices of a part are in a frame."""
        if getattr(self._last, "frame", None) != frame:
            self._last.rows, self._last.frame = self._cache.sample(frame), frame
            self._last.rows.flags.writeable = False
        rows: Floats = self._last.rows
        return rows if part.rows is None else rows[part.rows], part.faces
