"""Who is in a scene, who is left out, and boxes that are vouched for; what is refused changes nothing."""

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes
from scenes import assert_scene, cube

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
NOTHING = np.zeros((0, 3)), np.zeros((0, 3), int)


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
    assert [body in one for body in (a, b, c)] == [True, True, False]
    assert (0 in one, 2 in one, [0] in one, None in one, "0" in one) == (True, False, False, False, False)
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
    assert a not in one and a in two
    a.update(meshes.cube((0.75, 0, 0))[0])
    assert len(assert_scene(two)) > 0
    assert two[1] is a


def test_bodies_that_are_gone_are_no_longer_watched():
    a, b = cube(0.0), cube(0.5)
    scene, other = pl.Scene([a, b]), pl.Scene([a])
    assert a._observers == (scene, other)
    scene.remove(0)
    assert a._observers == (other,)
    a.update(meshes.cube((0.25, 0, 0))[0])
    assert len(assert_scene(scene)) == 0
    scene.add(a)
    assert set(a._observers) == {scene, other}
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
    scene.remove(scene.add(cube(50.0), group="green"))                  # a group without members is still one
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
        scene.unignore(*rule[::-1])
        scene.unignore(*rule)                                           # twice is once
        active.discard(rule)
        assert_scene(scene, ignored)
    assert len(scene.collide().tested) == 15


def test_rules_go_with_their_bodies_and_stay_with_groups():
    a, b = cube(0.0), cube(0.5)
    scene = pl.Scene([a])
    scene.add(b, group="soft")
    scene.ignore(0, 1)
    scene.remove(scene.add(cube(50.0), group="hard"))
    scene.ignore("soft", "hard")
    assert len(scene.collide()) == 0
    scene.remove(0)
    again = scene.add(a)
    assert len(assert_scene(scene)) > 0
    scene.remove(again)
    scene.add(a, group="hard")
    assert len(scene.collide()) == 0
    scene.unignore("hard", "soft")
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


def test_a_body_that_has_left_its_box_hides_no_other():
    """The query that refuses it has told the broad phase nothing: not even of bodies that came before it."""
    a, b, c = cube(0.0), cube(0.5), cube(0.25)
    scene, box = pl.Scene(), [[-2, -2, -2], [3, 3, 3]]
    scene.add(a, box=box)
    scene.add(b)
    scene.add(c, box=box)
    inside = c.vertices
    c.update(inside + 50)
    with pytest.raises(ValueError, match="left the box"):
        scene.candidates()
    c.update(inside)
    assert scene.candidates().tolist() == [[0, 1], [0, 2], [1, 2]]
    assert len(assert_scene(scene)) > 0


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
    assert (list(scene), b._observers) == ([0], ())
    assert scene.add(b) == 1
    for number in (2, -1, True, "0", None, 0.0, [0]):
        for act in (scene.remove, scene.__getitem__, lambda n: scene.ignore(n, 0) if not isinstance(n, str) else scene[n]):
            with pytest.raises(pl.UnknownIdError, match=r"no body of the scene has the (id|name)"):
                act(number)
    for rule, words in ((("typo", 7), "first"), (("typo", "typo"), "first"), ((0, "typo"), "second")):
        with pytest.raises(KeyError, match=f"{words}: no body was added with the group 'typo'; the groups are: none"):
            scene.ignore(*rule)
    with pytest.raises(KeyError, match="second: no body of the scene has the id 7"):
        scene.ignore(0, 7)
    with pytest.raises(KeyError, match="first"):
        scene.unignore(7, 0)
    for name in ("self_pairs", "first", "contacts"):
        with pytest.raises(TypeError, match=name):
            scene.collide(**{name: 1})
    for name in ("adjacent", "first"):
        with pytest.raises(ValueError, match=name):
            scene.collide(**{name: "none"})
    with pytest.raises(TypeError, match=r"traversal: expected a pliant\.Traversal, got str 'lite'"):
        scene.collide(traversal="lite")
    with pytest.raises(TypeError):
        pl.Scene([a, meshes.cube()])
    assert len(assert_scene(scene)) > 0
