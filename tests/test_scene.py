"""A scene says of many bodies what `collide` says of each two; what has not moved is not asked, what is far away not refitted."""

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes
from pliant.broadphase import sweep_full
from scenes import assert_scene, cube, rows

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
CROSSED = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, -1], [1, 1, 1], [2, 2, 1]], np.float64), [[0, 1, 2], [3, 4, 5]]


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
    monkeypatch.setattr(sweep_full, "BRUTE_FORCE_SIZE", brute)
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


@pytest.mark.parametrize("options",
                         [{"traversal": pl.Traversal("lite")}, {"traversal": pl.Traversal(descend="larger")}, {"contacts": True},
                          {"self_pairs": True},
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
@pytest.mark.parametrize("options", [{}, {"traversal": pl.Traversal(descend="larger")}, {"contacts": True}, {"self_pairs": True}])
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
        assert all(scene[k]._bvh.stale for k in scene)
    place(0, 3.5, 2)
    found = scene.collide()
    assert found.tested.tolist() == [[0, 1]]
    assert found.stats.n_u > 0
    assert [scene[k]._bvh.stale for k in scene] == [False, False, True, True, True]
