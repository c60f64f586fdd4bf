"""Procedural motion: a function computes all vertices from the input of an update. The base class for motions of other packages.

    class Twist(ProceduralMotion):
        name, kind, input_name = "twist", "twisting", "an angle in radians"

        def __init__(self, rest, angle=0.0):
            self.rest = validate.positions("rest", rest)
            super().__init__(angle)

        def check(self, angle):
            return validate.number("angle", angle)

        def positions(self, angle):
            ...
            return rows                                                 # (n, 3), as many in every update

    register_motion(MotionType("twist", Twist))
    body = pl.Body.from_motion(Twist(rest), faces)
    body.update(0.5)

Everything else is as for free bodies: origin, scale, ranges of the filters, two buffers, so that a refused update changes nothing.
"""
from typing import Any, NamedTuple

import numpy as np

from pliant.core import validate
from pliant.motion.free import Free


class Evaluated(NamedTuple):
    """The checked input of an update, and the vertices (n, 3) that it gives."""
    value: Any
    rows: np.ndarray


class ProceduralMotion(Free):
    """Vertices that `positions` computes. A subclass sets `name`, `kind` and `input_name`, defines `check` and `positions`, and keeps what
    these read in attributes, which are shared by copies and must not be written to. `value` is the checked input of the last update."""

    updates_single_vertices = False

    def __init__(self, value, origin=None):
        evaluated = self._evaluate(value)
        validate.check_finite("positions", evaluated.rows)
        super().__init__(evaluated.rows, None if origin is None else validate.point("origin", origin))
        self.value = evaluated.value

    def check(self, value):
        """The validated input of an update; raises ValueError or TypeError."""
        return value

    def positions(self, value):
        """(n, 3): all vertices for a validated input. Two threads may call it at once."""
        raise NotImplementedError

    def _evaluate(self, value, count=None):
        checked = self.check(value)
        return Evaluated(checked, validate.positions("positions", self.positions(checked), count, "as many as the body has vertices"))

    def validate_input(self, value):
        """The input of an update, validated, and its vertices."""
        return self._evaluate(value, self.count)

    def vertices_after(self, evaluated, some):
        """(n, 3): all vertices after this update; None for no update."""
        return super().vertices_after(None if evaluated is None else evaluated.rows, None)

    def bound_after(self, evaluated, some):
        """A bound on all coordinates after this update."""
        return super().bound_after(None if evaluated is None else evaluated.rows, None)

    def update(self, evaluated, copy=True):
        """Take the vertices of a validated input."""
        super().update(evaluated.rows)
        self.value = evaluated.value

    def copy(self):
        """Another motion in the same state, independent of this one."""
        motion = object.__new__(type(self))
        motion.__dict__.update(self.__dict__)
        Free.__init__(motion, self.vertices, self.given_origin)
        motion.value, motion.has_body = self.value, False
        return motion

    def restore(self):
        """After an interrupted update: the vertices of `value`, the old or the new one."""
        super().update(self.positions(self.value))
