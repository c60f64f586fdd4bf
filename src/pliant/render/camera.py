"""A pinhole camera: which ray goes through which pixel, and which pixel shows which point.

A position in the picture is (x, y) in pixels from its upper left corner; pixel (column, row) has its centre at (column + ½, row + ½) and
the number row · width + column. Directions have length 1, so that distances along rays are distances.

Rays of neighbouring pixels visit the same nodes of a tree. `tiles` gives the pixels in squares of 8 × 8, which keeps neighbours in both
directions together; the way back to the picture is one assignment, `picture[order] = values`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.core import validate
from pliant.errors import ArgumentError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Point = tuple[float, float, float]

TILE_SIZE = 8  # pixels a side
MIN_FIELD_OF_VIEW, MAX_FIELD_OF_VIEW = 0.01, 179.0  # degrees: what a flat picture can show
MAX_PICTURE_SIDE = 16_384  # pixels a side


@dataclass(frozen=True)
class Camera:
    """Where the eye is, what it looks at, which way is up, and the picture that it sees.

    field_of_view : degrees from the lower edge to the upper one
    width, height : of the picture in pixels
    """

    eye: Point
    look_at: Point
    up: Point = (0.0, 0.0, 1.0)
    field_of_view: float = 40.0
    width: int = 640
    height: int = 480

    def __post_init__(self) -> None:
        for name in ("eye", "look_at", "up"):
            object.__setattr__(self, name, tuple(validate.point(name, getattr(self, name)).tolist()))
        for name in ("width", "height"):
            object.__setattr__(self, name, validate.integer(name, getattr(self, name), range(1, MAX_PICTURE_SIDE + 1)))
        angle = validate.number("field_of_view", self.field_of_view)
        if not MIN_FIELD_OF_VIEW <= angle <= MAX_FIELD_OF_VIEW:
            raise ArgumentError(f"field_of_view: expected degrees from {MIN_FIELD_OF_VIEW} to {MAX_FIELD_OF_VIEW}, got {angle}")
        self.axes()

    @property
    def pixels(self) -> int:
        """How many there are."""
        return self.width * self.height

    def axes(self) -> Floats:
        """(3, 3): rows to the right, downwards and ahead in the picture, of length 1."""
        with np.errstate(over="ignore"):
            ahead = np.subtract(self.look_at, self.eye)
            length, high = np.linalg.norm(ahead), np.linalg.norm(self.up)
        if not 0 < length < np.inf:
            raise ArgumentError(f"look_at: expected another point than the eye, and not too far, got {self.look_at} and {self.eye}")
        ahead = ahead / length
        right = np.cross(ahead, np.divide(self.up, high or 1.0))
        sine = np.linalg.norm(right)
        if sine < 1e-9:
            raise ArgumentError(f"up: expected a direction across the view, got {self.up}, which is 0 or along it")
        right = right / sine
        return np.stack([right, np.cross(ahead, right), ahead])

    @property
    def focus(self) -> float:
        """The distance from the eye at which a pixel is 1 wide."""
        return float(0.5 * self.height / np.tan(np.radians(0.5 * self.field_of_view)))

    def rays_at(self, positions: ArrayLike) -> tuple[Floats, Floats]:
        """Rays through positions (n, 2) in the picture: origins and directions, (n, 3) each."""
        x, y = np.asarray(positions, np.float64).reshape(-1, 2).T
        local = np.stack([x - 0.5 * self.width, y - 0.5 * self.height, np.full(len(x), self.focus)], axis=1)
        directions = local @ self.axes()
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.tile(np.array(self.eye), (len(x), 1)), directions

    def rays(self, pixels: ArrayLike | None = None, antialias: int = 1) -> tuple[Floats, Floats]:
        """Rays through the centres of these pixels, by number; all of them, in the order of the picture, if none are named.

        With `antialias` k there are k² rays a pixel, through the middles of k × k equal parts, one pixel after the other.
        """
        numbers = np.arange(self.pixels) if pixels is None else np.asarray(pixels, np.int64).ravel()
        row, column = np.divmod(numbers, self.width)
        return self.rays_at(subpixel_positions(np.stack([column, row], axis=1), antialias))

    def project(self, points: ArrayLike) -> Floats:
        """(n, 3): where points (n, 3) are in the picture, x and y, and how far ahead of the eye; not finite where that is 0."""
        local = (np.asarray(points, np.float64).reshape(-1, 3) - self.eye) @ self.axes().T
        with np.errstate(divide="ignore", invalid="ignore"):
            position = local[:, :2] * (self.focus / local[:, 2:]) + (0.5 * self.width, 0.5 * self.height)
        return np.column_stack([position, local[:, 2]])

    def frustum(self, near: float = 0.0, far: float | None = None) -> Floats:
        """(k, 4): the planes around what the picture shows, from `near` to `far` ahead of the eye, for `pliant.frustum_cull`: left, right,
        upper, lower, near and, if it is given, far."""
        right, down, ahead = self.axes()
        wide, high = 0.5 * self.width * ahead, 0.5 * self.height * ahead
        sides = [wide + self.focus * right, wide - self.focus * right, high + self.focus * down, high - self.focus * down]
        planes = [(*side, -side @ self.eye) for side in sides] + [(*ahead, -ahead @ self.eye - validate.number("near", near))]
        if far is not None:
            planes.append((*-ahead, ahead @ self.eye + validate.number("far", far, near)))
        return np.array(planes)

    def tiles(self) -> Indices:
        """(pixels,): all pixels by number, one tile of 8 × 8 after the other."""
        return tile_order(self.width, self.height)


def subpixel_positions(corners: ArrayLike, antialias: int = 1) -> Floats:
    """(n · antialias², 2): the middles (x, y) of the parts of pixels whose upper left corners (n, 2) are given."""
    middles = (np.arange(antialias) + 0.5) / antialias
    offsets = np.stack([np.tile(middles, antialias), np.repeat(middles, antialias)], axis=1)
    return (np.asarray(corners, np.float64)[:, None, :] + offsets).reshape(-1, 2)


def tile_order(width: int, height: int) -> Indices:
    """The numbers of a grid's points, one tile of 8 × 8 after the other; those at the right and lower edge may be smaller."""
    row, column = np.divmod(np.arange(width * height), width)
    return np.lexsort((column, row, column // TILE_SIZE, row // TILE_SIZE))
