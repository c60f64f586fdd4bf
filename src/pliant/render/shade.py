"""Light along rays, breadth first: all primary rays, then their shadow rays, then what they are mirrored and bent into (thesis C 7.5).

Invariant: there is a picture at all times. A ray that has not been cast yet counts as one that sees the sky; casting it replaces that
guess by what it has hit, lit by all lights; a shadow ray then takes one light away again if something is in between. So tracing may stop
after any batch, which is how a time budget is kept, and rays beyond the last bounce still see the sky.

Rays that start on a surface must not hit it again. Positions are rounded by a few 1e-16 of the largest number in them. So such a ray
starts `ORIGIN_OFFSET` times that number away from its face, on its own side of it: it then cannot meet this face at any angle, unless the
face is such a needle that its normal is lost in roundings too. Hits nearer than `T_MIN_FACTOR` times that number do not count (`t_min`),
which is for sharp valleys, where leaving one face may mean starting behind another.

Shapes: everything about n rays has n rows; colours are linear light (n, 3).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError
from pliant.render.materials import Light
from pliant.render.optics import above_face, dot, glass_reflectance, reflect, refract, schlick, unit
from pliant.render.scene import HitSurface, RenderScene

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORIGIN_OFFSET, T_MIN_FACTOR = 1e-10, 1e-9
MIN_SHARE = 1.0 / 512.0  # what changes a pixel by less than half a step is not followed
RAY_BATCH = 1 << 15  # rays at a time: about 30 MB of temporaries
PLASTIC_STEPS = (0.7548776662466927, 0.5698402909980532)  # steps that fill a square evenly (the plastic number's powers)


class RayBatch(NamedTuple):
    """Rays of one bounce: which sample they are for, and the share of its light that they bring."""

    origins: Floats  # (n, 3)
    directions: Floats  # (n, 3)
    sample: Indices  # (n,)
    share: Floats  # (n, 3)
    t_min: Floats  # (n,) hits before this do not count

    def select(self, rows: slice | Indices) -> RayBatch:
        return RayBatch(self.origins[rows], self.directions[rows], self.sample[rows], self.share[rows], self.t_min[rows])


class ShadowRays(NamedTuple):
    """Rays to lights, and the light (n, 3) that a sample loses where they are blocked."""

    origins: Floats
    directions: Floats
    sample: Indices
    loss: Floats
    t_min: Floats  # (n,)
    distance: Floats  # (n,) of the light

    def select(self, rows: slice) -> ShadowRays:
        return ShadowRays(self.origins[rows], self.directions[rows], self.sample[rows], self.loss[rows], self.t_min[rows],
                          self.distance[rows])  # fmt: skip


@dataclass
class Phase:
    """How far a phase has come: `traced` of `rays`, in `seconds`; `bounce` 0 is about primary rays."""

    name: str  # "primary", "shadow" or "secondary"
    bounce: int
    rays: int
    traced: int = 0
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        return self.traced == self.rays


class TraceResult(NamedTuple):
    """The light (n, 3) of n primary rays, and the phases it took. Where time was short the last is not complete."""

    light: Floats
    phases: list[Phase]

    @property
    def complete(self) -> bool:
        return all(phase.complete for phase in self.phases)


def trace(stage: RenderScene, origins: Floats, directions: Floats, *, bounces: int = 1, batch: int = RAY_BATCH, at_least: int = 0,
          out_of_time: Callable[[], bool] = lambda: False) -> TraceResult:  # fmt: skip
    """The light that comes in along rays (n, 3), (n, 3), directions of length 1.

    bounces : how often a ray may be mirrored or bent
    batch : rays cast at a time; `out_of_time` is asked before each, and ends the tracing when it says so
    at_least : primary rays that are cast in any case
    """
    if bounces < 0 or batch < 1:
        raise ArgumentError(f"expected bounces of at least 0 and a batch of at least 1, got {bounces} and {batch}")
    origins, directions = np.ascontiguousarray(origins, np.float64), np.ascontiguousarray(directions, np.float64)
    traced = trace_generated(stage, len(directions), lambda rows: (origins[rows], directions[rows]), bounces=bounces, batch=batch,
                             at_least=at_least, out_of_time=out_of_time)  # fmt: skip
    rest = slice(traced.phases[0].traced, None)
    traced.light[rest] = stage.sky.radiance(directions[rest])
    return traced


def trace_generated(stage: RenderScene, count: int, make: Callable[[slice], tuple[Floats, Floats]], *, bounces: int = 1,
                    batch: int = RAY_BATCH,
                    at_least: int = 0, out_of_time: Callable[[], bool] = lambda: False) -> TraceResult:  # fmt: skip
    """The same for rays that are made when their turn comes: `make(rows)` gives origins and directions, of 0 … count.

    Where time is short that matters: no time is lost on rays that are not cast. Their light is 0.
    """
    return _Tracer(stage, count, batch, at_least, out_of_time).run(make, bounces)


class _Tracer:
    """The state of one call of `trace`."""

    def __init__(self, stage: RenderScene, count: int, batch: int, at_least: int, out_of_time: Callable[[], bool]) -> None:
        self.stage, self.batch, self.at_least, self.out_of_time = stage, batch, at_least, out_of_time
        self.light, self.max_coordinate = np.zeros((count, 3)), stage.max_coordinate()
        self.phases: list[Phase] = []

    def run(self, make: Callable[[slice], tuple[Floats, Floats]], bounces: int) -> TraceResult:
        def primary(rows: slice) -> RayBatch:
            origins, directions = make(rows)
            self.light[rows] = self.stage.sky.radiance(directions)
            n = len(directions)
            return RayBatch(origins, directions, np.arange(rows.start, rows.start + n), np.ones((n, 3)), np.zeros(n))

        rays_of, count = primary, len(self.light)
        for bounce in range(bounces + 1):
            children, shadows = self.cast(rays_of, count, bounce, last=bounce == bounces)
            if not self.phases[-1].complete:
                break
            self.subtract_shadows(shadows, bounce)
            if not self.phases[-1].complete or not len(children.sample):
                break
            rays_of, count = children.select, len(children.sample)
        return TraceResult(self.light, self.phases)

    def batches(self, phase: Phase) -> Iterator[slice]:
        """The rows of a phase, batch by batch, until time is up."""
        self.phases.append(phase)
        while phase.traced < phase.rays:
            if self.out_of_time() and not (phase.name == "primary" and phase.traced < self.at_least):
                return
            rows = slice(phase.traced, min(phase.rays, phase.traced + self.batch))
            start = time.perf_counter()
            yield rows
            phase.traced, phase.seconds = rows.stop, phase.seconds + time.perf_counter() - start

    def cast(self, rays_of: Callable[[slice], RayBatch], count: int, bounce: int, last: bool) -> tuple[RayBatch, ShadowRays]:
        """Cast these rays and light what they hit; what is to be cast next. Where this stops early, that is not all of it."""
        children, shadows = [_no_rays()], [_no_shadows()]
        for rows in self.batches(Phase("secondary" if bounce else "primary", bounce, count)):
            rays = rays_of(rows)
            hits = self.stage.cast(rays.origins, rays.directions, rays.t_min)
            hit = np.flatnonzero(hits.face >= 0)
            nearest_hits = _Hits(hits.t[hit], hits.face[hit], hits.body[hit], hits.uv[hit])
            self.shade_hits(rays.select(hit), nearest_hits, children if not last else None, shadows)
        return RayBatch(*map(np.concatenate, zip(*children, strict=True))), ShadowRays(*map(np.concatenate, zip(*shadows, strict=True)))

    def shade_hits(self, rays: RayBatch, hits: _Hits, children: list[RayBatch] | None, shadows: list[ShadowRays]) -> None:
        """Replace the guess for rays that have hit something; add the rays that come next."""
        sky, table = self.stage.sky, self.stage.material_table
        surface = self.stage.surface(hits, rays.directions)
        row = surface.material
        self.add(rays.sample, -rays.share * sky.radiance(rays.directions))
        clear_body = table.refraction_index[row] > 0
        absorbed = np.where(surface.leaving[:, None] & clear_body, np.exp(-table.absorb[row] * hits.t[:, None]), 1.0)
        share = rays.share * absorbed
        if sky.haze < np.inf:
            clear = np.exp(-((hits.t[:, None] / sky.haze) ** 2))
            self.add(rays.sample, share * (1.0 - clear) * sky.radiance(rays.directions * (1.0, 1.0, 0.0)))
            share = share * clear

        size = np.maximum(np.maximum(self.max_coordinate, np.abs(rays.origins).max(axis=1, initial=0.0)), hits.t)
        cosine = -dot(rays.directions, surface.normals)
        ratio = np.where(surface.leaving[:, None], table.refraction_index[row],
                         1.0 / np.where(clear_body, table.refraction_index[row], 1.0))
        mirrored = np.where(clear_body, glass_reflectance(cosine, np.where(clear_body, ratio, 1.0)),
                            _opaque_reflectance(cosine, table.normal_reflectance[row]))

        scattered = np.where(clear_body, 0.0, table.diffuse_colour(row, surface.points) * (1.0 - mirrored))
        self.add(rays.sample, share * scattered * sky.ambient_light(surface.normals))
        start = surface.points + (ORIGIN_OFFSET * size)[:, None] * surface.faces
        for number, light in enumerate(self.stage.lights):
            self.add_light(light, number, rays, surface, share, scattered, start, size, shadows)

        directions = above_face(reflect(rays.directions, surface.normals), surface.faces)
        self.add_secondary(rays.sample, share * mirrored, start, directions, size, children)
        clear_rows = np.flatnonzero(clear_body[:, 0])
        if len(clear_rows):
            refracted_directions, total = refract(rays.directions[clear_rows], surface.normals[clear_rows], ratio[clear_rows])
            # where reflection is total, all of the share has gone that way
            clear_rows, refracted_directions = clear_rows[~total], refracted_directions[~total]
            faces = surface.faces[clear_rows]
            origins = surface.points[clear_rows] - (ORIGIN_OFFSET * size[clear_rows])[:, None] * faces
            transmitted = share[clear_rows] * (1.0 - mirrored[clear_rows])
            self.add_secondary(rays.sample[clear_rows], transmitted, origins, -above_face(-refracted_directions, faces), size[clear_rows],
                               children)

    def add_light(self, light: Light, number: int, rays: RayBatch, surface: HitSurface, share: Floats, scattered: Floats, start: Floats,
                  size: Floats,
                  shadows: list[ShadowRays]) -> None:  # fmt: skip
        """Add a light as if nothing were in between, and the rays that will find out."""
        table, row = self.stage.material_table, surface.material
        to_light = np.asarray(light.position) - start
        if light.radius > 0:
            to_light = to_light + light.radius * _ball_points(rays.sample, number)
        distance = np.sqrt(dot(to_light, to_light))
        towards = to_light / np.where(distance > 0, distance, 1.0)
        facing = dot(towards, surface.normals)
        halfway = np.maximum(dot(unit(towards - rays.directions), surface.normals), 0.0)
        bright = share * light.light / (1.0 + (distance / light.reach) ** 2)
        gain = bright * (scattered * np.maximum(facing, 0.0) + table.gloss[row] * halfway ** table.shine[row])
        lit = (facing[:, 0] > 0) & (dot(towards, surface.faces)[:, 0] > 0) & ~(surface.leaving & (table.refraction_index[row, 0] > 0))
        gain = np.where(lit[:, None], gain, 0.0)
        self.add(rays.sample, gain)
        rows = np.flatnonzero(gain.max(axis=1, initial=0.0) > 0.25 * MIN_SHARE)
        shadows.append(ShadowRays(start[rows], towards[rows], rays.sample[rows], gain[rows], T_MIN_FACTOR * size[rows], distance[rows, 0]))

    def add_secondary(self, sample: Indices, share: Floats, origins: Floats, directions: Floats, size: Floats,
                      children: list[RayBatch] | None) -> None:  # fmt: skip
        """Guess that these rays see the sky; they are cast later if that matters, and if there is a later."""
        self.add(sample, share * self.stage.sky.radiance(directions))
        if children is not None:
            rows = np.flatnonzero(share.max(axis=1, initial=0.0) > MIN_SHARE)
            children.append(RayBatch(origins[rows], directions[rows], sample[rows], share[rows], T_MIN_FACTOR * size[rows]))

    def subtract_shadows(self, shadows: ShadowRays, bounce: int) -> None:
        """Take away the light that does not arrive."""
        for rows in self.batches(Phase("shadow", bounce, len(shadows.sample))):
            rays = shadows.select(rows)
            blocked = self.stage.occluded(rays.origins, rays.directions, rays.t_min, rays.distance)
            self.add(rays.sample[blocked], -rays.loss[blocked])

    def add(self, sample: Indices, light: Floats) -> None:
        """Add light to samples, each of which may come several times. One channel after the other: `add.at` is fastest on flat arrays."""
        flat = self.light.reshape(-1)
        for channel in range(3):
            np.add.at(flat, 3 * sample + channel, light[:, channel])


class _Hits(NamedTuple):
    """Those of many hits that have hit something."""

    t: Floats
    face: NDArray[np.int32]
    body: Indices
    uv: Floats


def _opaque_reflectance(cosine: Floats, normal_reflectance: Floats) -> Floats:
    """Share mirrored by what is not clear; nothing at all where nothing is mirrored straight."""
    return np.where(normal_reflectance.max(axis=1, keepdims=True, initial=0.0) > 0, schlick(cosine, normal_reflectance), 0.0)


def _ball_points(sample: Indices, number: int) -> Floats:
    """(n, 3) points in a ball of radius 1: another one for each sample, and neighbouring samples far apart."""
    u, v, w = ((0.37 * number + step * sample) % 1.0 for step in (*PLASTIC_STEPS, 0.618033988749895))
    height, turn, radius = 2.0 * u - 1.0, 2.0 * np.pi * v, np.cbrt(w)
    flat = np.sqrt(np.maximum(1.0 - height * height, 0.0))
    points: Floats = radius[:, None] * np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)
    return points


def _no_rays() -> RayBatch:
    return RayBatch(np.empty((0, 3)), np.empty((0, 3)), np.empty(0, np.int64), np.empty((0, 3)), np.empty(0))


def _no_shadows() -> ShadowRays:
    return ShadowRays(np.empty((0, 3)), np.empty((0, 3)), np.empty(0, np.int64), np.empty((0, 3)), np.empty(0), np.empty(0))
