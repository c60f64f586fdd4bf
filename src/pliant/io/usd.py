"""Scenes in USD files (.usd, .usda, .usdc, .usdz): every mesh of the stage that is active and visible is an actor.

Time codes from start to end are the frames, one each unless the user asks for another rate. Meshes of native instances are read through
their proxies; point instancers are left out, with a note. Subdivision surfaces are taken as their cages.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

from pliant.io.animation import PLAIN, RATE, Actor, Animation, Settings
from pliant.io.guard import Names, refuse, size_of, title
from pliant.io.usdactors import Clock, actor_of
from pliant.io.usdskin import skins_of
from pliant.io.usdstage import MOST_BYTES, asking, opened

MOST_FRAMES = 1_000_000
MOST_ACTORS = 100_000
UNITS = {1.0: "m", 0.1: "dm", 0.01: "cm", 0.001: "mm", 1000.0: "km", 0.0254: "in", 0.3048: "ft"}  # by metres
HIDDEN = ("guide", "proxy")  # purposes: what is drawn for artists, and stand-ins for what is there too


def read_usd(path: str | Path, settings: Settings = PLAIN) -> Animation:
    """The animation in a USD file, which needs usd-core: pip install 'pliant[usd]'. Read files only from people you trust: the library is
    C++, and nobody has shown that damaged files cannot crash it."""
    path = Path(path)
    size_of(path, MOST_BYTES)
    with asking(path) as pxr:
        stage, files = opened(pxr, path)
        clock, rate = _clock(path, stage, settings)
        actors, notes = _actors(pxr, path, stage, clock)
        if not actors:
            raise refuse(path, "has no mesh that is visible and has faces")
        up = str(pxr.UsdGeom.GetStageUpAxis(stage)).lower() if stage.HasAuthoredMetadata("upAxis") else ""
        metres = float(pxr.UsdGeom.GetStageMetersPerUnit(stage)) if stage.HasAuthoredMetadata("metersPerUnit") else 0.0
        unit = next((name for size, name in UNITS.items() if math.isclose(size, metres, rel_tol=1e-6)), "")
    return Animation(path.stem, actors, max(actor.frames for actor in actors), rate, up, unit, notes, files)


def _clock(path: Path, stage: Any, settings: Settings) -> tuple[Clock, float]:
    """The frames, and how many a second has."""
    codes = float(stage.GetTimeCodesPerSecond())
    start, end = (float(stage.GetStartTimeCode()), float(stage.GetEndTimeCode())) if stage.HasAuthoredTimeCodeRange() else _sampled(stage)
    if not (math.isfinite(start) and math.isfinite(end) and 0 < codes < math.inf and end >= start):
        raise refuse(path, f"its time codes go from {start:g} to {end:g}, {codes:g} a second; expected rising, finite ones")
    rate = codes if settings.rate is None else settings.rate
    if not 0 < rate < math.inf:
        raise ValueError(f"rate: expected a positive number, got {rate!r}")
    frames = math.floor((end - start) / codes * rate + 1e-6) + 1
    if frames > MOST_FRAMES:
        raise refuse(path, f"has {frames:,} frames, at most {MOST_FRAMES:,} are read")
    return Clock(path, stage, start, codes / rate, frames), rate if frames > 1 else settings.rate or RATE


def _sampled(stage: Any) -> tuple[float, float]:
    """The first and the last time that anything is said of."""
    start, end = math.inf, -math.inf
    for prim in stage.Traverse():
        for attribute in prim.GetAuthoredAttributes():
            times = attribute.GetTimeSamples()
            if times:
                start, end = min(start, times[0]), max(end, times[-1])
    return (start, end) if start <= end else (0.0, 0.0)


def _actors(pxr: Any, path: Path, stage: Any, clock: Clock) -> tuple[list[Actor], tuple[str, ...]]:
    """All actors, and sentences about what was left out."""
    predicate = pxr.Usd.TraverseInstanceProxies(pxr.Usd.PrimDefaultPredicate)
    skins, first = skins_of(pxr, stage, predicate), clock.code(pxr, 0)
    made: list[Actor] = []
    left, apart = Counter[str](), Names()
    walk = iter(pxr.Usd.PrimRange(stage.GetPseudoRoot(), predicate))
    for prim in walk:
        if prim.IsA(pxr.UsdGeom.PointInstancer):
            left["point instancers were left out."] += 1
            walk.PruneChildren()
        if not prim.IsA(pxr.UsdGeom.Mesh):
            continue
        mesh = pxr.UsdGeom.Mesh(prim)
        if mesh.ComputeVisibility(first) == "invisible" or mesh.ComputePurpose() in HIDDEN:
            left["meshes are invisible, guides or proxies, and were left out."] += 1
            continue
        actor = actor_of(pxr, path, apart.new(title(prim.GetName())), mesh, clock, skins.get(prim.GetPath()))
        if actor is None:
            left["meshes have no faces, and were left out."] += 1
            continue
        left["meshes are subdivision surfaces; their cages are taken."] += mesh.GetSubdivisionSchemeAttr().Get() != "none"
        left["meshes have a skeleton, and faces that change; it does not move them."] += actor.kind == "soup" and prim.GetPath() in skins
        made.append(actor)
        if len(made) > MOST_ACTORS:
            raise refuse(path, f"has more than {MOST_ACTORS:,} meshes")
    return made, tuple(f"{count:,} {what}" for what, count in left.items() if count)
