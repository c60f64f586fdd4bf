"""Morphing: positions to the bit, what is refused and leaves everything as it was, what Ctrl-C and forks leave behind."""

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import meshes
import pliant as pl
from child import python
from morphs import BLENDED, FORMS, morph, targets, weights, where
from pliant import shapes
from pliant.errors import MeshError
from pliant.motion import morph as motion
from pliant.refit import blended, lazy
from pliant.refit.policy import Bvh
from poses import matrix
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 1)
POLICIES = (*BLENDED, "bottom_up", "lazy", "hybrid", "rebuild")
TURN = matrix(meshes.rotation([1, 0, 0], 0.4), (0.1, 0.2, -0.1))


def others():
    return pl.Body(BALL * 0.9 + [0.5, 0.2, 0.1], FACES)


def assert_as_free(body):
    """Where its vertices say it is, there it is found."""
    np.testing.assert_array_equal(pl.collide(body, others()).faces, pl.collide(pl.Body(body.vertices, FACES), others()).faces)


# --- positions -------------------------------------------------------------------------------------------------------------------

finite = st.floats(-1e150, 1e150)
odd = st.one_of(finite, st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.0**-1030, 1.0, 1 / 3, 1e15, -1e15 - 0.125]))


@often(300, 20)
@given(st.sampled_from(FORMS), st.lists(st.lists(odd, min_size=9, max_size=9), min_size=2, max_size=6),
       st.lists(odd, min_size=6, max_size=6), st.sampled_from(["auto", "lazy"]))
@example("targets", [[5e-324] * 9, [5e-324] * 9], [0.5] * 6, "auto")    # 0: each product is rounded
@example("targets", [[1.0] * 9, [3.0] * 9], [0.0, 1, 0, 0, 0, 0], "auto")
def test_positions_are_the_sum_that_is_documented(form, rows, factors, policy):
    """Products in the order of the shapes, each rounded; shapes with weight 0 have no part in it."""
    rows = np.array(rows).reshape(len(rows), 3, 3)
    body = morph(form, rows, [[0, 1, 2]], policy=policy)
    if form == "targets":
        factors = np.minimum(np.abs(factors[:len(rows)]), 1e140)
        factors = factors / factors.sum() if factors.sum() > 1e-290 else np.eye(len(rows))[0]
        factors = factors / factors.sum()
    else:
        factors = np.array(factors[:len(rows) - 1])
    body.update(factors)
    assert body.vertices.tobytes() == where(form, rows, factors).tobytes()
    twice = morph(form, rows, [[0, 1, 2]])
    twice.update(factors)
    pl.collide(twice, pl.Body(twice._motion.box[[0, 1, 2, 4, 5, 6, 0, 1, 6]].reshape(3, 3), [[0, 1, 2]]))
    if (twice._bvh.leaves["stamp"] == twice._bvh.frame).all():          # worked out by the query
        assert twice._motion.flat.tobytes() == where(form, rows, factors).tobytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("active", [1, 2, 3, 7])
@pytest.mark.parametrize("place", [0, 1e12])
def test_leaves_have_the_same_positions(form, active, place):
    """What a query works out is what `vertices` gives, in float64 and in float32."""
    rng, rows = np.random.default_rng(active), targets(BALL, 7) + place
    first, second = (morph(form, rows, FACES, leaf=2) for _ in range(2))
    factors = weights(form, 7, rng, active)
    for body in (first, second):
        body.update(factors)
    expected = second.vertices
    assert expected.tobytes() == where(form, rows, factors).tobytes()
    pl.collide(first, pl.Body(expected, FACES))
    assert not first._motion._all_set
    assert first._motion.flat.tobytes() == expected.tobytes()
    assert first._motion.points.tobytes() == second._motion.points.tobytes()
    assert first.vertices.tobytes() == expected.tobytes()


def test_where_a_body_starts():
    """At the shape that its tree is built on."""
    rows = targets(BALL, 3)
    for rest, expected in ((0, rows[0]), (2, rows[2]), (np.int32(1), rows[1]), ("mean", where("targets", rows, [1 / 3] * 3))):
        np.testing.assert_array_equal(pl.Body.morph(rows, FACES, rest=rest).vertices, expected)
    for rest, expected in ((0, [0, 0]), (1, [1, 0]), (2, [0, 1]), ("mean", [1 / 3] * 2)):
        np.testing.assert_array_equal(pl.Body.morph(rows[1:], FACES, base=rows[0], rest=rest).vertices, where("base", rows, expected))


def test_weights_of_all_kinds():
    """Lists, integers, float32; nearly 1 is made 1, and what is 1 but for roundings is taken as it is."""
    rows = targets(BALL, 3)
    body = pl.Body.morph(rows, FACES)
    for given_weights, exact in (([0, 1, 0], [0, 1, 0]), (np.array([0.25, 0.5, 0.25], np.float32), [0.25, 0.5, 0.25]),
                                 ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]), (np.float64([2, 1, 1])[::-1] / 4, [0.25, 0.25, 0.5])):
        body.update(given_weights)
        assert body.vertices.tobytes() == where("targets", rows, exact).tobytes()
    body.update([0.3 + 9e-7, 0.7, 0])
    np.testing.assert_allclose(body.vertices, where("targets", rows, [0.3, 0.7, 0]), atol=1e-5)
    mine = np.array([0.5, 0.5, 0])
    body.update(mine, copy=False)
    mine[:] = 77                                                        # weights are copied whatever is asked for
    assert body.vertices.tobytes() == where("targets", rows, [0.5, 0.5, 0]).tobytes()


def test_transforms():
    """With weights, alone, and gone with the next weights."""
    rows = targets(BALL, 2)
    body, free = pl.Body.morph(rows, FACES), pl.Body(rows[0], FACES)
    for factors, transform in (([0.5, 0.5], TURN), (None, matrix(move=(1, 0, 0))), ([0.25, 0.75], None), (None, TURN)):
        body.update(factors, transform=transform)
        free.update(None if factors is None else where("targets", rows, factors), transform=transform)
        assert body.vertices.tobytes() == free.vertices.tobytes()
        np.testing.assert_array_equal(body.transform, free.transform)
        np.testing.assert_array_equal(pl.collide(body, others()).faces, pl.collide(free, others()).faces)


def test_bodies_without_vertices_or_faces():
    for form in FORMS:
        for rows, faces in ((np.zeros((3, 0, 3)), []), (np.ones((3, 2, 3)), [])):
            body = morph(form, rows, faces, rest="mean")
            body.update(weights(form, 3, np.random.default_rng(0)))
            body.update(transform=TURN)
            assert body.vertices.shape == rows[0].shape
            assert not pl.collide(body, others()) and not pl.collide(others(), body) and not pl.self_collide(body)
            assert not pl.Scene([body, others()]).collide()


def test_what_a_body_says():
    assert "2 targets" in repr(pl.Body.morph(targets(BALL, 3)[1:], FACES, base=BALL)) and "'blended'" in repr(pl.Body.morph([BALL], FACES))
    assert pl.Body.morph([BALL], FACES).policy_log == []


# --- refusals --------------------------------------------------------------------------------------------------------------------

REFUSED = [
    ("targets", [0.5, 0.5], MeshError, r"weights: expected shape \(3,\), one for each target, got \(2,\)"),
    ("targets", [[0.5, 0.25, 0.25]], MeshError, r"weights: expected shape \(3,\)"),
    ("targets", 1.0, MeshError, r"weights: expected shape \(3,\)"),
    ("targets", [0.5, np.nan, 0.5], MeshError, "weights: row 1 is nan"),
    ("targets", [0.5, 1.0, -0.5], MeshError, "weights: row 2 is -0.5, expected to be finite and not negative; a base"),
    ("targets", [0.5, 0.5, 0.5], MeshError, "weights: the sum is 1.5, expected 1"),
    ("targets", [0, 0, 0], MeshError, "weights: the sum is 0.0"),
    ("targets", ["a", "b", "c"], TypeError, "weights: expected numbers"),
    ("targets", [True, False, False], TypeError, "weights: expected numbers"),
    ("targets", [1j, 0, 0], TypeError, "weights: expected numbers"),
    ("base", [0.5], MeshError, r"weights: expected shape \(2,\)"),
    ("base", [np.inf, 0], MeshError, "weights: row 0 is inf, expected to be finite"),
    ("base", [np.nan, -np.inf], MeshError, "weights: row 0 is nan.*2 rows are bad"),
    ("base", [1e308, 0], MeshError, "weights: .*1e.308.* put vertices beyond the largest numbers"),
    ("relative", [-1e308, 1e308], MeshError, "weights: .* put vertices beyond"),
]


@pytest.mark.parametrize(("form", "bad", "error", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_weights_that_are_refused(form, bad, error, message):
    """They are named, and the body is as it was."""
    rows = targets(BALL, 3) * 10
    body = morph(form, rows, FACES)
    body.update(weights(form, 3, np.random.default_rng(5)), transform=TURN)
    before, found = body.vertices.tobytes(), pl.collide(body, others()).faces.tolist()
    for transform in (None, np.eye(4)):
        with pytest.raises(error, match=message):
            body.update(bad, transform=transform)
        assert body.vertices.tobytes() == before and pl.collide(body, others()).faces.tolist() == found


def test_updates_that_are_refused():
    body = pl.Body.morph(targets(BALL, 2), FACES)
    before = body.vertices.tobytes()
    for call, error, message in ((lambda: body.update([0.5, 0.5], changed=[0, 1]), TypeError, "a morphing body takes weights alone"),
                                 (lambda: body.update(BALL), MeshError, r"weights: expected shape \(2,\)"),
                                 (body.update, TypeError, "expected weights, a transform or both"),
                                 (lambda: body.update([0.5, 0.5], transform=np.zeros((4, 4))), MeshError, "transform"),
                                 (lambda: body.update([0.5, 0.5], copy=1), TypeError, "copy")):
        with pytest.raises(error, match=message):
            call()
        assert body.vertices.tobytes() == before


HUGE = BALL * 1.7e308
BAD = [
    ({"targets": []}, MeshError, "targets: expected at least one"),
    ({"targets": 5}, TypeError, r"targets: expected positions \(k, n, 3\)"),
    ({"targets": BALL}, MeshError, r"targets: expected shape \(k, n, 3\)"),
    ({"targets": [BALL, BALL[1:]]}, MeshError, r"targets\[1\]: expected \d+ rows, as many as the others have"),
    ({"targets": [BALL, np.where(BALL == BALL[3], np.nan, BALL)]}, MeshError, r"targets\[1\]: row \d+ is .*nan.*, not finite"),
    ({"targets": [BALL, "ball"]}, TypeError, r"targets\[1\]"),
    ({"targets": [BALL, HUGE]}, MeshError, r"targets\[1\]: row \d+ is .*, expected sizes below 1.12e.307"),
    ({"base": BALL[1:]}, MeshError, r"base: expected \d+ rows, as many as targets have"),
    ({"base": np.full_like(BALL, np.inf)}, MeshError, "base: row 0 is .*not finite"),
    ({"base": HUGE}, MeshError, "base: row 0 is .*, expected sizes below"),
    ({"base": -HUGE / 16, "targets": [BALL, HUGE]}, MeshError, r"targets\[1\] − base: row \d+ is .*inf.*, not finite"),
    ({"base": BALL, "targets": [HUGE], "rest": 1}, MeshError, "put vertices beyond the largest numbers"),
    ({"relative": True}, TypeError, "relative: targets are relative to a base"),
    ({"relative": 1}, TypeError, "relative: expected True or False"),
    ({"base": BALL, "between": 1}, ValueError, "between: additive targets are no chain"),
    ({"base": BALL, "policy": {"name": "blended", "between": 1}}, ValueError, "between: additive targets are no chain"),
    ({"between": -1}, ValueError, "between: expected an integer from 0 to 1023"),
    ({"between": 0.5}, TypeError, "between"),
    ({"rest": 2}, ValueError, "rest: expected an integer from 0 to 1, got 2"),
    ({"rest": -1}, ValueError, "rest"),
    ({"rest": "first"}, ValueError, "rest: expected one of 'mean', got 'first'"),
    ({"rest": None}, TypeError, "rest: expected an integer"),
    ({"faces": [[0, 1, 99]]}, MeshError, "faces: row 0"),
    ({"origin": [0, 0]}, MeshError, "origin"),
    ({"origin": [0, -1.7e308, 0]}, MeshError, "origin: row 0 is .*, expected sizes below"),
    ({"weld": -1}, ValueError, "weld"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD, ids=lambda value: str(value)[:40].replace("\n", ""))
def test_bodies_that_are_refused(bad, error, message):
    """In a line that can be read, however large the mesh."""
    with pytest.raises(error, match=message) as caught:
        pl.Body.morph(**{"targets": [BALL, BALL * 2], "faces": FACES, **bad})
    assert len(str(caught.value)) < 200


# --- Ctrl-C and forks ------------------------------------------------------------------------------------------------------------

def stop_once(monkeypatch, where, name, late):
    """Ctrl-C when this function is called, or when it is about to return; once."""
    real = getattr(where, name)

    def stop(*args):
        monkeypatch.setattr(where, name, real)
        if late:
            real(*args)
        raise KeyboardInterrupt
    monkeypatch.setattr(where, name, stop)


@pytest.mark.parametrize("policy", POLICIES[:2] if OFF else POLICIES, ids=str)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), [(motion, "set_weights"), (motion.Morph, "update"), (Bvh, "invalidate")])
def test_an_interrupted_update_leaves_a_body_whole(owner, name, late, policy, monkeypatch):
    """Its vertices, volumes, what it remembers of them and what scenes do belong together: the old ones, or the new ones."""
    rows = targets(BALL, 3)
    body, other = pl.Body.morph(rows, FACES, policy=policy), others()
    scene = pl.Scene([body, other])
    body.update([1, 0, 0], transform=TURN)
    states = [pl.Body.morph(rows, FACES, rest=k) for k in (0, 2)]
    for each in states:
        each.update(transform=TURN)
    scene.collide()
    assert body.vertices.tobytes() == states[0].vertices.tobytes()
    stop_once(monkeypatch, owner, name, late)
    with pytest.raises(KeyboardInterrupt):
        body.update([0, 0, 1], transform=TURN)
    which = [state.vertices.tobytes() for state in states].index(body.vertices.tobytes())
    expected = pl.collide(states[which], other).faces
    np.testing.assert_array_equal(pl.collide(body, other).faces, expected)
    np.testing.assert_array_equal(scene.collide().faces, expected)
    body.update([0, 0, 1], transform=TURN)
    np.testing.assert_array_equal(scene.collide().faces, pl.collide(states[1], other).faces)


@pytest.mark.parametrize("policy", ["bottom_up", "lazy"])
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_interrupted_while_all_vertices_are_set(policy, late, monkeypatch):
    body = pl.Body.morph(targets(BALL, 3), FACES, policy=policy)
    pl.collide(body, others())
    stop_once(monkeypatch, motion, "blend_all", late)
    with pytest.raises(KeyboardInterrupt):
        body.update([0, 0.5, 0.5])
    assert_as_free(body)


@pytest.mark.parametrize("policy", BLENDED, ids=str)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"),
                         [(blended, "prepare_bvh"), (blended, "weigh_references"), (blended, "node_entry"), (blended, "vertex_spans"),
                                             (lazy, "refit_each_node")])
def test_an_interrupted_question_can_be_asked_again(owner, name, late, policy, monkeypatch):
    body, other = pl.Body.morph(targets(BALL, 3), FACES, policy=policy), others()
    body.update([0.5, 0.25, 0.25])
    stop_once(monkeypatch, owner, name, late)
    with pytest.raises(KeyboardInterrupt):
        pl.collide(body, other)
    assert_as_free(body)
    body.update([0, 0.5, 0.5])
    stop_once(monkeypatch, blended, "weigh_references", late)
    with pytest.raises(KeyboardInterrupt):
        pl.collide(body, other)
    assert_as_free(body)


@pytest.mark.skipif(OFF or not hasattr(__import__("os"), "fork"), reason="needs kernels and forks")
def test_a_forked_child_goes_on():
    python("""
        import os
        import numpy as np
        import pliant as pl
        from pliant import shapes

        ball, faces = shapes.icosphere(1)
        body, other = pl.Body.morph([ball, ball * 2], faces), pl.Body(ball + [1, 0.2, 0.1], faces)
        pl.collide(body, other)
        body.update([0.5, 0.5])

        def ask(weights):
            body.update(weights)
            free = pl.Body(ball * weights[0] + ball * 2 * weights[1], faces)
            assert np.array_equal(pl.collide(body, other).faces, pl.collide(free, other).faces)

        child = os.fork()
        ask([0.25, 0.75] if child == 0 else [0.75, 0.25])
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)
