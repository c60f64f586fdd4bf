"""What surfaces are made of, and what lights them: materials, point lights and a sky. Plain values, checked when they are made.

Colours are encoded sRGB, 0 … 1 a channel, as people name them; z is up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core import validate
from pliant.errors import ArgumentError
from pliant.render.colours import srgb_to_linear

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Colour = tuple[float, float, float]

WHITE: Colour = (1.0, 1.0, 1.0)
MIN_LENGTH = 1e-6  # no light reaches less far, no haze is thicker


def parse_colour(name: str, value: Any) -> Colour:
    """Three numbers 0 … 1, or "#rrggbb"."""
    if isinstance(value, str):
        digits = value.removeprefix("#")
        if len(digits) != 6 or value == digits or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise ArgumentError(f'{name}: expected "#rrggbb" or three numbers from 0 to 1, got {value!r}')
        value = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    red, green, blue = validate.point(name, value).tolist()
    if not 0 <= min(red, green, blue) <= max(red, green, blue) <= 1:
        raise ArgumentError(f'{name}: expected "#rrggbb" or three numbers from 0 to 1, got {value!r}')
    return red, green, blue


def check_number(name: str, value: Any, minimum: float = 0.0, maximum: float = np.inf) -> float:
    """A number in a range."""
    checked = validate.number(name, value)
    if not minimum <= checked <= maximum:
        upper = "" if maximum == np.inf else f" to {maximum:g}"
        raise ArgumentError(f"{name}: expected a number from {minimum:g}{upper}{' up' if maximum == np.inf else ''}, got {checked!r}")
    return float(checked)


def check_length(name: str, value: Any) -> float:
    """A distance that is not tiny; infinity is one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= MIN_LENGTH:
        raise ArgumentError(f"{name}: expected a number from {MIN_LENGTH:g} up, or infinity, got {value!r}")
    return float(value)


@dataclass(frozen=True)
class Material:
    """How a surface looks. Most are made by `diffuse`, `glossy`, `mirror` and `glass`.

    colour : of what the surface scatters
    second : the other colour of a checkerboard, whose squares along x and y have sides of length `checker`; 0: none
    gloss, shine : strength of highlights, and how small they are: the exponent of Blinn's formula
    reflect : the share that is mirrored at a right angle, in the colour `tint`; along the surface all is
    index : of refraction, for clear bodies, which must be closed; 0: not clear
    absorb : how fast a clear body takes away each channel, a unit of length
    smooth : normals vary over a face, between those of its vertices
    """

    colour: Colour = (0.8, 0.8, 0.8)
    second: Colour = (0.5, 0.5, 0.5)
    checker: float = 0.0
    gloss: float = 0.0
    shine: float = 60.0
    reflect: float = 0.0
    tint: Colour = WHITE
    index: float = 0.0
    absorb: Colour = (0.0, 0.0, 0.0)
    smooth: bool = True

    def __post_init__(self) -> None:
        for name in ("colour", "second", "tint"):
            object.__setattr__(self, name, parse_colour(name, getattr(self, name)))
        for name, minimum, maximum in (("checker", 0.0, np.inf), ("gloss", 0.0, 100.0), ("shine", 1.0, 1e6), ("reflect", 0.0, 1.0)):
            object.__setattr__(self, name, check_number(name, getattr(self, name), minimum, maximum))
        index = check_number("index", self.index, 0.0, 10.0)
        if 0 < index < 1:
            raise ArgumentError(f"index: expected 0, for what is not clear, or a number from 1 to 10, got {index!r}")
        absorb = validate.point("absorb", self.absorb)
        if not (absorb >= 0).all():
            raise ArgumentError(f"absorb: expected three numbers from 0 up, got {self.absorb!r}")
        object.__setattr__(self, "absorb", tuple(absorb.tolist()))
        validate.flag("smooth", self.smooth)

    @classmethod
    def diffuse(cls, colour: Any, **options: Any) -> Material:
        """Scatters light evenly, like plaster."""
        return cls(colour=colour, **options)

    @classmethod
    def glossy(cls, colour: Any, gloss: float = 0.5, shine: float = 60.0, **options: Any) -> Material:
        """Scatters light, with highlights, like paint."""
        return cls(colour=colour, gloss=gloss, shine=shine, **options)

    @classmethod
    def mirror(cls, tint: Any = WHITE, reflect: float = 0.8, colour: Any = None, **options: Any) -> Material:
        """Mirrors its surroundings, like metal; what is left is scattered."""
        return cls(**{"colour": tint if colour is None else colour, "tint": tint, "reflect": reflect, "gloss": 1.0, "shine": 400.0,
                      **options})  # fmt: skip

    @classmethod
    def glass(cls, index: float = 1.5, absorb: Any = (0.0, 0.0, 0.0), **options: Any) -> Material:
        """Clear: mirrors some of the light and bends the rest."""
        return cls(**{"index": index, "absorb": absorb, "gloss": 1.0, "shine": 400.0, **options})


@dataclass(frozen=True)
class Light:
    """A point that shines in all directions.

    strength : of its light on a surface that faces it; at the distance `reach` only half of it arrives. Infinity: the same everywhere
    radius : shadows are those of a ball of this size, each ray going to another point of it; 0: sharp shadows
    """

    position: tuple[float, float, float]
    colour: Colour = WHITE
    strength: float = 1.0
    reach: float = np.inf
    radius: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", tuple(validate.point("position", self.position).tolist()))
        object.__setattr__(self, "colour", parse_colour("colour", self.colour))
        object.__setattr__(self, "strength", check_number("strength", self.strength, 0.0, 1e6))
        object.__setattr__(self, "radius", check_number("radius", self.radius))
        object.__setattr__(self, "reach", check_length("reach", self.reach))

    @property
    def light(self) -> Floats:
        """(3,) its colour and strength."""
        return self.strength * srgb_to_linear(self.colour)


@dataclass(frozen=True)
class Sky:
    """What rays see that meet nothing, and the light that comes from everywhere.

    ambient : share of the sky's light that reaches surfaces without any ray
    haze : distance at which about two thirds of a thing are lost in the colour of the horizon; infinity: clear air
    """

    zenith: Colour = (0.42, 0.58, 0.80)
    horizon: Colour = (0.88, 0.90, 0.93)
    ground: Colour = (0.55, 0.53, 0.50)
    ambient: float = 0.35
    haze: float = np.inf

    def __post_init__(self) -> None:
        for name in ("zenith", "horizon", "ground"):
            object.__setattr__(self, name, parse_colour(name, getattr(self, name)))
        object.__setattr__(self, "ambient", check_number("ambient", self.ambient, 0.0, 100.0))
        object.__setattr__(self, "haze", check_length("haze", self.haze))

    def radiance(self, directions: Floats) -> Floats:
        """(n, 3) light from directions (n, 3): a gradient up from the horizon, and one down."""
        height = directions[:, 2:3]
        horizon = srgb_to_linear(self.horizon)
        up, down = np.sqrt(np.maximum(height, 0.0)), np.sqrt(np.maximum(-height, 0.0))
        return horizon + up * (srgb_to_linear(self.zenith) - horizon) + down * (srgb_to_linear(self.ground) - horizon)

    def ambient_light(self, normals: Floats) -> Floats:
        """(n, 3) ambient light on surfaces with these normals."""
        share = 0.5 + 0.5 * normals[:, 2:3]
        above, below = 0.5 * (srgb_to_linear(self.zenith) + srgb_to_linear(self.horizon)), srgb_to_linear(self.ground)
        light: Floats = self.ambient * (below + share * (above - below))
        return light


class Materials(NamedTuple):
    """Many materials, a row each: columns that are looked up for all rays at once."""

    colour: Floats  # (m, 3) linear
    second: Floats  # (m, 3)
    checker: Floats  # (m, 1)
    gloss: Floats  # (m, 3): strength times tint
    shine: Floats  # (m, 1)
    normal_reflectance: Floats  # (m, 3): what is mirrored at a right angle
    refraction_index: Floats  # (m, 1) index of refraction; 0: not clear
    absorb: Floats  # (m, 3)
    smooth: Flags  # (m,)

    @classmethod
    def from_list(cls, materials: Sequence[Material]) -> Materials:
        """The table of these."""

        def column(values: list[Any], width: int) -> Floats:
            return np.array(values, np.float64).reshape(len(materials), width)

        tint = srgb_to_linear(column([each.tint for each in materials], 3))
        return cls(srgb_to_linear(column([each.colour for each in materials], 3)),
                   srgb_to_linear(column([each.second for each in materials], 3)),
                   column([each.checker for each in materials], 1), tint * column([each.gloss for each in materials], 1),
                   column([each.shine for each in materials], 1), tint * column([each.reflect for each in materials], 1),
                   column([each.index for each in materials], 1), column([each.absorb for each in materials], 3),
                   np.array([each.smooth for each in materials], bool))  # fmt: skip

    def diffuse_colour(self, rows: NDArray[np.int64], points: Floats) -> Floats:
        """(n, 3) the colour that material `rows` (n,) scatters at points (n, 3)."""
        size, first = self.checker[rows], self.colour[rows]
        squares = np.floor(points[:, :2] / np.where(size > 0, size, 1.0)).sum(axis=1, keepdims=True)
        return np.where((size > 0) & (squares % 2 != 0), self.second[rows], first)
