"""Rays that inexact tests find hard: through vertices and along edges, in planes of faces, at degenerate, tiny, huge and far faces."""

from fractions import Fraction
from itertools import product

import numba
import numpy as np
import pytest

import adversarial
import meshes
import pliant as pl
from pliant import shapes
from ray_checks import assert_rays, both, edges_of, some_rays, targets_on
from test_naive_rays import WRITTEN, aimed

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
INF, TINIEST, MOST = np.inf, 5e-324, 1.7976931348623157e308
UP = 2.0**-52
UPWARD, AXES = np.array([0.0, 0.0, 1.0]), np.vstack([np.eye(3), -np.eye(3)])


# --- single faces ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("corners", "origin", "direction", "right"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_written_answers(corners, origin, direction, right):
    """Those of the reference, in all orders of corners; a t beyond float64 may be anything but a crash."""
    for faces in ([[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]]):
        body = pl.Body(corners, faces)
        found = assert_rays(body, [origin], [direction], -INF, INF)
        if right is None:
            assert not found.hit[0]
        elif abs(Fraction(right[0])) < MOST:
            assert found.hit[0]
            assert found.t[0] == pytest.approx(float(Fraction(right[0])), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("kind", adversarial.KINDS)
def test_hard_triangles(kind, kept):
    """Soups of triangles of every hard kind; rays at their corners, edges and insides, and the same rays at the others."""
    triangles, origins, directions = aimed(kind, 2 if OFF else 40, 51)
    body = pl.Body(*meshes.soup(triangles), **kept)
    assert_rays(body, origins, directions, -INF, INF)
    assert_rays(body, origins, -directions)


def test_hard_triangles_one_at_a_time():
    """A body of one face follows: float32 sees each at its own scale. Many hits and many misses of every kind that has both."""
    body = pl.Body(np.eye(3), [[0, 1, 2]])
    for kind in ("near", "needle", "sliver", "far", "tiny", "huge", "mixed", "coplanar_rotated", "lattice"):
        hits = []
        for corners, origin, direction in zip(*aimed(kind, 3 if OFF else 100, 52), strict=True):
            body.update(corners)
            hits.append(bool(assert_rays(body, [origin], [direction], -INF, INF).hit[0]))
        assert OFF or 0 < sum(hits) < len(hits), kind


def test_degenerate_faces_are_never_hit_and_their_neighbours_are(kept):
    """A face without area on an edge that two others share, and one of a single point at their corner."""
    vertices = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [-4, 0, 0], [0, 2, 0]], float)
    body = pl.Body(vertices, [[0, 2, 4], [0, 0, 0], [4, 4, 2], [0, 1, 2], [0, 2, 3], [2, 0, 2]], **kept)
    points = np.array([[0, 0, -1], [0, 1, -1], [0, 2, -1], [0, 4, -1], [1, 1, -1], [-1, 1, -1], [0, 5, -1]], float)
    found = assert_rays(body, points, [0, 0, 1])
    assert found.face.tolist() == [3, 3, 3, 3, 3, 4, -1]
    every = pl.cast_all(body, points, [0, 0, 1])
    assert sorted(set(every.face.tolist())) == [3, 4]
    assert every.ray.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    flat = pl.Body(vertices * [0, 1, 0], body.faces, **kept)            # all faces have no area
    assert not assert_rays(flat, points, [0, 0, 1]).hit.any()


# --- rays in planes ----------------------------------------------------------------------------------------------------------------

def test_rays_in_the_plane_of_a_sheet():
    """They hit nothing of it, whether they go along edges or across faces; a hair above they do neither; leaning on it they do."""
    n = 2 if OFF else 8
    vertices, faces = shapes.sheet(n, n)
    body = pl.Body(vertices, faces)
    across = np.column_stack([np.full(2 * n + 1, -1.0), np.linspace(0, 1, 2 * n + 1), np.zeros(2 * n + 1)])
    assert not assert_rays(body, across, [1, 0, 0]).hit.any()
    assert not assert_rays(body, across[:, [1, 0, 2]], [0, 1, 0]).hit.any()
    assert not assert_rays(body, across, [1, 1, 0]).hit.any()
    assert not assert_rays(body, across + TINIEST * UPWARD, [1, 0, 0]).hit.any()
    assert assert_rays(body, across + 0.5 * UPWARD, [1.5, 0, -0.5]).hit.all()
    assert assert_rays(body, across + TINIEST * 2**10 * UPWARD, [1.5, 0, -TINIEST * 2**10]).hit.all()


def test_rays_in_planes_of_a_cube():
    """Along its faces and edges: the faces they lie in are not hit, those they run into are."""
    vertices, faces = meshes.cube()
    body = pl.Body(vertices, faces)
    points = np.array(list(product((0.0, 0.5, 1.0), repeat=2)))
    for axis in range(3):
        origins = np.insert(points, axis, -1.0, axis=1)
        every = pl.cast_all(body, origins, np.eye(3)[axis])
        found = assert_rays(body, origins, np.eye(3)[axis])
        assert found.hit.all()
        assert found.t.tolist() == pytest.approx([1.0] * len(origins))
        assert set(np.rint(every.t).tolist()) == {1.0, 2.0}
        assert (vertices[faces[every.face]][:, :, axis] == np.rint(every.t)[:, None] - 1).all()
        assert both(assert_rays(body, origins + 1e-3, np.eye(3)[axis]))


def test_a_grid_of_rays_at_a_grid_of_vertices():
    """Every vertex, edge and diagonal of a lattice, hit and grazed from above and from the side."""
    n = 1 if OFF else 3
    vertices, faces = shapes.sheet(n, n)
    vertices = vertices * n + UPWARD
    body = pl.Body(vertices, faces)
    points = np.array(list(product(np.arange(-1.0, 2 * n + 2) / 2, repeat=2)))
    origins = np.column_stack([points, np.zeros(len(points))])
    for direction in ([0, 0, 1], [1, 0, 1], [-1, 2, 4], [0, -1, 2])[:2 if OFF else 4]:
        assert both(assert_rays(body, origins, direction))


# --- sizes and places --------------------------------------------------------------------------------------------------------------

PLACES = {"ordinary": (0, 1.0), "far": (2.5e5, 1.0), "very far": (1e12, 1.0), "tiny": (0, 1e-200), "huge": (0, 1e150),
          "small and far": (1.0, 1e-9), "subnormal": (0, 2.0**-1060), "as huge as can be": (0, 4e307), "tiny and far": (1e-190, 1e-200)}


@pytest.mark.parametrize("name", PLACES)
def test_sizes_and_places(name, kept):
    """From around and from inside: at vertices, edges, faces, and past them."""
    offset, size = PLACES[name]
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    origins, directions = some_rays(vertices, faces, np.random.default_rng(53), 4 if OFF else 40, 0.5)
    directions *= 1e-2 if size > 1e300 else 1.0
    body = pl.Body(vertices * size + offset, faces, **kept)
    if size < 1e-300:
        directions = np.rint(directions * 2.0**12) * 2.0**-12           # so that none becomes zero
    assert both(assert_rays(body, origins * size + offset, directions * size))
    assert both(assert_rays(body, origins * size + offset, directions))  # a direction has no size: t does
    assert_rays(body, origins * size, np.full(3, max(offset, size)))
    aims = body.vertices[: len(origins)]
    start = np.full(3, offset) + np.array([0.25, -0.125, 0.0625]) * size
    assert assert_rays(body, start, aims - start).hit.all()


@pytest.mark.parametrize("away", [1e3, 2.5e5, 1e12])
def test_rays_from_afar(away):
    """The mesh at the origin, rays from far away; the other way round; and both far away from zero and from each other."""
    vertices, faces = shapes.icosphere(0 if OFF else 2)
    rng, n = np.random.default_rng(54), 4 if OFF else 30
    aims = targets_on(vertices, faces)
    aims = aims[rng.integers(0, len(aims), n)] * rng.choice([1.0, 0.9, 1.5], (n, 1))
    ways = rng.standard_normal((n, 3))
    origins = ways / np.linalg.norm(ways, axis=1, keepdims=True) * away
    assert OFF or both(assert_rays(pl.Body(vertices, faces), origins, aims - origins))
    body = pl.Body(vertices + origins[0], faces)
    assert_rays(body, np.zeros(3), aims + origins[0])
    assert_rays(body, origins, aims + origins[0] - origins)


@pytest.mark.parametrize("length", [TINIEST, 1e-310, 1e-200, 1e-30, 1e30, 1e200, 1e308])
def test_lengths_of_directions(length):
    """t is in units of the direction, whatever that is; along axes, so that no direction rounds."""
    vertices, faces = meshes.cube((-1, -1, -1), 2.0)
    body = pl.Body(vertices * min(1.0, length * 1e300), faces)
    half = min(1.0, length * 1e300)
    for offset in ([0, 0, 0], [0.25, 0.5, 0.125]):
        found = assert_rays(body, np.array(offset) * half, AXES * length)
        assert found.hit.all()
        away = half * (1 - (AXES @ np.array(offset)))
        assert (found.t * length).tolist() == pytest.approx(away.tolist(), rel=1e-12)
    rng = np.random.default_rng(55)
    slanted = rng.integers(-3, 4, (4 if OFF else 30, 3)) * length if length < 1e308 else AXES * length
    slanted = slanted[np.any(slanted, axis=1)]
    assert assert_rays(body, np.array([0.5, 0.25, 0]) * half, slanted).hit.all()


def test_directions_of_mixed_magnitudes():
    """Components from denormal to huge in one direction."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    rng, body = np.random.default_rng(56), pl.Body(vertices, faces)
    n = 6 if OFF else 80
    directions = rng.choice([0.0, TINIEST, -1e-310, 1e-200, -1e-20, 1.0, -3.0, 1e20, -1e200, 1e300], (n, 3))
    directions = directions[(np.abs(directions) > 1e-250).any(axis=1)]
    assert assert_rays(body, np.array([0.1, 0.2, -0.1]), directions).hit.all()
    origins = rng.choice([-1e-310, 0.0, 0.25, -2.0, 3.0, 1e-200, -1e150], (len(directions), 3))
    assert both(assert_rays(body, origins, directions))


def test_faces_of_mixed_magnitudes():
    """Coordinates from 1e-300 to 1e300 in one mesh."""
    rng, n = np.random.default_rng(57), 6 if OFF else 60
    values = [0.0, TINIEST, 1e-300, 1e-150, 1e-16, 1.0, 1 + UP, 1e16, 1e150, 1e300]
    corners = rng.choice(values, (n, 3, 3)) * rng.choice([-1.0, 1.0], (n, 3, 3))
    body = pl.Body(*meshes.soup(corners))
    origins = rng.choice(values, (n, 3)) * rng.choice([-1.0, 1.0], (n, 3))
    aims = corners[np.arange(n), rng.integers(0, 3, n)]
    assert_rays(body, origins, rng.choice([-1.0, 0.0, 1.0, 1e-100, 1e200], (n, 3)), -INF, INF)
    found = assert_rays(body, origins, (aims / 4 - origins / 4), -INF, INF)
    assert OFF or found.hit.any()


def test_t_is_right_for_faces_of_any_shape():
    """Needles and slivers that the ray all but lies in: `assert_rays` allows 1e-13 of the distance, whatever the shape."""
    rng, n = np.random.default_rng(58), 6 if OFF else 200
    along = rng.standard_normal((n, 3))
    corners = np.stack([along * k for k in (-1.0, 1.0, 2.0)], axis=1)
    corners += rng.standard_normal((n, 3, 3)) * 10.0 ** rng.uniform(-12, -2, (n, 1, 1))
    weights = rng.dirichlet(np.ones(3), n)
    aims = np.einsum("nk,nkd->nd", weights, corners)
    origins = aims - along * rng.uniform(-3, 3, (n, 1)) + rng.standard_normal((n, 3)) * 10.0 ** rng.uniform(-12, 0, (n, 1))
    body, hit = pl.Body(np.eye(3), [[0, 1, 2]]), 0
    for triangle, origin, aim in zip(corners, origins, aims, strict=True):
        body.update(triangle)
        hit += int(assert_rays(body, [origin], [aim - origin], -INF, INF).hit[0])
    assert n / 4 < hit


# --- watertight --------------------------------------------------------------------------------------------------------------------

def shells():
    """Closed meshes around the origin."""
    ball, faces = shapes.icosphere(0 if OFF else 2)
    rng = np.random.default_rng(59)
    return {"cube": meshes.cube((-1, -1, -1), 2.0), "ball": (ball, faces), "bumpy": (shapes.bumpy(ball, 0.7, 0.2), faces),
            "flat": (ball * [1, 1, 1e-9], faces), "turned": (ball @ meshes.rotation([1, 2, 3], 0.5).T * [3, 1, 0.2], faces),
            "rough": (ball * rng.uniform(0.5, 1.5, (len(ball), 1)), faces)}


@pytest.mark.parametrize("away", [0.0, 2.5e5, 1e9])
@pytest.mark.parametrize("name", shells())
def test_nothing_slips_out_of_a_closed_mesh(name, away):
    """From inside through every vertex, every middle of an edge and every face; the reference looks at some of them."""
    vertices, faces = shells()[name]
    if away > 1e6 and name == "flat":
        vertices = vertices * [1, 1, 1e6]                               # or it would have no inside
    offset = away * np.array([1, -1, 0.5])
    body = pl.Body(vertices + offset, faces)
    edges = edges_of(faces)
    assert len(vertices) - len(edges) + len(faces) == 2
    aims = targets_on(body.vertices, faces)
    for start in ([0, 0, 0], [0.1, -0.05, 0.02], [-0.02, 0.1, 0.0])[:1 if OFF else 3]:
        inside = np.array(start) * np.abs(vertices).max(axis=0) * 0.5 + offset
        directions = aims[:: 7 if OFF else 1] - inside
        for factor in (1.0,) if OFF else (1.0, -1.0, 1e-3):
            found = pl.cast(body, inside, directions * factor)
            assert found.hit.all(), f"{(~found.hit).sum()} of {len(found)} rays slip out, as {directions[~found.hit][0]}"
            assert pl.occluded(body, inside, directions * factor).all()
        assert assert_rays(body, inside, directions[:: 4 if OFF else 8]).hit.all()


def test_rays_through_lattice_vertices_and_edges_exactly():
    """A cube of integers cut into many cells: from its middle every vertex is hit exactly, and every face around it tells."""
    n = 2 if OFF else 4
    sheet, cells = shapes.sheet(n, n)
    flat = (np.rint(sheet * n) * 2 - n) * [1, 1, 0]                     # integers from −n to n
    sides = [(np.roll(flat + side * n * UPWARD, axis, axis=1), cells) for axis in range(3) for side in (-1, 1)]
    vertices, faces = meshes.joined(*sides)
    body = pl.Body(vertices, faces)
    found = assert_rays(body, np.zeros(3), vertices)
    assert found.hit.all()
    assert found.t.tolist() == pytest.approx([1.0] * len(vertices), rel=1e-14)
    every = pl.cast_all(body, np.zeros(3), vertices)
    around = [set(np.flatnonzero((vertices[faces] == vertex).all(axis=2).any(axis=1)).tolist()) for vertex in vertices]
    for k, right in enumerate(around):
        assert set(every.face[every.ray == k].tolist()) == right


def test_a_ray_from_very_far_beside_others():
    """Rays are brought to a body in fours; twice as long as the way of the first is no number, and the second has no direction."""
    body, far = pl.Body([[0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]], [[0, 1, 2]]), 2.0**1023
    for beside in ([0, 0, 0], [0, 1.0, 0], [0, 2.0**-900, 0], [2.0**900, 0, 0]):
        found = pl.cast(body, [[far, 0, 0], [far, 0, 0], [9, 9, 9]], [[1.0, 0, 0], [-1.0, 0, 0], beside], t_min=-np.inf)
        assert found.t.tolist() == [-far, far, np.inf]
