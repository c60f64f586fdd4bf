"""`cast`, `cast_all`, `occluded` and `pick` give what the exact reference gives, whatever the options, the frame and the order of rays."""

from itertools import permutations

import numba
import numpy as np
import pytest

import meshes
import pliant as pl
from pliant import shapes
from pliant.refit.policy import POLICIES
from ray_checks import assert_rays, assert_same, both, some_rays

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
T = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], np.float64)
UP = np.array([0.0, 0.0, 1.0])
INF = np.inf


def approx(numbers):
    """As near as t and weights of faces a few units away must be."""
    return pytest.approx(numbers, rel=1e-14, abs=1e-14)


def few(frames):
    """With the JIT off two frames will do."""
    return list(frames)[:2] if OFF else list(frames)


@pytest.fixture(scope="module")
def rays(deforming):
    """(vertices, origins, directions) of frames: the same for all options, so that the reference is asked once."""
    rng = np.random.default_rng(1)
    return [(a, *some_rays(a, deforming.faces, rng, 5 if OFF else 24)) for a, _, _ in deforming]


# --- options -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_every_option_gives_the_right_hits(options, deforming, rays):
    body, hit, n = pl.Body(rays[0][0], deforming.faces, **options), 0, 0
    for vertices, origins, directions in few(rays):
        body.update(vertices)
        hit, n = hit + assert_rays(body, origins, directions).hit.sum(), n + len(origins)
    assert 0 < hit < n


def test_every_option_gives_the_same_to_the_bit(options, deforming, rays):
    vertices, origins, directions = rays[2]
    body, plain = pl.Body(rays[0][0], deforming.faces, **options), pl.Body(vertices, deforming.faces)
    body.update(vertices)
    for ask in (pl.cast, pl.cast_all):
        assert_same(ask(body, origins, directions, t_min=-INF), ask(plain, origins, directions, t_min=-INF))
    assert pl.occluded(body, origins, directions).tolist() == pl.cast(plain, origins, directions).hit.tolist()


@pytest.mark.formulas
def test_updates_of_some_rows(options, deforming, rays):
    """Only the rows that have changed are given, once near each other, once all over; some are asked about, some not."""
    body, rng = pl.Body(rays[0][0], deforming.faces, **options), np.random.default_rng(2)
    here, hit, n = rays[0][0].copy(), 0, 0
    for k, (vertices, origins, directions) in enumerate(few(rays)):
        moved = np.arange(k, k + 4) if k % 2 else rng.permutation(len(here))[:5]
        here[moved] = vertices[moved] * 1.2
        body.update(here[moved], changed=moved)
        if k != 2:
            hit, n = hit + assert_rays(body, origins, directions).hit.sum(), n + len(origins)
            np.testing.assert_array_equal(body.vertices, here)
    assert 0 < hit < n


# --- results -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_answers_worked_out_by_hand():
    """Three sheets in a row."""
    body = pl.Body(*meshes.joined(*(meshes.soup([T + z * UP]) for z in (3, 1, 2))))
    found = assert_rays(body, [[1, 2, 0], [1, 2, 2.5], [1, 2, 9], [3, 3, 0], [1, 1, 9]], [UP, UP, UP, UP, -2 * UP])
    assert found.t.tolist() == approx([1, 0.5, INF, INF, 3])
    assert found.face.tolist() == [1, 0, -1, -1, 0]
    assert found.body.tolist() == [0, 0, -1, -1, 0]
    assert found.uv.ravel().tolist() == approx([0.25, 0.5, 0.25, 0.5, 0, 0, 0, 0, 0.25, 0.25])
    every = pl.cast_all(body, [[3, 3, 0], [1, 2, 0], [1, 2, 2.5]], UP)
    assert every.ray.tolist() == [1, 1, 1, 2]
    assert every.t.tolist() == approx([1, 2, 3, 0.5])
    assert every.face.tolist() == [1, 2, 0, 0]
    assert pl.occluded(body, [[3, 3, 0], [1, 2, 0]], UP).tolist() == [False, True]


@pytest.mark.formulas
def test_points_of_hits(policy):
    """What a caller makes of weights and of t is the same place."""
    vertices, faces = shapes.icosphere(0 if OFF else 2)
    body = pl.Body(vertices, faces, policy=policy)
    origins, directions = some_rays(vertices, faces, np.random.default_rng(3), 6 if OFF else 200)
    found = pl.cast(body, origins, directions)
    assert both(found)
    hit = found.hit
    a, b, c = np.moveaxis(vertices[faces[found.face[hit]]], 1, 0)
    u, v = found.uv[hit].T[:, :, None]
    np.testing.assert_allclose(a + u * (b - a) + v * (c - a), origins[hit] + found.t[hit, None] * directions[hit], rtol=0, atol=1e-12)


@pytest.mark.formulas
def test_pick_is_one_ray(policy):
    vertices, faces = shapes.icosphere(0 if OFF else 2)
    for target in (pl.Body(vertices, faces, policy=policy), pl.Scene([pl.Body(vertices + 9.0, faces), pl.Body(vertices, faces)])):
        origins, directions = some_rays(vertices, faces, np.random.default_rng(4), 6 if OFF else 60)
        limits = {"t_min": -3.0, "t_max": 50.0}
        found = assert_rays(target, origins, directions, **limits)
        assert both(found)
        for k in range(len(found)):
            one = pl.pick(target, origins[k], directions[k], **limits)
            assert (one is not None) == bool(found.hit[k])
            if one is not None:
                assert (one.t, one.face, one.body) == (found.t[k], found.face[k], found.body[k])
                assert isinstance(one.t, float) and type(one.face) is int and type(one.body) is int
                assert one.uv.shape == (2,) and one.uv.tolist() == found.uv[k].tolist()
                assert one.point.shape == (3,)
                np.testing.assert_allclose(one.point, origins[k] + one.t * directions[k], rtol=0, atol=1e-12)
        assert pl.pick(target, [50, 50, 50], [1, 0, 0]) is None
        assert pl.pick(target, [0, 0, 0], [0, 0, 0]) is None


@pytest.mark.formulas
def test_an_answer_is_the_callers_own():
    """Later queries do not write into earlier answers, nor callers into bodies."""
    body = pl.Body(*meshes.cube())
    ray = [[0.5, 0.25, -1]], [UP]
    first, every, blocked = pl.cast(body, *ray), pl.cast_all(body, *ray), pl.occluded(body, *ray)
    kept = [first.t.copy(), first.uv.copy(), every.t.copy(), every.face.copy()]
    for _ in range(3):
        pl.cast(body, [[9, 9, 9]], [UP])
        pl.cast_all(body, [[0.5, 0.25, -5]], [UP])
        pl.occluded(body, [[9, 9, 9]], [UP])
    assert blocked.tolist() == [True]
    for found, before in zip((first.t, first.uv, every.t, every.face), kept, strict=True):
        np.testing.assert_array_equal(found, before)
        found[:] = -1
    assert_rays(body, *ray)


def test_room_for_hits_grows():
    """Every one of many rays goes through every one of many faces: known without a reference."""
    n, m = 1500, 200
    body = pl.Body(*meshes.soup([T + z * UP for z in np.random.default_rng(5).permutation(n) + 1.0]))
    origins = np.column_stack([np.linspace(0.1, 1.9, m), np.full(m, 1.0), np.zeros(m)])
    every = pl.cast_all(body, origins, UP)
    assert every.ray.tolist() == np.repeat(np.arange(m), n).tolist()
    np.testing.assert_allclose(every.t, np.tile(np.arange(1.0, n + 1), m), rtol=1e-14)
    assert (body.vertices[body.faces[every.face]][:, 0, 2] == np.rint(every.t)).all()
    some = pl.cast_all(body, origins, UP, t_min=np.arange(m) + 0.5, t_max=np.arange(m) + 3.5)
    assert some.ray.tolist() == np.repeat(np.arange(m), 3).tolist()
    assert pl.cast(body, origins, UP, t_min=10.5).t.tolist() == approx([11.0] * m)


# --- limits ------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_limits_for_each_ray(kept, deforming, rays):
    """Random ones around the hits, infinite and negative ones, and those of no ray."""
    rng = np.random.default_rng(6)
    body, n, hit = pl.Body(rays[0][0], deforming.faces, **kept), 0, 0
    for vertices, origins, directions in few(rays)[:3]:
        body.update(vertices)
        some = np.where(rng.random(len(origins)) < 0.7, pl.cast(body, origins, directions, t_min=-INF).t, 1.0)
        some = np.where(np.isfinite(some), some, 0.3)
        any_low, any_high = rng.choice([0.0, 0.5, 3.0, -2.0], len(some)), rng.choice([1.0, 2.0, INF, -3.0], len(some))
        for low, high in ((some - 0.3, some + 0.3), (some + 0.01 * abs(some), INF), (np.full(len(some), -INF), some * 0.5),
                          (-INF, INF), (-1.0, 0.0), (any_low, any_high)):
            found = assert_rays(body, origins, directions, low, high)
            n, hit = n + len(found), hit + found.hit.sum()
    assert 0 < hit < n


@pytest.mark.formulas
def test_limits_are_closed_and_compared_with_the_answer():
    """A limit that is the t of an answer, to the bit, lets it in; the next number does not."""
    vertices, faces = shapes.icosphere(0 if OFF else 1)
    body = pl.Body(vertices, faces)
    origins, directions = some_rays(vertices, faces, np.random.default_rng(7), 6 if OFF else 100)
    every = pl.cast_all(body, origins, directions, t_min=-INF)
    o, d, n = origins[every.ray], directions[every.ray], len(every.ray)
    assert n > len(origins) / 2
    only = pl.cast_all(body, o, d, t_min=every.t, t_max=every.t)
    for k, t in enumerate(every.t.tolist()):
        mine = only.face[only.ray == k].tolist()
        assert every.face[k] in mine
        assert mine == every.face[(every.ray == every.ray[k]) & (every.t == t)].tolist()
    assert pl.occluded(body, o, d, t_min=every.t, t_max=every.t).all()
    above, below = np.nextafter(every.t, INF), np.nextafter(every.t, -INF)
    for low, high, inside in ((above, INF, every.t[:, None] < every.t), (-INF, below, every.t[:, None] > every.t)):
        found = pl.cast_all(body, o, d, t_min=low, t_max=high)
        ends = np.searchsorted(found.ray, np.arange(n + 1))
        for k in range(n):
            mine = inside[k] & (every.ray == every.ray[k])
            assert found.face[ends[k]:ends[k + 1]].tolist() == every.face[mine].tolist()
        assert pl.cast(body, o, d, t_min=low, t_max=high).hit.tolist() == [ends[k] < ends[k + 1] for k in range(n)]


# --- what must not matter ----------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_of_equal_faces_the_first_is_hit(kept):
    """The same three corners in all orders: one t, to the bit, so the lowest face wins, wherever the tree has put it."""
    corners = np.array([[0.1, 0.2, 0.7], [1.3, -0.4, 0.9], [0.3, 1.1, 1.7]])
    faces = [list(order) for order in permutations(range(3))] * (1 if OFF else 5)
    body = pl.Body(np.vstack([corners, corners + UP]), [[3, 4, 5], *faces], **kept)
    rng = np.random.default_rng(8)
    aims = rng.dirichlet(np.ones(3), 4 if OFF else 40) @ corners
    origins = rng.uniform(-1, 1, aims.shape) - 2 * UP
    found = assert_rays(body, origins, aims - origins)
    assert found.face.tolist() == [1] * len(aims)
    every = pl.cast_all(body, origins, aims - origins, t_max=found.t)
    assert every.face.tolist() == list(range(1, len(faces) + 1)) * len(aims)
    assert every.t.tolist() == np.repeat(found.t, len(faces)).tolist()


@pytest.mark.formulas
@pytest.mark.parametrize("order", [(1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0)], ids=str)
def test_the_order_of_corners_changes_weights_alone(order, deforming, rays):
    vertices, origins, directions = rays[1]
    plain = assert_rays(pl.Body(vertices, deforming.faces), origins, directions)
    other = assert_rays(pl.Body(vertices, deforming.faces[:, order]), origins, directions)
    assert both(plain)
    for name in ("face", "body", "t"):
        np.testing.assert_array_equal(getattr(other, name), getattr(plain, name), name)
    u, v = plain.uv.T
    weights = np.column_stack([1 - u - v, u, v])[:, order]
    np.testing.assert_allclose(other.uv[plain.hit], weights[plain.hit, 1:], rtol=0, atol=1e-9)


@pytest.mark.formulas
def test_the_order_of_faces_changes_their_names_alone(deforming, rays):
    vertices, origins, directions = rays[1]
    order = np.random.default_rng(9).permutation(len(deforming.faces))
    plain, other = (pl.Body(vertices, faces) for faces in (deforming.faces, deforming.faces[order]))
    found, renamed = pl.cast_all(plain, origins, directions), pl.cast_all(other, origins, directions)
    assert found.t.tolist() == renamed.t.tolist()
    named = zip(found.ray.tolist(), found.t.tolist(), found.face.tolist(), strict=True)
    assert sorted(named) == sorted(zip(renamed.ray.tolist(), renamed.t.tolist(), order[renamed.face].tolist(), strict=True))


def test_the_order_of_rays_does_not_matter(policy):
    vertices, faces = shapes.icosphere(3)
    rng, body = np.random.default_rng(10), pl.Body(vertices, faces, policy=policy)
    origins, directions = some_rays(vertices, faces, rng, 1000)
    found, order = pl.cast(body, origins, directions), rng.permutation(len(origins))
    assert both(found)
    body.update(vertices)
    shuffled = pl.cast(body, origins[order], directions[order])
    for name in ("t", "face", "body", "uv"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(found, name)[order], name)
    for part in (slice(0, 1), slice(1, 2), slice(7, 16), slice(100, 350)):  # packets of all sizes, and what is left of them
        assert pl.cast(body, origins[part], directions[part]).t.tolist() == found.t[part].tolist()


@pytest.mark.parametrize("n", [2, 4])
def test_threads_do_not_change_the_answer(n, set_threads):
    vertices, faces = shapes.icosphere(4)
    origins, directions = some_rays(vertices, faces, np.random.default_rng(11), 20_000)
    for name in POLICIES:
        body = pl.Body(vertices * 0.5, faces, policy=name)
        body.update(vertices)
        set_threads(1)
        alone = pl.cast(body, origins, directions), pl.cast_all(body, origins, directions), pl.occluded(body, origins, directions)
        assert both(alone[0])
        body.update(vertices)
        set_threads(n)
        assert_same(pl.cast(body, origins, directions), alone[0])
        assert_same(pl.cast_all(body, origins, directions), alone[1])
        np.testing.assert_array_equal(pl.occluded(body, origins, directions), alone[2])


# --- counters ----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_counters(options, deforming, rays):
    """Volumes are counted when they are set, and only then; the rest is the same whenever the same is asked."""
    vertices, origins, directions = rays[1]
    body = pl.Body(vertices, deforming.faces, **options)
    fresh, again = pl.cast(body, origins, directions), pl.cast(body, origins, directions)
    assert fresh.stats.n_u > 0
    assert again.stats.n_u == 0
    assert again.stats[:2] == fresh.stats[:2]
    assert fresh.stats.n_v > 0
    assert fresh.hit.sum() <= fresh.stats.n_p <= len(origins) * len(deforming.faces)
    assert 0 <= fresh.stats.n_exact <= fresh.stats.n_p
