"""`collide` gives what the reference gives, whatever the options, the frame, the threads and the order of the arguments."""

from pathlib import Path

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
from child import python
from pliant import shapes
from pliant.refit.policy import POLICIES

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
TRIANGLE = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
SPIKE = np.array([[1, 1, -1], [1, 1, 1], [2, 2, 1]], np.float64)


def few(frames):
    """With the JIT off one frame apart and one deep will do."""
    return list(frames)[:2] if OFF else list(frames)


# --- options -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_every_option_gives_the_right_pairs(options, deforming):
    first, second, _ = next(iter(deforming))
    a, b = pl.Body(first, deforming.faces, **options), pl.Body(second, deforming.faces, **options)
    for first, second, right in few(deforming):
        a.update(first)
        b.update(second)
        meshes.assert_right(a, b, right)


def test_bodies_of_different_options(two_options, deforming):
    frames = list(deforming)
    a, b = (pl.Body(frames[0][k], deforming.faces, **two_options[k]) for k in range(2))
    for first, second, right in frames:
        a.update(first)
        b.update(second)
        meshes.assert_right(a, b, right)


def test_a_body_made_from_a_frame_equals_one_updated_to_it(options, deforming):
    for first, second, right in list(deforming)[1:3]:
        meshes.assert_right(pl.Body(first, deforming.faces, **options), pl.Body(second, deforming.faces, **options), right)


# --- results -----------------------------------------------------------------------------------------------------------------

def test_first_gives_one_pair_or_none(policy, deforming):
    """And that one is among all."""
    for first, second, right in deforming:
        a, b = (pl.Body(vertices, deforming.faces, policy=policy) for vertices in (first, second))
        found = pl.collide(a, b, first=True).faces.tolist()
        assert len(found) == min(len(right), 1)
        assert all(pair in right.tolist() for pair in found)


@pytest.mark.formulas
def test_first_gives_one_pair_where_two_leaves_have_many():
    a, b = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.5, 0.5, 0.5)))
    found, right = pl.collide(a, b, first=True), meshes.right_pairs(a, b)
    assert len(right) > 1
    assert len(found) == 1
    assert found.faces.tolist()[0] in right.tolist()


def test_first_with_threads_gives_one_pair(set_threads):
    set_threads(4)
    a, b = (pl.Body(*meshes.needles(200, along), arity=2, leaf=1) for along in (0, 1))
    assert len(pl.collide(a, b, first=True)) == 1


def test_room_for_pairs_grows():
    """All of 200 × 200 needles cross: more than there is room for at first, several times over."""
    a, b = (pl.Body(*meshes.needles(200, along)) for along in (0, 1))
    found = pl.collide(a, b)
    assert np.array_equal(found.faces, np.stack(np.divmod(np.arange(40_000), 200), 1))
    assert found.stats.n_p >= 40_000
    again = pl.collide(a, b)
    assert np.array_equal(again.faces, found.faces)


def test_an_answer_is_the_callers_own():
    """Later queries do not write into earlier answers, nor do callers into bodies."""
    a, b = (pl.Body(*meshes.needles(20, along)) for along in (0, 1))
    found = pl.collide(a, b).faces
    kept = found.copy()
    found[:] = -1
    up = np.array([0, 0, 1])
    b.update(b.vertices + up)
    assert len(pl.collide(a, b)) == 0
    b.update(b.vertices - up)
    assert np.array_equal(pl.collide(a, b).faces, kept)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_threads_do_not_change_the_answer(n, set_threads):
    scene = shapes.bumpy_pair(20_480, 5)
    crossing = [meshes.needles(300, along) for along in (0, 1)]
    cases = [(pl.Body(scene.frame(2)[0], scene.faces), pl.Body(scene.frame(2)[1], scene.faces, policy="lazy"), 3_000),
             (pl.Body(*crossing[0], arity=2, leaf=1), pl.Body(*crossing[1], arity=2, leaf=1), 90_000)]
    for a, b, least in cases:
        set_threads(1)
        alone = pl.collide(a, b)
        assert len(alone) >= least
        a.update(a.vertices)
        b.update(b.vertices)
        set_threads(n)
        together = pl.collide(a, b)
        assert np.array_equal(together.faces, alone.faces)
        assert together.stats.n_p == alone.stats.n_p


def test_threads_that_ask_at_different_scales():
    """One body against huge ones of several sizes at once: each query sees it in another scale. In a process that may die of it."""
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import numpy as np
        import meshes
        import pliant as pl
        from child import together
        from pliant import shapes

        def huge(size):
            return pl.Body(*meshes.soup([[[-3, -3, 0.1], [3, -3, 0.1], [0, 3, 0.1]], size * np.eye(3), -size * np.eye(3)]))

        others = [huge(10.0**power) for power in (20, 30, 40, 50)]
        right = pl.collide(pl.Body(*shapes.icosphere(4)), pl.Body([[-3, -3, 0.1], [3, -3, 0.1], [0, 3, 0.1]], [[0, 1, 2]])).faces
        assert len(right) > 100

        def ask(body, other):
            for _ in range(30):
                np.testing.assert_array_equal(pl.collide(body, other).faces, right)

        for policy in sys.argv[2:]:
            print(policy)
            body = pl.Body(*shapes.icosphere(4), policy=policy)
            together(*(lambda other=other: ask(body, other) for other in others * 2))
    """
    python(code, Path(__file__).resolve().parents[2], *POLICIES)


@pytest.mark.formulas
def test_bodies_without_faces_meet_nothing():
    empty = pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int)), pl.Body(TRIANGLE, np.zeros((0, 3), int))
    for body in (*empty, pl.Body(TRIANGLE, [[0, 1, 2]])):
        for other in empty:
            if other is not body:
                meshes.assert_right(body, other, np.zeros((0, 2), np.int32))


@pytest.mark.formulas
def test_vertices_that_no_face_uses_meet_nothing(policy):
    a = pl.Body([*TRIANGLE, [9, 9, 9], [-1e300, 5, 5e-324]], [[0, 1, 2]], policy=policy)
    b = pl.Body([*SPIKE, [-1e300, 5, 5e-324], [0, 0, 0]], [[2, 1, 0]], policy=policy)
    meshes.assert_right(a, b, np.array([[0, 0]]))


@pytest.mark.formulas
def test_faces_may_repeat_vertices(policy):
    a = pl.Body(TRIANGLE, [[0, 1, 2], [0, 0, 1], [2, 2, 2], [2, 1, 0]], policy=policy)
    b = pl.Body([[0, 4, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 2], [2, 2, 2]], policy=policy)
    assert len(meshes.assert_right(a, b)) == 8


# --- updates -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_a_query_sees_the_last_update(policy):
    a, b = pl.Body(TRIANGLE, [[0, 1, 2]], policy=policy), pl.Body(SPIKE, [[0, 1, 2]], policy=policy)
    for offset, pairs in ((0, 1), (0, 1), (10, 0), (10, 0), (1, 1), (-7, 0), (0, 1)):
        b.update(SPIKE + np.array([0, 0, offset]))
        a.update(TRIANGLE)
        assert len(pl.collide(a, b)) == pairs
        assert len(pl.collide(b, a)) == pairs
    for _ in range(3):
        b.update(SPIKE + 50)
    b.update(SPIKE)
    assert len(pl.collide(a, b)) == 1


def test_updates_between_queries_with_others(policy, deforming):
    """One body against several, some asked after every update, some after a few."""
    frames = list(deforming)
    a = pl.Body(frames[0][0], deforming.faces, policy=policy)
    others = [pl.Body(second, deforming.faces, policy=other) for _, second, _ in frames for other in POLICIES]
    for k, (first, _, right) in enumerate(frames):
        a.update(first)
        mine = others[k * len(POLICIES):(k + 1) * len(POLICIES)]
        for other in mine:
            meshes.assert_right(a, other, right)


@pytest.mark.formulas
@pytest.mark.parametrize("copy", [True, False])
def test_given_arrays_are_copied_or_borrowed(copy):
    """A copied array may be written to afterwards; a borrowed one is what the body is made of until the next update."""
    a, b, moving = pl.Body(TRIANGLE, [[0, 1, 2]]), pl.Body(SPIKE, [[0, 1, 2]]), SPIKE + 10
    b.update(moving, copy=copy)
    assert len(pl.collide(a, b)) == 0
    moving[:] = SPIKE
    if copy:
        assert len(pl.collide(a, b)) == 0
        assert np.array_equal(b.vertices, SPIKE + 10)
    b.update(moving, copy=copy)
    assert np.array_equal(b.vertices, SPIKE)
    assert len(pl.collide(a, b)) == 1
    b.update(SPIKE + 10, copy=True)
    assert np.array_equal(moving, SPIKE)
    assert len(pl.collide(a, b)) == 0


def test_borrowed_frames_give_the_right_pairs(options, deforming):
    frames = [(first.copy(), second.copy(), right) for first, second, right in deforming]
    a, b = (pl.Body(frames[0][k], deforming.faces, **options) for k in range(2))
    for k, (first, second, right) in enumerate(frames):
        a.update(first, copy=k % 2 == 0)
        b.update(second, copy=False)
        meshes.assert_right(a, b, right)


@pytest.mark.formulas
@pytest.mark.parametrize("origin", [None, [0, 0, 0], [3e5, -7e8, 0.1]], ids=["free", "fixed at 0", "fixed far away"])
def test_walking_away_from_the_origin(policy, origin):
    """Bodies walk off together in ever larger steps, and come back; wherever their origins are, pairs are right."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    a, b = (pl.Body(vertices, faces, policy=policy, origin=origin) for _ in range(2))
    steps = [0, 0.5, 1.5, 3.9, 4.1, 40, 1e3, 2.5e5, 1e9, 1e12, 7, 0]
    for step in steps[::3] if OFF else steps:
        a.update(vertices + np.array([step, -step, 0]))
        b.update(vertices * 0.9 + [step + 0.3, 0.2 - step, 0.1])
        assert len(meshes.assert_right(a, b)) > 0
        b.update(vertices * 0.9 + [step + 2.2, 0.2 - step, 0.1])
        assert len(meshes.assert_right(a, b)) == 0


@pytest.mark.formulas
def test_changing_size(policy):
    """From tiny to huge and back, by update: the scale of float32 follows."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    a, b = (pl.Body(vertices, faces, policy=policy) for _ in range(2))
    for size in (1.0, 1e-30, 1e30, 1e-300, 1e300, 1.0):
        a.update(vertices * size)
        b.update((vertices * 0.7 + [0.5, 0.4, 0.1]) * size)
        assert len(meshes.assert_right(a, b)) > 0
        b.update(vertices * 0.7)
        meshes.assert_right(a, b)


# --- counters ----------------------------------------------------------------------------------------------------------------

def lanes(body):
    """How many volumes a body has."""
    return int(body._bvh_at(body._motion.scale).nodes["count"].sum())


@pytest.mark.formulas
def test_counters(options, deforming):
    """Volumes are counted when they are set and only then; pairs of volumes and of triangles for every query alike."""
    first, second, right = list(deforming)[1]
    a, b = (pl.Body(vertices, deforming.faces, **options) for vertices in (first, second))
    fresh = pl.collide(a, b).stats
    again = pl.collide(a, b).stats
    assert 0 < fresh.n_u
    assert again.n_u == 0
    assert again[:2] == fresh[:2]
    assert len(right) <= fresh.n_p <= len(a) * len(b)
    assert 0 < fresh.n_v
    assert 0 <= fresh.n_exact <= fresh.n_p
    if options["policy"] == "bottom_up":
        assert fresh.n_u == lanes(a) + lanes(b)
        a.update(first)
        assert pl.collide(a, b).stats.n_u == lanes(a)
    elif options["policy"] == "lazy":
        assert fresh.n_u <= lanes(a) + lanes(b)


def test_counters_are_plain_numbers_and_add_up(deforming):
    first, second, _ = list(deforming)[1]
    stats = pl.collide(pl.Body(first, deforming.faces), pl.Body(second, deforming.faces)).stats
    assert all(type(number) is int for number in stats)
    assert stats + stats == tuple(2 * number for number in stats)


@pytest.mark.formulas
def test_nothing_is_done_for_bodies_far_apart(policy):
    a, b = (pl.Body(*meshes.cube((x, 0, 0)), policy=policy) for x in (0, 9))
    assert pl.collide(a, b).stats == pl.Stats()


def test_lazy_sets_fewer_volumes_where_bodies_barely_meet():
    vertices, faces = shapes.icosphere(4)
    a, b = pl.Body(vertices, faces, policy="lazy"), pl.Body(vertices + np.array([1.99, 0, 0]), faces, policy="lazy")
    stats = pl.collide(a, b).stats
    assert 0 < stats.n_u < (lanes(a) + lanes(b)) / 4


def test_the_same_body_twice_is_refused():
    body = pl.Body(TRIANGLE, [[0, 1, 2]])
    with pytest.raises(ValueError, match="self_collide"):
        pl.collide(body, body)
