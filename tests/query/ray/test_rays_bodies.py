"""Rays and bodies of all motions: rigid, morphing, placed, welded, before and after updates; each is hit where its vertices are."""

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
import poses
from morphs import BLENDED, EVERY, FORMS, TIGHTER, morph, targets, twin, weights
from pliant import shapes
from ray_checks import assert_rays, assert_same, both, some_rays
from seams import cut, stand_ins

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 2)
THREE = targets(BALL, 3)
UP = np.array([0.0, 0.0, 1.0])
RAYS = 3 if OFF else 16


def around(rng, n=RAYS, at=(0, 0, 0), size=1.0):
    """Rays about a ball of unit size that may be somewhere else now: some at its vertices, some past it."""
    origins, directions = some_rays(BALL * size, FACES, rng, n)
    return origins + np.asarray(at), directions


def total(answers):
    """(rays that hit, rays)."""
    return sum(int(found.hit.sum()) for found in answers), sum(len(found) for found in answers)


# --- rigid and placed --------------------------------------------------------------------------------------------------------------

def test_rigid_bodies(kept):
    body, rng, answers = pl.Body.rigid(BALL, FACES, **kept), np.random.default_rng(21), []
    answers.append(assert_rays(body, *around(rng)))
    for move in ((0, 0, 0), (0.3, -0.2, 0.1), (7, 8, 9), (2.5e5, -2.5e5, 1e3), (0, 0, 0))[::4 if OFF else 1]:
        body.update(poses.matrix(poses.any_turn(rng), move))
        answers.append(assert_rays(body, *around(rng, at=move)))
        aims = body.vertices[rng.integers(0, len(BALL), RAYS)]          # where vertices are now, to the bit
        origins = np.round(aims) - 2.0
        answers.append(assert_rays(body, origins, aims - origins))
    hit, n = total(answers)
    assert 0 < hit < n


def test_placed_bodies(options):
    """Vertices change, the transform changes, both do; what the last update does not mention is kept (vertices) or gone (transform)."""
    body, rng, answers = pl.Body(BALL * 0.9, FACES, **options), np.random.default_rng(22), []
    turn = [poses.matrix(poses.any_turn(rng), rng.standard_normal(3)) for _ in range(3)]
    steps = [{"transform": turn[0]}, {"vertices": THREE[1]}, {"vertices": THREE[0], "transform": turn[1]}, {"transform": turn[2]},
             {"vertices": BALL[:3] * 2, "changed": [0, 1, 2], "transform": turn[2]}, {"transform": np.eye(4)}]
    for step in steps[2:4] if OFF else steps:
        body.update(**step)
        answers.append(assert_rays(body, *around(rng, at=body.transform[:3, 3])))
        free = pl.Body(body.vertices, FACES)
        ray = around(rng, at=body.transform[:3, 3])
        assert_same(pl.cast_all(body, *ray, t_min=-np.inf), pl.cast_all(free, *ray, t_min=-np.inf))
    hit, n = total(answers)
    assert 0 < hit < n


def test_turned_cubes_and_rays_along_the_axes():
    """The quarters of a turn round nothing: rays along axes go through corners, edges and planes of faces as before."""
    vertices, faces = meshes.cube((-1, -1, -1), 2.0)
    body = pl.Body.rigid(vertices, faces)
    points = np.array(list(np.ndindex(5, 5)), float) * 0.5 - 1
    for k, turn in enumerate(poses.quarters()[:2] if OFF else poses.quarters()):
        body.update(poses.matrix(turn))
        found = assert_rays(body, np.insert(points[:: 8 if OFF else 1], k % 3, -2.0, axis=1), np.eye(3)[k % 3])
        assert found.hit.all()                                          # all are over the cube, its border included
        assert found.t.tolist() == pytest.approx([1.0] * len(found), rel=1e-14)


def test_a_query_sees_the_last_update(policy):
    """A triangle goes up and down; one that has not been asked for a while is asked again."""
    corners = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], float)
    body, scene = pl.Body(corners, [[0, 1, 2]], policy=policy), pl.Scene([pl.Body(corners + 50, [[0, 1, 2]])])
    inside = scene.add(body)
    for height in (1, 1, 5, -3, 2, 0.5, 100, 1e6, 1):
        body.update(corners + height * UP)
        for target, name in ((body, 0), (scene, inside)):
            found = pl.cast(target, [[1, 1, 0]], [UP])
            assert found.hit[0] == (height > 0) == pl.occluded(target, [[1, 1, 0]], [UP])[0]
            assert not found.hit[0] or (found.t[0], found.body[0]) == (pytest.approx(height, rel=1e-14), name)
    for height in (3, 4, 6):
        body.update(corners + height * UP)
    assert pl.cast(body, [[1, 1, 0]], [UP]).t[0] == pytest.approx(6, rel=1e-14)
    body.update((corners + 2 * UP)[2:], changed=[2])
    assert_rays(scene, [[1, 1, 0], [0.5, 3, 0], [3, 3, 0]], UP)


# --- morphing and blended ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("policy", [*BLENDED, "lazy", "bottom_up"], ids=str)
@pytest.mark.parametrize("form", EVERY[::3] if OFF else EVERY)
def test_morphing_bodies(form, policy):
    """Asked before their vertices are looked at; as the reference, and as a free body that is there, to the bit."""
    if form in FORMS[1:] and policy is TIGHTER:
        policy = "auto"
    rng, answers = np.random.default_rng(23), []
    for k, (arity, leaf) in enumerate([(8, 8)] if OFF else [(8, 8), (2, 1), (4, 3)]):
        body = morph(form, THREE, FACES, policy=policy, arity=arity, leaf=leaf)
        answers.append(assert_rays(body, *around(rng)))
        for active in (1, 3) if OFF else (1, 2, 3):
            transform = poses.matrix(poses.any_turn(rng), rng.standard_normal(3)) if (active + k) % 2 else None
            body.update(weights(form, 3, rng, active), transform=transform)
            ray = around(rng, at=(0, 0, 0) if transform is None else transform[:3, 3])
            found, every = pl.cast(body, *ray), pl.cast_all(body, *ray)
            free = twin(body)
            assert_same(found, pl.cast(free, *ray))
            assert_same(every, pl.cast_all(free, *ray))
            answers.append(assert_rays(body, *ray))
        body.update(transform=poses.matrix(move=(0, 0, 0.5)))           # the weights stay
        answers.append(assert_rays(body, *around(rng)))
    hit, n = total(answers)
    assert 0 < hit < n


def test_morphing_bodies_of_all_options(options):
    """Families, builders and trees, with the policies of free bodies."""
    body, rng = pl.Body.morph(THREE, FACES, **options), np.random.default_rng(24)
    for factors in ([0.25, 0.25, 0.5], [0, 1, 0]):
        body.update(factors)
        assert both(assert_rays(body, *around(rng, 3 if OFF else 24)))


@pytest.mark.parametrize("volume", ["sphere", "kdop14", "kdop26"])
def test_blended_volumes_of_other_families(volume):
    body, rng = pl.Body.morph(THREE, FACES, volume=volume), np.random.default_rng(25)
    for factors in ([0.2, 0.3, 0.5], [0.9, 0, 0.1]):
        body.update(factors)
        assert both(assert_rays(body, *around(rng, 3 if OFF else 24)))


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e12, 1e150])
def test_morphing_bodies_of_all_sizes(size):
    body, rng = pl.Body.morph(THREE * size, FACES, leaf=2), np.random.default_rng(26)
    body.update([0.25, 0.5, 0.25])
    assert both(assert_rays(body, *around(rng, 6 if OFF else 24, size=size)))


# --- welded ------------------------------------------------------------------------------------------------------------------------

def test_welded_bodies(kept):
    """The lowest of the vertices at one place stands for all of them: faces are hit where it is, wherever the others go."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    vertices, faces, _ = cut(vertices, faces, vertices[faces][:, :, 0].mean(axis=1) > 0.1)
    same, rng = stand_ins(vertices), np.random.default_rng(27)
    assert (same != np.arange(len(vertices))).sum() > 3
    body = pl.Body(vertices, faces, weld=True, **kept)
    answers = [assert_rays(body, *some_rays(vertices, faces, rng, RAYS), same=same)]
    drifted = vertices + np.where(same == np.arange(len(vertices)), 0.0, 1.0)[:, None] * rng.standard_normal(vertices.shape)
    body.update(drifted)
    inside = rng.uniform(-0.1, 0.1, 3)
    seam = vertices[same != np.arange(len(vertices))]
    answers.append(assert_rays(body, inside, seam - inside, same=same))
    assert answers[-1].hit.all()                                        # the seam is closed
    body.update(drifted, transform=poses.matrix(poses.any_turn(rng), (0.1, 0, 0.2)))
    answers.append(assert_rays(body, *some_rays(vertices, faces, rng, RAYS), same=same))
    hit, n = total(answers)
    assert 0 < hit < n


def test_welded_and_not_welded_meshes_are_the_same_to_rays(policy):
    """As long as nothing drifts, seams are where they are."""
    soup = meshes.soup(BALL[FACES])
    plain, welded = (pl.Body(*soup, weld=weld, policy=policy) for weld in (False, True))
    ray = around(np.random.default_rng(28), 6 if OFF else 100)
    assert both(pl.cast(plain, *ray))
    assert_same(pl.cast_all(welded, *ray), pl.cast_all(plain, *ray))
    assert_same(pl.cast_all(plain, *ray), pl.cast_all(pl.Body(BALL, FACES), *ray))


# --- walks -------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("origin", [None, [0, 0, 0], [3e5, -7e8, 0.1]], ids=["free", "fixed at 0", "fixed far away"])
def test_walking_away_from_the_origin(policy, origin):
    """A body walks off in ever larger steps and comes back, rays with it, others from where it was."""
    body, rng = pl.Body(BALL, FACES, policy=policy, origin=origin), np.random.default_rng(29)
    steps = [0, 0.5, 3.9, 40, 1e3, 2.5e5, 1e9, 1e12, 7, 0]
    for step in steps[::5] if OFF else steps:
        at = np.array([step, -step, 0.25 * step])
        body.update(BALL + at)
        assert both(assert_rays(body, *around(rng, 4 if OFF else 12, at=at)))
        assert_rays(body, np.zeros(3), rng.standard_normal((2, 3)) * 1e-3 + at)


def test_changing_size(policy):
    """From tiny to huge and back, by update; the rays know, or they do not."""
    body, rng = pl.Body(BALL, FACES, policy=policy), np.random.default_rng(30)
    for size in (1.0, 1e-200, 1e150, 1.0) if OFF else (1.0, 1e-30, 1e30, 1e-200, 1e150, 1.0):
        body.update(BALL * size)
        assert both(assert_rays(body, *around(rng, 4 if OFF else 12, size=size)))
        assert assert_rays(body, np.zeros(3), around(rng, 4)[1]).hit.all()
        assert_rays(body, *around(rng, 4))


def test_vertices_wander(policy):
    """The tree of the first frame has to serve them all."""
    rng = np.random.default_rng(31)
    vertices, faces = rng.integers(0, 10, (30, 3)).astype(float), rng.integers(0, 30, (8 if OFF else 30, 3))
    body, answers = pl.Body(vertices, faces, policy=policy, leaf=2), []
    for _ in range(2 if OFF else 15):
        vertices += rng.integers(-1, 2, vertices.shape)
        vertices[rng.integers(0, 30, 3)] += rng.standard_normal((3, 3)) * 10.0 ** rng.integers(-3, 4)
        body.update(vertices)
        aims = vertices[rng.integers(0, 30, RAYS)]
        origins = aims + rng.integers(-3, 4, aims.shape) + [0, 0, 0.5]
        answers.append(assert_rays(body, origins, aims - origins, t_max=rng.choice([0.9, 2.0, np.inf], len(aims))))
    hit, n = total(answers)
    assert 0 < hit < n
