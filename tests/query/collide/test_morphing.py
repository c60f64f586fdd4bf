"""Every query on a morphing or a blended body answers as on a free body of the same vertices, and as the reference does."""

from itertools import product

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshes
import naive
import pliant as pl
import poses
from morphs import BLENDED, EVERY, FORMS, STAMPLESS, TIGHTER, morph, targets, twin, weights, where
from pliant import shapes
from pliant.query.options import DESCEND_MODES, SAT_MODES
from pliant.tree.nodes import BUILDERS, WIDTH_OF_ARITY
from scenes import assert_scene
from trials import often

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
BALL, FACES = shapes.icosphere(0 if OFF else 2)
FACES = FACES[:8] if OFF else FACES
THREE = targets(BALL, 3)
ASIDE = BALL + np.array([0.5, 0.4, -0.3])
TURN = poses.matrix(meshes.rotation([1, 2, 3], 0.7), (0.2, -0.1, 0.3))
TREES = list(product(WIDTH_OF_ARITY, (1, 3, 8)))


def assert_same(a, b, contacts=True):
    """Two bodies, some of them morphing, answer as free ones where they are; before their vertices are looked at. The pairs."""
    found, swapped = pl.collide(a, b, contacts=contacts), pl.collide(b, a)
    first = pl.collide(a, b, first=True).faces
    free_a, free_b = twin(a), twin(b)
    if contacts:
        poses.assert_same(found, pl.collide(free_a, free_b, contacts=True))
    np.testing.assert_array_equal(found.faces, pl.collide(free_a, free_b).faces)
    np.testing.assert_array_equal(swapped.faces, pl.collide(free_b, free_a).faces)
    assert len(first) == min(len(found), 1)
    assert not len(first) or (found.faces == first[0]).all(axis=1).any()
    return found


# --- two bodies ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", range(0, len(TREES), 4 if OFF else 1), ids=lambda k: "{}-{}".format(*TREES[k]))
@pytest.mark.parametrize("policy", BLENDED, ids=str)
def test_every_tree_and_builder(policy, number):
    """Blended volumes on trees of all shapes, in all forms, against free bodies and each other."""
    (arity, leaf), rng = TREES[number], np.random.default_rng(number)
    for k, build in enumerate(list(BUILDERS)[:1] if OFF else BUILDERS):
        form = ("targets", "maps")[k % 2] if policy is TIGHTER else EVERY[(k + number) % 4]
        body = morph(form, THREE, FACES, policy=policy, build=build, arity=arity, leaf=leaf, rest="mean" if k % 2 else 0)
        other = pl.Body.morph(THREE[::-1] + np.array([0.9, 0.2, 0.3]), FACES, arity=list(WIDTH_OF_ARITY)[k % 3])
        for active in (3, 1) if OFF else (1, 2, 3):
            body.update(weights(form, 3, rng, active))
            other.update(weights("targets", 3, rng))
            assert_same(body, other, contacts=active == 1)
            assert_same(body, pl.Body(ASIDE, FACES, arity=arity), contacts=False)


def test_options_of_free_bodies(options):
    """Their policies set all vertices, and then do as they do."""
    for form, rng in (("targets", np.random.default_rng(5)), ("maps", np.random.default_rng(6))):
        body = morph(form, THREE, FACES, **options)
        for active in (1, 3)[OFF or form == "maps":]:
            body.update(weights(form, 3, rng, active))
            assert len(assert_same(body, pl.Body(ASIDE, FACES), contacts=False)) > 0 or OFF


def kinds(rng):
    """Bodies to ask a morphing one about."""
    free, placed = (pl.Body(BALL * 0.8 + [0.6, 0.2, 0.1], FACES) for _ in range(2))
    rigid = pl.Body.rigid(BALL * 0.8, FACES)
    rigid.update(poses.matrix(poses.any_turn(rng), (0.5, 0.3, 0)))
    placed.update(BALL, transform=poses.matrix(poses.any_turn(rng), (0.5, -0.3, 0.4)))
    other = pl.Body.morph(THREE[1:], FACES, base=THREE[0])
    other.update([0.8, -0.7], transform=poses.matrix(poses.any_turn(rng), (0.6, 0, 0.4)))
    return free, rigid, placed, other


@pytest.mark.parametrize("policy", [*BLENDED, "lazy"], ids=str)
@pytest.mark.parametrize("form", EVERY[::3] if OFF else EVERY)
def test_transforms_against_bodies_of_all_kinds(form, policy):
    if form in FORMS[1:] and policy is TIGHTER:
        policy = "auto"
    rng, met = np.random.default_rng(11), 0
    body = morph(form, THREE, FACES, policy=policy)
    for k, other in enumerate(kinds(rng)[-1:] if OFF else kinds(rng)):
        for transform in (TURN,) if OFF else (None, TURN):
            body.update(weights(form, 3, rng), transform=transform)
            met += len(assert_same(body, other, contacts=k % 2 == 0))
        found = pl.collide(body, other).faces
        for sat, descend in [] if OFF else product(SAT_MODES, DESCEND_MODES):
            np.testing.assert_array_equal(pl.collide(body, other, traversal=pl.Traversal(sat, descend)).faces, found)
        body.update(transform=poses.matrix(meshes.rotation([3, 1, 2], 0.3 + k)))  # the weights stay
        met += len(assert_same(body, other, contacts=False))
    assert met > 0


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e-7, 1e12, 1e200])
def test_sizes_that_float32_does_not_hold(size):
    """Alone, and against bodies of other sizes, for which all its vertices are looked at."""
    body = pl.Body.morph(THREE * size, FACES, leaf=2)
    for factors in ([0.25, 0.5, 0.25], [0, 0.5, 0.5])[OFF:]:
        body.update(factors)
        assert len(assert_same(body, pl.Body(ASIDE * size, FACES), contacts=False)) > 0
        for other in (1.0, size * 1e30, size * 1e-30)[:1 if OFF else 3]:
            assert_same(body, pl.Body(meshes.cube()[0] * other, meshes.cube()[1]), contacts=False)
            assert_same(body, pl.Body.morph([BALL * other, BALL * other * 2], FACES), contacts=False)


def test_growing_through_all_sizes():
    """The scale of float32 follows the weights, and everything with it."""
    body, scales = pl.Body.morph([BALL], FACES, base=BALL * 0, relative=True, leaf=2), set()
    for weight in (1.0, 1e-30, 1e30) if OFF else (1.0, 0.7, 1e-7, 3e-7, 1e-30, 1e30, 1e-300, -1e300, 5e-324, 0, 1.0):
        body.update([weight])
        assert_same(body, pl.Body((BALL * 0.7 + [0.5, 0.4, 0.1]) * weight, FACES), contacts=False)
        scales.add(body._motion.scale)
    assert len(scales) > (2 if OFF else 5)


lattice = st.integers(-3, 3).map(float)
corner = st.tuples(lattice, lattice, lattice)


@often(100, least=2)
@given(st.sampled_from(FORMS), st.lists(st.lists(corner, min_size=6, max_size=6), min_size=2, max_size=4), st.integers(0, 10**6),
       st.lists(corner, min_size=6, max_size=6), st.sampled_from([0, 1, 4]), st.sampled_from(sorted(WIDTH_OF_ARITY)))
def test_against_the_reference(form, rows, seed, other, between, arity):
    """Whole numbers and weights with few bits: much touches, and much is degenerate."""
    rng, rows = np.random.default_rng(seed), np.array(rows)
    faces = rng.integers(0, 6, (8, 3))
    body = morph(form, rows, faces, leaf=1, arity=arity, between=between if form == "targets" else 0)
    count = len(rows) - (form != "targets")
    factors = np.bincount(rng.integers(0, count, 4), minlength=count) / 4 * (1 if form == "targets" else rng.choice([-1, 1, 2], count))
    body.update(factors)
    expected = where(form, rows, factors)
    b = pl.Body(np.array(other), faces[::-1], leaf=1, arity=arity)
    right = naive.collide(expected, faces, b.vertices, b.faces)
    meshes.assert_right(body, b, right)
    meshes.assert_right_self(body, naive.self_collide(expected, faces))


# --- one body with itself --------------------------------------------------------------------------------------------------------

def folded(amount):
    return meshes.pinched(BALL, amount)


@pytest.mark.parametrize("policy", [*BLENDED, "bottom_up"], ids=str)
def test_self_collision(policy):
    """From none to many, where it is and elsewhere."""
    met = []
    for size, transform in ((1.0, None), (1e-200, None), (1.0, TURN))[:1 if OFF else 3]:
        body = pl.Body.morph([folded(0) * size, folded(1.3) * size], FACES, policy=policy, leaf=3)
        for way in (0.5,) if OFF else (0.0, 0.5, 0.8, 1.0):
            body.update([1 - way, way], transform=transform)
            found = pl.self_collide(body, contacts=True)
            poses.assert_same(found, pl.self_collide(twin(body), contacts=True))
            apart = pl.self_collide(body, adjacent="ignore").faces
            np.testing.assert_array_equal(apart, pl.self_collide(twin(body), adjacent="ignore").faces)
            assert len(pl.self_collide(body, first=True)) == min(len(found), 1)
            met.append(len(found))
    assert OFF or (0 in met and max(met) > 10)


def test_welded_bodies():
    """The lowest of the vertices that are merged stands for them, wherever they go."""
    seam, faces = meshes.soup(BALL[FACES])
    welds = meshes.lowest_at_one_place(seam)
    apart = targets(seam, 2, 4) + np.random.default_rng(4).uniform(-0.3, 0.3, (2, *seam.shape))
    rows = np.stack([seam, *apart])
    for form in FORMS[:2]:
        body, free = morph(form, rows, faces, weld=welds), pl.Body(rows[0], faces, weld=True)
        for given_weights in ([0.5, 0.25, 0.25], [0, 1, 0])[OFF:]:
            factors = given_weights[:len(rows) - (form != "targets")]
            body.update(factors)
            free.update(where(form, rows, factors))
            np.testing.assert_array_equal(pl.self_collide(body).faces, pl.self_collide(free).faces)
            other = pl.Body(ASIDE, FACES)
            found = pl.collide(body, other, contacts=True)
            poses.assert_same(found, pl.collide(free, other, contacts=True))
            assert len(found) > 0 or OFF


# --- scenes ----------------------------------------------------------------------------------------------------------------------

def test_scenes():
    """Many bodies of all kinds, some ignored, some that stay where they are; contacts; from memory; and of absurd sizes."""
    rng, scene = np.random.default_rng(21), pl.Scene()
    ball, faces = (BALL, FACES) if OFF else shapes.icosphere(1)
    rows = targets(ball, 3)
    for k in range(3 if OFF else 12):
        at = rng.uniform(-1.2, 1.2, 3)
        form = EVERY[k % 4]
        scene.add(morph(form, rows + at, faces, policy=("auto", STAMPLESS, "lazy")[k % 3], arity=(8, 8, 2, 4)[k % 4]),
                  group="pair" if k in (1, 2) else None, box=[[-9] * 3, [9] * 3] if k == 3 else None)
    scene.add(pl.Body(ball, faces))
    scene.add(pl.Body.rigid(ball * 0.5, faces))
    scene.ignore("pair", "pair")
    if not OFF:
        scene.add(pl.Body.morph(rows * 1e-9, faces))
        scene.add(pl.Body.morph([ball * 1e90, ball * 1e80], faces))
    for frame in range(2 if OFF else 5):
        for number in list(scene)[frame % 2::2] if frame else scene:
            body = scene[number]
            if body._motion.name != "free":
                form = "maps" if body._motion.name == "blended" else "base" if body._motion.additive else "targets"
                body.update(weights(form, len(body._motion.controls) if form == "maps" else len(body._motion.shapes), rng),
                            transform=poses.matrix(poses.any_turn(rng)) if number % 4 == frame else None)
        found = scene.collide(contacts=True)
        twins = pl.Scene([twin(scene[number]) for number in scene])
        twins.ignore(1, 2)
        expected = twins.collide(contacts=True)
        np.testing.assert_array_equal(found.bodies, expected.bodies)
        poses.assert_same(found, expected)
        assert len(found) > 0
        again = scene.collide(contacts=True)                            # from memory
        assert again.faces.tolist() == found.faces.tolist() and again.stats == (0, 0, 0, 0)
        if not OFF:
            assert_scene(scene, ignored=lambda i, j: (i, j) == (1, 2), self_pairs=frame == 1)
    scene.remove(0)
    assert 0 not in scene.collide().bodies


@pytest.mark.skipif(OFF, reason="bodies are asked one by one without kernels")
def test_a_scene_makes_true_what_it_reaches():
    """A body that is near no other is left alone; one that is touched in a corner has few volumes set."""
    ball, faces = shapes.icosphere(4)
    rows = targets(ball, 2)
    near, far = pl.Body.morph(rows, faces), pl.Body.morph(rows + 50, faces)
    scene = pl.Scene([near, far, pl.Body(meshes.cube((rows[0, :, 0].max() - 0.01, -0.1, -0.1), 0.2)[0], meshes.cube()[1])])
    for factors in ([1, 0], [0.99, 0.01]):
        for body in (near, far):
            body.update(factors)
        found = scene.collide()
        assert found.tested.tolist() == [[0, 2]]
        filled = (near._bvh.leaves["stamp"] == near._bvh.frame).sum()
        assert filled < len(near._bvh.leaves) / 10 and found.stats.n_u < near._bvh.nodes["count"].sum() / 2
        assert (far._bvh.nodes["stamp"] != far._bvh.frame).all() and not far._motion._all_set
