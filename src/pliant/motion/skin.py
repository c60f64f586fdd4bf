"""A skin: which maps move each vertex, and the position that they give it (Steinemann et al. 2008, eq. 3).

Vertices are computed where they are needed, once a frame, by the kernels that fill leaves; `blend_all` computes all.
"""
from typing import NamedTuple

import numpy as np

from pliant.core.jit import helper, kernel
from pliant.core.simd import add_rounded, extract, load4, mul_rounded, store4, to_float32
from pliant.core.soa import packed_dtype, prefetch, publish, stamp
from pliant.motion.motion import compute_vertex, prefetch_vertex

STAMP_DTYPE = packed_dtype([("stamp", np.dtype(np.int32))], 4)


class Skin(NamedTuple):
    """What moves vertices, row by row in an order of its own: `names` (n,) of vertices, places at rest (3 n,), the maps of each and their
    weights (`core/validate_rig.py`), stamps; columns of maps (16 m,). And what a vertex is written to, by its name: its place (3 n,), its
    row of float32 (4 n,), (x − origin) · scale."""
    vertex_ids: np.ndarray
    rest: np.ndarray
    begins: np.ndarray
    map_ids: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    stamps: np.ndarray
    flat: np.ndarray
    points: np.ndarray
    origin: np.ndarray
    scale: float
    frame: int


@helper
def blend_position(skin, r):
    """x y z · of the vertex in row r."""
    begin, end, columns = skin.begins[r], skin.begins[r + 1], skin.columns
    at, w = 16 * np.int64(skin.map_ids[begin]), skin.weights[begin]
    a, b = mul_rounded(load4(columns, at), w), mul_rounded(load4(columns, at + 4), w)
    c, d = mul_rounded(load4(columns, at + 8), w), mul_rounded(load4(columns, at + 12), w)
    for e in range(begin + 1, end):
        at, w = 16 * np.int64(skin.map_ids[e]), skin.weights[e]
        a, b = add_rounded(a, mul_rounded(load4(columns, at), w)), add_rounded(b, mul_rounded(load4(columns, at + 4), w))
        c, d = add_rounded(c, mul_rounded(load4(columns, at + 8), w)), add_rounded(d, mul_rounded(load4(columns, at + 12), w))
    x, y, z = skin.rest[3 * r], skin.rest[3 * r + 1], skin.rest[3 * r + 2]
    return add_rounded(add_rounded(add_rounded(mul_rounded(a, x), mul_rounded(b, y)), mul_rounded(c, z)), d)


@compute_vertex.register(Skin)
def _(state, r):
    if stamp(state.stamps, r) != state.frame:                           # once a frame
        row, flat, v = blend_position(state, r), state.flat, np.int64(state.vertex_ids[r])
        flat[3 * v], flat[3 * v + 1], flat[3 * v + 2] = extract(row, 0), extract(row, 1), extract(row, 2)
        store4(state.points, 4 * v, to_float32((row - load4(state.origin, 0)) * state.scale))
        publish(state.stamps, r, state.frame)


@prefetch_vertex.register(Skin)
def _(state, r):
    v, begin = np.int64(state.vertex_ids[r]), state.begins[r]
    prefetch(state.weights, begin)
    prefetch(state.weights, state.begins[r + 1] - 1)
    prefetch(state.map_ids, begin)
    prefetch(state.rest, 3 * np.int64(r))
    prefetch(state.flat, 3 * v)
    prefetch(state.points, 4 * v)


@kernel
def blend_all(skin):
    """Set all vertices, and their rows."""
    for r in range(len(skin.stamps)):
        compute_vertex(skin, r)


def gather_rows(skin, rows):
    """(begins, which, weights) of these rows of a skin, in that order."""
    begins, map_ids, weights = skin
    counts = np.diff(begins)[rows]
    ends = np.cumsum(counts)
    at = np.repeat(begins[rows] - (ends - counts), counts) + np.arange(len(map_ids))
    return np.concatenate([[0], ends]), map_ids[at], weights[at]
