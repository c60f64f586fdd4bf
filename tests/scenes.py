"""What a scene must answer: all pairs of bodies, two by two."""

from itertools import combinations, product

import numpy as np

import meshes
import naive
import pliant as pl

CONTACTS = ("segments", "normals", "depths", "coplanar")


def cube(x=0.0, make=pl.Body, **options):
    """A unit cube at this place along x."""
    return make(*meshes.cube((x, 0, 0)), **options)


def everything(bodies, ignored=lambda i, j: False, self_pairs=False, adjacent="exact"):
    """(i, j, pairs) of all bodies, {id: body}, that meet, two by two."""
    found, boxes = [], {i: naive.box(body.vertices) for i, body in bodies.items() if len(body)}
    for i, j in product(sorted(boxes), repeat=2):
        if i < j and not ignored(i, j) and (boxes[i][0] <= boxes[j][1]).all() and (boxes[j][0] <= boxes[i][1]).all():
            found.append((i, j, pl.collide(bodies[i], bodies[j], contacts=True)))
        elif i == j and self_pairs and not ignored(i, i):
            found.append((i, i, pl.self_collide(bodies[i], adjacent=adjacent, contacts=True)))
    return [(i, j, pairs) for i, j, pairs in found if pairs]


def assert_scene(scene, ignored=lambda i, j: False, self_pairs=False, **options):
    """The scene's answer is that of all pairs, in the promised form; the answer."""
    bodies = {number: scene[number] for number in scene}
    right = everything(bodies, ignored, self_pairs, options.get("adjacent", "exact"))
    found = scene.collide(self_pairs=self_pairs, **options)
    assert found.bodies.shape == found.faces.shape == (len(found), 2)
    assert (found.bodies.dtype, found.faces.dtype) == (np.int64, np.int32)
    assert rows(found) == [(i, j, f, g) for i, j, pairs in right for f, g in pairs.faces.tolist()]
    for name in CONTACTS:
        if options.get("contacts"):
            expected = [getattr(pairs, name) for *_, pairs in right]
            np.testing.assert_array_equal(getattr(found, name), np.concatenate(expected) if expected else getattr(found, name)[:0])
        else:
            assert getattr(found, name) is None
    tested = list(map(tuple, found.tested.tolist()))
    assert tested == sorted(set(tested))
    assert {(i, j) for i, j, _ in right} <= set(tested)
    assert all(i < j or (self_pairs and i == j) for i, j in tested)
    assert not any(ignored(i, j) for i, j in tested if i != j)
    assert found.counters.shape == (len(tested), len(pl.Stats._fields))
    assert found.stats == tuple(found.counters.sum(0).tolist())
    assert all(type(number) is int for number in found.stats)
    assert bool(found) == (len(found) > 0)
    return found


def pairs_that_count(scene, ignored):
    """(i, j), i < j, of all bodies with faces that no rule ignores, sorted."""
    numbers = sorted(number for number in scene if len(scene[number]))
    return [(i, j) for i, j in combinations(numbers, 2) if not ignored(i, j)]


def assert_within(scene, tolerance, ignored=lambda i, j: False, self_pairs=False, points=False):
    """The pairs of faces within a tolerance are those of all pairs of bodies, two by two; the answer."""
    found = scene.within(tolerance, self_pairs=self_pairs, points=points)
    own = [(i, i) for i in scene if self_pairs and len(scene[i]) and not ignored(i, i)]
    right = [(i, j, pl.self_within(scene[i], tolerance, points=points) if i == j else
              pl.within(scene[i], scene[j], tolerance, points=points)) for i, j in sorted(pairs_that_count(scene, ignored) + own)]
    assert rows(found) == [(i, j, f, g) for i, j, pairs in right for f, g in pairs.faces.tolist()]
    assert (found.bodies.dtype, found.faces.dtype, found.complete) == (np.int64, np.int32, True)
    for name in ("distances", *(["points"] if points else [])):
        expected = [getattr(pairs, name) for *_, pairs in right]
        np.testing.assert_array_equal(getattr(found, name), np.concatenate(expected) if expected else getattr(found, name)[:0])
    assert (found.points is None) != points
    tested = list(map(tuple, found.tested.tolist()))
    assert tested == sorted(set(tested))
    assert {(i, j) for i, j, pairs in right if pairs} <= set(tested)
    assert not any(ignored(i, j) for i, j in tested)
    assert found.counters.shape == (len(tested), len(pl.Stats._fields))
    assert found.stats == tuple(found.counters.sum(0).tolist())
    return found


def assert_distance(scene, ignored=lambda i, j: False):
    """The nearest two bodies are those of all pairs, two by two, and of several as near those with the smallest ids; the answer."""
    right = [(pl.distance(scene[i], scene[j]), (i, j)) for i, j in pairs_that_count(scene, ignored)]
    right = [(apart, pair) for apart, pair in right if apart.faces[0] >= 0]
    found = scene.distance()
    if not right:
        assert (found.distance, found.faces.tolist(), found.bodies.tolist()) == (np.inf, [-1, -1], [-1, -1])
        return found
    nearest, pair = min(right, key=lambda row: (row[0].distance, row[1]))
    assert (found.distance, tuple(found.bodies.tolist())) == (nearest.distance, pair)
    if nearest.distance == 0:
        assert scene[pair[0]].faces[found.faces[0]].shape == scene[pair[1]].faces[found.faces[1]].shape == (3,)
        np.testing.assert_array_equal(found.points[0], found.points[1])
    else:
        assert found.faces.tolist() == nearest.faces.tolist()
        np.testing.assert_array_equal(found.points, nearest.points)
    return found


def rows(found):
    return [(*pair, *faces) for pair, faces in zip(found.bodies.tolist(), found.faces.tolist(), strict=True)]
