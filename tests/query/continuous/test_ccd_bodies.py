"""`ccd`, `self_ccd` and step sizes of bodies of all kinds name the impacts of the rational reference, never late."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_features
import pliant as pl
from near_pairs import OFF
from pliant import shapes
from pliant.query.continuous import step_size

pytestmark = pytest.mark.formulas
TIME_ERROR = 2.0**-40
TURN = np.array([[0.36, 0.48, -0.8, 0.1], [-0.8, 0.6, 0.0, 0.2], [0.48, 0.64, 0.6, -0.3]])
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
SIDES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def keys_of(found):
    """The pairs (kind, i, j) of a result."""
    return [(kind, *pair) for kind, pair in zip(found.kinds.tolist(), found.features.tolist(), strict=True)]


def assert_impacts(found, right):
    """Exactly the pairs of the reference, their times not late and not early, in order."""
    keys = keys_of(found)
    assert len(keys) == len(set(keys)) and set(keys) == set(right)
    for key, time in zip(keys, found.times.tolist(), strict=True):
        low, high = right[key]
        assert 0 <= time <= high and Fraction(time) >= low - Fraction(TIME_ERROR)
        assert time == 0 or high > 0
    assert list(zip(found.times.tolist(), keys, strict=True)) == sorted(zip(found.times.tolist(), keys, strict=True))


def assert_first(first, found):
    """The earliest of all impacts, and those at the same time."""
    earliest = found.times == found.times.min(initial=np.inf)
    assert keys_of(first) == [key for key, is_first in zip(keys_of(found), earliest, strict=True) if is_first]
    assert first.times.tolist() == found.times[earliest].tolist()


def assert_step(step, found, positions):
    """Nothing touches up to the step, exactly, and hardly more would be possible. `positions(step)`: the impacts on the way there."""
    earliest = found.times.min(initial=np.inf)
    assert 0 <= step <= 1 and (step < earliest or step == earliest == 0)
    assert step >= min(earliest, 1.0) * (1 - 1e-9) - 1e-9
    if step > 0:
        assert not positions(step)


@st.composite
def moving_meshes(draw, most_faces=3):
    """(start, end, faces): points on a lattice, in a plane or close to one, that move to others; some rest."""
    n = draw(st.integers(3, 6))
    flat = draw(st.sampled_from([(1, 1, 1), (1, 1, 1), (1, 1, 0), (1, 0, 0)]))
    points = st.tuples(*[st.integers(-2, 2)] * 3)
    start, end = (np.array(draw(st.lists(points, min_size=n, max_size=n)), float) * flat for _ in range(2))
    end = np.where(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))[:, None], end, start)
    faces = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 3), min_size=1, max_size=most_faces))
    return start, end, np.array(faces, np.int32)


@settings(max_examples=8 if OFF else 40, deadline=None)
@given(moving_meshes(), moving_meshes(), st.sampled_from([1.0, 2.0**-40, 2.0**30, 2.0**400]), st.sampled_from([(8, 8), (2, 1), (4, 3)]))
def test_meshes_on_a_lattice(one, other, scale, tree):
    (a, end_a, faces_a), (b, end_b, faces_b) = one, other
    a, end_a, b, end_b = a * scale, end_a * scale, b * scale, end_b * scale
    options = {"arity": tree[0], "leaf": tree[1]}
    first, second = pl.Body(a, faces_a, **options), pl.Body(b, faces_b, **options)
    found = pl.ccd(first, second, end_a, end_b)
    assert_impacts(found, naive_features.impacts(a, end_a, faces_a, b, end_b, faces_b))
    assert_first(pl.ccd(first, second, end_a, end_b, first=True), found)
    assert_step(pl.step_size(first, second, end_a, end_b, check=False), found, lambda s: naive_features.impacts(
        a, a + s * (end_a - a), faces_a, b, b + s * (end_b - b), faces_b))
    found = pl.self_ccd(first, end_a)
    assert_impacts(found, naive_features.impacts(a, end_a, faces_a, a, end_a, faces_a, same=True))
    assert_first(pl.self_ccd(first, end_a, first=True), found)
    assert_step(pl.self_step_size(first, end_a, check=False), found, lambda s: naive_features.impacts(
        a, a + s * (end_a - a), faces_a, a, a + s * (end_a - a), faces_a, same=True))


@settings(max_examples=8 if OFF else 30, deadline=None)
@given(moving_meshes(), moving_meshes(), st.randoms(use_true_random=False))
def test_orders_change_nothing(one, other, random):
    """Bodies change places, faces their order, corners theirs."""
    (a, end_a, faces_a), (b, end_b, faces_b) = one, other
    there, back = (pl.ccd(pl.Body(*p), pl.Body(*q), *ends) for p, q, ends in (
        ((a, faces_a), (b, faces_b), (end_a, end_b)), ((b, faces_b), (a, faces_a), (end_b, end_a))))
    mirrored = {(1 - kind if kind < 2 else 2, j, i): time for (kind, i, j), time in zip(keys_of(back), back.times, strict=True)}
    assert dict(zip(keys_of(there), there.times, strict=True)) == mirrored
    order = random.sample(range(len(faces_a)), len(faces_a))
    shuffled = np.array([random.sample(faces_a[f].tolist(), 3) for f in order])
    again = pl.ccd(pl.Body(a, shuffled), pl.Body(b, faces_b), end_a, end_b)
    renamed = sorted((kind, order[i] if kind == 1 else i, j) for kind, i, j in keys_of(again))
    assert renamed == sorted(keys_of(there))


def deforming():
    """(start, end) of two bumpy spheres of 80 faces that come to touch, and their faces."""
    directions, faces = shapes.icosphere(0 if OFF else 1)
    scene = shapes.bumpy_pair(320, 9)._replace(directions=directions, faces=faces)
    (a, b), (end_a, end_b) = scene.frame(0), scene.frame(3)
    return a, end_a, b, end_b, faces


@pytest.mark.slow
def test_every_option_gives_the_same_impacts(options):
    a, end_a, b, end_b, faces = deforming()
    bodies = pl.Body(a, faces, **options), pl.Body(b, faces, **options)
    found, right = pl.ccd(*bodies, end_a, end_b), pl.ccd(pl.Body(a, faces), pl.Body(b, faces), end_a, end_b)
    assert len(right) and keys_of(found) == keys_of(right) and found.times.tolist() == right.times.tolist()
    assert np.array_equal(bodies[0].vertices, a)
    assert np.array_equal(found.weights, right.weights)


def test_deforming_bodies():
    directions, faces = shapes.icosphere(0)
    a, end_a = directions, directions * [1, 1, 0.5]
    b, end_b = directions + [0.1, 0.2, 2.5], directions + [0.3, 0.1, 1.2]
    found = pl.ccd(pl.Body(a, faces), pl.Body(b, faces), end_a, end_b)
    right = naive_features.impacts(a, end_a, faces, b, end_b, faces)
    assert right
    assert_impacts(found, right)


def test_bodies_of_all_motions():
    """Vertices move linearly between two states of any body."""
    directions, faces = shapes.icosphere(0)
    first, second = directions, directions * [1, 1, 2]
    placed, morph = pl.Body.rigid(first, faces), pl.Body.morph([first, second], faces)
    blended, free = pl.Body.blended(first, faces, np.ones((len(first), 1))), pl.Body(second, faces)
    raised = TURN + [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]]
    ends = {placed: raised, morph: ([0.25, 0.75], raised), blended: (TURN + raised - TURN)[None], free: (None, raised)}
    placed.update(np.eye(4))
    morph.update([1, 0], transform=raised)
    for one, other in itertools.permutations(ends, 2):
        starts, stops = (one.vertices, other.vertices), []
        for body in (one, other):
            twin = body.copy()
            twin.update(*([ends[body][0]] if isinstance(ends[body], tuple) else [ends[body]]),
                        **({"transform": ends[body][1]} if isinstance(ends[body], tuple) else {}))
            stops.append(twin.vertices)
        found = pl.ccd(one, other, ends[one], ends[other])
        plain = pl.ccd(pl.Body(starts[0], faces), pl.Body(starts[1], faces), *stops)
        assert keys_of(found) == keys_of(plain) and found.times.tolist() == plain.times.tolist()
        assert np.array_equal(one.vertices, starts[0]) and np.array_equal(other.vertices, starts[1])
    assert len(pl.ccd(free, morph, ends[free], ends[morph]))


def test_weights_and_normals_at_the_time_of_impact():
    a, end_a, b, end_b, faces = deforming()
    found = pl.ccd(pl.Body(a, faces), pl.Body(b, faces), end_a, end_b)
    assert len(found)
    n_first = np.array([1, 3, 2])
    for row, (kind, time) in enumerate(zip(found.kinds.tolist(), found.times.tolist(), strict=True)):
        n, ids, weights = n_first[kind], found.vertices[row], found.weights[row]
        start = np.concatenate([a[ids[:n]], b[ids[n:]]])
        motion = np.concatenate([end_a[ids[:n]], end_b[ids[n:]]]) - start
        assert np.linalg.norm(weights @ (start + time * motion)) < 1e-9
        np.testing.assert_allclose([weights[:n].sum(), weights[n:].sum()], [-1, 1], atol=1e-12)
        assert np.isclose(np.linalg.norm(found.normals[row]), 1)
        assert found.normals[row] @ (weights @ motion) <= 1e-12         # the second comes towards the first


def test_what_passes_through_within_a_step_is_found():
    a, b = pl.Body(TETRAHEDRON, SIDES), pl.Body(TETRAHEDRON + [5, 0, 0], SIDES)
    found = pl.ccd(a, b, None, TETRAHEDRON - [5, 0, 0])
    assert len(found) and abs(found.times[0] - 0.4) <= TIME_ERROR and found.times[0] <= 0.4
    assert 0.4 - 1e-9 < pl.step_size(a, b, None, TETRAHEDRON - [5, 0, 0]) < found.times[0]
    assert pl.step_size(a, b, None, TETRAHEDRON + [3, 0, 0]) == 1.0
    assert not pl.ccd(a, b, None, None) and pl.step_size(a, b, None, None) == 1.0


def test_bodies_that_touch_or_intersect_at_the_start():
    a, touching, inside = (pl.Body(TETRAHEDRON + [x, 0, 0], SIDES) for x in (0.0, 1.0, 0.1))
    found = pl.ccd(a, touching, None, None)
    assert len(found) and not found.times.any()
    assert pl.step_size(a, touching, None, TETRAHEDRON + [9, 0, 0]) == 0.0
    pierced = pl.Body([[0.2, 0.2, -1], [0.2, 0.2, 1], [0.3, 0.2, -1]], [[0, 1, 2]])
    face = pl.Body(TETRAHEDRON[:3], [[0, 1, 2]])
    assert not pl.ccd(face, pierced, None, None)                        # no feature touches another
    assert pl.step_size(face, pierced, None, None) == 0.0
    assert pl.step_size(face, pierced, None, None, check=False) == 1.0
    both = pl.Body(np.r_[face.vertices, pierced.vertices], [[0, 1, 2], [3, 4, 5]])
    assert pl.self_step_size(both, both.vertices) == 0.0 and pl.self_step_size(both, both.vertices, check=False) == 1.0
    del inside


def test_min_distance():
    a, b = pl.Body(TETRAHEDRON, SIDES), pl.Body(TETRAHEDRON + [5, 0, 0], SIDES)
    end = TETRAHEDRON + [1.5, 0, 0]
    assert not pl.ccd(a, b, None, end)
    found = pl.ccd(a, b, None, end, min_distance=1.0)
    assert len(found) and 0.857 - 1e-3 < found.times[0] <= 6 / 7 - 0.0 + 1e-9
    assert found.times[0] <= 3 / 3.5
    assert pl.step_size(a, b, None, end, min_distance=1.0) < found.times[0]
    assert pl.step_size(a, b, None, end, min_distance=0.49) == 1.0
    assert pl.step_size(a, b, None, end, min_distance=4.0) == 0.0


def test_welded_vertices_are_one():
    """A seam whose sides have vertices of their own stays together."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float)
    faces, moved = [[0, 1, 2], [3, 5, 4]], corners + np.array([0, 0, 1]) * np.arange(6)[:, None]
    assert len(pl.self_ccd(pl.Body(corners, faces), corners))
    assert not pl.self_ccd(pl.Body(corners, faces, weld=True), moved)


def test_scenes():
    a, b, c = (pl.Body(TETRAHEDRON + [x, 0, 0], SIDES) for x in (0.0, 3.0, 50.0))
    stack = pl.Body(np.r_[TETRAHEDRON + [100, 0, 0], TETRAHEDRON + [103, 0, 0]], np.r_[SIDES, SIDES + 4])
    scene = pl.Scene([a, b, c, stack])
    ends = {0: TETRAHEDRON + [4, 0, 0], c: (None, np.eye(4)), 3: stack.vertices - np.repeat([[0, 0, 0], [3.0, 0, 0]], 4, axis=0)}
    found, alone = scene.ccd(ends), pl.ccd(a, b, ends[0], None)
    assert len(alone) and keys_of(found) == keys_of(alone) and found.times.tolist() == alone.times.tolist()
    assert set(map(tuple, found.bodies.tolist())) == {(0, 1)}
    every = scene.ccd(ends, self_pairs=True)
    own = pl.self_ccd(stack, ends[3])
    assert len(own) and len(every) == len(found) + len(own) and (np.diff(every.times) >= 0).all()
    first = scene.ccd(ends, self_pairs=True, first=True)
    assert first.times.tolist() == every.times[every.times == every.times[0]].tolist()
    assert scene.step_size(ends) == pl.step_size(a, b, ends[0], None)
    assert scene.step_size(ends, self_pairs=True) <= scene.step_size(ends)
    scene.ignore(0, 1)
    assert not scene.ccd(ends) and scene.step_size(ends) == 1.0
    assert not pl.Scene().ccd({}) and pl.Scene().step_size({}) == 1.0
    with pytest.raises(pl.ArgumentError, match="ends: body 1: vertices: expected 4 rows"):
        scene.ccd({1: np.eye(3)})
    with pytest.raises(pl.ArgumentError, match="is named twice"):
        scene.ccd({0: TETRAHEDRON, a: TETRAHEDRON})
    with pytest.raises(pl.UnknownIdError, match="ends: no body of the scene has the id 7"):
        scene.step_size({7: TETRAHEDRON})
    with pytest.raises(pl.ArgumentError, match="csr: the impacts of a scene"):
        scene.ccd({}).csr()
    with pytest.raises(pl.ArgumentTypeError, match="ends: expected a dict"):
        scene.ccd([TETRAHEDRON])


@pytest.mark.parametrize("offset", [1.6e308, 1.75e308, -1.75e308])
def test_the_largest_numbers(offset):
    """Boxes that end beyond 1.7e308, and those that lie there as a whole."""
    tip, size, place = np.array([[1, 1, 1], [1, 1, 2], [2, 1, 2]], float), 1e306, np.array([offset, 0, 0])
    floor = pl.Body(np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]]) * size + place, [[0, 1, 2]])
    body, end = pl.Body(tip * size + place, [[0, 1, 2]]), (tip - [0, 0, 4]) * size + place
    found = pl.ccd(floor, body, None, end)
    assert len(found) == 3 and 0.2499 < found.times[0] <= 0.25 and pl.step_size(floor, body, None, end) < 0.25
    assert len(pl.Scene([floor, body]).ccd({1: end})) == 3
    low = pl.Body(body.vertices - [0, 0, size], [[0, 1, 2]])
    assert len(pl.within(floor, low, 0.0, features=True)) == 1 and len(pl.collide(floor, low)) == 1


def test_exact_stages_are_counted():
    """So that a call with many of them ends in time for Ctrl-C."""
    flat = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    found = pl.ccd(pl.Body(flat, [[0, 1, 2]]), pl.Body(flat + [3, 0, 0], [[0, 1, 2]]), None, flat)
    assert len(found) and found.stats.n_exact > 0
    above = pl.Body(flat + [0, 0, 3], [[0, 1, 2]])
    assert pl.ccd(pl.Body(flat, [[0, 1, 2]]), above, None, flat + [0, 0, 1], min_distance=1.5).stats.n_exact > 0


def test_a_step_that_shrinks_for_one_pair_is_tested_again_for_the_others(monkeypatch):
    """Positions of a smaller step round differently."""
    tested = []

    def shrink(space, a, b, min_distance, step):
        tested.append((a, step))
        return min(step, 0.5) if a == "second" else step

    monkeypatch.setattr(step_size, "earliest", lambda *_: np.inf)
    monkeypatch.setattr(step_size, "shrink_step", shrink)
    assert step_size.certified_step(None, [("first", None), ("second", None)], 0.0) == 0.5
    assert tested == [("first", 1.0), ("second", 1.0), ("first", 0.5)]
    assert step_size.certified_step(None, [], 0.0) == 1.0


def test_threads_change_nothing(set_threads):
    a, end_a, b, end_b, faces = deforming()
    answers = []
    for n in (1, 3):
        set_threads(n)
        found = pl.ccd(pl.Body(a, faces), pl.Body(b, faces), end_a, end_b)
        answers.append((keys_of(found), found.times.tolist()))
    assert answers[0] == answers[1]


def test_no_faces():
    empty, body = pl.Body(TETRAHEDRON, np.zeros((0, 3), int)), pl.Body(TETRAHEDRON, SIDES)
    for found in (pl.ccd(empty, body, None, TETRAHEDRON + 1), pl.ccd(body, empty, TETRAHEDRON, None), pl.self_ccd(empty, TETRAHEDRON + 1)):
        assert not found and found.times.shape == (0,) and found.vertices.shape == (0, 4)
    assert pl.step_size(empty, body, None, None) == pl.self_step_size(empty, TETRAHEDRON) == 1.0


@pytest.mark.parametrize("call, error, message", [
    (lambda a, b: pl.ccd(a, a, None, None), pl.ArgumentError, "self_ccd"),
    (lambda a, b: pl.step_size(a, a, None, None), pl.ArgumentError, "self_step_size"),
    (lambda a, b: pl.ccd(a, b, np.zeros((3, 3)), None), pl.MeshError, r"end_a: vertices: expected 4 rows"),
    (lambda a, b: pl.ccd(a, b, None, np.full((4, 3), np.nan)), pl.MeshError, r"end_b: vertices: row 0 is \[nan, nan, nan\]"),
    (lambda a, b: pl.ccd(a, b, None, (TETRAHEDRON, np.eye(3))), pl.MeshError, "end_b: transform: expected a matrix"),
    (lambda a, b: pl.ccd(a, b, None, None, min_distance=-1.0), pl.ArgumentError, "min_distance: expected a finite number from 0.0 up"),
    (lambda a, b: pl.ccd(a, b, None, None, min_distance=np.inf), pl.ArgumentError, "min_distance"),
    (lambda a, b: pl.ccd(a, b, None, None, first=1), pl.ArgumentTypeError, "first: expected True or False"),
    (lambda a, b: pl.step_size(a, b, None, None, check="no"), pl.ArgumentTypeError, "check: expected True or False"),
    (lambda a, b: pl.ccd(pl.Scene(), b, None, None), pl.ArgumentTypeError, "a: expected a Body, got a Scene"),
    (lambda a, b: pl.self_ccd(a, [1.0, 2.0]), pl.PliantError, "end: vertices"),
])
def test_wrong_calls(call, error, message):
    a, b = pl.Body(TETRAHEDRON, SIDES), pl.Body(TETRAHEDRON + 5, SIDES)
    with pytest.raises(error, match=message):
        call(a, b)
    assert np.array_equal(a.vertices, TETRAHEDRON) and np.array_equal(b.vertices, TETRAHEDRON + 5)


@pytest.mark.parametrize("seed", range(4))
def test_large_faces_and_small_bodies(seed):
    """Most of a large face is beyond the frame of the query."""
    rng, found, faces = np.random.default_rng(seed), 0, [[0, 1, 2]]
    for _ in range(5 if OFF else 25):
        large, end_large = rng.normal(size=(2, 3, 3)) * 50
        place = rng.dirichlet([1] * 3) @ (0.5 * large + 0.5 * end_large)
        small, end_small = place + rng.normal(size=(2, 3, 3)) * rng.choice([2.0**-3, 1.0, 8.0])
        impacts = pl.ccd(pl.Body(large, faces), pl.Body(small, faces), end_large, end_small)
        assert_impacts(impacts, naive_features.impacts(large, end_large, faces, small, end_small, faces))
        found += len(impacts)
    assert found
