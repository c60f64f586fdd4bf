"""Auto: it chooses by counters alone and says why; trees that have worn out are built anew, and no answer depends on any of it."""

import contextlib
import signal
import threading
import time
from itertools import count

import numba
import numpy as np
import pytest
from volume_checks import assert_true, lanes, shape_of

import meshes
import pliant as pl
from child import python
from pliant import shapes
from pliant.refit import auto, bottom_up
from pliant.refit.policy import POLICIES, Shape
from pliant.tree.nodes import Tree
from pliant.tree.quality import quality

OFF = bool(numba.config.DISABLE_JIT)
if OFF:                                                                 # kernels overflow in lanes that nobody reads; as Python they say so
    pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
SPHERE, FACES = shapes.icosphere(1 if OFF else 4)
CUBE = meshes.cube((-0.5, -0.5, -0.5))
slow = pytest.mark.skipif(OFF, reason="takes too long without kernels")


@pytest.fixture
def hasty(monkeypatch):
    """Looks come so often, and at bodies so small, that a few frames show everything."""
    for name, value in {"LOOK": 2, "FULL_LOOK": 4, "FEW": 0, "SHORT_LIFE": 8, "LONGEST_WAIT": 64}.items():
        monkeypatch.setattr(auto, name, value)


def until(done):
    """0, 1, 2 … until this is so, which must be soon."""
    deadline = time.monotonic() + 60
    for k in count():
        if done():
            return
        assert time.monotonic() < deadline
        yield k
        time.sleep(1e-3 if k > 20 else 0)


def reasons(body, policy):
    """Why a policy was chosen, each time."""
    return [choice.reason for choice in body.policy_log if choice.policy == policy]


def worn(body):
    """The quality of a body's tree where it is now, over that of a new one."""
    made = pl.Body(body.vertices, body.faces, policy="bottom_up")
    for each in (body, made):
        bottom_up.follow(shape_of(each))
    return quality(shape_of(body).nodes) / quality(shape_of(made).nodes)


def flakes(n, seed=71):
    """n small triangles that share nothing: centres (n, 3), shapes (n, 3, 3), faces."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 3)), rng.standard_normal((n, 3, 3)) * 0.02, np.arange(3 * n).reshape(-1, 3)


def vortex(n, speed):
    """Flakes that go around, the inner ones faster: whatever were neighbours part. (vertices of frame k, faces)"""
    centre, shape, faces = flakes(n)
    radius = np.hypot(centre[:, 0], centre[:, 1])

    def frame(k):
        c, s = np.cos(speed * k * (1 - radius)), np.sin(speed * k * (1 - radius))
        x, y, z = centre.T
        return (np.stack([c * x - s * y, s * x + c * y, z], 1)[:, None] + shape).reshape(-1, 3)
    return frame, faces


def scattered(n):
    """Flakes that are somewhere else in every frame. (vertices of frame k, faces)"""
    _, shape, faces = flakes(n)
    return lambda k: (np.random.default_rng(k).uniform(-1, 1, (n, 1, 3)) + shape).reshape(-1, 3), faces


def wrung(k):
    """A long sphere, more and more twisted."""
    x, y, z = SPHERE.T
    c, s = np.cos(0.04 * k * z), np.sin(0.04 * k * z)
    return np.column_stack([c * x - s * y, s * x + c * y, 4 * z])


# --- which policy ----------------------------------------------------------------------------------------------------------------

@slow
def test_few_leaves_reached_then_most():
    """Hybrid while a tip touches, bottom-up when everything does; both are said, with the share of leaves, and it shows in n_u."""
    body, tip, around = pl.Body(SPHERE, FACES), pl.Body(*meshes.cube((0.95, -0.1, -0.1), 0.2)), pl.Body(SPHERE * 1.001 + 0.001, FACES)
    n_u = []
    for k in range(60):
        body.update(SPHERE * (1 + 1e-4 * k))
        other = tip if k < 30 else around
        found = pl.collide(body, other)
        if k % 10 == 5:
            np.testing.assert_array_equal(found.faces, pl.collide(pl.Body(body.vertices, FACES, policy="bottom_up"), other).faces)
        n_u.append(found.stats.n_u)
    log = body.policy_log
    assert [choice.policy for choice in log] == ["bottom_up", "hybrid", "bottom_up"]
    assert log[0].reason == "the first frame"
    assert "1% of the leaves" in log[1].reason and "100% of the leaves" in log[2].reason
    assert log[0].update < log[1].update <= auto.LOOK + 1 < 30 < log[2].update <= 30 + auto.LOOK + 1
    assert max(n_u[log[1].update:30]) < lanes(body) / 5
    assert n_u[-1] == lanes(body)


@pytest.mark.formulas
def test_small_bodies_are_left_to_bottom_up():
    """Deciding would cost more than it saves."""
    body, other = pl.Body(*meshes.cube()), pl.Body(*meshes.cube((0.99, 0.99, 0.99)))
    assert len(body) < auto.FEW
    for k in range(3 * auto.LOOK):
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
        assert OFF or {choice.policy for choice in body.policy_log} == {"bottom_up", "hybrid", "rebuild"}


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
@pytest.mark.parametrize("kind", ["slow vortex", "vortex", "wrung"])
def test_trees_are_renewed_under_a_drift(kind):
    """What a query finds in the tree after 400 frames is near what it would find in a new one; without new trees it would not be."""
    frame, faces = (wrung, FACES) if kind == "wrung" else vortex(1200, 0.01 if kind == "slow vortex" else 0.02)
    body, _ = run(frame, faces, 400)
    assert 1 <= len(reasons(body, "rebuild")) <= 5
    assert all("times as large" in reason for reason in reasons(body, "rebuild"))
    assert worn(body) < 1.5
    if kind != "wrung":
        assert worn(run(frame, faces, 400, "bottom_up")[0]) > 2
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


@pytest.mark.formulas
@pytest.mark.parametrize("in_background", [False, True])
def test_a_worn_tree_is_renewed(hasty, in_background):
    """The same in a few frames, at once or in the background; the new tree is another one, and true."""
    frame, faces = scattered(24 if OFF else 60)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": in_background}, arity=2, leaf=1), pl.Body(*CUBE)
    tree = shape_of(body).tree
    for k in until(lambda: reasons(body, "rebuild")):
        body.update(frame(min(k, 1)))
        pl.collide(body, other)
    assert shape_of(body).tree is not tree
    meshes.assert_right(body, other)
    assert_true(body)
    said = [choice.reason for choice in body.policy_log[1:]]
    assert any("another tree is being built" in reason for reason in said) is in_background
    assert any("built in the background is ready" in reason for reason in said) is in_background


# --- in the background -----------------------------------------------------------------------------------------------------------

class Late:
    """A builder that waits until it is let go, or fails."""

    def __init__(self, monkeypatch, error=None):
        self.go_on, self.calls, self.error, self.real = threading.Event(), 0, error, Shape.build
        monkeypatch.setattr(Shape, "build", lambda shape, points=None: self(shape, points))

    def __call__(self, shape, points):
        if points is None:
            return self.real(shape)
        self.calls += 1
        assert self.go_on.wait(60)
        if self.error is not None:
            raise self.error
        return self.real(shape, points)


def ask_right(body, other, vertices):
    """Update and ask; the answer must be right."""
    body.update(vertices)
    np.testing.assert_array_equal(pl.collide(body, other).faces,
                                  pl.collide(pl.Body(vertices, body.faces, policy="bottom_up"), other).faces)


@slow
def test_right_while_a_tree_is_being_built_and_after(hasty, monkeypatch):
    """Frames go on, full and local, while one tree is built of an old one; nobody starts a second; then it is taken."""
    frame, faces = scattered(120)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": True}), pl.Body(*CUBE)
    late, old = Late(monkeypatch), shape_of(body).tree
    for k in range(60):
        ask_right(body, other, frame(k))
        if k % 5 == 2:
            body.update(frame(k + 1)[:30], changed=np.arange(30))
            pl.collide(body, other)
    assert late.calls == 1
    assert shape_of(body).tree is old
    assert reasons(body, "rebuild") == []
    monkeypatch.undo()
    late.go_on.set()
    for _ in until(lambda: reasons(body, "rebuild")):
        ask_right(body, other, frame(60))
    assert shape_of(body).tree is not old
    for k in range(60, 70):
        ask_right(body, other, frame(k))
    assert_true(body)


@slow
def test_a_tree_that_cannot_be_built_is_done_without(hasty, monkeypatch):
    """Memory may be short in the background: whoever asks may be told, once, and gets answers from the old tree."""
    frame, faces = scattered(120)
    body, other, told = pl.Body(frame(0), faces, policy={"name": "auto", "background": True}), pl.Body(*CUBE), 0
    late = Late(monkeypatch, MemoryError("no room for a tree"))
    late.go_on.set()
    for k in range(30):
        try:
            ask_right(body, other, frame(k))
        except MemoryError:
            told += 1
    assert late.calls >= 1
    assert told <= late.calls
    ask_right(body, other, frame(1))


@slow
@pytest.mark.parametrize("where", [(Tree, "records"), (Shape, "know")], ids=["before its records", "before their addresses"])
@pytest.mark.parametrize("in_background", [False, True])
def test_ctrl_c_while_a_tree_is_planted(hasty, in_background, where, monkeypatch):
    """Half of the old tree and half of the new one must never meet."""
    frame, faces = scattered(120)
    body, other = pl.Body(frame(0), faces, policy={"name": "auto", "background": in_background}, leaf=1), pl.Body(*CUBE)
    real, stopped = getattr(*where), []

    def stop(*args, **arrays):
        if arrays and "nodes" not in arrays:                            # not a new tree
            return real(*args, **arrays)
        monkeypatch.setattr(*where, real)
        stopped.append(args)
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, stop)
    for k in until(lambda: stopped):
        body.update(frame(k))
        with contextlib.suppress(KeyboardInterrupt):
            pl.collide(body, other)
    shape = shape_of(body)
    assert (len(shape.nodes), len(shape.leaves)) == (len(shape.tree.child), len(shape.tree.faces))
    assert np.array_equal(shape.nodes["child"], shape.tree.child)
    assert np.array_equal(shape.leaves["face"], shape.tree.faces)
    assert (shape.about["nodes"][0], shape.about["leaves"][0]) == (shape.nodes.ctypes.data, shape.leaves.ctypes.data)
    np.testing.assert_array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(frame(k), faces), other).faces)


@slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no forks on this system")
def test_a_fork_while_a_tree_is_being_built():
    """The child never gets that tree, and needs none; nor does a process that ends wait for one."""
    python("""
    import os, signal, sys, threading, time, warnings
    import numpy as np
    import pliant as pl
    from pliant import shapes
    from pliant.refit import auto
    from pliant.refit.policy import Shape

    warnings.simplefilter("ignore", DeprecationWarning)     # from 3.12 on, Python warns of forks in the presence of threads
    auto.FULL_LOOK, started, real = 2, threading.Event(), Shape.build

    def late(shape, points=None):
        if points is not None:
            started.set()
            time.sleep(3600)
        return real(shape, points)

    Shape.build = late
    rng, faces = np.random.default_rng(0), np.arange(360).reshape(-1, 3)
    moved = [(rng.uniform(-1, 1, (120, 1, 3)) + rng.standard_normal((120, 3, 3)) * 0.02).reshape(-1, 3) for _ in range(6)]
    body, other = pl.Body(moved[0], faces, policy={"name": "auto", "background": True}), pl.Body(*shapes.icosphere(2))

    def ask(k):
        body.update(moved[k])
        assert np.array_equal(pl.collide(body, other).faces, pl.collide(pl.Body(moved[k], faces, policy="lazy"), other).faces)

    for k in range(4):
        ask(k)
    assert started.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            for k in range(6):
                ask(k)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ask(5)
    """)


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
