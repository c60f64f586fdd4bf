"""Depths against slow references: distances from all triangles, and inside by solid angles."""

import numpy as np
import pytest

import pliant as pl
from pliant import shapes
from pliant.check.depth import AT_LEAST, INSIDE, NO_DEPTH, STRIDES, THROUGH, DepthFinder, farthest

BALL = shapes.icosphere(2)
CUBE = (np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float),
        np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7],
                  [1, 7, 3]]))  # fmt: skip
FLOOR = np.array([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])


def floor(count):
    """A floor of many squares."""
    ticks = np.linspace(-3, 3, count + 1)
    x, y = np.meshgrid(ticks, ticks, indexing="ij")
    first = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    above = first + count + 1
    faces = np.concatenate([np.stack([first, above, first + 1], 1), np.stack([first + 1, above, above + 1], 1)])
    return np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3), faces


def depths(a, b, min_depth=0.0, wanted=None):
    """(pairs, depths) of two bodies."""
    one, other = pl.Body(*a), pl.Body(*b)
    faces = pl.collide(one, other).faces
    bodies = np.tile(np.array([0, 1], np.int32), (len(faces), 1))
    return faces, DepthFinder(min_depth).find([one, other], bodies, faces, wanted)


def winding(points, vertices, faces):
    """The winding number around each point, by solid angles."""
    a, b, c = (vertices[faces[:, k]][None] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(each, axis=2) for each in (a, b, c))
    upper = (a * np.cross(b, c)).sum(2)
    lower = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    return np.rint(np.arctan2(upper, lower).sum(1) / (2 * np.pi))


@pytest.mark.parametrize("shift", [(1.7, 0.1, 0.05), (0.9, 0.4, 0.3), (0.2, 0.1, 1.93)])
def test_closed_bodies(shift):
    """The farthest enclosed vertex of either body; small and large overlaps."""
    rotation = np.linalg.qr(np.array([[2.0, 1, 0], [0, 1, 1], [1, 0, 3]]))[0]
    other = BALL[0] @ (rotation * np.sign(np.linalg.det(rotation))) + np.array(shift), BALL[1]
    faces, found = depths(BALL, other)
    assert len(faces) > 10 and INSIDE in found.kinds
    assert found.depths.max() == pytest.approx(slow_depth(BALL, other), rel=1e-6)


def slow_depth(a, b):
    """The farthest vertex of either mesh inside the other from its surface."""
    found = 0.0
    for (vertices, _), (others, faces) in ((a, b), (b, a)):
        inside = vertices[winding(vertices, others, faces) > 0]
        if len(inside):
            found = max(found, max(min(point_triangle(point, others[face]) for face in faces) for point in inside))
    return found


def point_triangle(p, corners):
    """The distance of a point from a triangle: the best of its face, edges and corners."""
    a, b, c = corners
    found = [np.linalg.norm(p - corner) for corner in corners]
    for u, v in ((a, b), (b, c), (c, a)):
        t = np.clip((p - u) @ (v - u) / ((v - u) @ (v - u)), 0, 1)
        found.append(np.linalg.norm(p - u - t * (v - u)))
    normal = np.cross(b - a, c - a)
    foot = p - normal * ((p - a) @ normal) / (normal @ normal)
    if all(np.cross(v - u, foot - u) @ normal >= 0 for u, v in ((a, b), (b, c), (c, a))):
        found.append(np.linalg.norm(p - foot))
    return min(found)


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize("depth", [0.02, 0.3])
def test_an_open_floor(count, depth):
    """How far the ball is below it, however small or large the triangles of the floor are."""
    ball = BALL[0] + [0.013, 0.027, 1.0 - depth], BALL[1]
    lowest = -ball[0][:, 2].min()
    faces, found = depths(ball, FLOOR if count == 1 else floor(count))
    assert len(faces) and found.depths.max() == pytest.approx(lowest, rel=1e-6)
    assert set(found.kinds.tolist()) <= {INSIDE, THROUGH, AT_LEAST} and found.kinds[found.depths.argmax()] in (INSIDE, THROUGH)


def test_a_coarse_cube_on_a_floor():
    """All its sides cross the floor: the smaller part is the one that has passed."""
    _, found = depths((CUBE[0] + [0, 0, -0.1], CUBE[1]), FLOOR)
    assert found.depths == pytest.approx(0.1) and set(found.kinds.tolist()) == {THROUGH}


def test_crossing_bars_have_a_lower_bound():
    """No vertex of either is inside the other."""
    bars = [CUBE[0] * [6, 1, 1] - [3, 0.5, 0.5], CUBE[0] * [1, 6, 1] - [0.5, 3, 0.7]]
    faces, found = depths((bars[0], CUBE[1]), (bars[1], CUBE[1]))
    assert len(faces) and set(found.kinds.tolist()) == {AT_LEAST}
    assert 0 < found.depths.max() <= 1.0, "the bars are 1 thick, and moving one by 0.8 separates them"


def test_two_contacts_have_depths_of_their_own():
    two = np.concatenate([BALL[0] + [-2, 0, 0.95], BALL[0] + [2, 0, 0.6]]), np.concatenate([BALL[1], BALL[1] + len(BALL[0])])
    faces, found = depths(two, FLOOR)
    left = faces[:, 0] < len(BALL[1])
    lowest = [-(BALL[0][:, 2].min() + height) for height in (0.95, 0.6)]
    assert found.depths[left].max() == pytest.approx(lowest[0], rel=1e-6)
    assert found.depths[~left].max() == pytest.approx(lowest[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("known", [0.0, 0.5, 1.0])
def test_the_farthest_point_of_each_piece(seed, known):
    """Not all points are measured, and the answer is that of all."""
    generator, ball = np.random.default_rng(seed), pl.Body(*BALL)
    pieces = np.sort(generator.choice(6, 4000, p=[0.6, 0.3, 0.07, 0.02, 0.01, 0]).astype(np.int32))
    points = generator.normal(size=(4000, 3)) * 0.01 + 0.5 * generator.normal(size=(6, 3))[pieces] * generator.random((4000, 1)) ** seed
    assert (np.bincount(pieces, minlength=6) > STRIDES[0]).sum() >= 3, "large pieces, and small ones"
    distances, expected = pl.closest(ball, points).distance, np.zeros(6)
    np.maximum.at(expected, pieces, distances)
    bounds = np.where(generator.random(4000) < known, distances * (1 + 0.1 * generator.random(4000)), np.inf)
    found, better = farthest(ball, points, pieces, 6, bounds)
    assert np.array_equal(found, expected)
    assert (better >= distances * (1 - 1e-12)).all() and (better <= bounds).all()
    assert not len(farthest(ball, points[:0], pieces[:0], 0, bounds[:0])[0])


def test_most_points_of_a_deep_piece_are_not_measured(monkeypatch):
    counts, closest = [], pl.closest
    monkeypatch.setattr(pl, "closest", lambda body, points: (counts.append(len(points)), closest(body, points))[1])
    x, y = np.meshgrid(np.linspace(0, 1, 64), np.linspace(0, 1, 64), indexing="ij")
    points = np.stack([x, y, -np.hypot(x, y)], axis=-1).reshape(-1, 3)
    found, _ = farthest(pl.Body(*FLOOR), points, np.zeros(len(points), np.int32), 1, np.full(len(points), np.inf))
    assert found[0] == pytest.approx(np.sqrt(2), rel=1e-6) and sum(counts) < len(points) / 4


@pytest.mark.parametrize("floor_moves", [False, True])
def test_frames_before_change_no_depth(floor_moves):
    """A finder that has measured earlier frames finds what a new one finds, to the bit; in any order of frames."""
    bodies = [pl.Body(*BALL), pl.Body(*floor(20))]
    started, faces_found, finder = [body.vertices for body in bodies], 0, DepthFinder()
    generator = np.random.default_rng(1)
    turn = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    for frame in (0, 1, 2, 3, 7, 5, 4, 20):
        motion = turn if frame % 2 else np.eye(3)
        bodies[0].update((started[0] + [0.01 * frame, 0, 0.9 - 0.02 * frame]) @ motion + 1e-9 * generator.normal(size=started[0].shape))
        if floor_moves:
            bodies[1].update(started[1] @ motion + 1e-9 * generator.normal(size=started[1].shape))
        faces = pl.collide(*bodies).faces
        pairs = np.tile(np.array([0, 1], np.int32), (len(faces), 1))
        found, expected = finder.find(bodies, pairs, faces), DepthFinder().find(bodies, pairs, faces)
        assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
        faces_found += len(faces)
    assert faces_found > 100


def test_only_what_is_wanted_is_measured():
    two = np.concatenate([BALL[0] + [-2, 0, 0.95], BALL[0] + [2, 0, 0.6]]), np.concatenate([BALL[1], BALL[1] + len(BALL[0])])
    faces, everything = depths(two, FLOOR)
    wanted = faces[:, 0] >= len(BALL[1])
    _, found = depths(two, FLOOR, wanted=wanted)
    assert np.array_equal(found.depths[wanted], everything.depths[wanted]) and not found.depths[~wanted].any()
    assert set(found.kinds[~wanted].tolist()) == {NO_DEPTH}


def test_shallow_pairs():
    """A lower bound alone does not make a long cut shallow, but one that is short from end to end."""
    ball = BALL[0] + [0.013, 0.027, 0.98], BALL[1]
    assert depths(ball, FLOOR, 0.03)[1].shallow.all() and not depths(ball, FLOOR, 0.01)[1].shallow.any()
    sheet = floor(60)
    upright = sheet[0][:, [0, 2, 1]] + [0.013, 0.027, 2.99], sheet[1]
    faces, found = depths(sheet, upright, 0.5)
    bounded = found.kinds == AT_LEAST
    assert len(faces) and (found.depths[bounded] < 0.5).all() and not found.shallow[bounded].any(), "a border that cuts 6 long"


def test_a_body_with_itself():
    cloth = shapes.folding_cloth(400, 12)
    body = pl.Body(cloth.frame(7), cloth.faces)
    faces = pl.self_collide(body).faces
    found = DepthFinder().find([body], np.zeros((len(faces), 2), np.int32), faces)
    assert len(faces) and set(found.kinds.tolist()) == {AT_LEAST}
    right = pl.self_collide(body, contacts=True)
    assert np.array_equal(found.depths, right.depths.astype(np.float32))


def test_no_pairs():
    none = np.zeros((0, 2), np.int32)
    found = DepthFinder().find([pl.Body(*BALL)], none, none)
    assert all(len(column) == 0 for column in found)
