"""Volumes of every type, attacked: they hold the float64 points that they were made around, whatever is done to them afterwards.

`error` is how much of its margin a volume has used up where it is nearest to being short: margin − room, where room is what is left
around the points, or around the sets that it must hold. Where a file has no margin of its own, NEARLY of all magnitudes stands for it.
A volume that is short anywhere has an error above its bound; points that are outside in rational arithmetic, an infinite one.
"""

from functools import cache
from math import inf

import numpy as np

from attack import bound, families
from extents import LONG, constraints, from_of, kind, long, margin_around, moved_to, rooms, support, support_along
from pliant.core.soa import load_bounds
from pliant.query.traverse import TRANSLATION_ERROR
from pliant.volume.obb import AXIS_ERROR
from pliant.volume.protocol import FIT_METHODS, MIN_NORMAL, REL_ERROR, ULP, VOLUME_TYPES, center, fit, support_value
from pliant.volume.quantized import RADIUS_ERROR, pack, unpack
from pliant.volume.sphere import MIN_RADIUS
from siblings import INSIDE, VOLUMES, Siblings, exact, set_fitted
from simd_formulas import set_blended, set_carried, set_inflated, set_merged

N = 8                                                                   # points of a volume
SIZES = 2.0 ** np.arange(-20, 25, 4)                                    # of bodies; those that are smaller or larger have a scale
FILES = {"aabb": "aabb", "kdop14": "slabs", "kdop18": "slabs", "kdop26": "slabs"}
SHARE = LONG(float(REL_ERROR))


def file_of(name):
    return f"volume/{FILES.get(name, name)}.py"


@cache
def records(name):
    return Siblings(VOLUME_TYPES[name], 8, np.random.default_rng(1), records=8)


def rows_of(points):
    with np.errstate(all="ignore"):
        return np.column_stack([points, np.zeros(len(points))]).astype(np.float32)


def put(name, i, k, points, how="plain"):
    """Lane k of record i becomes a volume around these points; that, and the box of their float32 rows."""
    made, rows = records(name), rows_of(points)
    box = np.concatenate([rows.min(0), rows.max(0)])
    set_fitted(FIT_METHODS[how], made.nodes, i, k, box, rows.reshape(-1), np.arange(len(rows), dtype=np.int32))
    return made.volume(i, k), box


def empty(name, i):
    """Record i holds nothing."""
    volume_type = VOLUME_TYPES[name]
    for field, value in zip(volume_type.volume._fields, volume_type.empty, strict=True):
        records(name).nodes["lanes"][field][i] = records(name).nodes["bounds"][field][i] = value


def reach_of(points):
    return np.abs(points).max()


def margins(v, box):
    """What the files allow for, by constraint of `extents.rooms`."""
    size = np.maximum(np.abs(long(box[:3])), np.abs(long(box[4:7]))).sum()
    m = size * 3 * LONG(float(ULP)) + LONG(float(MIN_NORMAL))
    what, radius = kind(v), LONG(getattr(v, "radius", 0))
    if what == "planes":
        return [abs(LONG(end)) * LONG(float(ULP)) + LONG(float(MIN_NORMAL)) if len(name) == 3 else m
                for name, end in zip(v._fields, v, strict=True)]
    if what == "obb":
        return [m + 2 * long(v[3:6]).sum() * 2 * LONG(float(AXIS_ERROR))] * 6
    if what == "rss":
        return [radius * SHARE + 2 * m + (LONG(v.a) + LONG(v.b) + radius) * 4 * LONG(float(AXIS_ERROR)) + LONG(float(MIN_RADIUS))]
    return [m] * len(constraints(v)) + [radius * SHARE + size * LONG(float(ULP)) + LONG(float(MIN_RADIUS))]


def used(room, margin):
    """(error, bound) of the least room."""
    return max(float(margin - room), 0.0), float(margin)


def tightest(v, points, more=0.0):
    """(error, bound) of points (n, 3) of 80 bits in v: of each end a unit in the last place is the bound, of a radius NEARLY of it; and,
    but for boxes and k-DOPs, NEARLY of what is said."""
    room, ulp, tiny = rooms(v, points).min(axis=1), LONG(float(ULP)), LONG(float(MIN_NORMAL))
    units = [abs(end) * ulp + tiny for _, end in constraints(v)]
    if kind(v) != "planes":
        units = [unit + LONG(more) * SHARE for unit in units]
    if hasattr(v, "radius"):
        units.append(LONG(v.radius) * SHARE + LONG(float(MIN_RADIUS)))
    at = np.argmin(room / long(units))
    return used(room[at], units[at])


def size_of(v):
    """What shares of a volume are of: the radius, or the sides."""
    return {"planes": LONG(v[3]) - LONG(v[0]), "obb": long(v[3:6]).sum()}.get(kind(v)) or LONG(v.radius) + LONG(getattr(v, "a", 0))


def around_all(v, children):
    """(error, bound) of volumes in v. Ends of boxes and k-DOPs are taken as they are: no room is enough."""
    room = min(margin_around(v, child) for child in children)
    if kind(v) == "planes":
        return (0.0 if room >= 0 else inf), 1.0
    return used(room, size_of(v) * SHARE + LONG(float(MIN_RADIUS)))


def worst(name, v, points, margin):
    """(error, bound) of the point and constraint with the least room; exactly, where that is close."""
    room = rooms(v, points)
    share = room / long(margin)[:, None]
    at, point = np.unravel_index(np.argmin(share), share.shape)
    if not INSIDE[name](v, exact(points[point].tolist())):
        return inf, 1.0
    return used(room[at, point], margin[at])


def sane(points, most=2.0**34):
    return reach_of(points) <= most


def slivers(rng, n):
    """Thin, flat, long or at one place; turned, and far from 0."""
    points = rng.standard_normal((n, 3)) * rng.choice([1.0, 1e-3, 1e-7, 0.0], 3)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return points @ turn.T + rng.standard_normal(3) * rng.choice([0.0, 1.0, 1e3, 1e6])


def starts(n):
    found = families((n, 3), np.float64, SIZES)
    found["slivers"] = lambda rng: slivers(rng, n) * rng.choice(SIZES)
    found["mixed"] = lambda rng: slivers(rng, n) * 2.0 ** rng.integers(-40, 10, (n, 1))
    found["ulps apart"] = lambda rng: np.float64(np.float32(rng.standard_normal(3) * rng.choice(SIZES)) * np.float32(
        1 + rng.integers(-2, 3, (n, 3)) * 2.0**-23)) * (1 + rng.integers(-1, 2, (n, 3)) * 2.0**-24)
    return found


# --- around points ---------------------------------------------------------------------------------------------------------------------

def attack_fit(name, how):
    @bound(f"{name}: fit {how}", file_of(name), ("enclose_points", "fit", "enclose_box"), starts(N), 1000)
    def _(points):
        if not sane(points):
            return None
        v, box = put(name, 1, 0, points, how)
        return worst(name, v, points, margins(v, box))


def attack_around(name):
    @bound(f"{name}: around a box", file_of(name), ("enclose_box",), starts(2), 1000)
    def _(points):
        if not sane(points):
            return None
        made = records(name)
        rows = made.put(1, 0, points)
        v = made.volume(1, 0)
        corners = np.array([[points[x, 0], points[y, 1], points[z, 2]] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        return worst(name, v, corners, margins(v, np.concatenate([rows.min(0), rows.max(0)])))


def farthest(v, points, way):
    """A point of v that is far along a direction: the farthest, but of k-DOPs, whose corners are cut off, and of balls with two slabs one
    of the points inside."""
    if (len(v) > 6 and kind(v) == "planes") or kind(v) == "double_slabcutball":
        return long(points[np.argmax(long(points) @ way)])
    return support(v, way)


# --- from other volumes ----------------------------------------------------------------------------------------------------------------

def parents(name, points, i):
    """Record i: volumes around three points each. They."""
    empty(name, i)
    return [put(name, i, k, points[3 * k:3 * k + 3][[0, 1, 2, 2]])[0] for k in range(len(points) // 3)]


def attack_merge(name):
    @bound(f"{name}: merge", file_of(name), ("merge",), starts(12), 500)
    def _(points):
        if not sane(points):
            return None
        children = parents(name, points, 2)
        made = records(name)
        set_merged(made.nodes, 2)
        v = load_bounds(made.nodes, 2)
        if not all(INSIDE[name](v, exact(p)) for p in points.tolist()):
            return inf, 1.0
        return around_all(v, children)


def attack_merged_twice(name):
    @bound(f"{name}: merge of merged ones", file_of(name), ("merge",), starts(24), 250)
    def _(points):
        if not sane(points):
            return None
        made, children = records(name), []
        empty(name, 3)
        for k in range(4):
            parents(name, points[6 * k:6 * k + 6], 2)
            set_merged(made.nodes, 2)
            children.append(load_bounds(made.nodes, 2))
            for field in made.volume_type.volume._fields:
                made.nodes["lanes"][field][3, k] = made.nodes["bounds"][field][2]
        set_merged(made.nodes, 3)
        v = load_bounds(made.nodes, 3)
        if not all(INSIDE[name](v, exact(p)) for p in points.tolist()):
            return inf, 1.0
        return around_all(v, children)


def attack_inflate(name):
    @bound(f"{name}: inflate", file_of(name), ("inflate",), starts(N + 2), 1000)
    def _(points):
        distance = np.float32(abs(points[0, 0]))
        way, points = long(points[1]), points[2:]
        if not sane(points) or not 0 < distance < 2.0**34 or not np.abs(way).max() > 0:
            return None
        v, _ = put(name, 1, 0, points)
        made = records(name)
        set_inflated(made.nodes, 3, 1, distance)
        grown = made.volume(3, 0)
        ways = [way, *(n for n, _ in constraints(grown))]
        moved = [farthest(v, points, n) + LONG(float(distance)) * n / np.sqrt((n**2).sum()) for n in ways]
        return tightest(grown, moved, distance)


def attack_carry(name):
    @bound(f"{name}: carry by a shift", file_of(name), ("transform_volume",), starts(12 + 1), 400)
    def _(points):
        shift, points = points[0], points[1:]
        if not sane(points) or not sane(shift):
            return None
        parents(name, points, 2)
        made = records(name)
        set_merged(made.nodes, 2)
        v = load_bounds(made.nodes, 2)
        for field in made.volume_type.volume._fields:                        # lanes may be merged ones
            made.nodes["lanes"][field][2, 0] = getattr(v, field)
        rounding = (reach_of(points) + reach_of(shift)) * TRANSLATION_ERROR
        set_carried(made.nodes, 3, 2, *np.float32([*shift, rounding]))
        return used(min(margin_around(made.volume(3, k), moved_to(made.volume(2, k), shift)) for k in range(4)), LONG(rounding))


def attack_blend(name):
    @bound(f"{name}: blend", file_of(name), ("blend",), starts(2 * 4 + 1), 1000)
    def _(points):
        s, t = np.float32(np.abs(points[0, :2]))
        if not sane(points[1:]) or not (s < 2.0**10 and t < 2.0**10):
            return None
        a, b = put(name, 1, 0, points[1:5])[0], put(name, 2, 0, points[5:])[0]
        made = records(name)
        set_blended(made.nodes, 3, 1, 2, s, t)
        v, s, t = made.volume(3, 0), LONG(s), LONG(t)
        ways = [long(points[0]), *(n for n, _ in constraints(v))]
        sums = [s * farthest(a, points[1:5], n) + t * farthest(b, points[5:], n) for n in ways]
        return tightest(v, sums, getattr(v, "radius", 0))


def attack_span(name):
    @bound(f"{name}: span", file_of(name), ("support_value", "center"), starts(12 + 1), 1000)
    def _(points):
        way, points = np.float32(points[0]), points[1:]
        if not sane(points) or not 2.0**-20 < np.abs(way).max() < 2.0**20:
            return None
        parents(name, points, 2)
        made = records(name)
        set_merged(made.nodes, 2)
        v = load_bounds(made.nodes, 2)
        with np.errstate(all="ignore"):
            given, amid = support_value(v, *way), long(center(v))
        reaches = support_along(v, long(way)) - long(way) @ amid
        return used(LONG(given) - reaches, abs(reaches) * SHARE + LONG(float(MIN_RADIUS)) * np.sqrt((long(way) ** 2).sum()))


for _name in VOLUMES:
    for _how in FIT_METHODS:
        if fit.has_body(type(FIT_METHODS[_how]), VOLUME_TYPES[_name].volume):
            attack_fit(_name, _how)
    attack_around(_name)
    attack_merge(_name)
    attack_merged_twice(_name)
    attack_inflate(_name)
    attack_carry(_name)
    attack_blend(_name)
    attack_span(_name)


@bound("slabcutball: 26 bytes", "volume/quantized.py", ("pack", "unpack"), starts(N + 1), 1500)
def _(points):
    turn, points = points[0], points[1:]
    if not sane(points) or not 0 < np.abs(turn).max() < 2.0**20:
        return None
    v, _ = put("slabcutball", 1, 0, points)
    if abs(turn[0]) > abs(turn[1]):                                     # any slab, not only those around points
        normal = np.float32(turn / np.linalg.norm(turn))
        ends = np.sort(np.float32(np.clip(turn[1:] / np.abs(turn).max(), -1, 1))) * v.radius
        v = v._replace(nx=normal[0], ny=normal[1], nz=normal[2], f=ends[0], e=ends[1])
    found = unpack(pack(v))
    small = type(v)(*(np.float32(x) for x in found))
    room = min(end - support_along(v, way) + from_of(v) @ way for way, end in constraints(small))
    return used(room, LONG(v.radius) * LONG(RADIUS_ERROR)) if small[:4] == v[:4] else (inf, 1.0)
