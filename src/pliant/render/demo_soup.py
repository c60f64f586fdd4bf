"""The second experiment of paper C (thesis 7.4): a room, two lights, and a work of art that is a soup of 65,536 mirrors; 300 frames.

The paper takes its room from a collection of scenes; this one is made of formulas. As there, the soup goes linearly through five
constellations, at 0, 1, 2, 3 and 4 seconds, no two of its triangles share a vertex, and it has one tree for each constellation, of which
the nearest is used. Tiles of triangles change places between constellations: in between they fly through the room.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError
from pliant.render.animation import Actor, AnimatedScene, CameraPose
from pliant.render.materials import Light, Material, Sky
from pliant.shapes import armed, bumpy, icosphere

Floats = NDArray[np.float64]
Faces = NDArray[np.int32]
Mesh = tuple[Floats, Faces]

N_FRAMES, SECONDS = 300, 4
FACES = 65_536
SIZES = tuple(4**k for k in range(3, 10))  # triangles of the soup
ROOM_SIZE = (7.0, 5.5, 4.6)  # half its length, half its width, its height
CENTRE, RADIUS = (0.0, 0.0, 1.95), 1.0  # of the work of art
PEDESTALS = ((-5.4, -3.9), (5.4, -3.9), (-5.4, 3.9), (5.4, 3.9))
PICTURES = ((-4.0, 0.95, 1.35, 3.05), (0.0, 1.35, 1.25, 3.25), (4.0, 0.85, 1.45, 3.15))  # pictures: x, half the width, low, high
PAINTS = ("#b5523b", "#2f5d73", "#d8a63a", "#e6dfd0", "#52704a", "#7b4b6e", "#2b2a2e")


def make_demo_soup(faces: int = FACES) -> AnimatedScene:
    """The show; `faces` of the work of art: 64, 256, 1024, 4096, 16384, 65536 or 262144."""
    if faces not in SIZES:
        raise ArgumentError(f"faces must be one of {', '.join(map(str, SIZES))}, not {faces!r}")
    keys = constellations(faces)
    soup = np.arange(3 * faces, dtype=np.int32).reshape(-1, 3)
    art = Actor(soup, Material.mirror("#f1e4cf", 0.86, smooth=False), partial(soup_at, keys), trees=key_frames(),
                tree=nearest_constellation)
    lights = [Light((-3.6, -2.6, 3.4), (1.0, 0.88, 0.72), 1.2, reach=8.0, radius=0.12),
              Light((3.8, 2.4, 3.4), (0.82, 0.90, 1.0), 1.0, reach=8.0, radius=0.12)]  # fmt: skip
    sky = Sky((0.60, 0.58, 0.55), (0.66, 0.62, 0.57), (0.38, 0.33, 0.29), ambient=0.5)
    return AnimatedScene("museum", N_FRAMES, [art, *room_actors()], lights, sky, camera_pose, poster=112, rate=N_FRAMES / SECONDS)


# --- the work of art -------------------------------------------------------------------------------------------------------


def constellations(faces: int) -> Floats:
    """(5, 3 · faces, 3): a ball, a knot, many small balls, a ring, a star; each a sheet of squares that is cut up, its tiles shuffled."""
    n = round(np.sqrt(faces / 4))
    tile = max(1, n // 16)
    row, column = np.divmod(np.arange(2 * n * n), 2 * n)
    order = np.lexsort((column, row, column // tile, row // tile))  # tile by tile
    row, column = row[order], column[order]
    corners = np.array([[(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 1), (0, 1)]])  # of two triangles a square: along, across
    u = (column[:, None, None] + corners[..., 0]).reshape(-1) / (2 * n)
    v = (row[:, None, None] + corners[..., 1]).reshape(-1) / n
    squares = (np.repeat(column // max(1, n // 4), 6), np.repeat(row // max(1, n // 4), 6), max(1, n // 4) / n)
    shapes = [ball(u, v), knot(u, v), balls(u, v, *squares), ring(u, v), star(u, v)]
    per_tile, rng = 6 * tile * tile, np.random.default_rng(5)
    tiles = len(u) // per_tile
    shuffled_shapes = [shape.reshape(tiles, per_tile, 3)[rng.permutation(tiles) if k else slice(None)].reshape(-1, 3)
                       for k, shape in enumerate(shapes)]  # fmt: skip
    return RADIUS * np.stack(shuffled_shapes) + CENTRE


def ball(u: Floats, v: Floats) -> Floats:
    turn, tilt = 2 * np.pi * u, np.pi * v
    return np.stack([np.cos(turn) * np.sin(tilt), np.sin(turn) * np.sin(tilt), np.cos(tilt)], axis=1)


def knot(u: Floats, v: Floats) -> Floats:
    """A tube along a trefoil knot, which stands upright."""
    t, turn = 2 * np.pi * u, 2 * np.pi * v

    def path(t: Floats) -> Floats:
        return np.stack([np.sin(t) + 2 * np.sin(2 * t), -np.sin(3 * t), np.cos(t) - 2 * np.cos(2 * t)], axis=1) / 3.0

    ahead = path(t + 1e-4) - path(t - 1e-4)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.cross(ahead, np.stack([np.sin(t), np.full_like(t, 2.0), np.cos(t)], axis=1))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    tube: Floats = path(t) + 0.17 * (np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * np.cross(ahead, side))
    return tube


def balls(u: Floats, v: Floats, column: NDArray[np.int64], row: NDArray[np.int64], width: float) -> Floats:
    """A square of the sheet becomes a ball of its own; they float on a large one."""
    columns, rows = int(column.max()) + 1, int(row.max()) + 1
    ball_number = row * columns + column
    small = ball(u * 2 / width - column, v / width - row)
    height = (2 * np.arange(columns * rows) + 1) / (columns * rows) - 1
    turn, flat = 2.399963 * np.arange(columns * rows), np.sqrt(1 - height * height)
    centres = np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)
    swarm: Floats = 1.02 * centres[ball_number] + 0.21 * small
    return swarm


def ring(u: Floats, v: Floats) -> Floats:
    """A ring of eight waves that lean over, tilted."""
    turn, angle = 2 * np.pi * u, 2 * np.pi * v
    tube_radius = 0.30 + 0.07 * np.cos(8 * turn + 2 * angle)
    radius, height = 0.82 + tube_radius * np.cos(angle), tube_radius * np.sin(angle)
    x, y, z = radius * np.cos(turn), radius * np.sin(turn), height
    return np.stack([x, 0.62 * y - 0.78 * z, 0.78 * y + 0.62 * z], axis=1)


def star(u: Floats, v: Floats) -> Floats:
    """A ball with rounded spikes."""
    turn, tilt = 2 * np.pi * u, np.pi * v
    spikes: Floats = ball(u, v) * (0.72 + 0.36 * np.cos(5 * turn) * np.sin(tilt) ** 3 * np.cos(4 * tilt))[:, None]
    return spikes


def frame_time(frame: int) -> float:
    """The time of a frame: the first is at 0, the last at 4 seconds."""
    return SECONDS * frame / (N_FRAMES - 1)


def soup_at(keys: Floats, frame: int) -> Floats:
    """The soup at a frame: on straight ways between two constellations."""
    time = frame_time(frame)
    key = min(int(time), len(keys) - 2)
    rows: Floats = keys[key] + (time - key) * (keys[key + 1] - keys[key])
    return rows


def key_frames() -> tuple[int, ...]:
    """The frames nearest to the five constellations, which trees are built on."""
    return tuple(round(time * (N_FRAMES - 1) / SECONDS) for time in range(SECONDS + 1))


def nearest_constellation(frame: int) -> int:
    """The constellation whose tree is used at a frame."""
    return int(frame_time(frame) + 0.5)


# --- the room --------------------------------------------------------------------------------------------------------------


def room_actors() -> list[Actor]:
    """Floor, walls, ceiling, pictures in frames, pedestals and what stands on them. None of it moves."""
    x, y, z = ROOM_SIZE
    skirting = [box((-x, -y, 0), (x, -y + 0.06, 0.24)), box((-x, y - 0.06, 0), (x, y, 0.24)),
                box((-x, -y, 0), (-x + 0.06, y, 0.24)), box((x - 0.06, -y, 0), (x, y, 0.24))]  # fmt: skip
    frames, panels = picture_meshes()
    plaster = Material.glossy("#efe9df", 0.12, 30.0, smooth=False)
    actors = [
        static_actor([box((-x, -y, -0.1), (x, y, 0.0))],
                     Material.diffuse("#8d6f58", second="#5d4638", checker=1.0, reflect=0.07, smooth=False)),
        static_actor([wall_slab(k) for k in range(4)], Material.diffuse("#cdbfae", smooth=False)),
        static_actor([box((-x, -y, z), (x, y, z + 0.1))], Material.diffuse("#ddd6ca", smooth=False)),
        static_actor(skirting, Material.glossy("#6b5a4c", 0.2, 30.0, smooth=False)),
        static_actor(frames, Material.mirror("#c9a050", 0.35, smooth=False)),
        static_actor([box((px - 0.42, py - 0.42, 0), (px + 0.42, py + 0.42, 1.05)) for px, py in PEDESTALS], plaster),
        static_actor([round_step(1.15, 0.0, 0.28), round_step(0.95, 0.28, 0.52)], plaster),
    ]
    actors += [static_actor(meshes, Material.glossy(colour, 0.15, 20.0, smooth=False)) for colour, meshes in panels.items()]
    directions, faces = icosphere(5)
    shapes = (bumpy(directions, 3.0, 0.2, 0.55), armed(directions, 2.0, 1) * 0.8, directions, bumpy(directions, 9.0, 0.12, 1.2))
    materials = (Material.glossy("#3d7f86", 0.8, 120.0), Material.mirror("#d08a5a", 0.6), Material.glass(1.5, (0.5, 0.15, 0.3)),
                 Material.glossy("#b04a52", 0.8, 120.0))  # fmt: skip
    for (px, py), shape, material in zip(PEDESTALS, shapes, materials, strict=True):
        actors.append(static_actor([(0.42 * shape + np.array([px, py, 1.05 - 0.42 * shape[:, 2].min()]), faces)], material))
    return actors


def static_actor(meshes: list[Mesh], material: Material) -> Actor:
    """Several meshes as one actor that does not move."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in meshes[:-1])])
    vertices = np.concatenate([vertices for vertices, _ in meshes])
    faces = np.concatenate([faces + start for (_, faces), start in zip(meshes, starts, strict=True)]).astype(np.int32)
    return Actor(faces, material, lambda frame: vertices, moves=False)


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> Mesh:
    """A box, facing outward."""
    corner = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    vertices = np.where(corner > 0, high, low).astype(np.float64)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([(a, *pair) for a, b, c, d in sides for pair in ((b, c), (c, d))], np.int32)


def wall_slab(side: int) -> Mesh:
    """One of the four walls: a slab outside the room."""
    x, y, z = ROOM_SIZE
    return (box((-x, -y - 0.1, 0), (x, -y, z)), box((-x, y, 0), (x, y + 0.1, z)), box((-x - 0.1, -y, 0), (-x, y, z)),
            box((x, -y, 0), (x + 0.1, y, z)))[side]  # fmt: skip


def round_step(radius: float, low: float, high: float, sides: int = 96) -> Mesh:
    """A round step."""
    turn = 2 * np.pi * np.arange(sides) / sides
    circle = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    rims = [np.column_stack([circle, np.full(sides, height)]) for height in (low, high)]
    k, after = np.arange(sides), (np.arange(sides) + 1) % sides
    mantle = [(k, after, after + sides), (k, after + sides, k + sides)]
    lid = [(np.full(sides, 2 * sides), k + sides, after + sides)]
    return np.concatenate([*rims, [[0.0, 0.0, high]]]), np.concatenate([np.column_stack(each) for each in (*mantle, *lid)]).astype(np.int32)


def picture_meshes() -> tuple[list[Mesh], dict[str, list[Mesh]]]:
    """Frames, and the panels of canvases by colour: three pictures on each long wall, each cut into five panels."""
    _, y, _ = ROOM_SIZE
    frames, panels = [], dict[str, list[Mesh]]()
    cuts = ((0.0, 0.0, 0.62, 0.58), (0.62, 0.0, 1.0, 0.32), (0.62, 0.32, 1.0, 1.0), (0.0, 0.58, 0.3, 1.0), (0.3, 0.58, 0.62, 1.0))
    for number, (sign, (centre_x, half, low, high)) in enumerate(product((-1, 1), PICTURES)):
        front, back = sorted((sign * (y - 0.10), sign * y))
        frames.append(box((centre_x - half - 0.11, front, low - 0.11), (centre_x + half + 0.11, back, high + 0.11)))
        front, back = sorted((sign * (y - 0.12), sign * (y - 0.05)))
        for panel, (left, bottom, right, top) in enumerate(cuts):
            along = [centre_x + half * (2 * share - 1) * (-1) ** number for share in (left, right)]
            up = [low + (high - low) * share for share in (bottom, top)]
            colour = PAINTS[(2 * number + panel * (1 + number % 3)) % len(PAINTS)]
            panels.setdefault(colour, []).append(box((min(along) + 0.02, front, up[0] + 0.02), (max(along) - 0.02, back, up[1] - 0.02)))
    return frames, panels


def camera_pose(frame: int) -> CameraPose:
    """The camera walks round the work of art, and turns away from it at the very end."""
    time = frame_time(frame)
    turn = -2.25 + 0.62 * time
    turn_away = max(0.0, time - 3.6) / 0.4
    eye = (5.1 * np.cos(turn), 4.3 * np.sin(turn), 2.2 + 0.25 * np.sin(1.3 * time))
    look_at = (CENTRE[0] + 2.5 * turn_away * np.sin(turn), CENTRE[1] - 2.5 * turn_away * np.cos(turn), CENTRE[2] - 0.1)
    return CameraPose((float(eye[0]), float(eye[1]), float(eye[2])), (float(look_at[0]), float(look_at[1]), float(look_at[2])), 52.0)
