"""Light along rays, breadth first: all primary rays, then their shadow rays, then what they are mirrored and bent into (thesis C 7.5).

Invariant: there is a picture at all times. A ray that has not been cast yet counts as one that sees the sky; casting it replaces that
guess by what it has hit, lit by all lights; a shadow ray then takes one light away again if something is in between. So tracing may stop
after any batch, which is how a time budget is kept, and rays beyond the last bounce still see the sky.

Rays that start on a surface must not hit it again. Positions are rounded by a few 1e-16 of the largest number in them. So such a ray
starts `LIFT` times that number away from its face, on its own side of it: it then cannot meet this face at any angle, unless the face is
such a needle that its normal is lost in roundings too. Hits nearer than `NEAR` times that number do not count (`t_min`), which is for sharp
valleys, where leaving one face may mean starting behind another.

Shapes: everything about n rays has n rows; colours are linear light (n, 3).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.render.materials import Light
from pliant.render.optics import dot, glass_share, kept_outside, reflected, refracted, schlick, unit
from pliant.render.scene import Stage, Surface

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

LIFT, NEAR = 1e-10, 1e-9
FAINT = 1.0 / 512.0  # what changes a pixel by less than half a step is not followed
BATCH = 1 << 15  # rays at a time: about 30 MB of temporaries
GOLDEN = (0.7548776662466927, 0.5698402909980532)  # steps that fill a square evenly (the plastic number's powers)


class Rays(NamedTuple):
    """Rays of one bounce: which sample they are for, and the share of its light that they bring."""

    origins: Floats  # (n, 3)
    directions: Floats  # (n, 3)
    sample: Indices  # (n,)
    share: Floats  # (n, 3)
    nearest: Floats  # (n,) hits before this do not count

    def part(self, rows: slice | Indices) -> Rays:
        return Rays(self.origins[rows], self.directions[rows], self.sample[rows], self.share[rows], self.nearest[rows])


class Shadows(NamedTuple):
    """Rays to lights, and the light (n, 3) that a sample loses where they are blocked."""

    origins: Floats
    directions: Floats
    sample: Indices
    loss: Floats
    nearest: Floats  # (n,)
    distance: Floats  # (n,) of the light

    def part(self, rows: slice) -> Shadows:
        return Shadows(self.origins[rows], self.directions[rows], self.sample[rows], self.loss[rows], self.nearest[rows],
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


class Traced(NamedTuple):
    """The light (n, 3) of n primary rays, and the phases it took. Where time was short the last is not complete."""

    light: Floats
    phases: list[Phase]

    @property
    def complete(self) -> bool:
        return all(phase.complete for phase in self.phases)


def trace(stage: Stage, origins: Floats, directions: Floats, *, bounces: int = 1, batch: int = BATCH, at_least: int = 0,
          spent: Callable[[], bool] = lambda: False) -> Traced:  # fmt: skip
    """The light that comes in along rays (n, 3), (n, 3), directions of length 1.

    bounces : how often a ray may be mirrored or bent
    batch : rays cast at a time; `spent` is asked before each, and ends the tracing when it says so
    at_least : primary rays that are cast in any case
    """
    if bounces < 0 or batch < 1:
        raise ValueError(f"expected bounces of at least 0 and a batch of at least 1, got {bounces} and {batch}")
    origins, directions = np.ascontiguousarray(origins, np.float64), np.ascontiguousarray(directions, np.float64)
    traced = trace_made(stage, len(directions), lambda rows: (origins[rows], directions[rows]), bounces=bounces, batch=batch,
                        at_least=at_least, spent=spent)  # fmt: skip
    rest = slice(traced.phases[0].traced, None)
    traced.light[rest] = stage.sky.towards(directions[rest])
    return traced


def trace_made(stage: Stage, count: int, make: Callable[[slice], tuple[Floats, Floats]], *, bounces: int = 1, batch: int = BATCH,
               at_least: int = 0, spent: Callable[[], bool] = lambda: False) -> Traced:  # fmt: skip
    """The same for rays that are made when their turn comes: `make(rows)` gives origins and directions, of 0 … count.

    Where time is short that matters: no time is lost on rays that are not cast. Their light is 0.
    """
    return _Tracing(stage, count, batch, at_least, spent).run(make, bounces)


class _Tracing:
    """The state of one call of `trace`."""

    def __init__(self, stage: Stage, count: int, batch: int, at_least: int, spent: Callable[[], bool]) -> None:
        self.stage, self.batch, self.at_least, self.spent = stage, batch, at_least, spent
        self.light, self.reach = np.zeros((count, 3)), stage.reach()
        self.phases: list[Phase] = []

    def run(self, make: Callable[[slice], tuple[Floats, Floats]], bounces: int) -> Traced:
        def primary(rows: slice) -> Rays:
            origins, directions = make(rows)
            self.light[rows] = self.stage.sky.towards(directions)
            n = len(directions)
            return Rays(origins, directions, np.arange(rows.start, rows.start + n), np.ones((n, 3)), np.zeros(n))

        part, count = primary, len(self.light)
        for bounce in range(bounces + 1):
            children, shadows = self.cast(part, count, bounce, last=bounce == bounces)
            if not self.phases[-1].complete:
                break
            self.darken(shadows, bounce)
            if not self.phases[-1].complete or not len(children.sample):
                break
            part, count = children.part, len(children.sample)
        return Traced(self.light, self.phases)

    def batches(self, phase: Phase) -> Iterator[slice]:
        """The rows of a phase, batch by batch, until time is up."""
        self.phases.append(phase)
        while phase.traced < phase.rays:
            if self.spent() and not (phase.name == "primary" and phase.traced < self.at_least):
                return
            rows = slice(phase.traced, min(phase.rays, phase.traced + self.batch))
            start = time.perf_counter()
            yield rows
            phase.traced, phase.seconds = rows.stop, phase.seconds + time.perf_counter() - start

    def cast(self, part: Callable[[slice], Rays], count: int, bounce: int, last: bool) -> tuple[Rays, Shadows]:
        """Cast these rays and light what they hit; what is to be cast next. Where this stops early, that is not all of it."""
        children, shadows = [_no_rays()], [_no_shadows()]
        for rows in self.batches(Phase("secondary" if bounce else "primary", bounce, count)):
            rays = part(rows)
            hits = self.stage.cast(rays.origins, rays.directions, rays.nearest)
            hit = np.flatnonzero(hits.face >= 0)
            found = _Hits(hits.t[hit], hits.face[hit], hits.body[hit], hits.uv[hit])
            self.light_up(rays.part(hit), found, children if not last else None, shadows)
        return Rays(*map(np.concatenate, zip(*children, strict=True))), Shadows(*map(np.concatenate, zip(*shadows, strict=True)))

    def light_up(self, rays: Rays, hits: _Hits, children: list[Rays] | None, shadows: list[Shadows]) -> None:
        """Replace the guess for rays that have hit something; add the rays that come next."""
        sky, table = self.stage.sky, self.stage.table
        surface = self.stage.surface(hits, rays.directions)
        row = surface.material
        self.add(rays.sample, -rays.share * sky.towards(rays.directions))
        clear_body = table.bends[row] > 0
        absorbed = np.where(surface.leaving[:, None] & clear_body, np.exp(-table.absorb[row] * hits.t[:, None]), 1.0)
        share = rays.share * absorbed
        if sky.haze < np.inf:
            clear = np.exp(-((hits.t[:, None] / sky.haze) ** 2))
            self.add(rays.sample, share * (1.0 - clear) * sky.towards(rays.directions * (1.0, 1.0, 0.0)))
            share = share * clear

        size = np.maximum(np.maximum(self.reach, np.abs(rays.origins).max(axis=1, initial=0.0)), hits.t)
        cosine = -dot(rays.directions, surface.normals)
        ratio = np.where(surface.leaving[:, None], table.bends[row], 1.0 / np.where(clear_body, table.bends[row], 1.0))
        mirrored = np.where(clear_body, glass_share(cosine, np.where(clear_body, ratio, 1.0)), _metal(cosine, table.straight[row]))

        scattered = np.where(clear_body, 0.0, table.scattered(row, surface.points) * (1.0 - mirrored))
        self.add(rays.sample, share * scattered * sky.around(surface.normals))
        start = surface.points + (LIFT * size)[:, None] * surface.faces
        for number, light in enumerate(self.stage.lights):
            self.shine(light, number, rays, surface, share, scattered, start, size, shadows)

        away = kept_outside(reflected(rays.directions, surface.normals), surface.faces)
        self.follow(rays.sample, share * mirrored, start, away, size, children)
        some = np.flatnonzero(clear_body[:, 0])
        if len(some):
            through, total = refracted(rays.directions[some], surface.normals[some], ratio[some])
            some, through = some[~total], through[~total]  # where reflection is total, all of the share has gone that way
            faces = surface.faces[some]
            behind = surface.points[some] - (LIFT * size[some])[:, None] * faces
            rest = share[some] * (1.0 - mirrored[some])
            self.follow(rays.sample[some], rest, behind, -kept_outside(-through, faces), size[some], children)

    def shine(self, light: Light, number: int, rays: Rays, surface: Surface, share: Floats, scattered: Floats, start: Floats, size: Floats,
              shadows: list[Shadows]) -> None:  # fmt: skip
        """Add a light as if nothing were in between, and the rays that will find out."""
        table, row = self.stage.table, surface.material
        to = np.asarray(light.position) - start
        if light.radius > 0:
            to = to + light.radius * _ball(rays.sample, number)
        distance = np.sqrt(dot(to, to))
        towards = to / np.where(distance > 0, distance, 1.0)
        facing = dot(towards, surface.normals)
        halfway = np.maximum(dot(unit(towards - rays.directions), surface.normals), 0.0)
        bright = share * light.light / (1.0 + (distance / light.reach) ** 2)
        gain = bright * (scattered * np.maximum(facing, 0.0) + table.gloss[row] * halfway ** table.shine[row])
        seen = (facing[:, 0] > 0) & (dot(towards, surface.faces)[:, 0] > 0) & ~(surface.leaving & (table.bends[row, 0] > 0))
        gain = np.where(seen[:, None], gain, 0.0)
        self.add(rays.sample, gain)
        ask = np.flatnonzero(gain.max(axis=1, initial=0.0) > 0.25 * FAINT)
        shadows.append(Shadows(start[ask], towards[ask], rays.sample[ask], gain[ask], NEAR * size[ask], distance[ask, 0]))

    def follow(self, sample: Indices, share: Floats, origins: Floats, directions: Floats, size: Floats,
               children: list[Rays] | None) -> None:  # fmt: skip
        """Guess that these rays see the sky; they are cast later if that matters, and if there is a later."""
        self.add(sample, share * self.stage.sky.towards(directions))
        if children is not None:
            some = np.flatnonzero(share.max(axis=1, initial=0.0) > FAINT)
            children.append(Rays(origins[some], directions[some], sample[some], share[some], NEAR * size[some]))

    def darken(self, shadows: Shadows, bounce: int) -> None:
        """Take away the light that does not arrive."""
        for rows in self.batches(Phase("shadow", bounce, len(shadows.sample))):
            part = shadows.part(rows)
            dark = self.stage.blocked(part.origins, part.directions, part.nearest, part.distance)
            self.add(part.sample[dark], -part.loss[dark])

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


def _metal(cosine: Floats, straight: Floats) -> Floats:
    """Share mirrored by what is not clear; nothing at all where nothing is mirrored straight."""
    return np.where(straight.max(axis=1, keepdims=True, initial=0.0) > 0, schlick(cosine, straight), 0.0)


def _ball(sample: Indices, number: int) -> Floats:
    """(n, 3) points in a ball of radius 1: another one for each sample, and neighbouring samples far apart."""
    u, v, w = ((0.37 * number + step * sample) % 1.0 for step in (*GOLDEN, 0.618033988749895))
    height, turn, radius = 2.0 * u - 1.0, 2.0 * np.pi * v, np.cbrt(w)
    flat = np.sqrt(np.maximum(1.0 - height * height, 0.0))
    points: Floats = radius[:, None] * np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)
    return points


def _no_rays() -> Rays:
    return Rays(np.empty((0, 3)), np.empty((0, 3)), np.empty(0, np.int64), np.empty((0, 3)), np.empty(0))


def _no_shadows() -> Shadows:
    return Shadows(np.empty((0, 3)), np.empty((0, 3)), np.empty(0, np.int64), np.empty((0, 3)), np.empty(0), np.empty(0))
