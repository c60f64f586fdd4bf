"""What rays must find: the answers of `cast`, `cast_all` and `occluded` against the exact reference, and rays that are hard on them.

What is exact: which faces are hit, in real arithmetic, and that nothing is missed. What is rounded:

* t is within SLACK of the largest |corner − origin| ÷ |direction|, whatever the shape of the face;
* the weights u, v are within LOOSE of their condition: how far the three volumes they are made of may be off in float64, over their sum;
* limits are compared with the rounded t, so a face whose exact t is no further than its slack from a limit may be in or out, no other.

Of the faces that are hit `cast` may give only the first by (t, body, face), t as rounded: `cast_all` shows all of these numbers, and every
one of them is compared with the exact one. There is one t for a face and a ray, so answers are to the bit the same for all options.
"""

from fractions import Fraction
from functools import lru_cache
from math import inf

import numpy as np

import naive_rays
import pliant as pl
from naive import _cross, _dot, _minus, exact

MARGIN = Fraction(1, 10**13)
LOOSE = 1e-14
TINIEST, MOST = Fraction(5e-324), Fraction(1.7976931348623157e308)
TRAVERSALS = (pl.Traversal(), pl.Traversal(rays="stackless"))
ALL_BITS = 0xFFFFFFFF


# --- the reference ---------------------------------------------------------------------------------------------------------------

@lru_cache(maxsize=20_000)
def _along(corners, origin, direction):
    """All exact hits of triangles (m, 3, 3), before and behind the origin: [(hit, slack of t, slack of weights)]; arrays as bytes.

    Norms are the largest coordinate, which is at most √3 short of the length: less than the room that SLACK has.
    """
    corners, origin, direction = np.frombuffer(corners).reshape(-1, 3, 3), np.frombuffer(origin), np.frombuffer(direction)
    if not naive_rays.is_ray(origin, direction):
        return []
    return [(hit, *_roundings(corners[hit.face], origin, direction))
            for hit in naive_rays.hits(corners, np.arange(3 * len(corners)), origin, direction, -inf, inf)]


def _roundings(corners, origin, direction):
    """(slack of t, slack of weights) of a face that is hit."""
    points, power = exact(np.vstack([origin, corners]))
    way, way_power = exact(direction)
    o, a, b, c = map(tuple, points.tolist())
    d = tuple(way.tolist())
    size, speed = max(abs(x - y) for corner in (a, b, c) for x, y in zip(corner, o, strict=True)), max(map(abs, d))
    rate = abs(_dot(_cross(_minus(b, a), _minus(c, a)), d))
    condition = min(size * size * speed // rate + 1, 10**30)
    return MARGIN * Fraction(size, speed) * Fraction(2) ** (power - way_power) + 2 * TINIEST, min(1.0, LOOSE * condition + 1e-15)


class Reference:
    """The faces of a body, whose id is 0, or of all bodies of a scene. `same`: for a welded body the vertex that stands for each."""

    def __init__(self, target, masks=None, same=None):
        bodies = {i: target[i] for i in target} if isinstance(target, pl.Scene) else {0: target}
        faces = {i: body.faces if same is None else np.asarray(same)[body.faces] for i, body in bodies.items()}
        self.names = [(i, face) for i in bodies for face in range(len(faces[i]))]
        self.masks = dict.fromkeys(bodies, ALL_BITS) | (masks or {})
        self.corners = np.concatenate([np.zeros((0, 3, 3)), *(body.vertices[faces[i]] for i, body in bodies.items())]).tobytes()

    def known(self, origin, direction, mask=ALL_BITS):
        """{(body, face): (exact hit, slack of t, slack of weights)} of one ray, and all bodies that it sees."""
        rows = _along(self.corners, np.array(origin, np.float64).tobytes(), np.array(direction, np.float64).tobytes())
        named = ((self.names[row[0].face], row) for row in rows)
        return {(i, face): row for (i, face), row in named if mask & self.masks[i]}


# --- the comparison --------------------------------------------------------------------------------------------------------------

def assert_form(found, n):
    """The arrays of `cast` are what is promised."""
    assert len(found) == n
    assert (found.t.shape, found.face.shape, found.body.shape, found.uv.shape, found.hit.shape) == ((n,), (n,), (n,), (n, 2), (n,))
    assert (found.t.dtype, found.face.dtype, found.body.dtype, found.uv.dtype) == (np.float64, np.int32, np.int64, np.float64)
    assert found.hit.dtype == np.bool_
    assert found.hit.tolist() == (found.face >= 0).tolist()
    missed = ~found.hit
    assert (found.t[missed] == inf).all() and (found.face[missed] == -1).all() and (found.body[missed] == -1).all()
    assert (found.uv[missed] == 0).all() and (found.body[found.hit] >= 0).all()
    assert isinstance(found.stats, pl.Stats) and all(type(number) is int for number in found.stats)


def assert_all_form(found, n):
    """Those of `cast_all`, and that they are sorted, with each face once a ray."""
    m = len(found.ray)
    assert (found.ray.shape, found.t.shape, found.face.shape, found.body.shape, found.uv.shape) == ((m,), (m,), (m,), (m,), (m, 2))
    assert (found.ray.dtype, found.t.dtype, found.face.dtype, found.body.dtype) == (np.int64, np.float64, np.int32, np.int64)
    assert found.uv.dtype == np.float64
    rows = list(zip(found.ray.tolist(), found.t.tolist(), found.body.tolist(), found.face.tolist(), strict=True))
    assert rows == sorted(rows)
    assert len({(ray, body, face) for ray, _, body, face in rows}) == m
    assert all(0 <= ray < n for ray, *_ in rows)


def assert_same(found, expected):
    """Two answers of `cast`, or two of `cast_all`: the same to the bit (but 0 is −0). Counters may differ."""
    for name in ("ray", "face", "body", "t", "uv"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


def assert_near(row, t, uv):
    """A rounded hit is as near its exact one as promised."""
    hit, margin, loose = row
    off = abs(Fraction(t) - hit.t)
    assert off <= margin, f"t is {t}, exactly {float(hit.t)}, off by {float(off / margin):.1f} margins"
    (u, v), exact = uv, (float(hit.u), float(hit.v))
    assert u >= 0 and v >= 0 and u + v <= 1 + 1e-15, f"weights {u}, {v}"
    assert max(abs(u - exact[0]), abs(v - exact[1])) <= loose, f"weights {u}, {v}, exactly {exact}, ± {loose}"


def assert_rays(target, origins, directions, t_min=0.0, t_max=inf, mask=None, masks=None, same=None):
    """All questions about these rays, answered as the reference does, in both traversals; the answer of `cast`.

    A body is asked before anybody looks at its vertices. `masks`: those of the bodies of a scene, {id: mask}, where not all ones.
    Rays that hit something at a t beyond float64 are asked and not compared.
    """
    limits = {"t_min": t_min, "t_max": t_max, **({} if mask is None else {"mask": mask})}
    first, *others = (pl.cast(target, origins, directions, traversal=how, **limits) for how in TRAVERSALS)
    every, blocked = pl.cast_all(target, origins, directions, **limits), pl.occluded(target, origins, directions, **limits)
    reference = Reference(target, masks, same)
    origins, directions = np.broadcast_arrays(np.asarray(origins, np.float64), np.asarray(directions, np.float64))
    n = len(origins)
    assert_form(first, n)
    for other in others:
        assert_form(other, n)
        assert_same(other, first)
    assert_all_form(every, n)
    assert blocked.shape == (n,) and blocked.dtype == np.bool_
    low, high = (np.broadcast_to(np.asarray(limit, np.float64), (n,)).tolist() for limit in (t_min, t_max))
    bits = np.broadcast_to(np.asarray(ALL_BITS if mask is None else mask, object), (n,)).tolist()
    ends = np.searchsorted(every.ray, np.arange(n + 1))
    for k in range(n):
        at = slice(ends[k], ends[k + 1])
        assert_ray(reference.known(origins[k], directions[k], bits[k]), low[k], high[k],
                   list(zip(every.body[at].tolist(), every.face[at].tolist(), every.t[at].tolist(), every.uv[at].tolist(), strict=True)),
                   (first.body[k].item(), first.face[k].item(), first.t[k].item(), first.uv[k].tolist()), bool(blocked[k]),
                   f"ray {k}: {origins[k].tolist()} + t {directions[k].tolist()}, t in [{low[k]}, {high[k]}]")
    return first


def assert_ray(right, low, high, rows, one, blocked, name):
    """One ray: `right` as `Reference.known` gives it; `rows` and `one`, (body, face, t, uv), as `cast_all` and `cast` give them."""
    if any(abs(hit.t) + margin > MOST for hit, margin, _ in right.values()):
        return
    may = {key for key, (hit, margin, _) in right.items() if low <= hit.t + margin and hit.t - margin <= high}
    must = {key for key, (hit, margin, _) in right.items() if low <= hit.t - margin and hit.t + margin <= high}
    found = {(body, face) for body, face, _, _ in rows}
    assert must <= found, f"{name}: misses {len(must - found)} of {len(must)} faces (body, face), as {min(must - found)}"
    assert found <= may, f"{name}: {len(found - may)} faces that are not hit, as {min(found - may)}"
    for body, face, t, uv in rows:
        assert low <= t <= high, f"{name}: body {body}, face {face} at {t}"
        try:
            assert_near(right[body, face], t, uv)
        except AssertionError as error:
            raise AssertionError(f"{name}: body {body}, face {face}: {error}") from None
    assert one == (rows[0] if rows else (-1, -1, inf, [0.0, 0.0])), f"{name}: cast and cast_all differ"
    assert blocked == bool(rows), f"{name}: occluded says {blocked}, cast_all finds {len(rows)} faces"


# --- rays to ask with ------------------------------------------------------------------------------------------------------------

def edges_of(faces):
    """(e, 2): the edges of all faces, each once."""
    return np.unique(np.sort(np.asarray(faces)[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)


def targets_on(vertices, faces):
    """Points (k, 3) of a mesh: all vertices, all middles of edges and of faces, rounded."""
    edges = edges_of(faces)
    return np.vstack([vertices, (vertices[edges[:, 0]] + vertices[edges[:, 1]]) / 2, vertices[faces].mean(axis=1)])


def some_rays(vertices, faces, rng, n, stretch=1.0):
    """n rays around and into a mesh, from places up to `stretch` of its size away: at vertices, edges and faces, and past them. The first
    starts inside, the second goes away from it."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    size = (high - low).max()
    origins = rng.uniform(low - stretch * size, high + stretch * size, (n, 3))
    origins[::3] = (low + high) / 2 + rng.uniform(-0.1, 0.1, (len(origins[::3]), 3)) * size
    aims = targets_on(vertices, faces)
    aims = aims[rng.integers(0, len(aims), n)]
    aims[::4] = rng.uniform(low - size, high + size, (len(aims[::4]), 3))
    origins[1:2], aims[1:2] = high + 0.25 * size, high + 0.75 * size
    return origins, (aims - origins) * 10.0 ** rng.uniform(-2, 2, (n, 1))


def both(found):
    """Some rays hit and some miss, or the test says nothing."""
    return 0 < int(found.hit.sum()) < len(found)
