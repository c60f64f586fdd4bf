"""`self_collide` gives what the reference gives, whatever the options, the frame and the threads."""

from itertools import combinations

import numba
import numpy as np
import pytest

import meshes
import naive
import pliant as pl
from pliant import shapes
from pliant.refit.policy import POLICIES

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
TRIANGLE = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
CROSSED = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, -1], [1, 1, 1], [2, 2, 1]], np.float64), [[0, 1, 2], [3, 4, 5]]


class Creasing:
    """A sphere of 320 faces (20 with the JIT off): whole, dented, dented through itself, crumpled, pressed flat, and whole again."""

    def __init__(self):
        directions, self.faces = shapes.icosphere(0 if OFF else 2)
        crumple = np.random.default_rng(51).standard_normal(directions.shape)
        self.frames = [meshes.pinched(directions, 0.0), meshes.pinched(directions, 1.3), directions + 0.1 * crumple,
                       directions * [1, 1, 0], meshes.pinched(directions, 0.8)]
        self.answers = [naive.self_collide(frame, self.faces) for frame in self.frames]

    def __iter__(self):
        return iter(zip(self.frames, self.answers, strict=True))


@pytest.fixture(scope="session")
def creasing():
    """Frames (vertices, right pairs) of a mesh that comes to collide with itself; neighbours, too."""
    scene = Creasing()
    sharing = [sum(bool(set(scene.faces[i]) & set(scene.faces[j])) for i, j in answer) for answer in scene.answers]
    assert [len(answer) > 0 for answer in scene.answers] == [False, True, not OFF, True, False]
    assert max(sharing) > 0
    return scene


# --- options -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_every_option_gives_the_right_pairs(options, creasing):
    body = pl.Body(creasing.frames[0], creasing.faces, **options)
    for vertices, right in list(creasing)[1:3] if OFF else creasing:
        body.update(vertices)
        meshes.assert_right_self(body, right)


def test_a_body_made_from_a_frame_equals_one_updated_to_it(options, creasing):
    for vertices, right in list(creasing)[2:4]:
        meshes.assert_right_self(pl.Body(vertices, creasing.faces, **options), right)


def test_borrowed_frames_give_the_right_pairs(policy, creasing):
    frames = [(vertices.copy(), right) for vertices, right in creasing]
    body = pl.Body(frames[0][0], creasing.faces, policy=policy)
    for k, (vertices, right) in enumerate(frames):
        body.update(vertices, copy=k % 2 == 0)
        meshes.assert_right_self(body, right)


def test_questions_to_others_in_between(policy, creasing):
    """A body asked about itself, then about another, then about itself: neither question spoils the other."""
    body, probe = pl.Body(creasing.frames[0], creasing.faces, policy=policy), pl.Body(*meshes.cube((-0.5, -0.5, -0.5)), policy=policy)
    far = pl.Body(np.array([[0, 0, 0], [1e40, 0, 0], [0, 1e40, 0]]), [[0, 1, 2]])
    for vertices, right in creasing:
        body.update(vertices)
        meshes.assert_right(body, probe)
        meshes.assert_right_self(body, right)
        meshes.assert_right(far, body)                                  # in another scale
        meshes.assert_right_self(body, right)
        meshes.assert_right_self(probe, np.zeros((0, 2), np.int32))


# --- results -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("adjacent", ["exact", "ignore"])
def test_first_gives_one_pair_or_none(policy, adjacent, creasing):
    for vertices, _ in creasing:
        body = pl.Body(vertices, creasing.faces, policy=policy)
        right = pl.self_collide(body, adjacent=adjacent).faces.tolist()
        found = pl.self_collide(body, adjacent=adjacent, first=True).faces.tolist()
        assert len(found) == min(len(right), 1)
        assert all(pair in right for pair in found)


@pytest.mark.formulas
def test_first_finds_neighbours_where_nothing_else_collides():
    """The only pair shares one vertex, or two, or three."""
    vertices = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, 0], [1, 1, 5], [9, 9, 9]]
    for faces in ([[0, 1, 2], [0, 3, 4]], [[0, 1, 2], [0, 1, 3]], [[0, 1, 2], [2, 1, 0]]):
        body = pl.Body(vertices, [*faces, [5, 5, 5]])
        assert pl.self_collide(body, first=True).faces.tolist() == [[0, 1]]
        assert pl.self_collide(body).faces.tolist() == [[0, 1]]
        for first in (False, True):
            assert len(pl.self_collide(body, adjacent="ignore", first=first)) == 0


def test_first_with_threads_gives_one_pair(set_threads):
    set_threads(4)
    body = pl.Body(*meshes.joined(meshes.needles(200, 0), meshes.needles(200, 1)), arity=2, leaf=1)
    assert len(pl.self_collide(body, first=True)) == 1


def test_room_for_pairs_grows(policy):
    """All of 200 × 200 needles cross; and 300 copies of one face are 44,850 pairs of neighbours."""
    body = pl.Body(*meshes.joined(meshes.needles(200, 0), meshes.needles(200, 1)), policy=policy)
    right = np.stack(np.divmod(np.arange(40_000), 200), 1) + np.array([0, 200])
    copies = pl.Body(TRIANGLE, np.tile([0, 1, 2], (300, 1)), policy=policy)
    for _ in range(2):
        assert np.array_equal(pl.self_collide(body).faces, right)
        assert pl.self_collide(copies).faces.tolist() == [list(pair) for pair in combinations(range(300), 2)]
        assert len(pl.self_collide(copies, adjacent="ignore")) == 0


def test_an_answer_is_the_callers_own():
    body = pl.Body(*CROSSED)
    found = pl.self_collide(body).faces
    assert found.tolist() == [[0, 1]]
    found[:] = -1
    body.update(CROSSED[0] * [1, 1, 0])
    assert pl.self_collide(body).faces.tolist() == [[0, 1]]
    body.update(CROSSED[0] + np.array([0, 0, 1])[None] * (np.arange(6) > 2)[:, None] * 5)
    assert len(pl.self_collide(body)) == 0
    assert found.tolist() == [[-1, -1]]


@pytest.mark.parametrize("n", [1, 2])
def test_threads_do_not_change_the_answer(n, set_threads):
    directions, faces = shapes.icosphere(5)
    crumpled = directions + 0.02 * np.random.default_rng(52).standard_normal(directions.shape)
    needles = meshes.joined(meshes.needles(300, 0), meshes.needles(300, 1))
    for policy in POLICIES:
        cases = [(pl.Body(meshes.pinched(directions, 1.5), faces, policy=policy), 200), (pl.Body(crumpled, faces, policy=policy), 3000),
                 (pl.Body(*needles, arity=2, leaf=1, policy=policy), 90_000)]
        for body, least in cases:
            set_threads(1)
            alone = pl.self_collide(body)
            assert len(alone) >= least
            body.update(body.vertices)
            set_threads(n)
            together = pl.self_collide(body)
            assert np.array_equal(together.faces, alone.faces)
            assert together.stats.n_p == alone.stats.n_p
            assert np.array_equal(pl.self_collide(body, adjacent="ignore").faces, [
                pair for pair in alone.faces.tolist() if not set(body.faces[pair[0]]) & set(body.faces[pair[1]])] or np.zeros((0, 2)))


@pytest.mark.formulas
def test_bodies_with_nothing_to_collide(policy):
    none = np.zeros((0, 2), np.int32)
    for vertices, faces in ((np.zeros((0, 3)), np.zeros((0, 3), int)), (TRIANGLE, np.zeros((0, 3), int)), (TRIANGLE, [[0, 1, 2]]),
                            (TRIANGLE, [[1, 1, 1]]), ([*TRIANGLE, [-1e300, 5, 5e-324]], [[2, 1, 0]])):
        body = pl.Body(vertices, faces, policy=policy)
        meshes.assert_right_self(body, none)
        assert len(pl.self_collide(body, first=True)) == 0


@pytest.mark.formulas
def test_faces_may_repeat_vertices(policy):
    """A face may be a segment or a point by name; shared vertices count once."""
    vertices = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [2, 0, 0], [8, 0, 0]]
    faces = [[0, 1, 2], [0, 0, 1], [1, 1, 0], [2, 2, 2], [2, 1, 0], [0, 0, 0], [0, 3, 3], [3, 3, 3], [0, 4, 0], [1, 1, 2], [0, 3, 0],
             [3, 4, 3]]
    meshes.assert_right_self(pl.Body(vertices, faces, policy=policy))


# --- arguments ---------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
@pytest.mark.parametrize("value", ["none", "", "EXACT", None, True, 1, ["exact"]], ids=repr)
def test_another_word_for_adjacent_is_refused(value):
    with pytest.raises(ValueError, match="adjacent") as caught:
        pl.self_collide(pl.Body(*CROSSED), adjacent=value)
    assert repr(value) in str(caught.value)
    assert "'exact'" in str(caught.value)
    assert "'ignore'" in str(caught.value)


@pytest.mark.formulas
@pytest.mark.parametrize("name", ["first", "contacts"])
def test_flags_are_true_or_false(name):
    with pytest.raises(TypeError, match=name):
        pl.self_collide(pl.Body(*CROSSED), **{name: 1})


@pytest.mark.formulas
def test_only_bodies_are_asked():
    with pytest.raises(TypeError, match="body"):
        pl.self_collide(TRIANGLE)
    with pytest.raises(TypeError):
        pl.self_collide(pl.Body(*CROSSED), "exact")                     # options are named


# --- updates -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_a_query_sees_the_last_update(policy):
    body, up = pl.Body(*CROSSED, policy=policy), np.outer([0, 0, 0, 1, 1, 1], [0, 0, 1])
    for offset, pairs in ((0, 1), (0, 1), (10, 0), (10, 0), (1, 1), (-7, 0), (0, 1)):
        body.update(CROSSED[0] + offset * up)
        assert len(pl.self_collide(body)) == pairs
    for _ in range(3):
        body.update(CROSSED[0] + 50 * up)
    body.update(CROSSED[0])
    assert len(pl.self_collide(body)) == 1


def test_vertices_that_trade_places(policy):
    """Which faces are near each other changes from frame to frame, and a tree may be built anew: which vertices they share does not."""
    rng = np.random.default_rng(53)
    vertices, faces = shapes.icosphere(1)
    body, counts = pl.Body(vertices, faces, policy=policy, leaf=2), []
    for k in range(6):
        moved = vertices[rng.permutation(len(vertices))] if k % 3 == 1 else vertices * (k + 1)
        body.update(moved)
        counts.append(len(meshes.assert_right_self(body)))
    assert counts[0] == counts[2] == counts[-1] == 0
    assert min(counts[1::3]) > 500


@pytest.mark.formulas
@pytest.mark.parametrize("origin", [None, [0, 0, 0], [3e5, -7e8, 0.1]], ids=["free", "fixed at 0", "fixed far away"])
def test_walking_away_from_the_origin(policy, origin):
    directions, faces = shapes.icosphere(0 if OFF else 1)
    whole, dented = meshes.pinched(directions, 0.0), meshes.pinched(directions, 1.5)
    body = pl.Body(whole, faces, policy=policy, origin=origin)
    steps = [0, 1.5, 2.5e5, 1e12, 7]
    for step in steps[::2] if OFF else steps:
        body.update(dented + np.array([step, -step, 0]))
        assert len(meshes.assert_right_self(body)) > 0
        body.update(whole + np.array([step, -step, 0]))
        meshes.assert_right_self(body, None if step > 1e9 else np.zeros((0, 2), np.int32))


@pytest.mark.formulas
def test_changing_size(policy):
    directions, faces = shapes.icosphere(0 if OFF else 1)
    body, dented = pl.Body(directions, faces, policy=policy), meshes.pinched(directions, 1.5)
    right = naive.self_collide(dented, faces)
    for power in (0, -100, 100, -1000, 1000, 0):
        body.update(dented * 2.0**power)
        meshes.assert_right_self(body, right)


# --- counters ----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_counters(options, creasing):
    """Volumes are counted when they are set and only then; pairs for every query alike."""
    vertices, right = list(creasing)[1]
    body = pl.Body(vertices, creasing.faces, **options)
    fresh, again = pl.self_collide(body).stats, pl.self_collide(body).stats
    assert all(type(number) is int for number in fresh)
    assert 0 < fresh.n_u
    assert again.n_u == 0
    assert again[:2] == fresh[:2]
    assert len(right) <= fresh.n_p <= len(body) * (len(body) - 1) // 2
    assert 0 < fresh.n_v
    assert 0 <= fresh.n_exact <= fresh.n_p
    body.update(vertices)
    assert (pl.self_collide(body).stats.n_u > 0) == (options["policy"] != "inflated")  # nothing has moved
