"""Lanes never lose a contact, nor a pair within the margin; and they do lose most pairs that stay apart."""

import numpy as np
import pytest

from moving_features import EDGE_EDGE, VERTEX_FACE, hostile, known_queries
from pliant.core.jit import DISABLED, kernel
from pliant.core.stack import load8, stack_float32, stack_float64
from pliant.geometry.linear_motion import first_contact_time
from pliant.geometry.motion_simd import (
    MovingEdge,
    MovingPoint,
    MovingTriangle,
    edge_edge_candidates,
    motion_errors,
    vertex_face_candidates,
)
from pliant.geometry.moving_distance import first_time_within
from pliant.query.traverse import CORNER_ERROR, MIN_CORNER_ERROR

pytestmark = pytest.mark.formulas
GROUPS = 2 if DISABLED else 300
NAMES = ("small_integers", "uniform", "rest", "axis_motion", "one_plane", "tilted_plane", "one_line", "collapse", "translation", "touch",
         "grazing", "nearly_flat", "far", "few")


@kernel
def lanes(local, one, sides, delta, kind, margin, swapped, out):
    """Masks for groups of eight rows of 24 local numbers, and one row each; `swapped`: eight first features against one second."""
    rows, r = stack_float32(192), stack_float32(24)
    for g in range(len(one)):
        for k in range(24):
            r[k] = one[g, k]
            for i in range(8):
                rows[8 * k + i] = local[g, i, k]
        errors = motion_errors(delta[g], sides[g, 0], sides[g, 1], sides[g, 2])
        mask = np.int64(255)
        if kind == VERTEX_FACE and swapped == 0:
            p = MovingPoint(r[0], r[1], r[2], r[12], r[13], r[14])
            t = MovingTriangle(load8(rows, 24), load8(rows, 32), load8(rows, 40), load8(rows, 48), load8(rows, 56), load8(rows, 64),
                               load8(rows, 72), load8(rows, 80), load8(rows, 88), load8(rows, 120), load8(rows, 128), load8(rows, 136),
                               load8(rows, 144), load8(rows, 152), load8(rows, 160), load8(rows, 168), load8(rows, 176), load8(rows, 184))
            out[g] = vertex_face_candidates(p, t, mask, errors, margin[g])
        elif kind == VERTEX_FACE:
            q = MovingPoint(load8(rows, 0), load8(rows, 8), load8(rows, 16), load8(rows, 96), load8(rows, 104), load8(rows, 112))
            f = MovingTriangle(r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[15], r[16], r[17], r[18], r[19], r[20], r[21],
                               r[22], r[23])
            out[g] = vertex_face_candidates(q, f, mask, errors, margin[g])
        else:
            e = MovingEdge(r[0], r[1], r[2], r[3], r[4], r[5], r[12], r[13], r[14], r[15], r[16], r[17])
            o = MovingEdge(load8(rows, 48), load8(rows, 56), load8(rows, 64), load8(rows, 72), load8(rows, 80), load8(rows, 88),
                           load8(rows, 144), load8(rows, 152), load8(rows, 160), load8(rows, 168), load8(rows, 176), load8(rows, 184))
            out[g] = edge_edge_candidates(e, o, mask, errors, margin[g])


@kernel
def truths(points, kind, margins, out):
    t = stack_float64(25)
    for i in range(len(points)):
        for k in range(24):
            t[k] = points[i, k]
        out[i] = first_contact_time(t, kind) if margins[i] == 0.0 else first_time_within(t, kind, margins[i])


def check(points, kind, swapped, margins):
    """Groups (g, 8, 2, 4, 3) of which the eight share the first feature, or the second: (lost, kept) of those apart."""
    g = len(points)
    first = 1 if kind == VERTEX_FACE else 2
    shared = np.arange(4) < first if not swapped else np.arange(4) >= first
    points = np.where(shared[:, None], points[:, :1], points)
    flat = points.reshape(g, 8, 24)
    rounded = flat.astype(np.float32).reshape(g, 64, 3)
    low, high = rounded.min(axis=1), rounded.max(axis=1)
    local = np.ascontiguousarray((rounded - low[:, None]).reshape(g, 8, 24))
    delta = np.maximum(np.abs(flat).max(axis=(1, 2)) * CORNER_ERROR, MIN_CORNER_ERROR).astype(np.float32)
    masks, times = np.zeros(g, np.int64), np.zeros(8 * g)
    upper = np.nextafter(margins.astype(np.float32), np.float32(np.inf)) * (margins > 0)
    lanes(local, np.ascontiguousarray(local[:, 0]), np.ascontiguousarray(high - low), delta, np.int64(kind), upper.astype(np.float32),
          np.int64(swapped), masks)
    truths(np.ascontiguousarray(flat.reshape(-1, 24)), np.int64(kind), np.repeat(margins, 8), times)
    kept = ((masks[:, None] >> np.arange(8)) & 1).astype(bool)
    near = np.isfinite(times).reshape(g, 8)
    assert not (near & ~kept).any()
    return near, kept


@pytest.mark.parametrize("margin", [0.0, 0.25])
@pytest.mark.parametrize(("kind", "swapped"), [(VERTEX_FACE, 0), (VERTEX_FACE, 1), (EDGE_EDGE, 0)])
def test_nothing_is_lost(kind, swapped, margin):
    rng = np.random.default_rng(kind + 2 * swapped)
    points = np.array([[hostile(rng, NAMES[k % len(NAMES)]) for _ in range(8)] for k in range(GROUPS)])
    usual = (np.abs(points).max(axis=(1, 2, 3, 4)) < 2.0**26)
    near, _ = check(points[usual], kind, swapped, np.full(usual.sum(), margin))
    assert DISABLED or near.mean() > 0.05
    starts, ends, _, _ = known_queries(rng, 8 * GROUPS, kind)
    known = np.stack([starts, ends], axis=1).reshape(GROUPS, 8, 2, 4, 3)
    small = (np.abs(known).max(axis=(1, 2, 3, 4)) < 2.0**26)
    check(known[small], kind, swapped, np.full(small.sum(), margin))


@pytest.mark.parametrize(("kind", "swapped"), [(VERTEX_FACE, 0), (VERTEX_FACE, 1), (EDGE_EDGE, 0)])
def test_most_of_what_stays_apart_is_found(kind, swapped):
    """Features of size 1 whose boxes overlap, with motions of a tenth; and all that move within one plane, apart by an edge's length."""
    rng = np.random.default_rng(5)
    points = np.repeat(rng.uniform(-0.5, 0.5, (GROUPS, 8, 1, 4, 3)), 2, axis=2)
    points[:, :, 1] += rng.normal(0, 0.05, (GROUPS, 8, 4, 3))
    near, kept = check(points, kind, swapped, np.zeros(GROUPS))
    assert DISABLED or (kept & ~near).mean() < 0.05
    points[..., 2] = 0.0
    points[:, :, :, 1 if kind == VERTEX_FACE else 2:, 0] += 1.2
    near, kept = check(points, kind, swapped, np.zeros(GROUPS))
    assert DISABLED or (kept & ~near).mean() < 0.1
