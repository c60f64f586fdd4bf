"""A motion: a body is twisted around the z axis, by an angle in radians per unit of length."""
import numpy as np

from pliant.core import validate
from pliant.motion.motion import MotionFile, MotionType, register_motion
from pliant.motion.procedural import ProceduralMotion


class Twist(ProceduralMotion):
    """Vertices (n, 3) at rest, each rotated around the z axis by angle · z."""

    name, kind, input_name = "twist", "twisting", "an angle"

    def __init__(self, rest, angle=0.0, origin=None):
        self.rest = validate.positions("rest", rest).copy()
        super().__init__(angle, origin)

    def check(self, value):
        """The angle of an update, validated."""
        return validate.number("angle", value)

    def positions(self, value):
        """(n, 3): the vertices at that angle."""
        x, y, z = self.rest.T
        cosine, sine = np.cos(value * z), np.sin(value * z)
        return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)


def write(motion):
    """What a file holds of the motion."""
    return MotionFile(motion.rest[None], np.array([motion.value]))


def read(file, settings):
    """The motion of a file, whose content may be anything."""
    if len(file.shapes) != 1 or len(file.values) != 1:
        raise ValueError("shapes: expected one, and one value, the angle")
    return Twist(file.shapes[0], file.values[0], file.origin)


register_motion(MotionType("twist", Twist, write, read))
