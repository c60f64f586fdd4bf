"""The scenes of paper M (section 6): a stretched brain, six figures that hang from a ring, and a shoal of 24 fish.

    brain    two halves with folds, about 2 long; fixed at its back and pulled at its front to nearly twice its length (Fig 1)
    ring     figures with a cap, arms and legs, in place of the paper's Santa Claus, hang by their caps from a ring that rotates and tilts
             (Fig 6): gently, so that few of their triangles intersect, or with jerks, so that many do. Vertices and nodes are as in Table 2
    fish     swim to and fro in a narrow shoal and bend; they pass through each other (Fig 7)

A body is BLENDED: vertices (n, 3) at rest, faces, and weights (n, m) of m simulation nodes inside it, with normalised positive kernels.
Nodes are farthest points of a grid. The radius of the kernels is such that a vertex has about INFLUENCES nodes, unless stated otherwise;
kernels between nodes, from which their maps are computed, have a radius of their own. Frames are maps (bodies, m, 3, 4): brain and figures
are moved by an elastic solver, fish by a wave along their spine. They do not depend on vertices: finer meshes move alike. All frames of a
scene are computed when it is made, and stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

import pliant
from experiments.larsson2001.scenes import Faces, Rows, pose, rotation, unit
from experiments.larsson2008.bodies import Point, chain
from experiments.solids import Solid, mesh
from pliant.motion.meshless import farthest_point_sampling

INFLUENCES = 8  # nodes per vertex, about
CANDIDATES = 24  # points of the grid per node
NEIGHBOURS = 14  # nodes around a node, itself included, on average
DEEP = 0.02  # depth of nodes below the surface
SPARE = 1.1  # the minimum radius of kernels, relative to the distance to the nearest node
FRAME = 1 / 30  # seconds


class Blended(NamedTuple):
    """A body: vertices (n, 3) at rest, faces (f, 3), and its simulation nodes with the weights (n, m) of its vertices, sparse."""

    rest: Rows
    faces: Faces
    nodes: Any  # pliant.MeshlessNodes
    weights: Any  # scipy.sparse


class Blends(NamedTuple):
    """A scene: bodies of one shape, and all its maps (frames + 1, bodies, m, 3, 4), the first of which are the start."""

    body: Blended
    maps: Rows

    @property
    def bodies(self) -> int:
        """The number of bodies."""
        return int(self.maps.shape[1])

    @property
    def frames(self) -> int:
        """The number of frames that are played; frame 0 is not among them."""
        return len(self.maps) - 1

    def frame(self, k: int) -> Rows:
        """Maps (bodies, m, 3, 4) of frame k."""
        return np.asarray(self.maps[k])

    def vertices(self, k: int) -> Iterator[Rows]:
        """The vertices (n, 3) of each body in frame k: Σ w_j T_j v."""
        ahead = np.column_stack([self.body.rest, np.ones(len(self.body.rest))])
        for maps in self.maps[k]:
            rows = (self.body.weights @ maps.reshape(len(maps), 12)).reshape(-1, 3, 4)
            yield np.einsum("nij,nj->ni", rows, ahead)


def blended(rest: Rows, faces: Faces, nodes: Any, influences: float) -> Blended:
    """A body with these nodes, about so many per vertex."""
    surface = pliant.MeshlessNodes(nodes.positions, reach(nodes.positions, rest, influences))
    return Blended(rest, faces, nodes, surface.weights(rest))


def spread(box: tuple[Any, Any], inside: Callable[[Rows], Any], nodes: int) -> Any:
    """So many nodes, evenly spaced over the points of a box where `inside` is true: farthest points of a grid."""
    low, size = np.array(box[0]), np.subtract(box[1], box[0])
    step = float(np.cbrt(np.prod(size) / (CANDIDATES * nodes)))
    while True:
        axes = [low[k] + step * (np.arange(int(size[k] / step) + 1) + 0.5) for k in range(3)]
        places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        places = places[inside(places)]
        if 3 * len(places) >= CANDIDATES * nodes:
            break
        step *= 0.9
    places = places[farthest_point_sampling(places, nodes)]
    return pliant.MeshlessNodes(places, reach(places, places, NEIGHBOURS))


def reach(places: Rows, rest: Rows, influences: float) -> float:
    """The radius within which points have so many nodes on average, and all of them at least one."""
    tree, some = cKDTree(places), rest[:: max(1, len(rest) // 2_000)]
    low, high = 0.0, 2 * float(np.ptp(rest, axis=0).max())
    for _ in range(40):
        middle = 0.5 * (low + high)
        few = np.mean(tree.query_ball_point(some, middle, return_length=True)) < influences
        low, high = (middle, high) if few else (low, middle)
    return max(high, SPARE * float(tree.query(rest)[0].max()))


class Material(NamedTuple):
    """Of an elastic solid, and the time steps of a frame."""

    young: float
    damping: float
    steps: int
    density: float = 1_000.0


def simulated(nodes: Any, material: Material, held: Any, at: Callable[[float], Rows], frames: int, gravity: Point) -> Rows:
    """Maps (frames + 1, m, 3, 4) of an elastic solid whose nodes `held` have positions `at` of time, 0 … 1."""
    indices = np.flatnonzero(held)
    solid = pliant.Elastic(nodes, density=material.density, young=material.young, gravity=gravity, damping=material.damping,
                           pinned=indices)  # fmt: skip
    made = [solid.maps()]
    for k in range(frames):
        for step in range(material.steps):
            solid.move(indices, at((k + (step + 1) / material.steps) / frames))
            solid.step(FRAME / material.steps)
        made.append(solid.maps())
    return np.stack(made)


# --- a brain ---------------------------------------------------------------------------------------------------------------------

LOBES = (1.0, 0.78, 0.72)  # half its length, width and height
WAVES, PITCH, DEPTH, WIDE = 48, 17.0, 0.085, 0.42  # of folds: their waves, radians a unit, their depth and width
CLEFT = (0.20, 0.11)  # depth and width of the gap between the halves
PULL, HELD, LENGTH = 1.6, 0.2, 2.0  # final length, the shares of the length that are fixed and pulled, and the initial length
TISSUE = Material(2e4, 2.0, 2)


@cache
def geodesic(cuts: int) -> tuple[Rows, Faces]:
    """A unit sphere of 10 cuts² + 2 vertices: an icosahedron whose edges are divided into so many parts."""
    corners, triangles = pliant.shapes.icosphere(0)
    i, j = (index.reshape(-1) for index in np.indices((cuts + 1, cuts + 1)))
    i, j = i[i + j <= cuts], j[i + j <= cuts]
    number = np.full((cuts + 2, cuts + 2), -1)
    number[i, j] = np.arange(len(i))
    weights = np.stack([cuts - i - j, i, j], axis=1) / cuts
    rows = np.concatenate([weights @ corners[triangle] for triangle in triangles])
    up = np.stack([number[i, j], number[i + 1, j], number[i, j + 1]], axis=1)[i + j < cuts]
    down = np.stack([number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1)[i + j < cuts - 1]
    faces = np.concatenate([np.concatenate([up, down]) + k * len(i) for k in range(len(triangles))])
    _, first, same = np.unique(np.round(rows * 1e7).astype(np.int64), axis=0, return_index=True, return_inverse=True)
    rows = rows[first]
    faces = same.reshape(-1)[faces]
    order = np.random.default_rng(cuts).permutation(len(faces))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), np.ascontiguousarray(faces[order], np.int32)


def brain_radius(directions: Rows) -> Rows:
    """The distance of the surface from the centre in these directions (n, 3); folds lie where a sum of waves is 0, along winding lines."""
    rng = np.random.default_rng(5)
    waves = rng.normal(size=(WAVES, 3))
    waves *= PITCH / np.linalg.norm(waves, axis=1, keepdims=True)
    phases = rng.uniform(0, 2 * np.pi, WAVES)
    halves = directions + [0, 0.7, 0] * np.sign(directions[:, 1:2])  # the halves have different folds
    field = np.sqrt(2 / WAVES) * np.cos(halves @ waves.T + phases).sum(axis=1)
    round_ = 1 / np.sqrt(((directions / LOBES) ** 2).sum(axis=1))
    near = np.exp(-((directions[:, 1] / CLEFT[1]) ** 2))
    folds = DEPTH * np.exp(-((field / WIDE) ** 2)) * (1 - near)
    under = np.clip(-directions[:, 2] - 0.45, 0, 1)  # it is flatter at the bottom
    made: Rows = round_ * (1 - folds - CLEFT[0] * near * (0.6 + 0.4 * directions[:, 2]) - 0.5 * under)
    return made


@cache
def brain_nodes(nodes: int) -> Any:
    """Nodes inside the brain."""

    def inside(places: Rows) -> Any:
        far = np.linalg.norm(places, axis=1)
        return far < 0.9 * brain_radius(places / np.maximum(far, 1e-9)[:, None])

    return spread((np.negative(LOBES), LOBES), inside, nodes)


@cache
def pull(nodes: int, frames: int) -> Rows:
    """Maps of a brain that is fixed at its back, -x, and pulled at its front: ahead, then also up and aside, while its front rotates."""
    kernels = brain_nodes(nodes)
    x = kernels.positions[:, 0]
    low, size = x.min(), float(np.ptp(x))
    front = x > low + (1 - HELD) * size
    held = front | (x < low + HELD * size)
    grip, ahead = kernels.positions[held], front[held][:, None]
    middle = kernels.positions[front].mean(axis=0)

    def at(passed: float) -> Rows:
        much = np.sin(0.5 * np.pi * min(1.0, 1.25 * passed))
        turn = rotation(unit(1, 0.2, 0), 0.9 * much * np.sin(2 * np.pi * passed))
        moved = (grip - middle) @ turn.T + middle + much * np.array([(PULL - 1) * LENGTH, 0.25 * np.sin(3 * passed), 0.3 * passed])
        return np.asarray(np.where(ahead, moved, grip))

    return simulated(kernels, TISSUE, held, at, frames, (0.0, 0.0, 0.0))[:, None]


@cache
def pulled(vertices: int, nodes: int, frames: int, influences: float = INFLUENCES) -> Blends:
    """The scene of Fig 1, with about so many vertices."""
    directions, faces = geodesic(max(2, round(np.sqrt((vertices - 2) / 10))))
    body = blended(directions * brain_radius(directions)[:, None], faces, brain_nodes(nodes), influences)
    return Blends(body, pull(nodes, frames))


# --- figures on a ring -----------------------------------------------------------------------------------------------------------

# Points with a radius, each connected to the next; a figure hangs down from the tip of its cap, which is the origin. It faces outward, +x.
TRUNK = (((0, 0, -1.42), 0.30), ((0.05, 0, -1.22), 0.34), ((0, 0, -0.98), 0.21))
HEAD = (((0.02, 0, -0.66), 0.22), ((0.06, 0, -0.68), 0.21))
CAP = (((0, 0, -0.52), 0.17), ((-0.02, 0, -0.30), 0.11), ((0, 0, -0.06), 0.075))
ARM = (((0, 0.22, -0.94), 0.12), ((0.06, 0.47, -1.06), 0.095), ((0.20, 0.66, -0.98), 0.095), ((0.26, 0.74, -0.94), 0.10))
LEG = (((0, 0.15, -1.52), 0.155), ((0.02, 0.20, -1.78), 0.125), ((0.02, 0.22, -2.02), 0.115), ((0.17, 0.24, -2.08), 0.115))
SACK = (((-0.24, 0, -1.02), 0.20), ((-0.36, 0.02, -1.24), 0.24))
FLOW = 0.03
FIGURES, RING = 6, 1.22  # how many hang from the ring, and its radius
GRIP = -0.20  # points above this are fixed to the ring
FEW, MANY = "few", "many"


class Turning(NamedTuple):
    """The motion of a ring: rotation by `turn` radians to and fro, `beats` times, and a tilt by `tilt` radians meanwhile."""

    turn: float
    beats: float
    tilt: float


MOTIONS = {FEW: Turning(0.36, 1.1, 0.12), MANY: Turning(0.55, 1.3, 0.20)}
CLOTH = Material(3e5, 0.5, 4)


@cache
def figure_solid() -> Solid:
    """The strokes of a figure."""
    strokes = [stroke for points in (TRUNK, HEAD, CAP, SACK) for stroke in chain(points)]
    strokes += [stroke for side in (1, -1) for points in (ARM, LEG) for stroke in chain(points, side=side)]
    return Solid(tuple(strokes), FLOW)


@cache
def figure_nodes(nodes: int) -> Any:
    """Nodes inside a figure."""
    solid = figure_solid()
    return spread(solid.box(), lambda places: solid.at(places) < -DEEP, nodes)


@cache
def swing(nodes: int, contacts: str, frames: int) -> Rows:
    """Maps of all figures. Each is simulated in its own frame, with the direction of gravity there, and then transformed to the ring."""
    kernels, motion = figure_nodes(nodes), MOTIONS[contacts]
    held = kernels.positions[:, 2] > GRIP
    grip = kernels.positions[held]

    def turned(passed: float) -> Rows:
        beat = np.sin(2 * np.pi * motion.beats * passed)
        return rotation(unit(1, 0.3, 0), motion.tilt * beat * passed) @ rotation(unit(0, 0, 1), motion.turn * (1 - np.cos(3 * beat)))

    made = []
    for number in range(FIGURES):
        about = rotation(unit(0, 0, 1), 2 * np.pi * number / FIGURES)
        place = about @ np.array([RING, 0, 0])

        def at(passed: float, about: Rows = about, place: Rows = place) -> Rows:
            world: Rows = (grip @ about.T + place) @ turned(passed).T
            return np.asarray((world - place) @ about)

        maps = simulated(kernels, CLOTH, held, at, frames, (0.0, 0.0, -9.81))
        made.append(pose(about, place)[:3] @ completed(maps))
    return np.ascontiguousarray(np.stack(made, axis=1))


@cache
def ring(vertices: int, nodes: int, contacts: str, frames: int, influences: float = INFLUENCES) -> Blends:
    """The scene of Fig 6, with exactly so many vertices, 1,500 or more; `contacts` are few or many."""
    body = blended(*mesh(figure_solid(), 2 * vertices - 4), figure_nodes(nodes), influences)
    return Blends(body, swing(nodes, contacts, frames))


def completed(maps: Rows) -> Rows:
    """(…, 4, 4) of maps (…, 3, 4)."""
    last = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*maps.shape[:-2], 1, 4))
    return np.concatenate([maps, last], axis=-2)


# --- fish ------------------------------------------------------------------------------------------------------------------------

# A fish swims towards +x, z is up, it is about 2 long; widths of its parts along y.
FLANK = (((0.86, 0, 0.0), 0.10), ((0.55, 0, 0.02), 0.24), ((0.10, 0, 0.03), 0.31), ((-0.35, 0, 0.01), 0.20), ((-0.72, 0, 0.0), 0.09))
TAIL = (((-0.74, 0, 0.0), 0.08), ((-0.98, 0, 0.26), 0.06), ((-1.10, 0, 0.36), 0.04))
KEEL = (((0.25, 0, 0.30), 0.07), ((-0.05, 0, 0.44), 0.07), ((-0.25, 0, 0.40), 0.05))
SIDE: tuple[tuple[Point, float], ...] = (((0.38, 0.11, -0.10), 0.06), ((0.18, 0.26, -0.20), 0.05))
FIN = 0.03  # smoothness
SHOAL, SPACE = (2, 4, 3), (2.0, 0.60, 1.0)  # fish in the shoal along x, y and z, and their spacing
STRAY = (0.30, 0.12, 0.10)  # how far a fish strays from its position
STROKE, WAVE, BEATS = 0.16, 3.4, 3.0  # of the tail: amplitude, radians along a unit of the spine, and frequency
TINY = 1e-5


@cache
def fish_solid() -> Solid:
    """The strokes of a fish."""
    strokes = [*chain(FLANK, 0.5), *chain(KEEL, 0.5), *chain(TAIL, 0.6)]
    strokes += chain(tuple(((x, y, -z), thick) for (x, y, z), thick in TAIL), 0.6)
    strokes += [stroke for side in (1, -1) for stroke in chain(SIDE, side=side)]
    return Solid(tuple(strokes), FIN)


@cache
def fish_nodes(nodes: int) -> Any:
    """Nodes inside a fish."""
    solid = fish_solid()
    return spread(solid.box(), lambda places: solid.at(places) < -DEEP, nodes)


@cache
def shoal(bodies: int, vertices: int, nodes: int, frames: int, influences: float = INFLUENCES) -> Blends:
    """The scene of Fig 7, with exactly so many vertices, 1,500 or more, in each fish."""
    kernels = fish_nodes(nodes)
    made = [[swimming(kernels, number, k / max(frames, 1)) for number in range(bodies)] for k in range(frames + 1)]
    return Blends(blended(*mesh(fish_solid(), 2 * vertices - 4), kernels, influences), np.array(made))


def swimming(nodes: Any, number: int, passed: float) -> Rows:
    """Maps (m, 3, 4) of a fish at a time, 0 … 1: its spine swings, more towards the tail, while it strays about its position."""
    rng = np.random.default_rng([7, number])
    column, row, file = np.unravel_index(number % int(np.prod(SHOAL)), SHOAL)
    place: Rows = np.array(SPACE) * (column + 0.5 * (row % 2), row + 0.5 * (file % 2), file)
    phases, speeds = rng.uniform(0, 2 * np.pi, (2, 3)), rng.uniform(1.0, 2.0, 3)
    place = place + np.array(STRAY) * np.sin(2 * np.pi * speeds * passed + phases[0])
    phase = 2 * np.pi * BEATS * rng.uniform(0.8, 1.2) * passed + phases[1, 0]
    turn = rotation(unit(0, 0, 1), 0.25 * np.sin(2 * np.pi * passed + phases[1, 1]) + np.pi * (number % 2))
    turn = turn @ rotation(unit(0, 1, 0), 0.15 * np.sin(2 * np.pi * passed + phases[1, 2]))
    at = nodes.positions  # gradients are known here, also where few nodes are near
    slopes = [(swung(at + TINY * axis, phase) - swung(at - TINY * axis, phase)) / (2 * TINY) for axis in np.eye(3)]
    gradients = turn @ np.stack(slopes, axis=2)
    moved = swung(at, phase) @ turn.T + place
    return np.concatenate([gradients, (moved - np.einsum("mij,mj->mi", gradients, at))[:, :, None]], axis=2)


def swung(rows: Rows, phase: float) -> Rows:
    """The positions of rows (n, 3) after the swing of the spine: cross sections stay perpendicular to it."""
    x, y, z = rows.T
    swing = STROKE * (0.15 + (0.6 - 0.5 * x) ** 2)
    aside, slope = swing * np.sin(WAVE * x + phase), swing * WAVE * np.cos(WAVE * x + phase)
    way = np.sqrt(1 + slope * slope)
    return np.column_stack([x - y * slope / way, aside + y / way, z])
