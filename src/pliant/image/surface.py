"""A surface that is asked about once: vertices and faces, without a tree. What a query needs of a body, and no more."""
import numpy as np

from pliant.core import validate
from pliant.core.threads import ReadWriteLock
from pliant.geometry import mesh
from pliant.motion.free import Free
from pliant.query.target import QueryBody


class BareMesh:
    """`vertices` (n, 3) float64 and `faces` (f, 3) int32, both checked."""

    def __init__(self, vertices, faces):
        self._guard, self._motion, self._welded_faces, self.faces, self._matrix = ReadWriteLock(), Free(vertices, None), faces, faces, None

    def _world_vertices(self):
        """As `Body.world_vertices`."""
        return self._motion.flat, self._motion.in_filter_range, 0.0

    def _topology(self):
        """As `Body.mesh`."""
        return mesh.build_topology(self._welded_faces, self._motion.count, np.arange(self._motion.count, dtype=np.int32))


def is_body(value):
    """Is this a body, rather than vertices and faces?"""
    return isinstance(value, QueryBody)


def mesh_arguments(name, value):
    """(vertices, faces) of an argument that is both, or has both; not examined."""
    return validate.mesh_arrays(name, *(value if isinstance(value, tuple) and len(value) == 2 else (value, None)))


def as_subject(name, value):
    """A body as it is; (vertices, faces) as a Surface."""
    return value if is_body(value) else BareMesh(*validate.mesh(*value, name))
