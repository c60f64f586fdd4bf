"""Bodies with key shapes: whatever tree serves, answers are those of a plain body; trees are built once, when they are first chosen."""

import threading
import time

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
from child import together
from integer_spheres import FACES as LATTICE_FACES
from integer_spheres import SPHERE
from pliant.errors import MeshError
from pliant.motion import free
from pliant.refit import key_poses
from pliant.refit.policy import LAST_FRAME, POLICIES, Bvh
from pliant.tree.nodes import BUILDERS
from ray_checks import assert_rays, assert_same, some_rays

OFF = bool(numba.config.DISABLE_JIT)
pytestmark = [pytest.mark.formulas]
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark.append(pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning"))
KEPT = [name for name in POLICIES if name != "rebuild"]
N = 12 if OFF else 150


def shape_of(seed, n=N):
    """Triangles at other places for every seed, which share nothing."""
    rng = np.random.default_rng(seed)
    return meshes.soup(rng.uniform(-1, 1, (n, 1, 3)) + rng.standard_normal((n, 3, 3)) * 0.2)


KEYS, FACES = np.stack([shape_of(k)[0] for k in range(3)]), shape_of(0)[1]
OTHER = pl.Body(*shape_of(9))
RAYS = some_rays(KEYS[0], FACES, np.random.default_rng(1), 5 if OFF else 100)


def between(k, share):
    """On the way from a key to the next."""
    return KEYS[k] + share * (KEYS[(k + 1) % 3] - KEYS[k])


def assert_plain(body):
    """Rays, collisions and self-collisions are those of a plain body with the same vertices."""
    plain = pl.Body(body.vertices, body.faces)
    assert_same(pl.cast(body, *RAYS), pl.cast(plain, *RAYS))
    assert_same(pl.cast_all(body, *RAYS), pl.cast_all(plain, *RAYS))
    np.testing.assert_array_equal(pl.collide(body, OTHER).faces, pl.collide(plain, OTHER).faces)
    np.testing.assert_array_equal(pl.self_collide(body).faces, pl.self_collide(plain).faces)


@pytest.fixture
def builds(monkeypatch):
    """How many trees have been built."""
    made, builder = [], BUILDERS["sah"]
    monkeypatch.setitem(BUILDERS, "sah", builder._replace(build=lambda *args: made.append(1) or builder.build(*args)))
    return made


@pytest.mark.parametrize("policy", KEPT)
def test_answers_are_those_of_a_plain_body(policy):
    """Every key, to and fro, with queries in between or not; the reference looks at some rays."""
    body = pl.Body(between(0, 0.1), FACES, key_poses=KEYS, policy=policy)
    assert body.key_pose == 0
    assert_plain(body)
    for turn, key in enumerate((1, 1, 2, None, 0, 2, 1, None, 0)[: 5 if OFF else 9]):
        before = body.key_pose
        body.update(between(turn % 3, 0.3), key_pose=key)
        assert body.key_pose == (before if key is None else key)
        np.testing.assert_array_equal(body.vertices, between(turn % 3, 0.3))
        if turn % 3 != 1:                                               # now and then nobody asks
            assert_plain(body)
    assert_rays(body, RAYS[0][:5], RAYS[1][:5])


@pytest.mark.parametrize("options", [{"volume": "sphere"}, {"build": "mean", "arity": 2, "leaf": 1}, {"weld": True}, {"origin": [9, 9, 9]}],
                         ids=str)
def test_other_options(options):
    body = pl.Body(SPHERE, LATTICE_FACES, key_poses=[SPHERE, SPHERE * [1, 2, 3], SPHERE[::-1]], **options)
    plain = pl.Body(SPHERE, LATTICE_FACES, **options)
    rays = some_rays(np.asarray(SPHERE, float), LATTICE_FACES, np.random.default_rng(2), 4 if OFF else 60)
    for key in (2, 0, 1):
        for each, more in ((body, {"key_pose": key}), (plain, {})):
            each.update(np.asarray(SPHERE) * (1.5 + key), **more)
        assert_same(pl.cast(body, *rays), pl.cast(plain, *rays))


def test_trees_are_built_when_first_chosen_and_once(builds):
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS, policy="bottom_up")
    assert len(builds) == 1
    for key, known in ((0, 1), (2, 2), (0, 2), (2, 2), (None, 2), (1, 3), (0, 3), (1, 3), (2, 3)):
        body.update(between(0, 0.5), key_pose=key)
        pl.cast(body, *RAYS)
        assert len(builds) == known


def test_a_tree_is_that_of_its_key():
    """The volumes that a ray meets are as few as in a body built there, and more in the tree of another key."""
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS, policy="bottom_up")
    built = [pl.cast(pl.Body(key, FACES), *RAYS).stats.n_v for key in KEYS]
    for k in (1, 2, 0):
        body.update(KEYS[k])
        cost_ratio = pl.cast(body, *RAYS).stats.n_v
        body.update(KEYS[k], key_pose=k)
        assert pl.cast(body, *RAYS).stats.n_v == built[k]
        assert OFF or cost_ratio > 1.1 * built[k]


def test_auto_keeps_to_the_trees_of_keys(builds):
    """Shapes that wear any tree: a plain body would build others."""
    n, frames = (12, 4) if OFF else (2500, 60)
    keys, faces = np.stack([shape_of(k, n)[0] for k in (3, 4)]), shape_of(3, n)[1]
    body, plain = pl.Body(keys[0], faces, key_poses=keys), pl.Body(keys[0], faces)
    assert len(builds) == 2
    trees = set()
    for k in range(frames):
        rows = keys[0] + k / frames * (keys[1] - keys[0])
        body.update(rows, key_pose=int(k > frames / 2))
        trees.add(id(body._bvh.tree))
        plain.update(rows)
        assert_same(pl.cast(body, *RAYS), pl.cast(plain, *RAYS))
    assert len(trees) == 2 and {id(shape.tree) for shape in body._key_poses.bvhs.values()} == trees
    assert "rebuild" not in {choice.policy for choice in body.policy_log}
    assert OFF or "rebuild" in {choice.policy for choice in plain.policy_log}
    updates = [choice.update for choice in body.policy_log]
    assert updates == sorted(updates) and len(updates) >= 2


def test_some_vertices_move_between_keys():
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS, policy="bottom_up")
    for key in (1, 0, 2):
        body.update(between(key, 0.2), key_pose=key)
        assert_plain(body)
        body.update(KEYS[0][:6] + 0.1, changed=np.arange(6))
        assert body.key_pose == key
        assert_plain(body)
        body.update(KEYS[1][:6] - 0.1, changed=np.arange(6))            # nobody asks before the next key
    assert_plain(body)


def test_transforms_and_scenes():
    body, matrix = pl.Body(KEYS[0], FACES, key_poses=KEYS), np.eye(4)
    scene = pl.Scene([body, OTHER])
    for key in (1, 2, 0):
        matrix[0, 3] = 0.1 * key
        body.update(between(key, 0.5), key_pose=key, transform=matrix)
        plain = pl.Body(between(key, 0.5), FACES)
        plain.update(transform=matrix)
        np.testing.assert_array_equal(scene.collide().faces, pl.Scene([plain, OTHER]).collide().faces)
        assert_same(pl.cast(scene, *RAYS), pl.cast(pl.Scene([plain, OTHER]), *RAYS))
        body.update(transform=np.eye(4))
        assert body.key_pose == key


def test_frames_begin_again():
    """After 2**31 updates, the tree of another key must not take its old volumes for new ones."""
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS, policy="bottom_up")
    body.update(KEYS[1], key_pose=1)
    pl.cast(body, *RAYS)
    body.update(KEYS[0], key_pose=0)
    body._bvh.frame = LAST_FRAME - 1
    for k, key in enumerate((0, 1, 0, 2, 1, 0, 1, 2)):
        body.update(between(k % 3, 0.4), key_pose=key)
        assert_plain(body)


# --- what is refused ---------------------------------------------------------------------------------------------------------------

REFUSED = {"no such key": ({"key_pose": 3}, ValueError, "key_pose: expected an integer from 0 to 2"),
           "negative": ({"key_pose": -1}, ValueError, "key"),
           "a float": ({"key_pose": 1.0}, TypeError, "key"), "a flag": ({"key_pose": True}, TypeError, "key"),
           "text": ({"key_pose": "1"}, TypeError, "key"),
           "with changed": ({"key_pose": 1, "changed": np.arange(3 * N)}, TypeError, "with changed"),
           "not finite": ({"key_pose": 1, "vertices": KEYS[1] * np.nan}, MeshError, "vertices"),
           "too few vertices": ({"key_pose": 1, "vertices": KEYS[1][:4]}, MeshError, "vertices"),
           "no vertices": ({"key_pose": 1, "vertices": None, "transform": np.eye(4)}, TypeError, "without vertices")}


@pytest.mark.parametrize(("given", "error", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_updates_change_nothing(given, error, says):
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS)
    before = pl.cast(body, *RAYS)
    with pytest.raises(error, match=says):
        body.update(**{"vertices": KEYS[1], **given})
    assert body.key_pose == 0
    np.testing.assert_array_equal(body.vertices, KEYS[0])
    assert_same(pl.cast(body, *RAYS), before)


def test_bad_keys_are_refused():
    for keys, says in ((KEYS[:, :4], "key_poses"), (KEYS * np.nan, "key_poses"), ([], "key_poses: expected at least one"),
                       (KEYS[0], "key_poses"), (3, "key_poses")):
        with pytest.raises((TypeError, ValueError), match=says):
            pl.Body(KEYS[0], FACES, key_poses=keys)
    with pytest.raises(ValueError, match="key_poses: policy 'rebuild'"):
        pl.Body(KEYS[0], FACES, key_poses=KEYS, policy="rebuild")
    with pytest.raises(ValueError, match="build_poses"):
        pl.Body(KEYS[0], FACES, key_poses=KEYS, build_poses=KEYS)
    with pytest.raises(TypeError, match="rigid"):
        pl.Body.rigid(KEYS[0], FACES, key_poses=KEYS)
    with pytest.raises(TypeError, match="no key poses"):
        pl.Body(KEYS[0], FACES).update(KEYS[1], key_pose=0)


def test_what_it_says_and_saves(tmp_path):
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS)
    assert "3 key poses" in repr(body) and "key poses" not in repr(OTHER)
    assert OTHER.key_pose is None
    body.update(KEYS[2] + [0, 0, 0.1], key_pose=2)
    body.save(tmp_path / "body.npz")
    loaded = pl.Body.load(tmp_path / "body.npz")
    assert repr(loaded) == repr(body) and loaded.key_pose == 2 and np.array_equal(loaded.vertices, body.vertices)
    for pose in (2, 0):
        assert pl.cast(loaded, *RAYS).stats.n_v == pl.cast(body, *RAYS).stats.n_v
        for each in (loaded, body):
            each.update(KEYS[pose], key_pose=0)
    keys = KEYS.copy()
    body = pl.Body(keys[0], FACES, key_poses=keys)
    keys[:] = 0                                                         # they were copied
    body.update(KEYS[1], key_pose=1)
    assert pl.cast(body, *RAYS).stats.n_v == pl.cast(pl.Body(KEYS[1], FACES), *RAYS).stats.n_v


def test_without_faces():
    body = pl.Body(KEYS[0], [], key_poses=KEYS)
    body.update(KEYS[1], key_pose=1)
    assert body.key_pose is None and not pl.cast(body, *RAYS).hit.any()
    with pytest.raises(ValueError, match="key"):
        body.update(KEYS[1], key_pose=5)


# --- threads and interruption ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("policy", KEPT)
@pytest.mark.parametrize("place", ["while a tree is built", "while rows are taken in", "before the volumes are stale"])
def test_an_interrupted_update_leaves_a_body_whole(monkeypatch, policy, place):
    body = pl.Body(KEYS[0], FACES, key_poses=KEYS, policy=policy)
    pl.cast(body, *RAYS)

    def stop(*args):
        monkeypatch.undo()
        raise KeyboardInterrupt
    module, name = {"while a tree is built": (key_poses, "Bvh"), "while rows are taken in": (free, "copy_checked")}.get(
        place, (Bvh, "invalidate"))
    if place == "while rows are taken in":
        body._key_poses.bvh(1)
    monkeypatch.setattr(module, name, stop)
    with pytest.raises(KeyboardInterrupt):
        body.update(KEYS[1], key_pose=1)
    np.testing.assert_array_equal(body.vertices, KEYS[1] if name == "invalidate" else KEYS[0])
    assert body.key_pose == 0
    assert_plain(body)
    body.update(KEYS[1], key_pose=1)
    assert body.key_pose == 1
    assert_plain(body)


@pytest.mark.skipif(OFF, reason="takes long")
@pytest.mark.parametrize("policy", KEPT)
def test_threads_ask_while_keys_change(policy):
    known = [pl.cast(pl.Body(key, FACES), *RAYS).t.tobytes() for key in KEYS]
    assert len(set(known)) == 3
    body, done, seen = pl.Body(KEYS[0], FACES, key_poses=KEYS, policy=policy), threading.Event(), []

    def move():
        try:
            for turn in range(60):
                body.update(KEYS[turn % 3], key_pose=(turn // 2) % 3)
                time.sleep(0.001)
        finally:
            done.set()

    def ask():
        while not done.is_set():
            seen.append(known.index(pl.cast(body, *RAYS).t.tobytes()))

    together(*[ask] * 3, move)
    assert seen
    assert pl.cast(body, *RAYS).t.tobytes() == known[59 % 3]
