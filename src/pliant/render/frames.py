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
from pliant.render import sampling, shade
from pliant.render.camera import LARGEST, Camera, parts
from pliant.render.colours import eight_bits, encoded, exposed
from pliant.render.scene import Stage
from pliant.render.shade import Phase

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MODES = ("full", "frameless", "budget")
BLOCK = 1 << 19  # rays that are traced breadth first together, so that memory stays bounded: 640 × 480 are one block
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
        whole = {"width": range(1, LARGEST + 1), "height": range(1, LARGEST + 1), "step": range(1, sampling.LARGEST_STEP + 1),
                 "parts": range(1, 1025), "bounces": range(33), "antialias": range(1, 17)}  # fmt: skip
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name in whole:
                value = validate.integer(name, value, whole[name])
            elif name in ("reconstruct", "mode"):
                value = validate.choice(name, value, sampling.WAYS if name == "reconstruct" else MODES)
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

    def __init__(self, stage: Stage, settings: Settings | None = None) -> None:
        self.stage, self.settings = stage, settings or Settings()
        self.grid = sampling.grid(self.settings.width, self.settings.height, self.settings.step)
        self._tiles = self.grid.tiles()
        self._values: Floats | None = None
        self._turn = 0
        self._finishing = 0.0  # seconds that the last picture took when its rays were traced
        if self.settings.mode == "budget":
            sampling.coarse_to_fine(self.grid.columns, self.grid.rows)  # remembered: not at the expense of the first frame

    def draw(self, camera: Camera, started: float | None = None) -> Picture:
        """A picture of the stage as it is. `started` is when the frame began, by `time.perf_counter()`, which a budget counts from."""
        settings = self.settings
        if (camera.width, camera.height) != (settings.width, settings.height):
            raise ValueError(f"camera: expected a picture of {settings.width} × {settings.height}, got {camera.width} × {camera.height}")
        started = time.perf_counter() if started is None else started
        draw = {"full": self._full, "frameless": self._frameless, "budget": self._budget}[settings.mode]
        values, phases, traced = draw(camera, started)
        self._values = values
        image = eight_bits(sampling.reconstruct(values, self.grid, settings.reconstruct))
        finished = time.perf_counter()
        self._finishing = finished - traced
        return Picture(image, phases, finished - started)

    def _full(self, camera: Camera, started: float) -> tuple[Floats, list[Phase], float]:
        """Colours of all points, what was traced, and when that was done; so for all modes."""
        values = np.empty((self.grid.points, 3))
        return values, self._trace(camera, self._tiles, values), time.perf_counter()

    def _frameless(self, camera: Camera, started: float) -> tuple[Floats, list[Phase], float]:
        if self._values is None:  # nothing yet that could be kept
            return self._full(camera, started)
        self._turn += 1
        values = self._values.copy()
        phases = self._trace(camera, sampling.share(self.grid.points, self.settings.parts, self._turn), values)
        return values, phases, time.perf_counter()

    def _budget(self, camera: Camera, started: float) -> tuple[Floats, list[Phase], float]:
        """The time that the last picture took after its rays is kept for this one too."""
        order, ends = sampling.coarse_to_fine(self.grid.columns, self.grid.rows)
        deadline = started + 1e-3 * self.settings.budget_ms - self._finishing
        each = self.settings.antialias**2  # rays of a point, all of which come in one batch

        def rays(rows: slice) -> tuple[Floats, Floats]:
            return self._rays(camera, order[rows.start // each : rows.stop // each])

        result = shade.trace_made(self.stage, each * len(order), rays, bounces=self.settings.bounces, at_least=each * ends[0],
                                  batch=max(1, SHORT_BATCH // each) * each, spent=lambda: time.perf_counter() >= deadline)  # fmt: skip
        traced, done = time.perf_counter(), result.phases[0].traced // each
        values, known = np.zeros((self.grid.points, 3)), np.zeros(self.grid.points, bool)
        values[order[:done]], known[order[:done]] = self._display(result.light[: each * done]), True
        return sampling.spread(values, known, self.grid.columns) if done < len(order) else values, result.phases, traced

    def _trace(self, camera: Camera, points: Indices, values: Floats) -> list[Phase]:
        """Trace these points, block by block; the work of all blocks together."""
        phases: dict[tuple[str, int], Phase] = {}
        block = max(1, BLOCK // self.settings.antialias**2)
        for start in range(0, len(points), block):
            some = points[start : start + block]
            traced = shade.trace(self.stage, *self._rays(camera, some), bounces=self.settings.bounces)
            values[some] = self._display(traced.light)
            for phase in traced.phases:
                total = phases.setdefault((phase.name, phase.bounce), Phase(phase.name, phase.bounce, 0))
                total.rays += phase.rays
                total.traced += phase.traced
                total.seconds += phase.seconds
        return list(phases.values())

    def _rays(self, camera: Camera, points: Indices) -> tuple[Floats, Floats]:
        return camera.through(parts(self.grid.corners(points), self.settings.antialias))

    def _display(self, light: Floats) -> Floats:
        """The colours of points, encoded, from the light of their rays. Rays are averaged as they would be seen: highlights stay soft."""
        mean = exposed(light, self.settings.exposure).reshape(-1, self.settings.antialias**2, 3).mean(axis=1)
        return encoded(mean)
