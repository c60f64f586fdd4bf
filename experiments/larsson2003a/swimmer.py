"""The swimmer of paper B (thesis Fig 6.6): a dolphin of exactly 564 triangles, in three poses, and finer meshes of the same shape.

The body is a tube of RINGS with a vertex at either end; fins are strips of its quadrilaterals, extruded in three steps, so that the mesh is
one closed surface. Rings are evenly spaced, and no part is thinner than about half a quadrilateral is long: triangles of like sizes give a
tree of about the same depth everywhere, as the paper assumes. It swims towards +x, z is up, it is two units long and centred at the
origin. Finer meshes split each triangle into four at the midpoints of its edges and move nothing: they are the same solid.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Faces = NDArray[np.int32]
Quad = tuple[int, int, int, int]

FACES = 564  # of the coarsest mesh; the others have 4^k times as many
AROUND, STEPS = 12, 3  # vertices of a ring; steps of a fin from its root to its tip

# From the tip of the beak (0) to the notch of the tail (1): half the width, half the height, and the height of the centre line.
TIPS = ((0.0, -0.035), (0.975, 0.0))
RINGS = (
    (0.035, 0.050, 0.050, -0.034), (0.101, 0.050, 0.050, -0.029), (0.168, 0.105, 0.110, 0.003), (0.234, 0.137, 0.144, 0.003),
    (0.301, 0.156, 0.166, 0.000), (0.367, 0.165, 0.178, 0.000), (0.434, 0.163, 0.179, 0.003), (0.500, 0.154, 0.170, 0.006),
    (0.566, 0.139, 0.155, 0.010), (0.633, 0.116, 0.134, 0.010), (0.699, 0.091, 0.112, 0.009), (0.766, 0.065, 0.088, 0.006),
    (0.832, 0.050, 0.067, 0.003), (0.899, 0.050, 0.050, 0.000), (0.965, 0.050, 0.050, 0.000),
)  # fmt: skip


class Fin(NamedTuple):
    """A fin on the quadrilaterals behind rings `ring` … `ring + quads - 1`, number `side` around (0: right, 3: top, 6: left).

    `out`: its direction, `span`: its length; `back`: how far the tip lies behind the root; `chords`: half its chord at each step and at the
    tip; `thick`: half its thickness at its edges, and a half of that in the middle.
    """

    ring: int
    quads: int
    side: int
    out: tuple[float, float, float]
    span: float
    back: float
    chords: tuple[float, float, float]
    thick: tuple[float, float, float] = (0.030, 0.026, 0.022)


FINS = (
    Fin(7, 2, 3, (0, 0, 1), 0.24, 0.22, (0.125, 0.078, 0.050)),
    Fin(4, 2, 11, (0, 0.90, -0.44), 0.34, 0.22, (0.080, 0.064, 0.050)),
    Fin(4, 2, 7, (0, -0.90, -0.44), 0.34, 0.22, (0.080, 0.064, 0.050)),
    Fin(11, 3, 0, (0, 1, 0), 0.33, 0.20, (0.098, 0.072, 0.050)),
    Fin(11, 3, 6, (0, -1, 0), 0.33, 0.20, (0.098, 0.072, 0.050)),
)

# Poses: how far the spine is bent upward and to the left, radians from the middle to the tail; of that,
# and squared, the share of the head.
UP, STRAIGHT, DOWN = (0.95, 0.0), (0.0, 0.0), (-0.85, 0.55)
MIDDLE, HEAD = 0.25, 0.22  # x beyond which the spine is not bent


@cache
def swimmer(faces: int = FACES) -> tuple[Rows, Faces]:
    """The three poses, tail up, straight, and tail down and to one side: (3, n, 3); and `faces` triangles (faces, 3) of 564 · 4^k."""
    times = np.log2(faces / FACES) / 2
    if times != int(times) or times < 0:
        raise ValueError(f"faces must be {FACES} · 4^k, not {faces!r}")
    straight, triangles = coarse()
    poses = np.stack([bent(straight, *pose) for pose in (UP, STRAIGHT, DOWN)])
    for _ in range(int(times)):
        poses, triangles = quartered(poses, triangles)
    order = np.random.default_rng(faces).permutation(len(triangles))
    return poses, np.ascontiguousarray(triangles[order])


def coarse() -> tuple[Rows, Faces]:
    """The straight swimmer of 564 triangles: (284, 3) and (564, 3)."""
    turn = 2 * np.pi * (np.arange(AROUND) - 0.5) / AROUND
    points = [[1 - 2 * at, 0.0, 2 * high] for at, high in TIPS]
    for at, width, height, high in RINGS:
        points += [[1 - 2 * at, width * np.cos(t), high * 2 + height * np.sin(t)] for t in turn]
    ring = 2 + np.arange(len(RINGS) * AROUND).reshape(len(RINGS), AROUND)
    quads = {(i, j): (ring[i, j], ring[i, (j + 1) % AROUND], ring[i + 1, (j + 1) % AROUND], ring[i + 1, j])
             for i in range(len(RINGS) - 1) for j in range(AROUND)}  # fmt: skip
    corners = [(0, ring[0, (j + 1) % AROUND], ring[0, j]) for j in range(AROUND)]
    corners += [(1, ring[-1, j], ring[-1, (j + 1) % AROUND]) for j in range(AROUND)]
    sides = []
    for fin in FINS:
        patch = [quads.pop((fin.ring + k, fin.side)) for k in range(fin.quads)]
        sides += drawn_out(fin, patch, points)
    for a, b, c, d in [*quads.values(), *sides]:
        corners += [(a, b, c), (a, c, d)]
    return np.array(points), np.array(corners, np.int32)[:, ::-1].copy()


def drawn_out(fin: Fin, patch: list[Quad], points: list[list[float]]) -> list[Quad]:
    """The quadrilaterals of a fin on a strip of them; its vertices are added to `points`."""
    left, right = [patch[0][0], *(quad[3] for quad in patch)], [patch[0][1], *(quad[2] for quad in patch)]
    root = np.array([points[v] for v in left + right])
    middle, out, across = root.mean(axis=0), np.array(fin.out), root[len(left) :].mean(axis=0) - root[: len(left)].mean(axis=0)
    across /= np.linalg.norm(across)
    made = []
    for step in range(STEPS):
        share, rows = (step + 1) / STEPS, []
        for v, side in ((left, -1), (right, 1)):
            rows.append(list(range(len(points), len(points) + len(v))))
            for k in range(len(v)):
                along = 1 - 2 * k / (len(v) - 1)  # 1: the front edge, -1: the rear edge
                centre = middle + fin.span * share * out - np.array([fin.back * share**1.5, 0, 0])
                place = centre + np.array([fin.chords[step] * along, 0, 0]) + side * fin.thick[step] * (2.0 - along * along) * across
                points.append(place.tolist())
        for old, new in ((left, rows[0]), (right[::-1], rows[1][::-1])):
            made += [(old[k + 1], old[k], new[k], new[k + 1]) for k in range(len(old) - 1)]
        made += [(left[0], right[0], rows[1][0], rows[0][0]), (right[-1], left[-1], rows[0][-1], rows[1][-1])]
        left, right = rows
    made += [(left[k], right[k], right[k + 1], left[k + 1]) for k in range(len(left) - 1)]
    return made


def bent(vertices: Rows, up: float, aside: float) -> Rows:
    """The swimmer with a bent spine: most at the tail, and the head a little in the opposite direction."""
    x, fine = vertices[:, 0], np.linspace(-1.6, 1.2, 2_801)
    tail, head = (MIDDLE - fine) / (1 + MIDDLE), HEAD * (fine - MIDDLE) / (1 - MIDDLE)
    bow = np.where(fine < MIDDLE, tail * tail, -head * head)
    pitch, yaw = up * bow, aside * bow
    slopes = np.stack([np.cos(pitch) * np.cos(yaw), -np.sin(yaw) * np.cos(pitch), -np.sin(pitch)])
    path = np.cumsum(slopes, axis=1) * (fine[1] - fine[0])
    spine = np.column_stack([np.interp(x, fine, row - np.interp(0.0, fine, row)) for row in path])
    pitch, yaw = np.interp(x, fine, pitch), np.interp(x, fine, yaw)
    ahead = np.column_stack([np.cos(pitch) * np.cos(yaw), -np.sin(yaw) * np.cos(pitch), -np.sin(pitch)])
    side = np.column_stack([np.sin(yaw), np.cos(yaw), np.zeros(len(x))])
    made: Rows = spine + vertices[:, 1:2] * side + vertices[:, 2:3] * np.cross(ahead, side)
    return made


def quartered(poses: Rows, faces: Faces) -> tuple[Rows, Faces]:
    """Each triangle split into four at the midpoints of its edges, in all poses (k, n, 3) alike."""
    n = poses.shape[1]
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1).astype(np.int64)
    keys, index = np.unique(sides[:, 0] * n + sides[:, 1], return_inverse=True)
    first, second = np.divmod(keys, n)
    a, b, c = faces.T
    ab, bc, ca = n + index.reshape(-1, 3).T
    cut = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    finer = np.concatenate([poses, 0.5 * (poses[:, first] + poses[:, second])], axis=1)
    return finer, np.stack([np.column_stack(f) for f in cut], axis=1).reshape(-1, 3).astype(np.int32)
