"""Many rays, batch after batch, each into all the bodies that it may meet, nearest first (`query/roots.py`).

A body is asked through its entry, whatever its family. A body whose tree has not followed its motion yet is not asked: the loop stops, says
which it needs, and is taken up again; so what no ray comes near is never refitted.
"""
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from pliant.core.call import CONTEXTS, address_of, array_at, invoke, pointer
from pliant.core.jit import DISABLED, helper, kernel
from pliant.core.records import prefetch, whole
from pliant.core.simd import first
from pliant.core.stack import floats, integers, singles
from pliant.geometry.predicates import fits
from pliant.geometry.rays import SIZE, pierced_exact, scaled
from pliant.motion.free import PLACE
from pliant.motion.rigid import invert, rounding, world_box
from pliant.query.packet import march, together
from pliant.query.roots import sort_all, sort_some
from pliant.query.search import wander
from pliant.query.sight import (
    ALL,
    BATCH,
    BATCHED,
    BEST,
    DOUBT,
    FOUND,
    GAZE,
    GOING,
    N_ROWS,
    N_WIDE,
    NEAR,
    NEEDED,
    SEEN,
    View,
    bring,
    doubt_of,
    lean_of,
)
from pliant.query.stackless import stroll
from pliant.refit.leaves import CONTEXT
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
def start(rays, r, state, wide, j):
    """Load ray r as number j of the batch; can it hit anything?"""
    o, d, n, over = state["o"], state["d"], state["n"], state["over"]
    good, plain, longest = 0.0, True, 0.0
    for k in range(3):
        o[k], d[k] = rays.origins[r * rays.steps[0] + k], rays.directions[r * rays.steps[1] + k]
        good += o[k] * 0.0 + d[k] * 0.0                                 # NaN if one is not finite
        plain &= fits(o[k]) & fits(d[k])
        longest = max(longest, abs(d[k]))
    e = 0 if 1 / ORDINARY <= longest <= ORDINARY or longest == 0.0 else min(math.frexp(longest)[1], 1023)
    for k in range(3):
        n[k] = d[k] if e == 0 else scaled(d[k], -e)
        over[k] = 1.0 / n[k]
    grow = 1.0 if e == 0 else scaled(1.0, e)
    state["t_min"], state["best"], state["ray"] = rays.t_min[r * rays.steps[2]], rays.t_max[r * rays.steps[3]], r
    state["face"], state["body"], state["plain"], state["grow"] = -1, -1, plain, grow
    state["axis"] = lean_of(n, over, state["lean"])
    state["mask"] = rays.masks[r * rays.steps[4]]
    for k in range(3):
        wide[k * BATCH + j], wide[(3 + k) * BATCH + j] = o[k], over[k]
    wide[DOUBT * BATCH + j], wide[NEAR * BATCH + j], wide[BEST * BATCH + j] = doubt_of(o), state["t_min"] * grow, state["best"] * grow
    return (good == 0.0) & (longest > 0.0) & (state["t_min"] <= state["best"])


@helper
def finish(answers, state):
    """Write what a ray has hit."""
    hit, r = state["face"] >= 0, state["ray"]
    answers.t[r] = state["best"] if hit else np.inf
    answers.face[r], answers.body[r] = state["face"], state["body"]
    answers.uv[2 * r], answers.uv[2 * r + 1] = state["u"] if hit else 0.0, state["v"] if hit else 0.0


@helper
def ask(batch, gazes, bodies, k, mask, about):
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
    batch[0]["mask"] = mask
    return invoke(bodies[k]["entry"], about, k)


@helper
def ask_all(batch, gazes, wide, bodies, mask, about, roots):
    """Look into all bodies that the rays of the mask may meet, those first that they enter first; GOING, or why not."""
    stop = np.int64(GOING)
    if len(bodies) == 1:
        return ask(batch, gazes, bodies, 0, mask, about)
    if len(bodies) <= FEW:
        n = sort_all(wide, bodies, mask, roots)
        for i in range(n):
            stop = ask(batch, gazes, bodies, roots.order[i], mask, about)
            if stop != GOING:
                break
        return stop
    while mask != 0:                                                    # rays into a crowd go alone
        j, mask = first(mask), mask & (mask - 1)
        gaze = gazes[j]
        n = sort_some(gaze, bodies, roots)
        for i in range(n):
            if roots.nears[i] > gaze["best"] * gaze["grow"]:
                break
            stop = ask(batch, gazes, bodies, roots.order[i], np.int64(1) << j, about)
            if stop != GOING:
                return stop
    return stop


@helper
def work(state):
    """What the batches so far have cost, in tests of a volume and a ray."""
    return state["n_v"] + state["n_p"] + HARD * state["n_x"]


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
        for j in range(n):
            i = r - head + j
            if start(rays, begin + (i >> 3) * step + (i & 7), gazes[j], wide, j):
                mask |= np.int64(1) << j
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
        return np.int64(pierced_exact(array_at(pointer(buffer), SIZE, np.float64), code >> 1, code & 1))

    def enter_python(buffer, code):
        return pierced_exact(buffer, code >> 1, code & 1)

    return address_of(enter_python if DISABLED else enter)
