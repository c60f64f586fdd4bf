"""How far volumes reach, nearly exactly: supports and distances in 80-bit floating point, beside the float32 that volumes are made of.

Numbers of a volume are float32 and points float64, so that sums of their products are right here to 2**-60 of themselves, while margins of
volumes are 2**-22 and more. `holds` of `siblings.py` decides in rational arithmetic where a sign is all that matters.

Every volume is a set of points, and its set is what is said in `siblings.INSIDE`: `constraints` has it as a list of directions and ends,
beside the radius; `support` has the point of the set that is farthest along a direction.
"""

import numpy as np

from siblings import SIGNS

LONG = np.longdouble
NOTHING = 2.0**-56                                                      # of a unit: what rounds in 80 bits
AXES = {"slabcutball": (("nx", "f", "e"),), "double_slabcutball": (("nx", "f", "e"), ("mx", "g", "h"))}


def long(values):
    return np.asarray(values, LONG)


def kind(v):
    """Which formulas are those of this volume?"""
    names = v._fields
    known = {"lox": "planes", "vx": "rss", "r00": "obb", "mx": "double_slabcutball", "nx": "slabcutball", "radius": "sphere"}
    return next((kind for field, kind in known.items() if field in names), None) or unknown(v)


def unknown(v):
    raise TypeError(f"{type(v).__name__}: add its formulas to kind, constraints, rooms, support and margin_around in tests/extents.py")


def middle_of(v):
    return long([(v.lox + v.hix) / 2, (v.loy + v.hiy) / 2, (v.loz + v.hiz) / 2] if hasattr(v, "lox") else v[:3])


def vector(v, name):
    """Three fields, from the one with this name on."""
    at = v._fields.index(name)
    return long(v[at:at + 3])


def planes_of(v):
    """[(direction, end)] of a box or a k-DOP: direction · p <= end."""
    found = []
    for name, end in zip(v._fields, v, strict=True):
        way = long(SIGNS.get(name[2:]) or tuple("mop".index(letter) - 1 for letter in name[2:]))
        found.append((-way, -LONG(end)) if name[:2] == "lo" else (way, LONG(end)))
    return found


def constraints(v):
    """[(direction, end)]: direction · (p − middle) <= end for all p in v, but for its radius; of boxes and k-DOPs from 0."""
    what = kind(v)
    if what == "planes":
        return planes_of(v)
    if what == "obb":
        found = [(vector(v, f"r{k}0"), LONG(v[3 + k])) for k in range(3)]
        return found + [(-way, end) for way, end in found]
    found = []
    for normal, low, high in AXES.get(what, ()):
        found += [(-vector(v, normal), -LONG(getattr(v, low))), (vector(v, normal), LONG(getattr(v, high)))]
    return found


def from_of(v):
    """Where constraints are from."""
    return long([0, 0, 0]) if kind(v) == "planes" else middle_of(v)


def rectangle(v, d):
    """The point of the rectangle of a swept one nearest to d, both from its middle; but for the square of what axes are off."""
    u, w = vector(v, "ux"), vector(v, "vx")
    s, t = np.clip(d @ u, -LONG(v.a), LONG(v.a)), np.clip(d @ w, -LONG(v.b), LONG(v.b))
    return np.multiply.outer(s, u) + np.multiply.outer(t, w)


def rooms(v, points):
    """(constraints, points): how far points (n, 3) are inside; negative outside. The radius, if there is one, comes last."""
    d = long(points) - from_of(v)
    found = [end - d @ way for way, end in constraints(v)]
    if kind(v) == "rss":
        found.append(LONG(v.radius) - np.sqrt(((d - rectangle(v, d)) ** 2).sum(axis=-1)))
    elif hasattr(v, "radius"):
        found.append(LONG(v.radius) - np.sqrt((d**2).sum(axis=-1)))
    return long(found)


def unit(way):
    length = np.sqrt((way**2).sum())
    return way / length if length > 0 else long([1, 0, 0])


def in_cap(radius, normal, low, high, way):
    """The point of the ball around 0 between low and high along the normal that is farthest along a unit way."""
    n = unit(normal)
    low, high = low / np.sqrt((normal**2).sum()), high / np.sqrt((normal**2).sum())
    z = np.clip(radius * (n @ way), max(low, -radius), min(high, radius))
    beside = way - (way @ n) * n
    size = np.sqrt((beside**2).sum())
    return z * n + (beside / size * np.sqrt(max((radius - z) * (radius + z), LONG(0))) if size > NOTHING else 0)


def support(v, way):
    """A point of v that is as far along a direction as it reaches: of k-DOPs of the box, cut by nothing; of balls with two slabs one that
    is in both, which need not be the farthest."""
    way, what, c = unit(long(way)), kind(v), middle_of(v)
    if what == "planes":
        return np.where(way > 0, long([v.hix, v.hiy, v.hiz]), long([v.lox, v.loy, v.loz]))
    if what == "obb":
        back = inverse(np.stack([vector(v, f"r{k}0") for k in range(3)]))
        return c + back @ (np.where(way @ back > 0, 1, -1) * long(v[3:6]))
    if what == "rss":
        u, w = vector(v, "ux"), vector(v, "vx")
        return c + np.sign(way @ u) * LONG(v.a) * u + np.sign(way @ w) * LONG(v.b) * w + LONG(v.radius) * way
    if what == "sphere":
        return c + LONG(v.radius) * way
    point = in_cap(LONG(v.radius), vector(v, "nx"), LONG(v.f), LONG(v.e), way)
    if what == "double_slabcutball":                                    # back between the other planes, along them
        m = vector(v, "mx")
        over = max(point @ m - LONG(v.h), LONG(0)) - max(LONG(v.g) - point @ m, LONG(0))
        point = point - over / (m @ m) * m
    return c + point


def inverse(m):
    """Of a matrix (3, 3) in 80 bits."""
    rows = np.stack([np.cross(m[1], m[2]), np.cross(m[2], m[0]), np.cross(m[0], m[1])], axis=1)
    return rows / (m[0] @ rows[:, 0])


def moved_to(v, shift):
    """The volume, moved by exactly this: of 80-bit numbers."""
    shift = long(shift)
    if kind(v) == "planes":
        ways = [SIGNS.get(name[2:]) or tuple("mop".index(letter) - 1 for letter in name[2:]) for name in v._fields]
        return type(v)(*(LONG(end) + long(way) @ shift for way, end in zip(ways, v, strict=True)))
    return type(v)(*(long(v[:3]) + shift), *v[3:])


def margin_around(v, inner):
    """How much room is left around the set `inner`, a volume of the same type, in the volume v, at least: by every constraint of v."""
    what, start = kind(v), from_of(v)
    if what == "planes":
        away = long(v) - long(inner)
        return np.where([name[:2] == "lo" for name in v._fields], -away, away).min()
    found = []
    for way, end in constraints(v):
        far = support_along(inner, way) - start @ way
        found.append(end - far)
    if what == "rss":
        u, w, c = vector(inner, "ux"), vector(inner, "vx"), middle_of(inner)
        for s in (-1, 1):
            for t in (-1, 1):
                d = c + s * LONG(inner.a) * u + t * LONG(inner.b) * w - start
                found.append(LONG(v.radius) - LONG(inner.radius) - np.sqrt(((d - rectangle(v, d)) ** 2).sum()))
    elif hasattr(v, "radius"):
        found.append(LONG(v.radius) - LONG(inner.radius) - np.sqrt(((middle_of(inner) - start) ** 2).sum()))
    return min(found)


def support_along(v, way):
    """max way · p over p in v, whatever the length of the way; of balls with two slabs by the better of the two, which is no less."""
    if kind(v) != "double_slabcutball":
        return way @ support(v, way)
    length, n = np.sqrt((way**2).sum()), unit(way)
    caps = [in_cap(LONG(v.radius), vector(v, name), LONG(getattr(v, low)), LONG(getattr(v, high)), n) @ n
            for name, low, high in AXES["double_slabcutball"]]
    return way @ middle_of(v) + length * min(caps)
