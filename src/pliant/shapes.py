"""Procedural triangle meshes for examples, tests and benchmarks: spheres, bodies with bumps or arms that deform, sheets, cloth that folds.

Everything here is a formula, so that a figure can be reproduced without any data file. NumPy only, and deterministic:
equal arguments give equal arrays.

Shapes: vertices are (n, 3) float64, faces are (m, 3) int32, counter-clockwise seen from outside.
"""

from typing import NamedTuple

import numpy as np

from pliant.errors import ArgumentError

__all__ = ["BumpyPair", "FoldingCloth", "Swarm", "armed", "bumpy", "bumpy_pair", "folding_cloth", "icosphere", "sheet", "swarm"]

# Sizes that `bumpy_pair` and `swarm` offer: 20 · 4^k faces, k = 2 … 7.
SUBDIVISIONS = {20 * 4**k: k for k in range(2, 8)}

# The waves of a bumpy sphere: (weight, spatial frequencies along x, y, z, angular speed, phase). Frequencies and speeds
# are incommensurate, so the shape never repeats and has no symmetry. The weights add up to 1, which bounds the radius.
WAVES = (
    (0.34, (8.83, 3.17, -4.31), 1.73, 0.31),
    (0.26, (-3.59, 10.41, 2.93), -2.29, 1.87),
    (0.22, (4.07, -2.61, 13.67), 3.11, 4.03),
    (0.18, (-11.39, -9.13, 8.77), -4.37, 2.65),
)

# The waves of a cloth: (angle in radians, waves a unit along x and along y, angular speed, phase). Folds are scaled as the cloth
# folds; their angles add up to 1. Wrinkles are folds too small to close. Sway turns the threads within the cloth: without it all threads
# along x would stay in parallel planes, and where the cloth meets itself they would meet edge to edge.
FOLDS = ((0.74, 1.83, 0.36, 0.9, 5.2), (0.26, 2.97, -0.61, -2.3, 1.1))
WRINKLES = (
    (0.11, 3.7, 3.3, 1.9, 0.3),
    (0.10, -6.1, 4.1, -3.3, 2.9),
    (0.08, 9.7, -5.9, 4.7, 4.6),
    (0.07, 8.3, 9.9, -5.1, 1.7),
    (0.06, 15.1, -7.3, 6.1, 3.5),
)
SWAY = ((0.16, 1.1, 0.7, -1.3, 2.4), (0.10, -2.3, 1.9, 2.1, 0.8), (0.05, 4.3, 3.1, -2.9, 5.5))
CLOTH_LENGTH = 1.25  # along x; the width, along y, is 1

# How a swarm flies: the spacing of bodies at the start, the distance at which two begin to push each other away, by kind; speed in
# units a flight, steps a flight, and the acceleration for each unit that two bodies, or a body and the wall, are too close.
SPACING = {"bumpy": 2.3, "arms": 2.75}
REPULSION_DISTANCE = {"bumpy": 2.06, "arms": 1.9}
SPEED, FLIGHT_STEPS, STIFFNESS = 7.0, 1_000, 4_000.0


def icosphere(subdivisions: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit sphere made by cutting every face of an icosahedron into four, `subdivisions` times.

    Returns vertices (10 · 4^k + 2, 3) float64 of unit length and faces (20 · 4^k, 3) int32, oriented outward.
    Every vertex is shared: the mesh is closed and has no seam.
    """
    if subdivisions != int(subdivisions) or subdivisions < 0:
        raise ArgumentError(f"subdivisions must be a whole number, 0 or more, not {subdivisions!r}")
    vertices, faces = _icosahedron()
    for _ in range(int(subdivisions)):
        vertices, faces = _subdivide(vertices, faces)
    return vertices, faces.astype(np.int32)


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """The regular icosahedron on the unit sphere: a pole, two rings of five, a pole; (12, 3) and (20, 3)."""
    ring = np.arange(5)
    turn = 2 * np.pi * np.concatenate([ring, ring + 0.5]) / 5
    height = np.repeat([1.0, -1.0], 5) / np.sqrt(5)
    radius = 2 / np.sqrt(5)
    belt = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), height])
    vertices = np.concatenate([[[0.0, 0.0, 1.0]], belt, [[0.0, 0.0, -1.0]]])

    after = (ring + 1) % 5
    upper, upper_next = 1 + ring, 1 + after
    lower, lower_next = 6 + ring, 6 + after
    pole, foot = np.zeros(5, int), np.full(5, 11)
    corners = [
        (pole, upper, upper_next),  # the cap
        (upper, lower, upper_next),  # the belt: triangles that stand on a corner
        (upper_next, lower, lower_next),  # and those that stand on a side
        (foot, lower_next, lower),  # the bottom
    ]
    return vertices, np.concatenate([np.column_stack(c) for c in corners])


def _subdivide(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut each face into four at the midpoints of its sides, and push the midpoints onto the unit sphere."""
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1).astype(np.int64)
    # One integer per side finds shared sides much faster than unique rows do.
    keys, index = np.unique(sides[:, 0] * len(vertices) + sides[:, 1], return_inverse=True)
    first, second = np.divmod(keys, len(vertices))
    middles = vertices[first] + vertices[second]
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)

    a, b, c = faces.T
    ab, bc, ca = len(vertices) + index.reshape(-1, 3).T
    cut = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([vertices, middles]), np.stack([np.column_stack(f) for f in cut], axis=1).reshape(-1, 3)


def bumpy(directions: np.ndarray, time: float, amplitude: float = 0.08, pitch: float = 1.0) -> np.ndarray:
    """A smooth bumpy sphere whose bumps wander as `time` goes on; with a higher `pitch` they are more and smaller.

    directions: (n, 3) unit vectors, for instance the vertices of an icosphere.
    Returns vertices (n, 3) float64: each direction scaled by a radius between 1 - amplitude and 1 + amplitude, a sum
    of plane waves sampled on the sphere. A time step of 0.02 moves a vertex by less than 0.5 % of the radius.
    """
    directions = _check_directions(directions)
    radius = np.ones(len(directions))
    for weight, frequencies, speed, phase in WAVES:
        radius += amplitude * weight * np.sin(directions @ (pitch * np.array(frequencies)) + (speed * time + phase))
    return directions * radius[:, None]


def armed(directions: np.ndarray, time: float, body: int = 0) -> np.ndarray:
    """A bumpy ball with five to eight long arms that sway, bend and stretch as `time` goes on; `body` 0, 1, … chooses which.

    directions: (n, 3) unit vectors, for instance the vertices of an icosphere.
    Returns vertices (n, 3) float64, the tips of arms 1.2 to 1.8 from the origin. First the directions are scaled by a radius that is large
    near the axes of arms; then every sphere about the origin is turned as a whole, by an angle that grows with its radius, which bends the
    arms. Neither step folds: the surface never meets itself.
    """
    directions, rng = _check_directions(directions), np.random.default_rng([8, body])
    count = int(rng.integers(5, 9))
    axes = _spiral_directions(count, rng.uniform(0, 2 * np.pi)) + rng.normal(scale=0.12, size=(count, 3))
    axes += 0.18 * np.sin(rng.uniform(0.5, 1.1, (count, 3)) * time + rng.uniform(0, 2 * np.pi, (count, 3)))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    lengths = rng.uniform(0.85, 1.2, count) + 0.12 * np.sin(rng.uniform(0.7, 1.5, count) * time + rng.uniform(0, 2 * np.pi, count))
    sharpness = rng.uniform(18, 26)
    falloff = np.maximum(sharpness * (1 - directions @ axes.T), 0)
    weights = np.exp(-falloff * np.sqrt(np.sqrt(falloff)))  # 1 on an axis, with a rather flat top
    vertices = bumpy(directions, time + 3.7 * body, 0.1, 0.9) * (0.45 + weights @ lengths)[:, None]
    reach = np.linalg.norm(vertices, axis=1) - 0.45
    angle = (rng.uniform(0.5, 0.9) * np.sin(rng.uniform(0.8, 1.4) * time + rng.uniform(0, 2 * np.pi)) * reach)[:, None]
    axis = _unit_vector(*rng.normal(size=3))
    along = (vertices @ axis)[:, None] * axis
    return along + np.cos(angle) * (vertices - along) + np.sin(angle) * np.cross(axis, vertices)


def _check_directions(directions: np.ndarray) -> np.ndarray:
    directions = np.asarray(directions, np.float64)
    if directions.ndim != 2 or directions.shape[1] != 3:
        raise ArgumentError(f"directions must have shape (n, 3), not {directions.shape}")
    return directions


def _spiral_directions(count: int, start: float) -> np.ndarray:
    """`count` directions (count, 3) spread evenly over the sphere, on a spiral of golden angles."""
    height = (2 * np.arange(count) + 1) / count - 1
    turn = start + np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - height * height)
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), height])


class BumpyPair(NamedTuple):
    """Two bumpy spheres that deform while they pass through each other; made by `bumpy_pair`.

    faces: (m, 3) int32, the connectivity of both bodies, in shuffled order.
    directions: (n, 3) float64, the unit sphere that both are shaped from.
    frames: number of frames; the first and the last are just apart.
    """

    faces: np.ndarray
    directions: np.ndarray
    frames: int

    def frame(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of both bodies, two arrays (n, 3) float64, at frame k (0 … frames - 1)."""
        if not 0 <= k < self.frames:
            raise ArgumentError(f"k must be in 0 … {self.frames - 1}, not {k}")
        passed = 2 * k / (self.frames - 1) - 1  # -1: just apart, 0: deepest, 1: just apart on the other side
        # Slower in the middle, where the work is; the sideways offset keeps the centres from ever meeting.
        along = 2.2 * passed * (0.1 + 0.9 * passed * passed)
        offset = along * _unit_vector(0.83, 0.41, -0.37) + 0.04 * _unit_vector(0.29, -0.71, 0.13)
        time = 4.0 * (passed + 1)
        a = bumpy(self.directions, time) @ _rotation_matrix(_unit_vector(0.31, 0.77, 0.55), 0.4 + 0.11 * time).T
        b = bumpy(self.directions, 17.3 - 0.9 * time) @ _rotation_matrix(_unit_vector(-0.62, 0.21, 0.73), 1.9 - 0.07 * time).T
        return a - 0.5 * offset, b + 0.5 * offset


def bumpy_pair(faces: int = 20_480, frames: int = 200) -> BumpyPair:
    """The standard moving scene: two bumpy spheres of `faces` triangles each that pass through each other.

    The bodies differ in phase, orientation and motion, so no two triangles are coplanar or touch by construction.
    Faces come in a fixed shuffled order, so that nobody profits from the order in which the sphere was cut.
    faces: 320, 1280, 5120, 20480, 81920 or 327680; frames: 2 or more.
    """
    directions, triangles = _shuffled_sphere(faces)
    return BumpyPair(triangles, directions, _at_least(2, "frames", frames))


def _shuffled_sphere(faces: int) -> tuple[np.ndarray, np.ndarray]:
    """An icosphere of one of the sizes offered, its faces in a fixed shuffled order."""
    if faces not in SUBDIVISIONS:
        raise ArgumentError(f"faces must be one of {', '.join(map(str, SUBDIVISIONS))}, not {faces!r}")
    directions, triangles = icosphere(SUBDIVISIONS[faces])
    order = np.random.default_rng(20_480).permutation(len(triangles))
    return directions, np.ascontiguousarray(triangles[order])


def _at_least(minimum: int, name: str, count: int) -> int:
    if count != int(count) or count < minimum:
        raise ArgumentError(f"{name} must be a whole number, {minimum} or more, not {count!r}")
    return int(count)


class Swarm(NamedTuple):
    """Bodies that deform while they fly about in a box, meet and part; made by `swarm`.

    faces: (m, 3) int32, the connectivity of all bodies, in shuffled order.
    directions: (n, 3) float64, the unit sphere that all are shaped from.
    kind: "bumpy" or "arms".
    flight: (KNOTS + 1, bodies, 3) float64, the centres of all bodies at equal steps of the flight.
    frames: number of frames.
    """

    faces: np.ndarray
    directions: np.ndarray
    kind: str
    flight: np.ndarray
    frames: int

    @property
    def half(self) -> float:
        """Half the side of the box about the origin that centres keep to, or nearly: its walls are soft."""
        return _half_side(self.flight.shape[1], self.kind)

    def frame(self, k: int) -> list[np.ndarray]:
        """Vertices of all bodies, arrays (n, 3) float64, at frame k (0 … frames - 1)."""
        return [self.shape(body, k) + centre for body, centre in enumerate(self.centres(k))]

    def centres(self, k: int) -> np.ndarray:
        """Where the bodies are at frame k, (bodies, 3)."""
        if not 0 <= k < self.frames:
            raise ArgumentError(f"k must be in 0 … {self.frames - 1}, not {k}")
        knot = k / (self.frames - 1) * (len(self.flight) - 1)
        before = min(int(knot), len(self.flight) - 2)
        return self.flight[before] + (knot - before) * (self.flight[before + 1] - self.flight[before])

    def shape(self, body: int, k: int) -> np.ndarray:
        """Vertices (n, 3) of one body at frame k, about the origin, turned as it is. Formulas go on: k may be any number."""
        time, rng = 8.0 * k / (self.frames - 1), np.random.default_rng([27, body])
        turn = _rotation_matrix(_unit_vector(*rng.normal(size=3)), rng.uniform(0, 2 * np.pi) + rng.uniform(-0.3, 0.3) * time)
        if self.kind == "arms":
            return armed(self.directions, time, body) @ turn.T
        size, amplitude, pitch = rng.uniform(0.88, 1.12), rng.uniform(0.1, 0.2), rng.uniform(0.55, 1.15)
        return size * bumpy(self.directions, rng.uniform(0, 100) + rng.uniform(0.7, 1.3) * time, amplitude, pitch) @ turn.T


def swarm(bodies: int = 27, faces: int = 5_120, frames: int = 200, kind: str = "bumpy") -> Swarm:
    """The standard scene of many bodies: they deform, turn, fly about in a box, and bounce off each other softly.

    All bodies and all frames are different shapes: spheres of different sizes with bumps of different sizes, or, with kind "arms", balls
    with five to eight long arms. Radii are about 1, and a frame of 200 moves a body by 0.03. Of the 351 pairs among 27 bodies about 26,
    with arms 39, have boxes that meet in a frame, and about 5 meet, in some 60 pairs of faces each. More bodies have a larger box.
    No two triangles are coplanar or touch by construction. More frames are the same flight in smaller steps.
    bodies: 2 or more; faces: 320, 1280, 5120, 20480, 81920 or 327680 each; frames: 2 or more.
    """
    if kind not in SPACING:
        raise ArgumentError(f"kind must be one of {', '.join(SPACING)}, not {kind!r}")
    bodies, frames = _at_least(2, "bodies", bodies), _at_least(2, "frames", frames)
    directions, triangles = _shuffled_sphere(faces)
    return Swarm(triangles, directions, kind, _flight_path(bodies, kind), frames)


def _half_side(bodies: int, kind: str) -> float:
    """Half the side of a box with room for a cube of as many bodies, or the next larger one."""
    return 0.5 * SPACING[kind] * int(np.ceil(np.cbrt(bodies) - 1e-9))


def _flight_path(bodies: int, kind: str) -> np.ndarray:
    """(KNOTS + 1, bodies, 3): centres that start in the cells of a cube, each in a direction of its own; springs keep them apart."""
    rng, half, cells = np.random.default_rng(351), _half_side(bodies, kind), int(np.ceil(np.cbrt(bodies) - 1e-9))
    sites = (np.stack(np.unravel_index(rng.permutation(cells**3)[:bodies], (cells,) * 3), axis=1) + 0.5) * (2 * half / cells) - half
    centres, velocities = sites + rng.uniform(-0.15, 0.15, (bodies, 3)), rng.normal(size=(bodies, 3))
    velocities *= SPEED / np.linalg.norm(velocities, axis=1, keepdims=True)
    flight = [centres]
    for _ in range(FLIGHT_STEPS):
        gaps = centres[:, None] - centres
        distances = np.sqrt((gaps * gaps).sum(axis=2)) + np.diag(np.full(bodies, np.inf))
        close = np.maximum(REPULSION_DISTANCE[kind] / distances - 1, 0)
        forces = (close[:, :, None] * gaps).sum(axis=1) + np.clip(centres, -half, half) - centres
        velocities = velocities + STIFFNESS / FLIGHT_STEPS * forces
        centres = centres + velocities / FLIGHT_STEPS
        flight.append(centres)
    return np.array(flight)


class FoldingCloth(NamedTuple):
    """A sheet of cloth that folds through itself and opens again; made by `folding_cloth`.

    faces: (m, 3) int32, in shuffled order.
    cells: (nx, ny), the cells of its grid; each is cut into two faces, along alternating diagonals.
    frames: number of frames; the first and the last are nearly flat.
    """

    faces: np.ndarray
    cells: tuple[int, int]
    frames: int

    def frame(self, k: int) -> np.ndarray:
        """Vertices ((nx + 1)(ny + 1), 3) float64 at frame k (0 … frames - 1).

        Every thread along x is a curve of given direction, centred where it crosses y: it bends but never stretches.
        Where the direction swings by more than about 125° to either side, as in a meander, neighbouring folds pass through each other.
        """
        if not 0 <= k < self.frames:
            raise ArgumentError(f"k must be in 0 … {self.frames - 1}, not {k}")
        nx, ny = self.cells
        passed = 2 * k / (self.frames - 1) - 1  # -1: nearly flat, 0: deepest, 1: nearly flat again
        time, depth = 2.0 * (passed + 1), 1 - abs(passed) ** 3
        x = CLOTH_LENGTH * ((np.arange(nx) + 0.5) / nx - 0.5)
        y = (np.arange(ny + 1) / ny - 0.5)[:, None]
        fold = (0.5 + 1.95 * depth) * (1 + 0.1 * np.sin(1.2 * np.pi * y + 1.5 * time))  # 0.5 … 140°, and closing in waves along y
        pitch = fold * _wave_sum(FOLDS, x, y, time) + (0.3 + 0.7 * depth) * _wave_sum(WRINKLES, x, y, time) + 0.5 * depth * y
        sway = (0.4 + 0.6 * depth) * _wave_sum(SWAY, x, y, time)
        steps = np.stack([np.cos(pitch) * np.cos(sway), np.sin(sway), np.sin(pitch) * np.cos(sway)], axis=2)
        vertices = np.zeros((ny + 1, nx + 1, 3))
        np.cumsum(CLOTH_LENGTH / nx * steps, axis=1, out=vertices[:, 1:])
        vertices -= vertices.mean(axis=1, keepdims=True)  # not at a vertex: the cloth would have a straight line
        vertices[:, :, 1] += y
        return vertices.reshape(-1, 3) @ _rotation_matrix(_unit_vector(0.31, 0.77, 0.55), 0.4 + 0.11 * time).T


def _wave_sum(waves: tuple[tuple[float, ...], ...], x: np.ndarray, y: np.ndarray, time: float) -> np.ndarray:
    """The sum of plane waves at x (nx,) and y (ny, 1): (ny, nx)."""
    total = np.zeros((len(y), len(x)))
    for weight, along_x, along_y, speed, phase in waves:
        total += weight * np.sin(2 * np.pi * (along_x * x + along_y * y) + (speed * time + phase))
    return total


def folding_cloth(faces: int = 100_000, frames: int = 60) -> FoldingCloth:
    """The standard scene of one body: a cloth of about `faces` triangles that folds through itself.

    In its first fifth and its last it is free of self-collisions; in between up to 2,700 pairs of faces meet at 100,000 faces, 1,300 at
    20,000, and no neighbours do. The waves are incommensurate, so no two triangles are coplanar or touch by construction. Faces that
    share a side differ by less than 20° at 100,000 faces, 45° at 20,000. They come in a fixed shuffled order, so that nobody
    profits from the order of the grid. There are 2 · nx · ny of them: the number asked for if nx : ny can then be roughly 5 : 4, else
    the nearest. faces: 100 or more; frames: 2 or more.
    """
    _at_least(100, "faces", faces)
    frames = _at_least(2, "frames", frames)
    ideal = np.sqrt(faces * CLOTH_LENGTH / 2)
    cuts = [(nx, round(faces / (2 * nx))) for nx in range(int(0.85 * ideal), int(1.15 * ideal) + 2)]
    nx, ny = min(cuts, key=lambda cut: (abs(2 * cut[0] * cut[1] - faces), abs(cut[0] - ideal)))
    triangles = _alternating_faces(nx, ny)
    order = np.random.default_rng(100_000).permutation(len(triangles))
    return FoldingCloth(np.ascontiguousarray(triangles[order]), (nx, ny), frames)


def _alternating_faces(nx: int, ny: int) -> np.ndarray:
    """The faces (2 nx ny, 3) int32 of a grid whose cells are cut along one diagonal and the other by turns."""
    row, column = np.divmod(np.arange(nx * ny), nx)
    corner = row * (nx + 1) + column
    right, above, across = corner + 1, corner + nx + 1, corner + nx + 2
    rising = ((row + column) % 2 == 0)[:, None]
    lower = np.where(rising, np.column_stack([corner, right, across]), np.column_stack([corner, right, above]))
    upper = np.where(rising, np.column_stack([corner, across, above]), np.column_stack([right, across, above]))
    return np.stack([lower, upper], axis=1).reshape(-1, 3).astype(np.int32)


def sheet(nx: int, ny: int) -> tuple[np.ndarray, np.ndarray]:
    """A flat regular grid on the unit square of the plane z = 0, facing +z.

    Returns vertices ((nx + 1)(ny + 1), 3) float64, x fastest, and faces (2 nx ny, 3) int32.
    """
    nx, ny = _at_least(1, "nx", nx), _at_least(1, "ny", ny)
    x, y = np.tile(np.linspace(0, 1, nx + 1), ny + 1), np.repeat(np.linspace(0, 1, ny + 1), nx + 1)
    vertices = np.column_stack([x, y, np.zeros(len(x))])
    corner = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    right, above, across = corner + 1, corner + nx + 1, corner + nx + 2
    faces = np.stack([np.column_stack([corner, right, across]), np.column_stack([corner, across, above])], axis=1)
    return vertices, faces.reshape(-1, 3).astype(np.int32)


def _unit_vector(x: float, y: float, z: float) -> np.ndarray:
    """The direction of (x, y, z), (3,)."""
    return np.array([x, y, z]) / np.sqrt(x * x + y * y + z * z)


def _rotation_matrix(axis: np.ndarray, angle: float) -> np.ndarray:
    """The (3, 3) matrix that turns by `angle` radians about a unit axis (Rodrigues' formula)."""
    cross = np.cross(np.eye(3), axis)  # rows e_i × axis: the transpose of (axis × e_i) as columns
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
