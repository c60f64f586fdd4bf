"""One tree, many points: which face is nearest to each? Branch and bound, nearest first, a point at a time.

Points come in an order that keeps neighbours together (`order_of`), so the surface is no farther than the nearest point of the one before:
most of the tree is dropped at once, and what is left lies in the caches. Volumes and triangles are looked at in float32, by bounds
(`geometry/point_bounds.py`); what these leave over is measured in float64, in the world (`geometry/point_triangle.py`), when nothing nearer is left.

Errors. A point is brought into the frame of the body, relative to its origin and times its scale. A coordinate is off by `slack`, and
a corner by E of the body's reach: `base` is four times the sum. Lengths in float32 are off by ROUNDING of themselves; those whose squares
are subnormal, below 2**-62, by as much as they are, and a direction that is divided by such a length may be too long: LEAST is above that.

Overflow. Bounds of triangles are products of two distances from the point and two sides of a leaf, 36 (D S)² (`geometry/point_bounds.py`), and
must stay below 2**126. D <= size + R and S <= 2 R, where the point is at most `size` from the origin along each axis, and R is the reach,
both times the scale: so (size + R) R < MOST_PRODUCT. Beyond, the point is blind: it is measured against every face.
"""
import numpy as np

from pliant.core.function_pointer import invoke
from pliant.core.jit import helper, kernel
from pliant.core.simd import bits, element, first, least, lowest, ones
from pliant.core.soa import lanes, packed, whole
from pliant.core.sort_keys import keyed, name_of, number_of
from pliant.core.stack import floats, integers, singles
from pliant.geometry.distance_bounds import ROUNDING, ZERO, nearest_along
from pliant.geometry.point_bounds import INF, bound_points
from pliant.geometry.point_triangle import DISTANCE, NEAREST, POINT, WEIGHTS
from pliant.geometry.predicates import point_fits
from pliant.motion.rigid import placed
from pliant.query.traverse import COUNTERS, fetch, freshen, freshen_leaf
from pliant.volume.aabb import WIDER, Box
from pliant.volume.protocol import TINY, separation

SHORT = 1 - 2.0**-40                                                    # of a distance: more than what rounds in float64
SHORTEST = np.float32(2.0**-100)                                        # of a squared way
E, FOUR, HALF = 2.0**-23, 4.0, np.float32(0.5)                          # of a coordinate in float32, twice; see above
FEW = 64                                                                # candidates of a point; its stack is as in query/ray/single.py
LARGEST, LEAST = 3e38, 2.0**-48                                         # in float32; of `base`
FARTHEST, MOST_PRODUCT = 2.0**60, 2.0**59                               # of a point that is not blind: squares and products are finite
CELLS = 1 << 10                                                         # of an axis, for the order of points

# One body and the points that ask about it: how it makes things true, its number, is it placed, the address of the exact test; the way of
# model space to the world and back; by how much lengths in its frame exceed those in the world; what is uncertain of a place; counters.
ASKED = packed([(name, np.dtype(np.int64)) for name in ("frame", "entry", "fill", "context", "number", "placed", "exact", *COUNTERS)]
               + [(name, np.dtype(np.float64)) for name in ("scale", "reach", "stretch", "doubt")]
               + [(name, np.dtype((np.float64, (n,)))) for name, n in (("origin", 4), ("m", 12), ("back", 12), ("box", 8))])


@helper
def radius_of(distance, asked):
    """A distance in the world, times the scale, as a length in the frame of the body, in float32, not less."""
    return np.float32(min(distance * asked["stretch"], LARGEST)) * WIDER + TINY


@helper
def outside(box, x, y, z):
    """How far a point is from a box (8,) in the world, at least; less than a distance measured to what is in it, whatever rounds."""
    p, q, r = max(box[0] - x, max(x - box[4], 0.0)), max(box[1] - y, max(y - box[5], 0.0)), max(box[2] - z, max(z - box[6], 0.0))
    return max(p, max(q, r)) * SHORT


@helper
def put_triangle(leaves, leaf, k, flat, asked, t):
    """The corners of triangle k of a leaf, in the world, at t[0 : 9]; are they and the point in the range of the filters?"""
    m, plain = asked["m"], point_fits(t, POINT)
    for c in range(3):
        v, at = 3 * np.int64(leaves[leaf]["corner"][c, k]), 3 * c
        x, y, z = flat[v], flat[v + 1], flat[v + 2]
        if asked["placed"] != 0:
            x, y, z = placed(m, 0, x, y, z), placed(m, 1, x, y, z), placed(m, 2, x, y, z)
        t[at], t[at + 1], t[at + 2] = x, y, z
        plain &= point_fits(t, at)
    return np.int64(plain)


@helper
def settle(leaves, name, flat, asked, t, r, answers):
    """Measure the point at t[POINT] against triangle name & 7 of leaf name >> 3; take it if it is nearer than what point r has."""
    leaf, k = name >> 3, name & 7
    invoke(asked["exact"], t, put_triangle(leaves, leaf, k, flat, asked, t))
    far, face, number = t[DISTANCE], np.int64(leaves[leaf]["face"][k]), asked["number"]
    best = answers.distance[r]
    same = far == best and (number < answers.body[r] or answers.body[r] < 0 or (number == answers.body[r] and face < answers.face[r]))
    if far < best or same:
        answers.distance[r], answers.face[r], answers.body[r] = far, face, number
        for i in range(3):
            answers.points[3 * r + i] = t[NEAREST + i]
        answers.uv[2 * r], answers.uv[2 * r + 1] = t[WEIGHTS], t[WEIGHTS + 1]


@helper
def ahead(box, triangles, x, y, z):
    """(How far it is from a point to the first corner of a leaf along the way w to the middle of its box, times |w|; |w|².)"""
    p, q, r = (box.lox + box.hix) * HALF - x, (box.loy + box.hiy) * HALF - y, (box.loz + box.hiz) * HALF - z
    return lowest(nearest_along(triangles, p, q, r)) - (p * x + (q * y + r * z)), p * p + (q * q + r * r)


@helper
def comes_near(box, triangles, x, y, z, limit):
    """May a leaf be nearer to a point than the square root of the limit? Along the way w to the middle of its box, how far is it to its
    first corner? In units of |w|, and squared: no roots. A leaf is nearly flat, which its box is not: of those that are near enough by
    their boxes this leaves one of seven.

    Errors, with e = 2**-24, in units of |w|: the sum of three products is off by less than 3 e of Σ |w_k c_k| <= |w| |c|, for a corner c
    5.2 e of the reach, for the point 5.2 e of its size; corners and the point themselves by 1.8 e of the same; the limit allows for
    16 e (`base`, twice). Where |w|² is so small that it has lost digits, nothing is said; where other squares have, TINY is enough."""
    far, length = ahead(box, triangles, x, y, z)
    return not (far > ZERO and far * far > limit * length * WIDER + TINY and length > SHORTEST)


@kernel
def seek(nodes, leaves, flat, body, points, order, begin, end, answers):
    """What is nearest in one body to the points order[begin : end], unless something nearer is known."""
    asked = body[0]
    frame, entry, fill, context = asked["frame"], asked["entry"], asked["fill"], asked["context"]
    origin, back, scale = asked["origin"], asked["back"], asked["scale"]
    t, stack, names, leasts = floats(20), integers(912), integers(64), singles(64)
    n_v, n_p, n_u, n_x = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    known, last_x, last_y, last_z = False, 0.0, 0.0, 0.0                 # a point of the surface, but for the rounding of its coordinates
    for at in range(begin, end):
        r = order[at]
        x, y, z = points[3 * r], points[3 * r + 1], points[3 * r + 2]
        if not abs(x) + abs(y) + abs(z) < np.inf or outside(asked["box"], x, y, z) > answers.distance[r]:
            continue
        t[POINT], t[POINT + 1], t[POINT + 2] = x, y, z
        radius = radius_of(answers.distance[r] * scale, asked)
        if known:
            p, q, o = (x - last_x) * scale, (y - last_y) * scale, (z - last_z) * scale
            rounding = 2 * asked["doubt"] + (abs(last_x) + abs(last_y) + abs(last_z)) * 2.0**-50
            radius = min(radius, radius_of(np.sqrt(p * p + q * q + o * o) * (1 + 2.0**-40) + rounding * scale, asked))
        if asked["placed"] != 0:
            x, y, z = x - back[3], y - back[7], z - back[11]
            x, y, z = (back[0] * x + (back[1] * y + back[2] * z), back[4] * x + (back[5] * y + back[6] * z),
                       back[8] * x + (back[9] * y + back[10] * z))
        x, y, z = (x - origin[0]) * scale, (y - origin[1]) * scale, (z - origin[2]) * scale
        size = max(abs(x), max(abs(y), abs(z)))
        far_out = asked["reach"] * scale
        blind = not (size < FARTHEST and (size + far_out) * far_out < MOST_PRODUCT)
        slack = np.float32(min(E * size + asked["doubt"] * scale, LARGEST))
        base = np.float32(min(FOUR * (slack + E * far_out) + LEAST, LARGEST))
        px, py, pz = np.float32(x), np.float32(y), np.float32(z)
        spot = Box(px - slack, py - slack, pz - slack, px + slack, py + slack, pz + slack)
        if blind:
            radius = INF
        n, top, name = 0, 0, np.int64(0)
        while True:
            wide = radius * WIDER + (base + base)
            limit = wide * wide * WIDER + TINY
            if name >= 0:
                n_u += freshen(nodes, name, frame, entry, context)
                count = np.int64(nodes[name]["count"])
                every = (np.int64(1) << count) - 1
                n_v += count
                fars = separation(lanes(nodes, name), spot)
                some = every if blind else bits(fars <= limit) & every
                if some != 0:                                           # the nearest is next, the others wait as they come
                    near = np.int64(0) if blind else bits(fars <= lowest(fars)) & some
                    k = first(near if near != 0 else some)
                    some &= ~(np.int64(1) << k)
                    after = np.int64(nodes[name]["child"][k])
                    while some != 0:
                        j, some = first(some), some & (some - 1)
                        child = np.int64(nodes[name]["child"][j])
                        fetch(nodes, leaves, child)
                        stack[top] = keyed(np.float32(0) if blind else element(fars, j), child)
                        top += 1
                    fetch(nodes, leaves, after)
                    name = after
                    continue
            else:
                leaf = ~name
                freshen_leaf(leaves, leaf, frame, fill, context)
                box, used = whole(leaves, leaf), np.int64(leaves[leaf]["used"])
                if blind:
                    n_p += ones(used)
                    n_x += ones(used)
                    while used != 0:
                        k, used = first(used), used & (used - 1)
                        settle(leaves, leaf << 3 | k, flat, asked, t, r, answers)
                elif comes_near(box, lanes(leaves, leaf), px, py, pz, limit):
                    n_p += ones(used)
                    nears, fars = bound_points(lanes(leaves, leaf), px, py, pz)
                    margin = base + ROUNDING * ((box.hix - box.lox) + ((box.hiy - box.loy) + (box.hiz - box.loz)))
                    radius = least(radius, lowest(fars) * WIDER + margin)
                    some = bits(nears <= radius * WIDER + margin) & used
                    while some != 0:
                        k, some = first(some), some & (some - 1)
                        if n == FEW:                                    # keep what still counts; if that is all, measure it
                            n = kept(names, leasts, n, radius * WIDER + base)
                            if n == FEW:
                                for i in range(n):
                                    settle(leaves, names[i], flat, asked, t, r, answers)
                                n = 0
                        names[n], leasts[n] = leaf << 3 | k, element(nears, k) - margin
                        n += 1
            wide = radius * WIDER + base
            limit = wide * wide * WIDER + TINY
            going = False
            while top > 0 and not going:
                top -= 1
                going = number_of(stack[top]) <= limit
            if not going:
                break
            name = name_of(stack[top])
            fetch(nodes, leaves, name)
        for i in range(n):
            if leasts[i] <= radius * WIDER:
                settle(leaves, names[i], flat, asked, t, r, answers)
                n_x += 1
        if answers.body[r] == asked["number"]:
            known, last_x, last_y, last_z = True, answers.points[3 * r], answers.points[3 * r + 1], answers.points[3 * r + 2]
    asked["n_v"] += n_v
    asked["n_p"] += n_p
    asked["n_u"] += n_u
    asked["n_x"] += n_x


@helper
def kept(names, leasts, n, radius):
    """Drop candidates that are too far; how many are left."""
    left = 0
    for i in range(n):
        if leasts[i] <= radius:
            names[left], leasts[left] = names[i], leasts[i]
            left += 1
    return left


@helper
def spread(x):
    """The ten bits of x, two zeros after each."""
    x = (x | (x << 16)) & 0x030000FF
    x = (x | (x << 8)) & 0x0300F00F
    x = (x | (x << 4)) & 0x030C30C3
    return (x | (x << 2)) & 0x09249249


@kernel
def number_cells(points, keys):
    """keys[i] = i << 30 | the number of point i's cell along a curve that fills the box of all points (Morton 1966)."""
    low, high = floats(3), floats(3)
    for k in range(3):
        low[k], high[k] = np.inf, -np.inf
        for at in range(k, len(points), 3):
            if abs(points[at]) < 1e300:
                low[k], high[k] = min(low[k], points[at]), max(high[k], points[at])
        high[k] = CELLS / (high[k] - low[k]) if high[k] > low[k] else 0.0
    for i in range(len(keys)):
        cell = np.int64(0)
        for k in range(3):
            share = (points[3 * i + k] - low[k]) * high[k]
            cell |= spread(np.int64(min(share, CELLS - 1.0)) if share > 0.0 else np.int64(0)) << k
        keys[i] = np.int64(i) << 30 | cell
