"""What light does at a surface: mirrored and bent directions, and how much goes which way. Formulas on rows (n, 3).

Directions have length 1. A normal looks against the ray: direction · normal ≤ 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def dot(a: Floats, b: Floats) -> Floats:
    """Products of rows, (n, 1)."""
    return np.asarray(np.einsum("...j,...j->...", a, b))[..., None]


def unit(rows: Floats) -> Floats:
    """Rows scaled to length 1; those of length 0 stay."""
    length = np.sqrt(dot(rows, rows))
    return rows / np.where(length > 0, length, 1.0)


def reflect(directions: Floats, normals: Floats) -> Floats:
    """Where a mirror sends each ray."""
    return directions - 2.0 * dot(directions, normals) * normals


def refract(directions: Floats, normals: Floats, ratio: Floats) -> tuple[Floats, Flags]:
    """Where a ray goes on behind the surface (Snell's law), and where it does not: total internal reflection.

    ratio : (n, 1) index of refraction on the side that the ray comes from ÷ that behind the surface
    """
    cosine = -dot(directions, normals)
    inside = 1.0 - ratio * ratio * (1.0 - cosine * cosine)  # the squared cosine behind the surface
    total = inside[:, 0] < 0.0
    bent = ratio * directions + (ratio * cosine - np.sqrt(np.maximum(inside, 0.0))) * normals
    return unit(bent), total


def schlick(cosine: Floats, normal_reflectance: Floats) -> Floats:
    """The share of light that is mirrored (Schlick 1994): `normal_reflectance` of it at a right angle, all of it along the surface."""
    return normal_reflectance + (1.0 - normal_reflectance) * np.clip(1.0 - cosine, 0.0, 1.0) ** 5


def glass_reflectance(cosine: Floats, ratio: Floats) -> Floats:
    """The share that the surface of a clear body mirrors, by its index of refraction.

    Schlick's formula wants the larger of the two angles: out of the denser side it takes the cosine behind the surface.
    """
    normal_reflectance = ((ratio - 1.0) / (ratio + 1.0)) ** 2
    behind = np.sqrt(np.maximum(1.0 - ratio * ratio * (1.0 - cosine * cosine), 0.0))
    return schlick(np.where(ratio > 1.0, behind, cosine), normal_reflectance)


def above_face(directions: Floats, faces: Floats, minimum: float = 1e-3) -> Floats:
    """Directions turned up to rise from the face by at least that sine.

    Smooth normals are not those of faces: along a silhouette a mirrored ray would go into its own face.
    """
    rise = dot(directions, faces)
    return np.where(rise < minimum, unit(directions + (minimum - rise) * faces), directions)
