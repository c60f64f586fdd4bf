"""What local updates leave behind: borrowed arrays untouched, boxes and origins that hold, whole bodies after Ctrl-C and among threads."""

import threading

import numba
import numpy as np
import pytest
from volume_checks import assert_true, lanes, shape_of

import pliant as pl
from child import together
from pliant import shapes
from pliant.motion import free
from pliant.query import scheduler
from pliant.refit import partial
from pliant.refit.policy import POLICIES, Bvh

OFF = bool(numba.config.DISABLE_JIT)
LOCAL = [name for name, policy in POLICIES.items() if policy.allows_partial]  # the others go their own way
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
SPHERE, FACES = shapes.icosphere(1 if OFF else 3)
TIP = np.argsort(-SPHERE[:, 0])[:1 if OFF else 8]
OUT = SPHERE[TIP] + [1.2, 0, 0]                                         # where the tip goes, through the wall
AFTER = SPHERE.copy()
AFTER[TIP] = OUT


def sphere(policy="bottom_up"):
    """A body whose volumes are true."""
    body = pl.Body(SPHERE, FACES, policy=policy, arity=2, leaf=2)
    pl.collide(body, pl.Body(SPHERE + np.array([0.6, 0.1, 0]), FACES))
    return body


def wall(x=2.0):
    return pl.Body([[x, -3, -3], [x, 3, -3], [x, 0, 3]], [[0, 1, 2]])


RIGHT = pl.collide(pl.Body(AFTER, FACES), wall()).faces
assert len(RIGHT)


# --- borrowed arrays -------------------------------------------------------------------------------------------------------------

@pytest.mark.formulas
def test_a_borrowed_array_is_not_written_to(policy):
    """The body takes a copy of its own when a vertex moves alone; the next full update may borrow again."""
    body, mine = sphere(policy), SPHERE * 0.9
    kept = mine.copy()
    for _ in range(1 if OFF else 2):
        body.update(mine, copy=False)
        pl.collide(body, wall(0.5))
        body.update(OUT, changed=TIP)
        assert np.array_equal(mine, kept)
        now = kept.copy()
        now[TIP] = OUT
        np.testing.assert_array_equal(body.vertices, now)
        np.testing.assert_array_equal(pl.collide(body, wall()).faces, pl.collide(pl.Body(now, FACES), wall()).faces)
        mine[:] = 77                                                    # and need not be left alone any longer
        np.testing.assert_array_equal(body.vertices, now)
        np.testing.assert_array_equal(pl.collide(body, wall()).faces, pl.collide(pl.Body(now, FACES), wall()).faces)
        mine[:] = kept
    body.update(mine, copy=False)
    with pytest.raises(pl.MeshError):
        body.update([[np.nan, 0, 0]], changed=[0])
    np.testing.assert_array_equal(body.vertices, kept)
    rows = OUT.copy()
    body.update(rows, changed=TIP, copy=False)                          # rows are copied, whatever is asked for
    rows[:] = 55
    np.testing.assert_array_equal(body.vertices[TIP], OUT)


# --- where and how large ---------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("origin", [None, [0, 0, 0], [3e5, -7e8, 0.1]], ids=["free", "fixed at 0", "fixed far away"])
def test_walking_away_vertex_by_vertex(origin):
    """One vertex goes far, the others follow, and all come back; wherever the origin is, it serves all of them."""
    body, now = pl.Body(SPHERE, FACES, policy="bottom_up", origin=origin, leaf=2), SPHERE.copy()
    halves = np.array_split(np.argsort(-SPHERE[:, 0]), 3)
    for step in (0.5, 3.9, 40, 2.5e5, 1e13, 7, 0):
        for some in (halves[0][:1], *halves):
            now[some] = SPHERE[some] + [step, -step, 0]
            body.update(now[some], changed=some)
            other = pl.Body(SPHERE * 0.9 + [step + 0.3, 0.2 - step, 0.1], FACES)
            np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(now, FACES), other).faces)
        assert len(pl.collide(body, other)) > 0
        assert_true(body)


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
def test_changing_size_vertex_by_vertex(policy):
    """From tiny to huge and back: the scale of float32 follows the largest, and everything is placed anew when it does."""
    ball, faces = shapes.icosphere(1)
    body, now, scales = pl.Body(ball, faces, policy=policy, leaf=1), ball.copy(), set()
    halves = np.array_split(np.argsort(-ball[:, 0]), 2)
    for size in (1.0, 1e-30, 1e30, 1e-200, 1e300, 1.0):
        for some in (halves[0][:1], *halves):
            now[some] = ball[some] * size
            body.update(now[some], changed=some)
            other = pl.Body((ball * 0.7 + [0.5, 0.4, 0.1]) * size, faces)
            np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(now, faces), other).faces)
            scales.add(body._motion.scale)
    assert len(scales) > 3


@pytest.mark.formulas
def test_the_box_encloses_and_becomes_tight_again():
    """The box of queries only grows while few vertices move; when all have, it is that of a new body. `bounds` is tight."""
    body, now = pl.Body(SPHERE, FACES), SPHERE.copy()
    for step in (5.0, 0.0):
        now[0] = SPHERE[0] + step
        body.update(now[:1], changed=[0])
        low, high = body._world_box()
        assert (low <= now.min(0)).all() and (now.max(0) <= high).all()
        assert body.bounds.tolist() == [now.min(0).tolist(), now.max(0).tolist()]
    assert high.tolist() == (SPHERE[0] + 5).tolist()                    # still where the vertex has been
    for k in range(2, len(SPHERE) + 1):
        body.update(now[k - 2:k - 1], changed=[k - 2])
    assert body._world_box().tolist() == [now.min(0).tolist(), now.max(0).tolist()]
    body.update(now[:1] + 5, changed=[0])
    body.update(now)
    assert body._world_box().tolist() == [now.min(0).tolist(), now.max(0).tolist()]


@pytest.mark.formulas
def test_what_waits_for_a_question_does_not_pile_up():
    """A body that moves for ever and is never near another keeps no more than one frame of it."""
    body, far = sphere(), pl.Body(SPHERE + 50, FACES)
    for _ in range(60 if OFF else 2000):
        body.update(SPHERE[TIP], changed=TIP)
        assert not pl.collide(body, far)
    assert sum(len(some) for some in shape_of(body).pending) <= 2 * len(SPHERE)
    body.update(OUT, changed=TIP)
    np.testing.assert_array_equal(pl.collide(body, wall()).faces, RIGHT)


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------------------

def stop_once(monkeypatch, where, name, late=False):
    """Ctrl-C when this function is called, or when it is about to return; once."""
    real = getattr(where, name)

    def stop(*args):
        monkeypatch.setattr(where, name, real)
        if late:
            real(*args)
        raise KeyboardInterrupt
    monkeypatch.setattr(where, name, stop)


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("borrowed", [False, True])
@pytest.mark.parametrize(("where", "name", "late"),
                         [(free, "copy_checked_rows", False), (free, "copy_checked_rows", True), (free, "set_record", False),
                                                     (Bvh, "invalidate_vertices", False)],
                                                     ids=["before", "after", "before the origin", "last"])
def test_an_interrupted_update_leaves_a_body_whole(policy, where, name, late, borrowed, monkeypatch):
    """Its vertices and volumes belong together: the old ones, or the new ones."""
    body = sphere(policy)
    body.update(SPHERE.copy(), copy=not borrowed)
    pl.collide(body, wall(0.5))
    stop_once(monkeypatch, where, name, late)
    with pytest.raises(KeyboardInterrupt):
        body.update(OUT, changed=TIP)
    now = body.vertices
    assert now.tobytes() in (SPHERE.tobytes(), AFTER.tobytes())
    for other in (wall(), wall(0.5)):
        np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(now, FACES), other).faces)
    assert_true(body)
    body.update(OUT, changed=TIP)
    np.testing.assert_array_equal(pl.collide(body, wall()).faces, RIGHT)


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("policy", LOCAL)
@pytest.mark.parametrize(("where", "name", "late"),
                         [(partial, "refit_partial", False), (partial, "vertex_paths", False), (partial, "mark_leaves", True),
                                                     (partial, "refit_paths", False), (partial, "refit_paths", True)],
                         ids=["at first", "in the paths", "after the leaves", "before the volumes", "after them"])
def test_an_interrupted_question_can_be_asked_again(policy, where, name, late, monkeypatch):
    """The volumes that were to follow the vertices still do."""
    body = sphere(policy)
    body.update(OUT, changed=TIP)
    stop_once(monkeypatch, where, name, late)
    with pytest.raises(KeyboardInterrupt):
        pl.collide(body, wall())
    np.testing.assert_array_equal(pl.collide(body, wall()).faces, RIGHT)
    assert_true(body)


# --- threads ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("policy", LOCAL)
def test_all_threads_wait_for_the_one_that_follows(policy, monkeypatch):
    """Two ask at once after a local update: the second must not go on with volumes that the first is about to set."""
    body, real, inside, go_on, found = sphere(policy), partial.refit_paths, threading.Event(), threading.Event(), []
    body.update(OUT, changed=TIP)

    def slow(*args):
        inside.set()
        go_on.wait(20)
        return real(*args)

    def ask():
        found.append(pl.collide(body, wall()).faces)

    def ask_later():
        assert inside.wait(20)
        second = threading.Thread(target=ask)
        second.start()
        second.join(0.2)                                                # time enough for a wrong answer
        go_on.set()
        second.join()

    monkeypatch.setattr(partial, "refit_paths", slow)
    together(ask, ask_later)
    for faces in found:
        np.testing.assert_array_equal(faces, RIGHT)
    assert len(found) == 2


@pytest.mark.skipif(OFF, reason="takes too long without kernels")
@pytest.mark.parametrize("chunk", [1 << 14, 64], ids=["serial", "shared"])
def test_a_local_update_is_seen_whole_or_not_at_all(policy, chunk, monkeypatch, set_threads):
    """One thread moves a tip to and fro; every answer of the others is that of one of the two states."""
    monkeypatch.setattr(scheduler, "CALL_BUDGET", chunk)
    set_threads(2)
    body, other = sphere(policy), pl.Body(SPHERE * 0.8 + [1.4, 0.1, 0.05], FACES)
    states = SPHERE[TIP], OUT
    expected = [pl.collide(pl.Body(vertices, FACES), other).faces.tobytes() for vertices in (SPHERE, AFTER)]
    assert expected[0] != expected[1]
    done, seen = threading.Event(), set()

    def move():
        try:
            for k in range(1, 100):
                body.update(states[k % 2], changed=TIP)
        finally:
            done.set()

    def ask():
        while not done.is_set():
            seen.add(expected.index(pl.collide(body, other).faces.tobytes()))

    together(*[ask] * 3, move)
    assert seen
    np.testing.assert_array_equal(pl.collide(body, wall()).faces, RIGHT)
    assert_true(body)


@pytest.mark.skipif(OFF, reason="too few volumes without kernels")
@pytest.mark.parametrize("policy", LOCAL)
def test_a_hundredth_of_a_large_mesh_sets_a_small_part(policy):
    """Whatever the policy, if it lets others set volumes: the paths above a cluster, and nothing else."""
    vertices, faces = shapes.icosphere(5)
    body, other = pl.Body(vertices, faces, policy=policy), pl.Body(vertices + np.array([0.3, 0.2, 0.1]), faces, policy="bottom_up")
    pl.collide(body, other)
    some = np.argsort(-vertices[:, 0])[:len(vertices) // 100]
    for k in range(3):
        body.update(vertices[some] * (1 - 0.001 * k), changed=some)
        n_u = pl.collide(body, other).stats.n_u
        assert 0 < n_u < lanes(body) / 20
