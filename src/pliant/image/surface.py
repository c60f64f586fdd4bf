"""A surface that is asked about once: vertices and faces, without a tree. What a query needs of a body, and no more."""
import numpy as np

from pliant.core import validate
from pliant.core.threads import Guard
from pliant.geometry import mesh
from pliant.motion.free import Free


class Surface:
    """`vertices` (n, 3) float64 and `faces` (f, 3) int32, both checked."""

    def __init__(self, vertices, faces):
        self.guard, self.motion, self.corners, self.faces, self.placement = Guard(), Free(vertices, None), faces, faces, None

    def placed_vertices(self):
        """As `Body.placed_vertices`."""
        return self.motion.flat, self.motion.plain, 0.0

    def mesh(self):
        """As `Body.mesh`."""
        return mesh.mesh_of(self.corners, self.motion.count, np.arange(self.motion.count, dtype=np.int32))


def is_body(value):
    """Is this a body, rather than vertices and faces?"""
    return hasattr(type(value), "shape_at")


def mesh_of(name, value):
    """(vertices, faces) of an argument that is both, or has both; not examined."""
    return validate.parts_of(name, *(value if isinstance(value, tuple) and len(value) == 2 else (value, None)))


def host_surface(name, value):
    """A body as it is; (vertices, faces) as a Surface."""
    return value if is_body(value) else Surface(*validate.mesh(*value, name))
