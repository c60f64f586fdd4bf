"""Every other query on a blended body answers, before its vertices are looked at, as on a free body that is where it is."""

from dataclasses import fields

import numba
import numpy as np
import pytest

import blends
import meshes
import pliant as pl
import poses
from morphs import twin
from pliant import shapes
from pliant.query.options import DESCEND_MODES, SAT_MODES

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 2)
WEIGHTS = blends.near(BALL, 4)
TURN = poses.matrix(meshes.rotation([1, 2, 3], 0.7), (0.2, -0.1, 0.3))
SPOTS = np.random.default_rng(4).uniform(-1.5, 1.5, (4 if OFF else 40, 3))
WAYS = np.random.default_rng(5).uniform(-0.5, 0.5, SPOTS.shape) - SPOTS # most towards the body
PLANES = [[1.0, 0.3, 0.1, 0.2], [-0.2, 1, 0.4, 0.5]]


def other(at):
    return pl.Body(BALL * 0.6 + np.array([at, 0.2, 0.1]), FACES)


QUESTIONS = {
    "collide": lambda body: pl.collide(body, other(0.9), contacts=True),
    "swapped": lambda body: pl.collide(other(0.9), body, contacts=True),
    "all ways": lambda body: [pl.collide(body, other(0.9), traversal=pl.Traversal(sat, descend)) for sat in SAT_MODES
                              for descend in DESCEND_MODES],
    "self_collide": lambda body: pl.self_collide(body, contacts=True),
    "distance": lambda body: pl.distance(body, other(2.5)),
    "distance, swapped": lambda body: pl.distance(other(2.5), body),
    "within": lambda body: pl.within(body, other(1.7), 0.3),
    "self_within": lambda body: pl.self_within(body, 0.2),
    "self_distance": pl.self_distance,
    "closest": lambda body: pl.closest(body, SPOTS),
    "closest, signed": lambda body: pl.closest(body, SPOTS, signed=True),
    "cast": lambda body: pl.cast(body, SPOTS, WAYS),
    "cast_all": lambda body: pl.cast_all(body, SPOTS, WAYS),
    "occluded": lambda body: pl.occluded(body, SPOTS, WAYS),
    "pick": lambda body: pl.pick(body, [3, 0, 0], [-1, 0.01, 0]),
    "visible": lambda body: pl.frustum_cull(body, PLANES),
    "scene, collide": lambda body: pl.Scene([other(0.9), body, other(5)]).collide(self_pairs=True),
    "scene, distance": lambda body: pl.Scene([other(2.5), body, other(5)]).distance(),
    "scene, within": lambda body: pl.Scene([other(1.7), body, other(5)]).within(0.3),
    "scene, cast": lambda body: pl.cast(pl.Scene([other(0.9), body]), SPOTS, WAYS),
    "scene, closest": lambda body: pl.closest(pl.Scene([other(0.9), body]), SPOTS),
}
SLOW = ("self_collide", "self_within", "self_distance", "scene, collide", "scene, distance", "scene, within", "scene, closest", "all ways",
        "swapped", "distance, swapped", "closest, signed", "occluded", "pick")
COUNTERS = ("stats", "counters", "tested")                              # what may differ


def parts(found):
    """The arrays and numbers of an answer, but for its counters."""
    if isinstance(found, list):
        return [part for each in found for part in parts(each)]
    if found is None or isinstance(found, np.ndarray):
        return [found]
    return [getattr(found, field.name) for field in fields(found) if field.name not in COUNTERS and not field.name.startswith("_")] + [
        getattr(found, name) for name in ("point", "normal") if hasattr(type(found), name)]


@pytest.mark.parametrize("name", [name for name in QUESTIONS if not (OFF and name in SLOW)])
def test_every_question(name):
    """In frames of its own, with a transform and without, so that nothing else has made true what it needs."""
    rng, told = np.random.default_rng(17), 0
    body = pl.Body.blended(BALL, FACES, WEIGHTS, leaf=3)
    for frame in range(1 if OFF else 3):
        body.update(blends.maps(4, rng, 1.2 if name == "self_collide" else 0.25), transform=TURN if frame == 1 else None)
        assert not (body._motion.stamps["stamp"] == body._motion.frame).any()
        found = parts(QUESTIONS[name](body))
        expected = parts(QUESTIONS[name](twin(body)))
        for one, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, right)
        told += sum(np.size(right) for right in expected if right is not None)
    assert told > 0


def test_first_contact():
    """A path of maps; and it goes on along it without all vertices."""
    start, ball = np.tile(np.eye(3, 4), (4, 1, 1)), pl.Body(BALL * 0.5 + np.array([3.0, 0.1, 0.2]), FACES)
    way = blends.maps(4, np.random.default_rng(3), 0.2) + np.eye(1, 12, 3).reshape(3, 4) * 2  # 2 along x

    def path(t):
        return start * (1 - t) + way * t
    body, free = pl.Body.blended(BALL, FACES, WEIGHTS), pl.Body(BALL, FACES)
    found = pl.first_contact(body, ball, path, None, tolerance=1e-3)
    expected = pl.first_contact(free, ball, lambda t: blends.where(BALL, WEIGHTS, path(t)), None, tolerance=1e-3)
    assert (found.time, found.before, found.pairs.faces.tolist()) == (expected.time, expected.before, expected.pairs.faces.tolist())
    assert 0 < found.before < found.time < 1


def test_welded_bodies():
    """The lowest of the vertices that are merged stands for them, wherever maps take the others."""
    seam, faces = meshes.soup(BALL[FACES])
    weights = np.random.default_rng(6).dirichlet(np.ones(3), len(seam)) # what was one place goes to many
    body, free = pl.Body.blended(seam, faces, weights, weld=meshes.lowest_at_one_place(seam)), pl.Body(seam, faces, weld=True)
    for k in range(1 if OFF else 2):
        moved = blends.maps(3, np.random.default_rng(k), 0.4)
        body.update(moved)
        free.update(blends.where(seam, weights, moved))
        np.testing.assert_array_equal(pl.self_collide(body).faces, pl.self_collide(free).faces)
        found = pl.collide(body, other(0.7), contacts=True)
        poses.assert_same(found, pl.collide(free, other(0.7), contacts=True))
        assert len(found) > 0


@pytest.mark.parametrize("size", [1e12] if OFF else [1e-200, 1e-9, 1e12, 1e200])
def test_sizes_that_float32_does_not_hold(size):
    """Alone, and against bodies of other sizes, for which all vertices are looked at."""
    body = pl.Body.blended(BALL * size, FACES, WEIGHTS, leaf=2)
    body.update(blends.maps(4, np.random.default_rng(7)) * [1, 1, 1, size])
    near = pl.Body((BALL * 0.6 + [0.8, 0.2, 0.1]) * size, FACES)
    found = pl.collide(body, near).faces
    assert len(found) and found.tolist() == pl.collide(twin(body), near).faces.tolist()
    for wide in (1.0, size * 1e30, size * 1e-30)[:1 if OFF else 3]:
        cube = pl.Body(meshes.cube()[0] * wide, meshes.cube()[1])
        np.testing.assert_array_equal(pl.collide(body, cube).faces, pl.collide(twin(body), cube).faces)


def test_growing_through_all_sizes():
    """The scale of float32 follows the maps, and so does everything else; the origin, where they carry a body away."""
    body, scales, origins = pl.Body.blended(BALL, FACES, WEIGHTS, leaf=2), set(), set()
    for size in (1.0, 1e-7) if OFF else (1.0, 1e-7, 1e-30, 1e30, 1e-300, 1e300, 0.0, 1.0):
        for place in (0.0, 1e6):
            moved = (blends.maps(4, np.random.default_rng(8), 0.1) + np.eye(1, 12, 3).reshape(3, 4) * place) * size
            body.update(moved)
            near = pl.Body((BALL * 0.6 + [0.8 + place, 0.2, 0.1]) * size, FACES)
            found = pl.collide(body, near).faces
            assert len(found) and found.tolist() == pl.collide(twin(body), near).faces.tolist()
            scales.add(body._motion.scale)
            origins.add(float(body._motion.origin[0]))
    assert len(scales) > 1 and len(origins) > 1
