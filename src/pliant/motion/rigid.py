"""Rigid placement: where a body's model coordinates are in the world.

A placement is 12 float64, the rows of (R | t). `placed` is the definition of a position, everywhere: its roundings are part of the answer,
so that what a query works out for a few corners is to the bit what `body.vertices` gives for all.

Two placed bodies meet as if the second were moved into the model frame of the first by L = A⁻¹ B and d = A⁻¹ (t_b − t_a), and everything in
a tree stays as it is. Any invertible map keeps what meets what, so nothing here needs R to be a rotation to the last bit; how far it is
from one widens the volumes (`loose`).
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.geometry.predicates import point_fits

IDENTITY = np.eye(3, 4).reshape(-1)
LEAST = 2.0**-1070                                                      # above all that rounding does to the smallest numbers
ROUNDING = 2.0**-48                                                     # of the largest numbers that a position is made of


@helper
def placed(m, k, x, y, z):
    """Coordinate k of a point of the model, in the world."""
    return m[4 * k] * x + (m[4 * k + 1] * y + (m[4 * k + 2] * z + m[4 * k + 3]))


@kernel
def place_all(m, vertices, out):
    """All vertices, flat; are they all in the range of the filters (`geometry/predicates.py`)?"""
    good = True
    for v in range(0, len(vertices), 3):
        x, y, z = vertices[v], vertices[v + 1], vertices[v + 2]
        out[v], out[v + 1], out[v + 2] = placed(m, 0, x, y, z), placed(m, 1, x, y, z), placed(m, 2, x, y, z)
        good &= point_fits(out, v)
    return good


@kernel
def place_corners(m, vertices, faces, which, column, out):
    """out (k, 9) = the placed corners of faces which[:, column]."""
    for i in range(len(which)):
        for c in range(3):
            v = 3 * np.int64(faces[which[i, column], c])
            x, y, z = vertices[v], vertices[v + 1], vertices[v + 2]
            for k in range(3):
                out[i, 3 * c + k] = placed(m, k, x, y, z)


def rounding(m, box):
    """A bound of how far `placed` may move a vertex in this box from where the real numbers put it."""
    return ROUNDING * 4 * (float(np.abs(box).max()) + float(np.abs(m[3::4]).max())) + LEAST


def world_box(m, box):
    """(low, high) of a placed box (8,), rounded outward."""
    rows = m.reshape(3, 4)
    middle, half = 0.5 * box[:3] + 0.5 * box[4:7], 0.5 * box[4:7] - 0.5 * box[:3]
    centre = rows[:, :3] @ middle + rows[:, 3]
    size = np.abs(rows[:, :3]) @ half
    size += ROUNDING * (np.abs(rows[:, :3]) @ (np.abs(middle) + half) + np.abs(rows[:, 3])) + 2 * LEAST
    return centre - size, centre + size


class Relative(NamedTuple):
    """How model coordinates of b look from a: `turn` (3, 3) and its inverse `back`, `move` (3,) from b's origin to a's, times the scale;
    `loose`: how far an entry of turn is from a rotation's; `doubt`: what is uncertain of a position in a's frame, times the scale."""
    turn: np.ndarray
    back: np.ndarray
    move: np.ndarray
    loose: float
    doubt: float


def relative(m_a, origin_a, reach_a, m_b, origin_b, reach_b, scale):
    """The Relative of two placements, origins and reaches (the largest |x − origin|)."""
    a, b = m_a.reshape(3, 4), m_b.reshape(3, 4)
    inverse = np.linalg.inv(a[:, :3])
    turn = inverse @ b[:, :3]
    away = inverse @ (b[:, 3] - a[:, 3])
    move = (turn @ origin_b + away - origin_a) * scale
    loose = float(np.abs(turn.T @ turn - np.eye(3)).max())
    largest = sum(float(np.abs(part).max()) for part in (a[:, 3], b[:, 3], origin_a, origin_b)) + reach_a + reach_b
    return Relative(turn, np.linalg.inv(turn), move, loose, (ROUNDING * largest + LEAST) * scale)
