"""What rays meet of one body: a batch of rays, each brought into the body's frame, and the test of a leaf.

A ray o + t d is brought to where it enters the body's box, relative to the body's origin and times its scale, and becomes float32 there:
p + s e, where e is d over its longest component, so that s is a length along that axis. However far away a ray starts, what rounds is a
share of the body's reach. With u = 2**-24, in units of the reach, a point of the ray is off by u for its start and 2 u for its direction,
and a side of a volume by 4 u for the products and differences on the way to it: 8 u along any axis are enough. SLACK is twice that.

A leaf is looked at in two stages. `candidates` takes eight triangles at once, in float32, along the ray (Woop, Benthin and Wald 2013): with
corners x, y sheared so that the ray is the axis z, three products say on which side it passes the edges. A corner is off by less than the
slack, so where m bounds |x| and |y| of all corners, a product is off by less than 4 slack m for the corners and 4 u m² for its own
roundings: with m <= 6 reach below 8 slack m. m is the sum of the sides of the leaf's box: a triangle that is hit has no corner farther from
the ray. What is left goes to the exact test (`geometry/ray_triangle.py`), in float64, in the world.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import invoke
from pliant.core.jit import helper
from pliant.core.simd import bits, first, greatest, least
from pliant.core.soa import packed, prefetch, row, whole
from pliant.core.stack import floats
from pliant.geometry.predicates import fits, point_fits
from pliant.geometry.ray_triangle import ANSWER, DIRECTION, HIT, ORIGIN, SIZE, UNSURE, pierced
from pliant.motion.rigid import placed
from pliant.query.collide.leaf_overlap import copy_corners
from pliant.query.collide.transformed import place_corners
from pliant.query.traverse import COUNTERS, freshen_leaf

BATCH = 64                                                              # rays that are looked at together
CLOSEST, ANY, ALL = range(3)                                            # what is wanted of a ray
GOING, FULL, NEEDED = range(3)                                          # what came of a batch; NEEDED: a body must follow first
SLACK = 2.0**-20                                                        # of the reach
FAR_AWAY = 2.0**-48                                                     # of all numbers in float64
STEEPEST = 2.0**60                                                      # of 1 / e, in float32
BLIND = 2.0**45                                                         # the slack of a ray that meets all: beyond any reach
LARGEST = 3e38                                                          # in float32
EIGHT = np.float32(8)

# Rows of BATCH float32 of the rays in a body's frame: start, 1 / e, start / e at either side of the slack, shears along the axes beside
# the longest, the sign of that, the slack, and how far the ray counts.
START, OVER, LOW, HIGH, SHEAR_X, SHEAR_Y, SIGN, WIDTH, LIMIT, N_ROWS = 0, 3, 6, 9, 12, 13, 14, 15, 16, 17


def record(floats_, rows, integers):
    """The dtype of these float64, rows of float64 and int64, in whole cache lines."""
    return packed([(name, np.dtype(np.float64)) for name in floats_] + [(name, np.dtype((np.float64, (n,)))) for name, n in rows.items()]
                  + [(name, np.dtype(np.int64)) for name in integers])


# One ray, and what was found so far. `best` is the largest t that still counts; d over a power of two, `grow`, has an ordinary size;
# `axis` is that of d's longest component. The fourth of a row is padding.
GAZE = record(("t_min", "best", "u", "v", "grow"), {"o": 4, "d": 4}, ("face", "body", "axis", "plain", "ray", "mask"))
# What a batch is about: addresses of rays, of bodies and of where hits go if all are wanted; bits of the rays to look at, and how many at
# a time; what is counted. `wide` has the rays once more, in rows of BATCH float64: origins, 1 / n, doubts of a start, limits in units
# of n, and n, which is d / grow.
PER, DOUBT, NEAR, BEST, STEP, N_WIDE = 3, 6, 7, 8, 9, 12
BATCHED = record((), {}, ("gazes", "bodies", "hits", "n_hits", "room", "wide", "mask", "choosy", "kind", "exact", "needed", "reason",
                          "pace", *COUNTERS))
# A body as rays see it: addresses of its context, its place and its entry, its number, which rays see it, the box around it in the world
# (low at 0, high at 4), whether its tree has followed it, the address of skips if it is searched along them, and, if it is placed, the way
# to the world, the way back, and how far they round.
SEEN = record(("doubt",), {"box": 8, "m": 12, "back": 12}, ("context", "place", "entry", "number", "mask", "placed", "ready", "skips"))
FOUND = np.dtype([("ray", np.int64), ("t", np.float64), ("body", np.int64), ("face", np.int64), ("u", np.float64), ("v", np.float64)])


class View(NamedTuple):
    """A body, the rays of a batch that come near it, and how it makes things true. `local` holds rows of BATCH float32 (see above), `exact`
    a row of starts and one of units with s = t · grow · unit − start; `who` 4 · the number of the ray, and that of its longest axis."""
    leaves: np.ndarray
    flat: np.ndarray
    bodies: np.ndarray
    k: int
    gazes: np.ndarray
    wide: np.ndarray
    hits: np.ndarray
    batch: np.ndarray
    local: np.ndarray
    exact: np.ndarray
    who: np.ndarray
    frame: int
    entry: int
    fill: int
    context: int


@helper
def at(view, number, j):
    """A number of ray j."""
    return view.local[number * BATCH + j]


# --- leaves ----------------------------------------------------------------------------------------------------------------------------

@helper
def along_ray(view, i, j):
    """Of the triangles of leaf i as ray j sees them: (on which side it passes each edge, what these numbers may be off by, how far along
    the ray the corners are)."""
    leaves, z = view.leaves, view.who[j] & 3
    x, y = np.int64(z == 0), 2 - np.int64(z == 2)
    slack, box = at(view, WIDTH, j), whole(leaves, i)
    m = (box.hix - box.lox) + (box.hiy - box.loy) + (box.hiz - box.loz) + EIGHT * slack
    doubt = EIGHT * slack * m
    start_x, start_y, start_z = at(view, START + x, j), at(view, START + y, j), at(view, START + z, j)
    shear_x, shear_y, sign = at(view, SHEAR_X, j), at(view, SHEAR_Y, j), at(view, SIGN, j)
    az, bz, cz = row(leaves, i, z) - start_z, row(leaves, i, 3 + z) - start_z, row(leaves, i, 6 + z) - start_z
    ax, ay = (row(leaves, i, x) - start_x) - az * shear_x, (row(leaves, i, y) - start_y) - az * shear_y
    bx, by = (row(leaves, i, 3 + x) - start_x) - bz * shear_x, (row(leaves, i, 3 + y) - start_y) - bz * shear_y
    cx, cy = (row(leaves, i, 6 + x) - start_x) - cz * shear_x, (row(leaves, i, 6 + y) - start_y) - cz * shear_y
    return (cx * by - cy * bx, ax * cy - ay * cx, bx * ay - by * ax), doubt, (az * sign, bz * sign, cz * sign)


@helper
def candidates(view, i, j):
    """Bits of the triangles of leaf i that ray j may hit before its limit."""
    leaves, slack = view.leaves, at(view, WIDTH, j)
    if slack >= BLIND:
        return np.int64(leaves[i]["used"])
    (u, v, w), doubt, (a, b, c) = along_ray(view, i, j)
    one_side = (least(u, least(v, w)) >= -doubt) | (greatest(u, greatest(v, w)) <= doubt)
    between = (greatest(a, greatest(b, c)) >= -slack) & (least(a, least(b, c)) <= at(view, LIMIT, j) + slack)
    return bits(one_side & between) & leaves[i]["used"]


@helper
def corner_at(leaves, leaf, c, i, flat):
    """Corner c of triangle i of a leaf."""
    v = 3 * np.int64(leaves[leaf]["corner"][c, i])
    return flat[v], flat[v + 1], flat[v + 2]


@helper
def settle_exactly(leaves, leaf, i, flat, body, state, exact, good):
    """The exact test of a ray and triangle i of a leaf: MISS or HIT, t, u, v. `good`: are both in the range of the filters?"""
    t = floats(SIZE)
    for k in range(3):
        t[ORIGIN + k], t[DIRECTION + k] = state["o"][k], state["d"][k]
    if body["placed"] != 0:
        place_corners(leaves, leaf, i, flat, body["m"], t, 0)
    else:
        copy_corners(leaves, leaf, i, flat, t, 0)
    answer = invoke(exact, t, 2 * state["axis"] + good)
    return answer, t[ANSWER], t[ANSWER + 1], t[ANSWER + 2]


@helper
def decide(leaves, leaf, i, flat, body, state, exact, plain):
    """Does the ray hit triangle i of a leaf? (MISS or HIT, t, u, v, whether that took more than the filter.)

    Stages round t differently, so which of them decides depends on the ray and on this triangle alone: where not all vertices of the body
    are in the range of the filters (`plain`), or where they are placed, these three are looked at."""
    ax, ay, az = corner_at(leaves, leaf, 0, i, flat)
    bx, by, bz = corner_at(leaves, leaf, 1, i, flat)
    cx, cy, cz = corner_at(leaves, leaf, 2, i, flat)
    good = state["plain"]
    if body["placed"] != 0:
        m = body["m"]
        ax, ay, az = placed(m, 0, ax, ay, az), placed(m, 1, ax, ay, az), placed(m, 2, ax, ay, az)
        bx, by, bz = placed(m, 0, bx, by, bz), placed(m, 1, bx, by, bz), placed(m, 2, bx, by, bz)
        cx, cy, cz = placed(m, 0, cx, cy, cz), placed(m, 1, cx, cy, cz), placed(m, 2, cx, cy, cz)
    if plain == 0 or body["placed"] != 0:
        good &= np.int64(fits(ax) & fits(ay) & fits(az) & fits(bx) & fits(by) & fits(bz) & fits(cx) & fits(cy) & fits(cz))
    if good != 0:
        o, d = state["o"], state["d"]
        answer, now, u, v = pierced(ax, ay, az, bx, by, bz, cx, cy, cz, o[0], o[1], o[2], d[0], d[1], d[2], state["axis"])
        if answer != UNSURE:
            return np.int64(answer), now, u, v, np.int64(0)
    answer, now, u, v = settle_exactly(leaves, leaf, i, flat, body, state, exact, good)
    return answer, now, u, v, np.int64(1)


@helper
def decide_in(t, axis, plain, good, exact):
    """The same for a ray and a triangle in a buffer (`geometry/ray_triangle.py`); `good`: is the ray in the range of the filters?"""
    if plain == 0:
        good &= np.int64(point_fits(t, 0) & point_fits(t, 3) & point_fits(t, 6))
    if good != 0:
        answer, now, u, v = pierced(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[ORIGIN], t[ORIGIN + 1], t[ORIGIN + 2],
                                    t[DIRECTION], t[DIRECTION + 1], t[DIRECTION + 2], axis)
        if answer != UNSURE:
            return np.int64(answer), now, u, v, np.int64(0)
    answer = invoke(exact, t, 2 * axis + good)
    return answer, t[ANSWER], t[ANSWER + 1], t[ANSWER + 2], np.int64(1)


@helper
def better(state, t, number, face):
    """Is this hit nearer than the best, or as near with a smaller name?"""
    if t != state["best"]:
        return t < state["best"]
    return (state["face"] < 0) | (number < state["body"]) | ((number == state["body"]) & (face < state["face"]))


@helper
def single_up(x):
    """A float32 that is not below x; the largest if x is none (where products have overflowed)."""
    return np.float32(x * (1 + 2.0**-22) if x < 0.9 * LARGEST else LARGEST)


@helper
def fetch_corners(view, leaf, some):
    """Start loading the corners of these triangles of a leaf: for a ray of its own way that is the longest wait."""
    while some != 0:
        i, some = first(some), some & (some - 1)
        for c in range(3):
            prefetch(view.flat, 3 * np.int64(view.leaves[leaf]["corner"][c, i]))


@helper
def settle(view, plain, leaf, some, j):
    """The exact test of ray j and these triangles of a leaf; GOING, or FULL."""
    leaves, body, batch = view.leaves, view.bodies[view.k], view.batch[0]
    state, stop = view.gazes[view.who[j] >> 2], np.int64(GOING)
    while some != 0:
        i, some = first(some), some & (some - 1)
        hit, now, u, v, hard = decide(leaves, leaf, i, view.flat, body, state, batch["exact"], plain)
        batch["n_x"] += hard
        face, number = np.int64(leaves[leaf]["face"][i]), body["number"]
        if hit != HIT or now < state["t_min"] or not better(state, now, number, face):
            continue
        if batch["kind"] == ALL:
            if batch["n_hits"] == batch["room"]:
                stop = np.int64(FULL)
                break
            found = view.hits[batch["n_hits"]]
            found["ray"], found["t"], found["body"], found["face"] = state["ray"], now, number, face
            found["u"], found["v"] = u, v
            batch["n_hits"] += 1
            continue
        state["best"], state["u"], state["v"], state["face"], state["body"] = now, u, v, face, number
        if batch["kind"] == ANY:                                        # nothing more counts
            state["best"], view.local[LIMIT * BATCH + j] = -np.inf, -LARGEST
            view.wide[BEST * BATCH + (view.who[j] >> 2)] = -np.inf
            break
        view.wide[BEST * BATCH + (view.who[j] >> 2)] = now * state["grow"]
        if at(view, WIDTH, j) >= BLIND:
            continue
        limit = single_up(now * state["grow"] * view.exact[BATCH + j] - view.exact[j]) + at(view, WIDTH, j)
        view.local[LIMIT * BATCH + j] = least(at(view, LIMIT, j), limit)
    return stop


@helper
def fresh(view, leaf):
    freshen_leaf(view.leaves, leaf, view.frame, view.fill, view.context)
