"""k-DOPs: boxes with corners and edges cut off, between k / 2 pairs of parallel planes (Klosowski et al. 1998).

    kdop6     the box itself                              kdop18   the box and the six directions of its edges, such as x − y
    kdop14    the box and its four diagonals, x ± y ± z   kdop26   all of these

The first six fields are a Box, the others slabs (`slabs.py`). So a formula is that of the box, one for the diagonals and one for the edges,
put together as a type needs. All slabs of an empty k-DOP are inverted, as those of the empty box.
"""
from typing import NamedTuple

from pliant.core.jit import helper
from pliant.core.simd import maximum, minimum
from pliant.volume.aabb import INF, Box
from pliant.volume.obb_sat import RotatedBox
from pliant.volume.protocol import (
    RigidTransform,
    Translation,
    VolumeType,
    blend,
    center,
    enclose_box,
    enclose_points,
    inflate,
    merge,
    min_half_extent,
    negate,
    overlap,
    ray_interval,
    register_volume_type,
    sat_cross_axes,
    separating_gap,
    separation,
    size,
    support_value,
    transform_volume,
)
from pliant.volume.slabs import (
    DIAGONALS,
    EDGES,
    ROOT_2,
    ROOT_3,
    blend_diagonals,
    blend_edges,
    diagonals_of_box,
    diagonals_of_points,
    diagonals_overlap,
    diagonals_separation,
    edges_of_box,
    edges_of_points,
    edges_overlap,
    edges_separation,
    merge_diagonals,
    merge_edges,
    min_half_extent_of_diagonals,
    min_half_extent_of_edges,
    negate_diagonals,
    negate_edges,
    shift_diagonals,
    shift_edges,
    sum_error,
    translate_diagonals,
    translate_edges,
)
from pliant.volume.sphere import Sphere

BOX = ["lox", "loy", "loz", "hix", "hiy", "hiz"]

KDop14 = NamedTuple("KDop14", [(name, float) for name in BOX + DIAGONALS])
KDop18 = NamedTuple("KDop18", [(name, float) for name in BOX + EDGES])
KDop26 = NamedTuple("KDop26", [(name, float) for name in BOX + DIAGONALS + EDGES])
KDOP_CLASSES = (KDop14, KDop18, KDop26)

register_volume_type(VolumeType("kdop6", Box, empty=Box(INF, INF, INF, -INF, -INF, -INF), merge_exact=True, from_box=True))
for _cls in KDOP_CLASSES:
    register_volume_type(VolumeType(_cls.__name__.lower(), _cls, empty=_cls(*(INF if name[:2] == "lo" else -INF for name in _cls._fields)),
                                    merge_exact=True))                  # margins (`sum_error`) grow with the box around the points


# --- parts -----------------------------------------------------------------------------------------------------------------------

@helper
def box_of(a):
    """The box that is the first part of a k-DOP."""
    return Box(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz)


@helper
def make_kdop14(a, d):
    """A box and the ends of its diagonals, as in `DIAGONALS`."""
    return KDop14(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7])


@helper
def make_kdop18(a, e):
    """A box and the ends along its edges, as in `EDGES`."""
    return KDop18(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz, e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11])


@helper
def make_kdop26(a, d, e):
    """A box and both."""
    return KDop26(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7],
                  e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11])


# --- one volume ------------------------------------------------------------------------------------------------------------------

@merge.register(KDop14)
def _(a):
    return make_kdop14(merge(box_of(a)), merge_diagonals(a))


@merge.register(KDop18)
def _(a):
    return make_kdop18(merge(box_of(a)), merge_edges(a))


@merge.register(KDop26)
def _(a):
    return make_kdop26(merge(box_of(a)), merge_diagonals(a), merge_edges(a))


@min_half_extent.register(KDop14)
def _(a):
    return minimum(min_half_extent(box_of(a)), min_half_extent_of_diagonals(a))


@min_half_extent.register(KDop18)
def _(a):
    return minimum(min_half_extent(box_of(a)), min_half_extent_of_edges(a))


@min_half_extent.register(KDop26)
def _(a):
    return minimum(min_half_extent(box_of(a)), minimum(min_half_extent_of_diagonals(a), min_half_extent_of_edges(a)))


@negate.register(KDop14)
def _(a):
    return make_kdop14(negate(box_of(a)), negate_diagonals(a))


@negate.register(KDop18)
def _(a):
    return make_kdop18(negate(box_of(a)), negate_edges(a))


@negate.register(KDop26)
def _(a):
    return make_kdop26(negate(box_of(a)), negate_diagonals(a), negate_edges(a))


@inflate.register(KDop14)
def _(a, distance):
    return make_kdop14(inflate(box_of(a), distance), shift_diagonals(a, -ROOT_3 * distance, ROOT_3 * distance))


@inflate.register(KDop18)
def _(a, distance):
    return make_kdop18(inflate(box_of(a), distance), shift_edges(a, -ROOT_2 * distance, ROOT_2 * distance))


@inflate.register(KDop26)
def _(a, distance):
    return make_kdop26(inflate(box_of(a), distance), shift_diagonals(a, -ROOT_3 * distance, ROOT_3 * distance),
                       shift_edges(a, -ROOT_2 * distance, ROOT_2 * distance))


@transform_volume.register(KDop14, Translation)
def _(a, transform):
    return make_kdop14(transform_volume(box_of(a), transform), translate_diagonals(a, transform))


@transform_volume.register(KDop18, Translation)
def _(a, transform):
    return make_kdop18(transform_volume(box_of(a), transform), translate_edges(a, transform))


@transform_volume.register(KDop26, Translation)
def _(a, transform):
    return make_kdop26(transform_volume(box_of(a), transform), translate_diagonals(a, transform), translate_edges(a, transform))


# --- around points -----------------------------------------------------------------------------------------------------------------

@enclose_box.register(KDop14)
def _(like, low, high):
    box = enclose_box(box_of(like), low, high)
    return make_kdop14(box, diagonals_of_box(box, sum_error(low, high)))


@enclose_box.register(KDop18)
def _(like, low, high):
    box = enclose_box(box_of(like), low, high)
    return make_kdop18(box, edges_of_box(box, sum_error(low, high)))


@enclose_box.register(KDop26)
def _(like, low, high):
    box, m = enclose_box(box_of(like), low, high), sum_error(low, high)
    return make_kdop26(box, diagonals_of_box(box, m), edges_of_box(box, m))


@enclose_points.register(KDop14)
def _(like, low, high, points, order, begin, end):
    return make_kdop14(enclose_box(box_of(like), low, high), diagonals_of_points(points, order, begin, end, sum_error(low, high)))


@enclose_points.register(KDop18)
def _(like, low, high, points, order, begin, end):
    return make_kdop18(enclose_box(box_of(like), low, high), edges_of_points(points, order, begin, end, sum_error(low, high)))


@enclose_points.register(KDop26)
def _(like, low, high, points, order, begin, end):
    m = sum_error(low, high)
    return make_kdop26(enclose_box(box_of(like), low, high), diagonals_of_points(points, order, begin, end, m),
                       edges_of_points(points, order, begin, end, m))


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@blend.register(KDop14, KDop14)
def _(a, b, s, t):
    return make_kdop14(blend(box_of(a), box_of(b), s, t), blend_diagonals(a, b, s, t))


@blend.register(KDop18, KDop18)
def _(a, b, s, t):
    return make_kdop18(blend(box_of(a), box_of(b), s, t), blend_edges(a, b, s, t))


@blend.register(KDop26, KDop26)
def _(a, b, s, t):
    return make_kdop26(blend(box_of(a), box_of(b), s, t), blend_diagonals(a, b, s, t), blend_edges(a, b, s, t))


# Two of them, or one and a box: by the directions that both have.
def _overlap_by_box(a, b):
    return overlap(box_of(a), box_of(b))


def _overlap_by_diagonals(a, b):
    return overlap(box_of(a), box_of(b)) & diagonals_overlap(a, b)


def _overlap_by_edges(a, b):
    return overlap(box_of(a), box_of(b)) & edges_overlap(a, b)


def _overlap_by_all(a, b):
    return overlap(box_of(a), box_of(b)) & diagonals_overlap(a, b) & edges_overlap(a, b)


def _separation_by_box(a, b):
    return separation(box_of(a), box_of(b))


def _separation_by_diagonals(a, b):
    return maximum(separation(box_of(a), box_of(b)), diagonals_separation(a, b))


def _separation_by_edges(a, b):
    return maximum(separation(box_of(a), box_of(b)), edges_separation(a, b))


def _separation_by_all(a, b):
    return maximum(separation(box_of(a), box_of(b)), maximum(diagonals_separation(a, b), edges_separation(a, b)))


for _a in (Box, *KDOP_CLASSES):
    for _b in (Box, *KDOP_CLASSES):
        if _a is not Box or _b is not Box:
            _shared_fields = set(_a._fields) & set(_b._fields)
            _directions = ("all" if _shared_fields >= {*DIAGONALS, *EDGES} else "diagonals" if _shared_fields >= {*DIAGONALS} else
                           "edges" if _shared_fields >= {*EDGES} else "box")
            overlap.register(_a, _b)({"all": _overlap_by_all, "diagonals": _overlap_by_diagonals, "edges": _overlap_by_edges,
                                      "box": _overlap_by_box}[_directions])
            separation.register(_a, _b)({"all": _separation_by_all, "diagonals": _separation_by_diagonals, "edges": _separation_by_edges,
                                         "box": _separation_by_box}[_directions])


# --- by the box alone --------------------------------------------------------------------------------------------------------------
# A ray has 1 / direction, so that its way along a diagonal would have to be worked out again; a k-DOP that is rotated is the rotated
# box around it.

def _size(a):
    return size(box_of(a))


def _ray_interval(a, ray):
    return ray_interval(box_of(a), ray)


def _center(a):
    return center(box_of(a))


def _support_value(a, x, y, z):
    return support_value(box_of(a), x, y, z)


def _separating_gap(a, b, x, y, z):
    return separating_gap(box_of(a), b, x, y, z)


def _transform_volume(a, transform):
    return transform_volume(box_of(a), transform)


def _overlap_first(a, b):
    return overlap(box_of(a), b)


def _overlap_second(a, b):
    return overlap(a, box_of(b))


def _sat_cross_axes(a, b):
    return sat_cross_axes(box_of(a), b)


def _separation_first(a, b):
    return separation(box_of(a), b)


def _separation_second(a, b):
    return separation(a, box_of(b))


for _cls in KDOP_CLASSES:
    size.register(_cls)(_size)
    ray_interval.register(_cls)(_ray_interval)
    center.register(_cls)(_center)
    support_value.register(_cls)(_support_value)
    separating_gap.register(_cls)(_separating_gap)
    transform_volume.register(_cls, RigidTransform)(_transform_volume)
    for _other in (RotatedBox, Sphere):
        overlap.register(_cls, _other)(_overlap_first)
        sat_cross_axes.register(_cls, _other)(_sat_cross_axes)
        separation.register(_cls, _other)(_separation_first)
    overlap.register(Sphere, _cls)(_overlap_second)
    separation.register(Sphere, _cls)(_separation_second)
