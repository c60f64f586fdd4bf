"""Scenes: names, updates of many bodies at once, and one body against a scene."""

import numpy as np
import pytest

import meshes
import naive
import pliant as pl
import poses
from pliant import shapes

pytestmark = pytest.mark.formulas
DIRECTIONS, FACES = shapes.icosphere(0)


def crowd():
    """Five balls along a line, which touch their neighbours, of several motions and volumes."""
    scene = pl.Scene([pl.Body(DIRECTIONS + [1.5 * k, 0, 0], FACES, volume=volume) for k, volume in enumerate(("aabb", "aabb", "obb"))])
    arm = pl.Body.rigid(DIRECTIONS, FACES)
    arm.update(poses.matrix(np.eye(3), (4.5, 0, 0)))
    scene.add(arm, name="arm", group="robot")
    scene.add(pl.Body.morph([DIRECTIONS + [6, 0, 0], DIRECTIONS + [7, 0, 0]], FACES), name="face", group="robot")
    return scene


def rows_of(found):
    return [(*ids, *faces) for ids, faces in zip(found.bodies.tolist(), found.faces.tolist(), strict=True)]


def naive_rows(body, own, scene, ids):
    return [(own, number, f, g) for number in ids for f, g in
            naive.collide(body.vertices, body.faces, scene[number].vertices, scene[number].faces).tolist()]


def test_names_are_accepted_where_ids_are():
    scene = crowd()
    assert scene["arm"] is scene[3] and "arm" in scene and "leg" not in scene and scene[3] in scene
    assert scene.id_of("arm") == scene.id_of(scene[3]) == scene.id_of(3) == 3
    assert scene.name_of(3) == scene.name_of("arm") == "arm" and scene.name_of(0) is None
    assert [number for number, _ in scene.items()] == list(scene) and [body for _, body in scene.items()] == scene.bodies
    assert repr(scene) == "Scene(5 bodies, 2 named)" and repr(pl.Scene()) == "Scene(0 bodies)"
    everything = rows_of(scene.collide())
    scene.ignore("arm", scene[2])
    assert rows_of(scene.collide()) == [row for row in everything if row[:2] != (2, 3)] != everything
    scene.unignore(2, "arm")
    assert rows_of(scene.collide()) == everything
    scene.remove("arm")
    assert "arm" not in scene and len(scene) == 4
    assert scene.add(pl.Body(DIRECTIONS, FACES), name="arm") == 5


def test_names_that_are_taken_or_unknown():
    scene = crowd()
    for options, words in (({"name": "arm"}, "named 'arm' already"), ({"name": "robot"}, "name of a group"),
                           ({"group": "face"}, "name of a body")):
        with pytest.raises(pl.ArgumentError, match=words):
            scene.add(pl.Body(DIRECTIONS, FACES), **options)
    with pytest.raises(pl.ArgumentTypeError, match="name: expected a string, got int 3"):
        scene.add(pl.Body(DIRECTIONS, FACES), name=3)
    with pytest.raises(pl.UnknownIdError, match="the name 'leg'; the names are: 'arm', 'face'"):
        scene["leg"]
    with pytest.raises(pl.UnknownIdError, match=r"not in the scene; scene\.add"):
        scene.id_of(pl.Body(DIRECTIONS, FACES))
    with pytest.raises(pl.UnknownIdError, match="the groups are: 'robot'; the names of bodies are: 'arm', 'face'"):
        scene.ignore("leg", 0)
    assert len(scene) == 5


def test_an_update_of_many_bodies():
    scene = crowd()
    far = poses.matrix(np.eye(3), (0, 50, 0))
    scene.update({0: DIRECTIONS + [0, 9, 0], "arm": far, scene[4]: [0.5, 0.5], 1: {"vertices": DIRECTIONS[:1] * 3, "changed": [0]}})
    assert np.array_equal(scene[0].vertices, DIRECTIONS + [0, 9, 0]) and np.array_equal(scene["arm"].transform, far)
    assert np.allclose(scene["face"].vertices, DIRECTIONS + [6.5, 0, 0]) and np.array_equal(scene[1].vertices[0], DIRECTIONS[0] * 3)
    assert rows_of(scene.collide()) == [row for i in scene for j in scene if i < j for row in naive_rows(scene[i], i, scene, [j])]


@pytest.mark.parametrize(("states", "kind", "words"), [
    ({0: DIRECTIONS, "arm": np.ones((4, 4))}, pl.ArgumentError, r"body 'arm': transform"),
    ({0: DIRECTIONS, 1: DIRECTIONS[:3]}, pl.ArgumentError, "body 1: vertices: expected 12 rows"),
    ({0: DIRECTIONS, 7: DIRECTIONS}, pl.UnknownIdError, "the id 7"),
    ({0: DIRECTIONS, 1: {"vertex": 3}}, pl.ArgumentTypeError, "body 1.*vertex"),
    ({3: np.eye(4), "arm": np.eye(4)}, pl.ArgumentError, "named twice"),
    ([DIRECTIONS], pl.ArgumentTypeError, "expected a dict"),
], ids=["matrix", "rows", "id", "keyword", "twice", "list"])
def test_a_refused_update_changes_no_body(states, kind, words):
    scene = crowd()
    before = [body.vertices.tolist() for body in scene.bodies]
    with pytest.raises(kind, match=words):
        scene.update(states)
    assert [body.vertices.tolist() for body in scene.bodies] == before


def test_one_body_against_a_scene():
    scene, body = crowd(), pl.Body(shapes.bumpy(DIRECTIONS, 0.4) + [2.2, 0.3, 0], FACES)
    expected = naive_rows(body, -1, scene, scene)
    found = pl.collide(body, scene)
    assert rows_of(found) == expected and len({row[1] for row in expected}) > 1
    swapped = rows_of(pl.collide(scene, body))
    assert swapped == sorted(swapped) and sorted((b, a, g, f) for a, b, f, g in swapped) == expected
    assert found.tested[:, 0].tolist() == [-1] * len(found.tested) and found.complete
    each = pl.collide(body, scene, first="each")
    assert each.bodies[:, 1].tolist() == sorted({row[1] for row in expected}) and set(rows_of(each)) <= set(expected)
    first = pl.collide(body, scene, first=True)
    assert len(first) == 1 and rows_of(first)[0] in expected
    contacts = pl.collide(body, scene, contacts=True)
    assert contacts.segments.shape == (len(expected), 2, 3) and rows_of(contacts) == expected
    stopped = pl.collide(body, scene, budget_ms=0)
    assert not stopped.complete and set(rows_of(stopped)) <= set(expected)


def test_a_member_against_its_scene():
    """It is not tested with itself, and rules hold."""
    scene = crowd()
    arm = scene["arm"]
    assert rows_of(pl.collide(arm, scene)) == naive_rows(arm, 3, scene, [0, 1, 2, 4])
    scene.ignore("robot", "robot")
    assert rows_of(pl.collide(arm, scene)) == naive_rows(arm, 3, scene, [0, 1, 2]) != []


def test_within_a_tolerance_of_a_scene():
    scene, body = crowd(), pl.Body(0.5 * DIRECTIONS + [2.2, 1.4, 0], FACES)
    found = pl.within(body, scene, 0.4)
    expected = [(-1, number, *faces) for number in scene for faces in pl.within(body, scene[number], 0.4).faces.tolist()]
    assert rows_of(found) == expected != [] and len(found.distances) == len(expected)
    back = pl.within(scene, body, 0.4, points=True)
    assert sorted((b, a, g, f) for a, b, f, g in rows_of(back)) == sorted(expected) and back.points.shape == (len(expected), 2, 3)


def test_nothing_to_test():
    body, empty = pl.Body(DIRECTIONS, FACES), pl.Body([], [])
    for a, b in ((body, pl.Scene()), (empty, crowd()), (pl.Scene([empty]), body)):
        found = pl.collide(a, b)
        assert len(found) == 0 and found.complete and found.faces.shape == (0, 2) and found.bodies.shape == (0, 2)
        assert len(pl.within(a, b, 1.0)) == 0 and pl.collide(a, b, contacts=True).segments.shape == (0, 2, 3)


def test_wrong_calls_point_to_the_right_one():
    scene, body = crowd(), pl.Body(DIRECTIONS, FACES)
    for call, words in ((lambda: pl.collide(scene), r"scene\.collide\(\)"), (lambda: pl.collide(scene, scene), r"scene\.collide\(\)"),
                        (lambda: pl.self_collide(scene), r"scene\.collide\(\)"), (lambda: pl.within(scene, scene, 1), r"scene\.within"),
                        (lambda: pl.collide(body, (DIRECTIONS, FACES)), 'engine="image"'),
                        (lambda: pl.collide(body, scene, engine="image"), "got a Scene"),
                        (lambda: pl.collide(body, DIRECTIONS), r"pliant\.Body\(vertices, faces\)")):
        with pytest.raises(pl.ArgumentTypeError, match=words):
            call()
    with pytest.raises(pl.MeshError, match="count from 1\\? Then subtract 1"):
        pl.Body(meshes.cube()[0], meshes.cube()[1] + 1)
    with pytest.raises(TypeError, match="traversal"):
        pl.collide(body, scene, traversal="lite")


def test_many_rules_of_groups_and_ids():
    """Against a naive reading of the rules."""
    rng = np.random.default_rng(4)
    scene, groups = pl.Scene(), [None, "a", "b", "c"]
    picked = [groups[k] for k in rng.integers(0, 4, 14)]
    for group in picked:
        scene.add(pl.Body(DIRECTIONS + rng.normal(size=3) * 0.3, FACES), group=group)
    rules = [(0, 3), ("a", "a"), ("a", "b"), (5, "c"), (6, 6), (2, "a")]
    for rule in rules:
        scene.ignore(*rule)

    def ignored(i, j):
        return any({x, y} == {p, q} if x != y else p == q == x for p, q in rules for x in (i, picked[i]) for y in (j, picked[j]))
    assert scene.candidates().tolist() == [[i, j] for i in range(14) for j in range(i + 1, 14) if not ignored(i, j)]
    assert (6, 6) not in {tuple(pair) for pair in scene.collide(self_pairs=True).tested.tolist()}
