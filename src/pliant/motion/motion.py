"""Motions: where the vertices of a body are. The base class, the content of a file, and the registry, which other packages may add to.

`procedural.py` has the base class for motions that compute all vertices in every update; that is all that most extensions need.
"""
from typing import Any, NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.registry import Registry, check_callable
from pliant.errors import ArgumentTypeError


class Motion:
    """The vertices `flat` (3 n,), float64, of one body, and `points` (4 n,), their float32 rows x y z · relative to an origin.

    `name` is that of the registry and of files; in messages, `kind` describes a body and `input_name` what its `update` takes. `record`
    (1,) of MOTION_DTYPE (`free.py`) holds bounds and addresses for kernels.
    """

    name = kind = input_name = ""
    count = 0                                                           # n
    additive, repr_parts = False, ""                                    # are shapes displacements from a base? more for `repr`
    updates_single_vertices = False                                     # does `update_some` exist?
    points_and_blocks: Any = None                                       # `points`, and boxes of blocks of vertices (`free.py`)
    has_body = False                                                    # does a body own it?

    reach = property(lambda self: float(self._record["reach"]))
    in_filter_range = property(lambda self: bool(self._record["in_filter_range"]))

    @property
    def vertices(self):
        """(n, 3) float64, read-only, valid until the next update."""
        self.complete()
        rows = self.flat.reshape(-1, 3)
        rows.flags.writeable = False
        return rows

    def complete(self):
        """Compute every vertex that has not been computed since the update."""

    @property
    def n_computed(self) -> int | None:
        """The number of vertices computed since the last update; None if the motion does not record it."""
        return self.count

    @property
    def given_origin(self):
        """The origin (3,) that the user has fixed, or None."""
        return self.origin[:3].copy() if self.fixed else None

    def arrange(self, vertices):
        """Reorder internal rows for these vertices, which lists those of leaf after leaf: what is computed together should lie together."""


@generic("state")
def compute_vertex(state, r):
    """Compute the vertex in row r of a motion that computes vertices on demand, and its float32 row."""


@generic("state")
def prefetch_vertex(state, r):
    """Prefetch what `compute_vertex` reads and writes for row r: the vertices of a leaf wait for memory together."""


class MotionFile(NamedTuple):
    """What a file holds of a motion: `shapes` (k, n, 3) float64 finite, n the number of vertices, `values` (j,) float64 of any meaning, and
    what only built-in motions use: are shapes displacements from a base? and the weights over maps, as (begins, map_ids, weights)."""
    shapes: np.ndarray
    values: np.ndarray = np.zeros(0)
    origin: Any = None                                                  # (3,) if the user has fixed it; `write` leaves it
    additive: Any = False
    skin: tuple = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))


class MotionType(NamedTuple):
    """A motion: its name, its class, and how it is saved: `write(motion) -> MotionFile` and `read(file, settings) -> motion`, which
    validates every value and raises ValueError; `settings` are the options of the policy. Without them, its bodies cannot be saved."""
    name: str
    motion: type
    write: Any = None
    read: Any = None


MOTIONS: dict[str, MotionType] = Registry("motion")


def register_motion(motion_type):
    """Add a motion."""
    if not isinstance(motion_type, MotionType):
        raise ArgumentTypeError(f"motion: expected a MotionType, got {motion_type!r:.80}")
    name, cls, write, read = motion_type
    if not (isinstance(cls, type) and issubclass(cls, Motion)):
        raise ArgumentTypeError(f"motion {name!r}: expected a class derived from Motion, got {cls!r:.80}")
    if cls.name != name or not cls.kind or not cls.input_name:
        raise ArgumentTypeError(f"motion {name!r}: {cls.__name__} needs name = {name!r}, and texts kind and input_name")
    if (write is None) != (read is None):
        raise ArgumentTypeError(f"motion {name!r}: write and read must be given together")
    if write is not None:
        check_callable(f"motion {name!r}: write", write, "motion")
        check_callable(f"motion {name!r}: read", read, "file", "settings")
    MOTIONS.add(name, motion_type)


def type_of(motion):
    """The MotionType of a motion; TypeError if its class is not registered."""
    known = MOTIONS.get(getattr(motion, "name", None))
    if known is None or known.motion is not type(motion):
        raise ArgumentTypeError(f"motion: expected an instance of a registered class ({', '.join(MOTIONS)}), got {type(motion).__name__}")
    return known
