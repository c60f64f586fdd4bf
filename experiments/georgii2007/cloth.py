"""The cloth of paper G (section 8.2, Fig 11): it falls on a ball, slides a little, hangs down in folds and intersects itself there.

Particles on a square grid fall; constraints restore the lengths of the sides and diagonals of cells (position based dynamics, Müller et al.
2007) and move particles out of the ball. Self-collisions of the cloth are ignored. One coarse cloth is simulated; meshes of any size sample
a smooth surface through its particles, with small wrinkles where there are enough faces to show them. So all sizes move alike. The cloth
has a boundary: the surface is open. The ball is closed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.interpolate import RectBivariateSpline

from experiments.georgii2007.bodies import shuffled
from experiments.georgii2007.scenes import Scene, scene
from experiments.larsson2001.scenes import Rows
from experiments.steinemann2008.scenes import geodesic
from pliant import shapes

CELLS, SIDE, BALL = 24, 2.3, 0.5  # of the grid, the length of a side, the radius of the ball
STEPS, PASSES, FALL, GRAVITY = 320, 5, 1.5, 9.81  # of the simulation: steps, passes over all springs in each, seconds
DRAG, RUB, OUT = 0.6, 0.25, 0.012  # shares of the speed left after a second and of sliding after a step; distance between cloth and ball
# Sides along both axes of the grid, then diagonals: (rows, columns) from one end of a spring to the other, and its stiffness.
SPRINGS = ((1, 0, 1.0), (0, 1, 1.0), (1, 1, 0.35), (1, -1, 0.35))
WRINKLES = ((0.0030, 23.0, 9.0, 0.4), (0.0022, -14.0, 31.0, 2.0))  # height, waves along both sides, phase


@cache
def simulated() -> Rows:
    """Positions (STEPS + 1, CELLS + 1, CELLS + 1, 3) of all particles."""
    u, v = np.meshgrid(np.linspace(-0.5, 0.5, CELLS + 1), np.linspace(-0.5, 0.5, CELLS + 1), indexing="ij")
    # Off centre and slightly tilted, so that no two folds are alike.
    turn = np.cos(0.3) * u - np.sin(0.3) * v, np.sin(0.3) * u + np.cos(0.3) * v
    now = SIDE * np.stack([turn[0] + 0.03, turn[1] - 0.02, 0.004 * np.sin(7 * u + 5 * v)], axis=2)
    now[:, :, 2] += BALL + 0.10 + 0.05 * u
    before, step, made = now.copy(), FALL / STEPS, [now.copy()]
    for _ in range(STEPS):
        speed = (now - before) * DRAG**step
        before = now.copy()
        now = now + speed
        now[:, :, 2] -= GRAVITY * step * step
        for _ in range(PASSES):
            for spring in SPRINGS:
                pull(now, *spring)
            keep_out(now, before)
        made.append(now.copy())
    return np.array(made)


def pull(now: Rows, down: int, right: int, stiff: float) -> None:
    """All springs of a kind, in two halves, so that no two springs of a half share a particle."""
    length, count = SIDE / CELLS * float(np.hypot(down, right)), CELLS + 1
    for first in (0, 1):
        along_rows = slice(first, count - 1, 2) if down else slice(0, count)
        if down:
            one = now[along_rows, max(0, -right) : count - max(0, right)]
            other = now[first + 1 : count : 2, max(0, right) : count + min(0, right)]
            one, other = one[: len(other)], other[: len(one)]
        else:
            one, other = now[:, first : count - 1 : 2], now[:, first + 1 : count : 2]
        way = other - one
        far = np.sqrt(np.einsum("ijk,ijk->ij", way, way))
        way *= (0.5 * stiff * (1 - length / np.maximum(far, 1e-12)))[:, :, None]
        one += way
        other -= way


def keep_out(now: Rows, before: Rows) -> None:
    """Particles in the ball are projected to its surface, with friction."""
    far = np.sqrt(np.einsum("ijk,ijk->ij", now, now))
    inside = far < BALL + OUT
    if inside.any():
        out = now[inside] * ((BALL + OUT) / far[inside])[:, None]
        now[inside] = out + RUB * (before[inside] * ((BALL + OUT) / np.linalg.norm(before[inside], axis=1))[:, None] - out)


def cloth(faces: int, frames: int) -> Scene:
    """About so many faces over a ball of a tenth as many."""
    cells = max(4, round(float(np.sqrt(faces / 2))))
    ball, round_faces = geodesic(max(2, round(float(np.sqrt(faces / 200)))))
    sheet, flat = shapes.sheet(cells, cells)
    particles, places = np.linspace(0, 1, CELLS + 1), np.linspace(0, 1, cells + 1)
    u, v = np.meshgrid(places, places, indexing="ij")

    def at(k: int) -> list[Rows]:
        now = simulated()[round(k / frames * STEPS)]
        fine = np.stack([RectBivariateSpline(particles, particles, now[:, :, axis])(places, places) for axis in range(3)], axis=2)
        if cells > 2 * CELLS:
            across = np.cross(np.gradient(fine, axis=0), np.gradient(fine, axis=1))
            across /= np.linalg.norm(across, axis=2, keepdims=True)
            height = sum(size * np.sin(along * SIDE * u + aside * SIDE * v + phase + 0.02 * k) for size, along, aside, phase in WRINKLES)
            fine += np.asarray(height)[:, :, None] * across
        return [fine.reshape(-1, 3), BALL * ball]

    return scene("cloth", [(sheet, shuffled(flat)), (ball, round_faces)], at, frames, (0.0, 0.24, 0.97), closed=False)
