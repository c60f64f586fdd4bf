"""`collide` against the reference on meshes that Hypothesis thinks of: few faces, any corners, any order of updates and questions."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import meshes
import naive
import pliant as pl
from pliant.errors import MeshError
from pliant.refit.policy import POLICIES
from strategies import MOST, TINIEST, extreme, lattice, mesh, options, positions, two
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning"))


# --- properties ----------------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@often(200)
@given(mesh(lattice), mesh(lattice), two())
def test_lattice_meshes(first, second, both):
    meshes.assert_right(pl.Body(*first, **both[0]), pl.Body(*second, **both[1]))


A_POINT = np.array([[2.0, TINIEST, 0.0]]), np.zeros((1, 3), np.int32)


@often(400)
@given(mesh(extreme), mesh(extreme), two())
@example(A_POINT, A_POINT, ({}, {}))
def test_any_finite_float64(first, second, both):
    meshes.assert_right(pl.Body(*first, **both[0]), pl.Body(*second, **both[1]))


@often(200)
@given(mesh(extreme, 4), options)
def test_a_mesh_and_its_copy(first, of_first):
    """Every face meets its copy, whatever it is."""
    nodes = {} if of_first["volume"] == "aabb" else {name: of_first[name] for name in ("volume", "arity")}
    found = meshes.assert_right(pl.Body(*first, **of_first), pl.Body(*first, **nodes))
    assert {(k, k) for k in range(len(first[1]))} <= set(map(tuple, found.faces.tolist()))


@often(150)
@given(mesh(lattice), mesh(lattice), st.tuples(*[st.integers(-(2**48), 2**48)] * 3), st.integers(-1050, 1000))
def test_moves_and_sizes_that_are_exact_change_nothing(first, second, offset, power):
    """Integers moved by integers, and numbers times a power of two, are the same scene to the last bit."""
    right = naive.collide(*first, *second)
    moved = [pl.Body(vertices + np.array(offset, np.float64), faces) for vertices, faces in (first, second)]
    for body, (vertices, _) in zip(moved, (first, second), strict=True):
        assert all(Fraction(x) == Fraction(v) + o for row, old in zip(body.vertices.tolist(), vertices.tolist(), strict=True)
                   for x, v, o in zip(row, old, offset, strict=True))
    meshes.assert_right(*moved, right)
    meshes.assert_right(*(pl.Body(vertices * 2.0**power, faces) for vertices, faces in (first, second)), right)


@often(150)
@given(mesh(extreme), mesh(extreme), options)
def test_first_is_one_of_all(first, second, kept):
    a, b = pl.Body(*first, **kept), pl.Body(*second, **kept)
    right = meshes.right_pairs(a, b).tolist()
    found = pl.collide(a, b, first=True).faces.tolist()
    assert len(found) == min(len(right), 1)
    assert all(pair in right for pair in found)


STEPS = ("update", "borrow", "refuse", "ask", "ask first")


@often(200)
@given(st.data(), mesh(lattice), mesh(lattice), two())
def test_any_order_of_updates_and_questions(data, first, second, both):
    """Bodies that have been through updates, borrowed or copied, and refused ones, answer as fresh bodies of the same vertices do."""
    now = [first[0], second[0]]
    bodies = [pl.Body(*first, **both[0]), pl.Body(*second, **both[1])]
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        k = data.draw(st.integers(0, 1))
        if step in ("update", "borrow"):
            now[k] = data.draw(positions(st.one_of(lattice, extreme), len(now[k])))
            bodies[k].update(now[k], copy=step == "update")
        elif step == "refuse":
            bad, row, column = np.array(now[k]), data.draw(st.integers(0, len(now[k]) - 1)), data.draw(st.integers(0, 2))
            bad[row, column] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
            with pytest.raises(MeshError, match="finite"):
                bodies[k].update(bad, copy=data.draw(st.booleans()))
        else:
            right = naive.collide(now[0], first[1], now[1], second[1]).tolist()
            if step == "ask":
                assert pl.collide(*bodies).faces.tolist() == right
            else:
                found = pl.collide(*bodies, first=True).faces.tolist()
                assert len(found) == min(len(right), 1)
                assert all(pair in right for pair in found)
        for body, vertices in zip(bodies, now, strict=True):
            assert np.array_equal(body.vertices, vertices)
    meshes.assert_right(*bodies)


# --- walks ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e160])
def test_random_walk(policy, scale):
    """Vertices wander for many frames, and the tree of the first frame has to serve them all."""
    rng = np.random.default_rng(31)
    vertices = rng.integers(0, 10, (2, 30, 3)).astype(np.float64)
    faces = rng.integers(0, 30, (2, 10 if OFF else 30, 3))
    a, b = (pl.Body(vertices[k] * scale, faces[k], policy=policy, leaf=2) for k in range(2))
    met = []
    for _ in range(2 if OFF else 25):
        vertices += rng.integers(-1, 2, vertices.shape)
        vertices[0, rng.integers(0, 30, 3)] += rng.standard_normal((3, 3)) * 10.0 ** rng.integers(-3, 4)
        a.update(vertices[0] * scale)
        if rng.random() < 0.5:
            b.update(vertices[1] * scale)
        met.append(len(meshes.assert_right(a, b)))
    assert min(met) > 0


@often(60)
@given(mesh(extreme, 6), st.lists(st.integers(-300, 300), min_size=1, max_size=6), st.sampled_from(sorted(POLICIES)))
@example((np.eye(3), np.array([[0, 1, 2]], np.int32)), [0, -300, 300, 0], "lazy")
def test_growing_and_shrinking(first, powers, kept):
    """A body goes through sizes against one that stays."""
    a, b = pl.Body(*first, policy=kept), pl.Body(np.eye(3) - 0.25, [[0, 1, 2]], policy=kept)
    for power in powers:
        with np.errstate(over="ignore"):
            vertices = np.clip(first[0] * 10.0**power, -MOST, MOST)
        a.update(vertices)
        meshes.assert_right(a, b)
