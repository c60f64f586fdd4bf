"""The comparison of rays with the reference lets the right answer through, and no other: answers are spoilt in every way there is."""

from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest

import meshes
import pliant as pl
from ray_checks import ALL_BITS, MARGIN, Reference, assert_near, assert_ray, both, edges_of, some_rays, targets_on

# Two sheets, hit at 1 and 2, and one behind, at −1; bodies 3 and 5.
NEAR, FAR, BEHIND = (3, 0), (3, 1), (5, 0)
MISS = (-1, -1, inf, [0.0, 0.0])


def sheet(z):
    return meshes.soup([np.array([[0, 0, z], [4, 0, z], [0, 4, z]])])


@pytest.fixture
def right():
    """What the reference knows."""
    known = {}
    for (body, face), z in ((NEAR, 1.0), (FAR, 2.0), (BEHIND, -1.0)):
        row = Reference(pl.Body(*sheet(z))).known([1, 2, 0], [0, 0, 1])[0, 0]
        known[body, face] = (row[0]._replace(face=face), *row[1:])
    return known


def row(key, t, uv=(0.25, 0.5)):
    return (*key, t, list(uv))


def judge(right, rows, one=None, blocked=None, low=0.0, high=inf):
    first = rows[0] if rows else MISS
    assert_ray(right, low, high, rows, first if one is None else one, bool(rows) if blocked is None else blocked, "ray")


def test_the_reference_knows_bodies_faces_and_masks():
    scene = pl.Scene([pl.Body(*meshes.joined(sheet(z), sheet(-z))) for z in (3.0, 1.0)])
    known = Reference(scene).known([1, 2, 0], [0, 0, 2])
    assert {key: hit.t for key, (hit, _, _) in known.items()} == {(0, 0): Fraction(3, 2), (0, 1): -Fraction(3, 2), (1, 0): Fraction(1, 2),
                                                                  (1, 1): -Fraction(1, 2)}
    assert set(Reference(scene, {1: 2}).known([1, 2, 0], [0, 0, 2], 1)) == {(0, 0), (0, 1)}
    assert Reference(scene).known([1, 2, 0], [0, 0, np.nan]) == {} == Reference(scene).known([1, 2, 0], [0, 0, 2], 0)
    assert Reference(pl.Body([], [])).known([0, 0, 0], [0, 0, 1], ALL_BITS) == {}
    moved = pl.Body(*sheet(1.0))
    assert Reference(moved, same=[0, 1, 1]).known([1, 2, 0], [0, 0, 1]) == {}


def test_the_right_answer_passes(right):
    judge(right, [row(NEAR, 1.0), row(FAR, 2.0)])
    judge(right, [row(BEHIND, -1.0), row(NEAR, 1.0), row(FAR, 2.0)], low=-inf)
    judge(right, [row(FAR, 2.0)], low=1.5)
    judge(right, [], low=2.5)
    judge(right, [], low=3.0, high=1.0)
    judge({}, [])


@pytest.mark.parametrize(("rows", "words"), [
    ([], "misses 2"), ([row(FAR, 2.0)], "misses 1"), ([row(NEAR, 1.0)], "misses 1"),
    ([row(BEHIND, -1.0), row(NEAR, 1.0), row(FAR, 2.0)], "not hit"),
    ([row(NEAR, 1.0), row(FAR, 2.0), row((3, 7), 2.5)], "not hit"), ([row(NEAR, 1.0), row(FAR, 2.0), row((4, 0), 2.5)], "not hit"),
    ([row(NEAR, 1.000000000001), row(FAR, 2.0)], "margins"), ([row(NEAR, 2.0), row(FAR, 2.0)], "margins"),
    ([row(NEAR, 1.0, (0.5, 0.25)), row(FAR, 2.0)], "weights"), ([row(NEAR, 1.0, (0.25, 0.500000000001)), row(FAR, 2.0)], "weights"),
    ([row(NEAR, 1.0, (-1e-16, 0.5)), row(FAR, 2.0)], "weights"), ([row(NEAR, 1.0, (0.25, float("nan"))), row(FAR, 2.0)], "weights"),
])
def test_wrong_answers_do_not(right, rows, words):
    with pytest.raises(AssertionError, match=words):
        judge(right, rows)


def test_what_cast_and_occluded_say_must_agree(right):
    rows = [row(NEAR, 1.0), row(FAR, 2.0)]
    for one in (rows[1], MISS, row(NEAR, nextafter(1.0, 2.0)), row(NEAR, 1.0, (0.25, nextafter(0.5, 1.0))), (3, 2, 1.0, [0.25, 0.5])):
        with pytest.raises(AssertionError, match="cast and cast_all"):
            judge(right, rows, one)
    with pytest.raises(AssertionError, match="cast and cast_all"):
        judge({}, [], row(NEAR, 1.0))
    with pytest.raises(AssertionError, match="occluded"):
        judge(right, rows, blocked=False)
    with pytest.raises(AssertionError, match="occluded"):
        judge({}, [], blocked=True)


def test_limits_leave_only_roundings_open(right):
    up, down = nextafter(1.0, 2.0), nextafter(1.0, 0.0)
    for low in (down, 1.0, up):
        judge(right, [row(NEAR, up), row(FAR, 2.0)], low=low)           # in, if it is rounded up
        judge(right, [row(FAR, 2.0)], low=low)                          # or out, if it is rounded down
    with pytest.raises(AssertionError, match=r"at 1\.0"):
        judge(right, [row(NEAR, 1.0), row(FAR, 2.0)], low=up)           # but not in where the t that is told is out
    with pytest.raises(AssertionError, match="misses"):
        judge(right, [row(FAR, 2.0)], low=1 - 1e-12)
    with pytest.raises(AssertionError, match="not hit"):
        judge(right, [row(NEAR, 1 + 1e-12), row(FAR, 2.0)], low=1 + 1e-12)
    with pytest.raises(AssertionError, match="not hit"):
        judge(right, [row(NEAR, 1.0), row(FAR, 2.0)], high=1.5)


def test_slack_is_of_the_largest_distance_over_the_length_of_the_direction():
    known = Reference(pl.Body(*sheet(1.0))).known([1, 2, 0], [0, 0, 1e-3])[0, 0]
    assert known[1] == pytest.approx(3 / 1e-3 * float(MARGIN))
    assert_near(known, 1000 + 2e-10, [0.25, 0.5])
    with pytest.raises(AssertionError, match="margins"):
        assert_near(known, 1000 + 4e-10, [0.25, 0.5])


def test_weights_are_looser_where_faces_are_thin_or_grazed():
    def loose(corners, direction):
        rows = Reference(pl.Body(corners, [[0, 1, 2]])).known(-np.asarray(direction, float) + [1, 1, 0], direction)
        return rows[0, 0][2]
    plain = loose([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [0, 0, 1])
    assert 1e-15 < plain < 1e-13
    assert 1e3 * plain < loose([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [1, 1, 1e-4]) < 1e-8
    assert 1e3 * plain < loose([[0, 0.9999, 0], [4, 0.9999, 0], [0, 1.0002, 0]], [0, 0, 1]) < 1e-8


def test_rays_go_where_they_should():
    vertices, faces = meshes.cube()
    assert len(edges_of(faces)) == 18
    assert len(targets_on(vertices, faces)) == 8 + 18 + 12
    origins, directions = some_rays(vertices, faces, np.random.default_rng(1), 60)
    assert origins.shape == directions.shape == (60, 3)
    assert both(pl.cast(pl.Body(vertices, faces), origins, directions))
