"""Blended volumes enclose what they must, whatever the sizes, weights and places; they follow where queries come, and nowhere else."""

import threading

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from volume_checks import lanes, shape_of, true_lanes

import pliant as pl
from child import LATE, together
from morphs import BLENDED, FORMS, STAMPLESS, TIGHTER, assert_encloses, morph, targets, twin, weights, where
from pliant import shapes
from pliant.query import scheduler
from pliant.tree.nodes import WIDTH_OF_ARITY
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
SPHERE, FACES = shapes.icosphere(1 if OFF else 4)
FEW, FEW_FACES = shapes.icosphere(0)
FEW_FACES = FEW_FACES[:5] if OFF else FEW_FACES


def assert_right(body):
    """All volumes of the body, which a query with its copy reaches, enclose what they must."""
    copy = twin(body, origin=body._motion.origin[:3])                    # at another scale they would not be the body's own
    for pairs in (pl.collide(body, copy), pl.collide(copy, body)):
        assert {(k, k) for k in range(len(body))} <= set(map(tuple, pairs.faces.tolist()))
    if body._options.settings["stamps"]:
        assert assert_encloses(body) == lanes(body)


# --- enclosure -------------------------------------------------------------------------------------------------------------------

sizes = st.integers(-200, 200).map(lambda power: 10.0**power)
places = st.sampled_from([0.0, 0.0, 1.0, -1e6, 1e12, -3e12])
forms = st.sampled_from(FORMS)


@often(150)
@given(forms, st.integers(1, 4), sizes, places, st.integers(0, 5), st.integers(0, 10**6), st.sampled_from(sorted(WIDTH_OF_ARITY)))
@example("targets", 2, 1.0, 0.0, 3, 0, 2)
@example("relative", 3, 1e-200, -3e12, 0, 1, 8)
def test_shapes_of_one_size(form, count, size, place, between, seed, arity):
    """Any size, near 0 or 1e12 times the size away from it, any number of shapes and of those that count."""
    rng = np.random.default_rng(seed)
    rows = (targets(FEW, count + (form != "targets"), seed) + rng.uniform(-1, 1, 3) * place) * size
    body = morph(form, rows, FEW_FACES, leaf=1, arity=arity, between=between if form == "targets" else 0)
    for _ in range(1 if OFF else 3):
        body.update(weights(form, len(rows), rng, rng.integers(1, len(rows) + 1)))
        assert_right(body)


@often(150)
@given(forms, st.lists(sizes, min_size=2, max_size=4), st.lists(st.integers(-320, 3), min_size=4, max_size=4), st.integers(0, 5),
       st.integers(0, 10**6))
@example("relative", [1.0, 1e200], [-200] * 4, 0, 0)                    # a shape beyond float32, with a weight that makes it ordinary
@example("targets", [1e-3, 1e200], [-300] * 4, 2, 0)
@example("relative", [1e-200, 1e9], [-220] * 4, 0, 0)
def test_shapes_of_all_sizes_at_once(form, each, powers, between, seed):
    """Sizes and weights from absurd to absurd: what is huge may count little."""
    rng = np.random.default_rng(seed)
    rows = targets(FEW, len(each), seed) * np.array(each)[:, None, None]
    body = morph(form, rows, FEW_FACES, leaf=1, arity=2, between=between if form == "targets" else 0)
    factors = rng.uniform(0.5, 1, len(each)) * 10.0 ** np.array(powers[:len(each)])
    if form == "targets":
        factors[int(rng.integers(len(each)))] = 1
        body.update(factors / factors.sum())
    else:
        with np.errstate(over="ignore"):
            fine = np.isfinite(factors[1:] * np.array(each)[1:] * 1e20)
        body.update(factors[1:] * fine * rng.choice([-1, 1], len(each) - 1))
    assert_right(body)


@often(100)
@given(st.sampled_from(FORMS), st.integers(0, 10**6), st.sampled_from([2.0**-1074, 2.0**-1060, 2.0**-1030, 2.0**-1022, 1e300]))
def test_subnormal_and_huge_coordinates(form, seed, size):
    """Where products lose all their bits."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-9, 10, (3, len(FEW), 3)) * size
    body = morph(form, rows, FEW_FACES, leaf=1, arity=2)
    body.update(weights(form, 3, rng))
    assert_right(body)


@pytest.mark.parametrize("between", [0, 1, 4])
def test_a_weight_that_is_lost_beside_one(between):
    """1 − 1e-17 is 1, and 1e-17 of what is huge is not nothing; around 0, where no rounding of an origin hides it."""
    body = pl.Body.morph([FEW * 1e12, FEW, FEW * 1e12], FEW_FACES, leaf=1, arity=2, between=between)
    for factors in ([1e-17, 1, 0], [0, 1, 1e-17]):
        body.update(factors)
        assert np.abs(body.vertices - FEW).max() > 1e-6
        assert_right(body)


def test_bodies_far_from_their_base():
    """A displacement may carry a body away from the origin of its volumes."""
    body = pl.Body.morph([FEW + np.array([1e7, 0, -1e9])], FEW_FACES, base=FEW, leaf=1)
    for weight in (0, 1e-9, 1, -3.7, 1e6):
        body.update([weight])
        assert_right(body)


def test_shapes_that_are_one_point():
    """Of size 0, at 0 and elsewhere, and with weights that float32 does not hold."""
    for place in (0.0, 1.0, 1e-300, 1e300):
        body = pl.Body.morph([FEW * 0 + place, FEW * 0 + place], FEW_FACES, leaf=1)
        body.update([0.3, 0.7])
        assert_right(body)
    body = pl.Body.morph([FEW * 0, FEW], FEW_FACES, base=FEW, relative=True, leaf=1)
    for weight in (1e300, -1e300, 1e-300, 5e-324):
        body.update([weight, 0.25])
        assert_right(body)


@pytest.mark.parametrize("arity", WIDTH_OF_ARITY)
def test_nodes_that_are_not_full(arity):
    """Lanes without children stay empty, so that the volume around a node is that of the others."""
    body = pl.Body.morph(targets(FEW, 3), FEW_FACES, arity=arity, leaf=3)
    for factors in ([1, 0, 0], [0.2, 0.3, 0.5], [0.5, 0.5, 0]):
        body.update(factors)
        pl.collide(twin(body), body)
        nodes = shape_of(body).nodes
        assert (nodes["count"] < nodes["child"].shape[1]).any()
        for name in ("lox", "loy", "loz", "hix", "hiy", "hiz"):
            assert np.isfinite(nodes["bounds"][name]).all()
            unused = np.arange(nodes["child"].shape[1]) >= nodes["count"][:, None]
            assert (nodes["lanes"][name][unused] == (np.inf if name.startswith("lo") else -np.inf)).all()


QUARTER = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])


def lengths(body):
    """The sides of all volumes together."""
    nodes = shape_of(body).nodes
    used = np.arange(nodes["child"].shape[1]) < nodes["count"][:, None]
    return float(sum((nodes["lanes"]["hi" + axis] - nodes["lanes"]["lo" + axis])[used].sum(dtype=np.float64) for axis in "xyz"))


def test_volumes_are_no_larger_than_said():
    """At a target as tight as those of a free body, between two the mean of theirs, and tighter with references in between."""
    rows = [FEW, FEW @ QUARTER, FEW @ QUARTER @ QUARTER]                # turning: a mean of volumes is much larger than that of shapes
    bodies = [pl.Body.morph(rows, FEW_FACES, between=between, leaf=1, arity=2) for between in (0, 1, 5)]
    for factors in ([1, 0, 0], [0, 1, 0], [0.45, 0.55, 0], [0, 0.4, 0.6], [0.25, 0.25, 0.5]):
        long = []
        for body in bodies:
            body.update(factors)
            assert_right(body)
            long.append(lengths(body))
        free = pl.Body(rows[0], FEW_FACES, leaf=1, arity=2)
        free.update(bodies[0].vertices)
        pl.collide(free, twin(free))
        least = lengths(free)
        if np.count_nonzero(factors) == 1:
            assert long == pytest.approx([least] * 3, rel=1e-5)
        elif np.count_nonzero(factors) == 2:
            assert least * 1.0001 < long[2] < long[1] * 0.999 < long[0] * 0.998
        else:
            assert long[1:] == [long[0]] * 2


# --- how many volumes ------------------------------------------------------------------------------------------------------------

THREE = targets(SPHERE, 3)
TIP = [0.2, 0.5, 0.3]


def needle(body):
    """A triangle that touches a body from outside, at its largest x."""
    at = body.vertices[body.vertices[:, 0].argmax()]
    made = pl.Body(at + np.array([[-1e-3, 0, 0], [1, 0, 0.01], [1, 0.01, 0]]), [[0, 1, 2]])
    assert pl.collide(body, made)                                       # its one volume is true from now on
    return made


NEEDLE = needle(pl.Body(where("targets", THREE, TIP), FACES))


@pytest.mark.parametrize("policy", BLENDED, ids=str)
@pytest.mark.parametrize("tree", [{}, {"arity": 2, "leaf": 2}], ids=["wide", "narrow"])
def test_an_update_touches_nothing_and_a_query_what_it_reaches(policy, tree):
    body, other = pl.Body.morph(THREE, FACES, policy=policy, **tree), pl.Body(THREE[0] + [0.3, 0.1, 0], FACES)
    if not OFF:
        pl.collide(body, other)
    shape, motion = shape_of(body), body._motion
    pl.collide(body, NEEDLE)
    before, flat = [array.tobytes() for array in (shape.nodes, shape.leaves, motion.flat, motion.points)], motion.flat.copy()
    body.update(TIP)
    assert shape_of(body) is shape
    for array, old in zip((shape.nodes, shape.leaves, motion.flat, motion.points), before, strict=True):
        assert array.tobytes() == old
    found = pl.collide(body, NEEDLE)
    assert len(found) > 0
    assert found.faces.tolist() == pl.collide(pl.Body(where("targets", THREE, TIP), FACES), NEEDLE).faces.tolist()
    reached = np.flatnonzero(shape.leaves["stamp"] == shape.frame)
    assert 0 < len(reached) < len(shape.leaves) / (1 if OFF else 10)
    corners = np.unique(shape.tree.corners[reached])
    expected = where("targets", THREE, TIP).reshape(-1)
    moved = (motion.flat != flat).reshape(-1, 3).any(axis=1)
    assert moved.any() and np.isin(np.flatnonzero(moved), corners).all()
    for axis in range(3):
        assert motion.flat[3 * corners + axis].tobytes() == expected[3 * corners + axis].tobytes()
        rows = ((expected[3 * corners + axis] - motion.origin[axis]) * motion.scale).astype(np.float32)
        assert motion.points[4 * corners + axis].tobytes() == rows.tobytes()
    now, old = (np.frombuffer(data, np.uint8).reshape(len(shape.nodes), -1) for data in (shape.nodes.tobytes(), before[0]))
    assert 0 < (now != old).any(axis=1).sum() < len(shape.nodes) or OFF
    if policy is not STAMPLESS:
        assert found.stats.n_u == true_lanes(body)
        assert 1 < found.stats.n_u < lanes(body) / (1 if OFF else 4)
        assert pl.collide(body, NEEDLE).stats.n_u == 0


def test_stamps_save_volumes():
    """Once a frame with them; without, once a visit, and again in every query."""
    with_stamps, without = (pl.Body.morph(THREE, FACES, policy=policy, arity=2, leaf=2) for policy in ("auto", STAMPLESS))
    other = pl.Body(THREE[1] + [0.5, 0.1, 0], FACES, arity=2, leaf=2, policy="bottom_up")
    pl.collide(other, pl.Body(THREE[1], FACES))
    for factors in (TIP, [0, 0, 1])[:1 if OFF else 2]:
        for body in (with_stamps, without):
            body.update(factors)
        first, second = pl.collide(with_stamps, other), pl.collide(without, other)
        assert first.faces.tolist() == second.faces.tolist() and len(first)
        assert first.stats.n_u == true_lanes(with_stamps) <= lanes(with_stamps) < second.stats.n_u
        assert pl.collide(with_stamps, other).stats.n_u == 0
        assert pl.collide(without, other).stats.n_u == second.stats.n_u
        assert first.stats[:2] == second.stats[:2]


def test_in_between_references_save_visits():
    rows, other = [SPHERE, SPHERE @ QUARTER], pl.Body(SPHERE + np.array([0.9, 0, 0.4]), FACES, leaf=2)
    visits = []
    for between in (0, 4):
        body = pl.Body.morph(rows, FACES, between=between, leaf=2)
        body.update([0.45, 0.55])
        visits.append(pl.collide(body, other).stats.n_v)
    assert visits[1] <= visits[0] and (OFF or visits[1] < visits[0])


# --- threads ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("chunk", [1 << 14, 64], ids=["serial", "shared"])
@pytest.mark.parametrize("policy", [*BLENDED, "lazy"], ids=str)
def test_threads_that_ask_right_after_an_update(policy, chunk, monkeypatch, set_threads):
    """Two are already asking when others come; in some frames one wants the vertices. One in three is about the body itself."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", chunk)
    set_threads(2)
    rows, faces = targets(shapes.icosphere(2)[0], 3), shapes.icosphere(2)[1]
    body, other = pl.Body.morph(rows, faces, policy=policy, leaf=2), pl.Body(rows[1] + [0.4, 0.1, 0], faces)
    states = [[0.2, 0.5, 0.3], [0, 0, 1], [0.5, 0.5, 0]]
    expected = [pl.collide(pl.Body(where("targets", rows, state), faces), other).faces.tobytes() for state in states]
    positions = [where("targets", rows, state).tobytes() for state in states]
    assert len(set(expected)) == 3
    for frame in range(6):
        body.update(states[frame % 3])
        start = threading.Barrier(5)

        def ask(frame=frame, start=start):
            start.wait(LATE)
            for _ in range(3):
                assert pl.collide(body, other).faces.tobytes() == expected[frame % 3]

        def look(frame=frame, start=start):
            start.wait(LATE)
            assert body.vertices.tobytes() == positions[frame % 3]
        together(*[ask] * 4, look)
    done = threading.Event()

    def move():
        try:
            for k in range(60):
                body.update(states[k % 3])
        finally:
            done.set()

    def watch():
        while not done.is_set():
            assert pl.collide(body, other).faces.tobytes() in expected
            assert body.vertices.tobytes() in positions
    together(watch, watch, move)


def test_settings_reach_the_policy():
    """By name, in a table, and through `between`; what no policy knows is refused."""
    for policy, between, expected in (("auto", 0, (0, True)), ("auto", 2, (2, True)), (STAMPLESS, 2, (2, False)), (TIGHTER, 0, (3, True)),
                                      ({"name": "auto", "stamps": False}, 0, (0, False))):
        body = pl.Body.morph([FEW], FEW_FACES, policy=policy, between=between)
        assert (body._options.settings["between"], body._options.settings["stamps"]) == expected
    for bad, error in (({"name": "blended", "depth": 1}, ValueError), ({"name": "blended", "between": -1}, ValueError),
                       ({"name": "blended", "between": 1024}, ValueError), ({"name": "blended", "stamps": 1}, TypeError),
                       ("blend", ValueError), ({"name": "auto", "background": True}, ValueError)):
        with pytest.raises(error, match="policy"):
            pl.Body.morph([FEW], FEW_FACES, policy=bad)
    with pytest.raises(ValueError, match="policy: expected one of"):
        pl.Body(FEW, FEW_FACES, policy="blended")
