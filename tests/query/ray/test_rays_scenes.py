"""Rays in scenes: one to three hundred bodies of all kinds, that come, go and move; masks say who sees whom."""

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from morphs import targets
from pliant import shapes
from pliant.refit.policy import POLICIES
from pliant.tree.nodes import WIDTH_OF_ARITY
from ray_checks import assert_rays, assert_same, both, some_rays, targets_on
from siblings import NARROW, VOLUMES

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
UP = np.array([0.0, 0.0, 1.0])
T = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
NOTHING = np.zeros((0, 3)), np.zeros((0, 3), int)
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float) - 0.25, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def member(k, **options):
    """Body k of a scene: free, rigid and morphing ones by turns, of several shapes, policies and trees."""
    vertices, faces = (meshes.cube((-0.4, -0.4, -0.4), 0.8), TETRAHEDRON, shapes.icosphere(0))[k % 3]
    options = {"policy": sorted(POLICIES)[k % len(POLICIES)], "arity": sorted(WIDTH_OF_ARITY)[k // 2 % len(WIDTH_OF_ARITY)],
               "leaf": 1 + k % 8, **options}
    if k % 4 == 3:
        options["policy"] = "auto"
        return pl.Body.morph(targets(vertices, 3, k), faces, **options)
    return (pl.Body.rigid if k % 4 == 2 else pl.Body)(vertices, faces, **options)


def move(k, body, rng, room):
    """Somewhere in a cube of this side, by whatever the body takes."""
    place = poses.matrix(poses.any_turn(rng), rng.uniform(0, room, 3))
    if k % 4 == 2:
        body.update(place)
    elif k % 4 == 3:
        body.update(rng.dirichlet(np.ones(3)), transform=place)
    elif k % 4 == 1:
        body.update(body.vertices * rng.uniform(0.9, 1.1, 3), transform=place)
    else:
        body.update(poses.moved(place, (meshes.cube((-0.4, -0.4, -0.4), 0.8), TETRAHEDRON, shapes.icosphere(0))[k % 3][0]))


def through(scene, rng, n, room):
    """n rays through the room: at vertices, edges and faces of bodies, and at nothing in particular; the first goes away from it."""
    origins, aims = rng.uniform(-0.2 * room, 1.2 * room, (2, n, 3))
    for k, number in enumerate(rng.choice(list(scene), n).tolist()):
        if k % 3:
            points = targets_on(scene[number].vertices, scene[number].faces)
            aims[k] = points[rng.integers(len(points))]
    origins[0], aims[0] = np.full(3, 3 * room), np.full(3, 4 * room)
    return origins, aims - origins


# --- how many ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [1, 2, 9, 300])
def test_bodies_of_all_kinds(n):
    """They move, some are taken out and come back, under another id; every answer is that of the reference."""
    n = min(n, 4) if OFF else n
    rng, room = np.random.default_rng(41), 1.5 * n ** (1 / 3)
    bodies = [member(k) for k in range(n)]
    scene = pl.Scene(bodies)
    hit = rays = 0
    for frame in range(1 if OFF else 3):
        for k, body in enumerate(bodies):
            if frame == 0 or k % 3 == frame % 3:
                move(k, body, rng, room)
        if frame == 2:
            number = list(scene)[n // 2]
            body = scene[number]
            scene.remove(number)
            if n > 1:
                assert_rays(scene, *through(scene, rng, 8, room))
            assert scene.add(body) == n
        found = assert_rays(scene, *through(scene, rng, 6 if OFF else 40, room))
        assert set(found.body[found.hit].tolist()) <= set(scene)
        hit, rays = hit + found.hit.sum(), rays + len(found)
    assert 0 < hit < rays
    assert n < 9 or len(set(found.body.tolist())) > 5


@pytest.mark.slow
def test_families_side_by_side():
    """Every family of volumes in one scene."""
    rng, scene = np.random.default_rng(42), pl.Scene()
    for k in range(len(VOLUMES) * (1 if OFF else 3)):
        volume = VOLUMES[k % len(VOLUMES)]
        body = member(4 * k, volume=volume, **({} if OFF or volume in NARROW else {"arity": 8}))  # no more loops to compile
        move(4 * k, body, rng, 2.0)
        scene.add(body)
    assert both(assert_rays(scene, *through(scene, rng, 6 if OFF else 60, 2.0)))


def test_a_scene_of_one_is_its_body():
    vertices, faces = shapes.icosphere(0 if OFF else 2)
    body, rays = pl.Body(vertices, faces), some_rays(vertices, faces, np.random.default_rng(43), 6 if OFF else 200)
    scene = pl.Scene([body])
    for ask in (pl.cast, pl.cast_all):
        assert_same(ask(scene, *rays), ask(body, *rays))
    assert both(pl.cast(scene, *rays))


def test_parts_of_a_mesh_are_hit_as_the_mesh_is():
    """Each face a body of its own: the same t and weights to the bit, bodies for faces."""
    vertices, faces = shapes.icosphere(0) if OFF else shapes.icosphere(1)
    whole, parts = pl.Body(vertices, faces), pl.Scene([pl.Body(vertices, [face]) for face in faces])
    rays = some_rays(vertices, faces, np.random.default_rng(44), 4 if OFF else 100)
    one, many = pl.cast_all(whole, *rays), pl.cast_all(parts, *rays)
    assert len(one.ray) > 0
    for name, other in (("ray", "ray"), ("t", "t"), ("face", "body"), ("uv", "uv")):
        np.testing.assert_array_equal(getattr(many, other), getattr(one, name))
    assert not many.face.any()


def test_bodies_at_one_place():
    """The lowest id wins, then the lowest face, in whatever order they came."""
    scene = pl.Scene([pl.Body(T + 9 * UP, [[0, 1, 2]]), pl.Body(T + UP, [[0, 1, 2]]), pl.Body(T + UP, [[2, 1, 0], [0, 1, 2]])])
    assert assert_rays(scene, [[1, 1, 0]], [UP]).body.tolist() == [1]
    first = scene[1]
    scene.remove(1)
    found = assert_rays(scene, [[1, 1, 0]], [UP])
    assert (found.body.tolist(), found.face.tolist()) == ([2], [0])
    assert scene.add(first) == 3
    every = pl.cast_all(scene, [[1, 1, 0]], [UP])
    assert (every.body.tolist(), every.face.tolist()) == ([2, 2, 3, 0], [0, 1, 0, 0])
    assert len(set(every.t[:3].tolist())) == 1
    scene.remove(2)
    assert assert_rays(scene, [[1, 1, 0]], [UP]).body.tolist() == [3]
    scene.remove(3)
    assert assert_rays(scene, [[1, 1, 0]], [UP]).body.tolist() == [0]
    scene.remove(0)
    assert not assert_rays(scene, [[1, 1, 0]], [UP]).hit.any()


def test_bodies_of_absurd_sizes_together():
    """From 1e-200 to 1e150 around one point, and one a long way off."""
    rng, scene = np.random.default_rng(45), pl.Scene()
    for size in (1.0, 1e150) if OFF else (1e-200, 1e-30, 1e-3, 1.0, 1e30, 1e150):
        vertices, faces = meshes.cube((-0.5, -0.5, -0.5))
        scene.add(pl.Body(vertices * size, faces))
    scene.add(pl.Body(*meshes.cube((1e12, 0, 0))))
    directions = rng.standard_normal((4 if OFF else 20, 3))
    found = assert_rays(scene, np.zeros(3), directions)
    assert (found.body == 0).all()
    every = pl.cast_all(scene, np.zeros(3), directions)
    assert (np.bincount(every.ray) >= len(scene) - 1).all()
    assert_rays(scene, rng.standard_normal((len(directions), 3)), directions)
    assert_rays(scene, np.array([-1e140, 1e139, 3.0]), -directions * [1, -1, 1])
    assert_rays(scene, np.full(3, 0.5), np.array([[1e12, 0.1, 0.2], [1, 0, 0]]))


def test_nothing_to_hit():
    ray = [[0, 0, -1], [5, 5, 5]], [UP, -UP]
    for target in (pl.Scene(), pl.Body(*NOTHING), pl.Body(T, []), pl.Scene([pl.Body(*NOTHING), pl.Body.rigid(T, [])]),
                   pl.Body.morph([T, T + 1], [])):
        found = assert_rays(target, *ray)
        assert not found.hit.any()
        assert found.stats == pl.Stats()
        assert len(pl.cast_all(target, *ray).ray) == 0
        assert pl.occluded(target, *ray).tolist() == [False, False]
        assert pl.pick(target, *(row[0] for row in ray)) is None
    scene = pl.Scene([pl.Body(*NOTHING), pl.Body(T, [[0, 1, 2]])])
    assert assert_rays(scene, *ray).body.tolist() == [1, -1]


# --- over time ---------------------------------------------------------------------------------------------------------------------

def test_rays_after_updates_see_the_new_shape():
    """Of a body in two scenes, asked alone and in both, between collisions, which remember what has not moved."""
    ball, faces = shapes.icosphere(0 if OFF else 1)
    body, wall = pl.Body(ball, faces), pl.Body(T + np.array([2, 2, 3]), [[0, 1, 2]])
    one, two = pl.Scene([body, wall]), pl.Scene([pl.Body(ball + 20, faces), body])
    for frame, z in enumerate((0.0, 0.0, 1.5, -4.0, 8.0, 2.5, 2.5)[::3 if OFF else 1]):
        body.update(ball + z * UP)
        if frame % 2:
            one.collide()
        for target, name in ((one, 0), (two, 1), (body, 0)):
            found = assert_rays(target, [[0.1, 0.2, -9], [0.1, 0.2, 2], [0.1, 0.2, 11], [7, 7, -9]], [UP, UP, -UP, UP])
            assert found.body[0] == name and not found.hit[3]
            assert found.t[0] == pytest.approx(8 + z, abs=0.3)


def test_bodies_with_boxes_of_their_own():
    """A box that a body was added with is for pairs; rays look at the body all the same."""
    scene = pl.Scene()
    for x in (0.0, 3.0, 6.0):
        scene.add(pl.Body(*meshes.cube((x, 0, 0))), box=[[x - 1, -1, -1], [x + 2, 2, 2]])
    for x in (0.9, -0.9, 0.0):
        for number in scene:
            scene[number].update(meshes.cube((3.0 * number + x, 0, 0))[0])
        found = assert_rays(scene, [[-5, 0.25, 0.5], [4.0, 0.5, 0.25], [4.5, 0.1, 0.1], [4, 9, 9]], [1, 0, 0])
        assert found.body[0] == 0
        assert found.t[0] == pytest.approx(5 + x)


# --- masks -------------------------------------------------------------------------------------------------------------------------

def test_masks():
    """One number for all rays, or one each, against those of bodies; a body without a mask is seen by every ray that sees anything."""
    masks = {0: 1, 1: 2, 2: 3, 3: 0, 4: 0x80000000, 5: 0xFFFFFFFF}
    scene = pl.Scene()
    for number, mask in masks.items():
        body = pl.Body(T + (number + 1) * UP, [[0, 1, 2]])
        assert (scene.add(body) if mask == 0xFFFFFFFF else scene.add(body, mask=mask)) == number
    ray = [1, 1, 0], UP
    for mask, seen in ((None, [0, 1, 2, 4, 5]), (1, [0, 2, 5]), (2, [1, 2, 5]), (3, [0, 1, 2, 5]), (4, [5]), (0, []), (0x80000000, [4, 5]),
                       (0xFFFFFFFF, [0, 1, 2, 4, 5]), (0x80000001, [0, 2, 4, 5])):
        found = assert_rays(scene, [ray[0]], [ray[1]], mask=mask, masks=masks)
        assert found.body.tolist() == (seen[:1] or [-1])
        assert pl.cast_all(scene, [ray[0]], [ray[1]], mask=mask).body.tolist() == seen
        one = pl.pick(scene, *ray, mask=mask)
        assert (None if one is None else one.body) == (seen[0] if seen else None)
    each = [1, 2, 4, 0, 0x80000000, 0xFFFFFFFF, 3]
    for kind in (np.uint32, np.int64, np.uint64, list):
        given = list(each) if kind is list else np.array(each, kind)
        found = assert_rays(scene, ray[0], np.tile(UP, (len(each), 1)), mask=given, masks=masks)
        assert found.body.tolist() == [0, 1, 5, -1, 4, 0, 0]
    scene.remove(0)
    number = scene.add(pl.Body(T + 0.5 * UP, [[0, 1, 2]]), mask=4)      # where another mask was
    masks[number] = 4
    assert assert_rays(scene, ray[0], np.tile(UP, (3, 1)), mask=[1, 4, 6], masks=masks).body.tolist() == [2, number, number]


def test_masks_of_many_bodies():
    rng, scene, masks = np.random.default_rng(46), pl.Scene(), {}
    n = 4 if OFF else 60
    for k in range(n):
        body = member(k)
        move(k, body, rng, 2.5)
        mask = int(rng.integers(0, 8))
        masks[scene.add(body, mask=mask)] = mask
    origins, directions = through(scene, rng, 6 if OFF else 60, 2.5)
    plain = assert_rays(scene, origins, directions, mask=7, masks=masks)
    found = assert_rays(scene, origins, directions, t_max=5.0, mask=rng.integers(0, 8, len(origins)), masks=masks)
    assert both(found)
    assert OFF or (found.body != plain.body).any()


def test_a_body_alone_is_all_ones():
    body = pl.Body(T, [[0, 1, 2]])
    found = assert_rays(body, np.tile([1, 1, -1], (5, 1)), UP, mask=[1, 0, 2**31, 2**32 - 1, 6])
    assert found.hit.tolist() == [True, False, True, True, True]
