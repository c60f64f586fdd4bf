"""Slab cut balls in 26 bytes: whatever is packed is enclosed by what is unpacked, in rational arithmetic."""

from fractions import Fraction
from math import isqrt

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import Body, shapes
from pliant.volume.quantized import PACKED_DTYPE, UNITS_PER_RADIUS, pack, unpack
from pliant.volume.slabcutball import EMPTY, SlabCutBall, volume
from siblings import exact, in_cut_ball

pytestmark = pytest.mark.formulas
OFF = bool(numba.config.DISABLE_JIT)
SINGLE = st.floats(-(2.0**36), 2.0**36, width=32)


def one(volumes, k):
    return SlabCutBall(*(np.float32(row[k]) for row in volumes))


def extreme_points(v, other, rng):
    """Exact points of v: on its planes and between them, at their rims, towards where the normal of the other leans and elsewhere."""
    if not 0 <= v.radius < np.inf:
        return []
    c, n, r, found = exact(map(float, v[:3])), exact(map(float, v[4:7])), Fraction(float(v.radius)), []
    square = sum(x * x for x in n)
    if not square:
        return [p for p in [c] if in_cut_ball(v, p)]
    for height in (*exact(map(float, v[7:9])), Fraction(float(v.f) + float(v.e)) / 2, Fraction(0), r, -r):
        for way in ([float(x) for x in other[4:7]], *rng.standard_normal((2, 3)).tolist()):
            side = cross(n, cross(exact(way), n))                       # across n, in the plane of both
            room = r * r - height * height / square
            if room < 0 or not any(side):
                continue
            out = root_below(room / sum(x * x for x in side))
            found += [tuple(a + height / square * b + sign * out * d for a, b, d in zip(c, n, side, strict=True)) for sign in (1, -1)]
    return [p for p in [*found, c] if in_cut_ball(v, p)]


def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def root_below(x):
    """The square root of a fraction to 60 bits or so, and no more than it."""
    shift = max(0, 128 - (x.numerator.bit_length() - x.denominator.bit_length())) // 2
    return Fraction(isqrt((x.numerator << 2 * shift) // x.denominator), 1 << shift)


def assert_encloses(volumes, rng, every=1):
    """Every point that is found in what was packed is in what is unpacked; how many there were."""
    made, total = unpack(pack(volumes)), 0
    assert all(row.dtype == np.float32 for row in made)
    for name in ("x", "y", "z", "radius"):
        np.testing.assert_array_equal(getattr(made, name), getattr(volumes, name))
    lengths = np.linalg.norm(np.float64([made.nx, made.ny, made.nz]), axis=0)
    np.testing.assert_allclose(lengths, 1, rtol=0, atol=2.0**-23)
    for k in range(0, len(volumes.x), every):
        v, w = one(volumes, k), one(made, k)
        points = extreme_points(v, w, rng)
        assert all(in_cut_ball(w, p) for p in points), (v, w)
        total += len(points)
    return total


def some(rng, n, thickness=None, size=None):
    """Slab cut balls of many sizes; thickness of the slab as a share of the radius."""
    size = 10.0 ** rng.uniform(-6, 6, n) if size is None else np.full(n, size)
    normal = rng.standard_normal((n, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    radius = np.float32(size * rng.uniform(0.1, 1, n))
    middle, half = rng.uniform(-1.05, 1.05, n), 10.0 ** rng.uniform(-9, 0.3, n) if thickness is None else np.full(n, thickness)
    f, e = np.clip(middle - half, -1, 1) * radius, np.clip(middle + half, -1, 1) * radius
    return SlabCutBall(*np.float32(rng.standard_normal((3, n)) * size), radius, *np.float32(normal.T), np.float32(f), np.float32(e))


def test_26_bytes():
    assert PACKED_DTYPE.itemsize == 26
    assert pack(some(np.random.default_rng(1), 7)).nbytes == 7 * 26


@pytest.mark.parametrize("size", [None, 2.0**-149, 1e-44, 1e-38, 1e-30, 2.0**36, 1e38])
@pytest.mark.parametrize("thickness", [None, 0.0, 1e-7, 0.5, 2.0])
def test_what_is_packed_is_enclosed(thickness, size):
    rng, n = np.random.default_rng(2), 5 if OFF else 60
    with np.errstate(under="ignore", over="ignore"):
        assert assert_encloses(some(rng, n, thickness, size), rng) > n


NORMALS = st.tuples(*[st.floats(-1, 1, width=32)] * 3)


@settings(max_examples=20 if OFF else 300, deadline=None)
@given(st.tuples(SINGLE, SINGLE, SINGLE), st.floats(0, 2.0**36, width=32), NORMALS, st.floats(-1.5, 1.5), st.floats(-1.5, 1.5))
def test_any_slab(centre, radius, normal, f, e):
    """Normals of any length, none at all; slabs beyond the ball, or empty."""
    with np.errstate(under="ignore"):
        v = SlabCutBall(*np.float32([*centre, radius, *normal, min(f, e) * radius, max(f, e) * radius])[:, None])
    assert_encloses(v, np.random.default_rng(3))


def test_rim_and_axes():
    """Normals along axes and diagonals, planes that touch the ball, thin slabs at the rim: where nothing is left to give away."""
    rng, rows = np.random.default_rng(4), []
    for normal in ([0, 0, 1], [-1, 0, 0], [0.6, 0, 0.8], [3**-0.5] * 3, [1, 1e-6, -3e-5], [2e-5, 1, 2e-5]):
        unit = np.float32(np.array(normal) / np.linalg.norm(normal))
        for f, e in ((-1, 1), (1, 1), (-1, -1), (0, 0), (0.99999, 1), (-1, -0.999999), (1 - 2.0**-24, 1), (0.5, 0.5)):
            rows.append([0, 0, 0, 3, *unit, 3 * f, 3 * e])
    assert assert_encloses(SlabCutBall(*np.float32(rows).T), rng) > len(rows)


def test_nothing_stays_nothing_and_everything_everything():
    made = unpack(pack(EMPTY))
    assert all(x == y for x, y in zip(made, EMPTY, strict=True))
    made = unpack(pack(EMPTY._replace(radius=np.float32(np.inf), f=np.float32(-5), e=np.float32(7))))
    assert (made.radius, made.f, made.e) == (np.inf, -np.inf, np.inf)
    point = unpack(pack(SlabCutBall(1, 2, 3, 0, 1, 0, 0, 0, 0)))
    assert (point.f, point.e) == (0, 0)


def test_what_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match=r"volumes: nx is not a number at \[1\]"):
        pack(some(np.random.default_rng(5), 3)._replace(nx=np.float32([0, np.nan, 1])))


def test_little_is_given_away():
    """A direction to 1e-5, planes to a unit or two; and packing again changes next to nothing."""
    rng = np.random.default_rng(6)
    v = some(rng, 2000, size=1.0)
    w = unpack(pack(v))
    angle = np.linalg.norm(np.cross(np.float64([v.nx, v.ny, v.nz]).T, np.float64([w.nx, w.ny, w.nz]).T), axis=1)
    assert angle.max() < 2e-5 and angle.mean() < 8e-6
    unit = v.radius / UNITS_PER_RADIUS
    assert (np.abs(w.e - v.e) <= 2 * unit).all() and (np.abs(w.f - v.f) <= 2 * unit).all()
    assert (w.e >= v.e - angle**2 * v.radius - 1e-7 * v.radius).all()
    again = pack(w)
    assert (np.abs(again["e"].astype(int) - pack(v)["e"]) <= 1).all()


def test_volumes_of_a_tree():
    """As records of a body have them, shapes kept."""
    vertices, faces = shapes.icosphere(1 if OFF else 2)
    body = Body.rigid(vertices, faces, volume="slabcutball", leaf=1)
    shape = body._bvh_at(body._motion.scale)
    shape.refit()
    made = unpack(pack(shape.nodes["lanes"]))
    assert made.e.shape == shape.nodes["lanes"]["e"].shape
    used = np.arange(shape.tree.width) < shape.tree.count[:, None]
    volumes = SlabCutBall(*(shape.nodes["lanes"][name][used] for name in SlabCutBall._fields))
    assert assert_encloses(volumes, np.random.default_rng(7), 3) > 0
    assert (volume(SlabCutBall(*(row[used] for row in made))) >= volume(volumes) * (1 - 1e-6)).all()


def test_it_takes_the_widening():
    """The test can fail: planes that are only rounded outward, not widened for the normal, leave points outside."""
    rng, lost = np.random.default_rng(8), 0
    volumes = some(rng, 10 if OFF else 40, 1e-6, 1.0)
    made = pack(volumes)
    made["f"], made["e"] = np.floor(volumes.f / volumes.radius * UNITS_PER_RADIUS), np.ceil(volumes.e / volumes.radius * UNITS_PER_RADIUS)
    short = unpack(made)
    for k in range(len(volumes.x)):
        lost += any(not in_cut_ball(one(short, k), p) for p in extreme_points(one(volumes, k), one(short, k), rng))
    assert lost > 0
