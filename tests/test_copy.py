"""Copies of bodies, scenes and grids: the same answers at first, and independent of the original from then on."""

import copy
import pickle

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from pliant import shapes
from pliant.refit.policy import POLICIES

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
DIRECTIONS, FACES = shapes.icosphere(0 if OFF else 1)
N = len(DIRECTIONS)
OTHER = shapes.bumpy(DIRECTIONS, 1.7) + [0.9, 0.2, 0.1]
TURN = poses.matrix(meshes.rotation([1, 2, 3], 0.7), (0.2, -0.1, 0.3))
WEIGHTS = np.stack([np.linspace(0, 1, N), 1 - np.linspace(0, 1, N)], axis=1)
MAPS = np.array([np.eye(3, 4), np.eye(3, 4) + np.array([0, 0, 0, 0.4])])
MAKERS = {
    "free": lambda **kept: pl.Body(shapes.bumpy(DIRECTIONS, 0.3), FACES, **kept),
    "welded": lambda **kept: pl.Body(shapes.bumpy(DIRECTIONS, 0.3).round(1), FACES, weld=True, **kept),
    "fixed origin": lambda **kept: pl.Body(shapes.bumpy(DIRECTIONS, 0.3), FACES, origin=(1, 2, 3), **kept),
    "key poses": lambda **kept: pl.Body(DIRECTIONS, FACES, key_poses=[DIRECTIONS, DIRECTIONS[:, [1, 2, 0]] * [1, 2, 3]], **kept),
    "rigid": lambda **kept: pl.Body.rigid(shapes.bumpy(DIRECTIONS, 0.3), FACES, **kept),
    "morph": lambda **kept: pl.Body.morph([DIRECTIONS, shapes.bumpy(DIRECTIONS, 0.9)], FACES, **kept),
    "additive": lambda **kept: pl.Body.morph([shapes.bumpy(DIRECTIONS, 0.9)], FACES, base=DIRECTIONS, **kept),
    "blended": lambda **kept: pl.Body.blended(DIRECTIONS, FACES, WEIGHTS, **kept),
}
STATES = {"morph": [[0.5, 0.5], [0.25, 0.75]], "additive": [[0.5], [-0.25]], "blended": [MAPS, MAPS[::-1].copy()],
          "rigid": [TURN, TURN @ TURN]}


def states_of(name):
    """Two updates of a body of this kind."""
    return STATES.get(name, [shapes.bumpy(DIRECTIONS, 0.5), shapes.bumpy(DIRECTIONS, 0.8) * 1.5])


def answers(body):
    """What queries tell of a body."""
    other = pl.Body(OTHER, FACES)
    points = np.array([[0.1, 0.2, 0.3], [2, 0, 0]])
    return (body.vertices.tolist(), body.faces.tolist(), body.transform.tolist(), body.key_pose, pl.collide(body, other).faces.tolist(),
            pl.closest(body, points).distance.tolist(), pl.inside(body, points).inside.tolist(),
            pl.cast(body, points, [[1, 0.1, 0], [-1, 0, 0.1]]).t.tolist())


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pl.Body.copy], ids=["copy", "deepcopy", "method"])
@pytest.mark.parametrize("name", MAKERS)
def test_copies_of_bodies_are_independent(name, way):
    """An update of one does not reach the other, in either direction, whatever moves the body."""
    body, (first, second) = MAKERS[name](), states_of(name)
    body.update(first, **({"key_pose": 1} if name == "key poses" else {}))
    if name not in ("rigid", "blended"):
        body.update(transform=TURN)
    before = answers(body)
    other = way(body)
    assert type(other) is pl.Body and repr(other) == repr(body)
    assert answers(other) == before
    other.update(second)
    moved = answers(other)
    assert moved != before
    assert answers(body) == before
    body.update(second)
    body.update(first)
    assert answers(other) == moved


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_copies_with_every_policy(policy):
    """Also of what is borrowed, and of bodies that have been asked, and partly moved, before."""
    rows = shapes.bumpy(DIRECTIONS, 0.3)
    body = pl.Body(rows, FACES, policy=policy)
    body.update(rows, copy=False)
    answers(body)
    other = copy.copy(body)
    rows[0] += 0.3
    body.update(rows[:1], changed=[0])
    assert answers(other) == answers(pl.Body(shapes.bumpy(DIRECTIONS, 0.3), FACES))
    assert answers(body) == answers(pl.Body(rows, FACES)) == answers(copy.copy(body))


def test_empty_bodies():
    for body in (pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int)), pl.Body(DIRECTIONS, np.zeros((0, 3), int))):
        other = copy.copy(body)
        assert len(other) == 0 and other.vertices.tolist() == body.vertices.tolist()


def test_copies_of_scenes():
    """A shallow copy has the same bodies, a deep one copies; both keep ids, groups, masks and rules, and neither changes the other."""
    scene = pl.Scene([pl.Body(*meshes.cube((x, 0, 0))) for x in (0.0, 0.5, 0.75)])
    scene.remove(1)
    scene.add(pl.Body(*meshes.cube((0.25, 0, 0))), group="soft", mask=2)
    scene.add(pl.Body(*meshes.cube((0.3, 0, 0))), group="soft", box=[[-9, -9, -9], [9, 9, 9]])
    scene.ignore("soft", "soft")
    scene.ignore(0, 2)
    right = scene.collide()
    shallow, deep = copy.copy(scene), copy.deepcopy(scene)
    for other in (shallow, deep):
        found = other.collide()
        assert list(other) == list(scene) == [0, 2, 3, 4]
        assert found.bodies.tolist() == right.bodies.tolist() and found.faces.tolist() == right.faces.tolist()
        assert other.add(pl.Body(*meshes.cube((50, 0, 0)))) == 5
    assert all(shallow[k] is scene[k] and deep[k] is not scene[k] for k in scene)
    shallow.unignore(0, 2)
    scene[0].update(meshes.cube((0.1, 0.3, 0.2))[0])
    moved = scene.collide()
    assert moved.faces.tolist() != right.faces.tolist()
    assert shallow.collide().bodies.tolist() != moved.bodies.tolist()
    assert deep.collide().faces.tolist() == right.faces.tolist()
    shallow.ignore(0, 2)
    assert shallow.collide().faces.tolist() == moved.faces.tolist()


def test_copies_of_grids():
    grid = pl.UniformGrid(*meshes.cube(), cells=2)
    other = copy.deepcopy(copy.copy(grid))
    ray = [[0.5, 0.4, -1]], [[0, 0, 1]]
    assert other.cells == grid.cells and pl.cast(other, *ray).t.tolist() == [1.0]
    other.update(meshes.cube((0, 0, 1))[0])
    assert pl.cast(other, *ray).t.tolist() == [2.0] and pl.cast(grid, *ray).t.tolist() == [1.0]


@pytest.mark.parametrize("name", MAKERS)
def test_pickles_of_bodies(name):
    """For worker processes: the same answers, and independent from then on."""
    body, (first, second) = MAKERS[name](), states_of(name)
    body.update(first, **({"key_pose": 1} if name == "key poses" else {}))
    other = pickle.loads(pickle.dumps(body))
    assert type(other) is pl.Body and repr(other) == repr(body) and answers(other) == answers(body)
    other.update(second)
    body.update(second)
    assert answers(other) == answers(body)


def test_a_pickle_is_a_file():
    """What travels is what `save` writes: damage is found by the same validation, and nothing else is unpickled."""
    make, (content,) = pl.Body(*meshes.cube()).__reduce__()
    assert len(make(content)) == 12
    with pytest.raises(pl.FileError, match="stream"):
        make(content[:-40])
    with pytest.raises(pl.FileError, match="stream"):
        make(content.replace(b"pliant body", b"pliant vase"))


def test_pickles_of_scenes_and_grids():
    scene = pl.Scene([pl.Body(*meshes.cube((x, 0, 0))) for x in (0.0, 0.5, 0.75)])
    scene.remove(1)
    scene.add(pl.Body(*meshes.cube((0.25, 0, 0))), name="soft one", group="soft", mask=2)
    scene.add(pl.Body(*meshes.cube((0.3, 0, 0))), group="soft", box=[[-9, -9, -9], [9, 9, 9]])
    scene.ignore("soft", "soft")
    scene.ignore(0, 2)
    other = pickle.loads(pickle.dumps(scene))
    found, expected = other.collide(), scene.collide()
    assert found.bodies.tolist() == expected.bodies.tolist() and found.faces.tolist() == expected.faces.tolist()
    assert list(other) == [0, 2, 3, 4] and other.id_of("soft one") == 3 and other.add(pl.Body(*meshes.cube())) == 5
    grid = pickle.loads(pickle.dumps(pl.UniformGrid(*meshes.cube(), cells=2)))
    assert grid.cells == (2, 2, 2) and pl.cast(grid, [[0.5, 0.4, -1]], [[0, 0, 1]]).t.tolist() == [1.0]


def test_copies_of_a_rigid_body_are_instances():
    """They share mesh and BVH; each has its own transform, and its own memory of distances."""
    body = pl.Body.rigid(DIRECTIONS, FACES)
    body.update(TURN)
    others = [body.copy() for _ in range(3)]
    for k, other in enumerate(others):
        other.update(poses.matrix(np.eye(3), (1.5 * (k + 1), 0, 0)))
    assert all(other._bvh is body._bvh and other._guard is not body._guard for other in others)
    fresh = [pl.Body(other.vertices, FACES) for other in (body, *others)]
    for a, b in ((0, 1), (1, 2), (2, 3)):
        bodies = [body, *others]
        assert pl.collide(bodies[a], bodies[b]).faces.tolist() == pl.collide(fresh[a], fresh[b]).faces.tolist()
        assert abs(pl.distance(bodies[a], bodies[b]).distance - pl.distance(fresh[a], fresh[b]).distance) < 1e-12
    assert body.transform.tolist() == TURN.tolist()
