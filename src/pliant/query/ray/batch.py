"""Many rays, batch after batch, each into all the bodies that it may meet, nearest first (`query/ray/top_level.py`).

A body is asked through its entry, whatever its family. A body whose tree has not followed its motion yet is not asked: the loop stops, says
which it needs, and is taken up again; so what no ray comes near is never refitted.
"""
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.function_pointer import CONTEXTS, address_of, array_at, floats_at, invoke, pointer
from pliant.core.jit import DISABLED, helper, kernel
from pliant.core.simd import bits, columns, element, first, four, greatest, magnitude, put_four, quad
from pliant.core.soa import prefetch, whole
from pliant.core.stack import floats, integers, singles
from pliant.geometry.predicates import fit
from pliant.geometry.ray_triangle import pierced_exact, scaled
from pliant.motion.free import PLACE
from pliant.motion.rigid import invert, rounding, world_box
from pliant.query.ray.leaf import (
    ALL,
    BATCH,
    BATCHED,
    DOUBT,
    FOUND,
    GAZE,
    GOING,
    N_ROWS,
    N_WIDE,
    NEEDED,
    PER,
    SEEN,
    STEP,
    View,
)
from pliant.query.ray.packet import march, together
from pliant.query.ray.single import wander
from pliant.query.ray.stackless import stroll
from pliant.query.ray.top_level import sort_all, sort_some
from pliant.query.ray.transform import axis_of, bring, doubt_of, lean_of, per_of
from pliant.refit.leaf_fill import CONTEXT
from pliant.tree.nodes import LEAF_DTYPE, node_dtype

FEW, TILE = 32, 8                                                        # bodies; rays, whose square is BATCH
ORDINARY = 2.0**20
FIRST_PACE, HARD, MUCH, BUDGET = 8, 256, 1 << 16, 1 << 22                # rays; of an exact test; work for a ray, and for a call
N_LOCAL, N_EXACT = N_ROWS * BATCH, 2 * BATCH


class Rays(NamedTuple):
    """Flat origins and directions, limits and masks; those with a step of 0 are the same for all rays. If they are those of a picture,
    `width` says how many are in a row, a multiple of TILE, and they are taken in tiles; else it is 0."""
    origins: np.ndarray
    directions: np.ndarray
    t_min: np.ndarray
    t_max: np.ndarray
    masks: np.ndarray
    steps: np.ndarray                                                   # (5,) int64
    n: int
    width: int


class Answers(NamedTuple):
    """What goes back: (n,), (n,), (n,), (2 n,)."""
    t: np.ndarray
    face: np.ndarray
    body: np.ndarray
    uv: np.ndarray


class Hand(NamedTuple):
    """JIT off: what the addresses in a BATCHED stand for."""
    batch: np.ndarray
    gazes: np.ndarray
    bodies: np.ndarray
    hits: np.ndarray
    wide: np.ndarray


@kernel
def note_body(bodies, k, box, m):
    """Set the world box of body k, and what a transform (12,), if it has one, needs."""
    body = bodies[k]
    if len(m) == 0:
        for i in range(8):
            body["box"][i] = box[i]
        return
    corners = floats(6)
    world_box(m, box, corners)
    for i in range(3):
        body["box"][i], body["box"][4 + i] = corners[i], corners[3 + i]
    for i in range(12):
        body["m"][i], body["back"][i] = m[i], 0.0
    invert(m, body["back"])
    body["doubt"], body["placed"] = rounding(m, box), 1


@helper
def tile_at(r, n, width):
    """(the first ray of the batch at r of a picture, the way from there to the next row): tiles from left to right, then the next TILE
    rows; the last rows as they come."""
    band = r // (TILE * width)
    if (band + 1) * TILE * width > n:
        return r, np.int64(TILE)
    return band * TILE * width + (r - band * TILE * width) // TILE, width


@helper
def member(begin, step, i):
    """Ray i of a batch."""
    return begin + i // TILE * step + i % TILE


@helper
def fetch_tile(rays, answers, begin, step):
    """Start loading what belongs to a tile: its rows are far from each other."""
    for i in range(TILE):
        r = min(begin + i * step, rays.n - TILE)
        for k in range(0, 3 * TILE, 8):
            prefetch(rays.origins, r * rays.steps[0] + (k if rays.steps[0] != 0 else 0))
            prefetch(rays.directions, r * rays.steps[1] + (k if rays.steps[1] != 0 else 0))
        prefetch(answers.t, r)
        prefetch(answers.face, r)
        prefetch(answers.body, r)
        prefetch(answers.uv, 2 * r)
        prefetch(answers.uv, 2 * r + TILE)


@helper
def three_at(flat, i):
    """Lanes flat[i : i + 3], and one that is no one's."""
    return quad(flat[i], flat[i + 1], flat[i + 2], 0.0)


@helper
def put_three(wide, number, j, a, b, c):
    """Write of the rays j, j + 1, … the rows number, number + 1, number + 2."""
    put_four(wide, number * BATCH + j, a)
    put_four(wide, (number + 1) * BATCH + j, b)
    put_four(wide, (number + 2) * BATCH + j, c)


@helper
def shorten(wide, j, x, y, z):
    """Write four directions of any size, over powers of two that make them at least 1 and less than 2 long, as the steps j, j + 1, …; the
    powers. So a parameter of a step is no larger than the way to where it leads, which is finite."""
    grow = floats(4)
    for k in range(4):
        longest = max(abs(element(x, k)), max(abs(element(y, k)), abs(element(z, k))))
        e = math.frexp(longest)[1] - 1 if 0.0 < longest < np.inf else 0
        wide[STEP * BATCH + j + k] = scaled(element(x, k), -e)
        wide[(STEP + 1) * BATCH + j + k] = scaled(element(y, k), -e)
        wide[(STEP + 2) * BATCH + j + k] = scaled(element(z, k), -e)
        grow[k] = scaled(1.0, e)
    return quad(grow[0], grow[1], grow[2], grow[3])


@helper
def columns_at(flat, step, p, q, r, s):
    """x, y and z of four rays."""
    return columns(three_at(flat, step * p), three_at(flat, step * q), three_at(flat, step * r), three_at(flat, step * s))


@helper
def numbers_at(flat, step, p, q, r, s):
    return quad(flat[step * p], flat[step * q], flat[step * r], flat[step * s])


@helper
def note(rays, r, gaze):
    """Begin to look for what ray r hits."""
    o, d = gaze["o"], gaze["d"]
    for k in range(3):
        o[k], d[k] = rays.origins[r * rays.steps[0] + k], rays.directions[r * rays.steps[1] + k]
    gaze["t_min"], gaze["best"], gaze["mask"] = rays.t_min[r * rays.steps[2]], rays.t_max[r * rays.steps[3]], rays.masks[r * rays.steps[4]]
    gaze["ray"], gaze["face"], gaze["body"] = r, -1, -1


@helper
def start(rays, p, q, r, s, gazes, wide, j):
    """Load the rays p, q, r, s as the numbers j, j + 1, … of the batch; bits of those that can hit anything."""
    x, y, z = columns_at(rays.origins, rays.steps[0], p, q, r, s)
    u, v, w = columns_at(rays.directions, rays.steps[1], p, q, r, s)
    near, far = numbers_at(rays.t_min, rays.steps[2], p, q, r, s), numbers_at(rays.t_max, rays.steps[3], p, q, r, s)
    longest = greatest(magnitude(u), greatest(magnitude(v), magnitude(w)))
    finite = x * 0.0 + y * 0.0 + z * 0.0 + u * 0.0 + v * 0.0 + w * 0.0 >= 0.0        # else NaN
    good, plain = bits(finite & (longest > 0.0) & (near <= far)), bits(fit(x) & fit(y) & fit(z) & fit(u) & fit(v) & fit(w))
    grow, steps = quad(1.0, 1.0, 1.0, 1.0), (u, v, w)
    if bits((longest >= 1 / ORDINARY) & (longest <= ORDINARY)) != 15:
        grow = shorten(wide, j, u, v, w)
        steps = four(wide, STEP * BATCH + j), four(wide, (STEP + 1) * BATCH + j), four(wide, (STEP + 2) * BATCH + j)
    else:
        put_three(wide, STEP, j, u, v, w)
    put_three(wide, 0, j, x, y, z)
    put_three(wide, PER, j, per_of(steps[0], u), per_of(steps[1], v), per_of(steps[2], w))
    put_three(wide, DOUBT, j, doubt_of(x, y, z), near * grow, far * grow)
    lean = lean_of(steps[0], steps[1], steps[2])
    note(rays, p, gazes[j])
    note(rays, q, gazes[j + 1])
    note(rays, r, gazes[j + 2])
    note(rays, s, gazes[j + 3])
    for k in range(4):
        gaze = gazes[j + k]
        gaze["plain"], gaze["grow"], gaze["axis"] = plain >> k & 1, element(grow, k), axis_of(lean, k)
    return good


@helper
def finish(answers, state):
    """Write what a ray has hit."""
    hit, r = state["face"] >= 0, state["ray"]
    answers.t[r] = state["best"] if hit else np.inf
    answers.face[r], answers.body[r] = state["face"], state["body"]
    answers.uv[2 * r], answers.uv[2 * r + 1] = state["u"] if hit else 0.0, state["v"] if hit else 0.0


@helper
def work(state):
    """What the batches so far have cost, in tests of a volume and a ray."""
    return state["n_v"] + state["n_p"] + HARD * state["n_x"]


@helper
def ask(batch, gazes, bodies, k, mask, about, roots):
    """Look into body k with those rays of the mask that see it; GOING, or why not."""
    rest = mask if batch[0]["choosy"] != 0 else np.int64(0)
    while rest != 0:
        j, rest = first(rest), rest & (rest - 1)
        if bodies[k]["mask"] & gazes[j]["mask"] == 0:
            mask &= ~(np.int64(1) << j)
    if mask == 0:
        return np.int64(GOING)
    if bodies[k]["ready"] == 0:
        batch[0]["needed"] = k
        return np.int64(NEEDED)
    batch[0]["mask"], before = mask, work(batch[0])
    stop = invoke(bodies[k]["entry"], about, k)
    roots.passed[k] += work(batch[0]) - before
    return stop


@helper
def ask_all(batch, gazes, wide, bodies, mask, about, roots):
    """Look into all bodies that the rays of the mask may meet, those first that they enter first; GOING, or why not."""
    stop = np.int64(GOING)
    if len(bodies) == 1:
        return ask(batch, gazes, bodies, 0, mask, about, roots)
    if len(bodies) <= FEW:
        n = sort_all(wide, bodies, mask, roots)
        for i in range(n):
            stop = ask(batch, gazes, bodies, roots.order[i], mask, about, roots)
            if stop != GOING:
                break
        return stop
    while mask != 0:                                                    # rays into a crowd go alone
        j, mask = first(mask), mask & (mask - 1)
        gaze = gazes[j]
        n = sort_some(wide, j, gaze["mask"], bodies, roots)
        for i in range(n):
            if roots.nears[i] > gaze["best"] * gaze["grow"]:
                break
            stop = ask(batch, gazes, bodies, roots.order[i], np.int64(1) << j, about, roots)
            if stop != GOING:
                return stop
    return stop


@kernel
def cast_some(rays, answers, bodies, roots, gazes, batch, wide, about, r, end):
    """Answer the rays from r on; the one at which it stopped, for the reason in the batch, or for want of time. `about` is the batch as
    entries take it. Batches are as large as their work allows: some rays meet thousands of faces, and Ctrl-C must not wait."""
    state = batch[0]
    spent = work(state) + BUDGET
    while r < end and work(state) < spent:
        kept, stop, mask, n, before = state["n_hits"], np.int64(GOING), np.int64(0), min(end - r, state["pace"]), work(state)
        n_v, n_p, n_u, n_x = state["n_v"], state["n_p"], state["n_u"], state["n_x"]
        head = r & ~(BATCH - 1)                                         # of a whole batch, of which this may be a part
        begin, step = tile_at(head, rays.n, rays.width) if rays.width > 0 else (head, np.int64(TILE))
        if step != TILE and r == head:
            fetch_tile(rays, answers, begin + TILE, step)
        for j in range(0, n, 4):
            i, last = r - head + j, r - head + n - 1
            some = start(rays, member(begin, step, i), member(begin, step, min(i + 1, last)), member(begin, step, min(i + 2, last)),
                         member(begin, step, min(i + 3, last)), gazes, wide, j)
            mask |= (some & ((np.int64(1) << min(n - j, 4)) - 1)) << j
        if mask != 0:
            stop = ask_all(batch, gazes, wide, bodies, mask, about, roots)
        if stop != GOING:
            state["reason"], state["n_hits"] = stop, kept
            state["n_v"], state["n_p"], state["n_u"], state["n_x"] = n_v, n_p, n_u, n_x
            return r
        if state["kind"] != ALL:
            for j in range(n):
                finish(answers, gazes[j])
        r += n
        much = work(state) - before > MUCH * n
        state["pace"] = max(state["pace"] // 2, 1) if much else BATCH if r & (BATCH - 1) == 0 else state["pace"]
    state["reason"] = GOING
    return r


# --- entries -----------------------------------------------------------------------------------------------------------------------------

@helper
def see(nodes, leaves, flat, place, bodies, k, gazes, wide, hits, batch, skips, frame, entry, fill, context):
    """Look for what the rays of the mask meet in body k; GOING, or FULL."""
    local, exact, who = singles(N_LOCAL), floats(N_EXACT), integers(BATCH)
    view = View(leaves, flat, bodies, k, gazes, wide, hits, batch, local, exact, who, frame, entry, fill, context)
    count = bring(view, place)
    if count == 0:
        return np.int64(GOING)
    if len(skips) > 0:
        return stroll(view, nodes, skips, place[0]["plain"], count)
    if together(whole(nodes, 0), view, count, place[0]["reach"] * place[0]["scale"]):
        return march(view, nodes, place[0]["plain"], count)
    return wander(view, nodes, place[0]["plain"], count)


@cache
def sight_entry(volume, width):
    """(address, what keeps it alive) of the function (BATCHED, number of a body) -> GOING or FULL for nodes of this kind."""
    node = node_dtype(volume, width)

    def enter(address, k):
        batch = array_at(pointer(address), 1, BATCHED)
        state = batch[0]
        gazes, bodies = array_at(pointer(state["gazes"]), BATCH, GAZE), array_at(pointer(state["bodies"]), k + 1, SEEN)
        hits, wide = array_at(pointer(state["hits"]), state["room"], FOUND), array_at(pointer(state["wide"]), N_WIDE * BATCH, np.float64)
        about = array_at(pointer(bodies[k]["context"]), 1, CONTEXT)[0]
        place = array_at(pointer(bodies[k]["place"]), 1, PLACE)
        nodes = array_at(pointer(about["nodes"]), about["n_nodes"], node)
        leaves = array_at(pointer(about["leaves"]), about["n_leaves"], LEAF_DTYPE)
        flat = array_at(pointer(place[0]["flat"]), place[0]["n_flat"], np.float64)
        skips = array_at(pointer(bodies[k]["skips"]), about["n_nodes"] if bodies[k]["skips"] != 0 else 0, np.int32)
        return see(nodes, leaves, flat, place, bodies, k, gazes, wide, hits, batch, skips, about["frame"], about["entry"], about["fill"],
                   bodies[k]["context"])

    def enter_python(hand, k):
        shape = CONTEXTS[int(hand.bodies[k]["context"])]
        motion = shape.motion
        skips = shape.skips() if hand.bodies[k]["skips"] != 0 else np.zeros(0, np.int32)
        return see(shape.nodes, shape.leaves, motion.flat, motion.about, hand.bodies, k, hand.gazes, hand.wide, hand.hits, hand.batch,
                   skips, shape.frame, shape.entry, shape.fill, shape.context)

    return address_of(enter_python if DISABLED else enter)


@cache
def exact_entry():
    """(address, what keeps it alive) of the exact test on a buffer; its second argument is 2 · axis + plain."""
    def enter(buffer, code):
        return np.int64(pierced_exact(floats_at(buffer), code >> 1, code & 1))

    def enter_python(buffer, code):
        return pierced_exact(buffer, code >> 1, code & 1)

    return address_of(enter_python if DISABLED else enter)
