"""`self_collide` around one vertex: fans flat, bent, folded, wound once or more, to the bit or an ulp off, of 1 to 100 faces."""

from functools import cache

import numba
import numpy as np
import pytest

import meshes
import naive
import pliant as pl

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
TINIEST = 5e-324
NONE = np.zeros((0, 2), np.int32)


# --- fans ----------------------------------------------------------------------------------------------------------------------

LIFTS = {
    "flat": lambda angle, k: 0 * angle,
    "cone": lambda angle, k: 0 * angle - 0.5,
    "steep": lambda angle, k: 0 * angle - 100.0,
    "saddle": lambda angle, k: 0.7 * np.cos(2 * angle),
    "pleated": lambda angle, k: 0.4 * (-1.0) ** k,
    "spiral": lambda angle, k: 0.05 * angle,
    "sharp pleats": lambda angle, k: 9.0 * (-1.0) ** k,
}
WAYS = {"closed": (True, 1.0), "open": (False, 0.8), "shut": (False, 1.0), "over": (False, 1.2), "twice": (True, 2.0),
        "open twice": (False, 1.9)}
VALENCES = (1, 2, 3, 5, 7, 8, 9, 14, 15, 20)


@cache
def fan_case(lift, way, n, tilt):
    """A fan, and the right pairs."""
    closed, times = WAYS[way]
    vertices, faces = meshes.fan(meshes.ring(n, closed, times, LIFTS[lift]), closed)
    if tilt:
        vertices = vertices @ meshes.rotation((1, 2, 3), 0.7).T + [0.3, -0.2, 0.1]
    return vertices, faces, naive.self_collide(vertices, faces)


@pytest.mark.parametrize("tilt", [False, True], ids=["along an axis", "tilted"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lift", LIFTS)
def test_fans(lift, way, tilt, kept):
    for n in VALENCES:
        vertices, faces, right = fan_case(lift, way, n, tilt)
        meshes.assert_right_self(pl.Body(vertices, faces, **kept), right)
        if n >= 3 and way in ("closed", "open"):
            assert len(right) == 0
        if way in ("over", "twice", "open twice") and lift == "flat" and not tilt and n >= 5:
            assert len(right) > 0


@pytest.mark.formulas
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lift", ["flat", "cone", "pleated"])
def test_small_fans(lift, way):
    for n in (2, 3, 8):
        vertices, faces, right = fan_case(lift, way, n, True)
        meshes.assert_right_self(pl.Body(vertices, faces), right)


@pytest.mark.parametrize("lift", ["flat", "cone", "saddle"])
@pytest.mark.parametrize("way", ["closed", "open"])
def test_a_hundred_faces_around_a_vertex(lift, way, policy):
    closed, times = WAYS[way]
    vertices, faces = meshes.fan(meshes.ring(100, closed, times, LIFTS[lift]), closed)
    order = np.random.default_rng(61).permutation(100)
    for rows in (vertices, vertices @ meshes.rotation((3, 1, -2), 1.1).T):
        meshes.assert_right_self(pl.Body(rows, faces[order], policy=policy), NONE)


@pytest.mark.parametrize("height", [0.0, -0.5])
def test_a_hundred_faces_twice_around_a_vertex(height):
    vertices, faces = meshes.fan(meshes.ring(100, True, 2.0, height), True)
    assert len(meshes.assert_right_self(pl.Body(vertices, faces))) >= 50


def test_hubs(kept):
    """So many faces at one vertex that nobody keeps a list of their pairs; what they share is found all the same."""
    n, rng = 260, np.random.default_rng(68)
    cone = meshes.fan(meshes.ring(n, True, 1.0, -0.5), True)
    meshes.assert_right_self(pl.Body(cone[0], rng.permutation(cone[1]), **kept), NONE)
    spike = meshes.soup([[[0.5, 0.1, -0.5], [0.5, 0.1, 0.5], [0.6, 0.1, 0.5]]])
    body = pl.Body(*meshes.joined(cone, spike), **kept)
    right = naive.collide(*cone, *spike) + np.array([0, n])
    assert len(right) > 0
    meshes.assert_right_self(body, right)
    meshes.assert_right_self(pl.Body(*meshes.joined(spike, cone), **kept), np.sort((right + 1) % (n + 1)))
    two = meshes.joined(cone, (cone[0] * [1, 1, -1] - [0.1, 0, 0.6], cone[1]))
    crossing = naive.collide(two[0], two[1][:n], two[0], two[1][n:]) + np.array([0, n])
    assert len(crossing) > n
    body = pl.Body(*two, **kept)
    meshes.assert_right_self(body, crossing)
    assert len(pl.self_collide(body, first=True)) == 1


@pytest.mark.parametrize("times", [0.6, 1.0, 1.1, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("n", [6, 7, 8, 13, 14, 15])
def test_fans_that_start_anywhere(times, n):
    """Whichever neighbour is the first, and whatever line through the hub a count of turns is made along."""
    rng, met = np.random.default_rng(62), []
    for closed in (False, True):
        if closed and times != round(times):
            continue
        rim = meshes.ring(n, closed, times, LIFTS["flat"])
        for _ in range(3):
            rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
            vertices, faces = meshes.fan(rim @ rotation.T, closed)
            names = np.roll(np.arange(len(vertices)), int(rng.integers(len(vertices))))
            shuffled = np.empty_like(vertices)
            shuffled[names] = vertices
            corners = rng.permuted(names[faces], axis=1)
            met += [bool(meshes.assert_right_self(pl.Body(shuffled, rng.permutation(corners))))]
    assert any(met) or times < 1.2                                      # rounding may part what lies on itself, but not always
    assert not any(met) or times >= 1.0


PLANES = {"along axes": ([1, 0, 0], [0, 1, 0]), "oblique": ([3, 1, -2], [-1, 4, 2]), "far": ([2**20, 0, 3], [5, -(2**20), 7])}


@pytest.mark.formulas
@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("n", [4, 7, 8, 9, 16])
def test_fans_exactly_in_a_plane(plane, n, kept):
    """Integers: a fan ends on its own beginning, lies on itself, or reaches the next quarter, to the bit."""
    basis = np.array(PLANES[plane], np.float64)
    path = meshes.square_path(n) @ basis
    for away in (0.0, 1e6):
        body = pl.Body(*meshes.fan(path + away, False, [away] * 3), **kept)
        assert bool(meshes.assert_right_self(body)) == (n >= 8)         # from 8 faces on the ends touch, from 9 on faces overlap
    if n == 8:
        assert not meshes.assert_right_self(pl.Body(*meshes.fan(path[:-1], True), **kept))
    if n == 16:
        assert len(meshes.assert_right_self(pl.Body(*meshes.fan(path[:-1], True), **kept))) >= 8


FOLDS = {
    "along a spoke": lambda v: np.column_stack([np.abs(v[:, 0]), v[:, 1], v[:, 2]]),
    "in quarters": lambda v: np.column_stack([np.abs(v[:, 0]), np.abs(v[:, 1]), v[:, 2]]),
    "onto one line": lambda v: v * [1, 0, 0],
    "onto one point": lambda v: 0 * v,
    "onto one ray": lambda v: np.abs(v) * [1, 0, 0],
    "mirrored": lambda v: v * [-1, 1, 1],
}


@pytest.mark.formulas
@pytest.mark.parametrize("name", FOLDS)
def test_folded_fans(name, kept):
    for n, closed in ((4, False), (7, False), (8, True)):
        path = np.column_stack([meshes.square_path(n), np.zeros(n + 1)])
        vertices, faces = meshes.fan(path[:-1] if closed else path, closed)
        vertices = FOLDS[name](vertices)
        meshes.assert_right_self(pl.Body(vertices, faces, **kept))
        meshes.assert_right_self(pl.Body(vertices @ np.array([[3.0, 1, -2], [-1, 4, 2], [0, 0, 1]]), faces, **kept))


@pytest.mark.parametrize("name", ["whole", *FOLDS])
@pytest.mark.parametrize("tilt", [False, True], ids=["along an axis", "tilted"])
def test_fans_an_ulp_off(name, tilt):
    """Every coordinate moved by an ulp or not: neighbours that nearly lie on each other, and no bound may mistake which way."""
    rng = np.random.default_rng(63)
    met = 0
    for turn in range(30):
        n = int(rng.integers(4, 10))
        path = np.column_stack([meshes.square_path(n), np.zeros(n + 1)])
        vertices, faces = meshes.fan(path, False)
        vertices = (FOLDS[name](vertices) if name in FOLDS else vertices) + (0.1 if turn % 2 else 0.0)
        if tilt:
            vertices = vertices @ meshes.rotation(rng.standard_normal(3), rng.uniform(0, 3)).T
        toward = rng.choice([-np.inf, np.inf], vertices.shape)
        vertices = np.where(rng.random(vertices.shape) < 0.3, np.nextafter(vertices, toward), vertices)
        met += bool(meshes.assert_right_self(pl.Body(vertices, faces)))
    assert met > 0


@pytest.mark.parametrize("away", [30.0, 1e3, 1e5, 1e9])
def test_fans_seen_from_far_away(away):
    """Origins so far away that float32 rounds a lot: what it cannot tell, it must not claim."""
    rng = np.random.default_rng(64)
    for turn in range(40):
        n = int(rng.integers(3, 16))
        closed = bool(turn % 2)
        rim = meshes.ring(n, closed, rng.choice([1.0, 2.0]) if closed else rng.uniform(0.5, 1.5), LIFTS["flat"])
        rim = (rim + 10.0 ** rng.uniform(-8, -1) * rng.standard_normal(rim.shape)) * rng.choice([1.0, 1e-2])
        vertices, faces = meshes.fan(rim, closed)
        meshes.assert_right_self(pl.Body(vertices, faces, origin=rng.standard_normal(3) * away))


def test_slender_fans():
    """Faces that hardly open, overlapping or not."""
    rng = np.random.default_rng(65)
    for _ in range(60):
        n = int(rng.integers(2, 12))
        angle = np.cumsum(rng.choice([1.0, 1.0, 1.0, -0.5], n + 1)) * 10.0 ** rng.uniform(-16, -1)
        rim = np.column_stack([np.cos(angle), np.sin(angle), 1e-9 * rng.standard_normal(n + 1) * rng.choice([0.0, 1.0])])
        meshes.assert_right_self(pl.Body(*meshes.fan(rim @ np.linalg.qr(rng.standard_normal((3, 3)))[0], False)))


# --- sizes ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("size", [TINIEST, 1e-300, 1e300, 2.0**1022])
def test_extreme_fans_and_folds(size, kept):
    path = np.column_stack([meshes.square_path(9), np.zeros(10)])
    for rows in (path, FOLDS["along a spoke"](path), path @ np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]]) / 2):
        meshes.assert_right_self(pl.Body(*meshes.fan(np.round(rows) * size / 2 if size > 1 else np.round(rows) * size, False), **kept))


@pytest.mark.formulas
def test_magnitudes_within_one_mesh(kept):
    """A fan whose spokes are of all lengths, once around and then some; spokes of 1e-300 and 1e300 at one hub."""
    n = 9
    sizes = 10.0 ** np.array([-320, 300, -300, 0, 200, -10, 3, -100, 40, -320.0])
    for times in (0.9, 1.2):
        rim = meshes.ring(n, False, times, LIFTS["flat"]) * sizes[:, None]
        meshes.assert_right_self(pl.Body(*meshes.fan(rim, False), **kept))
        meshes.assert_right_self(pl.Body(*meshes.fan(rim @ meshes.rotation((1, 2, 3), 0.7).T, False), **kept))
