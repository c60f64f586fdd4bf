"""`self_collide` against the reference on random small meshes, in which degenerate, doubled and touching neighbours are common."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import meshes
import naive
import pliant as pl
from pliant.errors import MeshError
from strategies import extreme, lattice, mesh, options, positions
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))

BOWTIE = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [1, 1, 0], [3, 3, 1.0]]), np.array([[0, 1, 2], [0, 3, 4], [3, 4, 4]], np.int32)


# --- one mesh ------------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@often(200)
@given(mesh(lattice, 9), options)
@example(BOWTIE, {})
def test_lattice_meshes(given_mesh, kept):
    meshes.assert_right_self(pl.Body(*given_mesh, **kept))


@often(100)
@given(mesh(extreme, 6), options)
def test_any_finite_float64(given_mesh, kept):
    meshes.assert_right_self(pl.Body(*given_mesh, **kept))


@often(300)
@given(st.data(), st.integers(0, 2), options)
def test_two_neighbours(data, shared, kept):
    """Two faces that share one vertex, two, or none, on a tiny lattice."""
    vertices = data.draw(positions(st.integers(-1, 1).map(float), 6))
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    faces[1, :shared] = faces[0, :shared]
    meshes.assert_right_self(pl.Body(vertices, faces[::data.draw(st.sampled_from([-1, 1]))], **kept))


@pytest.mark.parametrize("side", [2, 3, 5])
def test_random_lattices(side, kept):
    """Larger than Hypothesis makes them: several leaves, faces of all kinds."""
    rng = np.random.default_rng(71 + side)
    for _ in range(1 if OFF else 6):
        n, m = int(rng.integers(5, 20)), 6 if OFF else 24
        vertices, faces = rng.integers(0, side, (n, 3)).astype(np.float64), rng.integers(0, n, (m, 3))
        faces[-1] = faces[0][::-1]
        body = pl.Body(vertices, faces, **kept)
        assert len(meshes.assert_right_self(body)) > 0
        body.update(rng.integers(0, side, (n, 3)) * 0.1)                # no longer exact: what was on a line is so but for rounding
        meshes.assert_right_self(body)


# --- the same mesh otherwise -----------------------------------------------------------------------------------------------------

@often(150)
@given(st.data(), mesh(lattice, 9), options)
def test_names_do_not_matter(data, given_mesh, kept):
    """Vertices, faces and corners in another order: the same pairs, under their new names."""
    vertices, faces = given_mesh
    of_vertices = np.array(data.draw(st.permutations(range(len(vertices)))), int)
    of_faces = np.array(data.draw(st.permutations(range(len(faces)))), int)
    moved, corners = np.empty_like(vertices), np.empty_like(faces)
    moved[of_vertices] = vertices
    corners[of_faces] = of_vertices[faces]
    for row in range(len(corners)):
        corners[row] = np.roll(corners[row, ::data.draw(st.sampled_from([-1, 1]))], data.draw(st.integers(0, 2)))
    pairs = pl.self_collide(pl.Body(vertices, faces, **kept)).faces
    renamed = np.sort(of_faces[pairs].reshape(-1, 2), axis=1)
    renamed = renamed[np.lexsort((renamed[:, 1], renamed[:, 0]))]
    assert pl.self_collide(pl.Body(moved, corners, **kept)).faces.tolist() == renamed.tolist()


@often(100)
@given(mesh(lattice, 7), st.tuples(*[st.integers(-(2**48), 2**48)] * 3), st.integers(-1050, 1000))
def test_moves_and_sizes_that_are_exact_change_nothing(given_mesh, offset, power):
    vertices, faces = given_mesh
    right = naive.self_collide(vertices, faces)
    moved = vertices + np.array(offset, np.float64)
    assert all(Fraction(x) == Fraction(v) + o for row, old in zip(moved.tolist(), vertices.tolist(), strict=True)
               for x, v, o in zip(row, old, offset, strict=True))
    meshes.assert_right_self(pl.Body(moved, faces), right)
    meshes.assert_right_self(pl.Body(vertices * 2.0**power, faces), right)


@often(100)
@given(mesh(lattice, 8), options)
def test_without_shared_vertices_it_is_collide(given_mesh, kept):
    """Every face with vertices of its own: what a body and its copy have, less a face and its own copy."""
    vertices, faces = given_mesh
    soup = meshes.soup(vertices[faces])
    both = pl.collide(pl.Body(*soup, **kept), pl.Body(*soup, **kept)).faces
    body = pl.Body(*soup, **kept)
    for adjacent in ("exact", "ignore"):
        assert pl.self_collide(body, adjacent=adjacent).faces.tolist() == both[both[:, 0] < both[:, 1]].tolist()


@often(100)
@given(mesh(lattice, 8), options)
def test_first_is_one_of_all(given_mesh, kept):
    body = pl.Body(*given_mesh, **kept)
    for adjacent in ("exact", "ignore"):
        right = pl.self_collide(body, adjacent=adjacent).faces.tolist()
        found = pl.self_collide(body, adjacent=adjacent, first=True).faces.tolist()
        assert len(found) == min(len(right), 1)
        assert all(pair in right for pair in found)


# --- the same mesh later ---------------------------------------------------------------------------------------------------------

STEPS = ("update", "borrow", "refuse", "ask", "ask first", "ask another")


@often(120)
@given(st.data(), mesh(lattice, 7), options)
def test_any_order_of_updates_and_questions(data, given_mesh, kept):
    now, faces = given_mesh
    assume(len(faces) > 1)
    nodes = {} if kept["volume"] == "aabb" else {name: kept[name] for name in ("volume", "arity")}
    body, other = pl.Body(now, faces, **kept), pl.Body(np.eye(3), [[0, 1, 2]], **nodes)
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        if step in ("update", "borrow"):
            now = data.draw(positions(st.one_of(lattice, extreme), len(now)))
            body.update(now, copy=step == "update")
        elif step == "refuse":
            bad = np.array(now)
            bad[-1, 1] = np.nan
            with pytest.raises(MeshError, match="finite"):
                body.update(bad)
        elif step == "ask another":
            meshes.assert_right(body, other)
        else:
            right = naive.self_collide(now, faces).tolist()
            found = pl.self_collide(body, first=step == "ask first").faces.tolist()
            assert found == right if step == "ask" else len(found) == min(len(right), 1)
            assert all(pair in right for pair in found)
    meshes.assert_right_self(body)


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e160])
def test_random_walk(policy, scale):
    """Vertices wander for many frames; trees may be built anew on the way, and neighbours stay neighbours."""
    rng = np.random.default_rng(73)
    vertices, faces = rng.integers(0, 10, (30, 3)).astype(np.float64), rng.integers(0, 30, (8 if OFF else 24, 3))
    body = pl.Body(vertices * scale, faces, policy=policy, leaf=2)
    for _ in range(2 if OFF else 12):
        vertices += rng.integers(-1, 2, vertices.shape)
        vertices[rng.integers(0, 30, 3)] += rng.standard_normal((3, 3)) * 10.0 ** rng.integers(-3, 4)
        body.update(vertices * scale)
        meshes.assert_right_self(body)
