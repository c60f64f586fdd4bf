"""Small scenes on the screen, in the arrays of the engine and in rational numbers, and engines side by side."""

from fractions import Fraction

import numpy as np

import naive
import pliant as pl
from pliant.core.jit import ignore_float_errors
from pliant.image.cpu import CpuEngine
from pliant.image.options import check_options
from pliant.image.pipeline import choose_viewport
from pliant.image.screen import CENTRE, LOW, ROTATION, SCALE, STRIDE
from pliant.image.surface import as_subject


def on_screen(*surfaces, size=8, **options):
    """The loops of the engine for one surface or two, put on a screen of this size; None if they cannot meet."""
    with ignore_float_errors():
        loops = CpuEngine([as_subject("a", surface) for surface in surfaces])
        view, fragments = choose_viewport(loops, check_options({"resolution": size, **options}))
        if view is None:
            return None
        loops.set_viewport(view, fragments)
        return loops


def exactly(view, point):
    """Where a point is on the screen, as fractions: (R (p − c) / 4 − low) · scale, without rounding."""
    frame = [Fraction(x) for x in view.frame.tolist()]
    away = [(Fraction(x) - c) / 4 for x, c in zip(point, frame[CENTRE:LOW], strict=True)]
    turned = [sum(frame[ROTATION + 3 * k + i] * away[i] for i in range(3)) for k in range(3)]
    return tuple((turned[k] - frame[LOW + k]) * frame[SCALE + k] for k in range(3))


def bound(seen, margin):
    """How far the truth may be from what is seen, as a fraction: half a unit in the last place, and the slack. What ERROR and the slack
    have beyond that is room for roundings of what comes after."""
    return abs(Fraction(float(seen))) / 2**23 + Fraction(float(margin)) / Fraction(1.005)


def pixel_of(x, size):
    """The pixel that holds a fraction; at the border what lies beyond it."""
    return min(max(x // 1, 0), size - 1)


def clipped(polygon, axis, low, high):
    """The part of a convex polygon, or of what is left of one, between two heights along an axis; both ends belong to it."""
    for sign, limit in ((1, low), (-1, -high)):
        kept = []
        for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            over_p, over_q = sign * p[axis] - limit, sign * q[axis] - limit
            if over_p >= 0:
                kept.append(p)
            if (over_p < 0 < over_q) or (over_q < 0 < over_p):
                t = over_p / (over_p - over_q)
                kept.append(tuple(u + t * (v - u) for u, v in zip(p, q, strict=True)))
        polygon = kept
    return polygon


def flat(corners):
    """A screen and faces of triangles (n, 3, 3) that share nothing, as the engine has them."""
    corners = np.asarray(corners, np.float32).reshape(-1, 3)
    screen = np.zeros((len(corners), STRIDE), np.float32)
    screen[:, :3] = corners
    return screen.reshape(-1), np.arange(len(corners), dtype=np.int32)


def assert_engine(a, b, right=None, **options):
    """Both orders of the arguments give what the reference gives, in the promised form; the pairs."""
    right = naive.collide(*mesh_of(a), *mesh_of(b)) if right is None else right
    pairs = pl.collide(a, b, engine="image", **options)
    swapped = pl.collide(b, a, engine="image", **options)
    for found, expected in ((pairs, right), (swapped, right[np.lexsort((right[:, 0], right[:, 1]))][:, ::-1])):
        assert_form(found, expected)
    return pairs


def assert_engine_self(a, right=None, same=None, **options):
    """`self_collide` gives what the reference gives, with and without neighbours; the pairs."""
    vertices, faces = mesh_of(a)
    named = faces if same is None else np.asarray(same)[faces]
    right = naive.self_collide(vertices, named) if right is None else right
    apart = np.array([not set(named[i]) & set(named[j]) for i, j in right], bool)
    assert_form(pl.self_collide(a, engine="image", adjacent="ignore", **options), right[apart])
    found = pl.self_collide(a, engine="image", **options)
    assert_form(found, right)
    return found


def assert_form(found, expected):
    faces, image = found.faces, found.image
    missed = set(map(tuple, expected.tolist())) - set(map(tuple, faces.tolist()))
    extra = set(map(tuple, faces.tolist())) - set(map(tuple, expected.tolist()))
    assert not missed, f"{len(missed)} of {len(expected)} pairs missed, as {min(missed)}"
    assert not extra, f"{len(extra)} pairs that do not meet, as {min(extra)}"
    assert faces.tolist() == expected.tolist()                          # sorted, and each once
    assert (faces.shape, faces.dtype, faces.flags.c_contiguous) == ((len(found), 2), np.dtype(np.int32), True)
    assert found.complete and found.unresolved is None and bool(found) == (len(expected) > 0)
    assert image.found == len(found) <= image.tests == found.stats.n_p
    assert (image.missed, image.sent, image.passes) == (0.0, 0, 0)


def mesh_of(a):
    """(vertices, faces) of a body, of an object, or of two arrays."""
    if isinstance(a, (tuple, list)):
        return a
    return a.vertices, a.faces if hasattr(a, "faces") else a.triangles
