"""Placed bodies over time and in every question: updates of all kinds, self-collision, contacts, counters, threads."""

import threading

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshes
import naive
import pliant as pl
import poses
from child import together
from pliant import shapes
from pliant.query import scheduler
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import LEAF_WIDTH, WIDTH_OF_ARITY
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
TRIANGLE = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
SPIKE = np.array([[1, 1, -1], [1, 1, 1], [2, 2, 1]], np.float64)
NONE = np.zeros((0, 2), np.int32)


def sphere(size=1.0):
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    return vertices * size, faces


# --- updates -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_a_query_sees_the_last_update(policy):
    """By vertices, by transform, by both; what the last one does not mention is kept (vertices) or gone (transform)."""
    a, b = pl.Body(TRIANGLE, [[0, 1, 2]], policy=policy), pl.Body(SPIKE, [[0, 1, 2]], policy=policy)
    up = poses.matrix(move=(0, 0, 10))
    steps = [({"vertices": SPIKE}, 1), ({"transform": up}, 0), ({"transform": np.eye(4)}, 1), ({"vertices": SPIKE - up[:3, 3]}, 0),
             ({"transform": up}, 1), ({"vertices": SPIKE, "transform": up}, 0), ({"vertices": SPIKE}, 1), ({"transform": up}, 0),
             ({"transform": up}, 0), ({"vertices": SPIKE + up[:3, 3]}, 0), ({"transform": poses.matrix(move=(0, 0, -10))}, 1)]
    for given_, pairs in steps:
        b.update(**given_)
        assert len(pl.collide(a, b)) == len(pl.collide(b, a)) == pairs
    a.update(transform=b.transform)
    assert len(pl.collide(a, b)) == 0
    b.update(SPIKE, transform=a.transform)
    assert len(pl.collide(a, b)) == 1


@pytest.mark.formulas
@pytest.mark.parametrize("rigid", [False, True])
def test_every_pose_of_a_walk(policy, rigid):
    """A tree of the first positions serves a body that tumbles away and comes back, whether its vertices change or not."""
    rng = np.random.default_rng(81)
    a, b = pl.Body(*sphere(), policy=policy), (pl.Body.rigid if rigid else pl.Body)(*sphere(0.9), policy=policy)
    met, at = [], poses.matrix()
    for k in range(2 if OFF else 15):
        at = at @ poses.matrix(meshes.rotation(rng.standard_normal(3), 0.4), rng.standard_normal(3) * 0.3)
        if rigid:
            b.update(at)
        else:
            b.update(*(() if k % 3 else (sphere(0.9)[0] * (1 + 0.1 * rng.standard_normal(3)),)), transform=at)
        if k % 4 == 1:
            a.update(sphere()[0] + rng.standard_normal(3) * 0.2, transform=None if k % 8 == 1 else poses.matrix(poses.any_turn(rng)))
        met.append(len(poses.assert_placed(a, b)))
    assert OFF or 0 < np.count_nonzero(met)


@pytest.mark.formulas
@pytest.mark.parametrize("copy", [True, False])
def test_given_arrays_are_copied_or_borrowed(copy):
    """The matrix is always copied, whoever keeps the vertices."""
    a, b, rows, move = pl.Body(TRIANGLE, [[0, 1, 2]]), pl.Body(SPIKE, [[0, 1, 2]]), SPIKE - [0, 0, 10], poses.matrix(move=(0, 0, 10))
    b.update(rows, transform=move, copy=copy)
    move[:] = 77
    assert len(pl.collide(a, b)) == 1
    assert b.transform[:, 3].tolist() == [0, 0, 10, 1]
    if copy:
        rows[:] = 55
    assert b.vertices.tolist() == SPIKE.tolist()
    assert len(pl.collide(a, b)) == 1


@pytest.mark.formulas
def test_bodies_without_faces_meet_nothing():
    place = poses.matrix(meshes.rotation([1, 2, 3], 1.0), (1, 2, 3))
    for vertices in (np.zeros((0, 3)), TRIANGLE):
        for make in (pl.Body, pl.Body.rigid):
            empty = make(vertices, np.zeros((0, 3), int))
            empty.update(transform=place)
            assert np.array_equal(empty.vertices, poses.moved(place, vertices))
            other = pl.Body.rigid(TRIANGLE, [[0, 1, 2]])
            other.update(place)
            assert len(pl.collide(empty, other)) == len(pl.collide(other, empty, contacts=True)) == len(pl.self_collide(empty)) == 0


# --- Hypothesis ----------------------------------------------------------------------------------------------------------------

whole = st.integers(-3, 3).map(float)
turns = st.one_of(
    st.sampled_from(poses.quarters()),
    st.tuples(*[st.integers(-3, 3)] * 4).filter(any).map(lambda q: poses.from_quaternion(*q)),
    st.builds(lambda axis, power: meshes.rotation(axis, 10.0**power), st.tuples(whole, whole, whole).filter(any), st.integers(-17, 0)),
)
loosely = st.one_of(st.just(0), st.integers(0, 99)).map(
    lambda seed: lambda turn: poses.loosened(turn, np.random.default_rng(seed), min(poses.MOST_LOOSE, seed * 1e-7)) if seed else turn)
moves = st.one_of(st.tuples(whole, whole, whole), st.builds(lambda x, e: (x * 2.0**e, 0.5, -x * 2.0**e), whole, st.integers(-60, 60)))
matrices = st.builds(lambda turn, loosely, move: poses.matrix(loosely(turn), move), turns, loosely, moves)
options = st.fixed_dictionaries({"policy": st.sampled_from(sorted(POLICIES)), "arity": st.sampled_from(sorted(WIDTH_OF_ARITY)),
                                 "leaf": st.integers(1, LEAF_WIDTH)})


@st.composite
def mesh(draw, most=7):
    n = draw(st.integers(1, most))
    rows = draw(st.lists(st.tuples(whole, whole, whole), min_size=n, max_size=n))
    corner = st.integers(0, n - 1)
    faces = draw(st.lists(st.tuples(corner, corner, corner), max_size=most))
    size = 2.0 ** draw(st.sampled_from([0, 0, 0, -40, 40, -900, 900]))
    return np.array(rows).reshape(-1, 3) * size, np.array(faces, np.int32).reshape(-1, 3)


@pytest.mark.formulas
@often(200)
@given(mesh(), mesh(), matrices, matrices, options, options, st.booleans())
def test_any_two_placed_meshes(first, second, m_a, m_b, of_first, of_second, together_):
    a, b = pl.Body(*first, **of_first), pl.Body.rigid(*second, **of_second)
    a.update(transform=m_a)
    b.update(m_a if together_ else m_b)                                 # in one pose what touches touches but for roundings
    poses.assert_placed(a, b)


@pytest.mark.formulas
@often(200)
@given(mesh(), matrices, options)
def test_any_placed_mesh_and_itself(first, at, of_first):
    body = pl.Body(*first, **of_first)
    body.update(transform=at)
    meshes.assert_right_self(body, naive.self_collide(poses.moved(at, first[0]), first[1]))


STEPS = ("vertices", "transform", "both", "refuse", "ask", "ask itself")


@pytest.mark.formulas
@often(120)
@given(st.data(), mesh(), mesh(), options, options)
def test_any_order_of_updates_and_questions(data, first, second, of_first, of_second):
    bodies, model = [pl.Body(*first, **of_first), pl.Body(*second, **of_second)], [first[0], second[0]]
    at = [poses.matrix(), poses.matrix()]
    for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        k = data.draw(st.integers(0, 1))
        if step in ("vertices", "both"):
            model[k], at[k] = model[k][::-1].copy(), poses.matrix()
        if step in ("transform", "both"):
            at[k] = data.draw(matrices)
        if step == "vertices":
            bodies[k].update(model[k], copy=data.draw(st.booleans()))
        elif step == "transform":
            bodies[k].update(transform=at[k])
        elif step == "both":
            bodies[k].update(model[k], transform=at[k], copy=data.draw(st.booleans()))
        elif step == "refuse":
            with pytest.raises(pl.MeshError):
                bodies[k].update(model[k] + 1, transform=2 * at[k])
            with pytest.raises(pl.MeshError):
                bodies[k].update(np.full_like(model[k], np.nan), transform=data.draw(matrices))
        elif step == "ask":
            assert pl.collide(*bodies).faces.tolist() == naive.collide(
                poses.moved(at[0], model[0]), first[1], poses.moved(at[1], model[1]), second[1]).tolist()
        else:
            assert pl.self_collide(bodies[k]).faces.tolist() == naive.self_collide(
                poses.moved(at[k], model[k]), (first, second)[k][1]).tolist()
        for body, matrix, vertices in zip(bodies, at, model, strict=True):
            np.testing.assert_array_equal(body.vertices, poses.moved(matrix, vertices))
            np.testing.assert_array_equal(body.transform, matrix)
    meshes.assert_right(*bodies)


# --- with itself ---------------------------------------------------------------------------------------------------------------

def creased():
    """(name, vertices, faces): whole, through itself, flat."""
    directions, faces = shapes.icosphere(0 if OFF else 1)
    return {"whole": meshes.pinched(directions, 0.0), "dented": meshes.pinched(directions, 1.5), "flat": directions * [1, 1, 0]}, faces


@pytest.mark.formulas
@pytest.mark.parametrize("far", [0.0, 1e6, 1e12])
@pytest.mark.parametrize("name", ["whole", "dented", "flat"])
def test_self_collision_is_that_of_the_placed_vertices(kept, name, far):
    frames, faces = creased()
    rng = np.random.default_rng(82)
    for k in range(1 if OFF else 3):
        body = (pl.Body, pl.Body.rigid)[k % 2](frames[name], faces, **kept)
        body.update(transform=poses.matrix(poses.loosened(poses.any_turn(rng), rng, 1e-6 * k) if k else poses.any_turn(rng),
                                           rng.standard_normal(3) * far))
        found = meshes.assert_right_self(body)
        if OFF and far:
            continue
        poses.assert_same(pl.self_collide(body, contacts=True), pl.self_collide(poses.as_free(body), contacts=True))
        first = pl.self_collide(body, first=True).faces.tolist()
        assert len(first) == min(len(found), 1)
        assert all(pair in found.faces.tolist() for pair in first)


@pytest.mark.formulas
@pytest.mark.parametrize("size", [1e-150, 1e150, 2.0**-1070])
def test_self_collision_of_any_size(size):
    frames, faces = creased()
    rng = np.random.default_rng(83)
    for vertices in frames.values():
        body = pl.Body(vertices * size, faces)
        body.update(transform=poses.matrix(poses.any_turn(rng), rng.standard_normal(3) * size))
        meshes.assert_right_self(body)


@pytest.mark.formulas
def test_parts_that_only_rounding_brings_together(kept):
    """A stack of triangles 1e-5 apart, where coordinates are 1e-4 apart: many coincide there, and none do here."""
    layers, faces = meshes.soup(np.array([TRIANGLE + np.array([0, 0, 1e-5 * k]) for k in range(8 if OFF else 20)]))
    body = pl.Body(layers, faces, **kept)
    meshes.assert_right_self(body, NONE)
    for turn in (np.eye(3), meshes.rotation([1, 2, 3], 1.0)):
        body.update(transform=poses.matrix(turn, (1e12, -2e12, 1e12)))
        assert len(meshes.assert_right_self(body)) > len(faces) / 2
        body.update(layers)
        meshes.assert_right_self(body, NONE)


@pytest.mark.formulas
def test_a_tiny_body_far_away_is_a_point():
    """All its vertices round to one: every face meets every other. Nothing overflows on the way."""
    place = poses.matrix(meshes.rotation([1, 2, 3], 1.0), (1e12, 1e12, 1e12))
    corners, faces = meshes.cube()
    a, b = pl.Body(corners * 1e-150, faces), pl.Body.rigid(corners * 1e-150, faces)
    a.update(transform=place)
    b.update(place)
    assert len(poses.assert_placed(a, b)) == 144
    assert len(meshes.assert_right_self(a)) > 0


# --- contacts ------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("who", ["first", "second", "both"])
def test_contacts_are_those_of_the_placed_vertices(who):
    rng = np.random.default_rng(84)
    for k in range(1 if OFF else 8):
        a, b = pl.Body.rigid(*sphere()), pl.Body(*(meshes.cube((-0.5, -0.5, -0.5)) if k % 2 else sphere(0.8)))
        far = rng.standard_normal(3) * 10.0 ** (3 * (k % 4))
        world, other = poses.matrix(poses.any_turn(rng), far), poses.matrix(poses.any_turn(rng), far + np.array([0.7, 0.3, 0.1]))
        if who != "second":
            a.update(world)
        b.update(b.vertices if who != "first" else poses.moved(other, b.vertices), transform=None if who == "first" else other)
        if who == "second":
            b.update(transform=poses.matrix(poses.any_turn(rng), [0.7, 0.3, 0.1]))
        assert len(poses.assert_as_free(a, b)) > 0


# --- counters ----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_volumes_stay_when_a_body_moves_as_a_whole(kept):
    """They are in model space: only the first query sets any."""
    a, b = pl.Body.rigid(*sphere(), **kept), pl.Body(*sphere(), **kept)
    b.update(transform=poses.matrix(move=(0.5, 0, 0)))
    fresh, rng = pl.collide(a, b).stats, np.random.default_rng(85)
    assert 0 < fresh.n_u
    assert pl.collide(a, b).stats == fresh._replace(n_u=0)
    for _ in range(2 if OFF else 6):
        a.update(poses.matrix(poses.any_turn(rng), rng.standard_normal(3) * 0.3))
        b.update(transform=poses.matrix(poses.any_turn(rng), rng.standard_normal(3) * 0.3))
        stats = pl.collide(a, b).stats
        assert stats.n_v > 1
        assert stats.n_p > 0
        if kept["policy"] not in ("active", "lazy"):                    # which set what they have not needed before
            assert stats.n_u == 0
    b.update(sphere()[0], transform=b.transform)
    assert (pl.collide(a, b).stats.n_u > 0) == (kept["policy"] != "inflated")  # no vertex has moved


@pytest.mark.formulas
def test_nothing_is_done_for_placed_bodies_far_apart(policy):
    a, b = pl.Body.rigid(*meshes.cube(), policy=policy), pl.Body(*meshes.cube(), policy=policy)
    turn = meshes.rotation([1, 2, 3], 1.0)
    for of_a, of_b in (((0, 0, 0), (9, 0, 0)), ((0, -1e9, 0), (0, 1e9, 0)), ((1e6, 0, 0), (1e6, 0, 5))):
        a.update(poses.matrix(turn, of_a))
        b.update(meshes.cube()[0], transform=poses.matrix(turn.T, of_b))
        assert pl.collide(a, b).stats == pl.Stats()
        assert not pl.collide(a, b)


@pytest.mark.formulas
@pytest.mark.parametrize("power", [-900, -500, -150, -60, 60, 150, 500, 900])
def test_powers_of_two_change_neither_answers_nor_work(power):
    """A scene times a power of two is the same scene; but where filters in float64 end, there is exact arithmetic instead."""
    answers, (vertices, faces) = [], sphere()
    for size in (1.0, 2.0**power):
        a, b = pl.Body(vertices * size, faces), pl.Body.rigid(vertices * (0.875 * size), faces)
        a.update(transform=poses.matrix(meshes.rotation([1, 2, 3], 1.0), np.array([3.0, 2.0, 1.0]) * size))
        b.update(poses.matrix(meshes.rotation([3, 1, 2], 2.0), np.array([3.5, 2.0, 1.0]) * size))
        answers.append((pl.collide(a, b), pl.self_collide(a), pl.collide(b, a)))
    for found, expected in zip(*answers, strict=True):
        assert np.array_equal(found.faces, expected.faces)
        assert found.stats[:3] == expected.stats[:3]
        assert abs(power) > 200 or found.stats.n_exact == expected.stats.n_exact


def test_all_axes_leave_less_to_do():
    """Fifteen part more than six: that is what they are for."""
    a, b = pl.Body.rigid(*shapes.icosphere(3)), pl.Body.rigid(*shapes.icosphere(3))
    a.update(poses.matrix(meshes.rotation([1, 2, 3], 1.0)))
    b.update(poses.matrix(meshes.rotation([3, 1, 2], 2.0), (1.9, 0, 0)))
    full, lite = (pl.collide(a, b, traversal=pl.Traversal(sat)).stats for sat in ("full", "lite"))
    assert 0 < full.n_v < lite.n_v
    assert full.n_p <= lite.n_p


# --- threads -------------------------------------------------------------------------------------------------------------------

def test_threads_do_not_change_the_answer(monkeypatch, set_threads):
    """Many small shares of work."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 64)
    a, b = pl.Body.rigid(*shapes.icosphere(4)), pl.Body(*shapes.icosphere(4), policy="lazy")
    a.update(poses.matrix(meshes.rotation([1, 2, 3], 1.0), (0.3, 0.2, 0.1)))
    seen = set()
    for n in (1, 2, 5):
        set_threads(n)
        b.update(b.vertices)
        found, is_self = pl.collide(a, b, contacts=True), pl.self_collide(a)
        assert len(found) > 300
        seen.add((found.faces.tobytes(), found.segments.tobytes(), found.stats[:2], is_self.faces.tobytes(), is_self.stats[:2]))
        assert len(pl.collide(a, b, first=True)) == 1
    assert len(seen) == 1


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
def test_an_update_is_seen_whole_or_not_at_all(policy, monkeypatch, set_threads):
    """One thread moves a body to and fro by matrix and by vertices; what others see belongs to one of the states, never to two."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", 64)
    set_threads(2)
    vertices, faces = shapes.icosphere(2)
    still = pl.Body.rigid(vertices, faces)
    still.update(poses.matrix(meshes.rotation([1, 2, 3], 0.3), (0.1, 0.2, 0.3)))
    states = [{"transform": poses.matrix(meshes.rotation([1, 0, 2], angle), (angle, 0, 0))} for angle in (0.3, 0.9)]
    states.append({"vertices": vertices * 0.9 + 0.4})
    states.append({"vertices": vertices, "transform": states[0]["transform"]})  # a transform alone goes with whole vertices
    body, expected, positions = pl.Body(vertices, faces, policy=policy), [], []
    for state in states:
        body.update(**state)
        expected.append(pl.collide(body, still).faces.tobytes())
        positions.append(body.vertices.tobytes())
    order, done, seen = (0, 1, 0, 1, 2, 3), threading.Event(), set()
    assert len(set(expected[:3])) == 3 and expected[0] == expected[3]

    def move():
        try:
            for k in range(150):
                body.update(**states[order[k % 6]])
        finally:
            done.set()

    def ask():
        while not done.is_set():
            seen.add(expected.index(pl.collide(body, still).faces.tobytes()))
            assert body.vertices.tobytes() in positions
            assert len(pl.self_collide(body)) == 0

    together(*[ask] * 3, move)
    assert seen
