"""Colours: light is added up in linear sRGB; files and people speak in encoded sRGB, 0 … 1 a channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

SHOULDER = 0.7  # what is brighter is compressed: highlights turn white slowly


def srgb_to_linear(srgb: ArrayLike) -> Floats:
    """Encoded sRGB, 0 … 1, as light."""
    value = np.asarray(srgb, np.float64)
    return np.where(value <= 0.04045, value / 12.92, ((np.maximum(value, 0.0) + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(light: ArrayLike) -> Floats:
    """Light, 0 … 1, as encoded sRGB."""
    value = np.clip(np.asarray(light, np.float64), 0.0, 1.0)
    return np.where(value <= 0.0031308, 12.92 * value, 1.055 * value ** (1 / 2.4) - 0.055)


def tone_map(light: ArrayLike, exposure: float = 1.0) -> Floats:
    """Light of any strength as 0 … 1: a straight line up to the shoulder, then ever closer to 1."""
    value = np.maximum(np.asarray(light, np.float64) * exposure, 0.0)
    over = np.maximum(value - SHOULDER, 0.0) / (1.0 - SHOULDER)
    return np.minimum(value, SHOULDER) + (1.0 - SHOULDER) * (1.0 - np.exp(-over))


def to_uint8(srgb: ArrayLike) -> NDArray[np.uint8]:
    """Encoded sRGB, 0 … 1, as bytes."""
    return np.round(np.clip(np.asarray(srgb, np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)
