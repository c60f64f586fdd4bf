"""Auto: it chooses by counters and geometry alone and says why; trees that have worn out are built anew, and no answer depends on it."""

import threading

import numpy as np
import pytest
from degraded import CUBE, FACES, OFF, SPHERE, cost_ratio, flakes, quiet, reasons, scattered, slow, tried, vortex, wrung
from volume_checks import assert_true, lanes, shape_of

import meshes
import pliant as pl
from pliant import shapes
from pliant.refit import auto
from pliant.refit.policy import POLICIES
from pliant.tree.quality import degradation, sample_quality, sampled_degradation

pytestmark = quiet  # kernels overflow in lanes that nobody reads; as Python they say so


# --- which policy ----------------------------------------------------------------------------------------------------------------

@slow
def test_few_leaves_reached_then_most():
    """Lazy while a tip touches, hybrid while a side does, bottom-up when everything does; all is said, with the share of leaves, and shows
    in n_u."""
    body, tip, around = pl.Body(SPHERE, FACES), pl.Body(*meshes.cube((0.95, -0.1, -0.1), 0.2)), pl.Body(SPHERE * 1.001 + 0.001, FACES)
    n_u, side = [], pl.Body(SPHERE[:, [1, 2, 0]] * 1.002 + np.array([0.02, 0, 0]), FACES[:len(FACES) // 4])
    for k in range(90):
        body.update(SPHERE * (1 + 1e-4 * k))
        other = (tip, side, around)[k // 30]
        found = pl.collide(body, other)
        if k % 10 == 5:
            np.testing.assert_array_equal(found.faces, pl.collide(pl.Body(body.vertices, FACES, policy="bottom_up"), other).faces)
        n_u.append(found.stats.n_u)
    log = body.policy_log
    assert [choice.policy for choice in log] == ["bottom_up", "lazy", "hybrid", "bottom_up"]
    assert log[0].reason == "the first frame"
    assert "1% of the leaves" in log[1].reason and "100% of the leaves" in log[3].reason
    for k, choice in enumerate(log[1:]):
        assert 30 * k < choice.update <= 30 * k + auto.LEAF_CHECK_INTERVAL + 1
    assert max(n_u[log[1].update:30]) < lanes(body) / 10 < min(n_u[log[2].update:60]) < lanes(body)
    assert n_u[-1] == lanes(body)


def test_volumes_that_are_dear_are_left_alone_sooner():
    """A body of 320 faces with swept rectangles, of which a query reaches a tip, is not refitted as a whole; with boxes it is."""
    vertices, faces = shapes.icosphere(2)
    tip, said = pl.Body(*meshes.cube((1.1, -0.1, -0.1), 0.2)), {}
    for volume in ("rss", "aabb"):
        body = pl.Body(vertices, faces, volume=volume)
        for k in range(3 * auto.LEAF_CHECK_INTERVAL):
            body.update(vertices * (1 + 1e-4 * k))
            pl.distance(body, tip)
        said[volume] = [choice.policy for choice in body.policy_log]
    assert auto.MIN_FACES_FITTED < len(faces) < auto.MIN_FACES
    assert said["aabb"] == ["bottom_up"]
    assert said["rss"][-1] in ("lazy", "hybrid")


@pytest.mark.formulas
def test_small_bodies_are_left_to_bottom_up():
    """Deciding would cost more than it saves."""
    body, other = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.99, 0.99, 0.99)))
    assert len(body) < auto.MIN_FACES
    for k in range(3 * auto.LEAF_CHECK_INTERVAL):
        body.update(meshes.cube()[0] * (1 + 1e-3 * k))
        assert pl.collide(body, other)
    assert [tuple(choice) for choice in body.policy_log] == [(1, "bottom_up", "the first frame")]


@pytest.mark.formulas
def test_every_choice_gives_the_right_pairs(hasty):
    """Bottom-up, hybrid and new trees, one after the other, on unlike trees."""
    frame, faces = scattered(24 if OFF else 60)
    for arity, leaf in [(2, 1)] if OFF else [(8, 2), (2, 1), (4, 3)]:
        body, corner = pl.Body(frame(0), faces, arity=arity, leaf=leaf), pl.Body(*meshes.cube((0.5, 0.5, 0.5), 0.5))
        for k in range(10 if OFF else 60):
            body.update(frame(k // 6))
            meshes.assert_right(body, corner if k // 10 % 2 == 0 else pl.Body(frame(k // 6) * 1.001, faces))
            assert_true(body)
        assert OFF or {choice.policy for choice in body.policy_log} >= {"bottom_up", "lazy", "rebuild"}


def run(frame, faces, frames, policy="auto"):
    """A body that goes through frames and is asked in each; (the body, n_u of each)."""
    body, other, n_u = pl.Body(frame(0), faces, policy=policy), pl.Body(*CUBE), []
    for k in range(frames):
        body.update(frame(k))
        n_u.append(pl.collide(body, other).stats.n_u)
    return body, n_u


@slow
def test_the_same_run_makes_the_same_choices():
    """No clock is asked: two runs agree in every choice and every counter, with another thread at work or not."""
    frame, faces = vortex(2400, 0.02)
    stop = threading.Event()

    def disturb():
        while not stop.wait(1e-4):
            pl.collide(pl.Body(*CUBE), pl.Body(*meshes.cube()))

    (first, n_first), other = run(frame, faces, 200), threading.Thread(target=disturb)
    other.start()
    try:
        second, n_second = run(frame, faces, 200)
    finally:
        stop.set()
        other.join()
    assert first.policy_log == second.policy_log
    assert {"bottom_up", "rebuild"} <= {choice.policy for choice in first.policy_log}
    assert n_first == n_second


# --- new trees -------------------------------------------------------------------------------------------------------------------


@slow
def test_many_rays_make_time_pass_faster():
    """A soup that changes completely, under so many rays that each frame is worth a tree of its own: auto does not wait as it does where
    few rays come. The rays see what they see in a new tree."""
    rng = np.random.default_rng(4)
    keys, sizes = rng.uniform(-1, 1, (4, 3000, 1, 3)), rng.normal(0, 0.03, (3000, 3, 3))
    faces, origins, ways = np.arange(9000).reshape(-1, 3), rng.uniform(-3, 3, (20_000, 3)), rng.normal(0, 1, (20_000, 3))

    def trees_and_tests(rays, policy):
        body, tests = pl.Body((keys[0] + sizes).reshape(-1, 3), faces, policy=policy), 0
        for k in range(24):
            body.update((keys[k // 8] * (1 - k % 8 / 8) + keys[k // 8 + 1] * (k % 8 / 8) + sizes).reshape(-1, 3))
            hits = pl.cast(body, origins[:rays], ways[:rays])
            tests += hits.stats.n_v + hits.stats.n_p
        return len(reasons(body, "rebuild")), tests, hits

    (few, _, _), (many, tests, hits), (_, best, expected) = (trees_and_tests(*how) for how in ((100, "auto"), (20_000, "auto"),
                                                                                               (20_000, "rebuild")))
    assert many > 2 * few and tests < 6 * best and 3 * tests < trees_and_tests(20_000, "bottom_up")[1]
    assert (hits.face == expected.face).all() and (hits.t == expected.t).all()

@slow
@pytest.mark.parametrize("kind", ["slow vortex", "vortex", "wrung"])
def test_trees_are_renewed_under_a_drift(kind):
    """What a query finds in the tree after 400 frames is near what it would find in a new one; without new trees it would not be."""
    frame, faces = (wrung, FACES) if kind == "wrung" else vortex(1200, 0.01 if kind == "slow vortex" else 0.02)
    body, _ = run(frame, faces, 400)
    assert 1 <= len(reasons(body, "rebuild")) <= 12
    assert all("times as many volumes as in a new tree" in reason for reason in reasons(body, "rebuild"))
    assert cost_ratio(body) < 1.4
    if kind != "wrung":
        assert cost_ratio(run(frame, faces, 400, "bottom_up")[0]) > 1.8
    other = pl.Body(*CUBE)
    np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(frame(399), faces), other).faces)


@slow
def test_new_trees_that_do_not_last_are_not_built_again_and_again():
    """Flakes that are elsewhere in every frame: no tree is good for two of them, and after a few attempts that is accepted."""
    body, _ = run(*scattered(600), 600)
    at = [choice.update for choice in body.policy_log if choice.policy == "rebuild"]
    assert 1 <= len(at) <= 4
    assert (np.diff(np.diff(at)) > 0).all()                             # longer and longer waits


@slow
def test_no_new_tree_where_the_old_one_is_as_good():
    """A body that deforms about one shape, grows, or moves away keeps its tree."""
    frames = shapes.bumpy_pair(1280, 400)
    body, _ = run(lambda k: shapes.bumpy(frames.directions, k / 20) * (1 + k / 100) + [k / 1000, 0, 0], frames.faces, 200)
    assert reasons(body, "rebuild") == []


def pulled(k):
    """A sphere that is pulled along the diagonal: every box grows, and so does the one around them all."""
    along = np.ones(3) / np.sqrt(3)
    return SPHERE + np.outer(SPHERE @ along, 0.02 * k * along)


def pushed(k):
    """A sphere that is sheared, both ways."""
    return SPHERE + 0.02 * k * SPHERE[:, [2, 0, 1]] * [1, 1, 0]


@slow
@pytest.mark.parametrize("frame", [pulled, pushed])
def test_stretching_and_shearing_are_noticed(frame):
    """Volumes may be large against each other as ever, and yet too large."""
    body, _ = run(frame, FACES, 500)
    assert len(reasons(body, "rebuild")) >= 1
    assert cost_ratio(body) < 1.45
    assert cost_ratio(run(frame, FACES, 500, "bottom_up")[0]) > 1.5


def visited(frame, faces, frames, policy="auto"):
    """Volumes that queries meet, over those in a tree built from the same frame, in every tenth one; and the body."""
    vertices, others = shapes.icosphere(3)
    body, other, met = pl.Body(frame(0), faces, policy=policy), pl.Body(0.8 * vertices, others, policy="bottom_up"), []
    for k in range(frames):
        body.update(frame(k))
        n_v = pl.collide(body, other).stats.n_v
        if k % 10 == 9:
            met.append(n_v / pl.collide(pl.Body(frame(k), faces), other).stats.n_v)
    return np.array(met)


def adrift(n, speed):
    """Flakes on ways of their own. (vertices of frame k, faces)"""
    centre, shape, faces = flakes(n)
    way = speed * np.random.default_rng(7).standard_normal((n, 3))
    return lambda k: ((np.abs((centre + k * way + 1) % 4 - 2) - 1)[:, None] + shape / 4).reshape(-1, 3), faces


@slow
@pytest.mark.parametrize("n", [1200, 6000])
@pytest.mark.parametrize("speed", [0.001, 0.002, 0.004])
def test_a_fast_drift_is_noticed_in_time(n, speed):
    """Queries never meet twice as many volumes as in a new tree, nor 1.4 times on the average; left alone it would be many times."""
    frame, faces = adrift(n, speed / (1 if n < 2000 else 2))
    met = visited(frame, faces, 300)
    assert met.max() < 2
    assert met.mean() < 1.4
    assert visited(frame, faces, 300, "bottom_up").max() > 2.5


@slow
def test_what_is_torn_above_the_leaves_is_noticed():
    """Crumbs of 80 faces on ways of their own: leaves stay as they are."""
    vertices, crumb = shapes.icosphere(1)
    rng = np.random.default_rng(3)
    centre, way = rng.uniform(-1, 1, (60, 3)), 0.004 * rng.standard_normal((60, 3))
    faces = (crumb + len(vertices) * np.arange(60)[:, None, None]).reshape(-1, 3)
    body, _ = run(lambda k: ((np.abs((centre + k * way + 1) % 4 - 2) - 1)[:, None] + 0.1 * vertices).reshape(-1, 3), faces, 400)
    assert len(reasons(body, "rebuild")) >= 1
    assert cost_ratio(body) < 1.6


@slow
@pytest.mark.parametrize("mode", ["bottom_up", "hybrid"])
def test_local_updates_alone_wear_a_tree_too(mode):
    """Nobody ever moves all vertices; looks come all the same, while few volumes may be true."""
    frame, faces = adrift(1200, 0.02)
    body, other = pl.Body(frame(0), faces), pl.Body(*(CUBE if mode == "bottom_up" else meshes.cube((0.4, 0.4, 0.4), 0.4)))
    pl.collide(body, other)
    shape_of(body).policy_state.mode = mode
    body.update(frame(0))
    pl.collide(body, other)
    stamp, rows = shape_of(body).frame, np.arange(3600).reshape(60, -1)
    for k in range(2400):
        some = rows[k % 60]
        body.update(frame(k // 60)[some], changed=some)
        pl.collide(body, other)
        if k % 20 == 0:
            assert_true(body)
    assert shape_of(body).frame == stamp                                # all were local
    assert len(reasons(body, "rebuild")) >= 2
    assert cost_ratio(body) < 1.75
    np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(body.vertices, faces, policy="lazy"), other).faces)


@slow
def test_a_motion_that_comes_and_goes_is_tried_less_and_less():
    """A sphere that sways: what one trial has seen needs no other, soon."""
    body, _ = run(lambda k: pulled(30 * np.sin(k / 20)), FACES, 800)
    at = np.array(tried(body))
    assert 1 <= len(at) <= 10
    assert len(at[at > 400]) <= 3
    assert reasons(body, "rebuild") == []


@slow
def test_where_queries_reach_nothing_nothing_is_tried():
    """A worn tree that costs nobody anything stays."""
    frame, faces = vortex(1200, 0.02)
    body, other = pl.Body(frame(0), faces), pl.Body(*meshes.cube((1.2, 1.2, 1.2)))
    for k in range(300):
        body.update(frame(k))
        assert not pl.collide(body, other)
    assert tried(body) == []


# --- the measure -----------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_growing_moving_and_mirroring_change_no_glance():
    """Only what parts neighbours, or turns and stretches them, does."""
    body = pl.Body(SPHERE, FACES)
    tree = shape_of(body).tree
    first = sample_quality(tree, shape_of(body).points)[0]
    for factor, shift in ((3.0, 0.0), (1e-3, 0.0), (-1.0, 0.0), (1.0, 7.0)):
        body.update(SPHERE * factor + shift)
        np.testing.assert_allclose(sample_quality(tree, shape_of(body).points)[0], first, atol=1e-3)
    body.update(SPHERE * [1, 1, 2])
    assert auto.sample_difference(sample_quality(tree, shape_of(body).points)[0], first) > auto.TEST_CHANGE
    body.update(np.zeros_like(SPHERE))
    assert sample_quality(tree, shape_of(body).points)[0] == (0, 0, 0, 0, 0)


@pytest.mark.formulas
def test_a_tree_is_as_good_as_itself_and_worn_by_mixing():
    frame, faces = scattered(24 if OFF else 240)
    body = pl.Body(frame(0), faces)
    shape = shape_of(body)
    assert degradation(shape.tree, shape.tree, shape.points) == 1
    body.update(frame(1))
    assert degradation(shape.tree, shape.build(), shape.points) > 1.5
    assert degradation(shape.build(), shape.tree, shape.points) < 1 / 1.5


@slow
@pytest.mark.parametrize("kind", ["still", "pulled", "adrift", "one far away", "one place"])
def test_a_sample_tells_about_the_same_as_all(kind):
    """And says so where it cannot tell."""
    frame, faces = adrift(6000, 0.1) if kind in ("adrift", "one far away") else (pulled, FACES)
    body = pl.Body(frame(0), faces)
    vertices = frame({"pulled": 200, "adrift": 1, "one far away": 1}.get(kind, 0))
    if kind == "one far away":
        vertices[faces[shape_of(body).tree.faces[0, 0]]] = 1e6          # in a leaf that every glance sees
    body.update(vertices if kind != "one place" else np.zeros_like(vertices))
    shape = shape_of(body)

    def build(some):
        return shape.options.builder.build(shape.points.reshape(-1, 4), some, 8, 8)

    box = sample_quality(shape.tree, shape.points)[1]
    told = sampled_degradation(shape.tree, build, shape.faces, shape.points, box, 1500)
    if kind.startswith("one"):
        assert told is None
    else:
        assert told == sampled_degradation(shape.tree, build, shape.faces, shape.points, box, 1500)
        right = degradation(shape.tree, shape.build(), shape.points)
        assert 0.75 * right < told < 1.35 * right
        assert (right > 1.5) == (kind != "still")


# --- the log ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_the_log(policy):
    """Of auto: (update, policy, reason) each, in order, a copy. Nobody else has anything to say."""
    body, other = pl.Body(*meshes.cube(), policy=policy), pl.Body(*meshes.cube((0.5, 0.5, 0.5)))
    assert body.policy_log == []
    for k in range(3):
        body.update(meshes.cube()[0] * (1 + k))
        pl.collide(body, other)
    log = body.policy_log
    assert (log == []) == (policy != "auto")
    for update, name, reason in log:
        assert type(update) is int and 1 <= update <= 3
        assert name in POLICIES
        assert reason == reason.strip() and len(reason) > 5
    log.append("mine")
    assert "mine" not in body.policy_log
    assert pl.Body(np.zeros((0, 3)), np.zeros((0, 3), int), policy=policy).policy_log == []


@slow
def test_a_frame_counts_once():
    """Hybrid leaves the root to the first query; whoever asks it to follow before has not seen another frame."""
    frame, faces = vortex(3000, 0.02)
    bodies, other = [pl.Body(frame(0), faces) for _ in range(2)], pl.Body(SPHERE * 0.5, FACES)
    for k in range(200):
        for body, times in zip(bodies, (1, 3), strict=True):
            body.update(frame(k))
            for _ in range(times - 1):
                shape_of(body).refit()
            pl.collide(body, other)
    assert bodies[0].policy_log == bodies[1].policy_log
    assert "hybrid" in [choice.policy for choice in bodies[0].policy_log] and reasons(bodies[0], "rebuild")
