"""k-DOPs: boxes with corners and edges cut off, between k / 2 pairs of parallel planes (Klosowski et al. 1998).

    kdop6     the box itself                              kdop18   the box and the six directions of its edges, such as x − y
    kdop14    the box and its four diagonals, x ± y ± z   kdop26   all of these

The first six fields are a Box, the others slabs (`slabs.py`). So a formula is that of the box, one for the diagonals and one for the edges,
put together as a family needs. All slabs of an empty k-DOP are inverted, as those of the empty box.
"""
from typing import NamedTuple

from pliant.core.jit import helper
from pliant.core.simd import greatest, least
from pliant.volume.aabb import INF, Box
from pliant.volume.obb_sat import TurnedBox
from pliant.volume.protocol import (
    Family,
    Shift,
    Turn,
    around,
    blend,
    carry,
    enclose,
    inflate,
    merge,
    middle,
    mirror,
    overlap,
    part,
    pierce,
    register,
    separation,
    size,
    skew,
    span,
    thickness,
)
from pliant.volume.slabs import (
    DIAGONALS,
    EDGES,
    ROOT_2,
    ROOT_3,
    diagonals_apart,
    diagonals_around,
    diagonals_blended,
    diagonals_carried,
    diagonals_meet,
    diagonals_merged,
    diagonals_mirrored,
    diagonals_moved,
    diagonals_of,
    diagonals_thickness,
    edges_apart,
    edges_around,
    edges_blended,
    edges_carried,
    edges_meet,
    edges_merged,
    edges_mirrored,
    edges_moved,
    edges_of,
    edges_thickness,
    wide,
)
from pliant.volume.sphere import Sphere

BOX = ["lox", "loy", "loz", "hix", "hiy", "hiz"]

KDop14 = NamedTuple("KDop14", [(name, float) for name in BOX + DIAGONALS])
KDop18 = NamedTuple("KDop18", [(name, float) for name in BOX + EDGES])
KDop26 = NamedTuple("KDop26", [(name, float) for name in BOX + DIAGONALS + EDGES])
KINDS = (KDop14, KDop18, KDop26)

register(Family("kdop6", Box, empty=Box(INF, INF, INF, -INF, -INF, -INF), merge_exact=True))
for _kind in KINDS:
    register(Family(_kind.__name__.lower(), _kind, empty=_kind(*(INF if name[:2] == "lo" else -INF for name in _kind._fields)),
                    merge_exact=True))                                  # margins (`slabs.wide`) grow with the box around the points


# --- parts -----------------------------------------------------------------------------------------------------------------------

@helper
def box_of(a):
    """The box that is the first part of a k-DOP."""
    return Box(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz)


@helper
def cut_corners(a, d):
    """A box and the ends of its diagonals, as in `DIAGONALS`."""
    return KDop14(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7])


@helper
def cut_edges(a, e):
    """A box and the ends along its edges, as in `EDGES`."""
    return KDop18(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz, e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11])


@helper
def cut_both(a, d, e):
    """A box and both."""
    return KDop26(a.lox, a.loy, a.loz, a.hix, a.hiy, a.hiz, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7],
                  e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11])


# --- one volume ------------------------------------------------------------------------------------------------------------------

@merge.on(KDop14)
def _(a):
    return cut_corners(merge(box_of(a)), diagonals_merged(a))


@merge.on(KDop18)
def _(a):
    return cut_edges(merge(box_of(a)), edges_merged(a))


@merge.on(KDop26)
def _(a):
    return cut_both(merge(box_of(a)), diagonals_merged(a), edges_merged(a))


@thickness.on(KDop14)
def _(a):
    return least(thickness(box_of(a)), diagonals_thickness(a))


@thickness.on(KDop18)
def _(a):
    return least(thickness(box_of(a)), edges_thickness(a))


@thickness.on(KDop26)
def _(a):
    return least(thickness(box_of(a)), least(diagonals_thickness(a), edges_thickness(a)))


@mirror.on(KDop14)
def _(a):
    return cut_corners(mirror(box_of(a)), diagonals_mirrored(a))


@mirror.on(KDop18)
def _(a):
    return cut_edges(mirror(box_of(a)), edges_mirrored(a))


@mirror.on(KDop26)
def _(a):
    return cut_both(mirror(box_of(a)), diagonals_mirrored(a), edges_mirrored(a))


@inflate.on(KDop14)
def _(a, distance):
    return cut_corners(inflate(box_of(a), distance), diagonals_moved(a, -ROOT_3 * distance, ROOT_3 * distance))


@inflate.on(KDop18)
def _(a, distance):
    return cut_edges(inflate(box_of(a), distance), edges_moved(a, -ROOT_2 * distance, ROOT_2 * distance))


@inflate.on(KDop26)
def _(a, distance):
    return cut_both(inflate(box_of(a), distance), diagonals_moved(a, -ROOT_3 * distance, ROOT_3 * distance),
                    edges_moved(a, -ROOT_2 * distance, ROOT_2 * distance))


@carry.on(KDop14, Shift)
def _(a, way):
    return cut_corners(carry(box_of(a), way), diagonals_carried(a, way))


@carry.on(KDop18, Shift)
def _(a, way):
    return cut_edges(carry(box_of(a), way), edges_carried(a, way))


@carry.on(KDop26, Shift)
def _(a, way):
    return cut_both(carry(box_of(a), way), diagonals_carried(a, way), edges_carried(a, way))


# --- around points -----------------------------------------------------------------------------------------------------------------

@around.on(KDop14)
def _(like, low, high):
    box = around(box_of(like), low, high)
    return cut_corners(box, diagonals_of(box, wide(low, high)))


@around.on(KDop18)
def _(like, low, high):
    box = around(box_of(like), low, high)
    return cut_edges(box, edges_of(box, wide(low, high)))


@around.on(KDop26)
def _(like, low, high):
    box, m = around(box_of(like), low, high), wide(low, high)
    return cut_both(box, diagonals_of(box, m), edges_of(box, m))


@enclose.on(KDop14)
def _(like, low, high, points, order, begin, end):
    return cut_corners(around(box_of(like), low, high), diagonals_around(points, order, begin, end, wide(low, high)))


@enclose.on(KDop18)
def _(like, low, high, points, order, begin, end):
    return cut_edges(around(box_of(like), low, high), edges_around(points, order, begin, end, wide(low, high)))


@enclose.on(KDop26)
def _(like, low, high, points, order, begin, end):
    m = wide(low, high)
    return cut_both(around(box_of(like), low, high), diagonals_around(points, order, begin, end, m),
                    edges_around(points, order, begin, end, m))


# --- two volumes -----------------------------------------------------------------------------------------------------------------

@blend.on(KDop14, KDop14)
def _(a, b, s, t):
    return cut_corners(blend(box_of(a), box_of(b), s, t), diagonals_blended(a, b, s, t))


@blend.on(KDop18, KDop18)
def _(a, b, s, t):
    return cut_edges(blend(box_of(a), box_of(b), s, t), edges_blended(a, b, s, t))


@blend.on(KDop26, KDop26)
def _(a, b, s, t):
    return cut_both(blend(box_of(a), box_of(b), s, t), diagonals_blended(a, b, s, t), edges_blended(a, b, s, t))


# Two of them, or one and a box: by the directions that both have.
def _overlap_by_box(a, b):
    return overlap(box_of(a), box_of(b))


def _overlap_by_diagonals(a, b):
    return overlap(box_of(a), box_of(b)) & diagonals_meet(a, b)


def _overlap_by_edges(a, b):
    return overlap(box_of(a), box_of(b)) & edges_meet(a, b)


def _overlap_by_all(a, b):
    return overlap(box_of(a), box_of(b)) & diagonals_meet(a, b) & edges_meet(a, b)


def _separation_by_box(a, b):
    return separation(box_of(a), box_of(b))


def _separation_by_diagonals(a, b):
    return greatest(separation(box_of(a), box_of(b)), diagonals_apart(a, b))


def _separation_by_edges(a, b):
    return greatest(separation(box_of(a), box_of(b)), edges_apart(a, b))


def _separation_by_all(a, b):
    return greatest(separation(box_of(a), box_of(b)), greatest(diagonals_apart(a, b), edges_apart(a, b)))


for _a in (Box, *KINDS):
    for _b in (Box, *KINDS):
        if _a is not Box or _b is not Box:
            _both = set(_a._fields) & set(_b._fields)
            _by = ("all" if _both >= {*DIAGONALS, *EDGES} else "diagonals" if _both >= {*DIAGONALS} else
                   "edges" if _both >= {*EDGES} else "box")
            overlap.on(_a, _b)({"all": _overlap_by_all, "diagonals": _overlap_by_diagonals, "edges": _overlap_by_edges,
                                "box": _overlap_by_box}[_by])
            separation.on(_a, _b)({"all": _separation_by_all, "diagonals": _separation_by_diagonals, "edges": _separation_by_edges,
                                   "box": _separation_by_box}[_by])


# --- by the box alone --------------------------------------------------------------------------------------------------------------
# A ray has 1 / direction, so that its way along a diagonal would have to be worked out again; a k-DOP that is turned is the turned box
# around it.

def _size(a):
    return size(box_of(a))


def _pierce(a, ray):
    return pierce(box_of(a), ray)


def _middle(a):
    return middle(box_of(a))


def _span(a, x, y, z):
    return span(box_of(a), x, y, z)


def _part(a, b, x, y, z):
    return part(box_of(a), b, x, y, z)


def _carry(a, way):
    return carry(box_of(a), way)


def _overlap_first(a, b):
    return overlap(box_of(a), b)


def _overlap_second(a, b):
    return overlap(a, box_of(b))


def _skew(a, b):
    return skew(box_of(a), b)


def _separation_first(a, b):
    return separation(box_of(a), b)


def _separation_second(a, b):
    return separation(a, box_of(b))


for _kind in KINDS:
    size.on(_kind)(_size)
    pierce.on(_kind)(_pierce)
    middle.on(_kind)(_middle)
    span.on(_kind)(_span)
    part.on(_kind)(_part)
    carry.on(_kind, Turn)(_carry)
    for _other in (TurnedBox, Sphere):
        overlap.on(_kind, _other)(_overlap_first)
        skew.on(_kind, _other)(_skew)
        separation.on(_kind, _other)(_separation_first)
    overlap.on(Sphere, _kind)(_overlap_second)
    separation.on(Sphere, _kind)(_separation_second)
