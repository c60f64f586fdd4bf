"""One frame after the other: a stage and a camera become a picture, in one of three modes.

`full` traces every point of the grid. `frameless` traces a part of them in each frame and keeps the rest as they were. `budget` stops
when the time of a frame is spent, in whatever it is doing, and says how far it has come.

Colours between traced points are mixed as they are displayed, as graphics hardware does it in the paper.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.errors import ArgumentError
from pliant.render import sampling, shade
from pliant.render.camera import MAX_PICTURE_SIDE, Camera, subpixel_positions
from pliant.render.colours import linear_to_srgb, to_uint8, tone_map
from pliant.render.scene import RenderScene
from pliant.render.shade import Phase

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MODES = ("full", "frameless", "budget")
BLOCK_SIZE = 1 << 19  # rays that are traced breadth first together, so that memory stays bounded: 640 × 480 are one block
SHORT_BATCH = 1 << 12  # rays between two looks at the clock


@dataclass(frozen=True)
class Settings:
    """How pictures are made.

    step : every how many pixels one is traced; `reconstruct`: how the others are filled in, "quads" or "bilinear"
    mode : "full", "frameless" (a `parts`-th of the points a frame) or "budget" (`budget_ms` milliseconds a frame)
    bounces : how often rays are mirrored or bent
    antialias : k for k² rays a point
    """

    width: int = 640
    height: int = 480
    step: int = 1
    reconstruct: str = "quads"
    mode: str = "full"
    parts: int = 8
    budget_ms: float = 50.0
    bounces: int = 1
    antialias: int = 1
    exposure: float = 1.0

    def __post_init__(self) -> None:
        integer_ranges = {"width": range(1, MAX_PICTURE_SIDE + 1), "height": range(1, MAX_PICTURE_SIDE + 1),
                          "step": range(1, sampling.MAX_STEP + 1),
                          "parts": range(1, 1025), "bounces": range(33), "antialias": range(1, 17)}  # fmt: skip
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name in integer_ranges:
                value = validate.integer(name, value, integer_ranges[name])
            elif name in ("reconstruct", "mode"):
                value = validate.choice(name, value, sampling.FILTERS if name == "reconstruct" else MODES)
            else:
                value = validate.number(name, value, 0.0)
            object.__setattr__(self, name, value)


class Picture(NamedTuple):
    """A picture (height, width, 3) uint8, encoded sRGB, and how it came about.

    phases : what was traced; in budget mode the last may be incomplete
    rays : how many rays that was, shadow rays included
    seconds : from the beginning of the frame to the end
    """

    image: NDArray[np.uint8]
    phases: list[Phase]
    seconds: float

    @property
    def rays(self) -> int:
        return sum(phase.traced for phase in self.phases)

    @property
    def complete(self) -> bool:
        return all(phase.complete for phase in self.phases)


class Renderer:
    """Draws a stage, frame by frame. It remembers the last picture for the frameless mode."""

    def __init__(self, stage: RenderScene, settings: Settings | None = None) -> None:
        self.stage, self.settings = stage, settings or Settings()
        self.grid = sampling.pixel_grid(self.settings.width, self.settings.height, self.settings.step)
        self._tiles = self.grid.tiles()
        self._values: Floats | None = None
        self._frame_number = 0
        self._display_seconds = 0.0  # seconds that the last picture took when its rays were traced
        if self.settings.mode == "budget":
            sampling.coarse_to_fine(self.grid.columns, self.grid.rows)  # remembered: not at the expense of the first frame

    def draw(self, camera: Camera, started: float | None = None) -> Picture:
        """A picture of the stage as it is. `started` is when the frame began, by `time.perf_counter()`, which a budget counts from."""
        settings = self.settings
        if (camera.width, camera.height) != (settings.width, settings.height):
            raise ArgumentError(f"camera: expected a picture of {settings.width} × {settings.height}, got {camera.width} × {camera.height}")
        started = time.perf_counter() if started is None else started
        draw = {"full": self._full, "frameless": self._frameless, "budget": self._budget}[settings.mode]
        values, phases, traced = draw(camera, started)
        self._values = values
        image = to_uint8(sampling.reconstruct(values, self.grid, settings.reconstruct))
        finished = time.perf_counter()
        self._display_seconds = finished - traced
        return Picture(image, phases, finished - started)

    def _full(self, camera: Camera, started: float) -> tuple[Floats, list[Phase], float]:
        """Colours of all points, what was traced, and when that was done; so for all modes."""
        values = np.empty((self.grid.points, 3))
        return values, self._trace(camera, self._tiles, values), time.perf_counter()

    def _frameless(self, camera: Camera, started: float) -> tuple[Floats, list[Phase], float]:
        if self._values is None:  # nothing yet that could be kept
            return self._full(camera, started)
        self._frame_number += 1
        values = self._values.copy()
        phases = self._trace(camera, sampling.points_of_turn(self.grid.points, self.settings.parts, self._frame_number), values)
        return values, phases, time.perf_counter()

    def _budget(self, camera: Camera, started: float) -> tuple[Floats, list[Phase], float]:
        """The time that the last picture took after its rays is kept for this one too."""
        order, ends = sampling.coarse_to_fine(self.grid.columns, self.grid.rows)
        deadline = started + 1e-3 * self.settings.budget_ms - self._display_seconds
        rays_per_point = self.settings.antialias**2  # rays of a point, all of which come in one batch

        def rays(rows: slice) -> tuple[Floats, Floats]:
            return self._rays(camera, order[rows.start // rays_per_point : rows.stop // rays_per_point])

        result = shade.trace_generated(self.stage, rays_per_point * len(order), rays, bounces=self.settings.bounces,
                                       at_least=rays_per_point * ends[0],
                                       batch=max(1, SHORT_BATCH // rays_per_point) * rays_per_point,
                                       out_of_time=lambda: time.perf_counter() >= deadline)  # fmt: skip
        traced, n_traced = time.perf_counter(), result.phases[0].traced // rays_per_point
        values, is_traced = np.zeros((self.grid.points, 3)), np.zeros(self.grid.points, bool)
        values[order[:n_traced]], is_traced[order[:n_traced]] = self._display(result.light[: rays_per_point * n_traced]), True
        return sampling.fill_from_coarse(values, is_traced, self.grid.columns) if n_traced < len(order) else values, result.phases, traced

    def _trace(self, camera: Camera, points: Indices, values: Floats) -> list[Phase]:
        """Trace these points, block by block; the work of all blocks together."""
        phases: dict[tuple[str, int], Phase] = {}
        block = max(1, BLOCK_SIZE // self.settings.antialias**2)
        for start in range(0, len(points), block):
            chunk = points[start : start + block]
            traced = shade.trace(self.stage, *self._rays(camera, chunk), bounces=self.settings.bounces)
            values[chunk] = self._display(traced.light)
            for phase in traced.phases:
                total = phases.setdefault((phase.name, phase.bounce), Phase(phase.name, phase.bounce, 0))
                total.rays += phase.rays
                total.traced += phase.traced
                total.seconds += phase.seconds
        return list(phases.values())

    def _rays(self, camera: Camera, points: Indices) -> tuple[Floats, Floats]:
        return camera.rays_at(subpixel_positions(self.grid.corners(points), self.settings.antialias))

    def _display(self, light: Floats) -> Floats:
        """The colours of points, encoded, from the light of their rays. Rays are averaged as they would be seen: highlights stay soft."""
        mean = tone_map(light, self.settings.exposure).reshape(-1, self.settings.antialias**2, 3).mean(axis=1)
        return linear_to_srgb(mean)
