"""engine="image" on meshes that are hard: degenerate, touching, coplanar, flat, of all sizes and places, empty; against the reference."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from screens import assert_engine, assert_engine_self
from test_screen import MOST, TINIEST, TRIANGLE, extreme, lattice

import adversarial
import meshes
import naive
import pliant as pl
from pliant import shapes
from trials import OFF, often

pytestmark = pytest.mark.formulas
NONE = np.zeros((0, 2), np.int32)
EMPTY = np.zeros((0, 3)), np.zeros((0, 3), np.int32)


# --- any meshes -----------------------------------------------------------------------------------------------------------------

@st.composite
def mesh(draw, coordinate, most=8):
    """Up to `most` faces over a few vertices: degenerate and repeated ones, and repeated vertices, are common."""
    n = draw(st.integers(1, most))
    vertices = np.array(draw(st.lists(st.tuples(*[coordinate] * 3), min_size=n, max_size=n)), np.float64)
    corner = st.integers(0, n - 1)
    return vertices, np.array(draw(st.lists(st.tuples(corner, corner, corner), max_size=most)), np.int32).reshape(-1, 3)


options = st.fixed_dictionaries({"resolution": st.sampled_from([1, 2, 3, 7, 64]),
                                 "direction": st.sampled_from([None, None, (0, 0, 1), (1, 1, 1), (3, -1, 2)])})


@often(150)
@given(mesh(lattice), mesh(lattice), options)
def test_lattice_meshes(a, b, asked):
    assert_engine(a, b, **asked)


@often(150)
@given(mesh(extreme), mesh(extreme), options)
@example((np.array([[2.0, TINIEST, 0.0]]), np.zeros((1, 3), np.int32)), (np.array([[2.0, TINIEST, 0.0]]), np.zeros((1, 3), np.int32)),
         {"resolution": 7})
def test_any_finite_float64(a, b, asked):
    assert_engine(a, b, **asked)


@often(100)
@given(st.one_of(mesh(lattice), mesh(extreme, 6)), options)
def test_meshes_with_themselves(a, asked):
    assert_engine_self(a, **asked)


@often(60)
@given(mesh(lattice), mesh(lattice), st.tuples(*[st.integers(-(2**48), 2**48)] * 3), st.integers(-1050, 1000))
def test_moves_and_sizes_that_are_exact_change_nothing(a, b, offset, power):
    right = naive.collide(*a, *b)
    assert_engine(*((vertices + np.array(offset, np.float64), faces) for vertices, faces in (a, b)), right, resolution=16)
    assert_engine(*((vertices * 2.0**power, faces) for vertices, faces in (a, b)), right, resolution=16)


@pytest.mark.parametrize("kind", ["edge", "near", "sliver"] if OFF else sorted(adversarial.KINDS))
def test_hard_pairs_of_triangles(kind):
    """Every pair in a place of its own, so that no other helps it onto the screen."""
    one, other = adversarial.pairs(kind, 2 if OFF else 8, np.random.default_rng(11))
    for p, q in zip(one, other, strict=True):
        expected = np.array([[0, 0]] if naive.triangles_meet_fast(p, q) else [], np.int32).reshape(-1, 2)
        assert_engine((p, TRIANGLE), (q, TRIANGLE), expected, resolution=64, direction=None if kind < "m" else (1, 2, 3))


# --- places and sizes -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["tiny", "huge"] if OFF else meshes.SIZES)
def test_places_and_sizes(name):
    offset, size = meshes.SIZES[name]
    directions, faces = shapes.icosphere(0 if OFF else 1)
    a, b = directions * size + offset, (directions * [0.9, 1.2, 0.7] + 0.3) * size + offset
    asked = {"resolution": 7 if OFF else 100}
    assert_engine((a, faces), (b, faces), **asked)
    assert_engine_self((meshes.pinched(directions, 1.5) * size + offset, faces), **asked)


def test_a_small_body_in_front_of_a_huge_one():
    """Long slivers through a small sphere: on the screen they end farther away than float32 has numbers, and are seen all the same."""
    sphere = shapes.icosphere(0)
    for far, behind in ((100, 85), (90, 105), (20, 20)) if OFF else ((100, 85), (90, 105), (85, 95), (55, 60), (20, 20), (300, 9)):
        for slope in (1, 10, 20):
            along = np.array([1, 2.0**-slope, 2.0 ** -(slope + 3)])
            sliver = np.array([2.0**far * along, -(2.0**behind) * along, -(2.0**behind) * along + [0, 0, 2.0 ** (behind - 3)]]), TRIANGLE
            for direction in ((0, 0, 1), (0, 1, 0)):
                assert_engine(sphere, sliver, direction=direction, resolution=7 if OFF else 100)


def box(low, high):
    vertices, faces = meshes.cube()
    return np.where(vertices > 0.5, np.array(high, np.float64), np.array(low, np.float64)), faces


def test_from_end_to_end_of_float64():
    """Boxes that fill all of space and touch in a plane, or in an edge, or cross."""
    for a, b in ((box([-MOST] * 3, [0, MOST, MOST]), box([0, -MOST, -MOST], [MOST] * 3)),
                 (box([-MOST] * 3, [0, 0, MOST]), box([0, 0, -MOST], [MOST] * 3)),
                 (box([-MOST] * 3, [MOST / 2] * 3), box([-MOST / 2] * 3, [MOST] * 3))):
        assert len(assert_engine(a, b, resolution=7)) > 3
        assert len(assert_engine(a, b, resolution=7, direction=(1, 2, 3))) > 3


# --- touching -------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("low", [(1, 0, 0), (1, 0.5, 0.25), (1, 1, 0), (1, 1, 1), (0, 0, 0), (0.25, 0.25, 1)])
def test_cubes_that_touch(low):
    """In a face, an edge, a corner, or all over; turned by a quarter they have no thickness in common to look through."""
    a, b = meshes.cube(), meshes.cube(low)
    for direction in (None, (0, 0, 1), (1, 0, 0), (1, 1, 0)):
        assert len(assert_engine(a, b, resolution=7, direction=direction))


def test_planes_that_the_rays_meet_at_a_right_angle():
    """Faces in one plane, turned: roundings must not move them apart. Every normal with small integers has such faces."""
    rng, met = np.random.default_rng(2), 0
    for _ in range(10 if OFF else 250):
        normal = rng.integers(-3, 4, 3).astype(float)
        if not normal.any():
            continue
        u = np.cross(normal, [1, 0, 0]) if normal[1:].any() else np.array([0, 1.0, 0])
        v = np.cross(normal, u)
        offset = rng.integers(0, 99, 3)
        a, b = (rng.integers(-9, 10, (3, 1)) * u + rng.integers(-9, 10, (3, 1)) * v + offset for _ in range(2))
        met += len(assert_engine((a, TRIANGLE), (b, TRIANGLE), direction=normal, resolution=3))
    assert met > (2 if OFF else 100)


@pytest.mark.parametrize("direction", [None, (0, 0, 1), (1, 0, 0), (1, 2, 3)])
def test_flat_sheets(direction):
    """In one plane, one over the other, and crossing at a right angle."""
    vertices, faces = shapes.sheet(2, 2) if OFF else shapes.sheet(5, 5)
    for other, meets in ((vertices, True), (vertices + [0.05, 0.03, 0], True), (vertices + [0, 0, TINIEST], False),
                         (vertices + [0, 0, 1e-9], False), (vertices[:, [2, 0, 1]] + [0.5, 0, -0.5], True)):
        found = assert_engine((vertices, faces), (other, faces), resolution=7, direction=direction)
        assert bool(found) == meets
    assert_engine_self((vertices, faces), NONE, resolution=7, direction=direction)


def test_segments_and_points():
    """Degenerate faces are what they span."""
    point, segment = np.full((3, 3), 0.25), np.array([[0, 0, -1], [0.5, 0.5, 1], [0.25, 0.25, 0.0]])
    face = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    flat_point = point * [1, 1, 0]
    for p, q, meets in ((point, segment, False), (flat_point, segment, True), (flat_point, face, True), (segment, face, True),
                        (point, point, True), (point, face, False), (segment, segment, True), (point, flat_point, False)):
        found = assert_engine((p, TRIANGLE), (q, TRIANGLE), resolution=3)
        assert bool(found) == meets


# --- nothing --------------------------------------------------------------------------------------------------------------------

def test_nothing_meets_nothing():
    sheet = shapes.sheet(2, 2)
    unused = np.eye(3), np.zeros((0, 3), np.int32)
    for mode in ("conservative", "sampled"):
        for a, b in ((EMPTY, sheet), (EMPTY, (np.zeros((0, 3)), [])), (unused, sheet), (unused, EMPTY), (pl.Body(*EMPTY), sheet)):
            for found in (pl.collide(a, b, engine="image", mode=mode), pl.collide(b, a, engine="image", mode=mode, first=True)):
                assert (found.faces.shape, found.faces.dtype, found.image.found) == ((0, 2), np.dtype(np.int32), 0)
        for a in (EMPTY, unused, pl.Body(*EMPTY), (np.eye(3), [[0, 1, 2]])):
            assert pl.self_collide(a, engine="image", mode=mode, resolution=5).faces.shape == (0, 2)


def test_vertices_that_no_face_uses():
    """They may widen the window, never the answer."""
    a, b = meshes.cube(), meshes.cube((0.5, 0.5, 0.5))
    far = np.array([[1e300, -1e300, 5], [0, 0, -1e9]])
    right = naive.collide(*a, *b)
    assert_engine((np.vstack([a[0], far]), a[1]), (np.vstack([b[0], far]), b[1]), right, resolution=7)
    assert_engine((np.vstack([far, a[0]]), a[1] + 2), (np.vstack([far, b[0]]), b[1] + 2), right, resolution=7)
