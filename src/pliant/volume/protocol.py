"""What one may ask of a volume, whatever its type; and the registry of bounding-volume types.

A volume is a NamedTuple of values: float32 scalars, vectors of W lanes, or NumPy rows. The functions below are written once a type,
as formulas, and run on all three. Volumes are rounded outward: loose, never short. The empty volume of a type (`VolumeType.empty`) fills
lanes that hold nothing; it meets nothing, and merging it changes nothing. It stays empty when it is inflated, transformed, negated or
blended by positive factors.

A type registers with

    register_volume_type(VolumeType("aabb", Box, empty=Box(...)))

and defines every function of `PROTOCOL` for its class; the tests in `tests/volume` demand all of them and check what they promise. Tests
of two volumes may be left out: those with other types, or with its own, follow from `center`, `support_value` and `separating_gap`
(`generic_overlap.py`).
"""
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.dispatch import generic
from pliant.core.jit import helper
from pliant.core.registry import Registry
from pliant.core.simd import fabs, maximum, minimum
from pliant.core.soa import record_class
from pliant.errors import ArgumentTypeError

ULP, MIN_NORMAL = np.float32(2.0**-23), np.float32(2.0**-126)
REL_ERROR = np.float32(2.0**-20)                                        # above the rounding of a sum of a few products
MAX_ULP_BOUND = np.float32(2.0**105)                                    # above ULP of any number, so that infinite ones stay what they are


class VolumeType(NamedTuple):
    """One kind of volume: its name in `Body(volume=…)`, its class, its empty value; does it lose by being merged from others, so that
    where a body keeps its shape every volume is worth a fit of its own? `merge_exact`: the volume around a set of points contains the merge
    of the volumes around its parts. Then a merged volume that has not changed is contained in all its ancestors, however those were made,
    and a partial refit may stop there (`refit/partial.py`). `from_box`: `enclose_points` reads nothing but the box of the points."""
    name: str
    volume: type
    empty: tuple
    loosened_by_merge: bool = False
    merge_exact: bool = False
    from_box: bool = False


def fields(names):
    """The fields of a NamedTuple of float32 values."""
    return [(name, float) for name in names.split()]


ROTATION = "r00 r01 r02 r10 r11 r12 r20 r21 r22"                        # fields of a rotation matrix, row by row

Translation = NamedTuple("Translation", fields("x y z margin"))
Translation.__doc__ = """From one body's origin to another's: add (x, y, z). `margin` exceeds every rounding error of that in a query."""

RigidTransform = NamedTuple("RigidTransform", fields(f"{ROTATION} x y z margin rotation_error"))
RigidTransform.__doc__ = """From one body's frame to another's: r · v + (x, y, z), r a rotation but for errors below `rotation_error` in
each entry. `margin` exceeds every rounding error of a transformed position in a query."""


class Ray(NamedTuple):
    """Origin, and 1 / direction (+inf where the direction is 0), and the interval [t_near, t_far] of parameters that count. `margin`:
    points of the ray are known but for so much along each axis."""
    x: float
    y: float
    z: float
    inv_x: float
    inv_y: float
    inv_z: float
    t_near: float
    t_far: float
    margin: float


VOLUME_TYPES: dict[str, VolumeType] = Registry("volume type")


def register_volume_type(volume_type):
    """Add a bounding-volume type."""
    if not isinstance(volume_type, VolumeType):
        raise ArgumentTypeError(f"volume type: expected a VolumeType, got {volume_type!r:.80}")
    cls, empty = volume_type.volume, volume_type.empty
    if not (isinstance(cls, type) and issubclass(cls, tuple) and getattr(cls, "_fields", ())):
        raise ArgumentTypeError(f"volume type {volume_type.name!r}: expected a NamedTuple class, got {cls!r:.80}")
    if not isinstance(empty, cls) or not all(isinstance(value, np.float32) for value in empty):
        raise ArgumentTypeError(f"volume type {volume_type.name!r}: empty must be a {cls.__name__} of numpy.float32, got {empty!r:.200}")
    record_class(cls)
    VOLUME_TYPES.add(volume_type.name, volume_type)


@cache
def check_protocol(volume_type):
    """Raise a TypeError if a function of the protocol has no body for this type. Called when a body is made, before any kernel."""
    a, like = volume_type.volume, volume_type.empty
    needed = [(function, (a,)) for function in UNARY]
    needed += [(transform_volume, (a, Translation)), (transform_volume, (a, RigidTransform)), (blend, (a, a))]
    missing = [f"{function.__name__}({', '.join(each.__name__ for each in classes)})" for function, classes in needed
               if not function.has_body(*classes)]
    if not missing:
        with np.errstate(all="ignore"):
            rotated = type(transform_volume(like, RigidTransform(*np.float32([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]))))
        missing = [f"{function.__name__}({rotated.__name__})" for function in (size, center, support_value, separating_gap)
                   if not function.has_body(rotated)]
    if missing:
        raise ArgumentTypeError(f"volume {volume_type.name!r}: the protocol needs {', '.join(missing)}")


@generic("a", "b")
def overlap(a, b):
    """Do the volumes a and b meet? Touching counts."""


@generic("a", "b")
def separation(a, b):
    """A lower bound of the squared distance between what a and b enclose; 0 if they meet. That of nothing is not below any number."""


@generic("a")
def ray_interval(a, ray):
    """(near, far): the part of the ray's interval that may lie in a; near > far: it misses."""


@generic("a")
def merge(a):
    """One volume around all lanes of a."""


@generic("a")
def inflate(a, distance):
    """The volume a, grown by a distance on every side."""


@generic("a", "transform")
def transform_volume(a, transform):
    """The volume a as seen from another body: a Translation gives a volume of the same type, a RigidTransform a rotated one."""


@generic("a", "b")
def sat_cross_axes(a, b):
    """Of the volumes a, which `overlap` would let through, those that a finer test separates from b, which was rotated."""


@generic("a", "b")
def blend(a, b, s, t):
    """A volume around s·p + t·q for every p in a and q in b; s, t >= 0."""


@generic("a")
def negate(a):
    """A volume around −p for every p in a, of the same type: blends with a negative factor are those of the negated volume."""


@generic("a")
def size(a):
    """How large a is, for choosing the one to descend into: any measure that grows with it; empty volumes have the least."""


@generic("a")
def min_half_extent(a):
    """Half of the least extent of a, or the radius where it has one: what is grown by as much has lost its shape. Of empty volumes −inf."""


@generic("a")
def center(a):
    """(x, y, z) of a point amid a; it may round."""


@generic("a")
def support_value(a, x, y, z):
    """How far a reaches from its center along n = (x, y, z), whatever the length of that: at least n · (p − center) for all p in a."""


@generic("a")
def separating_gap(a, b, x, y, z):
    """The widest gap between a and b along the directions in which a is flat; these have length 1 or a little less. (x, y, z): from the
    middle of a to that of b. Less than 0 if there is none."""


@generic("like")
def enclose_box(like, low, high):
    """The volume of like's type around the box from low to high (rows x y z · of float32 rounded to nearest)."""


@generic("like")
def enclose_points(like, low, high, points, order, begin, end):
    """The volume of like's type around the points (flat rows x y z ·) named by order[begin : end], whose box is low … high; at most as
    large as `enclose_box`."""


class TightestFit(NamedTuple):
    """As tightly as the type can: for volumes that stay as they are."""
    best: int = 0


class DefaultFit(NamedTuple):
    """As `enclose_points`."""
    default: int = 0


class RitterFit(NamedTuple):
    """Balls by Ritter's method."""
    ritter: int = 0


class ParentFit(NamedTuple):
    """With regard to the volume of the parent, which is `like`; that of the root is the type's empty value."""
    parent: int = 0


FIT_METHODS = {"best": TightestFit(), "plain": DefaultFit(), "ritter": RitterFit(), "parent": ParentFit()}


@generic("method", "like")
def fit(method, like, low, high, points, order, begin, end):
    """As `enclose_points`, by this method; where a type has nothing better that is `enclose_points` (`generic_overlap.py`)."""


UNARY = (ray_interval, merge, inflate, negate, size, min_half_extent, center, support_value, separating_gap, enclose_box, enclose_points)
PROTOCOL = (overlap, separation, transform_volume, sat_cross_axes, blend, *UNARY, fit)


@helper
def ulp_bound(a):
    """More than a unit in the last place of a, and less than two; finite, so that the ends of an empty volume stay what they are."""
    return minimum(fabs(a) * ULP, MAX_ULP_BOUND) + MIN_NORMAL


@helper
def round_down(a):
    """Below all that rounds to a: one to two units in the last place."""
    return a - ulp_bound(a)


@helper
def round_up(a):
    """Above all that rounds to a."""
    return a + ulp_bound(a)


@helper
def gap(a, b, x, y, z, nx, ny, nz):
    """How far a and b are apart along n, in units of |n|, at least; (x, y, z) is the way from the middle of a to that of b."""
    along = nx * x + (ny * y + nz * z)
    reach_ahead = support_value(a, nx, ny, nz) + support_value(b, -nx, -ny, -nz)
    reach_behind = support_value(a, -nx, -ny, -nz) + support_value(b, nx, ny, nz)
    error = (fabs(nx * x) + (fabs(ny * y) + fabs(nz * z))) * REL_ERROR
    return maximum(along - reach_ahead, -along - reach_behind) - error


@helper
def rotate(transform, x, y, z):
    """A direction in the frame that a transform leads to."""
    return (transform.r00 * x + (transform.r01 * y + transform.r02 * z), transform.r10 * x + (transform.r11 * y + transform.r12 * z),
            transform.r20 * x + (transform.r21 * y + transform.r22 * z))


@helper
def transform_point(transform, x, y, z):
    """A place as seen from there."""
    return (transform.r00 * x + (transform.r01 * y + (transform.r02 * z + transform.x)),
            transform.r10 * x + (transform.r11 * y + (transform.r12 * z + transform.y)),
            transform.r20 * x + (transform.r21 * y + (transform.r22 * z + transform.z)))
