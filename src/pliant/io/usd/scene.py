"""A USD file as the process serves it that reads it: meshes one after the other, and where each is in a frame.

Time codes from start to end are the frames, one each unless the user asks for another rate. Meshes of native instances are read through
their proxies; point instancers are left out, with a note. Subdivision surfaces are taken as their cages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pliant.errors import ArgumentError
from pliant.io.bones import Bones
from pliant.io.limits import UniqueNames, display_name, refuse
from pliant.io.subprocess_server import Response
from pliant.io.usd.bones import mesh_bones
from pliant.io.usd.materials import MaterialNames, material_names
from pliant.io.usd.meshes import ArrayTuple, Clock, MeshRecord, read_mesh
from pliant.io.usd.skin import find_skins
from pliant.io.usd.stage import allow_bytes, open_stage, usd_errors

MAX_FRAMES = 1_000_000
MAX_ACTORS = 100_000
MAX_SOURCE = 1_000  # characters of the path of a prim
UNITS = {1.0: "m", 0.1: "dm", 0.01: "cm", 0.001: "mm", 1000.0: "km", 0.0254: "in", 0.3048: "ft"}  # by metres
HIDDEN_PURPOSES = ("guide", "proxy")  # purposes: what is drawn for artists, and stand-ins for what is there too


_Found = tuple[str, MeshRecord, str, MaterialNames, Bones]  # name, mesh, path of the prim, materials, bones


class SceneService:
    """What is asked of a file. Numbers of meshes count from 0, in the order of the stage."""

    def __init__(self, path: str, rate: float | None) -> None:
        self._path = Path(path)
        with usd_errors(self._path) as pxr:
            self._stage, self._files, self._size = open_stage(pxr, self._path)
            self._clock, self._rate = _make_clock(self._path, self._stage, rate)
        self._skipped = Counter[str]()
        self._mesh_iterator = self._meshes()
        self._poses: list[Callable[[int], ArrayTuple]] = []  # of the meshes that the walk has come to

    def next_mesh(self) -> Response:
        """The next mesh that is active, visible and has faces; nothing after the last one."""
        found = self._advance()
        if found is None:
            return None, ()
        name, mesh, source, (materials, material_of_polygon), bones = found
        head = {"name": name, "kind": mesh.kind, "frames": mesh.frames, "joints": mesh.joints, "source": source, "materials": materials,
                "bones": bones.names}  # fmt: skip
        return head, (*mesh.arrays, *([material_of_polygon] if materials else []), *([bones.of_polygon] if bones.names else []))

    def metadata(self) -> Response:
        """What is said of the whole. `rate` is 0 where there is one frame."""
        while self._advance() is not None:
            pass
        if not self._poses:
            raise refuse(self._path, "has no mesh that is visible and has faces")
        stage = self._stage
        with usd_errors(self._path) as pxr:
            up = str(pxr.UsdGeom.GetStageUpAxis(stage)).lower() if stage.HasAuthoredMetadata("upAxis") else ""
            metres = float(pxr.UsdGeom.GetStageMetersPerUnit(stage)) if stage.HasAuthoredMetadata("metersPerUnit") else 0.0
        unit = next((name for size, name in UNITS.items() if math.isclose(size, metres, rel_tol=1e-6)), "")
        notes = [f"{count:,} {what}" for what, count in self._skipped.items() if count]
        files = [str(file) for file in self._files]
        return {"start": self._clock.start, "step": self._clock.step, "rate": self._rate, "up": up, "unit": unit, "notes": notes,
                "files": files}, ()  # fmt: skip

    def pose(self, number: int, frame: int) -> Response:
        """Where a mesh is."""
        while len(self._poses) <= number:  # in a process that was started again
            if self._advance() is None:
                raise refuse(self._path, "has fewer meshes than when it was opened")
        allow_bytes(self._size)
        with usd_errors(self._path):
            return None, self._poses[number](frame)

    def _advance(self) -> _Found | None:
        allow_bytes(self._size)
        with usd_errors(self._path):
            found = next(self._mesh_iterator, None)
        if found is not None:
            self._poses.append(found[1].pose)
        return found

    def _meshes(self) -> Iterator[_Found]:
        """All meshes with their names; what was left out is counted."""
        with usd_errors(self._path) as pxr:
            predicate = pxr.Usd.TraverseInstanceProxies(pxr.Usd.PrimDefaultPredicate)
            skins, first = find_skins(pxr, self._stage, predicate), self._clock.time_code(pxr, 0)
        skipped, names, made = self._skipped, UniqueNames(), 0
        walk = iter(pxr.Usd.PrimRange(self._stage.GetPseudoRoot(), predicate))
        for prim in walk:
            if prim.IsA(pxr.UsdGeom.PointInstancer):
                skipped["point instancers were left out."] += 1
                walk.PruneChildren()
            if not prim.IsA(pxr.UsdGeom.Mesh):
                continue
            mesh = pxr.UsdGeom.Mesh(prim)
            if mesh.ComputeVisibility(first) == "invisible" or mesh.ComputePurpose() in HIDDEN_PURPOSES:
                skipped["meshes are invisible, guides or proxies, and were left out."] += 1
                continue
            name = names.assign(display_name(prim.GetName()))
            found = read_mesh(pxr, self._path, name, mesh, self._clock, skins.get(prim.GetPath()))
            if found is None:
                skipped["meshes have no faces, and were left out."] += 1
                continue
            skipped["meshes are subdivision surfaces; their cages are taken."] += mesh.GetSubdivisionSchemeAttr().Get() != "none"
            unskinned = found.kind == "soup" and prim.GetPath() in skins
            skipped["meshes have a skeleton, and faces that change; it does not move them."] += unskinned
            made += 1
            if made > MAX_ACTORS:
                raise refuse(self._path, f"has more than {MAX_ACTORS:,} meshes")
            bones = mesh_bones(mesh, None if unskinned else skins.get(prim.GetPath()), first, len(found.arrays[0]), found.arrays[1:4])
            yield name, found, str(prim.GetPath())[:MAX_SOURCE], material_names(pxr, mesh, first), bones


def _make_clock(path: Path, stage: Any, wanted: float | None) -> tuple[Clock, float]:
    """The frames, and how many a second has; 0 where there is one."""
    codes = float(stage.GetTimeCodesPerSecond())
    start, end = (float(stage.GetStartTimeCode()),
                  float(stage.GetEndTimeCode())) if stage.HasAuthoredTimeCodeRange() else _sample_range(stage)
    if not (math.isfinite(start) and math.isfinite(end) and 0 < codes < math.inf and end >= start):
        raise refuse(path, f"its time codes go from {start:g} to {end:g}, {codes:g} a second; expected rising, finite ones")
    rate = codes if wanted is None else wanted
    if not 0 < rate < math.inf:
        raise ArgumentError(f"rate: expected a positive number, got {rate!r}")
    frames = math.floor((end - start) / codes * rate + 1e-6) + 1
    if frames > MAX_FRAMES:
        raise refuse(path, f"has {frames:,} frames, at most {MAX_FRAMES:,} are read")
    return Clock(stage, start, codes / rate, frames), rate if frames > 1 else 0.0


def _sample_range(stage: Any) -> tuple[float, float]:
    """The first and the last time that anything is said of."""
    start, end = math.inf, -math.inf
    for prim in stage.Traverse():
        for attribute in prim.GetAuthoredAttributes():
            times = attribute.GetTimeSamples()
            if times:
                start, end = min(start, times[0]), max(end, times[-1])
    return (start, end) if start <= end else (0.0, 0.0)
