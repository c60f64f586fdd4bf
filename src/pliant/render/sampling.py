"""Which pixels are traced, and how the others get their colours (thesis C 7.4 and 7.5).

Sub-sampling traces a grid of every k-th pixel and fills the squares in between, from their four corners: bilinear, or, as in the paper, as
four triangles that meet at the middle of the square. Both leave traced pixels as they are and are exact where colours are linear. The grid
goes on to the first point at or beyond the right and lower edge, so that nothing has to be guessed there.

Frameless rendering traces a part of all points in every frame, another one each time, until each had its turn. A time budget wants points
in an order that is a picture wherever it ends: coarse grids first.

Points of a grid are numbered row by row, like pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.render.camera import tile_order

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

GRID_SPACINGS = (8, 4, 2, 1)  # of the grids of a time budget, in points, from coarse to fine
MAX_STEP = 256


class PixelGrid(NamedTuple):
    """Every `step`-th pixel of a picture, in both directions, from the upper left corner to the edges and, where needed, one beyond."""

    width: int
    height: int
    step: int

    @property
    def columns(self) -> int:
        return 1 + -(-(self.width - 1) // self.step)

    @property
    def rows(self) -> int:
        return 1 + -(-(self.height - 1) // self.step)

    @property
    def points(self) -> int:
        return self.rows * self.columns

    def corners(self, points: Indices) -> Indices:
        """(n, 2) the pixels, column and row, of points (n,)."""
        row, column = np.divmod(points, self.columns)
        return self.step * np.stack([column, row], axis=1)

    def tiles(self) -> Indices:
        """All points, neighbours together."""
        return tile_order(self.columns, self.rows)


def pixel_grid(width: int, height: int, step: int = 1) -> PixelGrid:
    """The grid of every `step`-th pixel."""
    return PixelGrid(width, height, validate.integer("step", step, range(1, MAX_STEP + 1)))


# --- filling squares -------------------------------------------------------------------------------------------------------


def bilinear(u: Floats, v: Floats) -> Floats:
    """(…, 4) weights of a square's corners, upper left, upper right, lower left, lower right, at u to the right and v down, 0 … 1."""
    return np.stack([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v], axis=-1)


def quads(u: Floats, v: Floats) -> Floats:
    """The same for four triangles that meet at the middle of the square, whose colour is the mean of the corners.

    A triangle stands on one side of the square. At height h above that side, a position s along it has 2h of the middle, and of the two
    corners what is left of a straight line between them: (1 − h − s) and (s − h).
    """
    across, down = np.minimum(u, 1 - u), np.minimum(v, 1 - v)
    horizontal = down <= across  # on the upper or the lower side
    h, s = np.where(horizontal, down, across), np.where(horizontal, u, v)
    second_side = np.where(horizontal, v, u) > 0.5  # the lower side, or the right one
    near_weight, far_weight = 1 - h - s, s - h
    zero = np.zeros_like(h)
    upper_left = np.where(second_side, zero, near_weight)
    lower_right = np.where(second_side, far_weight, zero)
    upper_right = np.where(horizontal, np.where(second_side, zero, far_weight), np.where(second_side, near_weight, zero))
    lower_left = np.where(horizontal, np.where(second_side, near_weight, zero), np.where(second_side, zero, far_weight))
    return np.stack([upper_left, upper_right, lower_left, lower_right], axis=-1) + 0.5 * h[..., None]


FILTERS: dict[str, Callable[[Floats, Floats], Floats]] = {"quads": quads, "bilinear": bilinear}


def reconstruct(values: Floats, grid: PixelGrid, method: str = "quads") -> Floats:
    """(height, width, c): a whole picture from the colours (points, c) of a grid."""
    weights = FILTERS[validate.choice("way", method, FILTERS)]
    table = np.asarray(values, np.float64).reshape(grid.rows, grid.columns, -1)
    if grid.step == 1:
        return table.copy()
    # The last row and column of a grid close the squares before them: doubled, they stand for squares that are cut off again below.
    table = np.pad(table, ((0, 1), (0, 1), (0, 0)), mode="edge")
    u, v = np.meshgrid(np.arange(grid.step) / grid.step, np.arange(grid.step) / grid.step)
    corners = np.stack([table[:-1, :-1], table[:-1, 1:], table[1:, :-1], table[1:, 1:]])
    squares = np.einsum("yxk,krsc->rysxc", weights(u, v), corners, optimize=True)
    picture: Floats = squares.reshape(grid.rows * grid.step, grid.columns * grid.step, -1)
    return picture[: grid.height, : grid.width].copy()


# --- parts and orders ------------------------------------------------------------------------------------------------------


@cache
def shuffled_points(points: int) -> Indices:
    """All points in a pseudo-random order, the same each time."""
    order = np.random.default_rng(points).permutation(points)
    order.flags.writeable = False
    return order


def points_of_turn(points: int, parts: int, turn: int) -> Indices:
    """The points that are traced in this turn, sorted; in any `parts` turns that follow each other every point comes exactly once."""
    return np.sort(shuffled_points(points)[turn % parts :: parts])


@cache
def coarse_to_fine(columns: int, rows: int) -> tuple[Indices, tuple[int, ...]]:
    """All points, those of coarse grids first, and how many there are up to the end of each grid."""
    row, column = np.divmod(np.arange(columns * rows), columns)
    level = np.full(columns * rows, len(GRID_SPACINGS) - 1)
    for number, spacing in reversed(list(enumerate(GRID_SPACINGS))):
        level[(row % spacing == 0) & (column % spacing == 0)] = number
    order = np.argsort(level, kind="stable")
    order.flags.writeable = False
    return order, tuple(np.cumsum(np.bincount(level, minlength=len(GRID_SPACINGS))).tolist())


def fill_from_coarse(values: Floats, known: Flags, columns: int) -> Floats:
    """Colours (points, c) with those that are not known taken from the nearest coarser grid, whose coarsest must be known."""
    values, known = values.copy(), known.copy()
    for spacing in reversed(GRID_SPACINGS):
        missing = np.flatnonzero(~known)
        row, column = np.divmod(missing, columns)
        parent = (row - row % spacing) * columns + column - column % spacing
        parent_known = known[parent]
        values[missing[parent_known]], known[missing[parent_known]] = values[parent[parent_known]], True
    return values
