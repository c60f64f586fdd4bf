"""Distances in scenes: all pairs of bodies two by two, and the exact reference, against the broad phase and the batches of a scene."""

from itertools import combinations

import numba
import numpy as np
import pytest

import meshes
import naive_distances
import near_pairs
import pliant as pl
import poses
from pliant import shapes
from pliant.broadphase import sweep
from pliant.core import threads
from pliant.query.collide import narrow_phase
from pliant.query.proximity import many_pairs
from scenes import assert_distance, assert_scene, assert_within, cube, rows

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))

TOLERANCES = [0.0, 0.02, 0.3]
kernels = pytest.mark.skipif(OFF, reason="bodies are asked one by one without kernels")


def mixed_scene(rng, side, count):
    """Bodies of all motions, of two volume types and some policies, a few empty, some in groups, at random places."""
    directions, faces = shapes.icosphere(0 if OFF else 1)
    vertices, scene = directions * 0.5, pl.Scene()
    for k in range(count):
        place, volume = rng.uniform(0, side, 3), ["aabb", "obb"][k % 2]
        policy = ["auto", "inflated", "lazy"][k % 3] if volume == "aabb" else "auto"
        pose = poses.matrix(poses.any_turn(rng), place)
        if k % 5 == 0:
            body = pl.Body.rigid(vertices, faces, volume=volume)
            body.update(pose)
        elif k % 5 == 1:
            body = pl.Body(vertices + place, faces, volume=volume, policy=policy)
        elif k % 5 == 2:
            body = pl.Body(vertices, faces, volume=volume)
            body.update(vertices, transform=pose)
        elif k % 5 == 3:
            body = pl.Body.morph([vertices + place, 1.5 * vertices + place], faces)
            body.update([0.5, 0.5])
        else:
            body = pl.Body.blended(vertices, faces, np.ones((len(vertices), 1)), maps=[pose])
        scene.add(body, group=["red", "blue", None][k % 3])
        if k % 7 == 3:
            scene.add(pl.Body(vertices[:0], []))
    return scene


@pytest.mark.parametrize("side", [2.0, 6.0, 40.0])
def test_bodies_of_all_motions(side):
    """Crowded, apart, and far apart; then moved, so that the last nearest are not the nearest any more."""
    rng = np.random.default_rng(int(side))
    scene = mixed_scene(rng, side, 6 if OFF else 25)
    for _ in range(2):
        for tolerance in TOLERANCES:
            assert_within(scene, tolerance, points=tolerance > 0, self_pairs=tolerance == 0.3)
        for _ in range(2):
            assert_distance(scene)
        assert_scene(scene)
        for number in list(scene)[::2]:
            if len(scene[number]):
                scene[number].update(transform=poses.matrix(poses.any_turn(rng), rng.uniform(0, side, 3)))


@pytest.mark.parametrize("volume_type", ["obb", "sphere"])
def test_another_type_and_boxes(volume_type):
    """Pairs of two types of nodes, in both orders, are batched."""
    directions, faces = shapes.icosphere(0 if OFF else 1)
    scene = pl.Scene([pl.Body(directions + [1.4 * k, 0.1 * k, 0], faces, volume=volume)
                      for k, volume in enumerate(["aabb", volume_type, volume_type, "aabb"])])
    assert len(assert_scene(scene, contacts=True)) > 0
    assert len(assert_within(scene, 0.1)) > 0
    scene.update({1: directions + [2.2, 0, 0], 3: directions + [6.4, 0, 0]})
    assert_distance(scene)


@kernels
def test_bodies_of_two_types_are_batched(monkeypatch):
    """No pair of theirs is queried one by one."""
    directions, faces = shapes.icosphere(1)
    bodies = [pl.Body.rigid(directions, faces, volume=["obb", "aabb"][k % 2]) for k in range(8)]
    for k, body in enumerate(bodies):
        body.update(poses.matrix(move=(1.5 * k, 0, 0)))
    scene, calls, real = pl.Scene(bodies), [], narrow_phase.run_batch
    monkeypatch.setattr(narrow_phase, "run_batch", lambda *given: calls.append(len(given[2])) or real(*given))
    assert sum(calls) == 0
    found = assert_scene(scene)
    assert sum(calls) == len(found.tested) == 7


def test_groups_and_rules():
    """Of a group and itself, of two, of a body and a group, of two bodies; added, taken back, of bodies that come and go."""
    rng = np.random.default_rng(4)
    scene = mixed_scene(rng, 3.0, 6 if OFF else 18)
    rules, groups = set(), {}

    def ignored(i, j):
        if i == j:
            return (i, i) in rules
        named = [{k, scene._members[k].group} - {None} for k in (i, j)]
        return any((a in named[0] and b in named[1]) or (a in named[1] and b in named[0]) for a, b in rules)

    def ask():
        assert_within(scene, 0.1, ignored)
        assert_distance(scene, ignored)
        assert_scene(scene, ignored)

    groups = [("red", "red"), ("red", "blue"), (0, "blue"), (1, 2), (0, 0)]
    for rule in groups:
        scene.ignore(*rule)
        rules.add(rule)
        ask()
    scene.remove(1)
    rules = {rule for rule in rules if 1 not in rule}
    ask()
    scene.add(cube(1.0), group="blue")
    scene.unignore("red", "red")
    rules -= {("red", "red")}
    ask()
    scene.ignore("blue", "red")                                         # a second time, turned
    ask()


def test_the_last_nearest_go_away():
    """They are removed, ignored, moved; then others are the nearest."""
    scene = pl.Scene([cube(3.0 * k + 0.1 * k * k) for k in range(6)])
    first = assert_distance(scene)
    assert first.bodies.tolist() == [0, 1]
    scene.ignore(0, 1)
    assert assert_distance(scene, lambda i, j: (i, j) == (0, 1)).bodies.tolist() == [1, 2]
    scene.remove(1)
    assert assert_distance(scene).bodies.tolist() == [2, 3]
    scene[3].update(scene[3].vertices + [0, 50, 0])
    assert assert_distance(scene).bodies.tolist() == [4, 5]
    scene[5].update(scene[0].vertices)
    assert assert_distance(scene).distance == 0


def test_as_near_as_others():
    """Of pairs of bodies at equal distances those with the smallest ids count, whatever was nearest before, and after slots are reused."""
    scene = pl.Scene([cube(2.0 * k) for k in range(3 if OFF else 40)])
    assert assert_distance(scene).bodies.tolist() == [0, 1]
    scene[0].update(scene[0].vertices - [1, 0, 0])
    assert assert_distance(scene).bodies.tolist() == [1, 2]
    scene[0].update(scene[0].vertices + [1, 0, 0])
    assert assert_distance(scene).bodies.tolist() == [0, 1]
    scene.remove(0)
    scene.add(cube(0.0))                                                # in the slot of body 0
    assert assert_distance(scene).bodies.tolist() == [1, 2]
    assert_within(scene, 1.0)


def test_touching_bodies():
    """All distances are 0: the first two bodies count, and both points are one."""
    scene = pl.Scene([cube(1.0 * k) for k in range(3 if OFF else 35)])
    assert assert_distance(scene).bodies.tolist() == [0, 1]
    scene.ignore(0, 1)
    found = assert_distance(scene, lambda i, j: (i, j) == (0, 1))
    assert (found.distance, found.bodies.tolist()) == (0, [1, 2])
    assert_within(scene, 0.0, lambda i, j: (i, j) == (0, 1), points=True)


def test_two_clusters_that_ignore_their_own():
    """All near pairs are ignored: the radius of the search must grow up to the other cluster."""
    scene, rng = pl.Scene(), np.random.default_rng(1)
    for k in range(8 if OFF else 80):
        scene.add(pl.Body(rng.uniform(0, 1, (3, 3)) + [500.0 * (k % 2), 0, 0], [[0, 1, 2]]), group=["red", "blue"][k % 2])
    scene.ignore("red", "red")
    scene.ignore("blue", "blue")
    found = assert_distance(scene, lambda i, j: (i - j) % 2 == 0)
    assert 400 < found.distance < 500


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_bodies(count):
    scene = pl.Scene([cube(3.0 * k) for k in range(count)] + [pl.Body(np.zeros((0, 3)), [])])
    assert_distance(scene)
    for tolerance in (0.0, 2.0, 1e300):
        assert_within(scene, tolerance, self_pairs=True)
    for tolerance in (-1.0, np.nan, np.inf, "1", None):
        with pytest.raises((ValueError, TypeError), match=r"^tolerance: expected a"):
            scene.within(tolerance)
        with pytest.raises((ValueError, TypeError), match=r"^tolerance: expected a"):
            pl.within(cube(), scene, tolerance)


def test_sizes_from_absurd_to_absurd():
    """Bodies of extreme sizes are queried one by one; points and large boxes are as near as their faces."""
    scene = pl.Scene([cube(0.0), cube(2.5), pl.Body(np.full((3, 3), 7.0), [[0, 1, 2]])])
    for size in (1e-200, 1e-9, 1e9, 1e200):
        vertices, faces = meshes.cube((-0.5, -0.5, -0.5))
        scene.add(pl.Body(vertices * size + [0, 40, 0], faces))
    for tolerance in (0.0, 1.0, 1e20, 1e250):
        assert_within(scene, tolerance)
    assert_distance(scene)
    scene.remove(len(scene) - 1)
    assert_distance(scene)


def test_far_apart():
    """Bodies whose distance is more than 1,024 times their size have a search of their own."""
    scene = pl.Scene([cube(5000.0 * k * k) for k in range(4 if OFF else 36)])
    assert assert_distance(scene).bodies.tolist() == [0, 1]
    assert assert_distance(scene).distance == 4999


def test_meshes_on_a_lattice():
    """The exact reference: all pairs of bodies of few faces, with contacts and ties."""
    rng = np.random.default_rng(2)
    parts = [(rng.integers(0, 4, (5, 3)) + 3.0 * rng.integers(0, 3, 3), rng.integers(0, 5, (4, 3))) for _ in range(4 if OFF else 12)]
    scene, right = pl.Scene([pl.Body(vertices, faces, leaf=2) for vertices, faces in parts]), []
    for i, j in combinations(range(len(parts)), 2):
        square, attained = naive_distances.distance(*parts[i], *parts[j])
        right.append((square, (i, j), attained))
    for _ in range(3):
        square, pair, attained = min(right, key=lambda row: row[:2])
        found = scene.distance()
        assert abs(found.distance - near_pairs.root_of(square)) <= near_pairs.PRECISION * 20
        assert (found.distance == 0) == (square == 0)
        assert tuple(found.bodies.tolist()) == pair
        assert tuple(found.faces.tolist()) in attained
        scene.ignore(*pair)
        right = [row for row in right if row[1] != pair]


# --- the batch -----------------------------------------------------------------------------------------------------------------

@kernels
@pytest.mark.parametrize("budget", [1, 50])
def test_interrupted_now_and_then(budget, monkeypatch):
    """The loops stop after a few pairs of nodes and go on; room for keys grows."""
    monkeypatch.setattr(narrow_phase, "CALL_BUDGET", budget)
    monkeypatch.setattr(narrow_phase, "INITIAL_KEYS", 64)
    monkeypatch.setattr(many_pairs, "FIRST_CHUNK", 3)
    scene = mixed_scene(np.random.default_rng(5), 2.5, 12)
    assert len(assert_within(scene, 0.3, points=True)) > 64
    assert_distance(scene)


@kernels
def test_keys_without_bits_for_all_pairs(monkeypatch):
    monkeypatch.setattr(narrow_phase, "KEY_BITS", 2 * (12 - 1).bit_length() + 1)
    scene = pl.Scene([cube(1.2 * k) for k in range(9)])
    assert len(assert_within(scene, 0.3)) > 0
    assert_distance(scene)


@kernels
def test_bodies_that_grow_absurd_while_they_are_asked(monkeypatch):
    """Another thread's update may come between the choice of how to ask and the question: then they are asked one by one."""
    scene = pl.Scene([cube(0.0), cube(1.2), cube(3.0)])
    real, choices = narrow_phase.can_batch, iter([True] * 3)
    monkeypatch.setattr(narrow_phase, "can_batch", lambda body, one_thread: next(choices, False))
    monkeypatch.setattr(narrow_phase, "run_batch", lambda *given: pytest.fail("asked together"))
    assert len(scene.within(0.3)) > 0
    choices = iter([True] * 3)
    assert scene.distance().bodies.tolist() == [0, 1]
    assert real(scene[0], True)


@kernels
def test_memory_for_candidates_is_asked_for(monkeypatch):
    scene = pl.Scene([cube(0.1 * k) for k in range(9)])
    monkeypatch.setattr("pliant.query.proximity.measure.MEMORY_CHECK_PAIRS", 100)
    monkeypatch.setattr("pliant.core.memory.fits_in_memory", lambda size: False)
    with pytest.raises(pl.TooManyPairsError, match="may be within 10"):
        scene.within(10.0)


@kernels
def test_threads_share_what_is_measured():
    scene = pl.Scene([pl.Body(*meshes.needles(100, k)) for k in range(3)])
    scene.within(0.0)                                                   # refits
    with threads.use_threads(1):
        one = scene.within(0.3, points=True)
    with threads.use_threads(3):
        several = scene.within(0.3, points=True)
    assert len(one) > 4 * 2048 and rows(one) == rows(several)
    for name in ("distances", "points", "counters"):
        np.testing.assert_array_equal(getattr(one, name), getattr(several, name))


# --- a body or a scene and a scene ---------------------------------------------------------------------------------------------

def test_a_body_or_a_scene_and_a_scene():
    rng = np.random.default_rng(6)
    scene, other = mixed_scene(rng, 8.0, 4 if OFF else 15), mixed_scene(rng, 8.0, 3 if OFF else 9)
    shared = scene[0]
    other.add(shared)                                                   # in both: not compared with itself
    both = [{i: group[i] for i in group if len(group[i])} for group in (scene, other)]
    right = min((pl.distance(a, b).distance, i, j) for i, a in both[0].items() for j, b in both[1].items() if a is not b)
    found = pl.distance(scene, other)
    assert (found.distance, *found.bodies.tolist()) == right
    body = cube(4.0)
    right = [(i, pl.within(body, a, 0.4)) for i, a in both[0].items()]
    found, turned = pl.within(body, scene, 0.4), pl.within(scene, body, 0.4)
    assert rows(found) == [(-1, i, f, g) for i, pairs in right for f, g in pairs.faces.tolist()]
    assert sorted(rows(turned)) == sorted((i, -1, g, f) for i, pairs in right for f, g in pairs.faces.tolist())
    assert (pl.distance(scene, body).distance, pl.distance(body, scene).distance) == (min(
        pl.distance(body, a).distance for a in both[0].values()),) * 2
    assert pl.distance(pl.Scene(), scene).bodies.tolist() == [-1, -1]
    assert len(pl.within(pl.Body(np.zeros((0, 3)), []), scene, 1.0)) == 0


def test_radii_of_the_search():
    """From 0 to all boxes, in few steps; few boxes at once."""
    boxes = sweep.SweepAndPrune()
    assert boxes.larger_radius(-1.0) == np.inf
    at = np.arange(50.0)[:, None] * [4.0, 0, 0]
    boxes.set(np.arange(50), np.concatenate([at, at + 1], axis=1))
    radii = [boxes.larger_radius(-1.0)]
    while radii[-1] < np.inf:
        radii.append(boxes.larger_radius(radii[-1]))
    assert radii[:4] == [0.0, 1.0, 2.0, 4.0]
    assert radii[-2] >= 197
