"""A scene says of many bodies what `collide` says of each two; what has not moved is not asked, what is far away not refitted."""

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes
from pliant.broadphase import fresh
from scenes import assert_scene, cube, rows

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
CROSSED = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, -1], [1, 1, 1], [2, 2, 1]], np.float64), [[0, 1, 2], [3, 4, 5]]
NOTHING = np.zeros((0, 3)), np.zeros((0, 3), int)


def small_bodies(rng, n):
    """Free, rigid and placed ones, of several shapes and policies."""
    tetrahedron = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float64) - 0.3, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    meshes_ = [meshes.cube((-0.4, -0.4, -0.4), 0.8), tetrahedron, shapes.icosphere(0)]
    for k in range(n):
        vertices, faces = meshes_[k % 3]
        body = (pl.Body, pl.Body.rigid)[k // 3 % 2](vertices, faces, policy=("bottom_up", "lazy")[k % 2], leaf=1 + k % 4)
        yield body, vertices, rng.uniform(0, 1, 3), rng.standard_normal(3)


def step(k, frame, body, vertices, at, way, room):
    """Move one body on: by vertices, by matrix, or both."""
    place = poses.matrix(meshes.rotation([1, 2, 3 + k], 0.3 * frame), (at * room + way * 0.1 * frame) % room)
    if k // 3 % 2:
        body.update(place)
    elif k % 4 == 0:
        body.update(poses.moved(place, vertices))
    elif k % 4 == 1:
        body.update(vertices * (1 + 0.1 * np.sin(frame)), transform=place)
    else:
        body.update(transform=place)


# --- against all pairs ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("brute", [400, 4], ids=["compared", "swept"])
def test_many_moving_bodies(brute, monkeypatch):
    """Some move in every frame, some now and then, some never; some are taken out and come back."""
    monkeypatch.setattr(fresh, "BRUTE", brute)
    rng, n = np.random.default_rng(91), 8 if OFF else 60
    moving = list(small_bodies(rng, n))
    scene, ids = pl.Scene(), {}
    for k, (body, *rest) in enumerate(moving):
        step(k, 0, body, *rest, 5.0)
        ids[k] = scene.add(body)
    met = 0
    for frame in range(2 if OFF else 30):
        for k, (body, *rest) in enumerate(moving):
            if k % 5 == 0 or (k % 5 < 4 and frame % (k % 5 + 1) == 0):
                step(k, frame, body, *rest, 2.0 if OFF else 5.0)
        if frame % 7 == 3:
            gone = int(rng.integers(n))
            scene.remove(ids[gone])
            assert_scene(scene)
            ids[gone] = scene.add(moving[gone][0])
        met += len(assert_scene(scene)) > 0
    assert met > 0


@pytest.mark.parametrize("options", [{"sat": "lite"}, {"descend": "larger"}, {"contacts": True}, {"self_pairs": True},
                                     {"self_pairs": True, "adjacent": "ignore", "contacts": True}], ids=str)
def test_options_are_those_of_queries(options):
    rng = np.random.default_rng(92)
    scene = pl.Scene()
    for k, (body, *rest) in enumerate(small_bodies(rng, 4 if OFF else 12)):
        step(k, 1, body, *rest, 1.5)
        scene.add(body)
    crossed = scene.add(pl.Body(*CROSSED))
    assert len(assert_scene(scene, **options)) > 0
    if options.get("self_pairs"):
        assert [crossed, crossed, 0, 1] in np.column_stack([scene.collide(**options).bodies, scene.collide(**options).faces]).tolist()


def test_first_is_one_of_all():
    scene = pl.Scene([cube(0.0), cube(0.5), cube(5.0), cube(5.5), cube(9.0)])
    everything_, one = rows(scene.collide()), scene.collide(first=True)
    assert len(one) == 1
    assert rows(one)[0] in everything_
    assert len(one.counters) == len(one.tested) == 1                    # and nobody is asked after that
    assert rows(scene.collide()) == everything_
    scene.remove(1)
    scene.remove(3)
    assert len(scene.collide(first=True)) == 0


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("options", [{}, {"descend": "larger"}, {"contacts": True}, {"self_pairs": True}])
def test_first_of_each_two_bodies(options, turned):
    """With and without transforms, asked together and one by one (`descend`)."""
    scene = pl.Scene([cube(x) for x in (0.0, 0.5, 0.9, 5.0, 5.5, 9.0)])
    if turned:
        for number in scene:
            scene[number].update(transform=[[0, -1, 0, 0.1], [1, 0, 0, 0], [0, 0, 1, 0.2], [0, 0, 0, 1]])
    everything_, each = scene.collide(**options), scene.collide(first="each", **options)
    assert np.unique(everything_.bodies, axis=0).tolist() == each.bodies.tolist()
    assert len(each) > 2
    assert set(rows(each)) <= set(rows(everything_))
    assert each.tested.tolist() == everything_.tested.tolist()
    again = scene.collide(first="each", **options)
    assert rows(again) == rows(each)                                    # from memory
    assert again.stats == pl.Stats()
    assert rows(scene.collide(**options)) == rows(everything_)


def test_threads_do_not_change_the_answer(set_threads):
    answers = []
    for n in (1, 2):
        set_threads(n)
        scene = pl.Scene()
        for k, (body, *rest) in enumerate(small_bodies(np.random.default_rng(93), 4 if OFF else 20)):
            step(k, 2, body, *rest, 1.5)
            scene.add(body)
        found = scene.collide(contacts=True, self_pairs=True)
        answers.append((rows(found), found.segments.tobytes(), found.tested.tobytes(), found.counters.tobytes()))
    assert answers[0] == answers[1]
    assert len(answers[0][0]) > 0


# --- who is in it ---------------------------------------------------------------------------------------------------------------

def test_an_empty_scene():
    scene = pl.Scene()
    for found in (scene.collide(), scene.collide(contacts=True, self_pairs=True), scene.collide(first=True)):
        assert not found
        assert found.stats == pl.Stats()
        assert found.tested.shape == (0, 2)
        assert found.counters.shape == (0, 4)
    assert scene.collide(contacts=True).segments.shape == (0, 2, 3)
    assert scene.candidates().shape == (0, 2)
    assert (len(scene), list(scene)) == (0, [])


def test_ids_are_never_used_again():
    bodies = [cube(x) for x in (0.0, 0.5, 1.0)]
    scene = pl.Scene(bodies)
    assert list(scene) == [0, 1, 2]
    assert [scene[k] for k in scene] == bodies
    scene.remove(1)
    assert (list(scene), len(scene), 1 in scene, 2 in scene) == ([0, 2], 2, False, True)
    assert_scene(scene)
    assert scene.add(bodies[1]) == 3                                    # the slot may be, the id not
    assert scene.add(cube(0.25)) == 4
    scene.remove(4)
    scene.remove(np.int64(0))
    assert scene.add(bodies[0]) == 5
    assert list(scene) == [2, 3, 5]
    assert {tuple(pair) for pair in assert_scene(scene).tested.tolist()} == {(2, 3), (2, 5), (3, 5)}
    for number in list(scene):
        scene.remove(number)
    assert len(assert_scene(scene)) == 0
    assert scene.add(bodies[0]) == 6


def test_a_body_is_in_a_scene_once_and_in_several_scenes():
    a, b, c = cube(0.0), cube(0.5), cube(1.0)
    one, two = pl.Scene([a, b]), pl.Scene([c, a])
    with pytest.raises(ValueError, match="id 0"):
        one.add(a)
    assert len(one) == 2
    a.update(meshes.cube((0.75, 0, 0))[0])
    for scene in (one, two):
        assert len(assert_scene(scene)) > 0
    a.update(meshes.cube((50, 0, 0))[0])
    for scene in (one, two):
        assert len(assert_scene(scene)) == 0
    one.remove(0)
    a.update(meshes.cube((0.75, 0, 0))[0])
    assert len(assert_scene(two)) > 0
    assert two[1] is a


def test_bodies_that_are_gone_are_no_longer_watched():
    a, b = cube(0.0), cube(0.5)
    scene, other = pl.Scene([a, b]), pl.Scene([a])
    assert a.watchers == (scene, other)
    scene.remove(0)
    assert a.watchers == (other,)
    a.update(meshes.cube((0.25, 0, 0))[0])
    assert len(assert_scene(scene)) == 0
    scene.add(a)
    assert set(a.watchers) == {scene, other}
    assert len(assert_scene(scene)) > 0


def test_bodies_without_faces_meet_nothing():
    scene = pl.Scene([pl.Body(*NOTHING), cube(), pl.Body.rigid(meshes.cube()[0], NOTHING[1]), cube(0.5)])
    assert assert_scene(scene).tested.tolist() == [[1, 3]]
    assert len(assert_scene(scene, self_pairs=True)) == len(scene.collide())
    scene[2].update(np.eye(4))
    scene[0].update(np.zeros((0, 3)))
    scene.remove(0)
    scene.remove(2)
    scene.add(cube(0.25))                                               # where a body without a box was
    assert assert_scene(scene).tested.tolist() == [[1, 3], [1, 4], [3, 4]]


# --- who is left out ------------------------------------------------------------------------------------------------------------

def test_ignored_bodies_and_groups():
    scene = pl.Scene()
    for k in range(6):                                                  # triangles that meet at one corner
        scene.add(pl.Body([[0, 0, 0], [1, k, 0], [0, 1, k]], [[0, 1, 2]]), group=("red", "blue", None)[k % 3])
    group = {0: "red", 1: "blue", 2: None, 3: "red", 4: "blue", 5: None}
    rules = [(0, 1), ("red", "blue"), ("red", "red"), (5, "red"), (2, 5), ("green", "red"), (4, "green")]
    active = set()

    def ignored(i, j):
        return any({(i, j), (j, i)} & {(p, q) for p in {a, *members(a)} for q in {b, *members(b)}} for a, b in active)

    def members(name):
        return [k for k in group if group[k] == name]

    for rule in rules:
        scene.ignore(*(rule if len(active) % 2 else rule[::-1]))
        active.add(rule)
        assert_scene(scene, ignored)
    assert len(scene.collide().tested) < 8
    for rule in rules[::2] + rules[1::2]:
        scene.heed(*rule[::-1])
        scene.heed(*rule)                                               # twice is once
        active.discard(rule)
        assert_scene(scene, ignored)
    assert len(scene.collide().tested) == 15


def test_rules_go_with_their_bodies_and_stay_with_groups():
    a, b = cube(0.0), cube(0.5)
    scene = pl.Scene([a])
    scene.add(b, group="soft")
    scene.ignore(0, 1)
    scene.ignore("soft", "hard")
    assert len(scene.collide()) == 0
    scene.remove(0)
    again = scene.add(a)
    assert len(assert_scene(scene)) > 0
    scene.remove(again)
    scene.add(a, group="hard")
    assert len(scene.collide()) == 0
    scene.heed("hard", "soft")
    assert len(assert_scene(scene)) > 0


# --- boxes that are vouched for -------------------------------------------------------------------------------------------------

def test_a_body_may_not_leave_its_box():
    a, b = cube(0.0), cube(20.0, pl.Body.rigid)
    scene = pl.Scene([a])
    number = scene.add(b, box=[[0, -1, -1], [30, 2, 2]])
    for x in (-20.0, -10.0, 0.0, -19.5, 9.0):                           # it is anywhere inside, also at its border, and always asked
        b.update(poses.matrix(move=(x, 0, 0)))
        assert assert_scene(scene).tested.tolist() == [[0, number]]
    b.update(poses.matrix(move=(-19.5, 1.5, 0)))
    for _ in range(2):                                                  # until it is back, or removed
        with pytest.raises(ValueError, match=rf"body {number} .*left.*box"):
            scene.collide()
    a.update(meshes.cube((0.1, 0, 0))[0])
    b.update(poses.matrix(move=(-19.5, 0.5, 0)))
    assert len(assert_scene(scene)) > 0
    b.update(poses.matrix(move=(50, 0, 0)))
    scene.remove(number)
    assert len(assert_scene(scene)) == 0
    scene.add(b)
    assert len(assert_scene(scene).tested) == 0


def test_a_turned_body_has_left_its_box_only_if_a_vertex_has():
    """The box around a turned box is larger than what is in it."""
    vertices, faces = shapes.icosphere(2)
    ball, scene = pl.Body.rigid(vertices, faces), pl.Scene([cube(0.5)])
    scene.add(ball, box=[[-1.01] * 3, [1.01] * 3])
    for angle in (0.3, 0.8, 1.5):
        ball.update(poses.matrix(meshes.rotation([1, 2, 3], angle)))
        assert len(assert_scene(scene)) > 0
    ball.update(poses.matrix(move=(0, 0, 0.02)))
    with pytest.raises(ValueError, match=r"body 1 .*left"):
        scene.collide()


def test_the_broad_phase_does_not_follow_inside_a_box():
    bodies, scene = [cube(3.0 * k) for k in range(6)], pl.Scene()
    for k, body in enumerate(bodies):
        scene.add(body, box=[[3 * k - 1, -1, -1], [3 * k + 2, 2, 2]])
    asked = assert_scene(scene).tested.tolist()
    assert asked == [[k, k + 1] for k in range(5)]                      # boxes touch
    for x in (0.9, -0.9, 0.5):
        for k, body in enumerate(bodies):
            body.update(meshes.cube((3.0 * k + x, 0, 0))[0])
        found = assert_scene(scene)
        assert found.tested.tolist() == asked
        assert found.stats == pl.Stats()                                # the bodies' own boxes are apart: nothing to refit


def test_a_box_may_be_endless():
    scene = pl.Scene([cube(1e6)])
    scene.add(cube(0.0), box=[[-np.inf] * 3, [np.inf] * 3])
    scene.add(cube(0.5), box=[[-np.inf, 0, 0], [np.inf, 1, 1]])
    assert assert_scene(scene).tested.tolist() == [[0, 1], [0, 2], [1, 2]]


# --- what is not done -----------------------------------------------------------------------------------------------------------

def test_what_has_not_moved_is_answered_from_memory():
    scene = pl.Scene([cube(0.0), cube(0.5, pl.Body.rigid), cube(1.0), pl.Body(*CROSSED)])
    first = scene.collide(self_pairs=True)
    again = scene.collide(self_pairs=True)
    assert first.stats.n_v > 0
    assert again.stats == pl.Stats()
    assert again.counters.tolist() == np.zeros_like(first.counters).tolist()
    assert rows(again) == rows(first)
    assert again.tested.tolist() == first.tested.tolist()
    scene[1].update(np.eye(4))                                          # moved, if only on the spot
    third = scene.collide(self_pairs=True)
    assert rows(third) == rows(first)
    for pair, counters in zip(third.tested.tolist(), third.counters.tolist(), strict=True):
        assert any(counters) == (1 in pair)
    with pytest.raises(pl.MeshError):
        scene[0].update(np.full((8, 3), np.nan))
    assert scene.collide(self_pairs=True).stats == pl.Stats()


def test_another_question_is_another_answer():
    """Memory is of what was asked: one pair is not all, pairs without contacts have none, neighbours count or not."""
    folded = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 0]], [[0, 1, 2], [1, 0, 3]]
    scene = pl.Scene([pl.Body(*folded), cube(-0.5)])
    for _ in range(2):
        assert len(scene.collide(first=True)) == 1
        assert_scene(scene)
        assert_scene(scene, contacts=True)
        assert_scene(scene, self_pairs=True)
        assert_scene(scene, self_pairs=True, adjacent="ignore")
        assert_scene(scene, self_pairs=True, contacts=True)
    assert len(scene.collide(self_pairs=True)) > len(scene.collide(self_pairs=True, adjacent="ignore"))


def test_an_answer_is_the_callers_own():
    scene = pl.Scene([cube(0.0), cube(0.5)])
    first = scene.collide(contacts=True)
    kept = rows(first), first.segments.copy()
    for array in (first.faces, first.bodies, first.segments, first.normals, first.counters, first.tested):
        array[:] = -1
    again = scene.collide(contacts=True)
    assert rows(again) == kept[0]
    np.testing.assert_array_equal(again.segments, kept[1])


@pytest.mark.parametrize("rigid", [False, True], ids=["free", "rigid"])
def test_bodies_far_from_all_others_are_not_refitted(policy, rigid):
    corners, _ = meshes.cube()
    scene = pl.Scene([cube(0.0, pl.Body.rigid if rigid else pl.Body, policy=policy) for k in range(5)])

    def place(k, x, y):
        scene[k].update(**({} if rigid else {"vertices": corners}), transform=poses.matrix(move=(x, y, 0)))

    for frame in range(3):
        for k in scene:
            place(k, 4.0 * k, frame)
        assert assert_scene(scene).stats == pl.Stats()
        assert all(scene[k]._shape.stale for k in scene)
    place(0, 3.5, 2)
    found = scene.collide()
    assert found.tested.tolist() == [[0, 1]]
    assert found.stats.n_u > 0
    assert [scene[k]._shape.stale for k in scene] == [False, False, True, True, True]


# --- what is refused ------------------------------------------------------------------------------------------------------------

def test_bad_arguments_are_refused_and_change_nothing():
    a, b = cube(0.0), cube(0.5)
    scene = pl.Scene([a])
    for kind, words, arguments, options in (
        (TypeError, "Body", (meshes.cube(),), {}), (TypeError, "Body", (None,), {}), (TypeError, "group", (b,), {"group": 3}),
        (ValueError, "box", (b,), {"box": [0, 1]}), (ValueError, "box", (b,), {"box": [[1, 1, 1], [0, 0, 0]]}),
        (ValueError, "box", (b,), {"box": [[np.nan, 0, 0], [1, 1, 1]]}), (ValueError, "box", (b,), {"box": np.zeros((3, 3))}),
        (TypeError, "box", (b,), {"box": "all"}), (ValueError, "already", (a,), {}),
    ):
        with pytest.raises(kind, match=words):
            scene.add(*arguments, **options)
    assert (list(scene), b.watchers) == ([0], ())
    assert scene.add(b) == 1
    for number in (2, -1, True, "0", None, 0.0, [0]):
        for act in (scene.remove, scene.__getitem__, lambda n: scene.ignore(n, 0) if not isinstance(n, str) else scene[n]):
            with pytest.raises(KeyError, match="id"):
                act(number)
    with pytest.raises(KeyError, match="second"):
        scene.ignore("group", 7)
    with pytest.raises(KeyError, match="first"):
        scene.heed(7, 0)
    for name in ("self_pairs", "first", "contacts"):
        with pytest.raises(TypeError, match=name):
            scene.collide(**{name: 1})
    for name in ("adjacent", "sat", "descend", "first"):
        with pytest.raises(ValueError, match=name):
            scene.collide(**{name: "none"})
    with pytest.raises(TypeError):
        pl.Scene([a, meshes.cube()])
    assert len(assert_scene(scene)) > 0
