"""Bodies of paper G's scenes, all closed surfaces, oriented outward and free of self-intersections: vertices (n, 3) and faces (f, 3).

    rabbit      made of strokes, about 1.5 long, in place of the paper's bunnies; exactly so many triangles
    horse       the animal of paper S, rounder, so that fewer triangles suffice
    dragon      a tube with bumps about a coil that becomes narrower towards its ends: long, thin and coiled, like a dragon
    shuttle     pointed, with broad wings and a fin, about 1 long; it passes the creatures
    creature    a ball with twelve tentacles, one at each vertex of an icosahedron. A geodesic sphere is cut along the RINGS-th ring about
                each of those vertices; the part that was cut off becomes the tip of a tentacle, and ROWS of a tube connect the two. At rest
                tentacles are straight; `creatures.py` defines how they move
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.larsson2001.scenes import Faces, Rows
from experiments.larsson2008.bodies import animal
from experiments.solids import Solid, Stroke, mesh
from experiments.steinemann2008.scenes import geodesic

Mesh = tuple[Rows, Faces]


def joined(parts: list[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts[:-1])])
    faces = [faces + np.int32(start) for (_, faces), start in zip(parts, starts, strict=True)]
    return np.concatenate([vertices for vertices, _ in parts]), np.concatenate(faces)


# --- animals ---------------------------------------------------------------------------------------------------------------------

# Strokes: from, to, radii at both ends, and their width along y; then those on either side.
BACK = (
    ((-0.30, 0.0, -0.05), (0.10, 0.0, 0.00), 0.40, 0.36, 0.9),
    ((0.12, 0.0, 0.10), (0.40, 0.0, 0.42), 0.26, 0.22, 0.9),
    ((0.40, 0.0, 0.42), (0.54, 0.0, 0.38), 0.22, 0.15, 0.9),
    ((-0.66, 0.0, 0.02), (-0.70, 0.0, 0.03), 0.13, 0.13, 1.0),
)
SIDES = (
    ((0.36, 0.09, 0.56), (0.22, 0.26, 1.05), 0.085, 0.075),  # an ear
    ((-0.35, 0.22, -0.18), (-0.05, 0.30, -0.32), 0.20, 0.14),  # a hind leg
    ((0.15, 0.13, -0.15), (0.36, 0.18, -0.34), 0.15, 0.11),  # a fore leg
)
SOFT = 0.05  # length over which strokes blend


@cache
def rabbit(faces: int) -> Mesh:
    """A sitting rabbit, facing +x, z up, with exactly so many triangles: an even number, 1,200 or more."""
    strokes = [Stroke(*each) for each in BACK]
    for side in (1, -1):
        strokes += [Stroke((a[0], side * a[1], a[2]), (b[0], side * b[1], b[2]), *thick) for a, b, *thick in SIDES]
    return mesh(Solid(tuple(strokes), SOFT), faces)


@cache
def horse(faces: int) -> Mesh:
    """The animal of paper S with exactly so many triangles: an even number; from 16,000 on it does not intersect itself."""
    return mesh(Solid(animal(), SOFT), faces)


# --- the dragon ------------------------------------------------------------------------------------------------------------------

# The coil: its number of turns, its radius at the ends and in the middle, its height; the thickness of the body there, and its bumps: the
# height as a share of the thickness, and (weight, waves around the body, waves along it, phase). The rows of the mesh divided by the
# vertices around it: triangles are about as long as wide, so that the boxes of neighbours overlap little.
WINDINGS, COIL, HEIGHT, THICK, BUMP, ROWS = 3.5, (0.55, 1.0), 2.4, (0.05, 0.21), 0.1, 20
SCALES = ((0.4, 7, 241.0, 0.3), (0.3, -11, 389.0, 2.1), (0.3, 5, -607.0, 4.4))


@cache
def dragon(faces: int) -> Mesh:
    """About so many triangles, 1,000 or more: twice the rows along the body times the vertices around it."""
    around = max(6, round(float(np.sqrt(faces / 2 / ROWS))))
    rows = max(8, round(faces / 2 / around))
    return tube(rows, around)


def coil(along: Rows) -> tuple[Rows, Rows]:
    """Points (n, 3) on the spine, `along` 0 … 1, and the thickness of the body there (n,)."""
    turn, full = 2 * np.pi * WINDINGS * along, np.sin(np.pi * along)
    radius = COIL[0] + (COIL[1] - COIL[0]) * full
    thick = THICK[0] + (THICK[1] - THICK[0]) * np.sqrt(full)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), HEIGHT * (along - 0.5)], axis=1), thick


def tube(rows: int, around: int) -> Mesh:
    """The body: rings about the spine, and a vertex at either end."""
    along = (np.arange(rows) + 0.5) / rows
    middle, thick = coil(along)
    ahead = coil(along + 1e-6)[0] - coil(along - 1e-6)[0]
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.cross(ahead, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    third = np.cross(ahead, side)
    angle = 2 * np.pi * np.arange(around) / around
    bumps = np.zeros((rows, around))
    for weight, often, waves, phase in SCALES:
        bumps += weight * np.sin(often * angle + (waves * along + phase)[:, None])
    # The ends are round: the last rings become smaller like those of a ball.
    end = np.minimum(along, 1 - along) * rows / max(0.04 * rows, 2)
    width = thick[:, None] * (1 + BUMP * bumps) * np.sqrt(np.clip(end * (2 - np.minimum(end, 1)), 0, 1))[:, None]
    ring = np.cos(angle)[None, :, None] * side[:, None] + np.sin(angle)[None, :, None] * third[:, None]
    body = (middle[:, None] + width[:, :, None] * ring).reshape(-1, 3)
    ends = coil(np.array([0.0, 1.0]))[0]
    low, j = np.arange(rows - 1)[:, None] * around, np.arange(around)
    a, b, c, d = (index.reshape(-1) for index in (low + j, low + (j + 1) % around, low + around + (j + 1) % around, low + around + j))
    first, last, top = rows * around, rows * around + 1, (rows - 1) * around
    caps = np.stack([np.full(around, first), (j + 1) % around, j], 1), np.stack([np.full(around, last), top + j, top + (j + 1) % around], 1)
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1), *caps])
    return np.concatenate([body, ends]), shuffled(faces)


def shuffled(faces: NDArray[Any]) -> Faces:
    """The triangles in a fixed random order, so that no method profits from the order of the mesh."""
    return np.ascontiguousarray(faces[np.random.default_rng(len(faces)).permutation(len(faces))], np.int32)


# --- the shuttle -----------------------------------------------------------------------------------------------------------------


@cache
def shuttle(cuts: int) -> Mesh:
    """20 · cuts² triangles; it flies towards +x."""
    directions, faces = geodesic(cuts)
    x, y, z = directions.T
    wings, fin = np.exp(-(((x + 0.45) / 0.28) ** 2)), np.exp(-(((x + 0.65) / 0.16) ** 2))
    # Every section across x stays an ellipse, or two halves of one, at increasing x: nothing folds.
    return np.stack([0.5 * x, 0.10 * y * (1 + 2.6 * wings), 0.08 * z * (1 + np.where(z > 0, 1.8 * fin, 0.0))], axis=1), shuffled(faces)


# --- the creature ----------------------------------------------------------------------------------------------------------------

BALL, LONG, ROOT, TIP = 0.5, 1.0, 0.085, 0.05  # radius of the ball, length of a tentacle, and its radius near both ends
LIMBS = 12


class Creature(NamedTuple):
    """A creature at rest: vertices (n, 3), faces (f, 3), the tentacle (n,) of each vertex, −1 for the ball; for all tentacles their axes
    (12, 3, 3), rows along and two across it, and the distance from the centre of the ball at which a tentacle begins."""

    vertices: Rows
    faces: Faces
    limb: NDArray[np.int32]
    axes: Rows
    root: float


@cache
def creature(cuts: int, rings: int, rows: int) -> Creature:
    """20 · cuts² + 120 · rings · rows triangles; cuts > 2 · rings."""
    if not 1 <= rings < cuts / 2 or rows < 2:
        raise ValueError(f"rings must be 1 or more and less than cuts / 2, and rows 2 or more, not {rings}, {cuts} and {rows}")
    sphere, faces = geodesic(cuts)
    vertices = BALL * sphere
    limb = np.full(len(vertices), -1, np.int32)
    made, tubes, owners, kept, axes = [vertices], [], [limb], np.ones(len(faces), bool), []
    corners = np.flatnonzero(np.bincount(faces.reshape(-1)) == 5)
    levels = [levels_about(faces, len(vertices), int(corner), rings) for corner in corners]
    root = max(float((vertices[level == rings] @ vertices[corner]).max()) / BALL for level, corner in zip(levels, corners, strict=True))
    count = len(vertices)
    for number, (corner, level) in enumerate(zip(corners, levels, strict=True)):
        axis = vertices[corner] / BALL
        across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        across /= np.linalg.norm(across)
        frame = np.stack([axis, across, np.cross(axis, across)])
        axes.append(frame)
        angle = np.arctan2(vertices @ frame[2], vertices @ frame[1])
        ring = np.flatnonzero(level == rings)
        ring = ring[np.argsort(angle[ring])]
        inner = np.flatnonzero((level >= 0) & (level < rings))
        # Rows of the tube: lower rows are closer to the shape of the ring on the ball.
        share = np.arange(1, rows + 1) / rows
        blend = np.minimum(4 * share, 1)[:, None]
        width = (1 - blend) * np.linalg.norm((vertices @ frame[1:].T)[ring], axis=1) + blend * (ROOT + (TIP - ROOT) * share)[:, None]
        made.append(around_axis(frame, root + LONG * np.repeat(share, len(ring)), width.reshape(-1), np.tile(angle[ring], rows)))
        owners.append(np.full(rows * len(ring), number, np.int32))
        turn = 0.5 * np.pi * level[inner] / rings
        vertices[inner] = around_axis(frame, root + LONG + TIP * np.cos(turn), TIP * np.sin(turn), angle[inner])
        limb[inner] = number
        # The disc that was cut off is attached to the last row; the rest of the ball keeps the ring.
        disc = (level[faces] >= 0).all(axis=1)
        moved = np.arange(len(vertices))
        moved[ring] = count + (rows - 1) * len(ring) + np.arange(len(ring))
        tubes.append(moved[faces[disc]])
        kept &= ~disc
        grid = np.concatenate([ring[None], count + np.arange(rows * len(ring)).reshape(rows, -1)])
        a, b, c, d = (part.reshape(-1) for part in (grid[:-1], np.roll(grid[:-1], -1, 1), np.roll(grid[1:], -1, 1), grid[1:]))
        tubes += [np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
        count += rows * len(ring)
    triangles = shuffled(np.concatenate([faces[kept], *tubes]))
    return Creature(np.concatenate(made), triangles, np.concatenate(owners), np.stack(axes), root)


def levels_about(faces: NDArray[Any], count: int, corner: int, most: int) -> NDArray[np.int64]:
    """The number of edges between each vertex (n,) and a vertex of the icosahedron: 0 … most, −1 beyond."""
    level = np.full(count, -1)
    level[corner] = 0
    for number in range(1, most + 1):
        near = faces[(level[faces] >= 0).any(axis=1)]
        level[near[level[near] < 0]] = number
    return level


def around_axis(frame: Rows, height: Rows, radius: Rows, angle: Rows) -> Rows:
    """Points (n, 3) in cylinder coordinates about the first row of a frame (3, 3)."""
    return np.asarray(np.stack([height, radius * np.cos(angle), radius * np.sin(angle)], axis=1) @ frame)
