"""Two spheres that overlap, with small whole numbers as coordinates: every dtype holds them exactly, so answers compare to the bit."""

import sys

import numpy as np
from numba.core.dispatcher import Dispatcher

import pliant as pl
from pliant import shapes

_UNIT, FACES = shapes.icosphere(1)
SPHERE = np.round(40 * _UNIT) + 0.0  # 42 vertices, 80 faces; + 0.0: whole numbers have no negative zero
OTHER = SPHERE + np.array([31.0, 17.0, -5.0])
MOVED = SPHERE[:, [1, 2, 0]] + np.array([3.0, -2.0, 5.0])


def answer(a, b):
    """All that a caller can see of two bodies, to the bit."""
    pairs = pl.collide(a, b)
    assert pairs.faces.dtype == np.int32 and pairs.faces.shape[1:] == (2,)
    return pairs.faces.tobytes(), a.vertices.tobytes(), b.vertices.tobytes(), a.faces.tobytes()


def signatures():
    """How many specialisations of the library's functions are compiled in this process."""
    modules = [module for name, module in sys.modules.items() if name.startswith("pliant")]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return sum(len(value.nopython_signatures) for value in found.values())
