"""The scenes of paper D (section IV): five pairs of surfaces that deform beside each other without touching.

    plate            a sheet that bends and warps                                                   62 frames, 100 vertices, 162 triangles
    twisting plate   a sheet twisted about its long centre line, its ends by one and a half turns   218        100           162
    cable            a tube, open at its ends, that bends to one side and the other                 127        100           180
    helmet           a shell, open below, longer than wide, that is squeezed and dented             20         385           710
    folding sheet    a sheet whose one half is folded over the other                                29         100           162

The numbers of vertices, triangles and frames are exactly the paper's (Table 1); of shapes and motions it gives only names. BVHs are built
on frame 0, which is not counted; after it, bodies have their number of different frames, and keep the last one while the other goes on. A
scene lasts as long as the longer of its two animations; the fifth 62 frames, as in Table 1, not 218, as in the text.

A SURFACE is a function of parameters (n, 2) and of time, 0 … 1, so that the same motion exists for any number of triangles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from experiments.larsson2001.scenes import Faces, Rows, rotation, unit
from pliant.shapes import sheet as flat_sheet

Surface = Callable[[Rows, float], Rows]
FINE = 600  # steps of the integration of a curve
THICK = 0.05  # the radius of the cable
# Helmet: half its length, width and height; how far down it reaches at the middle of its sides, and how much farther at the front and
# the back, in right angles.
HALVES, DOWN, LOWER = (0.56, 0.46, 0.50), 1.06, -0.10
# The numbers of triangles, of rings of vertices, and of vertices on the rim of the helmet.
SHELL, RINGS, RIM = 710, 10, 58
LEAST = 50  # the minimum number of triangles for recognisable bodies


class Model(NamedTuple):
    """A body: its surface, its number of frames, and a function that triangulates it."""

    name: str
    surface: Surface
    frames: int
    faces: int  # the paper's
    cut: Callable[[int], tuple[Rows, Faces]]


class Actor(NamedTuple):
    """A body of a scene: parameters (n, 2) on its surface, triangles, and its transform: (3, 3) and (3,)."""

    model: Model
    places: Rows
    faces: Faces
    turn: Rows
    move: Rows

    def vertices(self, k: int) -> Rows:
        """Vertices (n, 3) in frame k; after its last frame it stays."""
        passed = min(k, self.model.frames) / self.model.frames
        rows: Rows = self.model.surface(self.places, passed) @ self.turn.T + self.move
        return np.ascontiguousarray(rows)


class Pair(NamedTuple):
    """Two bodies, or one for self distance; the first `shown` of all frames are played."""

    name: str
    actors: tuple[Actor, ...]
    shown: int

    @property
    def frames(self) -> int:
        """The number of frames that are played; frame 0 is not among them."""
        return min(self.shown, max(actor.model.frames for actor in self.actors))

    def frame(self, k: int) -> list[Rows]:
        """The vertices of each body in frame k; 0: as BVHs are built."""
        return [actor.vertices(k) for actor in self.actors]

    def play(self) -> Iterator[list[Rows]]:
        """All frames that are played, in order."""
        return (self.frame(k) for k in range(1, self.frames + 1))


# --- surfaces --------------------------------------------------------------------------------------------------------------------


def plate(places: Rows, passed: float) -> Rows:
    """A unit square about the origin, in the plane z = 0 before it bends: a bow, a warp and a slow wave."""
    x, y = (places - 0.5).T
    bow, warp = 0.11 * np.sin(2.6 * np.pi * passed), 0.30 * np.sin(3.7 * np.pi * passed)
    wave = 0.012 * np.sin(7 * x + 4 * y + 5 * passed)
    return np.column_stack([x * (1 - 0.6 * bow * bow), y, bow * (4 * x * x - 0.4) + warp * x * y + wave])


def twisting(places: Rows, passed: float) -> Rows:
    """A plate, longer than wide, whose ends rotate against each other about the x axis; it becomes shorter."""
    x, y = places[:, 0] - 0.5, 0.64 * (places[:, 1] - 0.5)
    angle = 3 * np.pi * passed * x + 0.25 * np.sin(3 * np.pi * passed)
    bulge = 0.02 * np.sin(5 * x + 9 * passed)
    return np.column_stack([1.3 * x * (1 - 0.2 * passed * passed), y * np.cos(angle) - bulge * np.sin(angle),
                            y * np.sin(angle) + bulge * np.cos(angle)])  # fmt: skip


def cable(places: Rows, passed: float) -> Rows:
    """A tube along x that bends down, then up, and swings sideways; `places`: along, and around."""
    along = np.linspace(0, 1, FINE + 1)
    bend = 0.42 * np.pi * np.sin(1.7 * np.pi * passed)
    pitch = -2 * bend * (along - 0.5) + 0.2 * np.sin(2 * np.pi * along + 4 * passed)
    sway = 0.35 * np.sin(2.3 * np.pi * passed) * np.sin(1.5 * np.pi * along + 0.4)
    ahead = np.column_stack([np.cos(pitch) * np.cos(sway), np.sin(sway), np.sin(pitch) * np.cos(sway)])
    middle = followed(ahead, 1.25)
    middle -= middle.mean(axis=0)
    at, tangent = (np.column_stack([np.interp(places[:, 0], along, column) for column in rows.T]) for rows in (middle, ahead))
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    side = np.array([0.0, 1.0, 0.0]) - tangent[:, 1:2] * tangent
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    angle = 2 * np.pi * places[:, 1:]
    ring: Rows = at + THICK * (np.cos(angle) * side + np.sin(angle) * np.cross(tangent, side))
    return ring


def helmet(places: Rows, passed: float) -> Rows:
    """A shell about the origin, open below; squeezed from both sides, most at its rim, and dented on top; `places`: down, and around."""
    around = 2 * np.pi * places[:, 1]
    down = 0.5 * np.pi * places[:, 0] * (DOWN + LOWER * np.cos(2 * around))
    squeeze, dent = 0.5 - 0.5 * np.cos(1.6 * np.pi * passed), 0.10 * np.sin(0.9 * np.pi * passed)
    x, y, z = np.sin(down) * np.cos(around), np.sin(down) * np.sin(around), np.cos(down)
    low = places[:, 0] ** 2
    length, width, height = HALVES
    near = np.exp(-((x - 0.25 - 0.3 * passed) ** 2 + (y - 0.1) ** 2) / 0.09)
    return np.column_stack([length * x * (1 + 0.10 * squeeze * low), width * y * (1 - 0.32 * squeeze * low),
                            height * z * (1 + 0.05 * squeeze) - dent * near * np.maximum(z, 0)])  # fmt: skip


def folding(places: Rows, passed: float) -> Rows:
    """A strip about the origin, in the plane z = 0, whose far half rises and folds over the near one."""
    along = np.linspace(0, 1, FINE + 1)
    bent = np.clip((along - 0.5) / 0.36 + 0.5, 0, 1)
    pitch = 0.95 * np.pi * passed * bent * bent * (3 - 2 * bent) + 0.12 * np.sin(3 * np.pi * along + 5 * passed)
    curve = followed(np.column_stack([np.cos(pitch), 0 * pitch, np.sin(pitch)]), 0.86)
    x, z = (np.interp(places[:, 0], along, curve[:, axis]) for axis in (0, 2))
    y = 0.44 * (places[:, 1] - 0.5)
    return np.column_stack([x - 0.43, y, z + 0.15 * y * np.sin(2.2 * np.pi * passed) * places[:, 0]])


def followed(ahead: Rows, length: float) -> Rows:
    """The curve (n, 3) with these directions, from the origin."""
    curve = np.zeros_like(ahead)
    np.cumsum(0.5 * (ahead[1:] + ahead[:-1]) * length / (len(ahead) - 1), axis=0, out=curve[1:])
    return curve


# --- triangles -------------------------------------------------------------------------------------------------------------------


def cut_square(faces: int) -> tuple[Rows, Faces]:
    """A grid with the same number of cells in both directions."""
    cells = max(1, round(np.sqrt(faces / 2)))
    vertices, triangles = flat_sheet(cells, cells)
    return vertices[:, :2], shuffled(triangles)


def cut_tube(faces: int) -> tuple[Rows, Faces]:
    """Rings of vertices, in the proportion of the paper's size: 9 to 10 cells."""
    around = max(3, round(np.sqrt(faces / 1.8)))
    cells = max(1, round(faces / (2 * around)))
    i, j = (index.reshape(-1) for index in np.indices((cells + 1, around)))
    places = np.column_stack([i / cells, j / around])
    i, j = (index.reshape(-1) for index in np.indices((cells, around)))
    a, b = i * around + j, i * around + (j + 1) % around
    c, d = a + around, b + around
    return places, shuffled(np.concatenate([np.stack([a, d, b], 1), np.stack([a, c, d], 1)]))


def cut_shell(faces: int) -> tuple[Rows, Faces]:
    """A pole and rings of vertices about it; a triangle has an edge on one ring and its third vertex on the other.

    With r vertices on the rim and v in all there are 2 (v - 1) - r triangles: 710 for the paper's 385 vertices, if the rim has 58.
    """
    rings = max(2, round(RINGS * np.sqrt(faces / SHELL)))
    rim = max(3, round(RIM * rings / RINGS))
    rim += (faces + rim) % 2
    sizes = [*shared((faces + rim) // 2 - rim, np.sin(0.5 * np.pi * np.arange(1, rings) / rings)), rim]
    places, start = [np.zeros((1, 2))], 1
    triangles: list[Faces] = []
    for ring, size in enumerate(sizes, 1):
        places.append(np.column_stack([np.full(size, ring / rings), (np.arange(size) + 0.5 * (ring % 2)) / size]))
        triangles.append(belt(start, size, start - sizes[ring - 2], sizes[ring - 2]) if ring > 1 else fan(start, size))
        start += size
    return np.concatenate(places), shuffled(np.concatenate(triangles))


def fan(start: int, size: int) -> Faces:
    """Triangles from vertex 0 to a ring."""
    here = np.arange(size)
    return np.stack([0 * here, start + here, start + (here + 1) % size], axis=1).astype(np.int32)


def belt(outer: int, many: int, inner: int, few: int) -> Faces:
    """Triangles between two rings of so many vertices whose indices start at these numbers; advances on whichever ring is behind."""
    steps = sorted([((j + 0.5) / many, 0) for j in range(many)] + [((i + 0.5) / few, 1) for i in range(few)])
    triangles, i, j = [], 0, 0
    for _, on_inner in steps:
        at = inner + i % few, outer + j % many
        if on_inner:
            triangles.append((at[0], at[1], inner + (i + 1) % few))
            i += 1
        else:
            triangles.append((at[0], at[1], outer + (j + 1) % many))
            j += 1
    return np.array(triangles, np.int32)


def shared(total: int, weights: Rows) -> list[int]:
    """Whole numbers, 3 or more, in proportion to the weights, whose sum is `total`; the rest goes to the largest remainders."""
    exact = 3 + (total - 3 * len(weights)) * weights / weights.sum()
    whole = np.floor(exact).astype(int)
    whole[np.argsort(whole - exact)[: total - int(whole.sum())]] += 1
    return [int(each) for each in whole]


def shuffled(faces: Faces) -> Faces:
    """The triangles in a fixed random order, so that no method profits from the order of the grid."""
    return np.ascontiguousarray(faces[np.random.default_rng(len(faces)).permutation(len(faces))], np.int32)


# --- scenes ----------------------------------------------------------------------------------------------------------------------

PLATE, TWISTING, CABLE, HELMET, FOLDING = "plate", "twisting plate", "cable", "helmet", "folding sheet"
MODELS = {
    PLATE: Model(PLATE, plate, 62, 162, cut_square),
    TWISTING: Model(TWISTING, twisting, 218, 162, cut_square),
    CABLE: Model(CABLE, cable, 127, 180, cut_tube),
    HELMET: Model(HELMET, helmet, 20, SHELL, cut_shell),
    FOLDING: Model(FOLDING, folding, 29, 162, cut_square),
}

Place = tuple[tuple[float, float, float], float, tuple[float, float, float]]  # a rotation about an axis by an angle, then a translation
HERE: Place = (0.0, 0.0, 1.0), 0.0, (0.0, 0.0, 0.0)
# Transforms of the bodies of each scene.
SCENES: dict[str, tuple[tuple[str, Place], tuple[str, Place]]] = {
    "plate + twisting plate": ((PLATE, HERE), (TWISTING, ((0.1, 0.2, 1.0), 0.5, (0.05, -0.02, 0.52)))),
    "cable + plate": ((CABLE, ((0.0, 0.1, 1.0), 0.6, (0.0, 0.0, 0.46))), (PLATE, HERE)),
    "helmet + folding sheet": ((HELMET, HERE), (FOLDING, ((0.0, 0.0, 1.0), 0.15, (0.02, 0.0, -0.27)))),
    "helmet + cable": ((HELMET, HERE), (CABLE, ((0.0, 0.0, 1.0), 0.9, (0.05, 0.0, 0.78)))),
    "helmet + plate": ((HELMET, HERE), (PLATE, ((0.3, 1.0, 0.2), 0.5, (0.25, 0.0, 0.70)))),
}


def actor(name: str, place: Place = HERE, faces: int | None = None) -> Actor:
    """A body by its name, of the paper's size or of about so many triangles."""
    model, (axis, angle, move) = MODELS[name], place
    places, triangles = model.cut(model.faces if faces is None else faces)
    return Actor(model, places, triangles, rotation(unit(*axis), angle), np.array(move))


def scene(name: str, shown: int = 218) -> Pair:
    """One of SCENES, of the paper's size; its first frames, or all if there are fewer."""
    return Pair(name, tuple(actor(*each) for each in SCENES[name]), shown)


def refined(pair: Pair, faces: int) -> Pair:
    """The same bodies and motions with about so many triangles each, LEAST or more."""
    if faces != int(faces) or faces < LEAST:
        raise ValueError(f"faces must be a whole number, {LEAST} or more, not {faces!r}")
    finer = []
    for each in pair.actors:
        places, triangles = each.model.cut(faces)
        finer.append(each._replace(places=places, faces=triangles))
    return pair._replace(actors=tuple(finer))


def alone(name: str, shown: int = 218) -> Pair:
    """One body alone."""
    return Pair(name, (actor(name),), shown)
